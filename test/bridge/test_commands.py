# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands and trajectories: what is refused and counted (what is sent: promises.py)."""

from __future__ import annotations

import math

from command_paths import Commands, reason
import numpy as np
import pytest
from state_paths import record
from zoo.elements import leg, maps, params, transmission

from transmission_bridge.bridge.readers import find_command_names
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

NAN, INF = math.nan, math.inf


@pytest.fixture(scope='module')
def mechanism():
    """Return a slide with a follower, a leg, and one actuator for two joints."""
    joints = dict.fromkeys(('copy', 'knee', 'near', 'far'), 'continuous')
    joints['slide'] = 'prismatic lower="-1" upper="2" velocity="3" effort="4"'
    tendon = transmission('tendon', 'Coupled', ('near', 'far'), ('motor',), params(matrix='1; .5'))
    return maps(joints, leg() + tendon, {'copy': 'joint="slide"'})


def waypoint(time, **fields):
    """Return a waypoint; what is not given is omitted."""
    return Waypoint(time, *(np.array(fields.get(each, ()), dtype=float) for each in POINT_FIELDS))


def trajectory(names, *points):
    """Return a trajectory with waypoints at given times, by default a second apart."""
    made = [
        each if isinstance(each, Waypoint) else waypoint((number, 5), **each)
        for number, each in enumerate(points)
    ]
    return TrajectoryRecord((0, 0), '', tuple(names), tuple(made))


def changes_nothing(robot, act, why, **options):
    """Check that something is refused as a whole for a reason; return the commands."""
    commands = Commands(robot, **options)
    first = ['lift'] if 'lift' in robot.joint_names else ['slide']
    commands.send(record(first, [1.5]))
    before = commands.held
    commands.sent.clear()
    assert reason(act, commands) == why
    assert commands.sent == []
    np.testing.assert_array_equal(commands.held, before)
    return commands


# -- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'arrays', 'why'),
    [
        (('lift', 'nobody'), {'position': (1.0, 1.0)}, 'unknown_joint'),
        (('lift', 'lift'), {'position': (1.0, 1.0)}, 'duplicate_name'),
        (('lift', 'finger'), {'velocity': (1.0,)}, 'ragged'),
        (('lift', 'finger'), {'position': (1.0, 1.0, 1.0)}, 'ragged'),
        (('lift', 'finger'), {'position': (1.0, INF)}, 'infinite'),
        (('lift', 'finger'), {'effort': (-INF, 1.0)}, 'infinite'),
        (('lift', 'dial'), {'position': (1.0, 1.0)}, 'not_commandable'),
        (('lift', 'roll'), {'position': (1.0, 1.0)}, 'partial'),
        (('roll',), {'velocity': (1.0,)}, 'partial'),
        (('lift', 'finger'), {'position': (1.0, NAN), 'velocity': (NAN, 1.0)}, 'mixed'),
        (('roll', 'pitch'), {'position': (1.0, NAN), 'velocity': (NAN, 1.0)}, 'mixed_coupled'),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(robot, names, arrays, why):
    """As a whole, and it changes nothing."""
    mixed = 'reject' if why == 'mixed' else 'split'
    message = record(names, **arrays)
    changes_nothing(robot, lambda path: path.send(message), why, mixed_commands=mixed)


@pytest.mark.parametrize(
    ('values', 'why'),
    [((0.5,) * 3, 'size'), ((0.5, NAN), 'not_finite'), ((INF, 0.5), 'not_finite')],
)
def test_a_plain_array_has_one_finite_number_for_each_of_its_joints(robot, values, why):
    """Others are refused."""
    given = 'position', np.array(values), np.full(7, NAN), (1, 0)
    joints = {'command_joints': ('lift', 'finger')}
    changes_nothing(robot, lambda path: path.command_interface(*given, source='x'), why, **joints)


def test_an_array_of_the_joints_that_declare_its_interface(robot):
    """Topic-based hardware shortens its arrays so: the finger declares nothing."""
    (sent,) = Commands(robot).send(record(('finger', 'lift'), (0.8,)))
    assert sent.names == ('winch',)
    assert sent.position.tolist() == pytest.approx([-4.0 * (0.8 - 0.3)], rel=1e-14)


def test_joints_that_hold_a_position(robot):
    """Those with a position command or a trajectory, also one that has not started."""
    path = Commands(robot)
    path.send(record(('lift',), (1.0,)))
    path.send(record(('shoulder', 'elbow'), velocity=(1.0, 1.0)))
    later = trajectory(['finger'], {'positions': [0.5]})
    path.map(later, np.full(7, NAN), start=9.0)
    held = {robot.joint_names[p] for p in np.flatnonzero(path.ledger.find_position_joints())}
    assert held == {'lift', 'finger'}


def test_clamps_rejections_and_contests_are_counted_by_source_and_joint(mechanism):
    """Also of a trajectory."""
    path = Commands(mechanism)
    path.send(record(('slide', 'knee'), (40.0, 0.1)))
    path.send(record(('slide',), velocity=(1.0,)), source='planner')
    way = trajectory(['slide', 'knee'], {'positions': [1.0, 0.1]})
    path.map(way, np.full(len(mechanism.joint_names), NAN))
    clamped = {source: dict(counts.clamped) for source, counts in path.counts.items()}
    contested = {source: dict(counts.contested) for source, counts in path.counts.items()}
    assert clamped == {'joint_commands': {'slide': 1}, 'planner': {}, 'joint_trajectory': {}}
    assert contested == {
        'joint_commands': {},
        'planner': {'slide': 1},
        'joint_trajectory': {'slide': 1, 'knee': 1},
    }
    path = Commands(mechanism, limits='reject')
    assert reason(path.send, record(('slide',), effort=(60.0,))) == 'limit'
    assert path.counts['joint_commands'].limited == {'slide': 1}
    assert path.counts['joint_commands'].clamped == {}


def test_joints_in_different_modes(robot):
    """They become one message per interface, or one with NaN; each is its receiver's own."""
    modes = record(('lift', 'finger'), (1.0, NAN), (2.0, 3.0), stamp=(4, 5))
    path = Commands(robot)
    first, second = path.send(modes)
    path.send(record(('lift', 'finger'), (9.0, NAN), (9.0, 9.0)))
    assert (first.names, first.stamp, second.names) == (('winch',), (4, 5), ('winch', 'finger'))
    assert (first.position.tolist(), second.velocity.tolist()) == ([-4.0 * 0.7], [-8.0, 3.0])
    assert (list(first.velocity), list(second.position)) == ([], [])
    (sent,) = Commands(robot, mixed_commands='nan').send(modes)
    assert (sent.names, sent.stamp) == (('winch', 'finger'), (4, 5))
    np.testing.assert_array_equal(sent.position, [-4.0 * 0.7, NAN])
    assert (sent.velocity.tolist(), list(sent.effort)) == ([-8.0, 3.0], [])


TREE = """<robot name="r"><link name="b"/><link name="l"/><joint name="elbow" type="continuous">
<parent link="b"/><child link="l"/></joint>{}</robot>"""
ROS1 = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
<joint name="elbow">{}</joint>
<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>"""
STATE = '<hardwareInterface>hardware_interface/JointStateInterface</hardwareInterface>'


@pytest.mark.parametrize(
    ('dialect', 'interfaces', 'is_commanded'),
    [
        (1, STATE, False),
        (1, STATE + STATE.replace('JointState', 'EffortJoint'), True),
        (1, '', True),
        (2, '<state_interface name="position"/>', False),
        (2, '<command_interface name="effort"/>', True),
        (2, '', True),
    ],
)
def test_a_joint_with_state_interfaces_alone_is_not_commanded(dialect, interfaces, is_commanded):
    """In both dialects; without any interface a joint is not only measured."""
    element = ROS1.format(interfaces)
    if dialect == 2:
        block = transmission('t', 'Simple', ('elbow',), ('m',))
        joint = f'<joint name="elbow">{interfaces}</joint>'
        element = f'<ros2_control name="b" type="system">{joint}{block}</ros2_control>'
    robot = RobotTransmissions(load_description(TREE.format(element)))
    assert ('elbow' in find_command_names(robot).commandable) == is_commanded
    if is_commanded:
        assert Commands(robot).send(record(('elbow',), (0.5,)))
    else:
        with pytest.raises(MessageError, match=r'elbow.*its transmission only reads'):
            Commands(robot).send(record(('elbow',), (0.5,)))


# -- trajectories --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'points', 'why'),
    [
        ((), [{'positions': []}], 'no_names'),
        (('lift',), [], 'no_points'),
        (('lift', 'nobody'), [{'positions': [1.0, 1.0]}], 'unknown_joint'),
        (('lift', 'lift'), [{'positions': [1.0, 1.0]}], 'duplicate_name'),
        (('lift', 'dial'), [{'positions': [1.0, 1.0]}], 'not_commandable'),
        (('lift',), [{'positions': [1.0, 2.0]}], 'size'),
        (('lift', 'finger'), [{'positions': [1.0, 2.0], 'velocities': [1.0]}], 'size'),
        (('lift',), [{'positions': [1.0], 'effort': [1.0, 2.0]}], 'size'),
        (('lift',), [{'positions': [1.0]}, {}], 'empty_point'),
        (('lift',), [{'effort': [1.0]}], 'empty_point'),
        (('lift',), [{'positions': [NAN]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'velocities': [INF]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'accelerations': [-INF]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'effort': [NAN]}], 'not_finite'),
        (('lift',), [waypoint((1, 0), positions=[each]) for each in (1.0, 2.0)], 'times'),
        (('lift',), [waypoint((1, each), positions=[1.0]) for each in (5, 4)], 'times'),
        (('lift',), [{'positions': [1.0]}] * 4, 'too_many_points'),
        (('roll',), [{'positions': [1.0]}], 'partial'),
        (('roll',), [{'velocities': [1.0], 'effort': [1.0]}], 'partial'),
        # What a mechanism cannot map without more, or out of reach, a part of it, a follower.
        (('knee',), [{'positions': [0.0]}, {'velocities': [0.1]}], 'no_position'),
        (('knee',), [{'accelerations': [0.1], 'velocities': [0.1]}], 'no_position'),
        (('knee',), [{'positions': [0.1], 'accelerations': [0.1]}], 'no_velocity'),
        (('knee',), [{'positions': [0.0]}, {'positions': [3.0]}], 'unmapped'),
        (('knee',), [{'positions': [3.0], 'velocities': [0.1]}], 'unmapped'),
        (('near',), [{'positions': [1.0]}], 'partial'),
        (('copy',), [{'positions': [0.0]}], 'not_commandable'),
    ],
)
def test_a_trajectory_that_cannot_be_used_is_refused(robot, mechanism, names, points, why):
    """As a whole, and it changes nothing."""
    robot = mechanism if {*names} & {'knee', 'near', 'copy'} else robot

    def act(path):
        path.map(trajectory(names, *points), np.full(len(robot.joint_names), NAN))

    changes_nothing(robot, act, why, max_waypoints=3)


@pytest.mark.parametrize('time', [(0, 0), (3, 1)])
def test_first_time_may_be_zero_or_not(robot, time):
    """A trajectory may begin at once or later, and may have as many waypoints as are allowed."""
    path = Commands(robot, max_waypoints=1)
    message = trajectory(['lift'], waypoint(time, positions=[1.0]))
    assert path.map(message, np.full(7, NAN)).points[0].time == time


@pytest.mark.parametrize('count', [1, 2, 6])
def test_last_waypoint_beyond_a_limit(mechanism, count):
    """It is clamped or costs the trajectory, however many waypoints inside precede it."""
    unknown = np.full(len(mechanism.joint_names), NAN)
    way = trajectory(['slide'], *[{'positions': [0.5]}] * (count - 1), {'positions': [2.5]})
    commands = Commands(mechanism)
    found = commands.map(way, unknown).points
    assert [point.positions.tolist() for point in found] == [[0.5]] * (count - 1) + [[2.0]]
    assert commands.counts['joint_trajectory'].clamped == {'slide': 1}

    def act(path):
        path.map(way, unknown)

    commands = changes_nothing(mechanism, act, 'limit', limits='reject')
    assert commands.counts['joint_trajectory'].limited == {'slide': 1}
