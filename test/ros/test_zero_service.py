# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The services that calibrate, over real DDS, and the file in which their numbers are kept."""

import math
import signal
import time

from bugs import BUG, put_bug
import pytest

RATIO = 'transmissions.hoist.joints.lift.mechanical_reduction'
LIFT = 'transmissions.hoist.joints.lift.offset'
ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'


class Robot:
    """The bridge, and the driver that it hears, as one peer sees them."""

    def __init__(self, peer, reference):
        from rcl_interfaces.srv import SetParametersAtomically
        from std_srvs.srv import Trigger

        self._peer, self._reference, self._service = peer, reference, Trigger
        self._together = SetParametersAtomically
        self._driver = peer.publisher('actuator_states', readers=0)
        self._joints, self._sent = peer.listen('joint_states'), 0

    def zero(self, service='zero'):
        """Call the service."""
        name = f'transmission_bridge/{service}'
        return self._peer.call(self._service, name, self._service.Request())

    def store(self, harness, **values):
        """Return the result of ``~/store_numbers``."""
        request = self._together.Request(parameters=harness.parameter_messages(values))
        return self._peer.call(self._together, 'transmission_bridge/store_numbers', request).result

    def feed(self, position=(0.4, -0.3, 0.2, 11.0, -7.0, 0.6), velocity=(0.0,) * 6):
        """Have a message of all actuators taken, and return the positions of the joints."""
        self._sent += 1
        names = self._reference.ACTUATORS
        message = self._reference.Message(names, position, velocity, stamp=(self._sent, 0))
        (state,) = self._peer.exchange(self._driver, message, self._joints)
        return dict(zip(state.names, state.position, strict=True))


@pytest.fixture
def robot(peer, reference):
    """Return the robot of the bridges in this process."""
    return Robot(peer, reference)


def test_a_driver_without_velocities(active_bridge, robot):
    """Its joints are at rest if their positions show it for 0.3 s."""
    active_bridge()
    robot.feed((0.0,) * 6, ())
    response = robot.zero()
    assert ' is unknown' in response.message
    while ' is unknown' in response.message:
        robot.feed((0.0,) * 6, ())
        response = robot.zero()
    assert response.success, response.message


def test_an_unknown_turn_is_settled_without_an_offset(peer, active_bridge, robot):
    """If the joints are there but for whole turns; otherwise the offset corrects the rest."""
    options = {'wrap_period': [f'winch={math.tau}'], 'state_timeout': 60.0}
    active_bridge({'zero_joints': ['lift', 'dial'], **options})
    assert 'lift' not in robot.feed()
    before = peer.parameters([LIFT])
    there = [0.3 - (0.4 + 2.0 * math.tau) / 4.0, (0.4 + 2.0 * math.tau) / 10.0 - 0.05]
    for away, words in ((0.001, 'lift: the turn is known, its offset is kept'), (1.0, '-> ')):
        assert peer.set_parameters({'zero_positions': [there[0] + away, there[1]]}).successful
        response = robot.zero()
        assert response.success, response.message
        assert words in response.message
        assert (peer.parameters([LIFT]) == before) == (away < 0.01)
        expected = there[0] + (0.0 if away < 0.01 else away)
        assert robot.feed()['lift'] == pytest.approx(expected, abs=1e-9)


def test_refusals(peer, make_bridge, reference, harness, robot, monkeypatch, log):
    """In other states than active, of unknown joints and by a bug: offsets stay, with a reason."""
    make_bridge({'robot_description': reference.URDF})
    services = 'transmission_bridge.ros.calibration_services'
    monkeypatch.setattr(f'{services}.MAX_AGE', 0.2)
    for step, words in (
        ('', 'not active'),
        ('configure', 'not active'),
        ('activate', 'is unknown: no fresh actuator state'),
        ('silence', 'is stale: no usable message for '),
        ('bug', BUG),
        ('deactivate', 'not active'),
    ):
        if step in ('silence', 'bug'):
            robot.feed()
        if step == 'silence':
            silent = time.monotonic() + 0.3
            peer.spin_until(lambda: time.monotonic() > silent, 'time')
        elif step and step != 'bug':
            assert peer.change_state(step)
        before = peer.parameters([LIFT, ROLL, PITCH])
        with monkeypatch.context() as patch:
            if step == 'bug':
                patch.setattr(f'{services}.CalibrationServices._read_fresh_state', put_bug)
            response, result = robot.zero(), robot.store(harness, **{LIFT: 1.0})
        assert (response.success, result.successful) == (False, False)
        assert words in response.message
        assert ('no state of' if step == 'activate' else words if step else LIFT) in result.reason
        assert peer.parameters([LIFT, ROLL, PITCH]) == before
    assert log('Traceback') == 2


def test_lists_of_integers_and_of_nothing(peer, active_bridge, robot):
    """Integers are positions; an empty list, which comes without a type, empties both lists."""
    active_bridge({'zero_joints': ['lift', 'roll']})
    before = robot.feed()
    assert peer.set_parameters({'zero_positions': [2, -1]}).successful
    response = robot.zero()
    assert response.success, response.message
    assert response.message.count('offset') == 2
    assert f'lift: offset 0.3 -> {peer.parameters([LIFT])[LIFT]!r}' in response.message
    assert robot.feed() == pytest.approx(before | {'lift': 2.0, 'roll': -1.0}, abs=1e-12)
    for name, values in (('zero_positions', [2.0, -1.0]), ('zero_joints', ['lift', 'roll'])):
        (result,) = peer.set_each_parameter({name: None})
        assert (result.successful, bool(result.reason)) == (False, True)
        assert peer.parameters([name]) == {name: values}
        # As ros2 param set sends it: a list of bools.
        (result,) = peer.set_each_parameter({name: []})
        assert result.successful, result.reason
        assert peer.parameters([name]) == {name: []}
    assert peer.set_parameters({'zero_positions': [3]}).successful
    assert peer.parameters(['zero_positions']) == {'zero_positions': [3.0]}


def test_joints_agree_with_their_absolute_positions(peer, active_bridge, reference, robot):
    """A joint with an encoder of its own has its position; others keep their offsets."""
    active_bridge({'transmissions.hoist.ignore_absolute_encoder': True})
    before = robot.feed()
    offsets = peer.parameters([ROLL, PITCH])
    assert not robot.zero('zero_from_absolute').success
    reading = reference.Message(('winch', 'left', 'right'), (1.25, 0.5, 0.5))
    heard = peer.listen('joint_absolute_positions')
    peer.exchange(peer.publisher('actuator_absolute_positions'), reading, heard)
    response = robot.zero('zero_from_absolute')
    assert response.success, response.message
    assert robot.feed() == pytest.approx(before | {'lift': 1.25}, abs=1e-12)
    assert peer.parameters([ROLL, PITCH]) == offsets


def test_numbers_are_set_together_or_not_at_all(peer, active_bridge, harness, robot):
    """Only numbers of transmissions are set, and all of them or none, with the reason."""
    active_bridge()
    robot.feed()
    before = peer.parameters([RATIO, LIFT, ROLL, 'zero_joints'])
    flag = 'transmissions.hoist.ignore_absolute_encoder'
    for others, words in (
        ({}, 'expected numbers of transmissions, found an empty list'),
        ({LIFT: 1.0, 'zero_joints': ['lift']}, "numbers of transmissions, found 'zero_joints'"),
        ({LIFT: 1.0, flag: True}, f"expected numbers of transmissions, found '{flag}'"),
        ({LIFT: 1.0, ROLL: 'a'}, f'parameter {ROLL} has the wrong type (expected a number'),
        ({LIFT: 1.0, ROLL: math.nan}, 'expected a finite number, found nan'),
        ({LIFT: 1.0, RATIO: 0.0}, 'expected a number other than zero, found 0.0'),
    ):
        result = robot.store(harness, **others)
        assert not result.successful
        assert words in result.reason
        assert peer.parameters(before) == before
    result = robot.store(harness, **{LIFT: 1, RATIO: -5.0})
    assert result.successful, result.reason
    assert result.reason == 'not stored for the next start, because tuned_file is empty'
    assert peer.parameters([LIFT, RATIO]) == {LIFT: 1.0, RATIO: -5.0}
    assert robot.feed()['lift'] == pytest.approx(1.0 - 0.4 / 5.0, abs=1e-12)


def test_numbers_are_set_at_rest(peer, active_bridge, harness, reference, robot):
    """
    Not while a joint of their transmission holds a position or moves; others do not matter.

    The refusal names the commands that end the hold, and after these both services succeed.
    """
    active_bridge({'zero_joints': ['lift']})
    robot.feed()
    command = reference.Message(('lift',), position=(0.1,))
    peer.exchange(peer.publisher('joint_commands'), command, peer.listen('actuator_commands'))
    robot.feed(velocity=(0.0, 0.5, 0.0, 0.0, 0.0, 0.0))
    before = peer.parameters([LIFT, ROLL])
    elbow = {'transmissions.arm.joints.elbow.offset': 1.0}
    name = '/transmission_bridge'
    words = (
        'lift is holding a position command',
        *(f'"ros2 lifecycle set {name} {step}"' for step in ('deactivate', 'activate')),
        'start it again with -p autostart:=true',
    )
    moving = robot.store(harness, **{ROLL: 1.0}, **elbow)
    assert (moving.successful, 'is moving at ' in moving.reason) == (False, True)
    held, zero = robot.store(harness, **{LIFT: 1.0}, **elbow), robot.zero()
    assert (held.successful, zero.success) == (False, False)
    for service, message in (('store_numbers rcl_', held.reason), ('zero std_', zero.message)):
        for each in (*words, f'"ros2 service call {name}/{service}'):
            assert each in message
    assert peer.parameters([LIFT, ROLL]) == before
    assert robot.store(harness, **elbow).successful
    peer.pass_through('deactivate', 'activate')
    robot.feed()
    assert robot.zero().success
    assert robot.store(harness, **{LIFT: 1.0}).successful


# -- the file that keeps them ---------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that is not there yet."""
    return tmp_path / 'tuned.json'


def test_numbers_survive_a_restart(live, harness, reference, path):
    """
    Numbers of both services survive a killed process, with those on which they depend.

    A parameter file or another URDF overrides them; rejected numbers are an error.
    """

    def restart(**values):
        values |= harness.PATIENT
        process, peer = live(tuned_file=path, how={'env': harness.KILLED}, **values)
        robot = Robot(peer, reference)
        robot.feed()
        return process, peer, robot

    process, peer, robot = restart()
    reverse = {RATIO: 4.0, 'zero_joints': ['lift'], 'zero_positions': [0.5]}
    assert peer.set_parameters(reverse).successful
    message = robot.zero().message
    assert f'stored in {str(path)!r} together with' in message
    assert f'{RATIO.removeprefix("transmissions.")} 4.0 (URDF -4.0)' in message
    result = robot.store(harness, **{ROLL: 0.5, PITCH: 0.25})
    assert f'stored in {str(path)!r} together with' in result.reason
    numbers, lift = peer.parameters([RATIO, LIFT, ROLL, PITCH]), robot.feed()['lift']
    process.stop(signal.SIGKILL)

    process, peer, robot = restart(**{ROLL: 0.75})
    process.wait_for('numbers of tuned_file differ from the URDF')
    assert peer.parameters(numbers) == {**numbers, ROLL: 0.75}
    assert robot.feed()['lift'] == lift == pytest.approx(0.5, abs=1e-12)
    result = robot.store(harness, **{ROLL: 1.0})
    assert f'at the next start the parameter file overrides {ROLL!r}' in result.reason
    process.ends_well()

    changed = reference.URDF.replace('<offset>-0.2</offset>', '<offset>0.625</offset>')
    process, peer, robot = restart(urdf=changed, **{RATIO: -4.0})
    process.wait_for(f"the numbers of 'hoist' are rejected: {RATIO} is 4.0")
    process.wait_for(f'they replaced {PITCH} = -0.2, but the URDF now has 0.625')
    assert peer.parameters(numbers) == {RATIO: -4.0, LIFT: 0.3, ROLL: 0.1, PITCH: 0.625}
    harness.Diagnostics(peer).said('life cycle', 'but the URDF now has 0.625', level=b'\x02')
    process.ends_well()


def test_file_that_cannot_be_used(
    active_bridge, make_bridge, reference, harness, peer, path, robot, log
):
    """Of another node, the robot stands still with a sentence; unwritable, nothing is set."""
    active_bridge({'tuned_file': str(path)})
    # It belongs to this node, before a number is in it.
    make_bridge({'robot_description': reference.URDF, 'tuned_file': str(path)}, namespace='second')
    assert not peer.change_state('configure', 'second/transmission_bridge')
    assert log('configure failed', 'a file belongs to one node') > 0
    before = peer.parameters([LIFT, ROLL])
    path.unlink()
    path.mkdir()
    robot.feed()
    answer, result = robot.zero(), robot.store(harness, **{LIFT: 1.0})
    assert (answer.success, result.successful) == (False, False)
    assert 'cannot be used' in answer.message
    assert 'cannot be used' in result.reason
    assert peer.parameters([LIFT, ROLL]) == before
