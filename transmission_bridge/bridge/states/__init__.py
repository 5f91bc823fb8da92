# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator messages to joint states: latest numbers, turns and stamps."""

from __future__ import annotations

from transmission_bridge.bridge.states.sensors import SensorPath as SensorPath
from transmission_bridge.bridge.states.state_plan import (
    list_followers as list_followers,
    NamePlan as NamePlan,
    StatePlan as StatePlan,
)
from transmission_bridge.bridge.states.states import StampFilter as StampFilter, States as States
from transmission_bridge.bridge.states.turns import (
    list_wrap_periods as list_wrap_periods,
    TurnPlan as TurnPlan,
    unwrap_positions as unwrap_positions,
)
