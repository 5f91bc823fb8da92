# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Memory ends with knowledge: numbers exist while the spell lasts in which they were sent."""

import math

import numpy as np
import pytest
from world import reason, World
from zoo.elements import maps, numbered, pair, ratio, simple, WRIST

from transmission_bridge.bridge.inputs import MessageEntries
from transmission_bridge.bridge.options.options import AUTO
from transmission_bridge.bridge.states.knowledge import DriverReception, StatePace
from transmission_bridge.errors import ParameterError

TURN = 2.0 * math.pi
WIDE = 'revolute lower="-9" upper="9" velocity="1" effort="50"'


class Wrist(World):
    """A wrist, ``j0 = (m0 + m1) / 2`` and ``j1 = (m0 - m1) / 2``, and its driver."""

    def __init__(self, **options):
        super().__init__(numbered(WRIST, WIDE), **options)
        self.hear(0.0, 0.0)

    def hear(self, *positions, gap=0.0, row='position'):
        """Take readings of the motors, ``None``: left out, after a time."""
        self.now += gap
        given = {f'm{n}': each for n, each in enumerate(positions) if each is not None}
        self.state([*given], **{row: [*given.values()]})

    def lose(self, how, seconds=1.5):
        """Let the driver leave out the second motor, or its position, then read both again."""
        for _ in range(round(seconds / 0.25)):
            self.hear(0.0, None if how == 'left out' else math.nan, gap=0.25)
        self.hear(0.0, 0.5)


# -- spells --------------------------------------------------------------------------------------


class Heard(World):
    """The states of two actuators, and when spells of the second one change."""

    def __init__(self, timeout=1.0):
        super().__init__(maps('ab'), state_timeout=timeout)

    def spell(self, row=0, actuator=1):
        """Return the number of the present spell, NaN: unknown."""
        if self.now > self.states.spells.until:
            self.states._end_spells(self.now)
        return self.states.spells.numbers[row, actuator]


@pytest.mark.parametrize(
    ('how', 'timeout', 'lasts', 'ends'),
    [
        ('silent', 1.0, 1.0, 1.25),
        ('silent', 0.0, 1e6, None),
        ('left out', 0.5, 0.5, 0.75),
        ('left out', 0.0, 1e6, None),
        ('nan', 0.5, 0.75, 1.25),
        ('nan', 4.0, 1.25, 1.5),
        ('nan', 0.0, 1.25, 1.5),
        ('withdrawn', 4.0, 1.25, 1.5),
    ],
)
def test_when_a_spell_ends(how, timeout, lasts, ends):
    """At the timeout, and after 1 s of positions that are NaN or withdrawn, in all rows."""
    heard = Heard(timeout)
    begun = heard.now
    heard.state('ab', position=(1.0, 2.0), velocity=(0.0, 0.0))
    before = heard.spell()
    for step in range(1, 8):
        heard.now = begun + 0.25 * step
        if how == 'left out':
            heard.state('a', position=(1.0,), velocity=(0.0,))
        elif how == 'nan':
            heard.state('ab', position=(1.0, math.nan), velocity=(0.0, 0.0))
        elif how == 'withdrawn':
            heard.state('ab', velocity=(0.0, 0.0))
        if step * 0.25 <= lasts:
            assert heard.spell() == before
        if ends and step * 0.25 >= ends:
            assert [math.isnan(heard.spell(row)) for row in range(3)] == [True] * 3
    if how in ('left out', 'nan'):
        assert heard.spell(actuator=0) == before
    heard.state('ab', position=(1.0, 2.0), velocity=(0.0, 0.0))
    after = heard.spell()
    assert after == before if ends is None else after > before
    assert heard.spell(1) == heard.spell(2) == after


def test_positions_that_are_no_numbers_end_a_spell_after_a_second():
    """A glitch leaves what was sent as it is; after a gap that nothing looks at it is ended."""
    glitches, gap = (math.nan, 2.0, math.nan, math.nan, 2.0), (*[math.nan] * 8, 2.0)
    for values, is_same in ((glitches, True), (gap, False)):
        heard = Heard()
        heard.state('ab', position=(1.0, 2.0))
        before = heard.spell()
        for value in values:
            heard.now += 0.25
            heard.state('ab', position=(1.0, value))
        assert heard.spell() == before if is_same else heard.spell() > before
    # The end of the spell after the gap is found again.
    heard.now += 1.5
    assert math.isnan(heard.spell())


def test_the_first_reading_begins_a_spell():
    """A driver that never sends is in one spell; each reset begins another one."""
    heard = Heard()
    unheard = heard.spell()
    heard.now += 100.0
    assert heard.spell() == unheard
    heard.state('ab', velocity=(0.0, 0.0))
    first = heard.spell()
    assert first > unheard
    heard.now += 0.5
    heard.state('ab', velocity=(0.0, 0.0))
    assert heard.spell() == first
    heard.now += 1.5
    assert math.isnan(heard.spell())
    heard.states.reset()
    assert heard.spell() > first


def test_velocities_of_another_driver_do_not_make_an_actuator_known():
    """What counts are its positions, if it ever had one."""
    heard = Heard()
    heard.state('ab', position=(1.0, 2.0))
    for _ in range(6):
        heard.now += 0.25
        heard.state('ab', 'other', velocity=(0.0, 0.0))
    assert math.isnan(heard.spell())


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize('step', ['warn', 'reject'])
@pytest.mark.parametrize('how', ['left out', 'nan'])
def test_a_joint_is_held_as_measured_after_a_gap(how, step):
    """Its partner's command does not bring it back to where it was commanded before."""
    world = Wrist(command_timeout=0.0, max_step=step)
    assert world.command(position={'j0': 0.1, 'j1': 0.1})
    world.lose(how)
    assert world.command(position={'j0': 0.25}) == {'position': {'m0': 0.0, 'm1': 0.5}}


def test_what_a_driver_has_forgotten_is_not_repeated():
    """A partner is held as measured, without a gap in the readings; an unheard motor stays so."""
    world = Wrist(command_timeout=0.0)
    unheard = Heard()
    before = unheard.spell()
    unheard.states.spells.restart_spells(np.array([True, True]))
    assert unheard.spell() == before
    assert world.command(position={'j0': 0.1, 'j1': 0.1})
    world.bridge.states.spells.restart_spells(np.array([False, True]))
    world.hear(0.0, 0.5)
    assert world.command(position={'j0': 0.25}) == {'position': {'m0': 0.0, 'm1': 0.5}}


def test_a_step_after_a_gap_starts_as_measured():
    """The position that was sent before the gap is no start."""
    world = Wrist(command_timeout=0.0, max_step='reject')
    world.command(position={'j0': 0.0, 'j1': 0.0})
    world.lose('left out')  # 0.25 and -0.25
    assert reason(world.command, position={'j0': 0.0, 'j1': 0.0}) == 'jumped'


def test_a_lost_turn_ends_positions_only():
    """A position of the lost turn is not held; a velocity goes on."""
    limit = 'revolute lower="-30" upper="30" velocity="20" effort="5"'
    periods = tuple(f'm{n}={TURN}' for n in range(2))
    world = World(numbered(WRIST, limit), wrap_period=periods, state_timeout=9.0)
    settle = world.states.use_absolute_positions
    for _ in range(2):
        world.state(position=(0.25, 0.0))
        settle(np.array([0.25 + TURN, 0.0]), world.now)
    world.command(position={'j0': 3.0, 'j1': 3.0})
    before = world.states.spells.numbers
    world.now += 3.0
    world.state(position=(0.25, 0.0))
    assert np.isnan(world.gate.ledger.actuators[0]).tolist() == [False, False]
    settle(np.array([0.25, 0.0]), world.now)
    found = world.command(position={'j0': 0.2})['position']
    assert found == pytest.approx({'m0': 0.325, 'm1': 0.075})
    after = world.states.spells.numbers
    assert (after[0] > before[0]).all()
    np.testing.assert_array_equal(after[1:], before[1:])


@pytest.mark.parametrize(
    ('row', 'value', 'sent'),
    [
        ('velocity', 1.5, 'partial'),
        ('effort', 8.0, 'partial'),
        # It moves nothing.
        ('velocity', 0.0, {'velocity': {'m0': 0.125, 'm1': 0.125}}),
        ('effort', 0.0, 'partial'),
    ],
)
def test_a_rate_from_before_a_gap_is_not_repeated(row, value, sent):
    """Except a velocity of zero; its end is still due, and zeros end it."""
    world = Wrist(command_timeout=3.0, zero_effort=True)
    world.command(**{row: {'j0': 0.0, 'j1': value}})
    world.lose('left out')
    if isinstance(sent, str):
        assert reason(world.command, **{row: {'j0': 0.125}}) == sent
    else:
        assert world.command(**{row: {'j0': 0.125}}) == sent
    assert world.wait(4.0)[row] == {'m0': 0.0, 'm1': 0.0}


def test_a_number_told_before_the_first_state_does_not_exist_after_it():
    """Until then it is held, also if a driver never sends states."""
    world = World(numbered(WRIST, WIDE), command_timeout=0.0)
    world.command(position={'j0': 0.5, 'j1': 0.5})
    world.now += 100.0
    assert world.command(position={'j0': 0.75}) == {'position': {'m0': 1.25, 'm1': 0.25}}
    world.state(position=(0.0, 0.0))
    assert world.command(position={'j0': 0.1}) == {'position': {'m0': 0.1, 'm1': 0.1}}


def test_the_end_of_a_partner_after_a_gap_is_zero():
    """What ends one joint sends no number from before the gap to the other one."""
    world = Wrist(command_timeout=2.0, zero_effort=True)
    world.command(velocity={'j0': 1.0, 'j1': 0.5})
    world.lose('nan')
    world.now += 0.25
    world.gate.ledger.expire_rates(np.array([True, False]))
    assert world.wait(0.125) == {'velocity': {'m0': 0.0, 'm1': 0.0}}
    # Its own end follows.
    assert world.wait(2.0) == {'velocity': {'m0': 0.0, 'm1': 0.0}}


# -- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize('row', ['position', 'velocity', 'effort'])
def test_no_array_has_a_number_from_before_a_gap(row):
    """It is not sent, and the JointState is."""
    more = {'command_actuators': ('m0', 'm1'), 'zero_effort': True, 'command_timeout': 9.0}
    world, array = World(pair(), **more), f'actuator_{row}_commands'
    world.state(position=(0.0, 0.0))
    assert world.array(**{row: {'j0': 1.0, 'j1': 1.0}}) == {array: [1.0, 1.0]}
    for _ in range(6):
        world.now += 0.25
        world.state(['m0'], position=(0.0,))
    world.state(position=(0.0, 0.0))
    assert world.command(**{row: {'j0': 0.5}}) == {row: {'m0': 0.5}}
    assert world.gate.arrays.missing == {array: ('m1',)}
    assert world.array(**{row: {'j1': 0.25}}) == {array: [0.5, 0.25]}


# -- trajectories --------------------------------------------------------------------------------


def test_a_gap_hides_no_trajectory():
    """It is named when the bridge stops, its joints are held, and its rates end in time."""
    world = Wrist()
    world.trajectory(('j0', 'j1'), (9.0, {'positions': (0.5, 0.5)}))
    world.lose('left out')
    assert world.gate.list_left_trajectories(world.now) == ('m0', 'm1')
    assert world.gate.ledger.mask_position_joints().all()
    assert world.wait(8.0) == {}
    assert world.gate.list_left_trajectories(world.now) == ()
    world = Wrist()
    world.trajectory(('j0', 'j1'), (2.0, {'velocities': (0.5, 0.5)}))
    world.lose('left out')
    assert world.wait(1.0) == {}
    assert world.wait(0.125) == {'velocity': {'m0': 0.0, 'm1': 0.0}}


@pytest.mark.parametrize(
    ('start', 'times', 'sent'),
    [
        (-9.99, (10.0,), 'jumped'),
        (-9.0, (9.5, 10.0), (9.5, 10.0)),
        (-9.75, (9.5, 10.5), (10.5,)),
        (-3600.0, (10.0,), 'too_old'),
        (0.0, (0.0,), (0.0,)),
        (-0.25, (0.25, 1.0), (0.25, 1.0)),
    ],
)
def test_waypoints_that_are_due_are_left_out(start, times, sent):
    """The first one that remains is compared with the time that remains."""
    world = Wrist(max_step='reject')
    points = [(time, {'positions': (0.04 * (n + 1),) * 2}) for n, time in enumerate(times)]
    if sent == 'jumped':
        points = [(10.0, {'positions': (1.0, 1.0)})]
    given = ('j0', 'j1'), *points
    if isinstance(sent, str):
        assert reason(world.trajectory, *given, start=world.now + start) == sent
    else:
        found = world.trajectory(*given, start=world.now + start)
        assert tuple(point.time[0] + 1e-9 * point.time[1] for point in found) == sent


# -- tuning --------------------------------------------------------------------------------------


def test_small_changes_in_a_short_time_are_a_large_one():
    """A number is compared with those of the last second."""
    world = World(pair())
    world.state(position=(0.0, 0.0))

    def tune(number, seconds):
        world.command(velocity={'j1': 0.1})
        world.tune({'t1.joints.j1.mechanical_reduction': number})
        world.now += seconds

    for _ in range(2):
        tune(1.9, 0.1)
        with pytest.raises(ParameterError, match='instead of'):
            tune(1.9**2, 0.0)
        world.now += 1.25
        tune(1.0, 1.25)


# -- unknown is not rest -------------------------------------------------------------------------


def test_a_motor_turned_by_hand_while_the_bridge_is_inactive():
    """Without a timeout silence means rest, but not before the first reading of an activation."""
    limit = 'revolute lower="-0.5" upper="9" velocity="1" effort="5"'
    robot = numbered(simple(0, joint=ratio(5.0)), limit, 1)
    world = World(robot, wrap_period=(f'm0={TURN}',), state_timeout=0.0)
    world.state(position=(0.215,))
    world.states.use_absolute_positions(np.array([0.215]), world.now)
    world.now += 1e5
    world.state(position=(0.215,))
    assert world.joints()['position'] == pytest.approx({'j0': 0.043})
    world.stop()
    world.bridge.reset()
    world.now += 60.0
    world.state(position=(1.3 * 5.0 - TURN,))
    assert world.joints() == {}
    assert reason(world.command, position={'j0': 1.3}) == 'unknown_turn'


@pytest.mark.parametrize('rate', [2.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize('speed', [0.0, 0.02, -1.0])
def test_the_pace_of_positions(rate, speed):
    """It is the speed over about 0.3 s, unknown before, after a gap and with unknown positions."""
    pace, now = StatePace(), 100.0
    for number in range(round(2.0 * rate)):
        now = 100.0 + number / rate
        if now >= pace.due:
            pace.record_positions(np.array([speed * now, math.nan]), now)
        found = np.broadcast_to(pace.estimate_speeds(now), 2)
        assert math.isnan(found[1])
        if number / rate < 0.3:
            assert math.isnan(found[0])
        elif number / rate > 0.36:
            assert found[0] == pytest.approx(speed, abs=1e-9)
    assert np.isnan(pace.estimate_speeds(now + 1.25)).all()
    assert np.isnan(pace.estimate_speeds(now - 9.0)).all()
    pace.record_positions(np.array([0.0, 0.0]), now + 5.0)
    assert np.isnan(pace.estimate_speeds(now + 5.0)).all()


def test_a_motion_that_ends_where_it_began_is_a_motion():
    """The pace is of the largest distance, so that no oscillation looks like rest."""
    pace = StatePace()
    for number in range(200):
        now = 0.05 * number
        pace.record_positions(np.array([0.1 * math.sin(TURN * now / 0.3)]), now)
        if number > 20:
            assert abs(float(pace.estimate_speeds(now)[0])) > 0.1


def test_the_automatic_timeout_is_five_periods_of_a_running_mean():
    """The first gap is the period, and one late message changes the timeout by a tenth."""
    driver = DriverReception(0, MessageEntries(slice(0), None, 0, (), None), AUTO)
    assert [driver.measure_period(0.5) for _ in range(3)] == [True, False, False]
    assert driver.timeout == 2.5
    assert driver.measure_period(1.0)
    assert driver.timeout == pytest.approx(2.75)
