# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: runs a driver and the bridge, and checks every value."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
import os
from pathlib import Path
from tempfile import TemporaryDirectory
import time

from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.cli import Console, Exit, printable
from transmission_bridge.tools.demo import formulas
from transmission_bridge.tools.demo.comparison import Comparison, JointSample
from transmission_bridge.tools.demo.processes import (
    Child,
    end_processes,
    isolate_network,
    NODES,
    start_nodes,
)
from transmission_bridge.tools.watch import LIVE_PERIOD, WatchClient
from transmission_bridge.tools.watch_screen import open_screen
from transmission_bridge.tools.watch_state import COLUMNS, WatchState

#: Seconds until two processes have started and discovered each other on a slow machine.
_START_LIMIT = 60.0
_N_SNAPSHOTS = 4
#: Seconds until the last answers have arrived.
_SETTLING = 0.3


class _DemoClient(WatchClient):
    """Compares the messages of the bridge with the formulas."""

    def __init__(self, state: WatchState) -> None:
        states = Comparison('joint_states', 'joint', formulas.joints_from_actuators)
        commands = Comparison('actuator_commands', 'actuator', formulas.actuators_from_joints)
        self.comparisons = (states, commands)
        self._takers = {
            'actuator_states': states.add_input,
            'joint_states': states.add_output,
            'joint_commands': commands.add_input,
            'actuator_commands': commands.add_output,
        }
        # Lost messages could not be compared.
        super().__init__(state, is_complete=True)

    def store_message(
        self, topic: str, message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        super().store_message(topic, message, layout, now)
        values = {
            interface: dict(zip(message.names, array.tolist(), strict=False))
            for interface in COLUMNS
            if (array := getattr(message, interface)).size
        }
        self._takers[topic](JointSample(message.stamp, values))


class _DemoError(Exception):
    """The reason why the demo failed, with the output of its processes."""

    def __init__(self, sentence: str, children: Sequence[Child]) -> None:
        super().__init__(sentence)
        self.words = {child.name: child.last_words for child in children}


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises UsageError: If rclpy is not installed, or no ROS domain is free.
    """
    with isolate_network(os.environ) as added:
        os.environ.update(added)  # also for the node of this process
        return _run_isolated(options.seconds, plain=options.plain, console=console)


def _run_isolated(seconds: float, *, plain: bool, console: Console) -> Exit:
    state = WatchState('transmission_bridge')
    client = _DemoClient(state)
    try:
        with ExitStack() as stack:
            folder = TemporaryDirectory(prefix='transmission_bridge_demo_')
            children: list[Child] = []
            path = Path(stack.enter_context(folder))
            stack.callback(end_processes, children)
            start_nodes(children, os.environ, path)
            domain = os.environ['ROS_DOMAIN_ID']
            console.out.line(f'{" and ".join(NODES)}: two processes, ROS domain {domain}')
            console.out.flush()
            _wait_for_topics(state, client, children)
            with open_screen(state, console, is_plain=plain) as (show, is_live):
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
            return _print_result(state, client, console)
    except _DemoError as error:
        console.err.line(f'transmission_bridge: demo: {error}')
        for name, words in error.words.items():
            console.err.line(f'output of {name}:')
            for line in words:
                console.err.line(f'  {printable(line)}')
        return Exit.ERRORS
    finally:
        client.close()


def _wait_for_topics(state: WatchState, client: WatchClient, children: Sequence[Child]) -> None:
    """Wait until the bridge answers states and commands."""
    limit = time.monotonic() + _START_LIMIT
    while missing := [topic for topic in state.topics if state.compute_age(topic, 0.0) is None]:
        _require_alive(children)
        if time.monotonic() > limit:
            sentence = f'no message on {", ".join(missing)} within {_START_LIMIT:.0f} s'
            raise _DemoError(sentence, children)
        client.spin_for(0.05)


def _require_alive(children: Sequence[Child]) -> None:
    for child in children:
        if child.poll() is not None:
            raise _DemoError(f'{child.name} ended with exit code {child.returncode}', [child])


def _print_result(state: WatchState, client: _DemoClient, console: Console) -> Exit:
    """Print and return the result."""
    faults = [fault for each in client.comparisons for fault in each.faults]
    for fault in faults:
        console.err.line(f'transmission_bridge: demo: {fault}')
    now = time.monotonic()
    counts = ', '.join(
        f'{each.compared} {each.topic} at {state.compute_rate(each.topic, now):.0f} Hz'
        for each in client.comparisons
    )
    worst = max(each.worst for each in client.comparisons)
    console.out.line(
        f'demo {"FAILED" if faults else "passed"}: {counts}, '
        f'largest relative deviation from formulas written out by hand {worst:.1e}'
    )
    return Exit.ERRORS if faults else Exit.OK
