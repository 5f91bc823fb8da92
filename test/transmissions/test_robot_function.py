# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot's compiled function: what arrays say of each instant, one after the other."""

from concurrent.futures import ThreadPoolExecutor
import copy
from functools import cache
import math
import pickle

from hypothesis import example, given, settings, strategies as st
import numpy as np
import pytest
from zoo import mechanisms as m

from transmission_bridge.interfaces import DIRECTIONS, FIELDS
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    MapReport,
    SimpleTransmission,
)
from transmission_bridge.transmissions.robot.function import RobotMap
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

FOOT = (m.LEFT, {**m.RIGHT, 'axis': (0.1, 2.0, -0.1)})

#: A transmission of each kind.
KINDS = {
    'Gear': SimpleTransmission(-7.0, 0.3),
    'Wrist': DifferentialTransmission((10.0, -20.0), (-2.0, 4.0), (0.5, -0.5)),
    'Table': TabulatedTransmission([0.0, 1.0, 3.0], [0.0, 2.0, 2.5]),
    'Crank': m.CrankSliderTransmission(
        m.GuidedSlider(0.04, 0.12, 0.01), 1.5, joint_reduction=-1.5, joint_offset=0.2
    ),
    'Cylinder': m.CrankSliderTransmission(
        m.HingedCylinder(0.3, 0.9, 0.05), 1.0, actuator_reduction=20.0
    ),
    'Ankle': m.ankle(
        *FOOT,
        lower=(-0.6, -0.3),
        upper=(0.4, 0.3),
        actuator_reduction=(20.0, -30.0),
        joint_offset=(0.1, -0.05),
    ),
    'Cardan': m.Cardan(actuator_reduction=(3.0,), joint_offset=(0.3,)),
    'Swing': m.Swing(),
    'Shear': m.Shear(),
    'Chain': m.Chain(actuator_reduction=(2.0, -1.0, 5.0)),
    'Tendons': m.Tendons(),
    'Squared': m.Squared(),
    'Cubed': m.Cubed(),
    'Bent': m.Bent(),
}
ALL = list(KINDS)[:11]
DEAD = ['Crank', 'Cylinder', 'Bent', 'Cubed']


@cache
def robot_of(*kinds):
    """Return a robot of some kinds, the last joint first."""
    return m.robot_of(last_first=True, **{kind: KINDS[kind] for kind in kinds})


def outputs_of(robot, direction, name=''):
    """Return the places of the outputs of one transmission, or of all."""
    side = 'joints' if direction == 'actuator_to_joint' else 'actuators'
    chosen = [each for each in robot.bindings if name in ('', each.spec.name)]
    return [place for each in chosen for place in getattr(each, side)]


def inputs_of(robot, direction, name=''):
    """Return the places of its inputs."""
    return outputs_of(robot, DIRECTIONS[1 - DIRECTIONS.index(direction)], name)


def is_along(t, direction):
    """Whether a mechanism's equation maps in this direction: nothing has to be solved."""
    return (t.domain.space == 'joint') == (direction == 'joint_to_actuator')


def positions_of(robot, direction, count, seed):
    """Return positions in the input's space, each mechanism being well inside its domain."""
    random = np.random.default_rng(seed)
    result = np.empty((count, len(inputs_of(robot, direction))))
    for binding in robot.bindings:
        t, places = binding.transmission, inputs_of(robot, direction, binding.spec.name)
        if t.is_constant:
            result[:, places] = random.normal(size=(count, len(places)))
            continue
        share = (0.3, 0.7) if isinstance(t, m.Shear) else (0.1, 0.9)
        shares = random.uniform(*share, (count, len(t.domain.lower)))
        x = np.array(t.domain.lower) + shares * t.domain.span
        along = DIRECTIONS[t.domain.space == 'joint']
        result[:, places] = x if is_along(t, direction) else t.map(along, 'position', x)
    assert np.isfinite(result).all()
    return result


def instants_of(robot, direction, count, seed):
    """Return rows position, velocity and effort, one instant after the other."""
    position = positions_of(robot, direction, count, seed)
    rates = np.random.default_rng(seed + 1).normal(size=(2, *position.shape))
    return np.stack([position, *rates], axis=1)


def by_arrays(robot, direction, rows, at=None, last=None):
    """Return the three rows by three maps, each by itself and at its own position."""
    at = [rows[0]] * 3 if at is None else at
    given = zip(FIELDS, rows, at, strict=True)
    return np.array([robot.map(direction, *each, at=x, guess=last) for *each, x in given])


def reasons_of(robot, direction, rows):
    """Return what is counted where each mechanism maps one instant by itself."""
    report = MapReport()
    for name, t in ((binding.spec.name, binding.transmission) for binding in robot.bindings):
        own, places = MapReport(), inputs_of(robot, direction, name)
        RobotMap(m.single(t), direction).map_state(np.ascontiguousarray(rows[:, places]), own)
        report.counts.update({(name, why): count for (_, why), count in own.counts.items()})
    return report.counts


def same(found, expected, share=1e-12):
    """Tell whether numbers are the same to rounding, and unknown in the same places."""
    scale = share * (1.0 + np.abs(expected))
    return bool(
        np.array_equal(np.isnan(found), np.isnan(expected))
        and (np.isnan(expected) | (np.abs(found - expected) <= scale)).all()
    )


# -- one instant ---------------------------------------------------------------------------------


def mapped(stream, rows, measured, report):
    """Return what a stream maps of a state, or of a command where something is measured."""
    if measured is None:
        return stream.map_state(rows, report)
    return stream.map_command(rows, measured, report)


@pytest.mark.parametrize(
    'kinds', [ALL, ['Ankle'], ['Cardan', 'Gear'], ['Tendons', 'Crank', 'Table']]
)
@pytest.mark.parametrize('commands', [False, True])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_an_instant_is_what_the_maps_say_one_by_one(kinds, direction, commands, campaign):
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
        at = None
        if commands:
            place = np.where(np.isnan(rows[0]), measured, rows[0])
            at = [place, place, measured]
        report = MapReport()
        found = mapped(stream, rows, measured, report)
        expected = by_arrays(robot, direction, rows, at, last)
        for binding in robot.bindings:
            name = binding.spec.name
            into, of = (each(robot, direction, name) for each in (outputs_of, inputs_of))
            if commands:
                expected[np.ix_(np.isnan(rows[:, of]).all(axis=-1), into)] = math.nan
            if binding.transmission.is_constant:
                assert np.array_equal(found[:, into], expected[:, into], equal_nan=True)
        assert same(found, expected)
        assert share or np.isfinite(found).all()
        assert {reason for _, reason in report.counts} <= ({'domain'} if commands else set())
        # What is unknown for now is sought where it was known last.
        last = np.where(np.isnan(expected[0]), last, expected[0])


def spoilt(t, direction):
    """Return positions of a mechanism that it cannot map, or not wholly."""
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    box = [low, high, low - 0.01 * (high - low), high + 0.3 * (high - low), 0.5 * (low + high)]
    if not is_along(t, direction):
        with np.errstate(all='ignore'):
            reached = m.evaluate(t, np.array(box))[0]
        box = [each for each in reached if np.isfinite(each).all()]
    n = t.n_actuators if direction == 'actuator_to_joint' else t.n_joints
    far = (math.nan, math.inf, -math.inf, 1e9, 1e300, -50.0)
    return [*box, *(np.full(n, each) for each in far)]


@pytest.mark.parametrize('name', ALL[3:])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_mechanism_that_is_lost_changes_nobody_else(direction, name):
    """
    Outside, at dead centres and on other branches: its neighbours keep the last bit.

    Results are the same with and without a report that collects the reasons of NaN.
    """
    robot = robot_of(*ALL)
    good, bad, silent = (RobotMap(robot, direction) for _ in range(3))
    own, places = outputs_of(robot, direction, name), inputs_of(robot, direction, name)
    positions = spoilt(KINDS[name], direction)
    for rows, position in zip(instants_of(robot, direction, 99, 4), positions, strict=False):
        report = MapReport()
        clean = good.map_state(rows, report).copy()
        assert not report.counts
        rows[0, places] = position
        found = bad.map_state(rows, report).copy()
        assert np.array_equal(silent.map_state(rows), found, equal_nan=True)
        others = np.delete(np.arange(found.shape[1]), own)
        assert np.array_equal(found[:, others], clean[:, others])
        assert same(found[:, own], by_arrays(robot, direction, rows)[:, own], 1e-6)
        assert report.counts.keys() == reasons_of(robot, direction, rows).keys()


def at_rest(robot, direction, share):
    """Return positions by a share of the range beside dead centres, all mechanisms alike."""
    result = []
    for upper in (False, True):
        position = np.empty(len(inputs_of(robot, direction)))
        for binding in robot.bindings:
            t, name = binding.transmission, binding.spec.name
            low, high = np.array(t.domain.lower), np.array(t.domain.upper)
            x = high - share * t.domain.span if upper else low + share * t.domain.span
            if name == 'Bent':
                x = np.array([0.5 + share, 0.5])
            if name == 'Cubed':
                x = np.array([share if upper else -share])
            if not is_along(t, direction):
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
    commands=st.booleans(),
)
@example(share=0.0, unknown=set(), max_gain=50.0, commands=True)
@example(share=0.0, unknown=set(), max_gain=50.0, commands=False)
def test_at_dead_centres_a_stream_is_what_the_arrays_say(
    direction, share, unknown, max_gain, commands
):
    """Unknown in the same places and counted alike, on a dead centre and however near to it."""
    limited = {each: KINDS[each].with_max_gain(max_gain) for each in DEAD}
    robot = m.robot_of(last_first=True, **limited)
    for position in at_rest(robot, direction, share):
        rows = np.array([position, *np.random.default_rng(6).normal(size=(2, len(position)))])
        for row, column in () if commands else unknown:
            rows[row, column] = math.nan
        report = MapReport()
        found = mapped(RobotMap(robot, direction), rows, position if commands else None, report)
        expected = by_arrays(robot, direction, rows, last=np.full(found.shape[1], math.nan))
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        assert same(found[0], expected[0], 1e-6)
        assert report.counts == reasons_of(robot, direction, rows)
        if share >= 1e-6:
            near = [outputs_of(robot, direction, each)[0] for each in DEAD[:2]]
            assert same(found[:, near], expected[:, near], 1e-14 / share**2)


# -- what it keeps -------------------------------------------------------------------------------


@pytest.mark.parametrize('step', [0.01, 0.2, 0.6])
@pytest.mark.parametrize('commands', [False, True])
def test_each_solution_begins_at_the_last_one(step, commands):
    """After a turn a square root is the other one, whatever the steps and what was outside."""
    robot, direction = robot_of('Squared', 'Gear'), 'joint_to_actuator'
    stream = RobotMap(robot, direction)
    order, places = (each(robot, direction, 'Squared') for each in (inputs_of, outputs_of))

    def solved(angle, radius=1.0):
        rows, report = np.zeros((3, 3)), MapReport()
        point = [radius * math.cos(angle), radius * math.sin(angle)]
        rows[:, order] = point, [0.1, -0.2], [0.3, 0.4]
        measured = np.full(3, math.nan) if commands else None
        found = mapped(stream, rows, measured, report)[0, places].copy()
        assert report.counts == ({('Squared', 'domain'): 1} if radius > 1.0 else {})
        return found

    def root(angle):
        """Return that square root of the point which turns with it."""
        return np.array([math.cos(0.5 * angle), math.sin(0.5 * angle)])

    first = solved(0.0)
    sign = np.sign(first[0])
    assert np.abs(first - sign * root(0.0)).max() <= 1e-14
    for angle in np.arange(step, 2.0 * np.pi, step):
        assert np.abs(solved(angle) - sign * root(angle)).max() <= 1e-13
        if angle > 3.0:
            assert np.isnan(solved(angle, math.nan)).all()
            assert np.isnan(solved(angle, 90.0)).all()
    assert np.abs(solved(2.0 * np.pi) + first).max() <= 1e-13
    stream.forget_solutions()
    assert np.abs(solved(2.0 * np.pi) - first).max() <= 1e-13


@pytest.mark.parametrize('kind', ['Swing', 'Cardan', 'Shear', 'Ankle'])
def test_an_effort_is_mapped_after_any_number_of_commands_without_one(kind):
    """Commands that do not need the position are no failed search for it."""
    robot = robot_of(kind)
    stream = RobotMap(robot, 'joint_to_actuator')
    measured = instants_of(robot, 'joint_to_actuator', 12, seed=5)[:, 0]
    nothing = np.full((3, measured.shape[1]), np.nan)
    for each in measured:
        stream.map_command(nothing, each, MapReport())
    effort = np.ones_like(measured[-1])
    found = stream.map_command(np.stack([*nothing[:2], effort]), measured[-1], MapReport())
    fresh = RobotMap(robot, 'joint_to_actuator')
    expected = fresh.map_command(np.stack([*nothing[:2], effort]), measured[-1], MapReport())
    assert np.isfinite(expected[2]).all()
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-12)


# -- what is compiled, and what is shared --------------------------------------------------------


def test_streams_in_threads_do_not_disturb_each_other():
    """Each of four threads gets from a stream of its own what it would get alone."""
    robot = robot_of('Gear', 'Crank', 'Ankle', 'Cardan', 'Chain')
    jobs = [(direction, seed) for direction in DIRECTIONS for seed in (11, 12)]

    def of_job(job):
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


@pytest.mark.parametrize('copied', [copy.deepcopy, pickle.dumps])
def test_what_points_to_memory_is_not_copied(copied):
    """A copy that shared the arrays of its original would be wrong without an error."""
    with pytest.raises(TypeError):
        copied(RobotMap(robot_of('Swing'), 'actuator_to_joint'))
