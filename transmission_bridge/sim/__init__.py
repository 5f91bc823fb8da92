# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver."""

from __future__ import annotations

from transmission_bridge.sim.demo_motion import (
    command_at,
    MOTIONS,
)
from transmission_bridge.sim.driver import (
    Driver,
    DriverSettings,
    range_of,
)

__all__ = [
    'MOTIONS',
    'Driver',
    'DriverSettings',
    'command_at',
    'range_of',
]
