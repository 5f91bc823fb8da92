# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands from before a stall are recognised by source times, separately by writer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from transmission_bridge.bridge import stalls
from transmission_bridge.bridge.stalls import StallWatch
from transmission_bridge.errors import MessageError

#: Bound of the age [s], period of the watch's timer and of a writer's commands [s].
LIMIT, TICK, PERIOD = 0.5, 0.125, 0.02

#: Time from sending to receipt [s].
LATENCY = 0.001


class World:
    """
    A process with a watch, in true time.

    :ivar now: True time [s], which the steady clock gives.
    :ivar wall: Error of the process's clock of source times [s].
    """

    def __init__(self) -> None:
        self.now, self.wall = 1000.0, 1.8e9
        self.watch = StallWatch(LIMIT, lambda: self.now)

    def run(self, seconds: float) -> Iterator[float]:
        """Go on in steps of the commands' period, with the timer's looks."""
        ticked, end = self.now, self.now + seconds
        while self.now < end:
            self.now += PERIOD
            if self.now - ticked >= TICK:
                ticked = self.now
                self.watch.notice_stall()
            yield self.now

    def idle(self, seconds: float) -> None:
        """Go on without commands."""
        for _ in self.run(seconds):
            pass

    def stall(self, seconds: float) -> None:
        """Stand still."""
        self.now += seconds
        self.watch.notice_stall()

    def is_taken(self, sent: float, *, writer: str | None = 'a', offset: float = 0.0) -> bool:
        """Tell whether a command of that true time is accepted now."""
        try:
            self.watch.check_source_time(
                writer, sent + offset + 1.8e9, self.now + LATENCY + self.wall
            )
        except MessageError as error:
            return error.reason != 'stalled'
        return True

    def stream(self, seconds: float, **writer: object) -> list[bool]:
        """Return which commands of a writer in time are accepted."""
        return [self.is_taken(now, **writer) for now in self.run(seconds)]  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    """Return a new world."""
    return World()


def test_commands_without_a_stall_are_accepted(world: World) -> None:
    """However late they come, and whatever the clocks do: the delays only feed the baseline."""
    assert all(world.stream(3.0))
    assert world.is_taken(world.now - 2.0)
    world.wall += 60.0
    assert all(world.stream(1.0))


@pytest.mark.parametrize('stall', [0.6, 2.2, 4.0, 6.0])
@pytest.mark.parametrize('after', [0.0, 0.35, 1.0, 2.6, 9.9])
def test_commands_resent_after_a_stall_are_rejected(
    world: World, stall: float, after: float
) -> None:
    """Commands that waited or are resent up to 2.6 s later are rejected, new ones are not."""
    world.stream(3.0)
    begun = world.now
    world.stall(stall)
    world.idle(after)
    for k in range(round(stall / PERIOD)):
        age = world.now - begun - PERIOD * (k + 0.5)
        assert world.is_taken(world.now - age) == (age < LIMIT)
    assert all(world.stream(1.0))


def test_old_commands_between_live_ones_are_rejected(world: World) -> None:
    """Resends at the spacing of their source times do not make a baseline between live samples."""
    world.stream(3.0)
    world.stall(3.0)
    for now in world.run(5.0):
        assert not world.is_taken(now - 3.0)
        assert world.is_taken(now)


def test_resends_in_several_bursts_are_rejected(world: World) -> None:
    """A history that comes in parts, each at once, is never at the spacing of its source times."""
    world.stream(3.0)
    begun = world.now
    world.stall(4.0)
    for burst in range(8):
        world.idle(0.3)
        assert not any(world.is_taken(begun + PERIOD * (10 * burst + k)) for k in range(10))


def test_two_writers_whose_clocks_differ(world: World) -> None:
    """An hour between clocks changes nothing: each writer is compared with itself."""
    offsets = {'a': 0.0, 'b': 3600.0, 'c': -3600.0}
    for now in world.run(3.0):
        assert all(world.is_taken(now, writer=w, offset=o) for w, o in offsets.items())
    begun = world.now
    world.stall(2.2)
    for writer, offset in offsets.items():
        assert not world.is_taken(begun + 0.5, writer=writer, offset=offset)
        assert world.is_taken(world.now, writer=writer, offset=offset)


def test_first_sample_of_an_unknown_writer_is_rejected(world: World) -> None:
    """Without a baseline its age is unknown; a burst does not provide one."""
    world.stall(4.0)
    with pytest.raises(MessageError, match='sent an unknown time ago, expected') as caught:
        world.watch.check_source_time('a', world.now, world.now)
    assert str(caught.value).startswith('the node was stalled for 4.00 s')
    begun = world.now - 4.0
    assert not any(world.is_taken(begun + PERIOD * k) for k in range(200))


def test_restarted_writer_is_accepted_within_a_second(world: World) -> None:
    """A writer of a new identity has a baseline after half a second of steady samples."""
    world.stream(3.0)
    world.stall(2.2)
    taken = world.stream(1.0, writer='again')
    assert not taken[0]
    assert 0.5 <= PERIOD * taken.index(True) <= 0.6
    assert all(taken[taken.index(True) :])


@pytest.mark.parametrize('step', [5.0, -5.0])
@pytest.mark.parametrize('before', [0.0, 60.0])
def test_clock_that_is_set(world: World, step: float, before: float) -> None:
    """After the clock of the process is set, live commands are accepted again within 0.6 s."""
    world.stream(3.0)
    world.wall += step
    world.idle(before)
    world.stall(2.2)
    taken = world.stream(2.0)
    refused = taken.index(True)
    assert all(taken[refused:])
    assert 0.5 <= PERIOD * refused <= 0.6 if step > 0.0 else refused == 0
    begun = world.now
    world.stall(2.2)
    assert not world.is_taken(begun)  # by the new baseline
    assert world.is_taken(world.now)


def test_clock_that_is_set_forth_and_back(world: World) -> None:
    """A smallest delay from while the clock was behind does not keep live commands out."""
    world.stream(3.0)
    world.wall -= 7.0
    world.stream(1.0)
    world.wall += 7.0
    world.stream(1.0)
    world.stall(2.2)
    taken = world.stream(1.0)
    assert 0.5 <= PERIOD * taken.index(True) <= 0.6


def test_slow_writer_after_its_clock_is_set(world: World) -> None:
    """A few samples make a baseline if they span half a second; two never do."""
    world.stream(3.0)
    world.wall += 5.0
    world.stall(1.0)
    taken = []
    for k, now in enumerate(world.run(4.0)):
        if k % 20 == 0:
            taken.append(world.is_taken(now))
    assert taken == [False] * 4 + [True] * (len(taken) - 4)


def test_baseline_ages(world: World) -> None:
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


def test_equal_delays_after_several_stalls_are_no_clock_that_was_set(world: World) -> None:
    """A process that stands still again and again gets one old command each time."""
    assert all(world.stream(1.0))
    for _ in range(2 * stalls._SAMPLES):
        world.stall(2.0)
        assert not world.is_taken(world.now - 1.5)
        world.idle(0.5)


def test_check_ends_ten_seconds_after_the_stall(world: World) -> None:
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


def test_unknown_writers_wait_for_three_seconds(world: World) -> None:
    """If the middleware does not identify writers, everything is rejected for that long."""
    assert all(world.stream(1.0, writer=None))
    world.stall(0.7)
    with pytest.raises(MessageError, match='sent an unknown time ago'):
        world.watch.check_source_time(None, 0.0, 0.0)
    taken = world.stream(4.0, writer=None)
    assert 2.9 <= PERIOD * taken.index(True) <= 3.1
    assert all(taken[taken.index(True) :])


def test_pause_as_long_as_the_limit_is_no_stall(world: World) -> None:
    """Longer ones are, whether the timer, a state or a command looks first; reset forgets one."""
    world.stall(LIMIT)
    assert world.is_taken(0.0)
    world.now += 0.75
    with pytest.raises(MessageError, match=r'0\.75 s'):
        world.watch.check_source_time('b', 0.0, 0.0)
    world.watch.reset()
    assert world.is_taken(0.0, writer='b')


def test_number_of_writers_is_bounded(world: World) -> None:
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
