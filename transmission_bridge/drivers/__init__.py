# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Drivers in Python: the contract, the installed ones, and the thread that runs one."""

from __future__ import annotations

from transmission_bridge.drivers.driver import (
    Command as Command,
    Driver as Driver,
    DriverActuator as DriverActuator,
    DriverError as DriverError,
    Hardware as Hardware,
    list_hardware as list_hardware,
)
from transmission_bridge.drivers.host import (
    DriverHost as DriverHost,
    HostFacts as HostFacts,
    HostState as HostState,
)
from transmission_bridge.drivers.registry import (
    add_driver as add_driver,
    find_driver as find_driver,
    find_drivers as find_drivers,
    list_drivers as list_drivers,
    list_encoder_periods as list_encoder_periods,
)
