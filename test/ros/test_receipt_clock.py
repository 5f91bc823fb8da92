# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Simulated time that runs, stands still and goes back: the time of receipt."""

import math

from hypothesis import given, strategies as st
import pytest


class Simulation:
    """Two clocks that a test moves, and the time that is made of them."""

    def __init__(self):
        from transmission_bridge.ros.session import SimulatedRosTime

        self.ros, self.steady = 100.0, 5000.0
        self.time = SimulatedRosTime(lambda: round(self.ros * 1e9), lambda: self.steady)

    @property
    def ros_time(self):
        """ROS time as it comes out of whole nanoseconds [s]."""
        return round(self.ros * 1e9) * 1e-9

    def states(self, seconds, period=0.01, factor=0.0, tick=0.01):
        """
        Have states come for so long; return the time at the last one.

        :param factor: Seconds of ROS time in a second.
        :param tick: Seconds of ROS time from one message of the clock to the next.
        """
        start, begin = self.ros, self.steady
        for number in range(1, round(seconds / period) + 1):
            self.steady = begin + number * period
            self.ros = start + tick * math.floor(factor * number * period / tick + 1e-9)
            now = self.time.at_state()
        return now


def test_ros_time_that_runs_and_stands_still():
    """While it runs it is the time to the last bit; under states it goes on steadily."""
    simulation = Simulation()
    for factor in (0.1, 0.5, 1.0, 20.0):
        for _ in range(300):
            now = simulation.states(0.01, factor=factor, tick=0.0001)
            assert now == simulation.time.read_time() == simulation.ros_time
    begin = simulation.ros_time
    assert simulation.states(0.1, 0.005) == pytest.approx(begin, abs=1e-9)
    stood = simulation.states(59.9, 0.005)
    assert stood == pytest.approx(begin + 59.9, abs=0.011)
    # Nothing waits for it then: it runs nine tenths as fast until it has made up.
    assert simulation.states(1.0, factor=1.0) == pytest.approx(stood + 0.9, abs=1e-6)
    assert simulation.states(600.0, period=0.1, factor=1.0) == simulation.ros_time
    # A pause of states is none of the clock, and back is back.
    simulation.steady += 600.0
    assert simulation.time.at_state() == simulation.ros_time
    simulation.states(5.0)
    simulation.ros -= 0.05
    assert simulation.time.read_time() == pytest.approx(simulation.ros_time, abs=1e-9)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.5, 10.0, -0.05, -50.0]),
            st.floats(0.0, 10.0),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_whatever_clocks_do(steps):
    """It goes back only with ROS time, is never behind that, nor ahead by more than it stood."""
    simulation = Simulation()
    before, stood, heard = simulation.time.read_time(), 0.0, -math.inf
    for step, steady, is_state in steps:
        simulation.ros += step
        simulation.steady += steady
        if is_state:
            stood, heard = stood + min(simulation.steady - heard, 0.1), simulation.steady
        now = simulation.time.at_state() if is_state else simulation.time.read_time()
        assert simulation.ros_time <= now <= simulation.ros_time + stood
        assert now >= before or step < 0.0
        before = now
