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
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.robust import (
    BIWEIGHT,
    biweight_loss,
    influence,
    influence_slope,
    spread,
)
from transmission_bridge.tools.calibration.slips import find_slips
from transmission_bridge.tools.units import joint_unit, tunable_unit, UNKNOWN_UNIT

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(40, 360), st.sampled_from([-1.0, 1.0]), st.floats(6.0, 50.0))
def test_a_slip_is_found_where_it_is(seed, place, sense, size):
    """Among outliers as well, to within the row or two that the noise hides."""
    random = np.random.default_rng(seed)
    residual = random.normal(0.0, 1.0, 400)
    residual[place:] += sense * size
    residual[random.integers(0, 400, 8)] = 1e3
    (found,) = find_slips(residual, 1.0)
    assert abs(found - place) <= 3


@pytest.mark.parametrize('correlation', [0.0, 0.9])
def test_noise_alone_hardly_ever_slips(correlation):
    """Nor does noise that remembers, which wanders."""
    random = np.random.default_rng(3)
    found = 0
    for _ in range(100):
        noise = random.normal(0.0, 1.0, 600)
        for row in range(1, 600):
            noise[row] = correlation * noise[row - 1] + np.sqrt(1 - correlation**2) * noise[row]
        found += bool(find_slips(noise, 1.0))
    assert found <= 3


def test_the_loss_and_the_influence_are_derivatives_of_each_other():
    """``rho'`` and ``rho''`` by ``z``, ``psi = u rho'(u^2)`` and ``psi'`` by ``u``."""
    u = np.linspace(-1.5 * BIWEIGHT, 1.5 * BIWEIGHT, 4001)
    step = 1e-6
    value, first, second = biweight_loss(u * u)
    ahead, behind = biweight_loss(u * u + step), biweight_loss(u * u - step)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), first, atol=1e-7)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * step), second, atol=1e-6)
    np.testing.assert_allclose(influence(u), u * first, atol=1e-12)
    slope = (influence(u + step) - influence(u - step)) / (2 * step)
    np.testing.assert_allclose(slope, influence_slope(u), atol=1e-6)
    assert value[0] == value[-1] == pytest.approx(BIWEIGHT**2 / 3.0)


def test_the_spread_is_that_of_most_values():
    """A third of outliers hardly changes it; what is not known does not count."""
    values = np.random.default_rng(5).normal(0.0, 2.0, 20_000)
    assert spread(values) == pytest.approx(2.0, rel=0.03)
    assert spread(np.array([*values, *np.full(5_000, np.nan)])) == spread(values)
    assert spread(np.array([*values, *np.full(5_000, 1e9)])) < 3.0
    assert spread(np.ones(3), fitted=3) == 0.0


@given(st.integers(1, 400), st.integers(1, 400))
def test_thinning_keeps_rows_whole_and_both_ends(rows, most):
    """At most so many rows, evenly, in order."""
    numbers = np.arange(float(rows))
    pairs = Pairs(numbers[:, np.newaxis], -numbers[:, np.newaxis], numbers, True)
    thin = pairs.thinned(most)
    assert len(thin.time) == min(rows, most)
    np.testing.assert_array_equal(thin.actuators[:, 0], thin.time)
    np.testing.assert_array_equal(thin.joints[:, 0], -thin.time)
    if most > 1:
        assert (thin.time[0], thin.time[-1]) == (0.0, rows - 1.0)
        steps = np.diff(thin.time)
        assert not len(steps) or steps.max() - steps.min() <= 1.0


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
                assert tunable_unit(tunable) == expected[tunable.path[-1]]
