# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Values by name, as users type them: ``wrist=-1.5``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import math

from transmission_bridge.description.numbers import parse_number
from transmission_bridge.tools.command import UsageError

__all__ = ['in_order', 'named_values']


def named_values(
    pairs: Sequence[str], known: Collection[str], what: str, lost: Mapping[str, str]
) -> dict[str, float]:
    """
    Return the values by name.

    :param pairs: Texts ``name=value``.
    :param known: Names that there are.
    :param what: What a name names, for messages: ``actuator``.
    :param lost: Names that are in the description but cannot be used, with the reason.
    :raises UsageError: If a text has another form, a name is unknown or given twice, or a value
        is no finite decimal number.
    """
    values: dict[str, float] = {}
    for pair in pairs:
        # The last sign separates: a name may hold one, a number cannot.
        name, separator, text = pair.rpartition('=')
        if not separator:
            raise UsageError(f"expected {what}=value, found '{pair}'")
        if name not in known:
            reason = f' ({lost[name]})' if name in lost else ''
            raise UsageError(f"unknown {what} '{name}'{reason}, known: {_listed(known)}")
        if name in values:
            raise UsageError(f"{what} '{name}' is given twice")
        try:
            values[name] = parse_number(text)
        except ValueError as error:
            raise UsageError(f"{what} '{name}': expected {error}, found '{text}'") from None
    return values


def in_order(values: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """Return the values in the order of the names, NaN where a name has none."""
    return [values.get(name, math.nan) for name in names]


def _listed(names: Collection[str]) -> str:
    return ', '.join(names) or 'none'
