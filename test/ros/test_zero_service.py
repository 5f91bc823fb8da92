# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The service that calibrates, over real DDS."""

from __future__ import annotations

import time

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
    # The offsets survive cleanup and configure, as parameters do that were set.
    offset = peer.parameters([LIFT])
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)
    assert peer.parameters([LIFT]) == offset


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


def test_bug(peer, active_bridge, zero, feed, monkeypatch, log):
    """A bug is answered and logged with its traceback, and the node goes on."""

    def put_bug(*args, **kwargs):
        raise ZeroDivisionError('put there')

    active_bridge()
    feed()
    with monkeypatch.context() as patch:
        patch.setattr('transmission_bridge.ros.zero_service.find_zero_offsets', put_bug)
        response = zero()
    assert not response.success
    assert 'put there' in response.message
    assert log('Traceback') == 1
    assert zero().success


def test_refusals(peer, make_bridge, reference, zero, feed):
    """The service is refused in every state but active, and where its joints are unknown."""
    make_bridge({'robot_description': reference.URDF, 'zero_max_age': 0.2})
    for transition, words in (
        ('', 'not active'),
        ('configure', 'not active'),
        ('activate', 'is unknown: no fresh actuator state'),
        ('silence', 'is stale: no usable message for '),
        ('deactivate', 'not active'),
    ):
        if transition == 'silence':
            feed()
            silent = time.monotonic() + 0.3
            peer.spin_until(lambda: time.monotonic() > silent, 'time')
            transition = ''
        assert not transition or peer.change_state(transition)
        before = peer.parameters([LIFT, ROLL, PITCH])
        response = zero()
        assert not response.success
        assert words in response.message
        assert peer.parameters([LIFT, ROLL, PITCH]) == before


def test_lists_of_integers_and_of_nothing(peer, active_bridge, zero, feed):
    """Integers are positions; an empty list, which comes without a type, empties both lists."""
    active_bridge({'zero_joints': ['lift', 'roll']})
    feed()
    assert peer.set_parameters({'zero_positions': [2, -1]}).successful
    assert zero().success
    assert feed() == pytest.approx(feed() | {'lift': 2.0, 'roll': -1.0}, abs=1e-12)
    for name in ('zero_positions', 'zero_joints'):
        (result,) = peer.set_each_parameter({name: None})
        assert (result.successful, 'empty list' in result.reason) == (False, True)
    # As ros2 param set sends it: a list of bools.
    for name, before in (('zero_positions', [2.0, -1.0]), ('zero_joints', ['lift', 'roll'])):
        assert peer.parameters([name]) == {name: before}
        (result,) = peer.set_each_parameter({name: []})
        assert result.successful, result.reason
        assert peer.parameters([name]) == {name: []}
    assert peer.set_parameters({'zero_positions': [3]}).successful
    assert peer.parameters(['zero_positions']) == {'zero_positions': [3.0]}


# -- from absolute encoders ----------------------------------------------------------------------


def test_joints_agree_with_their_absolute_positions(peer, active_bridge, reference, feed):
    """A joint with an encoder of its own has its position; others keep their offsets."""
    from std_srvs.srv import Trigger

    def absolute():
        name = 'transmission_bridge/zero_from_absolute'
        return peer.call(Trigger, name, Trigger.Request())

    active_bridge({'transmissions.hoist.ignore_absolute_encoder': True})
    before = feed()
    offsets = peer.parameters([ROLL, PITCH])
    assert not absolute().success
    reading = reference.Message(('winch', 'left', 'right'), (1.25, 0.5, 0.5))
    heard = peer.listen('joint_absolute_positions')
    peer.exchange(peer.publisher('actuator_absolute_positions'), reading, heard)
    response = absolute()
    assert response.success, response.message
    assert feed() == pytest.approx(before | {'lift': 1.25}, abs=1e-12)
    assert peer.parameters([ROLL, PITCH]) == offsets
