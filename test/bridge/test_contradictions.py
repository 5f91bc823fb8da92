# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Measurements in wrong units contradict the limits of joints."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from world import World
from zoo.elements import maps, ratio, transmission, urdf

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge import contradictions
from transmission_bridge.bridge.contradictions import describe_joints_beyond
from transmission_bridge.bridge.diagnostics.inspection import BridgeWatch, Look, Peers
from transmission_bridge.bridge.diagnostics.status import OK, WARN
from transmission_bridge.bridge.inputs import TopicStatistics

#: A joint that reaches 1 rad at 2 rad/s, and a motor with a gear of 10; units inside the motor.
LIMIT = 'revolute lower="-1" upper="1" velocity="2" effort="1"'


def make_robot(inside='', limit=LIMIT):
    """Return the maps of one joint and one motor."""
    return maps({'j': limit}, transmission('t', 'Simple', {'j': ratio(10)}, {'m': inside}))


# -- limits --------------------------------------------------------------------------------------


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
    robot = RobotTransmissions(load_description(text))
    assert contradictions.compute_measured_limits(robot)[:, 0].tolist() == limits


# -- the whole way -------------------------------------------------------------------------------


class Watched(World):
    """A bridge with one driver in its units, and its diagnostics."""

    def __init__(self, inside='', **options):
        super().__init__(make_robot(inside), **options)
        self._watch = BridgeWatch(self.bridge, {'s': TopicStatistics('s')}, ['s'])

    def run(self, position, velocity, seconds=4):
        """Send functions of the time, and return the statuses of the joints, one a second."""
        statuses, begun = [], self.now
        outputs = {name: Peers(name) for name in ('actuator_commands', 'actuator_trajectory')}
        for step in range(1, 100 * seconds + 1):
            self.now = begun + 0.01 * step
            at = self.now - 100.0
            self.state(['m'], 's', position=[position(at)], velocity=[velocity(at)])
            if not step % 100:
                look = Look(self.now, 1.0, 1.0)
                found = self._watch.inspect_bridge(look, {'s': Peers('/s')}, outputs, [], {})
                statuses += [each for each in found if each.name == 'joints']
        return statuses


UNITS = '<param name="position_unit">{}</param><param name="velocity_unit">{}</param>'


@pytest.mark.parametrize(
    ('inside', 'unit', 'speed_unit', 'kind'),
    [
        (UNITS.format('turn', 'rpm'), 1.0 / math.tau, 60.0 / math.tau, None),
        # Radians where turns were declared: the joint is far beyond its limits.
        (UNITS.format('turn', 'turn/s'), 1.0, 1.0, 'position of j'),
    ],
)  # fmt: skip
def test_wrong_units_are_a_warning(inside, unit, speed_unit, kind):
    """A driver that sends other units than declared is a warning, others are none."""
    statuses = Watched(inside).run(
        lambda t: 8.0 * math.sin(t) * unit, lambda t: 8.0 * math.cos(t) * speed_unit, seconds=6
    )
    assert max(each.level for each in statuses) == (WARN if kind else OK)
    found = {fact.key for each in statuses for fact in each.facts if fact.level}
    assert found == ({kind} if kind else set())


def test_one_reading_beyond_a_limit_is_no_trouble():
    """A joint has to be beyond its limit at two looks, one after the other."""
    watched = Watched()
    looks = [
        watched.run(lambda t, at=at: at, lambda t: 0.0, seconds=1)[0].level
        for at in (9.0, 11.0, 9.0, 9.0, 9.0, 9.0, 9.0, 11.0, 9.0, 11.0, 11.0, 10.05)
    ]
    assert looks == [OK] * 10 + [WARN, OK]
