# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints of ``<ros2_control>`` blocks compared with the joints of the URDF.

ros2_control refuses the document for each of these. Only a mimic that cannot be followed is lost
here, so that is an error; the others are warnings, and errors in strict mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transmission_bridge.description.control_specs import ComponentSpec, Ros2ControlSpec
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.robot_joints import RobotJoints
from transmission_bridge.description.specs import JointSpec
from transmission_bridge.description.xml import Element

__all__ = ['check_block_joints', 'check_mimic_joints']


def check_block_joints(
    elements: Sequence[Element],
    blocks: Sequence[Ros2ControlSpec],
    joints: RobotJoints,
    findings: Findings,
) -> None:
    """
    Report joints that the URDF does not have or cannot move, and mimic statements at odds.

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
    """Return the part of a way that is the loop, shortened where it is long."""
    names = list(way)
    loop = [*names[names.index(entry) :], entry]
    return loop if len(loop) <= 6 else [*loop[:5], '…']
