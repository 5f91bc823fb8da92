# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From specs to transmissions: each plugin is built alone, and its failure stays its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import traceback

from transmission_bridge.description import Finding, RobotDescription, TransmissionSpec
from transmission_bridge.errors import PluginError, TransmissionBridgeError, TransmissionError
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.mechanism_transmission import (
    LARGEST_MAX_GAIN,
    MAX_GAIN,
    MechanismTransmission,
)
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.robot.ranges import disjoint_ranges
from transmission_bridge.transmissions.robot.units import UNITS
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import ParameterPath


def build_all(
    robot: RobotDescription, registry: Registry, passive_joints: str = 'none'
) -> tuple[tuple[Binding, ...], tuple[Finding, ...]]:
    """
    Build every valid transmission.

    The findings report each failure and each unused item.
    """
    built = []
    findings: list[Finding] = []
    for spec in robot.transmissions:
        try:
            loaded = registry.load(spec.type)
            item, unused = build_transmission(loaded, spec, None, robot, passive_joints)
        except TransmissionBridgeError as error:
            findings.append(_to_finding(spec, error))
        except (Exception, SystemExit) as error:  # a bug of a plugin disables its own joints only
            message = f'{spec.type} raised {type(error).__name__}: {error}'
            failure = TransmissionError(f'{message}\n{traceback.format_exc()}')
            findings.append(_to_finding(spec, failure))
        else:
            if all(finding.severity != 'error' for finding in unused):
                doubts = [f"transmission '{spec.name}': {x}" for x in item.transmission.doubts()]
                if item.by_role and item.transmission.n_joints != item.transmission.n_actuators:
                    doubts.append(
                        f'{" and ".join(sorted(item.by_role))} cannot pass by role with different '
                        'numbers of joints and actuators, and are mapped'
                    )
                    item = replace(item, by_role=frozenset())
                built.append(item)
                findings += [Finding.about(spec, 'warning', doubt) for doubt in doubts]
            findings.extend(unused)
    disjoint = disjoint_ranges(built, robot)
    findings += [_to_finding(robot.transmission(name), error) for name, error in disjoint.items()]
    built = [item for item in built if item.spec.name not in disjoint]
    return _reject_unclear_units(built, robot, findings), tuple(findings)


def _reject_unclear_units(
    built: list[Binding], robot: RobotDescription, findings: list[Finding]
) -> tuple[Binding, ...]:
    """
    Return the transmissions with known units of every actuator.

    Several transmissions may read an actuator, but only one sets its units. If that one is
    rejected, the others would read its numbers as SI: they are rejected also.
    """
    while True:
        names = {item.spec.name for item in built}
        givers: dict[str, str] = {}
        for item in built:
            for name in item.units:
                givers.setdefault(name, item.spec.name)
        for spec in robot.transmissions:
            for member in spec.actuators:
                if any(parameter.name in UNITS for parameter in member.parameters):
                    givers.setdefault(member.name, spec.name)
        for rejected in robot.rejected:
            for name in rejected.with_units:
                givers.setdefault(name, rejected.name)
        refused = {}
        for item in built:
            for name in (member.name for member in item.spec.actuators):
                giver = givers.get(name, item.spec.name)
                if giver not in names:
                    refused[item.spec.name] = f"'{giver}' sets the units of '{name}': rejected"
                elif name in item.units and giver != item.spec.name:
                    refused[item.spec.name] = f"'{giver}' also sets the units of '{name}'"
                else:
                    continue
                expected = f"units of '{name}' in one transmission"
                what = f'transmission {refused[item.spec.name]}'
                findings.append(_to_finding(item.spec, TransmissionError(what, expected=expected)))
                break
        if not refused:
            return tuple(built)
        built = [item for item in built if item.spec.name not in refused]


def build_transmission(
    cls: type[Transmission],
    spec: TransmissionSpec,
    overrides: Mapping[ParameterPath, float] | None = None,
    robot: RobotDescription | None = None,
    passive_joints: str = 'none',
) -> tuple[Binding, tuple[Finding, ...]]:
    """
    Build one transmission and check that it has the members of its description.

    The findings list every unused item of the description, as an error if ignoring it is unsafe.
    ``overrides`` replace values of the description.

    :raises TransmissionError: If the description or a value is invalid.
    """
    reader = SpecReader(spec, overrides, robot, passive_joints)
    transmission = cls.from_spec(reader)
    reader.require_members(joints=transmission.n_joints, actuators=transmission.n_actuators)
    reader.actuator_limits()
    units = reader.actuator_units(turn=transmission.actuators_turn)
    by_role = reader.passed_by_role()
    if spec.ignore_absolute_encoder:
        by_role |= {'absolute_position'}
    if isinstance(transmission, MechanismTransmission):
        if any(tunable.path == ('max_gain',) for tunable in reader.tunables):
            raise reader.error(
                f'{spec.type} reads max_gain, which every type with a varying ratio has already',
                parameter='max_gain',
                expected='another name',
            )
        gain = reader.number(
            'max_gain',
            description='Largest velocity or effort gain, as a multiple of its median over the '
            'domain; a larger gain is singular.',
            default=MAX_GAIN,
            minimum=1.0,
            maximum=LARGEST_MAX_GAIN,
        )
        transmission = transmission.with_max_gain(gain)
    return Binding(spec, transmission, reader.tunables, units, by_role), reader.unused()


def _to_finding(spec: TransmissionSpec, error: TransmissionBridgeError) -> Finding:
    message, expected, found, at = str(error), '', '', spec
    if isinstance(error, TransmissionError):
        message, expected, found = error.message, error.expected, error.found
        at = error.at or spec
    elif isinstance(error, PluginError) and error.details:
        message = f'{message}\n{error.details}'
    message = f"transmission '{spec.name}' cannot be used: {message}"
    return Finding.about(at, 'error', message, expected, found, spec.name)
