# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The clock that times of receipt are taken from."""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

__all__ = ['ReceiptClock', 'SimulatedTime', 'fix_use_sim_time']

#: Seconds of the longest gap between two messages that counts whole: a longer one is a pause.
_GAP = 0.1

#: Seconds that ROS time may stand still under messages. No less than a gap, so that one message
#: after a pause, which comes before the clock goes on, makes nothing older.
_PATIENCE = 0.1

#: Share of ROS time that makes up for what it is behind after it stood still.
_MAKING_UP = 0.1

_STEADY = Clock(clock_type=ClockType.STEADY_TIME)


def fix_use_sim_time(node: LifecycleNode) -> None:
    """Have ``use_sim_time``, which rclpy has declared, refused when it is set at run time."""
    node.set_descriptor(
        'use_sim_time',
        ParameterDescriptor(
            description='Whether ROS time is that of /clock; fixed when the node starts.',
            type=ParameterType.PARAMETER_BOOL,
            read_only=True,
        ),
    )


class SimulatedTime:
    """
    ROS time, which goes on by the steady clock where it stands still while drivers send states.

    Then the simulator hung or ended and the driver did not, and what waits for a time to pass
    would wait for ever. What counts is the time from state to state since ROS time advanced last,
    of each gap at most 0.1 s, less the first 0.1 s: a simulator that pauses sends no states, and
    nothing grows older. What this time is ahead of ROS time then, a tenth of ROS time makes up for
    when it goes on: the gaps of a clock that says little must not add up.

    :param ros_time: Gives ROS time [ns].
    :param steady_time: Gives the time of the steady clock [s].
    """

    def __init__(
        self, ros_time: Callable[[], int], steady_time: Callable[[], float] = time.monotonic
    ) -> None:
        self._ros_time = ros_time
        self._steady_time = steady_time
        self._last = -1
        self._stood = self._ahead = 0.0
        self._heard = -math.inf

    def now(self) -> float:
        """Return the time [s]; it goes back only when ROS time does."""
        return self._after(0.0)

    def at_state(self) -> float:
        """Take note that a driver sent a state, and return the time [s]."""
        steady = self._steady_time()
        gap, self._heard = min(steady - self._heard, _GAP), steady
        return self._after(gap)

    def _after(self, gap: float) -> float:
        ros_time = self._ros_time()
        if ros_time == self._last:
            self._stood += gap
            self._ahead = max(self._ahead, self._stood - _PATIENCE)
        else:
            made_up = _MAKING_UP * 1e-9 * (ros_time - self._last)
            self._ahead = max(self._ahead - made_up, 0.0) if made_up > 0.0 else 0.0
            self._last, self._stood = ros_time, 0.0
        return float(ros_time) * 1e-9 + self._ahead


class ReceiptClock:
    """
    The steady clock, or ROS time where it is simulated.

    :param node: The node whose time it is; its ``use_sim_time`` is not to change any more.
    :ivar now: Returns the time [s].
    :ivar at_state: To be called in place of it when the message is the state of a driver.
    :ivar watch_clocks: Clocks for timers that look whether a time has passed.
    :ivar rate_clock: Clock for timers that do something at a rate.
    """

    def __init__(self, node: LifecycleNode) -> None:
        clock = node.get_clock()
        # Without a simulation, too: the system's clock may be set back, and timers with it.
        self.watch_clocks = [_STEADY]
        self.rate_clock = _STEADY
        self.now: Callable[[], float] = time.monotonic
        self.at_state: Callable[[], float] = time.monotonic
        if clock.ros_time_is_active:
            simulated = SimulatedTime(lambda: clock.now().nanoseconds)
            self.now, self.at_state = simulated.now, simulated.at_state
            # Simulated time may be the faster one, or stand still.
            self.watch_clocks.append(clock)
            self.rate_clock = clock
