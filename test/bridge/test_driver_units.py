# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A bridge with drivers in other units equals the bridge in SI after conversion."""

from __future__ import annotations

import math
from pathlib import Path
import re

from command_paths import check_ratios, Commands, Trajectories
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.diagnostics import judge_part
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.implausible_numbers import find_implausible_numbers
from transmission_bridge.bridge.inputs import CommandCounts
from transmission_bridge.bridge.limits import ActuatorLimits, LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.outputs import DriverNames
from transmission_bridge.bridge.snapshot import Actuators
from transmission_bridge.bridge.states import SensorPath, StatePath
from transmission_bridge.bridge.zeroing import find_zero_offsets
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import EMPTY

#: Limits of each motor, and its units; ``{}`` is empty for the robot in SI.
WINCH = '<limit lower="-20" upper="30" velocity="40" effort="3"/>'
LEFT = '<limit velocity="15" effort="0.2"/>'
UNITS = {
    'winch': {'position_unit': 'turn', 'velocity_unit': 'rpm', 'effort_unit': 'A',
              'torque_constant': '0.05'},
    'left': {'position_unit': 'tick', 'velocity_unit': 'tick/s', 'ticks_per_turn': '4096',
             'effort_unit': '0.1 percent', 'rated_effort': '0.5'},
    'cylinder': {'position_unit': 'mm', 'effort_unit': 'N'},
}  # fmt: skip


@pytest.fixture(scope='module')
def twins(robots):
    """Return the robot in SI, and with units of its drivers."""

    def build(units):
        texts = {
            name: ''.join(f'<param name="{k}">{v}</param>' for k, v in units.get(name, {}).items())
            for name in UNITS
        }
        text = f"""
<transmission name="hoist"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="winch" role="actuator1">{WINCH}{texts['winch']}</actuator>
  <joint name="lift" role="joint1"><mechanical_reduction>50</mechanical_reduction>
    <offset>0.2</offset></joint></transmission>
<transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1" mechanical_reduction="10">{LEFT}{texts['left']}</actuator>
  <actuator name="right" role="actuator2" mechanical_reduction="-10"/>
  <joint name="pitch" role="joint1"/><joint name="roll" role="joint2"/></transmission>
"""
        leg = robots.leg('<param name="lower">0.6</param><param name="upper">2.2</param>')
        leg = leg.replace(
            '<actuator name="cylinder" role="actuator1"/>',
            f'<actuator name="cylinder" role="actuator1">{texts["cylinder"]}</actuator>',
        )
        names = ('lift', 'pitch', 'roll', 'knee', 'alone')
        robot = RobotTransmissions(
            load_description(robots.urdf(names, text + leg)),
            actuator_units={'alone': 'position_unit:deg'} if units else {},
        )
        assert [each for each in robot.findings if each.severity != 'info'] == []
        return robot

    return build({}), build(UNITS)


def record(names, position=EMPTY, velocity=EMPTY, effort=EMPTY):
    """Return a message."""
    rows = (np.asarray(row, dtype=float) for row in (position, velocity, effort))
    return JointStateRecord((1, 0), '', tuple(names), *rows)


def all_scales(robot):
    """Return SI for each number of the drivers, rows position, velocity, effort."""
    scales = DriverUnits(robot).scales
    return np.ones((3, len(robot.actuator_names))) if scales is None else scales


def scales_of(robot, names):
    """Return rows of scales for some actuators."""
    return all_scales(robot)[:, [robot.actuator_names.index(name) for name in names]]


def in_si(robot, messages):
    """Return what messages of a robot with units say, in SI: by interface and name."""
    found = {}
    for message in messages:
        scales = scales_of(robot, message.names)
        for row, field in enumerate(('position', 'velocity', 'effort')):
            values = getattr(message, field)
            if len(values):
                pairs = zip(message.names, (values * scales[row]).tolist(), strict=True)
                found.setdefault(field, {}).update(pairs)
    return found


def plain(messages):
    """Return the parameters of the robot in SI."""
    found = {}
    for message in messages:
        for field in ('position', 'velocity', 'effort'):
            values = getattr(message, field)
            if len(values):
                pairs = zip(message.names, values.tolist(), strict=True)
                found.setdefault(field, {}).update(pairs)
    return found


def alike(found, expected):
    """Compare numbers in SI; NaN: no number."""
    assert found.keys() == expected.keys()
    for field, values in expected.items():
        assert found[field] == pytest.approx(values, rel=1e-9, abs=1e-11, nan_ok=True)


class Twin:
    """Both robots with their paths, told the same."""

    def __init__(self, si, units, **options):
        self.si, self.units = si, units
        self.states = [StatePath(robot) for robot in (si, units)]
        self.commands = [Commands(robot, **options) for robot in (si, units)]
        self.layouts = LayoutTable()

    def state(self, rows):
        """Let the motors have these positions, velocities and efforts, in SI."""
        names = self.si.actuator_names
        for path, scale in zip(self.states, (1.0, all_scales(self.units)), strict=True):
            message = record(names, *(rows / scale))
            path.merge_message(
                'driver', self.layouts.find_layout(names, message.lengths), message, (1, 0)
            )
        found, expected = (path.make_joint_state() for path in reversed(self.states))
        alike(plain([found]), plain([expected]))
        return self.states[0].find_joint_motion()[0].copy()

    def command(self, message, position):
        """Command both, and compare what they send or why they refuse it."""
        results = []
        for path in self.commands:
            layout = self.layouts.find_layout(message.names, message.lengths)
            try:
                results.append(path.command(layout, message, position, (1, 0)))
            except MessageError as error:
                results.append(error.reason)
        si, units = results
        if isinstance(si, str) or isinstance(units, str):
            assert si == units
            return None
        alike(in_si(self.units, units), plain(si))
        for counter in ('clamped', 'scaled'):
            si_count, unit_count = (
                getattr(path.counts['joint_commands'], counter) for path in self.commands
            )
            assert si_count == unit_count
        return units


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([0.3, 2.0, 10.0]),
    limits=st.sampled_from(['clamp', 'reject', 'off']),
)
@settings(max_examples=60, deadline=None)
def test_states_and_commands_are_those_of_the_bridge_in_si(twins, seed, size, limits):
    """Whatever is measured and commanded, clamped, scaled and refused, is the same motion."""
    twin = Twin(*twins, limits=limits, zero_effort=True)
    random = np.random.default_rng(seed)
    names = twin.si.joint_names
    place = np.array([{'knee': 1.4}.get(name, 0.0) for name in names])
    for _ in range(4):
        joints = place + 0.2 * random.uniform(-1, 1, len(names))
        rows = random.normal(size=(3, len(twin.si.actuator_names)))
        rows[0] = twin.si.joint_to_actuator('position', joints)
        rows[:, random.random(len(rows[0])) < 0.1] = np.nan
        position = twin.state(rows)
        command = size * random.uniform(-1, 1, (3, len(names)))
        command[0] = place + 0.3 * size * random.uniform(-1, 1, len(names))
        command[random.random(command.shape) < 0.4] = np.nan
        twin.command(record(names, *command), position)
    si, units = (path.stop((2, 0)) for path in twin.commands)
    alike(in_si(twin.units, units), plain(si))


def test_limits_are_si_at_the_motor_and_said_in_the_driver_s_unit(twins):
    """30 rad are 4.77 turns, and a refusal names the unit."""
    _, robot = twins
    lower, upper = ActuatorLimits(robot, BridgeOptions()).bounds[
        :, :, robot.actuator_names.index('winch')
    ]
    assert upper.tolist() == [30.0, 40.0, 3.0]
    assert lower.tolist() == [-20.0, -40.0, -3.0]
    sent = np.full((3, len(robot.actuator_names)), np.nan)
    sent[0, robot.actuator_names.index('winch')] = 5.0 * math.tau
    with pytest.raises(MessageError, match=r'winch: 5 is not in \[-3.1831, 4.77465\] turn'):
        ActuatorLimits(robot, BridgeOptions(limits='reject')).limit_actuators(
            sent, LimitEffects(CommandCounts())
        )


def test_sensors_are_in_the_units(twins):
    """Absolute encoders in the unit of position, torque sensors in the unit of effort."""
    layouts = LayoutTable()
    a = twins[0].joint_to_actuator('position', [0.1, 0.2, 0.3, 1.4, 0.5])
    for interface, field, row in (('absolute_position', 'position', 0), ('torque', 'effort', 2)):
        found = []
        for robot in twins:
            scales = all_scales(robot)
            message = record(robot.actuator_names, **{field: a / scales[row]})
            layout = layouts.find_layout(message.names, message.lengths)
            sensor = SensorPath(robot, interface, field)
            found.append(sensor.map_sensors(layout, message, a, (1, 0)))
            np.testing.assert_allclose(sensor.find_actuator_values(), a, rtol=1e-12)
        si, units = found
        np.testing.assert_allclose(getattr(units, field), getattr(si, field), rtol=1e-9)


def test_zeroing_compares_speeds_in_si(twins):
    """0.05 rpm are 0.005 rad/s, at rest; 0.2 rpm are not."""
    _, robot = twins
    rows = np.full((3, len(robot.actuator_names)), np.nan)
    place = robot.actuator_names.index('winch')
    joints = len(robot.joint_names)
    rows[0, place] = 3.0 * math.tau
    for rpm, moves in ((0.05, False), (0.2, True)):
        rows[1, place] = rpm * math.tau / 60.0
        arguments = {'held': np.zeros(joints, bool), 'max_velocity': 0.01 / 50.0}
        if moves:
            with pytest.raises(MessageError, match='is moving'):
                find_zero_offsets(robot, {'lift': 0.0}, rows, **arguments)
            continue
        (change,) = find_zero_offsets(robot, {'lift': 0.0}, rows, **arguments)
        assert change.new == pytest.approx(-3.0 * math.tau / 50.0)


def test_the_speed_of_a_motor_is_compared_where_that_of_its_joint_is_unknown(twins):
    """A motor of a coupled pair moves at ticks per second, and the limit is in rad/s."""
    _, robot = twins
    rows = np.full((3, len(robot.actuator_names)), np.nan)
    left, right = (robot.actuator_names.index(name) for name in ('left', 'right'))
    rows[0, [left, right]] = 0.0
    held = np.zeros(len(robot.joint_names), bool)
    tick = all_scales(robot)[1, left]
    rows[1, left] = 5.0 * tick  # 0.0077 rad/s
    assert find_zero_offsets(robot, {'pitch': 0.0}, rows, held=held, max_velocity=0.01)
    rows[1, left] = 10.0 * tick  # 0.0153 rad/s
    with pytest.raises(MessageError, match=r'its actuator left is moving at 0\.0153'):
        find_zero_offsets(robot, {'pitch': 0.0}, rows, held=held, max_velocity=0.01)


def test_a_linkage_is_zeroed_by_offsets_in_si(load):
    """Offsets of its actuators are at the motors, whatever these read."""
    path = Path(__file__).parents[1] / 'transmissions/test_linkage.py'
    text = load('test_linkage', path).push_rod_ankle()
    offsets = []
    for unit in ('', '<param name="position_unit">turn</param>'):
        given = re.sub(
            r'(<actuator name="[^"]*"[^>]*?)(/?)>',
            lambda found, unit=unit: f'{found[1]}>{unit}' + '</actuator>' * bool(found[2]),
            text,
        )
        robot = RobotTransmissions(load_description(given))
        assert bool(robot.units) is bool(unit)
        n = len(robot.actuator_names)
        rows = np.zeros((3, n))
        rows[0] = [0.05, -0.02]
        joints = [robot.joint_names[place] for place in robot.bindings[0].joints]
        held = np.zeros(len(robot.joint_names), bool)
        changes = find_zero_offsets(
            robot, dict.fromkeys(joints, 0.01), rows, held=held, max_velocity=0.01
        )
        values = {each.tunable.name: each.new for each in changes}
        zeroed = robot.with_parameters(values).actuator_to_joint('position', rows[0])
        np.testing.assert_allclose(zeroed[list(robot.bindings[0].joints)], 0.01, atol=1e-9)
        offsets.append([each.new for each in changes])
    np.testing.assert_allclose(offsets[1], offsets[0], rtol=1e-9)


def test_the_guard_looks_at_the_torque_constant_and_at_positions_in_si(twins):
    """An effort may not jump by more than a factor of two; a knee is compared as measured."""
    _, robot = twins
    live = np.ones(len(robot.joint_names), bool)
    position = robot.joint_to_actuator('position', [0.1, 0.2, 0.3, 1.4, 0.5])
    constant = 'hoist.actuators.winch.torque_constant'
    check_ratios(robot, robot.with_parameters({constant: 0.1}), position, live)
    with pytest.raises(ParameterError, match=r'winch would have an effort of 0\.11'):
        check_ratios(robot, robot.with_parameters({constant: 0.11}), position, live)
    check_ratios(robot, robot.with_parameters({'leg.crank_radius': 0.102}), position, live)
    with pytest.raises(ParameterError, match='knee would shift by'):
        check_ratios(robot, robot.with_parameters({'leg.crank_radius': 0.105}), position, live)


@pytest.mark.filterwarnings('ignore:overflow')
def test_what_is_too_large_in_the_driver_s_unit_is_refused(robots):
    """Millimetres overflow where metres do not: a driver is never sent infinity."""
    text = """<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="a" role="actuator1"><param name="position_unit">mm</param></actuator>
  <joint name="x" role="joint1"/></transmission>"""
    robot = RobotTransmissions(load_description(robots.urdf(('x', 'y'), text)))
    units = {'y': 'position_unit:deg'}
    robot = RobotTransmissions(robot.robot, actuator_units=units)
    path = Commands(robot, limits='off')
    for name in ('x', 'y'):
        message = record((name,), position=[1e308])
        layout = LayoutTable().find_layout(message.names, message.lengths)
        with pytest.raises(MessageError, match='cannot be mapped') as error:
            path.command(layout, message, np.zeros(2), (1, 0))
        assert error.value.reason == 'unmapped'
        point = Waypoint((1, 0), np.array([1e308]), EMPTY, EMPTY, EMPTY)
        with pytest.raises(MessageError, match='cannot be mapped'):
            Trajectories(robot, path).map(
                TrajectoryRecord((0, 0), '', (name,), (point,)), np.zeros(2)
            )
    assert path.sent == []


def test_what_a_driver_said_is_read_by_a_new_torque_constant(twins):
    """States and torque sensors of before count by the constant that is set afterwards."""
    _, robot = twins
    layouts, path, sensor = LayoutTable(), StatePath(robot), SensorPath(robot, 'torque', 'effort')
    message = record(('winch',), position=[0.5], effort=[2.0])
    layout = layouts.find_layout(message.names, message.lengths)
    path.merge_message('driver', layout, message, (1, 0))
    sensor.map_sensors(layout, message, np.zeros(len(robot.actuator_names)), (1, 0))
    tuned = robot.with_parameters({'hoist.actuators.winch.torque_constant': 0.1})
    path.replace_maps(tuned)
    sensor.replace_maps(tuned)
    state = path.make_joint_state()
    assert state.effort.tolist() == pytest.approx([2.0 * 0.1 * 50.0])
    assert state.position.tolist() == pytest.approx([0.5 * math.tau / 50.0 + 0.2])
    assert sensor.find_actuator_values()[robot.actuator_names.index('winch')] == pytest.approx(0.2)


def test_units_make_no_number_implausible(twins):
    """Ratios belong to the mechanism and do not depend on the size of a tick."""
    assert [find_implausible_numbers(robot) for robot in twins] == [(), ()]


def test_partial_commands_of_few_motors_weigh_nothing_by_its_unit(robots):
    """Two motors for three joints, one joint commanded: the rest follows as in SI."""
    text = """<transmission name="t"><plugin>transmission_bridge/CoupledTransmission</plugin>
  <param name="matrix">1 0.5; 0.2 1; 0.4 0.3</param>
  <actuator name="a" role="actuator1">{}</actuator><actuator name="b" role="actuator2"/>
  <joint name="x" role="joint1"/><joint name="y" role="joint2"/>
  <joint name="z" role="joint3"/></transmission>"""
    sent = []
    for unit in ('', '<param name="position_unit">deg</param>'):
        robot = RobotTransmissions(
            load_description(robots.urdf(('x', 'y', 'z'), text.format(unit)))
        )
        assert robot.joint_names == ('x', 'y', 'z'), robot.findings
        path = Commands(robot)
        message = record(('x',), position=[0.3])
        layout = LayoutTable().find_layout(message.names, message.lengths)
        (found,) = path.command(layout, message, np.zeros(3), (1, 0))
        sent.append(found.position * all_scales(robot)[0])
    np.testing.assert_allclose(sent[1], sent[0], rtol=1e-12)


def test_diagnostics_name_the_units_by_the_driver_s_names(twins):
    """SI units are listed as SI; an actuator without units is left out."""
    _, robot = twins
    states = StatePath(robot)
    names = DriverNames({'left/actuator_states:m7': 'winch'}, robot.actuator_names).driver_names
    stale = np.zeros(len(robot.actuator_names), bool)
    status = judge_part(Actuators(robot, states.merged, 0.0, stale, names))
    units = {key: value for key, value in status.values if key.startswith('units ')}
    assert units == {
        'units left/m7': 'turn, rpm, A',
        'units left': 'tick, tick/s, 0.1 percent',
        'units cylinder': 'mm, mm/s, N',
        'units alone': 'deg, deg/s, SI',
    }
