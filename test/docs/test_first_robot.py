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
def bridge(harness, folder):
    """Start the bridge as the document says where there is no launch."""
    process = harness.Process(
        'transmission_bridge.ros.bridge_main',
        ['--urdf', folder / 'my_robot.urdf', '--ros-args', '-p', 'autostart:=true'],
    )
    yield process
    process.clean_up()


def test_joints_move(driver, bridge, peer, harness):
    """States flow up, commands down, in the numbers of the document, and tuning holds at once."""
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
