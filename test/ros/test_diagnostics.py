# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics over real DDS: in every state, and equal to what was sent."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

OK, WARN, ERROR = b'\x00', b'\x01', b'\x02'

RELIABLE_STATES = {'qos_overrides./actuator_states.subscription.reliability': 'reliable'}

#: Queues that lose no messages of a test while they are not read.
DEEP = {
    f'qos_overrides./{topic}.subscription.depth': 1000
    for topic in ('actuator_states', 'joint_commands')
}

#: rclpy's own report of an incompatible peer uses a method that rclpy has deprecated.
INCOMPATIBLE = pytest.mark.filterwarnings('ignore:Deprecated in favor of:DeprecationWarning')


class Report:
    """One message, its statuses by name without the node's."""

    def __init__(self, message, node):
        self.stamp = message.header.stamp
        self.statuses = {
            each.name.removeprefix(f'{node}: '): each
            for each in message.status
            if each.name.startswith(f'{node}: ')
        }

    def __getitem__(self, name):
        return self.statuses[name]

    def values(self, name):
        """Return the values of a status as a dictionary."""
        return {each.key: each.value for each in self.statuses[name].values}

    def counts(self, name, keys):
        """Return those values of a status that are counts."""
        values = self.values(name)
        return {key: int(values[key]) for key in keys}


@pytest.fixture
def diagnostics(peer):
    """Return a function that waits for a report in which a condition holds."""
    from diagnostic_msgs.msg import DiagnosticArray

    messages = []
    peer.node.create_subscription(DiagnosticArray, '/diagnostics', messages.append, 100)

    def wait(condition=lambda report: True, node='transmission_bridge', fresh=True):
        if fresh:
            del messages[:]

        def find():
            for message in messages:
                report = Report(message, node)
                if report.statuses and condition(report):
                    return report
            return None

        return peer.spin_until(find, 'such diagnostics')

    return wait


def state_is(state):
    """Return the condition that the node is in a state."""
    return lambda report: report['life cycle'].message.startswith(state)


def level_is(level, state):
    """Return the condition that the node is in a state, and its life cycle of this level."""
    return lambda report: state_is(state)(report) and report['life cycle'].level == level


def test_every_state(peer, make_bridge, reference, diagnostics):
    """They come once a second while the node is unconfigured, inactive, active and finalized."""
    make_bridge({'robot_description': reference.URDF})
    report = diagnostics(level_is(WARN, 'unconfigured'))
    assert set(report.statuses) == {'life cycle'}
    assert report['life cycle'].hardware_id == 'none'
    assert 'robot_description' in report.values('life cycle')['description']
    for transition, state in (
        ('configure', 'inactive'),
        ('activate', 'active'),
        ('deactivate', 'inactive'),
        ('cleanup', 'unconfigured'),
        ('unconfigured_shutdown', 'finalized'),
    ):
        assert peer.change_state(transition)
        # Until it was active once, the user may have forgotten to start it.
        report = diagnostics(level_is(WARN if transition == 'configure' else OK, state))
        assert (len(report.statuses) > 1) == (state in ('inactive', 'active'))
    first, second = (diagnostics().stamp for _ in range(2))
    elapsed = second.sec - first.sec + 1e-9 * (second.nanosec - first.nanosec)
    assert 0.5 < elapsed < 5.0


def test_parts(active_bridge, diagnostics):
    """There is a status for every topic, transmission and source of commands, and the node."""
    node = active_bridge({'command_joints': ['lift'], 'command_actuators': ['winch']})
    report = diagnostics(state_is('active'))
    topics = {*node._session.inputs.statistics, *node._session.outputs.publishers}
    assert {'actuator_states', 'joint_states', 'joint_trajectory'} <= topics
    commands = ('joint_commands', 'position_commands', 'velocity_commands', 'effort_commands')
    assert set(report.statuses) == {
        'life cycle',
        'actuators',
        'commands in force',
        *topics,
        *(f'transmission {name}' for name in ('hoist', 'gauge', 'wrist', 'arm')),
        *(f'commands of {topic}' for topic in (*commands, 'joint_trajectory')),
    }
    assert {each.hardware_id for each in report.statuses.values()} == {'reference'}
    life = report.values('life cycle')
    expected = {'state': 'active', 'robot': 'reference', 'findings error': '0', 'joints': '7'}
    assert {key: life[key] for key in expected} == expected
    wrist = report.values('transmission wrist')
    assert wrist['loaded'] == 'True'
    assert wrist['type'] == 'transmission_interface/DifferentialTransmission'


def test_counts_equal_what_was_sent(peer, active_bridge, harness, reference, diagnostics):
    """After the traffic every count equals the number of injected messages, by reason."""
    active_bridge({**RELIABLE_STATES, **DEEP})
    deep = harness.LISTENER
    driver = peer.publisher('actuator_states', deep)
    controller = peer.publisher('joint_commands', deep)
    nan, inf = math.nan, math.inf
    message = reference.Message
    names = reference.ACTUATORS
    states = {
        'good': (message(names, (0.1,) * 6, (0.2,) * 6, (0.3,) * 6), 11),
        'NaN': (message(('left', 'winch'), (nan, 0.5)), 3),
        'infinite': (message(('hip', 'crank'), (inf, -inf)), 2),
        'ragged': (message(('left', 'right'), (0.1,)), 4),
        'duplicate': (message(('left', 'left'), (0.1, 0.2)), 5),
        'unknown names': (message(('ghost', 'winch'), (0.1, 0.2)), 6),
        'no names': (message((), ()), 2),
    }
    commands = {
        'good': (message(('lift',), velocity=(1.0,)), 7),
        'ragged': (message(('lift', 'finger'), velocity=(1.0,)), 2),
        'unknown': (message(('ghost',), velocity=(1.0,)), 3),
        'not commandable': (message(('dial',), velocity=(1.0,)), 4),
        'infinite': (message(('lift',), velocity=(inf,)), 5),
        'partial': (message(('roll',), effort=(1.0,)), 6),
        'nothing': (message(('lift',), velocity=(nan,)), 1),
    }
    for publisher, traffic in ((driver, states), (controller, commands)):
        for each, count in traffic.values():
            for _ in range(count):
                peer.send(publisher, each)
    total = {
        topic: sum(count for _, count in traffic.values())
        for topic, traffic in (('actuator_states', states), ('joint_commands', commands))
    }

    def all_taken(report):
        return all(
            int(report.values(topic)['received']) >= count for topic, count in total.items()
        )

    report = diagnostics(all_taken)
    expected = {
        'received': 33,
        'accepted': 22,
        'rejected': 11,
        'malformed': 9,
        'rejected ragged': 4,
        'rejected duplicate_name': 5,
        'rejected foreign': 2,
    }
    assert report.counts('actuator_states', expected) == expected
    expected = {
        'received': 28,
        'accepted': 8,
        'rejected': 20,
        'malformed': 7,
        'rejected ragged': 2,
        'rejected unknown_joint': 3,
        'rejected not_commandable': 4,
        'rejected infinite': 5,
        'rejected partial': 6,
    }
    assert report.counts('joint_commands', expected) == expected
    source = report.values('commands of joint_commands')
    assert {key: int(source[key]) for key in expected if key in source} == {
        key: count for key, count in expected.items() if key not in ('received', 'malformed')
    }
    not_a_number = {
        name: int(report.values(f'transmission {name}')['NaN'])
        for name in ('hoist', 'gauge', 'wrist', 'arm')
    }
    assert not_a_number == {'hoist': 0, 'gauge': 0, 'wrist': 3, 'arm': 4}
    assert report.values('actuators')["unknown name 'ghost'"] == '6'
    # Once more, when all is quiet: counts stay, levels do not.
    report = diagnostics(lambda report: report['joint_commands'].level == OK)
    assert int(report.values('joint_commands')['rejected']) == 20
    assert float(report.values('joint_commands')['rate [Hz]']) == 0.0


def test_refusals_are_a_warning_for_a_while(peer, active_bridge, reference, diagnostics):
    """A refused message is a warning in the next report, and none in a later one."""
    active_bridge()
    controller = peer.publisher('joint_commands')
    peer.send(controller, reference.Message(('ghost',), position=(1.0,)))
    report = diagnostics(lambda report: report['joint_commands'].level == WARN, fresh=False)
    assert 'unknown_joint' in report['joint_commands'].message
    assert report['commands of joint_commands'].level == WARN
    diagnostics(lambda report: report['joint_commands'].level == OK)


def test_contested_joints(peer, active_bridge, reference, diagnostics):
    """Two sources that command one joint are named, with the joint."""
    from std_msgs.msg import Float64MultiArray

    node = active_bridge({'command_joints': ['lift']})
    peer.send(peer.publisher('joint_commands'), reference.Message(('lift',), position=(1.0,)))
    taken = node._session.inputs.statistics['joint_commands']
    peer.spin_until(lambda: taken.received, 'the first command')
    arrays = peer.node.create_publisher(Float64MultiArray, 'position_commands', 10)
    peer.spin_until(arrays.get_subscription_count, 'a reader')
    arrays.publish(Float64MultiArray(data=[1.0]))
    name = 'commands of position_commands'
    report = diagnostics(lambda report: report[name].level == WARN)
    assert report[name].message == 'also commanded by another source: lift'
    assert report.values(name)['contested lift'] == '1'


@pytest.mark.versions
@INCOMPATIBLE
def test_incompatible_peers(peer, harness, active_bridge, diagnostics):
    """Incompatible peers of inputs and outputs are reported until they are gone."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState

    active_bridge()
    commands = peer.node.create_publisher(JointState, 'joint_commands', harness.BEST_EFFORT)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    states = peer.node.create_subscription(JointState, 'joint_states', print, latched)
    topics = ('joint_commands', 'joint_states')
    report = diagnostics(lambda report: all(report[each].level == WARN for each in topics))
    for topic in topics:
        assert '/peer' in report[topic].message
        assert '/peer' in report.values(topic)['incompatible']
    assert report['actuator_states'].level == OK
    peer.node.destroy_publisher(commands)
    peer.node.destroy_subscription(states)
    diagnostics(lambda report: all(report[each].level == OK for each in topics))


def test_compatible_peers(peer, active_bridge, diagnostics):
    """Drivers, controllers and listeners with the usual quality of service are no trouble."""
    from sensor_msgs.msg import JointState

    node = active_bridge()
    for topic in ('actuator_states', 'joint_commands'):
        peer.node.create_publisher(JointState, topic, 10)
        peer.spin_until(lambda topic=topic: node.count_publishers(topic), f'a source of {topic}')
    for topic in ('actuator_commands', 'joint_states'):
        peer.node.create_subscription(JointState, topic, print, 10)
        peer.spin_until(lambda topic=topic: node.count_subscribers(topic), f'a reader of {topic}')
    report = diagnostics()
    for topic in ('actuator_states', 'joint_commands', 'actuator_commands', 'joint_states'):
        assert report.values(topic)['incompatible'] == ''
        assert report[topic].level == OK


@INCOMPATIBLE
def test_incompatible_after_an_override(peer, harness, active_bridge, diagnostics):
    """The active quality of service is judged, not the default."""
    from sensor_msgs.msg import JointState

    active_bridge(RELIABLE_STATES)
    peer.node.create_publisher(JointState, 'actuator_states', harness.BEST_EFFORT)
    diagnostics(lambda report: report['actuator_states'].level == WARN)


# -- other names of topics -----------------------------------------------------------------------

ROLES = ('actuator_states', 'joint_states', 'joint_commands', 'actuator_commands')

#: Namespace of the bridge, and the full name of each of these.
NAMED = {
    'remapped': (
        '',
        ('/motors/states', '/robot_joint_states', '/robot_joint_commands', '/motors/c'),
    ),
    'namespace': ('left', tuple(f'/left/{role}' for role in ROLES)),
    'exchanged': ('left', tuple(f'/left/{ROLES[place]}' for place in (1, 0, 3, 2))),
}


@pytest.fixture(params=NAMED)
def named_bridge(request, active_bridge, diagnostics):
    """Return the full names of its topics, and what waits for its diagnostics."""
    namespace, names = NAMED[request.param]
    rules = [each for rule in zip(ROLES, names, strict=True) for each in ('-r', ':='.join(rule))]
    node = active_bridge(
        {'state_timeout': 0.0},
        namespace=namespace,
        cli_args=['--ros-args', *rules] if request.param != 'namespace' else [],
    )
    own = node.get_fully_qualified_name().lstrip('/')

    def wait(name, words, act=lambda: None):
        def is_said(report):
            act()
            return name in report.statuses and words in report[name].message

        return diagnostics(is_said, node=own, fresh=False)

    return *names, wait


def test_drivers_under_another_name(peer, reference, named_bridge):
    """A driver is found, missed and told from another one by the full name of its topic."""
    from sensor_msgs.msg import JointState

    states, *_, wait = named_bridge
    elsewhere = peer.node.create_publisher(JointState, '/elsewhere', 10)
    wait('actuator_states', f"{states} has 0 publishers; other JointState topics: '/elsewhere';")
    peer.node.destroy_publisher(elsewhere)
    first = peer.node.create_publisher(JointState, states, 10)
    report = wait('actuator_states', f"{states} has 1 publisher ('/peer')")
    assert report.values('actuator_states')['topic'] == states
    second = peer.node.create_publisher(JointState, states, 10)

    def send():
        for publisher in (first, second):
            peer.send(publisher, reference.Message(('winch',), position=(0.5,)))

    wait(
        'actuator_states',
        f"several publishers of {states} ('/peer', '/peer') publish 'winch'",
        send,
    )


@INCOMPATIBLE
def test_other_peers_under_another_name(peer, harness, reference, named_bridge):
    """Listeners, other publishers and those that do not fit are found by full names, too."""
    from sensor_msgs.msg import JointState

    _, joints, commands, actuators, wait = named_bridge
    peer.node.create_publisher(JointState, joints, 10)
    peer.node.create_publisher(JointState, actuators, 10)
    wait('joint_states', f"{joints} has other publishers: '/peer'")
    wait('actuator_commands', f"{actuators} has other publishers: '/peer'")
    unfit = peer.node.create_publisher(JointState, commands, harness.BEST_EFFORT)
    wait('joint_commands', f"incompatible quality of service on {commands}: '/peer' (")
    peer.node.destroy_publisher(unfit)
    peer.node.create_subscription(JointState, joints, print, harness.LATCHED)
    wait('joint_states', f"incompatible quality of service on {joints}: '/peer' (")
    controller = peer.publisher(commands)

    def send():
        peer.send(controller, reference.Message(('lift',), position=(0.5,)))

    wait('commands of joint_commands', f'{actuators} has 0 subscribers: ', send)
    peer.node.create_subscription(JointState, actuators, print, 10)
    wait('commands of joint_commands', 'OK', send)


def test_a_clock_under_another_name(peer, active_bridge, diagnostics):
    """A missing clock is reported by the full name of its topic until it is published."""
    from rosgraph_msgs.msg import Clock

    active_bridge({'use_sim_time': True}, cli_args=['--ros-args', '-r', '/clock:=/sim/clock'])
    diagnostics(lambda report: '/sim/clock has 0 publishers' in report['life cycle'].message)
    peer.node.create_publisher(Clock, '/sim/clock', 10)
    diagnostics(level_is(OK, 'active'))


def test_bridges_that_receive_the_same_commands(peer, make_bridge, reference, diagnostics):
    """Each names the other on every topic while both subscribe, and no other subscriber."""
    from sensor_msgs.msg import JointState

    commands = ('joint_commands', 'velocity_commands', 'joint_trajectory')
    rules = [each for topic in commands for each in ('-r', f'{topic}:=/robot_{topic}')]
    for side in ('left', 'right'):
        make_bridge(
            {'robot_description': reference.URDF, 'command_joints': ['lift']},
            namespace=side,
            cli_args=['--ros-args', *rules],
        )
    peer.node.create_subscription(JointState, '/robot_joint_commands', print, 10)
    peer.start('left/transmission_bridge')

    def levels(report):
        names = {f'commands of {topic}' for topic in commands} & report.statuses.keys()
        return {report[name].level for name in names}

    def is_fine(report):
        return state_is('active')(report) and levels(report) == {OK}

    for _ in range(3):
        diagnostics(is_fine, 'left/transmission_bridge')
    assert peer.change_state('configure', 'right/transmission_bridge')
    for side, other in (('left', 'right'), ('right', 'left')):
        report = diagnostics(
            lambda report: levels(report) == {ERROR}, f'{side}/transmission_bridge'
        )
        for topic in commands:
            words = report[f'commands of {topic}'].message
            assert words.startswith(
                f"another bridge ('/{other}/transmission_bridge') also subscribes to "
                f'/robot_{topic}; '
            )
            assert f'remap {topic}' in words
        assert report['commands of position_commands'].level == OK
    assert peer.change_state('cleanup', 'right/transmission_bridge')
    diagnostics(is_fine, 'left/transmission_bridge')


@pytest.mark.parametrize('name', ['_NODE_NAME_UNKNOWN_', 'not a name', '', '9', 'a//b'])
def test_subscribers_of_impossible_names(peer, monkeypatch, name):
    """A subscriber with an unknown or invalid name is not a bridge."""
    from std_msgs.msg import String

    from transmission_bridge.ros.peers import Graph

    for _ in range(2):
        peer.node.create_subscription(String, 'topic', print, 10)
    peer.spin_until(lambda: peer.node.count_subscribers('topic') == 2, 'both subscriptions')
    others = [SimpleNamespace(node_name=name, node_namespace='/', topic_type='')]
    monkeypatch.setattr(peer.node, 'get_subscriptions_info_by_topic', lambda topic: others)
    assert Graph(peer.node).find_bridges('topic') == []


def test_names_that_end_alike(peer, harness, make_bridge, diagnostics):
    """A bridge with a name that ends with ours is not a namesake."""
    make_bridge()
    make_bridge(namespace='left')
    namesake = harness.Peer(name='transmission_bridge')
    try:
        peer.spin_until(
            lambda: peer.node.get_node_names().count('transmission_bridge') == 3, 'the namesake'
        )
        for _ in range(5):
            report = diagnostics(state_is('unconfigured'))
            assert 'another node' not in report['life cycle'].message
    finally:
        namesake.destroy()


# -- and when ------------------------------------------------------------------------------------


def test_stale_states(peer, active_bridge, reference, diagnostics):
    """With a timeout, silence of a driver is an error, and it is over with the next message."""
    active_bridge({'state_timeout': 0.3})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')

    def is_stale(report):
        return report['actuator_states'].level == ERROR

    report = diagnostics(is_stale)
    assert {report[name].level for name in ('actuators', 'transmission wrist')} == {ERROR}
    message = reference.Message(reference.ACTUATORS, (0.0,) * 6)

    def is_fresh(report):
        peer.exchange(driver, message, joints)
        names = ('actuator_states', 'actuators', 'transmission wrist')
        return all(report[name].level == OK for name in names)

    diagnostics(is_fresh, fresh=False)
    report = diagnostics(is_stale)
    assert 'left' in report['transmission wrist'].message
    assert peer.change_state('deactivate')
    diagnostics(lambda report: state_is('inactive')(report) and not is_stale(report))


def test_failed_transmission(peer, make_bridge, reference, diagnostics):
    """A transmission that was not loaded is an error with the reason, the others are not."""
    broken = reference.URDF.replace('<mechanical_reduction>-4.0<', '<mechanical_reduction>0.0<')
    make_bridge({'robot_description': broken})
    peer.start()
    report = diagnostics(state_is('active'))
    hoist = report['transmission hoist']
    assert hoist.level == ERROR
    assert 'zero' in hoist.message
    assert report.values('transmission hoist')['loaded'] == 'False'
    assert report['transmission wrist'].level == OK
    assert report['life cycle'].level == WARN


def test_transmission_that_raises(
    peer, make_bridge, reference, robots, diagnostics, monkeypatch, capfd
):
    """Its traceback is logged once and in every report, and all but its own joints go on."""
    from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission
    from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission

    def put_bug(*args, **options):
        raise ZeroDivisionError('inside the plugin')

    # As a type that gives a function of arrays.
    make_system = PositionDependentTransmission._make_system
    monkeypatch.setattr(CrankSliderTransmission, '_make_system', make_system)
    # A joint with a position-dependent mechanism, and a joint without a transmission.
    make_bridge({'robot_description': robots.urdf(('knee', 'neck'), robots.leg())})
    peer.start()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(('cylinder', 'neck'), position=(0.4, 1.5), stamp=(3, 0))
    (answer,) = peer.exchange(driver, message, joints)
    assert answer.names == ('knee', 'neck')
    del joints[:]
    monkeypatch.setattr(CrankSliderTransmission, 'evaluate', put_bug)
    monkeypatch.setattr(CrankSliderTransmission, 'inverse', put_bug)
    for count in range(1, 4):
        (answer,) = peer.exchange(driver, message, joints)
        assert (answer.names, answer.position.tolist()) == (('neck',), [1.5])
        del joints[:]
        report = diagnostics(
            lambda report, count=count: (
                int(report.values('transmission leg').get('exception', 0)) >= count
            )
        )
    values = report.values('transmission leg')
    assert values['last exception'] == 'ZeroDivisionError: inside the plugin'
    assert values['traceback'].startswith('Traceback')
    output = capfd.readouterr().err
    assert "transmission 'leg' raised" in output
    assert output.count('Traceback') == output.count('ZeroDivisionError: inside') == 1


def test_two_robots(peer, make_bridge, reference, diagnostics):
    """Two bridges in two namespaces are distinguished on the one topic."""
    for namespace in ('one', 'two'):
        make_bridge({'robot_description': reference.URDF}, namespace=namespace)
    assert peer.change_state('configure', 'two/transmission_bridge')
    diagnostics(state_is('unconfigured'), node='one/transmission_bridge')
    diagnostics(state_is('inactive'), node='two/transmission_bridge')


def test_simulated_time_that_stands_still(peer, active_bridge, diagnostics):
    """Reports come by the steady clock, also while simulated time does not run."""
    active_bridge({'use_sim_time': True})
    diagnostics(state_is('active'))
    diagnostics(state_is('active'))


def test_bug_does_not_stop_them(peer, active_bridge, diagnostics, monkeypatch, capfd):
    """A bug in making a report is logged, and the next report comes."""
    node = active_bridge()
    with monkeypatch.context() as patch:
        patch.setattr(type(node._description), 'origin', property(lambda self: 1 / 0))
        output = []

        def logged():
            output.append(capfd.readouterr().err)
            return 'ZeroDivisionError' in ''.join(output)

        peer.spin_until(logged, 'the log line')
    diagnostics(state_is('active'))


def test_absolute_encoder_at_the_joint(peer, make_bridge, reference, diagnostics):
    """One that is mapped as the motor's is a warning of its transmission, until that is set."""
    # Without the gauge, which reads the same motor.
    begin, end = '<transmission name="gauge">', '</transmission>'
    before, after = reference.URDF.split(begin)
    urdf = before + after.partition(end)[2]
    make_bridge({'robot_description': urdf, 'state_timeout': 0.0})
    peer.start()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    sensor = peer.publisher('actuator_absolute_positions')
    measured = peer.listen('joint_absolute_positions')
    for step in range(8):
        lift, stamp = 0.125 * step, (step + 1, 0)
        peer.exchange(driver, reference.Message(('winch',), (-4.0 * lift,), stamp=stamp), joints)
        peer.exchange(sensor, reference.Message(('winch',), (lift,), stamp=stamp), measured)
    report = diagnostics(lambda report: report['transmission hoist'].level != OK)
    assert report['transmission hoist'].level == WARN
    assert "'winch' moves like joint 'lift'" in report['transmission hoist'].message
    assert peer.set_parameters({'transmissions.hoist.ignore_absolute_encoder': True}).successful
    diagnostics(lambda report: report['transmission hoist'].level == OK)
