# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the links of a robot look like: their ``<visual>`` elements, for tools that draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
import os

from transmission_bridge.description.source import description_text
from transmission_bridge.description.specs import Pose
from transmission_bridge.description.urdf import (
    ElementFault,
    optional_value,
    read_pose,
    required_value,
)
from transmission_bridge.description.values import number, ValueFault, vector
from transmission_bridge.description.xml import Element, parse_xml

__all__ = ['Color', 'VisualSpec', 'load_visuals']

#: Red, green, blue and opacity, each from 0 to 1.
Color = tuple[float, float, float, float]

_COMPONENTS = 4


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
    materials = {
        material.get('name') or '': color
        for material in root.all('material')
        if (color := _color(material)) is not None
    }
    return tuple(
        visual
        for link in (root.all('link') if root.tag == 'robot' else ())
        for element in link.all('visual')
        for visual in _visual(link.get('name') or '', element, materials)
    )


def _visual(link: str, element: Element, materials: Mapping[str, Color]) -> Iterator[VisualSpec]:
    geometry = element.first('geometry')
    shapes = [child for child in (geometry.children if geometry else ()) if child.tag in _SIZES]
    material = element.first('material')
    color = None
    if material is not None:
        color = _color(material) or materials.get(material.get('name') or '')
    for shape in shapes[:1]:
        try:
            filename = required_value(shape, 'filename', str) if shape.tag == 'mesh' else ''
            size = _SIZES[shape.tag](shape)
            yield VisualSpec(link, shape.tag, read_pose(element), size, filename, color)
        except ElementFault:
            return  # the link has a frame, as one without geometry


def _radius_and_length(shape: Element) -> tuple[float, ...]:
    return required_value(shape, 'radius', number), required_value(shape, 'length', number)


_SIZES: dict[str, Callable[[Element], tuple[float, ...]]] = {
    'box': lambda shape: required_value(shape, 'size', vector),
    'cylinder': _radius_and_length,
    'capsule': _radius_and_length,
    'sphere': lambda shape: (required_value(shape, 'radius', number),),
    'mesh': lambda shape: optional_value(shape, 'scale', vector, (1.0, 1.0, 1.0)),
}


def _color(material: Element) -> Color | None:
    element = material.first('color')
    words = (element.get('rgba') or '').split() if element is not None else []
    if len(words) != _COMPONENTS:
        return None
    try:
        red, green, blue, alpha = (min(max(number(word), 0.0), 1.0) for word in words)
    except ValueFault:
        return None
    return red, green, blue, alpha
