# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The same device seen from the motors."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import ShapeError, UnknownNameError
from transmission_bridge.kinematics import ActuatorDevice, JointDevice, JointError
from transmission_bridge.transmissions import Registry, RobotTransmissions

JOINTS = (
    # name, type, origin, axis, limit, dynamics
    ('base', 'revolute', '0 0 0.3', '0 0 1', 'lower="-2" upper="1" velocity="2" effort="30"', ''),
    ('shoulder', 'revolute', '0.1 0 0.2', '0 1 0', 'upper="0.5" velocity="3" effort="20"', ''),
    ('elbow', 'prismatic', '0 0.1 0.4', '1 0 0.5',
     'lower="-0.2" upper="0.3" velocity="1" effort="9"', ''),
    ('pitch', 'revolute', '0.2 0 0', '0 1 0.2', 'lower="-1" upper="1.5" velocity="4" effort="5"',
     '<dynamics damping="0.5" friction="0.2"/>'),
    ('roll', 'revolute', '0.1 0 0.1', '1 0 0', 'lower="-3" upper="2" velocity="6" effort="4"',
     '<dynamics damping="0.3" friction="0.1"/>'),
    ('knee', 'revolute', '0 0 0.2', '0 1 0',
     'lower="-0.5" upper="0.6" velocity="2" effort="7"', ''),
    ('free', 'continuous', '0 0.1 0', '0 0 1', 'velocity="9" effort="1"', ''),
)  # fmt: skip


def member(tag, name, role, reduction=None, offset=None):
    """Return a joint or actuator of a transmission."""
    inside = (
        '' if reduction is None else f'<mechanical_reduction>{reduction}</mechanical_reduction>'
    )
    inside += '' if offset is None else f'<offset>{offset}</offset>'
    return f'<{tag} name="{name}" role="{role}">{inside}</{tag}>'


TRANSMISSIONS = (
    ('base_t', 'transmission_interface/SimpleTransmission', (
        member('actuator', 'base_motor', 'actuator1'),
        member('joint', 'base', 'joint1', -50, 0.25))),
    ('shoulder_t', 'transmission_interface/SimpleTransmission', (
        member('actuator', 'shoulder_motor', 'actuator1'),
        member('joint', 'shoulder', 'joint1', -2))),
    ('wrist_t', 'transmission_interface/DifferentialTransmission', (
        member('actuator', 'left_motor', 'actuator1', 10),
        member('actuator', 'right_motor', 'actuator2', -20),
        member('joint', 'pitch', 'joint1', 2, 0.1),
        member('joint', 'roll', 'joint2', -1.5, -0.2))),
)  # fmt: skip
CRANK = ('knee_t', 'transmission_bridge/CrankSliderTransmission', (
    member('actuator', 'knee_cylinder', 'actuator1'), member('joint', 'knee', 'joint1'),
    '<param name="crank_radius">0.1</param><param name="pivot_distance">0.4</param>'
    '<param name="crank_angle">1.5</param>'))  # fmt: skip


def urdf(transmissions):
    """Return an arm with these transmissions; other joints pass through."""
    parts = ['<robot name="arm"><link name="world"/>']
    parent = 'world'
    for name, kind, origin, axis, limit, more in JOINTS:
        link = f'{name}_link'
        parts.append(
            f'<link name="{link}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{link}"/><origin xyz="{origin}" rpy="0.1 0.2 0.3"/>'
            f'<axis xyz="{axis}"/><limit {limit}/>{more}</joint>'
        )
        parent = link
    parts.append('<ros2_control name="c" type="system"><hardware><plugin>p</plugin></hardware>')
    for name, *_ in JOINTS:
        limit = '<param name="min">-3</param><param name="max">6</param>' * (name == 'pitch')
        parts.append(
            f'<joint name="{name}"><command_interface name="acceleration">{limit}'
            '</command_interface></joint>'
        )
    for name, kind, members in transmissions:
        parts.append(
            f'<transmission name="{name}"><plugin>{kind}</plugin>{"".join(members)}</transmission>'
        )
    return ''.join(parts) + '</ros2_control></robot>'


def load(*transmissions):
    """Return the robot and its transmissions, every one of which must have loaded."""
    robot = load_description(urdf(transmissions))
    loaded = RobotTransmissions(robot)
    assert not [str(finding) for finding in loaded.findings if finding.severity == 'error']
    assert set(loaded.transmissions) == {name for name, _, _ in transmissions}
    return robot, loaded


def make_device(*transmissions, end='free_link', joints=None):
    """Return the actuator device from the world to a link."""
    robot, loaded = load(*transmissions)
    return ActuatorDevice.from_description(
        robot, base='world', end=end, joints=joints, transmissions=loaded
    )


@pytest.fixture(scope='module')
def linear():
    """Return a device with constant ratios."""
    return make_device(*TRANSMISSIONS)


@pytest.fixture(scope='module')
def varying():
    """Return a device with a crank among its transmissions."""
    return make_device(*TRANSMISSIONS, CRANK)


@pytest.fixture(scope='module', params=['linear', 'varying'])
def device(request):
    """Return either device."""
    return request.getfixturevalue(request.param)


def positions(device, seed, shape=()):
    """Return actuator positions of joint positions that every transmission reaches."""
    q = np.random.default_rng(seed).uniform(-0.4, 0.4, (*shape, device.device.dof))
    return device.actuator_positions(q)


SEEDS = st.integers(0, 2**32 - 1)


def test_actuators_stand_in_the_transmissions_order(linear):
    """Actuators are those of the device's transmissions in order, then the ones passed through."""
    assert linear.actuator_names == (
        'base_motor', 'shoulder_motor', 'left_motor', 'right_motor', 'elbow', 'knee', 'free',
    )  # fmt: skip
    assert linear.companions == ()
    assert linear.is_constant
    assert linear.device.joint_names == tuple(name for name, *_ in JOINTS)


@settings(max_examples=20)
@given(SEEDS)
def test_positions_and_wrenches_go_there_and_back(device, seed):
    """Frames are those at the joint positions; for any motion the actuators do a wrench's work."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-0.4, 0.4, (3, device.device.dof))
    a = device.actuator_positions(q)
    np.testing.assert_allclose(device.joint_positions(a), q, atol=1e-12)
    np.testing.assert_allclose(device.actuator_positions(q, guess=a), a, atol=1e-12)
    q = device.joint_positions(a)
    np.testing.assert_array_equal(device.base_t_end(a), device.device.base_t_end(q))
    np.testing.assert_array_equal(
        device.base_t_frame('pitch_link', a), device.device.base_t_frame('pitch_link', q)
    )
    wrench, rate = rng.normal(size=(3, 6)), rng.normal(size=a.shape)
    jacobian = device.base_j_end(a)
    twist = (jacobian @ rate[..., np.newaxis])[..., 0]
    efforts = device.actuator_efforts(wrench, a)
    scale = 1.0 + np.sum(np.abs(wrench * twist), axis=-1)
    work, power = np.sum(wrench * twist, axis=-1), np.sum(efforts * rate, axis=-1)
    assert np.all(np.abs(work - power) <= 1e-10 * scale)
    # Seven actuators hold any wrench.
    back = device.end_wrench(efforts, a)
    values = np.linalg.svd(jacobian, compute_uv=False)
    allowed = 1e-14 * (values[..., 0] / values[..., -1]) ** 2 + 1e-9
    assert (np.abs(back - wrench) <= allowed[:, np.newaxis] + 1e-7 * np.abs(wrench)).all()


@settings(max_examples=15)
@given(SEEDS)
def test_jacobian_is_the_difference_quotient(central_difference, device, seed):
    """The Jacobian by actuators is the derivative of the pose by actuator positions."""
    a = positions(device, seed)
    # Actuators of large reduction must move further for the same step of a joint.
    steps = 1.0 / np.abs(device.joint_jacobian(a)).max(axis=0)
    for frame in ('free_link', 'roll_link'):
        jacobian = device.base_j_frame(frame, a)
        rotation = device.base_t_frame(frame, a)[:3, :3]
        for column, unit in enumerate(np.diag(steps)):
            rate = central_difference(lambda step: device.base_t_frame(frame, a + step * unit))
            got = jacobian[:, column] * steps[column]
            spin = rate[:3, :3] @ rotation.T
            expected = (*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0])
            np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-9)


def test_wrench_that_a_short_arm_cannot_feel_is_left_out():
    """With one joint the wrench is the least one that its effort holds."""
    device = make_device(*TRANSMISSIONS, end='base_link')
    assert device.actuator_names == ('base_motor',)
    a = [0.3]
    # The base turns about a tilted axis through the end's origin: only a moment is felt.
    wrench = device.end_wrench([0.4], a)
    axis = device.device.base_j_end(device.joint_positions(a))[3:, 0]
    np.testing.assert_allclose(wrench, [0, 0, 0, *(-50 * 0.4 * axis)], atol=1e-12)
    np.testing.assert_allclose(device.actuator_efforts(wrench, a), [0.4], rtol=1e-12)


@given(SEEDS)
def test_limits_of_coupled_joints_are_tight(linear, seed):
    """No joint position within bounds leaves the box, and its corners touch every side."""
    rng = np.random.default_rng(seed)
    joints = [linear.device.joint_names.index(name) for name in ('pitch', 'roll')]
    motors = [linear.actuator_names.index(name) for name in ('left_motor', 'right_motor')]
    low, high = (bound[joints] for bound in linear.device.bounds)
    lower, upper = (bound[motors] for bound in linear.bounds)
    q = np.zeros((54, linear.device.dof))
    corners = np.array([(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])])
    q[:4, joints] = corners
    q[4:, joints] = rng.uniform(low, high, (50, 2))
    a = linear.actuator_positions(q)[:, motors]
    np.testing.assert_allclose(a[:4].min(axis=0), lower, rtol=1e-13)
    np.testing.assert_allclose(a[:4].max(axis=0), upper, rtol=1e-13)
    assert np.all((a >= lower - 1e-9) & (a <= upper + 1e-9))
    speeds = linear.device.velocity_limits[joints]
    # a0 = (q0 jr0 + q1 jr1) ar0, a1 = (q0 jr0 - q1 jr1) ar1
    expected = np.array([10.0, 20.0]) * (2.0 * speeds[0] + 1.5 * speeds[1])
    np.testing.assert_allclose(linear.velocity_limits[motors], expected, rtol=1e-13)
    efforts = linear.device.effort_limits[joints]
    expected = (efforts[0] / 2.0 + efforts[1] / 1.5) / (2.0 * np.array([10.0, 20.0]))
    np.testing.assert_allclose(linear.effort_limits[motors], expected, rtol=1e-13)
    assert np.all(np.isinf(linear.acceleration_limits[motors]))  # roll has no limit


@pytest.mark.parametrize('kind', ['position', 'velocity', 'effort'])
def test_half_spaces_are_exactly_what_the_joints_allow(linear, kind):
    """Random actuator values satisfy the half-spaces exactly if the joints are within limits."""
    matrix, bound = linear.half_spaces(kind)
    rng = np.random.default_rng(7)
    joint_device = linear.device
    jacobian = linear.joint_jacobian(np.zeros(len(linear.actuator_names)))
    inside = 0
    for _ in range(400):
        if kind == 'position':
            low = np.maximum(joint_device.bounds[0], -4.0)
            high = np.minimum(joint_device.bounds[1], 4.0)
            q = low + (high - low) * rng.uniform(-0.05, 1.05, joint_device.dof)
            x = linear.actuator_positions(q)
            allowed = np.all((joint_device.bounds[0] <= q) & (q <= joint_device.bounds[1]))
        else:
            limits = getattr(joint_device, f'{kind}_limits')
            q = limits * rng.uniform(-1.1, 1.1, joint_device.dof)
            solve = np.linalg.solve(jacobian, q)
            x = solve if kind == 'velocity' else jacobian.T @ q
            allowed = np.all(np.abs(q) <= limits)
        assert np.all(matrix @ x <= bound) == allowed
        inside += bool(allowed)
    assert 0 < inside < 400


def test_acceleration_half_spaces_come_from_the_command_interface(linear):
    """Only pitch has acceleration limits: one pair of half-spaces in the two motors."""
    matrix, bound = linear.half_spaces('acceleration')
    np.testing.assert_allclose(bound, [3.0, 3.0])
    motors = [linear.actuator_names.index(name) for name in ('left_motor', 'right_motor')]
    np.testing.assert_allclose(matrix[0, motors], [1 / 40, -1 / 80])
    np.testing.assert_allclose(matrix[1], -matrix[0])


def test_companions_count_with_their_limits():
    """An end between two coupled joints has both motors, and the other joint's limits hold."""
    part = make_device(*TRANSMISSIONS, end='pitch_link')
    whole = make_device(*TRANSMISSIONS, end='roll_link')
    assert part.companions == ('roll',)
    assert part.actuator_names == whole.actuator_names
    np.testing.assert_allclose(part.bounds, whole.bounds, rtol=1e-14)
    np.testing.assert_allclose(part.effort_limits, whole.effort_limits, rtol=1e-14)
    q = np.full(4, 0.2)
    np.testing.assert_allclose(
        part.actuator_positions(q), whole.actuator_positions(np.append(q, 0.0)), rtol=1e-14
    )
    a = whole.actuator_positions(np.full(5, 0.3))
    np.testing.assert_allclose(part.joint_positions(a), q + 0.1, atol=1e-14)
    assert part.base_j_end(a).shape == (6, 5)


def test_varying_ratio_needs_a_position(varying):
    """Without a position its limits are unknown, with one they are those of its Jacobian."""
    column = varying.actuator_names.index('knee_cylinder')
    others = np.arange(len(varying.actuator_names)) != column
    assert not varying.is_constant
    a = positions(varying, 1)
    slope = varying.joint_jacobian(a)[varying.device.joint_names.index('knee'), column]
    for kind, expected in (('velocity', 2.0 / abs(slope)), ('effort', 7.0 * abs(slope))):
        anywhere = getattr(varying, f'{kind}_limits')
        here = getattr(varying, f'{kind}_limits_at')(a)
        assert np.isnan(anywhere[column])
        np.testing.assert_array_equal(anywhere[others], here[others])
        np.testing.assert_allclose(here[column], expected, rtol=1e-12)
        with pytest.raises(JointError, match='depend on position'):
            varying.half_spaces(kind)
        matrix, _ = varying.half_spaces(kind, a)
        assert matrix.shape[1] == len(varying.actuator_names)
    assert np.isinf(varying.acceleration_limits_at(a)[column])
    with pytest.raises(JointError, match='depend on position'):
        varying.half_spaces('position', a)


def test_bounds_of_a_single_varying_joint_are_exact(varying):
    """A crank's bounds are the actuator positions at the joint's bounds, in order."""
    column = varying.actuator_names.index('knee_cylinder')
    knee = varying.device.joint_names.index('knee')
    q = np.zeros((2, varying.device.dof))
    q[:, knee] = varying.device.bounds[0][knee], varying.device.bounds[1][knee]
    ends = np.sort(varying.actuator_positions(q)[:, column])
    lower, upper = varying.bounds
    np.testing.assert_allclose([lower[column], upper[column]], ends, rtol=1e-12)
    assert ends[0] < ends[1]


def test_unreachable_position_is_unknown_alone(varying):
    """Where the crank cannot be, poses and wrenches are NaN, in that configuration only."""
    a = positions(varying, 2, (2,))
    a[0, varying.actuator_names.index('knee_cylinder')] = 99.0
    assert np.isnan(varying.joint_positions(a)[0]).any()
    wrench = varying.end_wrench(np.ones(a.shape), a)
    assert np.isnan(wrench[0]).any()
    assert np.isfinite(wrench[1]).all()
    with pytest.raises(JointError, match='does not reach'):
        varying.half_spaces('velocity', a[0])
    assert np.isnan(varying.velocity_limits_at(a[0])).sum() == 1


def test_losses_reflect_through_the_ratio(linear):
    """Damping scales with the square of the ratio and couples; friction with its magnitude."""
    a = np.zeros(7)
    motors = [linear.actuator_names.index(name) for name in ('left_motor', 'right_motor')]
    jacobian = linear.joint_jacobian(a)[np.ix_([3, 4], motors)]
    damping = linear.reflected_damping(a)
    np.testing.assert_allclose(
        damping[np.ix_(motors, motors)], jacobian.T @ np.diag([0.5, 0.3]) @ jacobian, rtol=1e-14
    )
    np.testing.assert_allclose(
        linear.reflected_friction(a)[motors], np.abs(jacobian).T @ [0.2, 0.1], rtol=1e-14
    )
    # Power lost in the joints is power lost by the actuators.
    rate = np.random.default_rng(0).normal(size=7)
    lost = np.array([0, 0, 0, 0.5, 0.3, 0, 0]) @ (linear.joint_jacobian(a) @ rate) ** 2
    np.testing.assert_allclose(rate @ damping @ rate, lost, rtol=1e-12)
    single = make_device(*TRANSMISSIONS[:2], end='shoulder_link')
    assert not single.reflected_damping(np.zeros(2)).any()


def test_device_without_joints():
    """From a link to itself there are no actuators, and nothing is limited."""
    robot, loaded = load(*TRANSMISSIONS)
    device = ActuatorDevice(JointDevice.from_description(robot, base='world', end='world'), loaded)
    assert device.actuator_names == ()
    assert device.base_j_end(np.zeros((2, 0))).shape == (2, 6, 0)
    assert [bound.shape for bound in device.bounds] == [(0,), (0,)]
    for kind in ('position', 'velocity', 'acceleration', 'effort'):
        matrix, bound = device.half_spaces(kind)
        assert (matrix.shape, bound.shape) == ((0, 0), (0,))
    np.testing.assert_array_equal(device.end_wrench([], []), np.zeros(6))


def test_fixed_joints_have_no_actuator_and_floating_ones_cannot():
    """A fixed joint takes no column; a joint with several is moved by no transmission."""
    robot = load_description("""
      <robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
        <joint name="f" type="floating"><parent link="a"/><child link="b"/></joint>
        <joint name="j" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
          <limit lower="-1" upper="1" velocity="2" effort="3"/>
          <dynamics damping="0.5" friction="0.25"/></joint>
        <joint name="x" type="fixed"><parent link="c"/><child link="d"/></joint></robot>""")
    loaded = RobotTransmissions(robot)
    with_fixed = JointDevice.from_description(robot, base='a', end='d', joints=['x', 'j'])
    device = ActuatorDevice(with_fixed, loaded)
    assert device.actuator_names == ('j',)
    np.testing.assert_array_equal(device.actuator_positions([0.5]), [0.5])
    np.testing.assert_array_equal(device.bounds, [[-1.0], [1.0]])
    np.testing.assert_array_equal(device.reflected_damping([0.5]), [[0.5]])
    assert device.base_j_end([0.5]).shape == (6, 1)
    floating = JointDevice.from_description(robot, base='a', end='d', joints=['f', 'j'])
    with pytest.raises(UnknownNameError, match="unknown joint 'f'"):
        ActuatorDevice(floating, loaded)


def test_the_numbers_of_device_and_transmissions_are_used(linear):
    """Limits that were set on the joint device, and parameters that were tuned."""
    robot, loaded = load(*TRANSMISSIONS)
    device = ActuatorDevice(linear.device.with_velocity_limits(np.full(7, 2.0)), loaded)
    np.testing.assert_allclose(device.velocity_limits[:2], [100.0, 4.0], rtol=1e-14)
    tuned = loaded.with_parameters({'base_t': {'joints': {'base': {'mechanical_reduction': 10}}}})
    device = ActuatorDevice.from_description(
        robot, base='world', end='base_link', transmissions=tuned, name='tuned'
    )
    np.testing.assert_allclose(device.velocity_limits, [20.0])
    assert device.device.name == 'tuned'
    assert 'base_motor' in repr(device)


@pytest.mark.parametrize(
    ('ask', 'error', 'said'),
    [
        *(
            (lambda d, query=query: query(d, np.zeros(6)), ShapeError, '7')
            for query in (
                ActuatorDevice.joint_positions,
                ActuatorDevice.base_t_end,
                ActuatorDevice.base_j_end,
                ActuatorDevice.reflected_damping,
                ActuatorDevice.velocity_limits_at,
                lambda d, a: d.end_wrench(a, np.zeros(7)),
                lambda d, a: d.half_spaces('effort', a),
                lambda d, a: d.actuator_positions(np.zeros(7), guess=a),
            )
        ),
        (lambda d: d.actuator_efforts(np.zeros(3), np.zeros(7)), ShapeError, 'wrench'),
        (lambda d: d.actuator_positions(np.zeros(3)), ShapeError, 'q: expected'),
        (lambda d: d.effort_limits_at(np.zeros((2, 7))), ShapeError, r'\(7,\)'),
        (lambda d: d.half_spaces('speed'), JointError, "'speed' is not a kind"),
        (
            lambda d: ActuatorDevice(
                d.device,
                RobotTransmissions(load()[0], pass_through=False, registry=Registry(())),
            ),
            UnknownNameError,
            'base',
        ),
    ],
)
def test_wrong_shapes_and_names_are_refused(linear, ask, error, said):
    """Sizes are checked everywhere, and a joint that nothing moves is named."""
    with pytest.raises(error, match=said):
        ask(linear)
