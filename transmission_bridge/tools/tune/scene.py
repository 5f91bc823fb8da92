# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot in the 3D view, twice: as it is, and transparent as it is commanded or would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.description.visuals import load_visuals
from transmission_bridge.tools.cli import optional
from transmission_bridge.tools.tune.pose import LinkPoses
from transmission_bridge.tools.tune.shapes import Packages, Shape, shapes_of
from transmission_bridge.tools.tune.texts import label
from transmission_bridge.types import Array, Mask

__all__ = ['COMMANDED', 'WOULD_BE', 'RobotScene']

#: Colours of the transparent robot: of a command, and of a change that is not made yet.
COMMANDED, WOULD_BE = (28, 126, 214), (232, 137, 12)

#: Colour of what is behind a joint of unknown position.
_UNKNOWN = (205, 205, 205)
_OPACITY = 0.35

#: Shift [m], and of an entry of a rotation, from which a link is sent again.
_MOVED = 1e-5

#: Distance [m or rad] from which the transparent robot is another pose.
_ANOTHER = 2e-3

#: Joints of unknown position that have their names in the view.
_MOST_LABELS = 40


class RobotScene:
    """
    The robot of one description.

    :param server: The server; the view is the same for all who look.
    :param robot: The description.
    :param text: Its text, for the shapes.
    :param packages: Where meshes are.
    :ivar poses: The forward kinematics.
    :ivar missing: By link, why it is not drawn.
    """

    def __init__(
        self, server: Any, robot: RobotDescription, text: bytes, packages: Packages
    ) -> None:
        self.poses = LinkPoses(robot)
        shapes, self.missing = shapes_of(load_visuals(text), packages)
        self._server = server
        self._rotations = optional('viser.transforms', 'tune').SO3
        self._own = [i for i, joint in enumerate(self.poses.joint_of) if joint]
        by_link: dict[str, list[Shape]] = {}
        for shape in shapes:
            by_link.setdefault(shape.link, []).append(shape)
        rest, _ = self.poses({})
        self._set_camera(rest, by_link)
        with server.atomic():
            self._robot = _Body(server, '/robot', self.poses, by_link, self._size)
            self._ghost = _Body(server, '/ghost', self.poses, by_link, self._size, ghost=True)
        self._labels: dict[int, Any] = {}
        self._unknown: Mask = np.zeros(len(self.poses.links), dtype=bool)

    def _set_camera(self, rest: Array, by_link: Mapping[str, Sequence[Shape]]) -> None:
        points = [rest[:, :3, 3]] if len(rest) else [np.zeros((1, 3))]
        for link, pose in zip(self.poses.links, rest, strict=True):
            for shape in by_link.get(link, ()):
                corners = np.array([shape.vertices.min(axis=0), shape.vertices.max(axis=0)])
                points.append(corners @ pose[:3, :3].T + pose[:3, 3])
        every = np.concatenate(points)
        low, high = every.min(axis=0), every.max(axis=0)
        size = float(max(np.linalg.norm(high - low), 0.1))
        self._size = size
        centre = 0.5 * (low + high)
        camera = self._server.initial_camera
        camera.look_at = tuple(centre)
        camera.position = tuple(centre + size * np.array([0.75, -0.75, 0.4]))
        self._server.scene.add_grid(
            '/grid',
            width=4.0 * size,
            height=4.0 * size,
            cell_size=0.1 if size < 5.0 else 1.0,
            section_size=0.5 if size < 5.0 else 5.0,
            # A grey that is quiet on white and on black.
            cell_color=(128, 128, 128),
            section_color=(128, 128, 128),
            cell_thickness=0.5,
            position=(0.0, 0.0, float(low[2])),
        )

    def remove(self) -> None:
        """Take the robot out of the view."""
        for name in ('/robot', '/ghost', '/grid'):
            self._server.scene.remove_by_name(name)

    def show(
        self,
        positions: Mapping[str, float],
        ghost: Mapping[str, float] | None,
        color: tuple[int, int, int],
    ) -> None:
        """
        Show both.

        :param positions: By joint [rad or m], NaN where unknown.
        :param ghost: Those of the transparent robot, ``None`` where there is none.
        :param color: Its colour.
        """
        poses, unknown = self.poses(positions)
        with self._server.atomic():
            self._robot.place(poses, self._rotations)
            self._name_unknown(unknown, positions)
            if ghost is None:
                self._ghost.set_visible(False)
                return
            theirs, _ = self.poses(ghost)
            self._ghost.set_visible(bool(np.abs(theirs - poses).max(initial=0.0) > _ANOTHER))
            if self._ghost.is_visible:
                self._ghost.paint(color)
                self._ghost.place(theirs, self._rotations)

    def _name_unknown(self, unknown: Mask, positions: Mapping[str, float]) -> None:
        changed = np.flatnonzero(unknown != self._unknown)
        if not len(changed):
            return
        for place in changed.tolist():
            self._robot.paint_link(place, _UNKNOWN if unknown[place] else None)
        self._unknown = unknown.copy()
        # The joint itself is named, not what hangs on it.
        named = {
            place
            for place in self._own
            if unknown[place]
            and (owner := self.poses.owner(place))
            and np.isnan(positions.get(owner, np.nan))
        }
        named = set(sorted(named)[:_MOST_LABELS])
        for place in self._labels.keys() - named:
            self._labels.pop(place).remove()
        for place in named - self._labels.keys():
            self._labels[place] = self._server.scene.add_label(
                f'/robot/{place}/name', f'{label(self.poses.joint_of[place])}: unknown'
            )


class _Body:
    """One of the two robots: a frame for each link, with its shapes."""

    def __init__(
        self,
        server: Any,
        root: str,
        poses: LinkPoses,
        by_link: Mapping[str, Sequence[Shape]],
        size: float,
        *,
        ghost: bool = False,
    ) -> None:
        scene = server.scene
        self.is_visible = not ghost
        self._root = scene.add_frame(root, show_axes=False, visible=self.is_visible)
        self._frames: list[Any] = []
        self._meshes: list[list[tuple[Any, tuple[int, ...]]]] = []
        self._color: tuple[int, int, int] | None = None
        for place, link in enumerate(poses.links):
            shapes = by_link.get(link, ())
            # Names are numbers: those of links may hold slashes, or anything.
            name = f'{root}/{place}'
            self._frames.append(
                scene.add_frame(
                    name,
                    show_axes=not shapes and not ghost,
                    axes_length=0.04 * size,
                    axes_radius=0.002 * size,
                )
            )
            meshes = []
            for number, shape in enumerate(shapes):
                color = tuple(round(255.0 * part) for part in shape.color[:3])
                opacity = _OPACITY if ghost else shape.color[3] if shape.color[3] < 1.0 else None
                mesh = scene.add_mesh_simple(
                    f'{name}/{number}',
                    shape.vertices,
                    shape.faces,
                    color=color,
                    opacity=opacity,
                    flat_shading=True,
                    side='double',
                    cast_shadow=not ghost,
                )
                meshes.append((mesh, color))
            self._meshes.append(meshes)
        self._sent = np.full((len(poses.links), 4, 4), np.nan)

    def set_visible(self, visible: bool) -> None:
        self.is_visible = visible
        self._root.visible = visible

    def paint(self, color: tuple[int, int, int]) -> None:
        if color == self._color:
            return
        self._color = color
        for meshes in self._meshes:
            for mesh, _ in meshes:
                mesh.color = color

    def paint_link(self, place: int, color: tuple[int, ...] | None) -> None:
        for mesh, own in self._meshes[place]:
            mesh.color = own if color is None else color

    def place(self, poses: Array, rotations: Any) -> None:
        """Send what has moved."""
        with np.errstate(invalid='ignore'):
            same = np.abs(poses - self._sent) <= _MOVED
        moved = np.flatnonzero(~same[:, :3, 3].all(axis=1))
        turned = np.flatnonzero(~same[:, :3, :3].all(axis=(1, 2)))
        for place in moved.tolist():
            self._frames[place].position = poses[place, :3, 3]
        if len(turned):
            quaternions = rotations.from_matrix(poses[turned, :3, :3]).wxyz
            for place, quaternion in zip(turned.tolist(), quaternions, strict=True):
                self._frames[place].wxyz = quaternion
        self._sent[moved, :3, 3] = poses[moved, :3, 3]
        self._sent[turned, :3, :3] = poses[turned, :3, :3]
