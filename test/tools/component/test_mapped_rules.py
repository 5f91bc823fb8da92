# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the component sends, refuses and reports, against the maps in Python, cycle by cycle."""

from __future__ import annotations

import math

from mapped_scene import SCENE, SceneManager
import pytest

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')

#: Bits of the status.
HALF, ACTUATOR_LIMIT, FOLLOWER, JOINT_LIMIT, REACHED, STEP, REFUSED = (64 << k for k in range(7))
FINGER = '<joint name="finger"><command_interface name="position"/>'


@pytest.fixture
def manage(build_once, tmp_path):
    """Return a function that starts a manager; each has to end well."""
    started = []

    def start(*edits, active='active', version='new', **parameters):
        text = SCENE
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        params = (f'<param name="{name}">{value}</param>' for name, value in parameters.items())
        text = text.replace('<!-- more -->', ''.join(params))
        program = build_once(SCENE, 'scene_map', version)
        started.append(SceneManager([program], text, tmp_path, active))
        return started[-1]

    yield start
    for each in started:
        assert each.end() == 0, each.log


# -- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('then', ['', '+wrist', '+rates'])
@pytest.mark.parametrize('zero_effort', ['false', 'true'])
def test_the_zero_of_an_effort_controller_arrives(manage, then, zero_effort):
    """It is written when the claim is gone, and sent once, also if another mode starts."""
    it = manage(zero_effort=zero_effort)
    it('zeros efforts')
    it.activate('efforts', 2.0, -0.5)
    assert it.is_sent('effort', pitch=2.0, roll=-0.5)
    assert it(f'switch -efforts {then}') == 'ok'
    assert it.is_sent('effort', pitch=0.0, roll=0.0)


def test_a_released_effort_is_that_of_the_controller_or_zero(manage):
    """A controller that leaves its value keeps it; zero_effort ends it."""
    for zero_effort, left in (('false', (2.0, -0.5)), ('true', (0.0, 0.0))):
        it = manage(zero_effort=zero_effort)
        it.activate('efforts', 2.0, -0.5)
        it('switch -efforts', 'cycle 3')
        assert it.is_sent('effort', pitch=left[0], roll=left[1])


def test_at_a_dead_centre_only_zero_has_a_result(manage):
    """No force of the cylinder moves the crank there; an effort that is released is zero then."""
    it = manage()
    it('switch +torque')
    it.measure('position', knee=0.1)
    it.move('torque', 2.0, cycles=2)
    assert it.is_sent('effort', at={'knee': 0.1}, knee=2.0)
    it.measure('position', knee=-1.5)
    it('cycle 2')
    assert it.is_sent('effort', at={'knee': 0.1}, knee=2.0)
    assert it('states')['leg/status'] == 8
    assert 'its actuators hold: velocity or effort at a dead centre' in it.log
    it.move('torque', 0.0)
    assert it.find_commands('effort')['cylinder'] == 0.0
    it.measure('position', knee=0.1)
    it.move('torque', 2.0, cycles=2)
    it.measure('position', knee=-1.5)
    it('cycle 1', 'switch -torque')
    assert it.find_commands('effort')['cylinder'] == 0.0


def test_a_value_that_a_handle_does_not_accept_is_sent_later(manage):
    """What is sent once must arrive: another thread may hold the interface of the driver."""
    it = manage()
    it.activate('rates', 0.1, 0.2)
    it('lock m1/velocity 2', 'switch -rates')
    assert it.find_commands('velocity')['m1'] == pytest.approx(15.0)
    it('cycle 2')
    assert it.find_commands('velocity')['m1'] == 0.0
    # The driver has the zero before it is switched off.
    it.activate('rates', 0.1, 0.2)
    assert it('lock m1/velocity 20', 'component scene inactive') == 'ok'
    assert it.find_commands('velocity')['m1'] == 0.0


@pytest.mark.parametrize('version', ['new', 'old'])
def test_no_call_of_the_driver_has_a_period_of_zero(manage, version):
    """A driver may divide by it, also with the names of former versions of ros2_control."""
    it = manage(version=version)
    it.activate('rates', 0.1, 0.2)
    it('component scene inactive', 'component scene active', 'switch -rates')
    it.activate('rates', 0.1, 0.2)
    assert it('shutdown', 'zero_periods') == '0'


def test_an_asynchronous_component_has_the_zero_of_the_controller(manage):
    """It is written while the thread of the component reads and writes."""
    it = manage(('type="system"', 'type="system" is_async="true"'))
    it('zeros efforts')
    for _ in range(20):
        it.activate('efforts', 2.0, -0.5, cycles=3)
        it('switch -efforts', 'cycle 3')
        it('component scene active')  # waits for the thread
        assert it.is_sent('effort', pitch=0.0, roll=0.0)


# -- a half that restarts ------------------------------------------------------------------------


def test_a_restarted_half_makes_no_step(manage):
    """Its partner waits at the measured position until it is commanded near it."""
    it = manage()
    it.measure('position', pitch=0.1, roll=0.2)
    it('switch +pitch +roll', 'cycle 1')
    assert it.is_sent('position', pitch=0.1, roll=0.2)
    it('switch -pitch')
    it.move('roll', 0.9, cycles=5)
    assert it('states')['wrist/status'] == HALF
    assert it.is_sent('position', pitch=0.1, roll=0.2)
    assert it('switch +pitch') == 'ok'
    it('cycle 5')
    assert it.is_sent('position', pitch=0.1, roll=0.2)
    assert it('states')['wrist/status'] == STEP
    it.move('pitch', 0.15)
    assert it.is_sent('position', pitch=0.15, roll=0.2)
    it.move('roll', 0.25)
    assert it.is_sent('position', pitch=0.15, roll=0.25)
    it.move('roll', 0.5)
    assert it.is_sent('position', pitch=0.15, roll=0.5)


def test_a_command_from_before_the_activation_makes_no_step(manage):
    """A controller that was active while the component was not waits also."""
    it = manage(active='inactive')
    it.activate('lift', 0.7, cycles=3)
    assert it('component scene active') == 'ok'
    it('cycle 5')
    assert it.is_sent('position', lift=0.0)
    it.move('lift', 0.1)
    assert it.is_sent('position', lift=0.1)


@pytest.mark.parametrize('max_step', ['off', 'warn', 'reject'])
def test_steps(manage, max_step):
    """A position is at most 0.15 s at the velocity limit away from the measured one."""
    it = manage(max_step=max_step)
    it.activate('lift', 0.29)
    assert it.is_sent('position', lift=0.29)
    it.move('lift', 0.7, cycles=2)
    rejects = max_step == 'reject'
    assert it.is_sent('position', lift=0.29 if rejects else 0.7)
    assert it('states')['hoist/status'] == (STEP if rejects else 0)
    assert ('a position too far from the last one' in it.log) == (max_step != 'off')


# -- limits --------------------------------------------------------------------------------------


#: Interfaces, measured positions and velocities, commands, what is sent with clamp, and the bits.
LIMITS = {
    'position of a joint': (
        'position', {}, {'pitch': 1.5, 'roll': 0.1}, {'pitch': 1.0}, JOINT_LIMIT),
    'velocity of a joint': (
        'velocity', {}, {'pitch': -3.0, 'roll': 0.1}, {'pitch': -2.0}, JOINT_LIMIT),
    'effort of a joint': (
        'effort', {}, {'pitch': 1.0, 'roll': -9.0}, {'roll': -5.0}, JOINT_LIMIT),
    'velocity at a limit of a joint': (
        'velocity', {'pitch': 1.0}, {'pitch': 0.5, 'roll': 0.2}, {'pitch': 0.0}, REACHED),
    'velocity beyond a limit of a joint': (
        'velocity', {'roll': -1.2}, {'pitch': 0.5, 'roll': -0.2}, {'roll': 0.0}, REACHED),
    'velocity away from a limit': (
        'velocity', {'pitch': 1.0}, {'pitch': -0.5, 'roll': 0.2}, {}, 0),
    'position of an actuator': ('position', {}, {'lift': 0.9}, {'lift': 0.8}, ACTUATOR_LIMIT),
    'velocity of an actuator': ('velocity', {}, {'lift': -1.5}, {'lift': -0.9}, ACTUATOR_LIMIT),
    'velocity at a limit of an actuator': (
        'velocity', {'lift': 0.8}, {'lift': 0.3}, {'lift': 0.0}, REACHED),
    'velocity beyond a limit of an actuator': (
        'velocity', {'lift': -0.85}, {'lift': -0.3}, {'lift': 0.0}, REACHED),
    'velocity away from a limit of an actuator': (
        'velocity', {'lift': 0.8}, {'lift': -0.3}, {}, 0),
}  # fmt: skip


@pytest.mark.parametrize('limits', ['clamp', 'reject', 'off'])
@pytest.mark.parametrize('case', LIMITS)
def test_limits(manage, case, limits):
    """Clamp changes a number, reject holds, off sends it; the status has the reason."""
    interface, place, command, changes, bits = LIMITS[case]
    it = manage(limits=limits, max_step='off')
    it.script('all', *(f'{name}/{interface}' for name in command))
    it.measure('position', **dict.fromkeys(command, 0.0) | place)
    it('switch +all')
    zeros = dict.fromkeys(command, 0.0)
    it.move('all', *(zeros | place if interface == 'position' else zeros).values())
    it.move('all', *command.values(), cycles=2)
    if limits == 'off' or not bits:
        assert it.is_sent(interface, **command)
    elif limits == 'clamp':
        assert it.is_sent(interface, **command | changes)
    else:
        assert it.is_sent(interface, **zeros)
    name = 'hoist' if 'lift' in command else 'wrist'
    assert it('states')[f'{name}/status'] == (0 if limits == 'off' else bits)
    it('cycle 60')
    ends = limits == 'reject' and bits
    assert it('components') == {'scene': 'inactive' if ends else 'active'}


@pytest.mark.parametrize('limits', ['clamp', 'reject'])
def test_a_joint_that_starts_beyond_a_limit_does_not_move(manage, limits):
    """It stays, and moves inward only."""
    it = manage(limits=limits, hold_timeout='0')
    it.measure('position', pitch=1.1, roll=0.0, lift=0.85)  # the winch is beyond its limit of 0.8
    it('switch +wrist +lift', 'cycle 2')
    assert it.is_sent('position', pitch=1.1, roll=0.0, lift=0.85)
    assert (it('states')['wrist/status'], it('states')['hoist/status']) == (0, 0)
    it('set lift 0.9')
    it.move('wrist', 1.2, 0.05, cycles=2)
    assert it.is_sent('position', pitch=1.1, roll=0.0 if limits == 'reject' else 0.05, lift=0.85)
    states = it('states')
    assert (states['wrist/status'], states['hoist/status']) == (JOINT_LIMIT, ACTUATOR_LIMIT)
    it('set lift 0.82')
    it.move('wrist', 1.05, 0.0)
    assert it.is_sent('position', pitch=1.05, roll=0.0, lift=0.82)
    if limits == 'clamp':
        it('set lift 0.84')
        it.move('wrist', 1.08, 0.0)
        assert it.is_sent('position', pitch=1.05, roll=0.0, lift=0.82)


def test_an_effort_beyond_a_limit_holds_a_load(manage):
    """It becomes zero only while the joint moves outward."""
    it = manage()
    it.measure('position', pitch=1.1, roll=0.0)
    it.measure('velocity', pitch=0.0, roll=0.0)
    it.activate('efforts', 2.0, 0.5, cycles=2)
    assert it.is_sent('effort', pitch=2.0, roll=0.5)
    it.measure('velocity', pitch=0.05, roll=0.0)
    it('cycle 2')
    assert it.is_sent('effort', pitch=0.0, roll=0.5)
    assert it('states')['wrist/status'] == REACHED
    it.move('efforts', -2.0, 0.5)
    assert it.is_sent('effort', pitch=-2.0, roll=0.5)


def test_a_joint_that_follows_keeps_its_limits(manage):
    """A position has no result; velocities are scaled, and zero towards a position limit."""
    it = manage((FINGER, f'{FINGER}<command_interface name="velocity"/>'))
    it('switch +grip')
    for position in (0.1, 0.3):  # the thumb would be at -0.5 of -0.3
        it.move('grip', position)
        assert it.is_sent('position', finger=0.1)
    assert it('cycle 1', 'states')['grip/status'] == FOLLOWER
    it('switch -grip +close')
    it.move('close', 1.5, cycles=2)  # the thumb would move at -3 of 2
    assert it.find_commands('velocity')['screw'] == pytest.approx(10.0)
    assert it('states')['grip/status'] == FOLLOWER
    it('measure screw/position 2')  # the thumb is at its limit
    it.move('close', 0.1, cycles=2)
    assert it.find_commands('velocity')['screw'] == 0.0
    it.move('close', -0.1)
    assert it.find_commands('velocity')['screw'] == pytest.approx(-1.0)


# -- states of the driver ------------------------------------------------------------------------


@pytest.mark.parametrize(('fault', 'state', 'words'), [
    ('activate_failure', 'inactive', 'on_activate returned FAILURE: remove the cause and repeat'),
    ('activate', 'unconfigured', 'on_activate returned ERROR: remove the cause, then configure'),
])  # fmt: skip
def test_an_activation_that_fails_in_the_driver_fails_here(manage, fault, state, words):
    """In the state of the driver, with a sentence; the advice works."""
    it = manage(active='inactive')
    it('calls', f'fault {fault}')
    assert (it('component scene active'), it('components')) == ('failed', {'scene': state})
    assert f"driver 'test_motors/Motors': {words}" in it.log
    assert it('calls').count('error') == (state == 'unconfigured')
    assert it('component scene active') == 'ok'
    assert it('calls') == (['activate'] if state == 'inactive' else ['configure', 'activate'])


def test_a_deactivation_that_fails_in_the_driver_fails_here(manage):
    """It stays active, and its motors have their zeros."""
    it = manage()
    it('fault deactivate_failure')
    assert (it('component scene inactive'), it('components')) == ('failed', {'scene': 'active'})
    assert 'on_deactivate returned FAILURE' in it.log


def test_a_mode_that_the_driver_refuses_is_reported_and_ends(manage):
    """The controllers do not go on without effect: the component is deactivated."""
    it = manage()
    it.activate('lift_rate', 0.1)
    assert it.find_commands('velocity')['winch'] != 0.0
    it('fault prepare')
    assert it('switch -lift_rate +lift') == 'refused'
    assert math.isnan(it.find_commands('position')['winch'])
    it('fault perform')
    assert it('switch -lift_rate +lift') == 'refused'
    assert it.find_commands('velocity')['winch'] == 0.0
    assert it('cycle 2', 'states')['hoist/status'] == REFUSED
    assert "driver 'test_motors/Motors': perform_command_mode_switch returned no OK" in it.log
    assert "'hoist' of joint 'lift': no result, its actuators hold: the driver refused" in it.log
    assert it('cycle 60', 'components') == {'scene': 'inactive'}
    assert 'active' not in it('controllers').values()
    it('component scene active')
    it.activate('lift', 0.1)
    assert it.is_sent('position', lift=0.1)


def test_a_report_is_repeated_once_per_second(manage):
    """A reason that lasts is no flood."""
    it = manage(hold_timeout='0', limits='reject')
    it.activate('wrist', 1.5, 0.1, cycles=500)
    words = "'wrist' of joint 'pitch': no result, its actuators hold: a limit of a joint"
    assert 5 <= it.log.count(words) <= 6


# -- what is refused -----------------------------------------------------------------------------

REDUCTION = 'transmission[hoist]/joint[lift]/mechanical_reduction'
THUMB = '<joint name="thumb"><state_interface'
PITCH = '<axis xyz="0 1 0"/>\n    <limit lower="-1" upper="1"'
#: Edits of the description or parameters, and the place, expectation and finding of the log.
WRONG_STARTS = [
    ({'hold_timout': '1'}, "parameter 'hold_timout': expected 'hold_timeout', or a name"),
    ({'limit': 'clamp'}, "parameter 'limit': expected 'limits', or a name"),
    ({'limits': 'none'}, "parameter 'limits': expected clamp or reject or off, found 'none'"),
    ({'hold_timeout': '-1'}, "parameter 'hold_timeout': expected a number from zero on, found -1"),
    ({'hold_timeout': '0.5s'}, "parameter 'hold_timeout': expected a number, found '0.5s'"),
    ({'wrap_period': 'm1=7'}, "'wrap_period', actuator 'm1': expected the one actuator of one"),
    ({'wrap_period': 'screw=5'}, "'wrap_period', actuator 'screw': expected position limits of its"
     ' joint that are less than a turn apart, found 2 turns'),
    (('>100<', '>4O<'), f"{REDUCTION}: expected a number, found '4O'"),
    # A missing number is compared with the compiled one.
    (('<mechanical_reduction>100</mechanical_reduction>', ''),
     f"{REDUCTION}: expected '100' of package scene_map, found none"),
    (('"-80" upper="80"', '"80" upper="-80"'),
     "limits of actuator 'winch': expected a lower position limit that is not above the upper "
     'one, found 80 and -80'),
    ((PITCH, PITCH.replace('"-1" upper="1"', '"1" upper="-1"')),
     "limits of joint 'pitch': expected a lower position limit that is not above the upper one, "
     'found 1 and -1'),
    ((THUMB, THUMB.replace('<state', '<command_interface name="position"/><state')),
     "joint 'thumb': expected no command interface, because other joints move it"),
]  # fmt: skip


@pytest.mark.parametrize(('change', 'words'), WRONG_STARTS)
def test_a_wrong_start_is_refused(manage, change, words):
    """With place, expectation and finding."""
    it = manage(**change) if isinstance(change, dict) else manage(change)
    assert it('components') == {}
    assert words in it.log


def test_nan_of_a_driver_is_nan(manage):
    """Its joints are unknown, and no limit or step is computed from it."""
    it = manage()
    it('measure m1/position nan')
    it.activate('rates', 0.1, 0.2, cycles=2)
    assert math.isnan(it('states')['pitch/position'])
    assert it.is_sent('velocity', pitch=0.1, roll=0.2)
