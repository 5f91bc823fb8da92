# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``<ros2_control>`` blocks: hardware, components, interfaces and transmissions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, Literal

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import (
    ComponentSpec,
    InterfaceSpec,
    ParameterSpec,
    Ros2ControlSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import (
    Draft,
    named_parameters,
    outline,
    read_name,
    read_side,
    read_type,
    ROS2_CONTROL,
    undefined_parameters,
)
from transmission_bridge.description.values import boolean, integer, number, ValueFault
from transmission_bridge.description.xml import Element
from transmission_bridge.errors import closest

__all__ = [
    'COMPONENT_TAGS',
    'read_components',
    'read_ros2_control',
    'read_ros2_transmission',
    'with_implied_actuators',
]


# -- `<joint>`, `<sensor>` and `<gpio>` of a `<ros2_control>` block, with interfaces -------------


COMPONENT_TAGS = ('joint', 'sensor', 'gpio')


def read_components(block: Element, findings: Findings) -> tuple[ComponentSpec, ...]:
    """Return the named components of a block, in document order."""
    components: list[ComponentSpec] = []
    seen: set[tuple[str, str]] = set()
    for element in block.all(*COMPONENT_TAGS):
        name = element.get('name')
        if not name:
            findings.nameless(element)
            continue
        if (element.tag, name) in seen:
            findings.ignored(
                element,
                f'the {element.tag} is declared twice in this block, the first one is used',
                expected='another name',
                found=f"'{name}'",
                subject=name,
            )
            continue
        seen.add((element.tag, name))
        components.append(_component(element, name, findings))
    return tuple(components)


def _component(element: Element, name: str, findings: Findings) -> ComponentSpec:
    mimic = None
    if element.tag == 'joint' and (text := element.get('mimic')) is not None:
        mimic = findings.value(element, text, boolean, 'mimic', name)
    # A gpio has limits at its interfaces only.
    limits = element.tag == 'gpio' or _limits_enabled(element, findings, name)
    return ComponentSpec(
        name=name,
        kind=cast(Literal['joint', 'sensor', 'gpio'], element.tag),
        command_interfaces=_interfaces(element, 'command_interface', limits, findings, name),
        state_interfaces=_interfaces(element, 'state_interface', limits, findings, name),
        mimic=mimic,
        limits_enabled=limits,
        parameters=named_parameters(element, findings, name),
        line=element.line,
        path=element.path,
    )


def _limits_enabled(element: Element, findings: Findings, subject: str) -> bool:
    limits = element.first('limits')
    if limits is None:
        return True
    text = limits.get('enable')
    if text is None:
        findings.error(
            limits,
            '<limits> without enable',
            expected='enable="true" or "false"',
            found='none',
            subject=subject,
        )
        return True
    return findings.value(limits, text, boolean, 'enable', subject) is not False


def _interfaces(
    component: Element, tag: str, limits: bool, findings: Findings, subject: str
) -> tuple[InterfaceSpec, ...]:
    interfaces: list[InterfaceSpec] = []
    for element in component.all(tag):
        name = element.get('name')
        if not name:
            findings.nameless(element, subject)
            continue
        parameters = named_parameters(element, findings, subject)
        values = {parameter.name: parameter for parameter in parameters}
        size = 1
        if (text := element.get('size')) is not None:
            size = findings.value(element, text, _size, 'size', subject) or 1
        if element.get('initial_value') is not None:
            findings.ignored(
                element,
                'attribute initial_value is ignored here',
                expected='<param name="initial_value">',
                found='an attribute',
                subject=subject,
            )
        initial = values.get('initial_value')
        interfaces.append(
            InterfaceSpec(
                name=name,
                min=_bound(element, values.get('min'), findings, subject),
                max=_bound(element, values.get('max'), findings, subject),
                initial_value=initial.value if initial else None,
                size=size,
                data_type=element.get('data_type') or 'double',
                limits_enabled=limits & _limits_enabled(element, findings, subject),
                parameters=parameters,
                line=element.line,
                path=element.path,
            )
        )
    return tuple(interfaces)


def _size(text: str) -> int:
    return integer(text, least=1)


def _bound(
    interface: Element, parameter: ParameterSpec | None, findings: Findings, subject: str
) -> float | None:
    """Return a bound; one that cannot be read is no limit, as in ros2_control."""
    if parameter is None:
        return None
    try:
        return number(parameter.value)
    except ValueFault as fault:
        findings.ignored(
            interface,
            f'{parameter.name} is not usable, and no limit',
            expected=fault.expected,
            found=fault.found,
            subject=subject,
        )
        return None


# -- `<transmission>` inside `<ros2_control>` ----------------------------------------------------


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
    parameters = (
        *named_parameters(element, findings, name),
        *undefined_parameters(element, ('name',), ('plugin', 'joint', 'actuator', 'param')),
    )
    bound = _with_interfaces(element, joints or (), components, findings, name)
    summary = outline(element, plugin, 'ros2_control')
    unknown = [joint for joint in summary.joints if joint not in components]
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
    """Report a missing role of a single joint or actuator, which ros2_control requires."""
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


def _with_interfaces(
    transmission: Element,
    joints: tuple[TransmissionEnd, ...],
    components: Mapping[str, ComponentSpec],
    findings: Findings,
    name: str,
) -> tuple[TransmissionEnd, ...]:
    elements = {element.path: element for element in transmission.all('joint')}
    bound: list[TransmissionEnd] = []
    for joint in joints:
        component = components.get(joint.name)
        if component is None:
            findings.error(
                elements[joint.path],
                'the joint is not declared in this <ros2_control> block'
                + closest(joint.name, components),
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


# -- The actuator that a `<ros2_control type="actuator">` block implies --------------------------
#
# Where none is declared, it is called ``actuator1`` if that is unique in the robot, else
# ``<block>_actuator1``: ros2_control gives the actuators of several such blocks the same name.


_NAME = 'actuator1'


def with_implied_actuators(drafts: Sequence[Draft], findings: Findings) -> list[Draft]:
    """
    Return the drafts with their implied actuators.

    :param drafts: All transmissions of the robot, also refused ones, so that correcting one does
        not rename the actuator of another.
    """
    names = Counter(name for draft in drafts for name in draft.summary.actuators)
    names[_NAME] += sum(draft.lacks_actuator for draft in drafts)
    return [_completed(draft, names[_NAME] == 1, findings) for draft in drafts]


def _completed(draft: Draft, unique: bool, findings: Findings) -> Draft:
    spec = draft.spec
    if not draft.lacks_actuator or spec is None:
        return draft
    name = _NAME if unique else f'{spec.block}_{_NAME}'
    if unique:
        findings.info(draft.element, f"actuator '{name}' is implied", subject=spec.name)
    else:
        findings.warning(
            draft.element,
            f"actuator '{name}' is implied",
            expected=f"'{_NAME}' unique in the robot",
            found='more than one',
            subject=spec.name,
        )
    (joint,) = spec.joints
    actuator = TransmissionEnd(
        name=name,
        role=_NAME,
        command_interfaces=joint.command_interfaces,
        state_interfaces=joint.state_interfaces,
        line=draft.element.line,
        path=draft.element.path,
    )
    return replace(
        draft,
        spec=replace(spec, actuators=(actuator,)),
        summary=replace(draft.summary, actuators=(name,)),
    )


# -- `<ros2_control>` blocks: hardware, properties, components, transmissions --------------------
#
# Errors in a block's own attributes or its hardware do not affect its transmissions, which are
# read all the same.


_TAGS = ('hardware', 'properties', 'transmission', *COMPONENT_TAGS)

#: The command interfaces that a JointState has a field for.
_FIELDS = ('position', 'velocity', 'effort')


def read_ros2_control(
    elements: Sequence[Element], findings: Findings
) -> tuple[tuple[Ros2ControlSpec, ...], list[Draft]]:
    """
    Return the blocks and their transmissions, both in document order.

    :param elements: The ``<ros2_control>`` elements.
    """
    blocks: list[Ros2ControlSpec] = []
    drafts: list[Draft] = []
    names: set[str] = set()
    for element in elements:
        block = _block(element, findings)
        if block.name in names:
            findings.ignored(
                element,
                'two <ros2_control> blocks have the same name; ros2_control refuses that',
                expected='another name',
                found=f"'{block.name}'",
                subject=block.name,
            )
        names.add(block.name)
        blocks.append(block)
        if block.compares_commands:
            _check_state_interfaces(element, block, findings)
        joints = {each.name: each for each in block.components if each.kind == 'joint'}
        for transmission in element.all('transmission'):
            drafts.append(read_ros2_transmission(transmission, block, joints, findings))
    return tuple(blocks), drafts


def _block(element: Element, findings: Findings) -> Ros2ControlSpec:
    name = element.get('name') or ''
    for attribute in ('name', 'type'):
        if element.get(attribute) is None:
            findings.error(
                element,
                f'<ros2_control> without a {attribute}',
                expected=f'attribute {attribute}',
                found='none',
                subject=name,
            )
    for child in element.children:
        if child.tag not in _TAGS and not child.is_xacro:
            findings.error(
                child,
                'unknown element',
                expected='one of ' + ', '.join(_TAGS),
                found=f'<{child.tag}>',
                subject=name,
            )
    rate = element.get('rw_rate')
    is_async = element.get('is_async')
    asynchronous = is_async is not None and bool(
        findings.value(element, is_async, boolean, 'is_async', name)
    )
    priority = element.get('thread_priority')
    if asynchronous and priority is not None:
        findings.value(element, priority, _positive, 'thread_priority', name)
    plugin, group, parameters = _hardware(element, findings, name)
    return Ros2ControlSpec(
        name=name,
        type=element.get('type') or '',
        plugin=plugin,
        group=group,
        rw_rate=findings.value(element, rate, _rate, 'rw_rate', name) or 0 if rate else 0,
        is_async=asynchronous,
        parameters=parameters,
        properties=_properties(element, findings, name),
        components=read_components(element, findings),
        line=element.line,
        path=element.path,
    )


def _check_state_interfaces(element: Element, block: Ros2ControlSpec, findings: Findings) -> None:
    """
    Report joints whose commands the hardware cannot publish.

    It compares position, velocity and effort commands with the state, to publish differences only,
    and fails where there is no state interface of that name.
    """
    places = {child.path: child for child in element.all('joint')}
    for joint in block.components:
        states = {each.name for each in joint.state_interfaces}
        missing = [
            each.name
            for each in joint.command_interfaces
            if each.name in _FIELDS and each.name not in states
        ]
        if joint.kind == 'joint' and missing:
            findings.ignored(
                places[joint.path],
                f"joint '{joint.name}' cannot be commanded through a topic: the hardware compares "
                'each command with its state',
                expected=' and '.join(f'<state_interface name="{name}"/>' for name in missing),
                found=' and '.join(f'<command_interface name="{name}"/>' for name in missing)
                + ' alone',
                subject=joint.name,
            )


def _hardware(
    block: Element, findings: Findings, name: str
) -> tuple[str, str, tuple[ParameterSpec, ...]]:
    elements = block.all('hardware')
    if not elements:
        return '', '', ()
    if len(elements) > 1:
        findings.ignored(
            elements[0],
            'several <hardware> elements, the last one is used',
            expected='one <hardware>',
            found=str(len(elements)),
            subject=name,
        )
    hardware = elements[-1]
    plugin = hardware.first('plugin')
    if plugin is None or not plugin.text:
        findings.error(
            hardware,
            'the hardware has no plugin',
            expected='<plugin> with the type of the hardware',
            found='none' if plugin is None else 'an empty one',
            subject=name,
        )
    group = hardware.first('group')
    return (
        plugin.text if plugin is not None else '',
        group.text if group is not None else '',
        named_parameters(hardware, findings, name),
    )


def _properties(block: Element, findings: Findings, name: str) -> tuple[tuple[str, str], ...]:
    """Return the attributes of ``<properties><async>`` as written, the two simple ones checked."""
    attributes: dict[str, str] = {}
    for properties in block.all('properties'):
        for element in properties.all('async'):
            attributes.update(element.attributes)
            if (priority := element.get('thread_priority')) is not None:
                findings.value(element, priority, _positive, 'thread_priority', name)
            if (warnings := element.get('print_warnings')) is not None:
                findings.value(element, warnings, boolean, 'print_warnings', name)
    return tuple(attributes.items())


def _rate(text: str) -> int:
    return integer(text, least=0, most=2**32 - 1)


def _positive(text: str) -> int:
    return integer(text, least=1)
