# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``<ros2_control>`` blocks: hardware, properties, components, transmissions.

What is wrong with a block's own attributes or its hardware does not concern its transmissions:
it is an error finding, and the transmissions are still read.
"""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.description.components import COMPONENT_TAGS, read_components
from transmission_bridge.description.control_specs import ParameterSpec, Ros2ControlSpec
from transmission_bridge.description.draft import Draft
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.parameters import named_parameters
from transmission_bridge.description.ros2_transmission import read_ros2_transmission
from transmission_bridge.description.values import boolean, integer
from transmission_bridge.description.xml import Element

__all__ = ['read_ros2_control']

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
                'two <ros2_control> blocks have one name; ros2_control refuses that',
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

    It subtracts the state of each command interface that a JointState has a field for, to be
    silent while nothing is left to do, and fails where there is none.
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
            '<hardware> is ignored, the last one counts',
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
