# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Single cases found by the state machine of test_promises.py."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

EMPTY = np.empty(0)


def simple(name, reduction=1.0, motor=''):
    """Return a joint that its motor moves."""
    return f"""<transmission name="t_{name}">
<plugin>transmission_interface/SimpleTransmission</plugin>
<actuator name="m_{name}" role="actuator1">{motor}</actuator>
<joint name="{name}" role="joint1"><mechanical_reduction>{reduction}</mechanical_reduction></joint>
</transmission>"""


FINGER = """<transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
<param name="joint1">1.0</param><param name="joint2">0.5</param>
<joint name="near" role="joint1"/><joint name="far" role="joint2"/>
<actuator name="motor" role="actuator1"/></transmission>"""

LIMITED = '<limit lower="-1" upper="1" velocity="9" effort="9"/>'


class Robot:
    """
    A bridge of joints from -1 to 1.

    :ivar sent: Messages to the drivers.
    """

    def __init__(self, joints, transmissions, **options):
        moved = ''.join(
            f'<link name="l_{name}"/><joint name="{name}" type="revolute"><parent link="base"/>'
            f'<child link="l_{name}"/>{LIMITED}</joint>'
            for name in joints
        )
        text = (
            f'<robot name="r"><link name="base"/>{moved}<ros2_control name="h" type="system">'
            f'{"".join(f"<joint name={name!r}/>" for name in joints)}{transmissions}'
            '</ros2_control></robot>'
        )
        self.robot = RobotTransmissions(load_description(text, strict=True))
        self.sent, self._layouts = [], LayoutTable()
        self.bridge = Bridge(self.robot, BridgeOptions(**options), self.sent.extend)

    def _record(self, names, rows):
        arrays = [np.array(rows[row]) if row in rows else EMPTY for row in ('p', 'v')]
        record = JointStateRecord((1, 0), '', tuple(names), *arrays, EMPTY)
        return self._layouts.find_layout(record.names, record.lengths), record

    def measure(self, now, **positions):
        """Publish positions of actuators."""
        layout, record = self._record(positions, {'p': list(positions.values())})
        self.bridge.states.merge_message('actuator_states', layout, record, (1, 0), now)

    def command(self, now, row, **values):
        """Command joints; return what was sent, by topic."""
        self.sent.clear()
        layout, record = self._record(values, {row: list(values.values())})
        self.bridge.send_joint_command(layout, record, (1, 0), now)
        return {each.topic: each.content for each in self.sent}

    def trajectory(self, now, start, names, points):
        """Send a trajectory of waypoints (seconds, positions, velocities)."""
        waypoints = [
            Waypoint((0, int(t * 1e9)), np.array(p), np.array(v), EMPTY, EMPTY)
            for t, p, v in points
        ]
        record = TrajectoryRecord((0, 0), '', tuple(names), tuple(waypoints))
        return self.bridge.send_joint_trajectory(record, now, start)


def test_mean_speed_of_a_driver_in_turns_and_rpm():
    """A motor of 10 rad/s at 10:1 may move its joint by 0.09 rad in 0.1 s, not by 0.11 rad."""
    units = """<param name="position_unit">turn</param><param name="velocity_unit">rpm</param>
<limit velocity="10"/>"""
    robot = Robot(['a'], simple('a', 10.0, units))
    robot.trajectory(0.0, 0.0, ['a'], [(0.1, [0.0], []), (0.2, [0.09], [])])
    with pytest.raises(MessageError) as caught:
        robot.trajectory(0.0, 0.0, ['a'], [(0.1, [0.0], []), (0.2, [0.11], [])])
    assert caught.value.reason == 'actuator_limit'


@pytest.mark.parametrize('deactivated', [False, True])
def test_position_from_before_time_went_back_is_not_used_when_time_has_passed_it(deactivated):
    """A wrist joint is completed by the position of its partner, which is of a minute ago."""
    differential = """<transmission name="wrist">
<plugin>transmission_interface/DifferentialTransmission</plugin>
<actuator name="left" role="actuator1"><mechanical_reduction>1</mechanical_reduction></actuator>
<actuator name="right" role="actuator2"><mechanical_reduction>1</mechanical_reduction></actuator>
<joint name="roll" role="joint1"/><joint name="pitch" role="joint2"/></transmission>"""
    joints = ['roll', 'pitch', 'a']
    robot = Robot(joints, differential + simple('a'), state_timeout=1.0)
    robot.measure(100.0, left=0.2, right=0.2)
    robot.command(100.0, 'p', roll=0.1)
    robot.bridge.end_expired_commands((1, 0), 40.0)
    if deactivated:
        robot.bridge.send_stop((1, 0), 40.0)
        robot.bridge.reset()
    robot.measure(100.4, m_a=0.0)
    with pytest.raises(MessageError) as caught:
        robot.command(100.5, 'p', roll=0.1)
    assert caught.value.reason == 'partial'


def test_velocity_of_a_trajectory_that_has_not_started_ends_when_time_goes_back():
    """Its driver may still start it."""
    robot = Robot(['a'], simple('a'))
    robot.trajectory(100.0, 101.0, ['a'], [(0.5, [], [0.5])])
    robot.sent.clear()
    robot.bridge.end_expired_commands((1, 0), 40.0)
    (ended,) = robot.sent
    assert ended.content.names == ('m_a',)
    assert ended.content.velocity.tolist() == [0.0]


@pytest.mark.parametrize('route', ['command', 'trajectory'])
def test_one_motor_does_not_move_a_joint_further_out_for_the_others(route):
    """Near is beyond its limit and commanded inward, but far, which counts more, outward."""
    robot = Robot(['near', 'far'], FINGER)
    robot.measure(0.0, motor=1.05)
    if route == 'command':
        sent = robot.command(0.0, 'v', near=-0.1, far=0.5)['actuator_commands'].velocity
    else:
        way = robot.trajectory(0.0, 0.0, ['near', 'far'], [(0.5, [], [-0.1, 0.5])])
        sent = way.points[0].velocities
    assert sent.tolist() == [0.0]


def test_array_repeats_no_velocity_that_would_now_lead_further_out():
    """One joint came beyond its limit since it was commanded; then another one is commanded."""
    motors = ('m_a', 'm_b')
    robot = Robot(['a', 'b'], simple('a') + simple('b'), command_actuators=motors)
    robot.measure(0.0, m_a=0.95, m_b=0.0)
    robot.command(0.0, 'v', a=0.5)
    robot.command(0.1, 'v', b=0.25)
    robot.measure(0.2, m_a=1.05, m_b=0.0)
    sent = robot.command(0.2, 'v', b=0.25)
    assert sent['actuator_velocity_commands'].tolist() == [0.0, 0.25]
    robot.measure(0.3, m_a=0.95, m_b=0.0)
    sent = robot.command(0.3, 'v', b=0.25)
    assert sent['actuator_velocity_commands'].tolist() == [0.5, 0.25]


def test_velocity_in_force_ends_when_time_goes_back_before_a_forgotten_trajectory():
    """Its driver was silent, so that the positions are forgotten: it has nothing to end itself."""
    robot = Robot(['a'], simple('a'), command_timeout=0.0, state_timeout=1.0)
    robot.measure(100.0, m_a=0.0)
    robot.command(100.0, 'v', a=0.5)
    robot.trajectory(100.0, 110.0, ['a'], [(0.5, [0.2], [])])
    robot.bridge.end_expired_commands((1, 0), 102.0)
    robot.sent.clear()
    robot.bridge.end_expired_commands((1, 0), 40.0)
    (ended,) = robot.sent
    assert ended.content.velocity.tolist() == [0.0]
