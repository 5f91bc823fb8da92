# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions and ``<ros2_control>`` blocks compared with each other and with the URDF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import (
    ComponentSpec,
    JointSpec,
    RejectedTransmission,
    Ros2ControlSpec,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import Draft
from transmission_bridge.description.urdf import RobotJoints
from transmission_bridge.description.xml import Element

__all__ = ['accepted_transmissions', 'check_block_joints', 'check_mimic_joints']


# -- Joints of `<ros2_control>` blocks compared with the joints of the URDF ----------------------
#
# ros2_control refuses the document for each of these. Here only a mimic that cannot be followed is
# an error; the others are warnings, and errors in strict mode.


def check_block_joints(
    elements: Sequence[Element],
    blocks: Sequence[Ros2ControlSpec],
    joints: RobotJoints,
    findings: Findings,
) -> None:
    """
    Report joints that the URDF does not have or cannot move, and contradictory mimic joints.

    :param elements: The ``<ros2_control>`` elements of the blocks.
    """
    for element, block in zip(elements, blocks, strict=True):
        places = {child.path: child for child in element.all('joint')}
        declared = {each.name for each in block.components if each.kind == 'joint'}
        for component in block.components:
            if component.kind != 'joint':
                continue
            place = places[component.path]
            joint = joints.get(component.name)
            if joint is None:
                findings.ignored(
                    place,
                    joints.complaint(component.name),
                    expected='a joint of the URDF',
                    found=f"'{component.name}'",
                    subject=component.name,
                )
            elif joint.type == 'fixed':
                findings.ignored(
                    place,
                    f"joint '{component.name}' cannot be controlled",
                    expected='a joint that moves',
                    found='a fixed joint',
                    subject=component.name,
                )
            else:
                _check_mimic(place, component, joint, declared, findings)


def _check_mimic(
    place: Element,
    component: ComponentSpec,
    joint: JointSpec,
    declared: set[str],
    findings: Findings,
) -> None:
    name = component.name
    if joint.mimic is None:
        if component.mimic:
            findings.error(
                place,
                f"joint '{name}' mimics nothing",
                expected='<mimic> in the URDF joint',
                found='mimic="true" only',
                subject=name,
            )
        return
    if component.mimic is False:
        return
    if component.command_interfaces:
        findings.ignored(
            place,
            f"joint '{name}' follows another joint and cannot be commanded",
            expected='mimic="false", or no command interfaces',
            found='command interfaces',
            subject=name,
        )
    if joint.mimic.joint not in declared:
        findings.ignored(
            place,
            f"joint '{name}' mimics a joint of another block",
            expected='a joint of this block',
            found=f"'{joint.mimic.joint}'",
            subject=name,
        )


def check_mimic_joints(joints: RobotJoints, findings: Findings) -> None:
    """Report URDF joints that mimic an unknown joint, or themselves: once per loop."""
    done: set[str] = set()
    for joint in joints.usable:
        way: dict[str, None] = {}
        at: JointSpec | None = joint
        while at is not None and at.name not in done and at.name not in way:
            way[at.name] = None
            at = joints.get(at.mimic.joint) if at.mimic is not None else None
        if at is not None and at.name in way:
            findings.error(
                joints.element(at),
                f"joint '{at.name}' mimics itself",
                expected='another joint, which does not follow this one',
                found=' after '.join(f"'{name}'" for name in _loop(way, at.name)),
                subject=at.name,
            )
        done.update(way)
        if joint.mimic is not None and joints.get(joint.mimic.joint) is None:
            findings.error(
                joints.element(joint),
                f"joint '{joint.name}' cannot follow: {joints.complaint(joint.mimic.joint)}",
                expected='a joint of the URDF',
                found=f"'{joint.mimic.joint}'",
                subject=joint.name,
            )


def _loop(way: Iterable[str], entry: str) -> list[str]:
    """Return the loop in a chain of joints, shortened."""
    names = list(way)
    loop = [*names[names.index(entry) :], entry]
    return loop if len(loop) <= 6 else [*loop[:5], '…']


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
    taken = _Taken()
    accepted: list[TransmissionSpec] = []
    rejected: list[RejectedTransmission] = []
    for draft in drafts:
        errors = findings.errors
        if draft.spec is not None:
            _check_joints(draft.element, draft.spec, joints, findings)
            taken.check(draft.element, draft.spec, findings)
        if draft.spec is None or findings.errors > errors:
            rejected.append(_with_unknown_joints(draft.summary, joints))
        else:
            taken.add(draft.spec)
            accepted.append(draft.spec)
    return tuple(accepted), tuple(rejected)


def _with_unknown_joints(
    summary: RejectedTransmission, joints: RobotJoints | None
) -> RejectedTransmission:
    if joints is None:
        return summary
    unknown = [name for name in summary.joints or ('',) if name not in joints]
    return replace(
        summary, unknown_joints=tuple(dict.fromkeys([*summary.unknown_joints, *unknown]))
    )


def _check_joints(
    element: Element, spec: TransmissionSpec, joints: RobotJoints | None, findings: Findings
) -> None:
    if joints is None:
        return
    elements = {member.path: member for member in element.all('joint')}
    for member in spec.joints:
        joint = joints.get(member.name)
        if joint is None:
            findings.error(
                elements[member.path],
                joints.complaint(member.name),
                expected='a joint of the URDF',
                found=f"'{member.name}'",
                subject=spec.name,
            )
        elif not joint.is_scalar:
            findings.error(
                elements[member.path],
                f"joint '{member.name}' cannot be moved by a transmission",
                expected='a revolute, continuous or prismatic joint',
                found=f'a {joint.type} joint',
                subject=spec.name,
            )


class _Taken:
    """Names, joints and actuators of the transmissions accepted so far."""

    def __init__(self) -> None:
        self._names: dict[str, TransmissionSpec] = {}
        self._joints: dict[str, TransmissionSpec] = {}
        self._commanded: dict[str, TransmissionSpec] = {}

    def check(self, element: Element, spec: TransmissionSpec, findings: Findings) -> None:
        """Report conflicts of a transmission with earlier ones."""
        if (other := self._names.get(spec.name)) is not None:
            findings.error(
                element,
                f'the name of the transmission is taken{_by(other)}',
                expected='another name',
                found=f"'{spec.name}'",
                subject=spec.name,
            )
        places = {member.path: member for member in element.children}
        for joint in spec.joints:
            if (other := self._joints.get(joint.name)) is not None:
                findings.error(
                    places[joint.path],
                    f'the joint is already driven{_by(other)}',
                    expected='a joint that no other transmission drives',
                    found=f"'{joint.name}'",
                    subject=spec.name,
                )
        for name, path in _commanded(spec):
            if (other := self._commanded.get(name)) is not None:
                findings.error(
                    places.get(path, element),
                    f'the actuator is already commanded{_by(other)}',
                    expected='an actuator that no other transmission commands',
                    found=f"'{name}'",
                    subject=spec.name,
                )

    def add(self, spec: TransmissionSpec) -> None:
        self._names[spec.name] = spec
        self._joints.update((joint.name, spec) for joint in spec.joints)
        self._commanded.update((name, spec) for name, _ in _commanded(spec))


def _by(other: TransmissionSpec) -> str:
    place = f' on line {other.line}' if other.line is not None else ''
    return f" by transmission '{other.name}'{place}"


def _commanded(spec: TransmissionSpec) -> list[tuple[str, str]]:
    """Return name and path of each actuator that can be commanded through a transmission."""
    if not spec.can_command:
        return []
    return [(each.name, each.path) for each in spec.actuators if not each.read_only]
