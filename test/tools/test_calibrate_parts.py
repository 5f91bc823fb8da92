# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parts of the estimator, each by what it promises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.command import rounded
from transmission_bridge.tools.calibration.fit import play
from transmission_bridge.tools.calibration.misfit import heaps, TWO_HEAPS
from transmission_bridge.tools.calibration.motion import rests
from transmission_bridge.tools.calibration.statistics import (
    block_labels,
    fit_linear,
    Rows,
    spread,
)
from transmission_bridge.tools.units import joint_unit, UNKNOWN_UNIT

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 4), st.booleans())
def test_the_influence_of_a_block_is_what_leaving_it_out_changes(seed, count, held):
    """The jackknife over blocks by refits without each of them."""
    random = np.random.default_rng(seed)
    columns = random.normal(0.0, 1.0, (120, count))
    residual = random.normal(0.0, 1.0, 120)
    weight, label = random.uniform(0.1, 1.0, 120), block_labels(120)
    known = np.full(count, 2.0) if held else np.zeros(count)
    fit = fit_linear(columns, residual, Rows(weight, label), known)
    for block in (0, 17, label[-1]):
        kept = label != block
        weighted = columns[kept] * weight[kept, np.newaxis]
        square = weighted.T @ columns[kept] + np.diag(known**2)
        without = np.linalg.solve(square, weighted.T @ residual[kept])
        np.testing.assert_allclose(fit.values - without, fit.influences[block], atol=1e-8)


def test_chance_is_that_of_noise_even_where_neighbours_err_alike():
    """With noise that remembers for a few rows a test at one per cent is wrong in about one."""
    random = np.random.default_rng(3)
    time = np.linspace(0.0, 12.0, 800)
    columns = np.stack(
        [np.ones(800), np.sin(time), np.sin(2.3 * time), np.cos(1.7 * time)], axis=1
    )
    wrong = 0
    for _ in range(300):
        noise = np.convolve(random.normal(0.0, 1.0, 803), np.ones(4) / 2.0, 'valid')
        fit = fit_linear(columns, noise, Rows(np.ones(800), block_labels(800)))
        wrong += fit.chance(2) < 0.01
    assert wrong <= 9


@given(seeds, st.floats(0.01, 0.5))
def test_a_gap_is_pushed_through_before_the_other_side_is_in_contact(seed, gap):
    """The follower is never further away than half of the gap, and moves only when pushed."""
    random = np.random.default_rng(seed)
    walk = 2.0 * gap + np.cumsum(random.normal(0.0, 0.1, 200))
    position = np.concatenate([np.linspace(0.0, 2.0 * gap, 10), walk])
    side = play(position, gap)
    assert np.abs(side).max() <= 1.0 + 1e-9
    follower = position - 0.5 * gap * side
    moved = np.flatnonzero(np.abs(np.diff(follower)) > 1e-9) + 1
    sense = np.sign(np.diff(position))[moved - 1]
    np.testing.assert_allclose(side[moved], sense, atol=1e-6)


@given(seeds, st.floats(2.5, 6.0), st.booleans())
def test_two_heaps_are_told_from_one(seed, apart, is_uneven):
    """Two fifths of the rows shifted, or none of them."""
    random = np.random.default_rng(seed)
    one = random.normal(0.0, 1.0, 600)
    assert heaps(one) < TWO_HEAPS
    share = 0.2 if is_uneven else 0.4
    assert heaps(one + (apart + 1.0) * (random.random(600) < share)) > TWO_HEAPS


def test_the_spread_is_that_of_most_values():
    """A third of outliers hardly changes it; what is not known does not count."""
    values = np.random.default_rng(5).normal(0.0, 2.0, 20_000)
    assert spread(values) == pytest.approx(2.0, rel=0.03)
    assert spread(np.array([*values, *np.full(5_000, np.nan)])) == spread(values)
    assert spread(np.array([*values, *np.full(5_000, 1e9)])) < 3.0
    assert spread(np.ones(3), fitted=3) == 0.0


def test_rows_of_a_rest_are_one_measurement():
    """What stands still for five rows or more, and nothing that moves slowly."""
    motion = np.concatenate([np.linspace(0.0, 1.0, 50), np.ones(40), np.linspace(1.0, 0.0, 50)])
    label = rests(motion[:, np.newaxis])
    assert len(np.unique(label)) == 99
    assert len(np.unique(label[49:91])) == 1


@pytest.mark.parametrize(
    ('value', 'half_width', 'text'),
    [
        (103.01234567, 0.0234, '103.012'),
        (0.3, 2.0, '0.3'),
        (0.123456789012, None, '0.123456789'),
        (1.5, 0.0, '1.5'),
        (1.5, float('inf'), '1.5'),
    ],
)
def test_a_number_has_the_digits_that_its_interval_lets_it_have(value, half_width, text):
    """Two digits of the interval, all of a number that is known exactly or not at all."""
    assert rounded(value, half_width) == text


def test_units_are_those_of_the_joints_type_and_of_the_numbers_text():
    """Metres along prismatic joints; an actuator may be either."""
    text = resource('urdf', 'topic_based.urdf').read_text(encoding='utf-8')
    robot = tb.RobotTransmissions(tb.load_description(text))
    assert joint_unit(robot.robot, 'left_finger') == 'm'
    assert joint_unit(robot.robot, 'turntable') == 'rad'
    assert joint_unit(robot.robot, 'nobody') == UNKNOWN_UNIT
    for tunables in robot.tunables.values():
        for tunable in tunables:
            expected = {'offset': UNKNOWN_UNIT, 'mechanical_reduction': '', 'lead': 'm'}
            if tunable.path[-1] in expected:
                assert tunable.unit == expected[tunable.path[-1]]
