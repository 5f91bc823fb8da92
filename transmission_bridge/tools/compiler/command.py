# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge compile``: write the maps of a robot as C, or check a folder of this C.

Users rely on the options, the exit codes, and the names in the folder, which begin with the name
of the robot. The folder is written atomically; sentences and the table of operations are free.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import re

from transmission_bridge.bridge.options import strip_prefixes
from transmission_bridge.errors import counted, TransmissionBridgeError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    import_optional,
    printable,
    UsageError,
)
from transmission_bridge.tools.files import safe_output
from transmission_bridge.tools.robot import read_bridge_setup, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.robot import RobotTable

#: Names of the C code have two words or more, and are no targets of CMake.
_NAME = re.compile('[a-z][a-z0-9]*(_[a-z0-9]+)+')
_TARGETS_OF_CMAKE = ('edit_cache', 'package_source', 'rebuild_cache')


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command: exit code 1 if the robot has errors or, with ``--check``, differs.

    :raises UsageError: If options exclude each other, or a name or the folder cannot be used.
    """
    import_optional('casadi', 'mechanisms')
    from transmission_bridge.tools.compiler import fingerprint
    from transmission_bridge.tools.compiler.c_writer import count_c_state_bytes, write_folder
    from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot, count_operations

    if (options.output is None) == (options.check is None):
        raise UsageError('expected one of --output FOLDER and --check FOLDER')
    former = fingerprint.read_fingerprint(options.check) if options.check is not None else {}
    data = read_robot_file(options.file)
    whole, given = _load_robot(data, options, console)
    name = _find_name(options.name or former.get('name'), whole.description.name)
    joints = _find_joints(whole, options.transmission)
    if not _accept_errors(whole, joints, options, console):
        return Exit.ERRORS

    robot = whole.part(joints)
    if options.ros2_control:
        _check_blocks(whole, robot)
    compiled = CompiledRobot.build(name, robot)
    fitting = fingerprint.make_fingerprint(compiled, whole)
    if former:
        differences = fingerprint.list_fingerprint_differences(former, fitting)
        verdict = f'does not fit {options.file}; differences: {len(differences)}'
        verdict = verdict if differences else f'fits {options.file}'
        for line in (*differences, f'{options.check} {verdict}'):
            console.out.line(printable(line))
        return Exit.ERRORS if differences else Exit.OK
    text = fingerprint.write_fingerprint(fitting)
    more = {'FINGERPRINT': fingerprint.hash_fingerprint(text)}
    if options.ros2_control:
        from transmission_bridge.tools.compiler import ros2_control_writer as writer

        more |= writer.list_ros2_control_values(compiled, whole, data, given)
    with safe_output(options.output, force=options.force, marker=f'src/{name}_map.c') as made:
        write_folder(compiled, Path(made), whole.description, more)
        (Path(made) / fingerprint.FILE).write_text(text, encoding='utf-8')
    rows = [('FUNCTION', 'OPERATIONS', 'AT MOST')]
    for direction, program in compiled.programs.items():
        near, full = count_operations(program.near), count_operations(program.full)
        function = 'to_joint' if direction == ACTUATOR_TO_JOINT else 'to_actuator'
        most = near + full if program.bindings else near
        rows.append((f'{name}_{function}', f'{near:,}', f'{most:,}'))
    fixed = printable(', '.join(compiled.live.fixed))
    for line in (
        f'{options.output}: C maps of {counted(len(robot.actuator_names), "actuator")} and '
        f'{counted(len(robot.joint_names), "joint")}',
        '',
        *align_rows(rows, right=(1, 2)),
        '',
        f'{name}_state: {count_c_state_bytes(compiled):,} bytes on a 64-bit machine',
        f'live numbers: {len(compiled.live.tunables)}',
        *([f'fixed, they need a new compilation: {fixed}'] if fixed else ()),
        *([f'component: <plugin>{name}/MappedSystem</plugin>'] if options.ros2_control else ()),
    ):
        console.out.line(line)
    return Exit.OK


def _accept_errors(
    whole: RobotTransmissions, joints: Sequence[str], options: argparse.Namespace, console: Console
) -> bool:
    """
    Report errors; return whether the maps can be written.

    With ``--transmission``, only errors of its transmissions and of their joints prevent the maps.
    """
    errors = [finding for finding in whole.findings if finding.severity == 'error']
    wanted = {*options.transmission, *joints}
    fatal = [error for error in errors if error.subject in wanted or not options.transmission]
    file = printable(options.file)
    for error in errors:
        console.err.line(printable(str(error)))
    if fatal or not joints:
        what = f'has errors ({len(fatal)})' if fatal else 'has no transmission'
        console.err.line(
            f"{file} {what}: nothing was compiled, see 'transmission_bridge check {file}'"
        )
    return bool(joints) and not fatal


def _load_robot(
    data: bytes, options: argparse.Namespace, console: Console
) -> tuple[RobotTransmissions, set[str]]:
    """Return the robot with the numbers of the tuned file and of the parameter file, by name."""
    setup = read_bridge_setup(options)
    if options.tuned_file:
        from transmission_bridge.bridge.options import TunedFile

        urdf, _ = replace(setup, numbers={}).robot(data)
        try:
            tuned, findings = TunedFile(options.tuned_file).read_tuned_numbers(urdf, setup.numbers)
        except TransmissionBridgeError as error:
            raise UsageError(str(error)) from None
        for finding in findings:
            raise UsageError(finding.text)
        setup = replace(setup, numbers={**tuned, **setup.numbers})
    robot, notes = setup.robot(data)
    for note in notes:
        console.err.line(printable(note))
    return robot, {*strip_prefixes(setup.numbers)}


def _check_blocks(whole: RobotTransmissions, robot: RobotTable) -> None:
    """Refuse a robot that a component of ros2_control cannot map."""
    specs = [binding.spec for binding in robot.bindings if not binding.is_identity]
    if others := [spec.name for spec in specs if spec.dialect != 'ros2_control']:
        raise UsageError(
            '--ros2-control: expected transmissions inside of <ros2_control>, found '
            f'{printable(", ".join(others))} outside of it'
        )
    for block in whole.description.blocks:
        if block.type != 'system' and block.plugin.endswith('/MappedSystem'):
            raise UsageError(
                f'--ros2-control: <ros2_control name="{printable(block.name)}"> is of type '
                f"'{printable(block.type)}': make it a 'system'"
            )


def _find_name(given: str | None, robot_name: str) -> str:
    """Return the name of the functions in C, which is also a package name of ROS."""
    words = re.findall('[a-z0-9]+', robot_name.lower())
    name = given or '_'.join(words)
    # One word could be a header, a library or a target of CMake: string, m, test.
    name += '_map' if not given or '_' not in name else ''
    if not _NAME.fullmatch(name) or name in _TARGETS_OF_CMAKE:
        raise UsageError(
            "--name: expected a package name such as 'arm_map' (a letter, "
            f"then lower-case letters, digits and single '_'), found '{printable(name)}'"
        )
    return name


def _find_joints(robot: RobotTransmissions, names: Sequence[str]) -> list[str]:
    """Return the joints of some transmissions, or of all."""
    bindings = {
        binding.spec.name: binding for binding in robot.bindings if not binding.is_identity
    }
    refused = {spec.name for spec in robot.refused}  # with an error, see _accept_errors
    for name in names:
        if name not in bindings and name not in refused:
            raise UsageError(
                f"--transmission: there is no transmission '{printable(name)}', expected one of "
                f'{printable(", ".join(bindings)) or "none"}'
            )
    wanted = [bindings[name] for name in names if name in bindings] if names else robot.bindings
    places = sorted({joint for binding in wanted for joint in binding.all_joints})
    return [robot.joint_names[place] for place in places]
