# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The commands with linkages: joints that nobody commands, offsets of actuators, rods."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.tools.plot.command import make_curves

COMMANDED = {
    'four_bar_knee': ('knee',),
    'five_bar': ('hip', 'knee'),
    'push_rod_ankle': ('ankle_pitch', 'ankle_roll'),
}


@pytest.fixture
def save(linkages, tmp_path):
    """Return a function that saves a linkage, changed by replacements: the path and the robot."""

    def write(which, *changes):
        text = linkages[which]
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / f'{which}.urdf'
        path.write_text(text, encoding='utf-8')
        return path, tb.RobotTransmissions(tb.load_description(text, strict=True))

    return write


@pytest.fixture(params=COMMANDED)
def worked(request, save):
    """Return the names of the commanded joints, the path and the robot of each in turn."""
    return COMMANDED[request.param], *save(request.param)


# -- check ---------------------------------------------------------------------------------------


def test_limits_of_actuators_are_where_the_commanded_joints_meet_theirs(run, worked):
    """They are ranges, sampled; passive joints have no part in them."""
    commanded, path, robot = worked
    result = run('check', path, '--json', '--limits')
    assert (result.code, result.err) == (0, '')
    (transmission,) = result.json['transmissions']
    assert [each['name'] for each in transmission['joint_limits']] == [*commanded]
    low, high = (
        np.array([each[side] for each in transmission['joint_limits']])
        for side in ('lower', 'upper')
    )
    q = np.full((300, len(robot.joint_names)), np.nan)
    drawn = np.random.default_rng(0).uniform(low, high, (300, len(commanded)))
    q[:, list(robot.bindings[0].joints)] = drawn
    a = robot.joint_to_actuator('position', q)
    a = a[np.isfinite(a).all(axis=-1)]
    assert len(a) > 100
    for place, each in enumerate(transmission['actuator_limits']):
        assert each['units'] == {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'}
        width = each['upper'] - each['lower']
        # A grid does not meet the corners of what can be reached.
        assert each['lower'] - 0.05 * width < a[:, place].min()
        assert each['upper'] + 0.05 * width > a[:, place].max()
        assert np.ptp(a[:, place]) > 0.5 * width
        assert np.all(np.array(each['effort']) > 0.0)


def test_what_depends_on_nothing_has_a_ratio_of_zero(run, save):
    """Rounding is no ratio: the motor of the hip does not notice the knee."""
    path, _ = save('five_bar')
    (transmission,) = run('check', path, '--json', '--limits').json['transmissions']
    ratios = {(each['actuator'], each['joint']): each['ratio'] for each in transmission['ratios']}
    assert ratios['hip_motor', 'knee'] == 0.0
    assert ratios['hip_motor', 'hip'] == pytest.approx([9.0, 9.0])


# -- map ----------------------------------------------------------------------------------------


def test_map_prints_passive_joints_and_takes_the_commanded_ones(run, worked):
    """What it prints of all joints it takes back; of passive ones nothing is needed."""
    commanded, path, robot = worked
    values = {actuator: 0.5 - k for k, actuator in enumerate(robot.actuator_names)}

    def mapped(to, values):
        words = [f'{key}={value!r}' for key, value in values.items()]
        return run('map', path, '--to', to, '--interface', 'position', '--json', *words).json

    joints = mapped('joint', values)
    assert joints.keys() == set(robot.joint_names)
    for given in (joints, {each: joints[each] for each in commanded}):
        assert mapped('actuator', given) == pytest.approx(values, abs=1e-9)


# -- plot ----------------------------------------------------------------------------------------


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


# -- export --------------------------------------------------------------------------------------

HORN = '<loop type="rod" frame1="horn" frame2="lever"'
CROSSES = [
    (f'<loop type="point" frame1="{side}_tip"', f'<loop type="rod" frame1="{side}_cross"')
    for side in ('upper', 'lower')
]


@pytest.mark.parametrize(
    ('which', 'changes', 'values', 'patterns'),
    [
        (
            'five_bar',
            [],
            {
                'leg_linkage.actuators.hip_motor.mechanical_reduction': -9.5,
                'leg_linkage.actuators.knee_motor.offset': 0.125,
            },
            ['<mechanical_reduction>-9.5</mechanical_reduction>', '<offset>0.125</offset>'],
        ),
        # The length of a rod becomes an attribute of its loop, and changes there.
        *(
            (
                'four_bar_knee',
                changes,
                {'knee_linkage.loops.1.length': 0.3},
                [f'{HORN} length="0.3"/>'],
            )
            for changes in ([], [(f'{HORN}/>', f'{HORN} length="0.302"/>')])
        ),
        # By default a length is that of the start, which the other rod moves: both are written.
        (
            'push_rod_ankle',
            CROSSES,
            {'ankle.loops.1.length': 0.245},
            ['<loop .* length="0.245".*', r'<loop .* length="0\.1[45].*'],
        ),
    ],
)
def test_numbers_of_linkages_are_exported(
    export, numbers_of, save, which, changes, values, patterns
):
    """Where those of other transmissions are, and rods as attributes of their loops."""
    pytest.importorskip('yaml')
    path, _ = save(which, *changes)
    before = path.read_bytes()
    lines = ''.join(f'    transmissions.{key}: {value!r}\n' for key, value in values.items())
    result = export(before, f'/**:\n  ros__parameters:\n{lines}')
    assert (result.code, result.err) == (0, '')
    found = numbers_of(result.out)
    assert found | values == found
    old = before.decode().splitlines()
    new = [line.strip() for line in result.out.splitlines() if line not in old]
    assert len(new) == len(patterns)
    assert all(re.fullmatch(*pair) for pair in zip(patterns, new, strict=True))


# -- calibrate -----------------------------------------------------------------------------------


def test_a_linkage_is_not_calibrated_and_leaves_the_others_to_it(run, refuse, save, tmp_path):
    """It says so, and what to do instead; a transmission beside it is calibrated."""
    pytest.importorskip('scipy')
    waist = """
    <joint name="waist"/>
    <transmission name="waist_t"><plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="m" role="actuator1"/><joint name="waist" role="joint1">
      <mechanical_reduction>10</mechanical_reduction></joint></transmission>
  </ros2_control>"""
    link = (
        '<link name="chest"/><joint name="waist" type="continuous"><parent link="thigh"/>'
        '<child link="chest"/></joint><link name="arm"/>'
    )
    path, _ = save('four_bar_knee', ('</ros2_control>', waist), ('<link name="arm"/>', link))
    table = tmp_path / 'poses.csv'
    rows = [f'{a},{a / 10.5 + 0.1},{a},{a / 20.0}' for a in np.linspace(-5.0, 5.0, 50).tolist()]
    table.write_text('\n'.join(['actuator:m,joint:waist,actuator:knee_motor,joint:knee', *rows]))
    result = run('calibrate', path, table, '--json')
    assert "'knee_linkage' is a linkage, which is not calibrated: ~/zero" in result.err
    assert [each['name'] for each in result.json['transmissions']] == ['waist_t']
    alone = run('calibrate', path, table, '--transmission', 'waist_t')
    assert 'is a linkage' not in alone.err
    refuse('is a linkage', 'calibrate', path, table, '--transmission', 'knee_linkage')
    table.write_text('\n'.join(['knee_motor,knee', '0,0', '1,0.05']))
    only = run('calibrate', save('four_bar_knee')[0], table)
    assert (only.code, only.out) == (2, '')
    assert 'is a linkage' in only.err


# -- convert -------------------------------------------------------------------------------------


def test_converted_recordings_have_passive_joints(run, worked, tmp_path):
    """Forward all joints are written, and back nothing is missed of the commanded ones."""
    _, path, robot = worked
    fields = ('position', 'velocity', 'effort')
    states, joints, back = (tmp_path / f'{each}.csv' for each in ('states', 'joints', 'back'))
    time = 0.02 * np.arange(100)
    columns = {
        f'{actuator}.{field}': function(time + k)
        for k, actuator in enumerate(robot.actuator_names)
        for field, function in zip(fields, (np.sin, np.cos, np.ones_like), strict=True)
    }
    rows = np.stack([*columns.values()], axis=1).tolist()
    lines = [
        f'{100 + t:.2f},/actuator_states,{",".join(map(repr, row))}'
        for t, row in zip(time.tolist(), rows, strict=True)
    ]
    states.write_text('\n'.join([f'time,topic,{",".join(columns)}', *lines]))
    assert run('convert', path, states, joints).code == 0
    assert run('convert', path, joints, back, '--to', 'actuator').code == 0
    header = joints.read_text().splitlines()[0].split(',')
    assert set(header[2:]) == {f'{each}.{field}' for each in robot.joint_names for field in fields}
    with back.open() as file:
        found = [[float(row[each]) for each in columns] for row in csv.DictReader(file)]
    np.testing.assert_allclose(found, rows, rtol=1e-9, atol=1e-9)
