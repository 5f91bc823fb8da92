# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Troubles of a bridge and of its drivers, as diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.bridge.diagnostics.driver_watch import (
        Look as Look,
        Peers as Peers,
    )
    from transmission_bridge.bridge.diagnostics.inspection import (
        BridgeWatch as BridgeWatch,
    )
    from transmission_bridge.bridge.diagnostics.status import (
        ERROR as ERROR,
        make_status as make_status,
        NAME_LENGTH as NAME_LENGTH,
        OK as OK,
        Recent as Recent,
        Status as Status,
        Trouble as Trouble,
        TroubleLog as TroubleLog,
        UNITS_OF as UNITS_OF,
        WARN as WARN,
    )

__all__, __getattr__ = import_lazily(
    __name__,
    {
        'driver_watch': ['Look', 'Peers'],
        'inspection': ['BridgeWatch'],
        'status': [
            'ERROR',
            'NAME_LENGTH',
            'OK',
            'Recent',
            'Status',
            'Trouble',
            'TroubleLog',
            'UNITS_OF',
            'WARN',
            'make_status',
        ],
    },
)
