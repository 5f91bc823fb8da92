# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints, and devices made of joints, in joint and in actuator space. Needs numpy and lxml.

:class:`Joint` follows iDynTree's IJoint and :class:`JointDevice` RobWork's JointDevice.
:class:`ActuatorDevice` is the same device in actuator coordinates; :func:`actuator_gains` maps
gains from joints to motors. ``docs/python.md`` has examples, and a table of the names of both.
"""

from __future__ import annotations

from transmission_bridge.kinematics.actuator_device import (
    ActuatorDevice,
)
from transmission_bridge.kinematics.device import (
    JointDevice,
    State,
)
from transmission_bridge.kinematics.gains import (
    actuator_gains,
    ActuatorGains,
)
from transmission_bridge.kinematics.joint import (
    ChildMotion,
    Joint,
    JointDynamics,
    JointDynamicsType,
    JointError,
    JointIndexError,
    MotionLimits,
)
from transmission_bridge.kinematics.limits import (
    effort_box,
    tight_box,
)
from transmission_bridge.kinematics.ratios import (
    compute_lost_share,
    compute_ratios,
    Ratios,
)
from transmission_bridge.kinematics.tree import (
    joint_from_spec,
    joints_from_description,
    JointSource,
    KinematicTree,
    number_joints,
    rest_transform_of,
)

__all__ = [
    'ActuatorDevice',
    'ActuatorGains',
    'ChildMotion',
    'Joint',
    'JointDevice',
    'JointDynamics',
    'JointDynamicsType',
    'JointError',
    'JointIndexError',
    'JointSource',
    'KinematicTree',
    'MotionLimits',
    'Ratios',
    'State',
    'actuator_gains',
    'compute_lost_share',
    'compute_ratios',
    'effort_box',
    'joint_from_spec',
    'joints_from_description',
    'number_joints',
    'rest_transform_of',
    'tight_box',
]
