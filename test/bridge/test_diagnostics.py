# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: totals, and the troubles since the last look."""

from __future__ import annotations

import ast
import itertools
import math
from pathlib import Path
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import state_path, StatePath
from transmission_bridge.bridge.diagnostics.driver_watch import Look, Peers
from zoo.elements import maps, ratio, transmission
from zoo.reference import ACTUATORS, Message

import transmission_bridge
from transmission_bridge.bridge.diagnostics import inspection, status as diagnostics
from transmission_bridge.bridge.diagnostics.status import (
    ERROR,
    make_status,
    OK,
    Recent,
    Trouble,
    WARN,
)
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.transmissions import MapReport


class _Time:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    """Return a clock that is set by hand."""
    return _Time()


def look(statistics, window, now=10.0, incompatible=''):
    """Return the status of an input of a driver that should speak every 2 s."""
    peers = Peers('/left/t', incompatible)
    return inspection.inspect_input(statistics, peers, window, Look(now, 2.0))


def having(status, **values):
    """Check values of a status."""
    expected = {key.replace('_', ' '): value for key, value in values.items()}
    assert {key: status[key] for key in expected} == expected


@given(st.lists(st.integers(0, 100), max_size=6), st.lists(st.booleans(), min_size=1))
def test_what_has_changed_between_looks(totals, looks):
    """A count that is smaller was set to zero; a fact is confirmed when two looks find it."""
    window, before = Recent(), 0
    for total in totals:
        assert window.count_growth('a', total) == (total - before if total >= before else total)
        assert window.count_growth('b', 2 * total) >= 0
        before = total
    for last, is_so in zip([False, *looks], looks, strict=False):
        found = window.confirm('a', 'words' if is_so else '')
        assert found == ('words' if last and is_so else '')


def test_what_lasts_without_interruption(time):
    """A fact that has to last some seconds starts anew after each look without it."""
    recent, found = Recent(time), []
    for is_so in (*[True] * 3, False, *[True] * 4):
        found.append(bool(recent.confirm('a', 'words' * is_so, 2.5)))
        time.now += 1.0
    assert found == [*[False] * 7, True]


# -- statuses and the log ------------------------------------------------------------------------

LATE, LOST = Trouble('late', WARN, 'late'), Trouble('lost', ERROR, 'lost')
ODD, NONE = Trouble('odd', WARN, 'odd'), Trouble('none', ERROR, '')


@pytest.mark.parametrize(
    ('troubles', 'words', 'level', 'message', 'kept'),
    [
        ([LATE, LOST, ODD], {'fine': 'fine'}, ERROR, 'lost; late; odd', (LOST, LATE, ODD)),
        ([], {'state': 'active'}, OK, 'active', ()),
        ([NONE], {'state': 'active'}, OK, 'active', ()),
        ([ODD], {'state': 'active'}, WARN, 'active; odd', (ODD,)),
    ],
)
def test_the_worst_trouble_counts(troubles, words, level, message, kept):
    """The message has the state, then all troubles with a sentence, the worst first."""
    status = make_status('x', troubles, {'n': 1}, **words)
    assert (status.level, status.message, status['n']) == (level, message, '1')
    assert status.troubles == kept


def statuses_of(*troubles, names=('x',)):
    """Return statuses with these troubles."""
    return [make_status(name, troubles, {}) for name in names]


def test_the_log_says_begin_and_end(time):
    """A trouble is logged at its start, when it gets worse and at its end, not between."""
    log = diagnostics.TroubleLog(time)
    for trouble, said in (
        (Trouble('late', WARN, 'late by 1 s'), [(WARN, 'x: late by 1 s')]),
        (Trouble('late', WARN, 'late by 2 s'), []),
        (Trouble('late', ERROR, 'lost'), [(ERROR, 'x: lost')]),
        (Trouble('late', WARN, 'late again'), []),
        (None, [(OK, 'x: ended after 30 s: lost')]),
        (None, []),
        # Without a name it is logged elsewhere.
        (Trouble('', ERROR, 'refused'), []),
    ):
        time.now += 10.0
        assert log.list_log_lines(statuses_of(*[trouble] * bool(trouble))) == said
    # A duration is not rounded to zero.
    log.list_log_lines(statuses_of(LATE))
    time.now += 10.0
    assert log.list_log_lines([]) == [(OK, f'x: ended after less than 1 s: {LATE.sentence}')]


@given(st.lists(st.booleans(), min_size=30, max_size=120))
def test_what_comes_and_goes_floods_no_log(looks):
    """A trouble that comes and goes is at most one line per 5 s; a lasting one is logged."""
    time = _Time()
    log, times = diagnostics.TroubleLog(time), []
    looks = [*looks, *[looks[-1]] * 11]
    for is_there in looks:
        time.now += 1.0
        lines = log.list_log_lines(statuses_of(*[ODD] * is_there))
        times += [(time.now, level) for level, _ in lines]
    assert all(b - a >= 5.0 for (a, _), (b, _) in itertools.pairwise(times))
    assert [level for _, level in times] == ([WARN, OK] * len(times))[: len(times)]
    assert looks[-1] == (len(times) % 2 == 1)


def test_the_same_trouble_of_a_hundred_parts_is_one_line(time):
    """The first five are named."""
    statuses = statuses_of(ODD, names=[f'part {number}' for number in range(100)])
    lines = diagnostics.TroubleLog(time).list_log_lines(statuses)
    assert lines == [(WARN, 'part 0, part 1, part 2, part 3, part 4 and 95 more: odd')]


def test_every_reason_is_explained():
    """The status of rejected messages explains each possible reason."""
    package = Path(transmission_bridge.__file__).parent
    modules = {*(package / 'bridge').rglob('*.py'), package / 'ros' / 'channels.py'}
    reasons = {'bug', 'undecodable', 'future_stamp'}
    services = ('rest', 'zeroing', 'homing', 'tuned_file')
    for module in (each for each in modules if each.stem not in services):
        for node in ast.walk(ast.parse(module.read_text('utf-8'))):
            name = isinstance(node, ast.Call) and getattr(node.func, 'id', '')
            if name in ('MessageError', 'Verdict', 'Rejected'):
                reasons |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant)}
    assert {'mixed_coupled', 'foreign', 'times', 'too_large'} <= reasons
    for reason in reasons:
        statistics = TopicStatistics('t')
        statistics.rejected[reason] = 1
        assert re.search(rf'{reason} \(.+\)', look(statistics, Recent()).message), reason


# -- topics --------------------------------------------------------------------------------------


def test_an_input(time):
    """Rate and warnings are of the last period, counts of the whole time."""
    statistics, window = TopicStatistics('actuator_states'), Recent(time)
    status = look(statistics, window)
    assert (status.name, status.level, status.message) == ('actuator_states', OK, 'not used')
    assert status['age [s]'] == 'never heard'
    statistics.received, statistics.heard = 10, 9.5
    statistics.rejected.update({'ragged': 2, 'bug': 1})
    counts = {'received': '10', 'accepted': '7', 'rejected': '3', 'rejected_ragged': '2'}
    for rate in ('5.0', '0.0'):
        status = look(statistics, window)
        assert status.level == WARN
        assert 'ragged' in status.message
        having(status, malformed='2', **counts)
        assert (status['rate [Hz]'], status['age [s]']) == (rate, '0.500')
    time.now += 5.0
    status = look(statistics, window)
    assert (status.level, status.message) == (OK, 'no new message')
    statistics.rejected['ragged'] += 1
    statistics.received += 1
    status = look(statistics, window)
    assert (status.level, status['rejected ragged']) == (WARN, '3')
    assert 'bug' not in status.message
    assert look(statistics, window, now=0.0)['age [s]'] == '0.000'  # of a clock that jumped back


def test_messages_of_others_are_no_trouble():
    """A message without an actuator is counted as rejected; it is a warning if all are such."""
    statistics = TopicStatistics('actuator_states')
    statistics.received, statistics.heard, statistics.rejected['foreign'] = 3, 9.5, 2
    status = look(statistics, Recent())
    assert (status.level, status.message) == (
        WARN,
        'messages rejected: foreign (they name no actuator of this robot, see actuator_names)',
    )
    statistics.used = 9.0
    status = look(statistics, Recent())
    assert (status.level, status.message) == (OK, 'receiving')
    having(status, accepted='1', rejected_foreign='2', malformed='0')


def test_incompatible_peers_are_named():
    """Of an input and of an output."""
    peers = '/driver (Best effort publisher and reliable subscription)'
    for status in (
        look(TopicStatistics('t'), Recent(), incompatible=peers),
        inspection.inspect_output('t', Peers('/left/t', peers), Recent()),
    ):
        assert status.level == WARN
        assert status.message == f'incompatible nodes on /left/t: {peers}'
        having(status, topic='/left/t', incompatible=peers)
    assert inspection.inspect_output('t', Peers('/t'), Recent()).level == OK


def commands(statistics, counts, window, unheard=''):
    """Return the status of a source of commands."""
    return inspection.inspect_commands(statistics, counts, Peers('/left/t'), window, unheard)


def test_commands(time):
    """A source's clamps, refusals and contests are counted by joint and warned of for 5 s."""
    statistics, counts = TopicStatistics('joint_commands'), CommandCounts()
    window = Recent(time)
    statistics.received, statistics.rejected['limit'] = 5, 2
    counts.clamped['lift'], counts.limited['roll'], counts.contested['pitch'] = 3, 2, 1
    for _ in range(2):
        status = commands(statistics, counts, window)
        assert (status.name, status.level) == ('commands of joint_commands', WARN)
        assert all(word in status.message for word in ('limit', 'lift', 'pitch'))
    having(status, accepted='3', rejected='2', rejected_limit='2', outside_limits_roll='2')
    having(status, clamped='3', clamped_lift='3', contested='1', contested_pitch='1')
    time.now += 5.0
    assert commands(statistics, counts, window).level == OK
    counts.contested['pitch'] += 1
    status = commands(statistics, counts, window)
    assert (status.level, status.message) == (WARN, 'also commanded by another source: pitch')


def test_commands_that_nobody_hears(time):
    """A topic without subscribers is a warning while commands are accepted."""
    statistics, window = TopicStatistics('joint_commands'), Recent(time)
    for received, unheard, level in (
        (0, 'actuator_commands', OK),
        (1, '', OK),
        # The subscriber of the command has left since.
        (1, 'actuator_commands', OK),
        (2, 'actuator_commands', WARN),
    ):
        statistics.received = received
        status = commands(statistics, CommandCounts(), window, unheard)
        assert status.level == level
    assert status.message.startswith('actuator_commands has 0 subscribers: start the driver')
    time.now += 5.0
    assert commands(statistics, CommandCounts(), window, 'actuator_commands').level == OK


# -- the robot -----------------------------------------------------------------------------------


def of_robot(robot, path, window=None, now=1.0, reports=None):
    """Return the statuses of the transmissions by name."""
    states, window = path.states, window or Recent()
    reports, stale = reports or (states.report, MapReport()), states.mask_stale_actuators(now)
    found = inspection.inspect_transmissions(robot, states, reports, window, stale)
    return {each.name.removeprefix('transmission '): each for each in found}


def of_actuators(robot, path, now=1.0):
    """Return the status of the actuators."""
    stale = path.states.mask_stale_actuators(now)
    return inspection.inspect_actuators(robot, path.states, now, stale, {})


def test_nan_is_counted(robot, feed, time):
    """NaN and infinite numbers are counted for their transmissions; positions are a warning."""
    path, nan, window = state_path(robot), math.nan, Recent(time)
    feed(path, Message(('left', 'winch'), position=(nan, 1.0)))
    feed(path, Message(('winch', 'left'), position=(1.0, math.inf), velocity=(nan, 0.0)))
    feed(path, Message(('left', 'finger'), position=(1.0, nan)))
    statuses = of_robot(robot, path, window)
    counts = {name: each['NaN'] for name, each in statuses.items()}
    assert counts == {'wrist': '2', 'hoist': '1', 'gauge': '1', 'arm': '0'}
    assert statuses['hoist']['NaN velocity'] == '1'
    assert [statuses[name].level for name in ('wrist', 'hoist', 'arm')] == [WARN, OK, OK]
    time.now += 5.0
    assert of_robot(robot, path, window)['wrist'].level == OK
    status = of_actuators(robot, path)
    assert status['not finite finger position'] == '1'
    assert status['not finite left position'] == '2'


def test_stale_actuators(robot, feed):
    """An actuator that timed out is an error of its transmissions; strange names are none."""
    path = state_path(robot, timeout=0.5)
    feed(path, Message(('winch', 'ghost'), position=(1.0, 1.0)), now=1.0)
    names = ('hoist', 'gauge', 'wrist')
    for now, levels in ((1.4, [OK, OK, ERROR]), (1.6, [ERROR] * 3)):
        statuses = of_robot(robot, path, now=now)
        assert [statuses[name].level for name in names] == levels
    assert 'winch' in statuses['hoist'].message
    status = of_actuators(robot, path, 1.4)
    assert (status.level, status['stale']) == (ERROR, 'left, right, hip, crank, finger')
    assert (status['known'], status["unknown name 'ghost'"]) == ('1', '1')
    fresh = np.zeros(6, dtype=bool)
    status = inspection.inspect_actuators(robot, path.states, 1.0, fresh, {})
    assert (status.level, status["unknown name 'ghost'"]) == (OK, '1')


def test_a_transmission_that_cannot_be_used():
    """It is an error with the reason, as long as it lasts."""
    strange = transmission('nowhere', 'nowhere/NoTransmission', ('one',), ('m1',))
    zero = transmission('zero', 'Simple', {'two': ratio(0.0)}, ('m2',))
    robot, window = maps(('one', 'two'), strange + zero), Recent()
    path = StatePath(robot)
    for _ in range(2):
        statuses = of_robot(robot, path, window)
        levels = {name: each.level for name, each in statuses.items()}
        assert levels == {'nowhere': ERROR, 'zero': ERROR}
        assert 'nowhere/NoTransmission' in statuses['nowhere'].message
        assert re.search('line .* other than zero', statuses['zero'].message)
        assert statuses['zero']['loaded'] == 'False'
    message = of_actuators(robot, path).message
    assert 'of the transmissions in use; rejected: nowhere, zero' in message


def test_map_troubles(robot, time):
    """Samples that a mechanism could not map are counted by reason, for states and commands."""
    first, second = MapReport(), MapReport()
    first.counts['wrist', 'domain'] = 2
    second.counts.update({('wrist', 'domain'): 1, ('wrist', 'branch'): 1})
    path, window, looks = StatePath(robot), Recent(time), []
    for _ in range(2):
        looks.append(of_robot(robot, path, window, -1.0, (first, second))['wrist'])
        time.now += 5.0
    assert [each.level for each in looks] == [WARN, OK]
    assert looks[0].message == (
        'could not be mapped: domain (outside the positions that the mechanism can reach), '
        'branch (the solution is on another assembly branch)'
    )
    having(looks[1], domain='3', branch='1', singular='0', loaded='True', NaN='0')
    having(looks[1], type='transmission_interface/DifferentialTransmission')


# -- single actuators ----------------------------------------------------------------------------


@pytest.fixture
def watched(robot, feed, time):
    """Return a function that has a second pass in which messages come, and finds the troubles."""
    path, coverage, window = StatePath(robot), inspection.Coverage(robot), Recent(time)
    begun = time.now

    def pass_second(*messages, a=('/first',), b=('/second',)):
        time.now += 1.0
        for source, names in messages:
            feed(path, Message(names, (1.0,) * len(names)), source, time.now)
        peers = {
            topic: Peers(f'/left/{topic}', publishers=dict(enumerate(publishers)))
            for topic, publishers in (('a', a), ('b', b))
        }
        found = coverage.collect_troubles(path.states, window, peers, time.now - begun)
        return {trouble.name: trouble.sentence for trouble in found if trouble.sentence}

    return pass_second


def test_actuators_that_no_driver_gives(watched):
    """Actuators that are missing while others are received are named, with unknown names."""
    names = ('left', 'right', 'hip', 'ghost')
    looks = [watched(), *(watched(('a', names)) for _ in range(3))]
    assert looks[:2] == [{}, {}]
    words = looks[2]['never heard']
    # A joint that passes through may have no motor.
    assert words.startswith('no state of winch, crank yet: ')
    assert "(unknown: 'ghost'), see actuator_names" in words
    assert not watched(('a', ACTUATORS))


def test_one_of_two_drivers_of_a_topic(watched):
    """Actuators missing since their topic lost a publisher are named until they return."""
    first, second = ('a', ('left', 'right', 'winch')), ('a', ('hip', 'crank', 'finger'))
    two = ('/first', '/second')
    assert not any(watched(first, second, a=two) for _ in range(3))
    # One that sends when something changes is no trouble as long as it is there.
    assert not any(watched(first, a=two) for _ in range(5))
    assert not watched(first, second, a=two)
    looks = [watched(first) for _ in range(3)]
    assert 'gone' not in looks[0]
    assert looks[2]['gone'].startswith('no more states of hip, crank, finger; ')
    assert not watched(first, second, a=two)


def test_actuators_given_on_two_topics(watched):
    """Two drivers that give one number in turn are named with it; one that takes over is not."""
    every, shared = ('a', ACTUATORS), ('b', ('hip',))
    assert not watched(every, every)
    assert not watched(shared)
    assert watched(every, shared)['contested'] == (
        "published on two topics, the latest number is used: 'hip' on /left/a (/first) and "
        '/left/b (/second); let one driver publish each actuator'
    )
    assert all(watched(shared) for _ in range(4))
    assert not watched(shared)
