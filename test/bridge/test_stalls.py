# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands from before a stall are recognised by source times, separately by writer."""

from __future__ import annotations

import pytest

from transmission_bridge.bridge import stalls
from transmission_bridge.bridge.stalls import StallWatch
from transmission_bridge.errors import MessageError

#: Bound of the age [s], period of the watch's timer and of a writer's commands [s].
LIMIT, TICK, PERIOD = 0.5, 0.125, 0.02

#: Time from sending to receipt [s].
LATENCY = 0.001


class _World:
    """A process with a watch, in true time, and the error of its clock of source times."""

    def __init__(self):
        self.now, self.wall = 1000.0, 1.8e9
        self.watch = StallWatch(LIMIT, lambda: self.now)

    def run(self, seconds):
        """Go on in steps of the commands' period, with the timer's looks."""
        ticked, end = self.now, self.now + seconds
        while self.now < end:
            self.now += PERIOD
            if self.now - ticked >= TICK:
                ticked = self.now
                self.watch.notice_stall()
            yield self.now

    def idle(self, seconds):
        """Go on without commands."""
        for _ in self.run(seconds):
            pass

    def set(self, seconds):
        """Set the process's clock on."""
        self.wall += seconds

    def stall(self, seconds):
        """Stand still."""
        self.now += seconds
        self.watch.notice_stall()

    def is_taken(self, sent, *, writer='a'):
        """Tell whether a command of that true time is accepted now."""
        received = self.now + LATENCY + self.wall
        try:
            self.watch.check_source_time(writer, sent + 1.8e9, received)
        except MessageError as error:
            return error.reason != 'stalled'
        return True

    def stream(self, seconds, **writer):
        """Return which commands of a writer in time are accepted."""
        return [self.is_taken(now, **writer) for now in self.run(seconds)]


@pytest.fixture(name='world')
def new_world():
    """Return a process and its clocks."""
    return _World()


def test_commands_without_a_stall_are_accepted(world):
    """However late they come, and whatever the clocks do: the delays only feed the baseline."""
    assert all(world.stream(3.0))
    assert world.is_taken(world.now - 2.0)
    world.wall += 60.0
    assert all(world.stream(1.0))


@pytest.mark.parametrize('stall', [0.6, 2.2, 4.0, 6.0])
@pytest.mark.parametrize('after', [0.0, 0.35, 1.0, 2.6, 9.9])
def test_commands_resent_after_a_stall_are_rejected(world, stall, after):
    """Commands that waited or are resent up to 2.6 s later are rejected, new ones are not."""
    world.stream(3.0)
    begun = world.now
    world.stall(stall)
    world.idle(after)
    for k in range(round(stall / PERIOD)):
        age = world.now - begun - PERIOD * (k + 0.5)
        assert world.is_taken(world.now - age) == (age < LIMIT)
    assert all(world.stream(1.0))


@pytest.mark.parametrize('event', ['timer', 'command', 'command of another writer'])
def test_the_first_event_after_a_stall_notices_it(world, event):
    """The timer or a command alone, because states, which may come before them, do not look."""
    for writer in 'ab':
        world.stream(3.0, writer=writer)
    begun = world.now
    world.now += 4.0
    if event == 'timer':
        world.watch.notice_stall()
    elif event == 'command of another writer':
        assert not world.is_taken(begun + 0.5, writer='b')
    assert not world.is_taken(begun + PERIOD)
    assert not world.is_taken(begun + 2.0)
    assert world.is_taken(world.now)


def test_resends_between_live_commands_and_in_bursts_are_rejected(world):
    """They are never at the spacing of their source times, and so make no baseline."""
    world.stream(3.0)
    begun = world.now
    world.stall(4.0)
    for now in world.run(4.0):
        assert not world.is_taken(now - 4.0)
        assert world.is_taken(now)
    for burst in range(8):
        world.idle(0.3)
        assert not any(world.is_taken(begun + PERIOD * (10 * burst + k)) for k in range(10))


def test_first_sample_of_an_unknown_writer_is_rejected(world):
    """Without a baseline its age is unknown; a burst does not provide one."""
    world.stall(4.0)
    with pytest.raises(MessageError, match='sent an unknown time ago, expected') as caught:
        world.watch.check_source_time('a', world.now, world.now)
    assert str(caught.value).startswith('the node was stalled for 4.00 s')
    begun = world.now - 4.0
    assert not any(world.is_taken(begun + PERIOD * k) for k in range(200))


@pytest.mark.parametrize(
    ('steps', 'writer', 'delay'),
    [
        ([], 'a', 0.0),
        ([], 'new', 0.5),
        ([], None, 2.9),  # of a middleware that identifies no writers
        ([('set', 5.0)], 'a', 0.5),
        ([('set', 5.0), ('idle', 60.0)], 'a', 0.5),
        ([('set', -5.0)], 'a', 0.0),
        ([('set', -5.0), ('idle', 60.0)], 'a', 0.0),
        # The smallest delay is from while the clock was behind.
        ([('set', -7.0), ('stream', 1.0), ('set', 7.0), ('stream', 1.0)], 'a', 0.5),
    ],
)
def test_live_commands_are_accepted_soon_after_a_stall(world, steps, writer, delay):
    """A baseline takes half a second of steady samples; then it serves for the next stall."""
    world.stream(3.0, writer=None if writer is None else 'a')
    for act, seconds in steps:
        getattr(world, act)(seconds)
    world.stall(2.2)
    taken = world.stream(4.0, writer=writer)
    refused = taken.index(True)
    assert delay <= PERIOD * refused <= delay * 1.2
    assert all(taken[refused:])
    begun = world.now
    world.stall(2.2)
    assert not world.is_taken(begun, writer=writer)
    assert world.is_taken(world.now, writer=writer) == (writer is not None)


def test_slow_writer_after_its_clock_is_set(world):
    """A few samples make a baseline if they span half a second; two never do."""
    world.stream(3.0)
    world.wall += 5.0
    world.stall(1.0)
    taken = []
    for k, now in enumerate(world.run(4.0)):
        if k % 20 == 0:
            taken.append(world.is_taken(now))
    assert taken == [False] * 4 + [True] * (len(taken) - 4)


def test_baseline_ages(world):
    """A baseline older than the last minutes is not used; a larger delay replaces it."""
    world.stream(1.0)
    world.idle(250.0)
    world.stall(1.0)
    assert not world.is_taken(world.now)
    world.idle(10.0)
    assert world.is_taken(world.now - 2.0)  # a link that is slow from now on
    for _ in range(3):
        world.idle(100.0)
        assert world.is_taken(world.now - 2.0)
    world.stall(1.0)
    assert world.is_taken(world.now - 2.0)


def test_equal_delays_after_several_stalls_are_no_clock_that_was_set(world):
    """A process that stands still again and again gets one old command each time."""
    assert all(world.stream(1.0))
    for _ in range(2 * stalls._SAMPLES):
        world.stall(2.0)
        assert not world.is_taken(world.now - 1.5)
        world.idle(0.5)


def test_check_ends_ten_seconds_after_the_stall(world):
    """A second stall restarts them."""
    world.stream(3.0)
    begun = world.now
    world.stall(2.2)
    world.idle(9.0)
    assert not world.is_taken(begun)
    world.stall(2.2)
    world.idle(9.0)
    assert not world.is_taken(begun)
    world.idle(1.5)
    assert world.is_taken(begun)


def test_pause_as_long_as_the_limit_is_no_stall(world):
    """Longer ones are, whether the timer, a state or a command looks first; reset forgets one."""
    world.stall(LIMIT)
    assert world.is_taken(0.0)
    world.now += 0.75
    for writer in ('b', None):
        with pytest.raises(MessageError, match=r'0\.75 s.* sent an unknown time ago'):
            world.watch.check_source_time(writer, 0.0, 0.0)
    world.watch.reset()
    assert world.is_taken(0.0, writer='b')


def test_number_of_writers_is_bounded(world):
    """Others push out the writer that was silent the longest, not the one that still sends."""
    world.is_taken(world.now)
    world.is_taken(world.now, writer='silent')
    for k in range(10 * stalls._WRITERS):
        next(world.run(PERIOD))
        world.is_taken(world.now)
        world.is_taken(world.now, writer=str(k))
    assert len(world.watch._writers) == stalls._WRITERS
    world.stall(2.0)
    assert world.is_taken(world.now)
    assert not world.is_taken(world.now, writer='silent')
