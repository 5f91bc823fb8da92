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
    Drive,
    DriveCommand,
    Driver,
    DriverSettings,
    Mode,
    range_of,
)

__all__ = [
    'MOTIONS',
    'Drive',
    'DriveCommand',
    'Driver',
    'DriverSettings',
    'Mode',
    'command_at',
    'range_of',
]
