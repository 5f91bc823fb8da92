# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Gains of joints as gains of their motors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.description import load_description
from transmission_bridge.errors import ShapeError, TransmissionError, UnknownNameError
from transmission_bridge.kinematics import actuator_gains
from transmission_bridge.transmissions import RobotTransmissions


@pytest.fixture(scope='module')
def robots(load):
    """Return the module with texts of small robots."""
    return load('bridge_robots', Path(__file__).parents[1] / 'bridge/bridge_robots.py')


@pytest.fixture(scope='module')
def bent(robots) -> RobotTransmissions:
    """Return a robot of an ankle and a knee, whose ratios depend on position."""
    text = robots.urdf(
        ('knee', 'pitch', 'roll'),
        robots.leg('<param name="lower">0.6</param><param name="upper">2.2</param>')
        + robots.ANKLE,
    )
    return RobotTransmissions(load_description(text))


@pytest.fixture(scope='module')
def wrist(robots) -> str:
    """Return a differential as text, with units of its drivers to be filled in."""
    return robots.urdf(
        ('bend', 'twist', 'alone'),
        """
<transmission name="wrist">
  <plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1" mechanical_reduction="20">{left}</actuator>
  <actuator name="right" role="actuator2" mechanical_reduction="-30">{right}</actuator>
  <joint name="bend" role="joint1"/><joint name="twist" role="joint2"/>
</transmission>
""",
    )


PLACE = [1.4, -0.2, 0.1]


def random_gains(n: int, seed: int) -> np.ndarray:
    """Return a symmetric positive definite matrix."""
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


@pytest.mark.parametrize('seed', range(5))
def test_energy_and_losses_are_those_of_the_joints(wrist, seed):
    """A spring and a damper at the joints hold and lose the same when the motors are them."""
    robot = RobotTransmissions(load_description(wrist.format(left='', right='')))
    n = len(robot.joint_names)
    k, d = random_gains(n, seed), random_gains(n, seed + 10)
    gains = actuator_gains(robot, np.zeros(n), proportional=k, derivative=d)
    motion = np.random.default_rng(seed).normal(size=n)
    motors = robot.joint_to_actuator('velocity', motion)
    assert motors @ gains.proportional @ motors == pytest.approx(motion @ k @ motion, rel=1e-12)
    assert motors @ gains.derivative @ motors == pytest.approx(motion @ d @ motion, rel=1e-12)
    np.testing.assert_allclose(gains.joint_proportional, k, rtol=1e-11)
    np.testing.assert_allclose(gains.joint_derivative, d, rtol=1e-11)
    assert not gains.geometric.any()


@pytest.mark.parametrize('seed', range(5))
def test_motors_make_the_stiffness_asked_for_under_a_load(bent, seed):
    """By differences: what the motors' law gives at the joints falls by K_q per rad."""
    random = np.random.default_rng(seed)
    k, load = random_gains(3, seed), 50.0 * random.normal(size=3)
    a = bent.joint_to_actuator('position', PLACE)
    held = bent.joint_to_actuator('effort', -load, at=PLACE)

    def at_joints(gains, q):
        motors = bent.joint_to_actuator('position', q)
        effort = held - gains.proportional @ (motors - a)
        return bent.actuator_to_joint('effort', effort, at=motors)

    def stiffness(gains, step=1e-5):
        columns = [
            (at_joints(gains, PLACE - step * unit) - at_joints(gains, PLACE + step * unit))
            / (2.0 * step)
            for unit in np.eye(3)
        ]
        return np.array(columns).T

    gains = actuator_gains(bent, PLACE, proportional=k, load=load)
    np.testing.assert_allclose(stiffness(gains), k, atol=1e-5)
    without = actuator_gains(bent, PLACE, proportional=k)
    # The term is worth its place: without it the joints are not as stiff as they should be.
    assert np.abs(stiffness(without) - k).max() > 1e-2
    np.testing.assert_allclose(gains.proportional - gains.geometric, without.proportional)
    np.testing.assert_allclose(gains.joint_proportional, k, atol=1e-9)


def test_the_diagonal_says_what_is_lost(wrist):
    """Two motors of a differential couple where the joints differ in stiffness, else not."""
    robot = RobotTransmissions(load_description(wrist.format(left='', right='')))
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


def test_gains_in_the_units_of_the_drivers(wrist):
    """A driver multiplies its own numbers by them, and gives the effort that is meant."""
    left = (
        '<param name="position_unit">turn</param><param name="velocity_unit">rpm</param>'
        '<param name="effort_unit">A</param><param name="torque_constant">0.1</param>'
    )
    plain = RobotTransmissions(load_description(wrist.format(left='', right='')))
    robot = RobotTransmissions(load_description(wrist.format(left=left, right='')))
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


def test_what_cannot_be_a_gain_is_refused(bent):
    """Wrong shapes, names, numbers and places are errors."""
    with pytest.raises(ShapeError, match='proportional'):
        actuator_gains(bent, PLACE, proportional=[1.0, 2.0])
    with pytest.raises(ShapeError, match='position'):
        actuator_gains(bent, PLACE[:2], proportional=[1.0] * 3)
    with pytest.raises(ShapeError, match='load'):
        actuator_gains(bent, PLACE, proportional=[1.0] * 3, load=[1.0])
    with pytest.raises(UnknownNameError, match="derivative: unknown joint 'kne'"):
        actuator_gains(bent, PLACE, proportional=[1.0] * 3, derivative={'kne': 1.0})
    with pytest.raises(TransmissionError, match='proportional is not finite'):
        actuator_gains(bent, PLACE, proportional=[1.0, math.nan, 1.0])
    with pytest.raises(TransmissionError, match='do not reach'):
        actuator_gains(bent, [0.0, 5.0, 5.0], proportional=[1.0] * 3)


def test_passive_joints_of_a_linkage_may_be_left_out(linkages):
    """Set point, load and gains are those of the commanded joints, of all, or given by name."""
    pytest.importorskip('casadi', reason='CasADi is not installed')
    robot = RobotTransmissions(load_description(linkages['push_rod_ankle']))
    n, (pitch, roll) = len(robot.joint_names), (0.1, -0.05)
    k = random_gains(2, 0)
    short = actuator_gains(robot, [pitch, roll], proportional=k, load=[20.0, -10.0])
    names = short.joint_names
    assert n > len(names) == 2
    places = [robot.joint_names.index(name) for name in names]
    q, load, matrix = np.full(n, 0.7), np.zeros(n), np.zeros((n, n))
    q[places], load[places], matrix[np.ix_(places, places)] = (pitch, roll), (20.0, -10.0), k
    by_name = dict(zip(names, (pitch, roll), strict=True))
    for position, others in (
        (q, {'proportional': matrix, 'load': load}),
        (by_name, {'proportional': k, 'load': dict(zip(names, (20.0, -10.0), strict=True))}),
    ):
        gains = actuator_gains(robot, position, **others)
        np.testing.assert_array_equal(gains.proportional, short.proportional)
        np.testing.assert_array_equal(gains.geometric, short.geometric)
    np.testing.assert_allclose(short.joint_proportional, k)
    expected = rf"position: expected shape \(2,\) of '{names[0]}', '{names[1]}', "
    with pytest.raises(ShapeError, match=expected + rf'or \({n},\) with passive joints'):
        actuator_gains(robot, [pitch], proportional=k)
    with pytest.raises(UnknownNameError, match="position: unknown joint 'kne'"):
        actuator_gains(robot, {'kne': 1.0}, proportional=k)


# -- against MuJoCo ------------------------------------------------------------------------------

LEGS = (
    {'motor': (0.0, 0.05, 0.24), 'rod': 0.24, 'foot': (0.05, 0.05, 0.0)},
    {'motor': (0.0, -0.05, 0.15), 'rod': 0.15, 'foot': (0.05, -0.05, 0.0)},
)
CRANK = 0.05


class ClosedAnkle:
    """The foot, the cranks and rods between them, as MuJoCo computes it; numbers of this only."""

    def __init__(self, mujoco) -> None:
        def place(vector):
            return ' '.join(repr(float(component)) for component in vector)

        mass = '<inertial pos="0 0 0" mass="1" diaginertia="0.02 0.03 0.04"/>'
        light = '<inertial pos="0 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/>'
        cranks = ''.join(
            f'<body pos="{place(leg["motor"])}"><joint type="hinge" axis="0 1 0"/>{light}'
            f'<site name="tip{i}" pos="{CRANK} 0 0"/></body>'
            for i, leg in enumerate(LEGS)
        )
        feet = ''.join(
            f'<site name="foot{i}" pos="{place(leg["foot"])}"/>' for i, leg in enumerate(LEGS)
        )
        rods = ''.join(
            f'<spatial name="rod{i}"><site site="tip{i}"/><site site="foot{i}"/></spatial>'
            for i in range(2)
        )
        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(
            '<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>'
            f'<body><joint type="hinge" axis="0 1 0"/>{light}<body>'
            f'<joint type="hinge" axis="1 0 0"/>{mass}{feet}</body></body>{cranks}</worldbody>'
            f'<tendon>{rods}</tendon></mujoco>'
        )
        self.data = mujoco.MjData(self.model)

    def moments(self, position) -> tuple[np.ndarray, np.ndarray]:
        """Return lengths of the rods, and their moment arms, shape ``(2, 4)``."""
        data, model = self.data, self.model
        data.qpos[:] = position
        self.mujoco.mj_forward(model, data)
        moments = np.array(data.ten_J)
        if moments.ndim == 1:
            owner = data if hasattr(data, 'ten_J_rownnz') else model
            dense = np.zeros((2, 4))
            self.mujoco.mju_sparse2dense(
                dense, moments, owner.ten_J_rownnz, owner.ten_J_rowadr, owner.ten_J_colind
            )
            moments = dense
        return np.array(data.ten_length), moments

    def closed(self, foot, cranks) -> np.ndarray:
        """Return the angles of the cranks with which both rods have their length."""
        rods = np.array([leg['rod'] for leg in LEGS])
        for _ in range(50):
            lengths, moments = self.moments([*foot, *cranks])
            cranks = cranks - np.linalg.solve(moments[:, 2:], lengths - rods)
        return cranks

    def torque_at_foot(self, foot, cranks, motors) -> np.ndarray:
        """Return what torques of the motors are at the joints of the foot."""
        _, moments = self.moments([*foot, *cranks])
        forces = np.linalg.solve(-moments[:, 2:].T, motors)
        return moments[:, :2].T @ forces


def test_a_closed_ankle_in_mujoco_is_as_stiff_as_a_serial_one(robots):
    """Where nothing is lost by the diagonal, motors and joints give the same torques there."""
    mujoco = pytest.importorskip('mujoco', reason='the MuJoCo wheel is not installed')
    robot = RobotTransmissions(load_description(robots.urdf(('pitch', 'roll'), robots.ANKLE)))
    closed = ClosedAnkle(mujoco)
    place = np.array([-0.15, 0.1])
    # Gains of the joints that two motors, each for itself, can give: their matrix is diagonal.
    jacobian = robot.jacobian(robot.joint_to_actuator('position', place))
    inverse = np.linalg.inv(jacobian)
    k = inverse.T @ np.diag([30.0, 50.0]) @ inverse
    d = inverse.T @ np.diag([1.0, 2.0]) @ inverse
    gains = actuator_gains(robot, place, proportional=k, derivative=d)
    assert max(gains.lost) < 1e-12
    taken = gains.diagonal()
    cranks = closed.closed(place, robot.joint_to_actuator('position', place))
    random = np.random.default_rng(0)
    for _ in range(20):
        away = 1e-5 * random.normal(size=2)
        speed = random.normal(size=2)
        turned = closed.closed(place + away, cranks)
        motors = -np.diag(taken.proportional) * (turned - cranks)
        found = closed.torque_at_foot(place + away, turned, motors)
        serial = -k @ away
        assert np.abs(found - serial).max() <= 1e-3 * np.abs(serial).max()
        # Dampers act at the set point itself; the speed of the cranks is the model's.
        _, moments = closed.moments([*place, *cranks])
        turning = -np.linalg.solve(moments[:, 2:], moments[:, :2] @ speed)
        found = closed.torque_at_foot(place, cranks, -np.diag(taken.derivative) * turning)
        np.testing.assert_allclose(found, -d @ speed, rtol=1e-8)


def test_a_load_in_mujoco_softens_as_the_second_term_says(robots):
    """Held against a load, the closed ankle has the stiffness of the serial one with it only."""
    mujoco = pytest.importorskip('mujoco', reason='the MuJoCo wheel is not installed')
    robot = RobotTransmissions(load_description(robots.urdf(('pitch', 'roll'), robots.ANKLE)))
    closed = ClosedAnkle(mujoco)
    place, load = np.array([-0.15, 0.1]), np.array([40.0, -15.0])
    k = np.array([[60.0, 5.0], [5.0, 40.0]])
    cranks = closed.closed(place, robot.joint_to_actuator('position', place))
    held = robot.joint_to_actuator('effort', -load, at=place)
    step = 1e-6
    for given, is_right in ((load, True), (None, False)):
        gains = actuator_gains(robot, place, proportional=k, load=given)
        columns = []
        for unit in np.eye(2):
            torques = []
            for side in (-step, step):
                foot = place + side * unit
                turned = closed.closed(foot, cranks)
                motors = held - gains.proportional @ (turned - cranks)
                torques.append(closed.torque_at_foot(foot, turned, motors))
            columns.append((torques[0] - torques[1]) / (2.0 * step))
        found = np.array(columns).T
        assert np.allclose(found, k, atol=1e-3) is is_right
