# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Read a ``<transmission>`` of ROS 2 or ROS 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re
from typing import Any

from transmission_bridge.description.document.values import MECHANICAL_REDUCTION
from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.rows import Row
from transmission_bridge.description.specs import (
    HARDWARE_INTERFACE,
    IGNORE_ABSOLUTE_ENCODER,
    RejectedTransmission,
    ROS1_TRANSMISSION,
    ROS2_TRANSMISSION,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.walker import Fields, Finish, make_spec, Walker

# -- A transmission before it is compared with the rest of the robot -----------------------------


@dataclass
class Draft:
    """
    A ``<transmission>`` before its comparison with the rest of the robot.

    :param spec: The transmission, as far as it could be read.
    :param refused: Whether it has an error finding.
    :param joints: Names of its joints as written; empty for a joint without a name.
    :param actuators: Names of its actuators.
    :param unknown_joints: Its joints that its block does not declare.
    :param with_units: Actuators with units of their driver.
    :param lacks_actuator: Whether it is in a ``type="actuator"`` block and declares no actuator.
    """

    spec: TransmissionSpec
    refused: bool
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    unknown_joints: tuple[str, ...] = ()
    with_units: tuple[str, ...] = ()
    lacks_actuator: bool = False

    def make_rejected(self, unknown: Sequence[str]) -> RejectedTransmission:
        """Make the rejected transmission; ``unknown`` has its joints that the robot lacks."""
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


def _make_draft(element: Element, values: Fields, *, refused: bool, **more: Any) -> Draft:
    nothing = {'name': '', 'type': '', 'joints': (), 'actuators': ()}
    actuators = element.find_all('actuator')
    names = {
        'joints': tuple(joint.get('name') or '' for joint in element.find_all('joint')),
        'actuators': tuple(actuator.get('name') or '' for actuator in actuators),
        'with_units': tuple(each.get('name') or '' for each in actuators if _has_unit(each)),
    }
    made = make_spec(TransmissionSpec, element, nothing | values)
    return Draft(spec=made, refused=refused, **(names | more))


def _has_unit(actuator: Element) -> bool:
    names = [child.get('name') or '' for child in actuator.find_all('param')]
    names += [*actuator.attributes, *(child.tag for child in actuator.children)]
    return any(name.endswith('_unit') for name in names)


# -- Role order ----------------------------------------------------------------------------------
#
# Roles order the joints and actuators of a transmission. The canonical roles are ``joint1`` to
# ``jointN`` for N joints and ``actuator1`` to ``actuatorM`` for M actuators, in lower case. A
# single joint or actuator needs no role.


def _sort_by_role(
    members: Sequence[TransmissionEnd], side: str, findings: Findings
) -> tuple[TransmissionEnd, ...]:
    """
    Return the joints or the actuators in the order of their roles.

    If the roles are distinct but not canonical (some descriptions use joint names), document
    order is used, with a warning. The role of a single member has no effect; a role of the other
    side is a warning. It is an error if a role is missing or repeated, if it differs from a
    canonical role only by case, or if only some roles are canonical.

    :param side: ``joint`` or ``actuator``.
    :returns: The members in order; empty after an error.
    """
    if len(members) < 2:
        other = {'joint': 'an actuator', 'actuator': 'a joint'}[side]
        noun = other.split()[1]
        if any(re.fullmatch(f'{noun}[0-9]+', member.role) for member in members):
            findings.add_warning(
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
            what = 'the role differs from a canonical role only by case'
            expected = f"'{role.lower()}'"
        if what:
            message, found = f"{side} '{member.name}': {what}", f"'{role}'" if role else 'none'
            findings.add_error(member, message, expected=expected, found=found)
            return ()
        seen.add(role)
    foreign = [member for member in members if member.role not in canonical]
    if not foreign:
        return tuple(sorted(members, key=lambda member: canonical[member.role]))
    found = ', '.join(f"'{member.role}'" for member in members)
    if len(foreign) < len(members):
        message = f'only some {side} roles are canonical'
        findings.add_error(foreign[0], message, expected=expected, found=found)
        return ()
    message = f'no {side} role is canonical, document order is used'
    findings.add_warning(foreign[0], message, expected=expected, found=found)
    return tuple(members)


# -- Joints and actuators ------------------------------------------------------------------------


#: Values that a spec lists in ``given`` if the text has them.
_GIVEN = ('role', MECHANICAL_REDUCTION, 'offset', 'read_only')


def _finish_end(walker: Walker, element: Element, values: Fields, _: int) -> TransmissionEnd:
    values['given'] = frozenset(values.keys() & _GIVEN)
    # It concerns the whole transmission: see _ignores_absolute_encoder().
    values.pop(IGNORE_ABSOLUTE_ENCODER.tag, None)
    if 'command_interfaces' in values:
        values['command_interfaces'] = tuple(filter(None, values['command_interfaces']))
    # Only a ``<param>`` can have this name: an attribute or a child is the role itself.
    for role in [each for each in values['parameters'] if each.name == 'role']:
        what = '<param name="role">'
        walker.findings.add_ignored(role, f'{what} is ignored here', expected='<role>', found=what)
    values['parameters'] = tuple(each for each in values['parameters'] if each.name != 'role')
    values.setdefault('name', '')
    end: TransmissionEnd = make_spec(TransmissionEnd, element, values)
    return end


def _sort_members(
    walker: Walker, element: Element, values: Fields, *, lacks_actuator: bool = False
) -> None:
    for side in ('joint', 'actuator'):
        count = len(element.find_all(side))
        members = values.get(f'{side}s', ())
        names: set[str] = set()
        if not count and not (lacks_actuator and side == 'actuator'):
            walker.findings.add_error(
                element,
                f'no {side} in the transmission',
                expected=f'at least one <{side}>',
                found='none',
            )
        for member in members:
            if member.name in names:
                walker.findings.add_error(
                    member,
                    f'{side} twice in one transmission',
                    expected='another name',
                    found=f"'{member.name}'",
                )
            names.add(member.name)
        sound = len(names) == count
        values[f'{side}s'] = _sort_by_role(members, side, walker.findings) if sound else ()


# -- Inside `<ros2_control>` ---------------------------------------------------------------------


def _finish_ros2(walker: Walker, element: Element, values: Fields, errors: int) -> Draft:
    # Without the interfaces of its joints: the block declares them.
    findings = walker.findings
    of_actuator = element.parent is not None and element.parent.get('type') == 'actuator'
    lacks_actuator = of_actuator and not element.find_all('actuator')
    _sort_members(walker, element, values, lacks_actuator=lacks_actuator)
    if lacks_actuator and len(values['joints']) > 1:
        findings.add_error(
            element,
            'an actuator is implied only for exactly one joint',
            expected='one joint, or <actuator> elements',
            found=f'{len(values["joints"])} joints',
        )
    for side in ('joint', 'actuator'):
        members = element.find_all(side)
        roles = [each for member in members[:1] for each in member.find_all('role') if each.text]
        if len(members) == 1 and not members[0].get('role') and not roles:
            findings.add_ignored(
                members[0],
                'the role is missing; ros2_control rejects that',
                expected=f"role '{side}1'",
                found='none',
            )
    values['dialect'] = 'ros2_control'
    refused = findings.errors > errors
    return _make_draft(element, values, refused=refused, lacks_actuator=lacks_actuator)


# -- ROS 1 ---------------------------------------------------------------------------------------


#: A joint with only this interface is measured, never commanded.
_STATE_ONLY = 'JointStateInterface'


def read_ros1_transmission(walker: Walker, element: Element) -> Draft:
    """Read a transmission directly in the robot."""
    type_name = element.get('type')
    is_outside = type_name is None and element.find_child('plugin') is not None
    if element.find_child('type') is not None or (type_name is None and not is_outside):
        draft: Draft = walker.read_element(element, ROS1_TRANSMISSION)
        return draft
    message, expected = 'a transmission in the style of the PR2 is not read', '<type>, as in ROS 1'
    found = f"attribute type='{type_name}'"
    if is_outside:
        message = 'a transmission of ros2_control is outside of <ros2_control>'
        expected, found = 'it inside <ros2_control>, after the joints', '<plugin> in <robot>'
    walker.findings.add_error(element, message, expected=expected, found=found)
    # Its joints, as in <flexJoint> and <gap_joint>, are rejected: to pass them through would be an
    # invented ratio.
    names = {
        f'{side}s': tuple(
            name
            for child in element.children
            if child.tag.lower().endswith(side) and (name := child.get('name'))
        )
        for side in ('joint', 'actuator')
    }
    values = {
        'name': element.get('name') or '',
        'type': type_name or '',
        'dialect': 'ros_control',
    }
    return _make_draft(element, values, refused=True, **names)


def _finish_ros1(walker: Walker, element: Element, values: Fields, errors: int) -> Draft:
    """
    Finish a transmission of ROS 1.

    ROS 1 skips a joint without an interface. Here messages decide which interfaces are mapped, so
    a missing interface is a warning, and an error in strict mode. A reduction directly in the
    transmission, as for the PR2, is not used: it could belong to a joint or an actuator.
    """
    findings = walker.findings
    _sort_members(walker, element, values)
    for joint in values['joints']:
        if not joint.command_interfaces:
            findings.add_ignored(
                joint,
                f"joint '{joint.name}' has no interface; ROS 1 rejects that",
                expected=f'<{HARDWARE_INTERFACE.tag}>',
                found='none',
            )
    values |= {
        'dialect': 'ros_control',
        'ignore_absolute_encoder': _ignores_absolute_encoder(element, findings),
        'can_command': any(map(_can_be_commanded, values['joints'])),
    }
    return _make_draft(element, values, refused=findings.errors > errors)


def _can_be_commanded(joint: TransmissionEnd) -> bool:
    # Only an explicit interface can make a joint measured and not commanded.
    interfaces = {interface.rpartition('/')[2] for interface in joint.command_interfaces}
    return interfaces != {_STATE_ONLY}


def _ignores_absolute_encoder(element: Element, findings: Findings) -> bool:
    """Whether every joint has the flag; its text is ignored, as in ROS 1."""
    tag = IGNORE_ABSOLUTE_ENCODER.tag
    joints = element.find_all('joint')
    present = [flag for joint in joints if (flag := joint.find_child(tag)) is not None]
    if present and len(present) < len(joints):
        findings.add_ignored(
            present[0],
            f'<{tag}> is ignored here',
            expected='it in every joint, or in none',
            found=f'{len(present)} of {len(joints)}',
        )
        return False
    for flag in present:
        if flag.text.lower() in ('false', '0'):
            findings.add_warning(
                flag,
                f'<{tag}> is true with any text',
                expected='no such element, for false',
                found=f"'{flag.text}'",
            )
    return bool(present)


_MEMBERS = (
    row
    for transmission in (ROS2_TRANSMISSION, ROS1_TRANSMISSION)
    for row in transmission.children
    if row.spec is TransmissionEnd
)
FINISH: dict[Row, Finish] = {
    **dict.fromkeys(_MEMBERS, _finish_end),
    HARDWARE_INTERFACE: lambda walker, element, values, errors: element.text,
    ROS2_TRANSMISSION: _finish_ros2,
    ROS1_TRANSMISSION: _finish_ros1,
}
