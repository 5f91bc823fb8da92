# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the links of a robot look like: their ``<visual>`` elements, for tools that draw it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
import os
from typing import Any

from transmission_bridge.description import urdf
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.source import description_text
from transmission_bridge.description.specs import MATERIAL, Pose, SHAPES, VISUAL
from transmission_bridge.description.walker import Walker
from transmission_bridge.description.xml import Element, parse_xml

#: Red, green, blue and opacity, each from 0 to 1.
Color = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class VisualSpec:
    """
    One ``<visual>`` of a link.

    :param link: Name of the link.
    :param shape: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
    :param origin: Where it is in the frame of the link.
    :param size: Of a box its edges, of a cylinder or capsule radius and length, of a sphere the
        radius [m]; of a mesh its scale along x, y, z.
    :param filename: Of a mesh, as written; else empty.
    :param color: ``None`` where none is given.
    """

    link: str
    shape: str
    origin: Pose
    size: tuple[float, ...]
    filename: str = ''
    color: Color | None = None


def load_visuals(
    text_or_path: str | bytes | bytearray | os.PathLike[str],
) -> tuple[VisualSpec, ...]:
    """
    Read the ``<visual>`` elements of a URDF; those that cannot be read are left out.

    :param text_or_path: As for :func:`load_description`.
    :returns: In document order; none for an SDF.
    :raises DescriptionError: If the text cannot be read or parsed at all.
    """
    root = parse_xml(description_text(text_or_path))
    # What cannot be read has a frame, as a link without geometry; nobody asks why.
    walker = Walker(Findings(root), {**urdf.FINISH, **dict.fromkeys(SHAPES, _shape)})
    links = root.all('link') if root.tag == 'robot' else ()
    # Those of the robot, and those that a link defines for all: the first of a name counts.
    within = (
        each for link in links for visual in link.all('visual') for each in visual.all('material')
    )
    materials: dict[str, Color] = {}
    for material in (*root.all('material'), *within):
        color = walker.read(material, MATERIAL).get('color')
        if color is not None:
            materials.setdefault(material.get('name') or '', color)
    visuals: list[VisualSpec] = []
    for link in links:
        for values in walker.read_all(link.all('visual'), {VISUAL.tag: VISUAL}):
            if 'shape' not in values.get('geometry', ()):
                continue
            shape, size, filename = values['geometry']['shape']
            material = values.get('material', {'name': None})
            color = material.get('color') or materials.get(material.get('name', ''))
            origin = values.get('origin', Pose())
            name = link.get('name') or ''
            visuals.append(VisualSpec(name, shape, origin, size, filename, color))
    return tuple(visuals)


def _shape(
    _: Walker, element: Element, values: dict[str, Any], __: int
) -> tuple[str, tuple[float, ...], str]:
    """Return the shape, its size and its file."""
    filename = values.pop('filename', '')
    if element.tag == 'mesh':
        values.setdefault('scale', (1.0, 1.0, 1.0))
    sizes = (value if isinstance(value, tuple) else (value,) for value in values.values())
    return element.tag, tuple(chain.from_iterable(sizes)), filename
