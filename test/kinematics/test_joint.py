# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A joint of every type: how it moves, by laws and by iDynTree's numbers, and its settings."""

from dataclasses import replace

from hypothesis import given, strategies as st
import numpy as np
import pytest

from transmission_bridge.description import (
    DynamicsSpec,
    JointLimitSpec,
    JointSpec,
    MimicSpec,
    OriginSpec,
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
from transmission_bridge.spatial import invert_pose, make_transform, rotation_from_rpy, skew_matrix

TYPES = ('fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'spherical', 'floating')
DOWN, UP = ('child', 'parent'), ('parent', 'child')
NAN, LARGEST = np.nan, np.finfo(float).max


def make_joint(kind, rng, **options):
    """Return a joint with random numbers."""
    rest = make_transform(rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))
    options.update(axis=rng.normal(size=3), origin=rng.normal(size=3))
    return Joint('parent', 'child', kind, rest, name='j', **options)


def close(left, right, scale=1.0, tolerance=1e-13):
    """Assert equality relative to the size of the terms."""
    np.testing.assert_allclose(left, right, rtol=0.0, atol=tolerance * scale)


@st.composite
def moving_joints(draw):
    """Draw a joint of any type, q, dq and ddq, and a generator for other numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    joint = make_joint(draw(st.sampled_from(TYPES)), rng)
    q = joint.normalized_positions(rng.normal(size=joint.n_positions))
    return joint, q, *rng.normal(size=(2, joint.n_dofs)), rng


# -- Laws of every type ---------------------------------------------------------------------------


@given(moving_joints())
def test_directions_are_inverse(drawn):
    """child_H_parent and parent_H_child are inverse at any position and at rest."""
    joint, q, *_ = drawn
    q = 1.5 * q  # a quaternion may have any length
    forth = joint.transform(q, *DOWN)
    close(forth @ joint.transform(q, *UP), np.eye(4), 20.0)
    close(forth[:3, :3] @ forth[:3, :3].T, np.eye(3), 10.0)
    rest = joint.rest_transform(*UP)
    close(joint.rest_transform(*DOWN) @ rest, np.eye(4), 20.0)
    close(joint.transform(joint.rest_positions(), *UP), rest, 10.0)


@given(moving_joints())
def test_velocity_is_the_rate_of_the_transform(central_difference, drawn):
    """The motion subspace is what derivatives of the transform say, and these are differences."""
    joint, q, dq, *_ = drawn
    rates = joint.position_rate_jacobian(q) @ dq
    for way in (DOWN, UP):
        rate = np.zeros((4, 4))
        for index, unit in enumerate(np.eye(joint.n_positions)):
            exact = joint.transform_derivative(q, *way, index)
            quotient = central_difference(lambda step: joint.transform(q + step * unit, *way))
            close(exact, quotient, tolerance=1e-9)
            rate += exact * rates[index]
        twist = joint.child_velocity(q, dq, np.zeros(6), *way)
        # d/dt a_H_b = a_H_b V for the twist of b, so d/dt child_H_parent = -V child_H_parent.
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = skew_matrix(twist[3:]), twist[:3]
        close(rate, -matrix @ joint.transform(q, *way), 100.0)


@given(moving_joints())
def test_accelerations_are_rates_of_velocities(central_difference, drawn):
    """Along a motion of both links the child's acceleration is the derivative of its twist."""
    joint, q, dq, ddq, rng = drawn
    twist, acceleration = rng.normal(size=(2, 6))
    rates, step = joint.position_rate_jacobian, 1e-6
    first = rates(q) @ dq
    # The rate matrix itself moves: its change is the curvature.
    change = (rates(q + step * first) - rates(q - step * first)) / (2.0 * step)

    def child_velocity(time, way):
        # Second-order motion of the coordinates that has dq and ddq at time zero.
        position = q + rates(q) @ (dq * time + 0.5 * ddq * time**2) + 0.5 * time**2 * change @ dq
        return joint.child_velocity(position, dq + time * ddq, twist + time * acceleration, *way)

    for way in (DOWN, UP):
        velocity, exact = joint.child_velocity_acceleration(q, dq, ddq, twist, acceleration, *way)
        np.testing.assert_array_equal(velocity, joint.child_velocity(q, dq, twist, *way))
        scale = 1.0 + np.max(np.abs(exact))
        quotient = central_difference(lambda time: child_velocity(time, way))
        close(exact, quotient, scale, tolerance=1e-7)
        _, bias = joint.child_velocity_acceleration(q, dq, None, twist, acceleration, *way)
        close(exact - bias, joint.motion_subspace(*way, q) @ ddq, 100.0 * scale)


@given(moving_joints())
def test_torque_does_the_work_of_the_wrench(drawn):
    """For any wrench and velocity, torque times velocity is wrench times relative twist."""
    joint, q, dq, _, rng = drawn
    q, wrench = 1.5 * q, rng.normal(size=6)
    for child, parent in (DOWN, UP):
        torque = joint.joint_torque(q, wrench, applied_by=parent, on=child)
        twist = joint.child_velocity(q, dq, np.zeros(6), child, parent)
        assert torque.shape == (joint.n_dofs,)
        close(torque @ dq, wrench @ twist, 10.0 + np.abs(wrench) @ np.abs(twist))


@given(moving_joints(), st.integers(0, 3), st.integers(0, 3))
def test_offsets_choose_the_part_of_the_models_vectors(drawn, position_offset, dof_offset):
    """A joint reads its own part of long vectors and ignores the rest."""
    joint, q, dq, ddq, _ = drawn
    placed = replace(joint, position_offset=position_offset, dof_offset=dof_offset)
    q_within, dq_within, ddq_within = (
        np.concatenate([np.full(offset, NAN), values, [NAN]])
        for values, offset in ((q, position_offset), (dq, dof_offset), (ddq, dof_offset))
    )
    twists = np.arange(6.0), np.arange(6.0)
    alone = joint.child_velocity_acceleration(q, dq, ddq, *twists, *DOWN)
    within = placed.child_velocity_acceleration(q_within, dq_within, ddq_within, *twists, *DOWN)
    close(alone, within, 1000.0)


@given(moving_joints())
def test_batches_are_single_calls(drawn):
    """Leading axes are batches in every query, and those of the arguments broadcast."""
    joint, *_, rng = drawn
    q = rng.normal(size=(4, 1, joint.n_positions))
    dq, ddq = rng.normal(size=(2, 3, joint.n_dofs))
    parent = (np.eye(4), *rng.normal(size=(2, 6)))
    ask = joint.child_position_velocity_acceleration
    got = ask(q, dq, ddq, parent, *DOWN)
    assert got.velocity.shape == got.acceleration.shape == (4, 3, 6)
    assert got.position.shape == (4, 1, 4, 4)
    for row, column in np.ndindex(4, 3):
        single = ask(q[row, 0], dq[column], ddq[column], parent, *DOWN)
        scale = 10.0 * (1.0 + np.max(np.abs(single.acceleration)))
        close(got.velocity[row, column], single.velocity, scale)
        close(got.acceleration[row, column], single.acceleration, scale)
        close(got.position[row, 0], single.position, scale)


# -- Numbers of iDynTree --------------------------------------------------------------------------


def compute(joint, case, child, parent):
    """Return what the joint says for every key that a case may hold."""
    q, way = case['q'], (child, parent)
    # Joints with several degrees of freedom list their vectors, the others have one or none.
    subspace = joint.motion_subspace(*way, q)
    results = {
        'transform': joint.transform(q, *way),
        'rest_transform': joint.rest_transform(*way),
        'motion_subspace': subspace.T if joint.n_dofs > 1 else subspace[:, :1],
    }
    if 'wrench' not in case:
        return results
    if joint.n_positions:
        results['transform_derivative'] = joint.transform_derivative(q, *way)
    dq, ddq, twist, acc = (case[key] for key in ('dq', 'ddq', 'parent_twist', 'parent_acc'))
    torque = joint.joint_torque(q, case['wrench'], applied_by=parent, on=child)
    move = joint.child_velocity_acceleration
    return results | {
        'joint_torque(applied_by=parent,on=child)': torque,
        'child_twist': joint.child_velocity(q, dq, twist, *way),
        'child_acc': move(q, dq, ddq, twist, acc, *way)[1],
        'child_bias_acc': move(q, dq, None, twist, acc, *way)[1],
    }


def test_every_case_of_idyntree_agrees(load_vectors):
    """Transforms, subspaces, motions and torques agree to 1e-12, and defaults of limits."""
    cases = load_vectors('ijoint_vectors.json')['cases']
    assert sum('defaults' in case for case in cases) > 0
    for case in cases:
        place = {'axis': 'axis_direction_in_link1', 'origin': 'axis_origin_in_link1'}
        options = {option: case[key] for option, key in place.items() if key in case}
        rest = case['link1_H_link2_rest']
        joint = Joint(case['link1'], case['link2'], case['kind'], rest, **options)
        assert (joint.n_positions, joint.n_dofs) == (case['nr_pos_coords'], case['nr_dofs'])
        assert (joint.link1, joint.link2) == (case.get('first', 0), case.get('second', 1))
        for direction, way in (('child1_parent0', (1, 0)), ('child0_parent1', (0, 1))):
            results = compute(joint, case, *way)
            for key, expected in case[direction].items():
                close(np.ravel(results[key]), np.ravel(expected), tolerance=1e-12)
        if 'defaults' in case:
            peer = {name: (number,) for name, number in case['defaults'].items()}
            numbers = (peer[key] for key in ('min', 'max', 'vel', 'eff'))
            assert joint.limits == MotionLimits(*numbers)
            losses = peer['damping'], peer['static_friction']
            assert joint.dynamics == JointDynamics(JointDynamicsType.NONE, *losses)
            switches = ('has_pos_limits', 'has_vel', 'has_eff', 'dynamics_type')
            assert not any(case['defaults'][each] for each in switches)


# -- What one type has alone ----------------------------------------------------------------------


@pytest.mark.parametrize(('axis', 'across'), [('x', 'yz'), ('y', 'zx'), ('z', 'xy')])
def test_planar_joint_moves_across_its_axis(axis, across):
    """Its coordinates are those of the joint frame in cyclic order, then the angle."""
    unit = dict(zip('xyz', np.eye(3), strict=True))
    rest = make_transform(rotation_from_rpy([0.1, 0.2, 0.3]), [1.0, 2.0, 3.0])
    joint = Joint('a', 'b', 'planar', rest, axis=rest[:3, :3] @ unit[axis], origin=rest[:3, 3])
    moved = invert_pose(rest) @ joint.transform([0.5, -0.25, np.pi / 2], 'a', 'b')
    close(moved[:3, 3], 0.5 * unit[across[0]] - 0.25 * unit[across[1]])
    close(moved[:3, :3] @ unit[axis], unit[axis])
    close(moved[:3, :3] @ unit[across[0]], unit[across[1]])


# -- Refusals -------------------------------------------------------------------------------------

NO_BOUNDS = 'no position limits'

#: What a joint of any type is asked, and how it refuses that.
REFUSED = [
    (lambda j, q: j.transform(q, 'child', 'child'), JointError, "links 'parent' and 'child'"),
    (lambda j, q: j.transform(q, 'child', 'other'), JointError, "links 'parent' and 'child'"),
    (lambda j, q: j.motion_subspace('other', 'parent', q), JointError, 'joins links'),
    (lambda j, q: j.axis_in('other'), JointError, "is not attached to link 'other'"),
    (lambda j, q: replace(j, link1='a', link2='a'), JointError, 'both ends'),
    (lambda j, q: j.transform_derivative(q, *DOWN, -1), JointIndexError, r'-1 is not in'),
    (lambda j, q: j.transform_derivative(q, *DOWN, j.n_positions), JointIndexError,
     r'position coordinate \d is not in \[0, \d\)'),
    (lambda j, q: j.with_limits(-1, effort=1.0), JointIndexError, 'freedom -1 is not in'),
    (lambda j, q: j.with_limits(j.n_dofs, effort=1.0), JointIndexError, r'is not in \[0, \d\)'),
]  # fmt: skip

#: The same of a joint without bounds, which refuses numbers and switch.
ENDLESS = [
    (lambda j, q: replace(j, limits=replace(j.limits, has_position=True)), JointError, NO_BOUNDS),
    (lambda j, q: j.with_limits(lower=-1.0, upper=1.0), JointError, NO_BOUNDS),
]

#: The same of a joint that moves, with its part behind those of others.
SHORT = [
    (lambda j, q: j.transform(q[:-1], *DOWN), ShapeError, 'q: expected'),
    (lambda j, q: j.child_velocity(q, np.ones(j.n_dofs), np.zeros(6), *DOWN), ShapeError,
     'dq: expected'),
    (lambda j, q: j.joint_torque(q, np.zeros(5), applied_by='child', on='parent'), ShapeError,
     'wrench'),
]  # fmt: skip


@pytest.mark.parametrize('kind', TYPES)
def test_what_does_not_fit_is_refused(kind):
    """Links that are not the joint's, indices out of range, and vectors that end before it."""
    joint = make_joint(kind, np.random.default_rng(0), position_offset=2, dof_offset=1)
    q = np.concatenate([np.ones(2), joint.rest_positions()])
    endless = ENDLESS[: 1 + bool(joint.n_dofs)] * (kind not in ('revolute', 'prismatic'))
    for ask, error, said in REFUSED + SHORT * bool(joint.n_dofs) + endless:
        with pytest.raises(error, match=said):
            ask(joint, q)
    for axis in ((0, 0, 0), (NAN, 0, 1), (np.inf, 0, 0)) if kind in TYPES[1:5] else ():
        with pytest.raises(JointError, match='has no direction'):
            Joint('a', 'b', kind, axis=axis)
    if kind == 'spherical':
        with pytest.raises(JointError, match='length zero'):
            joint.transform(np.zeros(6), *DOWN)
        assert joint.motion_subspace(*DOWN).shape == (6, 3)
        with pytest.raises(JointError, match='depends on the position'):
            joint.motion_subspace(*UP)
    if kind == 'revolute':  # takes a number in place of a vector
        turned = replace(joint, position_offset=0).transform(0.5, *DOWN)
        close(turned, joint.transform([0.0, 0.0, 0.5], *DOWN))


def revolute(**options):
    """Return a joint."""
    return Joint('a', 'b', 'revolute', **options)


def spec(kind, **options):
    """Return a joint element of a description."""
    return JointSpec('j', kind, 'parent', 'child', line=12, path='/robot/joint[3]', **options)


#: Unknown numbers, scales, reflections and other last rows are no poses.
NO_POSES = (
    np.full((4, 4), NAN), np.diag([2.0, 2.0, 2.0, 2.0]), np.diag([-1.0, 1.0, 1.0, 1.0]),
    np.diag([1.0, 1.0, 1.001, 1.0]), np.eye(4)[[0, 1, 3, 2]],
)  # fmt: skip
#: A negative damping would drive the joint.
NO_LOSSES = ((-1.0, 0.0), (0.0, -1.0), (NAN, 0.0), (0.0, np.inf))


@pytest.mark.parametrize(('make', 'error', 'said'), [
    *((lambda b=b: revolute().with_limits(lower=b[0], upper=b[1]), JointError, 'not in order')
      for b in ((1.0, -1.0), (NAN, 1.0), (0.0, NAN))),
    (lambda: revolute().with_limits(velocity=-1.0), JointError, 'velocity limit -1.0 is'),
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
    *((lambda rest=rest: revolute(rest=rest), JointError, 'must be a rotation and a transl')
      for rest in NO_POSES),
    *((lambda d=d, f=f: JointDynamics(1, (d,), (f,)), JointError, 'finite and not negative')
      for d, f in NO_LOSSES),
    # What a description cannot have is an error with line and path.
    *((lambda d=d, f=f: joint_from_spec(spec('revolute', dynamics=DynamicsSpec(d, f))),
       DescriptionError, r'line 12.*not negative') for d, f in NO_LOSSES),
    (lambda: joint_from_spec(spec('screw')), DescriptionError, r'12, /robot/joint\[3\].*screw'),
    (lambda: joint_from_spec(spec('revolute', axis=(0.0, 0.0, 0.0))), DescriptionError,
     r'line 12.*no direction'),
])  # fmt: skip
def test_settings_that_do_not_fit_the_type_are_refused(make, error, said):
    """Types, limits, losses and arrays that a joint cannot have are errors that say why."""
    with pytest.raises(error, match=said):
        make()


@pytest.mark.parametrize('index', [-1, 1, np.int64(-1)])
def test_an_index_out_of_range_is_refused(index):
    """IDynTree leaves it undefined; a negative index does not count from the end."""
    joint = revolute()
    for values in (joint.limits.lower, joint.limits.effort, joint.dynamics.damping):
        with pytest.raises(JointIndexError, match=rf'{index} is not in \[0, 1\)'):
            values[index]
        assert values == (values[0],)


# -- Settings -------------------------------------------------------------------------------------


def test_rest_and_axis_cannot_be_changed_from_outside():
    """A joint copies what it is given and hands out copies or read-only arrays."""
    rest, axis = np.eye(4), np.array([0.0, 0.0, 3.0])
    joint = revolute(rest=rest, axis=axis)
    rest[0, 3] = axis[0] = 5.0
    joint.rest_transform('a', 'b')[0, 3] = 5.0
    joint.axis_in('a')[0][0] = 5.0
    np.testing.assert_array_equal(joint.rest_transform('a', 'b'), np.eye(4))
    np.testing.assert_array_equal(joint.axis, (0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match='read-only'):
        joint.rest[0, 3] = 1.0


@pytest.mark.parametrize(('kind', 'given_limits', 'expected', 'switches'), [
    # A continuous joint has no position limits, whatever its limit element says.
    ('continuous', (-1.0, 1.0, 2.0, 3.0), (-LARGEST, LARGEST, 2.0, 3.0), 'velocity effort'),
    # An open side is the largest number; speeds and efforts count by magnitude.
    ('revolute', (None, 1.0, -2.0, None), (-LARGEST, 1.0, 2.0, 0.0), 'position velocity'),
])  # fmt: skip
def test_limits_of_a_description(kind, given_limits, expected, switches):
    """They are numbers for every side, with a switch for what is limited."""
    joint = joint_from_spec(spec(kind, limits=JointLimitSpec(*given_limits)))
    on = {f'has_{name}': True for name in switches.split()}
    assert joint.limits == MotionLimits(*((number,) for number in expected), **on)


@pytest.mark.parametrize('kind', TYPES)
def test_each_type_of_a_description_has_its_joint(kind):
    """The type is that of the joint element, its origin the rest transform, its axis turned."""
    limits, dynamics = JointLimitSpec(-1.0, 1.0, 2.0, 3.0), DynamicsSpec(0.5, 0.25)
    origin, mimic = OriginSpec((1, 2, 3), (0, 0, np.pi / 2)), MimicSpec('other', 2.0, 1.0)
    element = spec(kind, origin=origin, limits=limits, dynamics=dynamics, mimic=mimic)
    joint = joint_from_spec(element)
    assert (joint.type, joint.link1, joint.link2, joint.mimic) == (kind, 'parent', 'child', mimic)
    turned = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    close(joint.rest_transform('parent', 'child'), turned)
    close(joint.axis_in('child')[1], np.zeros(3))
    if kind in ('revolute', 'continuous', 'prismatic', 'planar'):
        close(joint.axis_in('parent')[0], (0.0, 1.0, 0.0))
    # Of which of several degrees of freedom they would be, URDF does not say.
    if joint.n_dofs != 1:
        assert joint.limits == MotionLimits.unlimited(joint.n_dofs)
        assert joint.dynamics == JointDynamics.lossless(joint.n_dofs)


def test_offsets_run_through_the_model():
    """Joints of a robot follow each other in the vectors; fixed ones take no room."""
    kinds = ('revolute', 'fixed', 'spherical', 'floating', 'planar', 'prismatic')
    elements = (JointSpec(f'j{n}', kind, f'l{n}', f'l{n + 1}') for n, kind in enumerate(kinds))
    joints = joints_from_description(RobotDescription('r', joints=tuple(elements)))
    found = [(joint.index, joint.position_offset, joint.dof_offset) for joint in joints]
    assert found == [(0, 0, 0), (1, 1, 1), (2, 1, 1), (3, 5, 4), (4, 12, 10), (5, 15, 13)]
