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
from transmission_bridge.tools.calibration.command import round_to_interval
from transmission_bridge.tools.calibration.fit import compute_contact_side, estimate_spread
from transmission_bridge.tools.calibration.motion import find_rests
from transmission_bridge.tools.calibration.noise import ResidualSample
from transmission_bridge.tools.calibration.results import describe_times
from transmission_bridge.tools.units import joint_unit, UNKNOWN_UNIT

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize('remembers', ['nothing', 'a few rows', 'pink'])
def test_chance_is_that_of_noise_even_where_neighbours_err_alike(remembers):
    """A test at one per cent is wrong in about one, whatever the noise remembers."""
    random = np.random.default_rng(3)
    time = np.linspace(0.0, 12.0, 800)
    columns = np.stack(
        [np.ones(800), np.sin(time), np.sin(2.3 * time), np.cos(1.7 * time)], axis=1
    )
    power = np.maximum(np.arange(801), 1.0) ** -0.5
    wrong = 0
    for _ in range(300):
        noise = random.normal(0.0, 1.0, 1600)
        if remembers == 'a few rows':
            noise = np.convolve(noise, np.ones(4) / 2.0, 'same')
        elif remembers == 'pink':
            noise = 20.0 * np.fft.irfft(np.fft.rfft(noise) * power)
        sample = ResidualSample([np.arange(800)], noise[:800], columns)
        wrong += sample.fit_columns(columns).compute_chance(2) < 0.01
    assert wrong <= 9


@given(seeds, st.floats(0.01, 0.5))
def test_a_gap_is_pushed_through_before_the_other_side_is_in_contact(seed, gap):
    """The follower is never further away than half of the gap, and moves only when pushed."""
    random = np.random.default_rng(seed)
    walk = 2.0 * gap + np.cumsum(random.normal(0.0, 0.1, 200))
    position = np.concatenate([np.linspace(0.0, 2.0 * gap, 10), walk])
    side = compute_contact_side(position, gap)
    assert np.abs(side).max() <= 1.0 + 1e-9
    follower = position - 0.5 * gap * side
    moved = np.flatnonzero(np.abs(np.diff(follower)) > 1e-9) + 1
    sense = np.sign(np.diff(position))[moved - 1]
    np.testing.assert_allclose(side[moved], sense, atol=1e-6)


def test_the_spread_is_that_of_most_values():
    """A third of outliers hardly changes it; what is not known does not count."""
    values = np.random.default_rng(5).normal(0.0, 2.0, 20_000)
    assert estimate_spread(values) == pytest.approx(2.0, rel=0.03)
    assert estimate_spread(np.array([*values, *np.full(5_000, np.nan)])) == estimate_spread(values)
    assert estimate_spread(np.array([*values, *np.full(5_000, 1e9)])) < 3.0
    assert estimate_spread(np.ones(3), fitted=3) == 0.0


def test_rows_of_a_rest_are_one_measurement():
    """Both sides stand still for five rows or more; nothing of it moves slowly."""
    motion = np.concatenate([np.linspace(0.0, 1.0, 50), np.ones(40), np.linspace(1.0, 0.0, 50)])
    still = np.ones((140, 2))
    label = find_rests(motion[:, np.newaxis], still)
    assert len(np.unique(label)) == 99
    assert len(np.unique(label[49:91])) == 1
    still[49:91, 1] = np.linspace(0.0, 0.1, 42)
    assert len(np.unique(find_rests(motion[:, np.newaxis], still))) == 140


def test_rows_are_named_by_stretches():
    """The first four stretches, and how many more there are."""
    time, chosen = np.arange(20) * 0.5, np.zeros(20, dtype=bool)
    chosen[[1, 3, 4, 5, 8]] = True
    assert describe_times(time, chosen, timed=True) == 't = 0.5, 1.5 to 2.5, 4 s'
    chosen[[10, 12, 14]] = True
    assert describe_times(time * 2.0, chosen, timed=False) == 'rows 1, 3 to 5, 8, 10 and 2 more'


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
    assert round_to_interval(value, half_width) == text


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
