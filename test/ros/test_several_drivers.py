# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two drivers that use the same names, on every topic that drivers have, over real DDS."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

#: By its transmission each joint turns slower than its motor; the gripper has none.
RATIOS = {'left_hip': 10.0, 'left_knee': -20.0, 'right_hip': -10.0, 'right_knee': 20.0}
JOINTS = (*RATIOS, 'gripper')
MOTORS = {'hip': 'M1', 'knee': 'M2'}
SIDES = ('left', 'right')

ROBOT = (
    '<robot name="legs"><link name="base"/>'
    + ''.join(
        f'<link name="l_{joint}"/><joint name="{joint}" type="continuous">'
        f'<parent link="base"/><child link="l_{joint}"/></joint>'
        for joint in JOINTS
    )
    + '<ros2_control name="legs" type="system"><hardware><plugin>legs/None</plugin></hardware>'
    + ''.join(
        f'<joint name="{joint}"/><transmission name="{joint}_transmission">'
        '<plugin>transmission_interface/SimpleTransmission</plugin>'
        f'<actuator name="{joint}_motor" role="actuator1"/><joint name="{joint}" role="joint1">'
        f'<mechanical_reduction>{ratio}</mechanical_reduction></joint></transmission>'
        for joint, ratio in RATIOS.items()
    )
    + '</ros2_control></robot>'
)

NAMES = [
    f'{side}/actuator_states:{motor}={side}_{joint}_motor'
    for side in SIDES
    for joint, motor in MOTORS.items()
]
#: The namespaces of the drivers.
PLACES = ('left/', 'right/', '')

TOPICS = [*(f'{side}/actuator_states' for side in SIDES), 'actuator_states']


@pytest.fixture
def bridge_of(make_bridge, peer):
    """Return a function that makes an active bridge of the two drivers."""

    def make(parameters=None, **kwargs):
        node = make_bridge(
            {
                'robot_description': ROBOT,
                'actuator_state_topics': TOPICS,
                'actuator_names': NAMES,
                **(parameters or {}),
            },
            **kwargs,
        )
        peer.start(node.get_fully_qualified_name())
        return node

    return make


@pytest.fixture
def commands_of(peer):
    """Return a function: what each driver, and who has no namespace, hears of commands."""

    def listen(node):
        heard = {place: peer.listen(f'{place}actuator_commands') for place in PLACES}
        for place in heard:
            publisher = node._session.outputs.publishers[f'{place}actuator_commands']
            peer.spin_until(publisher.get_subscription_count, 'our reader')
        return heard

    return listen


@pytest.fixture
def warnings_of(peer):
    """Return a function: the words of each warning of a part of the bridge, as they come."""
    from diagnostic_msgs.msg import DiagnosticArray

    def listen(part):
        words = []
        peer.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            lambda message: words.extend(
                each.message
                for each in message.status
                if each.name == f'transmission_bridge: {part}' and each.level != b'\0'
            ),
            10,
        )
        return words

    return listen


def told(heard, stamp):
    """Return the messages with a stamp: names, positions, velocities by namespace."""
    return {
        place: [
            (each.names, each.position.tolist(), each.velocity.tolist())
            for each in records
            if each.stamp == stamp
        ]
        for place, records in heard.items()
    }


def test_every_kind_of_command_is_divided(peer, reference, bridge_of, commands_of):
    """A command to all reaches each driver in its part, one to a side only that side."""
    heard = commands_of(bridge_of())
    controller = peer.publisher('joint_commands')
    everybody = reference.Message(JOINTS, position=(1.0, 2.0, 3.0, 4.0, 5.0), stamp=(1, 0))
    one = reference.Message(('right_knee',), velocity=(0.5,), stamp=(2, 0))
    last = reference.Message(JOINTS, position=(0.0,) * 5, stamp=(3, 0))
    for message in (everybody, one, last):
        peer.send(controller, message)
    peer.spin_until(lambda: all(told(heard, (3, 0)).values()), 'the last command to all')
    assert told(heard, (1, 0)) == {
        'left/': [(('M1', 'M2'), [10.0, -40.0], [])],
        'right/': [(('M1', 'M2'), [-30.0, 80.0], [])],
        '': [(('gripper',), [5.0], [])],
    }
    assert told(heard, (2, 0)) == {'left/': [], 'right/': [(('M2',), [], [10.0])], '': []}


def test_one_message_of_several_modes(peer, reference, bridge_of, commands_of):
    """With NaN for no command, each driver gets the interfaces of its own motors only."""
    heard = commands_of(bridge_of({'mixed_commands': 'nan'}))
    nan = float('nan')
    message = reference.Message(
        ('left_hip', 'right_hip', 'right_knee'),
        position=(1.0, nan, 2.0),
        velocity=(nan, 3.0, nan),
    )
    controller = peer.publisher('joint_commands')
    (left,) = peer.exchange(controller, message, heard['left/'])
    assert (left.names, left.position.tolist(), left.velocity.tolist()) == (('M1',), [10.0], [])
    (right,) = peer.exchange(controller, message, heard['right/'])
    assert right.names == ('M1', 'M2')
    np.testing.assert_array_equal([right.position, right.velocity], [[nan, 40.0], [-30.0, nan]])


def test_timeout_ends_what_each_was_told(peer, reference, bridge_of, commands_of):
    """Each driver gets the zeros of its own motors after a timeout."""
    heard = commands_of(bridge_of({'command_timeout': 0.2}))
    controller = peer.publisher('joint_commands')
    message = reference.Message(('left_hip', 'right_knee', 'gripper'), velocity=(1.0, 1.0, 1.0))
    ends = {'left/': 'M1', 'right/': 'M2', '': 'gripper'}

    def ended():
        return all(
            records and records[-1].names == (ends[place],) and not any(records[-1].velocity)
            for place, records in heard.items()
        )

    peer.exchange(controller, message, heard['left/'])
    peer.spin_until(ended, 'the zeros of the timeout')


def test_stop_ends_what_each_was_told(peer, reference, bridge_of, commands_of):
    """On deactivation each driver with a velocity command gets zero, the others nothing."""
    heard = commands_of(bridge_of())
    controller = peer.publisher('joint_commands')
    message = reference.Message(('left_hip', 'left_knee'), velocity=(1.0, 2.0), stamp=(1, 0))
    peer.exchange(controller, message, heard['left/'])
    peer.exchange(
        controller, reference.Message(('gripper',), position=(1.0,), stamp=(2, 0)), heard['']
    )
    assert peer.change_state('deactivate')
    peer.spin_until(lambda: not any(heard['left/'][-1].velocity), 'the zeros')
    assert heard['left/'][-1].names == ('M1', 'M2')
    assert heard['right/'] == []
    assert {each.names for each in heard['']} == {('gripper',)}
    assert not any(len(each.velocity) for each in heard[''])


def test_states_with_the_same_names(peer, reference, bridge_of):
    """M1 of either driver is its own joint; a name that a driver has not is left out."""
    node = bridge_of()
    joints = peer.listen('joint_states')
    known = {}
    for number, topic in enumerate(TOPICS, start=1):
        names = ('M1', 'M2', 'gripper') if topic != 'actuator_states' else ('gripper',)
        values = tuple(100.0 * number + place for place in range(len(names)))
        message = reference.Message(names, values, stamp=(number, 0))
        (state,) = peer.exchange(peer.publisher(topic), message, joints)
        known = dict(zip(state.names, state.position, strict=True))
    assert known == pytest.approx(
        {
            'left_hip': 100.0 / 10,
            'left_knee': 101.0 / -20,
            'right_hip': 200.0 / -10,
            'right_knee': 201.0 / 20,
            'gripper': 300.0,
        }
    )
    assert set(node._session.states.merged.unknown_names) == {"'gripper'"}


def test_sensors_stand_beside_the_states(peer, reference, bridge_of):
    """Absolute encoders and torque sensors of a driver are on its topics, with its names."""
    bridge_of()
    for source, target, field, expected in (
        ('actuator_absolute_positions', 'joint_absolute_positions', 'position', 2.0 / 20),
        ('actuator_torque_sensors', 'joint_torque_sensors', 'effort', 2.0 * 20),
    ):
        joints = peer.listen(target)
        message = reference.Message(('M2',), **{field: (2.0,)})
        (state,) = peer.exchange(peer.publisher(f'right/{source}'), message, joints)
        assert state.names == ('right_knee',)
        assert getattr(state, field).tolist() == pytest.approx([expected])
        message = reference.Message(('left_hip_motor',), **{field: (3.0,)}, stamp=(2, 0))
        (state,) = peer.exchange(peer.publisher(source), message, joints)
        assert state.names == ('left_hip', 'right_knee')


def test_plain_arrays_of_each_driver(peer, reference, bridge_of):
    """The order of all actuators is divided: each driver has an array of its own motors."""
    from std_msgs.msg import Float64MultiArray

    order = ['right_knee_motor', 'left_hip_motor', 'right_hip_motor']
    node = bridge_of({'command_actuators': order})
    heard = {}
    for side in SIDES:
        topic = f'{side}/actuator_position_commands'
        heard[side] = []
        peer.node.create_subscription(
            Float64MultiArray, topic, lambda m, side=side: heard[side].append(list(m.data)), 10
        )
        publisher = node._session.outputs.publishers[topic]
        peer.spin_until(publisher.get_subscription_count, 'our reader')
    assert 'actuator_position_commands' not in node._session.outputs.publishers
    controller = peer.publisher('joint_commands')
    peer.send(controller, reference.Message(('left_hip',), position=(1.0,)))
    peer.spin_until(lambda: heard['left'], 'the array of the left')
    assert heard == {'left': [[10.0]], 'right': []}
    peer.send(controller, reference.Message(('right_hip', 'right_knee'), position=(1.0, 2.0)))
    peer.spin_until(lambda: heard['right'], 'the array of the right')
    assert heard == {'left': [[10.0]], 'right': [[40.0, -10.0]]}


def test_trajectory_of_each_driver(peer, bridge_of):
    """Each driver gets its columns of a trajectory with all times, who is not in it nothing."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    node = bridge_of()
    heard = {place: [] for place in PLACES}
    for place, records in heard.items():
        topic = f'{place}actuator_trajectory'
        peer.node.create_subscription(JointTrajectory, topic, records.append, 10)
        publisher = node._session.outputs.publishers[topic]
        peer.spin_until(publisher.get_subscription_count, 'our reader')
    sender = peer.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
    peer.spin_until(sender.get_subscription_count, 'the reader of trajectories')
    points = [
        JointTrajectoryPoint(
            time_from_start=Duration(sec=second), positions=[1.0 * second, 2.0, 3.0]
        )
        for second in (1, 2)
    ]
    sender.publish(
        JointTrajectory(joint_names=['left_knee', 'right_hip', 'left_hip'], points=points)
    )
    peer.spin_until(lambda: heard['left/'] and heard['right/'], 'both parts')
    (left,), (right,) = heard['left/'], heard['right/']
    assert left.joint_names == ['M1', 'M2']
    assert [list(point.positions) for point in left.points] == [[30.0, -20.0], [30.0, -40.0]]
    assert right.joint_names == ['M1']
    assert [list(point.positions) for point in right.points] == [[-20.0], [-20.0]]
    assert [point.time_from_start.sec for point in right.points] == [1, 2]
    assert heard[''] == []


def test_a_mechanism_with_motors_of_two_drivers(peer, reference, active_bridge):
    """Both motors of a differential may be called M, each by its own driver."""
    node = active_bridge(
        {
            'actuator_state_topics': ['one/states', 'two/states'],
            'actuator_names': ['one/states:M=left', 'two/states:M=right'],
        }
    )
    wanted = {'roll': 0.5, 'pitch': -0.25}
    command = reference.Message(tuple(wanted), position=tuple(wanted.values()))
    controller, joints = peer.publisher('joint_commands'), peer.listen('joint_states')
    sent = {}
    for driver, motor in (('one', 'left'), ('two', 'right')):
        heard = peer.listen(f'{driver}/actuator_commands')
        (sent[driver],) = peer.exchange(controller, command, heard)
        assert sent[driver].names == ('M',)
        (value,) = sent[driver].position
        number = reference.actuator_value(reference.Numbers(), 'position', motor, wanted)
        assert number.equals(value)
    first, second = (peer.publisher(f'{driver}/states') for driver in sent)
    statistics = node._session.inputs.statistics['one/states']

    def heard_of():
        peer.send(first, sent['one'])
        return statistics.accepted

    peer.spin_until(heard_of, 'a state of the one')
    (state,) = peer.exchange(second, sent['two'], joints)
    assert dict(zip(state.names, state.position, strict=True)) == pytest.approx(wanted)


def test_diagnostics_of_each_topic(bridge_of, peer):
    """Every topic of every driver has its status."""
    from diagnostic_msgs.msg import DiagnosticArray

    bridge_of()
    names = set()
    peer.node.create_subscription(
        DiagnosticArray,
        '/diagnostics',
        lambda message: names.update(each.name.partition(': ')[2] for each in message.status),
        10,
    )
    wanted = {
        f'{place}{topic}'
        for place in PLACES
        for topic in (
            'actuator_states',
            'actuator_absolute_positions',
            'actuator_torque_sensors',
            'actuator_commands',
            'actuator_trajectory',
        )
    }
    peer.spin_until(lambda: wanted <= names, 'every status')


def test_topics_in_the_namespace_of_the_bridge(peer, reference, bridge_of):
    """The drivers' namespaces are inside of the bridge's, as all relative names are."""
    bridge_of(namespace='/cell')
    heard, controller = (
        peer.listen('/cell/right/actuator_commands'),
        peer.publisher('/cell/joint_commands'),
    )
    message = reference.Message(('right_hip',), position=(1.0,))
    assert peer.exchange(controller, message, heard)[0].names == ('M1',)


def test_nobody_else_is_there_without_need(bridge_of):
    """If each motor has its driver, no other topic exists; without a driver, no namespace."""
    node = bridge_of({'pass_through': False, 'actuator_state_topics': TOPICS[:2]})
    assert 'actuator_commands' not in node._session.outputs.publishers
    assert 'actuator_trajectory' not in node._session.outputs.publishers


def test_a_driver_that_does_not_listen(peer, reference, bridge_of, warnings_of):
    """Diagnostics name the driver that was commanded and does not listen, and no other."""
    bridge_of()
    peer.listen('left/actuator_commands')
    controller = peer.publisher('joint_commands')
    both = reference.Message(tuple(RATIOS), position=(1.0,) * 4)
    said = warnings_of('commands of joint_commands')

    def named():
        peer.send(controller, both)
        return said

    peer.spin_until(named, 'a warning')
    assert said[0].startswith('/right/actuator_commands has 0 subscribers: ')


def test_a_motor_that_its_driver_names_otherwise(peer, reference, bridge_of, warnings_of):
    """Names of a driver without an entry are listed with the missing motors."""
    bridge_of({'actuator_names': NAMES[:3], 'actuator_state_topics': TOPICS[:2]})
    senders = [peer.publisher(topic) for topic in TOPICS[:2]]
    message = reference.Message(('M1', 'M2'), position=(1.0, 2.0))
    said = warnings_of('actuators')

    def named():
        for sender in senders:
            peer.send(sender, message)
        return said

    peer.spin_until(named, 'a warning', seconds=10.0)
    assert 'no state of right_knee_motor yet' in said[0]
    assert "uses other names (unknown: 'M2'), see actuator_names" in said[0]


def test_somebody_else_commands_a_driver(peer, bridge_of, warnings_of):
    """A second publisher of one driver's commands is named."""
    from sensor_msgs.msg import JointState

    bridge_of()
    said = warnings_of('right/actuator_commands')
    peer.node.create_publisher(JointState, 'right/actuator_commands', 10)
    peer.spin_until(lambda: said, 'a warning')
    assert "has other publishers: '/peer'" in said[0]


@pytest.mark.parametrize(
    ('parameters', 'rules', 'words'),
    [
        (
            {'actuator_state_topics': ['left/actuator_states']},
            [],
            ('topic of actuator_state_topics (left/actuator_states)', 'right/actuator_states:M1'),
        ),
        (
            {
                'actuator_state_topics': ['left_states', 'right_states'],
                'actuator_names': [
                    'left_states:M1=left_hip_motor',
                    'right_states:M1=right_hip_motor',
                ],
            },
            [],
            ('left_hip_motor and right_hip_motor would both be M1 on actuator_commands',),
        ),
        (
            {'actuator_names': [*NAMES, 'right/actuator_states:M3=left_hip_motor']},
            [],
            ('left_hip_motor would have two drivers',),
        ),
        (
            {},
            ['left/actuator_commands:=/bus', 'right/actuator_commands:=/bus'],
            ("'left/actuator_commands' and 'right/actuator_commands' would both be /bus",),
        ),
        (
            {},
            ['left/actuator_states:=/states', 'right/actuator_states:=/states'],
            ("'left/actuator_states' and 'right/actuator_states' would both be /states",),
        ),
    ],
)
def test_drivers_that_would_be_confused(peer, make_bridge, capfd, parameters, rules, words):
    """Names that would mix the commands of two drivers fail the configuration, with the reason."""
    node = make_bridge(
        {
            'robot_description': ROBOT,
            'actuator_state_topics': TOPICS,
            'actuator_names': NAMES,
            **parameters,
        },
        cli_args=['--ros-args', *(part for rule in rules for part in ('-r', rule))],
    )
    assert not peer.change_state('configure')
    said = capfd.readouterr().err
    assert all(each in said for each in words), said
    assert node._session is None
    assert list(node._managed_entities) == []
