# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The calibration of an ORCA hand: stops of its motors, read as known positions, and written.

``config.yaml`` has ``joint_roms`` [degrees] and ``joint_to_motor_map``, negative for an inverted
motor. ``calibration.yaml`` has ``motor_limits`` ``[a0, a1]`` [rad at the motor] and
``joint_to_motor_ratios`` ``r`` [rad per degree], both by the number of the motor. With the range
``[q0, q1]`` of a joint, the hand's own map is::

    q = q0 + (a - a0) / r,  or q1 - (a - a0) / r if inverted,  r = (a1 - a0) / (q1 - q0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any

from transmission_bridge.tools.calibration.numbers import Known
from transmission_bridge.tools.calibration.servo_files import (
    list_known,
    map_range,
    match_names,
    refuse,
    STOP_SLACK,
    Stops,
)
from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.tools.files import parse_yaml
from transmission_bridge.transmissions import Binding, RobotTransmissions

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
    design, measured = _load(config, names[0]), _load(calibration, names[1])
    roms = _read_map(design, 'joint_roms', names[0])
    limits, ratios = (_read_map(measured, each, names[1]) for each in (_LIMITS, _RATIOS))
    joints: dict[str, OrcaRange] = {}
    for joint, motor in _read_map(design, 'joint_to_motor_map', names[0]).items():
        where = f"'{names[0]}', joint '{joint}'"
        if type(motor) is not int or motor == 0:
            raise refuse(f'{where}, joint_to_motor_map', 'a whole number, not 0', motor)
        number, low_high = abs(motor), None
        if number in (joint.motor for joint in joints.values()):
            raise refuse(f'{where}, joint_to_motor_map', 'a motor of its own', motor)
        where = f"'{names[1]}', motor {number}"
        if (pair := limits.get(number, [None, None])) != [None, None]:
            low_high = _read_pair(f'{where}, {_LIMITS}', pair)
        ratio = _read_number(f'{where}, {_RATIOS}', ratios.get(number, 0.0))
        rom = _read_pair(f"'{names[0]}', joint '{joint}', joint_roms", roms.get(joint))
        joints[str(joint)] = OrcaRange(number, motor < 0, rom, low_high, ratio)
    if not joints:
        raise refuse(f"'{names[0]}'", 'joints in joint_to_motor_map', None)
    return joints


def _load(data: bytes, name: str) -> dict[Any, Any]:
    document = parse_yaml(data, name)
    if not isinstance(document, dict | None):
        raise refuse(f"'{name}'", 'keys and values', document)
    return document or {}


def _read_map(document: Mapping[Any, Any], key: str, name: str) -> Mapping[Any, Any]:
    values = document.get(key) or {}
    if not isinstance(values, dict):
        raise refuse(f"'{name}', {key}", 'keys and values', values)
    return values


def _read_pair(where: str, values: object) -> tuple[float, float]:
    if not isinstance(values, list) or len(values) != 2:
        raise refuse(where, 'two numbers', values)
    low, high = (_read_number(where, each) for each in values)
    if low >= high:
        raise refuse(where, 'the lower number first', values)
    return low, high


def _read_number(where: str, value: object) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e9:  # type: ignore[arg-type]
        raise refuse(where, 'a number', value)
    return float(value)  # type: ignore[arg-type]


def list_rows(
    robot: RobotTransmissions, ranges: Mapping[str, OrcaRange]
) -> tuple[dict[str, Known], list[str]]:
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

    return list_known(robot, ranges, find_stops, is_confirmed=True, is_free=True)


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
    ranges, document = read_orca(config, previous, names), _load(previous, names[1])
    matched, notes = match_names(robot, ranges)
    if notes:
        raise UsageError(notes[0])
    limits, ratios = {}, {}
    for name, binding in matched.items():
        joint = ranges[name]
        low, high = map_range(binding, *map(math.radians, joint.rom))
        if not binding.transmission.is_constant:
            raise UsageError(f"joint '{name}': expected a constant ratio, which ORCA's map has")
        if joint.is_inverted is (low < high):
            where = f"'{names[0]}', joint '{name}', joint_to_motor_map"
            expected = f"the sign of its reduction in '{binding.spec.name}'"
            raise refuse(where, expected, -joint.motor if joint.is_inverted else joint.motor)
        low, high = sorted((low, high))
        limits[joint.motor] = [low, high]
        ratios[joint.motor] = (high - low) / (joint.rom[1] - joint.rom[0])
    wrist = {'wrist_calibrated': True} if 'wrist' in ranges else {}
    document |= {_LIMITS: limits, _RATIOS: ratios, 'calibrated': True, **wrist}
    text: str = optional('yaml', 'cli').safe_dump(document, sort_keys=False)
    return text.encode()
