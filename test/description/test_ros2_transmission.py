# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions inside ros2_control blocks, in the spellings of both drafts."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import re

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from transmission_bridge.description import (
    load_description,
    ParameterSpec,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.errors import DescriptionError

SIMPLE = '<plugin>transmission_interface/SimpleTransmission</plugin>'
DIFFERENTIAL = '<plugin>transmission_interface/DifferentialTransmission</plugin>'


def transmission(*inside: str, name: str = 't', plugin: str = SIMPLE) -> str:
    """Return a transmission element."""
    return f'<transmission name="{name}">{plugin}' + ''.join(inside) + '</transmission>'


def placeless(member: TransmissionEnd) -> TransmissionEnd:
    """Return a member without its place in the text."""
    return dataclasses.replace(member, line=None, path='')


def test_a_transmission_is_read_whole(block: Callable[..., str]) -> None:
    """Ratios, offsets, roles, flags, interfaces and parameters arrive as written."""
    text = block(
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
    robot = load_description(text, strict=True)
    assert robot.findings == ()
    spec = robot.transmission('t')
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


ACTUATOR = '<actuator name="a" role="actuator1"/>'


@pytest.mark.parametrize(
    'joint',
    [
        '<joint name="j1" role="joint1" mechanical_reduction="10">'
        '<mechanical_reduction>1e1</mechanical_reduction></joint>',
        '<joint name="j1" role="joint1"><mechanical_reduction>10</mechanical_reduction>'
        '<mechanical_reduction>10.0</mechanical_reduction></joint>',
        '<joint name="j1" role="joint1" mechanical_reduction="10"><role>joint1</role></joint>',
    ],
)
def test_the_same_value_twice_is_a_warning(block: Callable[..., str], joint: str) -> None:
    """Equal values cost nothing, in strict mode neither."""
    robot = load_description(block(transmission(joint, ACTUATOR)), strict=True)
    (finding,) = robot.findings
    assert finding.severity == 'warning'
    assert 'more than once' in finding.message
    assert robot.transmission('t').joints[0].mechanical_reduction == 10.0


def test_a_role_as_a_parameter_is_a_warning(block: Callable[..., str]) -> None:
    """No type reads roles; the right place is named, and strict mode refuses it."""
    text = block(
        transmission(
            '<joint name="j1" role="joint1"><param name="role">joint1</param></joint>', ACTUATOR
        )
    )
    (finding,) = load_description(text).findings
    assert (finding.severity, finding.expected) == ('warning', '<role>')
    with pytest.raises(DescriptionError, match='ignored'):
        load_description(text, strict=True)


@pytest.mark.parametrize('roles', [('Joint1', 'joint2'), ('Joint1', 'Joint2'), ('hip', 'JOINT2')])
def test_a_role_in_another_case_is_an_error(
    block: Callable[..., str], roles: tuple[str, str]
) -> None:
    """Document order would swap joints if the user meant roles; the right role is named."""
    robot = load_description(
        block(
            transmission(
                f'<joint name="j2" role="{roles[1]}"/>',
                f'<joint name="j1" role="{roles[0]}"/>',
                '<actuator name="b" role="actuator2"/>',
                '<actuator name="a" role="actuator1"/>',
                plugin=DIFFERENTIAL,
            )
        )
    )
    (finding,) = robot.findings
    assert finding.severity == 'error'
    assert 'only by case' in finding.message
    wrong = next(role for role in reversed(roles) if role != role.lower())
    assert (finding.expected, finding.found) == (f"'{wrong.lower()}'", f"'{wrong}'")
    assert robot.transmissions == ()


def test_a_missing_role_that_decides_nothing_is_a_warning(block: Callable[..., str]) -> None:
    """With one member on a side the transmission loads; ros2_control would refuse it."""
    text = block(transmission('<joint name="j1"/>', '<actuator name="a"><role/></actuator>'))
    robot = load_description(text)
    assert [finding.expected for finding in robot.findings] == [
        "role 'joint1'",
        "role 'actuator1'",
    ]
    assert {finding.severity for finding in robot.findings} == {'warning'}
    assert robot.transmission('t').joints[0].role == ''
    with pytest.raises(DescriptionError):
        load_description(text, strict=True)


def test_a_role_of_a_single_member_may_be_anything(block: Callable[..., str]) -> None:
    """Names of joints or other roles there are no finding."""
    robot = load_description(
        block(
            transmission(
                '<joint name="j1" role="tibia"/>', '<actuator name="a" role="actuator7"/>'
            )
        )
    )
    assert robot.findings == ()


@pytest.mark.parametrize(
    ('joint_role', 'actuator_role', 'said'),
    [
        ('joint1', 'joint1', "actuator 'a' has the role of a joint"),
        ('actuator1', 'actuator1', "joint 'j1' has the role of an actuator"),
    ],
)
def test_a_role_of_the_other_side_is_a_warning(
    block: Callable[..., str], joint_role: str, actuator_role: str, said: str
) -> None:
    """Also for a single member, for which the role has no effect."""
    members = (
        f'<joint name="j1" role="{joint_role}"/>',
        f'<actuator name="a" role="{actuator_role}"/>',
    )
    (finding,) = load_description(block(transmission(*members))).findings
    assert (finding.severity, finding.message) == ('warning', said)


def test_roles_that_are_no_roles_leave_document_order(block: Callable[..., str]) -> None:
    """Distinct roles that are not canonical are a warning; the other side is not affected."""
    robot = load_description(
        block(
            transmission(
                '<joint name="j2" role="hip"/>',
                '<joint name="j1" role="ankle"/>',
                '<actuator name="b" role="actuator2"/>',
                '<actuator name="a" role="actuator1"/>',
                plugin=DIFFERENTIAL,
            )
        )
    )
    (finding,) = robot.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', False)
    assert (finding.expected, finding.found) == ('joint1, joint2', "'hip', 'ankle'")
    spec = robot.transmission('t')
    assert [each.name for each in spec.joints] == ['j2', 'j1']
    assert [each.name for each in spec.actuators] == ['a', 'b']


def test_ten_roles_are_numbered_not_sorted_as_text(robot: Callable[..., str]) -> None:
    """actuator10 comes after actuator9."""
    numbers = [10, 2, 7, 1, 9, 3, 8, 4, 6, 5]
    members = ''.join(f'<actuator name="m{n}" role="actuator{n}"/>' for n in numbers)
    text = robot(
        '<ros2_control name="hw" type="system"><joint name="j1"/>'
        + transmission('<joint name="j1" role="joint1"/>', members)
        + '</ros2_control>'
    )
    spec = load_description(text).transmission('t')
    assert [each.name for each in spec.actuators] == [f'm{n}' for n in range(1, 11)]


def test_everything_else_is_for_the_plugin(block: Callable[..., str]) -> None:
    """Unknown elements and attributes are kept with all inside them, and are no findings."""
    robot = load_description(
        block(
            transmission(
                '<linkage kind="rod"><length unit="m">0.1</length><!-- --><pin/></linkage>',
                '<joint name="j1" role="joint1" sign="-1"><stop>2</stop>'
                '<param name="gain">3</param></joint>',
                ACTUATOR,
            )
        )
    )
    assert robot.findings == ()
    spec = robot.transmission('t')
    (linkage,) = spec.parameters
    assert (linkage.name, linkage.attributes) == ('linkage', (('kind', 'rod'),))
    assert [(each.name, each.value) for each in linkage.children] == [
        ('length', '0.1'),
        ('pin', ''),
    ]
    assert linkage.children[0].path == '/robot/ros2_control/transmission/linkage/length'
    assert linkage.children[0] == ParameterSpec(
        'length', '0.1', linkage.line, linkage.children[0].path, (('unit', 'm'),)
    )
    sign, stop, gain = spec.joints[0].parameters
    assert (sign.name, sign.value, sign.path.rpartition('/')[2]) == ('sign', '-1', '@sign')
    assert [(each.name, each.value) for each in (stop, gain)] == [('stop', '2'), ('gain', '3')]


@pytest.mark.parametrize(
    ('joint', 'actuator', 'component', 'expected'),
    [
        ('', '', '<command_interface name="position"/>', True),
        ('', '', '<state_interface name="position"/>', False),
        ('read_only="true"', '', '<command_interface name="position"/>', False),
        ('', 'read_only="true"', '<command_interface name="position"/>', False),
    ],
)
def test_what_can_be_commanded(
    block: Callable[..., str], joint: str, actuator: str, component: str, expected: bool
) -> None:
    """A command needs a joint with a command interface, and no read_only on its way."""
    text = block(
        transmission(
            f'<joint name="j1" role="joint1" {joint}/>',
            f'<actuator name="a" role="a" {actuator}/>',
        ),
        components=f'<joint name="j1">{component}</joint>',
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


def comparable(robot: RobotDescription) -> object:
    """Return everything but places and the order of equals."""

    def bare(spec: TransmissionSpec) -> TransmissionSpec:
        return dataclasses.replace(
            spec,
            joints=tuple(map(placeless, spec.joints)),
            actuators=tuple(map(placeless, spec.actuators)),
            parameters=tuple((each.name, each.value) for each in spec.parameters),
            line=None,
            path='',
        )

    return {spec.name: bare(spec) for spec in robot.transmissions}, {
        (each.name, each.type, each.parent, each.child, each.limits) for each in robot.joints
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(TEXT_PARTS), st.permutations(COMPONENT_PARTS), st.permutations(range(4)))
def test_the_order_of_elements_changes_nothing(
    robot: Callable[..., str], parts: list[str], components: list[str], order: list[int]
) -> None:
    """Members, plugin, components, joints and transmissions may come in any order."""
    inside = [
        transmission(*parts, plugin=''),
        transmission('<joint name="j3" role="joint1"/>', ACTUATOR, name='u'),
        ''.join(components[:2]),
        components[2],
    ]
    text = robot(
        '<ros2_control name="hw" type="system">'
        + ''.join(inside[number] for number in order)
        + '</ros2_control>'
    )
    lines = re.findall(r'<(?:link|joint name="j\d" type).*\n', text)
    shuffled = text
    for line in lines:
        shuffled = shuffled.replace(line, '')
    shuffled = shuffled.replace('</robot>', ''.join(reversed(lines)) + '</robot>')
    plain = robot(
        '<ros2_control name="hw" type="system">'
        + ''.join(COMPONENT_PARTS)
        + transmission(*TEXT_PARTS, plugin='')
        + transmission('<joint name="j3" role="joint1"/>', ACTUATOR, name='u')
        + '</ros2_control>'
    )
    reference = load_description(plain)
    assert reference.findings == ()
    assert len(reference.transmissions) == 2
    for variant in (text, shuffled):
        loaded = load_description(variant)
        assert loaded.findings == ()
        assert comparable(loaded) == comparable(reference)
