# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``loop_closures.yaml`` of sw2robot and scikit-robot.

``closures`` have ``link_a``, ``link_b``, and ``point`` [m] and ``axis`` of a hinge in the frame of
the root with all joints at zero. ``independent`` are the joints that are prescribed, and
``dependent`` those that are solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transmission_bridge.description import RobotDescription
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
    for number, each in enumerate(read_yaml_list(content, 'closures', file), 1):
        where = f"'{file}': closure {number}"
        if not isinstance(each, dict):
            raise UsageError(f'{where}: expected link_a, link_b, point and axis, found {each!r}')
        point = _read_vector(each.get('point'), f'{where}: point')
        frame, frames = make_transform(np.eye(3), point), []
        for key in ('link_a', 'link_b'):
            link = require_name(each.get(key), links, LINK, f'{where}: {key}')
            frames.append(Frame(link, pose_between(robot, link, root) @ frame))
        name = f'loop_{number}'
        if each.get('axis') is None:
            loops.append(FoundLoop(name, 'point', (frames[0], frames[1])))
            continue
        axis = _read_vector(each['axis'], f'{where}: axis')
        x, y, z = (axis / np.linalg.norm(axis)).tolist()
        loops.append(FoundLoop(name, 'hinge', (frames[0], frames[1]), (x, y, z)))
    names = {
        key: [
            require_name(name, joints, JOINT, f"'{file}': {key}")
            for name in read_yaml_list(content, key, file)
        ]
        for key in ('independent', 'dependent')
    }
    return Found(
        loops=tuple(loops),
        driven={name: LoopMotor(f'{name}_motor') for name in names['independent']},
    )


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
