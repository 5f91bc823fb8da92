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
    add_driver as add_driver,
    Command as Command,
    Driver as Driver,
    DriverActuator as DriverActuator,
    DriverError as DriverError,
    find_driver as find_driver,
    find_drivers as find_drivers,
    Hardware as Hardware,
    list_drivers as list_drivers,
    list_encoder_periods as list_encoder_periods,
    list_hardware as list_hardware,
)
from transmission_bridge.drivers.host import DriverHost as DriverHost
