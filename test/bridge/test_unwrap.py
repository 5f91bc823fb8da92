# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Single-turn encoders, against turns that are counted by whoever makes the motion."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.turns import find_wrap_periods, Unwrapper
from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable

PERIOD = 2.0 * math.pi
#: Moves between two messages, in periods: less than half a turn.
MOVES = st.lists(st.floats(-0.499, 0.499), min_size=1, max_size=40)
#: Values of a driver that cannot read its encoder.
NONSENSE = st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e308, 1e20])


def wrapped(position, period, lowest):
    """Return the reading of an encoder with readings from ``lowest``."""
    return lowest + (position - lowest) % period


def message(**positions):
    """Return a state of some actuators."""
    names = tuple(positions)
    nothing = np.empty(0)
    return JointStateRecord((1, 0), '', names, np.array([*positions.values()]), nothing, nothing)


class Driver:
    """Sends positions to a state path that takes the first reading as it is."""

    def __init__(self, robot, wrap_period, **options):
        self.path = state_path(robot, wrap_period=wrap_period, unknown_turn='first', **options)
        self._layouts = LayoutTable()

    def send(self, source='driver', now=0.0, **positions):
        """Send a message, and return what is known of the actuators' positions."""
        record = message(**positions)
        layout = self._layouts.find_layout(record.names, record.lengths)
        self.path.merge_message(source, layout, record, record.stamp, now)
        return self.path.merged.read_values(now)[0]


@given(moves=MOVES, period=st.floats(1e-3, 1e3), lowest=st.sampled_from([0.0, -0.5, -3.0]))
def test_turns_are_counted(moves, period, lowest):
    """Positions go on over any number of turns while each message is less than half a turn on."""
    unwrap = Unwrapper([period])
    true = period * np.cumsum([0.3, *moves])
    found = []
    for each in true:
        positions = np.array([wrapped(each, period, lowest * period)])
        unwrap(positions)
        found.append(positions[0])
    # The first reading is taken as it is: it may be whole turns away.
    turns = (found[0] - true[0]) / period
    assert abs(turns - round(turns)) < 1e-12
    assert np.allclose(found - true, round(turns) * period, rtol=0.0, atol=1e-11 * period)


@given(moves=MOVES, nonsense=st.lists(NONSENSE, min_size=1, max_size=3), data=st.data())
def test_nonsense_is_unknown_and_forgets_nothing(moves, nonsense, data):
    """A NaN reading makes the position unknown, and the next reading restores it."""
    plain, disturbed = Unwrapper([PERIOD]), Unwrapper([PERIOD])
    for true in PERIOD * np.cumsum(moves):
        if data.draw(st.booleans()):
            for reading in nonsense:
                wrong = np.array([reading])
                disturbed(wrong)
                assert not np.isfinite(wrong).any()
        expected, found = np.full((2, 1), wrapped(true, PERIOD, 0.0))
        plain(expected)
        disturbed(found)
        assert found == expected


def test_gap_shorter_than_half_a_turn(robot, reference):
    """Messages that are missed, or of other actuators, cost no turn if it moved less than half."""
    motor, other = reference.ACTUATORS[:2]
    driver = Driver(robot, {motor: PERIOD})
    assert driver.send(**{motor: 6.0})[0] == 6.0
    for _ in range(3):
        assert driver.send('other', **{other: 100.0})[:2].tolist() == [6.0, 100.0]
    assert driver.send(**{motor: 2.8})[0] == pytest.approx(2.8 + PERIOD, rel=1e-15)
    assert np.isnan(driver.send(**{motor: math.nan})[0])
    assert driver.send(**{motor: 5.5})[0] == pytest.approx(5.5 + PERIOD, rel=1e-15)


def test_before_the_reduction(robot, reference):
    """A turn of the encoder is a period of the actuator, whatever the transmission makes of it."""
    wrapping = dict.fromkeys(reference.ACTUATORS, PERIOD)
    turning = Driver(robot, wrapping)
    plain = Driver(robot, {})
    for true in np.arange(0.0, 20.0, 1.5):
        turning.send(**dict.fromkeys(reference.ACTUATORS, wrapped(true, PERIOD, 0.0)))
        plain.send(**dict.fromkeys(reference.ACTUATORS, true))
        found, expected = turning.path.find_joint_motion()[0], plain.path.find_joint_motion()[0]
        assert np.isfinite(expected).all()
        assert np.allclose(found, expected, rtol=1e-13, atol=1e-12)


def test_silence_keeps_the_turns(robot, reference):
    """An actuator that timed out comes back with its turns; time going backwards forgets them."""
    motor = reference.ACTUATORS[0]
    driver = Driver(robot, {motor: PERIOD}, timeout=0.5)
    driver.send(now=1.0, **{motor: 6.0})
    assert driver.send(now=1.1, **{motor: 0.5})[0] == pytest.approx(0.5 + PERIOD, rel=1e-15)
    assert np.isnan(driver.path.merged.read_values(9.0)[0][0])
    assert driver.send(now=9.0, **{motor: 0.6})[0] == pytest.approx(0.6 + PERIOD, rel=1e-15)
    assert driver.send(now=3.0, **{motor: 0.6})[0] == 0.6


def test_periods_are_checked():
    """A period is a positive number for an existing actuator."""
    urdf = '<robot name="r"><link name="a"/><link name="b"/><joint name="motor" type="continuous">'
    urdf += '<parent link="a"/><child link="b"/></joint></robot>'
    robot = RobotTransmissions(load_description(urdf))

    def periods(entry):
        return find_wrap_periods(robot, BridgeOptions(wrap_period=(entry,)))

    assert periods('motor=6.28') == {'motor': 6.28}
    for text in ('0.0', '-1.0', 'nan', 'inf', 'turn', ' ', '1e300', '1e-9'):
        with pytest.raises(ParameterError, match='positive number'):
            periods(f'motor={text}')
    with pytest.raises(UnknownNameError):
        periods('engine=1.0')
