# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``<joint>``, ``<sensor>`` and ``<gpio>`` of a ``<ros2_control>`` block, with interfaces."""

from __future__ import annotations

from typing import cast, Literal

from transmission_bridge.description.control_specs import (
    ComponentSpec,
    InterfaceSpec,
    ParameterSpec,
)
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.parameters import named_parameters
from transmission_bridge.description.values import boolean, integer, number, ValueFault
from transmission_bridge.description.xml import Element

__all__ = ['COMPONENT_TAGS', 'read_components']

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
                f'{element.tag} declared twice in this block, the first one counts',
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
    """Return a bound; one that cannot be read leaves that side open, as in ros2_control."""
    if parameter is None:
        return None
    try:
        return number(parameter.value)
    except ValueFault as fault:
        findings.ignored(
            interface,
            f'{parameter.name} is not usable, taken as unlimited',
            expected=fault.expected,
            found=fault.found,
            subject=subject,
        )
        return None
