# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``<transmission>`` inside ``<ros2_control>``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from transmission_bridge.description.control_specs import (
    ComponentSpec,
    MemberSpec,
    ParameterSpec,
    Ros2ControlSpec,
    TransmissionSpec,
)
from transmission_bridge.description.draft import Draft
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.members import ROS2_CONTROL
from transmission_bridge.description.parameters import (
    attribute_parameter,
    element_parameter,
    named_parameters,
)
from transmission_bridge.description.transmission_element import (
    outline,
    read_name,
    read_side,
    read_type,
)
from transmission_bridge.description.xml import Element

__all__ = ['read_ros2_transmission']


def read_ros2_transmission(
    element: Element,
    block: Ros2ControlSpec,
    components: Mapping[str, ComponentSpec],
    findings: Findings,
) -> Draft:
    """
    Read one transmission of a block.

    :param components: The block's joints by name; a transmission's joints have their interfaces.
    """
    errors = findings.errors
    name = read_name(element, findings)
    plugin = read_type(element, 'plugin', 'type', findings)
    joints = read_side(element, 'joint', ROS2_CONTROL, findings)
    lacks_actuator = block.type == 'actuator' and not element.all('actuator')
    actuators = read_side(element, 'actuator', ROS2_CONTROL, findings, may_be_empty=lacks_actuator)
    if lacks_actuator and joints is not None and len(joints) > 1:
        findings.error(
            element,
            'an actuator is implied only where there is exactly one joint',
            expected='one joint, or <actuator> elements',
            found=f'{len(joints)} joints',
            subject=name,
        )
    _note_missing_roles(element, findings, name)
    parameters = _parameters(element, findings, name)
    bound = _with_interfaces(element, joints or (), components, findings, name)
    summary = outline(element, plugin, 'ros2_control')
    unknown = [joint for joint in summary.joints or ('',) if joint not in components]
    summary = replace(summary, block=block.name, unknown_joints=tuple(unknown))
    if findings.errors > errors or joints is None or actuators is None:
        return Draft(element, summary, None, lacks_actuator)
    commanded = any(joint.command_interfaces and not joint.read_only for joint in bound)
    moved = lacks_actuator or not all(actuator.read_only for actuator in actuators)
    spec = TransmissionSpec(
        name=name,
        type=plugin,
        dialect='ros2_control',
        joints=bound,
        actuators=actuators,
        block=block.name,
        parameters=parameters,
        can_command=commanded and moved,
        line=element.line,
        path=element.path,
    )
    return Draft(element, summary, spec, lacks_actuator)


def _note_missing_roles(element: Element, findings: Findings, name: str) -> None:
    """Report a missing role where it decides nothing: ros2_control wants it all the same."""
    for tag in ('joint', 'actuator'):
        members = element.all(tag)
        if len(members) == 1 and not any(
            [members[0].get('role'), *(role.text for role in members[0].all('role'))]
        ):
            findings.ignored(
                members[0],
                'the role is missing; ros2_control refuses that',
                expected=f"role '{tag}1'",
                found='none',
                subject=name,
            )


def _parameters(element: Element, findings: Findings, name: str) -> tuple[ParameterSpec, ...]:
    parameters = list(named_parameters(element, findings, name))
    parameters += [
        attribute_parameter(element, attribute)
        for attribute in element.attributes
        if attribute != 'name'
    ]
    parameters += [
        element_parameter(child)
        for child in element.children
        if child.tag not in ('plugin', 'joint', 'actuator', 'param')
    ]
    return tuple(parameters)


def _with_interfaces(
    transmission: Element,
    joints: tuple[MemberSpec, ...],
    components: Mapping[str, ComponentSpec],
    findings: Findings,
    name: str,
) -> tuple[MemberSpec, ...]:
    elements = {element.path: element for element in transmission.all('joint')}
    bound: list[MemberSpec] = []
    for joint in joints:
        component = components.get(joint.name)
        if component is None:
            findings.error(
                elements[joint.path],
                'the joint is not declared in this <ros2_control> block',
                expected='a joint of the block',
                found=f"'{joint.name}'",
                subject=name,
            )
            continue
        bound.append(
            replace(
                joint,
                command_interfaces=tuple(each.name for each in component.command_interfaces),
                state_interfaces=tuple(each.name for each in component.state_interfaces),
            )
        )
    return tuple(bound)
