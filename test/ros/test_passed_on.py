# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the bridge room rules reaches the node: one path each, over real DDS."""

from dataclasses import replace
import math

import pytest


@pytest.fixture
def hear(peer):
    """Return a function: what a node publishes on a topic from now on."""

    def listen(node, message_type, topic):
        heard = []
        peer.node.create_subscription(message_type, topic, heard.append, 100)
        publisher = node._session.outputs.publishers[topic]
        peer.spin_until(publisher.get_subscription_count, f'our reader of {topic}')
        return heard

    return listen


def reliable(*topics):
    """Return the parameters with which nothing sent to these topics is lost."""
    return {f'qos_overrides./{each}.subscription.reliability': 'reliable' for each in topics}


def check(reference, field, names, values, joints):
    """Compare numbers of actuators with the formulas for the numbers of joints."""
    assert len(names) == len(values) > 0
    for name, value in zip(names, values, strict=True):
        number = reference.actuator_value(reference.Numbers(), field, name, joints)
        assert number.equals(value), (name, value)


# -- trajectories and arrays ---------------------------------------------------------------------


def test_arrays(active_bridge, reference, hear, peer):
    """Arrays are in the orders of the parameters, whatever the layout says; else dropped whole."""
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension

    joints = {'pitch': 0.25, 'lift': -1.5, 'roll': 0.75}
    order = ['right', 'winch', 'left']
    node = active_bridge({'command_joints': list(joints), 'command_actuators': order})
    commands = peer.listen('actuator_commands')
    message = Float64MultiArray(data=list(joints.values()))
    message.layout.dim = [MultiArrayDimension(label='nonsense', size=99, stride=7)]
    message.layout.data_offset = 1
    for field in reference.FIELDS:
        send = peer.publisher(f'{field}_commands', kind=Float64MultiArray).publish
        arrays = hear(node, Float64MultiArray, f'actuator_{field}_commands')
        del commands[:]
        for data in ((), (1.0,) * 4, (math.inf, 1.0, 1.0)):
            send(Float64MultiArray(data=data))
        send(message)
        peer.spin_until(lambda arrays=arrays: arrays and commands, 'a command')
        (command,), (array,) = commands, arrays
        assert command.names == ('winch', 'left', 'right')
        check(reference, field, command.names, getattr(command, field), joints)
        check(reference, field, order, array.data, joints)
        others = [each for each in reference.FIELDS if each != field]
        assert [len(getattr(command, each)) for each in others] == [0, 0]
        rejected = node._session.inputs.statistics[f'{field}_commands'].rejected
        assert rejected == {'size': 2, 'not_finite': 1}
    one = active_bridge({'command_joints': ['lift']}, namespace='one_order')
    assert 'position_commands' in one._session.inputs.statistics
    assert 'actuator_position_commands' not in one._session.outputs.publishers


# -- drivers -------------------------------------------------------------------------------------


def test_drivers_that_use_the_same_names(active_bridge, reference, hear, peer):
    """Each driver is told of its own motors, by its names, on each kind of topic, and is heard."""
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    motors = {'one/': {'M': 'left'}, 'two/': {'N': 'winch', 'M': 'right'}}
    topics = [f'{place}actuator_states' for place in motors]
    names = [
        f'{place}actuator_states:{name}={motor}'
        for place, own in motors.items()
        for name, motor in own.items()
    ]
    options = {'actuator_state_topics': topics, 'actuator_names': names}
    node = active_bridge({**options, 'command_actuators': ['right', 'left']})
    joints = {'roll': 0.5, 'pitch': -0.25, 'lift': 1.0}
    kinds = {
        'actuator_position_commands': Float64MultiArray,
        'actuator_trajectory': JointTrajectory,
    }
    heard = {
        place: [hear(node, kind, f'{place}{topic}') for topic, kind in kinds.items()]
        for place in motors
    }
    controller = peer.publisher('joint_commands')
    message = reference.Message(tuple(joints), position=tuple(joints.values()))
    for place, names in motors.items():
        (sent,) = peer.exchange(controller, message, peer.listen(f'{place}actuator_commands'))
        assert sent.names == tuple(names)
        check(reference, 'position', names.values(), sent.position, joints)
    point = JointTrajectoryPoint(positions=[0.5, -0.25])
    point.time_from_start.sec = 1
    plan = JointTrajectory(joint_names=['roll', 'pitch'], points=[point])
    peer.publisher('joint_trajectory', kind=JointTrajectory).publish(plan)
    for place, names in motors.items():
        arrays, trajectories = heard[place]
        peer.spin_until(lambda a=arrays, t=trajectories: a and t, 'array and trajectory')
        check(reference, 'position', [names['M']], arrays[0].data, joints)
        (found,) = trajectories
        assert found.joint_names == ['M']
        check(reference, 'position', [names['M']], found.points[0].positions, joints)
    for source, target, field, lift in (
        ('actuator_states', 'joint_states', 'position', 2.0 / -4.0 + 0.3),
        ('actuator_absolute_positions', 'joint_absolute_positions', 'position', 2.0 / -4.0 + 0.3),
        ('actuator_torque_sensors', 'joint_torque_sensors', 'effort', 2.0 * -4.0),
    ):
        reading = reference.Message(('N',), **{field: (2.0,)})
        (found,) = peer.exchange(peer.publisher(f'two/{source}'), reading, peer.listen(target))
        assert getattr(found, field)[found.names.index('lift')] == pytest.approx(lift)


# -- stamps --------------------------------------------------------------------------------------

#: Of 2038, before 1970, and of seconds with too many nanoseconds.
ODD = {
    'future_stamp': [(2_145_916_800, 0), (2**31 - 1, 999_999_999)],
    'bad_stamp': [(-5, 0), (5, 1_000_000_000), (0, 2**32 - 1)],
}
WAYS = {'actuator_torque_sensors': 'joint_torque_sensors', 'joint_commands': 'actuator_commands'}


@pytest.mark.parametrize('source', WAYS)
def test_odd_stamps(active_bridge, reference, peer, diagnostics, log, source):
    """Their messages are used, with the time of receipt; they are counted, and warned of once."""
    active_bridge({**reliable(source), 'state_timeout': 0.0})
    sender, heard = peer.publisher(source), peer.listen(WAYS[source])
    name, arrays = ('lift', 1) if source == 'joint_commands' else ('winch', 3)
    message = reference.Message((name,), *[(1.0,)] * arrays)
    peer.exchange(sender, message, heard)
    for stamp in (each for stamps in ODD.values() for each in stamps):
        del heard[:]
        before = peer.node.get_clock().now().nanoseconds
        peer.send(sender, replace(message, stamp=stamp))
        peer.spin_until(lambda: heard, 'an answer')
        after = peer.node.get_clock().now().nanoseconds
        assert all(before <= each.stamp[0] * 10**9 + each.stamp[1] <= after for each in heard)
    diagnostics.said(source, 'stamps replaced now', level=b'\x01')
    values = diagnostics.values(source)
    assert values['rejected'] == '0'
    for reason, stamps in ODD.items():
        assert values[f'replaced stamps {reason}'] == str(len(stamps))
    assert log('header.stamp', source) == len(ODD)
    assert log('header.stamp', 'use_sim_time') > 0


# -- quality of service --------------------------------------------------------------


@pytest.mark.versions
def test_quality_of_service(peer, harness, reference, active_bridge):
    """Reliable and best-effort peers are both connected; a joint may need a part of each."""
    node = active_bridge({'actuator_state_topics': ['/left/states', 'right/states']})
    joints = peer.listen('joint_states')
    for number, (topic, qos, motors, known) in enumerate((
        ('/left/states', harness.RELIABLE, ('left', 'winch'), ('dial', 'lift')),
        ('right/states', harness.BEST_EFFORT, ('right',), ('dial', 'roll', 'lift', 'pitch')),
    )):  # fmt: skip
        message = reference.Message(motors, (1.0,) * len(motors), stamp=(1 + number, 0))
        (state,) = peer.exchange(peer.publisher(topic, qos), message, joints)
        assert state.names == known
    for topic in ('joint_states', 'actuator_commands'):
        for qos in (harness.BEST_EFFORT, harness.RELIABLE):
            peer.listen(topic, qos)
        (publisher,) = [each for each in node.publishers if each.topic_name == f'/{topic}']
        peer.spin_until(lambda each=publisher: each.get_subscription_count() >= 2, 'two readers')


@pytest.mark.versions
def test_quality_of_service_overrides(peer, active_bridge):
    """Each override reaches the topic and the policy that it names, and no other."""
    active_bridge({
        'qos_overrides./actuator_states.subscription.reliability': 'reliable',
        'qos_overrides./joint_states.publisher.depth': 3,
        'qos_overrides./actuator_commands.publisher.reliability': 'best_effort',
        'qos_overrides./robot_description.subscription.depth': 2,
    })  # fmt: skip
    publishers = peer.node.get_publishers_info_by_topic
    for find_endpoints, topic, reliability in (
        (peer.node.get_subscriptions_info_by_topic, 'actuator_states', 'RELIABLE'),
        (publishers, 'actuator_commands', 'BEST_EFFORT'),
        (publishers, 'joint_states', 'RELIABLE'),
    ):
        # Endpoints of an earlier test may still be known.
        (only,) = peer.spin_until(
            lambda f=find_endpoints, t=topic: len(found := f(t)) == 1 and found, f'one of {topic}'
        )
        assert only.qos_profile.reliability.name == reliability
    depth = 'qos_overrides./actuator_commands.publisher.depth'
    assert peer.parameters([depth]) == {depth: 10}
