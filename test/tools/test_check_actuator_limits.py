# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the limits of actuators allow their joints, in ``transmission_bridge check``."""

from __future__ import annotations

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robots import chain

import transmission_bridge as tb
from transmission_bridge.tools.limit_report import transmission_limits

linprog = pytest.importorskip('scipy.optimize').linprog

ROBOT = chain(
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
        'knee': """<plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
    <param name="crank_angle">1.2</param><joint name="knee" role="joint1"/>
    <actuator name="slide" role="actuator1"><limit upper="0.35" velocity="0.25"/></actuator>""",
    },
    lift='prismatic -1 0.5 1 75',
    pitch='revolute -1 1 2 10',
    roll='continuous 0 0 3 30',
    knee='revolute -0.4 0.6 2.5 50',
)


def check(run, text):
    """Return exit code, lines, and those of findings."""
    result = run('check', '-', stdin=text.encode())
    lines = result.out.splitlines()
    return result.code, lines, [line for line in lines if line.startswith('-:')]


@pytest.fixture(scope='module')
def found(run):
    """Return the transmissions in the JSON by name."""
    document = run('check', '-', '--json', '--limits', stdin=ROBOT.encode()).json
    return {each['name']: each for each in document['transmissions']}


def test_one_actuator_and_one_joint(found):
    """The range of the joint is that of the actuator through its ratio."""
    (winch,), (lift,) = (
        found['hoist'][key] for key in ('own_actuator_limits', 'allowed_joint_limits')
    )
    assert [winch[key] for key in ('lower', 'upper', 'velocity', 'effort')] == [-20, 30, 5, 1.5]
    assert [lift[key] for key in ('lower', 'upper', 'velocity', 'effort')] == pytest.approx(
        [-0.4, 0.6, 0.1, 75.0]
    )
    assert found['hoist']['regions'] == []


def test_coupled_ones_have_a_region(found):
    """Half-spaces, and what is left where both joints are at their own limits."""
    regions = {each['interface']: each for each in found['wrist']['regions']}
    assert regions['position']['matrix'] == [[20, 10]]
    assert (regions['position']['lower'], regions['position']['upper']) == ([-6], [10])
    assert set(regions['position']) == {
        *('interface', 'unit', 'joints', 'actuators', 'matrix', 'lower', 'upper', 'share')
    }
    velocity = regions['velocity']
    assert velocity['matrix'] == [[20, 10], [-20, 10]]
    assert velocity['upper'] == [50, 60]
    assert velocity['share'] == pytest.approx(50 / (20 * 2 + 10 * 3))
    pitch, roll = found['wrist']['allowed_joint_limits']
    assert (pitch['velocity'], roll['velocity']) == (pytest.approx(2.75), pytest.approx(5.5))


def test_a_ratio_that_varies_gives_ranges(found):
    """At each position that is left, speed lies between; the ends of the position are exact."""
    robot = tb.RobotTransmissions(tb.load_description(ROBOT)).transmissions['knee']
    (knee,) = found['knee']['allowed_joint_limits']
    ends = robot.actuator_to_joint('position', [[0.35]]).ravel()
    assert (knee['lower'], knee['upper']) == (pytest.approx(ends[0]), pytest.approx(0.6))
    q = np.linspace(knee['lower'], knee['upper'], 300)[:, np.newaxis]
    speed = np.abs(robot.actuator_to_joint('velocity', np.full(
        q.shape, 0.25), at=robot.joint_to_actuator('position', q)))  # fmt: skip
    assert knee['velocity'] == pytest.approx([speed.min(), speed.max()], rel=2e-3)
    assert knee['effort'] is None


def test_what_joints_promise_too_much_is_said(run):
    """With the amount, at the joint; what is allowed, or has no limit, is not."""
    code, _, findings = check(run, ROBOT)
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


def test_ranges_that_exclude_each_other_are_an_error(run):
    """With the line of the transmission and both ranges, and no warning beside it."""
    text = ROBOT.replace('lower="-20" upper="30"', 'lower="26" upper="30"')
    code, lines, findings = check(run, text)
    (line,) = (each for each in findings if "'lift'" in each)
    number = text[: text.index('<transmission name="hoist">')].count('\n') + 1
    assert line.startswith(f"-:{number}: error: transmission 'hoist' cannot be used: ")
    assert '[-50, 25]' in line
    assert 'found [26, 30]' in line
    assert code == 1
    assert '1 joint not bridged (transmission rejected): lift' in lines


def test_the_text_has_them_with_their_units(run):
    """A table like that of the joints, then the half-spaces of each coupled transmission."""
    _, lines, _ = check(run, ROBOT)
    start = lines.index('limits of the actuators, and of their joints from these (indented)')
    table = [line.split() for line in lines[start + 1 :]]
    assert table[1] == ['winch', '-20', '30', '5', '1.5', 'rad', 'or', 'm,', 'N', 'm', 'or', 'N']
    assert table[2] == ['lift', '-0.4', '0.6', '0.1', '75', 'm,', 'm/s,', 'N']
    assert '    left: -6 <= 20 pitch + 10 roll <= 10' in lines
    assert '    right: |- 20 pitch + 10 roll| <= 60' in lines
    assert '    left: |0.025 pitch + 0.05 roll| <= 1' in lines
    # A robot whose actuators have no limits has neither the table nor a warning.
    joints, block = ROBOT.split('<ros2_control', 1)
    _, lines, _ = check(run, f'{joints}<ros2_control{re.sub("<limit .*?/>", "", block)}')
    assert not [line for line in lines if 'limits of the actuators' in line]
    assert lines[-1] == '3 transmissions loaded, 0 errors, 0 warnings'


@pytest.mark.parametrize(('upper', 'count'), [(30, 1), (40, 1)])
def test_limits_that_two_transmissions_give_one_actuator(run, upper, count):
    """That they differ is said, because only one of them can be meant."""
    gauge = f"""<joint name="dial"/><transmission name="gauge">
      <plugin>transmission_interface/SimpleTransmission</plugin><joint name="dial"/>
      <actuator name="winch"><limit upper="{upper}"/></actuator></transmission></ros2_control>"""
    dial = (
        '<link name="e"/><joint name="dial" type="continuous"><parent link="base"/>'
        '<child link="e"/></joint><ros2_control'
    )
    text = ROBOT.replace('</ros2_control>', gauge).replace('<ros2_control', dial)
    _, lines, _ = check(run, text)
    found = [each for each in lines if "transmissions give actuator 'winch' different" in each]
    assert len(found) == count


@pytest.mark.parametrize(
    ('place', 'limit'),
    [
        ('<joint name="lift" role="joint1">', '<limit velocity="1"/>'),
        ('<transmission name="hoist">', '<limit velocity="1"/>'),
        ('velocity="5" effort="1.5"/>', '<limits velocity="3"/>'),
    ],
)
def test_a_limit_that_nobody_reads_is_an_error(run, place, limit):
    """A motor whose limit stands elsewhere is not run without it."""
    assert place in ROBOT
    code, _, findings = check(run, ROBOT.replace(place, place + limit))
    (line,) = (each for each in findings if ': error: ' in each)
    assert code == 1
    assert "transmission 'hoist' cannot be used: parameter 'limit" in line


# -- against brute force -------------------------------------------------------------------------

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


def reach(matrix, lower, upper, direction):
    """Return the greatest value of a direction within a region, by linear programming."""
    found = linprog(
        -np.asarray(direction), np.vstack([matrix, -matrix]), np.concatenate([upper, -lower]),
        bounds=(None, None),
    )  # fmt: skip
    return math.inf if found.status == 3 else -found.fun


@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize(('n', 'm'), [(2, 2), (3, 3), (2, 3)])
def test_boxes_are_those_of_linear_programming(n, m, data):
    """The box is as large as the region in each direction."""
    rest = [data.draw(st.lists(st.floats(-0.6, 0.6), min_size=m, max_size=m)) for _ in range(n)]
    matrix = np.eye(n, m) * 2.0 + np.array(rest)
    limits = data.draw(st.lists(st.tuples(*[numbers] * 4), min_size=m, max_size=m))
    report, robot = coupled(matrix.tolist(), limits)
    assert [each.interface for each in report.regions] == ['position', 'velocity', 'effort']
    boxes = [(each.upper, each.velocity[0], each.effort[0]) for each in report.allowed]
    for region, box in zip(report.regions, zip(*boxes, strict=True), strict=True):
        for unit, expected in zip(np.eye(n), box, strict=True):
            assert reach(region.matrix, region.lower, region.upper, unit) == pytest.approx(
                expected, rel=1e-7
            )
        # What the bridge maps it to is within the limits of the actuators, exactly there.
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
