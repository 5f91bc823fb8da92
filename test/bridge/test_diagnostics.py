# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: totals, and the troubles since the last snapshot."""

from __future__ import annotations

import ast
import itertools
import math
from pathlib import Path
import re
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path

import transmission_bridge
from transmission_bridge.bridge.diagnostics import (
    CHECKS,
    ERROR,
    find_troubles,
    judge_part,
    make_status,
    OK,
    Trouble,
    TroubleLog,
    WARN,
)
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.snapshot import (
    Actuators,
    Changes,
    CommandTopic,
    Coverage,
    InputTopic,
    list_transmission_facts,
    Moment,
    OutputTopic,
    Peers,
)
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.description import load_description
from transmission_bridge.transmissions import MapReport, RobotTransmissions


@given(st.lists(st.integers(0, 100), max_size=6))
def test_window_adds_up(growths):
    """The growth between snapshots adds up to the total, separately for each count."""
    window = Changes()
    total = 0
    for growth in growths:
        total += growth
        assert window.count_growth('a', total) == growth
        assert window.count_growth('b', 2 * total) == 2 * growth
    assert window.count_growth('a', total) == 0


def test_window_begins_anew():
    """A count that is smaller than before was set to zero in between."""
    window = Changes()
    window.count_growth('a', 7)
    assert window.count_growth('a', 3) == 3


def test_worst_trouble_counts():
    """The level is the worst, the message has all troubles, the worst first."""
    status = make_status('x', [(WARN, 'late'), (ERROR, 'lost'), (WARN, 'odd')], {'n': 1}, 'fine')
    assert (status.level, status.message) == (ERROR, 'lost; late; odd')
    assert make_status('x', [], {}, 'fine').message == 'fine'
    assert status['n'] == '1'


class Time:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        """Return the time [s]."""
        return self.now


@pytest.fixture
def time():
    """Return a clock that is set by hand."""
    return Time()


def look(statistics, window, now=10.0, period=2.0, incompatible=''):
    """Return the status of an input."""
    peers = Peers('/left/t', incompatible)
    return judge_part(InputTopic(statistics, peers, window, Moment(now, period)))


def command_status(statistics, counts, window, unheard=''):
    """Return the status of the commands of one source."""
    return judge_part(CommandTopic(statistics, counts, Peers('/left/t'), window, unheard))


@given(st.lists(st.tuples(st.floats(0.1, 4.0), st.booleans()), max_size=20))
def test_events_are_shown_for_a_while(looks):
    """A count counts as grown lately for 5 s after the look that found it grown."""
    time = Time()
    window = Changes(time)
    total, grown = 0, -math.inf
    for pause, has_grown in looks:
        time.now += pause
        total += has_grown
        grown = time.now if has_grown else grown
        assert window.has_grown('a', total) == (time.now - grown < 5.0)
        assert not window.has_grown('b', 0)


@given(st.lists(st.booleans(), min_size=1))
def test_what_two_looks_agree_on_is_settled(looks):
    """A result of one snapshot changes nothing, because the graph may be incomplete."""
    window = Changes()
    found = [window.find_settled('a', is_so) for is_so in looks]
    expected, settled = [], False
    for before, is_so in zip([False, *looks], looks, strict=False):
        settled = is_so if before == is_so else settled
        expected.append(settled)
    assert found == expected


# -- the log -------------------------------------------------------------------------------------


def statuses_of(troubles):
    """Return statuses with these troubles by name."""
    return [make_status(name, each, {}) for name, each in troubles.items()]


def test_the_log_says_begin_and_end(time):
    """A trouble is logged at its start, when it gets worse and at its end, not between."""
    log = TroubleLog(time)
    said = []
    for trouble in (
        *[(WARN, 'late by 1 s', 'late'), (WARN, 'late by 2 s', 'late')],
        *[(ERROR, 'lost', 'late'), (WARN, 'late again', 'late'), None, None],
    ):
        time.now += 10.0
        said.append(log.find_log_lines(statuses_of({'x': [trouble] if trouble else []})))
    assert said == [
        [(WARN, 'x: late by 1 s')],
        [],
        [(ERROR, 'x: lost')],
        [],
        [(OK, 'x: over after 30 s: lost')],
        [],
    ]


def test_what_the_log_has_is_not_said_again(time):
    """A trouble without a kind is logged elsewhere."""
    assert not TroubleLog(time).find_log_lines(statuses_of({'x': [(ERROR, 'refused')]}))


@given(st.lists(st.booleans(), min_size=30, max_size=120))
def test_what_comes_and_goes_floods_no_log(looks):
    """A trouble that comes and goes is at most one line per 5 s; a lasting one is logged."""
    time = Time()
    log = TroubleLog(time)
    times = []
    looks = [*looks, *[looks[-1]] * 11]
    for is_there in looks:
        time.now += 1.0
        lines = log.find_log_lines(statuses_of({'x': [(WARN, 'odd', 'odd')] if is_there else []}))
        times += [(time.now, level) for level, _ in lines]
    assert all(b - a >= 5.0 for (a, _), (b, _) in itertools.pairwise(times))
    assert [level for _, level in times] == [WARN, OK] * (len(times) // 2) + [WARN] * (
        len(times) % 2
    )
    assert looks[-1] == (len(times) % 2 == 1)


def test_the_same_words_are_one_line(time):
    """The same trouble of a hundred parts is one line."""
    log = TroubleLog(time)
    names = [f'part {number}' for number in range(100)]
    lines = log.find_log_lines(statuses_of({name: [(WARN, 'odd', 'odd')] for name in names}))
    assert lines == [
        (WARN, 'part 0, part 1, part 2, part 3, part 4 and 95 more: odd'),
    ]


def test_further_troubles_of_a_status():
    """Further troubles come behind the message, and the level is the worst."""
    status = make_status('life cycle', [], {'n': 1}, 'active').with_troubles(
        [Trouble(WARN, 'odd', 'odd')]
    )
    assert (status.level, status.message, status['n']) == (WARN, 'active; odd', '1')
    assert status.with_troubles([]) == status
    assert status.troubles == (Trouble(WARN, 'odd', 'odd'),)


def test_every_reason_is_explained():
    """The status of rejected messages explains each possible reason."""
    package = Path(transmission_bridge.__file__).parent
    modules = {*(package / 'bridge').glob('*.py'), package / 'ros' / 'channels.py'}
    reasons = {'bug', 'undecodable', 'future_stamp'}
    of_services = {package / 'bridge' / 'zeroing.py', package / 'bridge' / 'homing.py'}
    for module in modules - of_services:
        for node in ast.walk(ast.parse(module.read_text('utf-8'))):
            name = isinstance(node, ast.Call) and getattr(node.func, 'id', '')
            if name in ('MessageError', 'JointRejection'):
                reasons |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant)}
    assert {'mixed_coupled', 'foreign', 'times', 'too_large'} <= reasons
    for reason in reasons:
        statistics = TopicStatistics('t')
        statistics.rejected[reason] = 1
        assert re.search(rf'{reason} \(.+\)', look(statistics, Changes()).message), reason


def test_input(time):
    """Rate and warnings are of the last period, counts of the whole time."""
    statistics, window = TopicStatistics('actuator_states'), Changes(time)
    status = look(statistics, window)
    assert (status.name, status.level, status.message) == ('actuator_states', OK, 'not used')
    assert status['age [s]'] == 'never heard'
    statistics.received = 10
    statistics.rejected.update({'ragged': 2, 'bug': 1})
    statistics.heard = 9.5
    status = look(statistics, window)
    assert status.level == WARN
    assert 'ragged' in status.message
    expected = {
        'rate [Hz]': '5.0',
        'age [s]': '0.500',
        'received': '10',
        'accepted': '7',
        'malformed': '2',
        'rejected': '3',
        'rejected ragged': '2',
        'rejected bug': '1',
    }
    assert {key: status[key] for key in expected} == expected
    assert look(statistics, window).level == WARN
    time.now += 5.0
    status = look(statistics, window)
    assert (status.level, status.message) == (OK, 'no new message')
    assert (status['rate [Hz]'], status['received'], status['rejected']) == ('0.0', '10', '3')
    statistics.rejected['ragged'] += 1
    statistics.received += 1
    status = look(statistics, window)
    assert (status.level, status['rejected ragged']) == (WARN, '3')
    assert 'bug' not in status.message


def test_messages_of_others_are_no_trouble():
    """A message without an actuator is counted as rejected; it is a warning if all are such."""
    statistics, window = TopicStatistics('actuator_states'), Changes()
    statistics.received, statistics.heard, statistics.rejected['foreign'] = 3, 9.5, 2
    status = look(statistics, Changes())
    assert status.level == WARN
    assert status.message == (
        'messages rejected: foreign (they name no actuator of this robot, see actuator_names)'
    )
    statistics.used = 9.0
    status = look(statistics, window)
    assert (status.level, status.message) == (OK, 'receiving')
    assert (status['accepted'], status['rejected foreign'], status['malformed']) == ('1', '2', '0')


def test_age_is_never_negative():
    """A clock that jumped back makes no negative age."""
    statistics = TopicStatistics('t')
    statistics.heard = 20.0
    assert look(statistics, Changes())['age [s]'] == '0.000'


def test_incompatible_peers():
    """Nodes with incompatible quality of service are named."""
    peers = '/driver (Best effort publisher and reliable subscription)'
    for status in (
        look(TopicStatistics('t'), Changes(), incompatible=peers),
        judge_part(OutputTopic('t', Peers('/left/t', peers))),
    ):
        assert status.level == WARN
        assert status.message == f'incompatible quality of service on /left/t: {peers}'
        assert (status['topic'], status['incompatible']) == ('/left/t', peers)
    assert judge_part(OutputTopic('t', Peers('/t'))).level == OK


def test_commands(time):
    """A source's clamps, refusals and contests are counted by joint and warned of for 5 s."""
    statistics, counts = TopicStatistics('joint_commands'), CommandCounts()
    window = Changes(time)
    statistics.received = 5
    statistics.rejected['limit'] = 2
    counts.clamped['lift'] = 3
    counts.limited['roll'] = 2
    counts.contested['pitch'] = 1
    status = command_status(statistics, counts, window)
    assert status.name == 'commands of joint_commands'
    assert status.level == WARN
    assert [word in status.message for word in ('limit', 'lift', 'pitch')] == [True] * 3
    expected = {
        'accepted': '3',
        'rejected': '2',
        'rejected limit': '2',
        'clamped': '3',
        'clamped lift': '3',
        'outside limits roll': '2',
        'contested': '1',
        'contested pitch': '1',
    }
    assert {key: status[key] for key in expected} == expected
    assert command_status(statistics, counts, window).level == WARN
    time.now += 5.0
    assert command_status(statistics, counts, window).level == OK
    counts.contested['pitch'] += 1
    status = command_status(statistics, counts, window)
    assert (status.level, status.message) == (WARN, 'also commanded by another source: pitch')


def test_commands_that_nobody_hears(time):
    """A topic without subscribers is a warning while commands are accepted."""
    statistics, window = TopicStatistics('joint_commands'), Changes(time)

    def found(unheard):
        return command_status(statistics, CommandCounts(), window, unheard)

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


def test_both_views_of_a_rejection():
    """A rejected command is a warning of the status of its topic and of its source."""
    statistics, window = TopicStatistics('joint_commands'), Changes()
    statistics.received = 1
    statistics.rejected['ragged'] = 1
    assert look(statistics, window).level == WARN
    assert command_status(statistics, CommandCounts(), window).level == WARN


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


def of_robot(robot, states, window=None, now=1.0, misplaced=MappingProxyType({})):
    """Return the statuses of the transmissions by name."""
    merged = states.merged
    reports, stale = (states.report, MapReport()), merged.find_stale_actuators(now)
    parts = list_transmission_facts(robot, merged, reports, window or Changes(), stale, misplaced)
    statuses = map(judge_part, parts)
    return {status.name.removeprefix('transmission '): status for status in statuses}


def test_loaded(robot, fed):
    """A transmission that is loaded and has had nothing to complain about is OK."""
    statuses = of_robot(robot, fed())
    assert set(statuses) == {'hoist', 'gauge', 'wrist', 'arm'}
    wrist = statuses['wrist']
    assert (wrist.level, wrist.message, wrist['loaded']) == (OK, 'loaded', 'True')
    assert wrist['type'] == 'transmission_interface/DifferentialTransmission'
    assert {wrist[key] for key in ('NaN', 'domain', 'singular', 'exception')} == {'0'}


def test_misplaced_encoder(robot, fed):
    """A misplaced absolute encoder is a warning of its transmission while it lasts."""
    window = Changes()
    looks = [
        of_robot(robot, fed(), window, misplaced=each) for each in ({}, {'hoist': 'words'}, {})
    ]
    assert [each['hoist'].level for each in looks] == [OK, WARN, OK]
    assert looks[1]['hoist'].troubles == (Trouble(WARN, 'words', 'encoder'),)
    assert looks[1]['wrist'].level == OK


def test_nan_is_counted(robot, reference, fed, time):
    """NaN and infinite numbers are counted for their transmissions; positions are a warning."""
    nan, inf = math.nan, math.inf
    states = fed(
        reference.Message(('left', 'winch'), position=(nan, 1.0)),
        reference.Message(('winch', 'left'), position=(1.0, inf), velocity=(nan, 0.0)),
        reference.Message(('left', 'finger'), position=(1.0, nan)),
    )
    window = Changes(time)
    statuses = of_robot(robot, states, window)
    assert {name: each['NaN'] for name, each in statuses.items()} == {
        'wrist': '2',
        'hoist': '1',
        'gauge': '1',
        'arm': '0',
    }
    assert statuses['hoist']['NaN velocity'] == '1'
    assert [statuses[name].level for name in ('wrist', 'hoist', 'arm')] == [WARN, OK, OK]
    time.now += 5.0
    assert of_robot(robot, states, window)['wrist'].level == OK
    status = judge_part(
        Actuators(robot, states.merged, 1.0, states.merged.find_stale_actuators(1.0))
    )
    assert status['not finite finger position'] == '1'
    assert status['not finite left position'] == '2'


def test_stale_actuators(robot, reference, fed):
    """An actuator that timed out is an error of its transmissions until it is received again."""
    states = fed(reference.Message(('winch',), position=(1.0,)), timeout=0.5)
    fresh, late = of_robot(robot, states, now=1.4), of_robot(robot, states, now=1.6)
    assert [fresh[name].level for name in ('hoist', 'gauge', 'wrist')] == [OK, OK, ERROR]
    assert [late[name].level for name in ('hoist', 'gauge', 'wrist')] == [ERROR] * 3
    assert 'winch' in late['hoist'].message
    stale = states.merged.find_stale_actuators(1.4)
    status = judge_part(Actuators(robot, states.merged, 1.4, stale))
    assert status.level == ERROR
    assert status['stale'] == 'left, right, hip, crank, finger'
    assert status['known'] == '1'


def test_unknown_names(robot, reference, fed):
    """Names that the robot does not have are counted, and no trouble."""
    states = fed(*[reference.Message(('ghost', 'winch'), (1.0, 1.0))] * 3)
    status = judge_part(Actuators(robot, states.merged, 1.0, np.zeros(6, dtype=bool)))
    assert (status.level, status["unknown name 'ghost'"]) == (OK, '3')


BROKEN = """
<transmission name="nowhere">
  <plugin>nowhere/NoTransmission</plugin>
  <actuator name="m1" role="actuator1"/><joint name="one" role="joint1"/>
</transmission>
<transmission name="zero">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m2" role="actuator1"/>
  <joint name="two" role="joint1"><mechanical_reduction>0.0</mechanical_reduction></joint>
</transmission>
"""


def test_failed_to_load(robots):
    """A transmission that cannot be used is an error with the reason, as long as it lasts."""
    robot = RobotTransmissions(load_description(robots.urdf(('one', 'two'), BROKEN)))
    states, window = StatePath(robot), Changes()
    for _ in range(2):
        statuses = of_robot(robot, states, window)
        assert {name: each.level for name, each in statuses.items()} == {
            'nowhere': ERROR,
            'zero': ERROR,
        }
        assert 'nowhere/NoTransmission' in statuses['nowhere'].message
        assert 'zero' in statuses['zero'].message
        assert 'line ' in statuses['zero'].message
        assert statuses['zero']['loaded'] == 'False'
    status = judge_part(
        Actuators(robot, states.merged, 1.0, states.merged.find_stale_actuators(1.0))
    )
    assert 'of the transmissions in use; rejected: nowhere, zero' in status.message


# -- single actuators ----------------------------------------------------------------------------


class Watched:
    """A :class:`Coverage` and the states that it looks at."""

    def __init__(self, robot, feed, time):
        self.states = StatePath(robot)
        self._feed, self._time = feed, time
        self._watch, self._window = Coverage(robot), Changes(time)
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
        self._watch.update_coverage(
            self.states.merged, self._window, peers, self._time.now - self._begun
        )
        found = find_troubles(self._watch, CHECKS[Coverage])
        return {trouble.kind: trouble.words for trouble in found}


@pytest.fixture
def watched(robot, feed, time):
    """Return a :class:`Watched`."""
    return Watched(robot, feed, time)


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


def test_map_troubles(robot, time):
    """Samples that a mechanism could not map are counted by reason, for states and commands."""
    first, second = MapReport(), MapReport()
    first.counts['wrist', 'domain'] = 2
    second.counts['wrist', 'domain'] = 1
    second.counts['wrist', 'exception'] = 1
    second.errors['wrist'] = 'Traceback\n  line\nValueError: no'
    merged = StatePath(robot).merged
    window, stale = Changes(time), np.zeros(6, dtype=bool)
    looks = []
    for _ in range(2):
        parts = list_transmission_facts(robot, merged, (first, second), window, stale, {})
        statuses = map(judge_part, parts)
        looks.append({each.name: each for each in statuses}['transmission wrist'])
        time.now += 5.0
    assert [each.level for each in looks] == [WARN, OK]
    assert looks[0].message == (
        'could not be mapped: domain (outside the positions that the mechanism can reach), '
        'exception (the transmission raised an error, see the log)'
    )
    assert (looks[1]['domain'], looks[1]['exception'], looks[1]['singular']) == ('3', '1', '0')
    assert looks[1]['last exception'] == 'ValueError: no'
    assert looks[1]['traceback'] == 'Traceback\n  line\nValueError: no'
