# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions inside ros2_control blocks, in the spellings of both drafts."""

from __future__ import annotations

import dataclasses
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest
from zoo.four_joints import block, find_only, load_clean

from transmission_bridge.description import load_description, ParameterSpec
from transmission_bridge.errors import DescriptionError

SIMPLE = '<plugin>transmission_interface/SimpleTransmission</plugin>'
DIFFERENTIAL = '<plugin>transmission_interface/DifferentialTransmission</plugin>'
JOINT, ACTUATOR = '<joint name="j1" role="joint1"/>', '<actuator name="a" role="actuator1"/>'


def transmission(*inside, name='t', plugin=SIMPLE):
    """Return a transmission element."""
    return f'<transmission name="{name}">{plugin}' + ''.join(inside) + '</transmission>'


def two(first, second):
    """Return a robot with a differential, its members against their order, of these roles."""
    return block(
        transmission(
            f'<joint name="j2" role="{second}"/><joint name="j1" role="{first}"/>',
            '<actuator name="b" role="actuator2"/><actuator name="a" role="actuator1"/>',
            plugin=DIFFERENTIAL,
        )
    )


def test_a_transmission_is_read_whole():
    """Ratios, offsets, roles, flags, interfaces and parameters arrive as written."""
    loaded = load_clean(
        block(
            transmission(
                '<joint name="j2" role="joint2"><mechanical_reduction>-4</mechanical_reduction>'
                '<offset> -0.25 </offset></joint>',
                '<joint name="j1" role="joint1" read_only="True"/>',
                '<actuator name="m2" role="actuator2"><offset>1</offset></actuator>',
                '<actuator name="m1" role="actuator1" read_only="false">'
                '<mechanical_reduction>50</mechanical_reduction></actuator>',
                '<param name="k">v</param>',
                plugin=DIFFERENTIAL,
            )
        )
    )
    spec = loaded.transmission('t')
    assert spec.type == 'transmission_interface/DifferentialTransmission'
    assert (spec.dialect, spec.block, spec.can_command) == ('ros2_control', 'hw', True)
    assert spec.path == '/robot/ros2_control/transmission'
    assert [(each.name, each.value) for each in spec.parameters] == [('k', 'v')]
    j1, j2 = spec.joints
    m1, m2 = spec.actuators
    assert (j1.name, j1.mechanical_reduction, j1.offset, j1.read_only) == ('j1', 1.0, 0.0, True)
    assert j1.given == {'role', 'read_only'}
    assert (j2.name, j2.mechanical_reduction, j2.offset) == ('j2', -4.0, -0.25)
    assert j2.given == {'role', 'mechanical_reduction', 'offset'}
    assert j2.command_interfaces == ('position',)
    assert j2.state_interfaces == ('position', 'velocity')
    assert (m1.name, m1.mechanical_reduction, m1.read_only) == ('m1', 50.0, False)
    assert (m2.name, m2.offset, m2.command_interfaces) == ('m2', 1.0, ())


@pytest.mark.parametrize(
    ('attributes', 'inside'),
    [
        ('mechanical_reduction="10"', '<mechanical_reduction>1e1</mechanical_reduction>'),
        (
            '',
            '<mechanical_reduction>10</mechanical_reduction>'
            '<mechanical_reduction>10.0</mechanical_reduction>',
        ),
        ('mechanical_reduction="10"', '<role>joint1</role>'),
    ],
)
def test_the_same_value_twice_is_a_warning(attributes, inside):
    """Equal values cost nothing, in strict mode neither."""
    joint = f'<joint name="j1" role="joint1" {attributes}>{inside}</joint>'
    loaded, finding = find_only(block(transmission(joint, ACTUATOR)))
    assert (finding.severity, finding.fatal_if_strict) == ('warning', False)
    assert 'more than once' in finding.message
    assert (finding.expected, finding.found) == ('one value', 'the same again')
    assert loaded.transmission('t').joints[0].mechanical_reduction == 10.0


PARAMETER = '<joint name="j1" role="joint1"><param name="role">joint1</param></joint>'


@pytest.mark.parametrize(
    ('text', 'level', 'is_fatal', 'said', 'expected'),
    [
        # Document order would swap joints if the user meant roles.
        (two('Joint1', 'joint2'), 'error', True, 'only by case', "'joint1'"),
        (two('Joint1', 'Joint2'), 'error', True, 'only by case', "'joint2'"),
        (two('hip', 'JOINT2'), 'error', True, 'only by case', "'joint2'"),
        (two('ankle', 'hip'), 'warning', False, '', 'joint1, joint2'),
        (block(transmission(PARAMETER, ACTUATOR)), 'warning', True, 'ignored', '<role>'),
        (
            block(transmission(JOINT, ACTUATOR.replace('actuator1', 'joint1'))),
            'warning',
            None,
            "actuator 'a' has the role of a joint",
            '',
        ),
        (
            block(transmission(JOINT.replace('joint1', 'actuator1'), ACTUATOR)),
            'warning',
            None,
            "joint 'j1' has the role of an actuator",
            '',
        ),
    ],
)
def test_odd_roles(text, level, is_fatal, said, expected):
    """The right role is named; what loads is in the order of the document."""
    loaded, finding = find_only(text)
    assert finding.severity == level
    assert is_fatal in (None, finding.fatal_if_strict)
    assert said in finding.message
    assert expected in finding.expected
    assert [each.name for each in loaded.transmissions] == ['t'] * (level == 'warning')
    if expected == 'joint1, joint2':
        assert finding.found == "'hip', 'ankle'"
        spec = loaded.transmission('t')
        assert [each.name for each in spec.joints] == ['j2', 'j1']
        assert [each.name for each in spec.actuators] == ['a', 'b']


def test_a_single_member_needs_no_role():
    """It loads with a warning without one; ros2_control would refuse it. It may be any name."""
    text = block(transmission('<joint name="j1"/>', '<actuator name="a"><role/></actuator>'))
    loaded = load_description(text)
    assert [(each.severity, each.expected) for each in loaded.findings] == [
        ('warning', "role 'joint1'"),
        ('warning', "role 'actuator1'"),
    ]
    assert loaded.transmission('t').joints[0].role == ''
    with pytest.raises(DescriptionError):
        load_description(text, strict=True)
    any_names = '<joint name="j1" role="tibia"/><actuator name="a" role="actuator7"/>'
    load_clean(block(transmission(any_names)))


def test_ten_roles_are_numbered_not_sorted_as_text():
    """actuator10 comes after actuator9."""
    numbers = [10, 2, 7, 1, 9, 3, 8, 4, 6, 5]
    members = ''.join(f'<actuator name="m{n}" role="actuator{n}"/>' for n in numbers)
    spec = load_clean(block(transmission(JOINT, members))).transmission('t')
    assert [each.name for each in spec.actuators] == [f'm{n}' for n in range(1, 11)]


def test_everything_else_is_for_the_plugin():
    """Unknown elements and attributes are kept with all inside them, and are no findings."""
    spec = load_clean(
        block(
            transmission(
                '<linkage kind="rod"><length unit="m">0.1</length><!-- --><pin/></linkage>',
                '<joint name="j1" role="joint1" sign="-1"><stop>2</stop>'
                '<param name="gain">3</param></joint>',
                ACTUATOR,
            )
        )
    ).transmission('t')
    (linkage,) = spec.parameters
    assert (linkage.name, linkage.attributes) == ('linkage', (('kind', 'rod'),))
    length, pin = linkage.children
    assert (pin.name, pin.value) == ('pin', '')
    path = '/robot/ros2_control/transmission/linkage/length'
    assert length == ParameterSpec('length', '0.1', linkage.line, path, (('unit', 'm'),))
    sign, stop, gain = spec.joints[0].parameters
    assert (sign.name, sign.value, sign.path.rpartition('/')[2]) == ('sign', '-1', '@sign')
    assert [(each.name, each.value) for each in (stop, gain)] == [('stop', '2'), ('gain', '3')]


@pytest.mark.parametrize(
    ('joint', 'actuator', 'interface', 'expected'),
    [
        ('', '', 'command', True),
        ('', '', 'state', False),
        ('read_only="true"', '', 'command', False),
        ('', 'read_only="true"', 'command', False),
    ],
)
def test_what_can_be_commanded(joint, actuator, interface, expected):
    """A command needs a joint with a command interface, and no read_only on its way."""
    text = block(
        transmission(
            f'<joint name="j1" role="joint1" {joint}/>',
            f'<actuator name="a" role="a" {actuator}/>',
        ),
        components=f'<joint name="j1"><{interface}_interface name="position"/></joint>',
    )
    assert load_description(text).transmission('t').can_command is expected


TEXT_PARTS = [
    '<joint name="j1" role="joint1"><mechanical_reduction>2</mechanical_reduction>'
    '<offset>0.5</offset></joint>',
    '<joint name="j2" role="joint2"><mechanical_reduction>-2</mechanical_reduction></joint>',
    '<actuator name="m1" role="actuator1" mechanical_reduction="50"/>',
    '<actuator name="m2" role="actuator2"/>',
    DIFFERENTIAL,
    '<param name="p">1</param>',
]
COMPONENT_PARTS = [
    f'<joint name="j{number}"><command_interface name="position"/></joint>' for number in (1, 2, 3)
]
OTHER = transmission('<joint name="j3" role="joint1"/>', ACTUATOR, name='u')


def comparable(loaded):
    """Return everything but places and the order of equals."""

    def placeless(members):
        return tuple(dataclasses.replace(each, line=None, path='') for each in members)

    def bare(spec):
        return dataclasses.replace(
            spec,
            joints=placeless(spec.joints),
            actuators=placeless(spec.actuators),
            parameters=tuple((each.name, each.value) for each in spec.parameters),
            line=None,
            path='',
        )

    return {spec.name: bare(spec) for spec in loaded.transmissions}, {
        (each.name, each.type, each.parent, each.child, each.limits) for each in loaded.joints
    }


@given(st.permutations(TEXT_PARTS), st.permutations(COMPONENT_PARTS), st.permutations(range(4)))
def test_the_order_of_elements_changes_nothing(parts, components, order):
    """Members, plugin, components, joints and transmissions may come in any order."""

    def build(parts, components, order):
        inside = [transmission(*parts, plugin=''), OTHER, ''.join(components[:2]), components[2]]
        return block(*(inside[number] for number in order), components='')

    text = build(parts, components, order)
    lines = re.findall(r'<(?:link|joint name="j\d" type).*\n', text)
    shuffled = text
    for line in lines:
        shuffled = shuffled.replace(line, '')
    shuffled = shuffled.replace('</robot>', ''.join(reversed(lines)) + '</robot>')
    reference = load_clean(build(TEXT_PARTS, COMPONENT_PARTS, range(4)))
    assert len(reference.transmissions) == 2
    for variant in (text, shuffled):
        assert comparable(load_clean(variant)) == comparable(reference)
