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
from transmission_bridge.tools.plot.command import curves_of
from transmission_bridge.tools.tune.model import TuneModel

COMMANDED = {
    'four_bar_knee': ('knee',),
    'five_bar': ('hip', 'knee'),
    'push_rod_ankle': ('ankle_pitch', 'ankle_roll'),
}


@pytest.fixture(params=COMMANDED)
def name(request):
    """Return the name of each worked linkage in turn."""
    return request.param


@pytest.fixture
def save(linkages, tmp_path):
    """Return a function that saves a linkage as a file, changed by replacements."""

    def write(which, *changes):
        text = linkages[which]
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / f'{which}.urdf'
        path.write_text(text, encoding='utf-8')
        return path

    return write


def loaded(text):
    """Return the maps of a robot and the places of its commanded joints."""
    robot = tb.RobotTransmissions(tb.load_description(text, strict=True))
    binding = robot.bindings[0]
    return robot, list(binding.joints)


# -- check ---------------------------------------------------------------------------------------


def test_limits_of_actuators_are_where_the_commanded_joints_meet_theirs(run, save, name):
    """They are ranges, sampled; passive joints have no part in them."""
    path = save(name)
    result = run('check', path, '--json', '--limits')
    assert (result.code, result.err) == (0, '')
    (transmission,) = result.json['transmissions']
    assert [each['name'] for each in transmission['joint_limits']] == [*COMMANDED[name]]
    robot, places = loaded(path.read_text(encoding='utf-8'))
    random = np.random.default_rng(0)
    low, high = (
        np.array([each[side] for each in transmission['joint_limits']])
        for side in ('lower', 'upper')
    )
    q = np.full((300, len(robot.joint_names)), np.nan)
    q[:, places] = random.uniform(low, high, (300, len(places)))
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
    (transmission,) = run('check', save('five_bar'), '--json', '--limits').json['transmissions']
    ratios = {(each['actuator'], each['joint']): each['ratio'] for each in transmission['ratios']}
    assert ratios['hip_motor', 'knee'] == 0.0
    assert ratios['hip_motor', 'hip'] == pytest.approx([9.0, 9.0])


def test_own_limits_of_actuators_narrow_those_of_the_joints(run, save):
    """As of every other type: a warning where a joint promises more than its motor can."""
    path = save(
        'four_bar_knee',
        ('<offset>0.0</offset>', '<offset>0.0</offset><limit velocity="100" effort="3"/>'),
    )
    result = run('check', path)
    assert "the velocity limit of joint 'knee' is wider" in result.out
    assert "the effort limit of joint 'knee' is wider" in result.out


# -- map and jacobian ----------------------------------------------------------------------------


def test_map_prints_passive_joints_and_takes_the_commanded_ones(run, save, name):
    """What it prints of all joints it takes back; of passive ones nothing is needed."""
    path = save(name)
    robot, _ = loaded(path.read_text(encoding='utf-8'))
    values = [f'{actuator}={0.5 - k}' for k, actuator in enumerate(robot.actuator_names)]
    joints = run('map', path, '--to', 'joint', '--interface', 'position', '--json', *values).json
    assert joints.keys() == set(robot.joint_names)
    for given in (joints, {each: joints[each] for each in COMMANDED[name]}):
        words = [f'{key}={value!r}' for key, value in given.items()]
        found = run('map', path, '--to', 'actuator', '--interface', 'position', '--json', *words)
        assert found.json == pytest.approx(
            {actuator: 0.5 - k for k, actuator in enumerate(robot.actuator_names)}, abs=1e-9
        )


def test_the_jacobian_in_actuator_coordinates_follows_the_loop(run, save):
    """Both ends of the loop are at one place and move alike."""
    path = save('five_bar')
    ends = [
        run(
            'jacobian', path, '--base', 'body', '--end', end, '--space', 'actuator', '--json',
            'hip_motor=1.5', 'knee_motor=-2.0',
        ).json
        for end in ('rod_tip', 'shin_pin')
    ]  # fmt: skip
    for key, rows in (('transform', np.s_[:3, 3]), ('jacobian', np.s_[:3])):
        one, other = (np.array(end[key])[rows] for end in ends)
        np.testing.assert_allclose(one, other, atol=1e-9)


# -- plot ----------------------------------------------------------------------------------------


def test_a_linkage_has_curves_of_its_passive_joints(run, save, name, tmp_path):
    """Over each actuator, from a position that it can have, in the unit of the joint it turns."""
    pytest.importorskip('matplotlib')
    path, output = save(name), tmp_path / 'drive.svg'
    result = run('plot', path, '--output', output)
    assert (result.code, result.err) == (0, '')
    robot, _ = loaded(path.read_text(encoding='utf-8'))
    (binding,) = robot.bindings
    found = curves_of(robot, binding)
    assert [curves.moved for curves in found] == [*robot.actuator_names]
    for curves in found:
        assert (curves.unit, curves.other_unit) == ('rad', 'rad')
        assert {*curves.names, *curves.left_out} == set(robot.joint_names)
        assert curves.names[: len(COMMANDED[name])] == COMMANDED[name]
        assert np.isfinite(curves.positions).all(axis=1).mean() > 0.5
    texts = re.findall(r'<!--(.*?)-->', output.read_text(encoding='utf-8'))
    assert {*COMMANDED[name], *robot.actuator_names} <= {text.strip() for text in texts}


def test_curves_begin_where_the_linkage_can_be(save):
    """The middle of the range may be out of reach."""
    path = save(
        'five_bar',
        ('lower="-1.4" upper="1.4" velocity="20"', 'lower="-0.2" upper="5" velocity="20"'),
    )
    robot, _ = loaded(path.read_text(encoding='utf-8'))
    (binding,) = robot.bindings
    for curves in curves_of(robot, binding):
        assert np.isfinite(curves.positions).all(axis=1).any()


# -- export --------------------------------------------------------------------------------------


def exported(run, tmp_path, path, values):
    """Return the lines that export changed: before and after."""
    parameters = tmp_path / 'tuned.yaml'
    lines = ''.join(f'    transmissions.{key}: {value!r}\n' for key, value in values.items())
    parameters.write_text(f'/**:\n  ros__parameters:\n{lines}')
    before = path.read_text(encoding='utf-8')
    result = run('export', path, '--params-file', parameters, '--output', path, '--force')
    assert (result.code, result.err) == (0, '')
    after = path.read_text(encoding='utf-8')
    robot, _ = loaded(after)
    found = {
        f'{name}.{".".join(each.path)}': each.value
        for name, tunables in robot.tunables.items()
        for each in tunables
    }
    assert found | values == found
    return before.splitlines(), after.splitlines()


def test_offsets_and_reductions_of_motors_are_exported(run, save, tmp_path):
    """They are where those of other actuators are."""
    pytest.importorskip('yaml')
    values = {
        'leg_linkage.actuators.hip_motor.mechanical_reduction': -9.5,
        'leg_linkage.actuators.knee_motor.offset': 0.125,
    }
    before, after = exported(run, tmp_path, save('five_bar'), values)
    assert [line.strip() for line in after if line not in before] == [
        '<mechanical_reduction>-9.5</mechanical_reduction>',
        '<offset>0.125</offset>',
    ]


def test_the_length_of_a_rod_is_exported(run, save, tmp_path):
    """It becomes an attribute of its loop, and changes there."""
    pytest.importorskip('yaml')
    path = save('four_bar_knee')
    loop = '<loop type="rod" frame1="horn" frame2="lever"'
    for length in (0.302, 0.3):
        _, after = exported(run, tmp_path, path, {'knee_linkage.loops.1.length': length})
        assert [line.strip() for line in after if '<loop' in line] == [
            f'{loop} length="{length}"/>'
        ]


def test_rods_without_a_length_keep_theirs_where_another_one_changes(run, save, tmp_path):
    """By default a length is that of the start, which the other rod moves."""
    pytest.importorskip('yaml')
    changes = [
        (f'<loop type="point" frame1="{side}_tip"', f'<loop type="rod" frame1="{side}_cross"')
        for side in ('upper', 'lower')
    ]
    path = save('push_rod_ankle', *changes)
    _, after = exported(run, tmp_path, path, {'ankle.loops.1.length': 0.245})
    first, second = (line.strip() for line in after if '<loop' in line)
    assert 'length="0.245"' in first
    assert re.search(r'length="0\.1[45]', second)


# -- calibrate -----------------------------------------------------------------------------------


def test_a_linkage_is_not_calibrated_and_leaves_the_others_to_it(run, save, tmp_path):
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
        '<child link="chest"/></joint>'
    )
    path = save(
        'four_bar_knee',
        ('</ros2_control>', waist),
        ('<link name="arm"/>', link + '<link name="arm"/>'),
    )
    table = tmp_path / 'poses.csv'
    rows = [f'{a},{a / 10.5 + 0.1},{a},{a / 20.0}' for a in np.linspace(-5.0, 5.0, 50).tolist()]
    table.write_text('\n'.join(['actuator:m,joint:waist,actuator:knee_motor,joint:knee', *rows]))
    result = run('calibrate', path, table, '--json')
    assert "'knee_linkage' is a linkage, which is not calibrated: ~/zero" in result.err
    assert [each['name'] for each in result.json['transmissions']] == ['waist_t']
    alone = run('calibrate', path, table, '--transmission', 'waist_t')
    assert 'is a linkage' not in alone.err
    asked = run('calibrate', path, table, '--transmission', 'knee_linkage')
    assert (asked.code, asked.out) == (2, '')
    assert 'is a linkage' in asked.err
    table.write_text('\n'.join(['knee_motor,knee', '0,0', '1,0.05']))
    only = run('calibrate', save('four_bar_knee'), table)
    assert (only.code, only.out) == (2, '')
    assert 'is a linkage' in only.err


# -- convert -------------------------------------------------------------------------------------


def test_converted_recordings_have_passive_joints(run, save, name, tmp_path):
    """Forward all joints are written, and back nothing is missed of the commanded ones."""
    path = save(name)
    robot, _ = loaded(path.read_text(encoding='utf-8'))
    actuators = robot.actuator_names
    fields = ('position', 'velocity', 'effort')
    states, joints, back = (tmp_path / f'{each}.csv' for each in ('states', 'joints', 'back'))
    time = 0.02 * np.arange(100)
    columns = [
        function(time + k)
        for k in range(len(actuators))
        for function in (np.sin, np.cos, np.ones_like)
    ]
    header = [f'{actuator}.{field}' for actuator in actuators for field in fields]
    rows = np.stack(columns, axis=1).tolist()
    lines = [
        f'{100 + t:.2f},/actuator_states,{",".join(map(repr, row))}'
        for t, row in zip(time.tolist(), rows, strict=True)
    ]
    states.write_text('\n'.join([f'time,topic,{",".join(header)}', *lines]))
    assert run('convert', path, states, joints).code == 0
    assert run('convert', path, joints, back, '--to', 'actuator').code == 0
    written = joints.read_text().splitlines()
    assert set(written[0].split(',')[2:]) == {
        f'{joint}.{field}' for joint in robot.joint_names for field in fields
    }
    with back.open() as file:
        found = list(csv.DictReader(file))
    numbers = np.array([[float(row[column]) for column in header] for row in found])
    np.testing.assert_allclose(numbers, rows, rtol=1e-9, atol=1e-9)


# -- tune ----------------------------------------------------------------------------------------


def test_a_change_is_shown_by_what_it_does_to_the_joints(save, name):
    """An offset of a motor moves the commanded joints, and each of the robot's once."""
    path = save(name)
    robot, _ = loaded(path.read_text(encoding='utf-8'))
    (transmission,) = robot.transmissions
    model = TuneModel(path.read_bytes(), robot)
    position = np.zeros(len(robot.actuator_names))
    number = f'transmissions.{transmission}.actuators.{robot.actuator_names[-1]}.offset'
    preview = model.preview({number: 0.02}, position)
    assert preview.reason == ''
    shown = [shift.joint for shift in preview.shifts]
    assert COMMANDED[name][-1] in shown
    assert len(set(shown)) == len(shown)
    assert {*shown} <= {*robot.joint_names}
    assert all(abs(shift.after - shift.before) < 0.1 for shift in preview.shifts)
