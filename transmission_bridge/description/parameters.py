# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Free parameters: ``<param>`` elements, and whatever else a plugin may want to read."""

from __future__ import annotations

from transmission_bridge.description.control_specs import ParameterSpec
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.xml import Element

__all__ = ['attribute_parameter', 'element_parameter', 'named_parameters']


def element_parameter(element: Element) -> ParameterSpec:
    """
    Return an element that the dialect does not define, with all inside it.

    Recursion is as deep as the XML, which is bounded; ``path`` comes first, each builds on the
    one above it.
    """
    name = element.get('name') if element.tag == 'param' else None
    return ParameterSpec(
        name=name or element.tag,
        value=element.text,
        line=element.line,
        path=element.path,
        attributes=tuple(element.attributes.items()),
        children=tuple(map(element_parameter, element.children)),
    )


def attribute_parameter(element: Element, attribute: str) -> ParameterSpec:
    """Return an attribute that the dialect does not define."""
    return ParameterSpec(
        name=attribute,
        value=element.attributes[attribute],
        line=element.line,
        path=f'{element.path}/@{attribute}',
    )


def named_parameters(
    parent: Element, findings: Findings, subject: str = ''
) -> tuple[ParameterSpec, ...]:
    """
    Return the ``<param name>`` children; where a name comes twice the last one counts.

    :param subject: For the findings: whose parameters these are.
    """
    last: dict[str, ParameterSpec] = {}
    for element in parent.all('param'):
        name = element.get('name')
        if name is None:
            findings.nameless(element, subject)
            continue
        if name in last:
            findings.ignored(
                element,
                'parameter given twice, the last one counts',
                expected='another name',
                found=f"'{name}'",
                subject=subject,
            )
            del last[name]
        last[name] = ParameterSpec(name, element.text, line=element.line, path=element.path)
    return tuple(last.values())
