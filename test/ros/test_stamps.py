# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Stamps that are impossible or ahead of the node's clock, over real DDS."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

#: Of 2038, before 1970, and of seconds with too many nanoseconds.
ODD = {
    'future_stamp': [(2_145_916_800, 0), (2**31 - 1, 999_999_999)],
    'bad_stamp': [(-5, 0), (-(2**31), 7), (5, 1_000_000_000), (0, 2**32 - 1)],
}

WAYS = {
    'actuator_states': 'joint_states',
    'actuator_absolute_positions': 'joint_absolute_positions',
    'actuator_torque_sensors': 'joint_torque_sensors',
    'joint_commands': 'actuator_commands',
}


def nanoseconds(stamp):
    """Return a stamp as a number that can be compared with a clock."""
    return stamp[0] * 10**9 + stamp[1]


def reliable(*topics):
    """Return the parameters with which nothing sent to these topics is lost."""
    return {f'qos_overrides./{each}.subscription.reliability': 'reliable' for each in topics}


@pytest.mark.parametrize('source', WAYS)
def test_time_of_receipt_instead(peer, reference, active_bridge, capfd, source):
    """Their messages are used, with the time of receipt; they are counted, and warned of once."""
    node = active_bridge(reliable(source))
    sender, heard = peer.publisher(source), peer.listen(WAYS[source])
    name = 'lift' if source == 'joint_commands' else 'winch'
    message = reference.Message((name,), *([(1.0,)] if name == 'lift' else [(1.0,)] * 3))
    peer.exchange(sender, message, heard)
    capfd.readouterr()
    for stamps in ODD.values():
        for stamp in stamps:
            del heard[:]
            before = peer.node.get_clock().now().nanoseconds
            peer.send(sender, replace(message, stamp=stamp))
            peer.spin_until(lambda: heard, 'an answer')
            after = peer.node.get_clock().now().nanoseconds
            assert all(before <= nanoseconds(each.stamp) <= after for each in heard)
    statistics = node._session.inputs.statistics[source]
    assert statistics.replaced_stamps == {reason: len(ODD[reason]) for reason in ODD}
    assert statistics.rejected == {}
    lines = [line for line in capfd.readouterr().err.splitlines() if 'header.stamp' in line]
    assert len(lines) == len(ODD)
    assert all(source in line for line in lines)
    assert any('use_sim_time' in line for line in lines)


def test_one_driver_in_2038(peer, reference, active_bridge):
    """After one message of its the joint states go on with the stamps of the other driver."""
    active_bridge({'actuator_state_topics': ['one', 'two'], **reliable('one', 'two')})
    joints = peer.listen('joint_states')
    one, two = peer.publisher('one'), peer.publisher('two')
    now = peer.node.get_clock().now().seconds_nanoseconds
    peer.exchange(two, reference.Message(('finger',), (1.0,), stamp=now()), joints)
    del joints[:]
    peer.send(one, reference.Message(('winch',), (1.0,), stamp=ODD['future_stamp'][0]))
    peer.spin_until(lambda: joints, 'a state')
    for _ in range(3):
        stamp = peer.node.get_clock().now().seconds_nanoseconds()
        peer.send(two, reference.Message(('finger',), (2.0,), stamp=stamp))
        peer.spin_until(lambda: joints[-1].stamp == stamp, 'the stamp of the other driver')
    stamps = [each.stamp for each in joints]
    assert stamps == sorted(stamps)


def test_a_trajectory_that_starts_at_no_time(peer, active_bridge):
    """It is refused: its stamp is when it starts."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    node = active_bridge()
    trajectory = JointTrajectory(
        joint_names=['lift'],
        points=[JointTrajectoryPoint(positions=[0.1], time_from_start=Duration(sec=1))],
    )
    publisher = peer.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
    heard = []
    peer.node.create_subscription(JointTrajectory, 'actuator_trajectory', heard.append, 10)
    peer.spin_until(publisher.get_subscription_count, 'a reader of trajectories')
    (target,) = [each for each in node.publishers if each.topic_name == '/actuator_trajectory']
    peer.spin_until(target.get_subscription_count, 'a listener')
    statistics = node._session.inputs.statistics['joint_trajectory']
    for number, (seconds, nanosecs) in enumerate(ODD['bad_stamp'], start=1):
        trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = seconds, nanosecs
        publisher.publish(trajectory)
        peer.spin_until(lambda: statistics.received == number, 'the trajectory')
    assert statistics.rejected == {'bad_stamp': len(ODD['bad_stamp'])}
    trajectory.header.stamp.sec = trajectory.header.stamp.nanosec = 0
    publisher.publish(trajectory)
    peer.spin_until(lambda: heard, 'a trajectory')
    assert len(heard) == 1


def test_diagnostics_count_them(peer, reference, active_bridge):
    """They are a warning while they come, and a count by reason."""
    from diagnostic_msgs.msg import DiagnosticArray

    active_bridge({**reliable('actuator_states'), 'state_timeout': 0.0})
    reports = []
    peer.node.create_subscription(DiagnosticArray, '/diagnostics', reports.append, 10)
    sender = peer.publisher('actuator_states')
    for stamps in ODD.values():
        peer.send(sender, reference.Message(('winch',), (1.0,), stamp=stamps[0]))

    def found():
        statuses = [each for report in reversed(reports) for each in report.status]
        for status in statuses:
            values = {each.key: each.value for each in status.values}
            if values.get('replaced stamps') == '2':
                return status, values
        return None

    status, values = peer.spin_until(found, 'the counts')
    assert status.name == 'transmission_bridge: actuator_states'
    assert status.level == b'\x01'
    assert 'replaced by the time of receipt' in status.message
    assert (values['replaced stamps bad_stamp'], values['accepted']) == ('1', '2')
    del reports[:]
    peer.spin_until(lambda: found() and found()[0].level == b'\x00', 'an end of the warning')
