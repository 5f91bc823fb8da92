# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Drivers in Python: the contract, the installed ones, and the thread that runs one.

Authors of drivers import the contract from the package, as ``tb.Driver``; the node and the
commands use the rest.
"""

from __future__ import annotations

from transmission_bridge.drivers.driver import (
    Command as Command,
    Driver as Driver,
    DriverActuator as DriverActuator,
    DriverError as DriverError,
    find_block_drivers as find_block_drivers,
    find_driver_class as find_driver_class,
    Hardware as Hardware,
    list_driver_hardware as list_driver_hardware,
    list_driver_plugins as list_driver_plugins,
    list_encoder_periods as list_encoder_periods,
    register_driver as register_driver,
)
from transmission_bridge.drivers.host import DriverHost as DriverHost
