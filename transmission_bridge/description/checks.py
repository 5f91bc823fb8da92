# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions and ``<ros2_control>`` blocks compared with each other and with the URDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import (
    ComponentSpec,
    JointSpec,
    RejectedTransmission,
    Ros2ControlSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import Draft
from transmission_bridge.description.urdf import loops, RobotJoints

# -- Joints of `<ros2_control>` blocks compared with the joints of the URDF ----------------------
#
# ros2_control refuses the document for each of these. Here only a mimic that cannot be followed is
# an error; the others are warnings, and errors in strict mode.


def check_block_joints(
    blocks: Sequence[Ros2ControlSpec], joints: RobotJoints, findings: Findings
) -> None:
    """Report joints that the URDF does not have or cannot move, and contradictory mimic joints."""
    for block in blocks:
        declared = {each.name for each in block.components if each.kind == 'joint'}
        for component in block.components:
            if component.kind != 'joint':
                continue
            joint = joints.get(component.name)
            if joint is None:
                findings.ignored(
                    component,
                    joints.complaint(component.name),
                    expected='a joint of the URDF',
                    found=f"'{component.name}'",
                )
            elif joint.type == 'fixed':
                findings.ignored(
                    component,
                    f"joint '{component.name}' cannot be controlled",
                    expected='a joint that moves',
                    found='a fixed joint',
                )
            else:
                _check_mimic(component, joint, declared, findings)


def _check_mimic(
    component: ComponentSpec,
    joint: JointSpec,
    declared: set[str],
    findings: Findings,
) -> None:
    name = component.name
    if joint.mimic is None:
        if component.mimic:
            findings.error(
                component,
                f"joint '{name}' mimics nothing",
                expected='<mimic> in the URDF joint',
                found='mimic="true" only',
            )
        return
    if component.mimic is False:
        return
    if component.command_interfaces:
        findings.ignored(
            component,
            f"joint '{name}' follows another joint and cannot be commanded",
            expected='mimic="false", or no command interfaces',
            found='command interfaces',
        )
    if joint.mimic.joint not in declared:
        findings.ignored(
            component,
            f"joint '{name}' mimics a joint of another block",
            expected='a joint of this block',
            found=f"'{joint.mimic.joint}'",
        )


def check_mimic_joints(joints: RobotJoints, findings: Findings) -> None:
    """Report URDF joints that mimic an unknown joint, or themselves: once per loop."""
    by_name = {joint.name: joint for joint in joints.usable}
    followed = {joint.name: joint.mimic.joint for joint in joints.usable if joint.mimic}
    for _, loop in loops(followed, followed):
        names = [*loop, loop[0]]
        findings.error(
            by_name[loop[0]],
            f"joint '{loop[0]}' mimics itself",
            expected='another joint, which does not follow this one',
            found=' after '.join(
                f"'{name}'" for name in (names if len(names) <= 6 else [*names[:5], '…'])
            ),
        )
    for joint in joints.usable:
        if joint.mimic is not None and joints.get(joint.mimic.joint) is None:
            findings.error(
                joint,
                f"joint '{joint.name}' cannot follow: {joints.complaint(joint.mimic.joint)}",
                expected='a joint of the URDF',
                found=f"'{joint.mimic.joint}'",
            )


# -- Transmissions compared with each other and with the joints of the robot ---------------------
#
# Each name is used once, each joint is driven once, and each actuator is commanded through one
# transmission only. Of two in conflict the later one is refused.


def accepted_transmissions(
    drafts: Sequence[Draft], joints: RobotJoints | None, findings: Findings
) -> tuple[tuple[TransmissionSpec, ...], tuple[RejectedTransmission, ...]]:
    """
    Return the transmissions that can be used together, and the others.

    :param drafts: In order of precedence.
    :param joints: The robot's joints, ``None`` where the document describes none, so that names
        cannot be checked.
    """
    taken: dict[tuple[str, str], TransmissionSpec] = {}
    accepted: list[TransmissionSpec] = []
    rejected: list[RejectedTransmission] = []
    for draft in drafts:
        errors = findings.errors
        claims = [] if draft.refused else list(_claims(draft.spec))
        if joints is not None and not draft.refused:
            _check_joints(draft.spec, joints, findings)
        for claim in claims:
            if (other := taken.get(claim.key)) is not None:
                findings.error(
                    claim.place,
                    f"{claim.what} by transmission '{other.name}' on line {other.line}",
                    expected=claim.expected,
                    found=f"'{claim.key[1]}'",
                )
        if draft.refused or findings.errors > errors:
            names = () if joints is None else draft.joints or ('',)
            unknown = [name for name in names if joints is not None and name not in joints]
            rejected.append(draft.rejected(unknown))
        else:
            taken.update((claim.key, draft.spec) for claim in claims)
            accepted.append(draft.spec)
    return tuple(accepted), tuple(rejected)


def _check_joints(spec: TransmissionSpec, joints: RobotJoints, findings: Findings) -> None:
    for member in spec.joints:
        joint = joints.get(member.name)
        if joint is None:
            findings.error(
                member,
                joints.complaint(member.name),
                expected='a joint of the URDF',
                found=f"'{member.name}'",
            )
        elif not joint.is_scalar:
            findings.error(
                member,
                f"joint '{member.name}' cannot be moved by a transmission",
                expected='a revolute, continuous or prismatic joint',
                found=f'a {joint.type} joint',
            )


class _Claim(NamedTuple):
    """What one transmission can have only; ``key`` is the kind and the name."""

    key: tuple[str, str]
    place: TransmissionSpec | TransmissionEnd
    what: str
    expected: str


def _claims(spec: TransmissionSpec) -> Iterator[_Claim]:
    what = 'the name of the transmission is taken'
    yield _Claim(('name', spec.name), spec, what, 'another name')
    for joint in spec.joints:
        what, expected = 'the joint is already driven', 'a joint that no other transmission drives'
        yield _Claim(('joint', joint.name), joint, what, expected)
    for actuator in spec.actuators if spec.can_command else ():
        if not actuator.read_only:
            what = 'the actuator is already commanded'
            expected = 'an actuator that no other transmission commands'
            yield _Claim(('actuator', actuator.name), actuator, what, expected)
