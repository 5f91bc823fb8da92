# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Devices against pinocchio and iDynTree themselves, where their wheels are installed."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.kinematics import Joint, JointDevice
from transmission_bridge.kinematics.spatial import make_transform, rotation_from_rpy

SAMPLES = 1000
TOLERANCE = 1e-10


#: Our joint, with the axis that pinocchio's model of it has, and that model.
KINDS = {
    'fixed': None,
    'revolute': 'JointModelRZ',
    'prismatic': 'JointModelPZ',
    'planar': 'JointModelPlanar',
    'spherical': 'JointModelSpherical',
    'floating': 'JointModelFreeFlyer',
}


def as_pinocchio(joint, own):
    """Return coordinates as pinocchio has them: angles of planes as a complex, w last."""
    if joint.type == 'planar':
        return [*own[:2], np.cos(own[2]), np.sin(own[2])]
    if joint.n_positions > joint.n_dofs:
        return [*own[:-4], *own[-3:], own[-4]]
    return own


def test_pinocchio_agrees_on_joints_of_every_type():
    """A chain of joints with zero to six degrees of freedom: poses and Jacobians to 1e-10."""
    pinocchio = pytest.importorskip('pinocchio', reason='the wheel pin is not installed')
    rng = np.random.default_rng(5)
    model = pinocchio.Model()
    joints, fixed, parent = [], pinocchio.SE3.Identity(), 0
    for number, kind in enumerate(rng.permutation(np.repeat(list(KINDS), 2))):
        rest = make_transform(rotation_from_rpy(rng.uniform(-3.0, 3.0, 3)), rng.normal(size=3))
        joints.append(
            Joint(number, number + 1, str(kind), rest, axis=rest[:3, 2], origin=rest[:3, 3],
                  name=f'j{number}')
        )  # fmt: skip
        placement = fixed * pinocchio.SE3(rest)
        fixed = placement if kind == 'fixed' else pinocchio.SE3.Identity()
        if kind != 'fixed':
            made = getattr(pinocchio, KINDS[kind])()
            parent = model.addJoint(parent, made, placement, f'j{number}')
    kind = pinocchio.FrameType.OP_FRAME
    end = model.addFrame(pinocchio.Frame('end', parent, fixed, kind))
    data = model.createData()
    names = [joint.name for joint in joints]
    device = JointDevice.from_joints(joints, base=0, end=len(joints), joints=names)
    assert (device.n_positions, device.dof) == (32, model.nv) == (32, 28)
    q = rng.normal(size=(SAMPLES, device.n_positions))
    for joint in device.joints:
        part = slice(joint.position_offset, joint.position_offset + joint.n_positions)
        q[:, part] = joint.normalized_positions(q)
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for row in range(SAMPLES):
        full = np.concatenate(
            [as_pinocchio(joint, joint.normalized_positions(q[row])) for joint in device.joints]
        )
        expected = pinocchio.computeFrameJacobian(model, data, full, end, axes)
        np.testing.assert_allclose(jacobians[row], expected, rtol=0.0, atol=TOLERANCE)
        pose = pinocchio.updateFramePlacement(model, data, end).homogeneous
        np.testing.assert_allclose(poses[row], pose, rtol=0.0, atol=TOLERANCE)
