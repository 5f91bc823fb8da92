# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The plugin passes the conformance suite, and a robot with it loads."""

from pathlib import Path

from custom_transmission.cardan import CardanTransmission
import numpy as np

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.conformance import TransmissionConformance

URDF = Path(__file__).parents[1] / 'urdf' / 'bent_shaft.urdf'


class TestCardan(TransmissionConformance):
    """The conformance suite of transmission_bridge, one test per check."""

    def make(self):
        """Return the transmission to check."""
        return CardanTransmission({'bend': 0.5}, actuator_reduction=[-3.0], joint_offset=[0.2])


class TestStraightShaft(TransmissionConformance):
    """Without a bend it is a plain gear, which also passes the suite."""

    def make(self):
        """Return the transmission to check."""
        return CardanTransmission({'bend': 0.0})


def test_the_robot_of_this_package_uses_it():
    """The installed plugin is found by the type string of the URDF, without findings."""
    robot = RobotTransmissions(load_description(URDF))
    assert robot.findings == ()
    assert isinstance(robot.transmissions['shaft'], CardanTransmission)
    quarter = 3.0 * 0.5 * np.pi
    assert np.allclose(robot.actuator_to_joint('position', [quarter]), 0.5 * np.pi + 0.1)


def test_a_universal_joint_by_its_cross():
    """The arms of the cross stay perpendicular: tan(q) cos(b) = tan(t)."""
    t = CardanTransmission({'bend': 0.5})
    a = np.linspace(-6.0, 6.0, 1001)[:, np.newaxis]
    q = t.actuator_to_joint('position', a)
    error = np.sin(q) * np.cos(0.5) * np.cos(a) - np.cos(q) * np.sin(a)
    assert np.abs(error).max() < 1e-15
