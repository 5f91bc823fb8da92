# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Troubles of a bridge and of its drivers, as diagnostics without ROS.

The node publishes them; clients in tools read them by the same words.
"""

from __future__ import annotations

from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeWatch as BridgeWatch,
    Moment as Moment,
    Peers as Peers,
)
from transmission_bridge.bridge.diagnostics.status import (
    ERROR as ERROR,
    EventHistory as EventHistory,
    Fact as Fact,
    make_status as make_status,
    OK as OK,
    Status as Status,
    TOOLS as TOOLS,
    TroubleLog as TroubleLog,
    UNITS_OF as UNITS_OF,
    UNKNOWN as UNKNOWN,
    WARN as WARN,
)
