# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scene of the tests of the component, and what its motors get by the maps in Python."""

from __future__ import annotations

import math

from component_manager import FOLDER, Manager
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

SCENE = (FOLDER / 'scene.urdf').read_text(encoding='utf-8')
ROBOT = RobotTransmissions(load_description(SCENE))
#: Numbers of the driver in SI.
SCALES = {'winch': math.pi / 180.0}


def motors_of(interface, at=None, **joints):
    """Return what the driver gets, in its units, by the maps in Python."""
    values = np.array([joints.get(name, math.nan) for name in ROBOT.joint_names])
    where = {} if interface == 'position' else {'at': values_of(at)}
    found = ROBOT.joint_to_actuator(interface, values, **where)
    return {
        name: float(value) / SCALES.get(name, 1.0)
        for name, value in zip(ROBOT.actuator_names, found, strict=True)
        if not math.isnan(value)
    }


def values_of(joints):
    """Return a vector of all joints."""
    return np.array([(joints or {}).get(name, 0.0) for name in ROBOT.joint_names])


class SceneManager(Manager):
    """With the motors of the scene."""

    def measure(self, interface, **joints):
        """Set the measured numbers of the motors of joints."""
        for name, value in motors_of(interface, **joints).items():
            self(f'measure {name}/{interface} {value!r}')


def near(**expected):
    """Return numbers to compare with; NaN equals NaN."""
    return pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
