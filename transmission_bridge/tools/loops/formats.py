# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that state loops: one function for each format."""

from __future__ import annotations

from dataclasses import replace
import re
from typing import Any

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.spatial import make_transform
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.found import (
    Found,
    FoundLoop,
    Frame,
    JOINT,
    LINK,
    LoopMotor,
    pose_between,
    read_yaml_list,
    require_name,
)
from transmission_bridge.transmissions.linkage import LoopType

_FIRST = re.compile(r'(closing_.+)_1')


def read_closing_frames(robot: RobotDescription) -> Found:
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
        frames = Frame(link.name), Frame(other)
        loops.append(FoundLoop(name, 'hinge' if is_hinge else 'point', frames))
        if not is_hinge:
            notes.append(
                f"loop '{name}': taken as a ball; if it is fastened, change its type to weld"
            )
    return Found(loops=tuple(loops), notes=tuple(notes))


def read_loop_closures(robot: RobotDescription, content: Any, file: str) -> Found:
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
            raise UsageError(
                f'{where}: expected link_a, link_b, point and axis, found {closure!r}'
            )
        frame = make_transform(np.eye(3), _read_vector(closure.get('point'), f'{where}: point'))
        ends = (
            require_name(closure.get(key), links, LINK, f'{where}: {key}')
            for key in ('link_a', 'link_b')
        )
        one, other = (Frame(link, pose_between(robot, link, root) @ frame) for link in ends)
        loop = FoundLoop(f'loop_{number}', 'point', (one, other))
        if closure.get('axis') is not None:
            axis = _read_vector(closure['axis'], f'{where}: axis')
            x, y, z = (axis / np.linalg.norm(axis)).tolist()
            loop = replace(loop, type='hinge', axis=(x, y, z))
        loops.append(loop)
    driven = {
        require_name(name, joints, JOINT, f"'{file}': independent"): LoopMotor(f'{name}_motor')
        for name in read_yaml_list(content, 'independent', file)
    }
    return Found(loops=tuple(loops), driven=driven)


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


def read_robot_yaml(robot: RobotDescription, content: Any, file: str) -> Found:
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
        one, other = (Frame(require_name(name, links, LINK, where)) for name in names)
        loops.append(FoundLoop(f'loop_{number}', type_, (one, other)))
    driven = {
        require_name(name, below, JOINT, f"'{file}': name_mot"): LoopMotor(f'{name}_motor')
        for name in read_yaml_list(content, 'name_mot', file)
    }
    replaced = (read_yaml_list(content, key, file) for key in ('joint_name', 'joint_type'))
    for name, kind in zip(*replaced, strict=False):
        if str(kind).upper() in _AXES and name in below:
            raise UsageError(
                f"'{file}': joint_type of '{name}' is {kind}: expected {_AXES[str(kind).upper()]} "
                'in its place in the URDF, and no entry of it in joint_name'
            )
        notes.append(f"joint '{name}' is {kind} in '{file}', and stays as it is in the URDF")
    return Found(loops=tuple(loops), driven=driven, notes=tuple(notes))
