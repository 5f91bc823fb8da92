# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge loops``: find loops, and propose their transmissions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from transmission_bridge.description import load_description, RobotDescription
from transmission_bridge.tools.cli import Console, Exit, optional, printable, Result, UsageError
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.loops.closing_frames import read_closing_frames
from transmission_bridge.tools.loops.found import Found, Motor, parse_yaml, require_name
from transmission_bridge.tools.loops.loop_closures import read_loop_closures
from transmission_bridge.tools.loops.mjcf import read_mjcf
from transmission_bridge.tools.loops.robot_yaml import read_robot_yaml
from transmission_bridge.tools.robot import read_robot_file
from transmission_bridge.transmissions.linkage.tree import LOOP_TYPES

#: Readers of YAML files, by a key that the file has.
_YAML = {'closures': read_loop_closures, 'closed_loop': read_robot_yaml}


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    optional('casadi', 'mechanisms')
    # They need CasADi.
    from transmission_bridge.tools.loops import proposal, writing

    if options.output:
        check_output(options.output, force=options.force)
    data = read_robot_file(options.file)
    robot = load_description(data)
    found = _read_loops(robot, options.source)
    if not (found.loops or found.rows):
        source = options.source or options.file
        raise UsageError(f"'{source}': expected loops or couplings, found none")
    chosen = _read_motors(robot, options.drive, found)
    for name in options.command:
        require_name(name, [each.name for each in robot.joints], 'joint', '--command')
    framed, loops = writing.add_frames(data, found)
    mechanisms = proposal.propose_linkages(
        load_description(framed), loops, found.driven, chosen, options.command
    )
    moved = {name: each for each in mechanisms for name in each.motions.names}
    couplings = proposal.propose_couplings(found, chosen, moved)
    notes = list(found.notes)
    choices = [each.drive.choice for each in mechanisms] + [each.choice for each in couplings]
    is_complete = not any(choices)
    if is_complete:
        result = writing.add_transmissions(framed, mechanisms, couplings)
        if options.output:
            write_output(options.output, result, force=options.force)
            notes.append(f"written to '{options.output}': check the reductions of the motors")
            if writing.PLACEHOLDER.encode() in result:
                notes.append(f'replace the plugin {writing.PLACEHOLDER} by that of your hardware')
    elif options.output:
        notes.append('nothing is written before these choices are made')
    lines = [
        *(line for each in mechanisms for line in _describe_mechanism(each)),
        *(line for each in couplings for line in _describe_coupling(each)),
        *(f'note: {each}' for each in notes),
    ]
    document = {
        'mechanisms': [_document_mechanism(each) for each in mechanisms],
        'couplings': [_document_coupling(each) for each in couplings],
        'notes': notes,
    }
    return Result(map(printable, lines), document, Exit.OK if is_complete else Exit.ERRORS)


def _read_loops(robot: RobotDescription, source: str | None) -> Found:
    """
    Return the loops of a file, or of the URDF itself.

    :raises UsageError: If the format is unknown, or the file is damaged.
    """
    if not source:
        return read_closing_frames(robot)
    data = read_robot_file(source)
    if data.lstrip(b'\xef\xbb\xbf \t\r\n').startswith(b'<'):
        return read_mjcf(robot, data, source)
    content = parse_yaml(data, source)
    for key, read in _YAML.items():
        if isinstance(content, dict) and key in content:
            return read(robot, content, source)
    raise UsageError(
        f"'{source}': expected an MJCF, or YAML with {' or '.join(_YAML)}, found none"
    )


def _read_motors(robot: RobotDescription, pairs: Sequence[str], found: Found) -> dict[str, Motor]:
    """Return the motors of ``JOINT=MOTOR`` by joint; without a name a motor has that of a file."""
    joints = [each.name for each in robot.joints if each.is_scalar]
    motors = {}
    for pair in pairs:
        joint, _, name = pair.partition('=')
        require_name(joint, joints, 'joint', '--drive')
        stated = found.driven.get(joint, Motor(f'{joint}_motor'))
        motors[joint] = Motor(name or stated.name, stated.reduction)
    return motors


# -- output --------------------------------------------------------------------------------------


def _describe_mechanism(mechanism: Any) -> Iterator[str]:
    yield (
        f'{mechanism.name}: {len(mechanism.motions.names)} joints, equations of rank '
        f'{mechanism.rank}, mobility {mechanism.mobility}'
    )
    for each in mechanism.loops:
        distance, angle = each.gap
        yield (
            f'  loop {each.loop}: {LOOP_TYPES[each.loop.type]} equations of rank {each.rank}; '
            f'moved by {", ".join(each.joints)}; '
            f'open by {distance:.2g} m and {angle:.2g} rad with all joints at zero'
        )
    yield f'  can be driven: {", ".join(mechanism.drivable) or "none"}'
    drive = mechanism.drive
    motors = (f'{joint} by {motor.name}' for joint, motor in drive.driven.items())
    yield f'  driven: {", ".join(motors) or "none"}'
    yield f'  passive: {", ".join(mechanism.passive) or "none"}'
    yield f'  commanded: {", ".join(drive.commanded) or "none"}'
    yield from _describe_choice(drive.choice)


def _describe_coupling(coupling: Any) -> Iterator[str]:
    motors = ', '.join(motor.name for motor in coupling.motors) or 'none'
    yield f'{coupling.name}: joints {", ".join(coupling.joints)}; motors {motors}'
    for name, row, offset in zip(
        coupling.joints, coupling.matrix.tolist(), coupling.offset.tolist(), strict=False
    ):
        terms = [*(f'{each:g} a{number}' for number, each in enumerate(row, 1)), f'{offset:g}']
        yield f'  {name} = {" + ".join(terms)}'
    yield from _describe_choice(coupling.choice)


def _describe_choice(choice: Any) -> Iterator[str]:
    if choice is not None:
        value = 'JOINT=MOTOR' if choice.option == '--drive' else 'JOINT'
        # Idle motions, as of a rod about its axis, need no motor.
        count = f'at most {choice.count}' if choice.option == '--drive' else str(choice.count)
        yield f'  choose {count} with {choice.option} {value} ...: {", ".join(choice.among)}'


def _document_choice(choice: Any) -> dict[str, Any] | None:
    return None if choice is None else {**vars(choice), 'among': list(choice.among)}


def _document_mechanism(mechanism: Any) -> dict[str, Any]:
    drive = mechanism.drive
    return {
        'name': mechanism.name,
        'joints': list(mechanism.motions.names),
        'rank': mechanism.rank,
        'mobility': mechanism.mobility,
        'tolerance': mechanism.tolerance,
        'loops': [
            {
                'type': each.loop.type,
                'frames': [each.loop.frame1, each.loop.frame2],
                'equations': LOOP_TYPES[each.loop.type],
                'rank': each.rank,
                'joints': list(each.joints),
                'gap': list(each.gap),
            }
            for each in mechanism.loops
        ],
        'drivable': list(mechanism.drivable),
        'passive': list(mechanism.passive),
        'driven': {joint: motor.name for joint, motor in drive.driven.items()},
        'commanded': list(drive.commanded),
        'choice': _document_choice(drive.choice),
    }


def _document_coupling(coupling: Any) -> dict[str, Any]:
    return {
        'name': coupling.name,
        'joints': list(coupling.joints),
        'motors': [motor.name for motor in coupling.motors],
        'matrix': coupling.matrix.tolist(),
        'offset': coupling.offset.tolist(),
        'choice': _document_choice(coupling.choice),
    }
