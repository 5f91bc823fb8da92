# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The bridge as a process: every way to end it, and to stand still."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

#: Rates to stop, in which the bridge must end.
ENDS = [(('winch',), [], [0.0], []), (('finger',), [], [], [0.0])]

#: What becomes the process with standard input as its terminal, which a lost one takes with it.
OWN_TERMINAL = (
    sys.executable,
    '-c',
    'import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); '
    'os.execv(sys.argv[1], sys.argv[1:])',
)


@pytest.fixture
def moving(harness, live, command_each_mode):
    """Start a bridge that has sent commands of every mode; also its peer, and what comes then."""

    def start(executor, **how):
        # Nothing else ends commands.
        values = {'zero_effort': 'true', **harness.PATIENT}
        process, peer = live('--executor', executor, how=how, **values)
        actuators = peer.listen('actuator_commands')
        command_each_mode(peer, actuators)
        return process, peer, actuators

    return start


def check_end(peer, actuators):
    """Check that zero rates were sent, and nothing else."""
    peer.spin_until(lambda: len(actuators) >= 2, 'the last command')
    assert [
        (each.names, list(each.position), list(each.velocity), list(each.effort))
        for each in actuators
    ] == ENDS


def test_signal_while_active(moving, executor):
    """A signal sends zero rates to what was commanded a rate, then the process ends with 0."""
    process, peer, actuators = moving(executor)
    process.ends_well()
    check_end(peer, actuators)


def test_lost_terminal(moving, executor):
    """Zero rates are sent when the terminal goes, as with a connection or a window."""
    ours, theirs = os.openpty()
    with open(theirs, 'rb') as stdin:
        process, peer, actuators = moving(executor, through=OWN_TERMINAL, stdin=stdin)
    os.close(ours)
    assert process.ended() == 0
    assert 'Traceback' not in process.output
    check_end(peer, actuators)


@pytest.mark.parametrize('transitions', [(), ('configure',), ('unconfigured_shutdown',)])
def test_signal_while_not_active(live, transitions):
    """In every other state a signal ends the process with 0 and nothing is sent."""
    process, peer = live(autostart='false')
    actuators = peer.listen('actuator_commands')
    for transition in transitions:
        assert peer.change_state(transition)
    peer.state()
    process.ends_well()
    assert actuators == []


@pytest.mark.versions
@pytest.mark.parametrize(
    ('executor', 'pause', 'quiet'),
    [
        ('auto', 2.2, 0.7),
        ('single_threaded', 2.2, 0.0),
        pytest.param('single_threaded', 2.2, 0.7, marks=pytest.mark.campaign),
        pytest.param('auto', 4.0, 0.0, marks=pytest.mark.campaign),
    ],
)
def test_a_bridge_that_stood_still(live, harness, reference, executor, pause, quiet):
    """No old command or trajectory reaches a motor, at once or resent; new ones do."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    process, peer = live('--executor', executor)
    diagnostics = harness.Diagnostics(peer)
    heard, moved, sent = peer.listen('actuator_commands'), [], {}
    peer.node.create_subscription(JointTrajectory, 'actuator_trajectory', moved.append, 10)
    planner = peer.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
    controller = peer.publisher('joint_commands')
    goes = [True]

    def act():
        if goes[0]:
            message = reference.Message(('lift',), velocity=(1.0,), stamp=(1 + len(sent), 1))
            peer.send(controller, message)
            sent[message.stamp] = time.monotonic()

    def plan(position):
        point = JointTrajectoryPoint(positions=[position])
        point.time_from_start.sec = 1
        planner.publish(JointTrajectory(joint_names=['finger'], points=[point]))

    def wait_for_trajectory(position):
        """
        Send a trajectory until its drivers hear it; return the positions of all they heard.

        It is sent steadily, because after a stall of a loaded machine the bridge refuses single
        ones of a writer that it does not know yet.
        """
        plan(position)
        timer = peer.node.create_timer(harness.AGAIN, lambda: plan(position))
        peer.spin_until(lambda: moved, 'a trajectory')
        timer.cancel()
        return {point.positions[0] for each in moved for point in each.points}

    def times():
        """Return when each command was sent that an actuator was sent [s]."""
        return [sent[each.stamp] for each in heard if each.stamp in sent]

    def wait_until(at):
        peer.spin_until(lambda: time.monotonic() > at, 'time')

    peer.node.create_timer(0.02, act)
    peer.spin_until(planner.get_subscription_count, 'a reader of trajectories')
    peer.spin_until(lambda: peer.node.count_publishers('actuator_trajectory'), 'the other side')
    peer.spin_until(lambda: len(times()) > 50, 'traffic')
    assert wait_for_trajectory(1.0) == {1.0}
    # It stops between two commands: one that it was publishing would arrive when it goes on.
    goes[0] = False
    peer.exchange(controller, reference.Message(('lift',), velocity=(1.0,), stamp=(1, 2)), heard)
    process.send_signal(signal.SIGSTOP)
    process.wait(lambda: ') T ' in Path(f'/proc/{process.pid}/stat').read_text(), 'the stop')
    stopped = time.monotonic()
    try:
        peer.executor.spin_once(timeout_sec=0.0)
        del heard[:], moved[:]
        goes[0] = True
        plan(2.0)
        wait_until(stopped + pause - quiet)
        goes[0] = False
        wait_until(stopped + pause)
    finally:
        resumed = time.monotonic()
        process.send_signal(signal.SIGCONT)
    if quiet:
        diagnostics.said('joint_commands', 'stalled', level=b'\x01')
        assert 'joint_commands: the node was stalled for ' in process.output
        peer.spin_until(lambda: heard, 'the end of the velocity')
        (end,) = heard
        assert (end.names, end.velocity.tolist()) == (('winch',), [0.0])
    # Live ones are accepted, and come after all that reliable DDS sends again.
    goes[0], again = True, time.monotonic()
    peer.spin_until(lambda: sum(at > again for at in times()) > 20, 'new commands')
    assert wait_for_trajectory(3.0) == {3.0}
    diagnostics.said('joint_trajectory')
    peer.spin_until(
        lambda: 'rejected stalled' in diagnostics.values('joint_trajectory'), 'the refusal'
    )
    # What is older than command_timeout is not sent; an age counts from the quickest way before.
    assert min(times()) > (again if quiet else resumed - 0.5 - 0.1)
