# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Aliases of transmission types that are mistyped, or left over from another robot."""

from __future__ import annotations

from collections.abc import Iterable

from transmission_bridge.description.specs import Finding, RobotDescription

__all__ = ['unused_aliases']


def unused_aliases(robot: RobotDescription, types: Iterable[str]) -> tuple[Finding, ...]:
    """
    Return a warning for each alias that no transmission is read by.

    :param types: What the aliases stand in for: types in the description.
    """
    found = {spec.type for spec in robot.transmissions}
    found |= {spec.type for spec in robot.rejected}
    return tuple(
        Finding(
            'warning',
            f"the alias for '{theirs}' is not used",
            expected=f'one of {", ".join(sorted(found)) or "no types at all"}',
        )
        for theirs in types
        if theirs not in found
    )
