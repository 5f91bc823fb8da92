# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``robot.yaml`` of example-parallel-robots.

``closed_loop: [[A, B]]`` are pairs of frames, ``type: [6d]`` or ``[3d]`` their kinds, ``name_mot``
the joints with motors. ``joint_name`` with ``joint_type`` are joints that the loader replaces.
"""

from __future__ import annotations

from typing import Any

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.found import (
    Found,
    FoundLoop,
    Frame,
    JOINT,
    LINK,
    LoopMotor,
    read_yaml_list,
    require_name,
)
from transmission_bridge.transmissions.linkage import LoopType

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
    pairs, types = (
        read_yaml_list(content, 'closed_loop', file),
        read_yaml_list(content, 'type', file),
    )
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
        names = [each if each in links else below.get(str(each), each) for each in pair]
        one, other = (Frame(require_name(name, links, LINK, where)) for name in names)
        loops.append(FoundLoop(f'loop_{number}', type_, (one, other)))
    driven = {
        require_name(each, below, JOINT, f"'{file}': name_mot"): LoopMotor(f'{each}_motor')
        for each in read_yaml_list(content, 'name_mot', file)
    }
    replaced = zip(
        read_yaml_list(content, 'joint_name', file),
        read_yaml_list(content, 'joint_type', file),
        strict=False,
    )
    for name, kind in replaced:
        if str(kind).upper() in _AXES and name in below:
            raise UsageError(
                f"'{file}': joint_type of '{name}' is {kind}: expected {_AXES[str(kind).upper()]} "
                'in its place in the URDF, and no entry of it in joint_name'
            )
        notes.append(f"joint '{name}' is {kind} in '{file}', and stays as it is in the URDF")
    return Found(loops=tuple(loops), driven=driven, notes=tuple(notes))
