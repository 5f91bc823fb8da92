# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits in ``transmission_bridge check``: of joints as actuators see them, and the other way."""

from __future__ import annotations

from dataclasses import replace
import math
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo.elements import ankle, load, maps, params, ratio, transmission, urdf
from zoo.robots import Joint

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.limit_report import report_transmission_limits

ARM = resource('urdf', 'arm.urdf')


def crank(joint, bounds='', limits=''):
    """Return a transmission of a slider on a crank."""
    numbers = params(rod_length=0.3, crank_radius=0.1, crank_angle=1.2)
    return transmission(joint, 'CrankSlider', {joint: bounds}, {f'{joint}_slide': limits}, numbers)


def table(actuator, joint):
    """Return a transmission between positions in tables."""
    numbers = params(actuator=actuator, joint=joint)
    return transmission('jaw', 'Tabulated', ['jaw'], ['tendon'], numbers)


def robot_of(joints, *transmissions):
    """Return a description of joints with limits by name."""
    return urdf({name: each.text for name, each in joints.items()}, ''.join(transmissions))


#: A crank within limits, one beyond its domain, two motors on one foot, a spindle, and a table.
LEGS = robot_of(
    {
        'knee': Joint(-0.4, 0.6, 3, 80),
        'flap': Joint(velocity=3, effort=80),
        'pitch': Joint(-0.3, 0.3, 4, 50),
        'roll': Joint(-0.2, 0.2, 5, 40),
        'lift': Joint(0, 0.4, 0.1, 500, slides=True),
        'jaw': Joint(0.2, 0.7, 2, 9),
    },
    crank('knee'),
    crank('flap', params(lower=-0.5, upper=0.25)),
    ankle(),
    transmission('lift', 'Screw', ['lift'], ['spindle'], params(lead=0.005)),
    table('0 0.2 0.5 1.0', '0 0.1 0.4 1.3'),
)

#: Actuators with limits of their own.
WINCH = {'winch': '<limit lower="-20" upper="30" velocity="5" effort="1.5"/>'}
WRIST = {'pitch': ratio(2), 'roll': '<offset>0.2</offset>'}
WRIST_MOTORS = {
    'left': ratio(10) + '<limit lower="-8" upper="8" velocity="50" effort="1"/>',
    'right': ratio(-10) + '<limit velocity="60" effort="1.2"/>',
}
OWN = robot_of(
    {
        'lift': Joint(-1, 0.5, 1, 75, slides=True),
        'pitch': Joint(-1, 1, 2, 10),
        'roll': Joint(velocity=3, effort=30),
        'knee': Joint(-0.4, 0.6, 2.5, 50),
        'dial': Joint(velocity=1, effort=1),
    },
    transmission('hoist', 'Simple', {'lift': ratio(50)}, WINCH),
    transmission('wrist', 'Differential', WRIST, WRIST_MOTORS),
    crank('knee', limits='<limit upper="0.35" velocity="0.25"/>'),
)

ADVICE = r"joint '(\w+)' is wider than its mechanism reaches \(expected about (\S+) to (\S+) rad"

#: What a range from samples may miss, as a share of the largest value.
SHARE = 2e-3


@pytest.fixture(scope='module')
def report(run):
    """Return a function that gives the transmissions in the JSON of a description by name."""

    def call(text):
        result = run('check', '-', '--json', stdin=text.encode())
        return {each['name']: each for each in result.json['transmissions']}

    return call


@pytest.fixture(scope='module')
def lines_of(run):
    """Return a function that gives exit code, lines, and those of findings."""

    def call(text):
        result = run('check', '-', stdin=text.encode())
        lines = result.out.splitlines()
        return result.code, lines, [line for line in lines if line.startswith('-:')]

    return call


@pytest.fixture(scope='module')
def legs(report):
    """Return the transmissions in the JSON by name, and the robot."""
    return report(LEGS), tb.RobotTransmissions(tb.load_description(LEGS))


# -- limits of joints, at their actuators --------------------------------------------------------


def test_joints_of_one_table_narrow_each_other_exactly(report):
    """The actuator has the positions at which every joint is within its limits."""
    points = params(actuator='0 1 3', joint1='0 1 2', joint2='1 -1 -2')
    hand = transmission('hand', 'Tabulated', 'ab', ['motor'], points)
    text = robot_of({'a': Joint(0, 1.5, 2, 9), 'b': Joint(-1.9, 0.5, 2, 9)}, hand)
    (motor,) = report(text)['hand']['actuator_limits']
    q = maps('ab', hand).actuator_to_joint('position', [[motor['lower']], [motor['upper']]])
    assert [q[0, 1], q[1, 0]] == pytest.approx([0.5, 1.5], abs=1e-9)
    assert (q[0, 0] > 0.0, q[1, 1] > -1.9) == (True, True)


def test_the_text_has_them(run):
    """Each member has its limits in its row."""
    lines = [' '.join(line.split()) for line in run('check', ARM).out.splitlines()]
    assert 'REDUCTION OFFSET LOWER UPPER VELOCITY EFFORT UNIT' in lines
    assert 'joint1 shoulder_pan 101 0.25 -2.9 2.9 1.5 150 rad' in lines
    assert 'actuator1 shoulder_pan_motor 1 0 -318.15 267.65 151.5 1.48515 rad' in lines
    # No actuator of this robot has limits of its own, or units of a driver.
    assert not any(line.startswith(('own limits', 'in its driver')) for line in lines)


def test_an_actuator_has_its_limits_in_the_units_of_its_driver(run):
    """Below its row are its own limits, and what the joints allow in ticks and percent."""
    units = {'position_unit': 'tick', 'ticks_per_turn': 4096, 'effort_unit': 'percent'}
    inside = params(**units, rated_effort=4) + '<limit lower="-3" velocity="9"/>'
    joint = {'hinge': 'revolute lower="0" upper="1" velocity="1" effort="1"'}
    gear = transmission('t', 'Simple', {'hinge': ratio(10)}, {'m': inside})
    lines = run('check', '-', stdin=urdf(joint, gear).encode()).out.splitlines()
    rows = [line.split() for line in lines]
    place = next(k for k, row in enumerate(rows) if row[:2] == ['actuator1', 'm'])
    assert rows[place + 1] == ['own', 'limits', '-3', '-', '9', '-', 'rad']
    ticks = ['0', f'{40960 / math.tau:.0f}', f'{40960 / math.tau:.6g}', '2.5']
    assert rows[place + 2] == ['in', 'its', 'driver', *ticks, 'tick,', 'tick/s,', 'percent']


def test_limits_that_contradict_each_other_give_no_bounds(report):
    """A joint without any allowed position has no bounds to map, and nothing fails."""
    text = ARM.read_text().replace('lower="-2.9" upper="2.9"', 'lower="1" upper="-1"')
    (pan,) = report(text)['shoulder_pan_transmission']['actuator_limits']
    assert (pan['lower'], pan['upper']) == ('varies', 'varies')


@given(data=st.data())
@pytest.mark.parametrize('name', ['knee', 'flap', 'ankle', 'jaw'])
def test_ranges_hold_what_happens_at_any_allowed_position(legs, name, data):
    """Position, speed, effort and ratio at any position within the limits are in their ranges."""

    def is_inside(value, ends):
        slack = SHARE * max(map(abs, ends))
        return ends[0] - slack <= value <= ends[1] + slack

    found, robot = legs[0][name], legs[1].transmissions[name]
    joints = found['joint_limits']
    box = [(-0.5, 0.25)] if name == 'flap' else [(j['lower'], j['upper']) for j in joints]
    q = [data.draw(st.floats(*ends)) for ends in box]
    position = robot.joint_to_actuator('position', q)
    rates = [robot.joint_to_actuator('velocity', unit, at=q) for unit in np.eye(len(q))]
    matrix = np.array(rates).T
    speed = np.abs(matrix) @ [joint['velocity'] for joint in joints]
    effort = np.abs(np.linalg.inv(matrix).T) @ [joint['effort'] for joint in joints]
    for place, actuator in enumerate(found['actuator_limits']):
        assert is_inside(position[place], (actuator['lower'], actuator['upper']))
        assert is_inside(speed[place], actuator['velocity'])
        assert is_inside(effort[place], actuator['effort'])
    for each, value in zip(found['ratios'], matrix.ravel(), strict=True):
        assert is_inside(value, each['ratio'])


@pytest.mark.parametrize('name', ['knee', 'jaw'])
def test_the_ends_of_a_range_are_those_of_the_limits(legs, name):
    """With one joint the bounds of the actuator are its positions at the limits, exactly."""
    found, robot = legs[0][name], legs[1].transmissions[name]
    (joint,), (actuator,) = found['joint_limits'], found['actuator_limits']
    q = np.linspace([joint['lower']], [joint['upper']], 201)
    ends = robot.joint_to_actuator('position', q[[0, -1]]).ravel()
    assert (actuator['lower'], actuator['upper']) == pytest.approx(tuple(sorted(ends)))
    rates = np.abs(robot.joint_to_actuator('velocity', np.full(q.shape, joint['velocity']), at=q))
    assert actuator['velocity'] == pytest.approx([rates.min(), rates.max()], rel=SHARE)


def test_units_are_those_of_joint_and_motor(legs, lines_of):
    """A spindle turns for a joint in m; of a slider on a crank nobody knows the motor."""
    found = legs[0].values()
    members = [each for t in found for each in (*t['joint_limits'], *t['actuator_limits'])]
    assert {each['name']: each['units']['position'] for each in members} == {
        'knee': 'rad', 'knee_slide': 'rad or m', 'flap': 'rad', 'flap_slide': 'rad or m',
        'pitch': 'rad', 'roll': 'rad', 'upper': 'rad', 'lower': 'rad',
        'lift': 'm', 'spindle': 'rad', 'jaw': 'rad', 'tendon': 'rad or m',
    }  # fmt: skip
    ratios = {
        (each['actuator'], each['joint']): each['unit'] for t in found for each in t['ratios']
    }
    assert (ratios['upper', 'roll'], ratios['knee_slide', 'knee']) == ('', '(rad or m)/rad')
    _, lines, _ = lines_of(LEGS)
    (spindle,) = (line for line in lines if ' spindle ' in line)
    assert spindle.endswith('  rad')
    assert not any('varies' in line or '?' in line for line in lines)


def test_a_dead_centre_within_the_limits_is_a_warning_and_no_number(run):
    """Speeds are those at which the bridge maps velocities; where it does not, that is said."""
    cam = table('0 1 2 3', '0 0.0001 0.01 0.02')
    near, far = (
        robot_of({'jaw': Joint(least, 0.02, 1, 9, slides=True)}, cam).encode()
        for least in (0, 0.001)
    )
    document = run('check', '-', '--json', stdin=near).json
    (transmission,), (finding,) = document['transmissions'], document['findings']
    assert transmission['actuator_limits'][0]['velocity'][1] < 1000.0
    assert transmission['ratios'][0]['ratio'][0] > 0.0
    assert finding['severity'] == 'warning'
    assert "transmission 'jaw' maps no velocities at 1.0% of the positions" in finding['message']
    assert run('check', '-', '--json', stdin=far).json['findings'] == []


#: Robots with a limit that is wider than the mechanism reaches.
TOO_FAR = {
    'table': ({'jaw': Joint(-1, 9, 2, 9)}, table('0 0.2 0.5 1.0', '0 0.1 0.4 1.3')),
    'hand': (
        {'a': Joint(0.1, 1.5, 2, 9), 'b': Joint(-3, 3, 2, 9)},
        transmission('hand', 'Tabulated', 'ab', ['motor'], params(
            actuator='0 1 3', joint1='0 1 2', joint2='1 -1 -2')),
    ),
    'crank': ({'knee': Joint(-2.5, 2.5, 3, 80)}, crank('knee')),
    'foot': ({'pitch': Joint(-1.5, 1.5, 4, 50), 'roll': Joint(-1.5, 1.5, 5, 40)}, ankle()),
}  # fmt: skip


@pytest.mark.parametrize('name', TOO_FAR)
def test_the_advised_limits_are_what_the_mechanism_reaches(lines_of, name):
    """With them the finding is gone, and no position that the mechanism reached is lost."""
    joints, mechanism = TOO_FAR[name]

    def read_advice(joints):
        _, _, findings = lines_of(robot_of(joints, mechanism))
        found = (re.search(ADVICE, line) for line in findings)
        return {each[1]: (float(each[2]), float(each[3])) for each in found if each}

    advised = read_advice(joints)
    limits = {name: (each.lower, each.upper) for name, each in joints.items()}
    mended = {
        name: replace(joints[name], lower=low, upper=high)
        for name, (low, high) in (limits | advised).items()
    }
    assert advised
    assert not read_advice(mended)
    (robot,) = load(robot_of(joints, mechanism)).transmissions.values()
    domain, (lower, upper) = robot.domain, np.transpose([*limits.values()])
    q = np.random.default_rng(0).uniform(domain.lower, domain.upper, (4000, len(domain.lower)))
    if domain.space == 'actuator':
        q = robot.actuator_to_joint('position', q)
    else:
        q = q[np.isfinite(robot.joint_to_actuator('position', q)).all(axis=1)]
    q = q[((q >= lower) & (q <= upper)).all(axis=1)]
    for column, each in zip(q.T, mended.values(), strict=True):
        slack = 0.02 * (each.upper - each.lower)
        assert each.lower - slack <= column.min() <= column.max() <= each.upper + slack


# -- limits of actuators, at their joints --------------------------------------------------------


#: Findings about limits of joints that are wider than their actuators allow.
TOO_WIDE = [
    ("position limit of joint 'lift'", 'expected -0.4 to 0.6 m', 'found -1 to 0.5 m'),
    ("velocity limit of joint 'lift'", 'expected at most 0.1 m/s', 'found 1 m/s'),
    ("effort limit of joint 'roll'", 'expected at most 22 N m', 'found 30 N m'),
    ("position limit of joint 'knee'", ' to 0.6 rad', 'found -0.4 to 0.6 rad'),
    ("velocity limit of joint 'knee'", 'expected at most ', 'found 2.5 rad/s'),
]


def test_limits_of_joints_that_are_too_wide_are_warnings(lines_of):
    """With both numbers, at the joint; what is allowed, or has no limit, is not."""
    code, _, findings = lines_of(OWN)
    assert (code, len(findings)) == (0, len(TOO_WIDE))
    for words in TOO_WIDE:
        (line,) = (each for each in findings if words[0] in each)
        assert all(word in line for word in (*words, ' warning: ', '[/robot/joint'))
    gauge = transmission('gauge', 'Simple', ['dial'], {'winch': '<limit upper="30"/>'})
    _, lines, _ = lines_of(OWN.replace('</ros2_control>', f'{gauge}</ros2_control>'))
    assert sum("transmissions give actuator 'winch' different" in each for each in lines) == 1


def test_what_a_plugin_raises_is_an_error_with_its_type(lines_of, monkeypatch):
    """Its limits are unknown, and the reason is said once; other transmissions have theirs."""

    def fail(*_):
        raise ZeroDivisionError('no gear')

    monkeypatch.setattr('transmission_bridge.tools.limit_report.compute_gain_ratios', fail)
    code, lines, findings = lines_of(OWN)
    words = "error: type 'transmission_bridge/CrankSliderTransmission' of transmission 'knee' "
    words += 'raises ZeroDivisionError: no gear'
    assert (code, [words in each for each in findings].count(True)) == (1, 1)
    assert sum(' error: ' in each for each in findings) == 1
    assert any(each.split()[1:2] == ['lift'] and '75' in each for each in lines)


def coupled(matrix, limits):
    """Return the limits of the joints of a coupled transmission of a matrix."""
    joints = [f'q{place}' for place in range(1, len(matrix) + 1)]
    rows = {f'joint{place}': ' '.join(map(repr, row)) for place, row in enumerate(matrix, 1)}
    actuators = {
        f'a{place}': f'<limit lower="{-low!r}" upper="{high!r}" velocity="{speed!r}" '
        f'effort="{effort!r}"/>'
        for place, (low, high, speed, effort) in enumerate(limits, 1)
    }
    robot = maps(joints, transmission('t', 'Coupled', joints, actuators, params(**rows)))
    return report_transmission_limits(robot, robot.bindings[0]).within.tolist()


def test_a_finger_moves_as_its_motor_does():
    """Fewer actuators than joints: each joint goes as far as the motor takes it."""
    lower, upper, velocity, effort = coupled([[1.0], [0.5]], [(4.0, 2.0, 3.0, 5.0)])
    assert (lower, upper, velocity) == ([-4.0, -2.0], [2.0, 1.0], [3.0, 1.5])
    assert effort == [math.inf] * 2  # efforts may cancel


def test_antagonists_move_as_the_weaker_one_allows():
    """More actuators than joints: each of them moves by half of what the joint does."""
    found = coupled([[1.0, -1.0]], [(4.0, 2.0, 3.0, 5.0), (1.0, 6.0, 2.0, 3.0)])
    np.testing.assert_allclose(found, [[-8.0], [2.0], [4.0], [3.0]], rtol=1e-12)
