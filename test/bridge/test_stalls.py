# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands just after a stall of the process are rejected."""

from hypothesis import given, strategies as st
import pytest
from state_paths import outcome

from transmission_bridge.bridge.inputs import BLIND, StallWatch
from transmission_bridge.errors import MessageError

#: Longest time between ticks that is no stall [s].
LIMIT = 0.5


class Process:
    """A process with a watch, and its steady clock."""

    def __init__(self):
        self.now = 1000.0
        self.watch = StallWatch(LIMIT, lambda: self.now)

    def tick(self, seconds):
        """Let time pass, then let the timer tick."""
        self.now += seconds
        self.watch.record_tick()

    def accepts(self, seconds=0.0):
        """Return whether a command is accepted that is received after some time."""
        self.now += seconds
        return self.now <= self.watch.calm_until or outcome(self.watch.check_receipt) is None


@given(st.lists(st.tuples(st.floats(0.0, 0.49 * LIMIT), st.floats(0.0, 0.49 * LIMIT))))
def test_commands_without_a_stall_are_accepted(gaps):
    """Between any two ticks that are not further apart than the limit."""
    process = Process()
    for before, after in gaps:
        assert process.accepts(before)
        process.tick(after)


@pytest.mark.parametrize('first', ['tick', 'command'])
@pytest.mark.parametrize('stall', [0.501, 0.6, 6.0])
def test_commands_after_a_stall_are_rejected(first, stall):
    """For 0.3 s from the first event, which may be the timer or a command; then no more."""
    process = Process()
    if first == 'tick':
        process.tick(stall)
    else:
        assert not process.accepts(stall)
    with pytest.raises(MessageError, match=f'stood still for {stall:.2f} s'):
        process.watch.check_receipt()
    assert not process.accepts(BLIND - 0.001)
    assert process.accepts(0.002)
    process.tick(0.1)
    assert process.accepts(LIMIT)


def test_a_second_stall_and_a_reset_count():
    """A stall within the time after another one restarts it; a reset forgets both."""
    process = Process()
    process.tick(1.0)
    process.tick(1.0)
    assert not process.accepts(BLIND - 0.001)
    process.watch.reset()
    assert process.accepts()
    process.now += 9.0
    process.watch.reset()
    assert process.accepts()
