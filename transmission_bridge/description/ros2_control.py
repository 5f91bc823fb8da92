# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read ``<ros2_control>`` blocks, and complete the drafts of the transmissions inside of them.

Loading calls :func:`read_ros2_control` once for each robot, and :func:`add_implied_actuators` when
all drafts of the robot exist; :class:`XmlDraft` states the order. ``XmlRow`` and ``XmlValue`` in
``walker`` explain the codes of the table, which a test compares with the docs. Its names come from
ros2_control. The ``rejection`` of a draft is what users find in ``RobotDescription.rejected`` if
loading rejects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from transmission_bridge.description.document.values import (
    read_boolean,
    read_integer,
    read_number,
    read_update_rate,
)
from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import (
    ComponentSpec,
    InterfaceSpec,
    MemberSpec,
    Ros2ControlSpec,
)
from transmission_bridge.description.transmission_element import PARAM, ROS2_TRANSMISSION, XmlDraft
from transmission_bridge.description.walker import (
    ANY_NAME,
    Fields,
    Findings,
    make_spec,
    NAME,
    NOT_READ,
    XmlRow,
    XmlValue,
    XmlWalker,
)
from transmission_bridge.errors import closest

#: The command interfaces that a JointState has a field for.
_FIELDS = ('position', 'velocity', 'effort')

# -- Components and their interfaces -------------------------------------------------------------
#
# ``_finish_…`` functions are called as ``Row.finish``.


def _finish_component(
    _: XmlWalker, element: Element, values: Fields, _errors: int
) -> ComponentSpec:
    if not values.get('limits_enabled', True):
        for side in ('command_interfaces', 'state_interfaces'):
            values[side] = tuple(
                replace(interface, limits_enabled=False) for interface in values.get(side, ())
            )
    return make_spec(ComponentSpec, element, values | {'kind': element.tag})


# -- Blocks --------------------------------------------------------------------------------------
#
# Errors in a block's own attributes or its hardware do not affect its transmissions.


def _finish_hardware(walker: XmlWalker, element: Element, values: Fields, _errors: int) -> Fields:
    if not values.get('plugin'):
        walker.findings.add_error(
            element,
            'the hardware has no plugin',
            '<plugin> with the type of the hardware',
            'an empty one' if 'plugin' in values else 'none',
        )
    return values


def _finish_block(
    walker: XmlWalker, element: Element, values: Fields, _errors: int
) -> tuple[Ros2ControlSpec, Sequence[XmlDraft]]:
    values.pop('properties', None)
    drafts: Sequence[XmlDraft] = values.pop('transmissions', ())
    values = {'name': '', 'type': ''} | values.pop('hardware', {}) | values
    block = make_spec(Ros2ControlSpec, element, values)
    # Such hardware compares position, velocity and effort commands with the state to publish only
    # differences, and fails if a joint has no state interface with that name.
    for joint in block.components if block.compares_commands else ():
        states = {interface.name for interface in joint.state_interfaces}
        missing = [
            interface.name
            for interface in joint.command_interfaces
            if interface.name in _FIELDS and interface.name not in states
        ]
        if joint.kind == 'joint' and missing:
            walker.findings.add_ignored(
                joint,
                f"joint '{joint.name}' cannot be commanded through a topic: the hardware compares "
                'each command with its state',
                ' and '.join(f'<state_interface name="{name}"/>' for name in missing),
                ' and '.join(f'<command_interface name="{name}"/>' for name in missing) + ' alone',
            )
    _complete_drafts(drafts, block, walker.findings)
    return block, drafts


def _complete_drafts(
    drafts: Sequence[XmlDraft], block: Ros2ControlSpec, findings: Findings
) -> None:
    """
    Add the name and the interfaces of a block to its transmissions, in place.

    A transmission of a joint that the block does not declare is rejected.
    """
    components = {part.name: part for part in block.components if part.kind == 'joint'}
    for draft in drafts:
        bound: list[MemberSpec] = []
        for joint in draft.spec.joints:
            if (component := components.get(joint.name)) is None:
                draft.is_rejected = True
                findings.add_error(
                    joint,
                    'the joint is not declared in this <ros2_control> block'
                    + closest(joint.name, components),
                    'a joint of the block',
                    f"'{joint.name}'",
                )
                continue
            commands, states = (
                tuple(interface.name for interface in interfaces)
                for interfaces in (component.command_interfaces, component.state_interfaces)
            )
            bound.append(replace(joint, command_interfaces=commands, state_interfaces=states))
        commanded = any(joint.command_interfaces and not joint.read_only for joint in bound)
        # An implied actuator is commanded.
        actuators = draft.spec.actuators
        can_command = commanded and not (actuators and all(each.read_only for each in actuators))
        unknown = tuple(name for name in draft.rejection.joints if name not in components)
        draft.rejection = replace(draft.rejection, block=block.name, unknown_joints=unknown)
        draft.spec = replace(
            draft.spec, joints=tuple(bound), block=block.name, can_command=can_command
        )


def read_ros2_control(
    walker: XmlWalker, elements: Sequence[Element]
) -> tuple[tuple[Ros2ControlSpec, ...], list[XmlDraft]]:
    """Return the blocks and their transmissions, both in document order."""
    blocks: list[Ros2ControlSpec] = []
    drafts: list[XmlDraft] = []
    for element in elements:
        block, of_block = walker.read_element(element, ROS2_CONTROL)
        if block.name in (other.name for other in blocks):
            walker.findings.add_ignored(
                block,
                'two <ros2_control> blocks have the same name; ros2_control rejects that',
                'another name',
                f"'{block.name}'",
            )
        blocks.append(block)
        drafts += of_block
    return tuple(blocks), drafts


# -- The actuator that a `<ros2_control type="actuator">` block implies --------------------------
#
# If the block declares no actuator, the implied one is called ``actuator1`` if that is unique in
# the robot, else ``<block>_actuator1``: in ros2_control all such actuators have the same name.


_IMPLIED = 'actuator1'


def add_implied_actuators(drafts: Sequence[XmlDraft], findings: Findings) -> None:
    """
    Add the implied actuators, in place: the last change of the drafts.

    :param drafts: All transmissions of the robot, with the rejected ones: correcting one must not
        rename the actuator of another.
    """
    names = Counter(name for draft in drafts for name in draft.rejection.actuators)
    names[_IMPLIED] += sum(draft.lacks_actuator for draft in drafts)
    for draft in drafts:
        if not draft.lacks_actuator or draft.is_rejected:
            continue
        spec, name = draft.spec, _IMPLIED
        if names[_IMPLIED] == 1:
            findings.add_info(spec, f"actuator '{name}' is implied")
        else:
            name, expected = f'{spec.block}_{_IMPLIED}', f"'{_IMPLIED}' unique in the robot"
            findings.add_warning(spec, f"actuator '{name}' is implied", expected, 'more than one')
        (joint,) = spec.joints  # another number is an error of the element
        actuator = MemberSpec(
            name=name,
            role=_IMPLIED,
            command_interfaces=joint.command_interfaces,
            state_interfaces=joint.state_interfaces,
            line=spec.line,
            path=spec.path,
        )
        draft.spec = replace(spec, actuators=(actuator,))
        draft.rejection = replace(draft.rejection, actuators=(name,))


# -- The table; docs/transmissions.md lists its rows --------------------------------------------
#
# An invalid value is an error and keeps its default; the block and its transmissions are used.

_ENABLED = XmlValue(
    'enable',
    read_boolean,
    'Whether the limits apply.',
    within='limits',
    field='limits_enabled',
    missing='<{tag}> without enable',
    expected='enable="true" or "false"',
)
_INITIAL = '<param name="initial_value">'


# An invalid bound is no limit, as in ros2_control.
_UNREAD = '{name} cannot be read and is ignored'
_bound = partial(XmlValue, read=read_number, place='param', unusable=_UNREAD, fault='ignored')
_INTERFACE = (
    NAME,
    XmlValue('size', partial(read_integer, least=1), 'Number of elements.'),
    XmlValue('data_type', str, 'Type of its value.'),
    XmlValue('initial_value', str, NOT_READ, place='ignored', expected=_INITIAL),
    XmlValue('initial_value', str, 'Its first value.', place='param'),
    _bound('min', meaning='Minimum; in a command interface it limits the joint.'),
    _bound('max', meaning='Maximum; in a command interface it limits the joint.'),
    _ENABLED,
)
_INTERFACES = tuple(
    XmlRow(tag, meaning, InterfaceSpec, _INTERFACE, (PARAM,), field=f'{tag}s', many=True)
    for tag, meaning in (
        ('command_interface', 'A quantity that can be commanded.'),
        ('state_interface', 'A quantity that is measured.'),
    )
)
_FOLLOWS = XmlValue('mimic', read_boolean, 'Whether it follows the `<mimic>` of the URDF.')
_COMPONENTS = tuple(
    XmlRow(
        tag,
        meaning,
        ComponentSpec,
        values,
        (*_INTERFACES, PARAM),
        field='components',
        many=True,
        twice=('ignored', 'the {tag} is declared twice in this block, the first one is used'),
        finish=_finish_component,
    )
    for tag, meaning, values in (
        ('joint', 'A joint of the URDF.', (NAME, _FOLLOWS, _ENABLED)),
        ('sensor', 'A sensor.', (NAME, _ENABLED)),
        ('gpio', 'Inputs and outputs.', (NAME,)),
    )
)
_DRIVER = (
    XmlValue('text', str, 'Its type.', place='text', within='plugin', field='plugin'),
    XmlValue('text', str, 'Its group.', place='text', within='group', field='group'),
)
_HARDWARE = XmlRow(
    'hardware',
    'The driver.',
    None,
    _DRIVER,
    (PARAM,),
    last_counts=True,
    finish=_finish_hardware,
)
_PROPERTIES = XmlRow('properties', 'Not read.', many=True)

_NO_TYPE = '<{tag}> without a type'
_BLOCK = (
    ANY_NAME,
    XmlValue(
        'type', str, '`system`, `actuator` or `sensor`.', may_be_empty=True, missing=_NO_TYPE
    ),
    XmlValue('is_async', read_boolean, 'Whether it has a thread of its own.'),
    XmlValue(
        'rw_rate', read_update_rate, 'Rate of its cycles [Hz]; 0: as the controller manager.'
    ),
)
ROS2_CONTROL = XmlRow(
    'ros2_control',
    'Hardware, its components and its transmissions.',
    Ros2ControlSpec,
    _BLOCK,
    (_HARDWARE, _PROPERTIES, ROS2_TRANSMISSION, *_COMPONENTS),
    many=True,
    unknown='error',
    ends='never',
    finish=_finish_block,
)
