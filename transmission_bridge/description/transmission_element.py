# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a ``<transmission>`` has in both dialects: a name, a type, joints and actuators."""

from __future__ import annotations

from transmission_bridge.description.control_specs import (
    Dialect,
    MemberSpec,
    RejectedTransmission,
)
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.members import only_value, read_member, Spelling
from transmission_bridge.description.roles import in_role_order
from transmission_bridge.description.xml import Element

__all__ = ['outline', 'read_name', 'read_side', 'read_type']


def read_name(element: Element, findings: Findings) -> str:
    """Return the name; an empty or missing one is an error finding."""
    name = element.get('name') or ''
    if not name:
        findings.nameless(element)
    return name


def read_type(element: Element, tag: str, foreign: str, findings: Findings) -> str:
    """
    Return the type string, empty after an error finding.

    :param tag: Where this dialect writes it.
    :param foreign: Where the other dialect does.
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
) -> tuple[MemberSpec, ...] | None:
    """
    Return all joints or all actuators of a transmission in role order, without interfaces.

    :param tag: ``joint`` or ``actuator``.
    :param reduction_required: Whether each needs a reduction.
    :param may_be_empty: Whether there may be none.
    :returns: The members, or ``None`` after an error finding.
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
    members: list[MemberSpec] = []
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


def outline(transmission: Element, type_name: str, dialect: Dialect) -> RejectedTransmission:
    """Return what can be read of a transmission even if it is unusable."""
    return RejectedTransmission(
        name=transmission.get('name') or '',
        type=type_name,
        dialect=dialect,
        joints=tuple(member.get('name') or '' for member in transmission.all('joint')),
        actuators=tuple(member.get('name') or '' for member in transmission.all('actuator')),
        line=transmission.line,
        path=transmission.path,
    )
