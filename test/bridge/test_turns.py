# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Turns of actuators with single-turn encoders, and their state while it is unknown."""

from __future__ import annotations

from collections import Counter
import math
from pathlib import Path

from command_paths import Commands, Trajectories
import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge.bridge.diagnostics import ERROR, judge_part, OK, WARN
from transmission_bridge.bridge.snapshot import Actuators
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

TURN = 2.0 * math.pi
EMPTY = np.empty(0)


@pytest.fixture(scope='module')
def power_ups(load):
    """Return the random power-ups."""
    return load('power_ups', Path(__file__).with_name('power_ups.py'))


def robot(lower=-1.0, upper=1.0, *, velocity=1.0, ratio=1.0, kind='revolute', text=''):
    """Return a robot with one joint, or with a transmission of this text."""
    bounds = f'lower="{lower}" upper="{upper}"' if lower is not None else ''
    joints = ''.join(
        f'<joint name="{name}" type="{kind}"><parent link="b"/><child link="{name}_link"/>'
        f'<limit {bounds} velocity="{velocity}" effort="1"/></joint><link name="{name}_link"/>'
        for name in (('roll', 'pitch') if text else ('j',))
    )
    text = text or (
        '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
        '<actuator name="a" role="actuator1"/><joint name="j" role="joint1">'
        f'<mechanical_reduction>{ratio}</mechanical_reduction></joint></transmission>'
    )
    names = '<joint name="roll"/><joint name="pitch"/>' if 'roll' in text else '<joint name="j"/>'
    block = f'<ros2_control name="h" type="system">{names}{text}</ros2_control>'
    return RobotTransmissions(
        load_description(f'<robot name="r"><link name="b"/>{joints}{block}</robot>')
    )


WRIST = (
    '<transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>'
    '<actuator name="left" role="actuator1"/><actuator name="right" role="actuator2"/>'
    '<joint name="roll" role="joint1"/><joint name="pitch" role="joint2"/></transmission>'
)


class Bridge:
    """A state path and a command path, as a session has them."""

    def __init__(self, maps, periods=None, *, timeout=1.0, **options):
        self.maps = maps
        periods = dict.fromkeys(maps.actuator_names, TURN) if periods is None else periods
        self.states = state_path(maps, wrap_period=periods, timeout=timeout, **options)
        self.commands = Commands(maps)
        self.layouts = LayoutTable()

    @property
    def turns(self):
        """The counter of the turns."""
        return self.states.merged.turns

    def hear(self, now=0.0, source='driver', stamp=(1, 0), **positions):
        """Take readings, and return the joints' positions."""
        record = JointStateRecord(
            stamp, '', tuple(positions), np.array([*positions.values()]), EMPTY, EMPTY
        )
        layout = self.layouts.find_layout(record.names, record.lengths)
        self.states.merge_message(source, layout, record, stamp, now)
        return self.states.find_joint_motion(now)[0].copy()

    def command(self, now=0.0, field='position', **values):
        """Return what is sent for a command."""
        known = self.states.find_known_state(now)
        self.commands.open_turns, self.commands.shift = known.open_turns, known.shift
        self.commands.sent.clear()
        self.commands.command_interface(
            field, list(values), np.array([*values.values()]),
            known.position, (1, 0), source='me', now=now,
        )  # fmt: skip
        return [each.content for each in self.commands.sent]

    def status(self):
        """Return the status of the actuators."""
        stale = np.zeros(len(self.maps.actuator_names), dtype=bool)
        return judge_part(Actuators(self.maps, self.states.merged, 0.0, stale))


# -- at power-up ---------------------------------------------------------------------------------


def test_random_power_ups(power_ups, campaign):
    """No turn is wrong; a single candidate is used, several candidates are named."""
    counts = power_ups.run(660 * campaign, seed=5, each=15)
    total = sum(counts.values(), Counter())
    # Limits do not resolve more actuators than joints.
    assert counts['redundant']['one resolved'] == 0
    total['one'] -= counts['redundant']['one']
    assert (total['wrong'], total['not named'], total['not said'], total['accused']) == (0,) * 4
    assert total['one resolved'] >= 0.99 * total['one'] > 100
    assert total['several'] > 100
    assert total['several resolved'] == 0
    assert total['absolute resolved'] == total['absolute'] > 100


@pytest.mark.parametrize(
    ('maps', 'reading', 'level', 'words'),
    [
        ({}, 0.5 + TURN, OK, ()),
        (
            {'lower': -7.0, 'upper': 4.0},
            1.0,
            WARN,
            ('the turn of ', "'a'", 'j -5.283', 'j 1', '~/zero'),
        ),
        (
            {},
            3.0,
            ERROR,
            ('no turn keeps', 'position_unit', 'offset', 'wrap_period', '<limit>', '~/zero'),
        ),
        ({'lower': None, 'kind': 'prismatic'}, 3.0, WARN, ('no limits',)),
        ({'lower': -1e6, 'upper': 1e6}, 3.0, WARN, ('more than 4096 turns',)),
    ],
)
def test_open_turns_in_words(maps, reading, level, words):
    """While the turn is unknown so is the joint, and the sentence has reason and remedy."""
    bridge = Bridge(robot(**maps))
    assert np.isnan(bridge.hear(a=reading)).all() == bool(words)
    status = bridge.status()
    assert status.level == level
    for each in words:
        assert each in status.message
    assert bool(bridge.turns.list_open_turns()) == bool(words)
    if level == ERROR:  # it goes on looking
        assert bridge.hear(a=0.9) == pytest.approx([0.9])


def test_first_reading_as_it_is():
    """With unknown_turn: first nothing is ever open."""
    bridge = Bridge(robot(-1.0, 1.0), unknown_turn='first')
    assert bridge.states.merged.find_open_actuators(0.0) is None
    assert bridge.hear(a=0.5 + TURN) == [0.5 + TURN]
    assert bridge.hear(a=0.4, now=100.0) == pytest.approx([0.4 + TURN])
    (sent,) = bridge.command(j=0.5, now=100.0)
    assert sent.position == [0.5]


@pytest.mark.parametrize(('wrapped', 'is_resolved'), [('ab', True), ('abc', False)])
def test_more_than_two_coupled_actuators_that_wrap_wait_for_an_absolute_position(
    wrapped, is_resolved
):
    """Though limits of half a radian leave one combination of turns only."""
    ends = ''.join(
        f'<actuator name="{motor}" role="actuator{k}"/><joint name="j{motor}" role="joint{k}"/>'
        for k, motor in enumerate('abc', 1)
    )
    joints = ''.join(
        f'<joint name="j{motor}" type="revolute"><parent link="b"/><child link="l{motor}"/>'
        f'<limit lower="-0.5" upper="0.5" velocity="1" effort="1"/></joint><link name="l{motor}"/>'
        for motor in 'abc'
    )
    block = ''.join(f'<joint name="j{motor}"/>' for motor in 'abc') + (
        '<transmission name="t"><plugin>transmission_bridge/CoupledTransmission</plugin>'
        f'<param name="matrix">1 0 0; 0.1 1 0; 0 0.1 1</param>{ends}</transmission>'
    )
    maps = RobotTransmissions(
        load_description(
            f'<robot name="r"><link name="b"/>{joints}'
            f'<ros2_control name="h" type="system">{block}</ros2_control></robot>'
        )
    )
    bridge = Bridge(maps, dict.fromkeys(wrapped, TURN))
    truth = np.array([0.2, -0.1, 0.3])
    read = truth + np.array([TURN if motor in wrapped else 0.0 for motor in 'abc'])
    expected = pytest.approx(maps.actuator_to_joint('position', truth))
    found = bridge.hear(**dict(zip('abc', read.tolist(), strict=True)))
    if is_resolved:
        assert found == expected
        return
    assert np.isnan(found).all()
    assert 'more than 2 wrapped actuators' in str(bridge.turns.list_open_turns()[0])
    bridge.states.use_absolute_positions(truth, 0.0)
    assert bridge.states.find_joint_motion(0.0)[0] == expected


def test_readings_of_different_times_take_no_turn_away():
    """While coupled actuators move, the old reading of one excludes no turn of the other."""
    bridge = Bridge(robot(-1.0, 3.26, text=WRIST))
    assert np.isnan(bridge.hear(left=3.2, right=3.2)).all()
    assert np.isnan(bridge.hear(right=3.4, now=0.2)).all()
    assert np.isnan(bridge.hear(left=3.1, now=0.2)).all()
    (turn,) = bridge.turns.list_open_turns()
    truth = bridge.maps.actuator_to_joint('position', [3.1, 3.4])
    assert any(np.allclose(each, truth) for each in turn.candidates)


def test_coupled_actuators_at_rest_are_resolved_once_their_readings_are_of_one_time():
    """Readings that are 0.9 s apart leave several turns, the next ones leave one."""
    bridge = Bridge(robot(-1.0, 1.0, text=WRIST))
    bridge.hear(source='one', left=0.6, now=0.0)
    assert np.isnan(bridge.hear(source='two', right=0.2, now=0.9)).all()
    bridge.hear(source='one', left=0.6, now=0.95)
    found = bridge.hear(source='two', right=0.2, now=0.95)
    assert found == pytest.approx(bridge.maps.actuator_to_joint('position', [0.6, 0.2]))


def test_motion_leaves_one():
    """A turn beyond the limits is no candidate: motion resolves it."""
    bridge = Bridge(robot(-3.5, 3.5))
    path = np.arange(3.0, 0.0, -0.1)
    readings = [float(each % TURN) for each in path]
    found = [bridge.hear(a=each, now=0.01 * n)[0] for n, each in enumerate(readings)]
    unknown = np.isnan(found)
    assert unknown[0]
    assert not unknown[-1]
    assert np.allclose(np.array(found)[~unknown], path[~unknown])
    assert bridge.turns.waited['a'] == unknown.sum()


def test_tuned_offset_counts():
    """After a change of numbers unknown turns are checked again; known turns stay."""
    maps = robot(-1.0, 1.0)
    bridge = Bridge(maps)
    bridge.hear(a=3.0)
    tuned = maps.with_parameters({'t.joints.j.offset': -3.0})
    bridge.states.replace_maps(tuned)
    assert bridge.hear(a=3.0) == pytest.approx([0.0])
    bridge.states.replace_maps(maps)
    assert bridge.hear(a=3.0) == pytest.approx([3.0])


# -- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('active', [True, False])
def test_short_gap_keeps_the_turn(active):
    """If the joint cannot have moved to another turn, it is known at once, also inactive."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN})
    bridge.hear(a=1.0)
    bridge.states.merged.settle_turns({0: 1.0 + TURN})
    assert bridge.hear(a=1.0, now=0.1) == pytest.approx([1.0 + TURN])
    if not active:
        bridge.states.reset()
    assert bridge.hear(a=2.0, now=3.0) == pytest.approx([2.0 + TURN])


@pytest.mark.parametrize('active', [True, False])
def test_long_gap_leaves_it_open(active):
    """After a gap in which it could have gone round, every turn within the limits is possible."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN})
    bridge.hear(a=1.0)
    bridge.states.merged.settle_turns({0: 1.0})
    assert bridge.hear(a=1.0, now=0.1) == [1.0]
    if not active:
        bridge.states.reset()
    assert np.isnan(bridge.hear(a=1.5, now=8.0)).all()
    (turn,) = bridge.turns.list_open_turns()
    assert len(turn.candidates) == 6


def test_long_gap_with_limits():
    """If limits leave one turn, it is known again, in the turn of the driver's power-up."""
    bridge = Bridge(robot(-1.0, 4.0, velocity=3.0))
    assert bridge.hear(a=3.5) == [3.5]
    assert bridge.hear(a=0.2 + TURN, now=60.0) == pytest.approx([0.2])


def test_somebody_moved_it_faster_than_its_limit():
    """After a gap the limits of the joints alone count."""
    bridge = Bridge(robot(-1.0, 4.0, velocity=0.1))
    assert bridge.hear(a=3.9) == [3.9]
    assert bridge.hear(a=-0.9, now=70.0) == pytest.approx([-0.9])


def test_without_a_timeout_silence_means_rest():
    """With state_timeout 0 a driver is silent while nothing moves."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN}, timeout=0.0)
    bridge.hear(a=1.0)
    bridge.states.merged.settle_turns({0: 1.0})
    assert bridge.hear(a=1.5, now=1e5) == [1.5]


def test_time_of_another_start():
    """After an activation with a new time, counting continues separately by actuator."""
    bridge = Bridge(robot(-9.0, 9.0, text=WRIST))
    bridge.hear(left=0.6, right=0.2, now=100.0)
    bridge.states.merged.settle_turns({0: 0.6, 1: 0.2})
    assert np.isfinite(bridge.hear(left=0.6, right=0.2, now=100.1)).all()
    bridge.states.reset()
    bridge.hear(left=0.6, now=1.0)
    assert np.isnan(bridge.hear(right=0.2, now=1.0)).all()
    bridge.states.merged.settle_turns({0: 0.6, 1: 0.2})
    for now in (1.1, 1.2, 1.3):
        bridge.hear(left=0.6, now=now)
        assert np.isfinite(bridge.hear(right=0.2, now=now)).all()


@pytest.mark.parametrize('together', [True, False])
def test_counting_while_all_is_well(together):
    """Turns are counted on whether the messages give all actuators or one after the other."""
    bridge = Bridge(robot(-60.0, 60.0, velocity=50.0, text=WRIST))
    truth = np.array([0.3, -0.2])
    bridge.hear(left=0.3, right=-0.2)
    bridge.states.merged.settle_turns({0: 0.3, 1: -0.2})
    for number in range(1, 200):
        now = 0.01 * number
        truth += [0.2, -0.1]
        left, right = truth % TURN
        if together:
            found = bridge.hear(left=left, right=right, now=now)
        else:
            bridge.hear(left=left, now=now)
            found = bridge.hear(right=right, now=now)
        assert found == pytest.approx(bridge.maps.actuator_to_joint('position', truth))
        shift = bridge.turns.driver_shift
        assert truth - (0.0 if shift is None else shift) == pytest.approx([left, right])


# -- what settles it -----------------------------------------------------------------------------


def test_absolute_positions_settle_it():
    """One message is enough, before or after the first reading; a different one is ignored."""
    maps = robot(-20.0, 20.0)
    for first in (True, False):
        bridge = Bridge(maps)
        if not first:
            bridge.hear(a=1.0)
        bridge.states.use_absolute_positions(np.array([1.3 + 2 * TURN]), 0.0)
        assert bridge.hear(a=1.0) == pytest.approx([1.0 + 2 * TURN])
    bridge = Bridge(maps)
    bridge.hear(a=1.0)
    bridge.states.use_absolute_positions(np.array([1.0 + 2.5 * TURN]), 0.0)
    assert np.isnan(bridge.states.find_joint_motion()[0]).all()
    bridge.states.use_absolute_positions(np.array([np.nan]), 0.0)
    assert np.isnan(bridge.states.find_joint_motion()[0]).all()


def test_absolute_position_far_beyond_the_limits_is_no_position():
    """If another turn fits, the joint is unknown, and the limits are an error."""
    bridge = Bridge(robot(-6.0, 4.0))
    for number in range(3):
        bridge.states.use_absolute_positions(np.array([1.0 + TURN]), 0.1 * number)
        assert np.isnan(bridge.hear(a=1.0, now=0.1 * number)).all()
        assert bridge.status().level == ERROR


def test_absolute_positions_of_joints_settle_coupled_actuators():
    """Encoders at the joints (ignore_absolute_encoder) tell both actuators their turns."""
    maps = robot(-9.0, 9.0, text=WRIST).with_parameters({'wrist.ignore_absolute_encoder': True})
    bridge = Bridge(maps)
    assert np.isnan(bridge.hear(left=0.5, right=0.25)).all()
    truth = np.array([0.5 + TURN, 0.25 - TURN])
    bridge.states.use_absolute_positions(maps.actuator_to_joint('position', truth), 0.0)
    assert bridge.states.find_joint_motion()[0] == pytest.approx(
        maps.actuator_to_joint('position', truth)
    )


def test_absolute_position_from_before_a_motion_is_none():
    """While the actuator moves fast, readings of different times are not compared."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=100.0))
    bridge.hear(a=1.0, now=0.0)
    bridge.hear(a=3.0, now=0.1)
    bridge.states.use_absolute_positions(np.array([3.0 + TURN]), 0.3)
    assert np.isnan(bridge.states.find_joint_motion(0.3)[0]).all()
    bridge.hear(a=5.0, now=0.4)
    bridge.states.use_absolute_positions(np.array([5.0 + TURN]), 0.4)
    assert bridge.states.find_joint_motion(0.4)[0] == pytest.approx([5.0 + TURN])


def test_wanted_positions_settle_it():
    """~/zero takes the turn that comes nearest; all joints of coupled actuators are needed."""
    bridge = Bridge(robot(-20.0, 20.0))
    bridge.hear(a=1.0)
    assert bridge.states.find_nearest_turns({}, -math.inf) == {}
    found = bridge.states.find_nearest_turns({'j': 7.0}, -math.inf)
    assert found == pytest.approx({0: 1.0 + TURN})
    assert np.isnan(bridge.states.find_joint_motion()[0]).all()
    bridge.states.merged.settle_turns(found)
    assert bridge.states.find_joint_motion()[0] == pytest.approx([1.0 + TURN])
    wrist = Bridge(robot(-20.0, 20.0, text=WRIST))
    wrist.hear(left=0.0, right=0.0)
    with pytest.raises(MessageError, match='pitch') as caught:
        wrist.states.find_nearest_turns({'roll': 7.0}, -math.inf)
    assert caught.value.reason == 'unknown_turn'


# -- commands ------------------------------------------------------------------------------------


def test_trajectory_is_refused_while_the_turn_is_unknown():
    """As a command is; one without positions passes."""
    bridge = Bridge(robot(-20.0, 20.0))
    path = Trajectories(bridge.maps, bridge.commands, partial_commands='hold', max_waypoints=10)
    bridge.commands.open_turns = bridge.states.merged.find_open_actuators(0.0)
    there = Waypoint((1, 0), np.array([1.0]), EMPTY, EMPTY, EMPTY)
    trajectory = TrajectoryRecord((0, 0), '', ('j',), (there,))
    with pytest.raises(MessageError) as caught:
        path.map(trajectory, np.array([np.nan]))
    assert caught.value.reason == 'unknown_turn'
    bridge.hear(a=1.0)
    bridge.states.merged.settle_turns({0: 1.0 + TURN})
    bridge.commands.open_turns = bridge.states.merged.find_open_actuators(0.0)
    bridge.commands.shift = bridge.turns.driver_shift
    path.map(trajectory, np.array([np.nan]))
    (sent,) = bridge.commands.sent
    assert sent.content.points[0].positions == pytest.approx([1.0 - TURN])


def test_driver_is_commanded_in_its_own_turns():
    """To hold its position a driver receives its own reading, in any turn."""
    bridge = Bridge(robot(-20.0, 20.0, ratio=2.0, velocity=50.0))
    bridge.hear(a=6.0)
    bridge.states.merged.settle_turns({0: 6.0 - 2 * TURN})
    for now, reading in ((0.0, 6.0), (0.01, 6.2), (0.02, 0.1), (0.03, 0.5)):
        (joint,) = bridge.hear(a=reading, now=now)
        (sent,) = bridge.command(now, j=joint)
        assert sent.position == pytest.approx([reading])
        (array,) = bridge.command(now, j=joint + 0.25)
        assert array.position == pytest.approx([reading + 0.5])
    (rate,) = bridge.command(0.03, field='velocity', j=1.0)
    assert rate.velocity == [2.0]


# -- units ---------------------------------------------------------------------------------------


def test_units_of_the_driver():
    """Period, turns and messages are in the driver's unit; limits belong to the joint."""
    text = (
        '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
        '<actuator name="a" role="actuator1"><param name="position_unit">turn</param>'
        '<param name="velocity_unit">rpm</param></actuator>'
        '<joint name="roll" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>'
        '</transmission>'
    )
    maps = robot(-1.5, 1.5, text=text, velocity=2.0)
    joint, other = maps.joint_names.index('roll'), maps.joint_names.index('pitch')
    bridge = Bridge(maps, {'a': 1.0})
    truth = 0.4
    reading = 2.0 * truth / TURN - 1.0
    found = bridge.hear(a=reading, pitch=0.0)
    assert found[joint] == pytest.approx(truth)
    assert found[other] == 0.0
    (sent,) = bridge.command(roll=truth)
    assert sent.position == pytest.approx([reading])
    # A turn of the motor is half of one of the joint: at 2 rad/s that takes 1.57 s.
    assert bridge.states.merged.find_open_actuators(1.3) is None
    assert bridge.states.merged.find_open_actuators(1.4)[maps.actuator_names.index('a')]
    wide = Bridge(robot(-9.0, 9.0, text=text), {'a': 1.0})
    assert np.isnan(wide.hear(a=reading, pitch=0.0)[joint])
    wide.states.use_absolute_positions(np.array([2.0 * truth / TURN, np.nan]), 0.0)
    assert wide.states.find_joint_motion()[0][joint] == pytest.approx(truth)


# -- what does not fit ---------------------------------------------------------------------------


#: A driver in turns, taken for one in radians.
def turns(path):
    """Return the readings of a single-turn encoder in turns."""
    return [each % 1.0 for each in path]


@pytest.mark.parametrize('reading_first', [True, False])
@pytest.mark.parametrize('apart', [0.42, 0.84, -1.0])
def test_absolute_position_of_another_time_counts_only_if_it_cannot_have_gone_far(
    reading_first, apart
):
    """At 3/4 of the velocity limit it goes round in 0.42 s; at the same time one is enough."""
    bridge = Bridge(robot(-100.0, 100.0, velocity=20.0), timeout=3.0)
    start, speed, apart = 1.0, 0.75 * 20.0, max(apart, 0.0)
    reading = (start + speed * apart * (not reading_first)) % TURN
    absolute = np.array([start + speed * apart * reading_first + 2 * TURN])
    for is_reading in (reading_first, not reading_first):
        now = 5.0 if is_reading == reading_first else 5.0 + apart
        if is_reading:
            bridge.hear(a=reading, now=now)
        else:
            bridge.states.use_absolute_positions(absolute, now)
    found = bridge.states.find_joint_motion(now)[0]
    assert np.isnan(found).all() == bool(apart)
    if not apart:
        assert found == pytest.approx([start + 2 * TURN])


LIMITED = (
    '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
    '<actuator name="a" role="actuator1"><param name="position_unit">turn</param>'
    '<param name="velocity_unit">rpm</param>{}</actuator>'
    '<joint name="roll" role="joint1"/></transmission>'
)


@pytest.mark.parametrize(
    ('limit', 'velocity', 'apart', 'counts'),
    [
        ('', 0.0, 0.045, True),
        ('', 0.0, 0.055, False),
        ('<limit velocity="1"/>', 0.0, 1.2, True),
        ('<limit velocity="1"/>', 0.0, 1.4, False),
        ('<limit velocity="1"/>', 100.0, 1.2, True),
        ('<limit velocity="100"/>', 1.0, 1.2, True),
        ('<limit velocity="100"/>', 1.0, 1.4, False),
    ],
)
def test_greatest_speed_is_the_smaller_limit_of_actuator_and_joint(limit, velocity, apart, counts):
    """A quarter of a turn at 1 rad/s and a fifth takes 1.31 s; without a limit it is 50 ms."""
    maps = robot(-50.0, 50.0, velocity=velocity, text=LIMITED.format(limit))
    place = maps.actuator_names.index('a')
    bridge = Bridge(maps, {'a': 1.0}, timeout=5.0)
    absolute = np.full(2, np.nan)
    absolute[place] = 3.25 * TURN
    bridge.states.use_absolute_positions(absolute, 5.0)
    bridge.hear(a=0.25, pitch=0.0, now=5.0 + apart)
    assert np.isfinite(bridge.states.merged.read_values(5.0 + apart)[0, place]) == counts


def test_absolute_position_of_one_actuator_does_not_refresh_that_of_another():
    """Each has the time of the message that it came in."""
    bridge = Bridge(robot(-100.0, 100.0, velocity=20.0, text=WRIST))
    bridge.states.use_absolute_positions(np.array([TURN, np.nan]), 1.0)
    bridge.states.use_absolute_positions(np.array([np.nan, TURN]), 1.5)
    assert np.isnan(bridge.hear(left=0.0, right=0.0, now=1.5)).all()
    bridge.states.use_absolute_positions(np.array([TURN, np.nan]), 1.5)
    assert bridge.states.find_joint_motion(1.5)[0] == pytest.approx(
        bridge.maps.actuator_to_joint('position', [TURN, TURN])
    )


@pytest.mark.parametrize('apart', [0.0, 0.5])
def test_absolute_positions_of_joints_count_together_if_they_are_of_one_time(apart):
    """If the encoders are at the joints, the oldest of a transmission decides."""
    maps = robot(-100.0, 100.0, velocity=20.0, text=WRIST).with_parameters(
        {'wrist.ignore_absolute_encoder': True}
    )
    bridge = Bridge(maps)
    roll, pitch = maps.actuator_to_joint('position', [TURN, -TURN])
    bridge.states.use_absolute_positions(np.array([roll, np.nan]), 1.0)
    bridge.states.use_absolute_positions(np.array([np.nan, pitch]), 1.0 + apart)
    assert np.isnan(bridge.hear(left=0.0, right=0.0, now=1.0 + apart)).any() == bool(apart)


@pytest.mark.parametrize('step', [0.05, -0.05])
def test_steps_beyond_every_velocity_limit_are_an_error(step):
    """A driver in turns with a period of 2 pi is no longer believed when its reading jumps."""
    bridge = Bridge(robot(-1.0, 1.5))
    for number, reading in enumerate(turns(0.5 + step * np.arange(40))):
        (found,) = bridge.hear(a=reading, now=0.05 * number)
    assert math.isnan(found)
    (turn,) = bridge.turns.list_open_turns()
    assert turn.reason == 'wrong'
    status = bridge.status()
    assert status.level == ERROR
    for words in ("'a' reads ", ', 0.05 s after ', 'wrap_period 6.28319', 'position_unit'):
        assert words in status.message
    with pytest.raises(MessageError) as caught:
        bridge.command(2.0, j=0.5)
    assert caught.value.reason == 'unknown_turn'


def test_what_does_not_fit_is_believed_again_when_somebody_says_so():
    """~/zero and the next activation begin again; absolute positions do not."""
    for settle in (
        lambda bridge: bridge.states.merged.settle_turns({0: 0.1}),
        lambda bridge: bridge.states.reset(),
        lambda bridge: bridge.states.replace_maps(robot(-1.0, 1.5)),
    ):
        bridge = Bridge(robot(-1.0, 1.5))
        for number, reading in enumerate((0.8, 0.9, 0.1)):
            bridge.hear(a=reading, now=0.01 * number)
        bridge.states.use_absolute_positions(np.array([0.1]), 0.03)
        assert np.isnan(bridge.hear(a=0.1, now=0.03)).all()
        settle(bridge)
        assert bridge.hear(a=0.1, now=0.04) == pytest.approx([0.1])
        assert bridge.status().level == OK


def test_messages_that_come_late_are_no_steps():
    """Ten delayed messages arrive at once; half of the readings are no error."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=3.0))
    bridge.hear(a=0.0)
    bridge.states.merged.settle_turns({0: 0.0})
    for number in range(1, 60):
        late = 0.02 * max(number, 40) + 1e-5 * number
        assert bridge.hear(a=(0.06 * number) % TURN, now=late) == pytest.approx([0.06 * number])


@pytest.mark.parametrize('seconds', [0, 5], ids=['no stamp', 'stamps'])
def test_a_message_that_was_under_way_for_long_accuses_nobody(seconds):
    """Its stamp gives the time of the reading; without one, the next reading is a step."""
    bridge = Bridge(robot(-1.0, 1.5, velocity=3.0))
    for sent, now in ((0.0, 0.4), (0.4, 0.41), (0.41, 0.42)):
        nanoseconds = round(sent * 1e9) + 1
        position = -0.5 + 3.0 * sent
        stamp = (seconds, nanoseconds) if seconds else (0, 0)
        (found,) = bridge.hear(a=position % TURN, now=now, stamp=stamp)
    if seconds:
        assert found == pytest.approx(position)
    else:
        assert "'a' reads 0.7, 0.01 s after 5.78319" in bridge.status().message


def test_zeros_of_a_driver_that_has_not_read_yet_are_no_position():
    """The first other reading is looked at as the first one."""
    bridge = Bridge(robot(-1.0, 2.0))
    for number in range(3):
        bridge.hear(a=0.0, now=0.01 * number)
    assert bridge.hear(a=1.5, now=0.04) == pytest.approx([1.5])
    assert bridge.hear(a=1.51, now=0.05) == pytest.approx([1.51])


@pytest.mark.parametrize('gap', [0.0, 0.02])
@pytest.mark.parametrize(('reading', 'fits'), [(27.0, True), (29.0, False), (-2100.0, False)])
def test_readings_farther_outside_one_period_than_the_joint_travels_are_an_error(
    reading, fits, gap
):
    """A driver may count turns from its power-up position within the limits."""
    bridge = Bridge(robot(-5.0, 5.0, ratio=2.0))
    bridge.hear(a=reading)
    bridge.hear(a=reading, now=gap)
    (turn,) = bridge.turns.list_open_turns()
    assert turn.reason == ('several' if fits else 'wrong')
    assert bridge.status().level == (WARN if fits else ERROR)
    if not fits:
        assert f"'a' reads {reading:g}, expected at most 27.854 from 0" in str(turn)


def test_period_that_cannot_be_counted_is_an_error():
    """Ticks with a period of 2 pi: 399 turns fit, but it goes round many times in 20 ms."""
    text = LIMITED.format('<param name="ticks_per_turn">4096</param>').replace('>turn<', '>tick<')
    bridge = Bridge(robot(-1.92, 1.92, velocity=10.0, text=text), {'a': 6.28})
    for now in (0.0, 0.02):
        bridge.hear(a=2100.0, pitch=0.0, now=now)
    assert [turn.reason for turn in bridge.turns.list_open_turns()] == ['fast']
    assert bridge.status().level == ERROR
    assert 'it can move 24.9 periods between two readings' in bridge.status().message


# -- a turn that was lost ------------------------------------------------------------------------


def test_joint_far_beyond_its_limits_has_lost_its_turn():
    """The elbow of a 2:1 belt with a reading of -3.14 and limits of +-1.69 is resolved."""
    bridge = Bridge(robot(-1.69, 1.69, ratio=2.0, velocity=3.0))
    assert np.isnan(bridge.hear(a=3.2)).all()
    bridge.states.merged.settle_turns({0: 3.2 - TURN})
    path = np.arange(3.2, 0.0, -0.05)
    found = np.array(
        [bridge.hear(a=at % TURN, now=0.02 * number)[0] for number, at in enumerate(path)]
    )
    assert found[0] == pytest.approx(0.5 * 3.2 - math.pi)
    assert np.nanmin(found) >= -1.69 - 0.25 * math.pi
    assert np.isnan(found).sum() == 1
    assert found[-1] == pytest.approx(0.5 * path[-1])
    status = bridge.status()
    assert status.level == ERROR
    assert "'j' was measured at -2.4" in status.message
    assert 'another turn fits' in status.message
    assert bridge.status().level == OK


def test_joint_far_beyond_its_limits_where_no_other_turn_fits():
    """It stays known, and is an error as long as it is there."""
    bridge = Bridge(robot(-1.0, 1.0, velocity=3.0))
    for number, at in enumerate(np.arange(0.5, 3.0, 0.05)):
        assert bridge.hear(a=at, now=0.02 * number) == pytest.approx([at])
    for _ in range(2):
        assert bridge.hear(a=at, now=0.02 * number) == pytest.approx([at])
        assert bridge.status().level == ERROR
    for number, at in enumerate(np.arange(2.9, 0.5, -0.05)):
        bridge.hear(a=at, now=1.02 + 0.02 * number)
    assert bridge.status().level == ERROR
    assert bridge.status().level == OK


def test_first_reading_counts_whatever_does_not_fit():
    """With unknown_turn: first nothing is judged."""
    bridge = Bridge(robot(-1.0, 1.5), unknown_turn='first')
    for number, reading in enumerate((2100.0, 2100.9, 2100.1)):
        assert bridge.hear(a=reading, now=0.01 * number) == pytest.approx([reading])
    assert bridge.status().level == OK
