# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A bridge with drivers in other units equals the bridge in SI after conversion."""

from __future__ import annotations

import math

from command_paths import check_ratios, Commands, reason
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import record, StatePath
from zoo.elements import leg, params, ratio, transmission, urdf

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.implausible_numbers import find_implausible_numbers
from transmission_bridge.bridge.inspection import inspect_actuators
from transmission_bridge.bridge.outlets import DriverNames
from transmission_bridge.bridge.robot_plan import find_motor_bounds
from transmission_bridge.bridge.sensors import SensorPath
from transmission_bridge.bridge.zeroing import find_zero_offsets
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import Layout
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import EMPTY

FIELDS = ('position', 'velocity', 'effort')
UNITS = {
    'winch': {
        'position_unit': 'turn',
        'velocity_unit': 'rpm',
        'effort_unit': 'A',
        'torque_constant': '0.05',
    },
    'left': {
        'position_unit': 'tick',
        'velocity_unit': 'tick/s',
        'ticks_per_turn': '4096',
        'effort_unit': '0.1 percent',
        'rated_effort': '0.5',
    },
    'cylinder': {'position_unit': 'mm', 'effort_unit': 'N'},
    'pull': {'position_unit': 'deg'},
}
NAMES = ('lift', 'pitch', 'roll', 'knee', 'alone', 'x', 'y', 'z')
#: Somewhere within the leg's range.
PLACE = np.array([1.4 if name == 'knee' else 0.2 for name in NAMES])


@pytest.fixture(scope='module')
def twins():
    """Return the robot in SI, and with units of its drivers."""

    def build(units):
        own = {name: params(**units.get(name, {})) for name in UNITS}
        own['winch'] += '<limit lower="-20" upper="30" velocity="40" effort="3"/>'
        own['left'] += ratio(10) + '<limit velocity="15" effort="0.2"/>'
        text = transmission('hoist', 'Simple', {'lift': ratio(50, 0.2)}, {'winch': own['winch']})
        motors = {'left': own['left'], 'right': ratio(-10)}
        text += transmission('wrist', 'Differential', ('pitch', 'roll'), motors)
        text += leg(params(lower=0.6, upper=2.2), actuator=own['cylinder'])
        matrix = params(matrix='1 0.5; 0.2 1; 0.4 0.3')
        motors = {'pull': own['pull'], 'push': ''}
        text += transmission('tendons', 'Coupled', ('x', 'y', 'z'), motors, matrix)
        robot = RobotTransmissions(
            load_description(urdf(NAMES, text)),
            actuator_units={'alone': 'position_unit:deg'} if units else {},
        )
        assert [each for each in robot.findings if each.severity != 'info'] == []
        assert robot.joint_names == NAMES
        return robot

    return build({}), build(UNITS)


def all_scales(robot):
    """Return SI for each number of the drivers, rows position, velocity, effort."""
    scales = DriverUnits(robot).scales
    return np.ones((3, len(robot.actuator_names))) if scales is None else scales


def in_si(robot, messages):
    """Return what messages to drivers say, in SI: by interface and name."""
    found = {}
    for message in messages:
        scales = all_scales(robot)[:, [robot.actuator_names.index(name) for name in message.names]]
        for scale, field in zip(scales, FIELDS, strict=True):
            if len(values := getattr(message, field)):
                pairs = zip(message.names, (values * scale).tolist(), strict=True)
                found.setdefault(field, {}).update(pairs)
    return found


def alike(found, expected):
    """Compare numbers in SI; NaN: no number."""
    assert found.keys() == expected.keys()
    for field, values in expected.items():
        assert found[field] == pytest.approx(values, rel=1e-9, abs=1e-11, nan_ok=True)


class _Twin:
    """Both robots with their paths, told the same."""

    def __init__(self, twins, **options):
        self.twins = twins
        self.states = [StatePath(robot) for robot in twins]
        self.commands = [Commands(robot, **options) for robot in twins]

    def state(self, rows):
        """Let the motors have these positions, velocities and efforts, in SI."""
        found = []
        for path, robot in zip(self.states, self.twins, strict=True):
            message = record(robot.actuator_names, *(rows / all_scales(robot)))
            layout = Layout(message.names, message.lengths)
            path.merge_message('driver', layout, message, (1, 0))
            state = path.make_joint_state()
            rows_of = {field: getattr(state, field).tolist() for field in FIELDS}
            found.append({'names': range(len(state.names)), **rows_of})
        alike(*found)
        return self.states[0].find_joint_motion()[0].copy()

    def command(self, message, position):
        """Command both, and compare what they send or why they refuse it."""
        results = []
        for path, robot in zip(self.commands, self.twins, strict=True):
            try:
                results.append(in_si(robot, path.send(message, position)))
            except MessageError as error:
                results.append({'refused': error.reason})
        if 'refused' in results[0]:
            assert results[0] == results[1]
        else:
            alike(*results)
        counts = [path.counts['joint_commands'] for path in self.commands]
        assert [counts[0].clamped, counts[0].scaled] == [counts[1].clamped, counts[1].scaled]


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([0.3, 2.0, 10.0]),
    limits=st.sampled_from(['clamp', 'reject', 'off']),
)
@settings(max_examples=60, deadline=None)
def test_states_and_commands_are_those_of_the_bridge_in_si(twins, seed, size, limits):
    """Whatever is measured and commanded, clamped, scaled and refused, is the same motion."""
    twin, random = _Twin(twins, limits=limits, zero_effort=True), np.random.default_rng(seed)
    for _ in range(4):
        rows = random.normal(size=(3, len(twins[0].actuator_names)))
        joints = PLACE + 0.2 * random.uniform(-1, 1, len(NAMES))
        rows[0] = twins[0].joint_to_actuator('position', joints)
        rows[:, random.random(len(rows[0])) < 0.1] = np.nan
        position = twin.state(rows)
        command = size * random.uniform(-1, 1, (3, len(NAMES)))
        command[0] = PLACE + 0.3 * size * random.uniform(-1, 1, len(NAMES))
        command[random.random(command.shape) < 0.4] = np.nan
        twin.command(record(NAMES, *command), position)
    ends = zip(twins, twin.commands, strict=True)
    alike(*(in_si(robot, path.stop((2, 0))) for robot, path in ends))


def test_limits_are_si_at_the_motor_and_said_in_the_driver_s_unit(twins):
    """30 rad are 4.77 turns, and a refusal names the unit; no number is implausible."""
    _, robot = twins
    place = robot.actuator_names.index('winch')
    lower, upper = find_motor_bounds(robot)[:, :3, place]
    assert (lower.tolist(), upper.tolist()) == ([-20.0, -40.0, -3.0], [30.0, 40.0, 3.0])
    commands = Commands(robot, limits='reject')
    with pytest.raises(MessageError, match=r'winch: 5 is not in \[-3.1831, 4.77465\] turn'):
        commands.send(record(('lift',), [5.0 * math.tau / 50.0 + 0.2]))
    assert [find_implausible_numbers(robot) for robot in twins] == [(), ()]


@pytest.mark.parametrize(
    ('interface', 'row'), [('absolute_position', 0), ('torque', 2)], ids=['encoders', 'torques']
)
def test_sensors_are_in_the_units(twins, interface, row):
    """Absolute encoders in the unit of position, torque sensors in the unit of effort."""
    a, found = twins[0].joint_to_actuator('position', PLACE), []
    for robot in twins:
        message = record(robot.actuator_names, **{FIELDS[row]: a / all_scales(robot)[row]})
        layout = Layout(message.names, message.lengths)
        sensor = SensorPath(robot, interface, FIELDS[row])
        found.append(getattr(sensor.map_sensors(layout, message, a, (1, 0)), FIELDS[row]))
        np.testing.assert_allclose(sensor.find_actuator_values(), a, rtol=1e-12)
    np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize(
    ('joint', 'motors', 'speed', 'limit', 'words'),
    [
        # Times 1/50: 0.05 rpm are 0.005 rad/s, at rest; 0.2 rpm are not.
        ('lift', ('winch',), 0.05, 0.01 / 50.0, ''),
        ('lift', ('winch',), 0.2, 0.01 / 50.0, 'is moving'),
        # A motor of a coupled pair whose joint has an unknown speed: 0.0077 and 0.0153 rad/s.
        ('pitch', ('left', 'right'), 5.0, 0.01, ''),
        ('pitch', ('left', 'right'), 10.0, 0.01, r'its actuator left is moving at 0\.0153'),
    ],
)
def test_zeroing_compares_speeds_in_si(twins, joint, motors, speed, limit, words):
    """Where the speed of the joint is unknown, that of its motor."""
    _, robot = twins
    places = [robot.actuator_names.index(name) for name in motors]
    rows = np.full((3, len(robot.actuator_names)), np.nan)
    rows[0, places] = 3.0 * math.tau
    rows[1, places[0]] = speed * all_scales(robot)[1, places[0]]
    more = {'held': np.zeros(len(NAMES), bool), 'max_velocity': limit}
    if words:
        with pytest.raises(MessageError, match=words):
            find_zero_offsets(robot, {joint: 0.0}, rows, **more)
        return
    (change,) = find_zero_offsets(robot, {joint: 0.0}, rows, **more)
    assert joint == 'pitch' or change.new == pytest.approx(-3.0 * math.tau / 50.0)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('hoist.actuators.winch.torque_constant', 0.1, ''),
        ('hoist.actuators.winch.torque_constant', 0.11, r'winch would have an effort of 0\.11'),
        ('leg.crank_radius', 0.102, ''),
        ('leg.crank_radius', 0.105, 'knee would shift by'),
    ],
)
def test_the_guard_looks_at_the_torque_constant_and_at_positions_in_si(twins, name, value, words):
    """An effort may not jump by more than a factor of two; a knee is compared as measured."""
    _, robot = twins
    position = robot.joint_to_actuator('position', PLACE)
    given = robot, robot.with_parameters({name: value}), position, np.ones(len(NAMES), bool)
    if words:
        with pytest.raises(ParameterError, match=words):
            check_ratios(*given)
    else:
        check_ratios(*given)


@pytest.mark.filterwarnings('ignore:overflow')
@pytest.mark.parametrize('mode', ['position', 'velocity', 'acceleration'])
@pytest.mark.parametrize('name', ['x', 'y'])
def test_what_is_too_large_in_the_driver_s_unit_is_refused(name, mode):
    """Millimetres overflow where metres do not: a driver is never sent infinity."""
    text = transmission('t', 'Simple', ('x',), {'a': params(position_unit='mm')})
    units = {'y': 'position_unit:deg'}
    robot = RobotTransmissions(load_description(urdf(('x', 'y'), text)), actuator_units=units)
    path = Commands(robot, limits='off')
    if mode != 'acceleration':
        assert reason(path.send, record((name,), **{mode: [1e308]})) == 'unmapped'
    arrays = [np.array([1e308]) if each == mode else EMPTY for each in ('position', 'velocity')]
    rates = np.array([1e308]) if mode == 'acceleration' else EMPTY
    point = Waypoint((1, 0), *arrays, rates, EMPTY)
    way = TrajectoryRecord((0, 0), '', (name,), (point,))
    with pytest.raises(MessageError, match='cannot be mapped'):
        path.map(way, np.zeros(2))
    assert path.sent == []


def test_what_a_driver_said_is_read_by_a_new_torque_constant(twins):
    """States and torque sensors of before count by the constant that is set afterwards."""
    _, robot = twins
    path, sensor = StatePath(robot), SensorPath(robot, 'torque', 'effort')
    message = record(('winch',), position=[0.5], effort=[2.0])
    layout = Layout(message.names, message.lengths)
    path.merge_message('driver', layout, message, (1, 0))
    sensor.map_sensors(layout, message, np.zeros(len(robot.actuator_names)), (1, 0))
    tuned = robot.with_parameters({'hoist.actuators.winch.torque_constant': 0.1})
    path.replace_robot(tuned)
    sensor.replace_robot(tuned)
    state = path.make_joint_state()
    assert state.effort.tolist() == pytest.approx([2.0 * 0.1 * 50.0])
    assert state.position.tolist() == pytest.approx([0.5 * math.tau / 50.0 + 0.2])
    assert sensor.find_actuator_values()[robot.actuator_names.index('winch')] == pytest.approx(0.2)
    # The next message as well, though its layout is known.
    path.merge_message('driver', layout, message, (1, 0))
    assert path.make_joint_state().effort.tolist() == pytest.approx([2.0 * 0.1 * 50.0])


def test_diagnostics_name_the_units_by_the_driver_s_names(twins):
    """SI units are listed as SI; an actuator without units is left out."""
    _, robot = twins
    names = DriverNames({'left/actuator_states:m7': 'winch'}, robot.actuator_names).driver_names
    stale = np.zeros(len(robot.actuator_names), bool)
    status = inspect_actuators(robot, StatePath(robot).states, 0.0, stale, names)
    assert {key: value for key, value in status.values if key.startswith('units ')} == {
        'units left/m7': 'turn, rpm, A',
        'units left': 'tick, tick/s, 0.1 percent',
        'units cylinder': 'mm, mm/s, N',
        'units pull': 'deg, deg/s, SI',
        'units alone': 'deg, deg/s, SI',
    }
