# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Probable mistakes in the URDF of a linkage that one element shows by itself."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import Any

from transmission_bridge.description import Finding, JointSpec, TransmissionSpec
from transmission_bridge.errors import in_other_unit
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.linkage import linkage_joints

#: Longer origins are probably in millimetres [m], larger angles in degrees [rad].
_LARGEST = {'m': 4.0, 'rad': 2.0 * math.pi}


def warn_of_linkage_mistakes(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each ``<origin>``, loop and motor that is probably wrong."""
    for spec in robot.description.transmissions:
        names = linkage_joints(robot.description, spec, fixed=True)
        joints = [joint for joint in robot.description.joints if joint.name in names]
        if joints:
            yield from _warn_of_units(joints)
            yield from _warn_of_doubled_loops(spec)
            yield from _warn_of_wrong_motors(spec, joints)


def _warn_of_units(joints: list[JointSpec]) -> Iterator[Finding]:
    for joint in joints:
        for unit, values in (('m', joint.origin.xyz), ('rad', joint.origin.rpy)):
            value = max(values, key=abs)
            if abs(value) > _LARGEST[unit]:
                text = f"<origin> of joint '{joint.name}' is probably in another unit; check it"
                yield Finding.about(joint, 'warning', text, unit, in_other_unit(value, unit))


def _warn_of_doubled_loops(spec: TransmissionSpec) -> Iterator[Finding]:
    first: dict[frozenset[str], int | None] = {}
    for loop in (parameter for parameter in spec.parameters if parameter.name == 'loop'):
        frames = frozenset(text for name, text in loop.attributes if name.startswith('frame'))
        if frames in first:
            text, found = 'two loops have the same frames', f'those of line {first[frames]}'
            yield Finding.about(loop, 'warning', text, 'other frames', found)
        first.setdefault(frames, loop.line)


def _warn_of_wrong_motors(spec: TransmissionSpec, joints: list[JointSpec]) -> Iterator[Finding]:
    """Yield motors if all turn commanded joints, so that no loop has a use, and powerless ones."""
    driven: dict[str, Any] = {}
    for actuator in spec.actuators:
        named: dict[str, Any] = {x.value: x for x in actuator.parameters if x.name == 'joint'}
        driven |= named or {actuator.name: actuator}
    commanded = {joint.name for joint in spec.joints}
    weak = {joint.name for joint in joints if joint.limits and joint.limits.effort == 0.0}
    for name, place in driven.items():
        if driven.keys() <= commanded or (name in weak and not driven.keys() <= weak):
            what = 'is commanded itself' if name in commanded else 'has an effort limit of zero'
            expected = 'the joint that the motor turns, for example of a crank'
            text = f"a motor turns joint '{name}', which {what}"
            yield Finding.about(place, 'warning', text, expected, repr(name))
