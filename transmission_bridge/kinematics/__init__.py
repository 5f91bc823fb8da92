# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints, and devices made of joints, in joint and in actuator space. Needs numpy and lxml.

:class:`Joint` follows iDynTree's IJoint and :class:`JointDevice` RobWork's JointDevice.
:class:`ActuatorDevice` is the same device in actuator coordinates; :func:`actuator_gains` maps
gains from joints to motors. ``docs/python.md`` has examples, and a table of the names of both.
Users and tools call it; the bridge does not.
"""

from __future__ import annotations

from transmission_bridge.kinematics.actuator_device import (
    ActuatorDevice as ActuatorDevice,
    bound_actuators as bound_actuators,
    effort_box as effort_box,
)
from transmission_bridge.kinematics.device import (
    JointDevice as JointDevice,
    State as State,
)
from transmission_bridge.kinematics.gains import (
    actuator_gains as actuator_gains,
    ActuatorGains as ActuatorGains,
    compute_gain_ratios as compute_gain_ratios,
    compute_lost_gain_share as compute_lost_gain_share,
    GainRatios as GainRatios,
)
from transmission_bridge.kinematics.joint import (
    ChildMotion as ChildMotion,
    Joint as Joint,
    JointDynamics as JointDynamics,
    JointDynamicsType as JointDynamicsType,
    JointError as JointError,
    JointIndexError as JointIndexError,
    MotionLimits as MotionLimits,
)
from transmission_bridge.kinematics.tree import (
    joint_from_spec as joint_from_spec,
    joints_from_description as joints_from_description,
    JointSource as JointSource,
    KinematicTree as KinematicTree,
    number_joints as number_joints,
    rest_transform_of as rest_transform_of,
)
