# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot's compiled function: what arrays say of each instant, one after the other."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
import copy
import math
import pickle
from typing import ClassVar

import casadi as ca
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import (
    equation_transmission,
    EquationTransmission,
    MapReport,
    robot_function,
    RobotTransmissions,
    SimpleTransmission,
)
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.crank_slider import (
    CrankSliderTransmission,
    GuidedSlider,
    HingedCylinder,
)
from transmission_bridge.transmissions.differential import DifferentialTransmission
from transmission_bridge.transmissions.interfaces import DIRECTIONS
from transmission_bridge.transmissions.parallel_ankle import AnkleLeg, ParallelAnkleTransmission
from transmission_bridge.transmissions.robot_map import RobotMap
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

FIELDS = ('position', 'velocity', 'effort')


def stream_of(robot: RobotTransmissions, direction: str) -> RobotMap:
    """Return what maps one instant after the other."""
    return robot.stream(direction)


# -- mechanisms of many kinds --------------------------------------------------------------------


class Crank(CrankSliderTransmission):
    """A slider on a guide: both directions are equations."""

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls(GuidedSlider(0.04, 0.12, 0.01), 1.5, joint_reduction=-1.5, joint_offset=0.2)


class Cylinder(CrankSliderTransmission):
    """A hinged cylinder."""

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls(HingedCylinder(0.3, 0.9, 0.05), 1.0, actuator_reduction=20.0)


class Ankle(ParallelAnkleTransmission):
    """The joints are solved by a closure."""

    @classmethod
    def from_spec(cls, reader):
        """Build one with tilted motors."""
        left = {'motor': (0.0, 0.05, 0.24), 'crank': 0.05, 'rod': 0.24, 'foot': (0.05, 0.05, 0.0)}
        right = {
            'motor': (0.0, -0.05, 0.15), 'crank': 0.05, 'rod': 0.15, 'foot': (0.05, -0.05, 0.0),
            'axis': (0.1, 2.0, -0.1),
        }  # fmt: skip
        return cls(
            (AnkleLeg(**left), AnkleLeg(**right)),
            lower=(-0.6, -0.3),
            upper=(0.4, 0.3),
            actuator_reduction=(20.0, -30.0),
            joint_offset=(0.1, -0.05),
        )


class Cardan(EquationTransmission):
    """A universal joint: the actuator is solved."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls({'cosine': 0.8}, actuator_reduction=(3.0,), joint_offset=(0.3,))

    def range(self):
        """Return a turn."""
        return self.bare_range('actuator', (-3.0,), (3.0,))

    @staticmethod
    def joint_position(a, p):
        """Return the angle behind the cross."""
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - p.cosine) * s * c, p.cosine * c * c + s * s)


class Swing(EquationTransmission):
    """``a = q + sin(q) / 2``: the joint is solved."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls()

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('joint', (-2.0,), (2.0,))

    @staticmethod
    def actuator_position(q, p):
        """Return ``a``."""
        return q + 0.5 * ca.sin(q)


class Shear(EquationTransmission):
    """``q = (a1 + a2^3 / 3, a2 + sin(a1) / 2)``, which a singular line splits."""

    api_version = 2
    members: ClassVar = (2, 2)

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls()

    def range(self):
        """Return a range with another branch in it."""
        return self.bare_range('actuator', (-2.0, -2.0), (2.0, 2.0))

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return a[0] + a[1] ** 3 / 3.0, a[1] + 0.5 * ca.sin(a[0])


class Bent(Shear):
    """A singular line of two by two, both ways by equations: ``q = (a1 + a2, a1 a2)``."""

    @staticmethod
    def joint_position(a, p):
        """Return sum and product."""
        return a[0] + a[1], a[0] * a[1]

    @staticmethod
    def actuator_position(q, p):
        """Return the roots, the larger one first."""
        square = q[0] * q[0] - 4.0 * q[1]
        width = ca.sqrt(ca.if_else(ca.fabs(square) < 1e-15, 0.0, square))
        return 0.5 * (q[0] + width), 0.5 * (q[0] - width)

    def range(self):
        """Return a box with a corner on the line ``a1 = a2``."""
        return self.bare_range('actuator', (0.5, -0.5), (1.5, 0.5))


class Chain(EquationTransmission):
    """Three joints, of which each depends on the actuators before it only."""

    api_version = 2
    members: ClassVar = (3, 3)

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls(actuator_reduction=(2.0, -1.0, 5.0))

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('actuator', (-1.0,) * 3, (1.0,) * 3)

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return [ca.sin(a[0]) + a[0], a[1] + 0.3 * a[0] ** 2, a[2] + 0.2 * a[1] ** 3]


class Tendons(EquationTransmission):
    """Two actuators on one joint, which arrays have to map."""

    api_version = 2
    members: ClassVar = (2, 1)

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls()

    def range(self):
        """Return a range without singularity."""
        return self.bare_range('joint', (-1.0,), (1.0,))

    @staticmethod
    def actuator_position(q, p):
        """Return ``a``."""
        return ca.sin(q) + 0.2 * q, -ca.sin(q) + 0.1 * q * q


class Own(Swing):
    """Maps by a function of its own, of which the equation knows nothing."""

    def evaluate(self, x):
        """Return twice as much."""
        value, slope = super().evaluate(x)
        return 2.0 * value, 2.0 * slope


class Table(TabulatedTransmission):
    """A measured table, which arrays have to map."""

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls([0.0, 1.0, 3.0], [0.0, 2.0, 2.5])


class Squared(EquationTransmission):
    """``q = a^2`` of complex numbers: of every ``q`` there are two solutions on one branch."""

    api_version = 2
    members: ClassVar = (2, 2)

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls()

    def range(self):
        """Return a square about the one singular point."""
        return self.bare_range('actuator', (-2.0, -2.0), (2.0, 2.0))

    @staticmethod
    def joint_position(a, p):
        """Return the square."""
        return a[0] ** 2 - a[1] ** 2, 2.0 * a[0] * a[1]


class Cubed(EquationTransmission):
    """``q = gain a^3``, which is singular in the middle."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build one with the gain of its description."""
        return cls({'gain': reader.number('gain', description='Gain.', default=1.0)})

    def range(self):
        """Return a range about the singular point."""
        return self.bare_range('actuator', (-1.0,), (1.0,))

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        return p.gain * a**3


class Gear(SimpleTransmission):
    """A linear neighbour."""

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls(-7.0, 0.3)


class Wrist(DifferentialTransmission):
    """A linear neighbour."""

    @classmethod
    def from_spec(cls, reader):
        """Build one."""
        return cls((10.0, -20.0), (-2.0, 4.0), (0.5, -0.5))


SIZES = {
    Gear: (1, 1), Crank: (1, 1), Ankle: (2, 2), Wrist: (2, 2), Cylinder: (1, 1), Cardan: (1, 1),
    Swing: (1, 1), Shear: (2, 2), Chain: (3, 3), Tendons: (2, 1), Own: (1, 1), Table: (1, 1),
    Squared: (2, 2), Cubed: (1, 1), Bent: (2, 2),
}  # fmt: skip

#: What an instant of any of them is like.
KINDS = [Gear, Crank, Ankle, Wrist, Cylinder, Cardan, Swing, Shear, Chain, Tendons, Own, Table]


@pytest.fixture(scope='module')
def robot_of(make_spec, make_robot, registry_of):
    """Return a function that makes a robot of some kinds, the last joint first."""

    def make(*kinds) -> RobotTransmissions:
        specs = []
        for kind in kinds:
            n_actuators, n_joints = SIZES[kind]
            name = kind.__name__
            specs.append(
                make_spec(
                    name,
                    f'me/{name}',
                    tuple(f'{name}_j{k}' for k in range(n_joints)),
                    tuple(f'{name}_a{k}' for k in range(n_actuators)),
                )
            )
        joints = [member.name for spec in specs for member in spec.joints][::-1]
        made = RobotTransmissions(
            make_robot(*specs, joints=tuple(joints)),
            registry=registry_of(*kinds),
        )
        assert len(made.bindings) == len(kinds), made.findings
        return made

    return make


@pytest.fixture(scope='module')
def robot(robot_of) -> RobotTransmissions:
    """Return a robot with one of each kind."""
    return robot_of(*KINDS)


def positions_of(robot: RobotTransmissions, direction: str, count: int, seed: int) -> np.ndarray:
    """Return positions in the input's space, each mechanism being well inside its domain."""
    random = np.random.default_rng(seed)
    forward = direction == 'actuator_to_joint'
    result = np.empty((count, len(robot.actuator_names if forward else robot.joint_names)))
    for binding in robot.bindings:
        t = binding.transmission
        places = list(binding.actuators if forward else binding.joints)
        if t.is_constant:
            result[:, places] = random.normal(size=(count, len(places)))
            continue
        low, high = np.array(t.domain.lower), np.array(t.domain.upper)
        x = low + random.uniform(0.1, 0.9, (count, len(low))) * (high - low)
        if isinstance(t, Shear):
            x = low + random.uniform(0.3, 0.7, (count, len(low))) * (high - low)
        if t.domain.space == 'joint' and forward:
            x = t.joint_to_actuator('position', x)
        if t.domain.space == 'actuator' and not forward:
            x = t.actuator_to_joint('position', x)
        result[:, places] = x
    assert np.isfinite(result).all()
    return result


def instants_of(robot: RobotTransmissions, direction: str, count: int, seed: int) -> np.ndarray:
    """Return rows position, velocity and effort, one instant after the other."""
    position = positions_of(robot, direction, count, seed)
    rates = np.random.default_rng(seed + 1).normal(size=(2, *position.shape))
    return np.stack([position, *rates], axis=1)


def by_arrays(
    robot: RobotTransmissions, direction: str, rows: np.ndarray, at: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Return the three rows by three maps, each by itself."""
    function = getattr(robot, direction)
    return np.array(
        [
            function(interface, row, at=place, guess=last)
            for interface, row, place in zip(FIELDS, rows, at, strict=True)
        ]
    )


def reasons_of(robot: RobotTransmissions, direction: str, rows: np.ndarray) -> Counter:
    """Return what is counted where each mechanism maps one instant by itself."""
    report = MapReport()
    for binding in robot.bindings:
        forward = direction == 'actuator_to_joint'
        places = list(binding.actuators if forward else binding.joints)
        binding.transmission.map_state(
            direction,
            *rows[:, places],
            report=report.for_transmission(binding.spec.name),
        )
    return report.counts


def looks_of(stream: RobotMap) -> list:
    """Return a list that grows with each sample of states that is not near its last solution."""
    looked = []
    function = stream._functions[False]
    look = function._look.run
    function._look.run = lambda: (looked.append(True), look())
    return looked


def outputs_of(robot: RobotTransmissions, direction: str, name: str = '') -> list[int]:
    """Return the places of the outputs of one transmission, or of all."""
    return [
        place
        for binding in robot.bindings
        if name in ('', binding.spec.name)
        for place in (binding.joints if direction == 'actuator_to_joint' else binding.actuators)
    ]


def inputs_of(robot: RobotTransmissions, direction: str, name: str = '') -> list[int]:
    """Return the places of its inputs."""
    return outputs_of(robot, DIRECTIONS[1 - DIRECTIONS.index(direction)], name)


def same(found: np.ndarray, expected: np.ndarray, share: float = 1e-12) -> bool:
    """Tell whether numbers are the same to rounding, and unknown in the same places."""
    scale = share * (1.0 + np.abs(expected))
    return bool(
        np.array_equal(np.isnan(found), np.isnan(expected))
        and (np.isnan(expected) | (np.abs(found - expected) <= scale)).all()
    )


# -- one instant ---------------------------------------------------------------------------------


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_an_instant_is_what_the_arrays_say(robot, direction: str) -> None:
    """Whatever was mapped before, position, velocity and effort are those of the three maps."""
    stream, report = stream_of(robot, direction), MapReport()
    last = np.full(len(outputs_of(robot, direction)), math.nan)
    for rows in instants_of(robot, direction, 100, 1):
        expected = by_arrays(robot, direction, rows, [rows[0]] * 3, last)
        assert np.isfinite(expected).all()
        found = stream.map_state(rows, report)
        assert same(found, expected)
        assert np.isfinite(found).all()
        last = found[0].copy()
    assert not report.counts


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('kinds', [KINDS, [Ankle], [Cardan, Gear], [Tendons, Crank, Table]])
def test_what_is_unknown_touches_what_depends_on_it(robot_of, kinds, direction: str) -> None:
    """Silent actuators, and rates that nobody measures: NaN where the arrays have it, no count."""
    robot = robot_of(*kinds)
    stream, report = stream_of(robot, direction), MapReport()
    random = np.random.default_rng(3)
    last = np.full(len(outputs_of(robot, direction)), math.nan)
    for rows in instants_of(robot, direction, 100, 2):
        share = random.choice([0.03, 0.3, 0.9])
        rows[random.uniform(size=rows.shape) < share] = math.nan
        if random.uniform() < 0.3:
            rows[:, random.uniform(size=rows.shape[1]) < 0.5] = math.nan
        expected = by_arrays(robot, direction, rows, [rows[0]] * 3, last)
        assert same(stream.map_state(rows, report), expected)
        # What is unknown for now is sought where it was known last.
        last = np.where(np.isnan(expected[0]), last, expected[0])
    assert not report.counts


def spoilt(robot: RobotTransmissions, name: str, direction: str) -> list[np.ndarray]:
    """Return positions of one mechanism that it cannot map, or not wholly."""
    (binding,) = (each for each in robot.bindings if each.spec.name == name)
    t = binding.transmission
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    box = [low, high, low - 0.01 * (high - low), high + 0.3 * (high - low), 0.5 * (low + high)]
    n = len(binding.actuators if direction == 'actuator_to_joint' else binding.joints)
    far = [np.full(n, each) for each in (math.nan, math.inf, -math.inf, 1e9, 1e300, -50.0)]
    if (t.domain.space == 'actuator') == (direction == 'actuator_to_joint'):
        return [*box, *far]
    with np.errstate(all='ignore'):
        reached = t.evaluate(np.array(box))[0]
    return [*(each for each in reached if np.isfinite(each).all()), *far]


BENT = ['Crank', 'Cylinder', 'Ankle', 'Cardan', 'Swing', 'Shear', 'Chain', 'Tendons', 'Own']


@pytest.mark.parametrize('name', BENT)
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_mechanism_that_is_lost_changes_nobody_else(robot, direction: str, name: str) -> None:
    """Outside, at dead centres and on other branches: its neighbours keep the last bit."""
    good, bad = stream_of(robot, direction), stream_of(robot, direction)
    own, places = outputs_of(robot, direction, name), inputs_of(robot, direction, name)
    positions = spoilt(robot, name, direction)
    for rows, position in zip(instants_of(robot, direction, 99, 4), positions, strict=False):
        report = MapReport()
        clean = good.map_state(rows, report).copy()
        assert not report.counts
        rows[0, places] = position
        found = bad.map_state(rows, report).copy()
        others = np.delete(np.arange(found.shape[1]), own)
        assert np.array_equal(found[:, others], clean[:, others])
        expected = by_arrays(robot, direction, rows, [rows[0]] * 3, np.full_like(clean[0], np.nan))
        assert same(found[:, own], expected[:, own], 1e-6)
        assert report.counts.keys() == reasons_of(robot, direction, rows).keys()


def test_near_a_singularity_it_is_what_the_arrays_say(robot_of) -> None:
    """However near a dead centre, what is known and what is not are those of the arrays."""
    robot = robot_of(Crank, Cylinder)
    robot = robot.with_parameters({'Crank.max_gain': 1e8, 'Cylinder.max_gain': 1e8})
    t = [binding.transmission for binding in robot.bindings]
    for direction in DIRECTIONS:
        stream = stream_of(robot, direction)
        for share in (1e-2, 1e-4, 1e-5, 1e-6):
            for ends, sign in (('lower', 1.0), ('upper', -1.0)):
                q = np.array([getattr(each.domain, ends)[0] for each in t])
                q += sign * share * np.array([each.domain.span[0] for each in t])
                names = list(robot.joint_names)
                position = np.empty(2)
                position[[names.index('Crank_j0'), names.index('Cylinder_j0')]] = q
                if direction == 'actuator_to_joint':
                    position = robot.joint_to_actuator('position', position)
                rows = np.array([position, [1.0, 2.0], [3.0, -4.0]])
                last = np.full(2, math.nan)
                expected = by_arrays(robot, direction, rows, [rows[0]] * 3, last)
                report = MapReport()
                assert same(stream.map_state(rows, report), expected, 1e-14 / share**2)
                assert np.isfinite(expected).all()
                assert not report.counts


def at_rest(robot: RobotTransmissions, direction: str, share: float) -> list[np.ndarray]:
    """Return positions by a share of the range beside dead centres, all mechanisms alike."""
    result = []
    for upper in (False, True):
        position = np.empty(len(inputs_of(robot, direction)))
        for binding in robot.bindings:
            t, name = binding.transmission, binding.spec.name
            low, high = np.array(t.domain.lower), np.array(t.domain.upper)
            x = high - share * t.domain.span if upper else low + share * t.domain.span
            if isinstance(t, Bent):
                x = np.array([0.5 + share, 0.5])
            if isinstance(t, Cubed):
                x = np.array([share if upper else -share])
            along = (t.domain.space == 'joint') == (direction == 'joint_to_actuator')
            position[inputs_of(robot, direction, name)] = x if along else t.evaluate(x[None])[0][0]
        result.append(position)
    return result


DEAD = [Crank, Cylinder, Bent, Cubed]


@pytest.mark.parametrize('direction', DIRECTIONS)
@settings(max_examples=60)
@given(
    share=st.one_of(st.just(0.0), st.floats(-18.0, -2.0).map(lambda e: 10.0**e)),
    unknown=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=3),
    commands=st.booleans(),
    max_gain=st.sampled_from([1.0, 50.0, 1e4, 1e8]),
)
def test_at_dead_centres_a_stream_is_what_the_arrays_say(
    robot_of, direction: str, share: float, unknown: set, commands: bool, max_gain: float
) -> None:
    """Unknown in the same places and counted alike, on a dead centre and however near to it."""
    robot = robot_of(*DEAD)
    robot = robot.with_parameters({each.__name__: {'max_gain': max_gain} for each in DEAD})
    for position in at_rest(robot, direction, share):
        rows = np.array([position, *np.random.default_rng(6).normal(size=(2, len(position)))])
        for row, column in unknown:
            rows[row, column] = math.nan
        stream, counted = stream_of(robot, direction), MapReport()
        found = (
            stream.map_command(rows, position, counted)
            if commands
            else stream.map_state(rows, counted)
        )
        at = [position if commands else rows[0]] * 3
        at[0] = rows[0]
        last, report = np.full(found.shape[1], math.nan), MapReport()
        expected = by_arrays(robot, direction, rows, at, last)
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        assert same(found[0], expected[0], 1e-6)
        if commands:
            for interface, row, place in zip(FIELDS, rows, at, strict=True):
                for binding in robot.bindings:
                    of = inputs_of(robot, direction, binding.spec.name)
                    if not np.isnan(row[of]).all():
                        binding.transmission.map(
                            direction,
                            interface,
                            row[of],
                            at=place[of],
                            report=report.for_transmission(binding.spec.name),
                        )
            assert counted.counts.keys() == report.counts.keys()
        else:
            assert counted.counts == reasons_of(robot, direction, rows)


@pytest.mark.parametrize('commands', [False, True])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_mechanism_at_rest_on_a_dead_centre_needs_no_arrays(
    robot_of, direction: str, commands: bool, monkeypatch
) -> None:
    """What is singular is decided by the compiled function where no position has to be solved."""
    kinds = [Crank, Cylinder, Bent] + [Cubed] * (direction == 'actuator_to_joint')
    robot = robot_of(*kinds)
    monkeypatch.setattr(Binding, 'map', None)
    for position in at_rest(robot, direction, 0.0):
        rows = np.array([position, np.ones_like(position), np.ones_like(position)])
        stream, report = stream_of(robot, direction), MapReport()
        for _ in range(3):
            mapped = (
                stream.map_command(rows, position, report)
                if commands
                else stream.map_state(rows, report)
            )
        assert np.isfinite(mapped[0]).all()
        for binding in robot.bindings:
            along = (binding.transmission.domain.space == 'joint') == (
                direction == 'joint_to_actuator'
            )
            places = outputs_of(robot, direction, binding.spec.name)
            assert np.isnan(mapped[2 if along else 1, places]).all()
            assert np.isfinite(mapped[1 if along else 2, places]).all()
        assert report.counts == {(kind.__name__, 'singular'): 3 for kind in kinds}


# -- what it keeps -------------------------------------------------------------------------------


def turned(angle: float) -> np.ndarray:
    """Return rows of a point that turns on a circle, as ``q`` of :class:`Squared`."""
    point = np.array([math.cos(angle), math.sin(angle)])
    return np.array([point, [0.1, -0.2], [0.3, 0.4]])


def half(angle: float) -> np.ndarray:
    """Return that square root of the point which turns with it."""
    return np.array([math.cos(0.5 * angle), math.sin(0.5 * angle)])


@pytest.mark.parametrize('step', [0.01, 0.2, 0.6])
@pytest.mark.parametrize('commands', [False, True])
def test_each_solution_begins_at_the_last_one(robot_of, step: float, commands: bool) -> None:
    """After a turn a square root is the other one, whether the steps are small or large."""
    robot, report = robot_of(Squared, Gear), MapReport()
    stream = stream_of(robot, 'joint_to_actuator')
    order = inputs_of(robot, 'joint_to_actuator', 'Squared')
    places = outputs_of(robot, 'joint_to_actuator', 'Squared')

    def solved(angle: float, unknown: bool = False) -> np.ndarray:
        rows = np.zeros((3, 3))
        rows[:, order] = turned(angle)
        if unknown:
            rows[0, order[0]] = math.nan
        if commands:
            return stream.map_command(rows, np.full(3, math.nan), report)[0, places].copy()
        return stream.map_state(rows, report)[0, places].copy()

    first = solved(0.0)
    sign = np.sign(first[0])
    assert np.abs(first - sign * half(0.0)).max() <= 1e-14
    for angle in np.arange(step, 2.0 * np.pi, step):
        assert np.abs(solved(angle) - sign * half(angle)).max() <= 1e-13
        if angle > 3.0:
            assert np.isnan(solved(angle, unknown=True)).all()
    assert np.abs(solved(2.0 * np.pi) + first).max() <= 1e-13
    stream.forget_solutions()
    assert np.abs(solved(2.0 * np.pi) - first).max() <= 1e-13


@pytest.mark.parametrize('step', [0.01, 0.1])
def test_a_fast_mechanism_is_followed_without_arrays(robot_of, step: float, monkeypatch) -> None:
    """An ankle that moves by a tenth of its range from message to message takes more steps."""
    robot, report = robot_of(Ankle, Gear), MapReport()
    direction = 'actuator_to_joint'
    stream = stream_of(robot, direction)
    order, places = inputs_of(robot, direction, 'Ankle'), outputs_of(robot, direction, 'Ankle')
    ankle = robot.transmissions['Ankle']
    low, high = np.array(ankle.domain.lower), np.array(ankle.domain.upper)
    looked = looks_of(stream)
    for angle in np.arange(0.0, 40.0 * step, step):
        foot = low + (high - low) * (0.5 + 0.4 * np.sin([angle, 1.3 * angle]))
        rows = np.zeros((3, 3))
        rows[0, order] = ankle.joint_to_actuator('position', foot)
        assert np.abs(stream.map_state(rows, report)[0, places] - foot).max() <= 1e-12
    assert step > 0.01 or len(looked) == 1
    assert not report.counts


def test_after_a_position_that_is_outside_it_begins_anew(robot_of) -> None:
    """Where no solution was found, the last one leads nowhere: the table of starts does."""
    robot, report = robot_of(Squared), MapReport()
    stream = stream_of(robot, 'joint_to_actuator')
    order = inputs_of(robot, 'joint_to_actuator')
    places = outputs_of(robot, 'joint_to_actuator')

    def solved(rows: np.ndarray) -> np.ndarray:
        return stream.map_state(np.ascontiguousarray(rows[:, order]), report)[0, places].copy()

    first = solved(turned(0.0))
    for angle in np.arange(0.2, 6.4, 0.2):
        solved(turned(angle))
    assert np.abs(solved(turned(2.0 * np.pi)) + first).max() <= 1e-13
    assert not report.counts
    assert np.isnan(solved(90.0 * turned(0.0))).all()
    assert report.counts == {('Squared', 'domain'): 1}
    assert np.abs(solved(turned(2.0 * np.pi)) - first).max() <= 1e-13


# -- commands ------------------------------------------------------------------------------------

COMMANDED = [Gear, Crank, Ankle, Cylinder, Cardan, Swing, Chain, Tendons, Table]


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_command_is_what_the_maps_say_one_by_one(robot_of, direction: str, data) -> None:
    """Velocity is mapped where the position is commanded, else measured; effort where measured."""
    robot = robot_of(*COMMANDED)
    stream = stream_of(robot, direction)
    positions = positions_of(robot, direction, 40, 7)
    n_in, n_out = positions.shape[1], len(outputs_of(robot, direction))
    last = np.full(n_out, math.nan)
    for _ in range(data.draw(st.integers(1, 3))):
        random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        commanded, measured = positions[random.integers(0, 40, 2)]
        values = np.array([commanded, *random.normal(size=(2, n_in))])
        share = random.uniform(size=(3, 1))
        values[random.uniform(size=values.shape) < share] = math.nan
        values[:, random.uniform(size=n_in) < random.uniform()] = math.nan
        measured = np.where(random.uniform(size=n_in) < 0.2, math.nan, measured)
        for row in (values[0], measured):
            row += np.where(random.uniform(size=n_in) < 0.1, 99.0, 0.0)
        at = np.where(np.isnan(values[0]), measured, values[0])
        report = MapReport()
        found = stream.map_command(values, measured, report)
        expected = by_arrays(robot, direction, values, [at, at, measured], last)
        # A command asks for nothing where nothing is commanded.
        for binding in robot.bindings:
            name = binding.spec.name
            into, of = (each(robot, direction, name) for each in (outputs_of, inputs_of))
            silent = np.isnan(values[:, of]).all(axis=-1)
            expected[np.ix_(silent, into)] = math.nan
        assert same(found, expected)
        assert {reason for _, reason in report.counts} <= {'domain'}
        last = np.where(np.isnan(expected[0]), last, expected[0])


def test_nothing_is_counted_of_what_is_not_commanded(robot_of) -> None:
    """A joint measured outside the domain is no reason to count, if its effort is not wanted."""
    robot = robot_of(Crank)
    stream, t = stream_of(robot, 'joint_to_actuator'), robot.bindings[0].transmission
    values, outside = np.array([[0.1], [math.nan], [math.nan]]), np.array([99.0])
    for effort, counts in ((math.nan, {}), (1.0, {('Crank', 'domain'): 1})):
        values[2] = effort
        report = MapReport()
        mapped = stream.map_command(values, outside, report)
        assert same(mapped[0], t.joint_to_actuator('position', values[0]))
        assert np.isnan(mapped[1:]).all()
        assert report.counts == counts


# -- the affine part -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.data())
def test_the_affine_part_is_that_of_the_affine_map(robots, robot_of, data) -> None:
    """Beside an equation every linear transmission is mapped to the last bit as by itself."""
    linear = RobotTransmissions(data.draw(robots))
    nonlinear = robot_of(Crank)
    places = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    for direction in DIRECTIONS:
        maps = [linear.affine(direction, interface) for interface in FIELDS]
        stacked = AffineMap.from_maps([_beside(each) for each in maps])
        function = robot_function.RobotFunction(
            stacked, nonlinear.bindings, direction, commands=False
        )
        for scale in (1.0, 1e-300, 1e300):
            values = scale * places.normal(size=(3, stacked.n_in // 3))
            odd = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0])
            chosen = places.uniform(size=values.shape) < 0.2
            values[chosen] = places.choice(odd, np.count_nonzero(chosen))
            values[0, 0] = 0.1
            function(values)
            with np.errstate(all='ignore'):
                expected = stacked(values.reshape(-1)).reshape(function.mapped.shape)
            found, expected = function.mapped[:, 1:], expected[:, 1:]
            unknown = np.isnan(expected)
            assert np.array_equal(np.isnan(found), unknown)
            assert found[~unknown].tobytes() == expected[~unknown].tobytes()


def _beside(affine: AffineMap) -> AffineMap:
    """Return the same map behind an input and an output that are somebody else's."""
    matrix = np.zeros((affine.n_out + 1, affine.n_in + 1))
    matrix[1:, 1:] = affine.matrix
    rows, before, _ = affine.structure
    biases = affine.all_numbers[sum(map(len, rows)) :]
    return AffineMap(
        matrix,
        before=np.array([0.0, *biases[: len(before)]]),
        after=np.array([0.0, *biases[len(before) :]]),
    )


# -- what is compiled, and what is shared --------------------------------------------------------

CRANKS = """
<robot name="r"><ros2_control name="b" type="system">
  <hardware><plugin>p</plugin></hardware>
  <joint name="j1"><command_interface name="position"/></joint>
  <joint name="j2"><command_interface name="position"/></joint>
  <transmission name="t1"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <joint name="j1" role="joint1"><offset>0.1</offset></joint>
    <actuator name="a1" role="actuator1"/>
    <param name="crank_radius">0.04</param><param name="rod_length">0.12</param>
    <param name="crank_angle">1.5</param>
  </transmission>
  <transmission name="t2"><plugin>transmission_interface/SimpleTransmission</plugin>
    <joint name="j2" role="joint1"><mechanical_reduction>10</mechanical_reduction></joint>
    <actuator name="a2" role="actuator1"/>
  </transmission>
</ros2_control></robot>"""


def compilations() -> tuple[int, int]:
    """Return how many equations and how many robots have been compiled."""
    return (
        equation_transmission._compile_equations.cache_info().misses,
        robot_function._compile_robot.cache_info().misses,
    )


def test_tuning_compiles_nothing() -> None:
    """Numbers are inputs of what is compiled: a tuned robot is mapped by the same function."""
    robot = RobotTransmissions(load_description(CRANKS))
    rows = np.array([[0.05, 1.0], [2.0, 3.0], [4.0, 5.0]])
    for direction in DIRECTIONS:
        stream_of(robot, direction).map_state(rows, MapReport())
    before = compilations()
    for number in range(1, 20):
        robot = robot.with_parameters(
            {
                't1': {
                    'crank_radius': 0.04 + 0.001 * number,
                    'rod_length': 0.12 + 0.002 * number,
                    'joints': {'j1': {'offset': 0.01 * number}},
                },
                't2': {'joints': {'j2': {'mechanical_reduction': 10.0 + number}}},
            }
        )
        for direction in DIRECTIONS:
            found = stream_of(robot, direction).map_state(rows, MapReport())
            last = np.full(2, math.nan)
            expected = by_arrays(robot, direction, rows, [rows[0]] * 3, last)
            assert same(found, expected)
            assert direction != 'actuator_to_joint' or found[0, 1] == rows[0, 1] / (10.0 + number)
    assert compilations() == before


def test_two_streams_share_no_memory(robot) -> None:
    """What one maps does not change what the other has said, nor where it goes on."""
    for direction in DIRECTIONS:
        instants = instants_of(robot, direction, 20, 5)
        alone, one, other = (stream_of(robot, direction) for _ in range(3))
        for rows, others in zip(instants, instants[::-1], strict=True):
            expected = alone.map_state(rows, MapReport()).copy()
            found = one.map_state(rows, MapReport())
            assert not np.shares_memory(found, other.map_state(others, MapReport()))
            assert np.array_equal(found, expected)


def test_streams_in_threads_do_not_disturb_each_other(robot_of) -> None:
    """Each of four threads gets from a stream of its own what it would get alone."""
    robot = robot_of(Gear, Crank, Ankle, Cardan, Chain)
    jobs = [(direction, seed) for direction in DIRECTIONS for seed in (11, 12)]

    def mapped(job: tuple[str, int]) -> np.ndarray:
        direction, seed = job
        stream, report = stream_of(robot, direction), MapReport()
        (rows,) = instants_of(robot, direction, 1, seed)
        sway = 1.0 + 1e-3 * np.sin(0.1 * np.arange(2000.0))
        return np.array([stream.map_state(rows * each, report).copy() for each in sway])

    alone = [mapped(job) for job in jobs]
    with ThreadPoolExecutor(len(jobs)) as pool:
        together = list(pool.map(mapped, jobs))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_map_alike_and_compile_nothing(copied) -> None:
    """A copy of a mechanism is whole, immutable like its original, and shares what is compiled."""
    for kind in (Crank, Cylinder, Ankle, Cardan, Chain, Tendons):
        t = kind.from_spec(None)
        before = compilations()
        twin = copied(t)
        assert twin.system is t.system
        assert compilations() == before
        assert repr(twin) == repr(t)
        x = 0.5 * (np.array(t.domain.lower) + np.array(t.domain.upper)) + 0.01
        along, back = DIRECTIONS if t.domain.space == 'actuator' else DIRECTIONS[::-1]
        y = t.map(along, 'position', x)
        assert np.array_equal(twin.map(along, 'position', x), y)
        assert np.array_equal(twin.map(back, 'position', y), t.map(back, 'position', y))


def test_what_points_to_memory_is_not_copied(robot) -> None:
    """A copy that shared the arrays of its original would be wrong without an error."""
    stream = stream_of(robot, 'actuator_to_joint')
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(stream)
