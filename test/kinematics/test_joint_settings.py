# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Setting limits, losses and links of joints, and reading them from a description."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from transmission_bridge.description import (
    DynamicsSpec,
    JointLimits,
    JointSpec,
    Pose,
    RobotDescription,
)
from transmission_bridge.errors import DescriptionError, ShapeError
from transmission_bridge.kinematics import (
    ContinuousJoint,
    FixedJoint,
    FreeJoint,
    joint_from_spec,
    JointDynamics,
    JointDynamicsType,
    JointError,
    joints_from_description,
    MotionLimits,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
)

LARGEST = np.finfo(float).max


def test_setters_return_new_joints():
    """Every setter changes the copy and leaves the joint as it was."""
    joint = RevoluteJoint('a', 'b', name='j')
    changed = (
        joint.with_links('c', 'd')
        .with_position_limits(-1.0, 2.0)
        .with_position_limits_enabled(True)
        .with_velocity_limit(3.0)
        .with_velocity_limits_enabled(True)
        .with_effort_limit(4.0)
        .with_effort_limits_enabled(True)
        .with_damping(5.0)
        .with_static_friction(6.0)
        .with_dynamics_type(JointDynamicsType.URDF)
        .with_serialization(index=7, position_offset=8, dof_offset=9)
        .with_rest_transform(np.diag([-1.0, -1.0, 1.0, 1.0]))
    )
    assert (changed.link1, changed.link2) == ('c', 'd')
    assert changed.position_limits() == (-1.0, 2.0)
    assert (changed.min_position_limit(), changed.max_position_limit()) == (-1.0, 2.0)
    assert changed.has_position_limits
    assert changed.has_velocity_limits
    assert changed.has_effort_limits
    assert (changed.velocity_limit(), changed.effort_limit()) == (3.0, 4.0)
    assert (changed.damping(), changed.static_friction()) == (5.0, 6.0)
    assert changed.dynamics_type is JointDynamicsType.URDF
    assert (changed.index, changed.position_offset, changed.dof_offset) == (7, 8, 9)
    assert changed.rest_transform('c', 'd')[0, 0] == -1.0
    assert (joint.link1, joint.link2, joint.index) == ('a', 'b', -1)
    assert joint.limits == MotionLimits.unlimited(1)
    assert joint.dynamics == JointDynamics.lossless(1)
    np.testing.assert_array_equal(joint.rest_transform('a', 'b'), np.eye(4))


def test_numbers_and_switches_are_apart():
    """Setting a number does not turn its switch, and the switch does not change the number."""
    joint = PrismaticJoint('a', 'b').with_position_limits(0.0, 1.0).with_velocity_limit(2.0)
    assert not joint.has_position_limits
    assert not joint.has_velocity_limits
    off = joint.with_position_limits_enabled(True).with_position_limits_enabled(False)
    assert off.position_limits() == (0.0, 1.0)
    assert joint.with_damping(1.0).dynamics_type is JointDynamicsType.NONE


def test_clone_is_another_equal_joint():
    """A clone has the same data and is another object."""
    joint = RevoluteJoint('a', 'b', axis=(1, 1, 0), origin=(1, 2, 3), name='j').with_damping(2.0)
    clone = joint.clone()
    assert clone is not joint
    assert type(clone) is RevoluteJoint
    for field in dataclasses.fields(joint):
        np.testing.assert_array_equal(getattr(clone, field.name), getattr(joint, field.name))


def test_joints_survive_pickling():
    """A pickled joint computes the same."""
    joint = SphericalJoint('a', 'b', centre=(1, 2, 3))
    again = pickle.loads(pickle.dumps(joint))
    q = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(again.transform(q, 'a', 'b'), joint.transform(q, 'a', 'b'))


@pytest.mark.parametrize('kind', [FixedJoint, ContinuousJoint, SphericalJoint, FreeJoint])
def test_position_limits_where_there_are_none(kind):
    """Joints without bounds refuse to enable them, and disabling is harmless."""
    joint = kind('a', 'b')
    assert not joint.has_position_limits
    assert not joint.with_position_limits_enabled(False).has_position_limits
    with pytest.raises(JointError, match='no position limits'):
        joint.with_position_limits_enabled(True)
    if joint.n_dofs:
        with pytest.raises(JointError, match='no position limits'):
            joint.with_position_limits(-1.0, 1.0)


@pytest.mark.parametrize('bounds', [(1.0, -1.0), (np.nan, 1.0), (0.0, np.nan)])
def test_bounds_out_of_order_are_refused(bounds):
    """Crossed bounds and bounds that are no numbers are errors."""
    with pytest.raises(JointError, match='not in order'):
        RevoluteJoint('a', 'b').with_position_limits(*bounds)


@pytest.mark.parametrize('value', [-1.0, np.nan])
def test_magnitudes_are_not_negative(value):
    """A speed or effort limit below zero is an error."""
    joint = RevoluteJoint('a', 'b')
    with pytest.raises(JointError, match='not a magnitude'):
        joint.with_velocity_limit(value)
    with pytest.raises(JointError, match='not a magnitude'):
        joint.with_effort_limit(value)


def test_wrong_sizes_are_refused():
    """Limits, losses and transforms of another size than the joint needs are shape errors."""
    with pytest.raises(ShapeError, match='limits'):
        RevoluteJoint('a', 'b', limits=MotionLimits.unlimited(2))
    with pytest.raises(ShapeError, match='dynamics'):
        RevoluteJoint('a', 'b', dynamics=JointDynamics.lossless(3))
    with pytest.raises(ShapeError, match='limits'):
        MotionLimits((1.0,), (1.0, 2.0), (1.0,), (1.0,))
    with pytest.raises(ShapeError, match='dynamics'):
        JointDynamics(damping=(1.0,))
    with pytest.raises(ShapeError, match='rest'):
        FixedJoint('a', 'b', np.eye(3))
    with pytest.raises(ShapeError, match='axis'):
        RevoluteJoint('a', 'b', axis=(1.0, 0.0))
    with pytest.raises(JointError, match='offset'):
        FixedJoint('a', 'b', position_offset=-1)


def spec(kind, **options):
    """Return a joint element."""
    return JointSpec('j', kind, 'parent', 'child', **options)


def test_continuous_joint_ignores_position_bounds():
    """A continuous joint has no position limits, whatever its limit element says."""
    joint = joint_from_spec(spec('continuous', limits=JointLimits(-1.0, 1.0, 2.0, 3.0)))
    assert not joint.has_position_limits
    assert joint.position_limits() == (-LARGEST, LARGEST)
    assert joint.has_velocity_limits
    assert joint.velocity_limit() == 2.0
    assert joint.effort_limit() == 3.0


def test_one_sided_bounds_and_negative_magnitudes():
    """An open side is the largest number; speeds and efforts count by magnitude."""
    joint = joint_from_spec(spec('revolute', limits=JointLimits(upper=1.0, velocity=-2.0)))
    assert joint.has_position_limits
    assert joint.position_limits() == (-LARGEST, 1.0)
    assert joint.velocity_limit() == 2.0
    assert not joint.has_effort_limits


def test_dynamics_of_a_description_count():
    """A dynamics element makes the type URDF; without one the type is none."""
    assert joint_from_spec(spec('revolute')).dynamics_type is JointDynamicsType.NONE
    joint = joint_from_spec(spec('prismatic', dynamics=DynamicsSpec(0.5, 0.25)))
    assert joint.dynamics_type is JointDynamicsType.URDF
    assert (joint.damping(), joint.static_friction()) == (0.5, 0.25)


@pytest.mark.parametrize(
    ('kind', 'expected'),
    [
        ('fixed', FixedJoint),
        ('revolute', RevoluteJoint),
        ('continuous', ContinuousJoint),
        ('prismatic', PrismaticJoint),
        ('spherical', SphericalJoint),
        ('floating', FreeJoint),
    ],
)
def test_each_type_of_a_description_has_its_joint(kind, expected):
    """The type of a joint element decides the class, and its origin the rest transform."""
    joint = joint_from_spec(spec(kind, origin=Pose((1.0, 2.0, 3.0), (0.0, 0.0, np.pi / 2))))
    assert type(joint) is expected
    turned = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    np.testing.assert_allclose(joint.rest_transform('parent', 'child'), turned, atol=1e-15)


def test_what_has_no_joint_is_refused_with_its_place():
    """Planar joints and axes without direction are description errors with line and path."""
    place = {'line': 12, 'path': '/robot/joint[3]'}
    with pytest.raises(DescriptionError, match=r'line 12, /robot/joint\[3\].*planar'):
        joint_from_spec(spec('planar', **place))
    with pytest.raises(DescriptionError, match=r'line 12.*no direction'):
        joint_from_spec(spec('revolute', axis=(0.0, 0.0, 0.0), **place))


def test_offsets_run_through_the_model():
    """Joints of a robot follow each other in the vectors; fixed ones take no room."""
    kinds = ('revolute', 'fixed', 'spherical', 'floating', 'prismatic')
    robot = RobotDescription(
        'r',
        joints=tuple(
            JointSpec(f'j{number}', kind, f'l{number}', f'l{number + 1}')
            for number, kind in enumerate(kinds)
        ),
    )
    joints = joints_from_description(robot)
    assert [joint.index for joint in joints] == [0, 1, 2, 3, 4]
    assert [joint.position_offset for joint in joints] == [0, 1, 1, 5, 12]
    assert [joint.dof_offset for joint in joints] == [0, 1, 1, 4, 10]
