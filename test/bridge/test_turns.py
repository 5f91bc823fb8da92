# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Turns of actuators with single-turn encoders, and their state while it is unknown."""

from __future__ import annotations

from collections import Counter
import math
from pathlib import Path

from command_paths import Commands, reason
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import record, state_path
from zoo.elements import leg, maps, params, ratio, transmission

from transmission_bridge.bridge.diagnostics import ERROR, OK, WARN
from transmission_bridge.bridge.inspection import inspect_actuators
from transmission_bridge.bridge.options import AUTO, BridgeOptions
from transmission_bridge.bridge.turns import find_wrap_periods, unwrap_positions
from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.types import EMPTY

TURN = 2.0 * math.pi
WRIST = transmission('wrist', 'Differential', ('roll', 'pitch'), ('left', 'right'))
#: Limits beyond ten turns in a table, with velocity limits of 1 and 20 rad/s.
WIDE, FAST = {'lower': -20.0, 'upper': 20.0}, {'lower': -100.0, 'upper': 100.0, 'velocity': 20.0}


def robot(lower=-1.0, upper=1.0, *, velocity=1.0, gear=1.0, kind='revolute', text=''):
    """Return a robot of joint ``j`` and actuator ``a``, or with a transmission of this text."""
    bounds = f'lower="{lower}" upper="{upper}"' if lower is not None else ''
    limit = f'{kind} {bounds} velocity="{velocity}" effort="1"'
    simple = transmission('t', 'Simple', {'j': ratio(gear)}, ('a',))
    return maps(dict.fromkeys(('roll', 'pitch') if text else ('j',), limit), text or simple)


#: To a position.
WAY = TrajectoryRecord(
    (0, 0), '', ('j',), (Waypoint((1, 0), np.array([1.0]), EMPTY, EMPTY, EMPTY),)
)


class _Bridge:
    """A state path and a command path, as a session has them."""

    def __init__(self, maps, periods=None, *, timeout=1.0, **options):
        self.maps = maps
        periods = dict.fromkeys(maps.actuator_names, TURN) if periods is None else periods
        self.path = state_path(maps, wrap_period=periods, timeout=timeout, **options)
        self.states = self.path.states
        self.layouts = LayoutTable()

    def settle(self, *positions):
        """Settle the turns at these positions of the actuators."""
        self.states.settle_turns(self.path.plan, np.array(positions))

    def open_turns(self):
        return self.states.turns.list_open_turns(self.path.plan.turns)

    def joints(self, now=0.0):
        return self.path.find_joint_motion(now)[0].copy()

    def hear(self, now=0.0, source='driver', stamp=(1, 0), **positions):
        """Take readings, and return the joints' positions."""
        message = record(positions, [*positions.values()], stamp=stamp)
        layout = self.layouts.find_layout(message.names, message.lengths)
        self.path.merge_message(source, layout, message, stamp, now)
        return self.joints(now)

    def absolute(self, *positions, now=0.0):
        """Take absolute positions, and return the joints' positions."""
        self.states.use_absolute_positions(self.path.plan, np.array(positions), now)
        return self.joints(now)

    def status(self):
        stale = np.zeros(len(self.maps.actuator_names), dtype=bool)
        return inspect_actuators(self.maps, self.states, 0.0, stale, {}, plan=self.path.plan.turns)


def unknown(positions):
    """Tell whether no joint is known; some are never known alone."""
    assert np.isnan(positions).all() or np.isfinite(positions).all()
    return bool(np.isnan(positions).all())


# -- counting ------------------------------------------------------------------------------------


@given(
    moves=st.lists(st.floats(-0.499, 0.499), min_size=1, max_size=40),
    period=st.floats(1e-3, 1e3),
    lowest=st.sampled_from([0.0, -0.5, -3.0]),
    nonsense=st.sets(st.integers(1, 39)),
    wrong=st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e308, 1e20]),
)
def test_turns_are_counted(moves, period, lowest, nonsense, wrong):
    """While each message is less than half a turn on; nonsense is unknown and forgets nothing."""
    totals, periods = np.array([math.nan]), np.array([period])
    true = period * np.cumsum([0.3, *moves])
    found = []
    for number, each in enumerate(true):
        if number in nonsense:
            reading = np.array([wrong])
            unwrap_positions(reading, totals, periods)
            assert not np.isfinite(reading).any()
        positions = np.array([lowest * period + (each - lowest * period) % period])
        unwrap_positions(positions, totals, periods)
        found.append(positions[0])
    # The first reading is taken as it is: it may be whole turns away.
    turns = (found[0] - true[0]) / period
    assert abs(turns - round(turns)) < 1e-12
    assert np.allclose(found - true, round(turns) * period, rtol=0.0, atol=1e-11 * period)


@pytest.mark.parametrize('text', ['0.0', '-1.0', 'nan', 'inf', 'turn', ' ', '1e300', '1e-9'])
def test_a_period_is_a_positive_number_of_an_actuator(text):
    """Anything else is refused."""
    own = maps(('motor',))
    assert find_wrap_periods(own, BridgeOptions(wrap_period=('motor=6.28',))) == {'motor': 6.28}
    with pytest.raises(ParameterError, match='positive number'):
        find_wrap_periods(own, BridgeOptions(wrap_period=(f'motor={text}',)))
    with pytest.raises(UnknownNameError):
        find_wrap_periods(own, BridgeOptions(wrap_period=('engine=1.0',)))


@pytest.mark.parametrize('together', [True, False])
def test_counting_while_all_is_well(together):
    """Turns are counted on whether the messages give all actuators or one after the other."""
    bridge = _Bridge(robot(-60.0, 60.0, velocity=50.0, text=WRIST))
    truth = np.array([0.3, -0.2])
    bridge.hear(left=0.3, right=-0.2)
    bridge.settle(0.3, -0.2)
    for number in range(1, 100):
        now = 0.01 * number
        truth += [0.2, -0.1]
        left, right = truth % TURN
        if together:
            found = bridge.hear(left=left, right=right, now=now)
        else:
            bridge.hear(left=left, now=now)
            found = bridge.hear(right=right, now=now)
        assert found == pytest.approx(bridge.maps.actuator_to_joint('position', truth))
        shift = bridge.states.find_driver_shift(bridge.path.plan)
        assert truth - (0.0 if shift is None else shift) == pytest.approx([left, right])


# -- at power-up ---------------------------------------------------------------------------------


def test_random_power_ups(load, campaign):
    """No turn is wrong; a single candidate is used, several candidates are named."""
    power_ups = load('power_ups', Path(__file__).with_name('power_ups.py'))
    counts = power_ups.run(660 * campaign, seed=5, each=15)
    total = sum(counts.values(), Counter())
    for kind in power_ups.UNSEARCHED:
        assert counts[kind]['one resolved'] == 0 < counts[kind]['open, unlimited']
        total['one'] -= counts[kind]['one']
    assert (total['wrong'], total['not named'], total['not said'], total['accused']) == (0,) * 4
    assert total['one resolved'] >= 0.98 * total['one'] > 100
    assert total['several'] > 100
    assert total['several resolved'] == 0
    assert total['absolute resolved'] == total['absolute'] > 100


@pytest.mark.parametrize(
    ('given', 'reading', 'level', 'words'),
    [
        ({}, 0.5 + TURN, OK, ()),
        (
            {'lower': -7.0, 'upper': 4.0},
            1.0,
            WARN,
            ('the turn of ', "'a'", 'j -5.283', 'j 1', '~/zero'),
        ),
        (
            {},
            3.0,
            ERROR,
            ('no turn keeps', 'position_unit', 'offset', 'wrap_period', '<limit>', '~/zero'),
        ),
        ({'lower': None, 'kind': 'prismatic'}, 3.0, WARN, ('no limits',)),
        ({'lower': -1e6, 'upper': 1e6}, 3.0, WARN, ('more than 4096 turns',)),
    ],
)
def test_open_turns_in_words(given, reading, level, words):
    """While the turn is unknown so is the joint, and the sentence has reason and remedy."""
    bridge = _Bridge(robot(**given))
    assert unknown(bridge.hear(a=reading)) == bool(words)
    status = bridge.status()
    assert status.level == level
    for each in words:
        assert each in status.message
    assert bool(bridge.open_turns()) == bool(words)
    if level == ERROR:  # it goes on looking
        assert bridge.hear(a=0.9) == pytest.approx([0.9])


@pytest.mark.parametrize('readings', [(0.5 + TURN, 0.4 + TURN), (2100.0, 2100.9, 2100.1)])
def test_the_first_reading_counts_as_it_is_where_that_is_chosen(readings):
    """With unknown_turn: first nothing is ever open or judged."""
    bridge = _Bridge(robot(), unknown_turn='first')
    assert bridge.states.find_open_actuators(bridge.path.plan, 0.0) is None
    for number, reading in enumerate(readings):
        assert bridge.hear(a=reading, now=0.01 * number) == pytest.approx([reading])
    assert bridge.hear(a=readings[-1] - TURN, now=100.0) == pytest.approx([readings[-1]])
    assert bridge.status().level == OK


def unsearched(kind):
    """Return a robot of which limits determine no turn, its joints within half a radian."""
    limit = 'revolute lower="-0.5" upper="0.5" velocity="1" effort="1"'
    if kind == 'three motors':
        joints = [f'j{motor}' for motor in 'abc']
        matrix = params(matrix='1 0 0; 0.1 1 0; 0 0.1 1')
        text = transmission('t', 'Coupled', joints, 'abc', matrix)
    elif kind == 'varying ratio':
        joints, text = ['knee'], leg()
    else:
        joints = ['j', 'k']
        text = ''.join(transmission(f't{joint}', 'Simple', joint, 'a') for joint in joints)
    return maps(dict.fromkeys(joints, limit), text)


@pytest.mark.parametrize('kind', ['three motors', 'varying ratio', 'shared motor'])
def test_turns_that_limits_do_not_determine_wait_for_an_absolute_position(kind):
    """Though one combination of turns only is within limits; a lost turn is noticed."""
    own = unsearched(kind)
    names = own.actuator_names
    bridge = _Bridge(own, dict.fromkeys(names, 0.1 if kind == 'varying ratio' else TURN))
    plan = bridge.path.plan.turns
    inside, beyond = (np.full(len(own.joint_names), each) for each in (0.2, 0.5))
    beyond += 0.4 * plan.travels
    for joints, is_found in ((inside, True), (beyond, False)):
        bridge.states.turns.forget_turns(plan)
        truth = own.joint_to_actuator('position', joints)
        readings = dict(zip(names, (truth % plan.periods).tolist(), strict=True))
        assert unknown(bridge.hear(**readings))
        (turn,) = bridge.open_turns()
        assert turn.reason == 'unlimited'
        assert 'limits do not determine it' in bridge.status().message
        found = bridge.absolute(*truth)
        assert found == pytest.approx(joints) if is_found else unknown(found)
        assert ('was measured at' in bridge.status().message) != is_found


def test_readings_of_different_times_take_no_turn_away():
    """While coupled actuators move, the old reading of one excludes no turn of the other."""
    bridge = _Bridge(robot(-1.0, 3.26, text=WRIST))
    assert unknown(bridge.hear(left=3.2, right=3.2))
    assert unknown(bridge.hear(right=3.4, now=0.2))
    assert unknown(bridge.hear(left=3.1, now=0.2))
    (turn,) = bridge.open_turns()
    truth = bridge.maps.actuator_to_joint('position', [3.1, 3.4])
    assert any(np.allclose(each, truth) for each in turn.candidates)


def test_coupled_actuators_at_rest_are_resolved_once_their_readings_are_of_one_time():
    """Readings that are 0.9 s apart leave several turns, the next ones leave one."""
    bridge = _Bridge(robot(text=WRIST))
    bridge.hear(source='one', left=0.6, now=0.0)
    assert unknown(bridge.hear(source='two', right=0.2, now=0.9))
    bridge.hear(source='one', left=0.6, now=0.95)
    found = bridge.hear(source='two', right=0.2, now=0.95)
    assert found == pytest.approx(bridge.maps.actuator_to_joint('position', [0.6, 0.2]))


def test_motion_leaves_one_turn():
    """A turn beyond the limits is no candidate."""
    bridge = _Bridge(robot(-3.5, 3.5))
    path = np.arange(3.0, 0.0, -0.1)
    found = np.array([bridge.hear(a=each % TURN, now=0.01 * n)[0] for n, each in enumerate(path)])
    lost = np.isnan(found)
    assert lost[0]
    assert not lost[-1]
    assert np.allclose(found[~lost], path[~lost])
    assert bridge.states.turns.waited.tolist() == [lost.sum()]


def test_a_tuned_offset_counts():
    """After a change of numbers unknown turns are checked again; known turns stay."""
    own = robot()
    bridge = _Bridge(own)
    bridge.hear(a=3.0)
    bridge.path.replace_robot(own.with_parameters({'t.joints.j.offset': -3.0}))
    assert bridge.hear(a=3.0) == pytest.approx([0.0])
    bridge.path.replace_robot(own)
    assert bridge.hear(a=3.0) == pytest.approx([3.0])


def test_a_tuned_direction_changes_the_turn_without_an_error():
    """Numbers that another turn fits are no fault of the encoder; numbers that none fits are."""
    own = robot(-1.92, 1.92).with_parameters({'t.joints.j.offset': -math.pi})
    bridge = _Bridge(own)
    bridge.hear(a=3.5)
    assert bridge.hear(a=3.5) == pytest.approx([3.5 - math.pi])
    turned = own.with_parameters({'t.joints.j.mechanical_reduction': -1.0})
    bridge.path.replace_robot(turned)
    bridge.joints()
    assert bridge.hear(a=3.5) == pytest.approx([math.pi - 3.5])
    assert bridge.status().level == OK
    bridge.path.replace_robot(turned.with_parameters({'t.joints.j.offset': 1.0}))
    bridge.hear(a=3.5)
    assert bridge.status().level == ERROR


# -- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('active', [True, False])
@pytest.mark.parametrize(
    ('given', 'settled', 'reading', 'gap', 'expected'),
    [
        # It cannot have moved to another turn.
        (WIDE, 1.0 + TURN, 2.0, 3.0, 2.0 + TURN),
        # It could have gone round; then only the limits count, whoever moved it how fast.
        (WIDE, 1.0, 1.5, 8.0, None),
        ({'upper': 4.0, 'velocity': 3.0}, 3.5, 0.2 + TURN, 60.0, 0.2),
        ({'upper': 4.0, 'velocity': 0.1}, 3.9, -0.9, 70.0, -0.9),
        # Without a timeout silence means rest.
        (WIDE | {'timeout': 0.0}, 1.0, 1.5, 1e5, 1.5),
    ],
)
def test_a_turn_after_a_gap(given, settled, reading, gap, expected, active):
    """It stays known where the joint cannot have gone round or limits leave one turn."""
    given = dict(given)
    timeout = given.pop('timeout', 1.0)
    bridge = _Bridge(robot(**given), timeout=timeout)
    bridge.hear(a=settled % TURN)
    bridge.settle(settled)
    assert bridge.hear(a=settled % TURN, now=0.1) == pytest.approx([settled])
    if not active and timeout:
        bridge.path.reset()
    found = bridge.hear(a=reading, now=gap)
    if expected is None:
        assert unknown(found)
        (turn,) = bridge.open_turns()
        assert len(turn.candidates) == 6
    else:
        assert found == pytest.approx([expected])


# -- what settles it -----------------------------------------------------------------------------


@pytest.mark.parametrize('reading_first', [True, False])
def test_an_absolute_position_settles_the_turn(reading_first):
    """One message is enough, before or after the first reading; another reading is ignored."""
    bridge = _Bridge(robot(**WIDE))
    if reading_first:
        bridge.hear(a=1.0)
        assert unknown(bridge.absolute(1.0 + 2.5 * TURN))
        assert unknown(bridge.absolute(np.nan))
    bridge.absolute(1.3 + 2 * TURN)
    assert bridge.hear(a=1.0) == pytest.approx([1.0 + 2 * TURN])


def test_absolute_position_far_beyond_the_limits_is_no_position():
    """If another turn fits, the joint is unknown, and the limits are an error."""
    bridge = _Bridge(robot(-6.0, 4.0))
    for number in range(3):
        bridge.absolute(1.0 + TURN, now=0.1 * number)
        assert unknown(bridge.hear(a=1.0, now=0.1 * number))
        assert bridge.status().level == ERROR


@pytest.mark.parametrize('apart', [0.0, 0.5])
def test_absolute_positions_of_joints_settle_coupled_actuators_if_they_are_of_one_time(apart):
    """Encoders at the joints (ignore_absolute_encoder) tell both actuators their turns."""
    own = robot(**FAST, text=WRIST).with_parameters({'wrist.ignore_absolute_encoder': True})
    bridge = _Bridge(own)
    roll, pitch = expected = own.actuator_to_joint('position', [0.5 + TURN, 0.25 - TURN])
    bridge.absolute(roll, np.nan, now=1.0)
    bridge.absolute(np.nan, pitch, now=1.0 + apart)
    found = bridge.hear(left=0.5, right=0.25, now=1.0 + apart)
    assert unknown(found) if apart else found == pytest.approx(expected)


def test_absolute_position_of_one_actuator_does_not_refresh_that_of_another():
    """Each has the time of the message that it came in."""
    bridge = _Bridge(robot(**FAST, text=WRIST))
    bridge.absolute(TURN, np.nan, now=1.0)
    bridge.absolute(np.nan, TURN, now=1.5)
    assert unknown(bridge.hear(left=0.0, right=0.0, now=1.5))
    expected = bridge.maps.actuator_to_joint('position', [TURN, TURN])
    assert bridge.absolute(TURN, np.nan, now=1.5) == pytest.approx(expected)


def in_turns(limit='', unit='turn'):
    """Return a transmission whose driver speaks turns, or ticks."""
    inside = params(position_unit=unit, velocity_unit='rpm') + limit
    return transmission('t', 'Simple', ('roll',), {'a': inside})


@pytest.mark.parametrize('reading_first', [True, False])
@pytest.mark.parametrize(
    ('limit', 'velocity', 'apart', 'counts'),
    [
        (None, 0.0, 0.045, True),
        (None, 0.0, 0.055, False),
        (1, 0.0, 1.2, True),
        (1, 0.0, 1.4, False),
        (1, 100.0, 1.2, True),
        (100, 1.0, 1.2, True),
        (100, 1.0, 1.4, False),
    ],
)
def test_absolute_position_of_another_time_counts_only_if_it_cannot_have_gone_far(
    limit, velocity, apart, counts, reading_first
):
    """A quarter of a turn at the smaller limit and a fifth: 1.31 s; without a limit 50 ms."""
    text = in_turns(f'<limit velocity="{limit}"/>' if limit else '')
    bridge = _Bridge(robot(-50.0, 50.0, velocity=velocity, text=text), {'a': 1.0}, timeout=5.0)
    place = bridge.maps.actuator_names.index('a')
    absolute = np.full(2, np.nan)
    absolute[place] = 3.25 * TURN
    for is_reading in (reading_first, not reading_first):
        now = 5.0 if is_reading == reading_first else 5.0 + apart
        if is_reading:
            bridge.hear(a=0.25, pitch=0.0, now=now)
        else:
            bridge.absolute(*absolute, now=now)
    assert np.isfinite(bridge.states.read_values(5.0 + apart)[0, place]) == counts


def test_wanted_positions_settle_it():
    """~/zero takes the turn that comes nearest; all joints of coupled actuators are needed."""
    bridge = _Bridge(robot(**WIDE))
    bridge.hear(a=1.0)
    assert np.isnan(bridge.states.find_nearest_turns(bridge.path.plan, {}, 0.0)).all()
    found = bridge.states.find_nearest_turns(bridge.path.plan, {'j': 7.0}, 0.0)
    assert found == pytest.approx([1.0 + TURN])
    assert unknown(bridge.joints())
    bridge.settle(*found)
    assert bridge.joints() == pytest.approx([1.0 + TURN])
    wrist = _Bridge(robot(**WIDE, text=WRIST))
    wrist.hear(left=0.0, right=0.0)
    why = reason(wrist.states.find_nearest_turns, wrist.path.plan, {'roll': 7.0}, 0.0)
    assert why == 'unknown_turn'


def test_a_turn_is_lost_between_the_first_two_messages():
    """Without a velocity limit the silence after a first message is no period of the driver."""
    bridge = _Bridge(robot(-1.0, 8.0, velocity=0.0), timeout=AUTO)
    assert bridge.hear(0.0, a=3.0) == pytest.approx([3.0])
    # It was moved by hand to -0.9.
    assert unknown(bridge.hear(600.0, a=TURN - 0.9))


def test_a_tuning_of_another_number_does_not_explain_a_wrong_reading():
    """Only numbers that decide how far the actuator moves do; the error stays otherwise."""
    bridge = _Bridge(robot())
    for now, reading in steps(0.1, 0.1, 0.9, 0.9):
        bridge.hear(now, a=reading)
    assert bridge.status().level == ERROR
    tuned = bridge.maps.with_parameters({'t.joints.j.offset': 0.01})
    bridge.path.replace_robot(tuned)
    assert unknown(bridge.hear(0.04, a=0.9))
    assert bridge.status().level == ERROR
    bridge.path.replace_robot(tuned.with_parameters({'t.joints.j.mechanical_reduction': 2.0}))
    assert bridge.hear(0.05, a=0.9) == pytest.approx([0.46])
    assert bridge.status().level == OK


def test_a_silent_driver_settles_nothing():
    """A reading beyond its timeout is not used, and a settled position grows as old as it is."""
    bridge = _Bridge(robot(**WIDE), timeout=1.0)
    bridge.hear(a=1.0)
    plan = bridge.path.plan
    assert np.isnan(bridge.states.find_nearest_turns(plan, {'j': 1.0}, 4.0, max_age=5.0)).all()
    found = bridge.states.find_nearest_turns(plan, {'j': 1.0}, 0.9, max_age=5.0)
    assert np.isnan(bridge.states.find_nearest_turns(plan, {'j': 1.0}, 0.9, max_age=0.5)).all()
    assert unknown(bridge.joints(4.0))
    # The maps of a new offset take time.
    bridge.settle(*found)
    assert unknown(bridge.joints(4.0))
    assert unknown(bridge.joints(1000.0))


# -- what does not fit ---------------------------------------------------------------------------


def steps(*readings, apart=0.01):
    """Return readings with their times."""
    return [(apart * number, reading) for number, reading in enumerate(readings)]


@pytest.mark.parametrize(
    ('given', 'readings', 'position', 'words'),
    [
        # A driver in turns with a period of 2 pi is no longer believed when its reading jumps.
        *(
            (
                {'upper': 1.5},
                steps(*(0.5 + step * np.arange(40)) % 1.0, apart=0.05),
                None,
                ("'a' reads ", ' 0.05 s before, ', 'wrap_period 6.28319', 'position_unit'),
            )
            for step in (0.05, -0.05)
        ),
        # A driver may count turns from its power-up position, but no farther than it travels.
        *(
            (
                {'lower': -5.0, 'upper': 5.0, 'gear': 2.0},
                steps(reading, reading, apart=gap),
                None,
                (f"'a' reads {reading:g}, expected at most 27.854 from 0",),
            )
            for reading in (29.0, -2100.0)
            for gap in (0.0, 0.02)
        ),
        ({'lower': -5.0, 'upper': 5.0, 'gear': 2.0}, steps(27.0, 27.0), None, ()),
        # Zeros of a driver that has not read yet are no position.
        ({'upper': 2.0}, [*steps(0.0, 0.0, 0.0), (0.04, 1.5), (0.05, 1.51)], 1.51, ()),
        # Ten delayed messages arrive at once; half of the readings are no error.
        (
            {'lower': -3.0, 'upper': 4.0, 'velocity': 3.0},
            [(0.02 * max(n, 40) + 1e-5 * n, (0.06 * n) % TURN) for n in range(60)],
            0.06 * 59,
            (),
        ),
    ],
)
def test_readings_that_do_not_fit_are_an_error(given, readings, position, words):
    """They are farther apart or outside than any velocity limit or travel allows."""
    bridge = _Bridge(robot(**given))
    for now, reading in readings:
        (found,) = bridge.hear(a=reading, now=now)
    status = bridge.status()
    if position is not None:
        assert found == pytest.approx(position)
        assert status.level == OK
        return
    assert math.isnan(found)
    (turn,) = bridge.open_turns()
    assert turn.reason == ('wrong' if words else 'several')
    assert status.level == (ERROR if words else WARN)
    assert all(each in status.message for each in words)
    known = bridge.states.find_known_state(bridge.path.plan, now)
    commands = Commands(bridge.maps, wrap_period=(f'a={TURN}',))
    commands.open_turns = known.open_turns
    assert reason(commands.send, record(('j',), [0.5]), known.position) == 'unknown_turn'
    assert reason(commands.map, WAY, known.position) == 'unknown_turn'


@pytest.mark.parametrize('turns', [-2, 0, 3])
def test_a_driver_is_commanded_in_its_own_turns(turns):
    """To hold its position it receives its own reading, by every route."""
    bridge = _Bridge(robot(-50.0, 50.0, gear=2.0, velocity=50.0))
    commands = Commands(bridge.maps, command_actuators=('a',))
    bridge.hear(a=6.0)
    bridge.settle(6.0 + turns * TURN)
    for now, reading in ((0.0, 6.0), (0.01, 6.2), (0.02, 0.1), (0.03, 0.5)):
        (joint,) = bridge.hear(a=reading, now=now)
        commands.shift = bridge.states.find_driver_shift(bridge.path.plan)
        commands.send(record(('j',), [joint]), np.array([joint]))
        commands.map(WAY, np.array([joint]))
        state, array, way = (each.content for each in commands.sent[-3:])
        assert state.position == pytest.approx([reading])
        assert array == pytest.approx([reading])
        expected = 2.0 + reading - 2.0 * joint
        assert way.points[0].positions == pytest.approx([expected])


@pytest.mark.parametrize(
    'settle',
    [
        lambda bridge: bridge.settle(0.1),
        lambda bridge: bridge.path.reset(),
        lambda bridge: bridge.path.replace_robot(robot(-1.0, 1.5, velocity=2.0)),
    ],
)
def test_what_does_not_fit_is_believed_again_when_somebody_says_so(settle):
    """~/zero, activation and a tuned speed begin again; absolute positions do not."""
    bridge = _Bridge(robot(-1.0, 1.5))
    for number, reading in enumerate((0.8, 0.9, 0.1)):
        bridge.hear(a=reading, now=0.01 * number)
    bridge.absolute(0.1, now=0.03)
    assert unknown(bridge.hear(a=0.1, now=0.03))
    settle(bridge)
    assert bridge.hear(a=0.1, now=0.04) == pytest.approx([0.1])
    assert bridge.status().level == OK


@pytest.mark.parametrize('seconds', [0, 5], ids=['no stamp', 'stamps'])
def test_a_message_that_was_under_way_for_long_accuses_nobody(seconds):
    """Its stamp gives the time of the reading; without one, the next reading is a step."""
    bridge = _Bridge(robot(-1.0, 1.5, velocity=3.0))
    for sent, now in ((0.0, 0.4), (0.4, 0.41), (0.41, 0.42)):
        position = -0.5 + 3.0 * sent
        stamp = (seconds, round(sent * 1e9) + 1) if seconds else (0, 0)
        (found,) = bridge.hear(a=position % TURN, now=now, stamp=stamp)
    if seconds:
        assert found == pytest.approx(position)
    else:
        words = "'a' reads 0.7, expected at most 0.844319 from 5.78319 0.01 s before, modulo turns"
        assert words in bridge.status().message


def test_a_period_that_cannot_be_counted_is_an_error():
    """Ticks with a period of 2 pi: 399 turns fit, but it goes round many times in 20 ms."""
    text = in_turns(params(ticks_per_turn=4096), 'tick')
    bridge = _Bridge(robot(-1.92, 1.92, velocity=10.0, text=text), {'a': 6.28})
    for now in (0.0, 0.02):
        bridge.hear(a=2100.0, pitch=0.0, now=now)
    assert [turn.reason for turn in bridge.open_turns()] == ['fast']
    assert bridge.status().level == ERROR
    assert 'it can move 24.9 periods between two readings' in bridge.status().message


# -- a turn that was lost ------------------------------------------------------------------------


def test_joint_far_beyond_its_limits_has_lost_its_turn():
    """The elbow of a 2:1 belt with a reading of -3.14 and limits of +-1.69 is resolved."""
    bridge = _Bridge(robot(-1.69, 1.69, gear=2.0, velocity=3.0))
    assert unknown(bridge.hear(a=3.2))
    bridge.settle(3.2 - TURN)
    path = np.arange(3.2, 0.0, -0.05)
    found = np.array([bridge.hear(a=at % TURN, now=0.02 * n)[0] for n, at in enumerate(path)])
    assert found[0] == pytest.approx(0.5 * 3.2 - math.pi)
    assert np.nanmin(found) >= -1.69 - 0.25 * math.pi
    assert np.isnan(found).sum() == 1
    assert found[-1] == pytest.approx(0.5 * path[-1])
    status = bridge.status()
    assert status.level == ERROR
    assert "'j' was measured at -2.4" in status.message
    assert 'another turn fits' in status.message
    assert bridge.status().level == OK


def test_joint_far_beyond_its_limits_where_no_other_turn_fits():
    """It stays known, and is an error as long as it is there."""
    bridge = _Bridge(robot(velocity=3.0))
    for number, at in enumerate(np.arange(0.5, 3.0, 0.05)):
        assert bridge.hear(a=at, now=0.02 * number) == pytest.approx([at])
    for _ in range(2):
        assert bridge.hear(a=at, now=0.02 * number) == pytest.approx([at])
        assert bridge.status().level == ERROR
    for number, at in enumerate(np.arange(2.9, 0.5, -0.05)):
        bridge.hear(a=at, now=1.02 + 0.02 * number)
    assert [bridge.status().level for _ in range(2)] == [ERROR, OK]
