# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Wire formats and message-level conversions."""

from __future__ import annotations

from transmission_bridge.messages.cdr import (
    count_waypoints,
    CutMessageError,
    JointStateEncoder,
    JointStateReader,
    JointStateWriter,
    UnusualMessageError,
)
from transmission_bridge.messages.joint_state import (
    fill_message,
    JointStateRecord,
    Layout,
    LayoutTable,
    make_ragged_error,
    record_from_joint_command,
    record_from_message,
)
from transmission_bridge.messages.trajectory import (
    fill_trajectory,
    trajectory_from_message,
    TrajectoryRecord,
    Waypoint,
)

__all__ = [
    'CutMessageError',
    'JointStateEncoder',
    'JointStateReader',
    'JointStateRecord',
    'JointStateWriter',
    'Layout',
    'LayoutTable',
    'TrajectoryRecord',
    'UnusualMessageError',
    'Waypoint',
    'count_waypoints',
    'fill_message',
    'fill_trajectory',
    'make_ragged_error',
    'record_from_joint_command',
    'record_from_message',
    'trajectory_from_message',
]
