# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: a driver and the bridge at work, and every number checked."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
import importlib
import os
from pathlib import Path
import tempfile
import time
from typing import Any

from transmission_bridge.messages.joint_state import JointStateRecord, record_from_message
from transmission_bridge.sim.demo_motion import command_at
from transmission_bridge.tools.bridge_client import BridgeClient, Received
from transmission_bridge.tools.cli import (
    aligned,
    clean_end,
    Console,
    Exit,
    live_table,
    optional,
    printable,
)
from transmission_bridge.tools.demo import formulas
from transmission_bridge.tools.demo.comparison import Comparison, Sample
from transmission_bridge.tools.demo.processes import (
    Child,
    Children,
    NODES,
    ros_environment,
    start_nodes,
)

__all__ = ['run', 'run_demo', 'table_lines']

#: Wide enough for positions of motors, so that columns do not move.
_WIDTH = 11

_HEADINGS = ('POS [rad]', 'VEL [rad/s]', 'EFF [N m]', 'CMD [rad]')

_INTERFACES = ('position', 'velocity', 'effort')


def table_lines(
    latest: Mapping[str, Sample], rate: Callable[[str], float], names: Mapping[str, Sequence[str]]
) -> list[str]:
    """
    Return the table: per space a heading, a row per name, and the topics with their rates.

    :param latest: The newest message by topic.
    :param rate: Messages per second of a topic.
    :param names: Actuators and joints by ``actuator`` and ``joint``.
    """
    headings = [f'{heading:>{_WIDTH}}' for heading in _HEADINGS]
    rows = []
    for kind, known in names.items():
        states, commands = latest.get(f'{kind}_states'), latest.get(f'{kind}_commands')
        rows.append((kind.upper(), *headings))
        rows += [(name, *_numbers(name, states, commands)) for name in known]
    lines = iter(aligned(rows))
    texts = []
    for kind, known in names.items():
        texts += [next(lines) for _ in (kind, *known)]
        texts.append(', '.join(f'{topic} {rate(topic):.0f} Hz' for topic in _topics(kind)))
    return texts


def _topics(kind: str) -> tuple[str, str]:
    return f'{kind}_states', f'{kind}_commands'


def _numbers(name: str, states: Sample | None, commands: Sample | None) -> list[str]:
    cells = [_number(states, interface, name) for interface in _INTERFACES]
    return [*cells, _number(commands, 'position', name)]


def _number(sample: Sample | None, interface: str, name: str) -> str:
    value = None if sample is None else sample.values.get(interface, {}).get(name)
    return f'{"-":>{_WIDTH}}' if value is None else f'{value:{_WIDTH}.4f}'


#: Pairs of an input of the bridge and its output.
TOPICS = ('joint_commands', 'actuator_commands', 'actuator_states', 'joint_states')

#: Queue depth: missed messages cannot be compared.
_DEPTH = 1000

#: Seconds over which rates are averaged.
_RATE_WINDOW = 2.0


class DemoClient(BridgeClient):
    """
    Receives messages of the bridge and its driver, and commands joints.

    :param receive: Called with topic and message, also for sent messages.
    :ivar latest: The newest message by topic.
    :raises UsageError: If rclpy is not installed.
    """

    def __init__(self, receive: Callable[[str, Sample], None]) -> None:
        super().__init__('demo')
        self._message_type = importlib.import_module('sensor_msgs.msg').JointState
        self._receive = receive
        self._times: dict[str, deque[float]] = {topic: deque() for topic in TOPICS}
        self.latest: dict[str, Sample] = {}
        self._publisher = self.node.create_publisher(self._message_type, TOPICS[0], _DEPTH)
        self.follow({topic: self._listener(topic) for topic in TOPICS[1:]}, is_complete=True)

    @property
    def is_heard(self) -> bool:
        """Whether the commands have a subscriber."""
        return bool(self._publisher.get_subscription_count() > 0)

    def rate(self, topic: str) -> float:
        """Return the recent rate of messages [Hz]."""
        times = self._times[topic]
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

    def command(self, values: Mapping[str, Mapping[str, float]]) -> None:
        """
        Send a joint command.

        :param values: By interface, then by joint; the same joints for each interface.
        """
        message = self._message_type()
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.name = list(values['position'])
        for interface, by_name in values.items():
            setattr(message, interface, list(by_name.values()))
        # Before it is sent, because the answer may be faster.
        self._take(TOPICS[0], record_from_message(message), time.monotonic())
        self._publisher.publish(message)

    def _listener(self, topic: str) -> Received:
        return lambda message, _, now: self._take(topic, message, now)

    def _take(self, topic: str, message: JointStateRecord, now: float) -> None:
        times = self._times[topic]
        times.append(now)
        while times[0] < now - _RATE_WINDOW:
            times.popleft()
        self.latest[topic] = _sample(message)
        self._receive(topic, self.latest[topic])


def _sample(message: JointStateRecord) -> Sample:
    return Sample(
        message.stamp,
        {
            interface: dict(zip(message.names, values, strict=False))
            for interface in _INTERFACES
            if (values := getattr(message, interface).tolist())
        },
    )


#: Seconds for two processes to start and discover each other on a slow machine.
_START_LIMIT = 60.0
_COMMAND_PERIOD = 0.02
_SCREEN_PERIOD = 0.1
_N_SNAPSHOTS = 3
#: Seconds for the last answers to arrive.
_SETTLING = 0.3


class _DemoError(Exception):
    """Why the demo failed, and the processes whose output may explain it."""

    def __init__(self, sentence: str, children: list[Child]) -> None:
        super().__init__(sentence)
        self.children = children


def run_demo(seconds: float, *, plain: bool, console: Console) -> Exit:
    """
    Show the example robot moving, and compare every message with the formulas.

    :param seconds: Duration of the motion.
    :param plain: Snapshots instead of a live table.
    :returns: Whether every published value agreed.
    :raises UsageError: If rclpy is not installed.
    """
    added = ros_environment(os.environ)
    # For the node of this process, too.
    os.environ.update(added)
    with tempfile.TemporaryDirectory(prefix='transmission_bridge_demo_') as folder:
        demo = _Demo(plain=plain, console=console)
        try:
            with Children() as children:
                start_nodes(children, os.environ, Path(folder))
                demo.wait(children)
                with demo.screen():
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
        self._plain = plain
        self._live: Any = None
        states = Comparison('joint_states', 'joint', formulas.joints_from_actuators)
        commands = Comparison('actuator_commands', 'actuator', formulas.actuators_from_joints)
        self._comparisons = (states, commands)
        self._takers = {
            'actuator_states': states.input,
            'joint_states': states.output,
            'joint_commands': commands.input,
            'actuator_commands': commands.output,
        }

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def screen(self) -> Iterator[None]:
        """Show a live table within the block, if possible."""
        with nullcontext() if self._plain else live_table(self._console) as self._live:
            yield

    def _receive(self, topic: str, sample: Sample) -> None:
        self._takers[topic](sample)

    # -- phases ----------------------------------------------------------------------------------

    def wait(self, children: Children) -> None:
        """Wait until the bridge publishes and has subscribed."""
        domain = os.environ['ROS_DOMAIN_ID']
        self._console.out.line(f'{" and ".join(NODES)}: two processes, ROS domain {domain}')
        self._console.out.flush()
        end = time.monotonic() + _START_LIMIT
        # Both, because an output without its input cannot be compared.
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
        """Send commands and show the result."""
        begin = self._client.latest['joint_states'].values.get('position', {})
        for name in formulas.JOINTS:
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
        period = _SCREEN_PERIOD if self._live else seconds / _N_SNAPSHOTS
        return elapsed >= (shown + 0.5) * period

    def _show(self, elapsed: float, seconds: float) -> None:
        client = self._client
        names = {'actuator': formulas.ACTUATORS, 'joint': formulas.JOINTS}
        lines = [
            f'{elapsed:.1f} s of {seconds:.1f} s, '
            + ', '.join(comparison.progress for comparison in self._comparisons),
            *table_lines(client.latest, client.rate, names),
        ]
        if self._live:
            text = optional('rich.text', 'cli').Text('\n'.join(lines), no_wrap=True)
            self._live.update(text, refresh=True)
        else:
            for line in ('', *lines):
                self._console.out.line(line)
            self._console.out.flush()

    # -- verdict ---------------------------------------------------------------------------------

    def verdict(self) -> Exit:
        """Print and return the result."""
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


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    with clean_end(as_interrupt=True):
        return run_demo(options.seconds, plain=options.plain, console=console)
