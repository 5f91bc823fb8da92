# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge map``: joint values from actuator values, or the reverse.

Values of actuators are in the units of their drivers, as on the topics of the bridge. Programs of
users read the JSON, exact numbers by name, and the exit code; sentences and the table are free. No
other command uses this module.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import math

import numpy as np

from transmission_bridge.bridge import compute_motor_bounds, DriverUnits
from transmission_bridge.errors import TransmissionError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, find_quantity, JOINT_TO_ACTUATOR
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    parse_values,
    printable,
    ToolResult,
    UsageError,
)
from transmission_bridge.tools.robot import note_errors, robot_of_command
from transmission_bridge.tools.units import (
    list_report_units,
    report_actuator_unit,
    report_joint_unit,
    UNKNOWN_UNIT,
)
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.robot import interface_row
from transmission_bridge.types import Array


def run(options: argparse.Namespace, console: Console) -> ToolResult:
    """Run the command; notes and values beyond limits go to standard error."""
    robot = robot_of_command(options, console)
    names = robot.joint_names if options.to == 'joint' else robot.actuator_names
    units = DriverUnits(robot)
    mapped, reasons = _map_values(robot, options, units)
    row = interface_row(options.interface)
    unit_of = {name: _find_unit(robot, name, options.interface, options.to) for name in names}
    for note in note_errors(robot, options.file):
        console.err.line(printable(note))
    if options.to == 'actuator':
        mapped = units.of_drivers(mapped, row)
    if options.to == 'actuator' and options.interface != 'acceleration':
        bounds = units.of_drivers(compute_motor_bounds(robot)[:, row], row)
        limited = zip(names, mapped.tolist(), *bounds.tolist(), strict=True)
        for name, value, lower, upper in limited:
            if math.isfinite(value) and (value < lower or value > upper):
                console.err.line(
                    f'{printable(name)}: {value:g} is beyond its limits {lower:g} to {upper:g} '
                    f'{unit_of[name]}; the bridge does not send it'
                )
    pairs = zip(names, mapped.tolist(), strict=True)
    computed = {name: value for name, value in pairs if math.isfinite(value)}
    # A driver sends and accepts whole ticks; the JSON has the exact number.
    shown = [f'{x:.0f}' if unit_of[name] == 'tick' else repr(x) for name, x in computed.items()]
    lines = align_rows([*zip(computed, shown, (unit_of[name] for name in computed), strict=True)])
    if unknown := [printable(name) for name in names if name not in computed]:
        because = f' ({printable(reasons)})' if reasons else ''
        # The missing inputs of the transmissions that have some of their inputs.
        given, partners = {pair.rpartition('=')[0] for pair in options.values}, dict[str, None]()
        for binding in robot.bindings:
            members = binding.spec.actuators if options.to == 'joint' else binding.spec.joints
            inputs = [member.name for member in members]
            if not given.isdisjoint(inputs):
                partners |= dict.fromkeys(name for name in inputs if name not in given)
        because += f'; also give {printable(", ".join(partners))}' if partners else ''
        lines.append(f'not computable from these values: {", ".join(unknown)}{because}')
    return ToolResult(lines, computed, Exit.OK if computed else Exit.ERRORS)


def _map_values(
    robot: RobotTransmissions, options: argparse.Namespace, units: DriverUnits
) -> tuple[Array, str]:
    """
    Map values of one interface.

    :returns: The values in SI, NaN if they depend on an unknown value, and other causes of NaN.
    :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
    :raises UsageError: If a text is not ``name=value``, a name is not of this robot, or ``--at``
        or ``--rate`` is needed and missing.
    """
    if options.to == 'joint':
        direction, mapping = ACTUATOR_TO_JOINT, robot.actuator_to_joint
        side, names, lost = 'actuator', robot.actuator_names, robot.lost_actuators
    else:
        direction, mapping = JOINT_TO_ACTUATOR, robot.joint_to_actuator
        side, names, lost = 'joint', robot.joint_names, robot.lost_joints
    find_quantity(options.interface, direction)

    def read(pairs: Sequence[str], row: int) -> Array:
        values = parse_values(pairs, names, side, lost)
        given = np.array([values.get(name, math.nan) for name in names])
        return units.in_si(given, row) if side == 'actuator' else given

    at = read(options.at, 0) if options.at else None
    rate = read(options.rate, 1) if options.rate else None
    report, values = MapReport(), read(options.values, interface_row(options.interface))
    # An overflow becomes infinite, and is treated as unknown.
    with np.errstate(all='ignore'):
        try:
            mapped = mapping(options.interface, values, at=at, rate=rate, report=report)
        except TransmissionError as error:
            raise UsageError(
                f'{error.message}: give positions with --at, velocities with --rate'
            ) from None
    return mapped, '; '.join(f'{name}: {reason}' for name, reason in report.counts)


def _find_unit(robot: RobotTransmissions, name: str, interface: str, side: str) -> str:
    """Return the unit in which the bridge maps an interface of a joint or an actuator."""
    row, per_second = interface_row(interface), '/s' * (interface == 'acceleration')
    if side == 'joint':
        return list_report_units(report_joint_unit(robot.description, name))[row] + per_second
    units = robot.units.get(name)
    if units is not None and units.all_units[row].text:
        return units.all_units[row].text + per_second
    positions = {
        report_actuator_unit(robot.description, binding)
        for binding in robot.bindings
        if name in (member.name for member in binding.spec.actuators)
    }
    if units is not None and units.slides is not None:
        positions = {'m' if units.slides else 'rad'}
    return (
        list_report_units(positions.pop() if len(positions) == 1 else UNKNOWN_UNIT)[row]
        + per_second
    )
