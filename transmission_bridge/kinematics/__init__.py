# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints, and devices made of joints, in joint and in actuator space. Needs numpy only.

:class:`Joint` follows iDynTree's IJoint, :class:`JointDevice` RobWork's JointDevice, and
:class:`ActuatorDevice` is the same device seen through the robot's transmissions.
"""

from transmission_bridge.kinematics.actuator_device import ActuatorDevice
from transmission_bridge.kinematics.ball_joints import FreeJoint, SphericalJoint
from transmission_bridge.kinematics.jacobian import JacobianCalculator
from transmission_bridge.kinematics.joint import ChildMotion, Joint
from transmission_bridge.kinematics.joint_device import JointDevice
from transmission_bridge.kinematics.joint_dynamics import JointDynamics, JointDynamicsType
from transmission_bridge.kinematics.joint_errors import JointError, JointIndexError
from transmission_bridge.kinematics.joint_types import (
    ContinuousJoint,
    FixedJoint,
    PrismaticJoint,
    RevoluteJoint,
)
from transmission_bridge.kinematics.model_joints import joint_from_spec, joints_from_description
from transmission_bridge.kinematics.motion_limits import MotionLimits
from transmission_bridge.kinematics.state import State

__all__ = [
    'ActuatorDevice',
    'ChildMotion',
    'ContinuousJoint',
    'FixedJoint',
    'FreeJoint',
    'JacobianCalculator',
    'Joint',
    'JointDevice',
    'JointDynamics',
    'JointDynamicsType',
    'JointError',
    'JointIndexError',
    'MotionLimits',
    'PrismaticJoint',
    'RevoluteJoint',
    'SphericalJoint',
    'State',
    'joint_from_spec',
    'joints_from_description',
]
