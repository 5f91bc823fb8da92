# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints of a robot description, numbered as one model."""

from __future__ import annotations

from typing import Any

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError
from transmission_bridge.kinematics.ball_joints import FreeJoint, SphericalJoint
from transmission_bridge.kinematics.joint import Joint
from transmission_bridge.kinematics.joint_dynamics import JointDynamics, JointDynamicsType
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.joint_types import (
    AxialJoint,
    ContinuousJoint,
    FixedJoint,
    PrismaticJoint,
    RevoluteJoint,
)
from transmission_bridge.kinematics.motion_limits import LARGEST, MotionLimits
from transmission_bridge.kinematics.spatial import transform_from_pose

__all__ = ['joint_from_spec', 'joints_from_description']

AXIAL: dict[str, type[AxialJoint]] = {
    'revolute': RevoluteJoint,
    'continuous': ContinuousJoint,
    'prismatic': PrismaticJoint,
}
OTHERS: dict[str, type[Joint]] = {
    'fixed': FixedJoint,
    'spherical': SphericalJoint,
    'floating': FreeJoint,
}


def joint_from_spec(spec: JointSpec) -> Joint:
    """
    Return the joint that a ``<joint>`` describes, with the parent as ``link1``.

    As urdfdom reads it: the axis, in the joint frame, is normalised; velocity and effort limits
    count by magnitude where they are given. A position bound that is left open is the largest
    finite number; a continuous joint has no position limits, whatever ``<limit>`` says. The
    dynamics type is ``URDF`` where there is a ``<dynamics>``, as in iDynTree.

    :param spec: The joint; its lengths are in m, angles in rad.
    :returns: A joint between the parent and the child link, with offsets zero.
    :raises DescriptionError: If its type has no joint model (planar), its axis has no direction,
        or a link is joined to itself.
    """
    values: dict[str, Any] = {
        'link1': spec.parent,
        'link2': spec.child,
        'rest': transform_from_pose(spec.origin),
        'name': spec.name,
    }
    try:
        if spec.type in AXIAL:
            rest = values['rest']
            return AXIAL[spec.type](
                **values,
                axis=rest[:3, :3] @ spec.axis,
                origin=rest[:3, 3],
                limits=_limits(spec),
                dynamics=_dynamics(spec),
            )
        if spec.type in OTHERS:
            return OTHERS[spec.type](
                **values, **({'centre': values['rest'][:3, 3]} if spec.type == 'spherical' else {})
            )
    except JointError as error:
        raise DescriptionError(str(error), line=spec.line, path=spec.path) from error
    raise DescriptionError(
        f"joint '{spec.name}' is of a type that has no joint model",
        line=spec.line,
        path=spec.path,
        expected=', '.join((*AXIAL, *OTHERS)),
        found=spec.type,
    )


def joints_from_description(robot: RobotDescription) -> tuple[Joint, ...]:
    """
    Return every joint of the robot, numbered in document order.

    ``index`` counts the joints; ``position_offset`` and ``dof_offset`` place each joint in the
    vectors of all positions and of all velocities of the robot (fixed joints take no room).

    :param robot: The robot; its lengths are in m, angles in rad.
    :returns: One joint per ``<joint>``.
    :raises DescriptionError: As :func:`joint_from_spec`.
    """
    joints: list[Joint] = []
    position_offset = dof_offset = 0
    for index, spec in enumerate(robot.joints):
        joint = joint_from_spec(spec).with_serialization(
            index=index, position_offset=position_offset, dof_offset=dof_offset
        )
        joints.append(joint)
        position_offset += joint.n_positions
        dof_offset += joint.n_dofs
    return tuple(joints)


def _limits(spec: JointSpec) -> MotionLimits:
    limits = spec.limits
    if limits is None:
        return MotionLimits()
    is_bounded = spec.type != 'continuous'
    lower = limits.lower if is_bounded else None
    upper = limits.upper if is_bounded else None
    return MotionLimits(
        (-LARGEST if lower is None else lower,),
        (LARGEST if upper is None else upper,),
        (abs(limits.velocity or 0.0),),
        (abs(limits.effort or 0.0),),
        has_position=lower is not None or upper is not None,
        has_velocity=limits.velocity is not None,
        has_effort=limits.effort is not None,
    )


def _dynamics(spec: JointSpec) -> JointDynamics:
    if spec.dynamics is None:
        return JointDynamics()
    return JointDynamics(
        JointDynamicsType.URDF, (spec.dynamics.damping,), (spec.dynamics.friction,)
    )
