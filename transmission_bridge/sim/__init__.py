# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated drive: its plant, its commands and its faults. Needs numpy only."""

from transmission_bridge.sim.drive import Command, Drive, Dynamics, Mode, read_command
from transmission_bridge.sim.driver import (
    Driver,
    DriverSettings,
    Drop,
    Duplicate,
    Fault,
    Freeze,
    inject,
    NotANumber,
    Shuffle,
    Subset,
)

__all__ = [
    'Command',
    'Drive',
    'Driver',
    'DriverSettings',
    'Drop',
    'Duplicate',
    'Dynamics',
    'Fault',
    'Freeze',
    'Mode',
    'NotANumber',
    'Shuffle',
    'Subset',
    'inject',
    'read_command',
]
