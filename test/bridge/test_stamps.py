# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Valid stamps; the stamp of the joint states goes back only if time does."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from transmission_bridge.bridge.inputs import StampFilter
from transmission_bridge.bridge.states import StatePath

BILLION = 10**9

#: A present time [ns], so that stamps of both sides of it can be drawn.
PRESENT = 1_800_000_000 * BILLION

STAMPS = st.one_of(
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)),
    # Near the present, because the limit is there.
    st.integers(-2 * BILLION, 2 * BILLION).map(lambda offset: divmod(PRESENT + offset, BILLION)),
    st.sampled_from([(0, 0), (0, 1), (1, BILLION), (2_145_916_800, 0), (2**31 - 1, 0)]),
)

#: Steps of the node's clock and of the clock of receipt [ms].
STEPS = st.one_of(
    st.integers(0, 1500).map(lambda step: (step, step)),
    # The node's clock stands still, or is set: ahead, or back by more than one reading serves for.
    st.integers(0, 1500).map(lambda step: (0, step)),
    st.tuples(
        st.one_of(st.integers(-3_600_000, -501), st.integers(0, 3_600_000)), st.integers(0, 1500)
    ),
)


class Clock:
    """
    The node's clock and the clock of receipt.

    :ivar asked: How often the first was asked.
    :ivar told: Its last time [ns].
    """

    def __init__(self, nanoseconds=PRESENT):
        self.nanoseconds = nanoseconds
        self.received = 100.0
        self.asked = self.told = 0

    def __call__(self):
        """Return what it says."""
        self.asked += 1
        self.told = self.nanoseconds
        return divmod(self.nanoseconds, BILLION)

    def step(self, own, received):
        """Let milliseconds pass."""
        self.nanoseconds = max(self.nanoseconds + own * 1_000_000, 0)
        self.received += received / 1024.0


class Notes(Counter):
    """Counts reasons, and keeps the last sentence."""

    def __call__(self, topic, reason, sentence):
        """Take note."""
        self[topic, reason] += 1
        self.sentence = sentence


def driven(clock, notes, messages):
    """
    Send messages, each after clocks have gone on or been set; yield what became of each.

    One reading of the node's clock serves for half a second of receipt, in which it is not seen
    that the clock is set: so that takes longer here.
    """
    judge = StampFilter(clock, notes, lambda: None)
    for stamp, (own, received) in messages:
        clock.step(own, received if own == received else 1000)
        yield stamp, judge.replace_stamp('motors', stamp, clock.received)


@given(st.lists(st.tuples(STAMPS, STEPS), max_size=30), st.sampled_from([PRESENT, 0]))
def test_what_counts(reference, messages, start):
    """Whatever the clocks do, a stamp counts or is replaced and counted, as the model says."""
    clock, notes, expected = Clock(start), Notes(), Counter()
    for stamp, found in driven(clock, notes, messages):
        counts, reason = reference.stamp_that_counts(stamp, clock.nanoseconds)
        if reason:
            expected['motors', reason] += 1
            assert 'time of receipt' in notes.sentence
        assert found == counts
    assert notes == expected


@given(
    st.lists(
        st.tuples(st.sampled_from(['one', 'two', 'three']), STAMPS, STEPS), min_size=1, max_size=40
    )
)
def test_published_stamp(reference, robot, feed, messages):
    """It equals the model: never far ahead of the clock, and never back unless time is."""
    clock = Clock()
    path = StatePath(robot, stamp_hold=reference.STAMP_HOLD)
    model = reference.ReferenceStates(reference.Numbers())
    judge = StampFilter(clock, Notes(), path.merged.forget_stamps)
    before, history = (0, 0), []
    for source, stamp, (own, received) in messages:
        clock.step(own, received if own == received else 1000)
        was_set = clock.nanoseconds < clock.told
        counts = judge.replace_stamp(source, stamp, clock.received)
        if was_set:
            model.set_clock()
        message = reference.Message(('winch',), position=(1.0,), stamp=counts)
        feed(path, message, source, clock.received)
        model.update(source, message, clock.received)
        published = path.make_joint_state(clock.received).stamp
        assert published == model.joint_state().stamp
        assert published[0] * BILLION + published[1] <= clock.nanoseconds + BILLION // 2
        history.append((clock.received, counts))
        if published < before and not was_set:
            lately = [each for at, each in history if at > clock.received - reference.STAMP_HOLD]
            assert max(lately) < before
        before = published


def judge_of(clock, notes=None):
    """Return a filter that discards its notes."""
    return StampFilter(clock, notes if notes is not None else Notes(), lambda: None).replace_stamp


def test_one_message_of_2038(reference, robot, feed):
    """It counts as received now, and the stamps of other drivers go on."""
    clock, notes = Clock(), Notes()
    judge = judge_of(clock, notes)
    path = StatePath(robot, stamp_hold=reference.STAMP_HOLD)
    for source, stamp in (('one', (2**31 - 1, 0)), ('two', divmod(PRESENT + 2 * 10**7, BILLION))):
        clock.step(10, 10)
        counts = judge(source, stamp, clock.received)
        feed(path, reference.Message(('winch',), (1.0,), stamp=counts), source, clock.received)
        assert path.make_joint_state(clock.received).stamp == divmod(clock.nanoseconds, BILLION)
    assert notes == {('one', 'future_stamp'): 1}
    assert 's ahead' in notes.sentence
    assert 'Synchronise' in notes.sentence


def test_a_clock_that_has_no_time_yet():
    """Nothing is ahead of simulated time before its first message, and all that is from it on."""
    clock, times = Clock(0), []
    judge = StampFilter(clock, Notes(), lambda: times.append(clock.nanoseconds)).replace_stamp
    assert judge('motors', (1_800_000_000, 5), 0.0) == (1_800_000_000, 5)
    clock.nanoseconds = BILLION // 5
    assert judge('motors', (1_800_000_000, 6), 0.2) == (0, BILLION // 5)
    assert times == [BILLION // 5]


def test_the_clock_is_asked_now_and_then():
    """A driver at 1 kHz with a correct clock costs two readings a second."""
    clock = Clock()
    judge = judge_of(clock)
    for _ in range(10_000):
        clock.nanoseconds += 1_000_000
        clock.received += 0.001
        judge('motors', divmod(clock.nanoseconds - 100_000, BILLION), clock.received)
    assert clock.asked <= 21
