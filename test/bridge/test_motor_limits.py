# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of actuators, and what is counted of them."""

import math
import re

import numpy as np
import pytest
from world import reason, World
from zoo.elements import load, numbered, pair, params, ratio, simple, transmission, urdf

from transmission_bridge.bridge.robot_facts import compute_motor_bounds
from transmission_bridge.errors import MessageError, ParameterError


def wrist(left, pitch=''):
    """Return a wrist with what stands in the elements of a motor and of a joint."""
    return transmission('wrist', 'Differential', {'j0': pitch, 'j1': ''}, {'m0': left, 'm1': ''})


@pytest.mark.parametrize(('mode', 'share'), [('velocity', 1 / 3), ('effort', 2 / 3)])
def test_rates_are_scaled_together(mode, share):
    """The actuators of a transmission share one factor, and its joints are counted."""
    world = World(numbered(wrist('<limit velocity="1" effort="1"/>')))
    sent = world.command(**{mode: {'j0': 2.0, 'j1': 1.0}})  # velocity 3 and 1, effort 1.5 and 0.5
    assert sent[mode] == pytest.approx({'m0': 1.0, 'm1': 1 / 3})
    counts, shares = world.counts['joint_commands'], dict.fromkeys(('j0', 'j1'), share)
    assert counts.scaled == {'j0': 1, 'j1': 1}
    assert counts.shares == pytest.approx(shares if mode == 'effort' else {})


@pytest.mark.parametrize('motor', ['<limit velocity="1"/>', params(velocity=1)])
def test_limits_are_live(motor):
    """A limit or ``<param>`` is a parameter of the transmission, infinity takes it away."""
    world = World(pair(motor))
    assert world.command(velocity={'j1': 9.0}) == {'velocity': {'m1': 1.0}}
    for limit, expected in ((2.0, 2.0), (math.inf, 9.0)):
        tuned = world.robot.with_parameters({'t1.actuators.m1.limit.velocity': limit})
        world.bridge.replace_robot(tuned)
        assert world.command(velocity={'j1': 9.0}) == {'velocity': {'m1': expected}}
    for wrong in (-1.0, math.nan):
        with pytest.raises(ParameterError):
            world.robot.with_parameters({'t1.actuators.m1.limit.velocity': wrong})
    with pytest.raises(ParameterError, match='exclude each other'):
        world.robot.with_parameters({'t1.actuators.m1.limit.lower': math.inf})


@pytest.mark.parametrize('order', [1, -1])
def test_the_narrowest_limit_of_a_shared_motor_counts(order):
    """Whichever of the transmissions that read it states it."""
    stated = ['<limit lower="-1" upper="2" velocity="3"/>', '<limit upper="9" velocity="8"/>']
    limits = [params(), *stated[::order]]
    joints = ('j0', 'j1', 'j2')
    text = ''.join(
        transmission(f't{n}', 'Simple', (joint,), {'m': limit})
        for n, (joint, limit) in enumerate(zip(joints, limits, strict=True))
    )
    bounds = compute_motor_bounds(load(urdf(joints, text)))
    assert bounds[:, :2, 0].tolist() == [[-1.0, -3.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('lower="2" upper="1"', 'exclude each other'),
        ('velocity="-1"', r'\[0, inf\]'),
        ('speed="1"', "speed='1'"),
    ],
)
def test_a_limit_that_cannot_be_read(text, words):
    """It disables its transmission: a motor without its limit is no less dangerous."""
    robot = load(pair(f'<limit {text}/>'))
    (finding,) = (each for each in robot.findings if each.severity == 'error')
    assert finding.subject == 't1'
    assert re.search(words, f'{finding.message} {finding.expected} {finding.found}')
    assert 'j1' in robot.lost_joints


def test_rounding_is_not_refused():
    """A command may lead a motor to its limit, though the product is larger by a last digit."""
    larger = 0
    for place in range(1, 60):
        end = place / 61.0
        joints = {'j0': end / 3.0, 'j1': end - end / 3.0}  # m0 = 7 (j0 + j1)
        free = World(urdf(('j0', 'j1'), wrist(ratio(7))))
        larger += free.command(position=joints)['position']['m0'] > 7 * end
        for policy in ('clamp', 'reject'):
            text = wrist(f'{ratio(7)}<limit upper="{7 * end!r}"/>')
            world = World(urdf(('j0', 'j1'), text), limits=policy)
            assert world.command(position=joints)['position']['m0'] <= 7 * end
            assert world.counts['joint_commands'].clamped == {}
    assert larger > 10


def test_an_actuator_that_two_transmissions_read_has_the_limits_of_both():
    """It is one motor, whichever of them commands it."""

    def both(end, upper):
        limit = f'<limit {end}="{upper}" velocity="1"/>'
        gauge = transmission('gauge', 'Simple', ('j1',), {'m0': limit})
        return load(numbered(simple(0, '<limit upper="30"/>', ratio(50)) + gauge))

    for upper, expected in ((20, 20.0), (40, 30.0)):
        world = World(both('upper', upper))
        assert world.command(position={'j0': 0.9}) == {'position': {'m0': expected}}
        assert world.counts['joint_commands'].clamped == {'j0': 1}
        assert world.command(velocity={'j0': 0.9}) == {'velocity': {'m0': 1.0}}
    assert set(both('lower', 40).lost_joints) == {'j0', 'j1'}


@pytest.mark.parametrize(
    'command',
    [
        {'position': {'j2': 1e308}},
        {'velocity': {'j2': -1e308}},
        {'velocity': {'j0': 1e308, 'j1': 1.0}},
    ],
)
def test_what_is_too_large_is_said_so(command):
    """A product beyond double precision is no number to be clamped or scaled."""
    text = wrist(ratio(10) + '<limit velocity="1"/>')
    text += simple(2, '<limit upper="30" velocity="5"/>', ratio(50))
    world = World(urdf(('j0', 'j1', 'j2'), text))
    with np.errstate(over='ignore'):
        assert reason(world.command, **command) == 'unmapped'


def test_outward_commands_are_counted():
    """An effort that moves nothing outward may hold a load: it passes and is counted."""
    world = World(pair())
    world.state(position=(1.6, 0.0))
    assert world.command(velocity={'j0': 0.5}) == {'velocity': {'m0': 0.0}}
    counts = world.counts['joint_commands']
    assert counts.stopped == {'j0': 1}
    for velocity, sent in ((0.0, 2.0), (0.005, 2.0), (0.02, 0.0), (math.nan, 0.0)):
        world.state(position=(1.6, 0.0), velocity=(velocity, 0.0))
        assert world.command(effort={'j0': 2.0}) == {'effort': {'m0': sent}}
    assert (counts.outward, counts.stopped) == ({'j0': 2}, {'j0': 3})
    world = World(pair(), limits='reject')
    world.state(position=(1.6, 0.0))
    with pytest.raises(MessageError, match='further out'):
        world.command(velocity={'j0': 0.5})
