# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""In which turn an actuator with a single-turn encoder is, and what becomes of it meanwhile."""

from __future__ import annotations

from collections import Counter
import math
from pathlib import Path

import numpy as np
import pytest

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.diagnostics import actuator_status, ERROR, OK, WARN
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.trajectories import TrajectoryPath
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
        self.states = StatePath(maps, wrap_period=periods, timeout=timeout, **options)
        self.commands = CommandPath(maps)
        self.layouts = LayoutTable()

    @property
    def turns(self):
        """What counts the turns."""
        return self.states.merged.turns

    def hear(self, now=0.0, source='driver', **positions):
        """Take readings, and return the joints' positions."""
        record = JointStateRecord(
            (1, 0), '', tuple(positions), np.array([*positions.values()]), EMPTY, EMPTY
        )
        layout = self.layouts.get(record.names, record.lengths)
        self.states.update(source, layout, record, (1, 0), now)
        return self.states.joint_position(now).copy()

    def command(self, now=0.0, field='position', **values):
        """Return what is sent for a command."""
        self.commands.open_turns = self.states.merged.open_turns(now)
        messages = self.commands.command_interface(
            field, list(values), np.array([*values.values()]),
            self.states.joint_position(now), (1, 0), source='me', now=now,
        )  # fmt: skip
        return [self.turns.in_turns_of_driver(each) for each in messages]

    def status(self):
        """Return the status of the actuators."""
        stale = np.zeros(len(self.maps.actuator_names), dtype=bool)
        return actuator_status(self.maps, self.states.merged, stale=stale, now=0.0)


# -- at power-up ---------------------------------------------------------------------------------


def test_random_power_ups(power_ups, campaign):
    """No turn is wrong; where one fits it is found, where several do they are named."""
    total = sum(power_ups.run(660 * campaign, seed=5, each=15).values(), Counter())
    assert (total['wrong'], total['not named'], total['not said']) == (0, 0, 0)
    assert total['one resolved'] >= 0.99 * total['one'] > 100
    assert total['several'] > 100
    assert total['several resolved'] == 0
    assert total['absolute resolved'] == total['absolute'] > 100


@pytest.mark.parametrize('turns', [-2, 0, 3])
def test_limits_leave_one_turn(turns):
    """The joint is where the only turn within its limits puts it, whatever the driver reads."""
    bridge = Bridge(robot(-1.0, 1.0))
    assert bridge.hear(a=0.5 + turns * TURN) == pytest.approx([0.5])
    assert bridge.status().level == OK
    assert bridge.turns.open_turns() == []


def test_first_reading_as_it_is():
    """With unknown_turn: first nothing is ever open."""
    bridge = Bridge(robot(-1.0, 1.0), unknown_turn='first')
    assert bridge.states.merged.open_turns(0.0) is None
    assert bridge.hear(a=0.5 + TURN) == [0.5 + TURN]
    assert bridge.hear(a=0.4, now=100.0) == pytest.approx([0.4 + TURN])
    (sent,) = bridge.command(j=0.5, now=100.0)
    assert sent.position == [0.5]


def test_several_turns_are_named():
    """A joint with more than one turn within its limits is unknown; where it may be is said."""
    bridge = Bridge(robot(-6.0, 4.0))
    assert np.isnan(bridge.hear(a=1.0)).all()
    (turn,) = bridge.turns.open_turns()
    assert (turn.actuators, turn.joints) == (('a',), ('j',))
    assert np.sort(np.concatenate(turn.candidates)) == pytest.approx([1.0 - TURN, 1.0])


def test_candidates_in_words():
    """The sentence has the actuator, every position, and what settles it."""
    bridge = Bridge(robot(-7.0, 4.0))
    bridge.hear(a=1.0)
    status = bridge.status()
    assert status.level == WARN
    for words in ('the turn of ', "'a'", 'j -5.283', 'j 1', '~/zero'):
        assert words in status.message


def test_no_turn_fits():
    """An offset that is wrong is an error that says so, and the joint stays unknown."""
    bridge = Bridge(robot(-1.0, 1.0))
    assert np.isnan(bridge.hear(a=3.0)).all()
    assert bridge.status().level == ERROR
    assert 'no turn brings' in bridge.status().message
    # It goes on looking.
    assert bridge.hear(a=0.9) == pytest.approx([0.9])


def test_joint_without_limits():
    """One that may be anywhere is unknown, and the sentence says why."""
    bridge = Bridge(robot(None, kind='prismatic'))
    assert np.isnan(bridge.hear(a=3.0)).all()
    assert 'without limits' in bridge.status().message


def test_too_many_turns():
    """They are not looked at one by one."""
    bridge = Bridge(robot(-1e6, 1e6))
    assert np.isnan(bridge.hear(a=3.0)).all()
    assert 'more than 4096 turns' in bridge.status().message


@pytest.mark.parametrize(('ratio', 'is_known'), [(1.0, True), (0.5, True), (2.0, False)])
def test_continuous_joint(ratio, is_known):
    """Whole turns of the joint are the same; a part of one is another position."""
    bridge = Bridge(robot(None, kind='continuous', ratio=ratio))
    found = bridge.hear(a=1.0)
    assert np.isfinite(found).all() == is_known
    if is_known:
        assert found == [1.0 / ratio]
    else:
        (turn,) = bridge.turns.open_turns()
        assert len(turn.candidates) == 2


def test_coupled_actuators_wait_for_each_other():
    """One of two says nothing; both together leave one pair of turns, from two drivers too."""
    bridge = Bridge(robot(-1.0, 1.0, text=WRIST))
    assert np.isnan(bridge.hear(source='one', left=0.6 + TURN)).all()
    assert bridge.turns.open_turns() == []
    found = bridge.hear(source='two', right=0.2 - TURN)
    expected = bridge.maps.actuator_to_joint('position', [0.6, 0.2])
    assert found == pytest.approx(expected)


def test_motion_leaves_one():
    """A turn that would take the joint beyond its limits is none: moving settles it."""
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
    """What was unknown is looked at again with other numbers; what was known stays."""
    maps = robot(-1.0, 1.0)
    bridge = Bridge(maps)
    bridge.hear(a=3.0)
    tuned = maps.with_parameters({'t.joints.j.offset': -3.0})
    bridge.states.use(tuned)
    assert bridge.hear(a=3.0) == pytest.approx([0.0])
    bridge.states.use(maps)
    assert bridge.hear(a=3.0) == pytest.approx([3.0])


# -- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('active', [True, False])
def test_short_gap_keeps_the_turn(active):
    """Where the joint cannot have moved to another turn it is known at once, also inactive."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN})
    bridge.hear(a=1.0)
    bridge.states.settle_turns({0: 1.0 + TURN})
    assert bridge.hear(a=1.0, now=0.1) == pytest.approx([1.0 + TURN])
    if not active:
        bridge.states.reset()
    assert bridge.hear(a=2.0, now=3.0) == pytest.approx([2.0 + TURN])


@pytest.mark.parametrize('active', [True, False])
def test_long_gap_leaves_it_open(active):
    """After a gap in which it could have gone round, only what can be reached is a candidate."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN})
    bridge.hear(a=1.0)
    bridge.states.settle_turns({0: 1.0})
    assert bridge.hear(a=1.0, now=0.1) == [1.0]
    if not active:
        bridge.states.reset()
    assert np.isnan(bridge.hear(a=1.5, now=8.0)).all()
    (turn,) = bridge.turns.open_turns()
    assert np.sort(np.concatenate(turn.candidates)) == pytest.approx([1.5 - TURN, 1.5, 1.5 + TURN])


def test_long_gap_with_limits():
    """Where limits leave one turn it is known again, in the turn in which the driver woke up."""
    bridge = Bridge(robot(-1.0, 4.0, velocity=3.0))
    assert bridge.hear(a=3.5) == [3.5]
    assert bridge.hear(a=0.2 + 5 * TURN, now=60.0) == pytest.approx([0.2])


def test_somebody_moved_it_faster_than_its_limit():
    """Where nothing within reach fits, the limits of the joints alone count."""
    bridge = Bridge(robot(-1.0, 4.0, velocity=0.1))
    assert bridge.hear(a=3.9) == [3.9]
    assert bridge.hear(a=-0.9, now=70.0) == pytest.approx([-0.9])


def test_without_a_timeout_silence_means_rest():
    """With state_timeout 0 a driver is silent while nothing moves."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0), {'a': TURN}, timeout=0.0)
    bridge.hear(a=1.0)
    bridge.states.settle_turns({0: 1.0})
    assert bridge.hear(a=1.5, now=1e5) == [1.5]


def test_time_that_goes_backwards_opens_it():
    """Nothing is known of how far it has moved."""
    bridge = Bridge(robot(-20.0, 20.0), {'a': TURN})
    bridge.hear(a=1.0, now=5.0)
    bridge.states.settle_turns({0: 1.0})
    assert bridge.hear(a=1.0, now=5.1) == [1.0]
    assert np.isnan(bridge.hear(a=1.0, now=1.0)).all()


def test_time_of_another_start():
    """After an activation whose time begins anew, each actuator for itself, counting goes on."""
    bridge = Bridge(robot(-9.0, 9.0, text=WRIST))
    bridge.hear(left=0.6, right=0.2, now=100.0)
    bridge.states.settle_turns({0: 0.6, 1: 0.2})
    assert np.isfinite(bridge.hear(left=0.6, right=0.2, now=100.1)).all()
    bridge.states.reset()
    bridge.hear(left=0.6, now=1.0)
    assert np.isnan(bridge.hear(right=0.2, now=1.0)).all()
    bridge.states.settle_turns({0: 0.6, 1: 0.2})
    for now in (1.1, 1.2, 1.3):
        bridge.hear(left=0.6, now=now)
        assert np.isfinite(bridge.hear(right=0.2, now=now)).all()


@pytest.mark.parametrize('together', [True, False])
def test_counting_while_all_is_well(together):
    """Turns are counted on whether the messages give all actuators or one after the other."""
    bridge = Bridge(robot(-60.0, 60.0, velocity=50.0, text=WRIST))
    truth = np.array([0.3, -0.2])
    bridge.hear(left=0.3, right=-0.2)
    bridge.states.settle_turns({0: 0.3, 1: -0.2})
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
        shift = bridge.turns.shift
        assert truth - (0.0 if shift is None else shift) == pytest.approx([left, right])


# -- what settles it -----------------------------------------------------------------------------


def test_absolute_positions_settle_it():
    """One message is enough, before the first reading or after it; one that disagrees is none."""
    maps = robot(-20.0, 20.0)
    for first in (True, False):
        bridge = Bridge(maps)
        if not first:
            bridge.hear(a=1.0)
        bridge.states.take_absolute(np.array([1.3 + 2 * TURN]), 0.0)
        assert bridge.hear(a=1.0) == pytest.approx([1.0 + 2 * TURN])
    bridge = Bridge(maps)
    bridge.hear(a=1.0)
    bridge.states.take_absolute(np.array([1.0 + 2.5 * TURN]), 0.0)
    assert np.isnan(bridge.states.joint_position()).all()
    bridge.states.take_absolute(np.array([np.nan]), 0.0)
    assert np.isnan(bridge.states.joint_position()).all()


def test_absolute_positions_of_joints_settle_coupled_actuators():
    """Encoders at the joints (ignore_absolute_encoder) tell both actuators their turns."""
    maps = robot(-9.0, 9.0, text=WRIST).with_parameters({'wrist.ignore_absolute_encoder': True})
    bridge = Bridge(maps)
    assert np.isnan(bridge.hear(left=0.5, right=0.25)).all()
    truth = np.array([0.5 + TURN, 0.25 - TURN])
    bridge.states.take_absolute(maps.actuator_to_joint('position', truth), 0.0)
    assert bridge.states.joint_position() == pytest.approx(
        maps.actuator_to_joint('position', truth)
    )


def test_absolute_position_from_before_a_motion_is_none():
    """While the actuator moves fast, a reading and an encoder of different times say nothing."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=100.0))
    bridge.hear(a=1.0, now=0.0)
    bridge.hear(a=3.0, now=0.1)
    bridge.states.take_absolute(np.array([3.0 + TURN]), 0.3)
    assert np.isnan(bridge.states.joint_position(0.3)).all()
    bridge.hear(a=5.0, now=0.4)
    bridge.states.take_absolute(np.array([5.0 + TURN]), 0.4)
    assert bridge.states.joint_position(0.4) == pytest.approx([5.0 + TURN])


def test_wanted_positions_settle_it():
    """~/zero takes the turn that comes nearest; all joints of coupled actuators are needed."""
    bridge = Bridge(robot(-20.0, 20.0))
    bridge.hear(a=1.0)
    assert bridge.states.nearest_turns({}, -math.inf) == {}
    found = bridge.states.nearest_turns({'j': 7.0}, -math.inf)
    assert found == pytest.approx({0: 1.0 + TURN})
    assert np.isnan(bridge.states.joint_position()).all()
    bridge.states.settle_turns(found)
    assert bridge.states.joint_position() == pytest.approx([1.0 + TURN])
    wrist = Bridge(robot(-20.0, 20.0, text=WRIST))
    wrist.hear(left=0.0, right=0.0)
    with pytest.raises(MessageError, match='pitch') as caught:
        wrist.states.nearest_turns({'roll': 7.0}, -math.inf)
    assert caught.value.reason == 'unknown_turn'


# -- commands ------------------------------------------------------------------------------------


def test_position_is_refused_while_the_turn_is_unknown():
    """Before the first reading, with several turns, and after a silence; velocity passes."""
    bridge = Bridge(robot(-20.0, 20.0, velocity=1.0))

    def refused(now):
        with pytest.raises(MessageError) as caught:
            bridge.command(now, j=1.0)
        (sent,) = bridge.command(now, field='velocity', j=0.5)
        assert sent.velocity == [0.5]
        return caught.value.reason == 'unknown_turn'

    assert refused(0.0)
    bridge.hear(a=1.0)
    assert refused(0.0)
    bridge.states.settle_turns({0: 1.0})
    assert bridge.command(0.0, j=1.0)[0].position == [1.0]
    assert refused(30.0)


def test_trajectory_is_refused_while_the_turn_is_unknown():
    """As a command is; one without positions passes."""
    bridge = Bridge(robot(-20.0, 20.0))
    path = TrajectoryPath(bridge.maps, bridge.commands, partial_commands='hold', max_waypoints=10)
    bridge.commands.open_turns = bridge.states.merged.open_turns(0.0)
    there = Waypoint((1, 0), np.array([1.0]), EMPTY, EMPTY, EMPTY)
    trajectory = TrajectoryRecord((0, 0), '', ('j',), (there,))
    with pytest.raises(MessageError) as caught:
        path.map(trajectory, np.array([np.nan]))
    assert caught.value.reason == 'unknown_turn'
    bridge.hear(a=1.0)
    bridge.states.settle_turns({0: 1.0 + TURN})
    bridge.commands.open_turns = bridge.states.merged.open_turns(0.0)
    mapped = path.map(trajectory, np.array([np.nan]))
    sent = bridge.turns.trajectory_in_turns_of_driver(mapped)
    assert sent.points[0].positions == pytest.approx([1.0 - TURN])


def test_driver_is_commanded_in_its_own_turns():
    """To stay where it is a driver is sent what it reads, in whatever turn that is."""
    bridge = Bridge(robot(-20.0, 20.0, ratio=2.0, velocity=50.0))
    bridge.hear(a=6.0)
    bridge.states.settle_turns({0: 6.0 - 2 * TURN})
    for now, reading in ((0.0, 6.0), (0.01, 6.2), (0.02, 0.1), (0.03, 0.5)):
        (joint,) = bridge.hear(a=reading, now=now)
        (sent,) = bridge.command(now, j=joint)
        assert sent.position == pytest.approx([reading])
        (array,) = bridge.command(now, j=joint + 0.25)
        assert array.position == pytest.approx([reading + 0.5])
    (rate,) = bridge.command(0.03, field='velocity', j=1.0)
    assert rate.velocity == [2.0]


def test_options():
    """The default is to resolve."""
    assert BridgeOptions().unknown_turn == 'resolve'


def test_units_of_the_driver():
    """A period, turns and what is sent are in the driver's unit; limits are those of the joint."""
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
    reading = 2.0 * truth / TURN - 3.0
    found = bridge.hear(a=reading, pitch=0.0)
    assert found[joint] == pytest.approx(truth)
    assert found[other] == 0.0
    (sent,) = bridge.command(roll=truth)
    assert sent.position == pytest.approx([reading])
    # A turn of the motor is half of one of the joint: at 2 rad/s that takes 1.57 s.
    assert bridge.states.merged.open_turns(1.3) is None
    assert bridge.states.merged.open_turns(1.4)[maps.actuator_names.index('a')]
    bridge.states.take_absolute(np.array([2.0 * truth / TURN, np.nan]))
    wide = Bridge(robot(-9.0, 9.0, text=text), {'a': 1.0})
    assert np.isnan(wide.hear(a=reading, pitch=0.0)[joint])
    wide.states.take_absolute(np.array([2.0 * truth / TURN, np.nan]))
    assert wide.states.joint_position()[joint] == pytest.approx(truth)
