# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the bridge room rules reaches the node: one path each, over real DDS."""

from __future__ import annotations

from dataclasses import replace
import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


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


@pytest.fixture
def speak(peer):
    """Return a function: what publishes on a topic that has a reader."""

    def publish_on(message_type, topic):
        publisher = peer.node.create_publisher(message_type, topic, 10)
        peer.spin_until(publisher.get_subscription_count, f'a reader of {topic}')
        return publisher.publish

    return publish_on


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


def trajectory(names, *points, stamp=(0, 0), frame_id=''):
    """Return a trajectory of waypoints, each a time and its fields."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=list(names))
    message.header.frame_id = frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    for (sec, nanosec), fields in points:
        point = JointTrajectoryPoint(**fields)
        point.time_from_start.sec, point.time_from_start.nanosec = sec, nanosec
        message.points.append(point)
    return message


def test_trajectories(active_bridge, hear, speak, peer):
    """Waypoints are mapped, omitted rates stay omitted; an invalid one is counted by reason."""
    from trajectory_msgs.msg import JointTrajectory

    node = active_bridge()
    heard = hear(node, JointTrajectory, 'actuator_trajectory')
    send = speak(JointTrajectory, 'joint_trajectory')
    one = ((1, 0), {'positions': [1.0]})
    send(trajectory((), ((1, 0), {})))
    send(trajectory(('lift',)))
    send(trajectory(('lift',), ((1, 0), {'positions': [math.nan]})))
    send(trajectory(('lift',), ((1, 0), {'positions': [1.0, 2.0]})))
    send(trajectory(('lift',), one, one))
    send(trajectory(('ghost',), one))
    send(trajectory(('roll',), one))
    send(trajectory(('lift',), one, stamp=(-5, 0)))
    send(
        trajectory(
            ('lift', 'finger'),
            ((0, 0), {'positions': [1.0, 2.0]}),
            ((0, 5), {'positions': [1.5, 2.0], 'velocities': [0.5, 0.0]}),
            ((3, 1), {'velocities': [0.0, 0.0], 'accelerations': [1.0, -1.0]}),
            ((3, 2), {'positions': [1.0, 1.0], 'effort': [8.0, 1.0]}),
            stamp=(12, 34),
            frame_id='base',
        )
    )
    (found,) = peer.spin_until(lambda: heard, 'the last')
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (12, 34)
    assert found.header.frame_id == 'base'
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
            assert list(getattr(each, field)) == pytest.approx(fields.get(field, []), rel=1e-14)
    statistics = node._session.inputs.statistics['joint_trajectory']
    assert (statistics.received, statistics.accepted) == (9, 1)
    reasons = ('no_names', 'no_points', 'not_finite', 'size', 'times', 'unknown_joint', 'partial')
    assert statistics.rejected == dict.fromkeys((*reasons, 'bad_stamp'), 1)


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_arrays(active_bridge, reference, hear, speak, peer, field):
    """Arrays are in the orders of the parameters, whatever the layout says; else dropped whole."""
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension

    topic = f'{field}_commands'
    joints = {'pitch': 0.25, 'lift': -1.5, 'roll': 0.75}
    order = ['right', 'winch', 'left']
    node = active_bridge({'command_joints': list(joints), 'command_actuators': order})
    commands, send = peer.listen('actuator_commands'), speak(Float64MultiArray, topic)
    arrays = hear(node, Float64MultiArray, f'actuator_{topic}')
    for data in ((), (1.0,), (1.0,) * 4, (1.0, math.nan, 1.0), (math.inf, 1.0, 1.0)):
        send(Float64MultiArray(data=data))
    message = Float64MultiArray(data=list(joints.values()))
    message.layout.dim = [MultiArrayDimension(label='nonsense', size=99, stride=7)]
    message.layout.data_offset = 1
    send(message)
    peer.spin_until(lambda: arrays and commands, 'a command')
    (command,), (array,) = commands, arrays
    assert command.names == ('winch', 'left', 'right')
    check(reference, field, command.names, getattr(command, field), joints)
    check(reference, field, order, array.data, joints)
    others = [each for each in reference.FIELDS if each != field]
    assert [len(getattr(command, each)) for each in others] == [0, 0]
    statistics = node._session.inputs.statistics[topic]
    assert statistics.rejected == {'size': 3, 'not_finite': 2}


def test_no_arrays_without_an_order(active_bridge):
    """The two orders stand for themselves."""
    for number, parameters in enumerate(({}, {'command_joints': ['lift']})):
        node = active_bridge(parameters, namespace=f'order_{number}')
        assert ('position_commands' in node._session.inputs.statistics) == bool(parameters)
        assert 'actuator_position_commands' not in node._session.outputs.publishers


# -- drivers -------------------------------------------------------------------------------------


def test_drivers_that_use_the_same_names(active_bridge, reference, hear, speak, peer, diagnostics):
    """Each driver is told of its own motors, by its names, on each kind of topic, and is heard."""
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory

    motors = {
        'one/': {'M': 'left'},
        'two/': {'N': 'winch', 'M': 'right'},
        '': {'finger': 'finger'},
    }
    node = active_bridge(
        {
            'actuator_state_topics': [f'{place}actuator_states' for place in motors],
            'actuator_names': [
                f'{place}actuator_states:{name}={motor}'
                for place in ('one/', 'two/')
                for name, motor in motors[place].items()
            ],
            'command_actuators': ['right', 'left'],
        }
    )
    joints = {'roll': 0.5, 'pitch': -0.25, 'lift': 1.0, 'finger': 0.75}
    arrays = {
        place: hear(node, Float64MultiArray, f'{place}actuator_position_commands')
        for place in ('one/', 'two/')
    }
    trajectories = {
        place: hear(node, JointTrajectory, f'{place}actuator_trajectory') for place in motors
    }
    controller = peer.publisher('joint_commands')
    message = reference.Message(tuple(joints), position=tuple(joints.values()))
    sent = {}
    for place, names in motors.items():
        heard = peer.listen(f'{place}actuator_commands')
        (sent[place],) = peer.exchange(controller, message, heard)
        assert sent[place].names == tuple(names)
        check(reference, 'position', names.values(), sent[place].position, joints)
        if place in arrays:
            peer.spin_until(lambda place=place: arrays[place], 'the array')
            check(reference, 'position', [names['M']], arrays[place][0].data, joints)
    points = [((second, 0), {'positions': [0.5, -0.25]}) for second in (1, 2)]
    speak(JointTrajectory, 'joint_trajectory')(trajectory(('roll', 'pitch'), *points))
    peer.spin_until(lambda: trajectories['one/'] and trajectories['two/'], 'both parts')
    for place, motor in (('one/', 'left'), ('two/', 'right')):
        (found,) = trajectories[place]
        assert found.joint_names == ['M']
        assert [point.time_from_start.sec for point in found.points] == [1, 2]
        for point in found.points:
            check(reference, 'position', [motor], point.positions, joints)
    assert trajectories[''] == []

    states = peer.listen('joint_states')
    for number, (place, record) in enumerate(sent.items(), start=1):
        driver = peer.publisher(f'{place}actuator_states')
        state = reference.Message(record.names, tuple(record.position), stamp=(number, 0))
        if place == 'one/':  # no joint is known by one of two motors
            statistics = node._session.inputs.statistics['one/actuator_states']
            peer.spin_until(lambda: peer.send(driver, state) or statistics.accepted, 'a state')
        else:
            (found,) = peer.exchange(driver, state, states)
    known = dict(zip(found.names, found.position, strict=True))
    assert {name: known[name] for name in joints} == pytest.approx(joints)
    for source, target, field, lift in (
        ('actuator_absolute_positions', 'joint_absolute_positions', 'position', 2.0 / -4.0 + 0.3),
        ('actuator_torque_sensors', 'joint_torque_sensors', 'effort', 2.0 * -4.0),
    ):
        heard = peer.listen(target)
        reading = reference.Message(('N',), **{field: (2.0,)})
        (found,) = peer.exchange(peer.publisher(f'two/{source}'), reading, heard)
        assert getattr(found, field)[found.names.index('lift')] == pytest.approx(lift)
    diagnostics.said('life cycle', 'active')
    topics = ('states', 'absolute_positions', 'torque_sensors', 'commands', 'trajectory')
    wanted = {f'{place}actuator_{topic}' for place in motors for topic in topics}
    assert wanted <= set(diagnostics.statuses)


def test_turns_of_encoders(active_bridge, reference, peer):
    """A position is refused while the turn is unknown; ~/zero settles the turn."""
    from std_srvs.srv import Trigger

    node = active_bridge({'wrap_period': [f'winch={math.tau!r}']})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    state = reference.Message(('winch', 'finger'), position=(1.0, 0.5))
    assert peer.exchange(driver, state, joints)[0].names == ('finger',)
    controller, commands = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    command = reference.Message(('lift',), position=(1.0,))
    rejected = node._session.inputs.statistics['joint_commands'].rejected
    peer.send(controller, command)
    peer.spin_until(lambda: rejected['unknown_turn'], 'a refusal')
    values = {'zero_joints': ['lift', 'dial'], 'zero_positions': [7.5, -2.5]}
    assert peer.set_parameters(values).successful
    answer = peer.call(Trigger, 'transmission_bridge/zero', Trigger.Request())
    assert answer.success, answer.message
    (found,) = peer.exchange(driver, state, joints)
    assert found.position[found.names.index('lift')] == pytest.approx(7.5, abs=1e-12)
    assert peer.exchange(controller, command, commands)


# -- stamps --------------------------------------------------------------------------------------

#: Of 2038, before 1970, and of seconds with too many nanoseconds.
ODD = {
    'future_stamp': [(2_145_916_800, 0), (2**31 - 1, 999_999_999)],
    'bad_stamp': [(-5, 0), (5, 1_000_000_000), (0, 2**32 - 1)],
}

WAYS = {
    'actuator_states': 'joint_states',
    'actuator_absolute_positions': 'joint_absolute_positions',
    'actuator_torque_sensors': 'joint_torque_sensors',
    'joint_commands': 'actuator_commands',
}


@pytest.mark.parametrize('source', WAYS)
def test_odd_stamps(active_bridge, reference, peer, diagnostics, log, source):
    """Their messages are used, with the time of receipt; they are counted, and warned of once."""
    active_bridge({**reliable(source), 'state_timeout': 0.0})
    sender, heard = peer.publisher(source), peer.listen(WAYS[source])
    is_command = source == 'joint_commands'
    name, arrays = ('lift', 1) if is_command else ('winch', 3)
    message = reference.Message((name,), *[(1.0,)] * arrays)
    peer.exchange(sender, message, heard)
    for stamp in (each for stamps in ODD.values() for each in stamps):
        del heard[:]
        before = peer.node.get_clock().now().nanoseconds
        peer.send(sender, replace(message, stamp=stamp))
        peer.spin_until(lambda: heard, 'an answer')
        after = peer.node.get_clock().now().nanoseconds
        assert all(before <= each.stamp[0] * 10**9 + each.stamp[1] <= after for each in heard)
    diagnostics.said(source, 'replaced by the time of receipt', level=b'\x01')
    values = diagnostics.values(source)
    assert values['rejected'] == '0'
    for reason, stamps in ODD.items():
        assert values[f'replaced stamps {reason}'] == str(len(stamps))
    assert log('header.stamp', source) == len(ODD)
    assert log('header.stamp', 'use_sim_time') > 0


# -- limits --------------------------------------------------------------------------------------

LIMIT = '<limit lower="-5" upper="30" velocity="2" effort="10"/>'
WINCH = '<actuator name="winch" role="actuator1"/>\n      <joint name="lift"'


@pytest.fixture
def answer(peer, reference):
    """Return a function: what each actuator is sent for a command in a mode."""
    ends = {}

    def commanded(mode, **joints):
        if not ends:
            ends['to'] = peer.publisher('joint_commands')
            ends['from'] = peer.listen('actuator_commands')
        ends['count'] = ends.get('count', 0) + 1
        message = reference.Message(
            tuple(joints), **{mode: tuple(joints.values())}, stamp=(ends['count'], 0)
        )
        (found,) = peer.exchange(ends['to'], message, ends['from'])
        return dict(zip(found.names, getattr(found, mode).tolist(), strict=True))

    return commanded


def test_limits_of_a_motor(active_bridge, reference, peer, diagnostics, answer):
    """They clamp what is sent, are counted, and can be tuned."""
    limited = WINCH.replace('"actuator1"/>', f'"actuator1">{LIMIT}</actuator>')
    assert WINCH in reference.URDF
    active_bridge({'robot_description': reference.URDF.replace(WINCH, limited)})
    assert answer('position', lift=2.0) == {'winch': -5.0}
    assert answer('velocity', lift=1.0) == {'winch': -2.0}
    assert answer('effort', lift=80.0) == {'winch': -10.0}
    diagnostics.said('commands of joint_commands', 'lift (effort 50%)', level=b'\x01')
    limit = 'transmissions.hoist.actuators.winch.limit.velocity'
    for value, winch in ((3.0, -3.0), (math.inf, -4.0)):
        assert peer.set_parameters({limit: value}).successful
        assert answer('velocity', lift=1.0) == {'winch': winch}
    assert not peer.set_parameters({limit: -1.0}).successful


def test_time_of_commands(active_bridge, reference, peer, answer, log):
    """What is too old is refused; a velocity ends by zero, once, after its timeout."""
    node = active_bridge({'max_command_age': 5.0, 'command_timeout': 0.3})
    heard = peer.listen('actuator_commands')
    controller = peer.publisher('joint_commands')
    rejected = node._session.inputs.statistics['joint_commands'].rejected
    peer.send(controller, reference.Message(('lift',), velocity=(1.0,), stamp=(1, 0)))
    peer.spin_until(lambda: rejected['too_old'], 'the refusal')
    peer.send(controller, reference.Message(('lift',), velocity=(1.0,), stamp=(0, 0)))
    peer.spin_until(lambda: len(heard) == 2, 'the end of the command')
    assert [each.velocity.tolist() for each in heard] == [[-4.0], [0.0]]
    peer.spin_until(lambda: log('stopped: no new velocity or effort'), 'the log')


def test_transmission_that_raises(
    make_bridge, reference, robots, peer, monkeypatch, diagnostics, log
):
    """Its traceback is logged once, and all but its own joints go on."""
    from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission
    from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission

    def put_bug(*args, **options):
        raise ZeroDivisionError('inside the plugin')

    # As a type that gives a function of arrays.
    make_system = PositionDependentTransmission._make_system
    monkeypatch.setattr(CrankSliderTransmission, '_make_system', make_system)
    make_bridge({'robot_description': robots.urdf(('knee', 'neck'), robots.leg())})
    peer.start()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(('cylinder', 'neck'), position=(0.4, 1.5), stamp=(3, 0))
    assert peer.exchange(driver, message, joints)[0].names == ('knee', 'neck')
    for name in ('evaluate', 'inverse'):
        monkeypatch.setattr(CrankSliderTransmission, name, put_bug)
    for _ in range(2):
        (answer,) = peer.exchange(driver, message, joints)
        assert (answer.names, answer.position.tolist()) == (('neck',), [1.5])
    diagnostics.said('transmission leg')
    peer.spin_until(lambda: 'traceback' in diagnostics.values('transmission leg'), 'the reason')
    words = 'ZeroDivisionError: inside the plugin'
    assert diagnostics.values('transmission leg')['last exception'] == words
    assert log("transmission 'leg' raised") == log('Traceback') == 1


def test_tuning_under_load(active_bridge, peer, answer):
    """A change that turns a commanded joint is refused with what to do, else it is accepted."""
    active_bridge({'command_timeout': 0.0})
    reduction = 'transmissions.hoist.joints.lift.mechanical_reduction'
    assert answer('velocity', lift=1.0) == {'winch': -4.0}
    (refused,) = peer.set_each_parameter({reduction: 4.0})
    assert not refused.successful
    assert 'lift by winch would move in the opposite direction' in refused.reason
    assert 'Stop commanding it' in refused.reason
    assert peer.set_parameters({reduction: -4.5}).successful
    for transition in ('deactivate', 'activate'):
        assert peer.change_state(transition)
    assert peer.set_parameters({reduction: 4.0}).successful
    assert answer('velocity', lift=1.0) == {'winch': 4.0}


@pytest.mark.versions
def test_writers_of_commands(peer, active_bridge, reference, monkeypatch):
    """Each publisher is a writer where rclpy tells, else the only publisher of a topic is."""
    checked = []
    node = active_bridge()
    monkeypatch.setattr(node._session.inputs, '_check', lambda *args: checked.append(args))
    message = reference.Message(('lift',), velocity=(1.0,))
    senders = [peer.publisher('joint_commands')]
    for number in (0, 1, 0):
        if len(senders) == number:
            senders.append(peer.publisher('joint_commands'))
            subscription = node._session.inputs.subscriptions['joint_commands']
            peer.spin_until(lambda: subscription.get_publisher_count() == 2, 'the other one')
        count = len(checked) + 1
        peer.send(senders[number], message)
        peer.spin_until(lambda count=count: len(checked) == count, 'a command')
    first, second, third = (writer for writer, _, _ in checked)
    if first == 'joint_commands':  # this rclpy has no identities
        assert (second, third) == (None, None)
    else:
        assert first == third != second
    for _, sent, received in checked:
        assert 0.0 <= received - sent < 5.0


# -- quality of service --------------------------------------------------------------


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

    def reliability_of(find_endpoints, topic):
        # Endpoints of an earlier test may still be known.
        (only,) = peer.spin_until(
            lambda: len(found := find_endpoints(topic)) == 1 and found, f'one endpoint of {topic}'
        )
        return only.qos_profile.reliability.name

    publishers = peer.node.get_publishers_info_by_topic
    assert (
        reliability_of(peer.node.get_subscriptions_info_by_topic, 'actuator_states') == 'RELIABLE'
    )
    assert reliability_of(publishers, 'actuator_commands') == 'BEST_EFFORT'
    # Each override reaches the topic that it names and no other.
    assert reliability_of(publishers, 'joint_states') == 'RELIABLE'
    assert peer.parameters(['qos_overrides./actuator_commands.publisher.depth']) == {
        'qos_overrides./actuator_commands.publisher.depth': 10
    }
