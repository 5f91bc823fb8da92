# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Poses of all links of a robot from the positions of its joints."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from transmission_bridge.description import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError
from transmission_bridge.kinematics import (
    Joint,
    joint_from_spec,
    JointError,
    JointSource,
    KinematicTree,
    number_joints,
    rest_transform_of,
)
from transmission_bridge.types import Array, Mask

#: Links that are drawn; a browser shows more of them slowly.
MOST_LINKS = 2000

#: The free twist of a joint that slides along its axis.
_ALONG = (2,)


class LinkPoses:
    """
    Forward kinematics of a whole robot.

    ``root_H_link = root_H_parent K M(q) K'``, with the frames of
    :class:`~transmission_bridge.kinematics.Joint`. Every root is at the origin. If a link has
    two parents, the first one is used. Links without a root are left out. Joints with several
    degrees of freedom stay at rest.

    :param robot: The description.
    :ivar links: Names of the placed links, roots first; at most :data:`MOST_LINKS`.
    :ivar joint_of: Name of the parent joint of each link, empty for a root.
    :ivar n_left_out: Number of links that are not placed.
    """

    def __init__(self, robot: RobotDescription) -> None:
        children: dict[str, list[JointSpec]] = {}
        for each in robot.joints:
            children.setdefault(each.parent, []).append(each)
        names = dict.fromkeys([*(link.name for link in robot.links), *children])
        below = {joint.child for joint in robot.joints}
        above: dict[str, JointSpec | None] = {}
        self._parents: list[int] = []
        waiting = deque[tuple[str, JointSpec | None, int]](
            (name, None, -1) for name in names if name not in below
        )
        while waiting and len(above) < MOST_LINKS:
            link, spec, parent = waiting.popleft()
            if link not in above:
                waiting += [(child.child, child, len(above)) for child in children.get(link, ())]
                above[link] = spec
                self._parents.append(parent)
        self.links = tuple(above)
        self.joint_of = tuple('' if spec is None else spec.name for spec in above.values())
        self.n_left_out = len({*names, *below}) - len(above)
        n, sources = len(above), _find_joint_sources(robot)
        self._before, self._after = np.tile(np.eye(4), (2, n, 1, 1))
        self._gains, self._offsets = np.zeros((2, n))
        self._slides: Mask = np.zeros(n, dtype=bool)
        self._owners = [''] * n
        for index, spec in enumerate(above.values()):
            joint = None if spec is None else _make_joint(spec)
            if spec is not None and (joint is None or not joint.is_scalar):
                self._before[index] = rest_transform_of(spec)
            elif joint is not None:
                self._before[index], self._after[index] = joint.motion_frames
                self._slides[index] = joint.twists == _ALONG
                source = sources.get(joint.name, (joint.name, 1.0, 0.0))
                self._owners[index], self._gains[index], self._offsets[index] = source

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that determine the poses."""
        return tuple(dict.fromkeys(filter(None, self._owners)))

    def find_mover(self, index: int) -> str:
        """Return the nearest joint that moves a link, empty for none."""
        while index >= 0 and not self._owners[index]:
            index = self._parents[index]
        return self._owners[index] if index >= 0 else ''

    def find_frame(self, index: int) -> tuple[int, Array, bool]:
        """Return the parent of a link, ``parent_H_joint``, and whether its joint slides (z)."""
        return self._parents[index], self._before[index], bool(self._slides[index])

    def list_below(self, index: int) -> list[int]:
        """Return the links that the parent joint of a link moves, this link included."""
        below = {index}
        for each, parent in enumerate(self._parents):  # parents come first
            if parent in below:
                below.add(each)
        return sorted(below)

    def __call__(self, positions: Mapping[str, float]) -> tuple[Array, Mask]:
        """
        Return the poses of all links.

        :param positions: By joint [rad or m]; zero is used if one is absent or NaN.
        :returns: ``root_H_link`` of each link, shape ``(n, 4, 4)`` [m], and a mask of the links
            behind a joint at an unknown position, shape ``(n,)``.
        """
        given = np.array(
            [positions.get(owner, np.nan) if owner else 0.0 for owner in self._owners]
        )
        known = np.isfinite(given)
        q = np.where(known, given, 0.0) * self._gains + self._offsets
        motion = np.tile(np.eye(4), (len(q), 1, 1))
        angle = np.where(self._slides, 0.0, q)
        motion[:, 0, 0] = motion[:, 1, 1] = np.cos(angle)
        motion[:, 1, 0] = np.sin(angle)
        motion[:, 0, 1] = -motion[:, 1, 0]
        motion[:, 2, 3] = np.where(self._slides, q, 0.0)
        poses: Array = self._before @ motion @ self._after
        unknown: Mask = ~known
        for index, parent in enumerate(self._parents):
            if parent >= 0:
                poses[index] = poses[parent] @ poses[index]
                unknown[index] |= unknown[parent]
        return poses, unknown


def _make_joint(spec: JointSpec) -> Joint | None:
    try:
        return joint_from_spec(spec)
    except DescriptionError:
        return None


def _find_joint_sources(robot: RobotDescription) -> dict[str, tuple[str, float, float]]:
    """Return for each joint the joint that it mimics, or itself, with multiplier and offset."""
    own = [spec for spec in robot.joints if spec.is_scalar and spec.mimic is None]
    leaders = number_joints(joint for spec in own if (joint := _make_joint(spec)) is not None)
    name_at = {joint.position_offset: joint.name for joint in leaders}
    try:
        sources: Mapping[str, JointSource] = KinematicTree(robot.joints).list_sources(leaders)
    except (DescriptionError, JointError):  # joints that mimic each other cannot move
        return {}
    return {
        name: (name_at[source.position], source.multiplier, source.offset)
        for name, source in sources.items()
    }
