# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge export``: write tuned numbers into a description.

With ``--lerobot`` or ``--orca`` it writes the ranges of the joints into the calibration file of a
servo driver instead. ``calibrate`` and ``tune`` write their numbers by
:func:`render_tuned_numbers`, and ``compile`` finds the places of numbers by
:func:`write_tuned_number`. A description keeps what
:class:`DescriptionEditor` keeps. Users rely on the files and the exit codes; sentences are free
to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import os
import re

from transmission_bridge.bridge.options import PREFIX, strip_prefixes
from transmission_bridge.description import load_description, MemberSpec, TransmissionSpec
from transmission_bridge.description.document import DescriptionEditor
from transmission_bridge.errors import ParameterError
from transmission_bridge.tools.calibration.servo_files import (
    CONFIG,
    read_lerobot,
    write_lerobot,
    write_orca,
)
from transmission_bridge.tools.cli import Console, Exit, printable, UsageError
from transmission_bridge.tools.files import (
    check_output_path,
    Entry,
    format_parameter_file,
    is_parameter_file,
    write_output,
)
from transmission_bridge.tools.robot import read_bridge_setup, read_robot_file, robot_of_command
from transmission_bridge.transmissions import (
    ACTUATOR_LIMITS,
    ParameterPath,
    RobotTransmissions,
    Tunable,
)

#: Parts of the path of an entry of a matrix, ``matrix.joint1.actuator2``.
_ENTRY = re.compile(r'(joint|actuator)([1-9][0-9]*)')


def write_tuned_number(
    editor: DescriptionEditor,
    spec: TransmissionSpec,
    tunables: Sequence[Tunable],
    path: ParameterPath,
) -> bool:
    """
    Write one number in its place, or insert it if it had its default.

    :param editor: The editor of the description, which keeps the change; the caller takes the
        result after the last number.
    :param spec: The transmission.
    :param tunables: All its numbers, with their new values.
    :param path: Path of the number.
    :returns: Whether it could be written.
    """
    value = next(tunable.value for tunable in tunables if tunable.path == path)
    members = {'joints': spec.joints, 'actuators': spec.actuators}.get(path[0], ())
    named = [member for member in members if len(path) > 2 and member.name == path[1]]
    prefix, rest = (path[:2], path[2:]) if named else ((), path)
    same = {x.path: x.value for x in tunables if x.path[: len(prefix)] == prefix}
    for member in named:
        if rest in (('mechanical_reduction',), ('offset',)):
            return editor.set_member_number(spec.dialect, member, rest[0], value)
        if rest[0] == 'limit' and rest[-1] in ACTUATOR_LIMITS:
            # If the type reads a parameter of this name, that is another number.
            is_other = (*prefix, rest[-1]) in same
            return editor.set_limit(member, rest[-1], value, in_parameters=not is_other)
    # The second <loop> has ``loops.2.length``.
    elements = [x for x in spec.parameters if x.attributes and f'{x.name}s' == rest[0]]
    for number, element in enumerate(elements, 1):
        if len(rest) == 3 and rest[1] == str(number):
            return editor.set_attribute(element, rest[2], value)
    # All numbers of the parameter, which is the first part of the path.
    begin = (*prefix, rest[0])
    numbers = {path: x for path, x in same.items() if path[: len(begin)] == begin}
    slots = [(rest[0], [*numbers].index(path))]
    if len(rest) == 3 and rest[0] == 'matrix':  # of a coupled transmission, in any notation
        row, column = (_ENTRY.fullmatch(name) for name in rest[1:])
        if row is not None and column is not None:
            index = int(column[2]) - 1
            whole = (int(row[2]) - 1) * len(spec.actuators) + index
            word = f'{rest[1]}_output{column[2]}'
            slots = [('matrix', whole), (rest[1], index), (word, 0), *slots]
    owner: TransmissionSpec | MemberSpec = named[0] if named else spec
    if any(editor.set_parameter(owner, name, index, value) for name, index in slots):
        return True
    return len(rest) <= 2 and editor.add_parameter(owner, rest[0], tuple(numbers.values()))


def export(data: bytes, values: Mapping[str, float | bool]) -> tuple[bytes, list[str], int]:
    """
    Write numbers into a description.

    :param data: The description.
    :param values: Numbers by their full parameter names.
    :returns: The description with the new numbers, a sentence for each change, and how many
        numbers were there already.
    :raises DescriptionError: If the description cannot be read.
    :raises ParameterError: If the robot has no such parameter, a value is invalid, or a number
        cannot be written.
    """
    robot = RobotTransmissions(load_description(data))
    wanted = []
    for name in strip_prefixes(values):
        if name not in robot.parameters:
            reason = 'the description has no such number'
            for rejected in robot.description.rejected:
                if rejected.name and name.startswith(f'{rejected.name}.'):
                    reason = f"the transmission '{rejected.name}' is rejected (see "
                    reason += "'transmission_bridge check')"
            if name in robot.named_tunables:
                reason = 'two numbers have this name, because names contain dots'
            raise ParameterError(f'{PREFIX}{name} cannot be written: {reason}')
        wanted.append(robot.parameters[name])
    tuned = robot.with_parameters(strip_prefixes(values))
    editor = DescriptionEditor(data)
    changes = []

    def write(tunable: Tunable, before: float) -> None:
        spec = robot.description.transmission(tunable.transmission)
        name = PREFIX + tunable.name
        changes.append(f'{name}: {before!r} -> {tunable.value!r}')
        if not write_tuned_number(editor, spec, tuned.tunables[spec.name], tunable.path):
            raise ParameterError(f'{name} cannot be written: it has no place in the description')

    for before in wanted:
        after = tuned.parameters[before.name]
        if before.value != after.value:
            if before.is_flag:
                raise ParameterError(f'{before.path[0]} is not written by this command')
            write(after, before.value)
    n_same = sum(before.value == tuned.parameters[before.name].value for before in wanted)
    # Numbers that the description lacks may follow others, as the rods of a linkage do.
    for tunable in _list_tuned_differences(editor.result(), tuned):
        write(tunable, tunable.value)
    result = editor.result()
    for difference in _list_tuned_differences(result, tuned):
        raise ParameterError(
            f'{PREFIX}{difference.name} cannot be written: only its plugin knows its place'
        )
    return result, changes, n_same


def _list_tuned_differences(data: bytes, tuned: RobotTransmissions) -> list[Tunable]:
    """Return the tuned numbers with another value in a description."""
    read, wanted = (
        {(name, x.path): x for name, tunables in robot.tunables.items() for x in tunables}
        for robot in (RobotTransmissions(load_description(data)), tuned)
    )
    return [x for key, x in wanted.items() if key not in read or read[key].value != x.value]


def render_tuned_numbers(
    output: str,
    data: bytes,
    numbers: Sequence[Entry],
    heading: str,
    others: Mapping[str, float | bool] | None = None,
    node: str = '',
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> bytes:
    """
    Return a file with numbers: a parameter file, or the description with the numbers in it.

    :param output: Name of the file; a parameter file ends in ``.yaml`` or ``.yml``.
    :param data: The description.
    :param numbers: The numbers, with remarks for a parameter file.
    :param heading: Lines of a comment at the top of a parameter file.
    :param others: More numbers of the description, by their full parameter names.
    :param node: The bridge in a parameter file, see :func:`format_parameter_file`.
    :param limits: Lower and upper limit by joint [rad or m], for a description.
    :raises ParameterError: As :func:`export`, or if a joint has no ``<limit>``.
    """
    if is_parameter_file(output):
        return format_parameter_file(numbers, node, heading).encode()
    values = {name: value for name, value, _ in numbers}
    editor = DescriptionEditor(export(data, {**(others or {}), **values})[0])
    for joint, ends in (limits or {}).items():
        if not editor.set_joint_limits(joint, *ends):
            raise ParameterError(f"the limits of '{joint}' cannot be written: it has no <limit>")
    return editor.result()


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises UsageError: If options exclude each other, or no target is given.
    """
    if options.lerobot or options.orca:
        return _write_ranges(options, console)
    if not options.params_file:
        raise UsageError('expected --params-file YAML, --lerobot FILE or --orca FILE, found none')
    if options.output:
        check_output_path(options.output, force=options.force)
    data = read_robot_file(options.file)
    setup = read_bridge_setup(options)
    result, changes, n_same = export(data, setup.numbers)
    if not options.output:
        console.out.write_bytes(result)
        return Exit.OK
    write_output(options.output, result, force=options.force)
    for change in changes:
        console.out.line(printable(change))
    console.out.line(
        f'written to {printable(options.output)}: numbers changed: {len(changes)}, '
        f'there already: {n_same}'
    )
    return Exit.OK


def _write_ranges(options: argparse.Namespace, console: Console) -> Exit:
    """Write the calibration file of a driver; entries that the robot does not set are kept."""
    target = options.lerobot or options.orca
    if options.output or (options.lerobot and options.orca):
        raise UsageError('expected one of --output, --lerobot and --orca, found two')
    check_output_path(target, force=options.force)
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
