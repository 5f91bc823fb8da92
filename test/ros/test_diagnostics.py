# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics over real DDS: in every state, and equal to what was sent."""

import math

import pytest

OK, WARN, ERROR = b'\x00', b'\x01', b'\x02'


def test_every_state(peer, make_bridge, reference, harness, log):
    """Reports come once a second in every state; a bridge never started explains how to."""
    line = ['--ros-args', '-r', '__ns:=/left', '-r', '__node:=arm']
    node = make_bridge({'robot_description': reference.URDF}, cli_args=line)
    diagnostics = harness.Diagnostics(peer, 'left/arm')
    configure, activate = (
        f'ros2 lifecycle set /left/arm {step}' for step in ('configure', 'activate')
    )
    life = diagnostics.said('life cycle', 'unconfigured', level=WARN)
    assert set(diagnostics.statuses) == {'life cycle'}
    assert life.hardware_id == 'none'
    assert 'robot_description' in diagnostics.values('life cycle')['description']
    diagnostics.said('life cycle', configure, activate, 'autostart:=true', level=WARN)
    for transition, state, words in (
        ('configure', 'inactive', (activate, 'autostart:=true')),
        ('activate', 'active', ()),
        ('deactivate', 'inactive', ()),
        ('cleanup', 'unconfigured', ()),
        ('unconfigured_shutdown', 'finalized', ()),
    ):
        assert peer.change_state(transition, 'left/arm')
        # Until it was active once, the user may have forgotten to start it.
        diagnostics.said('life cycle', state, *words, level=WARN if words else OK)
        assert (len(diagnostics.statuses) > 1) == (state in ('inactive', 'active'))
    assert 1e9 in [timer.timer_period_ns for timer in node.timers]
    assert log('WARN', 'nothing has started', configure, activate) == 1


# -- other names of topics -----------------------------------------------------------------------

ROLES = ('actuator_states', 'joint_states', 'joint_commands', 'actuator_commands')


#: rclpy's own report of an incompatible peer uses a method that rclpy has deprecated.
@pytest.mark.filterwarnings('ignore:Deprecated in favor of:DeprecationWarning')
def test_peers_under_another_name(peer, harness, reference, active_bridge):
    """Drivers, listeners, other publishers and those that do not fit are found by full names."""
    # States and commands exchanged, each for each.
    names = states, joints, commands, actuators = [f'/left/{ROLES[k]}' for k in (1, 0, 3, 2)]
    rules = [each for rule in zip(ROLES, names, strict=True) for each in ('-r', ':='.join(rule))]
    node = active_bridge(
        # The active quality of service is judged, not the default.
        {'state_timeout': 0.0, f'qos_overrides.{states}.subscription.reliability': 'reliable'},
        namespace='left',
        cli_args=['--ros-args', *rules],
    )
    diagnostics = harness.Diagnostics(peer, node.get_fully_qualified_name().lstrip('/'))
    for topic in (joints, actuators):
        peer.node.create_publisher(harness.JointState, topic, 10)
    diagnostics.said('actuator_states', f'silent: no message yet, {states} has 0 publishers')
    diagnostics.said('joint_states', "other publishers: '/peer'")
    diagnostics.said('actuator_commands', "other publishers: '/peer'")
    unfit = [
        peer.node.create_publisher(harness.JointState, topic, harness.BEST_EFFORT)
        for topic in (commands, states)
    ]
    peer.node.create_subscription(harness.JointState, joints, print, harness.LATCHED)
    for name, topic in zip(ROLES[:3], (states, joints, commands), strict=True):
        diagnostics.said(name, "incompatible: '/peer' (")
        assert diagnostics.values(name)['topic'] == topic
    for each in unfit:
        peer.node.destroy_publisher(each)
    driver = peer.node.create_publisher(harness.JointState, states, 10)
    diagnostics.said('actuator_states', f"{states} has 1 publisher ('/peer')")
    controller = peer.publisher(commands)

    def send():
        peer.send(driver, reference.Message(('winch',), position=(0.5,)))
        peer.send(controller, reference.Message(('lift',), position=(0.5,)))

    diagnostics.said('actuator_states', level=OK, act=send)
    diagnostics.said('commands of joint_commands', f'no subscriber: {actuators}', act=send)
    # A tool of this package does not count.
    name = 'transmission_bridge_watch'
    tool = harness.rclpy.create_node(name, context=peer.context, use_global_arguments=False)
    tool.create_subscription(harness.JointState, actuators, print, 10)
    peer.spin_until(lambda: peer.node.count_subscribers(actuators), 'the tool')
    for _ in range(2):
        diagnostics.said('commands of joint_commands', 'no subscriber', act=send)
    peer.node.create_subscription(harness.JointState, actuators, print, 10)
    diagnostics.said('commands of joint_commands', 'OK', act=send)
    tool.destroy_node()


def test_nodes_with_another_message_type(active_bridge, diagnostics, harness):
    """A publisher or a subscriber with another message type is named, with both types."""
    active_bridge()
    # A participant of its own, because one participant has one type for a topic.
    other = harness.Peer(name='other')
    publisher = other.node.create_publisher(harness.JointState, 'joint_trajectory', 10)
    text = other.latch('', 'elsewhere').msg_type
    other.node.create_subscription(text, 'joint_states', print, 10)
    for topic, found, expected in (
        ('joint_trajectory', 'sensor_msgs/msg/JointState', 'trajectory_msgs/msg/JointTrajectory'),
        ('joint_states', 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'),
    ):
        types = f"message type '{found}', expected {expected}"
        diagnostics.said(topic, f"incompatible: '/other' ({types})", level=WARN)
    other.node.destroy_publisher(publisher)
    diagnostics.said('joint_trajectory', level=OK)
    other.destroy()


def test_a_clock_under_another_name(peer, active_bridge, diagnostics):
    """A missing clock is reported by the full name of its topic until it is published."""
    from rosgraph_msgs.msg import Clock

    active_bridge({'use_sim_time': True}, cli_args=['--ros-args', '-r', '/clock:=/sim/clock'])
    diagnostics.said('life cycle', 'clock: /sim/clock has 0 publishers', level=WARN)
    peer.node.create_publisher(Clock, '/sim/clock', 10)
    # Reports come by the steady clock, also while simulated time does not run.
    diagnostics.said('life cycle', 'active', level=OK)


def test_a_node_of_the_same_name(peer, make_bridge, reference, harness, monkeypatch):
    """It is an error on their topics, and in the life cycle once it is older than a lease."""
    from transmission_bridge.ros import diagnostics

    monkeypatch.setattr(diagnostics, '_LEASE', math.inf)
    for _ in range(2):
        node = make_bridge({'robot_description': reference.URDF})
        node.trigger_configure()
        node.trigger_activate()
    said = harness.Diagnostics(peer)
    said.said('joint_states', "other publishers: '/transmission_bridge'", level=WARN)
    said.said('life cycle', level=OK)
    monkeypatch.setattr(diagnostics, '_LEASE', 1.0)
    said.said('life cycle', 'same name: a second /transmission_bridge publishes', level=ERROR)


# -- and when ------------------------------------------------------------------------------------


def test_bug_does_not_stop_them(peer, active_bridge, diagnostics, monkeypatch, log):
    """A bug in making a report is logged, and the next report comes."""
    node = active_bridge()
    with monkeypatch.context() as patch:
        patch.setattr(type(node._description), 'origin', property(lambda self: 1 / 0))
        peer.spin_until(lambda: log('ZeroDivisionError'), 'the log line')
    diagnostics.said('life cycle', 'active')
