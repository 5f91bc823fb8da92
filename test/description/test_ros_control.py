# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ROS 1 transmissions, and the style of the PR2 before them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError

INTERFACE = '<hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface>'
JOINT = f'<joint name="j1">{INTERFACE}</joint>'
ACTUATOR = '<actuator name="a"><mechanicalReduction>50</mechanicalReduction></actuator>'
SIMPLE = '<type>transmission_interface/SimpleTransmission</type>'
DIFFERENTIAL = '<type>transmission_interface/DifferentialTransmission</type>'


def transmission(*inside: str, kind: str = SIMPLE, attributes: str = '') -> str:
    """Return a transmission element."""
    return f'<transmission name="t"{attributes}>{kind}' + ''.join(inside) + '</transmission>'


def two(extra1: str = '', extra2: str = '') -> str:
    """Return a differential with elements in reverse role order."""
    return transmission(
        f'<joint name="j2"><role>joint2</role>{extra2}{INTERFACE}</joint>',
        f'<joint name="j1"><role> joint1 </role><offset>0.5</offset>'
        f'<mechanicalReduction>2</mechanicalReduction>{extra1}{INTERFACE}</joint>',
        '<actuator name="m2"><role>actuator2</role><mechanicalReduction>-20</mechanicalReduction>'
        '</actuator>',
        '<actuator name="m1"><role>actuator1</role><mechanicalReduction>50</mechanicalReduction>'
        '<hardwareInterface>EffortJointInterface</hardwareInterface></actuator>',
        kind=DIFFERENTIAL,
    )


def test_a_transmission_is_read_whole(robot: Callable[..., str]) -> None:
    """Ratios of actuators and joints, offsets and interfaces arrive in role order."""
    loaded = load_description(robot(two()), strict=True)
    assert loaded.findings == ()
    spec = loaded.transmission('t')
    assert (spec.dialect, spec.block, spec.can_command) == ('ros_control', '', True)
    assert spec.type == 'transmission_interface/DifferentialTransmission'
    j1, j2 = spec.joints
    m1, m2 = spec.actuators
    assert (j1.name, j1.role, j1.mechanical_reduction, j1.offset) == ('j1', 'joint1', 2.0, 0.5)
    assert j1.given == {'role', 'mechanical_reduction', 'offset'}
    assert (j2.name, j2.mechanical_reduction, j2.offset) == ('j2', 1.0, 0.0)
    assert j2.given == {'role'}
    assert (m1.name, m1.mechanical_reduction) == ('m1', 50.0)
    assert (m2.name, m2.mechanical_reduction) == ('m2', -20.0)
    assert m1.command_interfaces == ('EffortJointInterface',)
    assert m2.command_interfaces == ()
    assert j1.parameters == j2.parameters == spec.parameters == ()


def test_several_interfaces_are_kept_in_order(robot: Callable[..., str]) -> None:
    """Empty ones are skipped."""
    joint = (
        '<joint name="j1"><hardwareInterface>A</hardwareInterface><hardwareInterface/>'
        '<hardwareInterface> B </hardwareInterface></joint>'
    )
    spec = load_description(robot(transmission(joint, ACTUATOR))).transmission('t')
    assert spec.joints[0].command_interfaces == ('A', 'B')


def test_no_interface_is_a_warning(robot: Callable[..., str]) -> None:
    """ROS 1 skips such a joint; nothing here needs the interface, and it can be commanded."""
    text = robot(transmission('<joint name="j1"/>', ACTUATOR))
    loaded = load_description(text)
    (finding,) = loaded.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert finding.expected == '<hardwareInterface>'
    assert loaded.transmission('t').can_command


@pytest.mark.parametrize(
    ('interfaces', 'expected'),
    [
        (['hardware_interface/JointStateInterface'], False),
        (['JointStateInterface'], False),
        (
            ['hardware_interface/JointStateInterface', 'hardware_interface/EffortJointInterface'],
            True,
        ),
        (['my_package/OwnInterface'], True),
    ],
)
def test_joint_state_interfaces_cannot_command(
    robot: Callable[..., str], interfaces: list[str], expected: bool
) -> None:
    """A joint that only has its state taken is not commanded."""
    inside = ''.join(f'<hardwareInterface>{each}</hardwareInterface>' for each in interfaces)
    text = robot(transmission(f'<joint name="j1">{inside}</joint>', ACTUATOR))
    assert load_description(text).transmission('t').can_command is expected


FLAG = '<ignoreTransmissionAbsoluteEncoder>{}</ignoreTransmissionAbsoluteEncoder>'


@pytest.mark.parametrize(
    ('first', 'second', 'expected', 'findings'),
    [
        ('', '', False, 0),
        (FLAG.format('true'), FLAG.format('1'), True, 0),
        (FLAG.format(''), FLAG.format(''), True, 0),
        (FLAG.format('false'), FLAG.format('true'), True, 1),
        (FLAG.format('true'), '', False, 1),
    ],
)
def test_the_absolute_encoder_flag_counts_by_presence(
    robot: Callable[..., str], first: str, second: str, expected: bool, findings: int
) -> None:
    """It is set if every joint has it, with any text; odd uses are reported."""
    loaded = load_description(robot(two(first, second)))
    assert loaded.transmission('t').ignore_absolute_encoder is expected
    assert len(loaded.findings) == findings
    assert {finding.severity for finding in loaded.findings} <= {'warning'}


def test_a_role_as_an_attribute_is_a_warning(robot: Callable[..., str]) -> None:
    """The right spelling is named, the value does not count, and strict mode refuses it."""
    text = robot(transmission(f'<joint name="j1" role="joint1">{INTERFACE}</joint>', ACTUATOR))
    loaded = load_description(text)
    (finding,) = loaded.findings
    assert (finding.severity, finding.expected) == ('warning', '<role>')
    assert loaded.transmission('t').joints[0].role == ''
    with pytest.raises(DescriptionError):
        load_description(text, strict=True)


def test_what_stands_in_place_of_a_missing_ratio_is_named(robot: Callable[..., str]) -> None:
    """If the ratio of an actuator is missing, the error shows the misplaced number."""
    for actuator, found in (
        ('<actuator name="a"><mechanical_reduction>50</mechanical_reduction></actuator>',
         "'50' in mechanical_reduction"),
        ('<actuator name="a" mechanicalReduction="50"/>', "'50' in @mechanicalReduction"),
        ('<actuator name="a"><gear>50</gear></actuator>', 'none'),
    ):  # fmt: skip
        (error,) = load_description(robot(transmission(JOINT, actuator))).findings
        assert (error.expected, error.found) == ('the ratio inside <actuator>', found)


def test_a_type_as_an_attribute_beside_one_is_a_warning(robot: Callable[..., str]) -> None:
    """ROS 1 reads the element."""
    text = robot(transmission(JOINT, ACTUATOR, attributes=' type="SimpleTransmission"'))
    loaded = load_description(text)
    (finding,) = loaded.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert finding.path == '/robot/transmission'
    assert loaded.transmission('t').parameters == ()


def test_everything_else_is_for_the_plugin(robot: Callable[..., str]) -> None:
    """Third-party transmissions find their own elements, as a hand's reducer does."""
    text = robot(
        transmission(
            f'<joint name="j1">{INTERFACE}<saturationLower>0.0</saturationLower></joint>',
            ACTUATOR,
            '<lever arm="0.1"/>',
            kind='<type>hand/Reducer</type>',
        )
    )
    spec = load_description(text, strict=True).transmission('t')
    assert [(each.name, each.value) for each in spec.joints[0].parameters] == [
        ('saturationLower', '0.0')
    ]
    assert spec.parameters[0].attributes == (('arm', '0.1'),)


def test_only_direct_children_of_the_robot_count(robot: Callable[..., str]) -> None:
    """Elements inside Gazebo and other elements are ignored."""
    nested = transmission(JOINT, ACTUATOR)
    loaded = load_description(robot(f'<gazebo>{nested}</gazebo>', f'<group>{nested}</group>'))
    assert loaded.transmissions == loaded.rejected == loaded.findings == ()


PR2 = '<transmission name="t" type="{}">{}</transmission>'


@pytest.mark.parametrize(
    'kind',
    [
        'SimpleTransmission',
        'pr2_mechanism_model/SimpleTransmission',
        'transmission_interface/SimpleTransmission',
    ],
)
@pytest.mark.parametrize(
    'inside',
    [
        '<actuator name="a"/><joint name="j1"/><mechanicalReduction>-79.2</mechanicalReduction>',
        '<mechanicalReduction>-79.2</mechanicalReduction><joint name="j1"/><actuator name="a"/>',
        '<joint name="j1"/><actuator name="a"><mechanicalReduction>-79.2</mechanicalReduction>'
        '</actuator>',
    ],
)
def test_the_simple_transmission_of_the_pr2_is_read_whole(
    robot: Callable[..., str], kind: str, inside: str
) -> None:
    """Its ratio is the actuator's, its type is ROS 1's, and it is reported."""
    loaded = load_description(robot(PR2.format(kind, inside)), strict=True)
    (finding,) = loaded.findings
    assert finding.severity == 'info'
    spec = loaded.transmission('t')
    assert (spec.type, spec.dialect) == (
        'transmission_interface/SimpleTransmission',
        'ros_control',
    )
    (actuator,) = spec.actuators
    assert (actuator.name, actuator.mechanical_reduction) == ('a', -79.2)
    assert 'mechanical_reduction' in actuator.given
    assert spec.joints[0].mechanical_reduction == 1.0
    assert spec.can_command
    assert spec.parameters == ()


def test_what_is_refused_is_still_named(robot: Callable[..., str]) -> None:
    """A transmission that is lost keeps the names that could be read."""
    (rejected,) = load_description(robot(transmission(JOINT, '<actuator name="a"/>'))).rejected
    assert (rejected.name, rejected.dialect) == ('t', 'ros_control')
    assert rejected.type == 'transmission_interface/SimpleTransmission'
    assert (rejected.joints, rejected.actuators) == (('j1',), ('a',))
    assert rejected.path == '/robot/transmission'


def test_the_joints_of_a_refused_wrist_are_lost_with_it(robot: Callable[..., str]) -> None:
    """Names in <flexJoint>, <gap_joint> and their like count as driven by the refused block."""
    text = robot(
        PR2.format(
            'WristTransmission',
            '<rightActuator name="r"/><leftActuator name="l"/><flexJoint name="j1"/>'
            '<passive_joint name="j2"/><use_simulated_joint/>',
        )
    )
    (rejected,) = load_description(text).rejected
    assert rejected.joints == ('j1', 'j2')
    assert rejected.actuators == ('r', 'l')
