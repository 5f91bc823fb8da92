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

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.mechanisms import single

from transmission_bridge.transmissions import (
    DifferentialTransmission,
    equation_transmission,
    MapReport,
    robot_program,
    RobotTransmissions,
    SimpleTransmission,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import DIRECTIONS, FIELDS
from transmission_bridge.transmissions.robot_map import RobotMap
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

FOOT = (m.AnkleLeg(**m.LEFT), m.AnkleLeg(**{**m.RIGHT, 'axis': (0.1, 2.0, -0.1)}))

#: A transmission of each kind, by the name of its type: its base, and how it is made.
KINDS = {
    'Gear': (SimpleTransmission, lambda cls: cls(-7.0, 0.3)),
    'Wrist': (DifferentialTransmission, lambda cls: cls((10.0, -20.0), (-2.0, 4.0), (0.5, -0.5))),
    'Crank': (
        m.CrankSliderTransmission,
        lambda cls: cls(
            m.GuidedSlider(0.04, 0.12, 0.01), 1.5, joint_reduction=-1.5, joint_offset=0.2
        ),
    ),
    'Cylinder': (
        m.CrankSliderTransmission,
        lambda cls: cls(m.HingedCylinder(0.3, 0.9, 0.05), 1.0, actuator_reduction=20.0),
    ),
    'Ankle': (
        m.ParallelAnkleTransmission,
        lambda cls: cls(
            FOOT,
            lower=(-0.6, -0.3),
            upper=(0.4, 0.3),
            actuator_reduction=(20.0, -30.0),
            joint_offset=(0.1, -0.05),
        ),
    ),
    'Cardan': (m.Cardan, lambda cls: cls(actuator_reduction=(3.0,), joint_offset=(0.3,))),
    'Swing': (m.Swing, lambda cls: cls()),
    'Shear': (m.Shear, lambda cls: cls()),
    'Chain': (m.Chain, lambda cls: cls(actuator_reduction=(2.0, -1.0, 5.0))),
    'Tendons': (m.Tendons, lambda cls: cls()),
    'Table': (TabulatedTransmission, lambda cls: cls([0.0, 1.0, 3.0], [0.0, 2.0, 2.5])),
    'Squared': (m.Squared, lambda cls: cls()),
    'Cubed': (m.Cubed, lambda cls: cls()),
    'Bent': (m.Bent, lambda cls: cls()),
}
ALL = list(KINDS)[:11]
DEAD = ['Crank', 'Cylinder', 'Bent', 'Cubed']


@pytest.fixture(scope='module')
def robot_of(make_spec, make_robot, registry_of):
    """Return a function that makes a robot of some kinds, the last joint first."""

    def make(*kinds: str) -> RobotTransmissions:
        specs, types = [], []
        for kind in kinds:
            base, build = KINDS[kind]
            made = build(base)
            from_spec = classmethod(lambda cls, reader, build=build: build(cls))
            types.append(type(kind, (base,), {'from_spec': from_spec}))
            members = ('j', made.n_joints), ('a', made.n_actuators)
            names = (tuple(f'{kind}_{side}{k}' for k in range(n)) for side, n in members)
            specs.append(make_spec(kind, f'me/{kind}', *names))
        joints = [member.name for spec in specs for member in spec.joints][::-1]
        robot = make_robot(*specs, joints=tuple(joints))
        made = RobotTransmissions(robot, registry=registry_of(*types))
        assert len(made.bindings) == len(kinds), made.findings
        return made

    return make


@pytest.fixture(scope='module')
def robot(robot_of) -> RobotTransmissions:
    """Return a robot with one of each kind."""
    return robot_of(*ALL)


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
        if isinstance(t, m.Shear):
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
        stream = RobotMap(single(binding.transmission), direction)
        stream.map_state(np.ascontiguousarray(rows[:, places]), own := MapReport())
        report.counts.update({(binding.spec.name, why): n for (_, why), n in own.counts.items()})
    return report.counts


def same(found: np.ndarray, expected: np.ndarray, share: float = 1e-12) -> bool:
    """Tell whether numbers are the same to rounding, and unknown in the same places."""
    scale = share * (1.0 + np.abs(expected))
    return bool(
        np.array_equal(np.isnan(found), np.isnan(expected))
        and (np.isnan(expected) | (np.abs(found - expected) <= scale)).all()
    )


# -- one instant ---------------------------------------------------------------------------------


def mapped(stream: RobotMap, rows: np.ndarray, measured: np.ndarray | None, report: MapReport):
    """Return what a stream maps of a state, or of a command where something is measured."""
    if measured is None:
        return stream.map_state(rows, report)
    return stream.map_command(rows, measured, report)


@pytest.mark.parametrize(
    'kinds', [ALL, ['Ankle'], ['Cardan', 'Gear'], ['Tendons', 'Crank', 'Table']]
)
@pytest.mark.parametrize('commands', [False, True])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_an_instant_is_what_the_maps_say_one_by_one(
    robot_of, kinds, direction: str, commands: bool, campaign: int
) -> None:
    """
    Whatever was mapped before, and whatever is unknown or out of reach, each row is its map's.

    A command's velocity is mapped where the position is commanded, else measured, its effort where
    measured; nothing is asked for where nothing is commanded.
    """
    robot = robot_of(*kinds)
    stream, random = RobotMap(robot, direction), np.random.default_rng(3)
    last = np.full(len(outputs_of(robot, direction)), math.nan)
    for number, rows in enumerate(instants_of(robot, direction, 60 * campaign, 2)):
        measured = positions_of(robot, direction, 1, number)[0] if commands else None
        n = rows.shape[1]
        share = (0.0, 0.03, 0.3, 0.9)[number % 4]
        rows[random.uniform(size=rows.shape) < share] = math.nan
        if share:
            rows[:, random.uniform(size=n) < random.choice([0.0, 0.5])] = math.nan
        for row in (rows[0], measured) if commands and share else ():
            row += np.where(random.uniform(size=n) < 0.1, 99.0, 0.0)
        at = [rows[0]] * 3
        if commands:
            place = np.where(np.isnan(rows[0]), measured, rows[0])
            at = [place, place, measured]
        report = MapReport()
        found = mapped(stream, rows, measured, report)
        expected = by_arrays(robot, direction, rows, at, last)
        for binding in robot.bindings if commands else ():
            name = binding.spec.name
            into, of = (each(robot, direction, name) for each in (outputs_of, inputs_of))
            silent = np.isnan(rows[:, of]).all(axis=-1)
            expected[np.ix_(silent, into)] = math.nan
        assert same(found, expected)
        for binding in robot.bindings:
            if binding.transmission.is_constant:
                into = outputs_of(robot, direction, binding.spec.name)
                assert np.array_equal(found[:, into], expected[:, into], equal_nan=True)
        assert share or np.isfinite(found).all()
        assert {reason for _, reason in report.counts} <= ({'domain'} if commands else set())
        # What is unknown for now is sought where it was known last.
        last = np.where(np.isnan(expected[0]), last, expected[0])


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
        reached = m.evaluate(t, np.array(box))[0]
    return [*(each for each in reached if np.isfinite(each).all()), *far]


@pytest.mark.parametrize('name', [each for each in ALL if each not in ('Gear', 'Wrist', 'Table')])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_mechanism_that_is_lost_changes_nobody_else(robot, direction: str, name: str) -> None:
    """Outside, at dead centres and on other branches: its neighbours keep the last bit."""
    good, bad = RobotMap(robot, direction), RobotMap(robot, direction)
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


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_stream_maps_an_unreachable_position_without_a_report(robot, direction: str) -> None:
    """Results are the same with and without an object that collects the reasons of NaN."""
    (rows,) = instants_of(robot, direction, 1, 4)
    rows[0] = 1e6
    found = RobotMap(robot, direction).map_state(rows)
    assert np.isnan(found).any()
    expected = RobotMap(robot, direction).map_state(rows, MapReport())
    assert np.array_equal(found, expected, equal_nan=True)


def at_rest(robot: RobotTransmissions, direction: str, share: float) -> list[np.ndarray]:
    """Return positions by a share of the range beside dead centres, all mechanisms alike."""
    result = []
    for upper in (False, True):
        position = np.empty(len(inputs_of(robot, direction)))
        for binding in robot.bindings:
            t, name = binding.transmission, binding.spec.name
            low, high = np.array(t.domain.lower), np.array(t.domain.upper)
            x = high - share * t.domain.span if upper else low + share * t.domain.span
            if isinstance(t, m.Bent):
                x = np.array([0.5 + share, 0.5])
            if isinstance(t, m.Cubed):
                x = np.array([share if upper else -share])
            along = (t.domain.space == 'joint') == (direction == 'joint_to_actuator')
            if not along and isinstance(t, TabulatedTransmission):
                x = t.actuator_to_joint('position', x)
            elif not along:
                x = m.evaluate(t, x[None])[0][0]
            position[inputs_of(robot, direction, name)] = x
        result.append(position)
    return result


@pytest.mark.parametrize('direction', DIRECTIONS)
@settings(max_examples=30)
@given(
    share=st.one_of(st.just(0.0), st.floats(-18.0, -2.0).map(lambda e: 10.0**e)),
    unknown=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=3),
    max_gain=st.sampled_from([1.0, 50.0, 1e4, 1e8]),
)
def test_at_dead_centres_a_stream_is_what_the_arrays_say(
    robot_of, direction: str, share: float, unknown: set, max_gain: float
) -> None:
    """Unknown in the same places and counted alike, on a dead centre and however near to it."""
    robot = robot_of(*DEAD)
    robot = robot.with_parameters({each: {'max_gain': max_gain} for each in DEAD})
    for position in at_rest(robot, direction, share):
        rows = np.array([position, *np.random.default_rng(6).normal(size=(2, len(position)))])
        for row, column in unknown:
            rows[row, column] = math.nan
        report = MapReport()
        found = RobotMap(robot, direction).map_state(rows, report)
        last = np.full(found.shape[1], math.nan)
        expected = by_arrays(robot, direction, rows, [rows[0]] * 3, last)
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        assert same(found[0], expected[0], 1e-6)
        assert report.counts == reasons_of(robot, direction, rows)
        if share >= 1e-6:
            near = [outputs_of(robot, direction, each)[0] for each in DEAD[:2]]
            assert same(found[:, near], expected[:, near], 1e-14 / share**2)


@pytest.mark.parametrize('commands', [False, True])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_mechanism_at_rest_on_a_dead_centre_needs_no_arrays(
    robot_of, direction: str, commands: bool, monkeypatch
) -> None:
    """What is singular is decided by the compiled function where no position has to be solved."""
    kinds = DEAD[: 4 if direction == 'actuator_to_joint' else 3]
    robot = robot_of(*kinds)
    monkeypatch.setattr(Binding, 'map', None)
    for position in at_rest(robot, direction, 0.0):
        rows = np.array([position, np.ones_like(position), np.ones_like(position)])
        stream, report = RobotMap(robot, direction), MapReport()
        for _ in range(3):
            found = mapped(stream, rows, position if commands else None, report)
        assert np.isfinite(found[0]).all()
        for binding in robot.bindings:
            along = (binding.transmission.domain.space == 'joint') == (
                direction == 'joint_to_actuator'
            )
            places = outputs_of(robot, direction, binding.spec.name)
            assert np.isnan(found[2 if along else 1, places]).all()
            assert np.isfinite(found[1 if along else 2, places]).all()
        assert report.counts == {(kind, 'singular'): 3 for kind in kinds}


# -- what it keeps -------------------------------------------------------------------------------


def turned(angle: float) -> np.ndarray:
    """Return rows of a point that turns on a circle, as ``q`` of ``Squared``."""
    point = np.array([math.cos(angle), math.sin(angle)])
    return np.array([point, [0.1, -0.2], [0.3, 0.4]])


def half(angle: float) -> np.ndarray:
    """Return that square root of the point which turns with it."""
    return np.array([math.cos(0.5 * angle), math.sin(0.5 * angle)])


@pytest.mark.parametrize('step', [0.01, 0.2, 0.6])
@pytest.mark.parametrize('commands', [False, True])
def test_each_solution_begins_at_the_last_one(robot_of, step: float, commands: bool) -> None:
    """After a turn a square root is the other one, whether the steps are small or large."""
    robot, report = robot_of('Squared', 'Gear'), MapReport()
    stream = RobotMap(robot, 'joint_to_actuator')
    order = inputs_of(robot, 'joint_to_actuator', 'Squared')
    places = outputs_of(robot, 'joint_to_actuator', 'Squared')

    def solved(angle: float, unknown: bool = False) -> np.ndarray:
        rows = np.zeros((3, 3))
        rows[:, order] = turned(angle)
        if unknown:
            rows[0, order[0]] = math.nan
        measured = np.full(3, math.nan) if commands else None
        return mapped(stream, rows, measured, report)[0, places].copy()

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


def test_after_a_position_that_is_outside_it_goes_on_from_the_last_solution(robot_of) -> None:
    """Of two solutions on one branch, the one that a straight path leads to is found."""
    stream, report = RobotMap(robot_of('Squared'), 'joint_to_actuator'), MapReport()

    def solved(rows: np.ndarray) -> np.ndarray:
        return stream.map_state(np.ascontiguousarray(rows[:, ::-1]), report)[0].copy()

    first = solved(turned(0.0))
    for angle in np.arange(0.2, 6.4, 0.2):
        solved(turned(angle))
    assert np.abs(solved(turned(2.0 * np.pi)) + first).max() <= 1e-13
    assert not report.counts
    assert np.isnan(solved(90.0 * turned(0.0))).all()
    assert report.counts == {('Squared', 'domain'): 1}
    assert np.abs(solved(turned(2.0 * np.pi)) + first).max() <= 1e-13


def test_nothing_is_counted_of_what_is_not_commanded(robot_of) -> None:
    """A joint measured outside the domain is no reason to count, if its effort is not wanted."""
    robot = robot_of('Crank')
    stream, t = RobotMap(robot, 'joint_to_actuator'), robot.bindings[0].transmission
    values, outside = np.array([[0.1], [math.nan], [math.nan]]), np.array([99.0])
    for effort, counts in ((math.nan, {}), (1.0, {('Crank', 'domain'): 1})):
        values[2] = effort
        report = MapReport()
        found = stream.map_command(values, outside, report)
        assert same(found[0], t.joint_to_actuator('position', values[0]))
        assert np.isnan(found[1:]).all()
        assert report.counts == counts


# -- what is compiled, and what is shared --------------------------------------------------------


def compilations() -> tuple[int, int]:
    """Return how many equations and how many robots have been compiled."""
    return (
        equation_transmission._compile_equations.cache_info().misses,
        robot_program._compile_robot.cache_info().misses,
    )


def test_streams_in_threads_do_not_disturb_each_other(robot_of) -> None:
    """Each of four threads gets from a stream of its own what it would get alone."""
    robot = robot_of('Gear', 'Crank', 'Ankle', 'Cardan', 'Chain')
    jobs = [(direction, seed) for direction in DIRECTIONS for seed in (11, 12)]

    def of_job(job: tuple[str, int]) -> np.ndarray:
        direction, seed = job
        stream, report = RobotMap(robot, direction), MapReport()
        (rows,) = instants_of(robot, direction, 1, seed)
        sway = 1.0 + 1e-3 * np.sin(0.1 * np.arange(1000.0))
        return np.array([stream.map_state(rows * each, report).copy() for each in sway])

    alone = [of_job(job) for job in jobs]
    with ThreadPoolExecutor(len(jobs)) as pool:
        together = list(pool.map(of_job, jobs))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_map_alike_and_compile_nothing(copied) -> None:
    """A copy of a mechanism is whole, immutable like its original, and shares what is compiled."""
    for kind in ('Crank', 'Cylinder', 'Ankle', 'Cardan', 'Chain', 'Tendons'):
        base, build = KINDS[kind]
        t = build(base)
        before = compilations()
        twin = copied(t)
        assert twin._mechanism.steps is t._mechanism.steps
        assert compilations() == before
        assert repr(twin) == repr(t)
        x = 0.5 * (np.array(t.domain.lower) + np.array(t.domain.upper)) + 0.01
        along, back = DIRECTIONS if t.domain.space == 'actuator' else DIRECTIONS[::-1]
        y = t.map(along, 'position', x)
        assert np.array_equal(twin.map(along, 'position', x), y)
        assert np.array_equal(twin.map(back, 'position', y), t.map(back, 'position', y))


def test_what_points_to_memory_is_not_copied() -> None:
    """A copy that shared the arrays of its original would be wrong without an error."""
    stream = RobotMap(single(m.Swing()), 'actuator_to_joint')
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(stream)
