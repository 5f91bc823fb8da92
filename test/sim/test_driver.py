# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver: settings, commands as messages, and samples."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.sim.driver import Driver, DriverSettings, Mode, range_of, read_command

ABC = ('a', 'b', 'c')
NAMES = ('left', 'right')
NAN, INF = float('nan'), float('inf')


def message(names, position=(), velocity=(), effort=()):
    """Return a record."""
    arrays = (np.array(values, dtype=float) for values in (position, velocity, effort))
    return JointStateRecord((0, 0), '', tuple(names), *arrays)


def moving():
    """Return a driver with velocity commands since time 10."""
    driver = Driver(NAMES, DriverSettings(), now=10.0)
    assert driver.command(message(NAMES, velocity=(1.0, -2.0)), now=10.0) == ()
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
    seldom.command(message(['left'], velocity=[0.0]), now=12.0)
    # Both ramps are delayed by one time constant, so the delays cancel.
    position = seldom.sample(now=20.0).position
    np.testing.assert_allclose(position, [2.0, -2.0 * (10.0 - 0.05)], rtol=1e-13)


def test_refused_command_changes_nothing_and_names_of_others_are_reported():
    """A message that is refused leaves every actuator following what it followed."""
    driver, undisturbed = moving(), moving()
    with pytest.raises(MessageError):
        driver.command(message(NAMES, position=[5.0]), now=10.5)
    a, b = driver.sample(now=11.0), undisturbed.sample(now=11.0)
    np.testing.assert_array_equal(a.position, b.position)
    assert driver.command(message(['x', 'left'], velocity=(1.0, 1.0)), now=11.0) == ('x',)


@pytest.mark.parametrize('setting', fields(DriverSettings), ids=lambda setting: setting.name)
def test_setting_explains_itself_and_keeps_its_range(setting):
    """Every setting has a description; its bounds are accepted, what lies beyond is refused."""
    assert setting.metadata['description'].endswith('.')
    span = range_of(setting)
    for value in (*span, setting.default):
        assert getattr(replace(DriverSettings(), **{setting.name: value}), setting.name) == value
    for value in (span[0] - 1.0, span[1] * 2.0, NAN):
        with pytest.raises(ParameterError) as caught:
            DriverSettings(**{setting.name: value})
        assert caught.value.parameter == setting.name


@pytest.mark.parametrize(
    ('field', 'values', 'scale'),
    [
        ('position', (0.5, 1.0), (2.0 * np.pi, 1.0)),
        ('velocity', (1.0, -2.0), (2.0 * np.pi / 60.0, 1.0)),
        ('effort', (1e-3, 2e-3), (0.1, 1.0)),
    ],
)
def test_numbers_of_a_driver_with_units_are_scaled(field, values, scale):
    """Commands and samples are what they are in SI, divided by the scales."""
    scales = np.array([[2.0 * np.pi, 1.0], [2.0 * np.pi / 60.0, 1.0], [0.1, 1.0]])
    plain = Driver(NAMES, DriverSettings(), now=0.0)
    plain.command(message(NAMES, **{field: values}), now=0.0)
    scaled = Driver(NAMES, DriverSettings(), now=0.0, scales=scales)
    scaled.command(message(NAMES, **{field: np.divide(values, scale)}), now=0.0)
    in_si, found = plain.sample(now=0.3), scaled.sample(now=0.3)
    for row, quantity in enumerate(('position', 'velocity', 'effort')):
        expected = getattr(in_si, quantity)
        np.testing.assert_allclose(getattr(found, quantity) * scales[row], expected, rtol=1e-12)


P, V, E = Mode.POSITION, Mode.VELOCITY, Mode.EFFORT

# fmt: off
#: Names and arrays of a message, mode and target of the actuators that it commands, others.
COMMANDS = [
    # A value goes to the actuator named beside it, in any order and for any subset.
    ('ca', {'position': (3.0, 1.0)}, {'a': (P, 1.0), 'c': (P, 3.0)}, ''),
    ('ca', {'velocity': (3.0, 1.0)}, {'a': (V, 1.0), 'c': (V, 3.0)}, ''),
    ('ca', {'effort': (3.0, 1.0)}, {'a': (E, 1.0), 'c': (E, 3.0)}, ''),
    # A hint beside a position is used if that is not finite, which is no command.
    ('abc', {'position': (1.0, NAN, -INF), 'velocity': (4.0, 5.0, INF), 'effort': (7.0, 8.0, 9.0)},
     {'a': (P, 1.0), 'b': (V, 5.0), 'c': (E, 9.0)}, ''),
    # Actuators of other drives are told apart, and cost nothing.
    ('xby', {'effort': (1.0, 2.0, 3.0)}, {'b': (E, 2.0)}, 'xy'),
    # Names without a finite value are no command.
    ('abc', {'position': (NAN, INF, -INF)}, {}, ''),
    ('abc', {}, {}, ''),
]
# fmt: on


@pytest.mark.parametrize(('names', 'arrays', 'expected', 'unknown'), COMMANDS)
def test_a_command_is_read_by_name(names, arrays, expected, unknown):
    """Mode and target by actuator; the first finite one of position, velocity, effort decides."""
    command = read_command(message(names, **arrays), ABC)
    pairs = zip(ABC, command.mode, command.target, strict=True)
    assert {name: (mode, target) for name, mode, target in pairs if mode != Mode.NONE} == expected
    assert command.unknown == tuple(unknown)


@pytest.mark.parametrize(
    ('names', 'values', 'reason', 'words'),
    [
        ('abc', (1.0,), 'ragged', '{} values? for'),
        ('abc', (1.0, 2.0, 3.0, 4.0), 'ragged', '{} values? for'),
        ('xax', (1.0, 2.0, 3.0), 'duplicate_name', ': x'),
    ],
)
@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_refused_whole(names, values, reason, words, field):
    """An array of another length than the names, or a repeated name, also if it is not ours."""
    arrays = {'position': (1.0, 2.0, 3.0), field: values}
    with pytest.raises(MessageError, match=words.format(field)) as caught:
        read_command(message(names, **arrays), ABC)
    assert caught.value.reason == reason
