# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Load the ``<visual>`` elements of links, for tools that draw the robot.

Only the tuning tool calls it. The names in the tables are URDF's; ``XmlRow`` and ``XmlValue`` in
``walker`` explain the codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
import os

from transmission_bridge.description.document.values import read_color, read_number, read_vector
from transmission_bridge.description.document.xml import description_text, Element, parse_xml
from transmission_bridge.description.specs import OriginSpec
from transmission_bridge.description.urdf import ORIGIN, whole
from transmission_bridge.description.walker import Fields, Findings, XmlRow, XmlValue, XmlWalker

#: Red, green, blue and opacity, each from 0 to 1.
Color = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class VisualSpec:
    """
    One ``<visual>`` of a link.

    :param link: Name of the link.
    :param shape: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
    :param origin: Pose in the frame of the link.
    :param size: Edges of a box, radius and length of a cylinder or capsule, radius of a sphere
        [m]; scale of a mesh along x, y, z.
    :param filename: File of a mesh, as written; else empty.
    :param color: ``None`` if not given.
    """

    link: str
    shape: str
    origin: OriginSpec
    size: tuple[float, ...]
    filename: str = ''
    color: Color | None = None


def _finish_shape(
    _: XmlWalker, element: Element, values: Fields, _errors: int
) -> tuple[str, tuple[float, ...], str]:
    filename = values.pop('filename', '')
    if element.tag == 'mesh':
        values.setdefault('scale', (1.0, 1.0, 1.0))
    sizes = (value if isinstance(value, tuple) else (value,) for value in values.values())
    return element.tag, tuple(chain.from_iterable(sizes)), filename


_needed = partial(XmlValue, missing='<{tag}> without {name}')
_RADIUS, _LENGTH = _needed('radius', read_number), _needed('length', read_number)
# The order of the values of a shape is the order of ``VisualSpec.size``.
_SHAPES = tuple(
    whole(tag, values=values, field='shape', finish=_finish_shape)
    for tag, values in (
        ('box', (_needed('size', read_vector),)),
        ('cylinder', (_RADIUS, _LENGTH)),
        ('capsule', (_RADIUS, _LENGTH)),
        ('sphere', (_RADIUS,)),
        ('mesh', (_needed('filename', str), XmlValue('scale', read_vector))),
    )
)
_COLOR = XmlValue('rgba', read_color, within='color', field='color')
_MATERIAL = XmlRow('material', values=(XmlValue('name', str), _COLOR))
_GEOMETRY = XmlRow('geometry', children=_SHAPES)
_VISUAL = XmlRow('visual', children=(ORIGIN, _GEOMETRY, _MATERIAL), many=True)


def load_urdf_visuals(
    text_or_path: str | bytes | bytearray | os.PathLike[str],
) -> tuple[VisualSpec, ...]:
    """
    Read the ``<visual>`` elements of a URDF; elements with an error are omitted.

    :param text_or_path: As for :func:`load_description`.
    :returns: In document order; empty for an SDF.
    :raises DescriptionError: If the text cannot be read or parsed.
    """
    root = parse_xml(description_text(text_or_path))
    # A link without a readable visual still has a frame, so the findings are not used.
    walker = XmlWalker(Findings(root))
    links = root.find_all('link') if root.tag == 'robot' else ()
    # Materials of the robot and of links: the first definition of a name is used.
    within = (
        material
        for link in links
        for visual in link.find_all('visual')
        for material in visual.find_all('material')
    )
    materials: dict[str, Color] = {}
    for material in (*root.find_all('material'), *within):
        color = walker.read_element(material, _MATERIAL).get('color')
        if color is not None:
            materials.setdefault(material.get('name') or '', color)
    visuals: list[VisualSpec] = []
    for link in links:
        for values in walker.read_elements(link.find_all('visual'), {_VISUAL.tag: _VISUAL}):
            if 'shape' not in values.get('geometry', ()):
                continue
            shape, size, filename = values['geometry']['shape']
            material = values.get('material', {'name': None})
            color = material.get('color') or materials.get(material.get('name', ''))
            name, origin = link.get('name') or '', values.get('origin', OriginSpec())
            visuals.append(VisualSpec(name, shape, origin, size, filename, color))
    return tuple(visuals)
