# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map``."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import pytest
from robots import chain

import transmission_bridge as tb
from transmission_bridge.description import load_description

TO_JOINT = ('--to', 'joint', '--interface')
TO_ACTUATOR = ('--to', 'actuator', '--interface')


def test_roles_decide_against_xml_and_alphabetical_order(run, reversed_robot):
    """The example that every peer gets wrong, and its way back with negative numbers."""
    result = run('map', reversed_robot, *TO_JOINT, 'position', '--json', 'm1=100', 'm2=20')
    assert (result.code, result.err) == (0, '')
    assert result.json == pytest.approx({'alpha': -1.1, 'zed': 0.9}, rel=1e-15)
    result = run('map', reversed_robot, *TO_ACTUATOR, 'position', '--json', 'alpha=-1.1', 'zed=.9')
    assert result.json == pytest.approx({'m1': 100, 'm2': 20}, rel=1e-14)


@given(st.data())
def test_every_interface_is_the_core_s_answer_to_the_last_bit(run, data):
    """JSON carries full precision: what is printed is what the core computes."""
    text = """<robot name="r"><transmission name="t">
      <type>transmission_interface/FourBarLinkageTransmission</type>
      <actuator name="a"><role>actuator1</role>
        <mechanicalReduction>3</mechanicalReduction></actuator>
      <actuator name="b"><role>actuator2</role>
        <mechanicalReduction>-7</mechanicalReduction></actuator>
      <joint name="p"><role>joint1</role><offset>0.1</offset>
        <hardwareInterface>EffortJointInterface</hardwareInterface></joint>
      <joint name="q"><role>joint2</role><mechanicalReduction>0.3</mechanicalReduction>
        <hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    </transmission></robot>"""
    robot = tb.RobotTransmissions(load_description(text))
    interface = data.draw(
        st.sampled_from(['position', 'velocity', 'acceleration', 'effort', 'torque', 'force'])
    )
    to = data.draw(st.sampled_from(['joint', 'actuator']))
    values = [data.draw(st.floats(-1e6, 1e6)) for _ in range(2)]
    names, others = (('a', 'b'), ('p', 'q'))[:: 1 if to == 'joint' else -1]
    arguments = [f'{name}={value!r}' for name, value in zip(names, values, strict=True)]
    way = ('--to', to, '--interface', interface)
    result = run('map', '-', *way, '--json', *arguments, stdin=text.encode())
    function = robot.actuator_to_joint if to == 'joint' else robot.joint_to_actuator
    assert result.json == dict(zip(others, function(interface, values).tolist(), strict=True))


@pytest.mark.parametrize(
    ('way', 'values', 'found', 'missing'),
    [
        ((*TO_JOINT, 'position'), ['m1=100'], {}, 'alpha, zed'),
        # Infinity is no JSON number.
        ((*TO_ACTUATOR, 'velocity'), ['zed=1e308', 'alpha=1'], {}, 'm1, m2'),
    ],
)
def test_what_is_not_known_is_left_out(run, reversed_robot, way, values, found, missing):
    """Only what is fully known is printed; the text says what is not; nothing at all is a 1."""
    result = run('map', reversed_robot, *way, '--json', *values)
    assert (result.code, result.json, result.err) == (1, found, '')
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
    expected = run('map', reversed_robot, *TO_JOINT, 'effort', '--json', 'm1=1', 'm2=2').json
    for arguments in (
        ['m1=1', 'm2=2', '--to', 'joint', '--interface', 'effort', '--json'],
        ['m1=1', '--to', 'joint', 'm2=2', '--json', '--interface', 'effort'],
        ['m1=1', 'm2=2', '--at', 'm1=3', 'm2=4', '--json', *TO_JOINT, 'effort'],
        ['--at', 'm1=3', '--at', 'm2=4', '--json', *TO_JOINT, 'effort', 'm1=1', 'm2=2'],
    ):
        assert run('map', reversed_robot, *arguments).json == expected
    assert len(expected) == 2
    assert all(map(math.isfinite, expected.values()))


SUPPORTED = 'supported: position, velocity, acceleration, effort, torque, force'


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['position', 'm1'], 'expected actuator=value'),
        (['position', 'm1='], "found ''"),
        (['position', 'm1=fast'], "found 'fast'"),
        (['position', 'm1=nan'], "found 'nan'"),
        (['position', 'm1=inf'], "found 'inf'"),
        (['position', 'm1=1_000'], "found '1_000'"),
        (['position', 'm1=1e999'], 'double precision'),
        (['position', 'm1=1', 'm1=2'], 'given twice'),
        (['position', 'zed=1'], "unknown actuator 'zed', known: m1, m2"),
        (['position', 'm11=1'], "unknown actuator 'm11' (closest: 'm1'), known: m1, m2"),
        (['position', 'm1=1', '--at', 'other=2'], "unknown actuator 'other', known: m1, m2"),
        (['position', 'm1=1', '--rate', 'm1=x'], "found 'x'"),
        (['position'], 'required: NAME=VALUE'),
        (['absolute_position', '--to', 'actuator', 'zed=1'], SUPPORTED),
        (['speed', 'm1=1'], f'{SUPPORTED}, absolute_position'),
        (['', '--to', 'actuator', 'zed=1'], SUPPORTED),
    ],
)
def test_a_value_that_is_none_is_a_usage_error(refuse, reversed_robot, arguments, words):
    """Unknown and doubled names, bad numbers and interfaces exit with 2 and one sentence."""
    refuse(words, 'map', reversed_robot, *TO_JOINT, *arguments)


def test_a_ratio_that_depends_on_position_takes_at_and_rate(run, refuse, tmp_path):
    """Velocity, effort and acceleration use the positions and velocities given beside them."""
    text = """<robot name="crank"><transmission name="t">
      <type>transmission_bridge/CrankSliderTransmission</type>
      <param name="rod_length">0.3</param><param name="crank_radius">0.1</param>
      <param name="crank_angle">1.2</param>
      <actuator name="slide"><mechanicalReduction>1</mechanicalReduction></actuator>
      <joint name="knee"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    </transmission></robot>"""
    path = tmp_path / 'crank.urdf'
    path.write_text(text)
    robot = tb.RobotTransmissions(load_description(text))
    beside = ('--at', 'knee=0.3', '--rate', 'knee=-0.5')
    for interface in ('velocity', 'effort', 'acceleration'):
        result = run('map', path, *TO_ACTUATOR, interface, '--json', 'knee=2', *beside)
        expected = robot.joint_to_actuator(interface, [2.0], at=[0.3], rate=[-0.5])
        assert result.json == {'slide': expected[0]}
    refuse('give positions with --at', 'map', path, *TO_ACTUATOR, 'effort', 'knee=2')
    beyond = run('map', path, *TO_JOINT, 'position', 'slide=9')
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


def test_units_of_drivers_are_taken_named_and_listed(run, tmp_path):
    """A motor's number and limits are its driver's; ``check`` lists what one of each is in SI."""
    robot = tmp_path / 'robot.urdf'
    robot.write_text(
        """<robot name="r"><link name="a"/><link name="b"/>
        <joint name="q" type="continuous"><parent link="a"/><child link="b"/></joint>
        <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
        <joint name="q"><hardwareInterface>PositionJointInterface</hardwareInterface></joint>
        <actuator name="m"><mechanicalReduction>10</mechanicalReduction><limit velocity="1"/>
        <param name="position_unit">turn</param><param name="velocity_unit">rpm</param>
        <param name="effort_unit">A</param><param name="torque_constant">0.5</param>
        </actuator></transmission></robot>"""
    )
    assert run('map', robot, *TO_JOINT, 'position', 'm=10').out.split()[2:] == ['rad']
    assert run('map', robot, *TO_JOINT, 'position', '--json', 'm=10').json == {'q': math.tau}
    assert run('map', robot, *TO_ACTUATOR, 'effort', 'q=10').out == 'm  2.0  A\n'
    fast = run('map', robot, *TO_ACTUATOR, 'velocity', 'q=6.283185307179586')
    assert fast.out.split()[0::2] == ['m', 'rpm']
    assert 'm: 600 is beyond its limits -9.5493 to 9.5493 rpm' in fast.err
    assert run('map', robot, *TO_ACTUATOR, 'acceleration', 'q=0').out == 'm  0.0  rpm/s\n'
    lines = run('check', robot).out.splitlines()
    start = lines.index('units of the drivers, and their size at the motor in SI')
    assert lines[start + 2].split() == ['m', 'turn', '6.28319', 'rpm', '0.10472', 'A', '0.5']
    assert run('check', robot, '--json').json['units'] == {
        'm': {
            'position': {'unit': 'turn', 'scale': math.tau},
            'velocity': {'unit': 'rpm', 'scale': pytest.approx(math.tau / 60.0)},
            'effort': {'unit': 'A', 'scale': 0.5},
        }
    }
