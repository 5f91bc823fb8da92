# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge map``."""

from __future__ import annotations

import math

from hypothesis import given, settings, strategies as st
import pytest
from zoo.elements import leg, params, ratio, transmission, urdf

import transmission_bridge as tb

ENDS = {'p': ratio(1, 0.1), 'q': ratio(0.3)}, {'a': ratio(3), 'b': ratio(-7)}
BAR = urdf(['p', 'q'], transmission('t', 'FourBarLinkage', *ENDS))


@pytest.fixture
def told(run):
    """Return a function that maps values of a description, or of a file."""

    def call(robot, to, interface, *words):
        file, data = ('-', robot.encode()) if isinstance(robot, str) else (robot, b'')
        return run('map', file, '--to', to, '--interface', interface, *words, stdin=data)

    return call


@settings(max_examples=20)
@given(
    st.sampled_from(['position', 'velocity', 'acceleration', 'effort', 'torque', 'force']),
    st.sampled_from(['joint', 'actuator']),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
)
def test_every_interface_is_the_core_s_answer_to_the_last_bit(run, interface, to, values):
    """JSON carries full precision: what is printed is what the core computes."""
    robot = tb.RobotTransmissions(tb.load_description(BAR))
    names, others = (('a', 'b'), ('p', 'q'))[:: 1 if to == 'joint' else -1]
    words = [f'{name}={value!r}' for name, value in zip(names, values, strict=True)]
    way = ('--to', to, '--interface', interface)
    result = run('map', '-', *way, '--json', *words, stdin=BAR.encode())
    function = robot.actuator_to_joint if to == 'joint' else robot.joint_to_actuator
    assert result.json == dict(zip(others, function(interface, values).tolist(), strict=True))


@pytest.mark.parametrize(('to', 'interface', 'values', 'missing'), [
    ('joint', 'position', ['m1=100'], 'alpha, zed; also give m2'),
    # Infinity is no JSON number.
    ('actuator', 'velocity', ['zed=1e308', 'alpha=1'], 'm1, m2'),
])  # fmt: skip
def test_what_is_not_known_is_left_out(told, reversed_robot, to, interface, values, missing):
    """Only what is fully known is printed; the text says what is not; nothing at all is a 1."""
    result = told(reversed_robot, to, interface, '--json', *values)
    assert (result.code, result.json, result.err) == (1, {}, '')
    text = told(reversed_robot, to, interface, *values)
    assert (text.code, text.out) == (1, f'not computable from these values: {missing}\n')


def test_a_joint_lost_to_an_error_is_named_with_its_reason(told, mixed_robot):
    """A robot with errors maps what is left, says so, and tells why a joint is missing."""
    good = told(mixed_robot, 'joint', 'effort', '--json', 'good_motor=2')
    assert good.expect(err='has errors (2)').json == {'good': 200.0}
    lost = told(mixed_robot, 'actuator', 'position', 'broken=1')
    lost.expect(2, err="'broken' (its transmission 'broken_transmission' was rejected)")
    assert 'known: good, direct' in lost.err


@pytest.mark.parametrize('words', [
    'm1=1 --to joint m2=2 --json --interface effort',
    '--at m1=3 --at m2=4 --json --to joint --interface effort m1=1 m2=2',
])  # fmt: skip
def test_values_may_stand_anywhere(run, reversed_robot, words):
    """Values before, between and behind the options mean the same."""
    assert run('map', reversed_robot, *words.split()).json == {'alpha': -300.0, 'zed': -100.0}


def test_a_ratio_that_depends_on_position_takes_at_and_rate(told, refuse):
    """Velocity, effort and acceleration use the positions and velocities given beside them."""
    text = urdf(['knee'], leg())
    robot = tb.RobotTransmissions(tb.load_description(text))
    for interface in ('velocity', 'effort', 'acceleration'):
        beside = ('--at', 'knee=0.3', '--rate', 'knee=-0.5')
        found = told(text, 'actuator', interface, '--json', 'knee=2', *beside).json
        expected = robot.joint_to_actuator(interface, [2.0], at=[0.3], rate=[-0.5])
        assert found == {'cylinder': expected[0]}
    way = ('map', '-', '--to', 'actuator', '--interface', 'effort', 'knee=2')
    refuse('give positions with --at', *way, stdin=text.encode())
    beyond = told(text, 'joint', 'position', 'cylinder=9')
    assert beyond.out == 'not computable from these values: knee (leg: domain)\n'
    assert beyond.code == 1


@pytest.mark.parametrize(('interface', 'value', 'sent', 'limits'), [
    ('position', 0.5, 5.0, ''),
    ('position', 0.6, 6.0, '-inf to 5'),
    ('torque', -30.0, -3.0, '-2 to 2'),
    ('velocity', 1e3, 1e4, ''),
])  # fmt: skip
def test_an_actuator_beyond_its_limits_is_named(told, interface, value, sent, limits):
    """The number is printed as it is; that the bridge would not send it is said beside it."""
    motor = {'a': '<limit upper="5" effort="2"/>'}
    text = urdf(['q'], transmission('t', 'Simple', {'q': ratio(10)}, motor))
    result = told(text, 'actuator', interface, '--json', f'q={value}')
    assert (result.code, result.json) == (0, {'a': pytest.approx(sent)})
    assert bool(result.err) == bool(limits)
    assert f'beyond its limits {limits}' in result.err or not limits
    assert told(text, 'joint', 'position', 'a=6').err == ''


def test_units_of_drivers_are_taken_named_and_listed(run, told):
    """A motor's number and limits are its driver's; ``check`` lists what one of each is in SI."""
    units = params(position_unit='turn', velocity_unit='rpm', effort_unit='A', torque_constant=0.5)
    motor = {'m': f'<limit velocity="1"/>{units}'}
    text = urdf(['q'], transmission('t', 'Simple', {'q': ratio(10)}, motor))
    assert told(text, 'joint', 'position', 'm=10').out.split()[2:] == ['rad']
    assert told(text, 'joint', 'position', '--json', 'm=10').json == {'q': math.tau}
    assert told(text, 'actuator', 'effort', 'q=10').out == 'm  2.0  A\n'
    fast = told(text, 'actuator', 'velocity', 'q=6.283185307179586')
    assert fast.out.split()[0::2] == ['m', 'rpm']
    assert 'm: 600 is beyond its limits -9.5493 to 9.5493 rpm' in fast.err
    assert told(text, 'actuator', 'acceleration', 'q=0').out == 'm  0.0  rpm/s\n'
    assert run('check', '-', '--json', stdin=text.encode()).json['units'] == {
        'm': {
            'position': {'unit': 'turn', 'scale': math.tau},
            'velocity': {'unit': 'rpm', 'scale': pytest.approx(math.tau / 60.0)},
            'effort': {'unit': 'A', 'scale': 0.5},
        }
    }
