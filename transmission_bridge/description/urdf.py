# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""URDF links and joints: what their rows do not say, and whether they form one tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import math
from typing import Any

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.rows import Row
from transmission_bridge.description.specs import (
    AXIS,
    INERTIA,
    JOINT,
    JointSpec,
    LINK,
    LinkSpec,
    MASS,
    ORIGIN,
    Pose,
)
from transmission_bridge.description.walker import Finish, spec, Unusable, Walker
from transmission_bridge.description.xml import Element
from transmission_bridge.errors import closest

#: Types of joints that have no axis.
_WITHOUT_AXIS = ('fixed', 'floating', 'spherical')


class RobotJoints:
    """
    Usable joints, and joints that were dropped because of an error.

    :param root: The robot element.
    :param joints: Its usable joints.
    """

    def __init__(self, root: Element, joints: Sequence[JointSpec]) -> None:
        self._by_name = {joint.name: joint for joint in joints}
        self._lines = {each.get('name'): each.line for each in reversed(root.all('joint'))}
        #: The usable joints, in document order.
        self.usable = tuple(joints)

    def get(self, name: str) -> JointSpec | None:
        """Return the usable joint of this name, or ``None``."""
        return self._by_name.get(name)

    def __contains__(self, name: str) -> bool:
        """Whether there is a joint of this name, usable or not."""
        return name in self._lines

    def complaint(self, name: str) -> str:
        """Return why there is no usable joint of this name."""
        if name in self._lines:
            return f"joint '{name}' of line {self._lines[name]} could not be read"
        return f"the robot has no joint '{name}'{closest(name, self._by_name)}"


# -- Links and joints ----------------------------------------------------------------------------


def _pose(walker: Walker, element: Element, values: dict[str, Any], _: int) -> Pose:
    quaternion = values.pop('quat_xyzw', None)
    if quaternion is not None:
        if 'rpy' in values:
            walker.findings.error(
                element,
                'the rotation of <origin> is given twice',
                expected='rpy or quat_xyzw',
                found='both',
            )
            raise Unusable
        values['rpy'] = _rpy(*quaternion)
    elif 'quat_xyzw' in element.attributes and element.is_in(JOINT.tag):
        walker.findings.ignored(
            element,
            'quat_xyzw is ignored: it needs a newer version of URDF',
            expected='<robot version="1.1">, or rpy',
            found='version 1.0',
        )
    return Pose(**values)


def _rpy(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """
    Return roll, pitch and yaw of a quaternion of norm 1.

    Roll is the rotation that remains after yaw and pitch, so that the result is exact to rounding
    also at a pitch of 90 degrees, where yaw is arbitrary.
    """
    yaw = math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    cosine, sine = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(
        2.0 * (w * y - x * z),
        cosine * (1.0 - 2.0 * (y * y + z * z)) + sine * 2.0 * (x * y + w * z),
    )
    roll = math.atan2(
        sine * 2.0 * (x * z + w * y) - cosine * 2.0 * (y * z - w * x),
        cosine * (1.0 - 2.0 * (x * x + z * z)) - sine * 2.0 * (x * y - w * z),
    )
    return (roll, pitch, yaw)


def _axis(
    walker: Walker, element: Element, values: dict[str, Any], _: int
) -> tuple[float, float, float]:
    x, y, z = values['xyz']
    # Divided by the largest component first, so that no square overflows or underflows.
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        if element.parent is not None and element.parent.get('type') in _WITHOUT_AXIS:
            return (1.0, 0.0, 0.0)
        walker.findings.error(
            element,
            'the joint axis has no direction',
            expected='a vector other than 0 0 0',
            found='0 0 0',
        )
        raise Unusable
    x, y, z = x / scale, y / scale, z / scale
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _link(_: Walker, element: Element, values: dict[str, Any], __: int) -> LinkSpec:
    inertial = values.pop('inertial', {})
    if 'origin' in inertial:
        inertial['inertial_origin'] = inertial.pop('origin')
    link: LinkSpec = spec(LinkSpec, element, values | inertial)
    return link


FINISH: dict[Row, Finish] = {
    ORIGIN: _pose,
    MASS: lambda walker, element, values, errors: values['value'],
    INERTIA: lambda walker, element, values, errors: tuple(values.values()),
    LINK: _link,
    AXIS: _axis,
}


def note_oddities(joints: Sequence[JointSpec], findings: Findings) -> None:
    """Report problems that URDF parsers refuse or ignore but that leave a joint usable."""
    for joint in joints:
        limits = joint.limits
        if limits is None:
            if joint.type in ('revolute', 'prismatic'):
                findings.ignored(
                    joint,
                    f'{joint.type} joint without limits is unlimited',
                    expected='<limit>',
                    found='none',
                )
            continue
        missing = [name for name in ('effort', 'velocity') if getattr(limits, name) is None]
        if missing and joint.is_scalar:
            findings.ignored(
                findings.child(joint, 'limit'),
                '<limit> is incomplete: what is missing is unlimited',
                expected=' and '.join(f'attribute {name}' for name in missing),
                found='none',
            )
        lower, upper = limits.lower, limits.upper
        if lower is not None and upper is not None and lower > upper:
            findings.warning(
                findings.child(joint, 'limit'),
                'the lower limit is above the upper one',
                expected='lower at most upper',
                found=f'{lower} to {upper}',
            )


# -- Whether links and joints form one tree ------------------------------------------------------
#
# URDF parsers refuse a document in which they do not. Transmissions do not need the tree, so here
# these are warnings, and errors in strict mode.


def check_tree(
    root: Element, links: Sequence[LinkSpec], joints: RobotJoints, findings: Findings
) -> None:
    """
    Report joints without known links, links with two parents, loops and several roots.

    :param root: The robot element.
    """
    if not links:
        if joints.usable:
            findings.ignored(
                root, 'there is no kinematic tree', expected='links', found='joints only'
            )
        return
    # A joint may name a link that was dropped.
    known = {element.get('name') for element in root.all('link')}
    parent_of: dict[str, str] = {}
    for joint in joints.usable:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link and link in known:
                continue
            findings.ignored(
                joint,
                f'unknown {end} link' if link else f'joint without a {end} link',
                expected='a link of the robot' if link else f'<{end} link="...">',
                found=f"'{link}'" if link else 'none',
            )
        if joint.child in parent_of:
            findings.ignored(
                joint,
                'the child link has another parent already',
                expected='a link that no other joint moves',
                found=f"'{joint.child}'",
            )
        elif joint.child and joint.parent:
            parent_of[joint.child] = joint.parent
    moved_by: dict[str, JointSpec] = {}
    for joint in joints.usable:
        moved_by.setdefault(joint.child, joint)
    for start, loop in loops(parent_of, moved_by):
        findings.ignored(
            moved_by[start],
            'the joints form a loop',
            expected='a tree',
            found=f"link '{loop[0]}' above itself",
        )
    roots = [link for link in links if link.name not in parent_of]
    if len(roots) > 1 and len(joints.usable) == len(root.all('joint')):
        findings.ignored(
            roots[1],
            'the links form more than one tree',
            expected='one root link',
            found=', '.join(link.name for link in roots[:5]) + (', …' if len(roots) > 5 else ''),
            subject='',
        )


def loops(following: Mapping[str, str], starts: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """
    Yield each loop once: where the search for it began, and its names.

    :param following: The name that each name leads to.
    """
    done: set[str] = set()
    for start in starts:
        way: dict[str, None] = {}
        at = start
        while at in following and at not in done and at not in way:
            way[at] = None
            at = following[at]
        if at in way:
            names = list(way)
            yield start, names[names.index(at) :]
        done.update(way)
