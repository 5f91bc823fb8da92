# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read URDF links and joints by tables; check limits and the kinematic tree.

Loading reads :data:`LINK` and :data:`JOINT`, then calls each check once; the checks only add
findings. The reader of visuals shares :data:`ORIGIN` and :data:`whole`. The names in the tables
are URDF's; ``XmlRow`` and ``XmlValue`` in ``walker`` explain the codes, and ``Row.finish`` the
arguments of the ``_finish_…`` functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
import math
from typing import get_args

from transmission_bridge.description.document.values import (
    InvalidValue,
    read_magnitude,
    read_number,
    read_quaternion,
    read_vector,
)
from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import (
    DynamicsSpec,
    JointLimitSpec,
    JointSpec,
    JointType,
    LinkSpec,
    MimicSpec,
    OriginSpec,
)
from transmission_bridge.description.walker import (
    Fields,
    Findings,
    NAME,
    Twice,
    UnusableElement,
    XmlRow,
    XmlValue,
    XmlWalker,
)
from transmission_bridge.errors import closest

#: Types of joints that have no axis.
_WITHOUT_AXIS = ('fixed', 'floating', 'spherical')


class UrdfJoints:
    """
    Usable joints, and joints that were dropped because of an error.

    :ivar usable: The usable joints by name, in document order.
    """

    def __init__(self, root: Element, joints: Sequence[JointSpec]) -> None:
        self.usable = {joint.name: joint for joint in joints}
        self._lines = {joint.get('name'): joint.line for joint in reversed(root.find_all('joint'))}

    def __contains__(self, name: str) -> bool:
        """Whether the robot has such a joint, usable or dropped."""
        return name in self._lines

    def explain_missing(self, name: str, prefix: str = '') -> tuple[str, str, str]:
        """Return message, expectation and finding about a name that no usable joint has."""
        message = f"the robot has no joint '{name}'{closest(name, self.usable)}"
        if name in self._lines:
            message = f"joint '{name}' of line {self._lines[name]} could not be read"
        return prefix + message, 'a joint of the URDF', f"'{name}'"


# -- Links and joints ----------------------------------------------------------------------------


def _finish_origin(
    walker: XmlWalker, element: Element, values: Fields, _errors: int
) -> OriginSpec:
    quaternion = values.pop('quat_xyzw', None)
    if quaternion is not None:
        if 'rpy' in values:
            walker.findings.add_error(
                element, '<origin> has two rotations', 'rpy or quat_xyzw', 'both'
            )
            raise UnusableElement
        x, y, z, w = quaternion
        r00, r10, r20 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
        r01, r11 = 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z)
        r02, r12 = 2.0 * (x * z + w * y), 2.0 * (y * z - w * x)
        # Roll is the rotation that remains after yaw and pitch. So the result is exact to rounding
        # even at a pitch of 90 degrees, at which yaw is arbitrary.
        yaw = math.atan2(r10, r00)
        cosine, sine = math.cos(yaw), math.sin(yaw)
        pitch = math.atan2(-r20, cosine * r00 + sine * r10)
        roll = math.atan2(sine * r02 - cosine * r12, cosine * r11 - sine * r01)
        values['rpy'] = (roll, pitch, yaw)
    elif 'quat_xyzw' in element.attributes:
        walker.findings.add_ignored(
            element,
            'quat_xyzw is ignored: it needs a newer version of URDF',
            '<robot version="1.1">, or rpy',
            'version 1.0',
        )
    return OriginSpec(**values)


def _finish_axis(
    walker: XmlWalker, element: Element, values: Fields, _errors: int
) -> tuple[float, float, float]:
    x, y, z = values['xyz']
    # Divide by the largest component first, so that no square overflows or underflows.
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        if element.parent is not None and element.parent.get('type') in _WITHOUT_AXIS:
            return (1.0, 0.0, 0.0)
        walker.findings.add_error(
            element, 'the joint axis has no direction', 'a vector other than 0 0 0', '0 0 0'
        )
        raise UnusableElement
    x, y, z = x / scale, y / scale, z / scale
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _read_joint_type(text: str) -> str:
    if text and text not in get_args(JointType):
        raise InvalidValue(_JOINT_TYPES, text)
    return text


# A link or a joint with an error is dropped, because the rest of it would be a guess. The specs
# have the meanings.

#: A row of an element that is dropped at its first error.
whole = partial(XmlRow, ends='error')
_JOINT_TYPES = 'one of ' + ', '.join(get_args(JointType))
_TWICE: Twice = ('error', '{tag} described twice, the first one counts')
_POSE = (
    XmlValue('xyz', read_vector),
    XmlValue('rpy', read_vector),
    XmlValue('quat_xyzw', read_quaternion, since=(1, 1)),
)
ORIGIN = whole('origin', spec=OriginSpec, values=_POSE, finish=_finish_origin)
LINK = whole('link', spec=LinkSpec, values=(NAME,), many=True, twice=_TWICE)
_DIRECTION = XmlValue('xyz', read_vector, missing='<{tag}> without {name}')
_AXIS = whole('axis', values=(_DIRECTION,), finish=_finish_axis)
_LIMITS = (
    XmlValue('velocity', read_magnitude),
    XmlValue('effort', read_magnitude),
    XmlValue('lower', read_number),
    XmlValue('upper', read_number),
)
_MIMIC = (
    XmlValue('joint', str, missing='<{tag}> without a joint'),
    XmlValue('multiplier', read_number),
    XmlValue('offset', read_number),
)
_DYNAMICS = (XmlValue('damping', read_number), XmlValue('friction', read_number))
_OF_JOINT = (
    ORIGIN,
    _AXIS,
    whole('limit', spec=JointLimitSpec, values=_LIMITS, field='limits'),
    whole('mimic', spec=MimicSpec, values=_MIMIC),
    whole('dynamics', spec=DynamicsSpec, values=_DYNAMICS),
)
_JOINT = (
    NAME,
    XmlValue(
        'type',
        _read_joint_type,
        missing='joint without a type',
        expected=_JOINT_TYPES,
        unusable='unknown joint type',
    ),
    XmlValue('link', str, within='parent', field='parent'),
    XmlValue('link', str, within='child', field='child'),
)
JOINT = whole('joint', spec=JointSpec, values=_JOINT, children=_OF_JOINT, many=True, twice=_TWICE)


def check_urdf_limits(joints: Sequence[JointSpec], findings: Findings) -> None:
    """Report missing, swapped and unread limits, which leave a joint usable."""
    for joint in joints:
        limits = joint.limits
        if limits is None:
            if joint.type in ('revolute', 'prismatic'):
                findings.add_ignored(
                    joint, f'{joint.type} joint without limits is unlimited', '<limit>'
                )
            continue
        limit, *_ = findings.find_element(joint).find_all('limit')
        if limit.get('acceleration') is not None:
            text = 'acceleration is not used: controllers and planners limit accelerations'
            findings.add_info(limit, text)
        missing = [name for name in ('effort', 'velocity') if getattr(limits, name) is None]
        if missing and joint.is_scalar:
            findings.add_ignored(
                limit,
                '<limit> is incomplete: a missing limit is infinite',
                ' and '.join(f'attribute {name}' for name in missing),
            )
        lower, upper = limits.lower, limits.upper
        if lower is not None and upper is not None and lower > upper:
            findings.add_warning(
                limit,
                'the lower limit is above the upper one',
                'lower at most upper',
                f'{lower} to {upper}',
            )


# -- The kinematic tree --------------------------------------------------------------------------
#
# URDF parsers reject a document without one tree. Transmissions do not need the tree, so here
# these findings are warnings, and errors in strict mode.


def check_tree(
    root: Element, links: Sequence[LinkSpec], joints: UrdfJoints, findings: Findings
) -> None:
    """Report joints without known links, links with two parents, loops and several roots."""
    if not links:
        if joints.usable:
            findings.add_ignored(root, 'there is no kinematic tree', 'links', 'joints only')
        return
    # A joint may refer to a link that was dropped.
    stated = {element.get('name') for element in root.find_all('link')}
    parent_of: dict[str, str] = {}
    for joint in joints.usable.values():
        for side, link in (('parent', joint.parent), ('child', joint.child)):
            if link and link in stated:
                continue
            findings.add_ignored(
                joint,
                f'unknown {side} link' if link else f'joint without a {side} link',
                'a link of the robot' if link else f'<{side} link="...">',
                f"'{link}'" if link else 'none',
            )
        if joint.child in parent_of:
            findings.add_ignored(
                joint,
                'the child link already has a parent',
                'a link that no other joint moves',
                f"'{joint.child}'",
            )
        elif joint.child and joint.parent:
            parent_of[joint.child] = joint.parent
    moved_by: dict[str, JointSpec] = {}
    for joint in joints.usable.values():
        moved_by.setdefault(joint.child, joint)
    for start, loop in iterate_name_cycles(parent_of, moved_by):
        findings.add_ignored(
            moved_by[start], 'the joints form a loop', 'a tree', f"link '{loop[0]}' above itself"
        )
    roots = [link for link in links if link.name not in parent_of]
    if len(roots) > 1 and len(joints.usable) == len(root.find_all('joint')):
        findings.add_ignored(
            roots[1],
            'the links form more than one tree',
            'one root link',
            ', '.join(link.name for link in roots[:5]) + (', …' if len(roots) > 5 else ''),
            subject='',
        )


def iterate_name_cycles(
    following: Mapping[str, str], starts: Iterable[str]
) -> Iterator[tuple[str, list[str]]]:
    """
    Yield each loop once: the start of the search, and the names in the loop.

    :param following: The successor of each name.
    """
    done: set[str] = set()
    for start in starts:
        path: dict[str, None] = {}
        name = start
        while name in following and name not in done and name not in path:
            path[name] = None
            name = following[name]
        if name in path:
            names = list(path)
            yield start, names[names.index(name) :]
        done.update(path)
