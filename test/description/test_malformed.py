# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One file per malformed description, each with one good transmission beside the bad one.

The comment ``<!-- here -->`` is on the line that the finding has to name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError

FOLDER = Path(__file__).parents[1] / 'data' / 'description'

#: File, element path, and what the message holds.
TABLE = """
pr2_gripper | ROS1 | style of the PR2
pr2_no_reduction | ROS1 | style of the PR2
pr2_reduction_in_joint | ROS1 | style of the PR2
pr2_reduction_zero | ROS1/mechanicalReduction | <mechanicalReduction> is not usable
pr2_two_joints | ROS1 | style of the PR2
pr2_two_reductions | ROS1 | style of the PR2
pr2_wrist | ROS1 | style of the PR2
ros1_actuator_commanded_twice | ROS1/actuator | the actuator is already commanded
ros1_joint_driven_twice | ROS1/joint | the joint is already driven
ros1_joint_reduction_not_a_number | ROS1/joint/mechanicalReduction | mechanicalReduction is not usable
ros1_joint_unknown | ROS1/joint | the robot has no joint 'j9'
ros1_joint_without_name | ROS1/joint | <joint> without a name
ros1_no_actuator | ROS1 | no actuator in the transmission
ros1_no_joint | ROS1 | no joint in the transmission
ros1_no_name | ROS1 | <transmission> without a name
ros1_no_type | ROS1 | <type> is missing
ros1_offset_not_a_number | ROS1/joint/offset | offset is not usable
ros1_plugin_for_type | ROS1 | <type> is missing
ros1_reduction_as_attribute | ROS1/actuator | <mechanicalReduction> is missing
ros1_reduction_empty | ROS1/actuator/mechanicalReduction | mechanicalReduction is not usable
ros1_reduction_in_joint_only | ROS1/actuator | <mechanicalReduction> is missing
ros1_reduction_missing | ROS1/actuator | <mechanicalReduction> is missing
ros1_reduction_not_a_number | ROS1/actuator/mechanicalReduction | mechanicalReduction is not usable
ros1_reduction_snake_case | ROS1/actuator | <mechanicalReduction> is missing
ros1_reduction_under_transmission | ROS1/actuator | <mechanicalReduction> is missing
ros1_reduction_zero | ROS1/actuator/mechanicalReduction | mechanicalReduction is not usable
ros1_role_doubled | ROS1/actuator[2] | actuator 'a2': the role is already taken
ros1_role_half_canonical | ROS1/joint[1] | joint 'j1': the role differs from a canonical role only by case
ros1_role_missing | ROS1/joint[2] | joint 'j2': the role is missing
ros1_two_reductions_differ | ROS1/actuator/mechanicalReduction[2] | mechanicalReduction is given more than once
ros2_actuator_commanded_twice | ROS2/actuator | the actuator is already commanded
ros2_actuator_reduction_zero | ROS2/actuator/mechanical_reduction | mechanical_reduction is not usable
ros2_actuator_twice_in_one | ROS2/actuator[2] | actuator twice in one transmission
ros2_actuator_without_name | ROS2/actuator | <actuator> without a name
ros2_attribute_and_child_differ | ROS2/joint/mechanical_reduction | mechanical_reduction is given more than once
ros2_attribute_reduction_not_a_number | ROS2/joint | mechanical_reduction is not usable
ros2_empty_plugin | ROS2 | <plugin> is missing
ros2_implied_for_two_joints | /robot/ros2_control[2]/transmission | an actuator is implied only for exactly one joint
ros2_joint_driven_twice | ROS2/joint | the joint is already driven
ros2_joint_fixed | ROS2/joint | joint 'j1' cannot be moved by a transmission
ros2_joint_floating | ROS2/joint | joint 'j1' cannot be moved by a transmission
ros2_joint_not_in_block | ROS2/joint | the joint is not declared in this <ros2_control> block
ros2_joint_not_in_urdf | ROS2/joint | the robot has no joint 'j9'
ros2_joint_twice_in_one | ROS2/joint[2] | joint twice in one transmission
ros2_joint_without_name | ROS2/joint | <joint> without a name
ros2_name_taken | ROS2 | the name of the transmission is taken
ros2_no_actuator | ROS2 | no actuator in the transmission
ros2_no_joint | ROS2 | no joint in the transmission
ros2_no_name | ROS2 | <transmission> without a name
ros2_no_plugin | ROS2 | <plugin> is missing
ros2_offset_not_a_number | ROS2/joint/offset | offset is not usable
ros2_read_only_not_boolean | ROS2/joint | read_only is not usable
ros2_reduction_decimal_comma | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_empty | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_hexadecimal | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_infinite | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_nan | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_negative_zero | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_not_a_number | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_overflow | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_trailing_text | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_two_numbers | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_underflow | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_underscore | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_reduction_zero | ROS2/joint/mechanical_reduction | mechanical_reduction is not usable
ros2_role_doubled | ROS2/actuator[2] | actuator 'a2': the role is already taken
ros2_role_empty | ROS2/joint[1] | joint 'j1': the role is missing
ros2_role_half_canonical | ROS2/joint[2] | only some joint roles are canonical
ros2_role_missing | ROS2/joint[2] | joint 'j2': the role is missing
ros2_role_out_of_range | ROS2/joint[2] | only some joint roles are canonical
ros2_two_plugins | ROS2/plugin[2] | plugin is given more than once
ros2_two_reductions_differ | ROS2/joint/mechanical_reduction[2] | mechanical_reduction is given more than once
ros2_two_roles_differ | ROS2/joint/role | role is given more than once
ros2_type_for_plugin | ROS2 | <plugin> is missing
urdf_axis_two_numbers | JOINT/axis | xyz of <axis> is not usable
urdf_axis_zero | JOINT/axis | the joint axis has no direction
urdf_dynamics_infinite | JOINT/dynamics | damping of <dynamics> is not usable
urdf_joint_type_missing | JOINT | joint without a type
urdf_joint_type_unknown | JOINT | unknown joint type
urdf_limit_not_a_number | JOINT/limit | upper of <limit> is not usable
urdf_mimic_without_joint | JOINT/mimic | <mimic> without a joint
urdf_origin_comma | JOINT/origin | xyz of <origin> is not usable
"""  # noqa: E501
PLACES = {
    'ROS1': '/robot/transmission[2]',
    'ROS2': '/robot/ros2_control/transmission[2]',
    'JOINT': '/robot/joint[1]',
}


def expected():
    """Return path and message by file."""
    rows = (line.split(' | ') for line in TABLE.strip().split('\n'))
    places = ((name, path.partition('/'), said) for name, path, said in rows)
    return {
        name: (PLACES.get(first, first) + slash + rest, said)
        for name, (first, slash, rest), said in places
    }


EXPECTED = expected()


def test_every_file_is_in_the_table():
    """No malformed description lies about untested."""
    assert {path.stem for path in FOLDER.glob('*.urdf')} == set(EXPECTED)


@pytest.mark.parametrize('name', sorted(EXPECTED))
def test_one_cause_is_one_error_and_costs_one_transmission(name):
    """It names line, path, expected and found, strict mode raises it, the other one loads."""
    text = (FOLDER / f'{name}.urdf').read_text(encoding='utf-8')
    robot = load_description(text)
    before, _, _ = text.partition('<!-- here -->')
    finding, *later = robot.errors
    path, message = EXPECTED[name]
    assert (finding.line, finding.path) == (before.count('\n') + 1, path)
    assert message in finding.message
    assert finding.expected
    assert finding.found
    # A joint that is lost costs its transmission too.
    for error in later:
        assert (finding.subject, error.subject) == ('j1', 'bad')
        assert "joint 'j1' of line" in error.message
    assert len(later) == name.startswith('urdf_')
    assert [each.name for each in robot.transmissions] == ['good']
    (rejected,) = robot.rejected
    assert rejected.name == (
        '' if 'no_name' in name else 'good' if 'name_taken' in name else 'bad'
    )
    first = next(each for each in robot.findings if each.severity != 'info')
    with pytest.raises(DescriptionError) as caught:
        load_description(text, strict=True)
    error = caught.value
    assert (error.message, error.line, error.path) == (first.message, first.line, first.path)
    assert (error.expected, error.found) == (first.expected, first.found)
