# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator messages to joint states: latest numbers, turns and stamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.bridge.states.sensors import (
        SensorPath as SensorPath,
    )
    from transmission_bridge.bridge.states.state_plan import (
        list_followers as list_followers,
        NamePlan as NamePlan,
        StatePlan as StatePlan,
    )
    from transmission_bridge.bridge.states.states import (
        StampFilter as StampFilter,
        States as States,
    )
    from transmission_bridge.bridge.states.turns import (
        list_wrap_periods as list_wrap_periods,
        TurnPlan as TurnPlan,
        unwrap_positions as unwrap_positions,
    )

__all__, __getattr__ = import_lazily(
    __name__,
    {
        'sensors': ['SensorPath'],
        'state_plan': ['NamePlan', 'StatePlan', 'list_followers'],
        'states': ['StampFilter', 'States'],
        'turns': ['TurnPlan', 'list_wrap_periods', 'unwrap_positions'],
    },
)
