# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints that a description only measures are not commanded."""

from __future__ import annotations

from functools import partial

from command_paths import Commands
import numpy as np
import pytest

from transmission_bridge.bridge.command_plan import find_command_names
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import EMPTY

TREE = """<robot name="r"><link name="base"/><link name="l"/><joint name="elbow" type="continuous">
<parent link="base"/><child link="l"/></joint>{}</robot>"""
ROS1 = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
<joint name="elbow">{}</joint>
<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>"""
ROS2 = """<ros2_control name="b" type="system"><joint name="elbow">{}</joint>
<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
<joint name="elbow" role="joint1"/><actuator name="m" role="actuator1"/></transmission>
</ros2_control>"""
STATE = '<hardwareInterface>hardware_interface/JointStateInterface</hardwareInterface>'
EFFORT = '<hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>'


@pytest.mark.parametrize(
    ('dialect', 'interfaces', 'is_commanded'),
    [
        (ROS1, STATE, False),
        (ROS1, STATE + EFFORT, True),
        (ROS1, '', True),
        (ROS2, '<state_interface name="position"/>', False),
        (ROS2, '<command_interface name="effort"/>', True),
        (ROS2, '', True),
    ],
)
def test_a_joint_with_state_interfaces_alone_is_not_commanded(dialect, interfaces, is_commanded):
    """In both dialects; without any interface a joint is not only measured."""
    robot = RobotTransmissions(load_description(TREE.format(dialect.format(interfaces))))
    assert ('elbow' in find_command_names(robot).commandable) == is_commanded
    path = Commands(robot)
    record = JointStateRecord((1, 0), '', ('elbow',), np.array([0.5]), EMPTY, EMPTY)
    command = partial(path.command, Layout(record.names, record.lengths), record, np.zeros(1))
    if is_commanded:
        assert command((1, 0))
    else:
        with pytest.raises(MessageError, match=r'elbow.*its transmission only reads'):
            command((1, 0))
