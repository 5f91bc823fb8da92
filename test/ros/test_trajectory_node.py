# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Trajectories through the node, over real DDS."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def point(time, **fields):
    """Return a waypoint."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectoryPoint

    return JointTrajectoryPoint(
        time_from_start=Duration(sec=time[0], nanosec=time[1]),
        **{field: [float(value) for value in values] for field, values in fields.items()},
    )


def trajectory(names, *points, stamp=(0, 0), frame_id=''):
    """Return a trajectory."""
    from builtin_interfaces.msg import Time
    from std_msgs.msg import Header
    from trajectory_msgs.msg import JointTrajectory

    return JointTrajectory(
        header=Header(stamp=Time(sec=stamp[0], nanosec=stamp[1]), frame_id=frame_id),
        joint_names=list(names),
        points=list(points),
    )


@pytest.fixture
def wire(peer):
    """Return a function: sender of joint trajectories and list of actuator trajectories."""
    from trajectory_msgs.msg import JointTrajectory

    def connect(node):
        heard = []
        peer.node.create_subscription(JointTrajectory, 'actuator_trajectory', heard.append, 100)
        publisher = peer.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        ours = node._session.outputs.publishers['actuator_trajectory']
        peer.spin_until(
            lambda: publisher.get_subscription_count() and ours.get_subscription_count(),
            'the two ends',
        )
        return publisher.publish, heard

    return connect


def test_mapped_over_dds(peer, active_bridge, reference, wire):
    """Waypoints are mapped, omitted rates stay omitted, header and times are untouched."""
    send, heard = wire(active_bridge())
    for stamp, frame_id in (((0, 0), ''), ((12, 34), 'base')):
        del heard[:]
        send(
            trajectory(
                ('lift', 'finger'),
                point((0, 0), positions=[1.0, 2.0]),
                point((0, 5), positions=[1.5, 2.0], velocities=[0.5, 0.0]),
                point((3, 1), velocities=[0.0, 0.0], accelerations=[1.0, -1.0]),
                point((3, 2), positions=[1.0, 1.0], effort=[8.0, 1.0]),
                stamp=stamp,
                frame_id=frame_id,
            )
        )
        (found,) = peer.spin_until(lambda: heard, 'the trajectory')
        assert (found.header.stamp.sec, found.header.stamp.nanosec) == stamp
        assert found.header.frame_id == frame_id
        assert found.joint_names == ['winch', 'finger']
        times = [(each.time_from_start.sec, each.time_from_start.nanosec) for each in found.points]
        assert times == [(0, 0), (0, 5), (3, 1), (3, 2)]
        expected = [
            {'positions': [-2.8, 2.0]},
            {'positions': [-4.8, 2.0], 'velocities': [-2.0, 0.0]},
            {'velocities': [0.0, 0.0], 'accelerations': [-4.0, -1.0]},
            {'positions': [-2.8, 1.0], 'effort': [-2.0, 1.0]},
        ]
        for each, fields in zip(found.points, expected, strict=True):
            for field in FIELDS:
                assert list(getattr(each, field)) == pytest.approx(
                    fields.get(field, []), rel=1e-14
                )


def test_refused_and_counted(peer, active_bridge, wire):
    """An invalid trajectory is dropped completely and counted by reason; the next is accepted."""
    node = active_bridge()
    send, heard = wire(node)
    nan = float('nan')
    send(trajectory((), point((1, 0), positions=[])))
    send(trajectory(('lift',)))
    send(trajectory(('lift',), point((1, 0), positions=[nan])))
    send(trajectory(('lift',), point((1, 0), positions=[1.0, 2.0])))
    send(trajectory(('lift',), *[point((1, 0), positions=[1.0])] * 2))
    send(trajectory(('ghost',), point((1, 0), positions=[1.0])))
    send(trajectory(('roll',), point((1, 0), positions=[1.0])))
    send(trajectory(('finger',), point((1, 0), positions=[1.0])))
    (found,) = peer.spin_until(lambda: heard, 'the last')
    assert found.joint_names == ['finger']
    statistics = node._session.inputs.statistics['joint_trajectory']
    assert (statistics.received, statistics.accepted) == (8, 1)
    assert statistics.rejected == {
        'no_names': 1,
        'no_points': 1,
        'not_finite': 1,
        'size': 1,
        'times': 1,
        'unknown_joint': 1,
        'partial': 1,
    }


def test_partner_holds_where_it_was_measured(peer, active_bridge, reference, wire):
    """A coupled joint outside the trajectory stays at the position of its encoder."""
    send, heard = wire(active_bridge())
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    state = reference.Message(('left', 'right'), position=(0.3, -0.7))
    peer.exchange(driver, state, joints)
    send(trajectory(('roll',), *(point((n, 0), positions=[0.1 * n]) for n in range(3))))
    (found,) = peer.spin_until(lambda: heard, 'the trajectory')
    numbers = reference.Numbers()
    pitch = reference.joint_value(numbers, 'position', 'pitch', {'left': 0.3, 'right': -0.7})
    for n, each in enumerate(found.points):
        wrist = {'roll': 0.1 * n, 'pitch': pitch.value}
        for name, value in zip(found.joint_names, each.positions, strict=True):
            assert reference.actuator_value(numbers, 'position', name, wrist).equals(value)


def test_start_in_the_future(peer, active_bridge, wire):
    """A stamp in the future puts off when its joints are where it ends; one gone by does not."""
    from rclpy.duration import Duration

    node = active_bridge()
    send, heard = wire(node)
    ledger, time = node._session.gate.ledger, node._session.time
    place = node._session.robot.joint_names.index('lift')
    for ahead, is_there in ((100, False), (0, True), (-100, True)):
        del heard[:]
        message = trajectory(('lift',), point((0, 0), positions=[0.25]))
        if ahead:
            message.header.stamp = (node.get_clock().now() + Duration(seconds=ahead)).to_msg()
        send(message)
        (found,) = peer.spin_until(lambda: heard, 'the trajectory')
        assert found.header.stamp == message.header.stamp
        assert (ledger.find_held_commands(time())[0, place] == 0.25) == is_there
        assert ledger.find_position_joints()[place]


def test_end_is_held(peer, active_bridge, reference, wire):
    """A later partial command finds its partner at the end of the trajectory."""
    node = active_bridge({'command_actuators': ['right', 'left']})
    send, heard = wire(node)
    send(
        trajectory(
            ('roll', 'pitch'),
            point((0, 0), positions=[0.0, 0.0]),
            point((0, 1000), positions=[0.5, 0.25]),
        )
    )
    peer.spin_until(lambda: heard, 'the trajectory')
    commands = peer.listen('actuator_commands')
    ours = node._session.outputs.publishers['actuator_commands']
    peer.spin_until(ours.get_subscription_count, 'our reader')
    peer.send(peer.publisher('joint_commands'), reference.Message(('roll',), position=(0.0,)))
    (command,) = peer.spin_until(lambda: commands, 'the command')
    for name, value in zip(command.names, command.position, strict=True):
        number = reference.actuator_value(
            reference.Numbers(), 'position', name, {'roll': 0.0, 'pitch': 0.25}
        )
        assert number.equals(value)


def test_arrays_know_the_end(peer, active_bridge, reference, wire):
    """An array takes no actuator back to before its trajectory, and none to its end early."""
    from std_msgs.msg import Float64MultiArray

    node = active_bridge({'command_actuators': ['winch', 'finger']})
    send, heard = wire(node)
    arrays = []
    peer.node.create_subscription(
        Float64MultiArray, 'actuator_position_commands', lambda m: arrays.append(list(m.data)), 100
    )
    ours = node._session.outputs.publishers['actuator_position_commands']
    peer.spin_until(ours.get_subscription_count, 'our reader')
    controller = peer.publisher('joint_commands')
    peer.send(controller, reference.Message(('lift', 'finger'), position=(1.3, 1.0)))
    peer.spin_until(lambda: arrays, 'the first array')
    commands = peer.listen('actuator_commands')
    ours = node._session.outputs.publishers['actuator_commands']
    peer.spin_until(ours.get_subscription_count, 'our reader of commands')
    for seconds, finger in ((1000, 1.5), (0, 2.0)):
        del heard[:], commands[:]
        send(trajectory(('lift',), point((seconds, 0), positions=[2.3])))
        peer.spin_until(lambda: heard, 'the trajectory')
        peer.send(controller, reference.Message(('finger',), position=(finger,)))
        peer.spin_until(lambda: commands, 'the command')
    peer.spin_until(lambda: len(arrays) == 2, 'the second array')
    assert arrays == [pytest.approx([-4.0, 1.0]), pytest.approx([-8.0, 2.0])]
