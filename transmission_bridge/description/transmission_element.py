# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A ``<transmission>`` of both dialects and of the PR2: what its rows do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import re
from typing import Any

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.rows import Row
from transmission_bridge.description.specs import (
    HARDWARE_INTERFACE,
    IGNORE_ABSOLUTE_ENCODER,
    PR2_TRANSMISSION,
    REDUCTION_TAGS,
    RejectedTransmission,
    ROS1_TRANSMISSION,
    ROS2_TRANSMISSION,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.values import MECHANICAL_REDUCTION
from transmission_bridge.description.walker import Finish, spec, Walker
from transmission_bridge.description.xml import Element

# -- A transmission before it is compared with the rest of the robot -----------------------------


@dataclass
class Draft:
    """
    What was read of a ``<transmission>``, completed by its block.

    :param spec: The transmission, as far as it could be read.
    :param refused: Whether there is an error finding.
    :param joints: Names of its joints as written, empty ones for those without.
    :param actuators: Those of its actuators.
    :param unknown_joints: Those that its block does not declare.
    :param with_units: Actuators that have units of their driver.
    :param lacks_actuator: Whether it is in a ``type="actuator"`` block and declares no actuator.
    """

    spec: TransmissionSpec
    refused: bool
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    unknown_joints: tuple[str, ...] = ()
    with_units: tuple[str, ...] = ()
    lacks_actuator: bool = False

    def rejected(self, unknown: Sequence[str]) -> RejectedTransmission:
        """
        Return the transmission as one that is refused.

        :param unknown: Its joints that the robot does not have.
        """
        return RejectedTransmission(
            name=self.spec.name,
            type=self.spec.type,
            dialect=self.spec.dialect,
            joints=self.joints,
            actuators=self.actuators,
            block=self.spec.block,
            unknown_joints=tuple(dict.fromkeys([*self.unknown_joints, *unknown])),
            with_units=self.with_units,
            line=self.spec.line,
            path=self.spec.path,
        )


def _draft(element: Element, values: dict[str, Any], *, refused: bool, **more: Any) -> Draft:
    nothing = {'name': '', 'type': '', 'joints': (), 'actuators': ()}
    actuators = element.all('actuator')
    names = {
        'joints': tuple(joint.get('name') or '' for joint in element.all('joint')),
        'actuators': tuple(actuator.get('name') or '' for actuator in actuators),
        'with_units': tuple(each.get('name') or '' for each in actuators if _has_unit(each)),
    }
    made = spec(TransmissionSpec, element, nothing | values)
    return Draft(spec=made, refused=refused, **(names | more))


def _has_unit(actuator: Element) -> bool:
    names = [child.get('name') or '' for child in actuator.all('param')]
    names += [*actuator.attributes, *(child.tag for child in actuator.children)]
    return any(name.endswith('_unit') for name in names)


# -- Role order ----------------------------------------------------------------------------------
#
# Roles order the joints and actuators of a transmission. The canonical roles of N joints are
# ``joint1`` to ``jointN``, of M actuators ``actuator1`` to ``actuatorM``, in lower case. A single
# joint or actuator needs none.


def _in_role_order(
    members: Sequence[TransmissionEnd], side: str, findings: Findings
) -> tuple[TransmissionEnd, ...]:
    """
    Return the joints or the actuators in the order of their roles.

    If the roles are distinct and none is canonical (some descriptions have joint names there),
    document order is used, with a warning. The role of a single one decides nothing; that of the
    other side is a warning.

    :param side: ``joint`` or ``actuator``.
    :returns: The ordered ones, or none and an error finding: a role is missing or repeated,
        differs from a canonical one by case only, or only some are canonical.
    """
    if len(members) < 2:
        other = {'joint': 'an actuator', 'actuator': 'a joint'}[side]
        noun = other.split()[1]
        if any(re.fullmatch(f'{noun}[0-9]+', member.role) for member in members):
            findings.warning(
                members[0],
                f"{side} '{members[0].name}' has the role of {other}",
                expected=f"'{side}1'",
                found=f"'{members[0].role}'",
            )
        return tuple(members)
    canonical = {f'{side}{number + 1}': number for number in range(len(members))}
    expected = ', '.join(canonical)
    seen: set[str] = set()
    for member in members:
        role, what = member.role, ''
        if not role or role in seen:
            what = 'the role is already taken' if role else 'the role is missing'
        elif role not in canonical and role.lower() in canonical:
            what = 'the role differs from a canonical one by case only'
            expected = f"'{role.lower()}'"
        if what:
            message, found = f"{side} '{member.name}': {what}", f"'{role}'" if role else 'none'
            findings.error(member, message, expected=expected, found=found)
            return ()
        seen.add(role)
    foreign = [member for member in members if member.role not in canonical]
    if not foreign:
        return tuple(sorted(members, key=lambda member: canonical[member.role]))
    found = ', '.join(f"'{member.role}'" for member in members)
    if len(foreign) < len(members):
        message = f'only some {side} roles are canonical'
        findings.error(foreign[0], message, expected=expected, found=found)
        return ()
    message = f'no {side} role is canonical, document order is used'
    findings.warning(foreign[0], message, expected=expected, found=found)
    return tuple(members)


# -- Joints and actuators ------------------------------------------------------------------------


#: Values of which it is remembered that they are written.
_GIVEN = ('role', MECHANICAL_REDUCTION, 'offset', 'read_only')


def _end(walker: Walker, element: Element, values: dict[str, Any], _: int) -> TransmissionEnd:
    values['given'] = frozenset(values.keys() & _GIVEN)
    # Whether it is in every joint is asked for the whole transmission.
    values.pop(IGNORE_ABSOLUTE_ENCODER.tag, None)
    if 'command_interfaces' in values:
        values['command_interfaces'] = tuple(filter(None, values['command_interfaces']))
    # A ``<param>``: what else has this name is not a parameter.
    for role in [each for each in values['parameters'] if each.name == 'role']:
        what = '<param name="role">'
        walker.findings.ignored(role, f'{what} is ignored here', expected='<role>', found=what)
    values['parameters'] = tuple(each for each in values['parameters'] if each.name != 'role')
    values.setdefault('name', '')
    end: TransmissionEnd = spec(TransmissionEnd, element, values)
    return end


def _sides(
    walker: Walker, element: Element, values: dict[str, Any], *, lacks_actuator: bool = False
) -> None:
    """Put joints and actuators in role order, none after an error."""
    for side in ('joint', 'actuator'):
        count = len(element.all(side))
        members = values.get(f'{side}s', ())
        names: set[str] = set()
        if not count and not (lacks_actuator and side == 'actuator'):
            walker.findings.error(
                element,
                f'no {side} in the transmission',
                expected=f'at least one <{side}>',
                found='none',
            )
        for member in members:
            if member.name in names:
                walker.findings.error(
                    member,
                    f'{side} twice in one transmission',
                    expected='another name',
                    found=f"'{member.name}'",
                )
            names.add(member.name)
        sound = len(names) == count
        values[f'{side}s'] = _in_role_order(members, side, walker.findings) if sound else ()


# -- Inside `<ros2_control>` ---------------------------------------------------------------------


def _ros2(walker: Walker, element: Element, values: dict[str, Any], errors: int) -> Draft:
    """Return a transmission without the interfaces of its joints, which its block declares."""
    findings = walker.findings
    of_actuator = element.parent is not None and element.parent.get('type') == 'actuator'
    lacks_actuator = of_actuator and not element.all('actuator')
    _sides(walker, element, values, lacks_actuator=lacks_actuator)
    if lacks_actuator and len(values['joints']) > 1:
        findings.error(
            element,
            'an actuator is implied only where there is exactly one joint',
            expected='one joint, or <actuator> elements',
            found=f'{len(values["joints"])} joints',
        )
    for side in ('joint', 'actuator'):
        members = element.all(side)
        roles = [each for member in members[:1] for each in member.all('role') if each.text]
        if len(members) == 1 and not members[0].get('role') and not roles:
            findings.ignored(
                members[0],
                'the role is missing; ros2_control refuses that',
                expected=f"role '{side}1'",
                found='none',
            )
    values['dialect'] = 'ros2_control'
    refused = findings.errors > errors
    return _draft(element, values, refused=refused, lacks_actuator=lacks_actuator)


# -- ROS 1 ---------------------------------------------------------------------------------------


#: A joint with this interface only is measured, never commanded.
_STATE_ONLY = 'JointStateInterface'


def _ros1(walker: Walker, element: Element, values: dict[str, Any], errors: int) -> Draft:
    """
    Return a transmission of ROS 1.

    ROS 1 skips a joint without an interface. Here messages decide which interfaces are mapped, so
    that this is a warning, and an error in strict mode. A reduction under the transmission is not
    used for an actuator: with a ``<type>`` element this is not the style of the PR2, and it is
    unknown which was meant.
    """
    findings = walker.findings
    _sides(walker, element, values)
    for joint in values['joints']:
        if not joint.command_interfaces:
            findings.ignored(
                joint,
                f"joint '{joint.name}' has no interface; ROS 1 refuses that",
                expected=f'<{HARDWARE_INTERFACE.tag}>',
                found='none',
            )
    values |= {
        'dialect': 'ros_control',
        'ignore_absolute_encoder': _ignores_absolute_encoder(element, findings),
        'can_command': any(map(_commandable, values['joints'])),
    }
    return _draft(element, values, refused=findings.errors > errors)


def _commandable(joint: TransmissionEnd) -> bool:
    # Without any interface, nothing says that the joint is only measured.
    interfaces = {interface.rpartition('/')[2] for interface in joint.command_interfaces}
    return interfaces != {_STATE_ONLY}


def _ignores_absolute_encoder(element: Element, findings: Findings) -> bool:
    """Return whether the flag is in every joint; its text is ignored, as in ROS 1."""
    tag = IGNORE_ABSOLUTE_ENCODER.tag
    joints = element.all('joint')
    present = [flag for joint in joints if (flag := joint.first(tag)) is not None]
    if present and len(present) < len(joints):
        findings.ignored(
            present[0],
            f'<{tag}> is ignored here',
            expected='it in every joint, or in none',
            found=f'{len(present)} of {len(joints)}',
        )
        return False
    for flag in present:
        if flag.text.lower() in ('false', '0'):
            findings.warning(
                flag,
                f'<{tag}> is true whatever its text is',
                expected='no such element, for false',
                found=f"'{flag.text}'",
            )
    return bool(present)


# -- The style of the PR2, before ROS 1's `<type>` element ---------------------------------------
#
# The type is an attribute and the reduction a child of the transmission. The simple transmission
# has the same equation, so it is read, its ratio as the actuator's. Every other one is refused
# with one error: a ratio is never invented.


_SIMPLE = 'transmission_interface/SimpleTransmission'
_NAMES_OF_SIMPLE = ('SimpleTransmission', 'pr2_mechanism_model/SimpleTransmission', _SIMPLE)
_REDUCTION = REDUCTION_TAGS['ros_control']


def read_ros1_transmission(walker: Walker, element: Element) -> Draft:
    """Read a transmission that is a direct child of the robot, in both styles."""
    type_name = element.get('type')
    if type_name is None or element.first('type') is not None:
        draft: Draft = walker.read(element, ROS1_TRANSMISSION)
    elif found := _unreadable(element, type_name):
        walker.findings.error(
            element,
            'this transmission in the style of the PR2 is ambiguous',
            expected='a named SimpleTransmission of one joint, one actuator and one '
            f'<{_REDUCTION}>, or the style of ROS 1',
            found=found,
        )
        # Its joints are lost with it: passed through they would have an invented ratio.
        lost = {'joints': _named(element, 'joint'), 'actuators': _named(element, 'actuator')}
        simple = _SIMPLE if type_name in _NAMES_OF_SIMPLE else type_name
        values = {'name': element.get('name') or '', 'type': simple, 'dialect': 'ros_control'}
        draft = _draft(element, values, refused=True, **lost)
    else:
        draft = walker.read(element, PR2_TRANSMISSION)
    return draft


def _pr2(walker: Walker, element: Element, values: dict[str, Any], errors: int) -> Draft:
    values |= {'type': _SIMPLE, 'dialect': 'ros_control'}
    ratio = values.pop(MECHANICAL_REDUCTION, None)
    if walker.findings.errors > errors:
        return _draft(element, values | {'joints': (), 'actuators': ()}, refused=True)
    message = "PR2-style transmission, its reduction is taken as the actuator's"
    walker.findings.info(element, message)
    (joint,), (actuator,) = values['joints'], values['actuators']
    if ratio is not None:
        given = actuator.given | {MECHANICAL_REDUCTION}
        actuator = replace(actuator, mechanical_reduction=ratio, given=given)
    values |= {
        'joints': (replace(joint, command_interfaces=()),),
        'actuators': (replace(actuator, command_interfaces=()),),
        'ignore_absolute_encoder': _ignores_absolute_encoder(element, walker.findings),
    }
    return _draft(element, values, refused=False)


def _named(element: Element, ending: str) -> tuple[str, ...]:
    """Return the names of children such as ``<flexJoint>``, ``<gap_joint>`` or ``<joint>``."""
    children = (child for child in element.children if child.tag.lower().endswith(ending))
    return tuple(name for child in children if (name := child.get('name')))


def _unreadable(element: Element, type_name: str) -> str:
    """Return what is found instead of a block that can be read, empty if it can be."""
    joints, actuators = element.all('joint'), element.all('actuator')
    if not element.get('name'):
        return 'no name'
    if type_name not in _NAMES_OF_SIMPLE:
        return f"type '{type_name}'"
    if len(joints) != 1 or len(actuators) != 1:
        return f'{len(joints)} joints and {len(actuators)} actuators'
    if joints[0].all(_REDUCTION):
        return f'<{_REDUCTION}> inside <joint>'
    count = len([*element.all(_REDUCTION), *actuators[0].all(_REDUCTION)])
    return '' if count == 1 else f'{count} <{_REDUCTION}> elements'


_MEMBERS = (
    row
    for transmission in (ROS2_TRANSMISSION, ROS1_TRANSMISSION, PR2_TRANSMISSION)
    for row in transmission.children
    if row.spec is TransmissionEnd
)
FINISH: dict[Row, Finish] = {
    **dict.fromkeys(_MEMBERS, _end),
    HARDWARE_INTERFACE: lambda walker, element, values, errors: element.text,
    ROS2_TRANSMISSION: _ros2,
    ROS1_TRANSMISSION: _ros1,
    PR2_TRANSMISSION: _pr2,
}
