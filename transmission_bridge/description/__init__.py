# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read robot descriptions: URDF text to frozen specs. Only this room imports lxml.

Other rooms call :func:`load_description`, read the specs, and make a :class:`Finding` of their
own. Tables, drafts and the collector of findings stay in this room; ``document`` has the text, for
tools that change or draw a description.
"""

from __future__ import annotations

from transmission_bridge.description.load import load_description as load_description
from transmission_bridge.description.specs import (
    collect_limits as collect_limits,
    DynamicsSpec as DynamicsSpec,
    Finding as Finding,
    JointLimitSpec as JointLimitSpec,
    JointSpec as JointSpec,
    JointType as JointType,
    LinkSpec as LinkSpec,
    MemberSpec as MemberSpec,
    MimicSpec as MimicSpec,
    OriginSpec as OriginSpec,
    ParameterSpec as ParameterSpec,
    RejectedSpec as RejectedSpec,
    RobotDescription as RobotDescription,
    Ros2ControlSpec as Ros2ControlSpec,
    Severity as Severity,
    TransmissionSpec as TransmissionSpec,
    TRIGGER_THRESHOLD as TRIGGER_THRESHOLD,
)
from transmission_bridge.description.transmission_element import REDUCTION_TAGS as REDUCTION_TAGS
