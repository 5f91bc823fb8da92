# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The service that calibrates, over real DDS."""

from __future__ import annotations

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

LIFT = 'transmissions.hoist.joints.lift.offset'
ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'


@pytest.fixture
def zero(peer):
    """Return a function that calls the service."""
    from std_srvs.srv import Trigger

    return lambda node='transmission_bridge': peer.call(Trigger, f'{node}/zero', Trigger.Request())


@pytest.fixture
def feed(peer, reference):
    """Return a function that has a message of all actuators taken and returns its joint state."""
    heard = {}

    def send(position=(0.4, -0.3, 0.2, 11.0, -7.0, 0.6), names=None, **fields):
        if not heard:
            heard['driver'] = peer.publisher('actuator_states')
            heard['joints'] = peer.listen('joint_states')
        heard['stamp'] = stamp = (heard.get('stamp', (0, 0))[0] + 1, 0)
        message = reference.Message(names or reference.ACTUATORS, position, stamp=stamp, **fields)
        (state,) = peer.exchange(heard['driver'], message, heard['joints'])
        return dict(zip(state.names, state.position, strict=True))

    return send


def test_all_joints_to_zero(peer, active_bridge, reference, zero, feed):
    """By default every joint that has an offset is at zero afterwards, others are as before."""
    active_bridge()
    before = feed()
    response = zero()
    assert response.success, response.message
    after = feed()
    assert after.pop('finger') == before['finger'] == 0.6
    assert set(after) == set(reference.JOINTS) - {'finger'}
    assert list(after.values()) == pytest.approx([0.0] * 6, abs=1e-12)


def test_wanted_positions(peer, active_bridge, zero, feed):
    """The joints and positions of the parameters are used; the answer has old and new values."""
    active_bridge()
    feed()
    for wanted in ({'pitch': 0.5, 'lift': -1.25}, {'lift': 2.0}):
        before = peer.parameters([LIFT, ROLL, PITCH])
        result = peer.set_parameters(
            {'zero_joints': list(wanted), 'zero_positions': list(wanted.values())}
        )
        assert result.successful, result.reason
        response = zero()
        assert response.success, response.message
        after = peer.parameters([LIFT, ROLL, PITCH])
        state = feed()
        for joint, position in wanted.items():
            assert state[joint] == pytest.approx(position, abs=1e-12)
        assert after[ROLL] == before[ROLL]
        assert f'lift: offset {before[LIFT]!r} -> {after[LIFT]!r}' in response.message
        assert ('pitch' in response.message) == ('pitch' in wanted)


def test_empty_again(peer, active_bridge, zero, feed):
    """Empty lists mean all joints and zeros, whatever type an empty list was given."""
    active_bridge({'zero_joints': ['lift'], 'zero_positions': [1.0]})
    feed()
    assert zero().success
    assert feed()['lift'] == pytest.approx(1.0, abs=1e-12)
    for result in peer.set_each_parameter({'zero_joints': [], 'zero_positions': []}):
        assert result.successful, result.reason
    assert zero().success
    assert feed()['roll'] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('name', ['zero_joints', 'zero_positions'])
def test_parameters_cannot_be_deleted(peer, active_bridge, zero, feed, name):
    """Deleting a parameter of the service is refused, and the service goes on."""
    active_bridge()
    feed()
    (result,) = peer.set_each_parameter({name: None})
    assert not result.successful
    assert 'empty list' in result.reason
    assert zero().success


def test_bug(peer, active_bridge, zero, feed, monkeypatch, capfd):
    """A bug is answered and logged with its traceback, and the node goes on."""

    def put_bug(*args, **kwargs):
        raise ZeroDivisionError('put there')

    active_bridge()
    feed()
    with monkeypatch.context() as patch:
        patch.setattr('transmission_bridge.ros.zero_service.zero_offsets', put_bug)
        response = zero()
    assert not response.success
    assert 'put there' in response.message
    assert 'Traceback' in capfd.readouterr().err
    assert zero().success


def test_one_event(peer, active_bridge, zero, feed):
    """The offsets are set together: one parameter event tells all of them."""
    from rcl_interfaces.msg import ParameterEvent

    active_bridge({'zero_joints': ['roll', 'pitch', 'lift']})
    feed()
    events = []
    peer.node.create_subscription(ParameterEvent, '/parameter_events', events.append, 100)

    def ours():
        return [
            {each.name for each in event.changed_parameters}
            for event in events
            if event.node.endswith('transmission_bridge')
        ]

    # One event of something else shows that we would hear it.
    probe = 'transmissions.hoist.joints.lift.mechanical_reduction'

    def heard():
        peer.set_parameters({probe: -4.0})
        peer.executor.spin_once(timeout_sec=0.1)
        return {probe} in ours()

    peer.spin_until(heard, 'an event')
    assert zero().success
    peer.spin_until(lambda: {LIFT, ROLL, PITCH} in ours(), 'the event of all three')
    assert not [names for names in ours() if names not in ({probe}, {LIFT, ROLL, PITCH})]


def test_saved(peer, active_bridge, zero, feed):
    """The offsets survive cleanup and configure, as parameters do that were set."""
    active_bridge()
    feed()
    assert zero().success
    offset = peer.parameters([LIFT])
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)
    assert peer.parameters([LIFT]) == offset
    assert feed()['lift'] == pytest.approx(0.0, abs=1e-12)


def refused(peer, zero, words):
    """Check that the service is refused with these words and leaves the offsets alone."""
    before = peer.parameters([LIFT, ROLL, PITCH])
    response = zero()
    assert not response.success
    assert words in response.message
    assert peer.parameters([LIFT, ROLL, PITCH]) == before


def test_only_while_active(peer, make_bridge, reference, zero):
    """In every other state the service answers that the bridge is not active."""
    make_bridge({'robot_description': reference.URDF})
    refused(peer, zero, 'not active')
    assert peer.change_state('configure')
    refused(peer, zero, 'not active')
    assert peer.change_state('activate')
    assert peer.change_state('deactivate')
    refused(peer, zero, 'not active')


def test_unknown(peer, active_bridge, zero, feed):
    """A joint without a state of its actuator rejects the whole request."""
    active_bridge({'zero_joints': ['lift', 'roll']})
    refused(peer, zero, 'the position of lift is unknown')
    feed((1.0,), ('winch',))
    refused(peer, zero, 'the position of roll is unknown')
    feed((1.0, 2.0), ('left', 'right'))
    assert zero().success


def test_stale(peer, active_bridge, zero, feed):
    """A joint with a timed-out actuator is rejected until a new state comes."""
    active_bridge({'state_timeout': 0.2, 'zero_joints': ['lift']})
    peer.spin_until(lambda: feed((1.0,), ('winch',)) and zero().success, 'success')
    peer.spin_until(lambda: not zero().success, 'staleness')
    refused(peer, zero, 'the position of lift is unknown')
    peer.spin_until(lambda: feed((1.0,), ('winch',)) and zero().success, 'recovery')


def test_silent_driver(peer, active_bridge, zero, feed):
    """Without a state timeout, too, a driver that fell silent is not believed."""
    active_bridge({'zero_max_age': 0.2})
    feed()
    peer.spin_until(lambda: 'actuator_states is stale' in zero().message, 'staleness')
    before = peer.parameters([LIFT])
    refused(peer, zero, 'zero_max_age')
    assert peer.parameters([LIFT]) == before


def test_silent_driver_beside_another_on_its_topic(peer, active_bridge, zero, feed):
    """A position is not believed that became too old, though its topic is still heard."""
    active_bridge({'zero_max_age': 0.2, 'zero_joints': ['lift']})
    feed((1.0,), ('winch',))

    def message():
        feed((1.0, 2.0), ('left', 'right'))
        return zero().message

    peer.spin_until(lambda: 'the position of lift is unknown' in message(), 'age')
    before = peer.parameters([LIFT])
    feed((1.0, 2.0), ('left', 'right'))
    assert not zero().success
    assert peer.parameters([LIFT]) == before
    peer.spin_until(lambda: feed((1.0,), ('winch',)) and zero().success, 'recovery')


def test_moving(peer, active_bridge, zero, feed):
    """A joint that moves faster than the threshold is refused."""
    active_bridge({'zero_joints': ['lift'], 'zero_max_velocity': 0.5})
    velocity = [0.0] * 6
    velocity[0] = -2.1
    feed(velocity=tuple(velocity))
    refused(peer, zero, 'lift is moving at 0.525')
    velocity[0] = -1.9
    feed(velocity=tuple(velocity))
    assert zero().success


@pytest.mark.parametrize('joint', ['pitch', 'roll'])
def test_held_position(peer, active_bridge, reference, zero, feed, joint):
    """A position command held on the joint or a coupled one must end first."""
    active_bridge({'zero_joints': ['roll']})
    feed()
    commands, controller = peer.listen('actuator_commands'), peer.publisher('joint_commands')
    peer.exchange(controller, reference.Message((joint,), position=(0.1,)), commands)
    refused(peer, zero, 'roll is holding a position command')
    peer.exchange(controller, reference.Message(('roll', 'pitch'), effort=(0.0, 0.0)), commands)
    assert zero().success


def test_a_linkage(peer, active_bridge, reference, zero, linkages):
    """Offsets of motors move its joints to the targets, and are parameters."""
    active_bridge({'robot_description': linkages['five_bar'], 'zero_positions': [0.2, -0.3]})
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')

    def feed(stamp):
        message = reference.Message(('hip_motor', 'knee_motor'), (1.0, -2.0), stamp=stamp)
        (state,) = peer.exchange(driver, message, joints)
        return dict(zip(state.names, state.position, strict=True))

    assert feed((1, 0))['hip'] == pytest.approx(1.0 / 9.0)
    response = zero()
    assert response.success, response.message
    assert response.message.startswith('hip_motor: offset 0.0 -> ')
    state = feed((2, 0))
    assert (state['hip'], state['knee']) == pytest.approx((0.2, -0.3), abs=1e-9)
    assert peer.set_parameters({'zero_positions': [0.2, -3.0]}).successful
    refused(peer, zero, "'leg_linkage' cannot have hip at 0.2, knee at -3")


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'zero_joints': ['finger']}, 'finger has no offset'),
        ({'zero_joints': ['nobody']}, "no joint 'nobody'"),
        ({'zero_joints': ['lift', 'lift']}, 'more than once'),
        ({'zero_joints': ['lift'], 'zero_positions': [1.0, 2.0]}, '2 values for 1 joints'),
        ({'zero_joints': ['lift'], 'zero_positions': [5000.0]}, LIFT),
    ],
)
def test_wrong_wishes(peer, active_bridge, zero, feed, parameters, words):
    """An impossible request is rejected with the reason."""
    active_bridge(parameters)
    feed()
    refused(peer, zero, words)


def test_lists_of_integers_and_of_nothing(peer, active_bridge, zero, feed):
    """Integers are positions; an empty list, which comes without a type, empties both lists."""
    active_bridge({'zero_joints': ['lift', 'roll']})
    feed()
    assert peer.set_parameters({'zero_positions': [2, -1]}).successful
    assert zero().success
    assert feed() == pytest.approx(feed() | {'lift': 2.0, 'roll': -1.0}, abs=1e-12)
    # As ros2 param set sends it: a list of bools.
    for name, before in (('zero_positions', [2.0, -1.0]), ('zero_joints', ['lift', 'roll'])):
        assert peer.parameters([name]) == {name: before}
        (result,) = peer.set_each_parameter({name: []})
        assert result.successful, result.reason
        assert peer.parameters([name]) == {name: []}
    assert peer.set_parameters({'zero_positions': [3]}).successful
    assert peer.parameters(['zero_positions']) == {'zero_positions': [3.0]}


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('zero_positions', ['1', '2'], 'a list of numbers'),
        ('zero_positions', [True, False], 'a list of numbers'),
        ('zero_positions', [2**53 + 1], 'rounded'),
        ('zero_positions', [0.0, math.nan], '-1000000 to 1000000'),
        ('zero_positions', [math.inf], '-1000000 to 1000000'),
        ('zero_positions', [1e300], '-1000000 to 1000000'),
        ('zero_positions', 1.0, 'a list of numbers'),
        ('zero_joints', 'lift', 'a list of texts'),
        ('zero_joints', [1.0], 'a list of texts'),
    ],
)
def test_wrong_types(peer, active_bridge, make_bridge, name, value, words):
    """A value that cannot be accepted is refused with a sentence, at run time and at the start."""
    from transmission_bridge.errors import ParameterError

    active_bridge()
    result = peer.set_parameters({name: value})
    assert not result.successful
    assert words in result.reason
    assert peer.parameters([name]) == {name: []}
    with pytest.raises(ParameterError, match=words):
        make_bridge({name: value}, namespace='other')


# -- from absolute encoders ----------------------------------------------------------------------


@pytest.fixture
def absolute(peer):
    """Return a function that calls the service that takes absolute positions."""
    from std_srvs.srv import Trigger

    name = 'transmission_bridge/zero_from_absolute'
    return lambda: peer.call(Trigger, name, Trigger.Request())


@pytest.fixture
def encoders(peer, reference):
    """Return a function that has absolute positions of actuators taken."""

    def send(position, names):
        heard = peer.listen('joint_absolute_positions')
        sensor = peer.publisher('actuator_absolute_positions')
        peer.exchange(sensor, reference.Message(names, position, stamp=(1, 0)), heard)

    return send


OWN = 'transmissions.hoist.ignore_absolute_encoder'


def test_joints_agree_with_their_absolute_positions(peer, active_bridge, feed, absolute, encoders):
    """A joint with an encoder of its own has its position; others keep their offsets."""
    active_bridge({OWN: True})
    before = feed()
    offsets = peer.parameters([ROLL, PITCH])
    encoders((1.25, 0.5, 0.5), ('winch', 'left', 'right'))
    response = absolute()
    assert response.success, response.message
    assert feed() == pytest.approx(before | {'lift': 1.25}, abs=1e-12)
    assert peer.parameters([ROLL, PITCH]) == offsets
    again = peer.parameters([LIFT])
    assert absolute().success
    assert peer.parameters([LIFT]) == pytest.approx(again, abs=1e-12)


def test_absolute_positions_that_are_mapped_or_missing(
    peer, active_bridge, feed, absolute, encoders
):
    """A joint with an encoder that cannot determine its offset rejects the whole request."""
    active_bridge({OWN: True, 'zero_joints': ['lift', 'roll']})
    feed()
    refused(peer, absolute, 'no fresh absolute position of lift')
    encoders((1.25,), ('winch',))
    refused(peer, absolute, 'the absolute position of roll is mapped with the same offset')
    assert peer.set_parameters({'zero_joints': ['lift']}).successful
    assert absolute().success


def test_absolute_positions_that_are_too_old(peer, active_bridge, feed, absolute, encoders):
    """An encoder that fell silent is not believed (zero_max_age)."""
    active_bridge({OWN: True, 'zero_joints': ['lift'], 'zero_max_age': 0.3})
    feed()
    encoders((1.25,), ('winch',))
    peer.spin_until(lambda: feed() and 'no fresh absolute' in absolute().message, 'age')


def test_calibration_marks_are_offsets_where_asked_for(peer, make_bridge, reference, feed):
    """With calibration_offsets the mark of a joint without an offset is used."""
    urdf = reference.URDF.replace('<offset>0.3</offset>', '')
    joint = '<joint name="lift" type="continuous">'
    assert joint in urdf
    urdf = urdf.replace(joint, f'{joint}<calibration rising="0.125"/>')
    make_bridge({'robot_description': urdf, 'calibration_offsets': True})
    peer.start()
    assert peer.parameters([LIFT]) == {LIFT: 0.125}
