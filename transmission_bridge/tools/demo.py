# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge demo``: runs a simulated robot, and checks every message by formulas.

Scripts rely on the exit code. The motions are free to change, within the limits of the robot; the
names of joints are those of ``urdf/arm.urdf``. One thread commands, compares and draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
import importlib
import math
import os
import signal
import subprocess
import sys
from tempfile import TemporaryFile
import time

from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.resources import resource
from transmission_bridge.signals import handle_signals, SIGNALS
from transmission_bridge.tools import demo_formulas as formulas
from transmission_bridge.tools.cli import Console, Exit, ToolFailedError
from transmission_bridge.tools.demo_formulas import Terms
from transmission_bridge.tools.watch import show_until_end, WatchClient
from transmission_bridge.tools.watch_state import COLUMNS, WatchState

#: Amplitude of the motions, within the limits of the example robot, so that the bridge does not
#: clamp them [rad].
_AMPLITUDE = 0.5


def demo_command_at(t: float, start: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """
    Return the command of all joints, ``start + A (1 - cos ωt)``, each with its own frequency.

    It begins at rest; the velocity is the derivative of the position.

    :param t: Time since the start [s].
    :param start: Positions at the start [rad].
    :returns: ``position`` and ``velocity``, each by joint.
    """
    command: dict[str, dict[str, float]] = {'position': {}, 'velocity': {}}
    for number, name in enumerate(formulas.JOINTS):
        omega = 2.0 * math.pi * (0.15 + 0.02 * number)
        command['position'][name] = start[name] + _AMPLITUDE * (1.0 - math.cos(omega * t))
        command['velocity'][name] = _AMPLITUDE * omega * math.sin(omega * t)
    return command


#: Maps an interface and values by name to the terms of the expected values.
Formulas = Callable[[str, Mapping[str, float]], dict[str, Terms]]

#: Values of a message by interface, then by name; interfaces without values are absent.
Values = Mapping[str, Mapping[str, float]]

#: Largest accepted deviation, relative to the sum of the magnitudes of the terms.
TOLERANCE = 1e-12

#: Maximum number of stored messages without a counterpart.
_WAITING = 1000


class Comparison:
    """
    Compares one direction of the bridge.

    :param inputs: Topic of the input.
    :param topic: Topic of the output.
    :param formulas: Return the expected output.
    :ivar faults: The latest sentence by interface and name of a wrong, missing or surplus value.
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, inputs: str, topic: str, formulas: Formulas) -> None:
        self.topic, self._formulas = topic, formulas
        # Messages by topic and stamp.
        self._waiting: dict[str, dict[tuple[int, int], Values]] = {inputs: {}, topic: {}}
        self.faults: dict[tuple[str, str], str] = {}
        self.compared, self.worst = 0, 0.0

    def add_message(self, topic: str, stamp: tuple[int, int], values: Values) -> None:
        """Add an input or an output of the bridge; messages of other topics are not used."""
        if topic in self._waiting:
            self._waiting[topic][stamp] = values
            if len(self._waiting[topic]) > _WAITING:
                del self._waiting[topic][next(iter(self._waiting[topic]))]
        if not all(stamp in messages for messages in self._waiting.values()):
            return
        given, published = (messages.pop(stamp) for messages in self._waiting.values())
        self.compared += 1
        for interface in {**given, **published}:
            expected = self._formulas(interface, given[interface]) if interface in given else {}
            numbers = published.get(interface, {})
            for name in {**expected, **numbers}:
                terms, number = expected.get(name, (math.nan,)), numbers.get(name, math.nan)
                right, scale = math.fsum(terms), math.fsum(map(abs, terms)) or 1.0
                deviation = abs(number - right) / scale
                self.worst = max(self.worst, deviation)
                if not deviation <= TOLERANCE:  # also NaN, and a name without its counterpart
                    self.faults[interface, name] = (
                        f"{self.topic}: {interface} of '{name}' is {number!r}, the formulas give "
                        f'{right!r}'
                    )


#: Longest start on a slow machine, and period of commands [s].
_START, _PERIOD = 60.0, 0.02

#: Number of characters of the output of a bridge that ended.
_TAIL = 2000


class _DemoClient(WatchClient):
    """Moves the joints, and compares the messages of the bridge with the formulas."""

    def __init__(self, state: WatchState) -> None:
        self.comparisons = (
            Comparison(
                'actuator_states', 'joint_states', partial(formulas.compute_terms, 'joint')
            ),
            Comparison(
                'joint_commands', 'actuator_commands', partial(formulas.compute_terms, 'actuator')
            ),
        )
        # Lost messages could not be compared.
        super().__init__(state, is_complete=True)
        #: Positions of the joints in the first message, and when it was seen.
        self._start: Mapping[str, float] = {}
        self._begun = math.inf
        self._kind = importlib.import_module('sensor_msgs.msg').JointState
        self._publisher = self.node.create_publisher(self._kind, 'joint_commands', 10)

    def store_message(
        self, topic: str, message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        super().store_message(topic, message, layout, now)
        values = {
            interface: dict(zip(message.names, array.tolist(), strict=False))
            for interface in COLUMNS
            if (array := getattr(message, interface)).size
        }
        for comparison in self.comparisons:
            comparison.add_message(topic, message.stamp, values)
        if topic == 'joint_states' and not self._start:
            self._start, self._begun = values['position'], now

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, and command the joints meanwhile."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if self._start:
                command = demo_command_at(now - self._begun, self._start)
                rows = {interface: [*values.values()] for interface, values in command.items()}
                message = self._kind(name=list(formulas.JOINTS), **rows)
                message.header.stamp = self.node.get_clock().now().to_msg()
                self._publisher.publish(message)
            super().spin_for(_PERIOD)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    # In a namespace of its own, no command of the demo reaches another robot in the same domain.
    namespace = f'/demo_{os.getpid()}'
    state = WatchState(f'{namespace}/transmission_bridge'.strip('/'))
    with closing(_DemoClient(state)) as client, _run_bridge(namespace) as require_alive:
        console.out.line(f'bridge with simulated motors, namespace {namespace}')
        limit = time.monotonic() + _START
        while not all(comparison.compared for comparison in client.comparisons):
            require_alive()
            if time.monotonic() > limit:
                raise ToolFailedError(f'the bridge does not publish within {_START:g} s')
            client.spin_for(_PERIOD)
        shown = argparse.Namespace(**vars(options), once=False, filter='')
        show_until_end(shown, console, client)
        require_alive()
    faults = [fault for comparison in client.comparisons for fault in comparison.faults.values()]
    for fault in faults:
        console.err.line(f'transmission_bridge: demo: {fault}')
    counts = ', '.join(f'{part.compared} {part.topic}' for part in client.comparisons)
    worst = max(comparison.worst for comparison in client.comparisons)
    console.out.line(
        f'demo {"FAILED" if faults else "passed"}: {counts}, largest relative deviation from '
        f'formulas written out by hand {worst:.1e}'
    )
    return Exit.ERRORS if faults else Exit.OK


@contextmanager
def _run_bridge(namespace: str) -> Iterator[Callable[[], None]]:
    """Run the bridge as a process during the block; yield a check that it still runs."""
    command = [sys.executable, '-m', 'transmission_bridge.ros.main', 'bridge_node']
    command += ['--simulate', '--urdf', str(resource('urdf', 'arm.urdf'))]
    command += ['--ros-args', '-r', f'__ns:={namespace}']
    received: list[int] = []
    with TemporaryFile() as log:
        # An exception between the fork and the end of Popen would lose the process.
        with handle_signals(dict.fromkeys(SIGNALS, lambda number, _: received.append(number))):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def require_alive() -> None:
            if process.poll() is not None:
                log.seek(0)
                output = log.read().decode(errors='replace')[-_TAIL:]
                raise ToolFailedError(f'the bridge ended with {process.returncode}: {output}')

        try:
            for number in received:
                signal.raise_signal(number)
            yield require_alive
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(5.0)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.kill()
                process.wait()
