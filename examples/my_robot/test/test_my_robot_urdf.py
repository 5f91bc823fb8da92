# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The URDF matches the hardware. Needs pytest and transmission_bridge, but no ROS."""

from pathlib import Path

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.tools.main import main

URDF = Path(__file__).parents[1] / 'urdf' / 'my_robot.urdf'

#: From the data sheet of the motor: speed [rad/s] and torque [N m].
SPEED, TORQUE = 110.0, 0.65

ROBOT = tb.load_description(URDF, strict=True)
MAPS = tb.RobotTransmissions(ROBOT)
LIMITS = {joint.name: joint.limits for joint in ROBOT.joints}


def test_check_finds_nothing():
    """As `transmission_bridge check --strict` on the command line."""
    assert main(['check', '--strict', str(URDF)]) == 0
    assert MAPS.findings == ()


def test_a_position_that_was_measured():
    """If the hinge is at 0.5 rad, its motor is at -25 rad."""
    assert MAPS.joint_to_actuator('position', [0.5]) == pytest.approx([-25.0])


def test_there_and_back_within_the_limits():
    """Joint positions are recovered from their motor positions."""
    ends = [(LIMITS[name].lower, LIMITS[name].upper) for name in MAPS.joint_names]
    q = np.random.default_rng(0).uniform(*np.transpose(ends), (1000, len(ends)))
    a = MAPS.joint_to_actuator('position', q)
    np.testing.assert_allclose(MAPS.actuator_to_joint('position', a), q, atol=1e-9)


@pytest.mark.parametrize(('interface', 'most'), [('velocity', SPEED), ('effort', TORQUE)])
def test_the_motors_can_do_what_the_limits_promise(interface, most):
    """Speed and torque at the limits of the joints are within the data sheet."""
    promised = [getattr(LIMITS[name], interface) for name in MAPS.joint_names]
    assert np.abs(MAPS.joint_to_actuator(interface, promised)).max() <= most
