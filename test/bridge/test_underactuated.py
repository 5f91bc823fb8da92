# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Fewer actuators than joints: a command to some joints is solved for these alone."""

from __future__ import annotations

import importlib.metadata

from command_paths import Commands
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import (
    Domain,
    PositionDependentTransmission,
    Registry,
    RobotTransmissions,
)
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

#: One motor, three joints: q = C a / 20 + off.
FINGER = RobotTransmissions(
    load_description(
        """<robot name="hand"><ros2_control name="fingers" type="system">
<joint name="near"/><joint name="middle"/><joint name="far"/>
<transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
<param name="joint1">1.0</param><param name="joint2">0.8</param><param name="joint3">0.5</param>
<joint name="near" role="joint1"><offset>0.1</offset></joint>
<joint name="middle" role="joint2"/><joint name="far" role="joint3"/>
<actuator name="motor" role="actuator1"><mechanical_reduction>20</mechanical_reduction></actuator>
</transmission></ros2_control></robot>"""
    )
)
RATIO = {'near': 1.0, 'middle': 0.8, 'far': 0.5}
OFFSET = {'near': 0.1, 'middle': 0.0, 'far': 0.0}
VALUES = st.floats(-10, 10)


def command(path, **fields):
    """Return the motor's numbers by interface for commands given as {joint: value}."""
    names = tuple(dict.fromkeys(name for values in fields.values() for name in values))
    arrays = [
        np.array([fields[field].get(name, np.nan) for name in names])
        if field in fields
        else np.empty(0)
        for field in ('position', 'velocity', 'effort')
    ]
    record = JointStateRecord((1, 0), '', names, *arrays)
    layout = Layout(record.names, record.lengths)
    (sent,) = path.command(layout, record, np.full(3, np.nan), (1, 0))
    assert sent.names == ('motor',)
    return {
        field: getattr(sent, field)[0]
        for field in ('position', 'velocity', 'effort')
        if len(getattr(sent, field))
    }


@pytest.mark.parametrize('policy', ['hold', 'reject'])
@pytest.mark.parametrize('joint', sorted(RATIO))
@given(value=VALUES)
def test_one_joint_goes_where_it_was_told(policy, joint, value):
    """By hand: a = 20 (q - off) / c, a' = 20 q' / c, and tau_a = c tau / 20 for that joint."""
    path = Commands(FINGER, partial_commands=policy, limits='off')
    ratio = RATIO[joint]
    assert command(path, position={joint: value})['position'] == pytest.approx(
        20 * (value - OFFSET[joint]) / ratio, rel=1e-13, abs=1e-12
    )
    assert command(path, velocity={joint: value})['velocity'] == pytest.approx(
        20 * value / ratio, rel=1e-13, abs=1e-12
    )
    assert command(path, effort={joint: value})['effort'] == pytest.approx(
        ratio * value / 20, rel=1e-13, abs=1e-13
    )


@given(near=VALUES, far=VALUES)
def test_several_joints_are_met_as_well_as_can_be(near, far):
    """By hand: the least squares of both, whatever the middle joint did before."""
    path = Commands(FINGER, limits='off')
    command(path, position={'near': 1.0, 'middle': -5.0, 'far': 3.0})
    expected = 20 * (1.0 * (near - 0.1) + 0.5 * far) / (1.0**2 + 0.5**2)
    sent = command(path, position={'near': near, 'far': far})
    assert sent['position'] == pytest.approx(expected, rel=1e-12, abs=1e-11)


def test_tuning_counts():
    """After a change of the motor's reduction, the joint still reaches its command."""
    path = Commands(FINGER, limits='off')
    assert command(path, position={'middle': 0.4})['position'] == pytest.approx(10.0)
    path.use(
        FINGER.with_parameters(
            {'finger': {'actuators': {'motor': {'mechanical_reduction': -40.0}}}}
        )
    )
    assert command(path, position={'middle': 0.4})['position'] == pytest.approx(-20.0)


class Bent(PositionDependentTransmission):
    """One motor bends a finger with a lagging second joint: ``q = (a, sin(a))``."""

    api_version = 2

    def __init__(self):
        super().__init__(Domain('actuator', (0.1,), (1.2,)))

    @classmethod
    def from_spec(cls, reader):
        """Build it."""
        return cls()

    def evaluate(self, x):
        """Return the angles and their slopes."""
        slopes = np.stack([np.ones_like(x), np.cos(x)], axis=-2)
        return np.concatenate([x, np.sin(x)], axis=-1), slopes


def test_ratio_that_varies(monkeypatch):
    """If the ratio also varies, joints are commanded all or none, and all of them end."""
    entry = importlib.metadata.EntryPoint('me/Bent', f'{__name__}:Bent', ENTRY_POINT_GROUP)
    monkeypatch.setattr(importlib.metadata.EntryPoint, 'load', lambda self: Bent)
    robot = RobotTransmissions(
        load_description(
            """<robot name="hand"><ros2_control name="fingers" type="system">
<joint name="near"/><joint name="far"/>
<transmission name="finger"><plugin>me/Bent</plugin>
<joint name="near" role="joint1"/><joint name="far" role="joint2"/>
<actuator name="motor" role="actuator1"/></transmission></ros2_control></robot>"""
        ),
        registry=Registry([entry]),
    )
    path = Commands(robot, timeout=1.0)
    angles = np.array([0.5, np.sin(0.5)])
    slopes = np.array([1.0, np.cos(0.5)])

    def send(interface, names, values, now):
        (sent,) = path.command_interface(
            interface, names, np.array(values), angles, (1, 0), source='x', now=now
        )
        return getattr(sent, interface).tolist()

    for interface in ('position', 'velocity', 'effort'):
        for name in ('near', 'far'):
            with pytest.raises(MessageError, match='too few actuators') as caught:
                send(interface, (name,), [0.3], 0.0)
            assert caught.value.reason == 'partial'
    both = ('near', 'far')
    assert send('position', both, angles, 0.0) == pytest.approx([0.5], rel=1e-12)
    assert send('velocity', both, 0.2 * slopes, 0.0) == pytest.approx([0.2], rel=1e-12)
    (ended,) = path.expire(angles, (2, 0), 1.5)
    assert ended.velocity.tolist() == [0.0]


def test_plugin_that_fails(monkeypatch):
    """A type of few actuators that fails costs its own joints, and others can be commanded."""

    def put_bug(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(CoupledTransmission, 'jacobian', put_bug)
    robot = RobotTransmissions(FINGER.robot)
    path = Commands(robot)
    record = JointStateRecord((1, 0), '', ('near',), np.ones(1), np.empty(0), np.empty(0))
    with pytest.raises(MessageError) as caught:
        path.command(Layout(record.names, record.lengths), record, np.zeros(3), (1, 0))
    assert caught.value.reason == 'partial'
