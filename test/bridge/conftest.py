# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The reference model, and the robot that it is a model of."""

from __future__ import annotations

import importlib.util
from pathlib import Path
import sys

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions


@pytest.fixture(scope='session')
def reference():
    """Return the module ``reference`` of this folder."""
    name = 'bridge_reference'
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, Path(__file__).with_name('reference.py')
        )
        # Dataclasses look their module up.
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


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
