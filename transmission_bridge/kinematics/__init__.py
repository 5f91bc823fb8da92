# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints, and devices made of joints, in joint and in actuator space. Needs numpy and lxml.

:class:`Joint` follows iDynTree's IJoint and :class:`JointDevice` RobWork's JointDevice.
:class:`ActuatorDevice` is the same device in actuator coordinates; :func:`actuator_gains` maps
gains from joints to motors. ``docs/python.md`` has examples, and a table of the names of both.
"""

from transmission_bridge.kinematics.actuator_device import ActuatorDevice
from transmission_bridge.kinematics.device import JointDevice, State
from transmission_bridge.kinematics.gains import actuator_gains, ActuatorGains
from transmission_bridge.kinematics.joint import (
    ChildMotion,
    Joint,
    JointDynamics,
    JointDynamicsType,
    JointError,
    JointIndexError,
    MotionLimits,
)
from transmission_bridge.kinematics.tree import joint_from_spec, joints_from_description

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
    'MotionLimits',
    'State',
    'actuator_gains',
    'joint_from_spec',
    'joints_from_description',
]
