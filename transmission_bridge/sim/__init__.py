# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated drive, and the motion of the demo."""

from __future__ import annotations

from transmission_bridge.sim.demo_motion import (
    command_at as command_at,
    MOTIONS as MOTIONS,
)
from transmission_bridge.sim.driver import (
    Drive as Drive,
    DriverSettings as DriverSettings,
    Mode as Mode,
)
