# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Troubles of a bridge and of its drivers, as diagnostics."""

from __future__ import annotations

from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeWatch as BridgeWatch,
    Look as Look,
    Peers as Peers,
)
from transmission_bridge.bridge.diagnostics.status import (
    ERROR as ERROR,
    Fact as Fact,
    make_status as make_status,
    OK as OK,
    Recent as Recent,
    Status as Status,
    TOOLS as TOOLS,
    TroubleLog as TroubleLog,
    UNITS_OF as UNITS_OF,
    UNKNOWN as UNKNOWN,
    WARN as WARN,
)

_KEYS = ['TOOLS', 'UNITS_OF', 'UNKNOWN']
_STATUS = ['ERROR', 'Fact', 'OK', 'Recent', 'Status', 'TroubleLog', 'WARN', 'make_status']
