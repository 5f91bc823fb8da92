# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Whether the bridge keeps its memory, and answers honest drivers, while somebody floods it.

A second process sends names that are no text, a hundred thousand names, messages of several MiB,
messages that contradict themselves and requests of services that make no sense, 400 a second as
far as it comes to that, and as many as it can in one second of ten. This process is an honest
driver at 100 Hz meanwhile, counts what comes back, and looks at the resident memory of the bridge.
Needs rclpy and Linux.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from bridge import bridge_command, names
from drivers import Driver
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
import rclpy
from rclpy.serialization import serialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState

from transmission_bridge.tools.demo.processes import isolate_network

try:
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

JOINTS = 6
RATE = 100.0

#: Messages and requests per second.
RATE_OF_ATTACK = 400.0

#: Topics under attack.
TOPICS = ('actuator_states', 'joint_commands')

#: Growth of the resident memory that passes [MiB], from the end of the first attack to the end of
#: any later one; in an attack it rises and falls with what the queues hold.
MAX_GROWTH = 10.0

#: Seconds of an attack.
ATTACK = 60.0

#: Longest wait for what is bound to happen [s].
PATIENCE = 60.0

MIB = 1 << 20


class Attacker:
    """Whoever floods the bridge; each method is one kind of attack and sends once."""

    def __init__(self) -> None:
        self._node = rclpy.create_node('attacker')
        self._random = random.Random(1)
        self._publishers = [self._node.create_publisher(JointState, topic, 10) for topic in TOPICS]
        self._clients = [
            self._node.create_client(kind, f'transmission_bridge/{name}')
            for kind, name in (
                (SetParameters, 'set_parameters'),
                (SetParametersAtomically, 'set_parameters_atomically'),
            )
        ]
        self._executor = Executor()
        self._executor.add_node(self._node)
        self._no_text = bytearray(serialize_message(JointState(name=['motor_0'], position=[1.0])))
        self._place = self._no_text.index(b'motor_')
        self._large = [serialize_message(_long_frame(size * MIB)) for size in (1, 2, 8)]
        self._sent = 0

    def names_that_are_no_text(self) -> None:
        """Messages that differ, so that nothing is known of them from before."""
        self._sent += 1
        self._no_text[self._place] = 0x80 + self._sent % 128
        self._publish(bytes(self._no_text))

    def many_names(self) -> None:
        """A hundred thousand names."""
        start = self._random.randrange(1 << 30)
        self._publish(JointState(name=[f'n{start + k}' for k in range(100_000)]))

    def large_messages(self) -> None:
        """Messages of several MiB."""
        self._publish(self._random.choice(self._large))

    def contradictions(self) -> None:
        """Unknown names, wrong counts, no numbers, impossible and far stamps."""
        count = self._random.randrange(9)
        message = JointState(
            name=[f'motor_{self._random.randrange(1 << 30)}' for _ in range(count)]
        )
        message.position = [float('nan')] * self._random.randrange(9)
        message.velocity = [1e308] * self._random.randrange(9)
        message.header.stamp.sec = self._random.choice((-1, 0, 2**31 - 1))
        message.header.frame_id = '\x1b[31m\n' * count
        self._publish(message)

    def requests(self) -> None:
        """Parameters of types that are none, and long lists of them."""
        kind = self._random.choice((2, 3, 9, 99, 255))
        value = ParameterValue(type=kind, double_value=float('inf'), string_value='\0')
        name = self._random.choice(('publish_rate', 'a\0b', '', 'x' * 5000))
        client = self._random.choice(self._clients)
        count = self._random.choice((1, 1, 1, 100))
        client.call_async(
            client.srv_type.Request(parameters=[Parameter(name=name, value=value)] * count)
        )
        self._executor.spin_until_future_complete(Future(), timeout_sec=0.002)

    def run(self) -> None:
        """Attack at a rate, and flood one second in ten, until somebody ends the process."""
        attacks: tuple[Callable[[], None], ...] = (
            self.names_that_are_no_text,
            self.many_names,
            self.large_messages,
            self.contradictions,
            self.requests,
        )
        start, count = time.monotonic(), 0
        while (elapsed := time.monotonic() - start) < 2.0 * ATTACK:
            if elapsed % 10.0 < 1.0:
                self.names_that_are_no_text()
            elif count > elapsed * RATE_OF_ATTACK:
                time.sleep(0.001)
            else:
                self._random.choice(attacks)()
                count += 1

    def _publish(self, message: Any) -> None:
        # The writer gives up if the reader is too slow.
        with suppress(RuntimeError):
            self._random.choice(self._publishers).publish(message)


def _long_frame(size: int) -> JointState:
    message = JointState(name=['motor_0'], position=[1.0])
    message.header.frame_id = 'f' * size
    return message


class Honest:
    """A driver that sends at its rate and counts what comes back."""

    def __init__(self) -> None:
        self._node = rclpy.create_node('honest')
        publisher = self._node.create_publisher(JointState, 'actuator_states', 10)
        self._driver = Driver(names('motor', 0, JOINTS).split(','), publisher)
        self.sent = self.answered = 0
        self._node.create_timer(1.0 / RATE, self._send)
        self._node.create_subscription(JointState, 'joint_states', self._receive, 100, raw=True)
        self._executor = Executor()
        self._executor.add_node(self._node)

    def spin(self, seconds: float) -> None:
        """Send and receive."""
        self._executor.spin_until_future_complete(Future(), timeout_sec=seconds)

    def recover(self) -> float:
        """Return the seconds until a second comes in which every message is answered."""
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < PATIENCE:
            sent, answered = self.sent, self.answered
            self.spin(1.0)
            if self.answered - answered >= 0.95 * (self.sent - sent):
                return elapsed
        raise SystemExit(f'no recovery within {PATIENCE:g} s')

    def _send(self) -> None:
        self._driver.publish()
        self.sent += 1

    def _receive(self, data: bytes) -> None:
        self.answered += 1


@contextmanager
def running(
    command: list[str], log: int | None = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process, and end it afterwards."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def memory_of(pid: int) -> float:
    """Return the resident memory of a process [MiB]."""
    for line in Path(f'/proc/{pid}/status').read_text(encoding='ascii').splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) / 1024.0
    raise SystemExit('the bridge has ended')


def attacked(arguments: argparse.Namespace) -> bool:
    """Run the bridge under attacks, print what was seen, and return whether the bounds hold."""
    attack = [sys.executable, __file__, '--attack']
    with tempfile.TemporaryDirectory() as folder:
        command = bridge_command(Path(folder), 'hostile', JOINTS, ('actuator_states=',))
        command = (command[0], f'--executor={arguments.executor}', *command[1:])
        if arguments.reliable:
            command += ('-p', 'qos_overrides./actuator_states.subscription.reliability:=reliable')
        with running(list(command)) as bridge:
            honest = Honest()
            honest.recover()
            print(f'executor {arguments.executor}: {memory_of(bridge.pid):.0f} MiB at the start')
            left = []
            for number in range(1, arguments.attacks + 1):
                honest.sent = honest.answered = 0
                highest = 0.0
                with running(attack, log=None) as attacker:
                    end = time.monotonic() + ATTACK
                    while time.monotonic() < end:
                        honest.spin(1.0)
                        highest = max(highest, memory_of(bridge.pid))
                        if attacker.poll() is not None:
                            raise SystemExit('the attacker has failed')
                share = honest.answered / honest.sent
                recovery = honest.recover()
                left.append(memory_of(bridge.pid))
                print(
                    f'attack {number}: {share:.0%} of honest messages answered, at most '
                    f'{highest:.0f} MiB; calm after {recovery:.1f} s: {left[-1]:.1f} MiB',
                    flush=True,
                )
    growth = max(left) - left[0]
    print(f'grew by at most {growth:.1f} MiB after the first attack')
    return growth < MAX_GROWTH


def main() -> int:
    """Run once and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--attacks', type=int, default=10, help='each takes a minute')
    parser.add_argument('--executor', default='auto')
    parser.add_argument('--reliable', action='store_true', help='do not hear best-effort drivers')
    parser.add_argument('--gate', action='store_true', help='exit 1 if a bound is missed')
    parser.add_argument('--attack', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rclpy.init()
    try:
        if arguments.attack:
            # Ended by the other process, in the midst of it.
            with suppress(KeyboardInterrupt):
                Attacker().run()
            return 0
        holds = attacked(arguments)
    finally:
        rclpy.try_shutdown()
    return 1 if arguments.gate and not holds else 0


if __name__ == '__main__':
    with isolate_network(os.environ) as variables:
        os.environ.update(variables)
        raise SystemExit(main())
