# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Devices against pinocchio and iDynTree themselves, where their wheels are installed."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.kinematics import Joint, JointDevice
from transmission_bridge.kinematics.spatial import make_transform, rotation_from_rpy

SAMPLES = 1000
TOLERANCE = 1e-10
#: Seed, joints, whether branching, base, end: a chain, a tree, a tree with the base on a branch.
ROBOTS = (
    (1, 9, False, 'link0', 'link9'),
    (2, 14, True, 'link0', 'link14'),
    (8, 16, True, 'link11', 'link16'),
)


@pytest.fixture(params=ROBOTS, ids=lambda robot: f'robot{robot[0]}')
def case(request, random_urdf):
    """Return the text, the device over all movable joints, and its configurations."""
    seed, size, branching, base, end = request.param
    text = random_urdf(seed, size, branching=branching)
    robot = load_description(text)
    names = [spec.name for spec in robot.joints if spec.is_scalar]
    device = JointDevice.from_description(robot, base=base, end=end, joints=names)
    limits = np.full(len(names), 3.0)
    q = np.random.default_rng(seed).uniform(-limits, limits, (SAMPLES, len(names)))
    return text, device, q


def test_pinocchio_agrees(case):
    """Poses and Jacobians relative to any base are pinocchio's to 1e-10."""
    pinocchio = pytest.importorskip('pinocchio', reason='the wheel pin is not installed')
    text, device, q = case
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    joints = [model.joints[model.getJointId(name)] for name in device.joint_names]
    columns = [joint.idx_v for joint in joints]
    base, end = model.getFrameId(device.base), model.getFrameId(device.end)
    axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    for row in range(SAMPLES):
        full = pinocchio.neutral(model)
        for joint, value in zip(joints, q[row], strict=True):
            turn = [np.cos(value), np.sin(value)]
            full[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else turn
        pinocchio.computeJointJacobians(model, data, full)
        pinocchio.updateFramePlacements(model, data)
        world_t_base, world_t_end = data.oMf[base], data.oMf[end]
        expected = (world_t_base.inverse() * world_t_end).homogeneous
        np.testing.assert_allclose(poses[row], expected, rtol=0.0, atol=TOLERANCE)
        of_base = pinocchio.getFrameJacobian(model, data, base, axes)
        of_end = pinocchio.getFrameJacobian(model, data, end, axes)
        # Velocity of the end less that of the point of the base's body that is there now.
        lever = world_t_end.translation - world_t_base.translation
        linear = of_end[:3] - of_base[:3] - np.cross(of_base[3:].T, lever).T
        relative = np.vstack([linear, of_end[3:] - of_base[3:]])[:, columns]
        to_base = np.kron(np.eye(2), world_t_base.rotation.T)
        np.testing.assert_allclose(jacobians[row], to_base @ relative, rtol=0.0, atol=TOLERANCE)


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


def test_idyntree_agrees(case):
    """Poses and relative Jacobians are iDynTree's to 1e-10."""
    idyntree = pytest.importorskip(
        'idyntree.bindings', reason='the wheel idyntree is not installed'
    )
    text, device, q = case
    loader = idyntree.ModelLoader()
    assert loader.loadModelFromString(text)
    dynamics = idyntree.KinDynComputations()
    assert dynamics.loadRobotModel(loader.model())
    model = dynamics.model()
    columns = [
        model.getJoint(model.getJointIndex(name)).getDOFsOffset() for name in device.joint_names
    ]
    base, end = dynamics.getFrameIndex(device.base), dynamics.getFrameIndex(device.end)
    jacobian = idyntree.MatrixDynSize(6, model.getNrOfDOFs())
    full = np.zeros(model.getNrOfPosCoords())
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    for row in range(SAMPLES):
        full[columns] = q[row]
        assert dynamics.setJointPos(idyntree.VectorDynSize.FromPython(full))
        pose = dynamics.getRelativeTransform(base, end).asHomogeneousTransform().toNumPy()
        np.testing.assert_allclose(poses[row], pose, rtol=0.0, atol=TOLERANCE)
        # Origin at the end, axes of the base.
        assert dynamics.getRelativeJacobianExplicit(base, end, end, base, jacobian)
        expected = jacobian.toNumPy()[:, columns]
        np.testing.assert_allclose(jacobians[row], expected, rtol=0.0, atol=TOLERANCE)
