# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge loops``: find loops, and propose their transmissions.

The text is made from the JSON alone; programs of users read its keys, which are also fields of
mechanisms, loops and choices in ``proposal`` and ``formats``. Users rely on options and exit
codes. A file is written only if no choice is left, and sentences are free.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from transmission_bridge.description import load_description, RobotDescription
from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    import_optional,
    printable,
    ToolResult,
    UsageError,
)
from transmission_bridge.tools.files import check_output_path, parse_yaml_file, write_output
from transmission_bridge.tools.loops.formats import (
    follow_loop_mimics,
    JOINT,
    LoopFile,
    LoopMotor,
    read_loop_closures,
    read_loop_frames,
    read_robot_yaml,
    require_loop_name,
)
from transmission_bridge.tools.loops.mjcf import read_mjcf
from transmission_bridge.tools.robot import read_robot_file

#: Keys of a mechanism in the JSON that are attributes of ``ProposedMechanism``.
_MECHANISM = ('name', 'joints', 'rank', 'mobility', 'tolerance', 'drivable', 'commanded')

#: Readers of YAML files, by a key that the file has.
_YAML = {'closures': read_loop_closures, 'closed_loop': read_robot_yaml}


def run(options: argparse.Namespace, console: Console) -> ToolResult:
    """
    Run the command: exit code 1 if a choice is left.

    :raises UsageError: If a file or an option cannot be used, or the result has errors.
    :raises TransmissionError: If a loop does not close.
    """
    import_optional('casadi', 'mechanisms')
    # They need CasADi.
    from transmission_bridge.tools.loops import proposal, writing

    if options.output:
        check_output_path(options.output, force=options.force)
    data = read_robot_file(options.file)
    robot = load_description(data)
    found = follow_loop_mimics(robot, _read_loops(robot, options.source))
    try:
        if not (found.loops or found.rows):
            source = options.source or options.file
            raise UsageError(f"'{source}': expected loops or couplings, found none")
        chosen = _read_motors(robot, options.drive, found)
        for name in options.command:
            require_loop_name(name, [joint.name for joint in robot.joints], JOINT, '--command')
        framed, loops = writing.write_loop_frames(data, found)
        mechanisms = proposal.propose_linkages(
            load_description(framed), loops, found.driven, chosen, options.command
        )
        moved = {name for mechanism in mechanisms for name in mechanism.joints}
        couplings = proposal.propose_couplings(robot, found, chosen, moved)
        commanded = writing.list_commanded(mechanisms, couplings)
        for spec in robot.transmissions:
            for name in (joint.name for joint in spec.joints if joint.name in commanded):
                raise UsageError(
                    f"joint '{name}' has transmission '{spec.name}' (line {spec.line}) in this "
                    'file already: remove it, or give another --command'
                )
    except (TransmissionError, UsageError):
        for note in found.notes:  # what was not read is a likely cause
            console.err.line(printable(f'note: {note}'))
        raise
    notes = list(found.notes)
    idle = [part for part in mechanisms if part.driven and {*part.driven} <= {*part.commanded}]
    notes += [
        f'the motors of {", ".join(mechanism.driven)} turn the joints that they command, so no '
        'loop has a use: give the joints of the cranks by --drive'
        for mechanism in idle
    ]
    choices = [*(part.choice for part in mechanisms), *(part.choice for part in couplings)]
    is_complete = not any(choices) and not idle
    if is_complete:
        result = writing.write_loop_transmissions(framed, mechanisms, couplings)
        if options.output:
            write_output(options.output, result, force=options.force)
            notes.append(f"written to '{options.output}': check the reductions of the motors")
            if writing.PLACEHOLDER.encode() in result:
                notes.append(f'replace the plugin {writing.PLACEHOLDER} by your own')
    elif options.output:
        notes.append('nothing is written before these choices are made')
    document = _make_document(mechanisms, couplings, notes)
    return ToolResult(
        map(printable, _describe(document)), document, Exit.OK if is_complete else Exit.ERRORS
    )


def _read_loops(robot: RobotDescription, source: str | None) -> LoopFile:
    """
    Return the loops of a file, or of the URDF itself.

    :raises UsageError: If the format is unknown, or the file is damaged.
    """
    if not source:
        return read_loop_frames(robot)
    data = read_robot_file(source)
    if data.lstrip(b'\xef\xbb\xbf \t\r\n').startswith(b'<'):
        return read_mjcf(robot, data, source)
    content = parse_yaml_file(data, source)
    for key, read in _YAML.items():
        if isinstance(content, dict) and key in content:
            return read(robot, content, source)
    raise UsageError(
        f"'{source}': expected an MJCF, or YAML with {' or '.join(_YAML)}, found none"
    )


def _read_motors(
    robot: RobotDescription, pairs: Sequence[str], found: LoopFile
) -> dict[str, LoopMotor]:
    """Return the motors of ``JOINT=MOTOR`` by joint; an empty MOTOR keeps the name of the file."""
    joints = [joint.name for joint in robot.joints if joint.is_scalar]
    motors = {}
    for pair in pairs:
        joint, _, name = pair.partition('=')
        require_loop_name(joint, joints, JOINT, '--drive')
        stated = found.driven.get(joint, LoopMotor(f'{joint}_motor'))
        motors[joint] = LoopMotor(name or stated.name, stated.reduction)
    return motors


# -- output --------------------------------------------------------------------------------------


def _make_document(mechanisms: Any, couplings: Any, notes: Sequence[str]) -> Any:
    """Return the JSON, from which the text is made, for the results of ``proposal``."""
    return {
        'mechanisms': [
            {
                **{key: getattr(mechanism, key) for key in _MECHANISM},
                'loops': [loop._asdict() for loop in mechanism.loops],
                'driven': {joint: motor.name for joint, motor in mechanism.driven.items()},
                'passive': [name for name in mechanism.joints if name not in mechanism.driven],
                'choice': mechanism.choice and mechanism.choice._asdict(),
            }
            for mechanism in mechanisms
        ],
        'couplings': [
            {
                'name': coupling.name,
                'joints': coupling.joints,
                'motors': [motor.name for motor in coupling.motors],
                'matrix': coupling.matrix.tolist(),
                'offset': coupling.offset.tolist(),
                'points': coupling.table.tolist(),
                'error': coupling.error,
                'choice': coupling.choice and coupling.choice._asdict(),
            }
            for coupling in couplings
        ],
        'notes': notes,
    }


def _describe(document: Any) -> Iterator[str]:
    for mechanism in document['mechanisms']:
        yield '{name}: equations of rank {rank}, mobility {mobility}'.format(**mechanism)
        for loop in mechanism['loops']:
            yield (
                "  {type} '{frames[0]}' - '{frames[1]}': {equations} equations of rank {rank}, "
                'open by {gap[0]:.2g} m and {gap[1]:.2g} rad with all joints at zero; moved by '
            ).format(**loop) + ', '.join(loop['joints'])
        for key in ('drivable', 'driven', 'passive', 'commanded'):
            names = mechanism[key].items() if key == 'driven' else mechanism[key]
            words = (' by '.join(name) if key == 'driven' else name for name in names)
            yield f'  {key}: {", ".join(words) or "none"}'
    for coupling in document['couplings']:
        joints = ', '.join(coupling['joints'])
        yield f'{coupling["name"]}: joints {joints}; motors {coupling["motors"]}'
        rows = zip(coupling['joints'], coupling['matrix'], coupling['offset'], strict=False)
        yield from (f'  {joint} = {row} motors + {offset:g}' for joint, row, offset in rows)
        if coupling['points']:
            yield (
                f'  polynomials as a table of {len(coupling["points"])} points, at most '
                f'{coupling["error"]:.2g} rad or m beside them'
            )
    for part in (*document['mechanisms'], *document['couplings']):
        if choice := part['choice']:
            # Idle motions, as of a rod about its axis, need no motor.
            least, value = ('at most ', '=MOTOR') if choice['option'] == '--drive' else ('', '')
            yield (
                f'{part["name"]}: choose {least}{choice["number"]} with {choice["option"]} '
                f'JOINT{value} ...: {", ".join(choice["among"])}'
            )
    yield from (f'note: {note}' for note in document['notes'])
