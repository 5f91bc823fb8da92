# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robots and files of users that were once misunderstood: what is right, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from zoo.elements import load

from transmission_bridge.bridge import list_command_names
from transmission_bridge.bridge.states import list_followers

CASES = Path(__file__).parents[1] / 'data' / 'cases'


@pytest.mark.parametrize(
    ('case', 'expected'),
    [
        ('orca_signs', {'curl': (1.07430, -1.38230), 'spread': (-0.763944, 1.57080)}),
        ('orca_ten_turns', {'finger': (0.572958, -5.58505)}),
    ],
)
@pytest.mark.parametrize('options', [(), ('--stops', '--reductions')])
def test_files_of_a_hand_determine_signs_and_ratios(run, tmp_path, case, expected, options):
    """Two stops are two equations, wherever the motor counts from; no number is a guess."""
    folder, new = CASES / case, tmp_path / 'new.urdf'
    files = (folder / 'hand.urdf', '--orca', folder / 'calibration.yaml')
    result = run('calibrate', *files, *options, '--output', new)
    assert (result.code, 'a guess' in result.out) == (0, False)
    numbers = load(new).parameters
    for joint, (reduction, offset) in expected.items():
        name = f'{joint}_t.joints.{joint}.'
        assert numbers[f'{name}mechanical_reduction'].value == pytest.approx(reduction, rel=1e-5)
        assert numbers[f'{name}offset'].value == pytest.approx(offset, rel=1e-5)


@pytest.mark.parametrize('options', [(), ('--stops',)])
def test_a_range_that_differs_from_the_limits_is_a_guess(run, tmp_path, options):
    """Both numbers are said, and the middle is used with its uncertainty; signs are unchecked."""
    folder, new = CASES / 'lerobot_range', tmp_path / 'new.urdf'
    files = (folder / 'arm.urdf', '--lerobot', folder / 'arm.json')
    result = run('calibrate', *files, *options, '--output', new)
    assert (result.code, 'a guess, shoulder_pan ± 9.3 deg' in result.out) == (0, True)
    assert 'range in the file is 238.6 and its limits 220.0 degrees' in result.err
    assert 'repeat' not in result.out + result.err
    assert result.err.count('the file has no signs of reductions') == 1
    offset = load(new).parameters['pan_t.joints.shoulder_pan.offset'].value
    assert offset == pytest.approx(-3.22213, rel=1e-5)


def find(run, path, *options):
    """Return exit code and findings of ``check``."""
    result = run('check', path, '--json', *options)
    return result.code, result.json['findings']


def test_a_transmission_counts_and_not_the_mimic(run, tmp_path):
    """``check`` says so, each way that it names ends the finding, and the bridge obeys."""
    text = (CASES / 'mimic_with_transmission' / 'gripper.urdf').read_text()
    path, words = tmp_path / 'gripper.urdf', "joint 'right' has a transmission, which counts"
    ways = (
        ('', '', True),
        ('<mimic joint="left" multiplier="-1" offset="0.005"/>', '', False),
        ('<joint name="right"><command', '<joint name="right" mimic="false"><command', False),
    )
    for old, new, is_found in ways:
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text)
        code, findings = find(run, path)
        assert [each['message'].startswith(words) for each in findings] == [True] * is_found
        assert (code, find(run, path, '--strict')[0]) == (0, int(is_found))
    robot = load(text)
    assert list_followers(robot)[0] == ()
    assert {*list_command_names(robot).commandable} == {'left', 'right'}


def test_a_member_is_its_side_and_its_name(run, tmp_path):
    """An actuator with the name of a joint has the units of the driver, and the joint has none."""
    pytest.importorskip('matplotlib')
    path, drawn = CASES / 'same_names' / 'same.urdf', tmp_path / 'drive.svg'
    assert run('plot', path, '--output', drawn).code == 0
    assert drawn.read_text().count('<!-- driver in tick, tick/s -->') == 1
    rows = [line.split() for line in run('check', path).out.splitlines()]
    place = rows.index(['joint1', 'hinge', '1', '0', '-1', '1', '1', '1', 'rad'])
    assert [row[0] for row in rows[place : place + 3]] == ['joint1', 'actuator1', 'in']
