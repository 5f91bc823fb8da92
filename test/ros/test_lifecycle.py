# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The states of life: what is there, what is silent, what is left behind, what is sent last."""

from contextlib import suppress

from bugs import BUG, put_bug
from hypothesis import given, settings, strategies as st
import pytest

from transmission_bridge.errors import MessageError

pytestmark = pytest.mark.versions


def endpoints(peer, node):
    """Return what the graph and the node itself hold of it, once the graph knows just that."""
    # Publishers of rcl, which the node does not list.
    hidden = {'/rosout', f'{node.get_fully_qualified_name()}/transition_event'}

    def counted():
        found = counts(peer, node)
        own = {'publishers': node.publishers, 'subscribers': node.subscriptions}
        # Topics of an earlier node of this name may still be there.
        is_known = len(found['services']) == len(list(node.services)) and all(
            {each.topic_name for each in entities} == {name for name, _ in found[kind]} - hidden
            for kind, entities in own.items()
        )
        return found if is_known else None

    return peer.spin_until(counted, 'discovery of the endpoints')


def counts(peer, node):
    """Return what the graph and the node itself hold of it at this moment."""
    return {
        **peer.list_entities(node.get_fully_qualified_name()),
        'parameters': sorted(name for name in node._parameters if 'qos_overrides' not in name),
        'managed': len(node._managed_entities),
        'own publishers': len(list(node.publishers)),
        'own subscriptions': len(list(node.subscriptions)),
        'timers': len(list(node.timers)),
    }


def test_cycles_leave_nothing_behind(peer, make_bridge, reference):
    """Configure and cleanup, with and without activation, are exact inverses, three times."""
    node = make_bridge({'robot_description': reference.URDF, 'publish_rate': 50.0})
    before = endpoints(peer, node)
    inside = []
    for _ in range(3):
        peer.start()
        inside.append(endpoints(peer, node))
        peer.pass_through('deactivate', 'activate', 'deactivate', 'cleanup')
        peer.spin_until(lambda: counts(peer, node) == before, 'return to what was there')
    assert inside == inside[:1] * 3
    assert inside[0]['managed'] > before['managed']
    # Of the rate, of timeouts, and to see whether the node stands still.
    assert inside[0]['timers'] == before['timers'] + 2


def test_inactive_is_silent(peer, reference, active_bridge):
    """While a bridge is inactive, it sends nothing; its next activation starts without states."""
    node = active_bridge()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    state = reference.Message(reference.ACTUATORS, position=(1.0,) * 6)
    command = reference.Message(('lift',), velocity=(1.0,))
    peer.exchange(driver, state, joints)
    peer.exchange(controller, command, actuators)
    assert peer.change_state('deactivate')
    peer.spin_until(lambda: actuators[-1].velocity.tolist() == [0.0], 'the last command')
    del joints[:], actuators[:]
    statistics = node._session.inputs.statistics
    before = [each.received for each in statistics.values()]
    for _ in range(5):
        peer.send(driver, state)
        peer.send(controller, command)
    # A round trip to the node behind the messages: it has had its chance.
    for _ in range(5):
        assert peer.state() == 'inactive'
    assert (joints, actuators) == ([], [])
    assert [each.received for each in statistics.values()] == before
    assert peer.change_state('activate')
    (found,) = peer.exchange(driver, reference.Message(('winch',), position=(1.0,)), joints)
    assert {*found.names} == {'dial', 'lift'}


@pytest.mark.parametrize(
    ('step', 'broken'),
    [
        ('configure', 'transmission_bridge.ros.session.BridgeNodeSession.__init__'),
        ('configure', 'transmission_bridge.ros.channels.InputTopics.subscribe_joint_states'),
        ('activate', 'transmission_bridge.ros.session.BridgeNodeSession.open_session'),
        ('deactivate', 'transmission_bridge.bridge.gate.Gate.send_stop'),
    ],
)
def test_bug_in_a_transition(peer, reference, make_bridge, monkeypatch, log, step, broken):
    """A bug is logged with its traceback, and the node can be configured again."""
    node = make_bridge({'robot_description': reference.URDF})
    before = endpoints(peer, node)
    for earlier in ('configure', 'activate', 'deactivate'):
        if earlier == step:
            break
        assert peer.change_state(earlier)
    with monkeypatch.context() as patch:
        patch.setattr(broken, put_bug)
        assert not peer.change_state(step)
    # The request may have been repeated.
    assert log(f'bug in {step}') == log('Traceback') >= 1
    assert log(BUG) > 0
    assert BUG in node.failure
    assert peer.state() == 'unconfigured'
    peer.spin_until(lambda: counts(peer, node) == before, 'return to what was there')
    peer.start()


@pytest.mark.parametrize(
    ('topic', 'answers', 'path', 'method'),
    [
        ('actuator_states', 'joint_states', 'states', 'merge_message'),
        ('joint_commands', 'actuator_commands', 'gate', 'send_motion'),
    ],
)
def test_bug_in_a_message(
    peer, reference, active_bridge, monkeypatch, log, topic, answers, path, method
):
    """A bug costs the message that met it, is logged once, and the next message passes."""
    node = active_bridge({f'qos_overrides./{topic}.subscription.reliability': 'reliable'})
    publisher, heard = peer.publisher(topic), peer.listen(answers)
    message = reference.Message(('finger',), position=(1.0,), stamp=(3, 0))
    peer.exchange(publisher, message, heard)
    del heard[:]
    inputs = node._session.inputs.statistics[topic]
    with monkeypatch.context() as patch:
        patch.setattr(type(getattr(node._session, path)), method, put_bug)
        for count in range(1, 4):
            peer.send(publisher, message)
            peer.spin_until(lambda: inputs.rejected['bug'] == count, 'the bug')
    assert heard == []
    assert log('Traceback') == 1
    peer.exchange(publisher, message, heard)


def test_a_finalized_node_stays_that(peer, reference, make_bridge):
    """After the shutdown transition a description does not start anything, autostart or not."""
    node = make_bridge({'autostart': True})
    assert peer.change_state('unconfigured_shutdown')
    publisher = peer.latch(reference.URDF)
    peer.spin_until(lambda: node._description.urdf, 'arrival of the description')
    for _ in range(3):
        assert peer.state() == 'finalized'
    # DDS may still know the subscription of the node of a test before
    peer.spin_until(lambda: publisher.get_subscription_count() == 1, 'one subscription')


#: Outcome of a callback: success, a mistake of the user, or a bug.
OUTCOMES = st.sampled_from([None, MessageError('test', 'a mistake'), ZeroDivisionError(BUG)])
STEPS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), OUTCOMES, OUTCOMES), max_size=12))
def test_the_node_knows_its_state(context, steps):
    """For any callback and any request its state equals the state in rclpy."""
    from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

    from transmission_bridge.ros.bridge_node import guard_transition

    met = {}

    def callback(name):
        def step(self, state):
            if met[name] is not None:
                raise met[name]
            return TransitionCallbackReturn.SUCCESS

        step.__name__ = f'on_{name}'
        return guard_transition(step)

    callbacks = {f'on_{name}': callback(name) for name in (*STEPS, 'error')}
    node = type('Scripted', (LifecycleNode,), callbacks)('scripted', context=context)
    node.life_state, node.failure = 'unconfigured', ''
    try:
        for name, outcome, of_error in steps:
            met.update({name: outcome, 'error': of_error})
            with suppress(RuntimeError):  # of Jazzy, for what is not possible
                getattr(node, f'trigger_{name}')()
            assert node.life_state == node._state_machine.current_state[1]
    finally:
        node.destroy_node()
