# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism by its equation: what is derived for any numbers of members, what is refused."""

from __future__ import annotations

import math
from typing import ClassVar

import base_checks
import casadi as ca
import numpy as np
import pytest

from transmission_bridge import conformance
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import EquationTransmission, MapReport
from transmission_bridge.transmissions.crank_slider import (
    CrankSliderTransmission,
    GuidedSlider,
    HingedCylinder,
)
from transmission_bridge.transmissions.parallel_ankle import AnkleLeg, ParallelAnkleTransmission


class Cardan(EquationTransmission):
    """A universal joint: one equation, from actuator to joint."""

    api_version = 2

    def range(self):
        """Return most of a turn."""
        return self.bare_range('actuator', (-3.0,), (3.0,))

    @staticmethod
    def joint_position(a, p):
        """Return the angle behind the cross."""
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - p.cosine) * s * c, p.cosine * c * c + s * s)


class Parallel(EquationTransmission):
    """Three actuators and three joints that all depend on each other."""

    api_version = 2
    members: ClassVar = (3, 3)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('actuator', (-1.0,) * 3, (1.0,) * 3)

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return (
            a[0] + p.bend[0] * a[1] * a[2],
            a[1] + p.bend[1] * ca.sin(a[0]) + 0.1 * a[2],
            a[2] - p.bend[2] * a[0] * a[1],
        )


class Chain(EquationTransmission):
    """Three joints, of which each depends on the actuators before it only."""

    api_version = 2
    members: ClassVar = (3, 3)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('actuator', (-1.0,) * 3, (1.0,) * 3)

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return ca.sin(a[0]) + a[0], a[1] + 0.3 * a[0] ** 2, a[2] + 0.2 * a[1] ** 3


class Tendons(EquationTransmission):
    """Two antagonistic tendons on one joint."""

    api_version = 2
    members: ClassVar = (2, 1)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('joint', (-1.0,), (1.0,))

    @staticmethod
    def actuator_position(q, p):
        """Return ``a``."""
        return ca.sin(q) + 0.2 * q, -ca.sin(q) + 0.1 * q * q


class Finger(EquationTransmission):
    """One motor bends two joints."""

    api_version = 2
    members: ClassVar = (1, 2)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('actuator', (0.0,), (2.0,))

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return a, 0.5 * a + 0.1 * a * a


def parallel(**options) -> Parallel:
    """Return three by three."""
    return Parallel({'bend': (0.1, 0.2, -0.1)}, **options)


def ankle() -> ParallelAnkleTransmission:
    """Return an ankle with a tilted motor."""
    legs = (
        {'motor': (0.0, 0.05, 0.24), 'crank': 0.05, 'rod': 0.24, 'foot': (0.05, 0.05, 0.0)},
        {
            'motor': (0.01, -0.06, 0.14), 'crank': 0.05, 'rod': 0.15, 'foot': (0.05, -0.05, 0.0),
            'axis': (0.3, 2.0, -0.1), 'crank_angle': 0.2,
        },
    )  # fmt: skip
    return ParallelAnkleTransmission(
        tuple(AnkleLeg(**leg) for leg in legs),
        lower=(-0.4, -0.25),
        upper=(0.4, 0.25),
        actuator_reduction=(15.0, -12.0),
        joint_offset=(0.1, -0.05),
    )


MADE = {
    'three by three': parallel(
        actuator_reduction=(2.0, -1.0, 5.0), joint_reduction=(1.0, -3.0, 0.5)
    ),
    'chain': Chain(joint_offset=(0.1, 0.2, -0.3)),
    'two actuators, one joint': Tendons(actuator_reduction=(3.0, -2.0), joint_reduction=(-1.5,)),
    'one actuator, two joints': Finger(joint_offset=(0.1, -0.1)),
    'cardan': Cardan({'cosine': 0.8}, actuator_reduction=(3.0,), joint_offset=(0.3,)),
}


@pytest.mark.parametrize('check', base_checks.ALL)
@pytest.mark.parametrize('name', MADE)
def test_equations_of_any_shape_conform(name: str, check: str) -> None:
    """From one equation every interface follows, for any numbers of actuators and joints."""
    base_checks.check(conformance.subject_of(MADE[name], count=1000), check)


# -- the rate of the Jacobian --------------------------------------------------------------------


def _guided(t: CrankSliderTransmission):
    """Return the stroke by the angle of the rod."""
    p = t.p

    def stroke(q):
        phi = p.crank_angle + q
        lean = np.arcsin((p.crank * np.sin(phi) - p.offset) / p.rod)
        return p.crank * np.cos(phi) + p.rod * np.cos(lean)

    return stroke


def _hinged(t: CrankSliderTransmission):
    """Return the stroke by the tip of the crank in the plane."""
    p = t.p

    def stroke(q):
        phi = p.crank_angle + q
        x, y = p.crank * np.cos(phi) - p.base, p.crank * np.sin(phi)
        return np.sqrt(x * x + y * y - p.offset**2)

    return stroke


def _cardan(t: Cardan):
    """Return the joint by the tangents of the two forks, but for half turns."""
    return lambda a: np.arctan(np.tan(a / 3.0) / t.p.cosine)


def _ankle(t: ParallelAnkleTransmission):
    """Return the cranks' angles, each solved for the length of its rod."""
    p, rods = t.p, (0.24, 0.15)

    def cranks(q):
        pitch, roll = q - np.array(t.joint_offset)
        c, s, z, o = np.cos(pitch), np.sin(pitch), 0.0, 1.0
        about_y = np.array([[c, z, s], [z, o, z], [-s, z, c]])
        c, s = np.cos(roll), np.sin(roll)
        about_x = np.array([[o, z, z], [z, c, -s], [z, s, c]])
        (found,), _ = t.evaluate(q.real[np.newaxis])
        angles = []
        for leg, ratio in enumerate(t.actuator_reduction):
            way = about_y @ about_x @ np.array(p.foot[leg]) - np.array(p.motor[leg])
            ahead, beside = np.array(p.ahead[leg]), np.array(p.beside[leg])
            angle = found[leg] / ratio + 0.01
            for _ in range(9):
                crank = np.cos(angle) * ahead + np.sin(angle) * beside
                across = np.cos(angle) * beside - np.sin(angle) * ahead
                rod = way - crank
                angle = angle + (rod @ rod - rods[leg] ** 2) / (2.0 * rod @ across)
            angles.append(ratio * angle)
        return np.array(angles)

    return cranks


def slope_of(function, x: np.ndarray) -> np.ndarray:
    """Return ``dy/dx`` by complex steps, exact to rounding."""
    return np.stack([function(x + 1e-40j * unit).imag / 1e-40 for unit in np.eye(len(x))], axis=-1)


def rate_of_slope(function, x: np.ndarray, rate: np.ndarray, step: float) -> np.ndarray:
    """Return ``d/dt dy/dx`` by the central difference of eighth order."""
    weights = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
    total = np.zeros(())
    for count, weight in enumerate(weights, 1):
        ahead, behind = (x + sign * count * step * rate for sign in (1.0, -1.0))
        total = total + weight * (slope_of(function, ahead) - slope_of(function, behind))
    return total / step


RATES = {
    'guided': (CrankSliderTransmission(GuidedSlider(0.04, 0.12, 0.01), 1.5), _guided),
    'guided, the crank longer': (
        CrankSliderTransmission(GuidedSlider(0.1, 0.05, 0.01), 0.2),
        _guided,
    ),
    'hinged': (CrankSliderTransmission(HingedCylinder(0.3, 0.9, 0.05), -1.0), _hinged),
    'ankle': (ankle(), _ankle),
    'cardan': (Cardan({'cosine': 0.8}, actuator_reduction=(3.0,)), _cardan),
}


@pytest.mark.parametrize('name', RATES)
def test_the_rate_of_the_jacobian_by_another_derivation(name: str) -> None:
    """To 1e-10 it is what differences make of another way to write the mechanism."""
    t, derivation = RATES[name]
    function = derivation(t)
    random = np.random.default_rng(0)
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    for _ in range(100):
        x = low + random.uniform(0.1, 0.9, len(low)) * (high - low)
        rate = random.normal(size=len(low))
        slopes = t.evaluate(x[np.newaxis])[1][0]
        assert np.abs(slopes - slope_of(function, x)).max() <= 1e-12 * np.abs(slopes).max()
        step = 1e-3 / np.abs(rate / (high - low)).max()
        expected = rate_of_slope(function, x, rate, step)
        y = t.evaluate(x[np.newaxis])[0][0]
        found = t.system.forms.bend(x, y, rate, t.numbers).full().ravel()
        scale = np.abs(expected).max() + np.abs(slopes).max() / (1e3 * step)
        assert np.abs(found - expected @ rate).max() <= 1e-10 * scale * np.abs(rate).sum()


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'joint_offset': (1.0, 2.0)}, 'wrong number of values for joint_offset'),
        ({'joint_offset': ()}, 'wrong number of values for joint_offset'),
        ({'actuator_reduction': ()}, 'actuator_reduction is not a valid ratio'),
        ({'joint_reduction': (1.0, 1.0)}, 'joint_reduction is not a valid ratio'),
        ({'actuator_reduction': (0.0,)}, 'not a valid ratio'),
        ({'joint_offset': (math.nan,)}, 'expected finite numbers'),
        ({'numbers': {'cosine': math.inf}}, 'expected finite numbers'),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(options: dict, message: str) -> None:
    """Reductions, offsets and parameters are as many as there should be, and finite."""
    with pytest.raises(TransmissionError, match=message):
        Cardan(**{'numbers': {'cosine': 0.8}, **options})


def test_equations_that_do_not_fit_are_refused() -> None:
    """Another number of positions, or none for the space of the range, is said by name."""

    class Short(Finger):
        """Forgets a joint."""

        @staticmethod
        def joint_position(a, p):
            """Return one of two."""
            return 2.0 * a

    class Wrong(Finger):
        """States its range in the wrong space."""

        def range(self):
            """Return a range of joints."""
            return self.bare_range('joint', (0.0, 0.0), (1.0, 1.0))

    with pytest.raises(TransmissionError, match='joint_position returns a wrong number'):
        Short()
    with pytest.raises(TransmissionError, match='Wrong does not define the map of its range'):
        Wrong()
    with pytest.raises(TypeError, match='range'):
        EquationTransmission()


@pytest.mark.parametrize(
    'function',
    [
        math.cos,
        np.cos,
        float,
        lambda a: math.hypot(a, 1.0),
        lambda a: np.hypot(1.0, a),
        lambda a: ca.if_else(a > 0.0, math.cos(a), a),
        lambda a: float(f'{float(2.0 * a)}'),
    ],
)
@pytest.mark.parametrize('of', ['a', 'p'])
def test_functions_of_numbers_are_refused(function, of: str) -> None:
    """``math.cos`` of a symbol would be NaN without a word; the error says what to use instead."""

    class Numeric(Cardan):
        """Calls a function of numbers."""

        @staticmethod
        def joint_position(a, p):
            """Return it."""
            return a + function(a if of == 'a' else p.cosine)

    with pytest.raises(TransmissionError, match=r"joint_position calls.*casadi's cos"):
        Numeric({'cosine': 0.8})
    assert math.isnan(float(ca.SX.sym('a')))  # CasADi is as it was
    assert float(ca.SX(2.0)) == 2.0


def test_constants_may_be_numbers() -> None:
    """What is no symbol may be calculated by ``math`` and numpy, as CasADi's constants may."""

    class Turned(Cardan):
        """The same, a constant further."""

        @staticmethod
        def joint_position(a, p):
            """Return it."""
            return Cardan.joint_position(a, p) + math.sin(ca.SX(0.5)) + np.sin(0.5)

    plain, turned = (each({'cosine': 0.8}) for each in (Cardan, Turned))
    shift = turned.evaluate(np.zeros((1, 1)))[0] - plain.evaluate(np.zeros((1, 1)))[0]
    assert shift[0, 0] == pytest.approx(2.0 * math.sin(0.5), rel=1e-14)


def test_without_a_position_there_is_no_ratio() -> None:
    """Also where the ratio is a constant, outside the range nothing is known of it."""

    class Straight(EquationTransmission):
        """A ratio of two."""

        def range(self):
            """Return a range."""
            return self.bare_range('actuator', (-1.0,), (1.0,))

        @staticmethod
        def joint_position(a, p):
            """Return twice as much."""
            return 2.0 * a

    t, ones = Straight(), np.ones((3, 1))
    for direction, ratio in (('actuator_to_joint', 2.0), ('joint_to_actuator', 0.5)):
        report, at = MapReport(), np.array([[0.5], [9.0], [math.nan]])
        for interface in ('velocity', 'effort'):
            mapped = t.map(direction, interface, ones, at=at, report=report)
            assert np.isnan(mapped).ravel().tolist() == [False, True, True]
        assert t.map(direction, 'velocity', ones[:1], at=at[:1]) == ratio
        assert report.counts == {('', 'domain'): 2}
    assert np.isnan(t.jacobian([[9.0]])).all()


def test_an_equation_that_is_changed_alone_is_what_everything_is_solved_by() -> None:
    """A closure that a subclass has outgrown leads nowhere, and the solution is its equation's."""

    class Shifted(ParallelAnkleTransmission):
        """The same ankle, its encoders being half a radian ahead."""

        @staticmethod
        def actuator_position(q, p):
            """Return half a radian more."""
            return [each + 0.5 for each in ParallelAnkleTransmission.actuator_position(q, p)]

    parent = ankle()
    t = Shifted(
        (
            AnkleLeg(motor=(0.0, 0.05, 0.24), crank=0.05, rod=0.24, foot=(0.05, 0.05, 0.0)),
            AnkleLeg(motor=(0.0, -0.05, 0.15), crank=0.05, rod=0.15, foot=(0.05, -0.05, 0.0)),
        ),
        lower=parent.domain.lower,
        upper=parent.domain.upper,
    )
    q = np.random.default_rng(1).uniform(t.domain.lower, t.domain.upper, (200, 2))
    a = t.joint_to_actuator('position', q)
    assert np.abs(t.actuator_to_joint('position', a) - q).max() <= 1e-12
