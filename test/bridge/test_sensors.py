# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders and torque sensors."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest

from transmission_bridge.bridge.states import SensorPath
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import RobotTransmissions

#: A differential in the ROS 1 dialect, joint2 listed first.
ROBOT = """<robot name="r"><transmission name="wrist">
<type>transmission_interface/DifferentialTransmission</type>
<actuator name="left"><role>actuator1</role>
  <mechanicalReduction>50</mechanicalReduction></actuator>
<actuator name="right"><role>actuator2</role>
  <mechanicalReduction>-20</mechanicalReduction></actuator>
<joint name="roll"><role>joint2</role><offset>0.25</offset>{flag}
  <hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface></joint>
<joint name="pitch"><role>joint1</role><offset>0.5</offset>
  <mechanicalReduction>2</mechanicalReduction>{flag}
  <hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface></joint>
</transmission></robot>"""
FLAG = '<ignoreTransmissionAbsoluteEncoder/>'


def robot_with(flag=''):
    """Return the maps of the robot."""
    return RobotTransmissions(load_description(ROBOT.format(flag=flag)))


def roles(robot):
    """Return the interfaces that pass by role, by transmission."""
    return {each.spec.name: each.by_role for each in robot.bindings if each.by_role}


def measure(path, names, position=(), effort=()):
    """Return what a message becomes, as a dictionary of the field that it fills."""
    record = JointStateRecord(
        (3, 4), '', tuple(names), np.array(position, float), np.empty(0), np.array(effort, float)
    )
    layout = Layout(record.names, record.lengths)
    joints = path.map_sensors(layout, record, np.full(2, np.nan), (3, 4))
    if joints is None:
        return None
    assert joints.stamp == (3, 4)
    assert not len(joints.velocity)
    values = joints.position if len(joints.position) else joints.effort
    return dict(zip(joints.names, values.tolist(), strict=True))


def test_absolute_positions_are_mapped_as_positions():
    """By hand: pitch = (left/50 - right/20) / 4 + 0.5, roll = (left/50 + right/20) / 2 + 0.25."""
    path = SensorPath(robot_with(), 'absolute_position', 'position')
    joints = measure(path, ['right', 'left'], position=[20.0, 100.0])
    assert joints == pytest.approx({'pitch': 0.75, 'roll': 1.75}, rel=1e-14)


def test_ignored_absolute_encoders_pass_by_role():
    """With the flag in both joints joint1 reads actuator1; ROS 1 exchanges the two."""
    path = SensorPath(robot_with(FLAG), 'absolute_position', 'position')
    assert measure(path, ['right', 'left'], position=[20.0, 100.0]) == {
        'pitch': 100.0,
        'roll': 20.0,
    }


def test_the_flag_is_a_parameter():
    """The same robot with the parameter set maps as if the URDF had the flag, and back."""
    path = SensorPath(robot_with(), 'absolute_position', 'position')
    path.replace_maps(robot_with().with_parameters({'wrist': {'ignore_absolute_encoder': True}}))
    assert measure(path, ['left', 'right'], position=[7.0, 8.0]) == {'pitch': 7.0, 'roll': 8.0}


def test_torque_sensors_at_the_joints_pass_by_role():
    """The flag is for these sensors alone: encoders, efforts and commands are mapped as before."""
    mapped = robot_with()
    ignoring = mapped.with_parameters({'wrist.ignore_torque_sensor': True})
    path = SensorPath(ignoring, 'torque', 'effort')
    assert measure(path, ['right', 'left'], effort=[4.0, 3.0]) == {'pitch': 3.0, 'roll': 4.0}
    values = np.array([3.0, 4.0])
    for interface in ('effort', 'absolute_position'):
        both = [each.actuator_to_joint(interface, values) for each in (mapped, ignoring)]
        np.testing.assert_array_equal(*both)
    both = [each.joint_to_actuator('torque', values) for each in (mapped, ignoring)]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    ('param', 'interface'),
    [('ignore_absolute_encoder', 'absolute_position'), ('ignore_torque_sensor', 'torque')],
)
def test_the_description_says_that_sensors_are_at_the_joints(linkages, param, interface):
    """By a ``<param>`` of the transmission in both dialects; passive joints have no sensor."""
    flag = f'<param name="{param}">true</param></transmission>'
    ros1 = RobotTransmissions(
        load_description(ROBOT.format(flag='').replace('</transmission>', flag), strict=True)
    )
    assert roles(ros1) == {'wrist': {interface}}
    assert [finding.severity for finding in ros1.findings] == ['info']
    text = linkages['five_bar'].replace('</transmission>', flag)
    ros2 = RobotTransmissions(load_description(text, strict=True), passive_joints='all')
    found = ros2.actuator_to_joint(interface, [0.1, 0.2])
    assert dict(zip(ros2.joint_names, found.tolist(), strict=True)) == pytest.approx(
        {'hip': 0.1, 'knee': 0.2, 'knee_crank': np.nan, 'knee_rod': np.nan}, nan_ok=True
    )


def test_the_worked_example_of_the_documents():
    """Each row of the table is what both settings publish; both dialects have the same robot."""
    page = (Path(__file__).parents[2] / 'docs/commands_and_states.md').read_text(encoding='utf-8')
    page = page.split('## Absolute encoders and torque sensors')[1].split('\n## ')[0]
    ros2, ros1 = re.findall(r'```xml\n(.*?)```', page, re.DOTALL)
    joints = '<joint name="forearm_joint"><command_interface name="position"/></joint>'
    ros2 = f'<ros2_control name="b" type="system">{joints}{ros2}</ros2_control>'
    by_role, other = (
        RobotTransmissions(load_description(f'<robot name="r">{text}</robot>'))
        for text in (ros2, ros1)
    )
    assert roles(by_role) == {'forearm': {'absolute_position', 'torque'}}
    assert roles(other) == {'upper_arm': {'absolute_position'}}
    mapped = by_role.with_parameters(
        {'forearm': {'ignore_absolute_encoder': False, 'ignore_torque_sensor': False}}
    )
    rows = re.findall(r'^\| (?:encoder|torque sensor) at .*$', page, re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        interface = 'torque' if 'torque' in row else 'absolute_position'
        value, *expected = (float(cell.strip(' *')) for cell in row.split('|')[2:-1])
        found = [each.actuator_to_joint(interface, [value])[0] for each in (mapped, by_role)]
        assert found == pytest.approx(expected, rel=1e-12)


def test_torques_are_mapped_as_efforts():
    """By hand: pitch = 2 (50 left - 20 right), roll = 50 left + 20 right."""
    path = SensorPath(robot_with(), 'torque', 'effort')
    joints = measure(path, ['left', 'right'], effort=[3.0, 4.0])
    assert joints == pytest.approx({'pitch': 140.0, 'roll': 230.0}, rel=1e-14)


def test_one_sensor_is_not_enough_for_coupled_joints():
    """Until both encoders have spoken nothing is published; then the newest of both counts."""
    path = SensorPath(robot_with(), 'absolute_position', 'position')
    assert measure(path, ['left'], position=[100.0]) is None
    assert measure(path, ['right'], position=[20.0]) == pytest.approx(
        {'pitch': 0.75, 'roll': 1.75}, rel=1e-14
    )


def test_a_message_that_cannot_be_used_changes_nothing():
    """A name given twice is refused; what was known stays."""
    path = SensorPath(robot_with(), 'torque', 'effort')
    before = measure(path, ['left', 'right'], effort=[3.0, 4.0])
    with pytest.raises(MessageError):
        measure(path, ['left', 'left'], effort=[9.0, 9.0])
    assert measure(path, ['left'], effort=[3.0]) == before


@pytest.mark.parametrize('names', [[], ['gripper']])
def test_a_message_of_no_actuator_measures_nothing(names):
    """One that names no actuator of the robot is refused, and older numbers are not repeated."""
    path = SensorPath(robot_with(), 'torque', 'effort')
    before = measure(path, ['left', 'right'], effort=[3.0, 4.0])
    with pytest.raises(MessageError) as caught:
        measure(path, names, effort=[9.0] * len(names))
    assert caught.value.reason == 'foreign'
    assert measure(path, ['left'], effort=[3.0]) == before
