# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The bridge as a process: every way to end it, and to stand still."""

from pathlib import Path
import signal
import time

import pytest


@pytest.mark.parametrize('transitions', [(), ('configure',), ('unconfigured_shutdown',)])
def test_signal_while_not_active(live, transitions):
    """In every other state a signal ends the process with 0 and nothing is sent."""
    process, peer = live(autostart='false')
    actuators = peer.listen('actuator_commands')
    peer.pass_through(*transitions)
    peer.state()
    process.ends_well()
    assert actuators == []


@pytest.mark.versions
@pytest.mark.parametrize('executor', ['auto', 'single_threaded'])
def test_a_bridge_that_stood_still(live, harness, reference, executor):
    """Commands and trajectories that arrive just after it are rejected, and later ones pass."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    process, peer = live('--executor', executor)
    diagnostics = harness.Diagnostics(peer)
    heard, moved = peer.listen('actuator_commands'), []
    peer.node.create_subscription(JointTrajectory, 'actuator_trajectory', moved.append, 10)
    planner = peer.publisher('joint_trajectory', kind=JointTrajectory)
    controller = peer.publisher('joint_commands')

    def act(velocity):
        peer.send(controller, reference.Message(('lift',), velocity=(velocity,)))

    def plan(position):
        point = JointTrajectoryPoint(positions=[position])
        point.time_from_start.sec = 1
        planner.publish(JointTrajectory(joint_names=['finger'], points=[point]))

    def send_until(send, value, list_found):
        """Send a value steadily until it is passed on: a loaded machine may stand still."""
        timer = peer.node.create_timer(harness.AGAIN, lambda: send(value))
        peer.spin_until(lambda: value in list_found(), f'{value}')
        peer.node.destroy_timer(timer)

    def list_velocities():
        return [-0.25 * each.velocity[0] for each in heard if len(each.velocity)]

    def list_positions():
        return [point.positions[0] for each in moved for point in each.points]

    peer.spin_until(lambda: peer.node.count_publishers('actuator_trajectory'), 'the other side')
    send_until(plan, 1.0, list_positions)
    send_until(act, 1.0, list_velocities)
    # A steady stream, because DDS repeats single messages seconds later.
    timer = peer.node.create_timer(0.02, lambda: (act(2.0), plan(2.0)))
    process.send_signal(signal.SIGSTOP)
    process.wait(lambda: ') T ' in Path(f'/proc/{process.pid}/stat').read_text(), 'the stop')
    try:
        resumed = time.monotonic() + 2.2
        peer.spin_until(lambda: time.monotonic() > resumed, 'time')
    finally:
        process.send_signal(signal.SIGCONT)
    for topic in ('joint_commands', 'joint_trajectory'):
        peer.spin_until(lambda: 'rejected stalled' in diagnostics.values(topic), 'the refusal')
    peer.node.destroy_timer(timer)
    process.wait_for('the node stood still for ')
    send_until(act, 3.0, list_velocities)
    send_until(plan, 3.0, list_positions)
