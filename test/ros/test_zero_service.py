# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The service that calibrates, over real DDS."""

from __future__ import annotations

import math
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


def test_joints_are_where_they_are_wanted(peer, active_bridge, reference, zero, feed):
    """All with an offset at zero by default, else those of the parameters; others stay."""
    active_bridge()
    before = feed()
    response = zero()
    assert response.success, response.message
    after = feed()
    assert after.pop('finger') == before['finger'] == 0.6
    assert set(after) == set(reference.JOINTS) - {'finger'}
    assert list(after.values()) == pytest.approx([0.0] * 6, abs=1e-12)
    # The offsets survive cleanup and configure, as parameters do that were set.
    before = peer.parameters([LIFT, ROLL, PITCH])
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)
    assert peer.parameters([LIFT, ROLL, PITCH]) == before
    assert peer.set_parameters({'zero_joints': ['lift'], 'zero_positions': [2.0]}).successful
    feed()
    response = zero()
    assert response.success, response.message
    after = peer.parameters([LIFT, ROLL, PITCH])
    assert feed()['lift'] == pytest.approx(2.0, abs=1e-12)
    assert {**after, LIFT: 0.0} == {**before, LIFT: 0.0}
    assert response.message.count('offset') == 1
    assert f'lift: offset {before[LIFT]!r} -> {after[LIFT]!r}' in response.message


def test_an_unknown_turn_is_settled_without_an_offset(peer, active_bridge, zero, feed):
    """If the joints are there but for whole turns; otherwise the offset corrects the rest."""
    options = {'wrap_period': [f'winch={math.tau}'], 'state_timeout': 60.0}
    active_bridge({'zero_joints': ['lift', 'dial'], **options})
    assert 'lift' not in feed()
    before = peer.parameters([LIFT])
    there = [0.3 - (0.4 + 2.0 * math.tau) / 4.0, (0.4 + 2.0 * math.tau) / 10.0 - 0.05]
    for away, words in ((0.001, 'lift: the turn is known, its offset is kept'), (1.0, '-> ')):
        assert peer.set_parameters({'zero_positions': [there[0] + away, there[1]]}).successful
        response = zero()
        assert response.success, response.message
        assert words in response.message
        assert (peer.parameters([LIFT]) == before) == (away < 0.01)
        expected = there[0] + (0.0 if away < 0.01 else away)
        assert feed()['lift'] == pytest.approx(expected, abs=1e-9)


def test_refusals(peer, make_bridge, reference, zero, feed, monkeypatch, log):
    """In other states than active, of unknown joints and by a bug: offsets stay, with a reason."""

    def put_bug(*args, **kwargs):
        raise ZeroDivisionError('put there')

    make_bridge({'robot_description': reference.URDF, 'zero_max_age': 0.2})
    for step, words in (
        ('', 'not active'),
        ('configure', 'not active'),
        ('activate', 'is unknown: no fresh actuator state'),
        ('silence', 'is stale: no usable message for '),
        ('bug', 'put there'),
        ('deactivate', 'not active'),
    ):
        if step in ('silence', 'bug'):
            feed()
        if step == 'silence':
            silent = time.monotonic() + 0.3
            peer.spin_until(lambda: time.monotonic() > silent, 'time')
        elif step and step != 'bug':
            assert peer.change_state(step)
        before = peer.parameters([LIFT, ROLL, PITCH])
        with monkeypatch.context() as patch:
            if step == 'bug':
                patch.setattr('transmission_bridge.ros.zero_service._check_driver_ages', put_bug)
            response = zero()
        assert not response.success
        assert words in response.message
        assert peer.parameters([LIFT, ROLL, PITCH]) == before
    assert log('Traceback') == 1


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
