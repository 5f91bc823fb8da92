# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first robot: the files of the document, run as it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'


@pytest.fixture
def folder(documents, tmp_path):
    """Return a folder with the files of the document."""
    for name, text in documents.files('first_robot.md').items():
        (tmp_path / name).write_text(text, encoding='utf-8')
    return tmp_path


@pytest.fixture
def driver(harness, folder):
    """Start the driver as the document says; end it as a terminal does."""
    process = subprocess.Popen(
        [sys.executable, 'driver.py'], cwd=folder, stderr=subprocess.PIPE, text=True,
        env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)},
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def start_bridge(harness, folder):
    """Return a function that starts the bridge as the document says where there is no launch."""
    processes = []

    def start(*more):
        line = ['--urdf', folder / 'my_robot.urdf', '--ros-args', '-p', 'autostart:=true', *more]
        processes.append(harness.Process('transmission_bridge.ros.bridge_main', line))
        return processes[-1]

    yield start
    for process in processes:
        process.clean_up()


def test_joints_move(driver, start_bridge, peer, harness):
    """States flow up, commands down, in the numbers of the document, and tuning holds at once."""
    bridge = start_bridge()
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    publisher = peer.publisher('joint_commands')
    nothing = np.empty(0)
    command = JointStateRecord((0, 0), '', ('hinge',), np.array([0.5]), nothing, nothing)

    def at(heard, position):
        return heard and np.allclose(heard[-1].position, [position], rtol=0.0, atol=1e-12)

    peer.spin_until(lambda: at(joints, 0.0), 'a joint at zero')
    assert joints[-1].names == ('hinge',)
    assert len(joints[-1].velocity) == 0

    def moved():
        if not at(joints, 0.5):
            peer.send(publisher, command)
        return at(joints, 0.5) and at(motors, -25.0)

    peer.spin_until(moved, 'a joint at 0.5 and a motor at -25')
    (result,) = peer.set_each_parameter({OFFSET: 0.1})
    assert result.successful
    peer.spin_until(lambda: at(joints, 0.6), 'a joint that is tuned')
    assert bridge.stop() == 0
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate(timeout=harness.PATIENCE)
    assert driver.returncode == 0, errors
    assert 'Traceback' not in errors


def test_the_command_without_ros(driver, start_bridge, peer, harness, folder):
    """The script moves the joint once, where an offset that was given at the start holds."""
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    start_bridge('-p', f'{OFFSET}:=0.1')
    peer.spin_until(lambda: joints and joints[-1].position[0] == 0.1, 'a joint at its offset')
    result = subprocess.run(
        [sys.executable, 'command.py'], cwd=folder, capture_output=True, text=True, check=False,
        timeout=harness.PATIENCE, env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    peer.spin_until(
        lambda: (
            motors and np.allclose([joints[-1].position[0], motors[-1].position[0]], [0.5, -20.0])
        ),
        'a joint at 0.5 and a motor at -20',
    )
