# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Troubles of a bridge and of its drivers, as diagnostics without ROS.

The node publishes them; clients in tools read them by the same words.
"""

from __future__ import annotations

from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeInspector as BridgeInspector,
    InspectionTime as InspectionTime,
    TopicPeers as TopicPeers,
)
from transmission_bridge.bridge.diagnostics.status import (
    Diagnostic as Diagnostic,
    DiagnosticHistory as DiagnosticHistory,
    DiagnosticLog as DiagnosticLog,
    ERROR as ERROR,
    Fact as Fact,
    make_diagnostic as make_diagnostic,
    OK as OK,
    TOOLS as TOOLS,
    UNITS_OF as UNITS_OF,
    UNKNOWN as UNKNOWN,
    WARN as WARN,
)
