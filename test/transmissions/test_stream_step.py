# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission in a stream: its places, what it keeps, its commands, and its failures."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.transmissions import (
    Domain,
    MapReport,
    PositionDependentTransmission,
)
from transmission_bridge.transmissions.ankle_leg import AnkleLeg
from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission
from transmission_bridge.transmissions.interfaces import DIRECTIONS
from transmission_bridge.transmissions.parallel_ankle import ParallelAnkleTransmission
from transmission_bridge.transmissions.slider_linkages import GuidedSlider
from transmission_bridge.transmissions.step import Step
from transmission_bridge.transmissions.stream_step import StreamStep

INTERFACES = {0: 'position', 1: 'velocity', 2: 'effort'}


class Swing(PositionDependentTransmission):
    """``a = q + sin(q) / 2``, given for arrays only; the other direction is solved."""

    api_version = 1

    def __init__(self) -> None:
        super().__init__(Domain('joint', (-2.0,), (2.0,)))

    def actuator_position(self, joint_position):
        """Return ``a``."""
        return joint_position + 0.5 * np.sin(joint_position)

    def actuator_jacobian(self, joint_position):
        """Return ``da/dq``."""
        return (1.0 + 0.5 * np.cos(joint_position))[..., np.newaxis]


def ankle() -> ParallelAnkleTransmission:
    """Return an ankle with a reduction."""
    legs = (
        AnkleLeg(motor=(0.0, 0.05, 0.24), crank=0.05, rod=0.24, foot=(0.05, 0.05, 0.0)),
        AnkleLeg(motor=(0.0, -0.05, 0.15), crank=0.05, rod=0.15, foot=(0.05, -0.05, 0.0)),
    )
    return ParallelAnkleTransmission(
        legs, lower=(-0.6, -0.3), upper=(0.4, 0.3), actuator_reduction=(20.0, -30.0)
    )


MECHANISMS = {
    'arrays only': Swing(),
    'crank': CrankSliderTransmission(GuidedSlider(0.04, 0.12, 0.01), 1.5),
    'ankle': ankle(),
}


def alone(
    transmission: PositionDependentTransmission,
    direction: str,
    interfaces: dict[int, str] | None = None,
) -> tuple[StreamStep, np.ndarray]:
    """Return the step of a robot that has nothing else, and where its outputs go."""
    places = np.arange(transmission.n_joints)
    step = Step(
        'own', transmission, places, places, places, places, transmission.sample_map(direction)
    )
    outputs = np.full((3, len(places)), 9.0)
    return StreamStep(step, direction, interfaces or INTERFACES, outputs), outputs


def stream_of(transmission: PositionDependentTransmission, mapped: np.ndarray) -> StreamStep:
    """Return the step of a robot whose second of two actuators moves its first of two joints."""
    second, first = np.array([1]), np.array([0])
    step = Step(
        'swing',
        transmission,
        second,
        first,
        np.array([0]),
        first,
        transmission.sample_map('actuator_to_joint'),
    )
    return StreamStep(step, 'actuator_to_joint', INTERFACES, mapped)


def numbers_of(rows: np.ndarray) -> list[list[float]]:
    """Return the inputs of that step, row by row."""
    return rows[:, 1:].tolist()


def test_a_step_writes_its_own_joints_only() -> None:
    """Position, velocity and effort go to the places of the outputs, and nothing else changes."""
    t = Swing()
    rows, mapped = np.array([[9.0, 0.7], [9.0, 2.0], [9.0, 3.0]]), np.full((3, 2), 5.0)
    report = MapReport()
    stream = stream_of(t, mapped)
    stream.map_instant(*numbers_of(rows), rows, report)
    expected = t.map_state('actuator_to_joint', *rows[:, 1:])
    assert np.array_equal(mapped[:, :1], expected)
    assert (mapped[:, 1] == 5.0).all()
    assert not report.counts
    rows[0, 1] = 99.0
    stream.map_instant(*numbers_of(rows), rows, report)
    assert np.isnan(mapped[:, 0]).all()
    assert (mapped[:, 1] == 5.0).all()
    assert report.counts == {('swing', 'domain'): 1}


@pytest.mark.parametrize(
    ('answer', 'said'),
    [
        (None, 'inside the plugin'),
        (((0.1,), ()), 'IndexError'),
        (((), (1.0,)), 'IndexError'),
        ((('x',), (1.0,)), 'TypeError'),
    ],
)
def test_a_failing_map_of_a_sample_costs_its_own_joints(answer, said) -> None:
    """What a plugin raises or miscounts in a map of a sample is reported with its traceback."""

    class Failing(Swing):
        """Fails once it is in use."""

        fails = False

        def actuator_sample(self, joint_position):
            """Raise, or give something else."""
            if not self.fails:
                return super().actuator_sample(joint_position)
            if answer is None:
                raise RuntimeError('inside the plugin')
            return answer

    t = Failing()
    t.fails = True
    report, mapped = MapReport(), np.full((3, 2), 5.0)
    rows = np.ones((3, 2))
    stream_of(t, mapped).map_instant(*numbers_of(rows), rows, report)
    assert np.isnan(mapped[:, 0]).all()
    assert (mapped[:, 1] == 5.0).all()
    assert report.counts == {('swing', 'exception'): 1}
    assert said in report.errors['swing']


def values_of(draw: st.DataObject, t: PositionDependentTransmission, direction: str) -> np.ndarray:
    """Draw positions in the input's space, well inside the domain, and now and then outside."""
    shares = draw.draw(st.lists(st.floats(0.02, 0.98), min_size=t.n_joints, max_size=t.n_joints))
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    q = low + np.array(shares) * (high - low)
    position = q if direction == 'joint_to_actuator' else t.joint_to_actuator('position', q)
    return position + draw.draw(st.sampled_from([0.0, 0.0, 0.0, 99.0]))


@given(
    st.data(),
    st.sampled_from(sorted(MECHANISMS)),
    st.sampled_from(DIRECTIONS),
    st.lists(st.sampled_from(['all', 'none', 'one']), min_size=3, max_size=3),
    st.booleans(),
)
def test_a_command_is_what_each_interface_says(data, name, direction, given_rows, is_measured):
    """Whatever is commanded, position and velocity are mapped there, effort where joints are."""
    t = MECHANISMS[name]
    stream, outputs = alone(t, direction)
    measured = values_of(data, t, direction)
    values = np.array([values_of(data, t, direction), measured * 2.0 + 0.1, measured * 3.0 - 0.2])
    for row, which in enumerate(given_rows):
        values[row, {'all': t.n_joints, 'none': 0, 'one': 1}[which] :] = math.nan
    if not is_measured:
        measured = np.full(t.n_joints, math.nan)
    at = np.where(np.isnan(values[0]), measured, values[0])
    numbers = [*values.tolist(), at.tolist(), measured.tolist()]
    stream.map_command(numbers, values, (at, at, measured), MapReport())
    function = getattr(t, direction)
    expected = [
        function('position', values[0]),
        function('velocity', values[1], at=at),
        function('effort', values[2], at=measured),
    ]
    scale = 1.0 + np.nanmax(np.abs(expected), initial=0.0)
    assert np.allclose(outputs, expected, rtol=0.0, atol=1e-12 * scale, equal_nan=True)


def test_nothing_is_counted_of_what_is_not_commanded() -> None:
    """A joint measured outside the domain is no reason to count, if its effort is not wanted."""
    t, report = MECHANISMS['crank'], MapReport()
    stream, outputs = alone(t, 'joint_to_actuator')
    values = np.array([[0.1], [math.nan], [math.nan]])
    inside, outside = values[0], np.array([99.0])
    for effort, counts in ((math.nan, {}), (1.0, {('own', 'domain'): 1})):
        values[2] = effort
        numbers = [*values.tolist(), inside.tolist(), outside.tolist()]
        stream.map_command(numbers, values, (inside, inside, outside), report)
        assert outputs[0] == t.joint_to_actuator('position', inside)
        assert np.isnan(outputs[1:]).all()
        assert report.counts == counts


@pytest.mark.parametrize('lacks', [1, 2])
def test_an_interface_that_is_not_mapped_is_left_alone(lacks: int) -> None:
    """Of a transmission that maps two interfaces only, the third is whatever it was."""
    interfaces = {row: name for row, name in INTERFACES.items() if row != lacks}
    rows = np.array([[0.4], [2.0], [3.0]])
    for name in ('map_instant', 'map_command'):
        t = Swing()
        stream, outputs = alone(t, 'actuator_to_joint', interfaces)
        if name == 'map_instant':
            stream.map_instant(*rows.tolist(), rows, MapReport())
        else:
            numbers = [*rows.tolist(), rows[0].tolist(), rows[0].tolist()]
            stream.map_command(numbers, rows, (rows[0],) * 3, MapReport())
        expected = np.array(t.map_state('actuator_to_joint', *rows))
        expected[lacks] = 9.0
        assert np.allclose(outputs, expected, rtol=1e-13)


class Seen(Swing):
    """The same, and it tells where each solution was begun."""

    def __init__(self) -> None:
        self.starts: list[float] = []
        super().__init__()

    def map_state(self, direction, position, velocity, effort, *, guess=None, report=None):
        """Note the start."""
        self.starts.append(guess.item())
        return super().map_state(direction, position, velocity, effort, guess=guess, report=report)


def test_each_solution_begins_at_the_last_one() -> None:
    """An unknown input changes nothing; after a failure, or when told, it begins anew."""
    t, report = Seen(), MapReport()
    step = Step('own', t, *[np.array([0])] * 4)
    stream = StreamStep(step, 'actuator_to_joint', INTERFACES, np.zeros((3, 1)))
    for position in (0.6, math.nan, 0.9, 99.0, 0.6):
        rows = np.array([[position], [1.0], [1.0]])
        stream.map_instant(*rows.tolist(), rows, report)
    stream.forget()
    stream.map_instant(*rows.tolist(), rows, report)
    first, second = (t.actuator_to_joint('position', [[a]]).item() for a in (0.6, 0.9))
    expected = [math.nan, first, first, second, math.nan, math.nan]
    assert np.allclose(t.starts, expected, rtol=0.0, atol=1e-13, equal_nan=True)


class Stumbling(Swing):
    """The same, and it tells where solutions in numbers begin, and fails at a certain position."""

    def __init__(self) -> None:
        self.starts: list[float] = []
        super().__init__()

    def joint_position_near(self, actuator_position, joint_position):
        """Note the start, and raise or leave it to the solver."""
        self.starts.append(joint_position[0])
        if actuator_position == [0.9]:
            raise RuntimeError('inside the plugin')


@pytest.mark.parametrize('command', [False, True])
def test_a_start_that_a_plugin_raised_from_is_not_tried_again(command: bool) -> None:
    """After an exception a solution begins anew, as it does where none was found."""
    t, report = Stumbling(), MapReport()
    stream, _ = alone(t, 'actuator_to_joint')
    begun = []
    for position in (0.6, 0.6, 0.9, 0.6):
        t.starts.clear()
        rows = np.array([[position], [1.0], [1.0]])
        if command:
            numbers = [*rows.tolist(), [position], [position]]
            stream.map_command(numbers, rows, (rows[0],) * 3, report)
        else:
            stream.map_instant(*rows.tolist(), rows, report)
        begun.append(t.starts[0])
    assert report.counts == {('own', 'exception'): 1}
    assert begun[1] == begun[2] != begun[0]
    assert begun[3] == begun[0]
