# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Actuator messages to joint states: latest numbers and turns.

Node and tools import the names below; most modules of ``bridge`` import each other directly.
"""

from __future__ import annotations

from transmission_bridge.bridge.states.encoders import (
    list_wrap_periods as list_wrap_periods,
    WrappedEncoders as WrappedEncoders,
)
from transmission_bridge.bridge.states.state_map import (
    DriverStateIndex as DriverStateIndex,
    list_mimic_followers as list_mimic_followers,
)
from transmission_bridge.bridge.states.states import SensorPath as SensorPath, States as States
from transmission_bridge.bridge.states.turns import unwrap_positions as unwrap_positions
