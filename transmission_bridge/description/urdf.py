# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Finish the specs of URDF links and joints; check limits and the kinematic tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import math

from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.findings import Findings, Placed
from transmission_bridge.description.rows import Row
from transmission_bridge.description.specs import (
    AXIS,
    JOINT,
    JointSpec,
    LinkSpec,
    ORIGIN,
    Pose,
)
from transmission_bridge.description.walker import Fields, Finish, Unusable, Walker
from transmission_bridge.errors import closest

#: Types of joints that have no axis.
_WITHOUT_AXIS = ('fixed', 'floating', 'spherical')


class RobotJoints:
    """Usable joints, and joints that were dropped because of an error."""

    def __init__(self, root: Element, joints: Sequence[JointSpec]) -> None:
        self._by_name = {joint.name: joint for joint in joints}
        self._lines = {each.get('name'): each.line for each in reversed(root.find_all('joint'))}
        self.usable = tuple(joints)

    def find_usable(self, name: str) -> JointSpec | None:
        """Return the usable joint with this name, or ``None``."""
        return self._by_name.get(name)

    def __contains__(self, name: str) -> bool:
        """Whether the robot has such a joint, usable or dropped."""
        return name in self._lines

    def report_missing_joint(
        self, report: Callable[..., None], place: Placed, name: str, prefix: str = ''
    ) -> None:
        """Report why no usable joint has this name."""
        message = f"the robot has no joint '{name}'{closest(name, self._by_name)}"
        if name in self._lines:
            message = f"joint '{name}' of line {self._lines[name]} could not be read"
        report(place, prefix + message, expected='a joint of the URDF', found=f"'{name}'")


# -- Links and joints ----------------------------------------------------------------------------


def _finish_origin(walker: Walker, element: Element, values: Fields, _: int) -> Pose:
    quaternion = values.pop('quat_xyzw', None)
    if quaternion is not None:
        if 'rpy' in values:
            walker.findings.add_error(
                element,
                '<origin> has two rotations',
                expected='rpy or quat_xyzw',
                found='both',
            )
            raise Unusable
        values['rpy'] = _convert_quaternion(*quaternion)
    elif 'quat_xyzw' in element.attributes and element.is_in(JOINT.tag):
        walker.findings.add_ignored(
            element,
            'quat_xyzw is ignored: it needs a newer version of URDF',
            expected='<robot version="1.1">, or rpy',
            found='version 1.0',
        )
    return Pose(**values)


def _convert_quaternion(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """
    Return roll, pitch and yaw of a quaternion of norm 1.

    Roll is the rotation that remains after yaw and pitch. So the result is exact to rounding even
    at a pitch of 90 degrees, at which yaw is arbitrary.
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


def _finish_axis(
    walker: Walker, element: Element, values: Fields, _: int
) -> tuple[float, float, float]:
    x, y, z = values['xyz']
    # Divide by the largest component first, so that no square overflows or underflows.
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        if element.parent is not None and element.parent.get('type') in _WITHOUT_AXIS:
            return (1.0, 0.0, 0.0)
        walker.findings.add_error(
            element,
            'the joint axis has no direction',
            expected='a vector other than 0 0 0',
            found='0 0 0',
        )
        raise Unusable
    x, y, z = x / scale, y / scale, z / scale
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


FINISH: dict[Row, Finish] = {ORIGIN: _finish_origin, AXIS: _finish_axis}


def check_limits_given(joints: Sequence[JointSpec], findings: Findings) -> None:
    """Report missing, swapped and unread limits, which leave a joint usable."""
    for joint in joints:
        limits = joint.limits
        if limits is None:
            if joint.type in ('revolute', 'prismatic'):
                findings.add_ignored(
                    joint,
                    f'{joint.type} joint without limits is unlimited',
                    expected='<limit>',
                    found='none',
                )
            continue
        limit = findings.find_child_or_self(joint, 'limit')
        if limit.get('acceleration') is not None:
            text = 'acceleration is not used: controllers and planners limit accelerations'
            findings.add_info(limit, text)
        missing = [name for name in ('effort', 'velocity') if getattr(limits, name) is None]
        if missing and joint.is_scalar:
            findings.add_ignored(
                limit,
                '<limit> is incomplete: a missing limit is infinite',
                expected=' and '.join(f'attribute {name}' for name in missing),
                found='none',
            )
        lower, upper = limits.lower, limits.upper
        if lower is not None and upper is not None and lower > upper:
            findings.add_warning(
                limit,
                'the lower limit is above the upper one',
                expected='lower at most upper',
                found=f'{lower} to {upper}',
            )


# -- The kinematic tree --------------------------------------------------------------------------
#
# URDF parsers reject a document without one tree. Transmissions do not need the tree, so here
# these findings are warnings, and errors in strict mode.


def check_tree(
    root: Element, links: Sequence[LinkSpec], joints: RobotJoints, findings: Findings
) -> None:
    """Report joints without known links, links with two parents, loops and several roots."""
    if not links:
        if joints.usable:
            findings.add_ignored(
                root, 'there is no kinematic tree', expected='links', found='joints only'
            )
        return
    # A joint may refer to a link that was dropped.
    known = {element.get('name') for element in root.find_all('link')}
    parent_of: dict[str, str] = {}
    for joint in joints.usable:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link and link in known:
                continue
            findings.add_ignored(
                joint,
                f'unknown {end} link' if link else f'joint without a {end} link',
                expected='a link of the robot' if link else f'<{end} link="...">',
                found=f"'{link}'" if link else 'none',
            )
        if joint.child in parent_of:
            findings.add_ignored(
                joint,
                'the child link already has a parent',
                expected='a link that no other joint moves',
                found=f"'{joint.child}'",
            )
        elif joint.child and joint.parent:
            parent_of[joint.child] = joint.parent
    moved_by: dict[str, JointSpec] = {}
    for joint in joints.usable:
        moved_by.setdefault(joint.child, joint)
    for start, loop in iterate_loops(parent_of, moved_by):
        findings.add_ignored(
            moved_by[start],
            'the joints form a loop',
            expected='a tree',
            found=f"link '{loop[0]}' above itself",
        )
    roots = [link for link in links if link.name not in parent_of]
    if len(roots) > 1 and len(joints.usable) == len(root.find_all('joint')):
        findings.add_ignored(
            roots[1],
            'the links form more than one tree',
            expected='one root link',
            found=', '.join(link.name for link in roots[:5]) + (', …' if len(roots) > 5 else ''),
            subject='',
        )


def iterate_loops(
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
