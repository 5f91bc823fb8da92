# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The one solver: an equation and a linkage are the same mechanism, near dead centres too."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import casadi as ca
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.linkages import joint, robot, starts
from zoo.mechanisms import single

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.transmissions import Transmission
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_transmission import EquationTransmission
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS
from transmission_bridge.transmissions.mechanism.elimination import (
    build_determinant,
    Elimination,
    find_pivot_order,
    GROWTH,
    Minors,
)
from transmission_bridge.transmissions.robot_map import RobotMap

INTERFACES = ('position', 'velocity', 'acceleration', 'effort')


def linkage(text: str) -> Transmission:
    """Return the linkage of a URDF without its passive joints."""
    robot = RobotTransmissions(load_description(text, strict=True), passive_joints='none')
    return robot.transmissions['linkage']


def push_rod(lower: float = 0.08, upper: float = 0.159) -> Transmission:
    """Return a slider on a guide along x that a rod of 0.12 m connects to a crank of 0.04 m."""
    body = joint('crank', 'base', 'arm', limit=(-1.2, 1.2), axis=(0, 0, 1), rpy=(0, 0, 1.5))
    body += joint('pin', 'arm', 'pin_link', 0.04, kind='fixed')
    body += joint('slide', 'base', 'block', 0.01j, (1, 0, 0), 'prismatic', (lower, upper))
    loop = '<loop type="rod" frame1="pin_link" frame2="block" length="0.12"/>'
    return linkage(robot(body, {'motor': 'slide'}, ['crank'], loop, starts(slide=0.12)))


def four_bar(side: float) -> Transmission:
    """Return a crank of 0.04 m that turns a rocker of 0.06 m by a rod of 0.1 m."""
    body = joint('crank', 'base', 'arm', limit=(0.6, 2.4), axis=(0, 0, 1))
    body += joint('pin', 'arm', 'pin_link', 0.04, kind='fixed')
    body += joint('rocker', 'base', 'far', 0.1, (0, 0, 1), limit=(-3.1, 3.1))
    body += joint('tip', 'far', 'tip_link', 0.06, kind='fixed')
    loop = '<loop type="rod" frame1="pin_link" frame2="tip_link" length="0.1"/>'
    start = starts(crank=1.5, rocker=2.7 - 1.6 * side)
    return linkage(robot(body, {'motor': 'crank'}, ['rocker'], loop, start))


#: The same mechanism by formulas, by a closure alone and as a linkage; and its range of joints or
#: actuators, inside the range of each.
SAME: dict[str, tuple[Callable[[], list[Transmission]], tuple[str, float, float]]] = {
    'slider': (
        lambda: [m.guided(0.04, 0.12, 0.01, 1.5), m.Slider(), push_rod()],
        ('joint', -1.1, 1.1),
    ),
    'open four-bar': (
        lambda: [m.FourBar({'side': 1.0}), m.FourBarLoop({'side': 1.0}), four_bar(1.0)],
        ('actuator', 0.62, 2.38),
    ),
    'crossed four-bar': (
        lambda: [m.FourBar({'side': -1.0}), m.FourBarLoop({'side': -1.0}), four_bar(-1.0)],
        ('actuator', 0.62, 2.38),
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', SAME)
def test_equations_closures_and_linkages_are_one_mechanism(name: str) -> None:
    """Every interface in both directions is the same, however the mechanism is described."""
    make, (space, lower, upper) = SAME[name]
    each, random = make(), np.random.default_rng(0)
    x = random.uniform(lower, upper, (500, 1))
    along = DIRECTIONS[space == 'joint']
    y = each[0].map(along, 'position', x)
    for direction in DIRECTIONS:
        at = x if direction == along else y
        values, rate = random.normal(size=(2, *at.shape))
        for interface in INTERFACES:
            expected, *others = (
                t.map(
                    direction, interface, at if interface == 'position' else values,
                    at=at, rate=rate,
                )
                for t in each
            )  # fmt: skip
            assert np.isfinite(expected).all()
            for found in others:
                assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max(), interface


# -- accelerations -------------------------------------------------------------------------------

MOVING: dict[str, Callable[[], Transmission]] = {
    'slider': lambda: m.guided(0.04, 0.12, 0.01, 1.5),
    'ankle': m.ankle,
    'cardan': m.Cardan,
    'three joints': m.Chain,
    'two tendons': m.Tendons,
    'one motor, two joints': m.Finger,
    'slider by a closure': m.Slider,
    'plate by a closure': m.PlateLoop,
    'finger by a closure': m.FingerLoop,
    'four-bar linkage': lambda: four_bar(1.0),
    'slider linkage': lambda: push_rod(0.085, 0.145),
}


@pytest.mark.parametrize('name', MOVING)
def test_accelerations_are_the_differences_of_velocities(name: str) -> None:
    """Along a motion ``x + t x' + t^2 x'' / 2``, in both directions."""
    t, step = MOVING[name](), 1e-3
    low, span = np.array(t.domain.lower), t.domain.span
    along, back = DIRECTIONS if t.domain.space == 'actuator' else DIRECTIONS[::-1]
    share, *motion = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 40, len(low)))
    x, rates, changes = low + (0.5 + 0.3 * share) * span, *(each * span for each in motion)
    image = (
        t.map(along, 'position', x),
        t.map(along, 'velocity', rates, at=x),
        t.map(along, 'acceleration', changes, at=x, rate=rates),
    )
    for direction, (at, rate, change) in ((along, (x, rates, changes)), (back, image)):
        found = t.map(direction, 'acceleration', change, at=at, rate=rate)
        total = np.zeros(found.shape)
        for weight, ahead in ((8.0, step), (-8.0, -step), (-1.0, 2.0 * step), (1.0, -2.0 * step)):
            there = at + ahead * rate + 0.5 * ahead**2 * change
            speed = rate + ahead * change
            total += weight * t.map(direction, 'velocity', speed, at=there)
        expected = total / (12.0 * step)
        assert np.isfinite(expected).all()
        assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()


# -- poses near a dead centre --------------------------------------------------------------------


@pytest.mark.parametrize('apart', [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_a_pose_near_a_dead_centre_makes_no_position_wrong(apart: float) -> None:
    """Sizes are relative to the pose, the middle of the range: what is answered is right."""
    t = m.Sine(0.5 * math.pi + apart - 1.0, 0.5 * math.pi + apart + 1.0)
    q = 0.5 * math.pi + np.geomspace(1e-7, 0.95 + apart, 200)[:, np.newaxis]
    slope = np.abs(np.cos(q))
    found = t.actuator_to_joint('position', np.sin(q))
    torque = t.actuator_to_joint('effort', np.ones_like(q), at=np.sin(q))
    for each, expected in ((found, q), (torque, np.cos(q))):
        answered = np.isfinite(each)
        assert answered[slope > 3e-4].all()
        assert (np.abs(each - expected)[answered] <= 1e-15 / slope[answered]).all()


@pytest.mark.parametrize('apart', [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_closure_with_a_pose_near_a_dead_centre_is_the_mechanism(apart: float) -> None:
    """The crank is almost in line with the rod at the pose; the formulas do not care."""
    dead = math.asin(0.01 / 0.16) - 1.5
    formulas = m.guided(0.04, 0.12, 0.01, 1.5)

    class Begun(m.Slider):
        """The slider from another pose."""

        def range(self):
            """Return the joint positions from the pose on."""
            return self.bare_range('joint', [dead + apart], [1.0])

        def pose(self):
            """Return the lower end."""
            q = dead + apart
            return formulas.joint_to_actuator('position', [q]), [q]

    t, q = Begun(), dead + np.geomspace(1.01 * apart, 2.0, 300)[:, np.newaxis]
    a = formulas.joint_to_actuator('position', q)
    assert np.abs(t.joint_to_actuator('position', q) - a).max() <= 1e-13
    slope = np.abs(formulas.joint_to_actuator('velocity', np.ones_like(q), at=q))
    found = t.actuator_to_joint('position', a)
    answered = np.isfinite(found)
    assert (np.abs(found - q)[answered] <= 1e-15 / slope[answered]).all()
    assert answered[q > dead + 2e-3].all()


@pytest.mark.parametrize('apart', [0.0, 1e-5, 9e-4, 2e-3, 0.016])
def test_a_walk_covers_the_range_from_any_pose(apart: float) -> None:
    """Also from a pose that is almost a point of the grid of targets."""
    formulas = m.guided(0.04, 0.12, 0.01, 1.5)
    begin = -1.2 + 2.4 * (17.0 / 32.0 + apart)

    class Begun(m.Slider):
        """The slider from another pose."""

        def pose(self):
            """Return this pose."""
            return formulas.joint_to_actuator('position', [begin]), [begin]

    q = np.linspace(-1.2, 1.2, 300)[:, np.newaxis]
    a = formulas.joint_to_actuator('position', q)
    t = Begun()
    assert np.abs(t.joint_to_actuator('position', q) - a).max() <= 1e-13
    assert np.abs(t.actuator_to_joint('position', a) - q).max() <= 1e-12


# -- linear equations ----------------------------------------------------------------------------

SOLVERS = {'minors': (Minors, (1, 3)), 'elimination': (Elimination, (2, 8))}


@pytest.mark.parametrize('name', SOLVERS)
@given(seed=st.integers(0, 2**32), deficit=st.sampled_from([0, 0, 1]))
def test_small_equations_are_solved_as_numpy_solves_them(
    name: str, seed: int, deficit: int
) -> None:
    """As far as it is exact; a matrix without full rank has no finite exact solution."""
    kind, sizes = SOLVERS[name]
    random = np.random.default_rng(seed)
    n = int(random.integers(sizes[0], sizes[1] + 1))
    matrix = random.integers(-3, 4, (n, n)).astype(float)
    if deficit:
        matrix[random.integers(n)] = random.integers(-2, 3, n) @ matrix * (n > 1)
    right = random.integers(-3, 4, (n, 2)).astype(float)
    has_order = bool(random.integers(2))
    order = find_pivot_order(matrix) if has_order else random.permutation(n).tolist()
    assert sorted(order) == list(range(n))
    matrix, right = matrix[order], right[order]
    a, b = ca.SX.sym('a', n, n), ca.SX.sym('b', n, 2)
    solver = kind(a)
    outputs = [solver(b), math.prod(solver.pivots), build_determinant(a), solver.is_exact()]
    found, *numbers = ca.Function('f', [a, b], outputs)(matrix, right)
    pivots, determinant, is_exact = map(float, numbers)
    found = found.full()
    expected, size = np.linalg.det(matrix), math.prod(np.linalg.norm(matrix, axis=1))
    is_regular = np.linalg.matrix_rank(matrix) == n
    assert is_exact or not (is_regular and has_order)
    if is_regular and is_exact:
        solution = np.linalg.solve(matrix, right)
        allowed = 1e-16 * GROWTH * np.linalg.cond(matrix)
        assert np.abs(found - solution).max() <= allowed * (1.0 + np.abs(solution).max())
        for each in (pivots, determinant):
            assert abs(each - expected) <= 1e-13 * size
    elif not is_regular:
        assert not (is_exact and np.isfinite(found).all() and abs(pivots) > 1e-13 * size)


def test_the_first_mechanism_of_a_type_does_not_limit_the_others() -> None:
    """A number that is zero in the first one couples coordinates of the second."""
    kind = type('Coupled', (m.Parallel,), {})
    kind({'bend': (0.0, 0.0, 0.0)}).joint_to_actuator('position', np.zeros(3))
    t = kind({'bend': (0.5, 0.6, -0.5)})
    x = t.domain.grid(4)
    found = t.joint_to_actuator('position', t.actuator_to_joint('position', x))
    assert np.abs(found - x).max() <= 1e-12


class Mixed(EquationTransmission):
    """Four joints that are products of a matrix with bent positions of four actuators."""

    members = (4, 4)

    def range(self) -> Domain:
        """Return a range about zero."""
        return self.bare_range('actuator', [-0.4] * 4, [0.4] * 4)

    @staticmethod
    def joint_position(a: Any, p: Any) -> Any:
        """Return the positions of the joints."""
        return ca.mtimes(ca.horzcat(*p.rows).T, ca.sin(a)) + 0.05 * a**2


class MixedByClosure(Mixed):
    """The same as a closure alone."""

    joint_position = None

    def pose(self) -> Any:
        """Return zero."""
        return [0.0] * 4, [0.0] * 4

    @staticmethod
    def closure(a: Any, q: Any, p: Any) -> Any:
        """Return zero if closed."""
        return Mixed.joint_position(a, p) - q


@pytest.mark.parametrize('cls', [Mixed, MixedByClosure])
def test_each_mechanism_of_a_type_has_a_suitable_order_of_elimination(cls: Any) -> None:
    """The best order of the first one has zero pivots in the others."""
    kind = type('Kind', (cls,), {})
    for order in ([0, 1, 2, 3], [1, 0, 3, 2], [1, 2, 3, 0]):
        t = kind({'rows': tuple(map(tuple, np.eye(4)[order].tolist()))})
        # Pivots in another order are tiny here.
        x = 1e-9 + 0.3 * np.random.default_rng(1).uniform(-1.0, 1.0, (9, 4)) ** 9
        q = t.actuator_to_joint('position', x)
        assert np.abs(t.joint_to_actuator('position', q) - x).max() <= 1e-12
        slope = np.diag(np.cos(x[0]))[order] + np.diag(0.1 * x[0])
        tau = np.array([1.0, 2.0, 3.0, 4.0])
        found = t.actuator_to_joint('effort', tau, at=x[0])
        assert np.abs(found - np.linalg.solve(slope.T, tau)).max() <= 1e-12


class Turning(EquationTransmission):
    """A formula whose best order of elimination differs at a regular position of the range."""

    members = (4, 4)

    def range(self) -> Domain:
        """Return a range whose middle has another order than its position 0, 0.5, 0, 0.5."""
        return self.bare_range('actuator', [-0.2, 0.0] * 2, [1.8, 1.0] * 2)

    @staticmethod
    def joint_position(a: Any, p: Any) -> Any:
        """Return the positions of the joints."""
        x, y, u, v = ca.vertsplit(a)
        small = 0.01 * x * y * u * v
        return x**2 / 2 + y, y**2 / 2 - 0.3 * x, u**2 / 2 + v + small, v**2 / 2 - 0.3 * u


def test_a_formula_with_an_inexact_elimination_is_mapped_in_a_stream() -> None:
    """The first function of a robot requests the careful one."""
    t = Turning()
    x, tau = np.array([0.0, 0.5, 0.0, 0.5]), np.array([1.0, 2.0, 3.0, 4.0])
    slope = np.kron(np.eye(2), [[0.0, 1.0], [-0.3, 0.5]])
    found = RobotMap(single(t), ACTUATOR_TO_JOINT).map_state(np.stack([x, x, tau]))
    assert np.abs(found[1] - slope @ x).max() <= 1e-12
    assert np.abs(found[2] - np.linalg.solve(slope.T, tau)).max() <= 1e-12


def test_a_position_with_zero_pivots_in_each_order_is_mapped() -> None:
    """All coordinates are zero there: the map is regular, and its determinant is known."""
    t, x = Turning(), np.zeros(4)
    assert np.abs(t.joint_to_actuator('position', x)).max() <= 1e-12
    slope, tau = np.kron(np.eye(2), [[0.0, 1.0], [-0.3, 0.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    assert np.abs(t.joint_to_actuator('effort', tau, at=x) - slope.T @ tau).max() <= 1e-12
