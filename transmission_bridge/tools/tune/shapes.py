# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The visual shapes of a robot as triangles: primitives, and meshes of installed packages.

The scene uses it once for each robot. No file outside of a package is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import io
import os
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.description.document import Color, VisualSpec
from transmission_bridge.errors import shown
from transmission_bridge.spatial import transform_from_pose
from transmission_bridge.tools.cli import import_optional, UsageError

#: Largest size of a mesh file in bytes, and largest numbers of triangles of a mesh and a robot.
MOST_BYTES, MOST_EACH, MOST_TRIANGLES = 32 << 20, 300_000, 2_000_000

_SUFFIXES = ('.stl', '.dae', '.obj', '.ply', '.glb')
_SCHEME = 'package://'

#: Colour of visuals without a colour.
_GREY: Color = (0.72, 0.74, 0.77, 1.0)

#: Resolution: a sphere has 1,280 triangles, a cylinder 32 sides.
_SUBDIVISIONS, _SIDES = 3, 32


class MeshError(Exception):
    """A visual that cannot be drawn; the message is the reason."""


@dataclass(frozen=True, eq=False)
class Shape:
    """
    Triangles of one colour, in the frame of a link.

    :param link: Name of the link.
    :param vertices: Shape ``(n, 3)`` [m].
    :param faces: Indices of vertices, shape ``(m, 3)``.
    :param color: Red, green, blue and opacity.
    """

    link: str
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    color: Color


class MeshPackages:
    """
    Folders of packages, from ``--package-path`` and then from the ament index.

    :param named: ``NAME=FOLDER`` entries of ``--package-path``.
    :raises UsageError: If an entry has another form, or its folder does not exist.
    """

    def __init__(self, named: Sequence[str] = ()) -> None:
        self._folders: dict[str, Path] = {}
        for entry in named:
            name, _, folder = entry.partition('=')
            if not name or not folder or not Path(folder).is_dir():
                raise UsageError(f"--package-path: expected NAME=FOLDER, found '{entry}'")
            self._folders[name] = Path(folder)

    def find_file(self, uri: str) -> Path:
        """
        Return the file of a ``package://`` address.

        Other addresses are rejected: a description comes from the network, and must not open
        arbitrary files of this machine.

        :raises MeshError: If the address is not of this form, leaves its package, or the package
            is not installed.
        """
        if not uri.startswith(_SCHEME):
            raise MeshError(f'{shown(uri)} is not in a package (package://NAME/FILE)')
        # Some robots have a third slash.
        name, *parts = PurePosixPath(uri.removeprefix(_SCHEME).lstrip('/')).parts or ('',)
        if '..' in parts or not parts or '\0' in uri:
            raise MeshError(f'{shown(uri)} is not a file in a package')
        folder = self._folders.get(name) or _find_share_folder(name)
        if folder is None:
            raise MeshError(
                f'package {shown(name)} is not installed: source its workspace, or use '
                '--package-path NAME=FOLDER'
            )
        return folder.joinpath(*parts)


def _find_share_folder(package: str) -> Path | None:
    """Return the share folder of a package of the ament index."""
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        marker = Path(prefix, 'share', 'ament_index', 'resource_index', 'packages', package)
        if package not in ('.', '..') and marker.is_file():
            return Path(prefix, 'share', package)
    return None


def load_shapes(
    visuals: Sequence[VisualSpec], packages: MeshPackages
) -> tuple[list[Shape], dict[str, str]]:
    """
    Return the shapes of a robot.

    :returns: The shapes, and by link the reason why one of its visuals is missing.
    """
    shapes: list[Shape] = []
    reasons: dict[str, str] = {}
    files: dict[Path, list[Any]] = {}
    left = MOST_TRIANGLES
    for visual in visuals:
        try:
            drawn = list(_make_shapes(visual, packages, files))
            count = sum(len(shape.faces) for shape in drawn)
            if count > left:
                raise MeshError(f'the robot has more than {MOST_TRIANGLES} triangles')
        except MeshError as error:
            reasons.setdefault(visual.link, str(error))
            continue
        left -= count
        shapes += drawn
    return shapes, reasons


def _make_shapes(
    visual: VisualSpec, packages: MeshPackages, files: dict[Path, list[Any]]
) -> Iterator[Shape]:
    placed = transform_from_pose(visual.origin)
    if visual.shape == 'mesh':
        path = packages.find_file(visual.filename)
        if path not in files:
            files[path] = _read_mesh(path)
        parts = files[path]
        placed = placed @ np.diag([*visual.size, 1.0])
    else:
        parts = [(_make_primitive(visual.shape, visual.size), None)]
    for part, color in parts:
        # apply_transform also reverses the faces of a mirrored mesh.
        mesh = part.copy(include_visual=False).apply_transform(placed)
        vertices = np.asarray(mesh.vertices, dtype=np.float32)
        faces = np.asarray(mesh.faces, dtype=np.uint32)
        yield Shape(visual.link, vertices, faces, visual.color or color or _GREY)


def _make_primitive(kind: str, size: tuple[float, ...]) -> Any:
    creation = import_optional('trimesh.creation', 'tune')
    if not all(np.isfinite(size)) or min(size) <= 0.0:
        raise MeshError(f'a {kind} of size {size} cannot be drawn')
    if kind == 'box':
        return creation.box(extents=size)
    if kind == 'sphere':
        return creation.icosphere(subdivisions=_SUBDIVISIONS, radius=size[0])
    if kind == 'capsule':
        mesh = creation.capsule(radius=size[0], height=size[1], count=[_SIDES, _SIDES // 2])
        return mesh.apply_translation([0.0, 0.0, -mesh.bounds[:, 2].mean()])
    return creation.cylinder(radius=size[0], height=size[1], sections=_SIDES)


def _read_mesh(path: Path) -> list[tuple[Any, Color | None]]:
    """Return the parts of a mesh file, without materials from other files."""
    trimesh = import_optional('trimesh', 'tune')
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise MeshError(f'{shown(path.name)} is not one of {", ".join(_SUFFIXES)}')
    try:
        with path.open('rb') as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise MeshError(f'{shown(str(path))} cannot be read: {error.strerror}') from None
    if len(data) > MOST_BYTES:
        raise MeshError(f'{shown(path.name)} has more than {MOST_BYTES >> 20} MiB')
    try:
        # Without access to other files.
        nothing = import_optional('trimesh.resolvers', 'tune').ZipResolver({})
        scene = trimesh.load_scene(
            io.BytesIO(data), file_type=suffix[1:], resolver=nothing, process=False
        )
        parts = [(mesh, _find_color(mesh)) for mesh in scene.dump() if hasattr(mesh, 'faces')]
    except Exception as error:  # the readers of the formats raise any type
        raise MeshError(
            f'{shown(path.name)} cannot be read: {type(error).__name__}: {error}'
        ) from None
    count = sum(len(mesh.faces) for mesh, _ in parts)
    if not count:
        raise MeshError(f'{shown(path.name)} contains no triangles')
    if count > MOST_EACH:
        raise MeshError(f'{shown(path.name)} has more than {MOST_EACH} triangles')
    if not all(np.isfinite(mesh.vertices).all() for mesh, _ in parts):
        raise MeshError(f'{shown(path.name)} has vertices that are not finite')
    return parts


def _find_color(mesh: Any) -> Color | None:
    material = getattr(mesh.visual, 'material', None)
    color = getattr(material, 'main_color', None)
    if color is None:
        return None
    red, green, blue, alpha = (np.asarray(color) / 255.0).tolist()
    return red, green, blue, alpha
