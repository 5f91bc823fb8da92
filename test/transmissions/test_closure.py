# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism that is nothing but its closure is the one that its equations give."""

from __future__ import annotations

import math
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.mechanisms import single

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import EquationTransmission, MapReport
from transmission_bridge.transmissions.interfaces import DIRECTIONS, FIELDS
from transmission_bridge.transmissions.robot_map import RobotMap

GEARS = {'actuator_reduction': (-3.0,), 'joint_reduction': (-1.5,), 'joint_offset': (0.2,)}
PAIR = {'actuator_reduction': (2.0, -3.0), 'joint_offset': (0.1, -0.2)}


def slider(lower: float = -math.inf, upper: float = math.inf):
    """Return the slider by its equations."""
    return m.CrankSliderTransmission(
        m.GuidedSlider(0.04, 0.12, 0.01),
        1.5,
        actuator_reduction=-3.0,
        joint_reduction=-1.5,
        joint_offset=0.2,
        lower=lower,
        upper=upper,
    )


#: By a closure alone, and by equations.
PAIRS = {
    'slider': lambda: (m.Slider(**GEARS), slider(-0.6, 1.0)),
    'pushed slider': lambda: (m.Pushed(**GEARS), slider()),
    'cardan': lambda: tuple(each(**GEARS) for each in (m.Crossed, m.Cardan)),
    'ten turns': lambda: tuple(each(0.6, 31.0) for each in (m.Crossed, m.Cardan)),
    'four-bar, open': lambda: tuple(each({'side': 1.0}) for each in (m.FourBarLoop, m.FourBar)),
    'four-bar, crossed': lambda: tuple(
        each({'side': -1.0}) for each in (m.FourBarLoop, m.FourBar)
    ),
    'two by two': lambda: tuple(each(**PAIR) for each in (m.PlateLoop, m.Plate)),
    'one actuator, two joints': lambda: (m.FingerLoop(), m.Finger()),
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


@pytest.mark.parametrize('most', [62.0, 314.0, 1e3])
def test_no_sample_is_mapped_to_another_turn(most: float) -> None:
    """All of twenty turns are answered; more turns are too far for the paths."""
    closure, equations = (each(0.6, most) for each in (m.Crossed, m.Cardan))
    for direction in DIRECTIONS:
        at = positions_of(equations, direction, 5_000)
        found, expected = (t.map(direction, 'position', at) for t in (closure, equations))
        answered = np.isfinite(found)
        assert answered.all() or most > 100.0
        assert (np.abs(found - expected)[answered] <= 1e-9).all()


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
        stream, report = RobotMap(single(closure), direction), MapReport()
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
        stream, report = RobotMap(single(closure), direction), MapReport()
        found = [stream.map_state(np.full((3, 1), each), report)[0, 0] for each in at]
        expected = equations.map(direction, 'position', at[:, None])[:, 0]
        assert np.abs(found - expected).max() <= 1e-12 * 31.0


# -- what is refused -----------------------------------------------------------------------------


def _posed(actuators, joints):
    return lambda: type('Posed', (m.Slider,), {'pose': lambda self: (actuators, joints)})()


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (
            lambda: type('Lost', (m.Slider,), {'pose': EquationTransmission.pose})(),
            r'Lost has a closure alone and does not define how it is assembled.*pose\(\)',
        ),
        (_posed([0.1, 0.2], [0.0]), 'Posed.pose returns a wrong number of positions.*1 of actuat'),
        (_posed([0.1], []), 'Posed.pose returns a wrong number of positions.*1 of joints'),
        (_posed([0.1], [1.3]), 'the pose does not determine how the mechanism is assembled.*-1.2'),
        (_posed([math.nan], [0.0]), 'the pose does not determine'),
        # The rod is longer than it could be: half-way between the two assemblies.
        (_posed([0.04 * math.cos(1.5)], [0.0]), 'the pose does not determine'),
        (
            lambda: type('Wide', (m.FingerLoop,), {'closure': lambda a, q, p: a - q[0]})(),
            'closure returns a wrong number of equations.*2.*1',
        ),
        (
            lambda: type('Loose', (m.Slider,), {'closure': lambda a, q, p: ca.sin(q)})(),
            'the equations do not determine every actuator',
        ),
        (
            lambda: type('Short', (m.Slider,), {'closure': lambda a, q, p: a**2 + q**2 + 1})(),
            'the pose does not determine',
        ),
        (
            lambda: type('Void', (m.Slider,), {'closure': None})(),
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
    with pytest.raises(TransmissionError, match='changes its assembly within the range'):
        Root({'lower': -2.0})


def test_a_range_without_a_path_from_the_pose_is_refused() -> None:
    """A table with the pose alone would answer next to nothing."""
    with pytest.raises(TransmissionError, match='is the range narrow enough'):
        m.Crossed(0.6, 3e5)
