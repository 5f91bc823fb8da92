# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The clock that times of receipt are taken from."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any

from rclpy.lifecycle import LifecycleNode

__all__ = ['ReceiptClock']


class ReceiptClock:
    """
    The steady clock, or ROS time where it is simulated.

    Asking a ROS clock whether it is simulated costs as much as mapping a message, so that it is
    asked when parameters change only: ``use_sim_time`` decides.

    :param node: The node whose time it is.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self._clock = node.get_clock()
        self._notice(())
        node.add_post_set_parameters_callback(self._notice)

    def __call__(self) -> float:
        """Return the time [s]."""
        if self._is_simulated:
            return float(self._clock.now().nanoseconds) * 1e-9
        return time.monotonic()

    def destroy(self) -> None:
        """Stop to follow the parameters."""
        self._node.remove_post_set_parameters_callback(self._notice)

    def _notice(self, _: Sequence[Any]) -> None:
        self._is_simulated = bool(self._clock.ros_time_is_active)
