# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""URDF links and joints, and whether they form one tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
import re
from typing import cast, get_args, TypeVar

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import (
    CalibrationSpec,
    DynamicsSpec,
    JointLimits,
    JointSpec,
    JointType,
    LinkSpec,
    MimicSpec,
    Pose,
    SafetySpec,
)
from transmission_bridge.description.values import number, quaternion, ValueFault, vector
from transmission_bridge.description.xml import Element
from transmission_bridge.errors import closest

__all__ = [
    'ElementFault',
    'RobotJoints',
    'check_tree',
    'optional_value',
    'read_joints',
    'read_links',
    'read_pose',
    'required_value',
]


# -- Joints by name ------------------------------------------------------------------------------


class RobotJoints:
    """
    Usable joints, and joints that were dropped because of an error.

    :param root: The robot element.
    :param joints: Its usable joints.
    """

    def __init__(self, root: Element, joints: Sequence[JointSpec]) -> None:
        elements = root.all('joint')
        self._by_name = {joint.name: joint for joint in joints}
        self._lines = {element.get('name'): element.line for element in reversed(elements)}
        self._elements = {element.path: element for element in elements}
        #: The usable joints, in document order.
        self.usable = tuple(joints)

    def get(self, name: str) -> JointSpec | None:
        """Return the usable joint of this name, or ``None``."""
        return self._by_name.get(name)

    def __contains__(self, name: str) -> bool:
        """Whether there is a joint of this name, usable or not."""
        return name in self._lines

    def element(self, joint: JointSpec) -> Element:
        """Return the element of a usable joint."""
        return self._elements[joint.path]

    def complaint(self, name: str) -> str:
        """Return why there is no usable joint of this name."""
        if name in self._lines:
            return f"joint '{name}' of line {self._lines[name]} could not be read"
        return f"the robot has no joint '{name}'{closest(name, self._by_name)}"


# -- URDF links and joints -----------------------------------------------------------------------
#
# A joint that cannot be read completely is dropped with an error finding, because the rest of it
# would be a guess. The other joints stay.


_JOINT_TYPES: tuple[str, ...] = get_args(JointType)
_VERSION = re.compile(r'([0-9]{1,9})\.([0-9]{1,9})')
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')

T = TypeVar('T')
V = TypeVar('V')


class ElementFault(Exception):
    """An error that makes an element unusable."""

    def __init__(self, element: Element, message: str, *, expected: str, found: str) -> None:
        self.element = element
        self.message = message
        self.expected = expected
        self.found = found
        super().__init__(message)


def read_links(root: Element, findings: Findings) -> tuple[LinkSpec, ...]:
    """Return the usable ``<link>`` children of the robot; of equal names the first."""
    return _read_all(root.all('link'), _link, findings)


def read_joints(root: Element, findings: Findings) -> tuple[JointSpec, ...]:
    """Return the usable ``<joint>`` children of the robot; of equal names the first."""
    joints = _read_all(root.all('joint'), _joint, findings)
    by_index = {joint.path: joint for joint in joints}
    for element in root.all('joint'):
        joint = by_index.get(element.path)
        if joint is not None:
            _note_oddities(element, joint, findings)
    return joints


def _read_all(
    elements: list[Element], read: Callable[[Element], T], findings: Findings
) -> tuple[T, ...]:
    specs: dict[str, T] = {}
    for element in elements:
        name = element.get('name') or ''
        try:
            if not name:
                found = 'none' if element.get('name') is None else 'an empty one'
                raise ElementFault(
                    element,
                    f'<{element.tag}> without a name',
                    expected='attribute name',
                    found=found,
                )
            if name in specs:
                raise ElementFault(
                    element,
                    f'{element.tag} described twice, the first one counts',
                    expected='another name',
                    found=f"'{name}'",
                )
            specs[name] = read(element)
        except ElementFault as fault:
            findings.error(
                fault.element,
                fault.message,
                expected=fault.expected,
                found=fault.found,
                subject=name,
            )
    return tuple(specs.values())


def _link(element: Element) -> LinkSpec:
    mass = None
    origin = Pose()
    inertia = None
    inertial = element.first('inertial')
    if inertial is not None:
        origin = read_pose(inertial)
        mass_element = inertial.first('mass')
        if mass_element is not None:
            mass = required_value(mass_element, 'value', number)
        inertia_element = inertial.first('inertia')
        if inertia_element is not None:
            ixx, ixy, ixz, iyy, iyz, izz = (
                required_value(inertia_element, name, number) for name in _INERTIA
            )
            inertia = (ixx, ixy, ixz, iyy, iyz, izz)
    return LinkSpec(
        name=element.attributes['name'],
        mass=mass,
        inertial_origin=origin,
        inertia=inertia,
        line=element.line,
        path=element.path,
    )


def _joint(element: Element) -> JointSpec:
    type_name = element.get('type')
    if type_name not in _JOINT_TYPES:
        raise ElementFault(
            element,
            'unknown joint type' if type_name else 'joint without a type',
            expected='one of ' + ', '.join(_JOINT_TYPES),
            found=f"'{type_name}'" if type_name else 'none',
        )
    return JointSpec(
        name=element.attributes['name'],
        type=cast(JointType, type_name),
        parent=_link_name(element, 'parent'),
        child=_link_name(element, 'child'),
        origin=read_pose(element),
        axis=_axis(element),
        limits=_limits(element.first('limit')),
        safety=_safety(element.first('safety_controller')),
        mimic=_mimic(element.first('mimic')),
        dynamics=_dynamics(element.first('dynamics')),
        calibration=_calibration(element.first('calibration')),
        line=element.line,
        path=element.path,
    )


def _link_name(joint: Element, tag: str) -> str:
    element = joint.first(tag)
    return (element.get('link') or '') if element is not None else ''


def read_pose(element: Element) -> Pose:
    """
    Return the ``<origin>`` of an element, the identity where it has none.

    :raises ElementFault: If it cannot be read.
    """
    origin = element.first('origin')
    if origin is None:
        return Pose()
    zero = (0.0, 0.0, 0.0)
    xyz = optional_value(origin, 'xyz', vector, zero)
    if origin.get('quat_xyzw') is None or not _has_quaternions(origin):
        return Pose(xyz, optional_value(origin, 'rpy', vector, zero))
    if origin.get('rpy') is not None:
        raise ElementFault(
            origin,
            'the rotation of <origin> is given twice',
            expected='rpy or quat_xyzw',
            found='both',
        )
    return Pose(xyz, _rpy(*required_value(origin, 'quat_xyzw', quaternion)))


def _has_quaternions(element: Element) -> bool:
    """Whether the version of the URDF is 1.1 or newer; urdfdom ignores quaternions in 1.0."""
    while element.parent is not None:
        element = element.parent
    version = _VERSION.fullmatch(element.get('version') or '1.0')
    return version is not None and tuple(map(int, version.groups())) >= (1, 1)


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


def _axis(joint: Element) -> tuple[float, float, float]:
    element = joint.first('axis')
    if element is None:
        return (1.0, 0.0, 0.0)
    x, y, z = required_value(element, 'xyz', vector)
    # Divided by the largest component first, so that no square overflows or underflows.
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        if joint.get('type') in ('fixed', 'floating', 'spherical'):
            return (1.0, 0.0, 0.0)
        raise ElementFault(
            element,
            'the joint axis has no direction',
            expected='a vector other than 0 0 0',
            found='0 0 0',
        )
    x, y, z = x / scale, y / scale, z / scale
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _limits(element: Element | None) -> JointLimits | None:
    if element is None:
        return None
    velocity = optional_value(element, 'velocity', number, None)
    effort = optional_value(element, 'effort', number, None)
    return JointLimits(
        lower=optional_value(element, 'lower', number, None),
        upper=optional_value(element, 'upper', number, None),
        velocity=None if velocity is None else abs(velocity),
        effort=None if effort is None else abs(effort),
    )


def _safety(element: Element | None) -> SafetySpec | None:
    if element is None:
        return None
    return SafetySpec(
        soft_lower_limit=optional_value(element, 'soft_lower_limit', number, 0.0),
        soft_upper_limit=optional_value(element, 'soft_upper_limit', number, 0.0),
        k_position=optional_value(element, 'k_position', number, 0.0),
        k_velocity=optional_value(element, 'k_velocity', number, 0.0),
    )


def _mimic(element: Element | None) -> MimicSpec | None:
    if element is None:
        return None
    joint = element.get('joint')
    if not joint:
        raise ElementFault(
            element, '<mimic> without a joint', expected='attribute joint', found='none'
        )
    return MimicSpec(
        joint=joint,
        multiplier=optional_value(element, 'multiplier', number, 1.0),
        offset=optional_value(element, 'offset', number, 0.0),
    )


def _dynamics(element: Element | None) -> DynamicsSpec | None:
    if element is None:
        return None
    return DynamicsSpec(
        damping=optional_value(element, 'damping', number, 0.0),
        friction=optional_value(element, 'friction', number, 0.0),
    )


def _calibration(element: Element | None) -> CalibrationSpec | None:
    if element is None:
        return None
    return CalibrationSpec(
        rising=optional_value(element, 'rising', number, None),
        falling=optional_value(element, 'falling', number, None),
    )


def required_value(element: Element, attribute: str, read: Callable[[str], T]) -> T:
    """
    Return the value of an attribute.

    :raises ElementFault: If it is missing, or cannot be read.
    """
    text = element.get(attribute)
    if text is None:
        raise ElementFault(
            element,
            f'<{element.tag}> without {attribute}',
            expected=f'attribute {attribute}',
            found='none',
        )
    try:
        return read(text)
    except ValueFault as fault:
        raise ElementFault(
            element,
            f'{attribute} of <{element.tag}> is not usable',
            expected=fault.expected,
            found=fault.found,
        ) from None


def optional_value(
    element: Element, attribute: str, read: Callable[[str], T], default: V
) -> T | V:
    """
    Return the value of an attribute, a default where it is not given.

    :raises ElementFault: If it cannot be read.
    """
    if element.get(attribute) is None:
        return default
    return required_value(element, attribute, read)


def _note_oddities(element: Element, joint: JointSpec, findings: Findings) -> None:
    """Report problems that URDF parsers refuse or ignore but that leave the joint usable."""
    origin = element.first('origin')
    if origin is not None and origin.get('quat_xyzw') is not None and not _has_quaternions(origin):
        findings.ignored(
            origin,
            'quat_xyzw is ignored: it needs a newer version of URDF',
            expected='<robot version="1.1">, or rpy',
            found='version 1.0',
            subject=joint.name,
        )
    limit = element.first('limit')
    if limit is None:
        if joint.type in ('revolute', 'prismatic'):
            findings.ignored(
                element,
                f'{joint.type} joint without limits is unlimited',
                expected='<limit>',
                found='none',
                subject=joint.name,
            )
        return
    missing = [name for name in ('effort', 'velocity') if limit.get(name) is None]
    if missing and joint.is_scalar:
        findings.ignored(
            limit,
            '<limit> is incomplete: what is missing is unlimited',
            expected=' and '.join(f'attribute {name}' for name in missing),
            found='none',
            subject=joint.name,
        )
    lower = joint.limits.lower if joint.limits else None
    upper = joint.limits.upper if joint.limits else None
    if lower is not None and upper is not None and lower > upper:
        findings.warning(
            limit,
            'the lower limit is above the upper one',
            expected='lower at most upper',
            found=f'{lower} to {upper}',
            subject=joint.name,
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
        element = joints.element(joint)
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if not link:
                findings.ignored(
                    element,
                    f'joint without a {end} link',
                    expected=f'<{end} link="...">',
                    found='none',
                    subject=joint.name,
                )
            elif link not in known:
                findings.ignored(
                    element,
                    f'unknown {end} link',
                    expected='a link of the robot',
                    found=f"'{link}'",
                    subject=joint.name,
                )
        if joint.child in parent_of:
            findings.ignored(
                element,
                'the child link has another parent already',
                expected='a link that no other joint moves',
                found=f"'{joint.child}'",
                subject=joint.name,
            )
        elif joint.child and joint.parent:
            parent_of[joint.child] = joint.parent
    _check_loops(joints, parent_of, findings)
    roots = [link for link in links if link.name not in parent_of]
    if len(roots) > 1 and len(joints.usable) == len(root.all('joint')):
        findings.ignored(
            next(element for element in root.all('link') if element.path == roots[1].path),
            'the links form more than one tree',
            expected='one root link',
            found=', '.join(link.name for link in roots[:5]) + (', …' if len(roots) > 5 else ''),
        )


def _check_loops(joints: RobotJoints, parent_of: Mapping[str, str], findings: Findings) -> None:
    """Follow each link to its root once; a link that repeats on the way closes a loop."""
    done: set[str] = set()
    for joint in joints.usable:
        way: dict[str, None] = {}
        link = joint.child
        while link in parent_of and link not in done and link not in way:
            way[link] = None
            link = parent_of[link]
        if link in way:
            findings.ignored(
                joints.element(joint),
                'the joints form a loop',
                expected='a tree',
                found=f"link '{link}' above itself",
                subject=joint.name,
            )
        done.update(way)
