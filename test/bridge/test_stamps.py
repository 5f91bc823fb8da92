# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Valid stamps; the stamp of the joint states goes back only if time does."""

from collections import Counter

from hypothesis import given, strategies as st
from state_paths import StatePath
import states_model
from zoo import reference

from transmission_bridge.bridge.inputs import StampFilter

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


class _Clock:
    """The node's clock, how often it was asked, and the clock of receipt."""

    def __init__(self, nanoseconds=PRESENT):
        self.nanoseconds, self.received = nanoseconds, 100.0
        self.asked = self.told = 0

    def __call__(self):
        self.asked += 1
        self.told = self.nanoseconds
        return divmod(self.nanoseconds, BILLION)

    def step(self, own, received):
        """
        Let milliseconds pass.

        One reading of the node's clock serves for half a second of receipt, in which it is not
        seen that the clock is set: so that takes longer here.
        """
        self.nanoseconds = max(self.nanoseconds + own * 1_000_000, 0)
        self.received += (received if own == received else 1000) / 1024.0


class _Notes(Counter):
    """Counts reasons, and keeps the last sentence."""

    def __call__(self, topic, reason, sentence):
        self[topic, reason] += 1
        self.sentence = sentence


@given(
    st.lists(
        st.tuples(st.sampled_from(['one', 'two', 'three']), STAMPS, STEPS), min_size=1, max_size=40
    )
)
def test_stamps(robot, messages):
    """
    Whatever the clocks do, a stamp counts or is replaced and counted, as the model says.

    What is published is never far ahead of the clock, and never back unless time is.
    """
    clock, notes, expected = _Clock(), _Notes(), Counter()
    path = StatePath(robot, stamp_hold=states_model.STAMP_HOLD)
    model = states_model.ReferenceStates(reference.Numbers())
    judge = StampFilter(clock, notes, path.states.forget_stamps)
    before, history = (0, 0), []
    for source, stamp, step in messages:
        clock.step(*step)
        was_set = clock.nanoseconds < clock.told
        counts, why = states_model.stamp_that_counts(stamp, clock.nanoseconds)
        assert judge.replace_stamp(source, stamp, clock.received) == counts
        if why:
            expected[source, why] += 1
            assert 'time of receipt' in notes.sentence
            assert ('s ahead' in notes.sentence) == (why == 'future_stamp')
        assert notes == expected
        if was_set:
            model.set_clock()
        message = reference.Message(('winch',), position=(1.0,), stamp=counts)
        path.feed(message, source, clock.received)
        model.update(source, message, clock.received)
        published = path.make_joint_state(clock.received).stamp
        assert published == model.joint_state().stamp
        assert published[0] * BILLION + published[1] <= clock.nanoseconds + BILLION // 2
        history.append((clock.received, counts))
        if published < before and not was_set:
            begin = clock.received - states_model.STAMP_HOLD
            assert max(each for at, each in history if at > begin) < before
        before = published


def test_a_clock_that_has_no_time_yet():
    """Nothing is ahead of simulated time before its first message, and all that is from it on."""
    clock, times = _Clock(0), []
    judge = StampFilter(clock, _Notes(), lambda: times.append(clock.nanoseconds)).replace_stamp
    assert judge('motors', (1_800_000_000, 5), 0.0) == (1_800_000_000, 5)
    clock.nanoseconds = BILLION // 5
    assert judge('motors', (1_800_000_000, 6), 0.2) == (0, BILLION // 5)
    assert times == [BILLION // 5]


def test_the_clock_is_asked_now_and_then():
    """A driver at 1 kHz with a correct clock costs two readings a second."""
    clock = _Clock()
    judge = StampFilter(clock, _Notes(), lambda: None).replace_stamp
    for _ in range(10_000):
        clock.nanoseconds += 1_000_000
        clock.received += 0.001
        judge('motors', divmod(clock.nanoseconds - 100_000, BILLION), clock.received)
    assert clock.asked <= 21
