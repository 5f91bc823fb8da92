# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Probable mistakes in the URDF of a linkage: single changes of an element that correct it.

Most robots are drawn assembled, with all joints at zero or at their ``<start>``. A loop that is
open there, and closes with other signs, another order or another power of ten of one ``<origin>``,
has a mistake in it. For a linkage that closes and cannot move, other axes and types of its joints
are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
import math
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.description import (
    Finding,
    JointSpec,
    ParameterSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import in_other_unit, TransmissionBridgeError
from transmission_bridge.kinematics import JointDevice, KinematicTree
from transmission_bridge.transmissions import build_transmission, Registry, RobotTransmissions
from transmission_bridge.types import Array

#: Longer origins are probably in millimetres [m], larger angles in degrees [rad].
_LONG, _WIDE = 4.0, 2.0 * math.pi

#: Gap of a closed loop [m], and relative rounding of dimensions.
_CLOSED, _ROUNDING = 1e-5, 1e-4

#: Largest numbers of joints that are changed, and of changes that are listed.
_MOST_TRIED, _MOST_LISTED = 24, 3


class _DrawnLoop(NamedTuple):
    """
    A loop as drawn.

    ``joints`` are the joints between its frames, and whether they carry ``frame2``. ``poses`` are
    those of all links in ``frame1``. ``gap`` is the position of ``frame2`` in ``frame1`` [m],
    zero if it is a rod.
    """

    element: ParameterSpec
    frames: tuple[str, str]
    tree: KinematicTree
    joints: list[tuple[JointSpec, bool]]
    poses: dict[str, Array]
    gap: Array


def warn_of_linkage_mistakes(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each probable mistake in the loops of a linkage."""
    for spec in robot.description.transmissions:
        try:
            loops = list(_read_loops(robot.description, spec))
        except (TransmissionBridgeError, LookupError, ValueError):
            continue  # the transmission has an error
        joints = {joint.name: joint for loop in loops for joint, _ in loop.joints}.values()
        is_built = spec.name in robot.transmissions
        has_start = any(each.name == 'start' for each in spec.parameters)
        found = [] if is_built and has_start else list(_warn_of_open_loops(loops))
        found += _warn_of_units(joints, {each.path for each in found})
        if not is_built and not found:
            found += islice(
                _warn_of_immobile_joints(robot.description, spec, joints), _MOST_LISTED
            )
        found += (*_warn_of_doubled_loops(loops), *_warn_of_wrong_motors(spec, joints))
        yield from (replace(each, subject=spec.name) for each in found)


def _warn(place: Any, message: str, expected: str, found: str) -> Finding:
    line, path = place.line, place.path
    return Finding('warning', message, line=line, path=path, expected=expected, found=found)


def _read_loops(robot: RobotDescription, spec: TransmissionSpec) -> Iterator[_DrawnLoop]:
    tree, joints = (
        KinematicTree.from_description(robot),
        {each.name: each for each in robot.joints},
    )
    names = [each.name for each in robot.joints if each.is_scalar and each.mimic is None]
    given = [(each, dict(each.attributes)) for each in spec.parameters]
    starts = {at['joint']: float(at['position']) for each, at in given if each.name == 'start'}
    q = np.array([starts.get(name, 0.0) for name in names])
    for element, at in given if spec.type.endswith('/LinkageTransmission') else ():
        if element.name == 'loop':
            one, other = at['frame1'], at['frame2']
            device = JointDevice.from_description(robot, base=one, end=other, joints=names)
            poses = {link: device.base_t_frame(link, q) for link in map(str, tree.links)}
            route = [(joints[x.joint.name], x.downward) for x in tree.find_route(one, other)]
            gap = poses[other][:3, 3] * (at.get('type') != 'rod')
            yield _DrawnLoop(element, (one, other), tree, route, poses, gap)


def _warn_of_open_loops(loops: Iterable[_DrawnLoop]) -> Iterator[Finding]:
    """Yield the frames and the origins that would close a loop as drawn."""
    for loop in loops:
        size, names = np.linalg.norm(loop.gap), ' - '.join(map(repr, loop.frames))
        text = f'would close loop {names}, which is open by {size:.4g} m with all joints at zero'
        if not _CLOSED < size < math.inf:
            continue
        found = []
        for number, frame, goal in zip('12', loop.frames, (loop.gap, np.zeros(3)), strict=True):
            for link, pose in loop.poses.items():
                is_rigid = all(x.joint.type == 'fixed' for x in loop.tree.find_route(frame, link))
                if is_rigid and np.linalg.norm(pose[:3, 3] - goal) < _CLOSED:
                    what = f'another frame{number} {text}'
                    found.append(_warn(loop.element, what, repr(link), repr(frame)))
        for joint, is_down in () if found else loop.joints:
            given, turn = np.array(joint.origin.xyz), loop.poses[joint.parent][:3, :3]
            needed = given + turn.T @ loop.gap * (-1.0 if is_down else 1.0)
            if _is_slip(given, needed):
                what = f"another <origin> of joint '{joint.name}' {text}"
                found.append(_warn(joint, what, _format(needed), _format(given)))
        yield from found


def _is_slip(found: Array, expected: Array) -> bool:
    """Return whether dimensions differ by signs, their order, or a power of ten."""
    slack = _ROUNDING * max(np.abs(found).max(), np.abs(expected).max())
    if np.abs(np.sort(np.abs(found)) - np.sort(np.abs(expected))).max() < slack:
        return True
    changed = np.abs(found - expected) > slack
    with np.errstate(all='ignore'):
        powers = np.log10(np.abs(found[changed] / expected[changed]))
        is_power = np.abs(powers - np.round(powers[0])) < _ROUNDING
    return bool(is_power.all()) and 0.5 < abs(powers[0]) < 3.5


def _format(vector: Iterable[float]) -> str:
    return ' '.join(f'{each:.6g}' for each in np.round([*vector], 9) + 0.0)


def _warn_of_units(joints: Iterable[JointSpec], known: Collection[str]) -> Iterator[Finding]:
    for joint in joints:
        length, angle = (max(each, key=abs) for each in (joint.origin.xyz, joint.origin.rpy))
        units = (length, _LONG, 'm', 'millimetres'), (angle, _WIDE, 'rad', 'degrees')
        for value, most, unit, other in () if joint.path in known else units:
            if abs(value) > most:
                what = f"<origin> of joint '{joint.name}' is probably in {other}; check it"
                yield _warn(joint, what, unit, in_other_unit(value, unit))


def _warn_of_immobile_joints(
    robot: RobotDescription, spec: TransmissionSpec, joints: Iterable[JointSpec]
) -> Iterator[Finding]:
    """Yield the changes of one joint with which a rejected linkage can be built."""
    for joint in islice(joints, _MOST_TRIED):
        for what, expected, found, changed in _list_variants(joint):
            others = tuple(changed if each is joint else each for each in robot.joints)
            try:
                cls = Registry().load(spec.type)
                built, _ = build_transmission(cls, spec, None, replace(robot, joints=others))
            except TransmissionBridgeError:
                continue
            if not built.transmission.doubts():
                what = f"another {what} of joint '{joint.name}' would let '{spec.name}' move"
                yield _warn(joint, what, expected, found)


def _list_variants(joint: JointSpec) -> Iterator[tuple[str, str, str, JointSpec]]:
    """Yield element, both texts, and the joint without mimic, as revolute, or on other axes."""
    if joint.mimic is not None:
        yield '<mimic>', 'none', joint.mimic.joint, replace(joint, mimic=None)
    for axis in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
        text, other = _format(axis), replace(joint, axis=axis)
        if joint.type in ('fixed', 'prismatic'):
            yield 'type', f'revolute about {text}', joint.type, replace(other, type='revolute')
        if joint.is_scalar and not np.allclose(np.abs(axis), np.abs(joint.axis)):
            yield '<axis>', text, _format(joint.axis), other


def _warn_of_doubled_loops(loops: Sequence[_DrawnLoop]) -> Iterator[Finding]:
    for one, other in combinations(loops, 2):
        if {*one.frames} == {*other.frames}:
            what, found = 'two loops have the same frames', f'those of line {one.element.line}'
            yield _warn(other.element, what, 'other frames', found)


def _warn_of_wrong_motors(
    spec: TransmissionSpec, joints: Collection[JointSpec]
) -> Iterator[Finding]:
    """Yield motors if all turn commanded joints, so that no loop has a use, and powerless ones."""
    driven: dict[str, Any] = {}
    for actuator in spec.actuators if joints else ():
        named: dict[str, Any] = {
            each.value: each for each in actuator.parameters if each.name == 'joint'
        }
        driven |= named or {actuator.name: actuator}
    commanded = {joint.name for joint in spec.joints}
    weak = {each.name for each in joints if each.limits and each.limits.effort == 0.0}
    for name, place in driven.items():
        if driven.keys() <= commanded or (name in weak and not driven.keys() <= weak):
            what = 'is commanded itself' if name in commanded else 'has an effort limit of zero'
            expected = 'the joint that the motor turns, for example of a crank'
            yield _warn(place, f"a motor turns joint '{name}', which {what}", expected, repr(name))
