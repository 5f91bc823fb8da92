# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The launch files under real launch, with the real nodes."""

from __future__ import annotations

import pytest
from state_paths import record

from transmission_bridge.description import load_description
from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

BRIDGE, DEMO, TOPIC_BASED = (
    resource('launch', f'{name}.launch.py') for name in ('bridge', 'demo', 'topic_based')
)


def end(process):
    """Interrupt a launch; every process ends in order."""
    assert process.stop() == 0, process.output
    for word in ('Traceback', 'has died', 'escalating'):
        assert word not in process.output, process.output


def repeat_message(harness, peer, topic, name, position):
    """Return a function that repeats a message about one joint or actuator."""
    publisher = peer.publisher(topic)
    message = record([name], [position], stamp=(0, 0))
    return harness.repeat(lambda: peer.send(publisher, message))


def test_bridge(launch, peer, harness):
    """The bridge becomes active, and publishes the joint of a driver."""
    process = launch(BRIDGE, f'robot_description_file:={resource("urdf", "one_joint.urdf")}')
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    joints = peer.listen('joint_states')
    send = repeat_message(harness, peer, 'actuator_states', 'hinge_motor', 25.0)
    peer.spin_until(lambda: send() or joints, 'a joint state')
    assert joints[-1].position == pytest.approx(0.5)
    end(process)


def test_demo(launch, peer, harness):
    """The arm follows in its namespace; programs that are not installed are left out."""
    process = launch(DEMO, 'namespace:=cell', 'rviz:=false')
    joints = peer.listen('cell/joint_states')
    send = repeat_message(harness, peer, 'cell/joint_commands', 'shoulder_pan', 0.5)

    def has_moved():
        send()
        at = dict(zip(joints[-1].names, joints[-1].position, strict=True)) if joints else {}
        return at.get('shoulder_pan') == pytest.approx(0.5, abs=1e-3)

    peer.spin_until(has_moved, 'a motion of the arm')
    assert 'rviz2' not in process.output
    end(process)


def test_topic_based_twice(launch, peer, harness):
    """Two robots have topics of their own, the relative ones of the hardware component."""
    (block,) = load_description(resource('urdf', 'topic_based.urdf')).blocks
    names = {each.name: each.value for each in block.parameters}
    processes = [launch(TOPIC_BASED, f'namespace:={side}') for side in ('left', 'right')]
    left, right = (
        peer.listen(f'{side}/{names["joint_states_topic"]}') for side in ('left', 'right')
    )
    peer.spin_until(lambda: left and right, 'states of both')
    shoulder = left[0].names.index('shoulder')
    start, goal = left[0].position[shoulder], left[0].position[shoulder] + 0.02
    send = repeat_message(harness, peer, f'left/{names["joint_commands_topic"]}', 'shoulder', goal)
    peer.spin_until(
        lambda: send() or abs(left[-1].position[shoulder] - goal) < 1e-3, 'a motion of the left'
    )
    assert right[-1].position[shoulder] == pytest.approx(start)
    for process in processes:
        assert 'controller_manager is not installed' in process.output
        end(process)


MANAGER = """
import signal
signal.signal(signal.SIGINT, lambda *_: exit(0))
signal.pause()
"""


def test_controllers_start_after_the_first_states(launch, install):
    """The spawner becomes its program when the bridge has published the joints."""
    install(
        'controller_manager',
        ros2_control_node=MANAGER,
        spawner='import sys; print("spawning", *sys.argv[1:])',
    )
    process = launch(TOPIC_BASED, 'namespace:=left')
    process.wait_for('waiting for the first joint position on /left/robot_joint_states')
    process.wait_for('spawning joint_state_broadcaster turntable_controller')
    process.wait_for('process has finished cleanly')
    end(process)
