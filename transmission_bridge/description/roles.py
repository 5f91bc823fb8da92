# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Roles put the members of a transmission in order; names and XML order do not.

The canonical roles of N joints are ``joint1`` to ``jointN``, of M actuators ``actuator1`` to
``actuatorM``, in lower case. A side with one member needs none.
"""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.description.control_specs import MemberSpec
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.xml import Element

__all__ = ['in_role_order']


def in_role_order(
    members: Sequence[MemberSpec],
    elements: Sequence[Element],
    side: str,
    findings: Findings,
    transmission: str,
) -> tuple[MemberSpec, ...] | None:
    """
    Return the members of one side in the order of their roles.

    Roles that are distinct but none of them canonical (people write joint names there) leave
    document order, with a warning.

    :param elements: The members' elements, for the findings.
    :param side: ``joint`` or ``actuator``.
    :returns: The members, or ``None`` and an error finding: a role is missing or doubled, differs
        from a canonical one by case only, or only some are canonical.
    """
    if len(members) < 2:
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
        f'no {side} role is canonical, taken in document order',
        expected=expected,
        found=found,
        subject=transmission,
    )
    return tuple(members)
