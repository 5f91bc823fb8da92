# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints as their actuators see them, in ``transmission_bridge check``."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from robots import chain

import transmission_bridge as tb
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.kinematics import ActuatorDevice
from transmission_bridge.resources import resource

ARM = resource('urdf', 'arm.urdf')


ROBOT = tb.load_description(ARM)


def test_they_are_where_the_limits_of_the_joints_are_met(run):
    """For a simple one by its formula, the sense swapping the ends; open ones are null."""
    document = run('check', ARM, '--json', '--limits').json
    limits = {
        each['name']: each for t in document['transmissions'] for each in t['actuator_limits']
    }
    pan = effective_limits(ROBOT, 'shoulder_pan')
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
    # The actuator device of the whole arm has the same numbers.
    device = ActuatorDevice.from_description(ROBOT, base='base_link', end='tool_link')
    rows = np.array([*device.bounds, device.velocity_limits, device.effort_limits]).T
    for name, numbers in zip(device.actuator_names, rows, strict=True):
        found = [limits[name][key] for key in ('lower', 'upper', 'velocity', 'effort')]
        bounded = np.isfinite(numbers)
        assert bounded[2:].all()
        assert np.array(found)[bounded].tolist() == pytest.approx(numbers[bounded])


def test_the_text_has_them_and_the_plain_json_has_not(run):
    """The lines in docs/tools.md are those of ``check``; the shape of the JSON stays."""
    page = (ARM.parent.parent / 'docs' / 'tools.md').read_text(encoding='utf-8')
    shown = page.partition('```\nlimits of')[2].partition('```')[0].splitlines()
    lines = run('check', ARM).out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith('limits of'))
    assert len(shown) == 4
    assert lines[first : first + 4] == [f'limits of{shown[0]}', *shown[1:]]
    assert lines[first + 2].split() == ['shoulder_pan', '-2.9', '2.9', '1.5', '150']
    transmissions = run('check', ARM, '--json').json['transmissions']
    assert all('actuator_limits' not in transmission for transmission in transmissions)


def test_limits_that_contradict_each_other_give_no_bounds(run):
    """A joint without any allowed position has no bounds to map, and nothing fails."""
    text = ARM.read_text().replace('lower="-2.9" upper="2.9"', 'lower="1" upper="-1"')
    document = run('check', '-', '--json', '--limits', stdin=text.encode()).json
    pan = document['transmissions'][0]['actuator_limits'][0]
    assert (pan['lower'], pan['upper']) == ('varies', 'varies')


# -- ratios that vary ----------------------------------------------------------------------------

CRANK = """<param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
      <param name="crank_angle">1.2</param>"""


#: A crank within limits, one beyond its domain, two motors on one foot, a spindle, and a table.
TRANSMISSIONS = {
    'knee': f"""<plugin>transmission_bridge/CrankSliderTransmission</plugin>{CRANK}
      <joint name="knee" role="joint1"/><actuator name="knee_slide" role="actuator1"/>""",
    'flap': f"""<plugin>transmission_bridge/CrankSliderTransmission</plugin>{CRANK}
      <joint name="flap" role="joint1">
        <param name="lower">-0.5</param><param name="upper">0.25</param>
      </joint><actuator name="flap_slide" role="actuator1"/>""",
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
    'jaw': """<plugin>transmission_bridge/TabulatedTransmission</plugin>
      <param name="actuator">0 0.2 0.5 1.0</param><param name="joint">0 0.1 0.4 1.3</param>
      <joint name="jaw" role="joint1"/><actuator name="tendon" role="actuator1"/>""",
}
LEGS = chain(
    TRANSMISSIONS,
    knee='revolute -0.4 0.6 3 80',
    flap='continuous 0 0 3 80',
    pitch='revolute -0.3 0.3 4 50',
    roll='revolute -0.2 0.2 5 40',
    lift='prismatic 0 0.4 0.1 500',
    jaw='revolute 0.2 0.7 2 9',
)

#: A cam that stands still at its rest: its end slope is zero.
CAM = chain(
    {
        'cam': """<plugin>transmission_bridge/TabulatedTransmission</plugin>
          <param name="actuator">0 1 2 3</param><param name="joint">0 0.0001 0.01 0.02</param>
          <joint name="ram" role="joint1"/><actuator name="motor" role="actuator1"/>"""
    },
    ram='prismatic 0 0.02 0.1 9',
)

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
    q = np.linspace([joint['lower']], [joint['upper']], 201)
    ends = robot.joint_to_actuator('position', q[[0, -1]]).ravel()
    assert (actuator['lower'], actuator['upper']) == pytest.approx(tuple(sorted(ends)))
    speed = np.full(q.shape, joint['velocity'])
    rates = np.abs(robot.joint_to_actuator('velocity', speed, at=q))
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
    allowed = CAM.replace('lower="0"', 'lower="0.001"').encode()
    assert run('check', '-', '--json', stdin=allowed).json['findings'] == []


def test_what_rounding_leaves_of_zero_is_zero(run):
    """A limit that is 1e-16 of the other one is printed as 0."""
    # The offset is the next number above the limit.
    gear = """<plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="q" role="joint1"><mechanical_reduction>7</mechanical_reduction>
        <offset>0.30000000000000004</offset></joint><actuator name="m" role="actuator1"/>"""
    text = chain({'t': gear}, q='revolute 0.3 1.3 1 1')
    lines = [line.split() for line in run('check', '-', stdin=text.encode()).out.splitlines()]
    assert ['m', '0', '7', '7', '0.142857'] in lines
