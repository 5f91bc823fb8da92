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
LINKS = ('--base', 'base_link', '--end', 'tool_link')
Q = (0.1, -0.2, 0.3, 0.4, -0.5, 0.6)


@pytest.fixture(scope='module')
def device() -> JointDevice:
    """Return the arm."""
    robot = tb.load_description(ARM.read_text(encoding='utf-8'))
    return JointDevice.from_description(robot, base='base_link', end='tool_link')


def test_joint_space_is_the_device_to_the_last_bit(run, device):
    """Positions in order, negative ones among them, give the device's numbers."""
    result = run('jacobian', ARM, *LINKS, '--json', '--', *Q)
    assert (result.code, result.err) == (0, '')
    assert result.json['names'] == list(device.joint_names)
    assert result.json['jacobian'] == device.base_j_end(Q).tolist()
    assert result.json['transform'] == device.base_t_end(Q).tolist()


def test_negative_positions_need_no_separator(run, device):
    """A number with a sign is a position, not an option."""
    result = run('jacobian', ARM, *LINKS, '--json', *Q)
    assert result.json['jacobian'] == device.base_j_end(Q).tolist()


def test_actuator_space_is_the_actuator_device(run, device):
    """By name, the others at zero; ``J_a = J_q dq/da``."""
    actuators = ActuatorDevice(device, tb.RobotTransmissions(device_robot()))
    result = run(
        'jacobian', ARM, *LINKS, '--space', 'actuator', '--json', 'shoulder_pan_motor=20.0',
        'elbow_motor=-30.0',
    )  # fmt: skip
    names = result.json['names']
    assert names == list(actuators.actuator_names)
    a = np.zeros(6)
    a[names.index('shoulder_pan_motor')], a[names.index('elbow_motor')] = 20.0, -30.0
    assert result.json['position'] == a.tolist()
    assert result.json['jacobian'] == actuators.base_j_end(a).tolist()
    q = actuators.joint_positions(a)
    by_joints = device.base_j_end(q) @ actuators.joint_jacobian(a)
    np.testing.assert_allclose(result.json['jacobian'], by_joints, atol=1e-15)


def device_robot() -> tb.RobotDescription:
    """Return the arm's description."""
    return tb.load_description(ARM.read_text(encoding='utf-8'))


def test_text_names_columns_and_rows(run, device):
    """A person reads which number is what."""
    lines = run('jacobian', ARM, *LINKS).out.splitlines()
    assert lines[0].split() == list(device.joint_names)
    assert [line.split()[0] for line in lines[1:8]] == [
        'position', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz',
    ]  # fmt: skip


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
def test_a_mistake_is_one_sentence(run, arguments, sentence):
    """What is wrong is said once, with exit code 2."""
    result = run('jacobian', ARM, *arguments)
    assert (result.code, result.out) == (2, '')
    assert sentence in result.err
    assert result.err.count('\n') == 1
