# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Gains of joints as gains of their motors."""

import math

import numpy as np
import pytest
from zoo import elements

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.errors import ShapeError, TransmissionError, UnknownNameError
from transmission_bridge.kinematics import actuator_gains


@pytest.fixture(scope='module')
def bent():
    """Return a robot of an ankle and a knee, whose ratios depend on position."""
    knee = elements.leg(elements.params(lower=0.6, upper=2.2))
    return elements.maps(('knee', 'pitch', 'roll'), knee + elements.ANKLE)


def make_wrist(**units):
    """Return a differential, with units of the driver of its left motor."""
    motors = {
        'left': elements.ratio(20) + elements.params(**units),
        'right': elements.ratio(-30),
    }
    wrist = elements.transmission('wrist', 'Differential', ('bend', 'twist'), motors)
    return elements.maps(('bend', 'twist', 'alone'), wrist)


PLACE = [1.4, -0.2, 0.1]


def random_gains(n, seed):
    """Return a symmetric positive definite matrix."""
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


def test_energy_and_losses_are_those_of_the_joints():
    """A spring and a damper at the joints hold and lose the same when the motors are them."""
    robot = make_wrist()
    n = len(robot.joint_names)
    k, d = random_gains(n, 0), random_gains(n, 10)
    gains = actuator_gains(robot, np.zeros(n), proportional=k, derivative=d)
    motion = np.random.default_rng(0).normal(size=n)
    motors = robot.joint_to_actuator('velocity', motion)
    assert motors @ gains.proportional @ motors == pytest.approx(motion @ k @ motion, rel=1e-12)
    assert motors @ gains.derivative @ motors == pytest.approx(motion @ d @ motion, rel=1e-12)
    np.testing.assert_allclose(gains.joint_proportional, k, rtol=1e-11)
    np.testing.assert_allclose(gains.joint_derivative, d, rtol=1e-11)
    assert not gains.geometric.any()


def test_motors_make_the_stiffness_asked_for_under_a_load(bent):
    """By differences: what the motors' law gives at the joints falls by K_q per rad."""
    k, load = random_gains(3, 0), 50.0 * np.random.default_rng(0).normal(size=3)
    a = bent.joint_to_actuator('position', PLACE)
    held = bent.joint_to_actuator('effort', -load, at=PLACE)

    def at_joints(gains, q):
        motors = bent.joint_to_actuator('position', q)
        effort = held - gains.proportional @ (motors - a)
        return bent.actuator_to_joint('effort', effort, at=motors)

    def stiffness(gains, step=1e-5):
        steps = step * np.eye(3)
        rises = [at_joints(gains, PLACE - each) - at_joints(gains, PLACE + each) for each in steps]
        return np.array(rises).T / (2.0 * step)

    gains = actuator_gains(bent, PLACE, proportional=k, load=load)
    np.testing.assert_allclose(stiffness(gains), k, atol=1e-5)
    without = actuator_gains(bent, PLACE, proportional=k)
    # The term is worth its place: without it the joints are not as stiff as they should be.
    assert np.abs(stiffness(without) - k).max() > 1e-2
    np.testing.assert_allclose(gains.proportional - gains.geometric, without.proportional)
    np.testing.assert_allclose(gains.joint_proportional, k, atol=1e-9)


def test_the_diagonal_says_what_is_lost():
    """Two motors of a differential couple where the joints differ in stiffness, else not."""
    robot = make_wrist()
    gains = actuator_gains(robot, [0.0] * 3, proportional={'bend': 10.0, 'twist': 2.0})
    left, right = (robot.actuator_names.index(name) for name in ('left', 'right'))
    # q = (a1 / 20 ± a2 / -30) / 2, so K12 = (10 - 2) / (4 * 20 * -30).
    assert gains.proportional[left, right] == pytest.approx(8.0 / (4.0 * 20.0 * -30.0))
    share, damping = gains.lost
    k11, k22, k12 = 12.0 / 1600.0, 12.0 / 3600.0, 8.0 / 2400.0
    whole = math.sqrt(k11**2 + k22**2 + 2.0 * k12**2)
    assert share == pytest.approx(math.sqrt(2.0) * k12 / whole)
    assert damping == 0.0
    # Without the coupling both joints are as stiff as they are on average.
    left_over = gains.diagonal().joint_proportional
    places = [gains.joint_names.index(name) for name in ('bend', 'twist')]
    np.testing.assert_allclose(np.diag(left_over)[places], [6.0, 6.0])
    same = actuator_gains(robot, [0.0] * 3, proportional={'bend': 4.0, 'twist': 4.0})
    assert same.lost[0] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(same.diagonal().joint_proportional, same.joint_proportional)


def test_gains_in_the_units_of_the_drivers():
    """A driver multiplies its own numbers by them, and gives the effort that is meant."""
    plain = make_wrist()
    units = {'position_unit': 'turn', 'velocity_unit': 'rpm', 'effort_unit': 'A'}
    robot = make_wrist(**units, torque_constant=0.1)
    k, d = random_gains(3, 1), random_gains(3, 2)
    expected = actuator_gains(plain, [0.0] * 3, proportional=k, derivative=d)
    gains = actuator_gains(robot, [0.0] * 3, proportional=k, derivative=d)
    np.testing.assert_array_equal(gains.proportional, expected.proportional)
    away, speed = np.random.default_rng(0).normal(size=(2, 3))
    units = DriverUnits(robot)
    position, velocity, effort_scale = units.scales
    effort = units.convert_gains(gains.proportional, 0) @ (away / position)
    np.testing.assert_allclose(effort * effort_scale, expected.proportional @ away, rtol=1e-12)
    effort = units.convert_gains(gains.derivative, 1) @ (speed / velocity)
    np.testing.assert_allclose(effort * effort_scale, expected.derivative @ speed, rtol=1e-12)


@pytest.mark.parametrize(('position', 'options', 'error', 'said'), [
    (PLACE, {'proportional': [1.0, 2.0]}, ShapeError, 'proportional'),
    (PLACE[:2], {}, ShapeError, 'position'),
    (PLACE, {'load': [1.0]}, ShapeError, 'load'),
    (PLACE, {'derivative': {'kne': 1.0}}, UnknownNameError, "derivative: unknown joint 'kne'"),
    (PLACE, {'proportional': [1.0, math.nan, 1.0]}, TransmissionError, 'is not finite'),
    ([0.0, 5.0, 5.0], {}, TransmissionError, 'do not reach'),
])  # fmt: skip
def test_what_cannot_be_a_gain_is_refused(bent, position, options, error, said):
    """Wrong shapes, names, numbers and places are errors."""
    with pytest.raises(error, match=said):
        actuator_gains(bent, position, **{'proportional': [1.0] * 3, **options})


def test_passive_joints_of_a_linkage_may_be_left_out(linkages):
    """Set point, load and gains are those of the commanded joints, of all, or given by name."""
    robot = elements.load(linkages['push_rod_ankle'])
    n, place, load, k = len(robot.joint_names), (0.1, -0.05), (20.0, -10.0), random_gains(2, 0)
    short = actuator_gains(robot, place, proportional=k, load=load)
    names = short.joint_names
    assert n > len(names) == 2
    places = [robot.joint_names.index(name) for name in names]
    q, all_loads, matrix = np.full(n, 0.7), np.zeros(n), np.zeros((n, n))
    q[places], all_loads[places], matrix[np.ix_(places, places)] = place, load, k
    by_name, loads = (dict(zip(names, values, strict=True)) for values in (place, load))
    for position, gain, at_joints in ((q, matrix, all_loads), (by_name, k, loads)):
        gains = actuator_gains(robot, position, proportional=gain, load=at_joints)
        np.testing.assert_array_equal(gains.proportional, short.proportional)
        np.testing.assert_array_equal(gains.geometric, short.geometric)
    np.testing.assert_allclose(short.joint_proportional, k)
    expected = rf"position: expected shape \(2,\) of '{names[0]}', '{names[1]}', "
    with pytest.raises(ShapeError, match=expected + rf'or \({n},\) with passive joints'):
        actuator_gains(robot, [0.1], proportional=k)
    with pytest.raises(UnknownNameError, match="position: unknown joint 'kne'"):
        actuator_gains(robot, {'kne': 1.0}, proportional=k)
