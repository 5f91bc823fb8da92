# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: the running system as a live table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
import math
import time

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.termination import terminate_as_interrupt
from transmission_bridge.tools.watch_screen import live_screen, plain_lines
from transmission_bridge.tools.watch_state import WatchState

__all__ = ['COMMAND']

#: Seconds between pictures on a terminal, and between snapshots elsewhere.
_LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states, and then for what else there is.
_PATIENCE, _SETTLING = 5.0, 1.2


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

    state = WatchState()
    client = WatchClient(state, options.namespace)
    try:
        with terminate_as_interrupt():
            _watch(options, state, client.spin_for, console)
    except KeyboardInterrupt:
        pass  # the usual end
    finally:
        client.close()
    if state.has_states:
        return Exit.OK
    console.err.line(
        'no states have arrived on actuator_states or joint_states: does the bridge run, in this '
        'namespace and ROS domain?'
    )
    return Exit.ERRORS


def _watch(
    options: argparse.Namespace,
    state: WatchState,
    spin_for: Callable[[float], None],
    console: Console,
) -> None:
    start = time.monotonic()
    if options.once:
        patience = options.seconds or _PATIENCE
        while not state.has_both_states and time.monotonic() - start < patience:
            spin_for(0.05)
        spin_for(_SETTLING)
        if state.has_states:
            _print(state, console)
        return
    with live_screen(console) if not options.plain else nullcontext() as show:
        while True:
            period = _PLAIN_PERIOD if show is None else _LIVE_PERIOD
            left = math.inf
            if options.seconds is not None:
                left = start + options.seconds - time.monotonic()
            spin_for(max(min(period, left), 0.0))
            if show is not None:
                show(state, time.monotonic())
            elif state.has_states:
                _print(state, console)
            if left <= period:
                return


def _print(state: WatchState, console: Console) -> None:
    for line in (*plain_lines(state, time.monotonic()), ''):
        console.out.line(line)
    console.out.flush()


COMMAND = Command(
    summary='show actuators, joints, commands, rates and clamps of the running system',
    description='Show the running system: positions, velocities and efforts of actuators and\n'
    'joints, the newest commands, ages, commands that were clamped, rates of topics, and\n'
    'what diagnostics warn of. A live table on a terminal (rich, extra cli), snapshots\n'
    'elsewhere. Sends nothing. Needs rclpy.\n\n'
    'exit code: 0 states have arrived, 1 none have, 2 wrong usage or rclpy is missing.',
    example='  transmission_bridge watch\n'
    '  transmission_bridge watch --namespace left_arm --seconds 10 | tee log.txt',
    add_arguments=_add_arguments,
    run=_run,
)
