# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Messages of one joint, mapped as a whole: commands and feedback."""

from __future__ import annotations

from transmission_bridge.messages.one_joint.one_joint import (
    apply_acceleration,
    apply_effort,
    apply_position,
    apply_rate,
    apply_to_command,
    BeginMotion,
    EffortCommand,
    HoldCommand,
    JointWaypoint,
    PositionCommand,
    simple_transmission,
    StopCommand,
    TrajectoryCommand,
    unapply_effort,
    unapply_position,
    unapply_rate,
    unapply_to_feedback,
    VelocityCommand,
)

__all__ = [
    'BeginMotion',
    'EffortCommand',
    'HoldCommand',
    'JointWaypoint',
    'PositionCommand',
    'StopCommand',
    'TrajectoryCommand',
    'VelocityCommand',
    'apply_acceleration',
    'apply_effort',
    'apply_position',
    'apply_rate',
    'apply_to_command',
    'simple_transmission',
    'unapply_effort',
    'unapply_position',
    'unapply_rate',
    'unapply_to_feedback',
]
