# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map``: joint values from actuator values, or the reverse."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.limits import ActuatorLimits
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.cli import (
    aligned,
    Console,
    Exit,
    named_values,
    printable,
    Result,
    UsageError,
)
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.tools.units import interface_units
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    JOINT_TO_ACTUATOR,
    quantity_of,
)
from transmission_bridge.transmissions.units import row_of
from transmission_bridge.types import Array

__all__ = ['MappedValues', 'map_values', 'run']


@dataclass(frozen=True, slots=True)
class MappedValues:
    """
    The result.

    :param values: By name, NaN where it depends on an unknown value.
    :param units: Their units.
    :param reasons: Other causes of NaN: ``transmission: reason``.
    :param n_errors: Number of error findings in the description.
    :param beyond: Actuators whose value is beyond a limit of theirs, with the limits.
    """

    values: dict[str, float]
    units: dict[str, str]
    reasons: tuple[str, ...]
    n_errors: int
    beyond: dict[str, tuple[float, float]]


def map_values(
    transmissions: RobotTransmissions,
    *,
    to: str,
    interface: str,
    values: Sequence[str],
    at: Sequence[str] = (),
    rate: Sequence[str] = (),
) -> MappedValues:
    """
    Map values of one interface.

    :param transmissions: The maps of the robot.
    :param to: ``joint`` or ``actuator``.
    :param values: Texts ``name=value`` in the other space; actuators have the units of their
        drivers.
    :param at: Positions in that space, where a ratio depends on position.
    :param rate: Velocities in that space.
    :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
    :raises UsageError: If a text is not ``name=value``, a name is not of this robot, or ``at`` or
        ``rate`` is needed and missing.
    """
    what = 'actuator' if to == 'joint' else 'joint'
    names = {'joint': transmissions.joint_names, 'actuator': transmissions.actuator_names}
    lost = transmissions.lost_joints if what == 'joint' else transmissions.lost_actuators

    quantity_of(interface, ACTUATOR_TO_JOINT if to == 'joint' else JOINT_TO_ACTUATOR)
    units, row = DriverUnits(transmissions), row_of(interface)

    def read(pairs: Sequence[str], row: int) -> Array:
        found = named_values(pairs, names[what], what, lost)
        given = np.array([found.get(name, math.nan) for name in names[what]])
        return units.in_si(given, row) if what == 'actuator' else given

    to_other = (
        transmissions.actuator_to_joint if to == 'joint' else transmissions.joint_to_actuator
    )
    arguments = {'at': read(at, 0) if at else None, 'rate': read(rate, 1) if rate else None}
    report = MapReport()
    # An overflow becomes infinite, and is treated as unknown.
    with np.errstate(all='ignore'):
        try:
            mapped = to_other(interface, read(values, row), **arguments, report=report)
        except TransmissionError as error:
            raise UsageError(
                f'{error.message}: give positions with --at, velocities with --rate'
            ) from None
    beyond = {}
    if to == 'actuator':
        beyond = _beyond(transmissions, units, interface, mapped)
        mapped = units.of_drivers(mapped, row)
    return MappedValues(
        dict(zip(names[to], mapped.tolist(), strict=True)),
        dict(
            zip(names[to], interface_units(transmissions, names[to], interface, to), strict=True)
        ),
        tuple(f'{name}: {reason}' for name, reason in report.counts),
        sum(finding.severity == 'error' for finding in transmissions.findings),
        beyond,
    )


def _beyond(
    robot: RobotTransmissions, units: DriverUnits, interface: str, mapped: Array
) -> dict[str, tuple[float, float]]:
    if interface == 'acceleration':
        return {}
    row = row_of(interface)
    lower, upper = ActuatorLimits(robot, BridgeOptions()).bounds[:, row]
    places = np.flatnonzero((mapped < lower) | (mapped > upper))
    lower, upper = (units.of_drivers(each, row) for each in (lower, upper))
    return {robot.actuator_names[at]: (float(lower[at]), float(upper[at])) for at in places}


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    mapped = map_values(
        robot_of_command(options, console),
        to=options.to,
        interface=options.interface,
        values=options.values,
        at=options.at,
        rate=options.rate,
    )
    known = {name: value for name, value in mapped.values.items() if math.isfinite(value)}
    if mapped.n_errors:
        console.err.line(
            f'{printable(options.file)} has errors ({mapped.n_errors}), joints are missing: see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    for name, (lower, upper) in mapped.beyond.items():
        console.err.line(
            f'{printable(name)}: {known[name]:g} is beyond its limits {lower:g} to {upper:g} '
            f'{mapped.units[name]}; the bridge does not send it'
        )
    return Result(_lines(mapped, known), known, Exit.OK if known else Exit.ERRORS)


def _lines(mapped: MappedValues, known: dict[str, float]) -> Iterator[str]:
    rows = [(name, repr(value), mapped.units[name]) for name, value in known.items()]
    yield from aligned(rows)
    if unknown := [printable(name) for name in mapped.values if name not in known]:
        reasons = f' ({printable("; ".join(mapped.reasons))})' if mapped.reasons else ''
        yield f'not computable from these values: {", ".join(unknown)}{reasons}'
