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

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path, StatePath
from zoo.elements import maps, ratio, transmission

import transmission_bridge
from transmission_bridge.bridge.diagnostics import (
    ERROR,
    make_status,
    OK,
    Recent,
    Trouble,
    TroubleLog,
    WARN,
)
from transmission_bridge.bridge.driver_watch import Look, Peers
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.inspection import (
    Coverage,
    inspect_actuators,
    inspect_commands,
    inspect_input,
    inspect_output,
    inspect_transmissions,
)
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


def look(statistics, window, now=10.0, period=2.0, incompatible=''):
    """Return the status of an input."""
    peers = Peers('/left/t', incompatible)
    return inspect_input(statistics, peers, window, Look(now, period))


def having(status, **values):
    """Check level, message (or words that are in it) and values of a status."""
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
        found = window.find_confirmed('a', 'words' if is_so else '')
        assert found == ('words' if last and is_so else '')


def test_what_lasts_without_interruption(time):
    """A fact that has to last some seconds starts anew after each look without it."""
    recent, found = Recent(time), []
    for is_so in (*[True] * 3, False, *[True] * 4):
        found.append(bool(recent.find_confirmed('a', 'words' * is_so, 2.5)))
        time.now += 1.0
    assert found == [*[False] * 7, True]


# -- statuses and the log ------------------------------------------------------------------------


def test_the_worst_trouble_counts():
    """The message has the state, then all troubles with a sentence, the worst first."""
    late, lost, odd = (
        Trouble(name, level, name)
        for name, level in (('late', WARN), ('lost', ERROR), ('odd', WARN))
    )
    status = make_status('x', [late, lost, odd], {'n': 1}, 'fine')
    assert (status.level, status.message, status['n']) == (ERROR, 'lost; late; odd', '1')
    for troubles, level, message in (
        ([], OK, 'active'),
        ([Trouble('none', ERROR, '')], OK, 'active'),
        ([odd], WARN, 'active; odd'),
    ):
        status = make_status('x', troubles, {}, state='active')
        assert (status.level, status.message) == (level, message)
    assert status.troubles == (odd,)


def statuses_of(troubles):
    """Return statuses with these troubles by name."""
    return [make_status(name, each, {}) for name, each in troubles.items()]


def test_the_log_says_begin_and_end(time):
    """A trouble is logged at its start, when it gets worse and at its end, not between."""
    log = TroubleLog(time)
    for trouble, said in (
        (Trouble('late', WARN, 'late by 1 s'), [(WARN, 'x: late by 1 s')]),
        (Trouble('late', WARN, 'late by 2 s'), []),
        (Trouble('late', ERROR, 'lost'), [(ERROR, 'x: lost')]),
        (Trouble('late', WARN, 'late again'), []),
        (None, [(OK, 'x: over after 30 s: lost')]),
        (None, []),
        # Without a name it is logged elsewhere.
        (Trouble('', ERROR, 'refused'), []),
    ):
        time.now += 10.0
        assert log.find_log_lines(statuses_of({'x': [trouble] if trouble else []})) == said


@given(st.lists(st.booleans(), min_size=30, max_size=120))
def test_what_comes_and_goes_floods_no_log(looks):
    """A trouble that comes and goes is at most one line per 5 s; a lasting one is logged."""
    time = _Time()
    log, times = TroubleLog(time), []
    looks = [*looks, *[looks[-1]] * 11]
    for is_there in looks:
        time.now += 1.0
        lines = log.find_log_lines(
            statuses_of({'x': [Trouble('odd', WARN, 'odd')] if is_there else []})
        )
        times += [(time.now, level) for level, _ in lines]
    assert all(b - a >= 5.0 for (a, _), (b, _) in itertools.pairwise(times))
    assert [level for _, level in times] == ([WARN, OK] * len(times))[: len(times)]
    assert looks[-1] == (len(times) % 2 == 1)


def test_the_same_trouble_of_a_hundred_parts_is_one_line(time):
    """The first five are named."""
    names = [f'part {number}' for number in range(100)]
    lines = TroubleLog(time).find_log_lines(
        statuses_of({name: [Trouble('odd', WARN, 'odd')] for name in names})
    )
    assert lines == [(WARN, 'part 0, part 1, part 2, part 3, part 4 and 95 more: odd')]


def test_every_reason_is_explained():
    """The status of rejected messages explains each possible reason."""
    package = Path(transmission_bridge.__file__).parent
    modules = {*(package / 'bridge').glob('*.py'), package / 'ros' / 'channels.py'}
    reasons = {'bug', 'undecodable', 'future_stamp'}
    services = ('zeroing', 'homing', 'tuned_file')
    of_services = {package / 'bridge' / f'{name}.py' for name in services}
    for module in modules - of_services:
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
    for rate in ('5.0', '0.0'):
        status = look(statistics, window)
        assert status.level == WARN
        assert 'ragged' in status.message
        having(
            status, received='10', accepted='7', malformed='2', rejected='3', rejected_ragged='2'
        )
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
    assert status.level == WARN
    assert status.message == (
        'messages rejected: foreign (they name no actuator of this robot, see actuator_names)'
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
        inspect_output('t', Peers('/left/t', peers), Recent()),
    ):
        assert status.level == WARN
        assert status.message == f'incompatible nodes on /left/t: {peers}'
        having(status, topic='/left/t', incompatible=peers)
    assert inspect_output('t', Peers('/t'), Recent()).level == OK


def test_commands(time):
    """A source's clamps, refusals and contests are counted by joint and warned of for 5 s."""
    statistics, counts = TopicStatistics('joint_commands'), CommandCounts()
    window = Recent(time)

    def found():
        return inspect_commands(statistics, counts, Peers('/left/t'), window, '')

    statistics.received = 5
    statistics.rejected['limit'] = 2
    counts.clamped['lift'] = 3
    counts.limited['roll'] = 2
    counts.contested['pitch'] = 1
    for _ in range(2):
        status = found()
        assert (status.name, status.level) == ('commands of joint_commands', WARN)
        assert all(word in status.message for word in ('limit', 'lift', 'pitch'))
    having(
        status,
        accepted='3',
        rejected='2',
        rejected_limit='2',
        clamped='3',
        clamped_lift='3',
        outside_limits_roll='2',
        contested='1',
        contested_pitch='1',
    )
    time.now += 5.0
    assert found().level == OK
    counts.contested['pitch'] += 1
    status = found()
    assert (status.level, status.message) == (WARN, 'also commanded by another source: pitch')


def test_commands_that_nobody_hears(time):
    """A topic without subscribers is a warning while commands are accepted."""
    statistics, window = TopicStatistics('joint_commands'), Recent(time)

    def found(unheard):
        return inspect_commands(statistics, CommandCounts(), Peers('/left/t'), window, unheard)

    assert found('actuator_commands').level == OK
    statistics.received = 1
    assert found('').level == OK
    # The subscriber of the command has left since.
    assert found('actuator_commands').level == OK
    statistics.received = 2
    status = found('actuator_commands')
    assert status.level == WARN
    assert status.message.startswith('actuator_commands has 0 subscribers: start the driver')
    time.now += 5.0
    assert found('actuator_commands').level == OK


# -- the robot -----------------------------------------------------------------------------------


@pytest.fixture
def fed(robot, feed):
    """Return a function that makes a state path that has taken these messages."""

    def make(*messages, **options):
        states = state_path(robot, **options)
        for message in messages:
            feed(states, message, now=1.0)
        return states

    return make


def of_robot(robot, states, window=None, now=1.0, reports=None):
    """Return the statuses of the transmissions by name."""
    latest, reports = states.states, reports or (states.states.report, MapReport())
    stale = latest.find_stale_actuators(now)
    found = inspect_transmissions(robot, latest, reports, window or Recent(), stale)
    return {each.name.removeprefix('transmission '): each for each in found}


def of_actuators(robot, states, now=1.0):
    """Return the status of the actuators."""
    latest = states.states
    return inspect_actuators(robot, latest, now, latest.find_stale_actuators(now), {})


def test_transmissions_that_are_loaded(robot, fed):
    """They are OK."""
    statuses = of_robot(robot, fed())
    assert set(statuses) == {'hoist', 'gauge', 'wrist', 'arm'}
    wrist = statuses['wrist']
    assert (wrist.level, wrist.message, wrist['loaded']) == (OK, 'loaded', 'True')
    having(
        wrist,
        type='transmission_interface/DifferentialTransmission',
        **dict.fromkeys(('NaN', 'domain', 'singular', 'branch'), '0'),
    )


def test_nan_is_counted(robot, reference, fed, time):
    """NaN and infinite numbers are counted for their transmissions; positions are a warning."""
    nan, window = math.nan, Recent(time)
    states = fed(
        reference.Message(('left', 'winch'), position=(nan, 1.0)),
        reference.Message(('winch', 'left'), position=(1.0, math.inf), velocity=(nan, 0.0)),
        reference.Message(('left', 'finger'), position=(1.0, nan)),
    )
    statuses = of_robot(robot, states, window)
    counts = {name: each['NaN'] for name, each in statuses.items()}
    assert counts == {'wrist': '2', 'hoist': '1', 'gauge': '1', 'arm': '0'}
    assert statuses['hoist']['NaN velocity'] == '1'
    assert [statuses[name].level for name in ('wrist', 'hoist', 'arm')] == [WARN, OK, OK]
    time.now += 5.0
    assert of_robot(robot, states, window)['wrist'].level == OK
    status = of_actuators(robot, states)
    assert status['not finite finger position'] == '1'
    assert status['not finite left position'] == '2'


def test_stale_actuators(robot, reference, fed):
    """An actuator that timed out is an error of its transmissions; strange names are none."""
    states = fed(reference.Message(('winch', 'ghost'), position=(1.0, 1.0)), timeout=0.5)
    fresh, late = of_robot(robot, states, now=1.4), of_robot(robot, states, now=1.6)
    assert [fresh[name].level for name in ('hoist', 'gauge', 'wrist')] == [OK, OK, ERROR]
    assert [late[name].level for name in ('hoist', 'gauge', 'wrist')] == [ERROR] * 3
    assert 'winch' in late['hoist'].message
    status = of_actuators(robot, states, 1.4)
    assert (status.level, status['stale']) == (ERROR, 'left, right, hip, crank, finger')
    assert (status['known'], status["unknown name 'ghost'"]) == ('1', '1')
    states = fed(reference.Message(('ghost', 'winch'), (1.0, 1.0)))
    status = inspect_actuators(robot, states.states, 1.0, np.zeros(6, dtype=bool), {})
    assert (status.level, status["unknown name 'ghost'"]) == (OK, '1')


def test_a_transmission_that_cannot_be_used():
    """It is an error with the reason, as long as it lasts."""
    strange = transmission('nowhere', 'Simple', ('one',), ('m1',))
    strange = strange.replace('transmission_interface/Simple', 'nowhere/No')
    zero = transmission('zero', 'Simple', {'two': ratio(0.0)}, ('m2',))
    robot, window = maps(('one', 'two'), strange + zero), Recent()
    states = StatePath(robot)
    for _ in range(2):
        statuses = of_robot(robot, states, window)
        assert {name: each.level for name, each in statuses.items()} == {
            'nowhere': ERROR,
            'zero': ERROR,
        }
        assert 'nowhere/NoTransmission' in statuses['nowhere'].message
        assert re.search('line .* other than zero', statuses['zero'].message)
        assert statuses['zero']['loaded'] == 'False'
    message = of_actuators(robot, states).message
    assert 'of the transmissions in use; rejected: nowhere, zero' in message


def test_map_troubles(robot, time):
    """Samples that a mechanism could not map are counted by reason, for states and commands."""
    first, second = MapReport(), MapReport()
    first.counts['wrist', 'domain'] = 2
    second.counts['wrist', 'domain'] = 1
    second.counts['wrist', 'branch'] = 1
    states, window, looks = StatePath(robot), Recent(time), []
    for _ in range(2):
        looks.append(of_robot(robot, states, window, -1.0, reports=(first, second))['wrist'])
        time.now += 5.0
    assert [each.level for each in looks] == [WARN, OK]
    assert looks[0].message == (
        'could not be mapped: domain (outside the positions that the mechanism can reach), '
        'branch (the solution is on another assembly branch)'
    )
    having(looks[1], domain='3', branch='1', singular='0')


# -- single actuators ----------------------------------------------------------------------------


class _Watched:
    """A :class:`Coverage` and the states that it looks at."""

    def __init__(self, robot, feed, time):
        self.states = StatePath(robot)
        self._feed, self._time = feed, time
        self._watch, self._window = Coverage(robot), Recent(time)
        self._begun = time.now
        self.publishers = {'a': ['/first'], 'b': ['/second']}

    def look(self, *messages):
        """Have a second pass in which these come, each with its topic; return the troubles."""
        self._time.now += 1.0
        for source, message in messages:
            self._feed(self.states, message, now=self._time.now, source=source)
        peers = {
            topic: Peers(f'/left/{topic}', publishers=dict(enumerate(publishers)))
            for topic, publishers in self.publishers.items()
        }
        open_for = self._time.now - self._begun
        found = self._watch.find_troubles(self.states.states, self._window, peers, open_for)
        return {trouble.name: trouble.sentence for trouble in found if trouble.sentence}


@pytest.fixture
def watched(robot, feed, time):
    """Return a :class:`_Watched`."""
    return _Watched(robot, feed, time)


def test_actuators_that_no_driver_gives(watched, reference):
    """Actuators that are missing while others are received are named, with unknown names."""
    message = reference.Message(('left', 'right', 'hip', 'ghost'), position=(1.0,) * 4)
    looks = [watched.look(), *(watched.look(('a', message)) for _ in range(3))]
    assert looks[:2] == [{}, {}]
    words = looks[2]['never heard']
    # A joint that passes through may have no motor.
    assert words.startswith('no state of winch, crank yet: ')
    assert "(unknown: 'ghost'), see actuator_names" in words
    assert not watched.look(('a', reference.Message(reference.ACTUATORS, (1.0,) * 6)))


def test_one_of_two_drivers_of_a_topic(watched, reference):
    """Actuators missing since their topic lost a publisher are named until they return."""
    first = ('a', reference.Message(('left', 'right', 'winch'), position=(1.0,) * 3))
    second = ('a', reference.Message(('hip', 'crank', 'finger'), position=(1.0,) * 3))
    watched.publishers = {'a': ['/first', '/second']}
    assert not any(watched.look(first, second) for _ in range(3))
    # One that sends when something changes is no trouble as long as it is there.
    assert not any(watched.look(first) for _ in range(5))
    assert not watched.look(first, second)
    watched.publishers = {'a': ['/first']}
    looks = [watched.look(first) for _ in range(3)]
    assert 'gone' not in looks[0]
    assert looks[2]['gone'].startswith('no more states of hip, crank, finger; ')
    watched.publishers = {'a': ['/first', '/second']}
    assert not watched.look(first, second)


def test_actuators_given_on_two_topics(watched, reference):
    """Two drivers that give one number in turn are named with it; one that takes over is not."""
    message = reference.Message(reference.ACTUATORS, position=(1.0,) * 6)
    shared = reference.Message(('hip',), position=(2.0,))
    assert not watched.look(('a', message), ('a', message))
    assert not watched.look(('b', shared))
    found = watched.look(('a', message), ('b', shared))
    assert found['contested'] == (
        "published on two topics, the latest number is used: 'hip' on /left/a (/first) and "
        '/left/b (/second); let one driver publish each actuator'
    )
    assert all(watched.look(('b', shared)) for _ in range(4))
    assert not watched.look(('b', shared))
