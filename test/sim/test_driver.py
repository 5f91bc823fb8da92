# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver without a node, and its settings."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.sim.driver import (
    Driver,
    DriverSettings,
    parameter_name_of,
    range_of,
)

NAMES = ('left', 'right')
EMPTY = np.empty(0)


def moving(settings=None):
    """Return a driver with velocity commands since time 10."""
    driver = Driver(NAMES, settings or DriverSettings(), now=10.0)
    command = JointStateRecord((0, 0), '', NAMES, EMPTY, np.array([1.0, -2.0]), EMPTY)
    assert driver.command(command, now=10.0) == ()
    return driver


def test_samples_depend_on_time_and_not_on_their_number():
    """However often the driver is asked in between, the sample at a time is the same."""
    often, seldom = moving(), moving()
    for now in np.arange(10.0, 11.0, 0.01):
        often.sample(now=now)
    a, b = often.sample(now=11.0), seldom.sample(now=11.0)
    np.testing.assert_allclose(a.position, b.position, rtol=1e-13)
    np.testing.assert_allclose(a.position, np.array([1.0, -2.0]) * (1.0 - 0.05), rtol=1e-8)


def test_sample_reports_every_actuator():
    """A sample holds the names and all three interfaces, without a stamp."""
    sample = moving().sample(now=10.3)
    assert (sample.names, sample.stamp, sample.lengths) == (NAMES, (0, 0), (2, 2, 2))


def test_command_counts_from_its_own_time():
    """A command takes effect when it comes, not at the sample after it."""
    driver = moving()
    stop = JointStateRecord((0, 0), '', ('left',), EMPTY, np.array([0.0]), EMPTY)
    driver.command(stop, now=12.0)
    sample = driver.sample(now=20.0)
    # Both ramps are delayed by one time constant, so the delays cancel.
    np.testing.assert_allclose(sample.position, [2.0, -2.0 * (10.0 - 0.05)], rtol=1e-13)


def test_refused_command_changes_nothing():
    """A message that is refused leaves every actuator following what it followed."""
    driver, undisturbed = moving(), moving()
    ragged = JointStateRecord((0, 0), '', NAMES, np.array([5.0]), EMPTY, EMPTY)
    with pytest.raises(MessageError):
        driver.command(ragged, now=10.5)
    a, b = driver.sample(now=11.0), undisturbed.sample(now=11.0)
    np.testing.assert_array_equal(a.position, b.position)


def test_names_of_others_are_reported():
    """A command returns its names that are not the driver's."""
    command = JointStateRecord((0, 0), '', ('x', 'left'), EMPTY, np.array([1.0, 1.0]), EMPTY)
    assert moving().command(command, now=10.0) == ('x',)


def test_frozen_values_are_those_of_the_first_frozen_sample():
    """Switched on, freeze holds the next sample; switched off, the drive has continued."""
    driver, free = moving(), moving()
    driver.use(DriverSettings(freeze=True), now=10.2)
    held = driver.sample(now=10.3)
    np.testing.assert_array_equal(driver.sample(now=11.0).position, held.position)
    driver.use(DriverSettings(), now=11.5)
    np.testing.assert_allclose(
        driver.sample(now=12.0).position, free.sample(now=12.0).position, rtol=1e-13
    )
    driver.use(DriverSettings(freeze=True), now=12.5)
    assert np.all(driver.sample(now=13.0).position != held.position)


def test_faults_follow_seed_and_sample_count():
    """Two drivers with the same seed fail alike, one with another seed fails otherwise."""

    def losses(seed):
        driver = moving(DriverSettings(drop=0.5, seed=seed))
        return [driver.sample(now=10.0 + 0.01 * k) is None for k in range(64)]

    assert losses(1) == losses(1)
    assert losses(1) != losses(2)


@pytest.mark.parametrize(
    ('switch', 'sees'),
    [
        ({'nan': 1.0}, lambda sent: np.isnan(sent.position).all()),
        ({'subset': 1.0}, lambda sent: sent.names == ()),
        ({'duplicate': 1.0}, lambda sent: sent.names == NAMES + NAMES),
        ({'drop': 1.0}, lambda sent: sent is None),
    ],
)
def test_every_switch_reaches_its_fault(switch, sees):
    """Each setting causes the fault of its name, and no other setting does."""
    driver = moving(DriverSettings(**switch))
    assert sees(driver.sample(now=11.0))
    driver.use(DriverSettings(), now=11.0)
    assert not sees(driver.sample(now=11.0))


def test_shuffle_reaches_its_fault():
    """With shuffle on both orders of two actuators occur."""
    driver = moving(DriverSettings(shuffle=True))
    orders = {driver.sample(now=10.0).names for _ in range(32)}
    assert orders == {NAMES, NAMES[::-1]}


@pytest.mark.parametrize('setting', fields(DriverSettings), ids=lambda setting: setting.name)
def test_setting_explains_itself_and_keeps_its_range(setting):
    """Every setting has a description; its bounds are accepted, what lies beyond is refused."""
    assert setting.metadata['description'].endswith('.')
    span = range_of(setting)
    if span is None:
        assert isinstance(setting.default, bool)
        return
    for value in (*span, setting.default):
        assert getattr(replace(DriverSettings(), **{setting.name: value}), setting.name) == value
    for value in (span[0] - 1.0, span[1] * 2.0, float('nan')):
        with pytest.raises(ParameterError) as caught:
            DriverSettings(**{setting.name: value})
        assert caught.value.parameter == parameter_name_of(setting)


def test_numbers_of_a_driver_with_units_are_scaled():
    """Commands and samples are what they are in SI, divided by the scales; faults act on them."""
    scales = np.array([[2.0 * np.pi, 1.0], [2.0 * np.pi / 60.0, 1.0], [0.1, 1.0]])
    rows = {
        'position': [[0.5, 1.0], EMPTY, EMPTY],
        'velocity': [EMPTY, [1.0, -2.0], EMPTY],
        'effort': [EMPTY, EMPTY, [1e-3, 2e-3]],
    }
    for row, values in enumerate(rows.values()):
        drivers = [
            Driver(NAMES, DriverSettings(), now=0.0, scales=given) for given in (None, scales)
        ]
        for driver, scale in zip(drivers, (1.0, scales[row]), strict=True):
            arrays = [np.asarray(each, float) for each in values]
            arrays[row] = arrays[row] / scale
            driver.command(JointStateRecord((0, 0), '', NAMES, *arrays), now=0.0)
        plain, scaled = (driver.sample(now=0.3) for driver in drivers)
        for place, field in enumerate(('position', 'velocity', 'effort')):
            found = getattr(scaled, field) * scales[place]
            np.testing.assert_allclose(found, getattr(plain, field), rtol=1e-12)
