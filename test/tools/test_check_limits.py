# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints as their actuators see them, in ``transmission_bridge check``."""

from __future__ import annotations

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.kinematics import ActuatorDevice
from transmission_bridge.tools.resources import resource

ARM = resource('urdf', 'arm.urdf')


@pytest.fixture(scope='module')
def limits(run):
    """Return the limits by actuator."""
    document = run('check', ARM, '--json', '--limits').json
    return {each['name']: each for t in document['transmissions'] for each in t['actuator_limits']}


def test_they_are_where_the_limits_of_the_joints_are_met(limits):
    """For a simple one: the formula of its reduction and offset, the sense swapping the ends."""
    pan = effective_limits(tb.load_description(ARM.read_text(encoding='utf-8')), 'shoulder_pan')
    assert limits['shoulder_pan_motor'] == {
        'name': 'shoulder_pan_motor',
        'lower': pytest.approx(101.0 * (pan.lower - 0.25)),
        'upper': pytest.approx(101.0 * (pan.upper - 0.25)),
        'velocity': pytest.approx(101.0 * pan.velocity),
        'effort': pytest.approx(pan.effort / 101.0),
        'units': {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'},
    }
    roll = limits['forearm_roll_motor']
    assert (roll['lower'], roll['upper']) == (
        pytest.approx(-2.6 * 72.5),
        pytest.approx(2.6 * 72.5),
    )


def test_open_limits_are_null(limits):
    """A continuous joint in a differential leaves both motors without bounds."""
    assert limits['wrist_left_motor']['lower'] is None
    assert limits['wrist_left_motor']['velocity'] == pytest.approx(48.0 * (1.25 * 3.0 + 0.8 * 4.0))


def test_they_agree_with_the_device(limits):
    """The actuator device of the whole arm has the same numbers."""
    robot = tb.load_description(ARM.read_text(encoding='utf-8'))
    device = ActuatorDevice.from_description(robot, base='base_link', end='tool_link')
    numbers = zip(
        device.actuator_names, *device.bounds, device.velocity_limits, device.effort_limits,
        strict=True,
    )  # fmt: skip
    for name, lower, upper, velocity, effort in numbers:
        found = limits[name]
        for key, value in (('velocity', velocity), ('effort', effort)):
            assert found[key] == pytest.approx(value)
        if np.isfinite(lower):
            assert (found['lower'], found['upper']) == (
                pytest.approx(lower), pytest.approx(upper),
            )  # fmt: skip


def test_the_text_has_them_and_the_plain_json_has_not(run):
    """People see them without asking; the documented shape of the JSON stays."""
    text = run('check', ARM).out
    assert 'limits of the joints, as actuators see them' in text
    assert '-318.15' in text
    transmissions = run('check', ARM, '--json').json['transmissions']
    assert all('actuator_limits' not in transmission for transmission in transmissions)


def test_limits_that_contradict_each_other_give_no_bounds(run, tmp_path):
    """A joint without any allowed position has no bounds to map, and nothing fails."""
    path = tmp_path / 'crossed.urdf'
    path.write_text(
        ARM.read_text(encoding='utf-8').replace('lower="-2.9" upper="2.9"', 'lower="1" upper="-1"')
    )
    document = run('check', path, '--json', '--limits').json
    pan = document['transmissions'][0]['actuator_limits'][0]
    assert (pan['lower'], pan['upper']) == ('varies', 'varies')
