# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Messages of one joint, mapped as a whole: commands and feedback."""

from __future__ import annotations

from transmission_bridge.messages.one_joint.one_joint import (
    apply_effort as apply_effort,
    apply_position as apply_position,
    apply_rate as apply_rate,
    apply_to_command as apply_to_command,
    BeginMotion as BeginMotion,
    EffortCommand as EffortCommand,
    HoldCommand as HoldCommand,
    JointWaypoint as JointWaypoint,
    PositionCommand as PositionCommand,
    simple_transmission as simple_transmission,
    StopCommand as StopCommand,
    TrajectoryCommand as TrajectoryCommand,
    unapply_effort as unapply_effort,
    unapply_position as unapply_position,
    unapply_rate as unapply_rate,
    unapply_to_feedback as unapply_to_feedback,
    VelocityCommand as VelocityCommand,
)
