# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The numbers published for a hardware component that reads joint states from a topic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge.description import load_description
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions import RobotTransmissions

TOPIC_BASED = (
    'joint_state_topic_hardware_interface/JointStateTopicSystem',
    'topic_based_ros2_control/TopicBasedSystem',
    'joint_command_topic_hardware_interface/JointCommandTopicSystem',
)
OTHER = 'some/Hardware'
NAN = math.nan

#: Declared interfaces: both rates, position alone, nothing, in two blocks, and in no block.
URDF = """
<robot name="declared">
  <link name="base"/>
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
  <joint name="whole" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="part" type="continuous"><parent link="base"/><child link="b"/></joint>
  <joint name="none" type="continuous"><parent link="base"/><child link="c"/></joint>
  <joint name="twice" type="continuous"><parent link="base"/><child link="d"/></joint>
  <joint name="free" type="continuous"><parent link="base"/><child link="e"/></joint>
  <ros2_control name="first" type="system">
    <hardware><plugin>{plugin}</plugin></hardware>
    <joint name="whole">
      <state_interface name="position"/>
      <state_interface name="velocity"/>
      <state_interface name="effort"/>
    </joint>
    <joint name="part">
      <command_interface name="position"/>
      <state_interface name="position"/>
      <state_interface name="temperature"/>
    </joint>
    <joint name="none"><command_interface name="acceleration"/></joint>
    <joint name="twice"><state_interface name="effort"/></joint>
  </ros2_control>
  <ros2_control name="second" type="sensor">
    <hardware><plugin>{plugin}</plugin></hardware>
    <joint name="twice"><state_interface name="velocity"/></joint>
  </ros2_control>
</robot>
"""

NAMES = ('whole', 'part', 'none', 'twice', 'free')
DECLARED = [
    [1.0, 1.0, NAN, NAN, 1.0],
    [2.0, NAN, NAN, 2.0, 2.0],
    [3.0, NAN, NAN, 3.0, 3.0],
]
ALL = [[1.0] * 5, [2.0] * 5, [3.0] * 5]


def published(feed, plugin, choice, **options):
    """Return the three arrays for joints at 1, that turn at 2, with an effort of 3."""
    robot = RobotTransmissions(load_description(URDF.format(plugin=plugin), strict=True))
    path = state_path(robot, undeclared_interfaces=choice, **options)
    feed(path, JointStateRecord((1, 0), '', NAMES, *np.array(ALL)))
    found = path.make_joint_state()
    assert found.names == NAMES
    return [found.position, found.velocity, found.effort]


@pytest.mark.parametrize(
    ('plugin', 'choice', 'expected'),
    [
        *((plugin, 'auto', DECLARED) for plugin in TOPIC_BASED),
        *((plugin, 'publish', ALL) for plugin in TOPIC_BASED),
        (OTHER, 'auto', ALL),
        (OTHER, 'publish', ALL),
        (OTHER, 'hide', DECLARED),
    ],
)
def test_undeclared_interfaces(feed, plugin, choice, expected):
    """Topic-based hardware is given no number for a state interface that was not declared."""
    assert np.array_equal(published(feed, plugin, choice), expected, equal_nan=True)


@pytest.mark.parametrize('plugin', TOPIC_BASED)
def test_hidden_is_not_filled(feed, plugin):
    """Also where unknown rates are zero."""
    found = published(feed, plugin, 'auto', unknown_rates='zero')
    assert np.array_equal(found, DECLARED, equal_nan=True)


def test_nothing_but_hidden_numbers_is_no_state(feed):
    """A message without a number would be useless."""
    robot = RobotTransmissions(load_description(URDF.format(plugin=OTHER), strict=True))
    path = state_path(robot, undeclared_interfaces='hide', unknown_joints='nan')
    feed(path, JointStateRecord((1, 0), '', ('part',), (), (2.0,), ()))
    assert path.make_joint_state() is None
    feed(path, JointStateRecord((1, 0), '', ('part',), (1.0,), (2.0,), ()))
    assert path.make_joint_state() is not None
