# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Measurements in wrong units contradict the limits of joints."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from world import World
from zoo.elements import load, ratio, transmission, urdf

from transmission_bridge.bridge import implausible
from transmission_bridge.bridge.diagnostics.inspection import BridgeWatch, Peers
from transmission_bridge.bridge.diagnostics.status import OK, WARN
from transmission_bridge.bridge.implausible import describe_joints_beyond
from transmission_bridge.bridge.inputs import TopicStatistics

#: Type and limits of a joint.
LIMIT = 'revolute lower="-1" upper="1" velocity="2" effort="1"'


@given(st.floats(-5.0, 5.0), st.floats(0.0, 5.0), st.floats(-20.0, 20.0))
def test_a_joint_beyond_its_limits_is_a_trouble_with_both_numbers(lower, extent, position):
    """More than 1 % of the range and 0.001 beyond: position and limits are in the sentence."""
    limits = np.array([[lower], [lower + extent]])
    found = describe_joints_beyond(['j'], np.array([position]), limits)
    beyond = max(lower - position, position - lower - extent)
    if abs(beyond - max(0.01 * extent, 1e-3)) > 1e-9:
        assert bool(found) is (beyond > max(0.01 * extent, 1e-3))
    for words in found.values():
        assert all(f'{number:.4g}' in words for number in (position, lower, lower + extent))
    open_ends = np.array([[-math.inf], [math.inf]])
    for at, ends in ((position, open_ends), (math.nan, limits)):
        assert not describe_joints_beyond(['j'], np.array([at]), ends)


@pytest.mark.parametrize(
    ('inside', 'limits'),
    [
        ('', [-1.0, 1.0]),
        # A command is limited further, a measurement is not.
        ('<command_interface name="position"><param name="max">0.5</param></command_interface>',
         [-1.0, 1.0]),
        ('<limits enable="false"/><command_interface name="position"/>', [-math.inf, math.inf]),
    ],
)  # fmt: skip
def test_limits_of_measurements(inside, limits):
    """They are the URDF's, unless the hardware disables them."""
    text = urdf({'j': LIMIT}, transmission('t', 'Simple', ['j'], ['m']))
    text = text.replace('<joint name="j"/>', f'<joint name="j">{inside}</joint>', 1)
    robot = load(text)
    assert implausible.compute_measured_limits(robot)[:, 0].tolist() == limits


def test_two_looks_beyond_a_limit_are_a_warning():
    """A joint has to be beyond its limit at two looks, one after the other."""
    gear = transmission('t', 'Simple', {'j': ratio(10)}, ['m'])
    world, found = World(urdf({'j': LIMIT}, gear)), []
    watch = BridgeWatch(world.bridge, {'s': TopicStatistics('s')}, ['s'])
    for position in (9.0, 11.0, 9.0, 9.0, 9.0, 9.0, 9.0, 11.0, 9.0, 11.0, 11.0, 10.05):
        world.now += 1.0
        world.state(['m'], 's', position=[position], velocity=[0.0])
        found.append(world.inspect(watch, inputs={'s': Peers('/s')})['joints'])
    assert [each.level for each in found] == [OK] * 10 + [WARN, OK]
    assert [fact.key for fact in found[-2].facts if fact.level] == ['position of j']
