# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say: totals, and the trouble since the last look."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.diagnostics import (
    command_status,
    ERROR,
    input_status,
    judged,
    OK,
    output_status,
    WARN,
    Window,
)
from transmission_bridge.bridge.robot_diagnostics import actuator_status, transmission_statuses
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.statistics import CommandCounts, TopicStatistics
from transmission_bridge.description import load_description
from transmission_bridge.transmissions import MapReport, RobotTransmissions


@given(st.lists(st.integers(0, 100), max_size=6))
def test_window_adds_up(growths):
    """What has grown between looks adds up to the total, each count by itself."""
    window = Window()
    total = 0
    for growth in growths:
        total += growth
        assert window.grown('a', total) == growth
        assert window.grown('b', 2 * total) == 2 * growth
    assert window.grown('a', total) == 0


def test_window_begins_anew():
    """A count that is smaller than before was set to zero in between."""
    window = Window()
    window.grown('a', 7)
    assert window.grown('a', 3) == 3


def test_worst_trouble_counts():
    """The level is the worst, the message has all troubles, the worst first."""
    status = judged('x', [(WARN, 'late'), (ERROR, 'lost'), (WARN, 'odd')], {'n': 1}, 'fine')
    assert (status.level, status.message) == (ERROR, 'lost; late; odd')
    assert judged('x', [], {}, 'fine').message == 'fine'
    assert status['n'] == '1'


def look(statistics, window, now=10.0, period=2.0, incompatible=(), timeout=0.0):
    """Return the status of an input."""
    return input_status(
        statistics, window, now=now, period=period, incompatible=incompatible, timeout=timeout
    )


def test_input():
    """Rate and warnings are of the last period, counts of the whole time."""
    statistics, window = TopicStatistics('actuator_states'), Window()
    status = look(statistics, window)
    assert (status.name, status.level, status.message) == ('actuator_states', OK, 'silent')
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
    status = look(statistics, window)
    assert (status.level, status.message) == (OK, 'silent')
    assert (status['rate [Hz]'], status['received'], status['rejected']) == ('0.0', '10', '3')
    statistics.rejected['ragged'] += 1
    statistics.received += 1
    status = look(statistics, window)
    assert (status.level, status['rejected ragged']) == (WARN, '3')
    assert 'bug' not in status.message


@pytest.mark.parametrize(
    ('timeout', 'used', 'level'),
    [(0.0, -math.inf, OK), (1.0, -math.inf, ERROR), (1.0, 8.9, ERROR), (1.0, 9.1, OK)],
)
def test_stale_input(timeout, used, level):
    """With a timeout, a topic without a usable message within it is an error."""
    statistics = TopicStatistics('t')
    statistics.used = used
    statistics.heard = 10.0
    assert look(statistics, Window(), timeout=timeout).level == level


def test_messages_of_others_are_no_trouble():
    """What names no actuator is counted as rejected, and warned of only if all messages do."""
    statistics, window = TopicStatistics('actuator_states'), Window()
    statistics.received, statistics.heard, statistics.rejected['foreign'] = 3, 9.5, 2
    status = look(statistics, Window())
    assert (status.level, status.message) == (WARN, 'messages rejected: foreign')
    statistics.used = 9.0
    status = look(statistics, window)
    assert (status.level, status.message) == (OK, 'receiving')
    assert (status['accepted'], status['rejected foreign'], status['malformed']) == ('1', '2', '0')


def test_age_is_never_negative():
    """A clock that jumped back makes no negative age."""
    statistics = TopicStatistics('t')
    statistics.heard = 20.0
    assert look(statistics, Window())['age [s]'] == '0.000'


def test_incompatible_peers():
    """Who cannot be heard or cannot hear is named."""
    peers = ['/driver (Best effort publisher and reliable subscription)']
    for status in (
        look(TopicStatistics('t'), Window(), incompatible=peers),
        output_status('t', peers),
    ):
        assert status.level == WARN
        assert '/driver' in status.message
        assert status['incompatible'] == peers[0]
    assert output_status('t', []).level == OK


def test_commands():
    """A source's clamps, refusals and contests are counted by joint and warned of once."""
    statistics, counts, window = TopicStatistics('joint_commands'), CommandCounts(), Window()
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
    assert command_status(statistics, counts, window).level == OK
    counts.contested['pitch'] += 1
    status = command_status(statistics, counts, window)
    assert (status.level, status.message) == (WARN, 'commanded by another source too: pitch')


def test_both_views_of_a_rejection():
    """A refused command is warned of in the status of its topic and in that of its source."""
    statistics, window = TopicStatistics('joint_commands'), Window()
    statistics.received = 1
    statistics.rejected['ragged'] = 1
    assert look(statistics, window).level == WARN
    assert command_status(statistics, CommandCounts(), window).level == WARN


# -- the robot -----------------------------------------------------------------------------------


@pytest.fixture
def fed(robot, feed):
    """Return a function that makes a state path that has taken these messages."""

    def make(*messages, **options):
        states = StatePath(robot, **options)
        for message in messages:
            feed(states, message, now=1.0)
        return states

    return make


def of_robot(robot, states, window=None, now=1.0):
    """Return the statuses of the transmissions by name."""
    merged = states.merged
    statuses = transmission_statuses(
        robot, merged, (states.report, MapReport()), window or Window(), stale=merged.stale(now)
    )
    return {status.name.removeprefix('transmission '): status for status in statuses}


def test_loaded(robot, fed):
    """A transmission that is loaded and has had nothing to complain about is OK."""
    statuses = of_robot(robot, fed())
    assert set(statuses) == {'hoist', 'gauge', 'wrist', 'arm'}
    wrist = statuses['wrist']
    assert (wrist.level, wrist.message, wrist['loaded']) == (OK, 'loaded', 'True')
    assert wrist['type'] == 'transmission_interface/DifferentialTransmission'
    assert {wrist[key] for key in ('NaN', 'domain', 'singular', 'exception')} == {'0'}


def test_nan_is_counted(robot, reference, fed):
    """Every number that is none counts for its transmissions; only positions are a warning."""
    nan, inf = math.nan, math.inf
    states = fed(
        reference.Message(('left', 'winch'), position=(nan, 1.0)),
        reference.Message(('winch', 'left'), position=(1.0, inf), velocity=(nan, 0.0)),
        reference.Message(('left', 'finger'), position=(1.0, nan)),
    )
    window = Window()
    statuses = of_robot(robot, states, window)
    assert {name: each['NaN'] for name, each in statuses.items()} == {
        'wrist': '2',
        'hoist': '1',
        'gauge': '1',
        'arm': '0',
    }
    assert statuses['hoist']['NaN velocity'] == '1'
    assert [statuses[name].level for name in ('wrist', 'hoist', 'arm')] == [WARN, OK, OK]
    assert of_robot(robot, states, window)['wrist'].level == OK
    status = actuator_status(robot, states.merged, stale=states.merged.stale(1.0), now=1.0)
    assert status['not finite finger position'] == '1'
    assert status['not finite left position'] == '2'


def test_stale_actuators(robot, reference, fed):
    """An actuator that timed out is an error of its transmissions, and recovers by itself."""
    states = fed(reference.Message(('winch',), position=(1.0,)), timeout=0.5)
    fresh, late = of_robot(robot, states, now=1.4), of_robot(robot, states, now=1.6)
    assert [fresh[name].level for name in ('hoist', 'gauge', 'wrist')] == [OK, OK, ERROR]
    assert [late[name].level for name in ('hoist', 'gauge', 'wrist')] == [ERROR] * 3
    assert 'winch' in late['hoist'].message
    stale = states.merged.stale(1.4)
    status = actuator_status(robot, states.merged, stale=stale, now=1.4)
    assert status.level == ERROR
    assert status['stale'] == 'left, right, hip, crank, finger'
    assert status['known'] == '1'


def test_unknown_names(robot, reference, fed):
    """Names that the robot does not have are counted, and no trouble."""
    states = fed(*[reference.Message(('ghost', 'winch'), (1.0, 1.0))] * 3)
    status = actuator_status(robot, states.merged, stale=np.zeros(6, dtype=bool), now=1.0)
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
    """A transmission that cannot be used is an error that says why, for as long as it is so."""
    robot = RobotTransmissions(load_description(robots.urdf(('one', 'two'), BROKEN)))
    states, window = StatePath(robot), Window()
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


def test_map_troubles(robot):
    """What a mechanism could not map is counted by reason, over states and commands."""
    first, second = MapReport(), MapReport()
    first.counts['wrist', 'domain'] = 2
    second.counts['wrist', 'domain'] = 1
    second.counts['wrist', 'exception'] = 1
    second.errors['wrist'] = 'Traceback\n  line\nValueError: no'
    merged = StatePath(robot).merged
    window, stale = Window(), np.zeros(6, dtype=bool)
    looks = [
        {
            each.name: each
            for each in transmission_statuses(robot, merged, (first, second), window, stale=stale)
        }['transmission wrist']
        for _ in range(2)
    ]
    assert [each.level for each in looks] == [WARN, OK]
    assert looks[0].message == 'could not be mapped: domain, exception'
    assert (looks[1]['domain'], looks[1]['exception'], looks[1]['singular']) == ('3', '1', '0')
    assert looks[1]['last exception'] == 'ValueError: no'
    assert looks[1]['traceback'] == 'Traceback\n  line\nValueError: no'
