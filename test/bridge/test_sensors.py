# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders and torque sensors."""

from pathlib import Path
import re

import numpy as np
import pytest
from state_paths import record
from world import reason
from zoo.elements import load

from transmission_bridge.bridge.options.options import AUTO, BridgeOptions
from transmission_bridge.bridge.states.states import SensorPath
from transmission_bridge.messages.records import Layout

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
PLAIN, FLAGGED = (ROBOT.format(flag=flag) for flag in ('', '<ignoreTransmissionAbsoluteEncoder/>'))


def roles(robot):
    """Return the interfaces that pass by role, by transmission."""
    return {each.spec.name: each.by_role for each in robot.bindings if each.by_role}


class Sensors:
    """The sensors of an interface: absolute encoders, or torque sensors."""

    def __init__(self, interface, text=PLAIN, **options):
        self._field = {'absolute_position': 'position', 'torque': 'effort'}[interface]
        self.path = SensorPath(load(text), interface, self._field, BridgeOptions(**options))

    def measure(self, names, *values, now=0.0):
        """Return what a message becomes, as a dictionary of the field that it fills."""
        message = record(names, **{self._field: values})
        layout = Layout(message.names, message.lengths)
        joints = self.path.map_sensors(layout, message, np.full(2, np.nan), (3, 4), now)
        if joints is None:
            return None
        assert joints.stamp == (3, 4)
        rows = ('position', 'velocity', 'effort')
        assert [row for row in rows if len(getattr(joints, row))] == [self._field]
        return dict(zip(joints.names, getattr(joints, self._field).tolist(), strict=True))


@pytest.mark.parametrize(
    ('interface', 'by_role', 'expected'),
    [
        # By hand: pitch = (left/50 - right/20) / 4 + 0.5, roll = (left/50 + right/20) / 2 + 0.25;
        # pitch = 2 (50 left - 20 right), roll = 50 left + 20 right.
        ('absolute_position', '', {'pitch': 0.75, 'roll': 1.75}),
        ('torque', '', {'pitch': 9200.0, 'roll': 5400.0}),
        # joint1 reads actuator1; ROS 1 exchanges the two.
        ('absolute_position', 'flag', {'pitch': 100.0, 'roll': 20.0}),
        ('absolute_position', 'ignore_absolute_encoder', {'pitch': 100.0, 'roll': 20.0}),
        ('torque', 'ignore_torque_sensor', {'pitch': 100.0, 'roll': 20.0}),
    ],
)
def test_sensors_are_mapped_or_pass_by_role(interface, by_role, expected):
    """The flag of the description is a parameter; until both have spoken nothing is published."""
    sensors = Sensors(interface, FLAGGED if by_role == 'flag' else PLAIN)
    if by_role.startswith('ignore'):
        sensors.path.replace_robot(load(PLAIN).with_parameters({f'wrist.{by_role}': True}))
    assert sensors.measure(['left'], 100.0) == ({'pitch': 100.0} if by_role else None)
    assert sensors.measure(['right', 'left'], 20.0, 100.0) == pytest.approx(expected, rel=1e-14)
    assert sensors.measure(['right'], 20.0) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ('param', 'interface'),
    [('ignore_absolute_encoder', 'absolute_position'), ('ignore_torque_sensor', 'torque')],
)
def test_the_description_says_that_sensors_are_at_the_joints(linkages, param, interface):
    """By a ``<param>`` of the transmission in both dialects; passive joints have no sensor."""
    flag = f'<param name="{param}">true</param></transmission>'
    text = PLAIN.replace('</transmission>', flag)
    ros1 = load(text, strict=True)
    assert roles(ros1) == {'wrist': {interface}}
    assert [finding.severity for finding in ros1.findings] == ['info']
    text = linkages['five_bar'].replace('</transmission>', flag)
    ros2 = load(text, strict=True, passive_joints='all')
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
    by_role, other = (load(f'<robot name="r">{text}</robot>') for text in (ros2, ros1))
    assert roles(by_role) == {'forearm': {'absolute_position', 'torque'}}
    assert roles(other) == {'upper_arm': {'absolute_position'}}
    flags = {'ignore_absolute_encoder': False, 'ignore_torque_sensor': False}
    mapped = by_role.with_parameters({'forearm': flags})
    rows = re.findall(r'^\| (?:encoder|torque sensor) at .*$', page, re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        interface = 'torque' if 'torque' in row else 'absolute_position'
        value, *expected = (float(cell.strip(' *')) for cell in row.split('|')[2:-1])
        found = [each.actuator_to_joint(interface, [value])[0] for each in (mapped, by_role)]
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ('names', 'why'),
    [(['left', 'left'], 'duplicate_name'), ([], 'foreign'), (['gripper'], 'foreign')],
)
def test_a_message_that_cannot_be_used_changes_nothing(names, why):
    """It is refused, and older numbers are not repeated; what was known stays."""
    sensors = Sensors('torque')
    before = sensors.measure(['left', 'right'], 3.0, 4.0)
    assert reason(sensors.measure, names, *[9.0] * len(names)) == why
    assert sensors.measure(['left'], 3.0) == before


@pytest.mark.parametrize('timeout', [0.0, AUTO])
def test_time_that_goes_backwards_forgets_the_sensors(timeout):
    """Their numbers are unknown at once, and also when that time comes again."""
    sensors = Sensors('absolute_position', FLAGGED, state_timeout=timeout)
    path, both, unknown = sensors.path, ['left', 'right'], np.full(2, np.nan)
    sensors.measure(both, 1.0, 2.0, now=100.0)
    assert path.find_joint_values(unknown, 100.0, 5.0).tolist() == [1.0, 2.0]
    path.record_time(10.0)
    for now in (10.0, 60.0, 100.5):
        assert np.isnan(path.find_joint_values(unknown, now, 5.0)).all()
    sensors.measure(both, 1.0, 2.0, now=101.0)
    assert np.isnan(path.find_joint_values(unknown, 11.0, 5.0)).all()


def test_a_sensor_is_known_up_to_the_age_that_is_asked_for():
    """Each sensor by its own last message, though it does not time out."""
    sensors = Sensors('absolute_position', FLAGGED, state_timeout=0.0)
    sensors.measure(['left'], 1.0, now=100.0)
    sensors.measure(['right'], 2.0, now=103.0)
    for age, expected in ((5.0, [1.0, 2.0]), (2.0, [np.nan, 2.0]), (0.5, [np.nan, np.nan])):
        np.testing.assert_array_equal(sensors.path.find_actuator_values(104.0, age), expected)
