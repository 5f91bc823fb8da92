# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The reference model, and the robot that it is a model of."""

from __future__ import annotations

from pathlib import Path

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions


@pytest.fixture(scope='session')
def reference(load):
    """Return the module ``reference`` of this folder."""
    return load('bridge_reference', Path(__file__).with_name('reference.py'))


@pytest.fixture(scope='session')
def robot(reference):
    """Return the maps of the reference robot."""
    robot = RobotTransmissions(load_description(reference.URDF))
    assert robot.joint_names == reference.JOINTS
    assert robot.actuator_names == reference.ACTUATORS
    assert robot.pass_through == ('finger',)
    return robot


@pytest.fixture(scope='session')
def tuned(robot, reference):
    """Return a function from changes to maps, from the URDF's own numbers on."""
    return lambda changes: robot.with_parameters(reference.nested(changes))
