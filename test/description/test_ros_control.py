# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ROS 1 transmissions, and the style of the PR2 before them."""

from __future__ import annotations

import pytest
from zoo.four_joints import find_only, load_clean, robot

from transmission_bridge.description import load_description

INTERFACE = '<hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface>'
JOINT = f'<joint name="j1">{INTERFACE}</joint>'
ACTUATOR = '<actuator name="a"><mechanicalReduction>50</mechanicalReduction></actuator>'
SIMPLE = '<type>transmission_interface/SimpleTransmission</type>'
DIFFERENTIAL = '<type>transmission_interface/DifferentialTransmission</type>'


def transmission(*inside, kind=SIMPLE, attributes=''):
    """Return a transmission element."""
    return f'<transmission name="t"{attributes}>{kind}' + ''.join(inside) + '</transmission>'


def two(extra1='', extra2=''):
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


def test_a_transmission_is_read_whole():
    """Ratios of actuators and joints, offsets and interfaces arrive in role order."""
    spec = load_clean(robot(two())).transmission('t')
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


@pytest.mark.parametrize(
    ('interfaces', 'can_command'),
    [
        (['hardware_interface/JointStateInterface'], False),
        (['JointStateInterface'], False),
        (['JointStateInterface', '', ' hardware_interface/EffortJointInterface '], True),
        (['my_package/OwnInterface'], True),
    ],
)
def test_joint_state_interfaces_cannot_command(interfaces, can_command):
    """Interfaces are kept in order, empty ones skipped; one for states alone cannot command."""
    inside = ''.join(f'<hardwareInterface>{each}</hardwareInterface>' for each in interfaces)
    text = robot(transmission(f'<joint name="j1">{inside}</joint>', ACTUATOR))
    spec = load_description(text).transmission('t')
    kept = tuple(each.strip() for each in interfaces if each)
    assert spec.joints[0].command_interfaces == kept
    assert spec.can_command is can_command


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
def test_the_absolute_encoder_flag_counts_by_presence(first, second, expected, findings):
    """It is set if every joint has it, with any text; odd uses are reported."""
    loaded = load_description(robot(two(first, second)))
    assert loaded.transmission('t').ignore_absolute_encoder is expected
    assert [finding.severity for finding in loaded.findings] == ['warning'] * findings


@pytest.mark.parametrize(
    ('joint', 'attributes', 'expected'),
    [
        # ROS 1 skips a joint without an interface, reads the role's element and the type's.
        ('<joint name="j1"/>', '', '<hardwareInterface>'),
        (JOINT.replace('"j1"', '"j1" role="joint1"'), '', '<role>'),
        (JOINT, ' type="SimpleTransmission"', ''),
    ],
)
def test_what_ros1_takes_otherwise_is_a_warning(joint, attributes, expected):
    """The right spelling is named, what is written does not count, and strict mode refuses it."""
    loaded, finding = find_only(robot(transmission(joint, ACTUATOR, attributes=attributes)))
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert expected in finding.expected
    spec = loaded.transmission('t')
    assert (spec.joints[0].role, spec.parameters, spec.can_command) == ('', (), True)
    assert finding.path.startswith('/robot/transmission')


@pytest.mark.parametrize(
    ('actuator', 'found'),
    [
        (
            '<actuator name="a"><mechanical_reduction>50</mechanical_reduction></actuator>',
            "'50' in mechanical_reduction",
        ),
        ('<actuator name="a" mechanicalReduction="50"/>', "'50' in @mechanicalReduction"),
        ('<actuator name="a"><gear>50</gear></actuator>', 'none'),
    ],
)
def test_what_stands_in_place_of_a_missing_ratio_is_named(actuator, found):
    """The error shows the misplaced number; what is refused keeps the names that it had."""
    loaded, error = find_only(robot(transmission(JOINT, actuator)))
    assert (error.expected, error.found) == ('the ratio inside <actuator>', found)
    (rejected,) = loaded.rejected
    assert (rejected.name, rejected.dialect) == ('t', 'ros_control')
    assert rejected.type == 'transmission_interface/SimpleTransmission'
    assert (rejected.joints, rejected.actuators) == (('j1',), ('a',))
    assert rejected.path == '/robot/transmission'


def test_everything_else_is_for_the_plugin():
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
    (own,) = spec.joints[0].parameters
    assert (own.name, own.value) == ('saturationLower', '0.0')
    assert spec.parameters[0].attributes == (('arm', '0.1'),)


def test_only_direct_children_of_the_robot_count():
    """Elements inside Gazebo and other elements are ignored."""
    nested = transmission(JOINT, ACTUATOR)
    loaded = load_clean(robot(f'<gazebo>{nested}</gazebo>', f'<group>{nested}</group>'))
    assert loaded.transmissions == loaded.rejected == ()


PR2 = '<transmission name="t" type="{}">{}</transmission>'
RATIO = '<mechanicalReduction>-79.2</mechanicalReduction>'


@pytest.mark.parametrize('package', ['', 'pr2_mechanism_model/', 'transmission_interface/'])
@pytest.mark.parametrize(
    'inside',
    [
        f'<actuator name="a"/><joint name="j1"/>{RATIO}',
        f'{RATIO}<joint name="j1"/><actuator name="a"/>',
        f'<joint name="j1"/><actuator name="a">{RATIO}</actuator>',
    ],
)
def test_the_simple_transmission_of_the_pr2_is_read_whole(package, inside):
    """Its ratio is the actuator's, its type is ROS 1's, and it is reported."""
    loaded, finding = find_only(robot(PR2.format(f'{package}SimpleTransmission', inside)))
    assert finding.severity == 'info'
    spec = loaded.transmission('t')
    assert spec.type == 'transmission_interface/SimpleTransmission'
    assert (spec.dialect, spec.can_command, spec.parameters) == ('ros_control', True, ())
    (actuator,) = spec.actuators
    assert (actuator.name, actuator.mechanical_reduction) == ('a', -79.2)
    assert 'mechanical_reduction' in actuator.given
    assert spec.joints[0].mechanical_reduction == 1.0


def test_the_joints_of_a_refused_wrist_are_lost_with_it():
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
