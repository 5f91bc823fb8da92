# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map`` and ``jacobian``."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.elements import chain

import transmission_bridge as tb
from transmission_bridge.kinematics import ActuatorDevice, JointDevice
from transmission_bridge.resources import resource

TO_JOINT = ('--to', 'joint', '--interface')
TO_ACTUATOR = ('--to', 'actuator', '--interface')

BAR = chain(
    {
        't': """<plugin>transmission_interface/FourBarLinkageTransmission</plugin>
      <actuator name="a" role="actuator1"><mechanical_reduction>3</mechanical_reduction></actuator>
      <actuator name="b" role="actuator2"><mechanical_reduction>-7</mechanical_reduction>
      </actuator>
      <joint name="p" role="joint1"><offset>0.1</offset></joint>
      <joint name="q" role="joint2"><mechanical_reduction>0.3</mechanical_reduction></joint>"""
    },
    p='',
    q='',
)
CRANK = chain(
    {
        't': """<plugin>transmission_bridge/CrankSliderTransmission</plugin>
      <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
      <param name="crank_angle">1.2</param><actuator name="slide"/><joint name="knee"/>"""
    },
    knee='',
)


def test_roles_decide_against_xml_and_alphabetical_order(run, reversed_robot):
    """The example that every peer gets wrong, and its way back with negative numbers."""
    result = run('map', reversed_robot, *TO_JOINT, 'position', '--json', 'm1=100', 'm2=20')
    assert (result.code, result.err) == (0, '')
    assert result.json == pytest.approx({'alpha': -1.1, 'zed': 0.9}, rel=1e-15)
    result = run('map', reversed_robot, *TO_ACTUATOR, 'position', '--json', 'alpha=-1.1', 'zed=.9')
    assert result.json == pytest.approx({'m1': 100, 'm2': 20}, rel=1e-14)


@given(
    st.sampled_from(['position', 'velocity', 'acceleration', 'effort', 'torque', 'force']),
    st.sampled_from(['joint', 'actuator']),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
)
def test_every_interface_is_the_core_s_answer_to_the_last_bit(run, interface, to, values):
    """JSON carries full precision: what is printed is what the core computes."""
    robot = tb.RobotTransmissions(tb.load_description(BAR))
    names, others = (('a', 'b'), ('p', 'q'))[:: 1 if to == 'joint' else -1]
    arguments = [f'{name}={value!r}' for name, value in zip(names, values, strict=True)]
    way = ('--to', to, '--interface', interface)
    result = run('map', '-', *way, '--json', *arguments, stdin=BAR.encode())
    function = robot.actuator_to_joint if to == 'joint' else robot.joint_to_actuator
    assert result.json == dict(zip(others, function(interface, values).tolist(), strict=True))


@pytest.mark.parametrize(
    ('way', 'values', 'missing'),
    [
        ((*TO_JOINT, 'position'), ['m1=100'], 'alpha, zed'),
        # Infinity is no JSON number.
        ((*TO_ACTUATOR, 'velocity'), ['zed=1e308', 'alpha=1'], 'm1, m2'),
    ],
)
def test_what_is_not_known_is_left_out(run, reversed_robot, way, values, missing):
    """Only what is fully known is printed; the text says what is not; nothing at all is a 1."""
    result = run('map', reversed_robot, *way, '--json', *values)
    assert (result.code, result.json, result.err) == (1, {}, '')
    text = run('map', reversed_robot, *way, *values)
    assert (text.code, text.out) == (1, f'not computable from these values: {missing}\n')


def test_a_joint_lost_to_an_error_is_named_with_its_reason(run, mixed_robot):
    """A robot with errors maps what is left, says so, and tells why a joint is missing."""
    good = run('map', mixed_robot, *TO_JOINT, 'effort', '--json', 'good_motor=2')
    assert (good.code, good.json) == (0, {'good': 200.0})
    assert 'has errors (2)' in good.err
    lost = run('map', mixed_robot, *TO_ACTUATOR, 'position', 'broken=1')
    assert lost.code == 2
    assert "'broken' (its transmission 'broken_transmission' was rejected)" in lost.err
    assert 'known: good, direct' in lost.err
    # Names are aligned, and numbers read back as the same floats.
    out = run('map', mixed_robot, *TO_JOINT, 'position', 'good_motor=1', 'direct=0.1').out
    assert out == 'good    0.01  rad\ndirect  0.1   rad\n'


def test_values_may_stand_anywhere(run, reversed_robot):
    """Values before, between and behind the options mean the same."""
    for arguments in (
        'm1=1 m2=2 --to joint --interface effort --json',
        'm1=1 --to joint m2=2 --json --interface effort',
        'm1=1 m2=2 --at m1=3 m2=4 --json --to joint --interface effort',
        '--at m1=3 --at m2=4 --json --to joint --interface effort m1=1 m2=2',
    ):
        found = run('map', reversed_robot, *arguments.split()).json
        assert found == {'alpha': -300.0, 'zed': -100.0}


def test_a_ratio_that_depends_on_position_takes_at_and_rate(run, refuse):
    """Velocity, effort and acceleration use the positions and velocities given beside them."""
    robot, data = tb.RobotTransmissions(tb.load_description(CRANK)), CRANK.encode()
    beside = ('--at', 'knee=0.3', '--rate', 'knee=-0.5')
    for interface in ('velocity', 'effort', 'acceleration'):
        way = (*TO_ACTUATOR, interface, '--json', 'knee=2', *beside)
        expected = robot.joint_to_actuator(interface, [2.0], at=[0.3], rate=[-0.5])
        assert run('map', '-', *way, stdin=data).json == {'slide': expected[0]}
    way = ('map', '-', *TO_ACTUATOR, 'effort', 'knee=2')
    refuse('give positions with --at', *way, stdin=data)
    beyond = run('map', '-', *TO_JOINT, 'position', 'slide=9', stdin=data)
    assert beyond.out == 'not computable from these values: knee (t: domain)\n'
    assert beyond.code == 1


def test_an_actuator_beyond_its_limits_is_named(run):
    """The number is printed as it is; that the bridge would not send it is said beside it."""
    gear = """<plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="q"><mechanical_reduction>10</mechanical_reduction></joint>
      <actuator name="a"><limit upper="5" effort="2"/></actuator>"""
    text = chain({'t': gear}, q='').encode()
    for interface, value, sent, limits in (
        ('position', 0.5, 5.0, ''),
        ('position', 0.6, 6.0, '-inf to 5'),
        ('torque', -30.0, -3.0, '-2 to 2'),
        ('velocity', 1e3, 1e4, ''),
    ):
        result = run('map', '-', *TO_ACTUATOR, interface, '--json', f'q={value}', stdin=text)
        assert (result.code, result.json) == (0, {'a': pytest.approx(sent)})
        assert bool(result.err) == bool(limits)
        assert f'beyond its limits {limits}' in result.err or not limits
    assert run('map', '-', *TO_JOINT, 'position', 'a=6', stdin=text).err == ''


def test_units_of_drivers_are_taken_named_and_listed(run):
    """A motor's number and limits are its driver's; ``check`` lists what one of each is in SI."""
    gear = """<plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="q"><mechanical_reduction>10</mechanical_reduction></joint>
      <actuator name="m"><limit velocity="1"/>
        <param name="position_unit">turn</param><param name="velocity_unit">rpm</param>
        <param name="effort_unit">A</param><param name="torque_constant">0.5</param></actuator>"""
    text = chain({'t': gear}, q='continuous 0 0 1 1').encode()

    def told(*words):
        return run('map', '-', *words, stdin=text)

    assert told(*TO_JOINT, 'position', 'm=10').out.split()[2:] == ['rad']
    assert told(*TO_JOINT, 'position', '--json', 'm=10').json == {'q': math.tau}
    assert told(*TO_ACTUATOR, 'effort', 'q=10').out == 'm  2.0  A\n'
    fast = told(*TO_ACTUATOR, 'velocity', 'q=6.283185307179586')
    assert fast.out.split()[0::2] == ['m', 'rpm']
    assert 'm: 600 is beyond its limits -9.5493 to 9.5493 rpm' in fast.err
    assert told(*TO_ACTUATOR, 'acceleration', 'q=0').out == 'm  0.0  rpm/s\n'
    lines = run('check', '-', stdin=text).out.splitlines()
    start = lines.index('units of the drivers, and their size at the motor in SI')
    assert lines[start + 2].split() == ['m', 'turn', '6.28319', 'rpm', '0.10472', 'A', '0.5']
    assert run('check', '-', '--json', stdin=text).json['units'] == {
        'm': {
            'position': {'unit': 'turn', 'scale': math.tau},
            'velocity': {'unit': 'rpm', 'scale': pytest.approx(math.tau / 60.0)},
            'effort': {'unit': 'A', 'scale': 0.5},
        }
    }


def test_a_jacobian_is_that_of_the_device(run):
    """To the last bit, of joints and of actuators; the others are at zero, and text names rows."""
    arm, links = resource('urdf', 'arm.urdf'), ('--base', 'base_link', '--end', 'tool_link')
    robot, q = tb.load_description(arm), (0.1, -0.2, 0.3, 0.4, -0.5, 0.6)
    device = JointDevice.from_description(robot, base='base_link', end='tool_link')
    for positions in (('--', *q), q):
        result = run('jacobian', arm, *links, '--json', *positions)
        assert (result.code, result.err) == (0, '')
        assert result.json['names'] == list(device.joint_names)
        assert result.json['jacobian'] == device.base_j_end(q).tolist()
        assert result.json['transform'] == device.base_t_end(q).tolist()
    heading, *lines = run('jacobian', arm, *links).out.splitlines()
    assert heading.split() == list(device.joint_names)
    rows = ['position', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz']
    assert [line.split()[0] for line in lines[:7]] == rows

    actuators = ActuatorDevice(device, tb.RobotTransmissions(robot))
    words = ('--space', 'actuator', '--json', 'shoulder_pan_motor=20.0', 'elbow_motor=-30.0')
    found = run('jacobian', arm, *links, *words).json
    names, a = list(actuators.actuator_names), np.zeros(6)
    a[names.index('shoulder_pan_motor')], a[names.index('elbow_motor')] = 20.0, -30.0
    assert (found['names'], found['position']) == (names, a.tolist())
    assert found['jacobian'] == actuators.base_j_end(a).tolist()
