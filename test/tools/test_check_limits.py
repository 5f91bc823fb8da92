# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits in ``transmission_bridge check``: of joints as actuators see them, and the other way."""

from __future__ import annotations

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.elements import chain

import transmission_bridge as tb
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.resources import resource
from transmission_bridge.tools.limit_report import transmission_limits

ARM = resource('urdf', 'arm.urdf')
KEYS = ('lower', 'upper', 'velocity', 'effort')

CRANK = """<plugin>transmission_bridge/CrankSliderTransmission</plugin>
  <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
  <param name="crank_angle">1.2</param><joint name="{0}" role="joint1"/>
  <actuator name="{0}_slide" role="actuator1">{1}</actuator>"""
TABLE = """<plugin>transmission_bridge/TabulatedTransmission</plugin>
  <param name="actuator">{}</param><param name="joint">{}</param>
  <joint name="jaw" role="joint1"/><actuator name="tendon" role="actuator1"/>"""
FLAP = """<joint name="flap" role="joint1">
  <param name="lower">-0.5</param><param name="upper">0.25</param></joint>"""

#: A crank within limits, one beyond its domain, two motors on one foot, a spindle, and a table.
LEGS = chain(
    {
        'knee': CRANK.format('knee', ''),
        'flap': CRANK.format('flap', '').replace('<joint name="flap" role="joint1"/>', FLAP),
        'ankle': """<plugin>transmission_bridge/ParallelAnkleTransmission</plugin>
      <joint name="pitch" role="joint1">
        <param name="lower">-0.9</param><param name="upper">0.6</param></joint>
      <joint name="roll" role="joint2">
        <param name="lower">-0.4</param><param name="upper">0.4</param></joint>
      <actuator name="upper" role="actuator1"><mechanical_reduction>15</mechanical_reduction>
        <param name="motor_position">0 0.05 0.24</param><param name="crank_radius">0.05</param>
        <param name="rod_length">0.24</param><param name="foot_attachment">0.05 0.05 0</param>
      </actuator>
      <actuator name="lower" role="actuator2"><mechanical_reduction>15</mechanical_reduction>
        <param name="motor_position">0 -0.05 0.15</param><param name="crank_radius">0.05</param>
        <param name="rod_length">0.15</param><param name="foot_attachment">0.05 -0.05 0</param>
      </actuator>""",
        'lift': """<plugin>transmission_bridge/ScrewTransmission</plugin>
      <param name="lead">0.005</param>
      <joint name="lift" role="joint1"/><actuator name="spindle" role="actuator1"/>""",
        'jaw': TABLE.format('0 0.2 0.5 1.0', '0 0.1 0.4 1.3'),
    },
    knee='revolute -0.4 0.6 3 80',
    flap='continuous 0 0 3 80',
    pitch='revolute -0.3 0.3 4 50',
    roll='revolute -0.2 0.2 5 40',
    lift='prismatic 0 0.4 0.1 500',
    jaw='revolute 0.2 0.7 2 9',
)

#: Actuators with limits of their own.
OWN = chain(
    {
        'hoist': """<plugin>transmission_interface/SimpleTransmission</plugin>
    <joint name="lift" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
    <actuator name="winch" role="actuator1">
      <limit lower="-20" upper="30" velocity="5" effort="1.5"/></actuator>""",
        'wrist': """<plugin>transmission_interface/DifferentialTransmission</plugin>
    <joint name="pitch" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
    <joint name="roll" role="joint2"><offset>0.2</offset></joint>
    <actuator name="left" role="actuator1"><mechanical_reduction>10</mechanical_reduction>
      <limit lower="-8" upper="8" velocity="50" effort="1"/></actuator>
    <actuator name="right" role="actuator2"><mechanical_reduction>-10</mechanical_reduction>
      <limit velocity="60" effort="1.2"/></actuator>""",
        'knee': CRANK.format('knee', '<limit upper="0.35" velocity="0.25"/>'),
    },
    lift='prismatic -1 0.5 1 75',
    pitch='revolute -1 1 2 10',
    roll='continuous 0 0 3 30',
    knee='revolute -0.4 0.6 2.5 50',
    dial='continuous 0 0 1 1',
)

#: What a range from samples may miss.
SHARE = 2e-3


@pytest.fixture(scope='module')
def report(run):
    """Return a function that gives the transmissions in the JSON of a description by name."""

    def call(text):
        document = run('check', '-', '--json', '--limits', stdin=text.encode()).json
        return {each['name']: each for each in document['transmissions']}

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


@pytest.fixture(scope='module')
def own(report):
    """Return the transmissions in the JSON by name."""
    return report(OWN)


# -- limits of joints, at their actuators --------------------------------------------------------


def test_they_are_where_the_limits_of_the_joints_are_met(report):
    """For a simple one by its formula, the sense swapping the ends; open ones are null."""
    limits = {
        each['name']: each
        for transmission in report(ARM.read_text()).values()
        for each in transmission['actuator_limits']
    }
    robot = tb.load_description(ARM)
    pan = effective_limits(robot, 'shoulder_pan')
    assert limits['shoulder_pan_motor'] == {
        'name': 'shoulder_pan_motor',
        'lower': pytest.approx(101.0 * (pan.lower - 0.25)),
        'upper': pytest.approx(101.0 * (pan.upper - 0.25)),
        'velocity': pytest.approx(101.0 * pan.velocity),
        'effort': pytest.approx(pan.effort / 101.0),
        'units': {'position': 'rad', 'velocity': 'rad/s', 'effort': 'N m'},
    }
    roll = limits['forearm_roll_motor']
    assert [roll['lower'], roll['upper']] == pytest.approx([-2.6 * 72.5, 2.6 * 72.5])
    # A continuous joint in a differential leaves both motors without bounds.
    assert limits['wrist_left_motor']['lower'] is None
    assert limits['wrist_left_motor']['velocity'] == pytest.approx(48.0 * (1.25 * 3.0 + 0.8 * 4.0))


def test_the_text_has_them_and_the_plain_json_has_not(run):
    """The lines in docs/tools.md are those of ``check``; the shape of the JSON stays."""
    page = (ARM.parent.parent / 'docs' / 'tools.md').read_text(encoding='utf-8')
    shown = page.partition('```\nlimits of')[2].partition('```')[0].splitlines()
    lines = run('check', ARM).out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith('limits of'))
    assert lines[first : first + 4] == [f'limits of{shown[0]}', *shown[1:]]
    assert lines[first + 2].split() == ['shoulder_pan', '-2.9', '2.9', '1.5', '150']
    transmissions = run('check', ARM, '--json').json['transmissions']
    assert all('actuator_limits' not in transmission for transmission in transmissions)


def test_limits_that_contradict_each_other_give_no_bounds(report):
    """A joint without any allowed position has no bounds to map, and nothing fails."""
    text = ARM.read_text().replace('lower="-2.9" upper="2.9"', 'lower="1" upper="-1"')
    (pan,) = report(text)['shoulder_pan_transmission']['actuator_limits']
    assert (pan['lower'], pan['upper']) == ('varies', 'varies')


def _inside(value, ends):
    least, greatest = ends
    slack = SHARE * max(abs(least), abs(greatest))
    return least - slack <= value <= greatest + slack


@given(data=st.data())
@pytest.mark.parametrize('name', ['knee', 'flap', 'ankle', 'jaw'])
def test_ranges_hold_what_happens_at_any_allowed_position(legs, name, data):
    """Position, speed, effort and ratio at any position within the limits are in their ranges."""
    found, robot = legs[0][name], legs[1].transmissions[name]
    joints = found['joint_limits']
    q = [
        data.draw(st.floats(*((-0.5, 0.25) if name == 'flap' else (j['lower'], j['upper']))))
        for j in joints
    ]
    position = robot.joint_to_actuator('position', q)
    ratio = np.array(
        [robot.joint_to_actuator('velocity', unit, at=q) for unit in np.eye(len(q))]
    ).T
    speed = np.abs(ratio) @ [joint['velocity'] for joint in joints]
    effort = np.abs(np.linalg.inv(ratio).T) @ [joint['effort'] for joint in joints]
    for place, actuator in enumerate(found['actuator_limits']):
        assert _inside(position[place], (actuator['lower'], actuator['upper']))
        assert _inside(speed[place], actuator['velocity'])
        assert _inside(effort[place], actuator['effort'])
    for each, value in zip(found['ratios'], ratio.ravel(), strict=True):
        assert _inside(value, each['ratio'])


@pytest.mark.parametrize('name', ['knee', 'jaw'])
def test_the_ends_of_a_range_are_those_of_the_limits(legs, name):
    """With one joint the bounds of the actuator are its positions at the limits, exactly."""
    found, robot = legs[0][name], legs[1].transmissions[name]
    (joint,), (actuator,) = found['joint_limits'], found['actuator_limits']
    q = np.linspace([joint['lower']], [joint['upper']], 201)
    ends = robot.joint_to_actuator('position', q[[0, -1]]).ravel()
    assert (actuator['lower'], actuator['upper']) == pytest.approx(tuple(sorted(ends)))
    speed = np.full(q.shape, joint['velocity'])
    rates = np.abs(robot.joint_to_actuator('velocity', speed, at=q))
    assert actuator['velocity'] == pytest.approx([rates.min(), rates.max()], rel=SHARE)


def test_units_are_those_of_joint_and_motor(legs, lines_of):
    """A spindle turns for a joint in m; of a slider on a crank nobody knows the motor."""
    units = {
        each['name']: each['units']['position']
        for t in legs[0].values()
        for each in (*t['joint_limits'], *t['actuator_limits'])
    }
    assert units == {
        'knee': 'rad', 'knee_slide': 'rad or m', 'flap': 'rad', 'flap_slide': 'rad or m',
        'pitch': 'rad', 'roll': 'rad', 'upper': 'rad', 'lower': 'rad',
        'lift': 'm', 'spindle': 'rad', 'jaw': 'rad', 'tendon': 'rad or m',
    }  # fmt: skip
    ratios = {
        (r['actuator'], r['joint']): r['unit'] for t in legs[0].values() for r in t['ratios']
    }
    assert (ratios['upper', 'roll'], ratios['knee_slide', 'knee']) == ('', '(rad or m)/rad')
    _, lines, _ = lines_of(LEGS)
    for start, end in (
        ('  lift ', '  m, m/s, N'), ('    spindle ', '  rad, rad/s, N m'),
        ('    tendon ', '  rad or m, N m or N'),
    ):  # fmt: skip
        assert any(line.startswith(start) and line.endswith(end) for line in lines)
    assert not any('varies' in line or '?' in line for line in lines)


def test_a_dead_centre_within_the_limits_is_a_warning_and_no_number(run):
    """Speeds are those at which the bridge maps velocities; where it does not, that is said."""
    cam = chain({'cam': TABLE.format('0 1 2 3', '0 0.0001 0.01 0.02')}, jaw='prismatic 0 0.02 1 9')
    result = run('check', '-', '--json', '--limits', stdin=cam.encode())
    (transmission,) = result.json['transmissions']
    assert transmission['actuator_limits'][0]['velocity'][1] < 1000.0
    assert transmission['ratios'][0]['ratio'][0] > 0.0
    (finding,) = result.json['findings']
    assert finding['severity'] == 'warning'
    assert "transmission 'cam' maps no velocities at 1.0% of the positions" in finding['message']
    allowed = cam.replace('lower="0"', 'lower="0.001"').encode()
    assert run('check', '-', '--json', stdin=allowed).json['findings'] == []


def test_what_rounding_leaves_of_zero_is_zero(lines_of):
    """A limit that is 1e-16 of the other one is printed as 0."""
    # The offset is the next number above the limit.
    gear = """<plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="q" role="joint1"><mechanical_reduction>7</mechanical_reduction>
        <offset>0.30000000000000004</offset></joint><actuator name="m" role="actuator1"/>"""
    _, lines, _ = lines_of(chain({'t': gear}, q='revolute 0.3 1.3 1 1'))
    assert ['m', '0', '7', '7', '0.142857'] in [line.split() for line in lines]


# -- limits of actuators, at their joints --------------------------------------------------------


def test_one_actuator_bounds_its_joint_by_its_ratio_and_coupled_ones_a_region(own):
    """Half-spaces, and what is left where both joints are at their own limits."""
    (winch,), (lift,) = (
        own['hoist'][key] for key in ('own_actuator_limits', 'allowed_joint_limits')
    )
    assert [winch[key] for key in KEYS] == [-20, 30, 5, 1.5]
    assert [lift[key] for key in KEYS] == pytest.approx([-0.4, 0.6, 0.1, 75.0])
    assert own['hoist']['regions'] == []
    regions = {each['interface']: each for each in own['wrist']['regions']}
    assert regions['position']['matrix'] == [[20, 10]]
    assert (regions['position']['lower'], regions['position']['upper']) == ([-6], [10])
    assert set(regions['position']) == {
        *('interface', 'unit', 'joints', 'actuators', 'matrix', 'lower', 'upper', 'share')
    }
    velocity = regions['velocity']
    assert velocity['matrix'] == [[20, 10], [-20, 10]]
    assert velocity['upper'] == [50, 60]
    assert velocity['share'] == pytest.approx(50 / (20 * 2 + 10 * 3))
    pitch, roll = own['wrist']['allowed_joint_limits']
    assert (pitch['velocity'], roll['velocity']) == (pytest.approx(2.75), pytest.approx(5.5))


def test_a_ratio_that_varies_gives_ranges(own):
    """At each position that is left, speed lies between; the ends of the position are exact."""
    robot = tb.RobotTransmissions(tb.load_description(OWN)).transmissions['knee']
    (knee,) = own['knee']['allowed_joint_limits']
    ends = robot.actuator_to_joint('position', [[0.35]]).ravel()
    assert (knee['lower'], knee['upper']) == (pytest.approx(ends[0]), pytest.approx(0.6))
    q = np.linspace(knee['lower'], knee['upper'], 300)[:, np.newaxis]
    at = robot.joint_to_actuator('position', q)
    speed = np.abs(robot.actuator_to_joint('velocity', np.full(q.shape, 0.25), at=at))
    assert knee['velocity'] == pytest.approx([speed.min(), speed.max()], rel=2e-3)
    assert knee['effort'] is None


GAUGE = """<transmission name="gauge">
  <plugin>transmission_interface/SimpleTransmission</plugin><joint name="dial"/>
  <actuator name="winch"><limit upper="30"/></actuator></transmission></ros2_control>"""


def test_what_joints_promise_too_much_is_said_and_what_excludes_each_other_is_an_error(lines_of):
    """With the amount, at the joint; what is allowed, or has no limit, is not."""
    code, _, findings = lines_of(OWN)
    words = [
        ("position limit of joint 'lift'", '-0.4 to 0.6 m', '-1 to 0.5 m, 0.6 m too low'),
        ("velocity limit of joint 'lift'", 'at most 0.1 m/s', '10 times as much'),
        ("effort limit of joint 'roll'", 'at most 22 N m', '30 N m, 1.364 times as much'),
        ("position limit of joint 'knee'", ' to 0.6 rad', 'too low'),
        ("velocity limit of joint 'knee'", 'rad/s elsewhere', 'times as much'),
    ]
    assert (code, len(findings)) == (0, len(words))
    for expected in words:
        (line,) = (each for each in findings if expected[0] in each)
        assert all(word in line for word in (*expected, ' warning: ', '[/robot/joint'))

    text = OWN.replace('lower="-20" upper="30"', 'lower="26" upper="30"')
    code, lines, findings = lines_of(text)
    (line,) = (each for each in findings if "'lift'" in each)
    number = text[: text.index('<transmission name="hoist">')].count('\n') + 1
    assert line.startswith(f"-:{number}: error: transmission 'hoist' cannot be used: ")
    assert '[-50, 25]' in line
    assert 'found [26, 30]' in line
    assert code == 1
    assert '1 joint not bridged (transmission rejected): lift' in lines

    _, lines, _ = lines_of(OWN.replace('</ros2_control>', GAUGE))
    assert sum("transmissions give actuator 'winch' different" in each for each in lines) == 1


def test_the_text_has_them_with_their_units(lines_of):
    """A table like that of the joints, then the half-spaces of each coupled transmission."""
    _, lines, _ = lines_of(OWN)
    start = lines.index('limits of the actuators, and of their joints from these (indented)')
    table = [line.split() for line in lines[start + 1 :]]
    assert table[1] == ['winch', '-20', '30', '5', '1.5', 'rad', 'or', 'm,', 'N', 'm', 'or', 'N']
    assert table[2] == ['lift', '-0.4', '0.6', '0.1', '75', 'm,', 'm/s,', 'N']
    assert '    left: -6 <= 20 pitch + 10 roll <= 10' in lines
    assert '    right: |- 20 pitch + 10 roll| <= 60' in lines
    assert '    left: |0.025 pitch + 0.05 roll| <= 1' in lines
    # A robot whose actuators have no limits has neither the table nor a warning.
    joints, block = OWN.split('<ros2_control', 1)
    _, lines, _ = lines_of(f'{joints}<ros2_control{re.sub("<limit .*?/>", "", block)}')
    assert not [line for line in lines if 'limits of the actuators' in line]
    assert lines[-1] == '3 transmissions loaded, 0 errors, 0 warnings'


numbers = st.floats(0.1, 10.0)
signed = st.tuples(numbers, st.sampled_from([-1.0, 1.0])).map(lambda pair: pair[0] * pair[1])


def coupled(matrix, limits):
    """Return the report of a coupled transmission of a matrix, and its robot."""
    rows = ''.join(
        f'<param name="joint{j}">{" ".join(map(repr, row))}</param>'
        f'<joint name="q{j}" role="joint{j}"/>'
        for j, row in enumerate(matrix, 1)
    )
    actuators = ''.join(
        f'<actuator name="a{i}" role="actuator{i}"><limit lower="{-low!r}" upper="{high!r}" '
        f'velocity="{speed!r}" effort="{effort!r}"/></actuator>'
        for i, (low, high, speed, effort) in enumerate(limits, 1)
    )
    text = f'<plugin>transmission_bridge/CoupledTransmission</plugin>{rows}{actuators}'
    joints = {f'q{j}': '' for j in range(1, len(matrix) + 1)}
    robot = tb.RobotTransmissions(tb.load_description(chain({'t': text}, **joints)))
    return transmission_limits(robot, robot.bindings[0]), robot


@settings(max_examples=10)
@given(data=st.data())
@pytest.mark.parametrize(('n', 'm'), [(2, 2), (3, 3), (2, 3)])
def test_boxes_are_those_of_linear_programming(n, m, data):
    """The box is as large as the region in each direction, and the region is what is mapped."""
    linprog = pytest.importorskip('scipy.optimize').linprog
    rest = [data.draw(st.lists(st.floats(-0.6, 0.6), min_size=m, max_size=m)) for _ in range(n)]
    matrix = np.eye(n, m) * 2.0 + np.array(rest)
    limits = data.draw(st.lists(st.tuples(*[numbers] * 4), min_size=m, max_size=m))
    report, robot = coupled(matrix.tolist(), limits)
    assert [each.interface for each in report.regions] == ['position', 'velocity', 'effort']
    boxes = [(each.upper, each.velocity[0], each.effort[0]) for each in report.allowed]
    for region, box in zip(report.regions, zip(*boxes, strict=True), strict=True):
        sides = np.vstack([region.matrix, -np.asarray(region.matrix)])
        ends = np.concatenate([region.upper, -np.asarray(region.lower)])
        for unit, expected in zip(np.eye(n), box, strict=True):
            found = linprog(-unit, sides, ends, bounds=(None, None))
            reach = math.inf if found.status == 3 else -found.fun
            assert reach == pytest.approx(expected, rel=1e-7)
        sample = np.array(data.draw(st.lists(signed, min_size=n, max_size=n)))
        sent = robot.joint_to_actuator(region.interface, sample)
        assert np.allclose(region.matrix @ sample, sent, rtol=1e-9, atol=1e-9)


def test_a_finger_moves_as_its_motor_does():
    """Fewer actuators than joints: each joint goes as far as the motor takes it."""
    report, _ = coupled([[1.0], [0.5]], [(4.0, 2.0, 3.0, 5.0)])
    near, far = report.allowed
    assert (near.lower, near.upper, far.lower, far.upper) == pytest.approx((-4, 2, -2, 1))
    assert (near.velocity[0], far.velocity[0]) == pytest.approx((3.0, 1.5))
    assert all(math.isinf(each.effort[0]) for each in (near, far))  # efforts may cancel
