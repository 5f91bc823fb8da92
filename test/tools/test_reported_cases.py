# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robots and files of users that were once misunderstood: what is right, and what is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from zoo.elements import load, params, ratio, transmission, urdf
from zoo.linkages import crank_slider, joint as draw_joint, POINT

from transmission_bridge.bridge import list_command_names
from transmission_bridge.bridge.states import list_mimic_followers
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.equation_types import CrankSliderTransmission, GuidedSlider

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


def find(run, path, *options, **more):
    """Return exit code and findings of ``check``."""
    result = run('check', path, '--json', *options, **more)
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
    assert list_mimic_followers(robot)[0] == ()
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


def test_numbers_of_a_drive_outside_of_a_transmission_are_named(run):
    """With the place where they count; strictly they are errors."""
    path = CASES / 'driver_numbers' / 'joint_params.urdf'
    code, findings = find(run, path)
    assert (code, [each['line'] for each in findings]) == (0, [10, 10, 11])
    for each, name in zip(findings, ('gear_ratio', 'offset', 'mechanical_reduction'), strict=True):
        assert f'unread <param name="{name}"> of joint ' in each['message']
        assert 'in a <transmission>' in each['message']
    code, findings = find(run, path, '--strict')
    assert (code, [each['severity'] for each in findings]) == (1, ['error'] * 3)


@pytest.mark.parametrize(
    ('given', 'is_found'),
    [
        ('joint1_mechanical_reduction=2', True),
        ('transmission_to_joint_matrix=1 0 0 1', True),
        ('motor_direction=-1', True),
        ('reversed=true', True),
        ('gearRatio=50', True),
        ('homing_offset=0.1', True),
        # Without an effect, or another number.
        ('motor_direction=1', False),
        ('reversed=False', False),
        ('gear_ratio=1.0', False),
        ('offset=0', False),
        ('torque_offset=3', False),
        ('id=7', False),
        ('operation_mode=ratio', False),
    ],
)
def test_names_of_numbers_of_a_drive(given, is_found):
    """Also of the hardware, unless all of its joints have a transmission."""
    name, _, value = given.partition('=')
    inside = params(**{name: value})
    text = urdf(['j'])
    in_joint = text.replace('<joint name="j"/>', f'<joint name="j">{inside}</joint>')
    in_hardware = text.replace('</hardware>', f'{inside}</hardware>')
    driven = transmission('t', 'Simple', ['j'], ['m'])
    for place in (in_joint, in_hardware):
        assert len(load(place).findings) == is_found
        assert load(place.replace('</ros2_control>', f'{driven}</ros2_control>')).findings == ()


def test_an_old_mimic_is_named_and_the_new_one_is_used(run, save):
    """The joint follows as soon as its <mimic> is written as the finding says."""
    text = (CASES / 'mimic_params' / 'gripper.urdf').read_text()
    path = save(text)
    findings = find(run, path)[1]
    assert [each['line'] for each in findings] == [11, 11]
    assert all('expected <mimic joint="..." multiplier=' in each['message'] for each in findings)
    limit = '<limit lower="0" upper="0.04" velocity="0.1" effort="10"/></joint>'
    follows = limit.replace('0" upper="0.04"', '-0.08" upper="0"')
    follows = f'<mimic joint="right" multiplier="-2"/>{follows}'
    path.write_text(follows.join(text.rsplit(limit, 1)))
    assert find(run, path) == (0, [])
    assert list_mimic_followers(load(path))[0] == ('left',)


def test_a_linkage_of_joints_without_limits_is_judged_by_its_reach(run, save, linkages):
    """It has limits and a card, and is not called dead at all of its positions."""
    text = re.sub('lower="[^"]*" upper="[^"]*" ', '', linkages['four_bar_knee'])
    path = save(text.replace('type="revolute"', 'type="continuous"'))
    assert find(run, path) == (0, [])
    (gear,) = run('check', path, '--json').json['transmissions']
    assert gear['actuator_limits'][0]['lower'] < 0.0 < gear['actuator_limits'][0]['upper']
    assert run('card', path).code == 0


def test_a_gap_of_rounded_dimensions_names_the_tolerance_that_closes_it(linkages):
    """The linkage is used with it."""
    pin = '<child link="shin_pin"/><origin xyz="0.06 0 0"'
    text = linkages['five_bar']
    assert pin in text
    text = text.replace(pin, f'{pin} rpy="1e-7 0 0"')
    (error,) = load(text).findings
    tolerance = re.search('(<param name="tolerance">.*?</param>) closes', str(error))
    closed = load(text.replace('</transmission>', f'{tolerance[1]}</transmission>'))
    assert (closed.findings, [*closed.transmissions]) == ((), ['leg_linkage'])


@pytest.mark.parametrize(('lower', 'upper', 'words'), [
    (-0.9, 0.6, None), (-3.0, 3.0, 'is used; write this one'), (0.6, -0.9, 'lower below upper'),
])  # fmt: skip
def test_a_range_of_an_equation_is_between_dead_centres(lower, upper, words):
    """Beyond one the part that is used is named, and has no finding; a reversed one is refused."""
    dimensions = params(crank_radius=0.04, rod_length=0.12, crank_angle=1.5)

    def read(lower, upper):
        ends = {'j': params(lower=lower, upper=upper)}
        return load(urdf(['j'], transmission('t', 'CrankSlider', ends, ['m'], dimensions)))

    found = read(lower, upper).findings
    assert len(found) == (words is not None)
    if words:
        assert words in str(found[0])
    if words and (used := re.search('and (\\S+) to (\\S+) rad is used', str(found[0]))):
        assert read(*map(float, used.groups())).findings == ()


def test_an_open_linkage_names_the_smallest_gap_of_the_search():
    """Two arms of 0.2 m end 8.6 m before a pin 9 m away; the last Newton step may be far off."""
    away = draw_joint('away', 'block', 'far', (9.0, 0.0, 0.0), kind='fixed') + '<ros2_control'
    text = crank_slider(POINT.replace('block', 'far')).replace('<ros2_control', away, 1)
    (finding,) = (each for each in load(text).findings if each.severity == 'error')
    assert float(re.search(r'(\S+) at best', finding.found)[1]) == pytest.approx(9.0 - 0.4)


def test_a_reversed_range_of_a_plugin_is_refused():
    """Ends in the wrong order are a slip, not another name of the same range."""
    with pytest.raises(TransmissionError, match='lower below upper'):
        CrankSliderTransmission(GuidedSlider(0.04, 0.12, 0.0), 1.5).bare_range('joint', [1], [-1])


# -- loops ---------------------------------------------------------------------------------------


def test_notes_of_a_reader_are_beside_an_error(run, save):
    """A coupling that is not read is a likely cause of an empty result."""
    folder = CASES / 'polynomial'
    text = (folder / 'finger.xml').read_text()
    text = text.replace('<joint joint1', '<joint name="bend" active="false" joint1')
    result = run('loops', folder / 'finger.urdf', '--from', save(text, 'finger.xml'))
    assert result.code == 2
    assert result.err.startswith("note: <joint> 'bend' is not read, or not active")


#: What else drives the finger of the polynomial: the bent joint, or a tendon along both.
POLYNOMIAL_MOTORS = {
    'leader': ('', lambda q, r: q),
    'follower': ('joint="jb"', lambda q, r: r),
    'tendon': ('tendon="t"', lambda q, r: 0.02 * q + 0.01 * r),
}


@pytest.mark.parametrize('motor', POLYNOMIAL_MOTORS)
def test_a_polynomial_becomes_a_table_with_its_error(run, save, tmp_path, motor):
    """Positions are those of MuJoCo's polynomial to the stated error, with ref and a chain."""
    folder, out = CASES / 'polynomial', tmp_path / 'new.urdf'
    words, position_of_motor = POLYNOMIAL_MOTORS[motor]
    text = (folder / 'finger.xml').read_text().replace('name="jb"', 'name="jb" ref="0.1"')
    tendon = (
        '<tendon><fixed name="t"><joint joint="ja" coef="0.02"/><joint joint="jb" coef="0.01"/>'
    )
    if words:
        text = text.replace('joint="ja"/></actuator>', f'{words} gear="5"/></actuator>')
    text = text.replace('<equality>', f'{tendon}</fixed></tendon><equality>')
    words = ('--from', save(text, 'finger.xml'), '--output', out)
    result = run('loops', folder / 'finger.urdf', *words).expect()
    (stated,) = re.findall('at most (\\S+) rad', result.out)
    robot = load(out)
    q = np.linspace(0.0, 1.5, 301)
    r = 0.1 + 0.6 * q + 0.3 * q**2 - 0.05 * q**3
    a = position_of_motor(q, r) * robot.transmissions['coupling'].actuator_reduction
    found = robot.actuator_to_joint('position', a[:, np.newaxis])
    expected = np.stack([q, r], axis=1)
    assert robot.joint_names == ('ja', 'jb')
    assert 0.2 * float(stated) < np.abs(found - expected).max() < 1.2 * float(stated) < 1e-4
    assert run('check', out).code == 0


@pytest.mark.parametrize(('file', 'old', 'new', 'words', 'mend'), [
    ('finger.xml', '0 0.6 0.3', '0 0.6 -0.3', "limits of 'ja' within which 'jb' does not turn",
     ('finger.urdf', 'upper="1.5"', 'upper="0.8"')),
    ('finger.urdf', 'lower="0.0" upper="1.5"', '', "expected <limit lower upper> of 'ja'",
     ('finger.urdf', '<limit  ', '<limit lower="0" upper="1" ')),
    ('finger.urdf', '<axis xyz="0.0 0.0 1.0"/><limit lower="0.0" upper="2.0"',
     '<mimic joint="ja" multiplier="0.9"/><limit lower="0.0" upper="2.0"',
     'expected no <mimic> of jb in the URDF',
     ('finger.urdf', '<mimic joint="ja" multiplier="0.9"/>', '')),
    ('finger.urdf', 'lower="0.0" upper="1.5"', 'lower="-1" upper="1"', "'jb' does not turn back",
     ('finger.xml', '0 0.6 0.3 -0.05', '0 0 0 0.3')),
    ('finger.xml', '</equality>', '<joint joint1="ja" polycoef="0.2"/></equality>',
     'found 1 motor and 2 rows for jb, ja',
     ('finger.xml', '<joint joint1="ja" polycoef="0.2"/>', '')),
    ('finger.xml', '</actuator>', '<position name="n" joint="jb"/></actuator>',
     'found 2 motors and 1 row for jb, ja',
     ('finger.xml', '<position name="n" joint="jb"/>', '')),
])  # fmt: skip
def test_a_polynomial_that_is_no_table_is_refused_with_what_mends_it(
    run, tmp_path, file, old, new, words, mend
):
    """The sentence names joint and place; what it expects is accepted."""
    for each in ('finger.urdf', 'finger.xml'):
        shutil.copy(CASES / 'polynomial' / each, tmp_path)
    call = ('loops', tmp_path / 'finger.urdf', '--from', tmp_path / 'finger.xml')
    results = []
    for path, before, after in ((file, old, new), mend):
        text = (tmp_path / path).read_text()
        assert before in text
        (tmp_path / path).write_text(text.replace(before, after))
        results.append(run(*call))
    wrong, mended = results
    assert (wrong.code, words in wrong.err) == (2, True), wrong.err
    assert mended.code == 0


def test_a_joint_with_a_transmission_is_named_before_anything_is_written(run, save, tmp_path):
    """With its line in this file; without this transmission the linkage is written."""
    path, new = CASES / 'driven_joint' / 'knee_ros1.urdf', tmp_path / 'new.urdf'
    words = ('--drive', 'knee_crank=knee_motor', '--output', new)
    result = run('loops', path, *words)
    assert (result.code, new.exists()) == (2, False)
    assert "joint 'knee' has transmission 'knee_trans' (line 22) in this file" in result.err
    free = save(re.sub('<transmission.*</transmission>', '', path.read_text()), 'free.urdf')
    assert run('loops', free, *words).code == 0
    assert [*load(new).transmissions] == ['linkage']


def test_a_mimic_is_read_back_where_it_was_asked_for(refuse, run, save, tmp_path):
    """Without one it is asked for; with it an equality or a tendon over both joints counts."""
    folder, new = CASES / 'mimic_equality', tmp_path / 'new.urdf'
    source = folder / 'twin_eq.xml'
    refuse('expected <mimic> in the URDF', 'loops', folder / 'twin.urdf', '--from', source)
    words = ('--command', 'left_lever_j', '--output', new)
    result = run('loops', folder / 'twin_mimic.urdf', '--from', source, *words)
    result.expect(out="'joint_3' states the <mimic> of the URDF, and is left out")
    expected = load(new).transmissions['linkage']
    text = re.sub('<joint joint1.*?/>', '', source.read_text())
    sides = ''.join(f'<joint joint="{side}_crank_j" coef="0.5"/>' for side in ('left', 'right'))
    both = f'<tendon><fixed name="both">{sides}</fixed></tendon><actuator>'
    text = text.replace('<actuator>', both).replace('joint="left_crank_j" kp', 'tendon="both" kp')
    tendon = save(text, 'tendon.xml')
    run('loops', folder / 'twin_mimic.urdf', '--from', tendon, *words, '--force').expect()
    found = load(new).transmissions['linkage']
    for a in ([0.1], [-0.2]):
        q = [each.actuator_to_joint('position', a) for each in (found, expected)]
        assert q[0].tolist() == pytest.approx(q[1].tolist())


def test_an_equality_that_contradicts_the_mimic_is_refused(refuse, save):
    """Two statements about one joint: neither is chosen in silence."""
    folder = CASES / 'mimic_equality'
    text = (folder / 'twin_eq.xml').read_text()
    source = save(text.replace('polycoef="0 1 0 0 0"', 'polycoef="0 -1 0 0 0"'), 'twin.xml')
    words = "'joint_3': the <mimic> of right_crank_j is another one"
    refuse(words, 'loops', folder / 'twin_mimic.urdf', '--from', source)


def test_a_joint_of_several_axes_is_named(refuse, run, save, tmp_path):
    """As three joints in the URDF, the lever is where the length of the rod has it."""
    folder = CASES / 'spherical'
    text, source = (folder / 'rssr.urdf').read_text(), folder / 'robot.yaml'
    refuse("joint_type of 'ball_a' is SPHERICAL", 'loops', folder / 'rssr.urdf', '--from', source)
    for ball in ('ball_a', 'ball_b'):
        joint = re.search(f'<joint name="{ball}".*?</joint>', text)[0]
        child = re.search('child link="(.*?)"', joint)[1]
        first = joint.replace(f'"{child}"', f'"{child}_1"').replace('xyz="0 0 1"', 'xyz="1 0 0"')
        more = f'<link name="{child}_1"/><link name="{child}_2"/>{first}'
        limit = re.search('<limit.*?/>', joint)[0]
        for n, (axis, end) in enumerate((('0 1 0', f'{child}_2'), ('0 0 1', child)), 1):
            more += f'<joint name="{ball}_{n}" type="revolute"><parent link="{child}_{n}"/>'
            more += f'<child link="{end}"/><axis xyz="{axis}"/>{limit}</joint>'
        text = text.replace(joint, more)
    new, loops = (
        tmp_path / 'new.urdf',
        save(source.read_text().partition('joint_name')[0], 'r.yaml'),
    )
    result = run('loops', save(text), '--from', loops, '--command', 'lever_j', '--output', new)
    assert 'equations of rank 6' in result.out
    moved = load(new).transmissions['linkage'].actuator_to_joint('position', [0.2])
    assert moved[0] == pytest.approx(0.23294, abs=1e-5)


def test_a_motor_that_commands_its_own_joint_is_not_written(run, save, linkages, tmp_path):
    """No loop has a use then, which is not a success."""
    text, new = linkages['five_bar'], tmp_path / 'new.urdf'
    robot = save(re.sub('<ros2_control.*</ros2_control>', '', text, flags=re.DOTALL))
    loop = "closed_loop: [['rod_tip', 'shin_pin']]\ntype: ['3d']\n"
    for motors, code in (('hip, knee', 1), ('hip, knee_crank', 0)):
        source = save(f'{loop}name_mot: [{motors}]\n', 'loops.yaml')
        words = ('--command', 'hip', '--command', 'knee', '--output', new)
        result = run('loops', robot, '--from', source, *words)
        assert (result.code, new.exists()) == (code, not code)
        assert ('turn the joints that they command' in result.out) == bool(code)


# -- card ----------------------------------------------------------------------------------------


def list_actuators(run, *options):
    """Return the actuators of the MJCF of a card, attributes by name."""
    out = run('card', CASES / 'joint_gains' / 'rob.urdf', '--mjcf', *options).out
    root = ElementTree.fromstring(out)
    return out, {each.get('name'): (each.tag, each.attrib) for each in root.find('actuator')}


def test_gains_of_coupled_joints_are_exact_in_mjcf(run, save):
    """They are at the joints, which no gains of motors can express; limits are in a comment."""
    out, found = list_actuators(run, '--motors', CASES / 'joint_gains' / 'jg.yaml')
    for joint, kp, kd in (('pitch', 80.0, 2.0), ('roll', 10.0, 0.5)):
        tag, attributes = found[joint]
        assert (tag, attributes['joint']) == ('position', joint)
        assert (float(attributes['kp']), float(attributes['kv'])) == (kp, kd)
    assert {'m_l', 'm_r'}.isdisjoint(found)
    assert 'effort limits of the motors: m_l inf, m_r inf' in out
    alone = save('joints: {pitch: {kp: 80}}', 'alone.yaml')
    out, found = list_actuators(run, '--motors', alone)
    assert 'roll has no wanted gains' in out
    assert (found['roll'][0], 'kp' in found['roll'][1]) == ('motor', False)
    # Gains of motors stay at the motors.
    alone.write_text('actuators: {m_l: {kp: 2}, m_r: {kp: 3}}')
    assert {'m_l', 'm_r'} <= {*list_actuators(run, '--motors', alone)[1]}


def test_one_motor_has_a_ratio_for_each_of_its_joints(run):
    """Each is that of the joint, and not a share of a pseudo-inverse."""
    matrix = params(matrix='0.05; 0.04')
    text = urdf(['a', 'b'], transmission('t', 'Coupled', ['a', 'b'], ['m'], matrix))
    (card,) = run('card', '-', '--json', stdin=text.encode()).json['transmissions']
    assert card['actuators'][0]['ratio'] == {'a': pytest.approx(20.0), 'b': pytest.approx(25.0)}


def test_a_torque_speed_curve_is_a_motor_of_isaac_lab(run, save):
    """The line through its fastest points is that of DCMotorCfg, at the joint."""
    curve = 'actuators: {m: {torque_speed_curve: [[0, 1.2], [200, 1.2], [300, 0]]}}'
    text = urdf(['j'], transmission('t', 'Simple', {'j': ratio(50)}, ['m'])).encode()
    out = run('card', '-', '--motors', save(curve, 'm.yaml'), '--isaaclab', stdin=text).out
    assert "'t': DCMotorCfg(" in out
    for words in (
        "effort_limit={'j': 60.0}",
        "velocity_limit={'j': 6.0}",
        'saturation_effort=180',
    ):
        assert words in out


def test_effort_limits_of_coupled_joints_are_not_simultaneous(run, save):
    """That is said for coupled joints only."""
    motors = 'actuators: {m_l: {effort: 1}, m_r: {effort: 1}, m_hinge: {effort: 1}}'
    robot = CASES / 'joint_gains' / 'rob.urdf'
    out = run('card', robot, '--motors', save(motors, 'motors.yaml')).out
    assert out.count('for one joint at a time, not simultaneous') == 1
    assert "transmission 'wrist': the effort limits" in out


# -- export, map and descriptions ----------------------------------------------------------------


def test_the_servo_arm_is_exported_to_lerobot(run, refuse, tmp_path):
    """Its roll passes the seam; the other motors have the ranges and numbers of its file."""
    folder, file = Path(__file__).parents[2] / 'examples' / 'servo_arm', tmp_path / 'arm.json'
    robot = folder / 'servo_arm.urdf'
    refuse("joint 'wrist_roll': expected its limits", 'export', robot, '--lerobot', file)
    given = json.loads((folder / 'lerobot.json').read_text())
    names = [name for name in given if name != 'wrist_roll']
    chosen = [word for name in names for word in ('--transmission', f'{name}_transmission')]
    assert run('export', robot, '--lerobot', file, *chosen).code == 0
    found = json.loads(file.read_text())
    assert [*found] == names
    for name in names:
        for key, most in (('id', 0), ('range_min', 1), ('range_max', 1)):
            assert abs(found[name][key] - given[name][key]) <= most
    # Of a file that exists only the chosen motor changes.
    file.write_text(json.dumps({name: {**each, 'range_min': 1} for name, each in found.items()}))
    run('export', robot, '--lerobot', file, *chosen[:2], '--force')
    changed = json.loads(file.read_text())
    assert [each['range_min'] == 1 for each in changed.values()] == [False, *[True] * 4]


def test_ticks_are_printed_as_integers(run):
    """A driver has no parts of ticks; the JSON is exact."""
    robot = Path(__file__).parents[2] / 'examples' / 'servo_arm' / 'servo_arm.urdf'
    words = ('map', robot, '--to', 'actuator', '--interface', 'position', 'shoulder_pan=0.3')
    exact = 2048 + 0.3 * 4096 / math.tau
    assert run(*words).out.splitlines()[0].split() == ['shoulder_pan_servo', '2244', 'tick']
    assert run(*words, '--json').json['shoulder_pan_servo'] == pytest.approx(exact, abs=1e-2)


def test_a_transmission_outside_of_its_block_is_one_error(run):
    """It says where the transmission belongs, and there it is used."""
    inside = transmission('t', 'Simple', {'j': ratio(50)}, ['m'])
    text = urdf(['j'], inside)
    assert load(text).findings == ()
    outside = text.replace(inside, '').replace('</robot>', f'{inside}</robot>')
    (finding,) = find(run, '-', stdin=outside.encode())[1]
    assert finding['severity'] == 'error'
    assert 'is outside of <ros2_control>' in finding['message']
