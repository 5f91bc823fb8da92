# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read a ``<transmission>`` of ROS 2 or ROS 1.

Each dialect is a table, :data:`ROS2_TRANSMISSION` and :data:`ROS1_TRANSMISSION`. ``XmlRow`` and
``XmlValue`` in ``walker`` explain their codes. A test compares the tables with the docs: names of
elements and values, meanings and defaults are for users. Everything else in a transmission, a
joint or an actuator is a parameter for the type of the transmission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
import re

from transmission_bridge.description.document.values import (
    MECHANICAL_REDUCTION,
    read_boolean,
    read_number,
    read_ratio,
)
from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import (
    Dialect,
    MemberSpec,
    ParameterSpec,
    RejectedSpec,
    TransmissionSpec,
)
from transmission_bridge.description.walker import (
    ANY_NAME,
    collect_element_parameters,
    Fields,
    Findings,
    make_spec,
    NAME,
    NOT_READ,
    Place,
    XmlRow,
    XmlValue,
    XmlWalker,
)

# -- A transmission before it is compared with the rest of the robot -----------------------------


@dataclass
class XmlDraft:
    """
    A ``<transmission>`` before its comparison with the rest of the robot.

    It is filled in this order; loading then only reads it:

    1. by its own element, in the finish functions of this module;
    2. by the end of its ``<ros2_control>`` block: name of the block, interfaces of the joints,
       ``can_command`` and unknown joints, or a rejection;
    3. by ``add_implied_actuators``, if all drafts of the robot exist: the implied actuator.

    :param spec: The transmission, as far as it could be read; incomplete if it is rejected.
    :param rejection: Its replacement if it is rejected: names as written, empty for a joint
        without a name; unknown are the joints that its block does not declare.
    :param is_rejected: Whether its element or its block has found an error.
    :param lacks_actuator: Whether it is in a ``type="actuator"`` block and declares no actuator.
    """

    spec: TransmissionSpec
    rejection: RejectedSpec
    is_rejected: bool
    lacks_actuator: bool = False


def _make_draft(
    element: Element, values: Fields, is_rejected: bool, lacks_actuator: bool = False
) -> XmlDraft:
    """Return the draft of an element; ``values`` may lack fields that could not be read."""
    nothing = {'name': '', 'type': '', 'joints': (), 'actuators': ()}
    spec = make_spec(TransmissionSpec, element, nothing | values)
    actuators, with_units = [], []
    for actuator in element.find_all('actuator'):
        actuators.append(actuator.get('name') or '')
        parameters = collect_element_parameters(actuator, XmlRow('actuator'))
        with_units += actuators[-1:] * any(each.name.endswith('_unit') for each in parameters)
    rejection = RejectedSpec(
        name=spec.name,
        type=spec.type,
        dialect=spec.dialect,
        joints=tuple(joint.get('name') or '' for joint in element.find_all('joint')),
        actuators=tuple(actuators),
        with_units=tuple(with_units),
        line=spec.line,
        path=spec.path,
    )
    return XmlDraft(spec, rejection, is_rejected, lacks_actuator)


# -- Role order ----------------------------------------------------------------------------------
#
# Roles order the joints and actuators of a transmission. The canonical roles are ``joint1`` to
# ``jointN`` for N joints and ``actuator1`` to ``actuatorM`` for M actuators, in lower case. A
# single joint or actuator needs no role.


def _sort_by_role(
    members: Sequence[MemberSpec], side: str, findings: Findings
) -> tuple[MemberSpec, ...]:
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
                f"'{side}1'",
                f"'{members[0].role}'",
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
            findings.add_error(member, message, expected, found)
            return ()
        seen.add(role)
    foreign = [member for member in members if member.role not in canonical]
    if not foreign:
        return tuple(sorted(members, key=lambda member: canonical[member.role]))
    found = ', '.join(f"'{member.role}'" for member in members)
    if len(foreign) < len(members):
        message = f'only some {side} roles are canonical'
        findings.add_error(foreign[0], message, expected, found)
        return ()
    message = f'no {side} role is canonical, document order is used'
    findings.add_warning(foreign[0], message, expected, found)
    return tuple(members)


# -- Joints and actuators ------------------------------------------------------------------------
#
# ``_finish_…`` functions are called as ``Row.finish``: ``errors`` is the number of findings of
# severity ``error`` before the element.


#: Values that a spec lists in ``given`` if the text has them.
_GIVEN = ('role', MECHANICAL_REDUCTION, 'offset', 'read_only')


def _finish_end(walker: XmlWalker, element: Element, values: Fields, _errors: int) -> MemberSpec:
    values['given'] = frozenset(values.keys() & _GIVEN)
    # It concerns the whole transmission: see _finish_ros1().
    values.pop(_IGNORE_ABSOLUTE_ENCODER.tag, None)
    if 'command_interfaces' in values:
        values['command_interfaces'] = tuple(filter(None, values['command_interfaces']))
    # Only a ``<param>`` can have this name: an attribute or a child is the role itself.
    parameters = values['parameters']
    for role in (parameter for parameter in parameters if parameter.name == 'role'):
        what = '<param name="role">'
        walker.findings.add_ignored(role, f'{what} is ignored here', '<role>', what)
    values['parameters'] = tuple(x for x in parameters if x.name != 'role')
    return make_spec(MemberSpec, element, {'name': ''} | values)


def _sort_members(
    walker: XmlWalker, element: Element, values: Fields, *, lacks_actuator: bool = False
) -> None:
    """
    Sort the joints and the actuators in ``values`` by role, in place.

    A side with a missing, dropped or repeated member or role is empty, and has a finding.
    """
    for side in ('joint', 'actuator'):
        count = len(element.find_all(side))
        members = values.get(f'{side}s', ())
        names: set[str] = set()
        if not count and not (lacks_actuator and side == 'actuator'):
            walker.findings.add_error(
                element, f'no {side} in the transmission', f'at least one <{side}>'
            )
        for member in members:
            if member.name in names:
                walker.findings.add_error(
                    member, f'{side} twice in one transmission', 'another name', f"'{member.name}'"
                )
            names.add(member.name)
        sound = len(names) == count
        values[f'{side}s'] = _sort_by_role(members, side, walker.findings) if sound else ()


# -- Inside `<ros2_control>` ---------------------------------------------------------------------


def _finish_ros2(walker: XmlWalker, element: Element, values: Fields, errors: int) -> XmlDraft:
    # Without the interfaces of its joints: the block declares them.
    findings = walker.findings
    of_actuator = element.parent is not None and element.parent.get('type') == 'actuator'
    lacks_actuator = of_actuator and not element.find_all('actuator')
    _sort_members(walker, element, values, lacks_actuator=lacks_actuator)
    if lacks_actuator and len(values['joints']) > 1:
        findings.add_error(
            element,
            'an actuator is implied only for exactly one joint',
            'one joint, or <actuator> elements',
            f'{len(values["joints"])} joints',
        )
    for side in ('joint', 'actuator'):
        members = element.find_all(side)
        roles = [role for member in members[:1] for role in member.find_all('role') if role.text]
        if len(members) == 1 and not members[0].get('role') and not roles:
            findings.add_ignored(
                members[0], 'the role is missing; ros2_control rejects that', f"role '{side}1'"
            )
    values['dialect'] = 'ros2_control'
    return _make_draft(element, values, findings.errors > errors, lacks_actuator)


# -- ROS 1 ---------------------------------------------------------------------------------------


#: A joint with only this interface is measured, never commanded.
_STATE_ONLY = 'JointStateInterface'


def read_ros1_transmission(walker: XmlWalker, element: Element) -> XmlDraft:
    """Read a transmission directly in the robot."""
    if element.find_child('plugin') is None or element.find_child('type') is not None:
        draft: XmlDraft = walker.read_element(element, ROS1_TRANSMISSION)
        return draft
    walker.findings.add_error(
        element,
        'a transmission of ros2_control is outside of <ros2_control>',
        'it inside <ros2_control>, after the joints',
        '<plugin> in <robot>',
    )
    values = {'name': element.get('name') or '', 'dialect': 'ros_control'}
    return _make_draft(element, values, is_rejected=True)


def _finish_ros1(walker: XmlWalker, element: Element, values: Fields, errors: int) -> XmlDraft:
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
                f'<{_HARDWARE_INTERFACE.tag}>',
            )
    # Every joint has the flag, or none; its text is ignored, as in ROS 1.
    tag, joints = _IGNORE_ABSOLUTE_ENCODER.tag, element.find_all('joint')
    flags = [flag for joint in joints if (flag := joint.find_child(tag)) is not None]
    ignores_encoder = 0 < len(flags) == len(joints)
    if flags and not ignores_encoder:
        message, expected = f'<{tag}> is ignored here', 'it in every joint, or in none'
        findings.add_ignored(flags[0], message, expected, f'{len(flags)} of {len(joints)}')
    for flag in flags if ignores_encoder else ():
        if flag.text.lower() in ('false', '0'):
            message, expected = f'<{tag}> is true with any text', 'no such element, for false'
            findings.add_warning(flag, message, expected, f"'{flag.text}'")
    # Only an explicit interface can make a joint measured and not commanded.
    interfaces = (
        {interface.rpartition('/')[2] for interface in joint.command_interfaces}
        for joint in values['joints']
    )
    values |= {
        'dialect': 'ros_control',
        'ignore_absolute_encoder': ignores_encoder,
        'can_command': any(kinds != {_STATE_ONLY} for kinds in interfaces),
    }
    return _make_draft(element, values, is_rejected=findings.errors > errors)


# -- The tables; docs/transmissions.md lists their rows ------------------------------------------
#
# Transmissions of both dialects. A transmission with an error is rejected. Everything that the
# dialect does not define is a parameter for the type of the transmission, which reports unused
# ones.

PARAM = XmlRow(
    'param',
    'A parameter of the element around it.',
    ParameterSpec,
    (ANY_NAME, XmlValue('text', str, 'Its value.', place='text', field='value')),
    field='parameters',
    many=True,
    last_counts=True,
    twice=('ignored', 'the parameter is given twice, the last one is used'),
)


def _list_end_values(reduction: str, place: Place) -> tuple[XmlValue, ...]:
    meaning = 'Ratio, actuator over joint, other than zero.'
    return (
        XmlValue('role', str, 'Its role in the type: `joint1`, `actuator2`.', place=place),
        XmlValue(reduction, read_ratio, meaning, place=place, field=MECHANICAL_REDUCTION),
        XmlValue(
            'offset', read_number, 'Joint position at actuator zero [rad or m].', place=place
        ),
    )


_type_value = partial(
    XmlValue,
    read=str,
    meaning='Type of the transmission.',
    place='child',
    field='type',
    missing='<{name}> is missing',
    expected='<{name}> with the type of the transmission',
)
_transmission = partial(
    XmlRow, 'transmission', spec=TransmissionSpec, many=True, unknown='parameters', ends='never'
)
_end = partial(
    XmlRow,
    spec=MemberSpec,
    many=True,
    unknown='parameters',
    ends='end',
    finish=_finish_end,
)
_joint_end = partial(_end, 'joint', 'A joint that it moves.', field='joints')
_actuator_end = partial(_end, 'actuator', 'An actuator that moves it.', field='actuators')

_READ_ONLY = XmlValue('read_only', read_boolean, 'Whether it is only measured, never commanded.')
_ROS2_END = (NAME, *_list_end_values('mechanical_reduction', 'either'), _READ_ONLY)
ROS2_TRANSMISSION = _transmission(
    meaning='A transmission of the block.',
    values=(NAME, _type_value('plugin', foreign='type')),
    children=(_joint_end(values=_ROS2_END), _actuator_end(values=_ROS2_END), PARAM),
    field='transmissions',
    finish=_finish_ros2,
)

_HARDWARE_INTERFACE = XmlRow(
    'hardwareInterface',
    'An interface; a joint with only `JointStateInterface` is measured, not commanded.',
    field='command_interfaces',
    many=True,
    finish=lambda walker, element, values, errors: element.text,
)
_IGNORE_ABSOLUTE_ENCODER = XmlRow(
    'ignoreTransmissionAbsoluteEncoder',
    'In every joint or in none, with any text: absolute positions pass through by role.',
)
_ROLE_ATTRIBUTE = XmlValue('role', str, NOT_READ, place='ignored', expected='<role>')
_ROS1_END = (NAME, _ROLE_ATTRIBUTE, *_list_end_values('mechanicalReduction', 'child'))
_MISSING, _EXPECTED = '<{name}> is missing', 'the ratio inside <{tag}>'
_ROS1_ACTUATOR = tuple(
    replace(value, missing=_MISSING, expected=_EXPECTED) if value.read is read_ratio else value
    for value in _ROS1_END
)
_TYPE_ATTRIBUTE = XmlValue('type', str, NOT_READ, place='ignored', expected='<type>')
ROS1_TRANSMISSION = _transmission(
    meaning='A transmission of ROS 1.',
    values=(NAME, _type_value('type', foreign='plugin'), _TYPE_ATTRIBUTE),
    children=(
        _joint_end(values=_ROS1_END, children=(_HARDWARE_INTERFACE, _IGNORE_ABSOLUTE_ENCODER)),
        _actuator_end(values=_ROS1_ACTUATOR, children=(_HARDWARE_INTERFACE,)),
    ),
    finish=_finish_ros1,
)

#: The transmissions of each dialect.
TRANSMISSIONS: dict[Dialect, XmlRow] = {
    'ros2_control': ROS2_TRANSMISSION,
    'ros_control': ROS1_TRANSMISSION,
}
#: Tag of the reduction of a joint or an actuator.
REDUCTION_TAGS: dict[Dialect, str] = {
    dialect: row.children[0].value(MECHANICAL_REDUCTION).name
    for dialect, row in TRANSMISSIONS.items()
}
