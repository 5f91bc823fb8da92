# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map``: actuator values to joint values and back, by name."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.robot_arguments import add_robot_arguments, aliases_of

if TYPE_CHECKING:
    from transmission_bridge.tools.map_values import MappedValues

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    parser.add_argument(
        'values',
        nargs='+',
        metavar='NAME=VALUE',
        help='values of actuators (--to joint) or joints (--to actuator), in SI units; those not '
        'given are unknown',
    )
    parser.add_argument(
        '--to', required=True, choices=('joint', 'actuator'), help='what to compute'
    )
    parser.add_argument(
        '--interface',
        required=True,
        metavar='NAME',
        help='position, velocity, acceleration, effort, torque, force, or absolute_position '
        '(to joint only)',
    )
    for option, what in (('--at', 'positions'), ('--rate', 'velocities')):
        parser.add_argument(
            option,
            action='extend',
            nargs='+',
            default=[],
            metavar='NAME=VALUE',
            help=f'{what} of the same actuators or joints, needed where the ratio of a '
            'transmission depends on position',
        )
    parser.add_argument('--json', action='store_true', help='print JSON: {name: value}')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.map_values import map_values
    from transmission_bridge.tools.robot_file import read_robot_file

    mapped = map_values(
        read_robot_file(options.file),
        to=options.to,
        interface=options.interface,
        values=options.values,
        at=options.at,
        rate=options.rate,
        aliases=aliases_of(options.alias),
    )
    known = {name: value for name, value in mapped.values.items() if math.isfinite(value)}
    if mapped.n_errors:
        console.err.line(
            f'{printable(options.file)} has errors ({mapped.n_errors}), which cost joints: see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    if options.json:
        console.out.json(known)
    else:
        _show(mapped, known, console)
    return Exit.OK if known else Exit.ERRORS


def _show(mapped: MappedValues, known: dict[str, float], console: Console) -> None:
    from transmission_bridge.tools.table import aligned

    for line in aligned([(name, repr(value)) for name, value in known.items()]):
        console.out.line(line)
    unknown = [printable(name) for name in mapped.values if name not in known]
    if unknown:
        reasons = f' ({printable("; ".join(mapped.reasons))})' if mapped.reasons else ''
        console.out.line(f'not computable from these values: {", ".join(unknown)}{reasons}')


COMMAND = Command(
    summary='compute joint values from actuator values, or the reverse',
    description='Compute joint values from actuator values, or the reverse. What depends on a\n'
    'value that is not given is not computed.\n\n'
    'exit code: 0 something was computed, 1 nothing was, or FILE is not a robot\n'
    'description, 2 wrong usage or FILE cannot be read.',
    example='  transmission_bridge map robot.urdf --to joint --interface position m1=100 m2=-2.5\n'
    '  transmission_bridge map ankle.urdf --to joint --interface effort m1=3 m2=4 \\\n'
    '      --at m1=0.2 m2=0.1',
    add_arguments=_add_arguments,
    run=_run,
)
