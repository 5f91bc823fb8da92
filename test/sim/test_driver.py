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
from transmission_bridge.sim.driver import Driver, DriverSettings, Mode, range_of, read_command

NAMES = ('left', 'right')
EMPTY = np.empty(0)


def moving(settings=None):
    """Return a driver with velocity commands since time 10."""
    driver = Driver(NAMES, settings or DriverSettings(), now=10.0)
    command = JointStateRecord((0, 0), '', NAMES, EMPTY, np.array([1.0, -2.0]), EMPTY)
    assert driver.command(command, now=10.0) == ()
    return driver


def test_samples_depend_on_time_and_not_on_their_number():
    """The sample at a time is the same however often it was asked; commands count from theirs."""
    often, seldom = moving(), moving()
    for now in np.arange(10.0, 11.0, 0.01):
        often.sample(now=now)
    a, b = often.sample(now=11.0), seldom.sample(now=11.0)
    np.testing.assert_allclose(a.position, b.position, rtol=1e-13)
    np.testing.assert_allclose(a.position, np.array([1.0, -2.0]) * (1.0 - 0.05), rtol=1e-8)
    assert (a.names, a.stamp, a.lengths) == (NAMES, (0, 0), (2, 2, 2))
    stop = JointStateRecord((0, 0), '', ('left',), EMPTY, np.array([0.0]), EMPTY)
    seldom.command(stop, now=12.0)
    # Both ramps are delayed by one time constant, so the delays cancel.
    position = seldom.sample(now=20.0).position
    np.testing.assert_allclose(position, [2.0, -2.0 * (10.0 - 0.05)], rtol=1e-13)


def test_refused_command_changes_nothing_and_names_of_others_are_reported():
    """A message that is refused leaves every actuator following what it followed."""
    driver, undisturbed = moving(), moving()
    ragged = JointStateRecord((0, 0), '', NAMES, np.array([5.0]), EMPTY, EMPTY)
    with pytest.raises(MessageError):
        driver.command(ragged, now=10.5)
    a, b = driver.sample(now=11.0), undisturbed.sample(now=11.0)
    np.testing.assert_array_equal(a.position, b.position)
    command = JointStateRecord((0, 0), '', ('x', 'left'), EMPTY, np.array([1.0, 1.0]), EMPTY)
    assert driver.command(command, now=11.0) == ('x',)


@pytest.mark.parametrize('setting', fields(DriverSettings), ids=lambda setting: setting.name)
def test_setting_explains_itself_and_keeps_its_range(setting):
    """Every setting has a description; its bounds are accepted, what lies beyond is refused."""
    assert setting.metadata['description'].endswith('.')
    span = range_of(setting)
    for value in (*span, setting.default):
        assert getattr(replace(DriverSettings(), **{setting.name: value}), setting.name) == value
    for value in (span[0] - 1.0, span[1] * 2.0, float('nan')):
        with pytest.raises(ParameterError) as caught:
            DriverSettings(**{setting.name: value})
        assert caught.value.parameter == setting.name


def test_numbers_of_a_driver_with_units_are_scaled():
    """Commands and samples are what they are in SI, divided by the scales."""
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


# -- reading actuator_commands -------------------------------------------------------------------

ABC = ('a', 'b', 'c')
NAN, INF = float('nan'), float('inf')


def read(names, position=(), velocity=(), effort=()):
    """Return what is read from a record, and mode and target of what it commands by name."""
    arrays = (np.array(values, dtype=float) for values in (position, velocity, effort))
    command = read_command(JointStateRecord((0, 0), '', tuple(names), *arrays), ABC)
    pairs = zip(ABC, command.mode, command.target, strict=True)
    return command, {name: (mode, target) for name, mode, target in pairs if mode != Mode.NONE}


@pytest.mark.parametrize(
    ('field', 'mode'),
    [('position', Mode.POSITION), ('velocity', Mode.VELOCITY), ('effort', Mode.EFFORT)],
)
def test_names_decide_not_places(field, mode):
    """A value goes to the actuator named beside it, in any order and for any subset."""
    assert read('ca', **{field: (3.0, 1.0)})[1] == {'a': (mode, 1.0), 'c': (mode, 3.0)}


def test_first_of_position_velocity_effort_decides():
    """A hint beside a position is used if that is not finite, which is no command."""
    assert read(ABC, (1.0, NAN, -INF), (4.0, 5.0, INF), (7.0, 8.0, 9.0))[1] == {
        'a': (Mode.POSITION, 1.0),
        'b': (Mode.VELOCITY, 5.0),
        'c': (Mode.EFFORT, 9.0),
    }


def test_actuators_of_other_drives_are_told_apart():
    """Unknown names are listed and cost nothing; names without a finite value are no command."""
    command, told = read('xby', effort=(1.0, 2.0, 3.0))
    assert told == {'b': (Mode.EFFORT, 2.0)}
    assert command.unknown == ('x', 'y')
    assert read(ABC, (NAN, INF, -INF))[1] == read(ABC)[1] == {}


@pytest.mark.parametrize(
    ('names', 'values', 'reason', 'words'),
    [
        (ABC, (1.0,), 'ragged', '{} values? for'),
        (ABC, (1.0, 2.0, 3.0, 4.0), 'ragged', '{} values? for'),
        (('x', 'a', 'x'), (1.0, 2.0, 3.0), 'duplicate_name', ': x'),
    ],
)
@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_refused_whole(names, values, reason, words, field):
    """An array of another length than the names, or a repeated name, also if it is not ours."""
    arrays = {'position': (1.0, 2.0, 3.0), field: values}
    with pytest.raises(MessageError, match=words.format(field)) as caught:
        read(names, **arrays)
    assert caught.value.reason == reason
