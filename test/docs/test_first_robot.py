# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first robot: the files of the document, run as it says."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'


def at(heard, position):
    """Return whether the newest position is this one."""
    return heard and np.allclose(heard[-1].position, [position], rtol=0.0, atol=1e-12)


def test_joints_move(driver, start_bridge, peer, harness, message):
    """States flow up, commands down, in the numbers of the document, and tuning holds at once."""
    bridge = start_bridge()
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    publisher = peer.publisher('joint_commands')
    peer.spin_until(lambda: at(joints, 0.0), 'a joint at zero')
    assert joints[-1].names == ('hinge',)
    assert len(joints[-1].velocity) == 0

    def moved():
        if not at(joints, 0.5):
            peer.send(publisher, message({'hinge': 0.5}))
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


def test_the_driver_stops_by_itself(start_script, start_bridge, peer, message):
    """A motor that was commanded a velocity stops where the bridge is killed and sends no zero."""
    start_script('velocity_driver.py')
    bridge = start_bridge()
    motors = peer.listen('actuator_states')
    publisher = peer.publisher('joint_commands')

    def is_turning():
        peer.send(publisher, message(velocity={'hinge': 0.5}))
        return len(motors) > 50 and motors[-1].position[0] < motors[-50].position[0] - 1.0

    peer.spin_until(is_turning, 'a motor that turns')
    # At the velocity of the motor, which the driver takes for the time between two states.
    steps = np.diff([each.position[0] for each in motors[-10:]])
    assert np.allclose(steps[steps != 0.0], -50.0 * 0.5 * 0.01)
    bridge.stop(signal.SIGKILL)
    del motors[:]
    peer.spin_until(
        lambda: len(motors) > 20 and motors[-1].position[0] == motors[-20].position[0],
        'a motor that stands still',
    )


def test_the_command_waits_for_the_bridge_itself(
    driver, start_bridge, start_script, peer, harness
):
    """It moves the joint; a recorder that listens is no bridge, without one it gives up."""
    peer.listen('joint_commands')
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    script = start_script('command.py', 'hinge=0.5')
    said, errors = script.communicate(timeout=harness.PATIENCE)
    assert (script.returncode, said) == (1, '')
    assert errors == "not at {'hinge': 0.5}: joint_states has nothing\n"
    script = start_script('command.py', 'hinge=0.5')

    def publishers():
        return peer.node.get_publishers_info_by_topic('joint_commands')

    peer.spin_until(
        lambda: 'command' in [each.node_name for each in publishers()], 'a script that is there'
    )
    start_bridge('-p', f'{OFFSET}:=0.1')
    _, errors = script.communicate(timeout=harness.PATIENCE)
    assert script.returncode == 0, errors
    peer.spin_until(
        lambda: at(joints, 0.5) and at(motors, -20.0), 'a joint at 0.5, a motor at -20'
    )
