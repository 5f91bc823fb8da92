# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Drivers in Python: the contract, the installed ones, and the thread that runs one."""

from __future__ import annotations

from transmission_bridge.drivers.driver import (
    Command,
    Driver,
    DriverActuator,
    DriverError,
    Hardware,
    list_hardware,
)
from transmission_bridge.drivers.host import DriverHost, HostFacts, HostState
from transmission_bridge.drivers.registry import (
    add_driver,
    find_driver,
    find_drivers,
    list_drivers,
    list_periods,
)

__all__ = [
    'Command',
    'Driver',
    'DriverActuator',
    'DriverError',
    'DriverHost',
    'Hardware',
    'HostFacts',
    'HostState',
    'add_driver',
    'find_driver',
    'find_drivers',
    'list_drivers',
    'list_hardware',
    'list_periods',
]
