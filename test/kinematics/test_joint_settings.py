# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Setting limits, losses and links of joints, and reading them from a description."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from transmission_bridge.description import (
    DynamicsSpec,
    JointLimits,
    JointSpec,
    MimicSpec,
    Pose,
    RobotDescription,
)
from transmission_bridge.errors import DescriptionError, ShapeError
from transmission_bridge.kinematics import (
    Joint,
    joint_from_spec,
    JointDynamics,
    JointDynamicsType,
    JointError,
    JointIndexError,
    joints_from_description,
    MotionLimits,
)

LARGEST = np.finfo(float).max


def test_replacing_returns_new_joints():
    """A joint is changed by replacing fields of a copy, and stays as it was."""
    joint = Joint('a', 'b', 'revolute', axis=(0, 0, 2), name='j')
    limited = joint.with_limits(lower=-1.0, upper=2.0).with_limits(velocity=3.0, effort=4.0)
    changed = dataclasses.replace(
        limited, link1='c', link2='d', name='k', index=7, position_offset=8, dof_offset=9,
        rest=np.diag([-1.0, -1.0, 1.0, 1.0]), mimic=MimicSpec('j'),
        dynamics=JointDynamics(1, (5.0,), (6.0,)),
    )  # fmt: skip
    assert (changed.link1, changed.link2, changed.name) == ('c', 'd', 'k')
    assert changed.limits == MotionLimits((-1.0,), (2.0,), (3.0,), (4.0,))
    assert changed.dynamics.type is JointDynamicsType.URDF
    assert (changed.index, changed.position_offset, changed.dof_offset) == (7, 8, 9)
    assert changed.rest_transform('c', 'd')[0, 0] == -1.0
    np.testing.assert_array_equal(changed.axis, (0.0, 0.0, 1.0))
    assert (joint.link1, joint.link2, joint.index) == ('a', 'b', -1)
    assert joint.limits == MotionLimits.unlimited(1)
    assert joint.dynamics == JointDynamics.lossless(1)
    np.testing.assert_array_equal(joint.rest_transform('a', 'b'), np.eye(4))
    with pytest.raises(dataclasses.FrozenInstanceError):
        joint.name = 'other'


def test_numbers_and_switches_are_apart():
    """Setting a number does not turn its switch, and the switch does not change the number."""
    joint = Joint('a', 'b', 'prismatic').with_limits(lower=0.0, upper=1.0, velocity=2.0)
    assert not joint.limits.has_position
    assert not joint.limits.has_velocity
    on = dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, has_position=True))
    assert on.limits.has_position
    assert on.with_limits(upper=3.0).limits == dataclasses.replace(on.limits, upper=(3.0,))


@pytest.mark.parametrize('kind', ['fixed', 'continuous', 'planar', 'spherical', 'floating'])
def test_position_limits_where_there_are_none(kind):
    """Joints without bounds refuse numbers and switch."""
    joint = Joint('a', 'b', kind)
    assert not joint.limits.has_position
    with pytest.raises(JointError, match='no position limits'):
        dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, has_position=True))
    if joint.n_dofs:
        with pytest.raises(JointError, match='no position limits'):
            joint.with_limits(lower=-1.0, upper=1.0)


NAN = np.nan


def revolute(**options):
    """Return a joint."""
    return Joint('a', 'b', 'revolute', **options)


@pytest.mark.parametrize(
    ('make', 'error', 'said'),
    [
        *(
            (
                lambda b=b: revolute().with_limits(lower=b[0], upper=b[1]),
                JointError,
                'not in order',
            )
            for b in ((1.0, -1.0), (NAN, 1.0), (0.0, NAN))
        ),
        (
            lambda: revolute().with_limits(velocity=-1.0),
            JointError,
            'velocity limit -1.0 is',
        ),
        (lambda: revolute().with_limits(effort=NAN), JointError, 'effort limit nan is not'),
        (lambda: Joint('a', 'b', 'screw'), JointError, "'screw' is not one of fixed, revolute"),
        (lambda: revolute(limits=MotionLimits.unlimited(2)), ShapeError, 'limits'),
        (lambda: revolute(dynamics=JointDynamics.lossless(3)), ShapeError, 'dynamics'),
        (lambda: MotionLimits((1.0,), (1.0, 2.0), (1.0,), (1.0,)), ShapeError, 'limits'),
        (lambda: JointDynamics(damping=(1.0,)), ShapeError, 'dynamics'),
        (lambda: JointDynamics(2), ValueError, '2 is not a valid JointDynamicsType'),
        (lambda: revolute(rest=np.eye(3)), ShapeError, 'rest'),
        (lambda: revolute(axis=(1.0, 0.0)), ShapeError, 'axis'),
        (lambda: revolute(origin=(1.0, 0.0)), ShapeError, 'origin'),
        (lambda: revolute(position_offset=-1), JointError, 'offset'),
        (lambda: revolute(origin=(NAN, 0.0, 0.0)), JointError, 'origin must be finite'),
        # Unknown numbers, scales, reflections and other last rows are no poses.
        *(
            (lambda rest=rest: revolute(rest=rest), JointError, 'must be a rotation and a transl')
            for rest in (
                np.full((4, 4), NAN),
                np.diag([2.0, 2.0, 2.0, 2.0]),
                np.diag([-1.0, 1.0, 1.0, 1.0]),
                np.diag([1.0, 1.0, 1.001, 1.0]),
                np.eye(4)[[0, 1, 3, 2]],
            )
        ),
    ],
)
def test_what_does_not_fit_the_type_is_refused(make, error, said):
    """Types, limits, losses and arrays that a joint cannot have are errors that say why."""
    with pytest.raises(error, match=said):
        make()


def test_a_rest_pose_may_be_rounded():
    """Four digits of a sine are enough."""
    rest = np.eye(4)
    rest[:2, :2] = [[0.7071, -0.7071], [0.7071, 0.7071]]
    revolute(rest=rest)


@pytest.mark.parametrize('values', [(-1.0, 0.0), (0.0, -1.0), (np.nan, 0.0), (0.0, np.inf)])
def test_losses_are_magnitudes(values):
    """A negative damping would drive the joint; a description with one names its line."""
    damping, friction = values
    with pytest.raises(JointError, match='must be finite and not negative'):
        JointDynamics(1, (damping,), (friction,))
    with pytest.raises(DescriptionError, match=r'line 7.*not negative'):
        joint_from_spec(spec('revolute', dynamics=DynamicsSpec(*values), line=7))


@pytest.mark.parametrize('index', [-1, 1, np.int64(-1)])
def test_an_index_out_of_range_is_refused(index):
    """IDynTree leaves it undefined; a negative index does not count from the end."""
    joint = Joint('a', 'b', 'revolute')
    for values in (joint.limits.lower, joint.limits.effort, joint.dynamics.damping):
        with pytest.raises(JointIndexError, match=rf'{index} is not in \[0, 1\)'):
            values[index]
        assert values == (values[0],)


def spec(kind, **options):
    """Return a joint element."""
    return JointSpec('j', kind, 'parent', 'child', **options)


def test_continuous_joint_ignores_position_bounds():
    """A continuous joint has no position limits, whatever its limit element says."""
    joint = joint_from_spec(spec('continuous', limits=JointLimits(-1.0, 1.0, 2.0, 3.0)))
    assert joint.limits == MotionLimits(
        (-LARGEST,), (LARGEST,), (2.0,), (3.0,), has_velocity=True, has_effort=True
    )


def test_one_sided_bounds_and_negative_magnitudes():
    """An open side is the largest number; speeds and efforts count by magnitude."""
    joint = joint_from_spec(spec('revolute', limits=JointLimits(upper=1.0, velocity=-2.0)))
    assert joint.limits == MotionLimits(
        (-LARGEST,), (1.0,), (2.0,), (0.0,), has_position=True, has_velocity=True
    )


def test_dynamics_of_a_description_count():
    """A dynamics element makes the type URDF; without one the type is none."""
    assert joint_from_spec(spec('revolute')).dynamics.type is JointDynamicsType.NONE
    joint = joint_from_spec(spec('prismatic', dynamics=DynamicsSpec(0.5, 0.25)))
    assert joint.dynamics == JointDynamics(JointDynamicsType.URDF, (0.5,), (0.25,))


@pytest.mark.parametrize(
    'kind',
    ['fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'spherical', 'floating'],
)
def test_each_type_of_a_description_has_its_joint(kind):
    """The type is that of the joint element, its origin the rest transform, its axis turned."""
    limits, dynamics = JointLimits(-1.0, 1.0, 2.0, 3.0), DynamicsSpec(0.5, 0.25)
    origin = Pose((1.0, 2.0, 3.0), (0.0, 0.0, np.pi / 2))
    mimic = MimicSpec('other', 2.0, 1.0)
    joint = joint_from_spec(
        spec(kind, origin=origin, limits=limits, dynamics=dynamics, mimic=mimic)
    )
    assert (joint.type, joint.link1, joint.link2, joint.mimic) == (kind, 'parent', 'child', mimic)
    turned = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    np.testing.assert_allclose(joint.rest_transform('parent', 'child'), turned, atol=1e-15)
    np.testing.assert_allclose(joint.axis_in('child')[1], np.zeros(3), atol=1e-15)
    if kind in ('revolute', 'continuous', 'prismatic', 'planar'):
        np.testing.assert_allclose(joint.axis_in('parent')[0], (0.0, 1.0, 0.0), atol=1e-15)
    # Of which of several degrees of freedom they would be, URDF does not say.
    if joint.n_dofs != 1:
        assert joint.limits == MotionLimits.unlimited(joint.n_dofs)
        assert joint.dynamics == JointDynamics.lossless(joint.n_dofs)


def test_what_has_no_joint_is_refused_with_its_place():
    """Unknown types and axes without direction are description errors with line and path."""
    place = {'line': 12, 'path': '/robot/joint[3]'}
    with pytest.raises(DescriptionError, match=r'line 12, /robot/joint\[3\].*screw'):
        joint_from_spec(spec('screw', **place))
    with pytest.raises(DescriptionError, match=r'line 12.*no direction'):
        joint_from_spec(spec('revolute', axis=(0.0, 0.0, 0.0), **place))


def test_offsets_run_through_the_model():
    """Joints of a robot follow each other in the vectors; fixed ones take no room."""
    kinds = ('revolute', 'fixed', 'spherical', 'floating', 'planar', 'prismatic')
    robot = RobotDescription(
        'r',
        joints=tuple(
            JointSpec(f'j{number}', kind, f'l{number}', f'l{number + 1}')
            for number, kind in enumerate(kinds)
        ),
    )
    joints = joints_from_description(robot)
    assert [joint.index for joint in joints] == [0, 1, 2, 3, 4, 5]
    assert [joint.position_offset for joint in joints] == [0, 1, 1, 5, 12, 15]
    assert [joint.dof_offset for joint in joints] == [0, 1, 1, 4, 10, 13]
