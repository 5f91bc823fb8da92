# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Turns of actuators with single-turn encoders, and their state while it is unknown."""

import math
from pathlib import Path

from hypothesis import given, strategies as st
import numpy as np
import pytest
from world import reason, World
from zoo.elements import leg, load, maps, numbered, params, ratio, simple, transmission, WRIST

from transmission_bridge.bridge.diagnostics.status import ERROR, OK, WARN
from transmission_bridge.bridge.options.options import AUTO, BridgeOptions
from transmission_bridge.bridge.states import list_wrap_periods, unwrap_positions
from transmission_bridge.errors import ParameterError, UnknownNameError

TURN = 2.0 * math.pi
#: Limits beyond ten turns in a table, with velocity limits of 1 and 20 rad/s.
WIDE, FAST = {'lower': -20.0, 'upper': 20.0}, {'lower': -100.0, 'upper': 100.0, 'velocity': 20.0}


def robot(lower=-1.0, upper=1.0, *, velocity=1.0, gear=1.0, kind='revolute', text='', count=1):
    """Return a robot of ``j0`` and ``m0``, or of joints with a transmission of this text."""
    bounds = f'lower="{lower}" upper="{upper}"' if lower is not None else ''
    limit = f'{kind} {bounds} velocity="{velocity}" effort="1"'
    return load(numbered(text or simple(0, joint=ratio(gear)), limit, count))


def wrist(*limits, **more):
    """Return a robot of ``j0 = (m0 + m1) / 2`` and ``j1 = (m0 - m1) / 2``."""
    return robot(*limits, **more, text=WRIST, count=2)


class Encoders(World):
    """A bridge with encoders of a period, a turn by default."""

    def __init__(self, maps, period=TURN, **options):
        periods = tuple(f'{name}={period}' for name in maps.actuator_names)
        super().__init__(maps, **{'wrap_period': periods} | options)

    @property
    def plan(self):
        """The plan of the states."""
        return self.bridge.plan.state_map

    def settle(self, *positions):
        """Settle the turns at these positions of the actuators."""
        self.states.settle_turns(np.array(positions))

    def open_turns(self):
        """Return the turns that are unknown."""
        return self.states.turns.list_open_turns()

    def joints(self, now=0.0):
        """Return the joints' positions."""
        return self.states.compute_joint_motion(self.plan, now)[0].copy()

    def hear(self, now=0.0, source='driver', stamp=(1, 0), **positions):
        """Take readings, and return the joints' positions."""
        self.now = now
        self.state(positions, source, stamp, position=[*positions.values()])
        return self.joints(now)

    def absolute(self, *positions, now=0.0):
        """Take absolute positions, and return the joints' positions."""
        self.states.use_absolute_positions(np.array(positions), now)
        return self.joints(now)

    def status(self):
        """Return the status of the actuators."""
        return self.inspect()['actuators']


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
    assert list_wrap_periods(own, BridgeOptions(wrap_period=('motor=6.28',))) == {'motor': 6.28}
    with pytest.raises(ParameterError, match='positive number'):
        list_wrap_periods(own, BridgeOptions(wrap_period=(f'motor={text}',)))
    with pytest.raises(UnknownNameError):
        list_wrap_periods(own, BridgeOptions(wrap_period=('engine=1.0',)))


# -- at power-up: test_power_ups.py does it with random robots -----------------------------------


@pytest.mark.parametrize(
    ('given', 'reading', 'level', 'words'),
    [
        ({}, 0.5 + TURN, OK, ()),
        ({'lower': -7.0, 'upper': 4.0}, 1.0, WARN,
         ('the turn of ', "'m0'", 'j0 -5.283', 'j0 1', '~/zero')),
        ({}, 3.0, ERROR,
         ('no turn keeps', 'position_unit', 'offset', 'wrap_period', '<limit>', '~/zero')),
        ({'lower': None, 'kind': 'prismatic'}, 3.0, WARN, ('no limits',)),
        ({'lower': -1e6, 'upper': 1e6}, 3.0, WARN, ('more than 4096 turns',)),
    ],
)  # fmt: skip
def test_open_turns_in_words(given, reading, level, words):
    """While the turn is unknown so is the joint, and the sentence has reason and remedy."""
    bridge = Encoders(robot(**given))
    assert unknown(bridge.hear(m0=reading)) == bool(words)
    status = bridge.status()
    assert status.level == level
    assert all(each in status.message for each in words)
    assert bool(bridge.open_turns()) == bool(words)
    if level == ERROR:  # it goes on looking
        assert bridge.hear(m0=0.9) == pytest.approx([0.9])


def test_the_remedy_of_an_unknown_turn_is_a_command_for_its_joint_alone():
    """An elbow whose encoder fits two turns; five other joints keep their offsets."""
    case = Path(__file__).parents[1] / 'data' / 'cases' / 'two_turns'
    wrapped = ('wrist_roll=4096', 'elbow_flex=4096')
    assert f'wrap_period: [{", ".join(wrapped)}]' in (case / 'wide.yaml').read_text()
    bridge = Encoders(load((case / 'wide.urdf').read_text()), wrap_period=wrapped)
    bridge.hear(elbow_flex=2500.0)
    (turn,) = (each for each in bridge.open_turns() if each.joints == ('elbow_flex',))
    assert len(turn.candidates) == 2
    assert '"transmission_bridge zero elbow_flex=POSITION"' in str(turn)


def test_candidates_are_the_turns_within_the_limits_of_the_urdf():
    """Limits of commands by ros2_control do not determine where a joint is."""
    text = numbered(simple(0), 'revolute lower="-9" upper="9" velocity="1" effort="1"', 1)
    narrow = f'<command_interface name="position">{params(min=-3, max=3)}</command_interface>'
    text = text.replace('<joint name="j0"/>', f'<joint name="j0">{narrow}</joint>')
    bridge = Encoders(load(text))
    assert unknown(bridge.hear(m0=0.5))
    (turn,) = bridge.open_turns()
    assert sorted(turn.candidates) == [pytest.approx((0.5 + n * TURN,)) for n in (-1, 0, 1)]


def test_a_turn_is_unknown_before_the_next_reading_shows_it():
    """After a gap in which the motor could have made a turn no position is sent to it."""
    bridge = Encoders(robot(velocity=2.0), state_timeout=9.0)
    bridge.hear(bridge.now, m0=0.5)
    assert bridge.command(position={'j0': 0.25}) == {'position': {'m0': 0.25}}
    bridge.now += TURN / 2.0
    assert reason(bridge.command, position={'j0': 0.5}) == 'unknown_turn'
    assert bridge.command(velocity={'j0': 0.5}) == {'velocity': {'m0': 0.5}}


THREE = transmission(
    't', 'Coupled', ('j0', 'j1', 'j2'), 'abc', params(matrix='1 0 0; 0.1 1 0; 0 0.1 1')
)
SHARED = ''.join(transmission(f't{joint}', 'Simple', (joint,), 'a') for joint in ('j0', 'j1'))


@pytest.mark.parametrize(
    ('joints', 'text', 'period'),
    [(('j0', 'j1', 'j2'), THREE, TURN), (('knee',), leg(), 0.1), (('j0', 'j1'), SHARED, TURN)],
    ids=['three motors', 'varying ratio', 'shared motor'],
)
def test_turns_that_limits_do_not_determine_wait_for_an_absolute_position(joints, text, period):
    """Though one combination of turns only is within limits; a lost turn is noticed."""
    limit = 'revolute lower="-0.5" upper="0.5" velocity="1" effort="1"'
    own = maps(dict.fromkeys(joints, limit), text)
    bridge = Encoders(own, period)
    turns = bridge.plan.encoders
    inside, beyond = (np.full(len(joints), each) for each in (0.2, 0.5))
    beyond += 0.4 * turns.travels
    for place, is_found in ((inside, True), (beyond, False)):
        bridge.states.turns.forget_turns()
        truth = own.joint_to_actuator('position', place)
        readings = dict(zip(own.actuator_names, (truth % turns.periods).tolist(), strict=True))
        assert unknown(bridge.hear(**readings))
        (turn,) = bridge.open_turns()
        assert turn.reason == 'unlimited'
        assert 'limits do not determine it' in bridge.status().message
        found = bridge.absolute(*truth)
        assert found == pytest.approx(place) if is_found else unknown(found)
        assert ('was measured at' in bridge.status().message) != is_found


def test_readings_of_different_times_take_no_turn_away():
    """While coupled actuators move, the old reading of one excludes no turn of the other."""
    bridge = Encoders(wrist(-1.0, 3.26))
    assert unknown(bridge.hear(m0=3.2, m1=3.2))
    assert unknown(bridge.hear(0.2, m1=3.4))
    assert unknown(bridge.hear(0.2, m0=3.1))
    (turn,) = bridge.open_turns()
    truth = bridge.robot.actuator_to_joint('position', [3.1, 3.4])
    assert any(np.allclose(each, truth) for each in turn.candidates)


def test_coupled_actuators_at_rest_are_resolved_once_their_readings_are_of_one_time():
    """Readings that are 0.9 s apart leave several turns, the next ones leave one."""
    bridge = Encoders(wrist())
    bridge.hear(0.0, 'one', m0=0.6)
    assert unknown(bridge.hear(0.9, 'two', m1=0.2))
    bridge.hear(0.95, 'one', m0=0.6)
    found = bridge.hear(0.95, 'two', m1=0.2)
    assert found == pytest.approx(bridge.robot.actuator_to_joint('position', [0.6, 0.2]))


# -- tuning --------------------------------------------------------------------------------------


def test_a_tuned_offset_counts():
    """After a change of numbers unknown turns are checked again; known turns stay."""
    bridge = Encoders(robot())
    bridge.hear(m0=3.0)
    for offset, position in ((-3.0, 0.0), (0.0, 3.0)):
        bridge.bridge.replace_robot(bridge.robot.with_parameters({'t0.joints.j0.offset': offset}))
        assert bridge.hear(m0=3.0) == pytest.approx([position])


def test_a_tuned_direction_changes_the_turn_without_an_error():
    """Numbers that another turn fits are no fault of the encoder; numbers that none fits are."""
    own = robot(-1.92, 1.92).with_parameters({'t0.joints.j0.offset': -math.pi})
    bridge = Encoders(own)
    bridge.hear(m0=3.5)
    assert bridge.hear(m0=3.5) == pytest.approx([3.5 - math.pi])
    turned = own.with_parameters({'t0.joints.j0.mechanical_reduction': -1.0})
    bridge.bridge.replace_robot(turned)
    bridge.joints()
    assert bridge.hear(m0=3.5) == pytest.approx([math.pi - 3.5])
    assert bridge.status().level == OK
    bridge.bridge.replace_robot(turned.with_parameters({'t0.joints.j0.offset': 1.0}))
    bridge.hear(m0=3.5)
    assert bridge.status().level == ERROR


def test_a_tuning_of_another_number_does_not_explain_a_wrong_reading():
    """Only numbers that decide how far the actuator moves do; the error stays otherwise."""
    bridge = Encoders(robot())
    for now, reading in steps(0.1, 0.1, 0.9, 0.9):
        bridge.hear(now, m0=reading)
    assert bridge.status().level == ERROR
    tuned = bridge.robot.with_parameters({'t0.joints.j0.offset': 0.01})
    bridge.bridge.replace_robot(tuned)
    assert unknown(bridge.hear(0.04, m0=0.9))
    assert bridge.status().level == ERROR
    tuned = tuned.with_parameters({'t0.joints.j0.mechanical_reduction': 2.0})
    bridge.bridge.replace_robot(tuned)
    assert bridge.hear(0.05, m0=0.9) == pytest.approx([0.46])
    assert bridge.status().level == OK


# -- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('active', [True, False])
@pytest.mark.parametrize(
    ('given', 'timeout', 'settled', 'reading', 'gap', 'expected'),
    [
        # It cannot have moved to another turn.
        (WIDE, 1.0, 1.0 + TURN, 2.0, 3.0, 2.0 + TURN),
        # It could have gone round; then only the limits count, whoever moved it how fast.
        (WIDE, 1.0, 1.0, 1.5, 8.0, None),
        ({'upper': 4.0, 'velocity': 3.0}, 1.0, 3.5, 0.2 + TURN, 60.0, 0.2),
        ({'upper': 4.0, 'velocity': 0.1}, 1.0, 3.9, -0.9, 70.0, -0.9),
        # Without a timeout silence means rest, but not while the bridge is not active.
        (WIDE, 0.0, 1.0, 1.5, 3.0, 1.5),
    ],
)  # fmt: skip
def test_a_turn_after_a_gap(given, timeout, settled, reading, gap, expected, active):
    """It stays known where the joint cannot have gone round or limits leave one turn."""
    bridge = Encoders(robot(**given), state_timeout=timeout)
    bridge.hear(m0=settled % TURN)
    bridge.settle(settled)
    assert bridge.hear(0.1, m0=settled % TURN) == pytest.approx([settled])
    if not active:
        bridge.states.reset()
    found = bridge.hear(gap, m0=reading)
    if expected is None:
        assert unknown(found)
        (turn,) = bridge.open_turns()
        assert len(turn.candidates) == 6
    else:
        assert found == pytest.approx([expected])


def test_a_turn_is_lost_between_the_first_two_messages():
    """Without a velocity limit the silence after a first message is no period of the driver."""
    bridge = Encoders(robot(-1.0, 8.0, velocity=0.0), state_timeout=AUTO)
    assert bridge.hear(m0=3.0) == pytest.approx([3.0])
    # It was moved by hand to -0.9.
    assert unknown(bridge.hear(600.0, m0=TURN - 0.9))


# -- what settles it -----------------------------------------------------------------------------


@pytest.mark.parametrize('reading_first', [True, False])
def test_an_absolute_position_settles_the_turn(reading_first):
    """One message is enough, before or after the first reading; another reading is ignored."""
    bridge = Encoders(robot(**WIDE))
    if reading_first:
        bridge.hear(m0=1.0)
        assert unknown(bridge.absolute(1.0 + 2.5 * TURN))
        assert unknown(bridge.absolute(np.nan))
    bridge.absolute(1.3 + 2 * TURN)
    assert bridge.hear(m0=1.0) == pytest.approx([1.0 + 2 * TURN])


def test_absolute_position_far_beyond_the_limits_is_no_position():
    """If another turn fits, the joint is unknown, and the limits are an error."""
    bridge = Encoders(robot(-6.0, 4.0))
    for now in (0.0, 0.1, 0.2):
        bridge.absolute(1.0 + TURN, now=now)
        assert unknown(bridge.hear(now, m0=1.0))
        assert bridge.status().level == ERROR


@pytest.mark.parametrize('apart', [0.0, 0.5])
def test_absolute_positions_of_joints_settle_coupled_actuators_if_they_are_of_one_time(apart):
    """Encoders at the joints (ignore_absolute_encoder) tell both actuators their turns."""
    bridge = Encoders(wrist(**FAST).with_parameters({'wrist.ignore_absolute_encoder': True}))
    actuators = [0.5 + TURN, 0.25 - TURN]
    first, second = expected = bridge.robot.actuator_to_joint('position', actuators)
    bridge.absolute(first, np.nan, now=1.0)
    bridge.absolute(np.nan, second, now=1.0 + apart)
    found = bridge.hear(1.0 + apart, m0=0.5, m1=0.25)
    assert unknown(found) if apart else found == pytest.approx(expected)


def in_turns(limit='', unit='turn', **limits):
    """Return a robot of two joints; the driver of the first one speaks turns, or ticks."""
    inside = params(position_unit=unit, velocity_unit='rpm') + limit
    return robot(**limits, text=simple(0, inside), count=2)


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
    text = f'<limit velocity="{limit}"/>' if limit else ''
    own = in_turns(text, lower=-50.0, upper=50.0, velocity=velocity)
    bridge = Encoders(own, wrap_period=('m0=1.0',), state_timeout=5.0)
    place = own.actuator_names.index('m0')
    absolute = np.full(2, np.nan)
    absolute[place] = 3.25 * TURN
    for is_reading in (reading_first, not reading_first):
        now = 5.0 if is_reading == reading_first else 5.0 + apart
        if is_reading:
            bridge.hear(now, m0=0.25, j1=0.0)
        else:
            bridge.absolute(*absolute, now=now)
    assert np.isfinite(bridge.states.read_values(5.0 + apart)[0, place]) == counts


def test_wanted_positions_settle_it():
    """~/zero takes the turn that comes nearest; all joints of coupled actuators are needed."""
    bridge = Encoders(robot(**WIDE))
    bridge.hear(m0=1.0)
    assert np.isnan(bridge.states.compute_nearest_turns({}, 0.0)).all()
    found = bridge.states.compute_nearest_turns({'j0': 7.0}, 0.0)
    assert found == pytest.approx([1.0 + TURN])
    assert unknown(bridge.joints())
    bridge.settle(*found)
    assert bridge.joints() == pytest.approx([1.0 + TURN])
    bridge = Encoders(wrist(**WIDE))
    bridge.hear(m0=0.0, m1=0.0)
    assert reason(bridge.states.compute_nearest_turns, {'j0': 7.0}, 0.0) == 'unknown_turn'


def test_a_silent_driver_settles_nothing():
    """A reading beyond its timeout is not used, and a settled position grows as old as it is."""
    bridge = Encoders(robot(**WIDE))
    bridge.hear(m0=1.0)

    def nearest(now, max_age):
        return bridge.states.compute_nearest_turns({'j0': 1.0}, now, max_age=max_age)

    assert np.isnan(nearest(4.0, 5.0)).all()
    found = nearest(0.9, 5.0)
    assert np.isnan(nearest(0.9, 0.5)).all()
    assert unknown(bridge.joints(4.0))
    # The maps of a new offset take time.
    bridge.settle(*found)
    assert unknown(bridge.joints(4.0))
    assert unknown(bridge.joints(1000.0))


# -- what does not fit ---------------------------------------------------------------------------


def steps(*readings, apart=0.01):
    """Return readings with their times."""
    return [(apart * number, reading) for number, reading in enumerate(readings)]


TRAVEL = {'lower': -5.0, 'upper': 5.0, 'gear': 2.0}


@pytest.mark.parametrize(
    ('given', 'readings', 'position', 'words'),
    [
        # A driver in turns with a period of 2 pi is no longer believed when its reading jumps.
        *(({'upper': 1.5}, steps(*(0.5 + step * np.arange(40)) % 1.0, apart=0.05), None,
           ("'m0' reads ", ' 0.05 s before, ', 'wrap_period 6.28319', 'position_unit'))
          for step in (0.05, -0.05)),
        # A driver may count turns from its power-up position, but no farther than it travels.
        *((TRAVEL, steps(reading, reading, apart=gap), None,
           (f"'m0' reads {reading:g}, expected at most 27.854 from 0",))
          for reading in (29.0, -2100.0) for gap in (0.0, 0.02)),
        (TRAVEL, steps(27.0, 27.0), None, ()),
        # Zeros of a driver that has not read yet are no position.
        ({'upper': 2.0}, [*steps(0.0, 0.0, 0.0), (0.04, 1.5), (0.05, 1.51)], 1.51, ()),
        # Ten delayed messages arrive at once; half of the readings are no error.
        ({'lower': -3.0, 'upper': 4.0, 'velocity': 3.0},
         [(0.02 * max(n, 40) + 1e-5 * n, (0.06 * n) % TURN) for n in range(60)], 0.06 * 59, ()),
    ],
)  # fmt: skip
def test_readings_that_do_not_fit_are_an_error(given, readings, position, words):
    """They are farther apart or outside than any velocity limit or travel allows."""
    bridge = Encoders(robot(**given))
    for now, reading in readings:
        (found,) = bridge.hear(now, m0=reading)
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
    bridge.now = now
    assert reason(bridge.command, position={'j0': 0.5}) == 'unknown_turn'
    assert reason(bridge.trajectory, 'j0', (1.0, {'positions': 1.0})) == 'unknown_turn'


@pytest.mark.parametrize('how', ['zero', 'activation', 'a tuned speed'])
def test_what_does_not_fit_is_believed_again_when_somebody_says_so(how):
    """~/zero, activation and a tuned speed begin again; absolute positions do not."""
    bridge = Encoders(robot(-1.0, 1.5))
    for now, reading in steps(0.8, 0.9, 0.1):
        bridge.hear(now, m0=reading)
    bridge.absolute(0.1, now=0.03)
    assert unknown(bridge.hear(0.03, m0=0.1))
    if how == 'zero':
        bridge.settle(0.1)
    elif how == 'activation':
        bridge.states.reset()
    else:
        bridge.bridge.replace_robot(robot(-1.0, 1.5, velocity=2.0))
    assert bridge.hear(0.04, m0=0.1) == pytest.approx([0.1])
    assert bridge.status().level == OK


@pytest.mark.parametrize('seconds', [0, 5], ids=['no stamp', 'stamps'])
def test_a_message_that_was_under_way_for_long_accuses_nobody(seconds):
    """Its stamp gives the time of the reading; without one, the next reading is a step."""
    bridge = Encoders(robot(-1.0, 1.5, velocity=3.0))
    for sent, now in ((0.0, 0.4), (0.4, 0.41), (0.41, 0.42)):
        position = -0.5 + 3.0 * sent
        stamp = (seconds, round(sent * 1e9) + 1) if seconds else (0, 0)
        (found,) = bridge.hear(now, stamp=stamp, m0=position % TURN)
    if seconds:
        assert found == pytest.approx(position)
    else:
        words = "'m0' reads 0.7, expected at most 0.844319 from 5.78319 0.01 s before, modulo"
        assert words in bridge.status().message


def test_a_period_that_cannot_be_counted_is_an_error():
    """Ticks with a period of 2 pi: 399 turns fit, but it goes round many times in 20 ms."""
    own = in_turns(params(ticks_per_turn=4096), 'tick', lower=-1.92, upper=1.92, velocity=10.0)
    bridge = Encoders(own, wrap_period=('m0=6.28',))
    for now in (0.0, 0.02):
        bridge.hear(now, m0=2100.0, j1=0.0)
    assert [turn.reason for turn in bridge.open_turns()] == ['fast']
    assert bridge.status().level == ERROR
    assert 'it can move 24.9 periods between two readings' in bridge.status().message


# -- a turn that was lost ------------------------------------------------------------------------


def test_joint_far_beyond_its_limits_has_lost_its_turn():
    """The elbow of a 2:1 belt with a reading of -3.14 and limits of +-1.69 is resolved."""
    bridge = Encoders(robot(-1.69, 1.69, gear=2.0, velocity=3.0))
    assert unknown(bridge.hear(m0=3.2))
    bridge.settle(3.2 - TURN)
    path = np.arange(3.2, 0.0, -0.05)
    found = np.array([bridge.hear(0.02 * n, m0=at % TURN)[0] for n, at in enumerate(path)])
    assert found[0] == pytest.approx(0.5 * 3.2 - math.pi)
    assert np.nanmin(found) >= -1.69 - 0.25 * math.pi
    assert np.isnan(found).sum() == 1
    assert found[-1] == pytest.approx(0.5 * path[-1])
    status = bridge.status()
    assert status.level == ERROR
    assert "'j0' was measured at -2.4" in status.message
    assert 'another turn fits' in status.message
    assert bridge.status().level == OK


def test_joint_far_beyond_its_limits_where_no_other_turn_fits():
    """It stays known, and is an error as long as it is there."""
    bridge = Encoders(robot(velocity=3.0))
    for now, at in steps(*np.arange(0.5, 3.0, 0.05), apart=0.02):
        assert bridge.hear(now, m0=at) == pytest.approx([at])
    for _ in range(2):
        assert bridge.hear(now, m0=at) == pytest.approx([at])
        assert bridge.status().level == ERROR
    for later, at in steps(*np.arange(2.9, 0.5, -0.05), apart=0.02):
        bridge.hear(1.02 + later, m0=at)
    assert [bridge.status().level for _ in range(2)] == [ERROR, OK]
