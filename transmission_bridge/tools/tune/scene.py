# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robot in the 3D view: its present pose, and a transparent commanded or previewed pose.

All browsers share it. Only the thread of the session changes it: the session shows poses, the tab
of the calibration an arrow, and viser calls :data:`Clicked` in its own thread. Colours and sizes
are free to change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
import math
from typing import Any

import numpy as np

from transmission_bridge.description import collect_limits, JointSpec, RobotDescription
from transmission_bridge.description.document import load_urdf_visuals
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
from transmission_bridge.tools.cli import import_optional
from transmission_bridge.tools.tune.shapes import load_shapes, MeshPackages, Shape
from transmission_bridge.types import Array, Mask

#: Links that are drawn; a browser shows more of them slowly.
MOST_LINKS = 2000

#: The free twist of a joint that slides along its axis.
_ALONG = (2,)


class SceneLinkPoses:
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
        for child in robot.joints:
            children.setdefault(child.parent, []).append(child)
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

    def find_frame(self, index: int) -> tuple[Array, bool]:
        """Return ``link_H_joint``, in which a link moves about or along z, and if it slides."""
        return np.linalg.inv(self._after[index]), bool(self._slides[index])

    def list_below(self, index: int) -> list[int]:
        """Return the links that the parent joint of a link moves, this link included."""
        below = {index}
        for link, parent in enumerate(self._parents):  # parents come first
            if parent in below:
                below.add(link)
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
        is_known = np.isfinite(given)
        q = np.where(is_known, given, 0.0) * self._gains + self._offsets
        motion = np.tile(np.eye(4), (len(q), 1, 1))
        angle = np.where(self._slides, 0.0, q)
        motion[:, 0, 0] = motion[:, 1, 1] = np.cos(angle)
        motion[:, 1, 0] = np.sin(angle)
        motion[:, 0, 1] = -motion[:, 1, 0]
        motion[:, 2, 3] = np.where(self._slides, q, 0.0)
        poses: Array = self._before @ motion @ self._after
        unknown: Mask = ~is_known
        for index, parent in enumerate(self._parents):
            if parent >= 0:
                poses[index] = poses[parent] @ poses[index]
                unknown[index] |= unknown[parent]
        return poses, unknown


def _make_joint(spec: JointSpec) -> Joint | None:
    with suppress(DescriptionError):
        return joint_from_spec(spec)
    return None


def _find_joint_sources(robot: RobotDescription) -> dict[str, tuple[str, float, float]]:
    """Return for each joint the joint that it mimics, or itself, with multiplier and offset."""
    movable = [spec for spec in robot.joints if spec.is_scalar and spec.mimic is None]
    leaders = number_joints(joint for spec in movable if (joint := _make_joint(spec)) is not None)
    name_at = {joint.position_offset: joint.name for joint in leaders}
    try:
        sources: Mapping[str, JointSource] = KinematicTree(robot.joints).list_sources(leaders)
    except (DescriptionError, JointError):  # joints that mimic each other cannot move
        return {}
    return {
        name: (name_at[source.position], source.multiplier, source.offset)
        for name, source in sources.items()
    }


#: Colours of the transparent robot: a command, and the preview of a change.
COMMANDED, PREVIEWED = (28, 126, 214), (232, 137, 12)

#: Colour of links behind a joint at an unknown position.
_UNKNOWN = (205, 205, 205)
_OPACITY = 0.35

#: Colour of the link that is moved by hand, and of its arrow.
_BY_HAND = (47, 158, 68)

#: Change [m], also of an entry of a rotation, from which the pose of a link is sent again.
_MOVED = 1e-5

#: Distance [m or rad] from which the transparent robot is shown.
_ANOTHER = 2e-3

#: Number of random poses that determine the extent of the robot, and the range of a joint without
#: limits in them.
_POSES, _OPEN = 40, math.pi

#: Distance of the camera in radii of the extent, and its direction from the centre.
_DISTANCE, _FROM = 1.8, np.array([0.66, -0.66, 0.36])

#: Is called with the number of a client and the parent joint of the clicked link.
Clicked = Callable[[int, str], None]


class RobotScene:
    """
    The robot of one description; the session makes another scene for another robot.

    :param server: The server; all browsers share the scene.
    :param robot: The description.
    :param text: Its text, for the shapes.
    :param packages: Folders of the packages that contain meshes.
    :param clicked: Is called in viser's thread.
    :ivar poses: The forward kinematics.
    :ivar missing: The reason by link for a missing shape.
    """

    def __init__(
        self,
        server: Any,
        robot: RobotDescription,
        text: bytes,
        packages: MeshPackages,
        clicked: Clicked,
    ) -> None:
        self._server, self.poses = server, SceneLinkPoses(robot)
        shapes, self.missing = load_shapes(load_urdf_visuals(text), packages)
        by_link: dict[str, list[Shape]] = {}
        for shape in shapes:
            by_link.setdefault(shape.link, []).append(shape)
        points = self._compute_extent(robot, by_link)
        low, high = points.min(axis=0), points.max(axis=0)
        self._centre = 0.5 * (low + high)
        radius = float(max(np.linalg.norm(points - self._centre, axis=1).max(), 0.05))
        self._eye = self._centre + _DISTANCE * radius * _FROM
        server.initial_camera.look_at, server.initial_camera.position = self._centre, self._eye
        cell = 0.1 if radius < 2.5 else 1.0
        server.scene.add_grid(
            '/grid',
            width=8.0 * radius,
            height=8.0 * radius,
            cell_size=cell,
            section_size=5.0 * cell,
            # A grey with low contrast to white and to black.
            cell_color=(128, 128, 128),
            section_color=(128, 128, 128),
            cell_thickness=0.5,
            position=(0.0, 0.0, float(self._floor)),
        )
        with server.atomic():
            self._robot = _RobotBody(server, '/robot', self.poses, by_link, radius, clicked)
            self._ghost = _RobotBody(server, '/ghost', self.poses, by_link, radius, None)
        #: Links behind a joint at an unknown position; they are grey.
        self._unknown: Mask = np.zeros(len(self.poses.links), dtype=bool)
        #: The joint of :meth:`show_arrow`, whose link is not painted grey, and its side.
        self._radius, self._arrow_joint, self._arrow_side = radius, '', 0
        self._arrow_nodes: list[Any] = []

    def _compute_extent(
        self, robot: RobotDescription, by_link: Mapping[str, list[Shape]]
    ) -> Array:
        """Return points of the robot at rest, and origins of its links in random poses."""
        rest, _ = self.poses({})
        points = [np.zeros((1, 3)), rest[:, :3, 3]]
        #: The middle of each link in its own frame, and the poses that are drawn.
        self._middles, self._drawn = np.zeros((len(rest), 3)), rest
        for index, (link, pose) in enumerate(zip(self.poses.links, rest, strict=True)):
            for shape in by_link.get(link, ()):
                points.append(shape.vertices @ pose[:3, :3].T + pose[:3, 3])
                self._middles[index] = shape.vertices.mean(axis=0)
        self._floor = np.concatenate(points)[:, 2].min()
        limits = np.clip(collect_limits(robot, self.poses.joints)[:, 0].T, -_OPEN, _OPEN)
        for share in np.random.default_rng(0).random((_POSES, len(limits))):
            q = limits[:, 0] + share * (limits[:, 1] - limits[:, 0])
            poses, _ = self.poses(dict(zip(self.poses.joints, q.tolist(), strict=False)))
            points.append(poses[:, :3, 3])
        return np.concatenate(points)

    def reset_view(self, client: Any) -> None:
        """Point the camera of a client at the whole extent of the robot."""
        with client.atomic():
            # The angle of view is vertical: a narrow view needs more distance.
            far = max(1.0, 0.9 / client.camera.aspect)
            client.camera.position = self._centre + far * (self._eye - self._centre)
            client.camera.look_at = self._centre

    def show_arrow(self, joint: str, side: int) -> None:
        """Paint the link of a joint, and show an arrow along (1) or against (-1) the joint."""
        if (joint, side) == (self._arrow_joint, self._arrow_side):
            return
        before, self._arrow_joint, self._arrow_side = self._arrow_joint, joint, side
        for node in self._arrow_nodes:
            node.remove()
        self._arrow_nodes = []
        if before and before in self.poses.joint_of:
            index = self.poses.joint_of.index(before)
            self._robot.paint_links(_UNKNOWN if self._unknown[index] else None, index)
        if joint and joint in self.poses.joint_of:
            index = self.poses.joint_of.index(joint)
            self._robot.paint_links(_BY_HAND, index)
            if side:
                self._draw_arrow(index, side)

    def _draw_arrow(self, index: int, side: int) -> None:
        # Beside the link as it is drawn, wherever that is.
        frame, slides = self.poses.find_frame(index)
        size, scene, name = 0.26 * self._radius, self._server.scene, f'/robot/{index}/arrow'
        if slides:
            points = size * side * np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        else:
            angles = self._find_angle(index, frame) + side * np.linspace(-0.9, 0.9, 24)
            points = size * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        along = points[-1] - points[-2]
        head = points[-1] + 0.4 * size * along / np.linalg.norm(along)
        rotation = import_optional('viser.transforms', 'tune').SO3.from_matrix(frame[:3, :3])
        at = {'wxyz': rotation.wxyz, 'position': frame[:3, 3]}
        segments, tip = np.stack([points[:-1], points[1:]], axis=1), np.array([[points[-1], head]])
        width = {'head_length': 0.4 * size, 'head_radius': 0.2 * size, 'shaft_radius': 0.02 * size}
        label, position = (
            f'{self.poses.joint_of[index]} {"-+"[side > 0]}',
            (frame @ [*head, 1.0])[:3],
        )
        self._arrow_nodes = [
            scene.add_line_segments(name, segments, _BY_HAND, line_width=8.0, **at),
            scene.add_arrows(f'{name}_head', tip, _BY_HAND, **width, **at),
            scene.add_label(f'{name}_label', label, position=position, anchor='bottom-left'),
        ]

    def _find_angle(self, index: int, frame: Array) -> float:
        """Return where the links that a joint moves are drawn about its axis, or the camera."""
        below, poses = self.poses.list_below(index), self._drawn
        middles = np.array([poses[link] @ [*self._middles[link], 1.0] for link in below])[:, :3]
        at_joint = (poses[index, :3, :3] @ frame[:3, :3]).T
        away = at_joint @ (middles.mean(axis=0) - poses[index, :3, 3])
        if np.hypot(*away[:2]) < 0.1 * self._radius:
            away = at_joint @ (self._eye - poses[index, :3, 3])
        return float(np.arctan2(away[1], away[0]))

    def remove_nodes(self) -> None:
        """Remove the robot from the scene."""
        for name in ('/robot', '/ghost', '/grid'):
            self._server.scene.remove_by_name(name)

    def show_poses(
        self,
        positions: Mapping[str, float],
        ghost: Mapping[str, float],
        color: tuple[int, int, int],
    ) -> None:
        """
        Show the robot, and the transparent robot if its pose differs.

        :param positions: By joint [rad or m], NaN if unknown.
        :param ghost: Positions of the transparent robot.
        :param color: Its colour.
        """
        poses, unknown = self.poses(positions)
        self._drawn = poses
        with self._server.atomic():
            self._robot.move_links(poses)
            for index in np.flatnonzero(unknown != self._unknown).tolist():
                if not self._arrow_joint or self.poses.joint_of[index] != self._arrow_joint:
                    self._robot.paint_links(_UNKNOWN if unknown[index] else None, index)
            self._unknown = unknown
            others, _ = self.poses(ghost)
            self._ghost.root.visible = bool(np.abs(others - poses).max(initial=0.0) > _ANOTHER)
            if self._ghost.root.visible:
                self._ghost.paint_links(color)
                self._ghost.move_links(others)


class _RobotBody:
    """
    One of the two robots: a frame with shapes for each link.

    :param clicked: ``None`` for the transparent robot, which cannot be clicked.
    :ivar root: viser's handle of the robot.
    """

    def __init__(
        self,
        server: Any,
        root: str,
        poses: SceneLinkPoses,
        by_link: Mapping[str, Sequence[Shape]],
        size: float,
        clicked: Clicked | None,
    ) -> None:
        self._scene, self._poses, self._clicked = server.scene, poses, clicked
        self._rotations = import_optional('viser.transforms', 'tune').SO3
        self.root = server.scene.add_frame(root, show_axes=False, visible=clicked is not None)
        self._frames: list[Any] = []
        self._meshes: list[list[tuple[Any, tuple[int, ...]]]] = []
        for index, link in enumerate(poses.links):
            shapes = by_link.get(link, ())
            # A number, because names of links may contain slashes.
            name = f'{root}/{index}'
            self._frames.append(
                server.scene.add_frame(
                    name,
                    show_axes=not shapes and clicked is not None,
                    axes_length=0.04 * size,
                    axes_radius=0.002 * size,
                )
            )
            self._meshes.append(
                [
                    self._add_mesh(f'{name}/{number}', shape, index)
                    for number, shape in enumerate(shapes)
                ]
            )
        self._sent = np.full((len(poses.links), 4, 4), np.nan)

    def _add_mesh(self, name: str, shape: Shape, index: int) -> tuple[Any, tuple[int, ...]]:
        """Add a mesh, and return it with its own colour."""
        color = tuple(round(255.0 * part) for part in shape.color[:3])
        opacity = shape.color[3] if shape.color[3] < 1.0 else None
        mesh = self._scene.add_mesh_simple(
            name,
            shape.vertices,
            shape.faces,
            color=color,
            opacity=opacity if self._clicked is not None else _OPACITY,
            flat_shading=True,
            side='double',
            cast_shadow=self._clicked is not None,
        )
        joint, clicked = self._poses.find_mover(index), self._clicked
        if clicked is not None and joint:

            async def on_click(event: Any) -> None:
                clicked(event.client_id, joint)

            mesh.on_click(on_click)
        return mesh, color

    def paint_links(self, color: tuple[int, ...] | None, index: int | None = None) -> None:
        """Paint a link or all links; ``None`` restores its own colour."""
        for meshes in self._meshes if index is None else [self._meshes[index]]:
            for mesh, usual in meshes:
                mesh.color = usual if color is None else color

    def move_links(self, poses: Array) -> None:
        """Send the poses that have changed."""
        with np.errstate(invalid='ignore'):
            same = np.abs(poses - self._sent) <= _MOVED
        moved = np.flatnonzero(~same[:, :3, 3].all(axis=1))
        turned = np.flatnonzero(~same[:, :3, :3].all(axis=(1, 2)))
        for index in moved.tolist():
            self._frames[index].position = poses[index, :3, 3]
        if len(turned):
            quaternions = self._rotations.from_matrix(poses[turned, :3, :3]).wxyz
            for index, quaternion in zip(turned.tolist(), quaternions, strict=True):
                self._frames[index].wxyz = quaternion
        self._sent[moved, :3, 3] = poses[moved, :3, 3]
        self._sent[turned, :3, :3] = poses[turned, :3, :3]
