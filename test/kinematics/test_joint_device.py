# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where a device's end is, how it moves, and what a device refuses."""

from __future__ import annotations

import copy
from dataclasses import replace
import pickle

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description, MimicSpec
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import DescriptionError, ShapeError, UnknownNameError
from transmission_bridge.kinematics import (
    ActuatorDevice,
    Joint,
    JointDevice,
    JointError,
    MotionLimits,
    State,
)
from transmission_bridge.kinematics.spatial import (
    invert_pose,
    make_transform,
    rotation_from_rpy,
)
from transmission_bridge.transmissions import RobotTransmissions

SEEDS = st.integers(0, 1000)
KINDS = ('fixed', 'revolute', 'continuous', 'prismatic', 'planar', 'spherical', 'floating')

FLOATING = """
<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
  <joint name="f" type="floating"><parent link="a"/><child link="b"/><origin xyz="1 2 3"/></joint>
  <joint name="j" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>
"""

ARM = """
<robot name="arm">
  <link name="world"/><link name="lift"/><link name="upper"/><link name="lower"/>
  <link name="hand"/><link name="left"/><link name="right"/><link name="camera"/>
  <joint name="lift" type="prismatic"><parent link="world"/><child link="lift"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="-0.5" effort="100"/></joint>
  <joint name="shoulder" type="revolute"><parent link="lift"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="1 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="4"/></joint>
  <joint name="wrist" type="fixed"><parent link="lower"/><child link="hand"/>
    <origin xyz="1 0 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="hand"/><child link="left"/>
    <axis xyz="0 1 0"/><limit upper="0.1"/></joint>
  <joint name="grip_mimic" type="prismatic"><parent link="hand"/><child link="right"/>
    <axis xyz="0 1 0"/><limit upper="0.1"/>
    <mimic joint="grip" multiplier="-2" offset="0.5"/></joint>
  <joint name="neck" type="revolute"><parent link="lift"/><child link="camera"/>
    <origin xyz="0 0 2"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint>
  <ros2_control name="c" type="system"><hardware><plugin>p</plugin></hardware>
    <joint name="shoulder"><command_interface name="acceleration">
      <param name="min">-6</param><param name="max">8</param></command_interface></joint>
    <joint name="neck"><command_interface name="acceleration">
      <param name="max">5</param></command_interface></joint>
    <joint name="elbow"><limits enable="false"/><command_interface name="acceleration">
      <param name="max">1</param></command_interface></joint>
  </ros2_control>
</robot>
"""


@pytest.fixture(scope='module')
def arm():
    """Return a small robot with two branches and a mimic joint."""
    return load_description(ARM)


def any_joints(seed):
    """Return a tree of joints of every type with random frames, link numbers as frames."""
    rng = np.random.default_rng(seed)
    joints, kinds = [], rng.permutation(np.repeat(KINDS, 2))
    leader, *others = (number for number, kind in enumerate(kinds, 1) if kind in KINDS[1:4])
    for number, kind in enumerate(kinds, start=1):
        rest = make_transform(rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))
        axis, origin = rng.normal(size=(2, 3))
        mimic = (
            MimicSpec(f'j{leader}', *rng.uniform(-2.0, 2.0, 2)) if number in others[3:] else None
        )
        joint = Joint(int(rng.integers(number)), number, str(kind), rest, axis=axis, origin=origin)
        joints.append(replace(joint, name=f'j{number}', mimic=mimic))
    return joints


def twist_of(rate, rotation):
    """Return the velocity and the turning, in the base's axes, of a pose that changes."""
    spin = rate[:3, :3] @ rotation.T
    return (*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0])


@given(SEEDS, st.data())
def test_a_pose_is_that_of_the_joints_and_its_derivative_the_jacobian(
    central_difference, seed, data
):
    """For any base, end and joints, which others may mimic; one by one and in batches."""
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

    def close(found, expected):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)

    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    assert jacobians.shape == (3, 6, device.dof)
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
            columns.append(twist_of(rate, pose[:3, :3]))
    expected = np.array(columns).reshape(-1, 6).T
    np.testing.assert_allclose(jacobians[0], expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('shape', [(0,), (1,), (2, 0, 3), (2, 3), (5000,)])
def test_batches_are_single_configurations(shape):
    """Leading axes are batches; also empty ones, and those that are cut into chunks."""
    device = JointDevice.from_joints(any_joints(3), base=0, end=14, joints=['j3', 'j5', 'j14'])
    q = np.random.default_rng(0).normal(size=(*shape, device.n_positions))
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    assert poses.shape == (*shape, 4, 4)
    assert jacobians.shape == (*shape, 6, device.dof)
    for index in [*np.ndindex(*shape)] if len(q) < 10 else (0, 2047, 2048, 4095, 4096, 4999):
        np.testing.assert_allclose(poses[index], device.base_t_end(q[index]), rtol=0, atol=1e-14)
        np.testing.assert_allclose(
            jacobians[index], device.base_j_end(q[index]), rtol=0.0, atol=1e-13
        )


def test_unknown_coordinates_of_a_floating_base_touch_what_depends_on_them():
    """An unknown height leaves the orientation and the other coordinates known, both ways."""
    robot = load_description(FLOATING)
    q = np.array([0.1, 0.2, np.nan, 1.0, 0.0, 0.0, 0.0, 0.3])
    down = JointDevice.from_description(robot, base='a', end='c', joints=['f', 'j'])
    pose = down.base_t_end(q)
    np.testing.assert_allclose(pose[:2, 3], [1.1, 2.2], atol=1e-15)
    assert np.isnan(pose[2, 3])
    assert np.isfinite(pose[:3, :3]).all()
    # Unless it is named, a floating joint stays at rest.
    still = JointDevice.from_description(robot, base='a', end='c')
    assert still.joint_names == ('j',)
    np.testing.assert_array_equal(still.base_t_end([0.5])[:3, 3], [1, 2, 3])
    up = JointDevice.from_description(robot, base='b', end='a', joints=['f'])
    pose = up.base_t_end(q[:7])
    np.testing.assert_allclose(pose[:2, 3], [-1.1, -2.2], atol=1e-15)
    assert np.isnan(pose[2, 3])
    np.testing.assert_array_equal(pose[:3, :3], np.eye(3))


def test_limits_of_joint_objects_are_those_of_the_device():
    """Numbers that count are taken, a bound at the largest number and the rest are open."""
    inf = np.inf
    joints = [
        Joint('a', 'b', 'revolute', name='r', limits=MotionLimits(
            (-1.0,), (np.finfo(float).max,), (2.0,), (3.0,), has_position=True,
            has_velocity=True)),
        Joint('b', 'c', 'spherical', name='s', limits=MotionLimits(
            (0.0,) * 3, (0.0,) * 3, (4.0,) * 3, (5.0, 6.0, 7.0), has_effort=True)),
        Joint('c', 'd', name='f'),
    ]  # fmt: skip
    device = JointDevice.from_joints(joints, base='a', end='d', joints=['f', 'r', 's'])
    assert (device.n_positions, device.dof, device.name) == (5, 4, '')
    np.testing.assert_array_equal(device.bounds, [[-1, -inf, -inf, -inf, -inf], [inf] * 5])
    np.testing.assert_array_equal(device.velocity_limits, [2, inf, inf, inf])
    np.testing.assert_array_equal(device.effort_limits, [inf, 5, 6, 7])
    np.testing.assert_array_equal(device.acceleration_limits, [inf] * 4)
    with pytest.raises(ShapeError, match=r'expected shape \(5,\)'):
        device.with_bounds(np.zeros(4), np.ones(4))
    with pytest.raises(ShapeError, match=r'expected shape \(4,\)'):
        device.with_velocity_limits(np.ones(5))


def test_only_joints_with_one_coordinate_follow():
    """Neither does a floating joint follow, nor anything a floating one."""
    joints = [
        Joint('a', 'b', 'floating', name='f', mimic=MimicSpec('j')),
        Joint('b', 'c', 'revolute', name='j', axis=(0, 0, 1)),
        Joint('c', 'd', 'revolute', name='k', axis=(0, 0, 1), mimic=MimicSpec('f')),
    ]
    device = JointDevice.from_joints(joints[:2], base='a', end='c', joints=['j'])
    np.testing.assert_allclose(device.base_j_end([0.3])[:, 0], [0, 0, 0, 0, 0, 1], atol=1e-15)
    whole = JointDevice.from_joints(joints, base='b', end='d', joints=['f'])
    np.testing.assert_array_equal(whole.base_j_end(joints[0].rest_positions()), np.zeros((6, 6)))


def test_state_holds_joints_with_several_coordinates():
    """They are registered at rest, a quaternion at no rotation, and set and read as a whole."""
    robot = load_description(FLOATING)
    device = JointDevice.from_description(robot, base='a', end='c', joints=['j', 'f'])
    state = device.new_state()
    np.testing.assert_array_equal(device.get_q(state), [0, 0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(device.base_t_end(state)[:3, 3], [1, 2, 3])
    q = np.array([0.5, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    device.set_q(q, state)
    np.testing.assert_array_equal(device.base_j_end(state), device.base_j_end(q))
    np.testing.assert_array_equal(state.get(['j']), [0.5])
    assert repr(state) == "State({'j': [0.5], 'f': [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]})"
    with pytest.raises(ShapeError, match=r'q: expected shape \(8,\)'):
        device.set_q(q[:7], state)


def test_chained_mimics_resolve_and_loops_are_refused():
    """A mimic of a mimic follows the last owner; a loop of mimics is an error with its line."""
    joint = (
        '<joint name="{0}" type="revolute"><parent link="l{1}"/><child link="l{2}"/>'
        '<axis xyz="0 0 1"/><limit lower="-9" upper="9" velocity="1" effort="1"/>{3}</joint>'
    )
    links = ''.join(f'<link name="l{number}"/>' for number in range(4))

    def robot(mimic_of_a, mimic_of_b, mimic_of_c):
        joints = (
            joint.format('a', 0, 1, mimic_of_a),
            joint.format('b', 1, 2, mimic_of_b),
            joint.format('c', 2, 3, mimic_of_c),
        )
        return load_description(f'<robot name="r">{links}{"".join(joints)}</robot>')

    chain = robot(
        '<mimic joint="b" multiplier="2" offset="1"/>',
        '<mimic joint="c" multiplier="-3" offset="0.5"/>',
        '',
    )
    device = JointDevice.from_description(chain, base='l0', end='l3')
    assert device.joint_names == ('c',)
    # b = -3 c + 0.5, a = 2 b + 1 = -6 c + 2, sum -8 c + 2.5
    np.testing.assert_allclose(device.base_j_end([0.2])[5], [-8.0], atol=1e-14)
    angle = -8.0 * 0.2 + 2.5
    np.testing.assert_allclose(device.base_t_end([0.2])[0, 0], np.cos(angle), atol=1e-15)
    loop = robot('<mimic joint="b"/>', '<mimic joint="a"/>', '')
    with pytest.raises(DescriptionError, match='mimics itself'):
        JointDevice.from_description(loop, base='l0', end='l3')
    with pytest.raises(DescriptionError, match='mimics itself'):
        JointDevice.from_description(loop, base='l0', end='l3', joints=['c'])


def test_unknown_position_touches_only_what_depends_on_it(arm):
    """An unknown lift leaves the orientation known, and other configurations of the batch."""
    device = JointDevice.from_description(arm, base='world', end='hand')
    q = np.array([[np.nan, 0.2, 0.3], [0.1, 0.2, 0.3], [np.inf, 0.2, 0.3]])
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    for row in (0, 2):
        np.testing.assert_allclose(poses[row, :3, :3], poses[1, :3, :3], atol=1e-15)
        np.testing.assert_allclose(jacobians[row, 3:], jacobians[1, 3:], atol=1e-15)
        np.testing.assert_allclose(poses[row, :2, 3], poses[1, :2, 3], atol=1e-15)
        assert not np.isfinite(poses[row, 2, 3])
    np.testing.assert_allclose(poses[1], device.base_t_end(q[1]), atol=1e-15)


def test_limits_come_from_the_description(arm):
    """Bounds, speeds, efforts and accelerations are read, and infinite where nothing is said."""
    names = ['shoulder', 'lift', 'elbow', 'neck', 'grip']
    device = JointDevice.from_description(arm, base='world', end='hand', joints=names)
    inf = np.inf
    np.testing.assert_array_equal(device.bounds[0], [-2, 0, -inf, -1, device.bounds[0][4]])
    np.testing.assert_array_equal(device.bounds[1], [2, 1, inf, 1, 0.1])
    np.testing.assert_array_equal(device.velocity_limits[:3], [3, 0.5, inf])
    np.testing.assert_array_equal(device.effort_limits[1], 100)
    # The smaller of |min| and |max|; one alone; disabled in the block.
    np.testing.assert_array_equal(device.acceleration_limits, [6, inf, inf, 5, inf])


def test_limits_are_those_that_the_bridge_applies():
    """Command interfaces narrow each limit of the URDF, for joints and motors alike."""
    interfaces = ''.join(
        f'<command_interface name="{name}"><param name="min">{low}</param>'
        f'<param name="max">{high}</param></command_interface>'
        for name, low, high in (('position', -1.5, 9), ('velocity', -1, 2), ('effort', -3, 4))
    )
    before = '<joint name="shoulder"><command'
    assert before in ARM
    robot = load_description(ARM.replace(before, f'<joint name="shoulder">{interfaces}<command'))
    joints = ['shoulder', 'lift', 'elbow', 'neck', 'grip']
    device = JointDevice.from_description(robot, base='world', end='hand', joints=joints)
    assert (device.bounds[0][0], device.bounds[1][0]) == (-1.5, 2.0)
    assert (device.velocity_limits[0], device.effort_limits[0]) == (1.0, 3.0)
    for place, joint in enumerate(joints):
        limits = effective_limits(robot, joint)
        acceleration = min(limits.acceleration, limits.deceleration)
        expected = (limits.lower, limits.upper, limits.velocity, acceleration, limits.effort)
        assert expected == (
            *(bound[place] for bound in device.bounds),
            device.velocity_limits[place],
            device.acceleration_limits[place],
            device.effort_limits[place],
        )
    motors = ActuatorDevice(device, RobotTransmissions(robot))
    order = [joints.index(name) for name in motors.actuator_names]
    np.testing.assert_array_equal(motors.bounds, np.array(device.bounds)[:, order])


def test_limits_are_set_on_new_devices(arm):
    """Setters of limits and properties return new devices and leave the old as it was."""
    device = JointDevice.from_description(arm, base='world', end='lower', name='d')
    changed = (
        device.with_bounds([-1, -2, -3], [1, 2, np.inf])
        .with_velocity_limits([1, 2, 3])
        .with_acceleration_limits([4, 5, np.inf])
        .with_effort_limits([7, 8, 9])
        .with_properties(colour='red', speed=2)
        .with_properties(speed=3)
        .with_name('e')
    )
    np.testing.assert_array_equal(changed.bounds, [[-1, -2, -3], [1, 2, np.inf]])
    np.testing.assert_array_equal(changed.velocity_limits, [1, 2, 3])
    np.testing.assert_array_equal(changed.acceleration_limits, [4, 5, np.inf])
    np.testing.assert_array_equal(changed.effort_limits, [7, 8, 9])
    assert dict(changed.properties) == {'colour': 'red', 'speed': 3}
    np.testing.assert_array_equal(device.velocity_limits, [0.5, 3, np.inf])
    assert dict(device.properties) == {}
    with pytest.raises(TypeError):
        changed.properties['speed'] = 4
    q = [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(changed.base_t_end(q), device.base_t_end(q))
    assert (changed.name, changed.base, changed.end) == ('e', 'world', 'lower')
    assert device.name == 'd'


#: What a device of three joints is asked, and how it refuses that.
REFUSED = [
    *(
        (lambda d, set_to=set_to, v=v: set_to(d, v), ShapeError, r'expected shape \(3,\)')
        for v in ([1.0], [1.0] * 4, [[1.0] * 3])
        for set_to in (
            JointDevice.with_velocity_limits,
            JointDevice.with_acceleration_limits,
            JointDevice.with_effort_limits,
            lambda d, limits: d.with_bounds(limits, np.ones(3)),
            lambda d, limits: d.with_bounds(np.zeros(3), limits),
            lambda d, limits: d.with_bounds(limits, limits),
        )
    ),
    (lambda d: d.with_bounds([0, 0, 1], [1, 1, 0]), JointError, r"'dev'.*not in order"),
    (lambda d: d.with_bounds([0, 0, np.nan], [1, 1, 1]), JointError, 'not in order'),
    (lambda d: d.with_velocity_limits([1, -1, 1]), JointError, 'not magnitudes'),
    (lambda d: d.with_acceleration_limits([1, np.nan, 1]), JointError, 'not magnitudes'),
    *(
        (lambda d, query=query, q=q: query(d, q), ShapeError, r'q: expected shape \(\.\.\., 3\)')
        for q in (0.0, [1.0, 2.0], np.zeros((3, 4)))
        for query in (JointDevice.base_t_end, JointDevice.base_j_end)
    ),
    (lambda d: d.base_j_frame('moon', [0, 0, 0]), UnknownNameError, "'moon', known: world"),
    (lambda d: d.jacobian_calculator(['hand', 'moon']), UnknownNameError, 'moon'),
]


@pytest.mark.parametrize(('ask', 'error', 'said'), REFUSED)
def test_what_a_device_cannot_take_is_refused(arm, ask, error, said):
    """Limits and configurations of another size or without meaning, and unknown links."""
    device = JointDevice.from_description(arm, base='world', end='lower', name='dev')
    with pytest.raises(error, match=said):
        ask(device)


def test_crossed_bounds_of_a_description_do_not_cost_the_device():
    """Bounds that the description crosses stay as written; frames do not depend on them."""
    robot = load_description("""
      <robot name="r"><link name="a"/><link name="b"/>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
          <limit lower="1" upper="-1" velocity="1" effort="1"/></joint></robot>""")
    device = JointDevice.from_description(robot, base='a', end='b')
    np.testing.assert_array_equal(device.bounds, [[1.0], [-1.0]])
    assert device.base_t_end([0.0]).shape == (4, 4)
    assert device.with_velocity_limits([2.0]).velocity_limits == 2.0
    np.testing.assert_array_equal(device.with_bounds([-1.0], [1.0]).bounds, [[-1.0], [1.0]])


def test_frames_stack_and_calculators_are_reused(arm):
    """Jacobians of several frames stand one below the other, and a calculator gives the same."""
    device = JointDevice.from_description(arm, base='lift', end='left')
    frames = ['left', 'camera', 'lower', 'world']
    q = np.random.default_rng(0).normal(size=(5, device.dof))
    stacked = device.base_j_frames(frames, q)
    assert stacked.shape == (5, 24, device.dof)
    for index, frame in enumerate(frames):
        rows = stacked[:, 6 * index : 6 * index + 6]
        np.testing.assert_array_equal(rows, device.base_j_frame(frame, q))
    calculator = device.jacobian_calculator(frames)
    np.testing.assert_array_equal(calculator(q), stacked)
    np.testing.assert_array_equal(calculator(q[2]), device.base_j_frames(frames, q[2]))
    assert device.base_j_frames([], q).shape == (5, 0, device.dof)
    np.testing.assert_array_equal(device.base_j_end(q), device.base_j_frame('left', q))
    np.testing.assert_array_equal(device.base_t_end(q), device.base_t_frame('left', q))


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
    np.testing.assert_array_equal(neck.get_q(state), [0.5, 0.6])
    q = whole.get_q(state)
    for query in (whole.base_t_end, whole.base_j_end, whole.world_t_base):
        np.testing.assert_array_equal(query(state), query(q))
    np.testing.assert_array_equal(
        whole.base_j_frames(['hand'], state), whole.base_j_frames(['hand'], q)
    )
    q[0] = 9.0
    assert whole.get_q(state)[0] == 0.5
    # A copy is a state of its own, and what does not fit changes nothing.
    other = copy.copy(state)
    whole.set_q([4, 5, 6, 7], state)
    state.register(['more'])
    np.testing.assert_array_equal(whole.get_q(other), [0.5, 0.2, 0.3, 0.4])
    assert 'more' not in other.names
    with pytest.raises(ShapeError):
        whole.set_q([1, 2], state)
    short = State(['lift', 'shoulder'])
    with pytest.raises(UnknownNameError, match='elbow'):
        whole.set_q([4, 5, 6, 7], short)
    with pytest.raises(UnknownNameError, match='elbow'):
        whole.base_t_end(short)
    np.testing.assert_array_equal(whole.get_q(state), [4, 5, 6, 7])
    np.testing.assert_array_equal(short.get(['lift', 'shoulder']), [0, 0])


JOINT = Joint('a', 'b', 'revolute', name='j')


@pytest.mark.parametrize(
    ('make', 'error', 'said'),
    [
        *(
            (
                lambda arm, options=options: JointDevice.from_description(
                    arm, **{'base': 'world', 'end': 'hand', **options}
                ),
                UnknownNameError,
                'moon',
            )
            for options in ({'base': 'moon'}, {'end': 'moon'}, {'joints': ['moon']})
        ),
        (
            lambda arm: JointDevice.from_description(
                arm, base='world', end='hand', joints=['lift', 'lift']
            ),
            JointError,
            'named twice',
        ),
        (
            lambda _: JointDevice.from_joints([replace(JOINT, name='')], base='a', end='b'),
            JointError,
            'joint 0 of the model has no name',
        ),
        (
            lambda _: JointDevice.from_joints(
                [JOINT, Joint('b', 'c', name='j')], base='a', end='c'
            ),
            JointError,
            "'j': is the name of two joints",
        ),
        (
            lambda _: JointDevice.from_joints([JOINT], base='a', end=7),
            UnknownNameError,
            "unknown link '7', known: a, b",
        ),
    ],
)
def test_names_that_are_unknown_or_not_unique_are_refused(arm, make, error, said):
    """Links and joints that the robot does not have are named, and so is what is there twice."""
    with pytest.raises(error, match=said):
        make(arm)


def test_devices_survive_pickling(arm):
    """A pickled device computes the same."""
    device = JointDevice.from_description(arm, base='world', end='left').with_properties(a=1)
    again = pickle.loads(pickle.dumps(device))
    q = [0.1, 0.2, 0.3, 0.4]
    np.testing.assert_array_equal(again.base_j_end(q), device.base_j_end(q))
    assert dict(again.properties) == {'a': 1}
    assert repr(again) == repr(device)
