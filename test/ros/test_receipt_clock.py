# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which clock times of receipt come from, while a parameter decides it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros


def test_it_follows_use_sim_time(peer):
    """It is the steady clock until use_sim_time is set, and again after it is unset."""
    from rclpy.lifecycle import LifecycleNode
    from rclpy.parameter import Parameter

    from transmission_bridge.ros.receipt_clock import ReceiptClock

    node = LifecycleNode('clocked', context=peer.context)
    try:
        clock = ReceiptClock(node)
        for simulated in (False, True, False):
            node.set_parameters([Parameter('use_sim_time', value=simulated)])
            before, now, after = time.monotonic(), clock(), time.monotonic()
            # No simulator has said a time yet.
            assert now == 0.0 if simulated else before <= now <= after
        clock.destroy()
    finally:
        node.destroy_node()
