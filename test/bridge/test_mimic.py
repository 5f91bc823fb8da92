# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints that follow another one: computed, over any chain, and never commanded."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.layout import LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

#: ``third`` follows ``second`` follows ``first``; ``one`` and ``other`` follow each other;
#: ``lost`` follows a joint whose transmission cannot be used.
URDF = """
<robot name="followers">
  <link name="base"/>
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/><link name="f"/>
  <link name="g"/>
  <joint name="third" type="continuous">
    <parent link="base"/><child link="a"/><mimic joint="second" multiplier="-2" offset="0.25"/>
  </joint>
  <joint name="second" type="continuous">
    <parent link="base"/><child link="b"/><mimic joint="first" multiplier="0.5" offset="-1"/>
  </joint>
  <joint name="first" type="continuous"><parent link="base"/><child link="c"/></joint>
  <joint name="one" type="continuous">
    <parent link="base"/><child link="d"/><mimic joint="other"/>
  </joint>
  <joint name="other" type="continuous">
    <parent link="base"/><child link="e"/><mimic joint="one"/>
  </joint>
  <joint name="broken" type="continuous"><parent link="base"/><child link="f"/></joint>
  <joint name="lost" type="continuous">
    <parent link="base"/><child link="g"/><mimic joint="broken"/>
  </joint>
  <ros2_control name="hardware" type="system">
    <hardware><plugin>followers/Hardware</plugin></hardware>
    <joint name="first"/><joint name="broken"/>
    <transmission name="gear">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="motor" role="actuator1"/>
      <joint name="first" role="joint1"><mechanical_reduction>4.0</mechanical_reduction></joint>
    </transmission>
    <transmission name="strange">
      <plugin>nobody/HasThis</plugin>
      <actuator name="engine" role="actuator1"/>
      <joint name="broken" role="joint1"/>
    </transmission>
  </ros2_control>
</robot>
"""


@pytest.fixture(scope='module')
def followers():
    """Return the maps of the robot, and why it is not whole."""
    return RobotTransmissions(load_description(URDF))


def joint_state(robot, **options):
    """Return what is published for a motor at 6 that turns at 2 with an effort of 3."""
    path = StatePath(robot, **options)
    record = JointStateRecord((1, 0), '', ('motor',), *np.array([[6.0], [2.0], [3.0]]))
    path.update('', LayoutTable().get(record.names, record.lengths), record, record.stamp)
    found = path.joint_state()
    assert path.encoded(JointStateEncoder()) == JointStateEncoder().encode(found)
    return found


def test_chain(followers):
    """A follower is multiplier q + offset, its velocity multiplier q', over chains too."""
    found = joint_state(followers)
    assert found.names == ('first', 'third', 'second')
    assert found.position.tolist() == [1.5, -2.0 * (0.5 * 1.5 - 1.0) + 0.25, 0.5 * 1.5 - 1.0]
    assert found.velocity.tolist() == [0.5, -0.5, 0.25]
    assert np.array_equal(found.effort, [12.0, math.nan, math.nan], equal_nan=True)


def test_consumers_of_full_arrays(followers):
    """Where unknown rates are zero, a follower's effort is."""
    assert joint_state(followers, unknown_rates='zero').effort.tolist() == [12.0, 0.0, 0.0]


def test_unknown(followers):
    """While the joint that is followed is unknown, so are its followers."""
    path = StatePath(followers)
    record = JointStateRecord((1, 0), '', ('motor',), np.array([math.nan]), *np.ones((2, 1)))
    path.update('', LayoutTable().get(record.names, record.lengths), record, record.stamp)
    assert path.joint_state() is None


def test_loop_is_refused(followers):
    """Joints that follow each other are an error finding and are not bridged."""
    assert not {'one', 'other', 'lost'} & set(joint_state(followers).names)
    loops = [each for each in followers.findings if each.subject in ('one', 'other')]
    assert {each.severity for each in loops} == {'error'}


@pytest.mark.parametrize('name', ['third', 'second', 'lost'])
def test_not_commanded(followers, name):
    """A command to a follower, also by trajectory, is rejected whole."""
    commands = CommandPath(followers)
    positions = np.array([0.25, 0.5])
    nothing = np.empty(0)
    record = JointStateRecord((1, 0), '', ('first', name), positions, nothing, nothing)
    layout = LayoutTable().get(record.names, record.lengths)
    with pytest.raises(MessageError, match=f'{name} .it follows') as caught:
        commands.command(layout, record, np.zeros(1), (1, 0))
    assert caught.value.reason == 'not_commandable'
    waypoint = Waypoint((1, 0), positions, nothing, nothing, nothing)
    trajectory = TrajectoryRecord((1, 0), '', record.names, (waypoint,))
    with pytest.raises(MessageError) as caught:
        TrajectoryPath(followers, commands, partial_commands='hold').map(trajectory, np.zeros(1))
    assert caught.value.reason == 'not_commandable'
    assert np.isnan(commands.held).all()


def test_not_commanded_says_nothing(followers):
    """A follower may be named, as topic-based hardware does, if its value is no command."""
    record = JointStateRecord(
        (1, 0), '', ('third', 'first'), np.array([math.nan, 0.5]), *np.empty((2, 0))
    )
    layout = LayoutTable().get(record.names, record.lengths)
    (sent,) = CommandPath(followers).command(layout, record, np.zeros(1), (1, 0))
    assert (sent.names, sent.position.tolist()) == (('motor',), [2.0])
