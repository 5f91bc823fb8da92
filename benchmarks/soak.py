# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Whether the bridge keeps its memory and every message, for as long as it runs.

A bridge_node process takes actuator states and joint commands, both at 1 kHz, from this process,
which counts what it sends and what comes back, and looks once a second at the resident memory of
the other. What the bridge says that it has taken, in /diagnostics, has to be what was sent.

Topics are reliable with deep queues here, and a message is held back while half a queue is under
way, so that a busy machine slows the run down and does not lose messages. What is lost all the
same is reported for each way by itself. Queues are filled before the memory is looked at: what
they take, they keep. Needs rclpy and Linux.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import os
from pathlib import Path
import platform
import signal
import subprocess
import tempfile
import time
from typing import Any

from bridge import bridge_command, names
from diagnostic_msgs.msg import DiagnosticArray
from drivers import Driver
from network import isolate_network
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState

try:
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

#: Messages that a queue holds, and that may be under way.
DEPTH, WINDOW = 1000, 500
RELIABLE = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)

#: How often the queues are filled beforehand.
BURSTS = 5

#: Growth of the resident memory that passes [MiB], and the time before it counts [s], shorter
#: where the whole run is.
MAX_GROWTH = 2.0
SETTLING, SHORT_RUN, SHORT_SETTLING = 60.0, 180.0, 10.0

#: Topics of each way, and the names in its messages.
WAYS = {'actuator_states': 'joint_states', 'joint_commands': 'actuator_commands'}
PREFIXES = {'actuator_states': 'motor', 'joint_commands': 'joint'}

#: Longest wait for what is bound to happen [s].
PATIENCE = 30.0

#: The longest command_timeout [s].
NO_TIMEOUT = 86_400.0


class Way:
    """One way through the bridge: what goes in, and a count of what comes out."""

    def __init__(self, node: Any, topic: str, joints: int) -> None:
        self.topic = topic
        self._driver = Driver(
            names(PREFIXES[topic], 0, joints).split(','),
            node.create_publisher(JointState, topic, RELIABLE),
        )
        self.reset()
        self._last = b''
        node.create_subscription(JointState, WAYS[topic], self._receive, RELIABLE, raw=True)

    def publish(self) -> None:
        """Send one message."""
        self._driver.publish()
        self.sent += 1

    def publish_or_wait(self) -> None:
        """Send one message, unless half a queue of them is under way."""
        if self.sent - self.back < WINDOW:
            self.publish()
        else:
            self.held_back += 1

    def reset(self) -> None:
        """Count from zero."""
        self.sent = self.back = self.disordered = self.held_back = 0

    def _receive(self, data: bytes) -> None:
        # Stamps are of the steady clock: each message must be later than the one before.
        stamp = data[7:3:-1] + data[11:7:-1]
        self.disordered += stamp <= self._last
        self._last = stamp
        self.back += 1


class Soak:
    """The other side of a bridge process."""

    def __init__(self, pid: int, joints: int) -> None:
        self._status = Path(f'/proc/{pid}/status')
        self._node = rclpy.create_node('soak')
        self.ways = [Way(self._node, topic, joints) for topic in WAYS]
        self.taken: dict[str, dict[str, int]] = {}
        self._reports = 0
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 10)
        self._executor = Executor()
        self._executor.add_node(self._node)

    def _diagnose(self, message: DiagnosticArray) -> None:
        for status in message.status:
            topic = status.name.removeprefix('transmission_bridge: ')
            if topic in WAYS:
                values = {each.key: each.value for each in status.values}
                self.taken[topic] = {key: int(values[key]) for key in ('received', 'rejected')}
        self._reports += 1

    def connect(self) -> None:
        """Send slowly until both ways answer, then begin to count."""

        def answered() -> bool:
            for way in self.ways:
                way.publish()
            return all(way.back >= 20 for way in self.ways)

        self._wait_for(answered, 'an answer of the bridge')
        self.wait_until_quiet()
        for _ in range(BURSTS):
            for way in self.ways:
                way.reset()
            for _ in range(WINDOW):
                for way in self.ways:
                    way.publish()
            self._wait_for(lambda: all(way.back == way.sent for way in self.ways), 'a burst')
        self.wait_until_quiet()
        self._before = {topic: dict(counts) for topic, counts in self.taken.items()}
        for way in self.ways:
            way.reset()

    def run(self, seconds: float, rate: float) -> list[float]:
        """Send at a rate; return the memory at the start and after each second [MiB]."""
        timer = self._node.create_timer(
            1.0 / rate, lambda: [way.publish_or_wait() for way in self.ways]
        )
        memory = [self._memory()]
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            self._spin(min(len(memory) - elapsed, seconds - elapsed))
            if time.monotonic() - start >= len(memory):
                memory.append(self._memory())
        self._node.destroy_timer(timer)
        self.wait_until_quiet()
        return memory

    def wait_until_quiet(self) -> None:
        """Return when a report says the same as the one before, and nothing came back between."""
        seen: list[object] = [None]

        def quiet() -> bool:
            before, reports = seen[-1], self._reports
            self._wait_for(lambda: self._reports > reports, 'diagnostics of the bridge')
            seen.append((str(self.taken), [way.back for way in self.ways]))
            return bool(self.taken) and seen[-1] == before

        self._wait_for(quiet, 'the end of the messages')

    def counts(self) -> dict[str, dict[str, int]]:
        """Return, by topic that goes in, what became of its messages."""
        result = {}
        for way in self.ways:
            now, before = self.taken[way.topic], self._before[way.topic]
            taken = now['received'] - before['received']
            result[way.topic] = {
                'sent': way.sent,
                'held back': way.held_back,
                'taken': taken,
                'rejected': now['rejected'] - before['rejected'],
                'back': way.back,
                'lost on the way in': way.sent - taken,
                'lost on the way back': taken - way.back,
                'out of order': way.disordered,
            }
        return result

    def _memory(self) -> float:
        for line in self._status.read_text(encoding='ascii').splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024.0
        raise SystemExit('the bridge has ended')

    def _spin(self, seconds: float) -> None:
        self._executor.spin_until_future_complete(Future(), timeout_sec=max(seconds, 0.001))

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f'no {what} within {PATIENCE:g} s')
            self._spin(0.02)


def soak(arguments: argparse.Namespace) -> dict[str, Any]:
    """Start the bridge, load it, and return the figures."""
    overrides = [
        f'qos_overrides./{topic}.{kind}.{policy}:={value}'
        for way in WAYS.items()
        for topic, kind in zip(way, ('subscription', 'publisher'), strict=True)
        for policy, value in (('reliability', 'reliable'), ('depth', DEPTH))
    ]
    # Longer than any pause: each answer is that of a message, and a busy machine costs none.
    overrides.append(f'command_timeout:={NO_TIMEOUT}')
    with tempfile.TemporaryDirectory() as folder:
        command = bridge_command(Path(folder), 'soak', arguments.joints, ('actuator_states=',))
        with subprocess.Popen(
            [*command, *(part for each in overrides for part in ('-p', each))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                load = Soak(process.pid, arguments.joints)
                load.connect()
                memory = load.run(arguments.seconds, arguments.rate)
                counts = load.counts()
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
    settling = SETTLING if arguments.seconds >= SHORT_RUN else SHORT_SETTLING
    settled = memory[min(int(settling), len(memory) - 1) :]
    return {
        'seconds': arguments.seconds,
        'rate': arguments.rate,
        'joints': arguments.joints,
        'exit code': process.returncode,
        'topics': counts,
        'memory at start [MiB]': memory[0],
        'memory when settled [MiB]': settled[0],
        'memory at end [MiB]': memory[-1],
        'growth [MiB]': max(settled) - settled[0],
        'settling [s]': settling,
        'memory [MiB]': memory,
    }


def verdicts(figures: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return what has to hold, and whether it does."""
    topics = figures['topics'].items()
    return [
        ('the bridge ended with 0', figures['exit code'] == 0),
        *(
            (f'{topic}: all that was sent was taken', counts['taken'] == counts['sent'] > 0)
            for topic, counts in topics
        ),
        *((f'{topic}: nothing was rejected', counts['rejected'] == 0) for topic, counts in topics),
        *(
            (f'{topic}: nothing came back twice or out of order', counts['out of order'] == 0)
            for topic, counts in topics
        ),
        (f'memory grew by less than {MAX_GROWTH:g} MiB', figures['growth [MiB]'] < MAX_GROWTH),
    ]


def main() -> int:
    """Run once and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=600.0)
    parser.add_argument('--rate', type=float, default=1000.0, help='messages per second, each way')
    parser.add_argument('--joints', type=int, default=30)
    parser.add_argument('--gate', action='store_true', help='exit 1 if a bound is missed')
    arguments = parser.parse_args()
    rclpy.init()
    try:
        figures = soak(arguments)
    finally:
        rclpy.try_shutdown()
    print(
        f'{platform.processor() or platform.machine()}, {os.cpu_count()} processors, Python '
        f'{platform.python_version()}, {arguments.joints} joints, {arguments.seconds:g} s'
    )
    for topic, counts in figures['topics'].items():
        reached = counts['sent'] / arguments.seconds
        print(
            f'{topic}: {reached:.0f} Hz, '
            + ', '.join(f'{key} {value}' for key, value in counts.items())
        )
    print(
        f'resident memory [MiB]: {figures["memory at start [MiB]"]:.2f} at the start, '
        f'{figures["memory when settled [MiB]"]:.2f} after {figures["settling [s]"]:g} s, '
        f'{figures["memory at end [MiB]"]:.2f} at the end; '
        f'grew by at most {figures["growth [MiB]"]:.2f} since settled'
    )
    checks = verdicts(figures)
    for words, holds in checks:
        print(f'{"ok    " if holds else "MISSED"} {words}')
    return 1 if arguments.gate and not all(holds for _, holds in checks) else 0


if __name__ == '__main__':
    with isolate_network(os.environ) as variables:
        os.environ.update(variables)
        raise SystemExit(main())
