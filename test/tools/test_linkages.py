# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The commands with linkages: joints that nobody commands, offsets of actuators, rods."""

from __future__ import annotations

import re

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.tools.calibration.recorded import calibrate_recording
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.plot.command import make_curves

COMMANDED = {
    'four_bar_knee': ('knee',),
    'five_bar': ('hip', 'knee'),
    'push_rod_ankle': ('ankle_pitch', 'ankle_roll'),
}


@pytest.fixture(params=COMMANDED)
def worked(request, linkages, tmp_path):
    """Return the names of the commanded joints, the path and the robot of each in turn."""
    path, text = tmp_path / 'linkage.urdf', linkages[request.param]
    path.write_text(text, encoding='utf-8')
    robot = tb.RobotTransmissions(tb.load_description(text, strict=True))
    return COMMANDED[request.param], path, robot


def test_limits_of_actuators_are_where_the_commanded_joints_meet_theirs(run, worked):
    """They are ranges, sampled; passive joints have no part in them."""
    commanded, path, robot = worked
    result = run('check', path, '--json', '--limits')
    assert (result.code, result.err) == (0, '')
    (found,) = result.json['transmissions']
    assert [each['name'] for each in found['joint_limits']] == [*commanded]
    box = [[each[side] for each in found['joint_limits']] for side in ('lower', 'upper')]
    q = np.full((300, len(robot.joint_names)), np.nan)
    drawn = np.random.default_rng(0).uniform(*box, (300, len(commanded)))
    q[:, list(robot.bindings[0].joints)] = drawn
    a = robot.joint_to_actuator('position', q)
    a = a[np.isfinite(a).all(axis=-1)]
    assert len(a) > 100
    for each, column in zip(found['actuator_limits'], a.T, strict=True):
        assert each['units'] == {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}
        width = each['upper'] - each['lower']
        # A grid does not meet the corners of what can be reached.
        assert each['lower'] - 0.05 * width < column.min()
        assert each['upper'] + 0.05 * width > column.max()
        assert np.ptp(column) > 0.5 * width
        assert np.all(np.array(each['effort']) > 0.0)


def test_a_linkage_has_curves_of_its_passive_joints(run, worked, tmp_path):
    """Over each actuator, from a position that it can have, in the unit of the joint it turns."""
    pytest.importorskip('matplotlib')
    commanded, path, robot = worked
    output = tmp_path / 'drive.svg'
    result = run('plot', path, '--output', output)
    assert (result.code, result.err) == (0, '')
    found = make_curves(robot, robot.bindings[0])
    assert [curves.moved for curves in found] == [*robot.actuator_names]
    for curves in found:
        assert (curves.unit, curves.other_unit) == ('rad', 'rad')
        assert {*curves.names, *curves.left_out} == set(robot.joint_names)
        assert curves.names[: len(commanded)] == commanded
        assert np.isfinite(curves.positions).all(axis=1).mean() > 0.5
    texts = re.findall(r'<!--(.*?)-->', output.read_text(encoding='utf-8'))
    assert {*commanded, *robot.actuator_names} <= {text.strip() for text in texts}


HORN = '<loop type="rod" frame1="horn" frame2="lever"'
ROD = {'knee_linkage.loops.1.length': 0.3}

# fmt: off
#: Linkage, replacement in its description, new numbers, and the lines that change.
EXPORTED = {
    'numbers of actuators': (
        'five_bar', '', '',
        {'leg_linkage.actuators.hip_motor.mechanical_reduction': -9.5,
         'leg_linkage.actuators.knee_motor.offset': 0.125},
        ['<mechanical_reduction>-9.5</mechanical_reduction>', '<offset>0.125</offset>']),
    'the length of a rod becomes an attribute': (
        'four_bar_knee', '', '', ROD, [f'{HORN} length="0.3"/>']),
    'an attribute changes': (
        'four_bar_knee', f'{HORN}/>', f'{HORN} length="0.302"/>', ROD, [f'{HORN} length="0.3"/>']),
    # By default a length is that of the start, which the other rod moves: both are written.
    'two rods': (
        'push_rod_ankle', r'<loop type="point" frame1="(\w+)_tip"',
        r'<loop type="rod" frame1="\1_cross"',
        {'ankle.loops.1.length': 0.245},
        ['<loop .* length="0.245".*', r'<loop .* length="0\.1[45].*']),
}
# fmt: on


@pytest.mark.parametrize('case', EXPORTED)
def test_numbers_of_linkages_are_exported(export, numbers_of, linkages, case):
    """Where those of other transmissions are, and rods as attributes of their loops."""
    pytest.importorskip('yaml')
    which, before, after, values, patterns = EXPORTED[case]
    text = re.sub(before, after, linkages[which]) if before else linkages[which]
    lines = ''.join(f'    transmissions.{key}: {value!r}\n' for key, value in values.items())
    result = export(text.encode(), f'/**:\n  ros__parameters:\n{lines}')
    assert (result.code, result.err) == (0, '')
    found = numbers_of(result.out)
    assert found | values == found
    new = [line.strip() for line in result.out.splitlines() if line not in text.splitlines()]
    assert len(new) == len(patterns)
    assert all(re.fullmatch(*pair) for pair in zip(patterns, new, strict=True))


def test_the_numbers_of_a_linkage_are_found_in_a_recording(worked):
    """Offsets and reductions of its actuators, and rods, within their intervals."""
    pytest.importorskip('scipy')
    commanded, _, robot = worked
    name = robot.bindings[0].spec.name
    described = {each.path: each.value for each in robot.tunables[name] if each.shapes_map}
    true = {path: 0.05 if path[-1] == 'offset' else 1.01 * x for path, x in described.items()}
    real = robot.with_parameters({f'{name}.{".".join(path)}': x for path, x in true.items()})
    random, time = np.random.default_rng(3), np.arange(200) * 0.02
    q = np.full((len(time), len(robot.joint_names)), np.nan)
    for place, joint in zip(robot.bindings[0].joints, commanded, strict=True):
        limits = next(each.limits for each in robot.description.joints if each.name == joint)
        share = 0.5 + 0.35 * np.sin((1.0 + place) * time + place)
        q[:, place] = limits.lower + share * (limits.upper - limits.lower)
    a = real.joint_to_actuator('position', q)
    q += random.normal(0.0, 1e-3, q.shape)
    sides = (Series(robot.actuator_names, a, time), Series(robot.joint_names, q, time))
    (result,) = calibrate_recording(robot, Recording(*sides, in_rows=True))
    assert (result.doubts, len(result.fitted_numbers)) == ((), len(true))
    for number in result.numbers:
        error = abs(number.value - true[number.path])
        assert error < number.half_width < 0.1 * max(number.described, 1.0)


def test_recordings_have_passive_joints_and_what_is_out_of_reach_is_counted(
    run, linkages, tmp_path
):
    """The columns are those of all joints; a sample that no pose has is told, with its reason."""
    robot, states, joints = (tmp_path / each for each in ('r.urdf', 'states.csv', 'joints.csv'))
    robot.write_text(linkages['five_bar'], encoding='utf-8')
    rows = ['time,topic,hip_motor.position,knee_motor.position', '1,/actuator_states,0,0']
    states.write_text('\n'.join([*rows, '2,/actuator_states,0,90']))
    result = run('convert', robot, states, joints)
    assert result.code == 0
    assert result.err == '1 value of leg_linkage unknown: domain\n'
    header = joints.read_text().splitlines()[0].split(',')
    names = tb.RobotTransmissions(tb.load_description(linkages['five_bar'])).joint_names
    assert {f'{name}.position' for name in names} <= {*header}
