# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver."""

from __future__ import annotations

from transmission_bridge.sim.demo_motion import (
    command_at as command_at,
    MOTIONS as MOTIONS,
)
from transmission_bridge.sim.driver import (
    Driver as Driver,
    DriverSettings as DriverSettings,
    range_of as range_of,
)
