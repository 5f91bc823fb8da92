# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: a driver and the bridge at work, and every number checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import tempfile
import time

from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.tools.cli import clean_end, Console, Exit, printable
from transmission_bridge.tools.demo import formulas
from transmission_bridge.tools.demo.comparison import Comparison, Sample
from transmission_bridge.tools.demo.processes import (
    Child,
    end,
    NODES,
    ros_environment,
    start_nodes,
)
from transmission_bridge.tools.watch import LIVE_PERIOD, WatchClient
from transmission_bridge.tools.watch_screen import display
from transmission_bridge.tools.watch_state import COLUMNS, WatchState

#: Seconds for two processes to start and discover each other on a slow machine.
_START_LIMIT = 60.0
_N_SNAPSHOTS = 4
#: Seconds for the last answers to arrive.
_SETTLING = 0.3


class _Client(WatchClient):
    """Compares the messages of the bridge with the formulas."""

    def __init__(self, state: WatchState) -> None:
        states = Comparison('joint_states', 'joint', formulas.joints_from_actuators)
        commands = Comparison('actuator_commands', 'actuator', formulas.actuators_from_joints)
        self.comparisons = (states, commands)
        self._takers = {
            'actuator_states': states.input,
            'joint_states': states.output,
            'joint_commands': commands.input,
            'actuator_commands': commands.output,
        }
        # Missed messages cannot be compared.
        super().__init__(state, is_complete=True)

    def take(self, topic: str, message: JointStateRecord, layout: Layout, now: float) -> None:
        super().take(topic, message, layout, now)
        values = {
            interface: dict(zip(message.names, array.tolist(), strict=False))
            for interface in COLUMNS
            if (array := getattr(message, interface)).size
        }
        self._takers[topic](Sample(message.stamp, values))


class _DemoError(Exception):
    """Why the demo failed, and what processes said that may explain it."""

    def __init__(self, sentence: str, children: Sequence[Child]) -> None:
        super().__init__(sentence)
        self.words = {child.name: child.last_words for child in children}


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    with clean_end(as_interrupt=True):
        return run_demo(options.seconds, plain=options.plain, console=console)


def run_demo(seconds: float, *, plain: bool, console: Console) -> Exit:
    """
    Show the example robot moving, and compare every message with the formulas.

    :param seconds: Duration of the motion.
    :param plain: Snapshots instead of a live table.
    :returns: Whether every published value agreed.
    :raises UsageError: If rclpy is not installed.
    """
    # For the node of this process, too.
    os.environ.update(ros_environment(os.environ))
    state = WatchState('transmission_bridge')
    client = _Client(state)
    try:
        with _nodes() as children:
            domain = os.environ['ROS_DOMAIN_ID']
            console.out.line(f'{" and ".join(NODES)}: two processes, ROS domain {domain}')
            console.out.flush()
            _wait(state, client, children)
            with display(state, console, is_plain=plain) as (show, is_live):
                begin, elapsed, is_over = time.monotonic(), 0.0, False
                period = LIVE_PERIOD if is_live else seconds / _N_SNAPSHOTS
                while elapsed < seconds and not is_over:
                    client.spin_for(min(period, seconds - elapsed))
                    _require_alive(children)
                    elapsed = time.monotonic() - begin
                    progress = ', '.join(each.progress for each in client.comparisons)
                    line = f'{elapsed:.1f} s of {seconds:.1f} s, {progress}'
                    is_over = show([(line, 'bold'), ('in rad, rad/s and N m', 'dim')])
            client.spin_for(_SETTLING)
            return _verdict(state, client, console)
    except _DemoError as error:
        console.err.line(f'transmission_bridge: demo: {error}')
        for name, words in error.words.items():
            console.err.line(f'output of {name}:')
            for line in words:
                console.err.line(f'  {printable(line)}')
        return Exit.ERRORS
    finally:
        client.close()


@contextmanager
def _nodes() -> Iterator[list[Child]]:
    """Run both nodes, and end them."""
    with tempfile.TemporaryDirectory(prefix='transmission_bridge_demo_') as folder:
        children: list[Child] = []
        try:
            start_nodes(children, os.environ, Path(folder))
            yield children
        finally:
            end(children)


def _wait(state: WatchState, client: WatchClient, children: Sequence[Child]) -> None:
    """Wait until the bridge answers states and commands."""
    limit = time.monotonic() + _START_LIMIT
    while missing := [topic for topic in state.topics if state.age(topic, 0.0) is None]:
        _require_alive(children)
        if time.monotonic() > limit:
            sentence = f'nothing on {", ".join(missing)} within {_START_LIMIT:.0f} s'
            raise _DemoError(sentence, children)
        client.spin_for(0.05)


def _require_alive(children: Sequence[Child]) -> None:
    for child in children:
        if child.poll() is not None:
            raise _DemoError(f'{child.name} ended with exit code {child.returncode}', [child])


def _verdict(state: WatchState, client: _Client, console: Console) -> Exit:
    """Print and return the result."""
    faults = [fault for each in client.comparisons for fault in each.faults]
    for fault in faults:
        console.err.line(f'transmission_bridge: demo: {fault}')
    now = time.monotonic()
    counts = ', '.join(
        f'{each.compared} {each.topic} at {state.rate(each.topic, now):.0f} Hz'
        for each in client.comparisons
    )
    worst = max(each.worst for each in client.comparisons)
    console.out.line(
        f'demo {"FAILED" if faults else "passed"}: {counts}, '
        f'largest relative deviation from formulas written out by hand {worst:.1e}'
    )
    return Exit.ERRORS if faults else Exit.OK
