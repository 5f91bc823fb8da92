# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Measurements in wrong units contradict limits or each other, those of a correct driver none."""

from __future__ import annotations

import math
from random import Random

from hypothesis import given, strategies as st
import numpy as np
import pytest
from transmission_bridge.bridge.diagnostics.driver_watch import Look, Peers
from world import World
from zoo.elements import maps, ratio, transmission, urdf

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge import contradictions
from transmission_bridge.bridge.contradictions import describe_joints_beyond, MotionWatch
from transmission_bridge.bridge.diagnostics.inspection import BridgeWatch
from transmission_bridge.bridge.diagnostics.status import OK, WARN
from transmission_bridge.bridge.inputs import TopicStatistics

#: A joint that reaches 1 rad at 2 rad/s, and a motor with a gear of 10; units inside the motor.
LIMIT = 'revolute lower="-1" upper="1" velocity="2" effort="1"'


def make_robot(inside='', limit=LIMIT):
    """Return the maps of one joint and one motor."""
    return maps({'j': limit}, transmission('t', 'Simple', {'j': ratio(10)}, {'m': inside}))


# -- limits --------------------------------------------------------------------------------------


@given(st.floats(-5.0, 5.0), st.floats(0.0, 5.0), st.floats(-20.0, 20.0))
def test_a_joint_beyond_its_limits_is_a_trouble_with_both_numbers(lower, extent, position):
    """More than 1 % of the range and 0.001 beyond: position and limits are in the sentence."""
    limits = np.array([[lower], [lower + extent]])
    found = describe_joints_beyond(['j'], np.array([position]), limits)
    beyond = max(lower - position, position - lower - extent)
    if abs(beyond - max(0.01 * extent, 1e-3)) > 1e-9:
        assert bool(found) is (beyond > max(0.01 * extent, 1e-3))
    for words in found.values():
        assert all(f'{number:.4g}' in words for number in (position, lower, lower + extent))
    open_ends = np.array([[-math.inf], [math.inf]])
    for at, ends in ((position, open_ends), (math.nan, limits)):
        assert not describe_joints_beyond(['j'], np.array([at]), ends)


@pytest.mark.parametrize(
    ('inside', 'limits'),
    [
        ('', [-1.0, 1.0]),
        # A command is limited further, a measurement is not.
        ('<command_interface name="position"><param name="max">0.5</param></command_interface>',
         [-1.0, 1.0]),
        ('<limits enable="false"/><command_interface name="position"/>', [-math.inf, math.inf]),
    ],
)  # fmt: skip
def test_limits_of_measurements(inside, limits):
    """They are the URDF's, unless the hardware disables them."""
    text = urdf({'j': LIMIT}, transmission('t', 'Simple', ['j'], ['m']))
    text = text.replace('<joint name="j"/>', f'<joint name="j">{inside}</joint>', 1)
    robot = RobotTransmissions(load_description(text))
    assert contradictions.compute_measured_limits(robot)[:, 0].tolist() == limits


# -- velocities ----------------------------------------------------------------------------------


class Motion:
    """
    A motor of some sinusoids, and the driver that measures it.

    :param highest: Frequency [Hz].
    """

    def __init__(self, random, highest):
        self._drift = random.choice([0.0, random.uniform(-8.0, 8.0)])
        self._waves = [
            (random.uniform(1.0, 12.0), random.uniform(0.1, highest), random.uniform(0.0, 7.0))
            for _ in range(random.randint(1, 4))
        ]

    def position(self, t):
        """Return the position at a time [rad]."""
        waves = (v / (math.tau * f) * math.sin(math.tau * f * t + p) for v, f, p in self._waves)
        return self._drift * t + sum(waves)

    def velocity(self, t):
        """Return the derivative of the position [rad/s]."""
        return self._drift + sum(v * math.cos(math.tau * f * t + p) for v, f, p in self._waves)


def measure_once(watch, position, velocity, now):
    """Give a watch the numbers of a message, as states do."""
    watch.velocities.append(np.array([velocity]))
    if now >= watch.due:
        watch.end_interval(np.array([position]), now)


def measure(
    random, motion, *, rate, seconds, factor=1.0, noise=0.0, lag=0.0, gaps=0.0, watch=None
):
    """
    Return the first second in which a contradiction was found, and the sentences.

    :param factor: Of the velocities that the driver sends.
    :param noise: Share of noise, deadband and rounding, from 0 to 1.
    :param lag: Of the measured velocity [s].
    :param gaps: Share of the time without messages.
    """
    watch = watch or MotionWatch(make_robot(), math.nan)
    now, second, until = 0.0, 0.0, 0.0
    while now < seconds:
        now += random.uniform(0.5, 1.5) / rate
        position = motion.position(now) + 0.02 * noise * random.gauss(0.0, 1.0)
        velocity = motion.velocity(now - lag) + 0.2 * noise * random.gauss(0.0, 1.0)
        velocity = 0.0 if abs(velocity) < 0.05 * noise else factor * velocity
        if random.random() < gaps / rate:
            until = now + random.uniform(0.0, 3.0)
        if now > until:
            measure_once(watch, position, velocity, now)
        if now > second + 1.0:
            second += 1.0
            watch.judge_motion()
            if watch.found:
                return second, watch.found
    return None, watch.found


@given(
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([10.0, 30.0, 100.0, 300.0]),
    noise=st.floats(0.0, 1.0),
    lag=st.floats(0.0, 0.05),
    gaps=st.sampled_from([0.0, 0.5]),
    period=st.sampled_from([math.nan, 1e4]),
)
def test_a_correct_driver_contradicts_nothing(seed, rate, noise, lag, gaps, period):
    """No motion up to a third of its rate, no noise, rounding, lag or gap is a contradiction."""
    random, watch = Random(seed), MotionWatch(make_robot(), np.array([period]))
    motion = Motion(random, rate / 3.0 if math.isnan(period) else 3.0)
    more = {'noise': noise, 'lag': lag, 'gaps': gaps, 'watch': watch}
    assert measure(random, motion, rate=rate, seconds=6.0, **more) == (None, {})


@given(
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([10.0, 50.0, 200.0]),
    factor=st.floats(math.log(3.5), math.log(1e4)).map(math.exp),
    form=st.sampled_from(['faster', 'slower']),
)
def test_a_velocity_in_another_unit_contradicts_the_position(seed, rate, factor, form):
    """A factor beyond 3 is found, however few readings a second there are."""
    factor = {'faster': factor, 'slower': 1.0 / factor}[form]
    random = Random(seed)
    motion = Motion(random, 1.0)
    second, found = measure(random, motion, rate=rate, seconds=60.0, factor=factor)
    assert second is not None
    (key,) = found
    assert key == 'velocity of m'


@pytest.mark.parametrize(
    ('position', 'velocity'),
    [
        # Rest with independent noise of both, or with a velocity that is never measured.
        (lambda random, now: 0.05 * random.gauss(0.0, 1.0), lambda random: random.gauss(0.0, 2.0)),
        (lambda random, now: math.sin(now), lambda random: 0.0),
        # Slower than the driver resolves; backlash: the sensor of the velocity moves alone.
        (lambda random, now: 0.02 * now, lambda random: random.choice([0.0, 0.0, 0.1])),
        (lambda random, now: 0.0, lambda random: random.gauss(0.0, 2.0)),
    ],
)
def test_rest_is_no_contradiction(position, velocity):
    """In a quarter of an hour of rest, or without a measured velocity, nothing is found."""
    random, watch = Random(1), MotionWatch(make_robot(), math.nan)
    for step in range(1, 9000):
        now = 0.1 * step
        measure_once(watch, position(random, now), velocity(random), now)
        if not step % 10:
            watch.judge_motion()
    assert watch.found == {}


@given(st.sampled_from([0.01, 0.1, 0.3]), st.floats(-7.0, 7.0).map(math.exp))
def test_a_step_between_two_readings_is_no_contradiction(period, speed):
    """A motor that is quicker than its readings shows any velocity after a step."""
    watch = MotionWatch(make_robot(), math.nan)
    for step in range(1, 1000):
        now = period * step
        measure_once(watch, math.floor(now / 5.0), speed * (now % 5.0 < period), now)
        if int(now) > int(now - period):
            watch.judge_motion()
    assert watch.found == {}


def test_a_contradiction_lasts_until_it_is_refuted():
    """It stays while the motor stands, and ends after correct motion."""
    watch = MotionWatch(make_robot(), math.nan)
    for step in range(1, 1201):
        now = 0.01 * step
        speed = 0.0 if 400 < step <= 800 else 5.0
        position = 5.0 * min(now, 4.0) + 5.0 * max(now - 8.0, 0.0)
        measure_once(watch, position, speed / (60.0 if step < 800 else 1.0), now)
        if not step % 100:
            watch.judge_motion()
            assert bool(watch.found) is (2 <= step // 100 < 10), step


# -- the whole way -------------------------------------------------------------------------------


class Watched(World):
    """A bridge with one driver in its units, and its diagnostics."""

    def __init__(self, inside='', **options):
        super().__init__(make_robot(inside), **options)
        self._watch = BridgeWatch(self.bridge, {'s': TopicStatistics('s')}, ['s'])

    def run(self, position, velocity, seconds=4):
        """Send functions of the time, and return the statuses of the actuators, one a second."""
        statuses, begun = [], self.now
        outputs = {name: Peers(name) for name in ('actuator_commands', 'actuator_trajectory')}
        for step in range(1, 100 * seconds + 1):
            self.now = begun + 0.01 * step
            at = self.now - 100.0
            self.state(['m'], 's', position=[position(at)], velocity=[velocity(at)])
            if not step % 100:
                look = Look(self.now, 1.0, 1.0)
                found = self._watch.inspect_bridge(look, {'s': Peers('/s')}, outputs, [], {})
                statuses += [each for each in found if each.name == 'actuators']
        return statuses


UNITS = '<param name="position_unit">{}</param><param name="velocity_unit">{}</param>'


@pytest.mark.parametrize(
    ('inside', 'unit', 'speed_unit', 'kind'),
    [
        (UNITS.format('turn', 'rpm'), 1.0 / math.tau, 60.0 / math.tau, None),
        # Radians where turns were declared: the joint is far beyond its limits.
        (UNITS.format('turn', 'turn/s'), 1.0, 1.0, 'position of j'),
        (UNITS.format('turn', 'rpm'), 1.0 / math.tau, 1.0 / math.tau, 'velocity of m'),
    ],
)  # fmt: skip
def test_wrong_units_are_a_warning(inside, unit, speed_unit, kind):
    """A driver that sends other units than declared is a warning, others are none."""
    statuses = Watched(inside).run(
        lambda t: 8.0 * math.sin(t) * unit, lambda t: 8.0 * math.cos(t) * speed_unit, seconds=6
    )
    assert max(each.level for each in statuses) == (WARN if kind else OK)
    found = {trouble.name for each in statuses for trouble in each.troubles}
    assert found == ({kind} if kind else set())


@pytest.mark.parametrize('speed', [0.5, -0.5])
def test_a_period_in_other_units_is_a_warning(speed):
    """With wrap_period 360 and a driver in turns the joint is off after a turn, and it is said."""
    watched = Watched(UNITS.format('turn', 'turn/s'), wrap_period=('m=360',))
    status = watched.run(lambda t: speed * t % 1.0, lambda t: speed)[-1]
    assert [each.name for each in status.troubles] == ['period of m']
    assert status.level == WARN


def test_one_reading_beyond_a_limit_is_no_trouble():
    """A joint has to be beyond its limit at two looks within five seconds."""
    watched = Watched()
    looks = [
        watched.run(lambda t, at=at: at, lambda t: 0.0, seconds=1)[0].level
        for at in (9.0, 11.0, 9.0, 9.0, 9.0, 9.0, 9.0, 11.0, 9.0, 11.0, 11.0, 10.05)
    ]
    assert looks == [OK] * 9 + [WARN, WARN, OK]
