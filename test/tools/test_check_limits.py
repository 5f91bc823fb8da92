# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints as their actuators see them, in ``transmission_bridge check``."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.kinematics import ActuatorDevice
from transmission_bridge.resources import resource

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
    """People see them with their units without asking; the documented shape of the JSON stays."""
    lines = run('check', ARM).out.splitlines()
    title = 'limits of the joints, and of their actuators from these (indented)'
    first = lines.index(f'{title}, in rad, rad/s, N m')
    assert lines[first + 1].split() == ['LOWER', 'UPPER', 'VELOCITY', 'EFFORT']
    assert lines[first + 2].split() == ['shoulder_pan', '-2.9', '2.9', '1.5', '150']
    assert lines[first + 3].split() == (
        ['shoulder_pan_motor', '-318.15', '267.65', '151.5', '1.48515']
    )
    transmissions = run('check', ARM, '--json').json['transmissions']
    assert all('actuator_limits' not in transmission for transmission in transmissions)


def test_the_documentation_shows_what_is_printed(run):
    """The lines in docs/tools.md are those of ``check`` for the arm."""
    page = (ARM.parent.parent / 'docs' / 'tools.md').read_text(encoding='utf-8')
    shown = page.partition('```\nlimits of')[2].partition('```')[0].splitlines()
    lines = run('check', ARM).out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith('limits of'))
    assert len(shown) == 4
    assert lines[first : first + 4] == [f'limits of{shown[0]}', *shown[1:]]


def test_limits_that_contradict_each_other_give_no_bounds(run, tmp_path):
    """A joint without any allowed position has no bounds to map, and nothing fails."""
    path = tmp_path / 'crossed.urdf'
    path.write_text(
        ARM.read_text(encoding='utf-8').replace('lower="-2.9" upper="2.9"', 'lower="1" upper="-1"')
    )
    document = run('check', path, '--json', '--limits').json
    pan = document['transmissions'][0]['actuator_limits'][0]
    assert (pan['lower'], pan['upper']) == ('varies', 'varies')


# -- ratios that vary ----------------------------------------------------------------------------

#: A crank within limits, one beyond its domain, two motors on one foot, and a spindle.
LEGS = """<robot name="legs">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <link name="e"/><link name="f"/>
  <joint name="knee" type="revolute"><parent link="base"/><child link="a"/>
    <limit lower="-0.4" upper="0.6" velocity="3" effort="80"/></joint>
  <joint name="flap" type="continuous"><parent link="base"/><child link="b"/>
    <limit velocity="3" effort="80"/></joint>
  <joint name="pitch" type="revolute"><parent link="a"/><child link="c"/>
    <limit lower="-0.3" upper="0.3" velocity="4" effort="50"/></joint>
  <joint name="roll" type="revolute"><parent link="c"/><child link="d"/>
    <limit lower="-0.2" upper="0.2" velocity="5" effort="40"/></joint>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="e"/>
    <limit lower="0" upper="0.4" velocity="0.1" effort="500"/></joint>
  <joint name="jaw" type="revolute"><parent link="e"/><child link="f"/>
    <limit lower="0.2" upper="0.7" velocity="2" effort="9"/></joint>
  <ros2_control name="legs" type="system">
    <hardware><plugin>any/Driver</plugin></hardware>
    <joint name="knee"/><joint name="flap"/><joint name="pitch"/><joint name="roll"/>
    <joint name="lift"/><joint name="jaw"/>
    <transmission name="knee"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
      <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
      <param name="crank_angle">1.2</param>
      <joint name="knee" role="joint1"/><actuator name="knee_slide" role="actuator1"/>
    </transmission>
    <transmission name="flap"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
      <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
      <param name="crank_angle">1.2</param>
      <joint name="flap" role="joint1">
        <param name="lower">-0.5</param><param name="upper">0.25</param>
      </joint><actuator name="flap_slide" role="actuator1"/>
    </transmission>
    <transmission name="ankle"><plugin>transmission_bridge/ParallelAnkleTransmission</plugin>
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
      </actuator>
    </transmission>
    <transmission name="lift"><plugin>transmission_bridge/ScrewTransmission</plugin>
      <param name="lead">0.005</param>
      <joint name="lift" role="joint1"/><actuator name="spindle" role="actuator1"/>
    </transmission>
    <transmission name="jaw"><plugin>transmission_bridge/TabulatedTransmission</plugin>
      <param name="actuator">0 0.2 0.5 1.0</param><param name="joint">0 0.1 0.4 1.3</param>
      <joint name="jaw" role="joint1"/><actuator name="tendon" role="actuator1"/>
    </transmission>
  </ros2_control>
</robot>
"""

#: What a range from samples may miss.
SHARE = 2e-3


@pytest.fixture(scope='module')
def legs(run):
    """Return the transmissions in the JSON by name, and the robot."""
    result = run('check', '-', '--json', '--limits', stdin=LEGS.encode())
    robot = tb.RobotTransmissions(tb.load_description(LEGS))
    return {each['name']: each for each in result.json['transmissions']}, robot


def _inside(value, ends):
    least, greatest = ends
    slack = SHARE * max(abs(least), abs(greatest))
    return least - slack <= value <= greatest + slack


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize('name', ['knee', 'flap', 'ankle', 'jaw'])
def test_ranges_hold_what_happens_at_any_allowed_position(legs, name, data):
    """Position, speed, effort and ratio at any position within the limits are in their ranges."""
    found, robot = legs[0][name], legs[1].transmissions[name]
    domain = {'flap': (-0.5, 0.25)}
    q = [
        data.draw(st.floats(*domain.get(name, (joint['lower'], joint['upper']))))
        for joint in found['joint_limits']
    ]
    position = robot.joint_to_actuator('position', q)
    ratio = np.array(
        [robot.joint_to_actuator('velocity', unit, at=q) for unit in np.eye(len(q))]
    ).T
    speed = np.abs(ratio) @ [joint['velocity'] for joint in found['joint_limits']]
    effort = np.abs(np.linalg.inv(ratio).T) @ [joint['effort'] for joint in found['joint_limits']]
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
    ends = robot.joint_to_actuator('position', [[joint['lower']], [joint['upper']]]).ravel()
    assert (actuator['lower'], actuator['upper']) == pytest.approx(tuple(sorted(ends)))
    rates = np.abs(robot.joint_to_actuator('velocity', [[joint['velocity']]] * 201, at=np.linspace(
        [joint['lower']], [joint['upper']], 201
    )))  # fmt: skip
    assert actuator['velocity'] == pytest.approx([rates.min(), rates.max()], rel=SHARE)


def test_nothing_is_said_to_vary(legs, run):
    """Text and JSON have ranges where a ratio depends on position, within the domain at least."""
    text = run('check', '-', stdin=LEGS.encode()).out
    assert 'varies' not in text
    assert '?' not in text
    assert all("'varies'" not in str(each) for each in legs[0].values())
    assert ' .. ' in next(line for line in text.splitlines() if line.startswith('    flap_slide'))
    assert 'ratios that vary, over the allowed positions' in text


def test_units_are_those_of_each_member(legs, run):
    """What turns is in rad, what slides in m; of a slider on a crank nobody knows the motor."""
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
    assert ratios['upper', 'roll'] == ''
    assert ratios['knee_slide', 'knee'] == '(rad or m)/rad'
    lines = run('check', '-', stdin=LEGS.encode()).out.splitlines()
    for start, end in (
        ('  lift ', '  m, m/s, N'), ('    spindle ', '  rad, rad/s, N m'),
        ('    tendon ', '  rad or m, N m or N'),
    ):  # fmt: skip
        assert any(line.startswith(start) and line.endswith(end) for line in lines)


def test_a_plugin_that_raises_costs_its_own_numbers_only(run, monkeypatch):
    """Where a Jacobian raises, its numbers are unknown, and the others are there."""

    def broken(*_):
        raise RuntimeError('a bug')

    monkeypatch.setattr(
        'transmission_bridge.transmissions.crank_slider.CrankSliderTransmission.jacobian', broken
    )
    result = run('check', '-', stdin=LEGS.encode())
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert ['knee_slide', '?', '?', '?', '?', 'rad', 'or', 'm,', 'N', 'm', 'or', 'N'] in lines
    assert any(line[:1] == ['tendon'] and '?' not in line for line in lines)


#: A cam that stands still at its rest: its end slope is zero.
CAM = """<robot name="cam">
  <link name="base"/><link name="ram_link"/>
  <joint name="ram" type="prismatic"><parent link="base"/><child link="ram_link"/>
    <limit lower="0" upper="0.02" velocity="0.1" effort="9"/></joint>
  <ros2_control name="cam" type="system">
    <hardware><plugin>any/Driver</plugin></hardware>
    <joint name="ram"/>
    <transmission name="cam"><plugin>transmission_bridge/TabulatedTransmission</plugin>
      <param name="actuator">0 1 2 3</param><param name="joint">0 0.0001 0.01 0.02</param>
      <joint name="ram" role="joint1"/><actuator name="motor" role="actuator1"/>
    </transmission>
  </ros2_control>
</robot>
"""


def test_a_dead_centre_within_the_limits_is_a_warning_and_no_number(run):
    """Speeds are those at which the bridge maps velocities; where it does not, that is said."""
    result = run('check', '-', '--json', '--limits', stdin=CAM.encode())
    (transmission,) = result.json['transmissions']
    (motor,) = transmission['actuator_limits']
    assert motor['velocity'][1] < 100.0
    assert transmission['ratios'][0]['ratio'][0] > 0.0
    (finding,) = result.json['findings']
    assert finding['severity'] == 'warning'
    assert "transmission 'cam' maps no velocities at 1.0% of the positions" in finding['message']
    allowed = run('check', '-', '--json', stdin=CAM.replace('lower="0"', 'lower="0.001"').encode())
    assert allowed.json['findings'] == []


def test_what_rounding_leaves_of_zero_is_zero(run):
    """A limit that is 1e-16 of the other one is printed as 0."""
    # The offset is the next number above the limit.
    text = """<robot name="r"><link name="a"/><link name="b"/>
      <joint name="q" type="revolute"><parent link="a"/><child link="b"/>
        <limit lower="0.3" upper="1.3" velocity="1" effort="1"/></joint>
      <ros2_control name="s" type="system"><hardware><plugin>any/Driver</plugin></hardware>
        <joint name="q"/>
        <transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
          <joint name="q" role="joint1"><mechanical_reduction>7</mechanical_reduction>
            <offset>0.30000000000000004</offset></joint>
          <actuator name="m" role="actuator1"/></transmission>
      </ros2_control></robot>"""
    lines = [line.split() for line in run('check', '-', stdin=text.encode()).out.splitlines()]
    assert ['m', '0', '7', '7', '0.142857'] in lines
