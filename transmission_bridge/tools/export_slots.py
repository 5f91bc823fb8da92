# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where a live parameter of a transmission stands in its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from transmission_bridge.description import MemberSpec, TransmissionSpec
from transmission_bridge.description.number_editor import NumberEditor
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable

__all__ = ['write_number']

_ENTRY = re.compile(r'(joint|actuator)([1-9][0-9]*)')


@dataclass(frozen=True)
class _Slot:
    """One number of a parameter: its name, which of its numbers, and all of them."""

    name: str
    place: int
    values: tuple[float, ...]


def write_number(
    editor: NumberEditor, spec: TransmissionSpec, tunables: Sequence[Tunable], path: ParameterPath
) -> bool:
    """
    Write one number where it stands, or where it would stand.

    :param spec: The transmission.
    :param tunables: All its numbers, with their new values.
    :param path: Which one.
    :returns: Whether that could be done.
    """
    value = next(tunable.value for tunable in tunables if tunable.path == path)
    member, rest = _member(spec, path)
    if member is not None and rest in (('mechanical_reduction',), ('offset',)):
        return editor.set_member_number(spec, member, rest[0], value)
    prefix = path[: len(path) - len(rest)]
    others = [tunable for tunable in tunables if tunable.path[: len(prefix)] == prefix]
    for slot in (*_matrix_slots(spec, rest, value), _slot(rest, prefix, others)):
        if editor.set_parameter(spec, member, slot.name, slot.place, value):
            return True
    slot = _slot(rest, prefix, others)
    return len(rest) <= 2 and editor.add_parameter(spec, member, slot.name, slot.values)


def _member(
    spec: TransmissionSpec, path: ParameterPath
) -> tuple[MemberSpec | None, ParameterPath]:
    """Return the joint or actuator that a path leads through, and the path below it."""
    members = {'joints': spec.joints, 'actuators': spec.actuators}.get(path[0], ())
    for member in members:
        if len(path) > 2 and member.name == path[1]:
            return member, path[2:]
    return None, path


def _slot(rest: ParameterPath, prefix: ParameterPath, others: Sequence[Tunable]) -> _Slot:
    """Return where a number stands whose parameter has the first name of its path."""
    depth = len(prefix)
    same = [each for each in others if each.path[depth : depth + 1] == rest[:1]]
    values = tuple(each.value for each in same)
    places = [each.path[depth:] for each in same]
    return _Slot(rest[0], places.index(rest), values)


def _matrix_slots(spec: TransmissionSpec, rest: ParameterPath, value: float) -> tuple[_Slot, ...]:
    """Return the rows and entries that the matrix of a coupled transmission is spelt in."""
    if len(rest) != 3 or rest[0] != 'matrix':
        return ()
    row, column = _ENTRY.fullmatch(rest[1]), _ENTRY.fullmatch(rest[2])
    if row is None or column is None:
        return ()
    place = int(column[2]) - 1
    whole = (int(row[2]) - 1) * len(spec.actuators) + place
    return (
        _Slot('matrix', whole, (value,)),
        _Slot(rest[1], place, (value,)),
        _Slot(f'{rest[1]}_output{column[2]}', 0, (value,)),
    )
