# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The joints and actuators of a ``<transmission>``, for both dialects.

What differs is only where a value may stand and how it is spelt: a :class:`Spelling` says so. The
same value given twice is a warning, two different values are an error. A spelling of the other
dialect is not read, because it would not be read there either: it is a parameter like every other
name, which the type reads or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from transmission_bridge.description.control_specs import (
    MemberSpec,
    ParameterSpec,
    REDUCTION_TAGS,
)
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.numbers import field_meant, MECHANICAL_REDUCTION, OFFSET
from transmission_bridge.description.parameters import attribute_parameter, element_parameter
from transmission_bridge.description.values import boolean, number, ratio, ValueFault
from transmission_bridge.description.xml import Element

__all__ = [
    'HARDWARE_INTERFACE',
    'IGNORE_ABSOLUTE_ENCODER',
    'ROS2_CONTROL',
    'ROS_CONTROL',
    'Spelling',
    'only_value',
    'read_member',
]

T = TypeVar('T')

#: Elements whose presence or list is read by the dialect itself.
HARDWARE_INTERFACE = 'hardwareInterface'
IGNORE_ABSOLUTE_ENCODER = 'ignoreTransmissionAbsoluteEncoder'


@dataclass(frozen=True)
class Spelling:
    """
    Where a dialect writes what.

    :param reduction: Tag of the reduction.
    :param attributes: Whether role, reduction and offset may be attributes as well.
    :param read_only: Whether there is a ``read_only`` attribute.
    :param elements: Further child elements of the dialect, read by its own module.
    """

    reduction: str
    attributes: bool
    read_only: bool
    elements: tuple[str, ...] = ()


#: Both drafts: child elements, or one line of attributes.
ROS2_CONTROL = Spelling(
    reduction=REDUCTION_TAGS['ros2_control'],
    attributes=True,
    read_only=True,
)
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
) -> MemberSpec | None:
    """
    Return a ``<joint>`` or ``<actuator>`` of a transmission without its interfaces.

    :param transmission: Name of the transmission, for the findings.
    :param reduction_required: Whether an absent reduction is an error instead of 1.0.
    :returns: The member, or ``None`` and at least one error finding.
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
    return MemberSpec(
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
    Return the one value that is given, in one place or in several.

    :param texts: Each text with its element.
    :param default: What it is where none is given.
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
    """Return what stands where a reduction is missing."""
    for parameter in parameters:
        if field_meant(parameter.name) == MECHANICAL_REDUCTION:
            return f"'{parameter.value}' in {parameter.path.rpartition('/')[2]}"
    return 'none'


def _others(
    element: Element, spelling: Spelling, findings: Findings, transmission: str
) -> tuple[ParameterSpec, ...]:
    """Return what is for the plugin; report a role that stands where no role is read."""
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
        if child.tag in own or child.tag in spelling.elements:
            continue
        if child.tag == 'param' and child.get('name') == 'role':
            _misplaced_role(child, '<param name="role">', findings, transmission)
        else:
            parameters.append(element_parameter(child))
    return tuple(parameters)


def _misplaced_role(element: Element, what: str, findings: Findings, transmission: str) -> None:
    findings.ignored(
        element,
        f'{what} is ignored here',
        expected='<role>',
        found=what,
        subject=transmission,
    )
