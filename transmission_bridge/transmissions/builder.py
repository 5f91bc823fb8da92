# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From a description to the rows of a robot.

Each plugin is built alone, and its failure stays its own. A joint without a transmission gets an
identity. ``RobotTransmissions`` calls it for a whole robot; tuning and calibration rebuild single
transmissions. A finding of level ``error`` keeps a transmission from use; its sentence is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
import traceback

from transmission_bridge.description import (
    Finding,
    MemberSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import (
    PluginError,
    shortened,
    TransmissionBridgeError,
    TransmissionError,
)
from transmission_bridge.transmissions.known_names import find_drive_parameter
from transmission_bridge.transmissions.linear import SimpleTransmission
from transmission_bridge.transmissions.linkage.tree import list_linkage_joints
from transmission_bridge.transmissions.mechanism_transmission import (
    LARGEST_MAX_GAIN,
    MAX_GAIN,
    MechanismTransmission,
)
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.robot.ranges import find_disjoint_ranges
from transmission_bridge.transmissions.robot.table import Binding
from transmission_bridge.transmissions.robot.units import UNITS
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import ParameterPath


def build_all(
    robot: RobotDescription, registry: Registry, passive_joints: str = 'none'
) -> tuple[tuple[Binding, ...], tuple[Finding, ...]]:
    """
    Build every valid transmission, in the order of the description.

    The findings report each failure and each unused item. The rows have no indices of members yet;
    :func:`~.robot.table.order_members` adds them.
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
    disjoint = find_disjoint_ranges(built, robot)
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
    # The first transmission that sets the units of an actuator; a built one precedes all others.
    described = {name: x.name for x in reversed(robot.rejected) for name in x.with_units}
    described |= {
        member.name: spec.name
        for spec in reversed(robot.transmissions)
        for member in spec.actuators
        if any(parameter.name in UNITS for parameter in member.parameters)
    }
    while True:
        names = {item.spec.name for item in built}
        givers = described | {name: x.spec.name for x in reversed(built) for name in x.units}
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
    ``overrides`` replace values of the description. The requests of the host come after those of
    the plugin, because they take what the plugin did not read; the unused items come last.

    :raises TransmissionError: If the description or a value is invalid.
    """
    reader = SpecReader(spec, overrides, robot, passive_joints)
    transmission = cls.from_spec(reader)
    reader.require_members(joints=transmission.n_joints, actuators=transmission.n_actuators)
    reader.actuator_limits()
    units = reader.actuator_units(turn=transmission.actuators_turn)
    by_role = reader.passed_by_role()
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


# -- joints without a transmission ----------------------------------------------------------------

#: All identities share it; it is immutable.
_IDENTITY = SimpleTransmission(1.0)


def make_identity_transmissions(
    robot: RobotDescription,
) -> tuple[tuple[Binding, ...], dict[str, str], tuple[Finding, ...]]:
    """
    Return an identity for each scalar joint without a transmission (and without ``<mimic>``).

    It leads to an actuator with the joint's own name. A joint with a rejected transmission is left
    out: an identity would invent a ratio. Joints that a rejected transmission may refer to are
    withheld also (joints of its block, or of ROS 1), as are all joints of an unexpanded xacro
    file.

    :returns: The identities; the withheld joints with the name of the rejected transmission;
        findings.
    """
    mentioned = {member.name for spec in robot.transmissions for member in spec.joints}
    mentioned.update(name for rejected in robot.rejected for name in rejected.joints)
    # The joints of a linkage move with its motors, even if the linkage is rejected.
    mentioned.update(*(list_linkage_joints(robot, spec) for spec in robot.transmissions))
    taken = {member.name for spec in robot.transmissions for member in spec.actuators}
    taken.update(name for rejected in robot.rejected for name in rejected.actuators)
    findings = []
    passed = []
    for joint in robot.joints if not robot.is_unexpanded else ():
        if joint.name in mentioned or not joint.is_scalar or joint.mimic is not None:
            continue
        if joint.name not in taken:
            passed.append(joint.name)
        else:
            text = f"joint '{joint.name}' has no transmission and cannot be passed through, "
            text += 'because an actuator of a transmission has its name'
            findings.append(Finding.about(joint, 'warning', text))
    withheld, reasons = _list_withheld(robot, passed)
    passed = [name for name in passed if name not in withheld]
    names = {spec.name for spec in robot.transmissions}
    names.update(rejected.name for rejected in robot.rejected)
    built = []
    for joint in map(robot.joint, passed):
        unique = joint.name
        while unique in names:
            unique += "'"
        line, path = joint.line, joint.path
        end = (MemberSpec(joint.name, line=line, path=path),)
        spec = TransmissionSpec(unique, '', 'ros2_control', end, end, line=line, path=path)
        built.append(Binding(spec, _IDENTITY))
    return tuple(built), withheld, (*findings, *reasons, *_list_unread_numbers(robot, passed))


def _list_unread_numbers(robot: RobotDescription, names: list[str]) -> Iterator[Finding]:
    """Yield the numbers of drives in blocks with joints that pass through 1:1."""
    for block in robot.blocks:
        passed = [x for x in block.components if x.kind == 'joint' and x.name in names]
        joints = f'the hardware of {shortened([component.name for component in passed])}'
        owners = [(f"joint '{component.name}'", component.parameters) for component in passed]
        for owner, parameters in (*owners, *([(joints, block.parameters)] if passed else ())):
            for parameter in parameters:
                if expected := find_drive_parameter(parameter.name, parameter.value):
                    yield Finding(
                        'warning',
                        f'unread <param name="{parameter.name}"> of {owner}, which passes '
                        'through 1:1',
                        parameter.line,
                        parameter.path,
                        expected,
                        repr(parameter.value),
                        block.name,
                        fatal_if_strict=True,
                    )


def _list_withheld(
    robot: RobotDescription, passed: list[str]
) -> tuple[dict[str, str], list[Finding]]:
    """Return the withheld joints, and a finding for each transmission that causes it."""
    withheld: dict[str, str] = {}
    findings = []
    for rejected in robot.rejected:
        if not rejected.unknown_joints:
            continue
        owner, candidates = 'the URDF', set(passed)
        if rejected.dialect == 'ros2_control':
            owner = f"<ros2_control> '{rejected.block}'"
            blocks = [block for block in robot.blocks if block.name == rejected.block]
            parts = (part for block in blocks for part in block.components)
            candidates = {part.name for part in parts if part.kind == 'joint'}
        names = [name for name in passed if name in candidates and name not in withheld]
        if not names:
            continue
        withheld.update(dict.fromkeys(names, rejected.name))
        many = len(names) > 1
        findings.append(
            Finding(
                'error',
                f'joint{"s" * many} {", ".join(map(repr, names))} {"are" if many else "is"} not '
                f"passed through, because transmission '{rejected.name}' may refer to "
                f'{"any of them" if many else "it"}',
                line=rejected.line,
                path=rejected.path,
                expected=f'joints of {owner} in the transmission',
                found=', '.join(repr(name) for name in rejected.unknown_joints if name) or 'none',
                subject=rejected.name,
                fatal_if_strict=True,
            )
        )
    return withheld, findings
