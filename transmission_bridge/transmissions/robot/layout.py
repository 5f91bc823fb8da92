# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints and actuators of a robot, their order, and the transmissions between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from transmission_bridge.description import (
    Finding,
    JointSpec,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.known_names import find_drive_place
from transmission_bridge.transmissions.linkage.tree import list_linkage_joints
from transmission_bridge.transmissions.simple import SimpleTransmission

_IDENTITY = SimpleTransmission(1.0)


def order_members(
    robot: RobotDescription, bindings: tuple[Binding, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Binding, ...]]:
    """
    Return the names of joints and actuators in order, and the transmissions with their indices.

    Joints have the order of the URDF's ``<joint>`` elements (in a fragment without any: the order
    of the transmissions); actuators have the order of the transmissions.
    """
    driven = [member.name for item in bindings for member in item.spec.joints]
    driven += [name for item in bindings for name in item.transmission.passive_joints]
    in_urdf = [joint.name for joint in robot.joints if joint.name in driven]
    joints = tuple(dict.fromkeys([*in_urdf, *driven]))
    names = (member.name for item in bindings for member in item.spec.actuators)
    actuators = tuple(dict.fromkeys(names))
    return joints, actuators, place_members(joints, actuators, bindings)


def place_members(
    joint_names: Sequence[str], actuator_names: Sequence[str], bindings: Sequence[Binding]
) -> tuple[Binding, ...]:
    """Return the transmissions with the indices of their members among these names."""
    joints, actuators = (
        {name: index for index, name in enumerate(names)}
        for names in (joint_names, actuator_names)
    )
    owners: dict[str, str] = {}
    # Transmissions that may command own their actuators first; read-only ones own the rest.
    for item in sorted(bindings, key=lambda item: not item.spec.can_command):
        for member in item.spec.actuators:
            owners.setdefault(member.name, item.spec.name)
    return tuple(
        replace(
            item,
            joints=tuple(joints[member.name] for member in item.spec.joints),
            actuators=tuple(actuators[member.name] for member in item.spec.actuators),
            owned=tuple(owners[member.name] == item.spec.name for member in item.spec.actuators),
            passive=tuple(joints[name] for name in item.transmission.passive_joints),
        )
        for item in bindings
    )


def pass_joints(
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
    mentioned.update(*list_linkage_joints(robot, robot.transmissions))
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
    names = {spec.name for spec in robot.transmissions}
    names.update(rejected.name for rejected in robot.rejected)
    built = (_make_identity(robot.joint(name), names) for name in passed if name not in withheld)
    left = [name for name in passed if name not in withheld]
    return tuple(built), withheld, (*findings, *reasons, *_list_unread_numbers(robot, left))


def _list_unread_numbers(robot: RobotDescription, names: list[str]) -> Iterator[Finding]:
    """Yield the numbers of drives in blocks with joints that pass through 1:1."""
    for block in robot.blocks:
        passed = [x for x in block.components if x.kind == 'joint' and x.name in names]
        joints = f'the hardware of {shortened([component.name for component in passed])}'
        owners = [(f"joint '{component.name}'", component.parameters) for component in passed]
        for owner, parameters in (*owners, *([(joints, block.parameters)] if passed else ())):
            for parameter in parameters:
                if expected := find_drive_place(parameter.name, parameter.value):
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


def _make_identity(joint: JointSpec, names: Collection[str]) -> Binding:
    """Return the transmission of a joint that passes through, with a unique name."""
    name = joint.name
    while name in names:
        name += "'"
    end = (TransmissionEnd(joint.name, line=joint.line, path=joint.path),)
    spec = TransmissionSpec(name, '', 'ros2_control', end, end, line=joint.line, path=joint.path)
    return Binding(spec, _IDENTITY)


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
