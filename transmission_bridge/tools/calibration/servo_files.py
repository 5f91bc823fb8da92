# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The calibration files of servo drivers: stops of joints, read as known positions, and written.

``calibrate`` reads them, ``export`` writes them. LeRobot and ORCA define their fields, so
these must not change; sentences may. Nothing is stored, and no file is opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
import json
import math
import re
import reprlib
from typing import Any, Literal, TypeAlias

import numpy as np

from transmission_bridge.errors import closest
from transmission_bridge.tools.calibration.hand import (
    select_bindings,
    SLIDING_TOLERANCE,
    TOLERANCE,
)
from transmission_bridge.tools.calibration.numbers import KnownRows
from transmission_bridge.tools.cli import import_optional, UsageError
from transmission_bridge.tools.files import parse_yaml_file
from transmission_bridge.tools.units import report_joint_unit
from transmission_bridge.transmissions import Binding, RobotTransmissions
from transmission_bridge.transmissions.robot import DriverUnit

#: How far a joint at a stop may be from there, as a share of its range: a soft stop, play, and a
#: limit in whole degrees.
STOP_SLACK = 0.01


def match_servo_names(
    robot: RobotTransmissions, names: Collection[str]
) -> tuple[dict[str, Binding], list[str]]:
    """
    Return the transmission of each name in a file, and a sentence for each other name.

    A name is that of the actuator, else that of the joint, of a transmission that has one of each.

    :raises UsageError: If two names mean one transmission.
    """
    single = [
        binding
        for binding in robot.bindings
        if not binding.is_identity and len(binding.spec.joints) == len(binding.spec.actuators) == 1
    ]
    known = {each.spec.joints[0].name: each for each in single}
    known |= {each.spec.actuators[0].name: each for each in single}
    matched = {name: known[name] for name in names if name in known}
    used: dict[str, str] = {}
    for name, binding in matched.items():
        if (other := used.setdefault(binding.spec.name, name)) != name:
            raise UsageError(f"'{other}' and '{name}' are one transmission, which has one motor")
    expected = 'expected the joint or the actuator of a transmission with one of each'
    return matched, [
        f"'{name}' is not used: {expected}{closest(name, known)}"
        for name in names
        if name not in known
    ]


def map_servo_range(binding: Binding, lower: float, upper: float) -> tuple[float, float]:
    """
    Return the positions of the actuator [rad or m] with the joint at two positions.

    :raises UsageError: If they are infinite, unreachable or equal.
    """
    joint = binding.spec.joints[0].name
    positions = np.array([[lower], [upper]])
    if not np.isfinite(positions).all() or lower >= upper:
        raise UsageError(
            f"joint '{joint}': expected a lower and a higher limit of its position, "
            f'found {lower:.6g} and {upper:.6g}'
        )
    with np.errstate(all='ignore'):
        low, high = binding.transmission.joint_to_actuator('position', positions)[:, 0].tolist()
    if not np.isfinite([low, high]).all() or low == high:
        raise UsageError(
            f"joint '{joint}': expected limits that '{binding.spec.name}' reaches, "
            f'found {lower:.6g} and {upper:.6g}, with its actuator at {low:.6g} and {high:.6g}'
        )
    return low, high


#: Positions of an actuator at the stops of a joint, and of the joint there, the lower one first.
Stops: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


def list_servo_rows(
    robot: RobotTransmissions,
    names: Collection[str],
    find_stops: Callable[[str, Binding], Stops],
    *,
    is_confirmed: bool,
    is_free: bool = False,
) -> tuple[dict[str, KnownRows], list[str]]:
    """
    Return known positions by transmission, and sentences about what is not known or a guess.

    :param names: The names in a file.
    :param find_stops: Returns the stops of a name, or raises UsageError with the reason.
    :param is_confirmed: Whether the joints were at these stops: two rows. Otherwise, and if the
        ranges differ by more than 1 degree or 1 %, one, a guess: the middle of the actuator's
        positions is the middle of the joint's, wrong by half the difference of the two ranges.
    :param is_free: Whether the reductions are unknown, and the ranges may differ.
    :raises UsageError: If two names mean one transmission.
    """
    matched, notes = match_servo_names(robot, names)
    rows: dict[str, KnownRows] = {}
    for name, binding in matched.items():
        try:
            actuators, joints = find_stops(name, binding)
            extent = joints[1] - joints[0]
            slack, away, difference = STOP_SLACK * extent, 0.0, ''
            unit = report_joint_unit(robot.description, binding.spec.joints[0].name)
            if not is_free:
                low, high = map_servo_range(binding, *joints)
                share = abs((actuators[1] - actuators[0]) / (high - low))
                away, size = abs(share - 1.0) * extent, 1e3 if unit == 'm' else math.degrees(1.0)
                difference = f'is {share * extent * size:.1f} and its limits {extent * size:.1f} '
                difference += 'mm' if unit == 'm' else 'degrees'
            is_known = away <= (SLIDING_TOLERANCE * extent if unit == 'm' else TOLERANCE)
            is_known &= is_confirmed
            if not is_known:
                if not binding.transmission.is_constant:
                    raise UsageError(f'it {difference}, and its ratio varies')
                slack = max(slack, away / 2.0)
                notes.append(
                    f"'{name}' is a guess: its range in the file {difference}; the middles of "
                    f'both are taken as equal, +- {slack:.2g} {unit}'
                )
        except UsageError as error:
            notes.append(f"'{name}' is not known from its range: {error}")
            continue
        table = np.array([actuators, joints]).T[:, :, np.newaxis]
        table = table if is_known else table.mean(axis=0, keepdims=True)
        rows[binding.spec.name] = KnownRows(
            table[:, 0], table[:, 1], np.full_like(table[:, 1], slack)
        )
    return rows, notes


def make_file_error(where: str, expected: str, found: Any) -> UsageError:
    """Return the error of a place in a file, to be raised."""
    return UsageError(f'{where}: expected {expected}, found {reprlib.repr(found)}')


# -- LeRobot --------------------------------------------------------------------------------------
#
# JSON, for each motor ``id``, ``drive_mode``, ``homing_offset``, ``range_min`` and ``range_max``.
# A reading ``p`` of a servo is the tick after the ``homing_offset`` that its EEPROM subtracts. The
# position of the actuator is ``p`` times the scale of its unit.

#: Ticks per turn of the servos that LeRobot's arms have.
RESOLUTION = 4096

#: Share of a turn from which a range went through the wrap. The widest joint of an SO-101 has
#: 0.89. LeRobot waits 20 ms between readings; a joint at 5 rad/s moves 0.03 turns in 40 ms, so
#: both extremes of one that crosses the wrap are within 0.035 turns of the ends of the count.
_WRAPPED = 0.93

_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class ServoRange:
    """
    One motor of a LeRobot file, as read; the names of its fields are those of the file.

    :param drive_mode: 1 negates LeRobot's percent, not its readings and degrees.
    :param homing_offset: What the servo subtracts from its encoder [ticks].
    :param range_min: Smallest reading [ticks].
    :param range_max: Largest reading [ticks].
    """

    id: int
    drive_mode: int
    homing_offset: int
    range_min: int
    range_max: int


def read_lerobot(data: bytes, name: str) -> dict[str, ServoRange]:
    """
    Return the motors of a calibration file by name.

    :param data: The file.
    :param name: Its name, for errors.
    :raises UsageError: If it is not JSON, or a motor lacks a field or has a wrong one.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"'{name}': expected JSON, found an error: {error}") from None
    if not isinstance(document, dict) or not document:
        raise make_file_error(
            f"'{name}'", 'a calibration file of LeRobot, motors by name', document
        )
    names = [field.name for field in fields(ServoRange)]
    ranges = {}
    for motor, values in document.items():
        where = f"'{name}', motor '{motor}'"
        if not isinstance(values, dict) or not values.keys() >= set(names):
            raise make_file_error(where, f'the fields {", ".join(names)}', values)
        for key in names:
            if type(values[key]) is not int or abs(values[key]) >= 2**31:
                raise make_file_error(f'{where}, {key}', 'a whole number of 32 bits', values[key])
        servo = ServoRange(**{key: values[key] for key in names})
        if servo.range_min >= servo.range_max:
            expected = f'range_min below the range_max {servo.range_max}'
            raise make_file_error(where, expected, servo.range_min)
        ranges[motor] = servo
    return ranges


def judge_sweep(
    servo: ServoRange, resolution: int = RESOLUTION
) -> Literal['swept', 'unswept', 'wrapped']:
    """
    Return whether a joint was swept from stop to stop.

    ``unswept``: exactly 0 to ``resolution - 1``, which LeRobot writes for a joint that was not
    moved, every ``wrist_roll``. ``wrapped``: any other range of 0.93 turns or more. The joint
    passed from the last tick to 0, so both are extremes, and the range says nothing of its stops.
    """
    if (servo.range_min, servo.range_max) == (0, resolution - 1):
        return 'unswept'
    is_wrapped = servo.range_max - servo.range_min >= _WRAPPED * resolution
    return 'wrapped' if is_wrapped else 'swept'


_REASONS = {
    'unswept': 'it was not swept: give a pose, or move it to a stop',
    'wrapped': 'its range is nearly a turn, so its count went from the last tick to 0: '
    'calibrate it in LeRobot again with the middle of its range at half a turn, or give a pose',
}


def list_lerobot_rows(
    robot: RobotTransmissions,
    ranges: Mapping[str, ServoRange],
    *,
    is_confirmed: bool,
    is_free: bool = False,
) -> tuple[dict[str, KnownRows], list[str]]:
    """
    Return known positions by transmission, and sentences about what is not known or a guess.

    With the limits ``lower`` and ``upper`` of the joint and the scale ``s`` of its actuator::

        f(s range_min) = lower,  f(s range_max) = upper           (exchanged if f decreases)
        f(s (range_min + range_max) / 2) = (lower + upper) / 2    (not confirmed)

    The guess is wrong by half the difference of range and limits if the sweep missed a stop. The
    scale is that of ``position_unit`` if this is in ticks, else 2 pi / 4096: the driver then has
    to report its tick 0 as 0.

    :param ranges: Motors by the name of an actuator or joint.
    :param is_confirmed: Whether each joint was swept from stop to stop, and its limits are there.
    :param is_free: Whether the reductions are unknown.
    :raises UsageError: If two motors are one actuator.
    """

    def find_stops(name: str, binding: Binding) -> Stops:
        servo = ranges[name]
        limits = robot.joint_limits[:, 0, binding.joints[0]].tolist()
        scale, count = _read_scale(binding)
        if (swept := judge_sweep(servo, count)) != 'swept':
            raise UsageError(_REASONS[swept])
        low, high = map_servo_range(binding, *limits)
        motors = (servo.range_min * scale, servo.range_max * scale)
        return motors if low < high else motors[::-1], (limits[0], limits[1])

    rows, notes = list_servo_rows(
        robot, ranges, find_stops, is_confirmed=is_confirmed, is_free=is_free and is_confirmed
    )
    if rows:
        notes.append(
            'the file has no signs of reductions: they stay as they are, unchecked. To check one, '
            'move the joint towards positive by hand: its position in "transmission_bridge watch" '
            'has to rise'
        )
    if negated := [name for name, each in ranges.items() if each.drive_mode]:
        notes.append(
            f"drive_mode of {', '.join(negated)} is not used: it negates LeRobot's percent, not "
            'the readings of the servo'
        )
    return rows, notes


def _read_scale(binding: Binding) -> tuple[float, int]:
    """Return the position at the motor for each tick, and the ticks of a turn."""
    units = binding.units.get(binding.spec.actuators[0].name)
    unit = units.position if units else DriverUnit()
    if unit.text.split()[-1:] == ['tick']:
        return unit.scale, round(_TURN / unit.scale)
    return _TURN / RESOLUTION, RESOLUTION


def write_lerobot(
    robot: RobotTransmissions,
    previous: Mapping[str, ServoRange] | None = None,
    only: Collection[str] = (),
) -> bytes:
    """
    Return a calibration file with the ranges of the description.

    ``range_min`` and ``range_max`` are the rounded ticks with the joint at its limits, 0 to 4095
    for a joint without limits. LeRobot then reads ``DEGREES`` as
    ``(p - (range_min + range_max) / 2) 360 / 4095``: the zero is the middle of the
    limits, not the joint's zero, the direction is the motor's, and a degree is the motor's.

    :param previous: A file whose motors, ids, ``drive_mode`` and ``homing_offset`` are kept.
        Without one each transmission has a motor with the joint's name and the number in
        ``<param name="id">`` of its actuator or joint, and the other two are 0: the offsets of the
        description then have to belong to servos without a homing offset.
    :param only: The transmissions to write, all by default; other motors of a previous file stay.
    :raises UsageError: If a motor has no transmission, no ``id`` or the one of another motor, or
        its range does not fit into one turn.
    """
    named = (binding.spec.joints[0].name for binding in select_bindings(robot, only))
    matched, notes = match_servo_names(robot, tuple(previous or named))
    if notes or not matched:
        raise UsageError(notes[0] if notes else 'expected transmissions, found none')
    document: dict[str, dict[str, int]] = {}
    for name, binding in matched.items():
        kept = previous[name] if previous else ServoRange(_read_id(robot, binding), 0, 0, 0, 0)
        if kept.id in (each['id'] for each in document.values()):
            raise make_file_error(f"motor '{name}'", 'an id of its own', kept.id)
        document[name] = asdict(kept)
        if only and binding.spec.name not in only:
            continue
        limits = robot.joint_limits[:, 0, binding.joints[0]]
        scale, count = _read_scale(binding)
        low, high = 0, count - 1
        if not np.isinf(limits).all():
            motors = map_servo_range(binding, *limits.tolist())
            low, high = sorted(round(motor / scale) for motor in motors)
        if low < 0 or high >= count or low >= high:
            raise UsageError(
                f"joint '{binding.spec.joints[0].name}': expected its limits at two readings in 0 "
                f'to {count - 1}, because LeRobot counts no turns, found {low} and {high}: change '
                'the homing offset of the servo and the offset of its transmission, or the limits'
            )
        document[name] |= {'range_min': low, 'range_max': high}
    return (json.dumps(document, indent=4) + '\n').encode()


def _read_id(robot: RobotTransmissions, binding: Binding) -> int:
    """Return the id in the actuator, in the joint, or in the joint of a ros2_control block."""
    joint = binding.spec.joints[0]
    components = (block.component(joint.name) for block in robot.description.blocks)
    for owner in (binding.spec.actuators[0], joint, *components):
        for parameter in owner.parameters if owner else ():
            if parameter.name == 'id':
                if not re.fullmatch('[0-9]{1,9}', parameter.value):
                    raise make_file_error(
                        f"joint '{joint.name}', id", 'a whole number', parameter.value
                    )
                return int(parameter.value)
    raise make_file_error(
        f"joint '{joint.name}'", '<param name="id"> in its actuator or joint', None
    )


# -- ORCA -----------------------------------------------------------------------------------------
#
# ``config.yaml`` has ``joint_roms`` [degrees] and ``joint_to_motor_map``, negative for an inverted
# motor. ``calibration.yaml`` has ``motor_limits`` ``[a0, a1]`` [rad at the motor] and
# ``joint_to_motor_ratios`` ``r`` [rad per degree], both by the number of the motor. With the range
# ``[q0, q1]`` of a joint, the hand's own map is
#
#     q = q0 + (a - a0) / r,  or q1 - (a - a0) / r if inverted,  r = (a1 - a0) / (q1 - q0)

#: The two files, in one folder.
CONFIG, CALIBRATION = 'config.yaml', 'calibration.yaml'

_LIMITS, _RATIOS = 'motor_limits', 'joint_to_motor_ratios'


@dataclass(frozen=True)
class OrcaRange:
    """
    One joint of the two files, as read.

    :param motor: Number of its motor.
    :param is_inverted: Whether the motor turns back when the joint moves towards positive.
    :param rom: Its range [degrees].
    :param limits: Positions of the motor at the stops [rad], ``None`` before the calibration.
    :param ratio: Motor by joint [rad per degree], 0 before the calibration.
    """

    motor: int
    is_inverted: bool
    rom: tuple[float, float]
    limits: tuple[float, float] | None
    ratio: float


def read_orca(
    config: bytes, calibration: bytes, names: tuple[str, str] = (CONFIG, CALIBRATION)
) -> dict[str, OrcaRange]:
    """
    Return the joints of a hand by name.

    :param config: ``config.yaml``.
    :param calibration: ``calibration.yaml``, may be empty.
    :param names: Names of the two files, for errors.
    :raises UsageError: If they are not YAML, or lack or have a wrong value; PyYAML is missing.
    """
    design, measured = (
        _read_map(parse_yaml_file(data, name), f"'{name}'")
        for data, name in zip((config, calibration), names, strict=True)
    )
    roms = _read_map(design.get('joint_roms'), f"'{names[0]}', joint_roms")
    motors = _read_map(design.get('joint_to_motor_map'), f"'{names[0]}', joint_to_motor_map")
    limits, ratios = (
        _read_map(measured.get(key), f"'{names[1]}', {key}") for key in (_LIMITS, _RATIOS)
    )
    joints: dict[str, OrcaRange] = {}
    for joint, motor in motors.items():
        where = f"'{names[0]}', joint '{joint}'"
        if type(motor) is not int or motor == 0:
            raise make_file_error(f'{where}, joint_to_motor_map', 'a whole number, not 0', motor)
        number, low_high = abs(motor), None
        if number in (joint.motor for joint in joints.values()):
            raise make_file_error(f'{where}, joint_to_motor_map', 'a motor of its own', motor)
        where = f"'{names[1]}', motor {number}"
        if (pair := limits.get(number, [None, None])) != [None, None]:
            low_high = _read_pair(f'{where}, {_LIMITS}', pair)
        ratio = _read_number(f'{where}, {_RATIOS}', ratios.get(number, 0.0))
        rom = _read_pair(f"'{names[0]}', joint '{joint}', joint_roms", roms.get(joint))
        joints[str(joint)] = OrcaRange(number, motor < 0, rom, low_high, ratio)
    if not joints:
        raise make_file_error(f"'{names[0]}'", 'joints in joint_to_motor_map', None)
    return joints


def _read_map(values: Any, where: str) -> dict[Any, Any]:
    if not isinstance(values or {}, dict):
        raise make_file_error(where, 'keys and values', values)
    return values or {}


def _read_pair(where: str, values: object) -> tuple[float, float]:
    if not isinstance(values, list) or len(values) != 2:
        raise make_file_error(where, 'two numbers', values)
    low, high = (_read_number(where, each) for each in values)
    if low >= high:
        raise make_file_error(where, 'the lower number first', values)
    return low, high


def _read_number(where: str, value: object) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e9:  # type: ignore[arg-type]
        raise make_file_error(where, 'a number', value)
    return float(value)  # type: ignore[arg-type]


def list_orca_rows(
    robot: RobotTransmissions, ranges: Mapping[str, OrcaRange]
) -> tuple[dict[str, KnownRows], list[str]]:
    """
    Return known positions by transmission, and sentences about what is not known.

    There are two for each joint, the ends of ``joint_roms`` by the hand's own map, which determine
    its reduction, also the sign, and its offset.

    :param ranges: Joints by the name of an actuator or joint.
    :raises UsageError: If two joints are one actuator.
    """

    def find_stops(name: str, _: Binding) -> Stops:
        joint = ranges[name]
        if joint.limits is None:
            raise UsageError(f'its motor {joint.motor} has no limits yet')
        low, high = joint.limits
        if joint.ratio:
            extent = (joint.rom[1] - joint.rom[0]) * joint.ratio
            if abs(extent - (high - low)) > STOP_SLACK * (high - low):
                raise UsageError(
                    f'its motor {joint.motor} moves by {high - low:.4g} rad between its '
                    f'{_LIMITS}, and by {extent:.4g} rad for its joint_roms by its {_RATIOS}'
                )
        motors = (high, low) if joint.is_inverted else (low, high)
        return motors, (math.radians(joint.rom[0]), math.radians(joint.rom[1]))

    return list_servo_rows(robot, ranges, find_stops, is_confirmed=True, is_free=True)


def write_orca(
    robot: RobotTransmissions,
    config: bytes,
    previous: bytes = b'',
    names: tuple[str, str] = (CONFIG, CALIBRATION),
) -> bytes:
    """
    Return a ``calibration.yaml`` with the map of the description.

    ``motor_limits`` are the positions of the actuators with the joints at the ends of
    ``joint_roms``; the limits of the description are not used.

    :param config: ``config.yaml``.
    :param previous: A file whose other keys are kept.
    :raises UsageError: As :func:`read_orca`; also if a joint has no transmission, one with a ratio
        that depends on position, or the sign of its motor is another one there.
    """
    ranges, document = (
        read_orca(config, previous, names),
        parse_yaml_file(previous, names[1]) or {},
    )
    matched, notes = match_servo_names(robot, ranges)
    if notes:
        raise UsageError(notes[0])
    limits, ratios = {}, {}
    for name, binding in matched.items():
        joint = ranges[name]
        low, high = map_servo_range(binding, *map(math.radians, joint.rom))
        if not binding.transmission.is_constant:
            raise UsageError(f"joint '{name}': expected a constant ratio, which ORCA's map has")
        if joint.is_inverted is (low < high):
            where = f"'{names[0]}', joint '{name}', joint_to_motor_map"
            expected = f"the sign of its reduction in '{binding.spec.name}'"
            raise make_file_error(
                where, expected, -joint.motor if joint.is_inverted else joint.motor
            )
        low, high = sorted((low, high))
        limits[joint.motor] = [low, high]
        ratios[joint.motor] = (high - low) / (joint.rom[1] - joint.rom[0])
    wrist = {'wrist_calibrated': True} if 'wrist' in ranges else {}
    document |= {_LIMITS: limits, _RATIOS: ratios, 'calibrated': True, **wrist}
    text: str = import_optional('yaml', 'cli').safe_dump(document, sort_keys=False)
    return text.encode()
