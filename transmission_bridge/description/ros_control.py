# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ROS 1: ``<transmission>`` as a direct child of ``<robot>``."""

from __future__ import annotations

from dataclasses import replace

from transmission_bridge.description.control_specs import (
    MemberSpec,
    ParameterSpec,
    TransmissionSpec,
)
from transmission_bridge.description.draft import Draft
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.members import (
    HARDWARE_INTERFACE,
    IGNORE_ABSOLUTE_ENCODER,
    ROS_CONTROL,
)
from transmission_bridge.description.parameters import attribute_parameter, element_parameter
from transmission_bridge.description.pr2 import is_pr2_style, read_pr2_transmission
from transmission_bridge.description.transmission_element import (
    outline,
    read_name,
    read_side,
    read_type,
)
from transmission_bridge.description.xml import Element

__all__ = ['read_ros_control']

#: A joint with this interface only is measured, never commanded.
_STATE_ONLY = 'JointStateInterface'


def read_ros_control(root: Element, findings: Findings) -> list[Draft]:
    """Read the transmissions that are direct children of the robot."""
    return [
        read_pr2_transmission(element, findings)
        if is_pr2_style(element)
        else _transmission(element, findings)
        for element in root.all('transmission')
    ]


def _transmission(element: Element, findings: Findings) -> Draft:
    errors = findings.errors
    name = read_name(element, findings)
    type_name = read_type(element, 'type', 'plugin', findings)
    joints = read_side(element, 'joint', ROS_CONTROL, findings)
    # What stands under the transmission is never taken for the ratio of an actuator: with a
    # <type> element it is not the older style, and which of the two was meant is unknown.
    actuators = read_side(element, 'actuator', ROS_CONTROL, findings, reduction_required=True)
    bound = _with_interfaces(element, 'joint', joints or (), findings, name)
    ignore = _ignores_absolute_encoder(element, findings, name)
    parameters = _parameters(element, findings, name)
    summary = outline(element, type_name, 'ros_control')
    if findings.errors > errors or joints is None or actuators is None:
        return Draft(element, summary, None)
    spec = TransmissionSpec(
        name=name,
        type=type_name,
        dialect='ros_control',
        joints=bound,
        actuators=_with_interfaces(element, 'actuator', actuators, findings, name),
        parameters=parameters,
        ignore_absolute_encoder=ignore,
        can_command=any(map(_commandable, bound)),
        line=element.line,
        path=element.path,
    )
    return Draft(element, summary, spec)


def _commandable(joint: MemberSpec) -> bool:
    """Where no interface is named at all, nothing says that the joint is only measured."""
    interfaces = {interface.rpartition('/')[2] for interface in joint.command_interfaces}
    return interfaces != {_STATE_ONLY}


def _with_interfaces(
    transmission: Element,
    tag: str,
    members: tuple[MemberSpec, ...],
    findings: Findings,
    name: str,
) -> tuple[MemberSpec, ...]:
    """
    Return the members with their ``<hardwareInterface>`` texts.

    ROS 1 skips a joint without one. Which interfaces are mapped is decided by the messages here,
    so nothing is lost: a warning, and an error in strict mode.
    """
    elements = {element.path: element for element in transmission.all(tag)}
    bound: list[MemberSpec] = []
    for member in members:
        element = elements[member.path]
        texts = tuple(child.text for child in element.all(HARDWARE_INTERFACE) if child.text)
        if not texts and tag == 'joint':
            findings.ignored(
                element,
                f"joint '{member.name}' has no interface; ROS 1 refuses that",
                expected=f'<{HARDWARE_INTERFACE}>',
                found='none',
                subject=name,
            )
        bound.append(replace(member, command_interfaces=texts))
    return tuple(bound)


def _ignores_absolute_encoder(element: Element, findings: Findings, name: str) -> bool:
    """Whether the flag is in every joint; what it says does not count, as in ROS 1."""
    joints = element.all('joint')
    flags = [joint.first(IGNORE_ABSOLUTE_ENCODER) for joint in joints]
    present = [flag for flag in flags if flag is not None]
    if present and len(present) < len(joints):
        findings.ignored(
            present[0],
            f'<{IGNORE_ABSOLUTE_ENCODER}> is ignored here',
            expected='it in every joint, or in none',
            found=f'{len(present)} of {len(joints)}',
            subject=name,
        )
        return False
    for flag in present:
        if flag.text.lower() in ('false', '0'):
            findings.warning(
                flag,
                f'<{IGNORE_ABSOLUTE_ENCODER}> counts by its presence',
                expected='no such element, to say no',
                found=f"'{flag.text}'",
                subject=name,
            )
    return bool(present)


def _parameters(element: Element, findings: Findings, name: str) -> tuple[ParameterSpec, ...]:
    if element.get('type') is not None:
        findings.ignored(
            element,
            'attribute type is ignored here',
            expected='<type>',
            found=f"'{element.attributes['type']}'",
            subject=name,
        )
    attributes = (
        attribute_parameter(element, attribute)
        for attribute in element.attributes
        if attribute not in ('name', 'type')
    )
    children = (
        element_parameter(child)
        for child in element.children
        if child.tag not in ('type', 'joint', 'actuator')
    )
    return (*attributes, *children)
