# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are accepted, and are probably in another unit or were not filled in."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import Any, TypeAlias

from transmission_bridge.bridge.readers import list_command_names
from transmission_bridge.bridge.states import list_followers
from transmission_bridge.description import compute_limits, Finding, TransmissionEnd
from transmission_bridge.description.document import OFFSET
from transmission_bridge.errors import in_other_unit
from transmission_bridge.transmissions import ParameterPath, RobotTransmissions

#: Largest position limits (joints of real robots turn three times in each direction) and offsets.
_LIMITS, _OFFSETS = {'rad': 6.0 * math.pi, 'm': 20.0}, {'rad': 2.0 * math.pi, 'm': 4.0}

#: Whether it is odd, element, subject, message, expectation and finding.
_Judgement: TypeAlias = tuple[bool, Any, str, str, str, str]

#: Rounding of the limits of a joint that follows another joint [rad or m].
_ROUNDING = 1e-4


def warn_of_implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably an error.

    - A position limit of more than three turns that is not a power of ten, or of more than 20 m.
    - An offset of more than a turn or 4 m; in ticks if it is an integer and the driver has ticks.
    - A limit of velocity or effort of zero, and ``lower = upper``: the joint stands still.
    - A joint that leaves its own limits by ``<mimic>``.
    """
    return tuple(
        Finding('warning', f'{text}; check it', each.line, each.path, expected, found, subject)
        for is_odd, each, subject, text, expected, found in (
            *_judge_limits(robot),
            *_judge_offsets(robot),
        )
        if is_odd
    )


def _judge_limits(robot: RobotTransmissions) -> Iterator[_Judgement]:
    joints = {joint.name: joint for joint in robot.description.joints}
    for name, number in list_command_names(robot).commandable.items():
        if (joint := joints.get(name)) is None:
            continue
        (lower, _, _, _), (upper, velocity, effort, _) = robot.joint_limits[:, :, number].tolist()
        unit, end = 'm' if joint.type == 'prismatic' else 'rad', max(lower, upper, key=abs)
        is_none = math.isinf(end) or (unit == 'rad' and math.log10(abs(end) or 1.0).is_integer())
        is_large, text = abs(end) > _LIMITS[unit] and not is_none, 'is probably in another unit'
        of, still, ends = f" limit of '{name}' ", 'lets it stand still', f'{lower:g} twice'
        yield is_large, joint, name, f'the position{of}{text}', unit, in_other_unit(end, unit)
        yield lower == upper, joint, name, f'the position{of}{still}', 'a range', ends
        for what, value in (('velocity', velocity), ('effort', effort)):
            yield value == 0.0, joint, name, f'the {what}{of}{still}', 'more than zero', '0'
    names, followed, chains = list_followers(robot)
    for name, number, multiplier, offset in zip(names, followed, *chains, strict=True):
        lower, upper = compute_limits(robot.description, [name])[:, 0, 0].tolist()
        low, high = sorted((multiplier * robot.joint_limits[:, 0, number] + offset).tolist())
        leaves = low < lower - _ROUNDING or high > upper + _ROUNDING
        is_odd, found = leaves and math.isfinite(high - low), f'{lower:.4g} to {upper:.4g}'
        text, expected = f"joint '{name}' leaves its limits by <mimic>", f'{low:.4g} to {high:.4g}'
        yield is_odd, joints[name], name, text, f'limits of {expected} or more', found


def _judge_offsets(robot: RobotTransmissions) -> Iterator[_Judgement]:
    types = {joint.name: joint.type for joint in robot.description.joints}
    for spec in (binding.spec for binding in robot.bindings):
        ends: dict[ParameterPath, TransmissionEnd] = {}
        ends |= {('joints', joint.name): joint for joint in spec.joints}
        ends |= {('actuators', actuator.name): actuator for actuator in spec.actuators}
        units = [robot.units[x.name].position for x in spec.actuators if x.name in robot.units]
        scale = next((each.scale for each in units if each.text == 'tick'), 0.0)
        for each in robot.tunables.get(spec.name, ()):
            if each.path[2:] == (OFFSET,):
                end = ends[each.path[:2]]
                # An actuator of a linkage turns a joint; its offset is a position of this joint.
                name = next((x.value for x in end.parameters if x.name == 'joint'), end.name)
                unit = 'm' if types.get(name) == 'prismatic' else 'rad'
                text, found = 'in another unit', in_other_unit(each.value, unit)
                if scale and each.value.is_integer():
                    text, found = 'in ticks', f'{each.value:g}; {each.value * scale:.6g} {unit}'
                is_large = name in types and abs(each.value) > _OFFSETS[unit]
                text = f"the offset of joint '{name}' is probably {text}"
                yield is_large, end, spec.name, text, unit, found
