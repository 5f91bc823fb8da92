# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Wire formats: JointState as bytes, and records of typed messages.

The bridge, the node and the tools use these names. ``one_joint`` is for users, who import it from
the package; no other room does.
"""

from __future__ import annotations

from transmission_bridge.messages.cdr import (
    count_waypoints as count_waypoints,
    JointStateEncoder as JointStateEncoder,
    JointStateReader as JointStateReader,
    JointStateWriter as JointStateWriter,
    TruncatedCdrError as TruncatedCdrError,
    UnusualCdrError as UnusualCdrError,
)
from transmission_bridge.messages.records import (
    fill_trajectory_message as fill_trajectory_message,
    JointStateRecord as JointStateRecord,
    Layout as Layout,
    make_ragged_error as make_ragged_error,
    MessageLayoutTable as MessageLayoutTable,
    record_from_joint_command as record_from_joint_command,
    record_from_joint_state as record_from_joint_state,
    trajectory_from_message as trajectory_from_message,
    TrajectoryRecord as TrajectoryRecord,
    Waypoint as Waypoint,
)
