# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Tuned numbers back into the description that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transmission_bridge.bridge.parameter_names import by_number, parameter_name, PREFIX
from transmission_bridge.description import load_description, TransmissionSpec
from transmission_bridge.description.number_editor import NumberEditor
from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.export_slots import write_number
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.transmissions.tuning import IGNORE_ABSOLUTE_ENCODER

__all__ = ['Change', 'Exported', 'export']


@dataclass(frozen=True)
class Change:
    """One number that was written."""

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Exported:
    """
    The result.

    :param data: The description with the new numbers.
    :param changes: What was written.
    :param n_same: How many numbers of the parameter file stood there already.
    """

    data: bytes
    changes: tuple[Change, ...]
    n_same: int


def export(
    data: bytes, values: Mapping[str, float | bool], aliases: Mapping[str, str]
) -> Exported:
    """
    Write numbers into a description, each where it stands.

    :param data: The description.
    :param values: Numbers by their full parameter names.
    :raises DescriptionError: If the description cannot be read.
    :raises UsageError: If a name is none of this robot, or a number cannot be written.
    :raises ParameterError: If a value cannot be accepted.
    """
    robot = RobotTransmissions(load_description(data), aliases=aliases)
    wanted = _places(robot, values)
    tuned = robot.with_parameters(by_number(values))
    if tuned.ignore_absolute_encoder != robot.ignore_absolute_encoder:
        raise UsageError(f'{IGNORE_ABSOLUTE_ENCODER} is not written by this command')
    editor = NumberEditor(data)
    specs = {binding.spec.name: binding.spec for binding in robot.bindings}
    changes = []
    for name, (transmission, path) in wanted.items():
        if path == (IGNORE_ABSOLUTE_ENCODER,):
            continue
        before, after = (_value(each, transmission, path) for each in (robot, tuned))
        if before == after:
            continue
        changes.append(Change(name, before, after))
        spec: TransmissionSpec = specs[transmission]
        if not write_number(editor, spec, tuned.tunables[transmission], path):
            raise UsageError(f'{name} cannot be written: it stands nowhere in the description')
    result = editor.result()
    _verify(result, tuned, aliases)
    return Exported(result, tuple(changes), len(wanted) - len(changes))


def _places(
    robot: RobotTransmissions, values: Mapping[str, float | bool]
) -> dict[str, tuple[str, ParameterPath]]:
    """
    Return transmission and path of each name.

    :raises UsageError: If a name is none, or means two numbers.
    """
    places: dict[str, list[tuple[str, ParameterPath]]] = {}
    for transmission, tunables in robot.tunables.items():
        paths = [*(tunable.path for tunable in tunables), (IGNORE_ABSOLUTE_ENCODER,)]
        for path in paths:
            places.setdefault(parameter_name(transmission, path), []).append((transmission, path))
    rejected = {each.name for each in robot.robot.rejected}
    for name in values:
        found = places.get(name, [])
        if len(found) == 1:
            continue
        reason = 'names with dots make two numbers of this name'
        if not found:
            lost = [each for each in rejected if each and name.startswith(f'{PREFIX}{each}.')]
            reason = (
                f"the transmission '{lost[0]}' is refused (see 'transmission_bridge check')"
                if lost
                else 'the description has no such number'
            )
        raise UsageError(f'{name} cannot be written: {reason}')
    return {name: places[name][0] for name in values}


def _value(robot: RobotTransmissions, transmission: str, path: ParameterPath) -> float:
    return next(each.value for each in robot.tunables[transmission] if each.path == path)


def _verify(data: bytes, tuned: RobotTransmissions, aliases: Mapping[str, str]) -> None:
    """
    Check that the description reads as what was asked for.

    :raises UsageError: If a plugin reads a number in a way that is not known here.
    """
    read = RobotTransmissions(load_description(data), aliases=aliases)
    for transmission, tunables in tuned.tunables.items():
        found = {each.path: each.value for each in read.tunables.get(transmission, ())}
        for each in tunables:
            if found.get(each.path) != each.value:
                name = parameter_name(transmission, each.path)
                raise UsageError(
                    f'{name} cannot be written: its plugin reads it in a way of its own'
                )
