# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: the running system as a live table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext
import math
import time

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.termination import terminate_as_interrupt
from transmission_bridge.tools.watch_screen import live_screen, plain_lines
from transmission_bridge.tools.watch_sides import is_idle, missing_sides, waiting_for
from transmission_bridge.tools.watch_state import WatchState

__all__ = ['COMMAND']

#: Seconds between pictures on a terminal, and between snapshots elsewhere.
_LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states of both sides, and then for what else there is.
_PATIENCE, _SETTLING = 5.0, 1.2

#: Seconds in which everybody who is there is heard: to be found takes time, and diagnostics come
#: once a second.
_MEETING = 3.0

#: Seconds of silence after which it is said what is waited for.
_SILENCE = 2.0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--once', action='store_true', help='print one snapshot when states have arrived, and end'
    )
    parser.add_argument(
        '--seconds', type=_seconds, metavar='N', help='end after this time (default: Ctrl-C)'
    )
    parser.add_argument(
        '--namespace', default='', metavar='NS', help='namespace of the topics (default: none)'
    )
    parser.add_argument(
        '--plain', action='store_true', help='print snapshots instead of a live table'
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found '{text}'")
    return seconds


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.watch_client import WatchClient

    state = WatchState(options.namespace)
    client = WatchClient(state)
    watch = _Watch(state, client.spin_for, console)
    try:
        with terminate_as_interrupt():
            if options.once:
                watch.once(options.seconds or _PATIENCE)
            else:
                watch.until(options.seconds, plain=options.plain)
    except KeyboardInterrupt:
        pass  # the usual end
    finally:
        client.close()
    missing = missing_sides(state, time.monotonic())
    for sentence in missing:
        console.err.line(f'transmission_bridge: {printable(sentence)}')
    return Exit.ERRORS if missing else Exit.OK


class _Watch:
    """
    Looks at the system until the end.

    :param spin_for: Has the state take what arrives in this time [s].
    """

    def __init__(
        self, state: WatchState, spin_for: Callable[[float], None], console: Console
    ) -> None:
        self._state = state
        self._spin_for = spin_for
        self._console = console
        self._start = time.monotonic()
        self._has_said = False

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._start

    def once(self, patience: float) -> None:
        """Print one snapshot when states of both sides have arrived, or after some time."""
        state = self._state
        while not (state.has_driver and state.has_joint_states) and self._waited < patience:
            self._spin_for(0.05)
            self._say_what_for()
        self._spin_for(_SETTLING)
        if not state.is_empty:
            self._print([])

    def until(self, seconds: float | None, *, plain: bool) -> None:
        """Show what there is, again and again, for some time or for ever."""
        with live_screen(self._console) if not plain else nullcontext() as show:
            while True:
                period = _PLAIN_PERIOD if show is None else _LIVE_PERIOD
                left = math.inf if seconds is None else seconds - self._waited
                self._spin_for(max(min(period, left), 0.0))
                missing = self._missing()
                if show is not None:
                    show(self._state, time.monotonic(), missing)
                elif self._waited >= _MEETING or not self._state.is_empty:
                    self._print(missing)
                else:
                    self._say_what_for()
                if left <= period:
                    return

    def _missing(self) -> list[str]:
        """Return what is missing; who may not have been found yet is waited for."""
        missing = missing_sides(self._state, time.monotonic())
        is_sure = self._waited >= _MEETING or is_idle(self._state)
        return missing if is_sure or not missing else [waiting_for(self._state)]

    def _say_what_for(self) -> None:
        """Say once what is waited for, where that takes long."""
        if self._state.is_empty and self._waited >= _SILENCE and not self._has_said:
            self._has_said = True
            self._console.err.line(printable(waiting_for(self._state)))
            self._console.err.flush()

    def _print(self, missing: Sequence[str]) -> None:
        for line in (*plain_lines(self._state, time.monotonic(), missing), ''):
            self._console.out.line(line)
        self._console.out.flush()


COMMAND = Command(
    summary='show actuators, joints, commands, rates and clamps of the running system',
    description='Show the running system: positions, velocities and efforts of actuators and\n'
    'joints, the newest commands, ages, commands that were clamped, rates of topics, what\n'
    'diagnostics warn of, and which side is missing. A live table on a terminal (rich,\n'
    'extra cli), snapshots elsewhere. Sends nothing. Needs rclpy.\n\n'
    'exit code: 0 driver and bridge are there and work, 1 one is missing or the bridge is\n'
    'not active, in words on standard error, 2 wrong usage or rclpy is missing.',
    example='  transmission_bridge watch\n'
    '  transmission_bridge watch --namespace left_arm --seconds 10 | tee log.txt',
    add_arguments=_add_arguments,
    run=_run,
)
