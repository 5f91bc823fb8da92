# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where a device's end is, how it moves, its limits, and what a device refuses."""

import copy
from dataclasses import replace

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo import elements, linkages

from transmission_bridge.description import (
    JointSpec,
    LinkSpec,
    load_description,
    MimicSpec,
    RobotDescription,
)
from transmission_bridge.errors import DescriptionError, ShapeError, UnknownNameError
from transmission_bridge.kinematics import (
    ActuatorDevice,
    Joint,
    joint_from_spec,
    JointDevice,
    JointError,
    MotionLimits,
    State,
)
from transmission_bridge.kinematics.tree import KinematicTree
from transmission_bridge.spatial import invert_pose, make_transform, rotation_from_rpy
from transmission_bridge.transmissions import RobotTransmissions

KINDS = ('fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'spherical', 'floating')
X, Y, Z = np.eye(3)
INF = np.inf


def load(root, *joints):
    """Return a robot of a link and joints of the zoo."""
    return load_description(f'<robot name="r"><link name="{root}"/>{"".join(joints)}</robot>')


@pytest.fixture(scope='module')
def arm():
    """Return a small robot with two branches and a mimic joint."""
    mimic = '<mimic joint="grip" multiplier="-2" offset="0.5"/>'
    return load(
        'world',
        linkages.joint('lift', 'world', 'lift', axis=Z, kind='prismatic'),
        linkages.joint('shoulder', 'lift', 'upper', Z),
        linkages.joint('elbow', 'upper', 'lower', X, kind='continuous'),
        linkages.joint('wrist', 'lower', 'hand', X, kind='fixed'),
        linkages.joint('grip', 'hand', 'left', kind='prismatic'),
        linkages.joint('grip_mimic', 'hand', 'right', kind='prismatic', more=mimic),
        linkages.joint('neck', 'lift', 'camera', 2 * Z, axis=Z),
    )


@pytest.fixture(scope='module')
def floating():
    """Return a robot with a floating joint f, and a revolute one behind it."""
    base = linkages.joint('f', 'a', 'b', (1, 2, 3), kind='floating')
    return load('a', base, linkages.joint('j', 'b', 'c', axis=Z))


def any_joints(seed):
    """Return a tree of joints of every type with random frames, link numbers as frames."""
    rng = np.random.default_rng(seed)
    joints, kinds = [], rng.permutation(np.repeat(KINDS, 2))
    leader, *others = (number for number, kind in enumerate(kinds, 1) if kind in KINDS[1:4])
    for number, kind in enumerate(kinds, start=1):
        rest = make_transform(rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))
        axis, origin = rng.normal(size=(2, 3))
        numbers = rng.uniform(-2.0, 2.0, 2)
        mimic = MimicSpec(f'j{leader}', *numbers) if number in others[3:] else None
        joint = Joint(int(rng.integers(number)), number, str(kind), rest, axis=axis, origin=origin)
        joints.append(replace(joint, name=f'j{number}', mimic=mimic))
    return joints


def close(found, expected, tolerance=1e-13):
    """Assert equality to rounding."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance)


# -- Poses and Jacobians --------------------------------------------------------------------------


@given(st.integers(0, 1000), st.data())
def test_a_pose_is_that_of_the_joints_and_its_derivative_the_jacobian(
    central_difference, seed, data
):
    """
    For any base, end and joints, which others may mimic; one by one and in batches.

    Jacobians of several frames stand one below the other, and a calculator gives the same.
    """
    joints = any_joints(seed)
    base, end = (data.draw(st.integers(0, len(joints))) for _ in range(2))
    names = data.draw(st.lists(st.sampled_from([joint.name for joint in joints]), unique=True))
    device = JointDevice.from_joints(joints, base=base, end=end, joints=names, name='d')
    q = np.random.default_rng(seed + 1).normal(size=(3, device.n_positions))
    placed = {joint.name: joint for joint in device.joints}
    above = {joint.link2: joint for joint in joints}

    def from_root(link, row):
        pose = np.eye(4)
        while link in above:
            joint = above[link]
            leader = placed.get(joint.mimic.joint) if joint.mimic else None
            step = joint.rest
            if joint.name in placed:
                step = placed[joint.name].transform(row, joint.link1, joint.link2)
            elif leader is not None:
                value = joint.mimic.multiplier * row[leader.position_offset] + joint.mimic.offset
                step = joint.transform([value], joint.link1, joint.link2)
            pose, link = step @ pose, joint.link1
        return pose

    assert set(device.frames) == set(range(len(joints) + 1))
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    stacked = device.base_j_frames([7, device.end], q)
    parts = [device.base_j_frame(7, q), jacobians]
    np.testing.assert_array_equal(stacked, np.concatenate(parts, axis=1))
    np.testing.assert_array_equal(device.jacobian_calculator([7, device.end])(q), stacked)
    assert device.base_j_frames([], q).shape == (3, 0, device.dof)
    for row, pose, jacobian in zip(q, poses, jacobians, strict=True):
        base_t_root = invert_pose(from_root(device.base, row))
        close(pose, base_t_root @ from_root(device.end, row))
        close(device.base_t_frame(7, row), base_t_root @ from_root(7, row))
        close(device.world_t_base(row), from_root(device.base, row))
        close(device.base_t_end(row), pose)
        close(device.base_j_end(row), jacobian)
    q, pose, columns = q[0], device.base_t_end(q[0]), []
    for joint in device.joints:
        part = slice(joint.position_offset, joint.position_offset + joint.n_positions)
        q[part] = joint.normalized_positions(q)
        for column in joint.position_rate_jacobian(q).T:
            direction = np.zeros(q.shape)
            direction[part] = column
            rate = central_difference(lambda step: device.base_t_end(q + step * direction))
            spin = rate[:3, :3] @ pose[:3, :3].T
            columns.append((*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]))
    close(jacobians[0], np.array(columns).reshape(-1, 6).T, 1e-9)


@pytest.mark.parametrize('shape', [(0,), (1,), (2, 0, 3), (2, 3), (5000,)])
def test_batches_are_single_configurations(shape):
    """Leading axes are batches; also empty ones, and those that are cut into chunks."""
    device = JointDevice.from_joints(any_joints(3), base=0, end=14, joints=['j3', 'j5', 'j14'])
    q = np.random.default_rng(0).normal(size=(*shape, device.n_positions))
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    assert poses.shape == (*shape, 4, 4)
    assert jacobians.shape == (*shape, 6, device.dof)
    # In reverse order the seams of chunks are elsewhere.
    close(poses, device.base_t_end(q[::-1])[::-1])
    close(jacobians, device.base_j_end(q[::-1])[::-1])
    for index in [*np.ndindex(*shape)][:10]:
        close(poses[index], device.base_t_end(q[index]))
        close(jacobians[index], device.base_j_end(q[index]))


def test_numbers_are_those_of_all_peers(load_vectors, vectors_folder):
    """Poses and Jacobians of pinocchio, iDynTree and RobWork to 1e-12, and limits exactly."""
    vectors, seen = load_vectors('kinematics_vectors.json'), 0
    for case in vectors['devices']:
        path = vectors_folder / 'urdf' / case['urdf']
        if not path.is_file():  # not every robot may be shipped
            continue
        robot = load_description(path)
        ends = {'base': case['base'], 'end': case['tip']}
        device = JointDevice.from_description(robot, **ends, joints=case['joints'])
        samples = case['samples']
        q = np.array([sample['q'] for sample in samples])
        poses, jacobians = device.base_t_end(q), device.base_j_end(q)
        for peer in samples[0]['fk']:
            close(poses, [sample['fk'][peer] for sample in samples], 1e-12)
            close(jacobians, [sample['jacobian'][peer] for sample in samples], 1e-12)
            seen += 1
        # Without names a device has the movable joints on its way in order, mimics resolved.
        specs = {spec.name: spec for spec in robot.joints}
        on_path = (specs[name] for name in case['joints_on_path'])
        owners = [each.mimic.joint if each.mimic else each.name for each in on_path]
        default = JointDevice.from_description(robot, **ends)
        assert list(default.joint_names) == list(dict.fromkeys(owners))
        for name, expected in vectors['limits'].get(case['urdf'], {}).items():
            compare_limits(joint_from_spec(specs[name]), expected['idyntree'], expected['type'])
            if name in case['joints']:
                column, peer = case['joints'].index(name), expected['pinocchio']
                assert device.velocity_limits[column] == peer['velocity']
                assert device.effort_limits[column] == peer['effort']
                ends = (peer['lower'][0], peer['upper'][0])
                ends = (-INF, INF) if expected['type'] == 'continuous' else ends
                assert tuple(bound[column] for bound in device.bounds) == ends
    assert seen > 0


def compare_limits(joint, peer, kind):
    """Compare with iDynTree's; a continuous joint has no position limits here."""
    limits, dynamics = joint.limits, joint.dynamics
    assert (limits.has_velocity, limits.velocity) == (peer['has_vel'], (peer['vel'],))
    assert (limits.has_effort, limits.effort) == (peer['has_eff'], (peer['eff'],))
    assert dynamics.damping == (peer['damping'],)
    assert dynamics.static_friction == (peer['static_friction'],)
    assert int(dynamics.type) == peer['dynamics_type']
    assert limits.has_position == (peer['has_pos'] and kind != 'continuous')
    if kind != 'continuous':
        assert (limits.lower, limits.upper) == ((peer['min'],), (peer['max'],))


def test_unknown_coordinates_of_a_floating_base_touch_what_depends_on_them(floating):
    """An unknown height leaves the orientation and the other coordinates known, both ways."""
    q = np.array([0.1, 0.2, np.nan, 1.0, 0.0, 0.0, 0.0])
    for base, end, sign in (('a', 'b', 1.0), ('b', 'a', -1.0)):
        device = JointDevice.from_description(floating, base=base, end=end, joints=['f'])
        pose = device.base_t_end(q)
        close(pose[:2, 3], np.multiply(sign, [1.1, 2.2]))
        assert np.isnan(pose[2, 3])
        np.testing.assert_array_equal(pose[:3, :3], np.eye(3))
    # Unless it is named, a floating joint stays at rest.
    still = JointDevice.from_description(floating, base='a', end='c')
    assert still.joint_names == ('j',)
    np.testing.assert_array_equal(still.base_t_end([0.5])[:3, 3], [1, 2, 3])


# -- Mimic joints and the tree --------------------------------------------------------------------


def test_only_joints_with_one_coordinate_follow():
    """Neither does a floating joint follow, nor anything a floating one."""
    joints = [
        Joint('a', 'b', 'floating', name='f', mimic=MimicSpec('j')),
        Joint('b', 'c', 'revolute', name='j', axis=Z),
        Joint('c', 'd', 'revolute', name='k', axis=Z, mimic=MimicSpec('f')),
    ]
    device = JointDevice.from_joints(joints[:2], base='a', end='c', joints=['j'])
    close(device.base_j_end([0.3])[:, 0], [0, 0, 0, 0, 0, 1])
    whole = JointDevice.from_joints(joints, base='b', end='d', joints=['f'])
    np.testing.assert_array_equal(whole.base_j_end(joints[0].rest_positions()), np.zeros((6, 6)))


def test_chained_mimics_resolve_and_loops_are_refused():
    """A mimic of a mimic follows the last owner; a loop of mimics is an error."""

    def robot(**mimics):
        mimics = {name: f'<mimic {text}/>' if text else '' for name, text in mimics.items()}
        return load('0', *(
            linkages.joint(name, f'{n}', f'{n + 1}', axis=Z, more=mimic)
            for n, (name, mimic) in enumerate(mimics.items())
        ))  # fmt: skip

    mimics_c = 'joint="c" multiplier="-3" offset="0.5"'
    chain = robot(a='joint="b" multiplier="2" offset="1"', b=mimics_c, c='')
    device = JointDevice.from_description(chain, base='0', end='3')
    assert device.joint_names == ('c',)
    # b = -3 c + 0.5, a = 2 b + 1 = -6 c + 2, sum -8 c + 2.5
    close(device.base_j_end([0.2])[5], [-8.0])
    close(device.base_t_end([0.2])[0, 0], np.cos(-8.0 * 0.2 + 2.5))
    loop = robot(a='joint="b"', b='joint="a"', c='')
    for options in ({}, {'joints': ['c']}):
        with pytest.raises(DescriptionError, match='mimics itself'):
            JointDevice.from_description(loop, base='0', end='3', **options)


def tree(*pairs, links=()):
    """Return a robot of revolute joints between pairs of links, named parent_child."""
    joints = (JointSpec(f'{a}_{b}', 'revolute', a, b, line=7) for a, b in pairs)
    return RobotDescription('r', links=tuple(map(LinkSpec, links)), joints=tuple(joints))


def way(robot, start, goal):
    """Return the joints from a link to another one, with their directions."""
    route = KinematicTree.from_description(robot).find_route(start, goal)
    return ' '.join(('+' if each.downward else '-') + each.joint.name for each in route)


def test_what_is_no_tree_costs_only_its_own_ways():
    """Two trees, two parents and a loop are errors that name links; other ways are found."""
    robot = tree('ab', 'bc', 'bd', 'ax', 'bx', 'xy', 'pq', 'qp', 'uv', links='z')
    assert way(robot, 'c', 'd') == '-b_c +b_d'
    assert way(robot, 'z', 'z') == ''
    for ends, said in (
        *((each, "from link '{}' to link '{}'") for each in ('av', 'zb', 'bz')),
        ('ay', "line 7: link 'x' has two parent links"),
        ('pa', 'is in a loop'),
    ):
        with pytest.raises(DescriptionError, match=said.format(*ends)):
            way(robot, *ends)
    assert KinematicTree.from_description(robot).find_root('v') == 'u'
    with pytest.raises(UnknownNameError, match='nowhere'):
        KinematicTree.from_description(robot).find_root('nowhere')
    with pytest.raises(DescriptionError, match='is in a loop'):
        JointDevice.from_description(tree('pq', 'qp'), base='p', end='q')


# -- Limits ---------------------------------------------------------------------------------------


def check_limits(device, *expected):
    """Compare bounds and the limits of velocity, effort and acceleration."""
    names = ('bounds', 'velocity_limits', 'effort_limits', 'acceleration_limits')
    for name, numbers in zip(names, expected, strict=True):
        np.testing.assert_array_equal(getattr(device, name), numbers)


def interfaces(**bounds):
    """Return command interfaces with their max, and their min unless it is None."""
    text = ''
    for name, (lower, upper) in bounds.items():
        inside = elements.params(**({} if lower is None else {'min': lower}), max=upper)
        text += f'<command_interface name="{name}">{inside}</command_interface>'
    return text


def test_limits_are_those_that_the_bridge_applies():
    """Command interfaces narrow each limit of the URDF, for joints and motors alike."""
    joints = {
        'shoulder': 'revolute lower="-2" upper="2" velocity="3"',
        'lift': 'prismatic lower="0" upper="1" velocity="-0.5" effort="100"',
        'elbow': 'continuous lower="-1" upper="1" velocity="4"',
        'neck': 'revolute lower="-1" upper="1"',
        'grip': 'prismatic upper="0.1"',
    }
    text, narrowed = elements.urdf(joints), interfaces(position=(-1.5, 9), velocity=(-1, 2))
    for joint, inside in {
        'shoulder': narrowed + interfaces(effort=(-3, 4), acceleration=(-6, 8)),
        'neck': interfaces(acceleration=(None, 5)),
        'elbow': '<limits enable="false"/>' + interfaces(acceleration=(None, 1)),
    }.items():
        element = f'<joint name="{joint}"'
        text = text.replace(f'{element}/>', f'{element}>{inside}</joint>')
    robot = load_description(text)
    device = JointDevice.from_description(robot, base='base', end='l_lift', joints=list(joints))
    bounds, rates = [[-1.5, 0, -INF, -1, -INF], [2, 1, INF, 1, 0.1]], [1, 0.5, INF, INF, INF]
    # Of accelerations the smaller of |min| and |max|; one alone; disabled in the block.
    check_limits(device, bounds, rates, [3, 100, INF, INF, INF], [6, INF, INF, 5, INF])
    motors = ActuatorDevice(device, RobotTransmissions(robot))
    order = [device.joint_names.index(name) for name in motors.actuator_names]
    np.testing.assert_array_equal(motors.bounds, np.array(device.bounds)[:, order])


def test_limits_of_joint_objects_are_those_of_the_device():
    """Numbers that count are taken, a bound at the largest number and the rest are open."""
    largest = np.finfo(float).max
    one = MotionLimits((-1.0,), (largest,), (2.0,), (3.0,), has_position=True, has_velocity=True)
    three = MotionLimits((0.0,) * 3, (0.0,) * 3, (4.0,) * 3, (5.0, 6.0, 7.0), has_effort=True)
    joints = [
        Joint('a', 'b', 'revolute', name='r', limits=one),
        Joint('b', 'c', 'spherical', name='s', limits=three),
        Joint('c', 'd', name='f'),
    ]
    device = JointDevice.from_joints(joints, base='a', end='d', joints=['f', 'r', 's'])
    assert (device.n_positions, device.dof, device.name) == (5, 4, '')
    bounds = [[-1, -INF, -INF, -INF, -INF], [INF] * 5]
    check_limits(device, bounds, [2, INF, INF, INF], [INF, 5, 6, 7], [INF] * 4)
    with pytest.raises(ShapeError, match=r'expected shape \(5,\)'):
        device.with_bounds(np.zeros(4), np.ones(4))
    with pytest.raises(ShapeError, match=r'expected shape \(4,\)'):
        device.with_velocity_limits(np.ones(5))


def test_limits_are_set_on_new_devices(arm):
    """Setters of limits and properties return new devices and leave the old as it was."""
    device = JointDevice.from_description(arm, base='world', end='lower', name='d')
    changed = (
        device.with_bounds([-1, -2, -3], [1, 2, INF])
        .with_velocity_limits([1, 2, 3])
        .with_acceleration_limits([4, 5, INF])
        .with_effort_limits([7, 8, 9])
        .with_properties(colour='red', speed=2)
        .with_properties(speed=3)
    )
    check_limits(changed, [[-1, -2, -3], [1, 2, INF]], [1, 2, 3], [7, 8, 9], [4, 5, INF])
    assert dict(changed.properties) == {'colour': 'red', 'speed': 3}
    np.testing.assert_array_equal(device.velocity_limits, [10, 10, 10])
    assert (device.name, dict(device.properties)) == ('d', {})
    assert changed.with_name('e').name == 'e'


# -- States and copies ----------------------------------------------------------------------------


def test_state_holds_configurations_of_several_devices(arm):
    """Devices share a state: setting one configuration shows in the other's common joints."""
    whole = JointDevice.from_description(arm, base='world', end='left')
    neck = JointDevice.from_description(arm, base='world', end='camera')
    state = whole.new_state()
    neck.register_in(state)
    assert state.names == ('lift', 'shoulder', 'elbow', 'grip', 'neck')
    whole.set_q([0.1, 0.2, 0.3, 0.4], state)
    np.testing.assert_array_equal(neck.get_q(state), [0.1, 0.0])
    neck.set_q([0.5, 0.6], state)
    np.testing.assert_array_equal(whole.get_q(state), [0.5, 0.2, 0.3, 0.4])
    neck.register_in(state)
    q = whole.get_q(state)
    for query in (whole.base_t_end, whole.base_j_end, whole.world_t_base):
        np.testing.assert_array_equal(query(state), query(q))
    # A copy is a state of its own, and what does not fit changes nothing.
    other = copy.copy(state)
    whole.set_q([4, 5, 6, 7], state)
    np.testing.assert_array_equal(whole.get_q(other), [0.5, 0.2, 0.3, 0.4])
    short = State(joint for joint in whole.joints if joint.name in ('lift', 'shoulder'))
    with pytest.raises(UnknownNameError, match='elbow'):
        whole.set_q([4, 5, 6, 7], short)
    np.testing.assert_array_equal(short.get(['lift', 'shoulder']), [0, 0])


def test_state_holds_joints_with_several_coordinates(floating):
    """They are registered at rest, a quaternion at no rotation, and set and read as a whole."""
    device = JointDevice.from_description(floating, base='a', end='c', joints=['j', 'f'])
    state = device.new_state()
    np.testing.assert_array_equal(device.get_q(state), [0, 0, 0, 0, 1, 0, 0, 0])
    q = np.array([0.5, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    device.set_q(q, state)
    np.testing.assert_array_equal(device.base_j_end(state), device.base_j_end(q))
    np.testing.assert_array_equal(state.get(['j']), [0.5])
    assert repr(state) == "State({'j': [0.5], 'f': [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]})"
    with pytest.raises(ShapeError, match=r'q: expected shape \(8,\)'):
        device.set_q(q[:7], state)


# -- Refusals -------------------------------------------------------------------------------------

SETTERS = (
    JointDevice.with_velocity_limits,
    JointDevice.with_acceleration_limits,
    JointDevice.with_effort_limits,
    lambda d, limits: d.with_bounds(limits, np.ones(3)),
    lambda d, limits: d.with_bounds(np.zeros(3), limits),
    lambda d, limits: d.with_bounds(limits, limits),
)


JOINT = Joint('a', 'b', 'revolute', name='j')


def of_arm(**options):
    """Return a function that makes a device of the arm."""
    ends = {'base': 'world', 'end': 'hand'}
    return lambda arm: JointDevice.from_description(arm, **(ends | options))


def of_joints(*joints, end='c'):
    """Return a function that makes a device of joints."""
    return lambda arm: JointDevice.from_joints(joints, base='a', end=end)


def of_device(ask, *given):
    """Return a function that asks a device of three joints."""
    return lambda arm: ask(of_arm(end='lower', name='dev')(arm), *given)


@pytest.mark.parametrize(('make', 'error', 'said'), [
    # Limits and configurations of another size or without meaning.
    *((of_device(set_to, v), ShapeError, r'expected shape \(3,\)')
      for v in ([1.0], [1.0] * 4, [[1.0] * 3]) for set_to in SETTERS),
    (of_device(JointDevice.with_bounds, [0, 0, 1], [1, 1, 0]), JointError, "'dev'.*not in order"),
    (of_device(JointDevice.with_bounds, [0, 0, np.nan], [1, 1, 1]), JointError, 'not in order'),
    (of_device(JointDevice.with_velocity_limits, [1, -1, 1]), JointError, 'not magnitudes'),
    (of_device(JointDevice.with_acceleration_limits, [1, np.nan, 1]), JointError, 'not magnit'),
    *((of_device(query, q), ShapeError, r'q: expected shape \(\.\.\., 3\)')
      for q in (0.0, [1.0, 2.0], np.zeros((3, 4)))
      for query in (JointDevice.base_t_end, JointDevice.base_j_end)),
    # Links and joints that the robot does not have, and what is there twice.
    (of_device(JointDevice.base_j_frame, 'moon', [0, 0, 0]), UnknownNameError, "'moon', known: w"),
    (of_device(JointDevice.jacobian_calculator, ['hand', 'moon']), UnknownNameError, 'moon'),
    (of_arm(base='moon'), UnknownNameError, 'moon'),
    (of_arm(end='moon'), UnknownNameError, 'moon'),
    (of_arm(joints=['moon']), UnknownNameError, 'moon'),
    (of_arm(joints=['lift', 'lift']), JointError, 'named twice'),
    (of_joints(replace(JOINT, name='')), JointError, 'joint 0 of the model has no name'),
    (of_joints(JOINT, Joint('b', 'c', name='j')), JointError, "'j': is the name of two joints"),
    (of_joints(JOINT, end=7), UnknownNameError, "unknown link '7', known: a, b"),
])  # fmt: skip
def test_what_a_device_cannot_take_is_refused(arm, make, error, said):
    """What does not fit is an error with the name or the shape."""
    with pytest.raises(error, match=said):
        make(arm)
