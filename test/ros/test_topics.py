# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Contents, compatible peers and names of the messages."""

from __future__ import annotations

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

NAN = math.nan


# -- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize('unknown_joints', ['omit', 'nan'])
def test_shape_of_states(peer, reference, active_bridge, unknown_joints):
    """Unknown joints are omitted or NaN, and an interface wholly unknown is an empty array."""
    active_bridge({'unknown_joints': unknown_joints})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    model = reference.ReferenceStates(reference.Numbers(), unknown_joints)
    for number, message in enumerate(
        (
            reference.Message(('winch', 'left'), position=(1.0, 2.0)),
            reference.Message(('right',), position=(3.0,), velocity=(4.0,)),
            reference.Message(('left', 'crank'), velocity=(5.0, NAN), effort=(1.0, 2.0)),
            reference.Message(('winch', 'finger'), position=(NAN, 0.0)),
            reference.Message(reference.ACTUATORS, (1.0,) * 6, (2.0,) * 6, (3.0,) * 6),
        )
    ):
        stamped = reference.Message(message.names, *message.arrays.values(), (10 + number, 0))
        model.update('one', stamped)
        (found,) = peer.exchange(driver, stamped, joints)
        model.joint_state().check(found)
        assert found.frame_id == ''


def test_stamps(peer, reference, active_bridge):
    """The stamp comes from the latest input used; a zero stamp becomes the present time."""
    active_bridge({'actuator_state_topics': ['one', 'two']})
    joints = peer.listen('joint_states')
    first, second = peer.publisher('one'), peer.publisher('two')
    peer.exchange(first, reference.Message(('winch',), (1.0,), stamp=(50, 0)), joints)
    del joints[:]
    peer.send(second, reference.Message(('left', 'right'), (1.0, 2.0), stamp=(40, 0)))
    peer.spin_until(lambda: any('roll' in each.names for each in joints), 'the roll joint')
    assert joints[-1].stamp == (50, 0)
    before = peer.node.get_clock().now().nanoseconds
    del joints[:]
    peer.send(second, reference.Message(('left', 'right'), (3.0, 4.0), stamp=(0, 0)))
    peer.spin_until(lambda: joints, 'a state')
    after = peer.node.get_clock().now().nanoseconds
    assert before <= joints[0].stamp[0] * 10**9 + joints[0].stamp[1] <= after


@pytest.mark.parametrize('mixed_commands', ['split', 'nan'])
def test_shape_of_commands(peer, reference, active_bridge, mixed_commands):
    """Interfaces not commanded are empty, mixed modes are split or filled up with NaN."""
    active_bridge({'mixed_commands': mixed_commands})
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    model = reference.ReferenceCommands(reference.Numbers(), mixed_commands=mixed_commands)
    unknown = dict.fromkeys(reference.JOINTS)
    for number, message in enumerate(
        (
            reference.Message(('lift',), position=(0.5,)),
            reference.Message(('roll', 'pitch'), velocity=(0.5, -0.5)),
            reference.Message(('finger', 'lift'), position=(1.0, NAN), effort=(NAN, 2.0)),
            reference.Message(('lift', 'finger'), (1.0, NAN), (2.0, 3.0), (NAN, 4.0)),
            reference.Message(('lift', 'finger'), (1.0, 1.5), (2.0, 3.0), (3.0, 4.0)),
        )
    ):
        stamped = reference.Message(message.names, *message.arrays.values(), (20 + number, 5))
        expected = model.command(stamped, unknown)
        found = peer.exchange(controller, stamped, actuators, answers=len(expected))
        for one, other in zip(expected, found, strict=True):
            one.check(other)


def test_refused_messages(peer, reference, active_bridge, capfd):
    """Refused messages are counted and logged by topic and reason, and change nothing."""
    node = active_bridge()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    peer.exchange(driver, reference.Message(('finger',), position=(1.0,)), joints)
    peer.exchange(controller, reference.Message(('finger',), position=(1.0,)), actuators)
    del joints[:], actuators[:]
    states = node._session.inputs.statistics['actuator_states']
    commands = node._session.inputs.statistics['joint_commands']
    before = states.received, commands.received
    capfd.readouterr()
    for _ in range(3):
        peer.send(driver, reference.Message(('finger', 'winch'), position=(9.0,)))
        peer.send(driver, reference.Message(('finger', 'finger'), position=(9.0, 9.0)))
        peer.send(controller, reference.Message(('nobody',), position=(9.0,)))
        peer.send(controller, reference.Message(('finger',), position=(math.inf,)))
        peer.send(controller, reference.Message(('roll',), position=(1.0,)))
    peer.spin_until(
        lambda: (states.received, commands.received) == (before[0] + 6, before[1] + 9),
        'arrival of all',
    )
    assert states.rejected == {'ragged': 3, 'duplicate_name': 3}
    assert commands.rejected == {'unknown_joint': 3, 'infinite': 3, 'partial': 3}
    lines = [line for line in capfd.readouterr().err.splitlines() if 'dropped' in line]
    assert len(lines) == 5
    assert sum('actuator_states' in line for line in lines) == 2
    assert any('nobody' in line for line in lines)
    (state,) = peer.exchange(driver, reference.Message(('crank',), (0.0,), stamp=(2, 0)), joints)
    assert list(state.position) == [1.0]
    assert actuators == []


def reliable(*topics):
    """Return the parameters with which nothing sent to these topics is lost."""
    return {f'qos_overrides./{each}.subscription.reliability': 'reliable' for each in topics}


@pytest.mark.parametrize(
    ('source', 'target'),
    [
        ('actuator_states', 'joint_states'),
        ('actuator_absolute_positions', 'joint_absolute_positions'),
        ('actuator_torque_sensors', 'joint_torque_sensors'),
    ],
)
def test_messages_of_others(peer, reference, active_bridge, capfd, source, target):
    """For a message that names no actuator of the robot nothing is published; it is counted."""
    node = active_bridge(reliable(source))
    driver, joints = peer.publisher(source), peer.listen(target)
    own = [reference.Message(('winch',), (1.0,), (1.0,), (1.0,), (n, 0)) for n in range(1, 4)]
    peer.exchange(driver, own[0], joints)
    capfd.readouterr()
    peer.send(driver, own[1])
    peer.send(driver, reference.Message(('gripper',), (9.0,), (9.0,), (9.0,), (9, 0)))
    peer.send(driver, reference.Message((), stamp=(9, 0)))
    peer.send(driver, own[2])
    peer.spin_until(lambda: joints[-1].stamp == own[2].stamp, 'the last state')
    stamps = [each.stamp for each in joints if each.stamp != own[0].stamp]
    assert stamps == [own[1].stamp, own[2].stamp]
    assert node._session.inputs.statistics[source].rejected == {'foreign': 2}
    assert 'dropped' not in capfd.readouterr().err


def test_a_driver_with_other_names(peer, reference, active_bridge, capfd):
    """A driver with only unknown names is reported with the expected names."""
    node = active_bridge(reliable('actuator_states'))
    driver, counts = peer.publisher('actuator_states'), node._session.inputs.statistics
    peer.send(driver, reference.Message(('motor_a', 'motor_b'), (1.0, 2.0), stamp=(1, 0)))
    peer.spin_until(lambda: counts['actuator_states'].received == 1, 'the message')
    error = capfd.readouterr().err
    assert 'expected some of' in error
    assert 'winch' in error
    assert 'actuator_names' in error
    assert "found 'motor_a', 'motor_b'" in error


def test_messages_of_others_are_no_turn(peer, reference, active_bridge):
    """With ``on_all``, a driver that named no actuator of the robot has still to be heard."""
    topics = ('one', 'two')
    node = active_bridge(
        {'publish': 'on_all', 'actuator_state_topics': topics, **reliable(*topics)}
    )
    first, second = (peer.publisher(topic) for topic in topics)
    joints, counts = peer.listen('joint_states'), node._session.inputs.statistics
    states = node._session.outputs.publishers['joint_states']
    peer.spin_until(lambda: states.get_subscription_count() == 1, 'the listener')
    peer.send(first, reference.Message(('winch',), (1.0,), stamp=(1, 0)))
    peer.spin_until(lambda: counts['one'].accepted == 1, 'the first message')
    peer.send(second, reference.Message(('gripper',), (9.0,), stamp=(9, 0)))
    peer.spin_until(lambda: counts['two'].received == 1, 'the message of others')
    peer.send(first, reference.Message(('winch',), (2.0,), stamp=(2, 0)))
    peer.spin_until(lambda: counts['one'].accepted == 2, 'the second message')
    peer.send(second, reference.Message(('finger',), (3.0,), stamp=(3, 0)))
    peer.spin_until(lambda: joints, 'the states')
    assert counts['two'].rejected == {'foreign': 1}
    assert [each.stamp for each in joints] == [(3, 0)]


def test_ten_thousand_names(peer, reference, active_bridge):
    """A message of ten thousand names is read like any other, and one of none does no harm."""
    active_bridge()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    names = (*(f'stranger_{number}' for number in range(9_999)), 'finger')
    message = reference.Message(names, position=tuple(float(each) for each in range(10_000)))
    (state,) = peer.exchange(driver, message, joints)
    assert (state.names, list(state.position)) == (('finger',), [9_999.0])
    peer.send(driver, reference.Message(()))
    (state,) = peer.exchange(
        driver, reference.Message(('finger',), position=(3.0,), stamp=(2, 0)), joints
    )
    assert list(state.position) == [3.0]


# -- drivers and quality of service --------------------------------------------------------------


def test_several_drivers(peer, harness, reference, active_bridge):
    """A reliable and a best-effort driver each give a part; a coupled joint may need both."""
    active_bridge({'actuator_state_topics': ['/left/states', 'right/states']})
    joints = peer.listen('joint_states')
    reliable = peer.publisher('/left/states', harness.RELIABLE)
    best_effort = peer.publisher('right/states', harness.BEST_EFFORT)
    (state,) = peer.exchange(reliable, reference.Message(('left', 'winch'), (1.0, 2.0)), joints)
    assert state.names == ('dial', 'lift')
    (state,) = peer.exchange(
        best_effort, reference.Message(('right',), (3.0,), stamp=(2, 0)), joints
    )
    assert state.names == ('dial', 'roll', 'lift', 'pitch')


def test_command_publishers(peer, harness, active_bridge):
    """A best-effort publisher of commands is not connected, a reliable one is."""
    active_bridge()
    best_effort = peer.node.create_publisher(
        harness.JointState, 'joint_commands', harness.BEST_EFFORT
    )
    peer.publisher('joint_commands', harness.RELIABLE)
    assert best_effort.get_subscription_count() == 0


@pytest.mark.versions
@pytest.mark.parametrize('topic', ['joint_states', 'actuator_commands'])
def test_outputs_reach_every_reader(peer, harness, active_bridge, topic):
    """Reliable and best-effort readers are both connected to the outputs."""
    node = active_bridge()
    for qos in (harness.BEST_EFFORT, harness.RELIABLE):
        peer.listen(topic, qos)
    (publisher,) = [each for each in node.publishers if each.topic_name == f'/{topic}']
    peer.spin_until(lambda: publisher.get_subscription_count() == 2, 'two readers')


@pytest.mark.versions
def test_quality_of_service_overrides(peer, make_bridge, reference):
    """Depth and reliability of every data topic can be overridden by parameters."""
    make_bridge(
        {
            'robot_description': reference.URDF,
            'qos_overrides./actuator_states.subscription.reliability': 'reliable',
            'qos_overrides./joint_states.publisher.depth': 3,
            'qos_overrides./joint_commands.subscription.depth': 4,
            'qos_overrides./actuator_commands.publisher.reliability': 'best_effort',
            'qos_overrides./robot_description.subscription.depth': 2,
        }
    )
    peer.start()
    names = peer.parameter_names('qos_overrides.')
    for topic in (
        'actuator_states.subscription',
        'joint_states.publisher',
        'joint_commands.subscription',
        'actuator_commands.publisher',
        'robot_description.subscription',
    ):
        for policy in ('depth', 'history', 'reliability'):
            assert f'qos_overrides./{topic}.{policy}' in names
    (info,) = peer.node.get_subscriptions_info_by_topic('actuator_states')
    assert info.qos_profile.reliability.name == 'RELIABLE'
    (info,) = peer.node.get_publishers_info_by_topic('actuator_commands')
    assert info.qos_profile.reliability.name == 'BEST_EFFORT'
    # Each override reaches the topic that it names and no other.
    (info,) = peer.node.get_publishers_info_by_topic('joint_states')
    assert info.qos_profile.reliability.name == 'RELIABLE'
    assert peer.parameters(['qos_overrides./actuator_commands.publisher.depth']) == {
        'qos_overrides./actuator_commands.publisher.depth': 10
    }


@pytest.mark.parametrize(
    ('override', 'value', 'said'),
    [
        ('joint_states.publisher.reliability', 'perhaps', 'perhaps'),
        ('joint_states.publisher.depth', 'many', 'INTEGER'),
        ('joint_commands.subscription.depth', -3, 'depth'),
    ],
)
def test_overrides_that_cannot_be_are_a_mistake(
    peer, make_bridge, reference, capfd, override, value, said
):
    """Configuring fails with a sentence that names the topic, and leaves nothing behind."""
    parameters = {'robot_description': reference.URDF, f'qos_overrides./{override}': value}
    node = make_bridge(parameters)
    assert not peer.change_state('configure')
    output = []

    def logged():
        output.append(capfd.readouterr().err)
        return 'configure failed' in ''.join(output)

    peer.spin_until(logged, 'the failure')
    text = ''.join(output)
    assert f"topic '/{override.partition('.')[0]}' cannot be created" in text
    assert said in text
    assert 'Traceback' not in text
    assert [each.topic_name for each in node.subscriptions] == ['/robot_description']


# -- names ---------------------------------------------------------------------------------------


def test_two_robots(peer, reference, active_bridge):
    """Two bridges in two namespaces share nothing: neither topics, nor parameters."""
    robots = ('robot_1', 'robot_2')
    for number, robot in enumerate(robots):
        active_bridge(
            {'transmissions.hoist.joints.lift.mechanical_reduction': 2.0 + number}, namespace=robot
        )
    heard = {robot: peer.listen(f'{robot}/joint_states') for robot in robots}
    for number, robot in enumerate(robots):
        driver = peer.publisher(f'{robot}/actuator_states')
        message = reference.Message(('winch',), position=(6.0,), stamp=(3 + number, 0))
        (state,) = peer.exchange(driver, message, heard[robot])
        assert state.position[state.names.index('lift')] == 6.0 / (2.0 + number) + 0.3
    assert {each.stamp for each in heard['robot_1']} == {(3, 0)}
    name = 'transmissions.hoist.joints.lift.offset'
    assert peer.set_parameters({name: 1.0}, '/robot_1/transmission_bridge').successful
    assert peer.parameters([name], '/robot_2/transmission_bridge') == {name: 0.3}
    # Nothing of ours lies outside the namespaces.
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    assert not topics & {'/joint_states', '/actuator_states', '/joint_commands'}


def test_remapping(peer, reference, make_bridge):
    """Topics can be remapped as usual."""
    make_bridge(
        {'robot_description': reference.URDF},
        cli_args=[
            '--ros-args',
            '-r',
            'actuator_states:=/hardware/motors',
            '-r',
            'joint_states:=arm/joints',
            '-r',
            'joint_commands:=wanted',
            '-r',
            'actuator_commands:=/hardware/targets',
            '-r',
            '__node:=arm_bridge',
        ],
    )
    peer.start('arm_bridge')
    driver, joints = peer.publisher('/hardware/motors'), peer.listen('arm/joints')
    controller, actuators = peer.publisher('wanted'), peer.listen('/hardware/targets')
    message = reference.Message(('finger',), position=(2.0,))
    assert list(peer.exchange(driver, message, joints)[0].position) == [2.0]
    assert list(peer.exchange(controller, message, actuators)[0].position) == [2.0]


def test_names_of_a_driver(peer, reference, active_bridge):
    """A driver may use names of its own; what it calls by a URDF name may be another one."""
    active_bridge({'actuator_names': ['axis_0=winch', 'left=right', 'right=left']})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(('axis_0', 'left', 'winch'), (2.0, 3.0, 7.0))
    (state,) = peer.exchange(driver, message, joints)
    assert state.names == ('dial', 'lift')
    assert list(state.position) == [2.0 / 10 - 0.05, 2.0 / -4 + 0.3]
    (state,) = peer.exchange(driver, reference.Message(('right',), (4.0,), stamp=(2, 0)), joints)
    roll = state.position[state.names.index('roll')]
    assert roll == pytest.approx((4.0 / 2.0 + 3.0 / -3.0) / (2 * 1.5) + 0.1, rel=1e-15)


@pytest.mark.parametrize('pass_through', [True, False])
def test_pass_through(peer, reference, active_bridge, pass_through):
    """A joint without a transmission passes both ways, or is not there."""
    active_bridge({'pass_through': pass_through})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    message = reference.Message(('finger', 'winch'), (2.0, 0.0), stamp=(3, 0))
    (state,) = peer.exchange(driver, message, joints)
    assert ('finger' in state.names) == pass_through
    command = reference.Message(('finger',), velocity=(4.0,))
    if pass_through:
        (sent,) = peer.exchange(controller, command, actuators)
        assert (sent.names, list(sent.velocity)) == (('finger',), [4.0])
    else:
        peer.send(controller, command)
        last = reference.Message(('lift',), velocity=(4.0,), stamp=(5, 0))
        peer.exchange(controller, last, actuators)
        assert {each.names for each in actuators} == {('winch',)}
