# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``max_acceleration``: commands and waypoints that change the speed of a joint too fast."""

from __future__ import annotations

import math
from random import Random

from hypothesis import given, strategies as st
import pytest
from world import reason, World
from zoo.elements import params, simple, urdf, WRIST

from transmission_bridge.errors import MessageError

#: Limit of the first joint [rad/s²]; the second one has none.
MOST = 10.0

#: Time that a change may take in addition, and period of the streams [s].
EXTRA, PERIOD = 0.15, 0.01


SIMPLE = simple(0) + simple(1)


def at_rest(transmissions=SIMPLE, **options):
    """Return two joints at rest; the first one may accelerate by 10 and brake by 20 rad/s²."""
    limit = params(min=-20, max=MOST)
    inside = f'<command_interface name="acceleration">{limit}</command_interface>'
    text = urdf(('j0', 'j1'), transmissions)
    text = text.replace('<joint name="j0"/>', f'<joint name="j0">{inside}</joint>')
    options = {'state_timeout': 0.0, 'max_acceleration': 'reject'} | options
    world = World(text, **options)
    world.now = 1.8e9
    world.state(position=(0.0, 0.0), velocity=(0.0, 0.0))
    return world


def passes(world, **modes):
    """Return whether a command is sent."""
    try:
        return bool(world.command(**modes))
    except MessageError:
        return False


def test_a_joint_is_not_accelerated_beyond_its_limit():
    """From rest it has 0.15 s, then the time since; joints without a limit are free."""
    world = at_rest()
    assert reason(world.command, velocity={'j0': 1.5 + 1e-4}) == 'limit'
    assert world.command(velocity={'j0': 1.5})
    world.now += 0.01
    assert reason(world.command, velocity={'j0': 1.6 + 1e-4}) == 'limit'
    assert world.command(velocity={'j0': 1.6})
    assert world.counts['joint_commands'].limited == {'j0': 2}
    assert world.command(velocity={'j1': 100.0})
    assert at_rest(max_acceleration='off').command(velocity={'j0': 100.0})


def test_braking_passes():
    """A stop is never rejected; a reversal starts from zero."""
    world = at_rest()
    world.state(position=(0.0, 0.0), velocity=(5.0, 0.0))
    assert world.command(velocity={'j0': 5.0})
    assert world.command(velocity={'j0': 0.0})
    assert reason(world.command, velocity={'j0': -1.5 - 1e-4}) == 'limit'
    assert world.command(velocity={'j0': -1.5})


@pytest.mark.parametrize(
    ('mode', 'most'), [('position', EXTRA * EXTRA * MOST), ('velocity', EXTRA * MOST)]
)
def test_a_plain_array_is_compared(mode, most):
    """An array of one interface is the same command."""
    world = at_rest(command_joints=('j0',))
    assert reason(world.plain, mode, [most * 1.001]) == 'limit'
    assert world.plain(mode, [most])


def test_a_rejected_command_changes_nothing():
    """The active velocity continues until its timeout, and ends whatever its limit is."""
    world = at_rest()
    assert world.command(velocity={'j0': 1.5})
    assert world.wait(0.25) == {}
    assert reason(world.command, velocity={'j0': 9.0}) == 'limit'
    assert world.gate.ledger.joints[1, 0] == 1.5
    assert world.wait(0.375) == {'velocity': {'m0': 0.0}}


def test_a_partner_that_holds_is_compared():
    """A wrist joint that is held keeps its velocity; both are compared if both are commanded."""
    world = at_rest(WRIST)
    assert world.command(velocity={'j0': 1.0, 'j1': 1.0})
    assert world.command(velocity={'j1': 9.0})
    assert reason(world.command, velocity={'j0': 9.0, 'j1': 9.0}) == 'limit'


def test_time_that_goes_backwards_starts_anew():
    """Every command has ended then: the next one has 0.15 s."""
    world = at_rest()
    assert world.command(velocity={'j0': 1.5})
    world.now -= 50.0
    assert world.wait(0.125) == {'velocity': {'m0': 0.0}}
    assert reason(world.command, velocity={'j0': 1.6}) == 'limit'
    assert world.command(velocity={'j0': 1.5})


@given(st.integers(0, 2**24))
def test_accepted_velocities_keep_the_limit_over_any_time(dice):
    """Whatever is sent at whatever times: speed gained in a time T is at most ``a (T + 0.15)``."""
    dice, world, gains, speed = Random(dice), at_rest(command_timeout=0.0), [], 0.0
    for _ in range(60):
        value = speed + dice.choice([0.01, 0.1, 1.0]) * dice.uniform(-1.0, 1.0) * MOST
        world.now += dice.choice([0.0, 0.001, 0.01, 0.1, 1.0])
        if passes(world, velocity={'j0': value}):
            gains.append((world.now, abs(value) - max(math.copysign(1.0, value) * speed, 0.0)))
            speed = value
    assert gains
    for place, (start, _) in enumerate(gains):
        gained = 0.0
        for now, gain in gains[place:]:
            gained += max(gain, 0.0)
            assert gained <= MOST * (now - start + EXTRA) + 1e-3


@pytest.mark.parametrize(('mode', 'late'), [('velocity', 0.1), ('position', 0.02)])
@given(dice=st.integers(0, 2**24))
def test_a_stream_within_the_limit_passes(mode, late, dice):
    """A motion at the limit is accepted though its messages arrive late by chance."""
    dice, world, speed, place = Random(dice), at_rest(), 0.0, 0.0
    begin = world.now
    for number in range(60):
        gained = dice.choice([MOST, MOST, -MOST]) * PERIOD
        place += (speed + 0.5 * gained) * PERIOD
        speed += gained
        world.now = max(world.now, begin + PERIOD * number + dice.uniform(0.0, late))
        value = {'velocity': speed, 'position': place}[mode]
        assert passes(world, **{mode: {'j0': value}}), number


@pytest.mark.parametrize('mode', ['velocity', 'position'])
def test_a_stream_beyond_the_limit_is_rejected(mode):
    """Also if each of its steps alone is small."""
    world, most = at_rest(), 1.5 * MOST
    for number in range(200):
        time = PERIOD * number
        value = {'velocity': most * time, 'position': 0.5 * most * time**2}[mode]
        world.now += PERIOD
        if not passes(world, **{mode: {'j0': value}}):
            break
    assert 5 < number < 100


@pytest.mark.parametrize(
    ('is_within', 'points'),
    [
        # Between velocities, also while braking, and from the present motion to the first.
        (True, [(1.0, {'velocities': 11.0}), (2.0, {'velocities': 20.9})]),
        (False, [(1.0, {'velocities': 11.0}), (2.0, {'velocities': 21.1})]),
        (False, [(2.0, {'velocities': 20.9}), (3.0, {'velocities': 0.8})]),
        (True, [(0.0, {'velocities': 1.49})]),
        (False, [(0.0, {'velocities': 1.51})]),
        # Between mean speeds, and to the first position.
        (True, [(n, {'positions': p}) for n, p in enumerate((0.0, 4.9, 19.7))]),
        (False, [(n, {'positions': p}) for n, p in enumerate((0.0, 4.9, 19.9))]),
        (False, [(0.0, {'positions': 0.0}), (0.1, {'positions': 1.0})]),
        (False, [(0.0, {'positions': 0.5})]),
        # Between mean speeds and velocities.
        (True, [(n, {'positions': 5.0 * n, 'velocities': 10.0 * n}) for n in (0, 1)]),
        (False, [(n, {'positions': 5.1 * n, 'velocities': 0.0}) for n in (0, 1)]),
        (False, [(n, {'positions': 4.9 * n, 'velocities': 10.0 * n}) for n in (0, 1)]),
        # Accelerations of waypoints.
        (True, [(1.0, {'velocities': 1.0, 'accelerations': 10.0})]),
        (False, [(1.0, {'velocities': 1.0, 'accelerations': 10.1})]),
        (False, [(1.0, {'velocities': 1.0, 'accelerations': -20.1})]),
    ],
)
def test_waypoints_are_compared(is_within, points):
    """A trajectory is rejected if no motion within the limits passes its waypoints."""
    if is_within:
        assert at_rest().trajectory('j0', *points)
    else:
        assert reason(at_rest().trajectory, 'j0', *points) == 'limit'
    assert at_rest().trajectory('j1', *points)


@given(st.integers(0, 2**24))
def test_waypoints_of_a_motion_within_the_limit_pass(dice):
    """Whatever arrays they have, and whichever instants they are taken at."""
    dice, points = Random(dice), []
    time = place = speed = 0.0
    every = ('positions', 'velocities', 'accelerations')
    rows = dice.choice([every[:1], every[1:2], every])
    for _ in range(20):
        rate, seconds = dice.choice([-MOST, MOST]), dice.choice([0.001, 0.1, 1.0])
        place += speed * seconds + 0.5 * rate * seconds**2
        speed += rate * seconds
        time = round(time + seconds, 3)
        numbers = {'positions': place, 'velocities': speed, 'accelerations': rate}
        if dice.random() < 0.7:
            points.append((time, {row: numbers[row] for row in rows}))
    assert not points or at_rest().trajectory('j0', *points)


def test_a_trajectory_starts_from_the_present_motion():
    """A joint in motion goes on; it has the time until the first waypoint."""
    world = at_rest()
    world.state(position=(1.0, 0.0), velocity=(5.0, 0.0))
    assert world.trajectory('j0', (0.1, {'positions': 1.5, 'velocities': 5.5}))
    assert reason(world.trajectory, 'j0', (0.1, {'velocities': 8.0})) == 'limit'
    assert world.trajectory('j0', (0.1, {'velocities': 8.0}), start=world.now + 0.2)
