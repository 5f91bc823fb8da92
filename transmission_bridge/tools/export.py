# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge export``: writes tuned numbers into the robot description."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re
import sys

from transmission_bridge.bridge.options import by_number, PREFIX
from transmission_bridge.description import load_description, TransmissionEnd, TransmissionSpec
from transmission_bridge.description.number_editor import NumberEditor
from transmission_bridge.description.specs import ParameterSpec
from transmission_bridge.errors import ParameterError
from transmission_bridge.tools.cli import Console, Exit, printable, UsageError
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.robot import bridge_setup, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.spec_reader import ACTUATOR_LIMITS
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable

__all__ = ['Change', 'Exported', 'export', 'run', 'write_number']

_ENTRY = re.compile(r'(joint|actuator)([1-9][0-9]*)')


@dataclass(frozen=True)
class _Slot:
    """One number of a parameter: the parameter's name, the index, and all its numbers."""

    name: str
    place: int
    values: tuple[float, ...]


def write_number(
    editor: NumberEditor, spec: TransmissionSpec, tunables: Sequence[Tunable], path: ParameterPath
) -> bool:
    """
    Write one number where it is, or where it belongs if it has its default.

    :param spec: The transmission.
    :param tunables: All its numbers, with their new values.
    :param path: Path of the number.
    :returns: Whether it could be written.
    """
    value = next(tunable.value for tunable in tunables if tunable.path == path)
    member, rest = _member(spec, path)
    if member is not None and rest in (('mechanical_reduction',), ('offset',)):
        return editor.set_member_number(spec, member, rest[0], value)
    prefix = path[: len(path) - len(rest)]
    others = [tunable for tunable in tunables if tunable.path[: len(prefix)] == prefix]
    if member is not None and rest[0] == 'limit' and rest[-1] in ACTUATOR_LIMITS:
        # A parameter of this name that the type reads itself is another number.
        is_other = any(each.path == (*prefix, rest[-1]) for each in others)
        return editor.set_limit(spec, member, rest[-1], value, in_parameters=not is_other)
    if len(rest) == 3 and (element := _numbered(spec, rest)) is not None:
        return editor.set_attribute(element, rest[2], value)
    for slot in (*_matrix_slots(spec, rest, value), _slot(rest, prefix, others)):
        if editor.set_parameter(spec, member, slot.name, slot.place, value):
            return True
    slot = _slot(rest, prefix, others)
    return len(rest) <= 2 and editor.add_parameter(spec, member, slot.name, slot.values)


def _member(
    spec: TransmissionSpec, path: ParameterPath
) -> tuple[TransmissionEnd | None, ParameterPath]:
    """Return the joint or actuator in a path, and the rest of the path."""
    members = {'joints': spec.joints, 'actuators': spec.actuators}.get(path[0], ())
    for member in members:
        if len(path) > 2 and member.name == path[1]:
            return member, path[2:]
    return None, path


def _slot(rest: ParameterPath, prefix: ParameterPath, others: Sequence[Tunable]) -> _Slot:
    """Return the slot of a number in the parameter that its path begins with."""
    depth = len(prefix)
    same = [each for each in others if each.path[depth : depth + 1] == rest[:1]]
    values = tuple(each.value for each in same)
    places = [each.path[depth:] for each in same]
    return _Slot(rest[0], places.index(rest), values)


def _numbered(spec: TransmissionSpec, rest: ParameterPath) -> ParameterSpec | None:
    """Return the element of ``loops.2.length``, the second ``<loop>``."""
    elements = [each for each in spec.parameters if each.attributes and f'{each.name}s' == rest[0]]
    numbers = [str(number + 1) for number in range(len(elements))]
    return elements[numbers.index(rest[1])] if rest[1] in numbers else None


def _matrix_slots(spec: TransmissionSpec, rest: ParameterPath, value: float) -> tuple[_Slot, ...]:
    """Return the slots of a matrix entry of a coupled transmission, in every notation."""
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
    :param changes: The numbers written.
    :param n_same: Count of the numbers that were in the description already.
    """

    data: bytes
    changes: tuple[Change, ...]
    n_same: int


def export(
    data: bytes, values: Mapping[str, float | bool], aliases: Mapping[str, str]
) -> Exported:
    """
    Write numbers into a description.

    :param data: The description.
    :param values: Numbers by their full parameter names.
    :raises DescriptionError: If the description cannot be read.
    :raises ParameterError: If this robot has no parameter of a name, a value cannot be accepted,
        or a number cannot be written.
    """
    robot = RobotTransmissions(load_description(data), aliases=aliases)
    wanted = {name: _wanted(robot, name.removeprefix(PREFIX)) for name in values}
    tuned = robot.with_parameters(by_number(values))
    editor = NumberEditor(data)
    changes = []

    def write(each: Tunable) -> None:
        spec = robot.robot.transmission(each.transmission)
        if not write_number(editor, spec, tuned.tunables[spec.name], each.path):
            name = PREFIX + each.name
            raise ParameterError(f'{name} cannot be written: it has no place in the description')

    for name, before in wanted.items():
        after = tuned.parameters[before.name]
        if before.value == after.value:
            continue
        if before.is_flag:
            raise ParameterError(f'{before.path[0]} is not written by this command')
        changes.append(Change(name, before.value, after.value))
        write(after)
    n_same = len(wanted) - len(changes)
    # What is not in the description may follow what is, as the rods of a linkage do.
    for each in _differing(editor.result(), tuned, aliases):
        changes.append(Change(PREFIX + each.name, each.value, each.value))
        write(each)
    result = editor.result()
    for each in _differing(result, tuned, aliases):
        raise ParameterError(
            f'{PREFIX}{each.name} cannot be written: its plugin reads it in a way of its own'
        )
    return Exported(result, tuple(changes), n_same)


def _wanted(robot: RobotTransmissions, name: str) -> Tunable:
    """
    Return the number of a name.

    :raises ParameterError: If there is none, or more than one.
    """
    if name in robot.parameters:
        return robot.parameters[name]
    reason = 'two numbers have this name, because names contain dots'
    if name not in robot.named_tunables:
        rejected = {each.name for each in robot.robot.rejected}
        lost = [each for each in rejected if each and name.startswith(f'{each}.')]
        reason = (
            f"the transmission '{lost[0]}' is refused (see 'transmission_bridge check')"
            if lost
            else 'the description has no such number'
        )
    raise ParameterError(f'{PREFIX}{name} cannot be written: {reason}')


def _differing(
    data: bytes, tuned: RobotTransmissions, aliases: Mapping[str, str]
) -> list[Tunable]:
    """Return the numbers that a description does not give."""
    read = RobotTransmissions(load_description(data), aliases=aliases)
    return [
        each
        for transmission, tunables in tuned.tunables.items()
        for found in [{own.path: own.value for own in read.tunables.get(transmission, ())}]
        for each in tunables
        if found.get(each.path) != each.value
    ]


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    if options.output:
        check_output(options.output, force=options.force)
    data = read_robot_file(options.file)
    setup = bridge_setup(options)
    exported = export(data, setup.numbers, setup.aliases)
    if not options.output:
        _print(exported.data, console)
        return Exit.OK
    write_output(options.output, exported.data, force=options.force)
    for change in exported.changes:
        console.out.line(printable(f'{change.name}: {change.before!r} -> {change.after!r}'))
    console.out.line(
        f'written to {printable(options.output)}: numbers changed: {len(exported.changes)}, '
        f'there already: {exported.n_same}'
    )
    return Exit.OK


def _print(data: bytes, console: Console) -> None:
    """Print the bytes unchanged, if standard output accepts bytes."""
    buffer = getattr(sys.stdout, 'buffer', None)
    if buffer is None:
        console.out.write(data.decode('utf-8', 'backslashreplace'))
        return
    console.out.flush()
    try:
        buffer.write(data)
    except BrokenPipeError:  # handled when the stream is flushed
        pass
    except OSError as error:
        raise UsageError(f'cannot write the output: {error.strerror}') from None
