# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Read robot descriptions: URDF text to frozen specs. Only this room imports lxml."""

from __future__ import annotations

from transmission_bridge.description.load import load_description
from transmission_bridge.description.specs import (
    CalibrationSpec,
    ComponentSpec,
    Dialect,
    DynamicsSpec,
    Finding,
    InterfaceSpec,
    JointLimits,
    JointSpec,
    LinkSpec,
    MimicSpec,
    ParameterSpec,
    Pose,
    RejectedTransmission,
    RobotDescription,
    Ros2ControlSpec,
    SafetySpec,
    Severity,
    TransmissionEnd,
    TransmissionSpec,
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
    'load_description',
]
