# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ROS 1: ``<transmission>`` as a direct child of ``<robot>``, in both of its styles."""

from __future__ import annotations

from dataclasses import replace

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.specs import ParameterSpec, TransmissionEnd, TransmissionSpec
from transmission_bridge.description.transmission_element import (
    Draft,
    HARDWARE_INTERFACE,
    IGNORE_ABSOLUTE_ENCODER,
    outline,
    read_member,
    read_name,
    read_side,
    read_type,
    ROS_CONTROL,
    undefined_parameters,
)
from transmission_bridge.description.values import ratio
from transmission_bridge.description.xml import Element

__all__ = ['is_pr2_style', 'read_pr2_transmission', 'read_ros_control']


# -- The style of the PR2, before ROS 1's `<type>` element ---------------------------------------
#
# The type is an attribute and the reduction a child of the transmission. The simple transmission
# has the same equation, so it is read, its ratio as the actuator's. Every other one is refused
# with one error: a ratio is never invented.


_SIMPLE = 'transmission_interface/SimpleTransmission'
_NAMES_OF_SIMPLE = ('SimpleTransmission', 'pr2_mechanism_model/SimpleTransmission', _SIMPLE)
_REDUCTION = 'mechanicalReduction'


def is_pr2_style(element: Element) -> bool:
    """Whether the type is an attribute and there is no ``<type>`` element."""
    return element.get('type') is not None and element.first('type') is None


def read_pr2_transmission(element: Element, findings: Findings) -> Draft:
    """Read an unambiguous PR2-style transmission, refuse every other."""
    errors = findings.errors
    name = element.get('name') or ''
    type_name = element.attributes['type']
    simple = type_name in _NAMES_OF_SIMPLE
    summary = outline(element, _SIMPLE if simple else type_name, 'ros_control')
    found = _unreadable(element, name, simple)
    if found:
        findings.error(
            element,
            'this transmission in the style of the PR2 is ambiguous',
            expected='a named SimpleTransmission of one joint, one actuator and one '
            f'<{_REDUCTION}>, or the style of ROS 1',
            found=found,
            subject=name,
        )
        # Its joints are lost with it: passed through they would have an invented ratio.
        lost = replace(
            summary, joints=_named(element, 'joint'), actuators=_named(element, 'actuator')
        )
        return Draft(element, lost, None)
    # There is exactly one.
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
        parameters=undefined_parameters(element, ('name', 'type'), members),
        ignore_absolute_encoder=_ignores_absolute_encoder(element, findings, name),
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


# -- ROS 1: `<transmission>` as a direct child of `<robot>` --------------------------------------


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
    # A reduction under the transmission is not used for an actuator: with a <type> element this is
    # not the older style, and it is unknown which was meant.
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


def _commandable(joint: TransmissionEnd) -> bool:
    # Without any interface, nothing says that the joint is only measured.
    interfaces = {interface.rpartition('/')[2] for interface in joint.command_interfaces}
    return interfaces != {_STATE_ONLY}


def _with_interfaces(
    transmission: Element,
    tag: str,
    members: tuple[TransmissionEnd, ...],
    findings: Findings,
    name: str,
) -> tuple[TransmissionEnd, ...]:
    """
    Return the joints or actuators with their ``<hardwareInterface>`` texts.

    ROS 1 skips a joint without one. Here messages decide which interfaces are mapped, so that this
    is a warning, and an error in strict mode.
    """
    elements = {element.path: element for element in transmission.all(tag)}
    bound: list[TransmissionEnd] = []
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
    """Return whether the flag is in every joint; its text is ignored, as in ROS 1."""
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
                f'<{IGNORE_ABSOLUTE_ENCODER}> is true whatever its text is',
                expected='no such element, for false',
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
    return undefined_parameters(element, ('name', 'type'), ('type', 'joint', 'actuator'))
