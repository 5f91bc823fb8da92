# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example robots are right, and the two dialects of the arm are one robot."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.resources import resource
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    interfaces_of,
    JOINT_TO_ACTUATOR,
)

NAMES = ('arm.urdf', 'arm_ros1.urdf', 'one_joint.urdf')
ARM, ARM_ROS1, ONE_JOINT = (
    RobotTransmissions(load_description(resource('urdf', name), strict=True)) for name in NAMES
)
JOINTS = ['shoulder_pan', 'shoulder_lift', 'elbow', 'forearm_roll', 'wrist_pitch', 'wrist_roll']
MOTORS = ['shoulder_pan_motor', 'forearm_roll_motor', 'shoulder_lift_motor', 'elbow_motor']
MOTORS += ['wrist_left_motor', 'wrist_right_motor']
values = st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6)


@pytest.mark.parametrize('robot', [ARM, ARM_ROS1, ONE_JOINT], ids=NAMES)
def test_nothing_is_odd_in_it(robot):
    """An example to copy loads without any finding."""
    assert robot.findings == ()
    assert robot.pass_through == ()


def mechanism(robot):
    """Return its links and joints without the lines at which they stand."""
    return [replace(part, line=None, path='') for part in (*robot.links, *robot.joints)]


def test_both_dialects_are_one_robot():
    """Links, joints and names are the same, in one order."""
    assert mechanism(ARM.robot) == mechanism(ARM_ROS1.robot)
    assert [joint.name for joint in ARM.robot.joints if joint.is_scalar] == JOINTS
    for robot in (ARM, ARM_ROS1):
        assert [*robot.joint_names] == JOINTS
        assert [*robot.actuator_names] == MOTORS


WAYS = {'actuator_to_joint': ACTUATOR_TO_JOINT, 'joint_to_actuator': JOINT_TO_ACTUATOR}


@pytest.mark.parametrize('way', WAYS)
@given(values)
def test_both_dialects_map_alike(way, given_values):
    """Every interface gives the same numbers, bit for bit."""
    for interface in interfaces_of(WAYS[way]):
        a, b = (getattr(robot, way)(interface, given_values) for robot in (ARM, ARM_ROS1))
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


@given(values)
def test_arm_moves_as_its_comments_say(motors):
    """The joint positions follow the formulas in the file, evaluated with its numbers."""
    pan, roll, lift, elbow, left, right = motors
    expected = [
        [pan / 101.0, 0.25],
        [lift / (1.75 * 64.0), -0.35],
        [elbow / -80.0 / 1.2, -lift / (1.75 * 64.0) / 1.2, 1.1],
        [roll / -72.5],
        [left / 48.0 / 2.5, right / -50.0 / 2.5, 0.1],
        [left / 48.0 / -1.6, -right / -50.0 / -1.6, -0.2],
    ]
    for found, terms in zip(ARM.actuator_to_joint('position', motors), expected, strict=True):
        assert abs(found - sum(terms)) <= 1e-14 * sum(map(abs, terms))


def test_one_joint():
    """The smallest robot has one joint behind a reduction of 50."""
    assert (ONE_JOINT.joint_names, ONE_JOINT.actuator_names) == (('hinge',), ('hinge_motor',))
    np.testing.assert_allclose(ONE_JOINT.actuator_to_joint('position', [25.0]), [0.5], rtol=1e-15)
