# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge jacobian``."""

from __future__ import annotations

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.kinematics import ActuatorDevice, JointDevice
from transmission_bridge.resources import resource

ARM = resource('urdf', 'arm.urdf')
ROBOT = tb.load_description(ARM)
DEVICE = JointDevice.from_description(ROBOT, base='base_link', end='tool_link')
LINKS = ('--base', 'base_link', '--end', 'tool_link')
ROWS = ['vx', 'vy', 'vz', 'wx', 'wy', 'wz']
Q = (0.1, -0.2, 0.3, 0.4, -0.5, 0.6)


def test_joint_space_is_the_device_to_the_last_bit(run):
    """Positions in order, negative ones among them, give the device's numbers, named in text."""
    for positions in (('--', *Q), Q):
        result = run('jacobian', ARM, *LINKS, '--json', *positions)
        assert (result.code, result.err) == (0, '')
        assert result.json['names'] == list(DEVICE.joint_names)
        assert result.json['jacobian'] == DEVICE.base_j_end(Q).tolist()
        assert result.json['transform'] == DEVICE.base_t_end(Q).tolist()
    heading, *lines = run('jacobian', ARM, *LINKS).out.splitlines()
    assert heading.split() == list(DEVICE.joint_names)
    assert [line.split()[0] for line in lines[:7]] == ['position', *ROWS]


def test_actuator_space_is_the_actuator_device(run):
    """By name, the others at zero; ``J_a = J_q dq/da``."""
    actuators = ActuatorDevice(DEVICE, tb.RobotTransmissions(ROBOT))
    words = ('--space', 'actuator', '--json', 'shoulder_pan_motor=20.0', 'elbow_motor=-30.0')
    found = run('jacobian', ARM, *LINKS, *words).json
    names = list(actuators.actuator_names)
    a = np.zeros(6)
    a[names.index('shoulder_pan_motor')], a[names.index('elbow_motor')] = 20.0, -30.0
    assert (found['names'], found['position']) == (names, a.tolist())
    assert found['jacobian'] == actuators.base_j_end(a).tolist()
    q = actuators.joint_positions(a)
    by_joints = DEVICE.base_j_end(q) @ actuators.joint_jacobian(a)
    np.testing.assert_allclose(found['jacobian'], by_joints, atol=1e-15)


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        (['--base', 'base_link', '--end', 'nowhere'], "unknown link 'nowhere'"),
        ([*LINKS, '1', '2'], 'expected 6 positions'),
        ([*LINKS, 'a=1'], "unknown joint 'a'"),
        ([*LINKS, '1', '2', '3', '4', '5', 'x'], "'wrist_roll': expected"),
        (['--base', 'base_link'], '--end'),
    ],
)
def test_a_mistake_is_one_sentence(refuse, arguments, sentence):
    """What is wrong is said once, with exit code 2."""
    refuse(sentence, 'jacobian', ARM, *arguments)
