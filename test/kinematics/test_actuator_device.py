# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The same device seen from the motors: poses, wrenches, limits and losses."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from zoo import elements, linkages

from transmission_bridge.description import load_description
from transmission_bridge.errors import ShapeError, UnknownNameError
from transmission_bridge.kinematics import ActuatorDevice, JointDevice
from transmission_bridge.transmissions import Registry, RobotTransmissions

JOINTS = {
    # kind, origin, axis, bounds, limits of velocity and effort, damping and friction
    'base': ('revolute', (0, 0, 0.3), (0, 0, 1), (-2, 1), (2, 30), None),
    'shoulder': ('revolute', (0.1, 0, 0.2), (0, 1, 0), (-3, 0.5), (3, 20), None),
    'elbow': ('prismatic', (0, 0.1, 0.4), (1, 0, 0.5), (-0.2, 0.3), (1, 9), None),
    'pitch': ('revolute', (0.2, 0, 0), (0, 1, 0.2), (-1, 1.5), (4, 5), (0.5, 0.2)),
    'roll': ('revolute', (0.1, 0, 0.1), (1, 0, 0), (-3, 2), (6, 4), (0.3, 0.1)),
    'knee': ('revolute', (0, 0, 0.2), (0, 1, 0), (-0.5, 0.6), (2, 7), None),
    'free': ('continuous', (0, 0.1, 0), (0, 0, 1), (0, 0), (9, 1), None),
}
ratio = elements.ratio
ARM = (
    elements.transmission('base_t', 'Simple', {'base': ratio(-50, 0.25)}, ['base_motor']),
    elements.transmission('shoulder_t', 'Simple', {'shoulder': ratio(-2)}, ['shoulder_motor']),
    elements.transmission(
        'wrist_t',
        'Differential',
        {'pitch': ratio(2, 0.1), 'roll': ratio(-1.5, -0.2)},
        {'left_motor': ratio(10), 'right_motor': ratio(-20)},
    ),
)
CRANK = elements.leg()


def load(*transmissions):
    """Return an arm with these transmissions, and its maps; other joints pass through."""
    parts, parent = ['<robot name="arm"><link name="world"/>'], 'world'
    for name, (kind, origin, axis, bounds, rates, losses) in JOINTS.items():
        more = '<dynamics damping="{}" friction="{}"/>'.format(*losses) if losses else ''
        options = {'limit': bounds, 'rpy': (0.1, 0.2, 0.3), 'rates': rates, 'more': more}
        parts.append(linkages.joint(name, parent, f'{name}_link', origin, axis, kind, **options))
        parent = f'{name}_link'
    parts.append('<ros2_control name="c" type="system"><hardware><plugin>p</plugin></hardware>')
    for name in JOINTS:
        limit = elements.params(min=-3, max=6) if name == 'pitch' else ''
        interface = f'<command_interface name="acceleration">{limit}</command_interface>'
        parts.append(f'<joint name="{name}">{interface}</joint>')
    robot = load_description(''.join([*parts, *transmissions, '</ros2_control></robot>']))
    loaded = RobotTransmissions(robot)
    assert not [str(finding) for finding in loaded.findings if finding.severity == 'error']
    assert len(loaded.transmissions) == len(transmissions)
    return robot, loaded


def make_device(*transmissions, end='free_link'):
    """Return the actuator device from the world to a link."""
    robot, loaded = load(*transmissions)
    return ActuatorDevice.from_description(robot, base='world', end=end, transmissions=loaded)


@pytest.fixture(scope='module')
def linear():
    """Return a device with constant ratios."""
    return make_device(*ARM)


@pytest.fixture(scope='module')
def varying():
    """Return a device with a crank among its transmissions."""
    return make_device(*ARM, CRANK)


@pytest.fixture(scope='module', params=['linear', 'varying'])
def device(request):
    """Return either device."""
    return request.getfixturevalue(request.param)


def positions(device, seed, shape=()):
    """Return actuator positions of joint positions that every transmission reaches."""
    q = np.random.default_rng(seed).uniform(-0.4, 0.4, (*shape, device.device.dof))
    return device.actuator_positions(q)


def places(device, *names):
    """Return the indices of actuators."""
    return [device.actuator_names.index(name) for name in names]


close, equal = np.testing.assert_allclose, np.testing.assert_array_equal
SEEDS = st.integers(0, 2**32 - 1)

# -- Positions, motions and wrenches --------------------------------------------------------------


def test_actuators_stand_in_the_transmissions_order(linear):
    """Actuators are those of the device's transmissions in order, then the ones passed through."""
    expected = 'base_motor shoulder_motor left_motor right_motor elbow knee free'
    assert linear.actuator_names == tuple(expected.split())
    assert linear.companions == ()
    assert linear.is_constant
    assert linear.device.joint_names == tuple(JOINTS)


@settings(max_examples=20)
@given(SEEDS)
def test_positions_and_wrenches_go_there_and_back(device, seed):
    """Frames are those at the joint positions; for any motion the actuators do a wrench's work."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-0.4, 0.4, (3, device.device.dof))
    a = device.actuator_positions(q)
    close(device.joint_positions(a), q, atol=1e-12)
    close(device.actuator_positions(q, guess=a), a, atol=1e-12)
    q = device.joint_positions(a)
    equal(device.base_t_end(a), device.device.base_t_end(q))
    equal(device.base_t_frame('pitch_link', a), device.device.base_t_frame('pitch_link', q))
    wrench, rate = rng.normal(size=(3, 6)), rng.normal(size=a.shape)
    twist = (device.base_j_end(a) @ rate[..., np.newaxis])[..., 0]
    efforts = device.actuator_efforts(wrench, a)
    scale = 1.0 + np.sum(np.abs(wrench * twist), axis=-1)
    work, power = np.sum(wrench * twist, axis=-1), np.sum(efforts * rate, axis=-1)
    assert np.all(np.abs(work - power) <= 1e-10 * scale)


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
            spin = rate[:3, :3] @ rotation.T
            expected = (*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0])
            close(jacobian[:, column] * steps[column], expected, rtol=0.0, atol=1e-9)


# -- Limits ---------------------------------------------------------------------------------------


def test_limits_of_coupled_joints_are_tight(linear):
    """The corners of the joints' bounds touch every side of the box; rates and efforts by hand."""
    joints = [linear.device.joint_names.index(name) for name in ('pitch', 'roll')]
    motors = places(linear, 'left_motor', 'right_motor')
    low, high = (bound[joints] for bound in linear.device.bounds)
    lower, upper = (bound[motors] for bound in linear.bounds)
    q = np.zeros((4, linear.device.dof))
    q[:, joints] = [(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])]
    a = linear.actuator_positions(q)[:, motors]
    close((a.min(axis=0), a.max(axis=0)), (lower, upper), rtol=1e-13)
    # a0 = (q0 jr0 + q1 jr1) ar0, a1 = (q0 jr0 - q1 jr1) ar1
    speeds, efforts = linear.device.velocity_limits[joints], linear.device.effort_limits[joints]
    expected = np.array([10.0, 20.0]) * (2.0 * speeds[0] + 1.5 * speeds[1])
    close(linear.velocity_limits[motors], expected, rtol=1e-13)
    expected = (efforts[0] / 2.0 + efforts[1] / 1.5) / (2.0 * np.array([10.0, 20.0]))
    close(linear.effort_limits[motors], expected, rtol=1e-13)
    # Of accelerations the command interface of pitch has limits alone.
    assert np.all(np.isinf(linear.acceleration_limits[motors]))


def test_companions_count_with_their_limits():
    """An end between two coupled joints has both motors, and the other joint's limits hold."""
    part, whole = (make_device(*ARM, end=end) for end in ('pitch_link', 'roll_link'))
    assert part.companions == ('roll',)
    assert part.actuator_names == whole.actuator_names
    close(part.bounds, whole.bounds, rtol=1e-14)
    close(part.effort_limits, whole.effort_limits, rtol=1e-14)
    q = np.full(4, 0.2)
    close(part.actuator_positions(q), whole.actuator_positions([*q, 0.0]), rtol=1e-14)
    a = whole.actuator_positions(np.full(5, 0.3))
    close(part.joint_positions(a), q + 0.1, atol=1e-14)
    assert part.base_j_end(a).shape == (6, 5)


def test_varying_ratio_needs_a_position(varying):
    """Without a position its limits are unknown, with one they are those of its Jacobian."""
    (column,) = places(varying, 'cylinder')
    others = np.arange(len(varying.actuator_names)) != column
    assert not varying.is_constant
    a = positions(varying, 1)
    slope = varying.joint_jacobian(a)[varying.device.joint_names.index('knee'), column]
    for kind, expected in (('velocity', 2.0 / abs(slope)), ('effort', 7.0 * abs(slope))):
        anywhere = getattr(varying, f'{kind}_limits')
        here = getattr(varying, f'{kind}_limits_at')(a)
        assert np.isnan(anywhere[column])
        equal(anywhere[others], here[others])
        close(here[column], expected, rtol=1e-12)
    assert np.isinf(varying.acceleration_limits_at(a)[column])


def test_unreachable_position_is_unknown_alone(varying):
    """Where the crank cannot be, poses and efforts are NaN, in that configuration only."""
    a = positions(varying, 2, (2,))
    a[0, places(varying, 'cylinder')] = 99.0
    assert np.isnan(varying.joint_positions(a)[0]).any()
    efforts = varying.actuator_efforts(np.ones((2, 6)), a)
    assert np.isnan(efforts[0]).any()
    assert np.isfinite(efforts[1]).all()
    assert np.isnan(varying.velocity_limits_at(a[0])).sum() == 1


# -- Other devices, and refusals ------------------------------------------------------------------


def test_fixed_joints_have_no_actuator_and_floating_ones_cannot():
    """A fixed joint takes no column; a joint with several is moved by no transmission."""
    robot = load_description(
        '<robot name="r"><link name="a"/>'
        + linkages.joint('f', 'a', 'b', kind='floating')
        + linkages.joint('j', 'b', 'c', limit=(-1, 1))
        + linkages.joint('x', 'c', 'd', kind='fixed')
        + '</robot>'
    )
    loaded = RobotTransmissions(robot)
    with_fixed = JointDevice.from_description(robot, base='a', end='d', joints=['x', 'j'])
    device = ActuatorDevice(with_fixed, loaded)
    assert device.actuator_names == ('j',)
    equal(device.bounds, [[-1.0], [1.0]])
    assert device.base_j_end([0.5]).shape == (6, 1)
    floating = JointDevice.from_description(robot, base='a', end='d', joints=['f', 'j'])
    with pytest.raises(UnknownNameError, match="unknown joint 'f'"):
        ActuatorDevice(floating, loaded)


def test_the_numbers_of_device_and_transmissions_are_used(linear):
    """Limits that were set on the joint device, and parameters that were tuned."""
    robot, loaded = load(*ARM)
    device = ActuatorDevice(linear.device.with_velocity_limits(np.full(7, 2.0)), loaded)
    close(device.velocity_limits[:2], [100.0, 4.0], rtol=1e-14)
    tuned = loaded.with_parameters({'base_t': {'joints': {'base': {'mechanical_reduction': 10}}}})
    ends = {'base': 'world', 'end': 'base_link'}
    device = ActuatorDevice.from_description(robot, **ends, transmissions=tuned, name='tuned')
    close(device.velocity_limits, [20.0])
    assert device.device.name == 'tuned'
    assert 'base_motor' in repr(device)


QUERIES = (
    ActuatorDevice.joint_positions,
    ActuatorDevice.base_t_end,
    ActuatorDevice.base_j_end,
    ActuatorDevice.velocity_limits_at,
    lambda d, a: d.actuator_positions(np.zeros(7), guess=a),
)


@pytest.mark.parametrize(('ask', 'error', 'said'), [
    *((lambda d, query=query: query(d, np.zeros(6)), ShapeError, '7') for query in QUERIES),
    (lambda d: d.actuator_efforts(np.zeros(3), np.zeros(7)), ShapeError, 'wrench'),
    (lambda d: d.actuator_positions(np.zeros(3)), ShapeError, 'q: expected'),
    (lambda d: d.effort_limits_at(np.zeros((2, 7))), ShapeError, r'\(7,\)'),
    (lambda d: ActuatorDevice(d.device, RobotTransmissions(
        load()[0], pass_through=False, registry=Registry(()))), UnknownNameError, 'base'),
])  # fmt: skip
def test_wrong_shapes_and_names_are_refused(linear, ask, error, said):
    """Sizes are checked everywhere, and a joint that nothing moves is named."""
    with pytest.raises(error, match=said):
        ask(linear)


# -- Linkages: passive joints move, and limit nothing ---------------------------------------------


@pytest.fixture(scope='module')
def of_linkage(linkages):
    """Return a function that gives the device between two links of a worked linkage."""
    robots = {name: load_description(text, strict=True) for name, text in linkages.items()}
    return lambda name, base, end: ActuatorDevice.from_description(
        robots[name], base=base, end=end
    )


@pytest.mark.parametrize(('name', 'base', 'end'), [
    ('four_bar_knee', 'thigh', 'shin'),
    ('five_bar', 'body', 'shin'),
    ('push_rod_ankle', 'shank', 'foot'),
])  # fmt: skip
def test_limits_are_those_of_the_commanded_joints(of_linkage, linkages, name, base, end):
    """Speeds and efforts as of a robot whose passive joints nobody publishes."""
    whole = of_linkage(name, base, end)
    description = load_description(linkages[name])
    bare = ActuatorDevice(whole.device, RobotTransmissions(description, passive_joints='none'))
    for a in np.random.default_rng(0).uniform(-3.0, 3.0, (10, len(whole.actuator_names))):
        for kind in ('velocity', 'effort'):
            found, expected = (getattr(each, f'{kind}_limits_at')(a) for each in (whole, bare))
            assert np.isfinite(expected).all()
            close(found, expected, rtol=1e-12)
    if name == 'four_bar_knee':  # one motor and one joint have bounds, at the joint's limits
        reach = [whole.joint_positions(bound) for bound in whole.bounds]
        close(reach, [[-0.7], [0.7]], rtol=0.0, atol=1e-9)


def test_passive_joints_have_actuator_positions_where_the_loops_close(of_linkage):
    """Elsewhere there are none, in place of those that the others alone would have."""
    knee = of_linkage('four_bar_knee', 'thigh', 'horn')
    assert knee.device.joint_names == ('knee_crank',)
    assert knee.companions == ('knee',)
    # With its companion, the knee, at zero only this is closed.
    assert np.isnan(knee.actuator_positions([0.1])).all()
    closed = knee.joint_positions(np.array([0.0]))
    assert knee.actuator_positions(closed) == pytest.approx([0.0], abs=1e-9)
