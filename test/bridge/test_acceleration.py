# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``max_acceleration``: commands and waypoints that change the speed of a joint too fast."""

from __future__ import annotations

from contextlib import suppress
import math
from random import Random

from command_paths import Commands, reason
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import record
from zoo.elements import transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

#: Limits of the first joint [rad/s²]; the second one has none.
MOST, MOST_BRAKING = 10.0, 20.0

#: Time that a change may take in addition, and period of the streams [s].
EXTRA, PERIOD = 0.15, 0.01

SIMPLE = transmission('t0', 'Simple', ('j0',), ('m0',)) + transmission(
    't1', 'Simple', ('j1',), ('m1',)
)
WRIST = transmission('wrist', 'Differential', ('j0', 'j1'), ('m0', 'm1'))


class _Arm:
    """Two joints at a position, the first one with a limit, and their commander."""

    def __init__(self, text=SIMPLE, **options):
        limit = '<param name="min">-20</param><param name="max">10</param>'
        inside = f'<command_interface name="acceleration">{limit}</command_interface>'
        text = urdf(('j0', 'j1'), text).replace(
            '<joint name="j0"/>', f'<joint name="j0">{inside}</joint>'
        )
        robot = RobotTransmissions(load_description(text))
        self.path = Commands(
            robot,
            command_joints=('j0',),
            **{'timeout': 0.5, 'max_acceleration': 'reject', **options},
        )
        self.now, self.position, self.velocity = 1.8e9, np.zeros(2), np.zeros(2)

    def _known(self):
        return {'now': self.now, 'measured_velocity': self.velocity}

    def command(self, joint='j0', after=0.0, **modes):
        """Command a joint, or by ``joint=None`` both, after a while."""
        self.now += after
        names = ('j0', 'j1') if joint is None else (joint,)
        rows = {mode: [value] * len(names) for mode, value in modes.items()}
        return self.path.send(record(names, **rows), self.position, **self._known())

    def array(self, mode, value, after=0.0):
        """Command the first joint by a plain array."""
        self.now += after
        given = mode, np.array([value]), self.position, (1, 0)
        return self.path.command_interface(*given, source=f'{mode}_commands', now=self.now)

    def passes(self, act, *given, **modes):
        """Return whether a command is sent."""
        before = len(self.path.sent)
        with suppress(MessageError):
            act(*given, **modes)
        return len(self.path.sent) > before

    def trajectory(self, *points, start=None, joint='j0'):
        """Send waypoints ``(time, {array: number})``."""
        waypoints = tuple(
            Waypoint(
                (int(time), round((time % 1) * 1e9)),
                *(np.array(given.get(f, ()), dtype=float, ndmin=1) for f in POINT_FIELDS),
            )
            for time, given in points
        )
        way = TrajectoryRecord((0, 0), '', (joint,), waypoints)
        return self.path.map(way, self.position, now=self.now, velocity=self.velocity, start=start)


def test_a_joint_is_not_accelerated_beyond_its_limit():
    """From rest it has 0.15 s, then the time since; joints without a limit are free."""
    arm = _Arm()
    assert reason(arm.command, velocity=1.5 + 1e-4) == 'limit'
    assert arm.command(velocity=1.5)
    assert reason(arm.command, velocity=1.6 + 1e-4, after=0.01) == 'limit'
    assert arm.command(velocity=1.6)
    assert arm.path.counts['joint_commands'].limited == {'j0': 2}
    assert arm.command('j1', velocity=100.0)
    assert _Arm(max_acceleration='off').command(velocity=100.0)


def test_braking_passes():
    """A stop is never rejected; a reversal starts from zero."""
    arm = _Arm()
    arm.velocity[0] = 5.0  # measured
    assert arm.command(velocity=5.0)
    assert arm.command(velocity=0.0)
    assert reason(arm.command, velocity=-1.5 - 1e-4) == 'limit'
    assert arm.command(velocity=-1.5)


@pytest.mark.parametrize('mode', ['position', 'velocity'])
def test_a_plain_array_is_compared(mode):
    """An array of one interface is the same command."""
    arm, most = _Arm(), {'position': 0.15 * 0.15 * MOST, 'velocity': 0.15 * MOST}[mode]
    assert reason(arm.array, mode, most * 1.001) == 'limit'
    arm.array(mode, most)
    assert arm.path.sent


def test_a_rejected_command_changes_nothing():
    """The active velocity continues until its timeout, and ends whatever its limit is."""
    arm = _Arm()
    assert arm.command(velocity=1.5)
    assert reason(arm.command, velocity=9.0, after=0.25) == 'limit'
    assert arm.path.held[1, 0] == 1.5
    arm.now += 0.3
    (end,) = arm.path.expire(arm.position, (1, 0), arm.now)
    assert (end.names, end.velocity.tolist()) == (('m0',), [0.0])


def test_a_partner_that_holds_is_compared():
    """A wrist joint that is held keeps its velocity; both are compared if both are commanded."""
    arm = _Arm(WRIST)
    assert arm.command(None, velocity=1.0)
    assert arm.command('j1', velocity=9.0)
    assert reason(arm.command, None, velocity=9.0) == 'limit'


def test_time_that_goes_backwards_starts_anew():
    """Every command has ended then: the next one has 0.15 s."""
    arm = _Arm()
    assert arm.command(velocity=1.5)
    arm.now -= 50.0
    arm.path.expire(arm.position, (1, 0), arm.now)
    assert reason(arm.command, velocity=1.6) == 'limit'
    assert arm.command(velocity=1.5)


@given(st.integers(0, 2**24))
def test_accepted_velocities_keep_the_limit_over_any_time(dice):
    """Whatever is sent at whatever times: speed gained in a time T is at most ``a (T + 0.15)``."""
    dice, arm, gains, speed = Random(dice), _Arm(timeout=0.0), [], 0.0
    for _ in range(60):
        value = speed + dice.choice([0.01, 0.1, 1.0]) * dice.uniform(-1.0, 1.0) * MOST
        after = dice.choice([0.0, 0.001, 0.01, 0.1, 1.0])
        if arm.passes(arm.command, velocity=value, after=after):
            gains.append((arm.now, abs(value) - max(math.copysign(1.0, value) * speed, 0.0)))
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
    dice, arm, speed, place, before = Random(dice), _Arm(), 0.0, 0.0, 0.0
    begin = arm.now
    for number in range(60):
        gained = dice.choice([MOST, MOST, -MOST]) * PERIOD
        place += (speed + 0.5 * gained) * PERIOD
        speed += gained
        arm.now = max(before, begin + PERIOD * number + dice.uniform(0.0, late))
        before = arm.now
        value = {'velocity': speed, 'position': place}[mode]
        assert arm.passes(arm.command, **{mode: value}), number


@pytest.mark.parametrize('mode', ['velocity', 'position'])
def test_a_stream_beyond_the_limit_is_rejected(mode):
    """Also if each of its steps alone is small."""
    arm, most = _Arm(), 1.5 * MOST
    for number in range(200):
        time = PERIOD * number
        value = {'velocity': most * time, 'position': 0.5 * most * time**2}[mode]
        if not arm.passes(arm.command, after=PERIOD, **{mode: value}):
            break
    assert 5 < number < 100


@pytest.mark.parametrize(
    ('is_within', 'points'),
    [
        # Between velocities, also while braking, and from the present motion to the first.
        (True, [(1.0, {'velocities': 11.0}), (2.0, {'velocities': 20.9})]),
        (False, [(1.0, {'velocities': 11.0}), (2.0, {'velocities': 21.1})]),
        (True, [(2.0, {'velocities': 20.9}), (3.0, {'velocities': 1.0})]),
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
        (True, [(1.0, {'velocities': 1.0, 'accelerations': -19.9})]),
        (False, [(1.0, {'velocities': 1.0, 'accelerations': -20.1})]),
    ],
)
def test_waypoints_are_compared(is_within, points):
    """A trajectory is rejected if no motion within the limits passes its waypoints."""
    if is_within:
        assert _Arm().trajectory(*points)
    else:
        assert reason(_Arm().trajectory, *points) == 'limit'
    assert _Arm().trajectory(*points, joint='j1')


@given(st.integers(0, 2**24))
def test_waypoints_of_a_motion_within_the_limit_pass(dice):
    """Whatever arrays they have, and whichever instants they are taken at."""
    dice, points = Random(dice), []
    time = place = speed = 0.0
    rows = dice.choice(
        [('positions',), ('velocities',), ('positions', 'velocities', 'accelerations')]
    )
    for _ in range(20):
        rate, seconds = dice.choice([-MOST, MOST]), dice.choice([0.001, 0.1, 1.0])
        place += speed * seconds + 0.5 * rate * seconds**2
        speed += rate * seconds
        time = round(time + seconds, 3)
        numbers = {'positions': place, 'velocities': speed, 'accelerations': rate}
        if dice.random() < 0.7:
            points.append((time, {row: numbers[row] for row in rows}))
    assert not points or _Arm().trajectory(*points)


def test_a_trajectory_starts_from_the_present_motion():
    """A joint in motion goes on; it has the time until the first waypoint."""
    arm = _Arm()
    arm.position[0], arm.velocity[0] = 1.0, 5.0
    assert arm.trajectory((0.1, {'positions': 1.5, 'velocities': 5.5}))
    assert reason(arm.trajectory, (0.1, {'velocities': 8.0})) == 'limit'
    assert arm.trajectory((0.1, {'velocities': 8.0}), start=arm.now + 0.2)
