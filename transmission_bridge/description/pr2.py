# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The style of the PR2, before ROS 1's ``<type>`` element.

The type is an attribute and the reduction stands under the transmission. The simple transmission
is the same equation with other places, so it is read whole, its ratio as the actuator's. Every
other one is refused with one error: a ratio is never invented.
"""

from __future__ import annotations

from dataclasses import replace

from transmission_bridge.description.control_specs import TransmissionSpec
from transmission_bridge.description.draft import Draft
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.members import read_member, ROS_CONTROL
from transmission_bridge.description.parameters import attribute_parameter, element_parameter
from transmission_bridge.description.transmission_element import outline
from transmission_bridge.description.values import ratio
from transmission_bridge.description.xml import Element

__all__ = ['is_pr2_style', 'read_pr2_transmission']

_SIMPLE = 'transmission_interface/SimpleTransmission'
_NAMES_OF_SIMPLE = ('SimpleTransmission', 'pr2_mechanism_model/SimpleTransmission', _SIMPLE)
_REDUCTION = 'mechanicalReduction'


def is_pr2_style(element: Element) -> bool:
    """Whether the type is an attribute and there is no ``<type>`` element."""
    return element.get('type') is not None and element.first('type') is None


def read_pr2_transmission(element: Element, findings: Findings) -> Draft:
    """Read a PR2-style block that can be read in one way only, refuse every other."""
    errors = findings.errors
    name = element.get('name') or ''
    type_name = element.attributes['type']
    simple = type_name in _NAMES_OF_SIMPLE
    summary = outline(element, _SIMPLE if simple else type_name, 'ros_control')
    found = _unreadable(element, name, simple)
    if found:
        findings.error(
            element,
            'a transmission in the style of the PR2 that cannot be read for certain',
            expected='a named SimpleTransmission of one joint, one actuator and one '
            f'<{_REDUCTION}>, or the style of ROS 1',
            found=found,
            subject=name,
        )
        # Whatever it drives is lost with it: passed through it would have an invented ratio.
        lost = replace(
            summary, joints=_named(element, 'joint'), actuators=_named(element, 'actuator')
        )
        return Draft(element, lost, None)
    # Exactly one, or it would have been refused.
    reduction = _reductions(element)[0]
    value = findings.value(reduction, reduction.text, ratio, f'<{_REDUCTION}>', name)
    joint = read_member(element.all('joint')[0], ROS_CONTROL, findings, name)
    actuator = read_member(element.all('actuator')[0], ROS_CONTROL, findings, name)
    if findings.errors > errors or value is None or joint is None or actuator is None:
        return Draft(element, summary, None)
    findings.info(
        element, "PR2-style transmission, its reduction is taken as the actuator's", subject=name
    )
    members = ('joint', 'actuator', _REDUCTION)
    spec = TransmissionSpec(
        name=name,
        type=_SIMPLE,
        dialect='ros_control',
        joints=(joint,),
        actuators=(
            replace(
                actuator,
                mechanical_reduction=value,
                given=actuator.given | {'mechanical_reduction'},
            ),
        ),
        parameters=tuple(
            attribute_parameter(element, attribute)
            for attribute in element.attributes
            if attribute not in ('name', 'type')
        )
        + tuple(
            element_parameter(child) for child in element.children if child.tag not in members
        ),
        line=element.line,
        path=element.path,
    )
    return Draft(element, summary, spec)


def _named(element: Element, ending: str) -> tuple[str, ...]:
    """Return the names of children such as ``<flexJoint>``, ``<gap_joint>`` or ``<joint>``."""
    children = (child for child in element.children if child.tag.lower().endswith(ending))
    return tuple(name for child in children if (name := child.get('name')))


def _reductions(element: Element) -> list[Element]:
    """Return every ``<mechanicalReduction>`` under the transmission and in its members."""
    members = element.all('joint', 'actuator')
    return [each for parent in (element, *members) for each in parent.all(_REDUCTION)]


def _unreadable(element: Element, name: str, simple: bool) -> str:
    """Return what is found instead of a block that can be read, empty if it can be."""
    joints = element.all('joint')
    actuators = element.all('actuator')
    if not name:
        return 'no name'
    if not simple:
        return f"type '{element.attributes['type']}'"
    if len(joints) != 1 or len(actuators) != 1:
        return f'{len(joints)} joints and {len(actuators)} actuators'
    if joints[0].all(_REDUCTION):
        return f'<{_REDUCTION}> inside <joint>'
    count = len(_reductions(element))
    return '' if count == 1 else f'{count} <{_REDUCTION}> elements'
