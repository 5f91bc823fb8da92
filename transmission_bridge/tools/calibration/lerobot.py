# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
LeRobot's calibration file: ranges of servos in ticks, read as known positions, and written.

JSON, for each motor ``id``, ``drive_mode``, ``homing_offset``, ``range_min`` and ``range_max``. A
reading ``p`` of a servo is the tick after the ``homing_offset`` that its EEPROM subtracts. The
position of the actuator is ``p`` times the scale of its unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
import json
import math
import re
from typing import Literal

import numpy as np

from transmission_bridge.errors import UnknownNameError
from transmission_bridge.tools.calibration.numbers import Known
from transmission_bridge.tools.calibration.servo_files import (
    list_known,
    map_range,
    match_names,
    refuse,
    Stops,
)
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.transmissions import Binding, RobotTransmissions
from transmission_bridge.transmissions.robot import Unit

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
    One motor of the file, as read.

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
        raise refuse(f"'{name}'", 'a calibration file of LeRobot, motors by name', document)
    return {
        motor: _read_range(f"'{name}', motor '{motor}'", document[motor]) for motor in document
    }


def _read_range(where: str, document: object) -> ServoRange:
    names = [field.name for field in fields(ServoRange)]
    if not isinstance(document, dict) or not document.keys() >= set(names):
        raise refuse(where, f'the fields {", ".join(names)}', document)
    for name in names:
        value = document[name]
        if type(value) is not int or abs(value) >= 2**31:
            raise refuse(f'{where}, {name}', 'a whole number of 32 bits', value)
    servo = ServoRange(**{name: document[name] for name in names})
    if servo.range_min >= servo.range_max:
        expected = f'range_min below the range_max {servo.range_max}'
        raise refuse(where, expected, servo.range_min)
    return servo


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


def list_rows(
    robot: RobotTransmissions,
    ranges: Mapping[str, ServoRange],
    *,
    is_confirmed: bool,
    is_free: bool = False,
    resolution: int = RESOLUTION,
) -> tuple[dict[str, Known], list[str]]:
    """
    Return known positions by transmission, and sentences about what is not known or a guess.

    With the limits ``lower`` and ``upper`` of the joint and the scale ``s`` of its actuator::

        f(s range_min) = lower,  f(s range_max) = upper           (exchanged if f decreases)
        f(s (range_min + range_max) / 2) = (lower + upper) / 2    (not confirmed)

    The guess is wrong by half the difference of range and limits if the sweep missed a stop. The
    scale is that of ``position_unit`` if this is in ticks, else 2 pi / ``resolution``: the driver
    then has to report its tick 0 as 0.

    :param ranges: Motors by the name of an actuator or joint.
    :param is_confirmed: Whether each joint was swept from stop to stop, and its limits are there.
    :param is_free: Whether the reductions are unknown.
    :raises UsageError: If two motors are one actuator.
    """

    def find_stops(name: str, binding: Binding) -> Stops:
        servo = ranges[name]
        limits = robot.joint_limits[:, 0, binding.joints[0]].tolist()
        scale, count = _read_scale(binding, resolution)
        if (swept := judge_sweep(servo, count)) != 'swept':
            raise UsageError(_REASONS[swept])
        low, high = map_range(binding, *limits)
        motors = (servo.range_min * scale, servo.range_max * scale)
        return motors if low < high else motors[::-1], (limits[0], limits[1])

    rows, notes = list_known(
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


def _read_scale(binding: Binding, resolution: int) -> tuple[float, int]:
    """Return the position at the motor for each tick, and the ticks of a turn."""
    units = binding.units.get(binding.spec.actuators[0].name)
    unit = units.position if units else Unit()
    if unit.text.split()[-1:] == ['tick']:
        return unit.scale, round(_TURN / unit.scale)
    return _TURN / resolution, resolution


def write_lerobot(
    robot: RobotTransmissions,
    resolution: int = RESOLUTION,
    previous: Mapping[str, ServoRange] | None = None,
    only: Collection[str] = (),
) -> bytes:
    """
    Return a calibration file with the ranges of the description.

    ``range_min`` and ``range_max`` are the rounded ticks with the joint at its limits, 0 to
    ``resolution - 1`` for a joint without limits. LeRobot then reads ``DEGREES`` as
    ``(p - (range_min + range_max) / 2) 360 / (resolution - 1)``: the zero is the middle of the
    limits, not the joint's zero, the direction is the motor's, and a degree is the motor's.

    :param previous: A file whose motors, ids, ``drive_mode`` and ``homing_offset`` are kept.
        Without one each transmission has a motor with the joint's name and the number in
        ``<param name="id">`` of its actuator or joint, and the other two are 0: the offsets of the
        description then have to belong to servos without a homing offset.
    :param only: The transmissions to write, all by default; other motors of a previous file stay.
    :raises UsageError: If a motor has no transmission, no ``id`` or the one of another motor, or
        its range does not fit into one turn.
    """
    for name in only:
        if name not in robot.transmissions:
            raise UnknownNameError('transmission', name, tuple(robot.transmissions))
    named = (
        binding.spec.joints[0].name
        for binding in robot.bindings
        if not binding.is_identity and binding.spec.name in (only or robot.transmissions)
    )
    matched, notes = match_names(robot, tuple(previous or named))
    if notes or not matched:
        raise UsageError(notes[0] if notes else 'expected transmissions, found none')
    document: dict[str, dict[str, int]] = {}
    for name, binding in matched.items():
        kept = previous[name] if previous else ServoRange(_read_id(robot, binding), 0, 0, 0, 0)
        if kept.id in (each['id'] for each in document.values()):
            raise refuse(f"motor '{name}'", 'an id of its own', kept.id)
        if not only or binding.spec.name in only:
            low, high = _find_range(robot, binding, resolution)
            kept = replace(kept, range_min=low, range_max=high)
        document[name] = asdict(kept)
    return (json.dumps(document, indent=4) + '\n').encode()


def _find_range(robot: RobotTransmissions, binding: Binding, resolution: int) -> tuple[int, int]:
    joint = binding.spec.joints[0].name
    limits = robot.joint_limits[:, 0, binding.joints[0]]
    scale, count = _read_scale(binding, resolution)
    if np.isinf(limits).all():
        return 0, count - 1
    motors = map_range(binding, *limits.tolist())
    low, high = sorted(round(motor / scale) for motor in motors)
    if low < 0 or high >= count or low >= high:
        raise UsageError(
            f"joint '{joint}': expected its limits at two readings in 0 to {count - 1}, because "
            f'LeRobot counts no turns, found {low} and {high}: change the homing offset of the '
            'servo and the offset of its transmission, or the limits'
        )
    return low, high


def _read_id(robot: RobotTransmissions, binding: Binding) -> int:
    """Return the id in the actuator, in the joint, or in the joint of a ros2_control block."""
    joint = binding.spec.joints[0]
    components = (block.component(joint.name) for block in robot.description.blocks)
    for owner in (binding.spec.actuators[0], joint, *components):
        for parameter in owner.parameters if owner else ():
            if parameter.name == 'id':
                if not re.fullmatch('[0-9]{1,9}', parameter.value):
                    raise refuse(f"joint '{joint.name}', id", 'a whole number', parameter.value)
                return int(parameter.value)
    raise refuse(f"joint '{joint.name}'", '<param name="id"> in its actuator or joint', None)
