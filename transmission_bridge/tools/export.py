# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge export``: write tuned numbers into the description, or its ranges."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
import os
import re
import sys
from typing import NamedTuple

from transmission_bridge.bridge.options import PREFIX, strip_prefixes
from transmission_bridge.description import (
    load_description,
    ParameterSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.document import NumberEditor
from transmission_bridge.errors import ParameterError
from transmission_bridge.tools.calibration.lerobot import read_lerobot, write_lerobot
from transmission_bridge.tools.calibration.orca import CONFIG, write_orca
from transmission_bridge.tools.cli import Console, Exit, printable, UsageError
from transmission_bridge.tools.files import (
    check_output,
    Entry,
    format_numbers,
    format_parameter_file,
    write_output,
)
from transmission_bridge.tools.robot import bridge_setup, read_robot_file, robot_of_command
from transmission_bridge.transmissions import (
    ACTUATOR_LIMITS,
    ParameterPath,
    RobotTransmissions,
    Tunable,
)

_ENTRY = re.compile(r'(joint|actuator)([1-9][0-9]*)')


class _Slot(NamedTuple):
    """One number of a parameter: the parameter's name, the index, and all its numbers."""

    name: str
    place: int
    values: tuple[float, ...]


def write_number(
    editor: NumberEditor, spec: TransmissionSpec, tunables: Sequence[Tunable], path: ParameterPath
) -> bool:
    """
    Write one number in its place, or insert it if it had its default.

    :param spec: The transmission.
    :param tunables: All its numbers, with their new values.
    :param path: Path of the number.
    :returns: Whether it could be written.
    """
    value = next(tunable.value for tunable in tunables if tunable.path == path)
    member, rest = _find_member(spec, path)
    if member is not None and rest in (('mechanical_reduction',), ('offset',)):
        return editor.set_member_number(spec.dialect, member, rest[0], value)
    prefix = path[: len(path) - len(rest)]
    others = [tunable for tunable in tunables if tunable.path[: len(prefix)] == prefix]
    if member is not None and rest[0] == 'limit' and rest[-1] in ACTUATOR_LIMITS:
        # If the type reads a parameter of this name, that is another number.
        is_other = any(other.path == (*prefix, rest[-1]) for other in others)
        return editor.set_limit(member, rest[-1], value, in_parameters=not is_other)
    if len(rest) == 3 and (element := _numbered(spec, rest)) is not None:
        return editor.set_attribute(element, rest[2], value)
    slot = _slot(rest, prefix, others)
    for each in (*_matrix_slots(spec, rest, value), slot):
        if editor.set_parameter(member or spec, each.name, each.place, value):
            return True
    return len(rest) <= 2 and editor.add_parameter(member or spec, slot.name, slot.values)


def _find_member(
    spec: TransmissionSpec, path: ParameterPath
) -> tuple[TransmissionEnd | None, ParameterPath]:
    """Return the joint or actuator in a path, and the rest of the path."""
    members = {'joints': spec.joints, 'actuators': spec.actuators}.get(path[0], ())
    for member in members:
        if len(path) > 2 and member.name == path[1]:
            return member, path[2:]
    return None, path


def _slot(rest: ParameterPath, prefix: ParameterPath, others: Sequence[Tunable]) -> _Slot:
    """Return the slot of a number in its parameter, the first part of its path."""
    begin = (*prefix, rest[0])
    same = {other.path: other.value for other in others if other.path[: len(begin)] == begin}
    return _Slot(rest[0], [*same].index((*prefix, *rest)), tuple(same.values()))


def _numbered(spec: TransmissionSpec, rest: ParameterPath) -> ParameterSpec | None:
    """Return the element of ``loops.2.length``, the second ``<loop>``."""
    elements = [each for each in spec.parameters if each.attributes and f'{each.name}s' == rest[0]]
    return {str(number): each for number, each in enumerate(elements, 1)}.get(rest[1])


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


class Change(NamedTuple):
    """One number that was written."""

    name: str
    before: float
    after: float


class Exported(NamedTuple):
    """
    The result.

    :param data: The description with the new numbers.
    :param changes: The numbers written.
    :param n_same: Count of the unchanged numbers.
    """

    data: bytes
    changes: tuple[Change, ...]
    n_same: int


def export(data: bytes, values: Mapping[str, float | bool]) -> Exported:
    """
    Write numbers into a description.

    :param data: The description.
    :param values: Numbers by their full parameter names.
    :raises DescriptionError: If the description cannot be read.
    :raises ParameterError: If the robot has no such parameter, a value is invalid, or a number
        cannot be written.
    """
    robot = RobotTransmissions(load_description(data))
    wanted = [_find_number(robot, name.removeprefix(PREFIX)) for name in values]
    tuned = robot.with_parameters(strip_prefixes(values))
    editor = NumberEditor(data)
    changes = []

    def write(each: Tunable, before: float) -> None:
        spec, name = robot.description.transmission(each.transmission), PREFIX + each.name
        changes.append(Change(name, before, each.value))
        if not write_number(editor, spec, tuned.tunables[spec.name], each.path):
            raise ParameterError(f'{name} cannot be written: it has no place in the description')

    for before in wanted:
        after = tuned.parameters[before.name]
        if before.value != after.value:
            if before.is_flag:
                raise ParameterError(f'{before.path[0]} is not written by this command')
            write(after, before.value)
    n_same = len(wanted) - len(changes)
    # Numbers that the description lacks may follow others, as the rods of a linkage do.
    for tunable in _list_tuned_differences(editor.result(), tuned):
        write(tunable, tunable.value)
    result = editor.result()
    for difference in _list_tuned_differences(result, tuned):
        raise ParameterError(
            f'{PREFIX}{difference.name} cannot be written: only its plugin knows its place'
        )
    return Exported(result, tuple(changes), n_same)


def _find_number(robot: RobotTransmissions, name: str) -> Tunable:
    """
    Return the number of a name.

    :raises ParameterError: If the name is unknown or ambiguous.
    """
    if name in robot.parameters:
        return robot.parameters[name]
    reason = 'two numbers have this name, because names contain dots'
    if name not in robot.named_tunables:
        rejected = {each.name for each in robot.description.rejected}
        lost = [each for each in rejected if each and name.startswith(f'{each}.')]
        reason = (
            f"the transmission '{lost[0]}' is rejected (see 'transmission_bridge check')"
            if lost
            else 'the description has no such number'
        )
    raise ParameterError(f'{PREFIX}{name} cannot be written: {reason}')


def _list_tuned_differences(data: bytes, tuned: RobotTransmissions) -> list[Tunable]:
    """Return the tuned numbers with another value in a description."""
    read = RobotTransmissions(load_description(data)).tunables
    found = {(name, each.path): each.value for name, own in read.items() for each in own}
    return [
        tunable
        for name, tunables in tuned.tunables.items()
        for tunable in tunables
        if found.get((name, tunable.path)) != tunable.value
    ]


def render_numbers(
    output: str,
    data: bytes,
    transmissions: Iterable[tuple[str, Iterable[Entry]]],
    heading: str,
    others: Mapping[str, float | bool] | None = None,
    node: str = '',
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> bytes:
    """
    Return a file with numbers: a parameter file, or the description with the numbers in it.

    :param output: Name of the file; a parameter file ends in ``.yaml`` or ``.yml``.
    :param data: The description.
    :param transmissions: The numbers by transmission.
    :param heading: Lines of a comment at the top of a parameter file.
    :param others: More numbers of the description, by their full parameter names.
    :param node: The bridge in a parameter file, see :func:`format_parameter_file`.
    :param limits: Lower and upper limit by joint [rad or m], for a description.
    :raises ParameterError: As :func:`export`, or if a joint has no ``<limit>``.
    """
    numbers = [(name, [*entries]) for name, entries in transmissions]
    if output.lower().endswith(('.yaml', '.yml')):
        return format_parameter_file(format_numbers(numbers), node, heading).encode()
    values = {
        f'{PREFIX}{".".join((name, *path))}': value
        for name, entries in numbers
        for path, value, _ in entries
    }
    editor = NumberEditor(export(data, {**(others or {}), **values}).data)
    for joint, ends in (limits or {}).items():
        if not editor.set_joint_limits(joint, *ends):
            raise ParameterError(f"the limits of '{joint}' cannot be written: it has no <limit>")
    return editor.result()


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    if options.lerobot or options.orca:
        return _write_ranges(options, console)
    if not options.params_file:
        raise UsageError('expected --params-file YAML, --lerobot FILE or --orca FILE, found none')
    if options.output:
        check_output(options.output, force=options.force)
    data = read_robot_file(options.file)
    setup = bridge_setup(options)
    exported = export(data, setup.numbers)
    if not options.output:
        _print_bytes(exported.data, console)
        return Exit.OK
    write_output(options.output, exported.data, force=options.force)
    for change in exported.changes:
        console.out.line(printable(f'{change.name}: {change.before!r} -> {change.after!r}'))
    console.out.line(
        f'written to {printable(options.output)}: numbers changed: {len(exported.changes)}, '
        f'there already: {exported.n_same}'
    )
    return Exit.OK


def _write_ranges(options: argparse.Namespace, console: Console) -> Exit:
    """Write the calibration file of a driver, with what is not of the description kept."""
    target = options.lerobot or options.orca
    if options.output or (options.lerobot and options.orca):
        raise UsageError('expected one of --output, --lerobot and --orca, found two')
    check_output(target, force=options.force)
    robot = robot_of_command(options, console)
    for refused in robot.refused:
        raise UsageError(f"'{refused.name}' is rejected: see 'transmission_bridge check'")
    previous = read_robot_file(target) if os.path.exists(target) else b''
    if options.lerobot:
        kept = read_lerobot(previous, target) if previous else None
        data = write_lerobot(robot, previous=kept, only=options.transmission)
    else:
        config = os.path.join(os.path.dirname(target), CONFIG)
        data = write_orca(robot, read_robot_file(config), previous, (config, target))
    write_output(target, data, force=options.force)
    console.out.line(f'written to {printable(target)}')
    return Exit.OK


def _print_bytes(data: bytes, console: Console) -> None:
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
