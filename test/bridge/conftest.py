# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The reference model, and the robot that it is a model of."""

from __future__ import annotations

import pytest
import zoo.reference

from transmission_bridge.description import load_description
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions


@pytest.fixture(scope='session')
def reference():
    """Return the reference robot with its formulas."""
    return zoo.reference


@pytest.fixture(scope='session')
def robot(reference):
    """Return the maps of the reference robot."""
    robot = RobotTransmissions(load_description(reference.URDF))
    assert robot.joint_names == reference.JOINTS
    assert robot.actuator_names == reference.ACTUATORS
    assert robot.pass_through == ('finger',)
    return robot


@pytest.fixture(scope='session')
def feed():
    """Return a function that sends a state path a message (of the reference, or a record)."""
    layouts = LayoutTable()

    def send(path, message, source='driver', now=0.0):
        layout = layouts.find_layout(message.names, message.lengths)
        path.merge_message(
            source, layout, getattr(message, 'received', message), message.stamp, now
        )

    return send
