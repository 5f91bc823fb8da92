# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What must hold for every type of joint, whatever its numbers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics import Joint, JointError, JointIndexError
from transmission_bridge.kinematics.spatial import (
    invert_pose,
    make_transform,
    rotation_from_rpy,
    skew_matrix,
)

TYPES = (
    'fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'spherical', 'floating',
)  # fmt: skip
DIRECTIONS = (('child', 'parent'), ('parent', 'child'))


def make_joint(kind, rng, **options):
    """Return a joint with random numbers."""
    rest = make_transform(rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))
    options.update(axis=rng.normal(size=3), origin=rng.normal(size=3))
    return Joint('parent', 'child', kind, rest, name='j', **options)


def close(left, right, scale=1.0):
    """Assert equality relative to the size of the terms."""
    np.testing.assert_allclose(left, right, rtol=0.0, atol=1e-13 * scale)


def twist_matrix(twist):
    """Return the 4×4 matrix V with d/dt a_H_b = a_H_b V for the body twist of b."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew_matrix(twist[3:]), twist[:3]
    return matrix


joints = st.builds(
    lambda kind, seed: (make_joint(kind, np.random.default_rng(seed)), seed),
    st.sampled_from(TYPES),
    st.integers(0, 2**32 - 1),
)


def numbers(joint, seed, *, unit=False):
    """Return q, dq and ddq; ``unit`` makes a quaternion one of length one."""
    rng = np.random.default_rng(seed + 1)
    q = rng.normal(size=joint.n_positions)
    if unit and joint.n_positions >= 4:
        q[-4:] /= np.linalg.norm(q[-4:])
    return q, rng.normal(size=joint.n_dofs), rng.normal(size=joint.n_dofs)


@given(joints)
def test_directions_are_inverse(pair):
    """child_H_parent and parent_H_child are inverse at any position and at rest."""
    joint, seed = pair
    q, _, _ = numbers(joint, seed)
    forth = joint.transform(q, 'child', 'parent')
    close(forth @ joint.transform(q, 'parent', 'child'), np.eye(4), 20.0)
    close(forth[:3, :3] @ forth[:3, :3].T, np.eye(3), 10.0)
    rest = joint.rest_transform('parent', 'child')
    close(joint.rest_transform('child', 'parent') @ rest, np.eye(4), 20.0)
    close(joint.transform(joint.rest_positions(), 'parent', 'child'), rest, 10.0)


@given(joints)
def test_velocity_is_the_rate_of_the_transform(central_difference, pair):
    """The motion subspace is what derivatives of the transform say, and these are differences."""
    joint, seed = pair
    q, dq, _ = numbers(joint, seed, unit=True)
    rates = joint.position_rate_jacobian(q) @ dq
    for child, parent in DIRECTIONS:
        rate = np.zeros((4, 4))
        for index, unit in enumerate(np.eye(joint.n_positions)):
            exact = joint.transform_derivative(q, child, parent, index)
            quotient = central_difference(
                lambda step: joint.transform(q + step * unit, child, parent)
            )
            np.testing.assert_allclose(exact, quotient, rtol=0.0, atol=1e-9)
            rate += exact * rates[index]
        twist = joint.child_velocity(q, dq, np.zeros(6), child, parent)
        # d/dt parent_H_child = parent_H_child V, so d/dt child_H_parent = -V child_H_parent.
        child_h_parent = joint.transform(q, child, parent)
        close(rate, -twist_matrix(twist) @ child_h_parent, 100.0)


@given(joints)
def test_accelerations_are_rates_of_velocities(central_difference, pair):
    """Along a motion of both links the child's acceleration is the derivative of its twist."""
    joint, seed = pair
    rng = np.random.default_rng(seed + 2)
    q, dq, ddq = numbers(joint, seed, unit=True)
    twist, acceleration = rng.normal(size=(2, 6))

    def child_velocity(time, child, parent):
        # Second-order motion of the coordinates that has dq and ddq at time zero.
        rate = joint.position_rate_jacobian(q) @ (dq * time + 0.5 * ddq * time**2)
        first = joint.position_rate_jacobian(q) @ dq
        # The rate matrix itself moves: its change is the curvature.
        step = 1e-6
        change = (
            joint.position_rate_jacobian(q + step * first)
            - joint.position_rate_jacobian(q - step * first)
        ) / (2.0 * step)
        position = q + rate + 0.5 * time**2 * (change @ dq)
        return joint.child_velocity(
            position, dq + time * ddq, twist + time * acceleration, child, parent
        )

    for child, parent in DIRECTIONS:
        arguments = (twist, acceleration, child, parent)
        velocity, exact = joint.child_velocity_acceleration(q, dq, ddq, *arguments)
        np.testing.assert_array_equal(velocity, joint.child_velocity(q, dq, twist, child, parent))
        quotient = central_difference(lambda time: child_velocity(time, child, parent))
        scale = 1.0 + np.max(np.abs(exact))
        np.testing.assert_allclose(exact, quotient, rtol=0.0, atol=1e-7 * scale)
        _, bias = joint.child_velocity_acceleration(q, dq, None, *arguments)
        close(exact - bias, joint.motion_subspace(child, parent, q) @ ddq, 100.0 * scale)


@given(joints)
def test_torque_does_the_work_of_the_wrench(pair):
    """For any wrench and velocity, torque times velocity is wrench times relative twist."""
    joint, seed = pair
    rng = np.random.default_rng(seed + 4)
    q, dq, _ = numbers(joint, seed)
    wrench = rng.normal(size=6)
    for child, parent in DIRECTIONS:
        torque = joint.joint_torque(q, wrench, applied_by=parent, on=child)
        twist = joint.child_velocity(q, dq, np.zeros(6), child, parent)
        assert torque.shape == (joint.n_dofs,)
        close(torque @ dq, wrench @ twist, 10.0 + np.abs(wrench) @ np.abs(twist))


@given(joints, st.integers(0, 3), st.integers(0, 3))
def test_offsets_choose_the_part_of_the_models_vectors(pair, position_offset, dof_offset):
    """A joint reads its own part of long vectors and ignores the rest."""
    joint, seed = pair
    q, dq, ddq = numbers(joint, seed)
    placed = replace(joint, position_offset=position_offset, dof_offset=dof_offset)

    def embed(values, offset):
        return np.concatenate([np.full(offset, np.nan), values, [np.nan]])

    twist = np.arange(6.0)
    arguments = (twist, twist, 'child', 'parent')
    alone = joint.child_velocity_acceleration(q, dq, ddq, *arguments)
    within = placed.child_velocity_acceleration(
        embed(q, position_offset), embed(dq, dof_offset), embed(ddq, dof_offset), *arguments
    )
    close(alone, within, 1000.0)


@given(joints)
def test_batches_are_single_calls(pair):
    """Leading axes are batches in every query, and those of the arguments broadcast."""
    joint, seed = pair
    rng = np.random.default_rng(seed + 6)
    q = rng.normal(size=(4, 1, joint.n_positions))
    dq, ddq = rng.normal(size=(2, 3, joint.n_dofs))
    twist, acceleration = rng.normal(size=(2, 6))
    got = joint.child_position_velocity_acceleration(
        q, dq, ddq, (np.eye(4), twist, acceleration), 'child', 'parent'
    )
    assert got.velocity.shape == got.acceleration.shape == (4, 3, 6)
    assert got.position.shape == (4, 1, 4, 4)
    for row, column in np.ndindex(4, 3):
        single = joint.child_position_velocity_acceleration(
            q[row, 0], dq[column], ddq[column], (np.eye(4), twist, acceleration),
            'child', 'parent',
        )  # fmt: skip
        scale = 10.0 * (1.0 + np.max(np.abs(single.acceleration)))
        close(got.velocity[row, column], single.velocity, scale)
        close(got.acceleration[row, column], single.acceleration, scale)
        close(got.position[row, 0], single.position, scale)


#: What a joint of any type is asked, and how it refuses that.
REFUSED = [
    (
        lambda j, q: j.transform(q, 'child', 'child'),
        JointError,
        "joins links 'parent' and 'child'",
    ),
    (
        lambda j, q: j.transform(q, 'child', 'other'),
        JointError,
        "joins links 'parent' and 'child'",
    ),
    (lambda j, q: j.motion_subspace('other', 'parent', q), JointError, 'joins links'),
    (lambda j, q: j.axis_in('other'), JointError, "is not attached to link 'other'"),
    (lambda j, q: replace(j, link1='a', link2='a'), JointError, 'both ends'),
    (lambda j, q: j.transform_derivative(q, *DIRECTIONS[0], -1), JointIndexError, r'-1 is not in'),
    (
        lambda j, q: j.transform_derivative(q, *DIRECTIONS[0], j.n_positions),
        JointIndexError,
        r'position coordinate \d is not in \[0, \d\)',
    ),
    (lambda j, q: j.with_limits(-1, effort=1.0), JointIndexError, 'freedom -1 is not in'),
    (lambda j, q: j.with_limits(j.n_dofs, effort=1.0), JointIndexError, r'is not in \[0, \d\)'),
]

#: The same of a joint that moves, with its part behind those of others.
SHORT = [
    (lambda j, q: j.transform(q[:-1], *DIRECTIONS[0]), ShapeError, 'q: expected'),
    (
        lambda j, q: j.child_velocity(q, np.ones(j.n_dofs), np.zeros(6), *DIRECTIONS[0]),
        ShapeError,
        'dq: expected',
    ),
    (
        lambda j, q: j.joint_torque(q, np.zeros(5), applied_by='child', on='parent'),
        ShapeError,
        'wrench',
    ),
]


@pytest.mark.parametrize('kind', TYPES)
def test_what_does_not_fit_is_refused(kind):
    """Links that are not the joint's, indices out of range, and vectors that end before it."""
    joint = make_joint(kind, np.random.default_rng(0), position_offset=2, dof_offset=1)
    q = np.concatenate([np.ones(2), joint.rest_positions()])
    for ask, error, said in REFUSED + SHORT * bool(joint.n_dofs):
        with pytest.raises(error, match=said):
            ask(joint, q)
    for axis in ((0, 0, 0), (np.nan, 0, 1), (np.inf, 0, 0)) if kind in TYPES[1:5] else ():
        with pytest.raises(JointError, match='has no direction'):
            Joint('a', 'b', kind, axis=axis)
    if kind == 'spherical':
        assert joint.motion_subspace('child', 'parent').shape == (6, 3)
        with pytest.raises(JointError, match='depends on the position'):
            joint.motion_subspace('parent', 'child')
    if kind == 'revolute':
        turned = replace(joint, position_offset=0).transform(0.5, *DIRECTIONS[0])
        close(turned, joint.transform([0.0, 0.0, 0.5], *DIRECTIONS[0]))


def test_rest_and_axis_cannot_be_changed_from_outside():
    """A joint copies what it is given and hands out copies or read-only arrays."""
    rest, axis = np.eye(4), np.array([0.0, 0.0, 3.0])
    joint = Joint('a', 'b', 'revolute', rest, axis=axis)
    rest[0, 3] = axis[0] = 5.0
    joint.rest_transform('a', 'b')[0, 3] = 5.0
    joint.axis_in('a')[0][0] = 5.0
    np.testing.assert_array_equal(joint.rest_transform('a', 'b'), np.eye(4))
    np.testing.assert_array_equal(joint.axis, (0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match='read-only'):
        joint.rest[0, 3] = 1.0


@pytest.mark.parametrize(
    ('axis', 'across'), [('x', 'yz'), ('y', 'zx'), ('z', 'xy')], ids=['x', 'y', 'z']
)
def test_planar_joint_moves_across_its_axis(axis, across):
    """Its coordinates are those of the joint frame in cyclic order, then the angle."""
    unit = dict(zip('xyz', np.eye(3), strict=True))
    rest = make_transform(rotation_from_rpy([0.1, 0.2, 0.3]), [1.0, 2.0, 3.0])
    joint = Joint('a', 'b', 'planar', rest, axis=rest[:3, :3] @ unit[axis], origin=rest[:3, 3])
    moved = invert_pose(rest) @ joint.transform([0.5, -0.25, np.pi / 2], 'a', 'b')
    expected = 0.5 * unit[across[0]] - 0.25 * unit[across[1]]
    np.testing.assert_allclose(moved[:3, 3], expected, atol=1e-14)
    np.testing.assert_allclose(moved[:3, :3] @ unit[axis], unit[axis], atol=1e-14)
    np.testing.assert_allclose(moved[:3, :3] @ unit[across[0]], unit[across[1]], atol=1e-14)


def test_unknown_travel_leaves_the_orientation_known():
    """The rotation of a prismatic and of a floating joint does not depend on the translation."""
    for joint, q in (
        (Joint('a', 'b', 'prismatic', axis=(0, 0, 1)), [np.nan]),
        (Joint('a', 'b', 'floating'), [np.nan, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
    ):
        pose = joint.transform(q, 'b', 'a')
        np.testing.assert_array_equal(pose[:3, :3], np.eye(3))
        assert np.isnan(pose[:3, 3]).any()


def test_axes_and_centres_are_seen_from_both_links():
    """Axis and centre are the same line and point in either frame; other links are refused."""
    rng = np.random.default_rng(4)
    joint = make_joint('revolute', rng)
    direction, point = joint.axis_in('child')
    close(joint.rest[:3, :3] @ direction, joint.axis)
    close(joint.rest[:3, :3] @ point + joint.rest[:3, 3], joint.origin, 10.0)
    close(joint.axis_in('parent'), (joint.axis, joint.origin))


def test_quaternion_length_does_not_matter_but_zero_is_refused():
    """Quaternions are normalised; one of length zero is no orientation."""
    joint = Joint('a', 'b', 'spherical')
    q = np.array([0.3, -0.2, 0.5, 0.1])
    close(joint.transform(q, 'a', 'b'), joint.transform(-7.0 * q, 'a', 'b'))
    close(joint.normalized_positions(3.0 * q), q / np.linalg.norm(q))
    with pytest.raises(JointError, match='length zero'):
        joint.transform(np.zeros(4), 'a', 'b')


def test_free_joint_reaches_any_pose():
    """A free joint at rest identity puts the child where its coordinates say."""
    joint = Joint('world', 'body', 'floating')
    pose = joint.transform([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 2.0], 'world', 'body')
    expected = make_transform(np.diag([-1.0, -1.0, 1.0]), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(pose, expected, atol=1e-15)
    np.testing.assert_allclose(invert_pose(pose) @ pose, np.eye(4), atol=1e-15)
