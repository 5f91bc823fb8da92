# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions: URDF text to frozen specs. The only room that knows XML."""

from __future__ import annotations

from transmission_bridge.description.control_specs import (
    ComponentSpec,
    Dialect,
    InterfaceSpec,
    MemberSpec,
    ParameterSpec,
    RejectedTransmission,
    Ros2ControlSpec,
    TransmissionSpec,
)
from transmission_bridge.description.load import load_description
from transmission_bridge.description.specs import (
    CalibrationSpec,
    DynamicsSpec,
    Finding,
    JointLimits,
    JointSpec,
    LinkSpec,
    MimicSpec,
    Pose,
    RobotDescription,
    SafetySpec,
    Severity,
)

__all__ = [
    'CalibrationSpec',
    'ComponentSpec',
    'Dialect',
    'DynamicsSpec',
    'Finding',
    'InterfaceSpec',
    'JointLimits',
    'JointSpec',
    'LinkSpec',
    'MemberSpec',
    'MimicSpec',
    'ParameterSpec',
    'Pose',
    'RejectedTransmission',
    'RobotDescription',
    'Ros2ControlSpec',
    'SafetySpec',
    'Severity',
    'TransmissionSpec',
    'load_description',
]
