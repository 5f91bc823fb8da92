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


#: The controllers of the tests, and what each commands.
CONTROLLERS = {
    'wrist': 'pitch/position roll/position',
    'rates': 'pitch/velocity roll/velocity',
    'efforts': 'pitch/effort roll/effort',
    'pitch': 'pitch/position',
    'roll': 'roll/position',
    'pitch_rate': 'pitch/velocity',
    'roll_rate': 'roll/velocity',
    'lift': 'lift/position',
    'lift_rate': 'lift/velocity',
    'grip': 'finger/position',
    'close': 'finger/velocity',
    'bend': 'knee/position knee/velocity',
    'torque': 'knee/effort',
    'gain': 'lift/gain lamp/light',
}


class SceneManager(Manager):
    """With the motors of the scene and its controllers."""

    def start(self, urdf, active='active'):
        """Start with a description and the controllers."""
        super().start(urdf, active)
        for name, interfaces in CONTROLLERS.items():
            self.script(name, *interfaces.split())

    def activate(self, name, *values, cycles=1):
        """Activate a controller that writes values, and run cycles."""
        assert self(f'switch +{name}') == 'ok'
        self.move(name, *values, cycles=cycles)

    def measure(self, interface, **joints):
        """Set the measured numbers of the motors of joints."""
        for name, value in motors_of(interface, **joints).items():
            self(f'measure {name}/{interface} {value!r}')

    def find_commands(self, interface):
        """Return the numbers of an interface that motors were sent."""
        end = f'/{interface}'
        return {n.removesuffix(end): x for n, x in self('motors').items() if n.endswith(end)}

    def is_sent(self, interface, at=None, **joints):
        """Return whether the motors of joints were sent what the maps in Python give."""
        found, wanted = self.find_commands(interface), motors_of(interface, at, **joints)
        return {name: found[name] for name in wanted} == near(**wanted)


def near(**expected):
    """Return numbers to compare with; NaN equals NaN."""
    return pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
