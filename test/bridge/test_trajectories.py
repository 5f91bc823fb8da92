# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Trajectories: what is refused, what is counted (what is sent and held: promises.py)."""

from __future__ import annotations

import math

from command_paths import Commands, Trajectories
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

#: A joint with limits, a follower, a knee whose ratio depends on its position, and one actuator
#: for two joints.
LIMITED = """
<robot name="limited">
  <link name="base"/>
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="a"/><limit lower="-1" upper="2" velocity="3" effort="4"/>
  </joint>
  <joint name="copy" type="continuous">
    <parent link="base"/><child link="b"/><mimic joint="slide"/>
  </joint>
  <joint name="knee" type="continuous"><parent link="base"/><child link="c"/></joint>
  <joint name="near" type="continuous"><parent link="base"/><child link="d"/></joint>
  <joint name="far" type="continuous"><parent link="base"/><child link="e"/></joint>
  <ros2_control name="hardware" type="system">
    <hardware><plugin>limited/Hardware</plugin></hardware>
    <joint name="knee"><command_interface name="position"/></joint>
    <joint name="near"><command_interface name="position"/></joint>
    <joint name="far"><command_interface name="position"/></joint>
    {leg}
    <transmission name="tendon">
      <plugin>transmission_bridge/CoupledTransmission</plugin>
      <actuator name="motor" role="actuator1"/>
      <joint name="near" role="joint1"/>
      <joint name="far" role="joint2"/>
      <param name="matrix">1.0; 0.5</param>
    </transmission>
  </ros2_control>
</robot>
"""


@pytest.fixture(scope='module')
def limited(robots):
    """Return the maps of the limited robot."""
    return RobotTransmissions(load_description(LIMITED.format(leg=robots.leg()), strict=True))


def make(robot, limits='clamp', **options):
    """Return a command path and a trajectory path that belong together."""
    commands = Commands(robot, partial_commands='hold', limits=limits)
    return commands, Trajectories(robot, commands, **options)


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


def unknown(robot):
    """Return unknown joint positions."""
    return np.full(len(robot.joint_names), math.nan)


def check_refused(robot, record, reason, **options):
    """Check that a trajectory is refused as a whole and changes nothing; return the commands."""
    commands, path = make(robot, **options)
    first = ['lift'] if 'lift' in robot.joint_names else ['slide']
    commands.command_interface('position', first, [1.5], unknown(robot), (0, 0), source='x')
    before = commands.held
    commands.sent.clear()
    with pytest.raises(MessageError) as caught:
        path.map(record, unknown(robot))
    assert caught.value.reason == reason
    assert commands.sent == []
    np.testing.assert_array_equal(commands.held, before)
    return commands


@pytest.mark.parametrize(
    ('names', 'points', 'reason'),
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
        (('lift',), [{'positions': [math.nan]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'velocities': [math.inf]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'accelerations': [-math.inf]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'effort': [math.nan]}], 'not_finite'),
        (('lift',), [waypoint((1, 0), positions=[each]) for each in (1.0, 2.0)], 'times'),
        (
            ('lift',),
            [waypoint((1, 5), positions=[1.0]), waypoint((1, 4), positions=[2.0])],
            'times',
        ),
        (('lift',), [{'positions': [1.0]}] * 4, 'too_many_points'),
        (('roll',), [{'positions': [1.0]}], 'partial'),
        (('roll',), [{'velocities': [1.0], 'effort': [1.0]}], 'partial'),
    ],
)
def test_refused(robot, names, points, reason):
    """A trajectory that cannot be used is refused as a whole and changes nothing."""
    check_refused(robot, trajectory(names, *points), reason, max_waypoints=3)


@pytest.mark.parametrize(
    ('name', 'point', 'reason'),
    [
        ('knee', {'velocities': [0.1]}, 'no_position'),
        ('knee', {'accelerations': [0.1], 'velocities': [0.1]}, 'no_position'),
        ('knee', {'positions': [0.1], 'accelerations': [0.1]}, 'no_velocity'),
        ('knee', {'positions': [3.0]}, 'unmapped'),
        ('knee', {'positions': [3.0], 'velocities': [0.1]}, 'unmapped'),
        ('near', {'positions': [1.0]}, 'partial'),
        ('copy', {'positions': [0.0]}, 'not_commandable'),
    ],
)
def test_refused_by_its_mechanism(limited, name, point, reason):
    """What a mechanism cannot map without more, or out of reach, a part of it, and a follower."""
    check_refused(limited, trajectory([name], {'positions': [0.0]}, point), reason)


@pytest.mark.parametrize('time', [(0, 0), (3, 1)])
def test_first_time_may_be_zero_or_not(robot, time):
    """A trajectory may begin at once or later, and may have as many waypoints as are allowed."""
    _, path = make(robot, max_waypoints=1)
    record = trajectory(['lift'], waypoint(time, positions=[1.0]))
    assert path.map(record, unknown(robot)).points[0].time == time


@pytest.mark.parametrize('limits', ['clamp', 'reject'])
@pytest.mark.parametrize('count', range(1, 7))
def test_last_waypoint_beyond_a_limit(limited, limits, count):
    """It is clamped or costs the trajectory, however many waypoints inside precede it."""
    record = trajectory(['slide'], *[{'positions': [0.5]}] * (count - 1), {'positions': [2.5]})
    if limits == 'reject':
        commands = check_refused(limited, record, 'limit', limits=limits)
        assert commands.counts['joint_trajectory'].limited == {'slide': 1}
        return
    commands, path = make(limited)
    found = path.map(record, unknown(limited)).points
    assert [point.positions.tolist() for point in found] == [[0.5]] * (count - 1) + [[2.0]]
    assert commands.counts['joint_trajectory'].clamped == {'slide': 1}


def test_contested(robot):
    """A trajectory for a joint that another source commanded is counted as a contest."""
    commands, path = make(robot)
    commands.command_interface('position', ('lift',), [1.0], unknown(robot), (0, 0), source='x')
    path.map(trajectory(['lift', 'finger'], {'positions': [1.0, 1.0]}), unknown(robot))
    assert commands.counts['joint_trajectory'].contested == {'lift': 1}
    assert commands.counts['x'].contested == {}
