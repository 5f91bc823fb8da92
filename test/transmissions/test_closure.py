# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism that is nothing but its closure is the one that its equations give."""

from __future__ import annotations

import math
from typing import ClassVar

import base_checks
import casadi as ca
import numpy as np
import pytest
from single import single

from transmission_bridge import conformance
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import EquationTransmission, MapReport
from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission, GuidedSlider
from transmission_bridge.transmissions.interfaces import DIRECTIONS, FIELDS
from transmission_bridge.transmissions.robot_map import RobotMap

CRANK, ROD, OFFSET, ANGLE = 0.04, 0.12, 0.01, 1.5
GEARS = {'actuator_reduction': (-3.0,), 'joint_reduction': (-1.5,), 'joint_offset': (0.2,)}


class Slider(EquationTransmission):
    """A slider, a rod and a crank, by the length of the rod alone."""

    api_version = 2

    def range(self):
        """Return most of what is between two dead centres."""
        return self.bare_range('joint', [-1.2], [1.2])

    def pose(self):
        """Return the crank upright."""
        return [0.1], [0.0]

    @staticmethod
    def closure(a, q, p):
        """Return by how much the square of the rod's length is missed."""
        phi = ANGLE + q
        ahead, beside = a - CRANK * ca.cos(phi), OFFSET - CRANK * ca.sin(phi)
        return ahead * ahead + beside * beside - ROD**2


class Pushed(Slider):
    """The same by positions of the slider."""

    def range(self):
        """Return what is well between two dead centres."""
        return self.bare_range('actuator', [0.085], [0.145])


class Cardan(EquationTransmission):
    """A universal joint by its equation."""

    api_version = 2

    def range(self):
        """Return some turns."""
        return self.bare_range('actuator', [-self.p.most], [self.p.most])

    @staticmethod
    def joint_position(a, p):
        """Return the angle behind the cross."""
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - p.cosine) * s * c, p.cosine * c * c + s * s)


class Crossed(Cardan):
    """A universal joint by its closure alone: ``cos(bend) tan(q) = tan(a)``, without poles."""

    joint_position = None

    def pose(self):
        """Return both forks at zero."""
        return [0.0], [0.1]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero where the cross fits."""
        return p.cosine * ca.sin(q) * ca.cos(a) - ca.cos(q) * ca.sin(a)


class FourBar(EquationTransmission):
    """A planar four-bar linkage by its equation."""

    api_version = 2

    def range(self):
        """Return what is between two dead centres."""
        return self.bare_range('actuator', [0.6], [2.4])

    @staticmethod
    def joint_position(a, p):
        """Return the angle of the rocker."""
        x, y = 0.1 - 0.04 * ca.cos(a), 0.04 * ca.sin(a)
        square = x * x + y * y
        corner = ca.acos((square + 0.06**2 - 0.1**2) / (2.0 * 0.06 * ca.sqrt(square)))
        return math.pi - ca.atan2(y, x) - p.side * corner


class FourBarLoop(FourBar):
    """The same by the length of its rod; the pose says whether it is open or crossed."""

    joint_position = None

    def pose(self):
        """Return the crank upright, and the rocker on its side."""
        return [1.5], [2.7 - 1.6 * self.p.side]

    @staticmethod
    def closure(a, q, p):
        """Return by how much the square of the rod's length is missed."""
        x = 0.1 + 0.06 * ca.cos(q) - 0.04 * ca.cos(a)
        y = 0.06 * ca.sin(q) - 0.04 * ca.sin(a)
        return x * x + y * y - 0.1**2


class Plate(EquationTransmission):
    """Two actuators on two joints by an equation."""

    api_version = 2
    members: ClassVar = (2, 2)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('joint', [-0.8, -0.6], [0.8, 0.6])

    @staticmethod
    def actuator_position(q, p):
        """Return ``a``."""
        return ca.sin(q[0]) + 0.3 * q[1], q[1] + 0.2 * q[1] ** 3


class PlateLoop(Plate):
    """The same by a closure, of which the second row does not depend on the first joint."""

    actuator_position = None

    def pose(self):
        """Return rough positions."""
        return [0.1, 0.1], [0.0, 0.0]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero."""
        return a[0] ** 3 + a[0] - (b := ca.sin(q[0]) + 0.3 * q[1]) ** 3 - b, ca.sinh(
            a[1] - q[1] - 0.2 * q[1] ** 3
        )


class Finger(EquationTransmission):
    """One motor bends two joints, by an equation."""

    api_version = 2
    members: ClassVar = (1, 2)

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('actuator', [0.0], [2.0])

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return a, 0.5 * a + 0.1 * a * a


class FingerLoop(Finger):
    """The same by a closure of two equations."""

    joint_position = None

    def pose(self):
        """Return the finger stretched."""
        return [0.5], [0.5, 0.3]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero."""
        return ca.exp(q[0]) - ca.exp(a), q[1] - 0.5 * q[0] - 0.1 * q[0] * a


def _slider(lower: float, upper: float) -> CrankSliderTransmission:
    return CrankSliderTransmission(
        GuidedSlider(CRANK, ROD, OFFSET),
        ANGLE,
        actuator_reduction=-3.0,
        joint_reduction=-1.5,
        joint_offset=0.2,
        lower=lower,
        upper=upper,
    )


#: By a closure alone, and by equations.
PAIRS = {
    'slider': lambda: (Slider(**GEARS), _slider(0.2 - 0.8, 0.2 + 0.8)),
    'pushed slider': lambda: (Pushed(**GEARS), _slider(-math.inf, math.inf)),
    'cardan': lambda: (
        Crossed({'cosine': 0.8, 'most': 3.0}, **GEARS),
        Cardan({'cosine': 0.8, 'most': 3.0}, **GEARS),
    ),
    'ten turns': lambda: (
        Crossed({'cosine': 0.6, 'most': 31.0}),
        Cardan({'cosine': 0.6, 'most': 31.0}),
    ),
    'four-bar, open': lambda: (FourBarLoop({'side': 1.0}), FourBar({'side': 1.0})),
    'four-bar, crossed': lambda: (FourBarLoop({'side': -1.0}), FourBar({'side': -1.0})),
    'two by two': lambda: (
        PlateLoop(actuator_reduction=(2.0, -3.0), joint_offset=(0.1, -0.2)),
        Plate(actuator_reduction=(2.0, -3.0), joint_offset=(0.1, -0.2)),
    ),
    'one actuator, two joints': lambda: (FingerLoop(), Finger()),
}


@pytest.fixture(scope='module', params=sorted(PAIRS))
def pair(request) -> tuple[EquationTransmission, EquationTransmission]:
    """Return a mechanism by a closure alone, and by equations."""
    return PAIRS[request.param]()


def positions_of(t: EquationTransmission, direction: str, count: int) -> np.ndarray:
    """Return positions in the input's space all over the domain."""
    random = np.random.default_rng(1)
    x = random.uniform(t.domain.lower, t.domain.upper, (count, len(t.domain.lower)))
    along = (t.domain.space == 'joint') == (direction == 'joint_to_actuator')
    return x if along else t.map(DIRECTIONS[1 - DIRECTIONS.index(direction)], 'position', x)


def stream_of(t: EquationTransmission, direction: str) -> RobotMap:
    """Return the map of a robot that has nothing else."""
    return RobotMap(single(t), direction)


# -- what it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize('check', base_checks.ALL)
def test_a_closure_alone_conforms(pair, check: str) -> None:
    """It is a transmission like any other."""
    base_checks.check(conformance.subject_of(pair[0], count=1000), check)


@pytest.mark.parametrize('interface', ['position', 'velocity', 'acceleration', 'effort'])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_closure_alone_is_what_the_equations_say(pair, direction: str, interface: str) -> None:
    """Every interface is the same in both directions, accelerations included."""
    closure, equations = pair
    at = positions_of(closure, direction, 2000)
    values, rate = np.random.default_rng(2).normal(size=(2, *at.shape))
    values = at if interface == 'position' else values
    found, expected = (
        t.map(direction, interface, values, at=at, rate=rate) for t in (closure, equations)
    )
    assert np.isfinite(expected).all()
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def test_the_table_is_as_fine_as_it_has_to_be() -> None:
    """Over a hundred turns no sample is mapped to another turn."""
    closure, equations = (each({'cosine': 0.6, 'most': 314.0}) for each in (Crossed, Cardan))
    assert closure._seeds.table.shape[1] > 65
    for direction in DIRECTIONS:
        at = positions_of(closure, direction, 20_000)
        found, expected = (t.map(direction, 'position', at) for t in (closure, equations))
        assert np.abs(found - expected).max() <= 1e-9


def test_what_is_out_of_reach_is_unknown(pair) -> None:
    """Outside of the range both are NaN and count it."""
    closure, equations = pair
    for direction in DIRECTIONS:
        at = positions_of(closure, direction, 20)
        far = np.concatenate([at + 1e3, at - 1e3, np.full_like(at, math.inf)])
        counts = []
        for t in (closure, equations):
            report = MapReport()
            found = t.map(direction, 'position', far, report=report)
            counts.append((np.isnan(found).all(), sum(report.counts.values())))
        assert counts[0] == counts[1] or closure.n_joints != closure.n_actuators
        assert counts[0][0] or closure.n_joints != closure.n_actuators


def test_structural_zeros_stay() -> None:
    """An unknown actuator costs only the joints that the closure connects it with."""
    closure, equations = PAIRS['two by two']()
    assert np.array_equal(closure.system.pattern, equations.system.pattern)
    at = positions_of(closure, 'actuator_to_joint', 1)
    for t in (closure, equations):
        found = t.actuator_to_joint('velocity', [[math.nan, 1.0]], at=at)
        assert np.isnan(found).tolist() == [[True, False]]


# -- a stream ------------------------------------------------------------------------------------


def test_a_stream_follows_a_motion_without_arrays(pair, monkeypatch) -> None:
    """From its second message on a moving mechanism is mapped by the compiled function alone."""
    closure, equations = pair
    looked = []
    low, high = np.array(closure.domain.lower), np.array(closure.domain.upper)
    sway = 0.5 * (low + high) + 0.45 * (high - low) * np.sin(np.arange(0.0, 6.3, 0.01))[:, None]
    for direction in DIRECTIONS:
        along = (closure.domain.space == 'joint') == (direction == 'joint_to_actuator')
        other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
        at = sway if along else equations.map(other, 'position', sway)
        rows = np.stack([at, *np.random.default_rng(4).normal(size=(2, *at.shape))], axis=1)
        stream, report = stream_of(closure, direction), MapReport()
        function = stream._functions[False]
        look = function._look.run
        function._look.run = lambda look=look: (looked.append(True), look())
        found = np.array([stream.map_state(each, report).copy() for each in rows])
        for row, interface in enumerate(FIELDS):
            for t in (closure, equations):
                expected = t.map(direction, interface, rows[:, row], at=at)
                assert np.abs(found[:, row] - expected).max() <= 1e-11 * np.abs(expected).max()
        assert not report.counts
    assert len(looked) == 2 or closure.domain.span.max() > 10.0


def test_a_stream_jumps_to_the_right_turn() -> None:
    """A turn further the former solution closes as well, but is not where the mechanism is."""
    closure, equations = PAIRS['ten turns']()
    a = np.array([0.3, 0.3 + 2.0 * math.pi, 0.3 - 4.0 * math.pi, 1.0, 1.0 + math.pi, -28.0])
    for direction, at in zip(
        DIRECTIONS, (a, equations.actuator_to_joint('position', a[:, None])[:, 0]), strict=True
    ):
        stream, report = stream_of(closure, direction), MapReport()
        found = [stream.map_state(np.full((3, 1), each), report)[0, 0] for each in at]
        expected = equations.map(direction, 'position', at[:, None])[:, 0]
        assert np.abs(found - expected).max() <= 1e-12 * 31.0


# -- what is refused -----------------------------------------------------------------------------


def _posed(actuators, joints):
    return lambda: type('Posed', (Slider,), {'pose': lambda self: (actuators, joints)})()


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (
            lambda: type('Lost', (Slider,), {'pose': EquationTransmission.pose})(),
            r'Lost has a closure alone and does not define how it is assembled.*pose\(\)',
        ),
        (_posed([0.1, 0.2], [0.0]), 'Posed.pose returns a wrong number of positions.*1 of actuat'),
        (_posed([0.1], []), 'Posed.pose returns a wrong number of positions.*1 of joints'),
        (_posed([0.1], [1.3]), 'the pose does not determine how the mechanism is assembled.*-1.2'),
        (_posed([math.nan], [0.0]), 'the pose does not determine'),
        # The rod is longer than it could be: half-way between the two assemblies.
        (_posed([CRANK * math.cos(ANGLE)], [0.0]), 'the pose does not determine'),
        (
            lambda: type('Wide', (FingerLoop,), {'closure': lambda a, q, p: a - q[0]})(),
            'closure returns a wrong number of equations.*2.*1',
        ),
        (
            lambda: type('Loose', (Slider,), {'closure': lambda a, q, p: ca.sin(q)})(),
            'closure does not determine every member',
        ),
        (
            lambda: type('Short', (Slider,), {'closure': lambda a, q, p: a**2 + q**2 + 1})(),
            'the pose does not determine',
        ),
        (
            lambda: type('Void', (Slider,), {'closure': None})(),
            'Void does not define the map of its range.*actuator_position.* or a closure',
        ),
    ],
)  # fmt: skip
def test_a_closure_that_says_too_little_is_refused(make, message: str) -> None:
    """The error names what is missing and what would do."""
    with pytest.raises(TransmissionError, match=message):
        make()


class Root(EquationTransmission):
    """The square root of a complex number, which is another one after a turn about zero."""

    api_version = 2
    members: ClassVar = (2, 2)

    def range(self):
        """Return a box beside zero, or about it."""
        return self.bare_range('joint', [self.p.lower, -2.0], [2.0, 2.0])

    def pose(self):
        """Return a root of one."""
        return [1.0, 0.0], [1.0, 0.0]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero where ``q`` is the square of ``a``."""
        return a[0] ** 2 - a[1] ** 2 - q[0], 2.0 * a[0] * a[1] - q[1]


def test_a_range_about_a_point_where_assemblies_meet_is_refused() -> None:
    """Where a turn leads to the other assembly, no table has one for each position."""
    q = [[1.0, 1.0], [0.5, -1.9]]
    beside = Root({'lower': 0.1})
    a = beside.joint_to_actuator('position', q)
    assert (a[:, 0] > 0.0).all()
    assert np.abs(beside.actuator_to_joint('position', a) - q).max() <= 1e-14
    with pytest.raises(TransmissionError, match='changes its assembly from one point'):
        Root({'lower': -2.0})


def test_an_assembly_that_changes_too_quickly_is_refused() -> None:
    """A table that cannot tell turns apart would give one by chance."""
    with pytest.raises(TransmissionError, match='is the range narrow enough'):
        Crossed({'cosine': 0.5, 'most': 3e5})
