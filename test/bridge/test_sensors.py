# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders and torque sensors."""

from __future__ import annotations

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


def measure(path, names, position=(), effort=()):
    """Return what a message becomes, as a dictionary of the field that it fills."""
    record = JointStateRecord(
        (3, 4), '', tuple(names), np.array(position, float), np.empty(0), np.array(effort, float)
    )
    layout = Layout(record.names, record.lengths)
    joints = path.map(layout, record, np.full(2, np.nan), (3, 4))
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
    path.use(robot_with().with_parameters({'wrist': {'ignore_absolute_encoder': True}}))
    assert measure(path, ['left', 'right'], position=[7.0, 8.0]) == {'pitch': 7.0, 'roll': 8.0}


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
