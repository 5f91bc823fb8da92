# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The demo from start to verdict: two processes, a client, a table, and formulas to agree with."""

from __future__ import annotations

import os
from pathlib import Path
import tempfile
import time

from transmission_bridge.sim.demo_motion import command_at
from transmission_bridge.tools import demo_formulas
from transmission_bridge.tools.command import Exit
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.demo_client import DemoClient
from transmission_bridge.tools.demo_comparison import Comparison, Sample
from transmission_bridge.tools.demo_nodes import NODES, start_nodes
from transmission_bridge.tools.demo_processes import Child, Children, ros_environment
from transmission_bridge.tools.demo_screen import LiveScreen, table_lines

__all__ = ['run_demo']

#: Seconds for two processes to start and find each other on a slow machine.
_START_LIMIT = 60.0
_COMMAND_PERIOD = 0.02
_SCREEN_PERIOD = 0.1
_N_SNAPSHOTS = 3
#: Seconds for the last answers to arrive.
_SETTLING = 0.3


class _DemoError(Exception):
    """Why the demo could not go on, and the processes that may have said more about it."""

    def __init__(self, sentence: str, children: list[Child]) -> None:
        super().__init__(sentence)
        self.children = children


def run_demo(seconds: float, *, plain: bool, console: Console) -> Exit:
    """
    Show the example robot moving, and compare every message with the formulas.

    :param seconds: How long it moves.
    :param plain: Snapshots instead of a table that stays in place.
    :returns: Whether every published value agreed.
    :raises UsageError: If rclpy is not installed.
    """
    added = ros_environment(os.environ)
    # For our own node too; this process is the demo's from here on.
    os.environ.update(added)
    with tempfile.TemporaryDirectory(prefix='transmission_bridge_demo_') as folder:
        demo = _Demo(plain=plain, console=console)
        try:
            with Children() as children:
                start_nodes(children, os.environ, Path(folder))
                demo.wait(children)
                demo.move(children, seconds)
        except _DemoError as error:
            console.err.line(f'transmission_bridge: demo: {error}')
            for child in error.children:
                console.err.line(f'output of {child.name}:')
                for line in child.last_words.splitlines():
                    console.err.line(f'  {printable(line)}')
            return Exit.ERRORS
        finally:
            demo.close()
    return demo.verdict()


class _Demo:
    def __init__(self, *, plain: bool, console: Console) -> None:
        self._console = console
        self._client = DemoClient(self._receive)
        self._screen = LiveScreen(console.out) if console.out.is_terminal and not plain else None
        states = Comparison('joint_states', 'joint', demo_formulas.joints_from_actuators)
        commands = Comparison('actuator_commands', 'actuator', demo_formulas.actuators_from_joints)
        self._comparisons = (states, commands)
        self._takers = {
            'actuator_states': states.input,
            'joint_states': states.output,
            'joint_commands': commands.input,
            'actuator_commands': commands.output,
        }

    def close(self) -> None:
        self._client.close()

    def _receive(self, topic: str, sample: Sample) -> None:
        self._takers[topic](sample)

    # -- phases ----------------------------------------------------------------------------------

    def wait(self, children: Children) -> None:
        """Wait until the bridge publishes and listens."""
        domain = os.environ['ROS_DOMAIN_ID']
        self._console.out.line(f'{" and ".join(NODES)}: two processes, ROS domain {domain}')
        self._console.out.flush()
        end = time.monotonic() + _START_LIMIT
        # Both, as what is published before we know the other side of it cannot be compared.
        while not (
            self._client.is_heard
            and {'actuator_states', 'joint_states'} <= self._client.latest.keys()
        ):
            _require_alive(children)
            if time.monotonic() > end:
                raise _DemoError(
                    f'no states or no listener for commands within {_START_LIMIT:.0f} s',
                    list(children),
                )
            self._client.spin_for(0.05)

    def move(self, children: Children, seconds: float) -> None:
        """Send commands and show what comes of them."""
        begin = self._client.latest['joint_states'].values.get('position', {})
        for name in demo_formulas.JOINTS:
            if name not in begin:
                raise _DemoError(f"joint_states: joint '{name}' is missing", list(children))
        start = time.monotonic()
        shown = 0
        while (elapsed := time.monotonic() - start) < seconds:
            _require_alive(children)
            self._client.command(command_at(elapsed, begin))
            if self._is_due(elapsed, seconds, shown):
                self._show(elapsed, seconds)
                shown += 1
            late = (time.monotonic() - start) % _COMMAND_PERIOD
            self._client.spin_for(_COMMAND_PERIOD - late)
        self._client.spin_for(_SETTLING)
        self._show(seconds, seconds)
        _require_alive(children)

    def _is_due(self, elapsed: float, seconds: float, shown: int) -> bool:
        period = _SCREEN_PERIOD if self._screen else seconds / _N_SNAPSHOTS
        return elapsed >= (shown + 0.5) * period

    def _show(self, elapsed: float, seconds: float) -> None:
        client = self._client
        names = {'actuator': demo_formulas.ACTUATORS, 'joint': demo_formulas.JOINTS}
        lines = [
            f'{elapsed:.1f} s of {seconds:.1f} s, '
            + ', '.join(comparison.progress for comparison in self._comparisons),
            *table_lines(client.latest, client.rate, names),
        ]
        if self._screen:
            self._screen.show(lines)
        else:
            for line in ('', *lines):
                self._console.out.line(line)
            self._console.out.flush()

    # -- verdict ---------------------------------------------------------------------------------

    def verdict(self) -> Exit:
        """Print what came out of it, and return it."""
        faults = [fault for each in self._comparisons for fault in each.faults]
        for fault in faults:
            self._console.err.line(f'transmission_bridge: demo: {fault}')
        counts = ', '.join(
            f'{each.compared} {each.topic} at {self._client.rate(each.topic):.0f} Hz'
            for each in self._comparisons
        )
        worst = max(each.worst for each in self._comparisons)
        self._console.out.line()
        self._console.out.line(
            f'demo {"FAILED" if faults else "passed"}: {counts}, '
            f'largest relative deviation from formulas written out by hand {worst:.1e}'
        )
        return Exit.ERRORS if faults else Exit.OK


def _require_alive(children: Children) -> None:
    child = children.dead()
    if child is not None:
        raise _DemoError(f'{child.name} ended with exit code {child.exit_code}', [child])
