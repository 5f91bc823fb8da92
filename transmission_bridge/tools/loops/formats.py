# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a file states about loops, in the names of the URDF, and the YAML files of other tools.

Readers return :class:`LoopFile`, from which ``proposal`` makes the transmissions. To add a format,
write a reader and name it in the command. Other tools define the keys and names of these files.
The classes are immutable, and no reader keeps state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import closest, counted
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.spatial import make_transform
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.transmissions.linkage import LoopType
from transmission_bridge.types import Array

#: What a name has to be, for :func:`require_loop_name`.
LINK, JOINT = 'link of this URDF', 'joint of this URDF'

#: Smaller weights and constants of a row are rounding.
_SAME_ROW = 1e-6

#: Smaller deviations of a pose from the unit matrix are rounding.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class LoopFrame:
    """
    A frame of a loop.

    :param link: A link of the URDF.
    :param pose: The frame in the link, shape ``(4, 4)`` [translation in m].
    """

    link: str
    pose: Array = field(default_factory=lambda: np.eye(4))

    @property
    def is_link(self) -> bool:
        """Whether it is the frame of the link."""
        return bool(np.abs(self.pose - np.eye(4)).max() < SAME)


@dataclass(frozen=True)
class FoundLoop:
    """
    A loop of a file.

    :param name: Its name, unique in the file.
    :param type: As in ``<loop type>``.
    :param frames: The two frames that it joins.
    :param axis: Axis of a hinge, in both frames.
    """

    name: str
    type: LoopType
    frames: tuple[LoopFrame, LoopFrame]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class LoopMotor:
    """
    An actuator.

    :param name: Its name.
    :param reduction: Its position by that of what it turns.
    """

    name: str
    reduction: float = 1.0


class LoopChoice(NamedTuple):
    """
    A choice that the user has to make; its fields are keys of the JSON.

    :param option: ``--drive`` or ``--command``.
    :param number: Number of joints to choose.
    :param among: The joints.
    """

    option: str
    number: int
    among: tuple[str, ...]


@dataclass(frozen=True)
class LoopCouplingRow:
    """
    A weighted sum of joints, ``sum(weights[j] q_j) = constant``, or a motor moves the sum.

    :param name: Its name in the file.
    :param weights: By joint.
    :param constant: The sum without a motor [rad or m].
    :param motor: The motor, ``None`` without one.
    :param curve: The first joint as a polynomial of the second one, ``None`` if it is linear.
    """

    name: str
    weights: Mapping[str, float]
    constant: float = 0.0
    motor: LoopMotor | None = None
    curve: Polynomial | None = None


@dataclass(frozen=True)
class LoopFile:
    """
    Everything that a file states.

    :param loops: Its loops.
    :param rows: Its weighted sums of joints.
    :param driven: Motors by the joint that they turn.
    :param notes: What was not used, in sentences.
    """

    loops: tuple[FoundLoop, ...] = ()
    rows: tuple[LoopCouplingRow, ...] = ()
    driven: Mapping[str, LoopMotor] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def follow_loop_mimics(robot: RobotDescription, found: LoopFile) -> LoopFile:
    """
    Return what a file states, with each joint that has a ``<mimic>`` replaced by its leader.

    A row that states the ``<mimic>`` is left out with a note, and a motor of a sum of one joint
    turns this joint.

    :raises UsageError: If a row contradicts the ``<mimic>``.
    """
    mimics = {joint.name: joint.mimic for joint in robot.joints if joint.mimic is not None}
    rows, driven, notes = [], dict(found.driven), list(found.notes)
    for row in found.rows:
        weights, constant = dict(row.weights), row.constant
        names = ' and '.join(name for name in row.weights if name in mimics)
        if not names:
            rows.append(row)
            continue
        if row.curve is not None:
            raise UsageError(
                f"'{row.name}': expected no <mimic> of {names} in the URDF, because it is a "
                'polynomial here'
            )
        for _ in mimics:  # chains
            for name in [name for name in weights if name in mimics]:
                weight, mimic = weights.pop(name), mimics[name]
                constant -= weight * mimic.offset
                weights[mimic.joint] = weights.get(mimic.joint, 0.0) + weight * mimic.multiplier
        weights = {name: weight for name, weight in weights.items() if abs(weight) > _SAME_ROW}
        if len(weights) > 1:
            rows.append(replace(row, weights=weights, constant=constant))
        elif weights and row.motor:
            ((joint, weight),) = weights.items()
            driven[joint] = LoopMotor(row.motor.name, row.motor.reduction * weight)
        elif weights or row.motor or abs(constant) > _SAME_ROW:
            raise UsageError(f"'{row.name}': the <mimic> of {names} is another one; correct it")
        else:
            notes.append(f"'{row.name}' states the <mimic> of the URDF, and is left out")
    return replace(found, rows=tuple(rows), driven=driven, notes=tuple(notes))


def require_loop_name(name: object, names: Collection[str], kind: str, where: str) -> str:
    """
    Return a name that is one of ``names``, as a text.

    :param kind: What it names, for errors.
    :param where: Place of the name, for errors.
    :raises UsageError: If it is unknown.
    """
    text = str(name)
    if text not in names:
        raise UsageError(f"{where}: expected a {kind}, found '{text}'{closest(text, names)}")
    return text


def compute_link_pose(
    robot: RobotDescription, base: str, end: str, at: Mapping[str, float] | None = None
) -> Array:
    """
    Return the pose of a link in another one, shape ``(4, 4)`` [translation in m].

    :param at: Positions of joints [rad or m], zero by default.
    :raises DescriptionError: If no joints lead from one to the other.
    """
    device = JointDevice.from_description(robot, base=base, end=end)
    positions = at or {}
    return device.base_t_end([positions.get(name, 0.0) for name in device.joint_names])


def read_yaml_list(content: Any, key: str, name: str) -> list[Any]:
    """
    Return a list in a YAML file, empty if it is missing.

    :raises UsageError: If it is something else.
    """
    value = content.get(key) or []
    if not isinstance(value, list):
        raise UsageError(f"'{name}': {key}: expected a list, found {type(value).__name__}")
    return value


#: Name of the first link of a pair that a loop joins, as onshape-to-robot writes it.
_FIRST = re.compile(r'(closing_.+)_1')


def read_loop_frames(robot: RobotDescription) -> LoopFile:
    """
    Return the loops between the frames of a URDF.

    :raises UsageError: If one frame of a pair is missing.
    """
    links = {link.name for link in robot.links}
    loops, notes = [], []
    for link in robot.links:
        match = _FIRST.fullmatch(link.name)
        if match is None:
            continue
        name, other = match[1], f'{match[1]}_2'
        if other not in links:
            raise UsageError(f"expected link '{other}' for link '{link.name}', found none")
        is_hinge = {f'{link.name}_z', f'{other}_z'} <= links
        frames = LoopFrame(link.name), LoopFrame(other)
        loops.append(FoundLoop(name, 'hinge' if is_hinge else 'point', frames))
        if not is_hinge:
            notes.append(
                f"loop '{name}': taken as a ball; if it is fastened, change its type to weld"
            )
    return LoopFile(tuple(loops), notes=tuple(notes))


def read_loop_closures(robot: RobotDescription, content: Any, file: str) -> LoopFile:
    """
    Return the loops of a file; without an axis a loop is a ball.

    :param content: Its content.
    :param file: Its name, for errors.
    :raises UsageError: If it is damaged, or a name is not in the URDF.
    """
    children = {joint.child for joint in robot.joints}
    links = [link.name for link in robot.links]
    root = next((name for name in links if name not in children), '')
    joints = [joint.name for joint in robot.joints if joint.is_scalar]
    loops = []
    for number, closure in enumerate(read_yaml_list(content, 'closures', file), 1):
        where = f"'{file}': closure {number}"
        if not isinstance(closure, dict):
            expected = 'link_a, link_b, point and axis'
            raise UsageError(f'{where}: expected {expected}, found {closure!r}')
        frame = make_transform(np.eye(3), _read_vector(closure.get('point'), f'{where}: point'))
        ends = (
            require_loop_name(closure.get(key), links, LINK, f'{where}: {key}')
            for key in ('link_a', 'link_b')
        )
        one, other = (
            LoopFrame(link, compute_link_pose(robot, link, root) @ frame) for link in ends
        )
        loop = FoundLoop(f'loop_{number}', 'point', (one, other))
        if closure.get('axis') is not None:
            axis = _read_vector(closure['axis'], f'{where}: axis')
            x, y, z = (axis / np.linalg.norm(axis)).tolist()
            loop = replace(loop, type='hinge', axis=(x, y, z))
        loops.append(loop)
    return LoopFile(tuple(loops), driven=_read_motors(content, 'independent', file, joints))


def _read_motors(
    content: Any, key: str, file: str, joints: Collection[str]
) -> dict[str, LoopMotor]:
    """Return a motor for each joint of a list, by joint."""
    return {
        require_loop_name(name, joints, JOINT, f"'{file}': {key}"): LoopMotor(f'{name}_motor')
        for name in read_yaml_list(content, key, file)
    }


def _read_vector(value: Any, where: str) -> Any:
    """
    Return three numbers, not all zero for an axis.

    :raises UsageError: If the value is something else.
    """
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    is_axis = where.endswith('axis')
    if vector.shape != (3,) or not np.isfinite(vector).all() or (is_axis and not vector.any()):
        raise UsageError(f'{where}: expected three numbers, found {value!r}')
    return vector


#: Joints of several axes by their names in the file, as joints of a URDF.
_AXES = {
    'SPHERICAL': 'three revolute joints about x, y and z that meet in a point',
    'UJOINT': 'two revolute joints about crossing axes',
}

#: Types of loops by their names in the file.
_TYPES: dict[str, LoopType] = {'3d': 'point', '6d': 'weld'}


def read_robot_yaml(robot: RobotDescription, content: Any, file: str) -> LoopFile:
    """
    Return the loops of a file.

    :param content: Its content.
    :param file: Its name, for errors.
    :raises UsageError: If it is damaged, or a frame or a motor is not in the URDF.
    """
    pairs, types = (read_yaml_list(content, key, file) for key in ('closed_loop', 'type'))
    if len(types) != len(pairs):
        raise UsageError(f"'{file}': expected {counted(len(pairs), 'type')}, found {len(types)}")
    below = {joint.name: joint.child for joint in robot.joints}
    links = [link.name for link in robot.links]
    loops, notes = [], []
    for number, (pair, kind) in enumerate(zip(pairs, types, strict=True), 1):
        where = f"'{file}': loop {number}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise UsageError(f'{where}: expected two frames, found {pair!r}')
        type_ = _TYPES.get(str(kind).lower())
        if type_ is None:
            raise UsageError(f'{where}: expected type {" or ".join(_TYPES)}, found {kind!r}')
        # Some files name the joint above the frame.
        names = [frame if frame in links else below.get(str(frame), frame) for frame in pair]
        one, other = (LoopFrame(require_loop_name(name, links, LINK, where)) for name in names)
        loops.append(FoundLoop(f'loop_{number}', type_, (one, other)))
    driven = _read_motors(content, 'name_mot', file, below)
    replaced = (read_yaml_list(content, key, file) for key in ('joint_name', 'joint_type'))
    for name, kind in zip(*replaced, strict=False):
        if str(kind).upper() in _AXES and name in below:
            raise UsageError(
                f"'{file}': joint_type of '{name}' is {kind}: expected {_AXES[str(kind).upper()]} "
                'in its place in the URDF, and no entry of it in joint_name'
            )
        notes.append(f"joint '{name}' is {kind} in '{file}', and stays as it is in the URDF")
    return LoopFile(tuple(loops), (), driven, tuple(notes))
