# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map``: values of one space in the other."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.description import load_description
from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.cli import (
    aligned,
    Command,
    Console,
    Exit,
    in_order,
    named_values,
    printable,
    UsageError,
)
from transmission_bridge.tools.robot import add_robot_arguments, aliases_of, read_robot_file
from transmission_bridge.transmissions import MapReport, RobotTransmissions

__all__ = ['MappedValues', 'map_values']


@dataclass(frozen=True, slots=True)
class MappedValues:
    """
    The result.

    :param values: By name, NaN where it depends on something unknown.
    :param reasons: What else made a value NaN: ``transmission: reason``.
    :param n_errors: Number of error findings in the description.
    """

    values: dict[str, float]
    reasons: tuple[str, ...]
    n_errors: int


def map_values(
    data: bytes,
    *,
    to: str,
    interface: str,
    values: Sequence[str],
    at: Sequence[str] = (),
    rate: Sequence[str] = (),
    aliases: Mapping[str, str] | None = None,
) -> MappedValues:
    """
    Map values of one interface.

    :param data: The robot description.
    :param to: ``joint`` or ``actuator``.
    :param values: Texts ``name=value`` in the other space.
    :param at: Positions in that space, where a ratio depends on position.
    :param rate: Velocities in that space.
    :raises DescriptionError: If the description cannot be read at all.
    :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
    :raises UsageError: If a text is no ``name=value``, a name is not of this robot, or ``at`` or
        ``rate`` is needed and missing.
    """
    robot = load_description(data)
    transmissions = RobotTransmissions(robot, aliases=aliases)
    what = 'actuator' if to == 'joint' else 'joint'
    names = {'joint': transmissions.joint_names, 'actuator': transmissions.actuator_names}
    lost = transmissions.lost_joints if what == 'joint' else transmissions.lost_actuators

    def read(pairs: Sequence[str]) -> list[float]:
        return in_order(named_values(pairs, names[what], what, lost), names[what])

    to_other = (
        transmissions.actuator_to_joint if to == 'joint' else transmissions.joint_to_actuator
    )
    arguments = {
        'at': read(at) if at else None,
        'rate': read(rate) if rate else None,
    }
    report = MapReport()
    # A value beyond double precision becomes infinite, and is then as unknown as any other.
    with np.errstate(all='ignore'):
        try:
            mapped = to_other(interface, read(values), **arguments, report=report)
        except TransmissionError as error:
            raise UsageError(
                f'{error.message}: give positions with --at, velocities with --rate'
            ) from None
    return MappedValues(
        dict(zip(names[to], mapped.tolist(), strict=True)),
        tuple(f'{name}: {reason}' for name, reason in report.counts),
        sum(finding.severity == 'error' for finding in transmissions.findings),
    )


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
    for line in aligned([(name, repr(value)) for name, value in known.items()]):
        console.out.line(line)
    unknown = [printable(name) for name in mapped.values if name not in known]
    if unknown:
        reasons = f' ({printable("; ".join(mapped.reasons))})' if mapped.reasons else ''
        console.out.line(f'not computable from these values: {", ".join(unknown)}{reasons}')


COMMAND = Command(
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
