# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A ``<transmission>`` in both dialects: name, type, and joints and actuators in role order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import re
from typing import TypeVar

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import (
    Dialect,
    ParameterSpec,
    REDUCTION_TAGS,
    RejectedTransmission,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.values import (
    boolean,
    field_meant,
    MECHANICAL_REDUCTION,
    number,
    OFFSET,
    ratio,
    ValueFault,
)
from transmission_bridge.description.xml import Element

__all__ = [
    'HARDWARE_INTERFACE',
    'IGNORE_ABSOLUTE_ENCODER',
    'ROS2_CONTROL',
    'ROS_CONTROL',
    'Draft',
    'Spelling',
    'attribute_parameter',
    'element_parameter',
    'in_role_order',
    'named_parameters',
    'only_value',
    'outline',
    'read_member',
    'read_name',
    'read_side',
    'read_type',
    'undefined_parameters',
]


# -- A transmission before it is compared with the rest of the robot -----------------------------


@dataclass(frozen=True)
class Draft:
    """
    What was read of a ``<transmission>``.

    :param element: The element.
    :param summary: What could be read even if it is refused.
    :param spec: The transmission, ``None`` after an error finding.
    :param lacks_actuator: Whether it is in a ``type="actuator"`` block and declares no actuator.
    """

    element: Element
    summary: RejectedTransmission
    spec: TransmissionSpec | None
    lacks_actuator: bool = False


# -- Parameters for plugins: `<param>` elements, and everything the dialects do not define -------


def element_parameter(element: Element) -> ParameterSpec:
    """Return an element that the dialect does not define, with its content."""
    name = element.get('name') if element.tag == 'param' else None
    return ParameterSpec(
        name=name or element.tag,
        value=element.text,
        line=element.line,
        path=element.path,
        attributes=tuple(element.attributes.items()),
        children=tuple(map(element_parameter, element.children)),
    )


def attribute_parameter(element: Element, attribute: str) -> ParameterSpec:
    """Return an attribute that the dialect does not define."""
    return ParameterSpec(
        name=attribute,
        value=element.attributes[attribute],
        line=element.line,
        path=f'{element.path}/@{attribute}',
    )


def undefined_parameters(
    element: Element, attributes: tuple[str, ...], tags: tuple[str, ...]
) -> tuple[ParameterSpec, ...]:
    """Return the attributes and child elements other than these."""
    return (
        *(attribute_parameter(element, a) for a in element.attributes if a not in attributes),
        *(element_parameter(child) for child in element.children if child.tag not in tags),
    )


def named_parameters(
    parent: Element, findings: Findings, subject: str = ''
) -> tuple[ParameterSpec, ...]:
    """
    Return the ``<param name>`` children; of a repeated name the last one is used.

    :param subject: Subject of the findings.
    """
    last: dict[str, ParameterSpec] = {}
    for element in parent.all('param'):
        name = element.get('name')
        if name is None:
            findings.nameless(element, subject)
            continue
        if name in last:
            findings.ignored(
                element,
                'the parameter is given twice, the last one is used',
                expected='another name',
                found=f"'{name}'",
                subject=subject,
            )
            del last[name]
        last[name] = ParameterSpec(name, element.text, line=element.line, path=element.path)
    return tuple(last.values())


# -- Role order ----------------------------------------------------------------------------------
#
# Roles order the joints and actuators of a transmission. The canonical roles of N joints are
# ``joint1`` to ``jointN``, of M actuators ``actuator1`` to ``actuatorM``, in lower case. A single
# joint or actuator needs none.


def in_role_order(
    members: Sequence[TransmissionEnd],
    elements: Sequence[Element],
    side: str,
    findings: Findings,
    transmission: str,
) -> tuple[TransmissionEnd, ...] | None:
    """
    Return the joints or the actuators in the order of their roles.

    If the roles are distinct and none is canonical (some descriptions have joint names there),
    document order is used, with a warning. The role of a single one decides nothing; that of the
    other side is a warning.

    :param elements: Their elements, for the findings.
    :param side: ``joint`` or ``actuator``.
    :returns: The ordered ones, or ``None`` and an error finding: a role is missing or repeated,
        differs from a canonical one by case only, or only some are canonical.
    """
    if len(members) < 2:
        other = {'joint': 'an actuator', 'actuator': 'a joint'}[side]
        noun = other.split()[1]
        if any(re.fullmatch(f'{noun}[0-9]+', member.role) for member in members):
            findings.warning(
                elements[0],
                f"{side} '{members[0].name}' has the role of {other}",
                expected=f"'{side}1'",
                found=f"'{members[0].role}'",
                subject=transmission,
            )
        return tuple(members)
    canonical = {f'{side}{number + 1}': number for number in range(len(members))}
    expected = ', '.join(canonical)
    seen: set[str] = set()
    for member, element in zip(members, elements, strict=True):
        if not member.role or member.role in seen:
            what = 'the role is already taken' if member.role else 'the role is missing'
            findings.error(
                element,
                f"{side} '{member.name}': {what}",
                expected=expected,
                found=f"'{member.role}'" if member.role else 'none',
                subject=transmission,
            )
            return None
        seen.add(member.role)
        if member.role not in canonical and member.role.lower() in canonical:
            findings.error(
                element,
                f"{side} '{member.name}': the role differs from a canonical one by case only",
                expected=f"'{member.role.lower()}'",
                found=f"'{member.role}'",
                subject=transmission,
            )
            return None
    foreign = seen.difference(canonical)
    if not foreign:
        return tuple(sorted(members, key=lambda member: canonical[member.role]))
    odd = next(
        element
        for member, element in zip(members, elements, strict=True)
        if member.role in foreign
    )
    found = ', '.join(f"'{member.role}'" for member in members)
    if len(foreign) < len(members):
        findings.error(
            odd,
            f'only some {side} roles are canonical',
            expected=expected,
            found=found,
            subject=transmission,
        )
        return None
    findings.warning(
        odd,
        f'no {side} role is canonical, document order is used',
        expected=expected,
        found=found,
        subject=transmission,
    )
    return tuple(members)


# -- Joints and actuators ------------------------------------------------------------------------
#
# The dialects differ in where a value may be written and in its tag: see :class:`Spelling`. The
# same value given twice is a warning, two different values are an error. A tag of the other
# dialect is a parameter like any other, because its own parser would not read it either.


T = TypeVar('T')

#: Elements that ROS 1 defines besides.
HARDWARE_INTERFACE = 'hardwareInterface'
IGNORE_ABSOLUTE_ENCODER = 'ignoreTransmissionAbsoluteEncoder'


@dataclass(frozen=True)
class Spelling:
    """
    How a dialect writes joints and actuators.

    :param reduction: Tag of the reduction.
    :param attributes: Whether role, reduction and offset may also be attributes.
    :param read_only: Whether there is a ``read_only`` attribute.
    :param elements: Other child elements of the dialect, read by its own module.
    """

    reduction: str
    attributes: bool
    read_only: bool
    elements: tuple[str, ...] = ()


#: Both drafts: child elements, or one line of attributes.
ROS2_CONTROL = Spelling(reduction=REDUCTION_TAGS['ros2_control'], attributes=True, read_only=True)
#: ROS 1: child elements only.
ROS_CONTROL = Spelling(
    reduction=REDUCTION_TAGS['ros_control'],
    attributes=False,
    read_only=False,
    elements=(HARDWARE_INTERFACE, IGNORE_ABSOLUTE_ENCODER),
)


def read_member(
    element: Element,
    spelling: Spelling,
    findings: Findings,
    transmission: str,
    *,
    reduction_required: bool = False,
) -> TransmissionEnd | None:
    """
    Return a ``<joint>`` or ``<actuator>`` of a transmission, without its interfaces.

    :param transmission: Name of the transmission, for the findings.
    :param reduction_required: Whether an absent reduction is an error instead of 1.0.
    :returns: The joint or actuator, or ``None`` and at least one error finding.
    """
    errors = findings.errors
    name = element.get('name')
    if not name:
        findings.nameless(element, transmission)
    given: set[str] = set()

    def read(key: str, tag: str, parse: Callable[[str], T], default: T) -> T:
        texts = _texts(element, tag, spelling.attributes)
        if texts:
            given.add(key)
        return only_value(texts, tag, parse, default, findings, transmission)

    role = read('role', 'role', str, '')
    reduction = read(MECHANICAL_REDUCTION, spelling.reduction, ratio, 1.0)
    offset = read(OFFSET, OFFSET, number, 0.0)
    read_only = False
    if spelling.read_only and (text := element.get('read_only')) is not None:
        given.add('read_only')
        read_only = bool(findings.value(element, text, boolean, 'read_only', transmission))
    parameters = _others(element, spelling, findings, transmission)
    if reduction_required and MECHANICAL_REDUCTION not in given:
        findings.error(
            element,
            f'<{spelling.reduction}> is missing',
            expected=f'the ratio inside <{element.tag}>',
            found=_instead(parameters),
            subject=transmission,
        )
    if findings.errors > errors or not name:
        return None
    return TransmissionEnd(
        name=name,
        role=role,
        mechanical_reduction=reduction,
        offset=offset,
        read_only=read_only,
        given=frozenset(given),
        parameters=parameters,
        line=element.line,
        path=element.path,
    )


def _texts(element: Element, tag: str, attributes: bool) -> list[tuple[Element, str]]:
    texts = [(child, child.text) for child in element.all(tag)]
    attribute = element.get(tag) if attributes else None
    return texts if attribute is None else [(element, attribute), *texts]


def only_value(
    texts: list[tuple[Element, str]],
    what: str,
    parse: Callable[[str], T],
    default: T,
    findings: Findings,
    subject: str,
) -> T:
    """
    Return a value that is to be given once; equal repetitions are a warning.

    :param texts: Each text with its element.
    :param default: The value if there is none.
    :returns: The value. After an error finding, one of them or the default.
    """
    values: list[T] = []
    for element, text in texts:
        try:
            values.append(parse(text))
        except ValueFault as fault:
            findings.error(
                element,
                f'{what} is not usable',
                expected=fault.expected,
                found=fault.found,
                subject=subject,
            )
    if len(values) > 1 and len(values) == len(texts):
        second = texts[1][0]
        if any(value != values[0] for value in values):
            found = ' and '.join(f"'{text}'" for _, text in texts)
            findings.error(
                second,
                f'{what} is given more than once',
                expected='one value',
                found=found,
                subject=subject,
            )
        else:
            findings.warning(
                second,
                f'{what} is given more than once',
                expected='one value',
                found='the same again',
                subject=subject,
            )
    return values[0] if values else default


def _instead(parameters: tuple[ParameterSpec, ...]) -> str:
    """Return the parameter that looks like the missing reduction, in words."""
    for parameter in parameters:
        if field_meant(parameter.name) == MECHANICAL_REDUCTION:
            return f"'{parameter.value}' in {parameter.path.rpartition('/')[2]}"
    return 'none'


def _others(
    element: Element, spelling: Spelling, findings: Findings, transmission: str
) -> tuple[ParameterSpec, ...]:
    """Return the parameters for the plugin; report a role where none is read."""
    own = {'role', OFFSET, spelling.reduction}
    own_attributes = {'name'} | (own if spelling.attributes else set())
    if spelling.read_only:
        own_attributes.add('read_only')
    parameters: list[ParameterSpec] = []
    for attribute in element.attributes:
        if attribute in own_attributes:
            continue
        if attribute == 'role':
            _misplaced_role(element, 'attribute role', findings, transmission)
        else:
            parameters.append(attribute_parameter(element, attribute))
    for child in element.children:
        is_misplaced = child.tag == IGNORE_ABSOLUTE_ENCODER and element.tag != 'joint'
        if child.tag in own or (child.tag in spelling.elements and not is_misplaced):
            continue
        if child.tag == 'param' and child.get('name') == 'role':
            _misplaced_role(child, '<param name="role">', findings, transmission)
        else:
            parameters.append(element_parameter(child))
    return tuple(parameters)


def _misplaced_role(element: Element, what: str, findings: Findings, transmission: str) -> None:
    findings.ignored(
        element, f'{what} is ignored here', expected='<role>', found=what, subject=transmission
    )


# -- Name, type, joints and actuators of a `<transmission>` --------------------------------------


def read_name(element: Element, findings: Findings) -> str:
    """Return the name; an empty or missing one is an error finding."""
    name = element.get('name') or ''
    if not name:
        findings.nameless(element)
    return name


def read_type(element: Element, tag: str, foreign: str, findings: Findings) -> str:
    """
    Return the type string, empty after an error finding.

    :param tag: Tag of this dialect.
    :param foreign: Tag of the other dialect.
    """
    errors = findings.errors
    name = element.get('name') or ''
    texts = [(child, child.text) for child in element.all(tag)]
    type_name = only_value(texts, tag, str, '', findings, name)
    if not type_name and findings.errors == errors:
        findings.error(
            element,
            f'<{tag}> is missing',
            expected=f'<{tag}> with the type of the transmission',
            found=f'<{foreign}>, which is for the other dialect'
            if element.all(foreign)
            else 'none',
            subject=name,
        )
    return type_name


def read_side(
    transmission: Element,
    tag: str,
    spelling: Spelling,
    findings: Findings,
    *,
    reduction_required: bool = False,
    may_be_empty: bool = False,
) -> tuple[TransmissionEnd, ...] | None:
    """
    Return the joints or the actuators of a transmission in role order, without interfaces.

    :param tag: ``joint`` or ``actuator``.
    :param reduction_required: Whether each needs a reduction.
    :param may_be_empty: Whether there may be none.
    :returns: These, or ``None`` after an error finding.
    """
    subject = transmission.get('name') or ''
    elements = transmission.all(tag)
    if not elements and not may_be_empty:
        findings.error(
            transmission,
            f'no {tag} in the transmission',
            expected=f'at least one <{tag}>',
            found='none',
            subject=subject,
        )
        return None
    members: list[TransmissionEnd] = []
    names: set[str] = set()
    sound = True
    for element in elements:
        member = read_member(
            element, spelling, findings, subject, reduction_required=reduction_required
        )
        if member is None:
            sound = False
            continue
        if member.name in names:
            findings.error(
                element,
                f'{tag} twice in one transmission',
                expected='another name',
                found=f"'{member.name}'",
                subject=subject,
            )
            sound = False
        names.add(member.name)
        members.append(member)
    return in_role_order(members, elements, tag, findings, subject) if sound else None


def _has_unit(actuator: Element) -> bool:
    names = [child.get('name') or '' for child in actuator.all('param')]
    names += [*actuator.attributes, *(child.tag for child in actuator.children)]
    return any(name.endswith('_unit') for name in names)


def outline(transmission: Element, type_name: str, dialect: Dialect) -> RejectedTransmission:
    """Return what can be read of a transmission that may be refused."""
    return RejectedTransmission(
        name=transmission.get('name') or '',
        type=type_name,
        dialect=dialect,
        joints=tuple(member.get('name') or '' for member in transmission.all('joint')),
        actuators=tuple(member.get('name') or '' for member in transmission.all('actuator')),
        with_units=tuple(
            member.get('name') or ''
            for member in transmission.all('actuator')
            if _has_unit(member)
        ),
        line=transmission.line,
        path=transmission.path,
    )
