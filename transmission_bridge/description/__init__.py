# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Read robot descriptions: URDF text to frozen specs. Only this room imports lxml."""

from __future__ import annotations

from transmission_bridge.description.limits import (
    compute_limits,
    effective_limits,
    EffectiveLimits,
)
from transmission_bridge.description.load import (
    load_description,
)
from transmission_bridge.description.specs import (
    Dialect,
    DynamicsSpec,
    Finding,
    JointLimits,
    JointSpec,
    JointType,
    LinkSpec,
    MimicSpec,
    ParameterSpec,
    Pose,
    REDUCTION_TAGS,
    RejectedTransmission,
    RobotDescription,
    Ros2ControlSpec,
    SafetySpec,
    Severity,
    TransmissionEnd,
    TransmissionSpec,
    TRIGGER_THRESHOLD,
)

__all__ = [
    'REDUCTION_TAGS',
    'TRIGGER_THRESHOLD',
    'Dialect',
    'DynamicsSpec',
    'EffectiveLimits',
    'Finding',
    'JointLimits',
    'JointSpec',
    'JointType',
    'LinkSpec',
    'MimicSpec',
    'ParameterSpec',
    'Pose',
    'RejectedTransmission',
    'RobotDescription',
    'Ros2ControlSpec',
    'SafetySpec',
    'Severity',
    'TransmissionEnd',
    'TransmissionSpec',
    'compute_limits',
    'effective_limits',
    'load_description',
]
