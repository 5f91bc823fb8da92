# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the limits of actuators allow their joints, in ``transmission_bridge check``."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.tools.limit_report import transmission_limits

linprog = pytest.importorskip('scipy.optimize').linprog

ROBOT = """<robot name="r"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<link name="d"/>
<joint name="lift" type="prismatic"><parent link="base"/><child link="a"/>
  <limit lower="-1" upper="0.5" velocity="1" effort="75"/></joint>
<joint name="pitch" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-1" upper="1" velocity="2" effort="10"/></joint>
<joint name="roll" type="continuous"><parent link="b"/><child link="c"/>
  <limit velocity="3" effort="30"/></joint>
<joint name="knee" type="revolute"><parent link="b"/><child link="d"/>
  <limit lower="-0.4" upper="0.6" velocity="2.5" effort="50"/></joint>
<ros2_control name="drives" type="system"><hardware><plugin>any/Driver</plugin></hardware>
  <joint name="lift"/><joint name="pitch"/><joint name="roll"/><joint name="knee"/>
  <transmission name="hoist"><plugin>transmission_interface/SimpleTransmission</plugin>
    <joint name="lift" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
    <actuator name="winch" role="actuator1">
      <limit lower="-20" upper="30" velocity="5" effort="1.5"/></actuator></transmission>
  <transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
    <joint name="pitch" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
    <joint name="roll" role="joint2"><offset>0.2</offset></joint>
    <actuator name="left" role="actuator1"><mechanical_reduction>10</mechanical_reduction>
      <limit lower="-8" upper="8" velocity="50" effort="1"/></actuator>
    <actuator name="right" role="actuator2"><mechanical_reduction>-10</mechanical_reduction>
      <limit velocity="60" effort="1.2"/></actuator></transmission>
  <transmission name="knee"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
    <param name="crank_angle">1.2</param><joint name="knee" role="joint1"/>
    <actuator name="slide" role="actuator1"><limit upper="0.35" velocity="0.25"/></actuator>
  </transmission>
</ros2_control></robot>"""


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
    result = run('check', '-', stdin=ROBOT.encode())
    assert result.code == 0
    warnings = [line for line in result.out.splitlines() if ' warning: ' in line]
    words = [
        ("position limit of joint 'lift'", '-0.4 to 0.6 m', '-1 to 0.5 m, 0.6 m too low'),
        ("velocity limit of joint 'lift'", 'at most 0.1 m/s', '10 times as much'),
        ("effort limit of joint 'roll'", 'at most 22 N m', '30 N m, 1.364 times as much'),
        ("position limit of joint 'knee'", ' to 0.6 rad', 'too low'),
        ("velocity limit of joint 'knee'", 'rad/s elsewhere', 'times as much'),
    ]
    assert len(warnings) == len(words)
    for expected in words:
        (line,) = (each for each in warnings if expected[0] in each)
        assert all(word in line for word in expected)
        assert line.startswith('-:')
        assert '[/robot/joint' in line


def test_ranges_that_exclude_each_other_are_an_error(run):
    """With the line of the transmission and both ranges, and no warning beside it."""
    text = ROBOT.replace('lower="-20" upper="30"', 'lower="26" upper="30"')
    result = run('check', '-', stdin=text.encode())
    assert result.code == 1
    (line,) = (each for each in result.out.splitlines() if "'lift'" in each and '-:' in each)
    number = text[: text.index('<transmission name="hoist">')].count('\n') + 1
    assert line.startswith(f"-:{number}: error: transmission 'hoist' cannot be used: ")
    assert '[-50, 25]' in line
    assert 'found [26, 30]' in line
    assert '1 joint not bridged (transmission rejected): lift' in result.out


def test_the_text_has_them_with_their_units(run):
    """A table like that of the joints, then the half-spaces of each coupled transmission."""
    lines = run('check', '-', stdin=ROBOT.encode()).out.splitlines()
    start = lines.index('limits of the actuators, and of their joints from these (indented)')
    table = [line.split() for line in lines[start + 1 :]]
    assert table[1] == ['winch', '-20', '30', '5', '1.5', 'rad', 'or', 'm,', 'N', 'm', 'or', 'N']
    assert table[2] == ['lift', '-0.4', '0.6', '0.1', '75', 'm,', 'm/s,', 'N']
    assert '    left: -6 <= 20 pitch + 10 roll <= 10' in lines
    assert '    right: |- 20 pitch + 10 roll| <= 60' in lines
    assert '    left: |0.025 pitch + 0.05 roll| <= 1' in lines


def test_without_limits_nothing_is_said(run):
    """A robot whose actuators have no limits has neither the table nor a warning."""
    text = ROBOT.replace('<limit lower="-8"', '<!-- ').replace('effort="1"/>', '-->')
    for limit in ('lower="-20" upper="30" velocity="5" effort="1.5"',
                  'velocity="60" effort="1.2"', 'upper="0.35" velocity="0.25"'):  # fmt: skip
        text = text.replace(f'<limit {limit}/>', '')
    result = run('check', '-', stdin=text.encode())
    assert 'limits of the actuators' not in result.out
    assert result.out.splitlines()[-1] == '3 transmissions loaded, 0 errors, 0 warnings'


def test_limits_that_two_transmissions_give_one_actuator(run):
    """That they differ is said, because only one of them can be meant."""
    second = """<joint name="dial"/><transmission name="gauge">
      <plugin>transmission_interface/SimpleTransmission</plugin><joint name="dial"/>
      <actuator name="winch"><limit upper="{}"/></actuator></transmission></ros2_control>"""
    for upper, count in ((30, 1), (40, 1)):
        text = ROBOT.replace('</ros2_control>', second.format(upper))
        text = text.replace(
            '<link name="a"/>', '<link name="a"/><link name="e"/><joint name="dial" '
            'type="continuous"><parent link="base"/><child link="e"/></joint>', 1,
        )  # fmt: skip
        out = run('check', '-', stdin=text.encode()).out
        assert out.count("transmissions give actuator 'winch' different limits") == count


@pytest.mark.parametrize(
    'place',
    [
        '<joint name="lift" role="joint1">|<joint name="lift" role="joint1"><limit velocity="1"/>',
        '<transmission name="hoist">|<transmission name="hoist"><limit velocity="1"/>',
        'velocity="5" effort="1.5"/>|velocity="5" effort="1.5"/><limits velocity="3"/>',
    ],
)
def test_a_limit_that_nobody_reads_is_an_error(run, place):
    """A motor whose limit stands elsewhere is not run without it."""
    before, after = place.split('|')
    assert before in ROBOT
    result = run('check', '-', stdin=ROBOT.replace(before, after).encode())
    assert result.code == 1
    (line,) = (each for each in result.out.splitlines() if ': error: ' in each)
    assert "transmission 'hoist' cannot be used: parameter 'limit" in line


# -- against brute force -------------------------------------------------------------------------

numbers = st.floats(0.1, 10.0)
signed = st.tuples(numbers, st.sampled_from([-1.0, 1.0])).map(lambda pair: pair[0] * pair[1])


def coupled(n, m, matrix, limits):
    """Return the report of a coupled transmission."""
    joints = ''.join(f'<joint name="q{j}"/>' for j in range(n))
    rows = ''.join(
        f'<param name="joint{j + 1}">{" ".join(map(repr, row))}</param>'
        for j, row in enumerate(matrix)
    )
    ends = ''.join(f'<joint name="q{j}" role="joint{j + 1}"/>' for j in range(n)) + ''.join(
        f'<actuator name="a{i}" role="actuator{i + 1}"><limit lower="{-low!r}" upper="{high!r}" '
        f'velocity="{speed!r}" effort="{effort!r}"/></actuator>'
        for i, (low, high, speed, effort) in enumerate(limits)
    )
    robot = tb.RobotTransmissions(
        tb.load_description(
            f'<robot name="r"><ros2_control name="b" type="system">{joints}'
            '<transmission name="t"><plugin>transmission_bridge/CoupledTransmission</plugin>'
            f'{rows}{ends}</transmission></ros2_control></robot>'
        )
    )
    (binding,) = robot.bindings
    return transmission_limits(robot, binding), robot


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
    matrix = np.eye(n, m) * 2.0 + np.array(
        data.draw(st.lists(st.lists(st.floats(-0.6, 0.6), min_size=m, max_size=m),
                           min_size=n, max_size=n))
    )  # fmt: skip
    limits = data.draw(st.lists(st.tuples(*[numbers] * 4), min_size=m, max_size=m))
    report, robot = coupled(n, m, matrix.tolist(), limits)
    assert [each.interface for each in report.regions] == ['position', 'velocity', 'effort']
    for region, box in zip(
        report.regions,
        (
            [each.upper for each in report.allowed],
            [each.velocity[0] for each in report.allowed],
            [each.effort[0] for each in report.allowed],
        ),
        strict=True,
    ):
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
    report, _ = coupled(2, 1, [[1.0], [0.5]], [(4.0, 2.0, 3.0, 5.0)])
    near, far = report.allowed
    assert (near.lower, near.upper, far.lower, far.upper) == pytest.approx((-4, 2, -2, 1))
    assert (near.velocity[0], far.velocity[0]) == pytest.approx((3.0, 1.5))
    assert all(math.isinf(each.effort[0]) for each in (near, far))  # efforts may cancel
