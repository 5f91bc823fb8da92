# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names to places: the order of a robot's joints and actuators, and who connects them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from transmission_bridge.description.specs import (
    Finding,
    JointSpec,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.transmissions.linkage.tree import linkage_joints
from transmission_bridge.transmissions.simple import SimpleTransmission
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.transmissions.units import ActuatorUnits

_IDENTITY = SimpleTransmission(1.0)


@dataclass(frozen=True, slots=True)
class Built:
    """
    A transmission made from its description.

    :param tunables: Its live parameters.
    :param units: Units of the drivers of those actuators for which it gives any, by name.
    :param by_role: Interfaces that pass from actuator to joint by role.
    """

    spec: TransmissionSpec
    transmission: Transmission
    tunables: tuple[Tunable, ...] = ()
    units: Mapping[str, ActuatorUnits] = field(default_factory=dict)
    by_role: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Binding:
    """
    A transmission and the places of its members in the robot's arrays, both in role order.

    :param owned: Per actuator, whether commands to it come from this transmission. Several
        transmissions may read an actuator, one gives its value on the way back.
    :param passive: Joints that it moves and that nobody commands.
    """

    spec: TransmissionSpec
    transmission: Transmission
    joints: tuple[int, ...]
    actuators: tuple[int, ...]
    owned: tuple[bool, ...]
    passive: tuple[int, ...] = ()

    @property
    def moved(self) -> tuple[int, ...]:
        """All joints that it moves: those in role order, then the passive ones."""
        return (*self.joints, *self.passive)


class RobotLayout(NamedTuple):
    """
    The order of a robot's joints and actuators.

    :param bindings: The transmissions of the description, then the identities of joints without
        one, which pass through to an actuator of their name.
    :param withheld: Joints without a transmission that do not pass through, because a refused one
        may be meant for them, with its name.
    """

    joint_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    bindings: tuple[Binding, ...]
    withheld: dict[str, str]
    findings: tuple[Finding, ...]


def lay_out(
    robot: RobotDescription, built: tuple[Built, ...], *, pass_through: bool
) -> RobotLayout:
    """
    Give every joint and actuator its place.

    Joints stand in the order of the URDF's ``<joint>`` elements (in a fragment without any: in the
    order of the transmissions), actuators in the order of the transmissions, then those of
    pass-through joints. A joint whose transmission was refused is left out: passing it through
    would invent a ratio. So is one that a refused transmission may have meant (one of its block,
    or of ROS 1), and every joint where xacro would have made the transmissions.

    :param robot: The description.
    :param built: The transmissions that could be built.
    :param pass_through: Whether scalar joints without a transmission (and without ``<mimic>``)
        get an actuator of their own name.
    """
    mentioned = {member.name for spec in robot.transmissions for member in spec.joints}
    mentioned.update(name for rejected in robot.rejected for name in rejected.joints)
    # The joints of a linkage move with its motors, whether it can be used or not.
    mentioned.update(*(linkage_joints(robot, spec) for spec in robot.transmissions))
    taken = {member.name for spec in robot.transmissions for member in spec.actuators}
    taken.update(name for rejected in robot.rejected for name in rejected.actuators)
    findings = []
    passed = []
    for joint in robot.joints if pass_through and not robot.is_unexpanded else ():
        if joint.name in mentioned or not joint.is_scalar or joint.mimic is not None:
            continue
        if joint.name in taken:
            findings.append(
                Finding(
                    'warning',
                    f"joint '{joint.name}' has no transmission and cannot be passed through, "
                    'because an actuator of a transmission has its name',
                    line=joint.line,
                    path=joint.path,
                    subject=joint.name,
                )
            )
            continue
        passed.append(joint.name)
    withheld, reasons = _withheld(robot, passed)
    findings += reasons
    names = {spec.name for spec in robot.transmissions}
    names.update(rejected.name for rejected in robot.rejected)
    built += tuple(_identity(robot.joint(name), names) for name in passed if name not in withheld)
    driven = [member.name for item in built for member in item.spec.joints]
    driven += [name for item in built for name in item.transmission.passive_joints]
    in_urdf = [joint.name for joint in robot.joints if joint.name in driven]
    joints = dict.fromkeys([*in_urdf, *driven])
    actuators = dict.fromkeys(member.name for item in built for member in item.spec.actuators)
    joint_index = {name: place for place, name in enumerate(joints)}
    actuator_index = {name: place for place, name in enumerate(actuators)}
    return RobotLayout(
        joint_names=tuple(joints),
        actuator_names=tuple(actuators),
        bindings=_bind(built, joint_index, actuator_index),
        withheld=withheld,
        findings=tuple(findings),
    )


def _identity(joint: JointSpec, names: Collection[str]) -> Built:
    """Return the transmission of a joint that passes through, of a name that no other has."""
    name = joint.name
    while name in names:
        name += "'"
    end = (TransmissionEnd(joint.name, line=joint.line, path=joint.path),)
    spec = TransmissionSpec(name, '', 'ros2_control', end, end, line=joint.line, path=joint.path)
    return Built(spec, _IDENTITY)


def _withheld(robot: RobotDescription, passed: list[str]) -> tuple[dict[str, str], list[Finding]]:
    """Return what is withheld, and a finding for each transmission that is the reason."""
    withheld: dict[str, str] = {}
    findings = []
    for rejected in robot.rejected:
        if not rejected.unknown_joints:
            continue
        place, candidates = 'the URDF', set(passed)
        if rejected.dialect == 'ros2_control':
            place = f"<ros2_control> '{rejected.block}'"
            candidates = {
                component.name
                for block in robot.blocks
                if block.name == rejected.block
                for component in block.components
                if component.kind == 'joint'
            }
        names = [name for name in passed if name in candidates and name not in withheld]
        if not names:
            continue
        withheld.update(dict.fromkeys(names, rejected.name))
        many = len(names) > 1
        findings.append(
            Finding(
                'error',
                f'joint{"s" * many} {", ".join(map(repr, names))} {"are" if many else "is"} not '
                f"passed through, because transmission '{rejected.name}' may be meant for "
                f'{"any of them" if many else "it"}',
                line=rejected.line,
                path=rejected.path,
                expected=f'joints of {place} in the transmission',
                found=', '.join(repr(name) for name in rejected.unknown_joints if name) or 'none',
                subject=rejected.name,
                fatal_if_strict=True,
            )
        )
    return withheld, findings


def _bind(
    built: tuple[Built, ...], joint_index: dict[str, int], actuator_index: dict[str, int]
) -> tuple[Binding, ...]:
    owners: dict[str, str] = {}
    # A transmission that may command comes first; one that only reads owns what is left.
    for item in sorted(built, key=lambda item: not item.spec.can_command):
        for member in item.spec.actuators:
            owners.setdefault(member.name, item.spec.name)
    return tuple(
        Binding(
            spec=item.spec,
            transmission=item.transmission,
            joints=tuple(joint_index[member.name] for member in item.spec.joints),
            actuators=tuple(actuator_index[member.name] for member in item.spec.actuators),
            owned=tuple(owners[member.name] == item.spec.name for member in item.spec.actuators),
            passive=tuple(joint_index[name] for name in item.transmission.passive_joints),
        )
        for item in built
    )
