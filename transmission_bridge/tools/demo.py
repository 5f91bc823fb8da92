# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: runs a simulated robot, and checks every message by formulas."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, ExitStack
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
from transmission_bridge.tools.cli import Console, Exit, FailedError
from transmission_bridge.tools.demo_formulas import Terms
from transmission_bridge.tools.watch import show_until_end, WatchClient
from transmission_bridge.tools.watch_state import COLUMNS, WatchState

#: Seconds of the transition from the start to the sine.
_ENTRY = 2.0


#: Centre [rad], amplitude [rad] and frequency [Hz] of the sine of each joint, within the limits of
#: the example robot, so that the bridge does not clamp them.
MOTIONS = {
    'shoulder_pan': (0.25, 0.8, 0.15),
    'shoulder_lift': (0.1, 0.5, 0.2),
    'elbow': (1.0, 0.7, 0.2),
    'forearm_roll': (0.0, 1.2, 0.25),
    'wrist_pitch': (0.0, 0.8, 0.3),
    'wrist_roll': (0.0, 1.5, 0.25),
}


def command_at(t: float, start: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """
    Return the command of all joints.

    A smooth step connects the start and the sine; the velocity is the derivative of the position.

    :param t: Time since the start [s].
    :param start: Positions at the start [rad].
    :returns: ``position`` and ``velocity``, each by joint.
    """
    u = min(t / _ENTRY, 1.0)
    share, growth = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / _ENTRY
    command: dict[str, dict[str, float]] = {'position': {}, 'velocity': {}}
    for name, (centre, amplitude, frequency) in MOTIONS.items():
        omega = 2.0 * math.pi * frequency
        away = centre + amplitude * math.sin(omega * t) - start[name]
        velocity = amplitude * omega * math.cos(omega * t)
        command['position'][name] = start[name] + share * away
        command['velocity'][name] = growth * away + share * velocity
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
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, inputs: str, topic: str, formulas: Formulas) -> None:
        self.topic, self._formulas = topic, formulas
        # Messages by topic and stamp.
        self._waiting: dict[str, dict[tuple[int, int], Values]] = {inputs: {}, topic: {}}
        self._wrong: dict[tuple[str, str], str] = {}
        self.compared, self.worst = 0, 0.0

    def add_message(self, topic: str, stamp: tuple[int, int], values: Values) -> None:
        """Add an input or an output of the bridge; messages of other topics are not used."""
        if (waiting := self._waiting.get(topic)) is None:
            return
        waiting[stamp] = values
        if all(stamp in messages for messages in self._waiting.values()):
            self._compare_values(*(messages.pop(stamp) for messages in self._waiting.values()))
        elif len(waiting) > _WAITING:
            del waiting[next(iter(waiting))]

    @property
    def faults(self) -> list[str]:
        """A sentence for each value that was wrong, missing or surplus."""
        return [*self._wrong.values()] if self.compared else [f'{self.topic}: nothing to compare']

    def _compare_values(self, given: Values, published: Values) -> None:
        self.compared += 1
        for interface in {**given, **published}:
            expected = self._formulas(interface, given[interface]) if interface in given else {}
            values = published.get(interface, {})
            for name in {**expected, **values}:
                terms, value = expected.get(name, (math.nan,)), values.get(name, math.nan)
                right, scale = math.fsum(terms), math.fsum(map(abs, terms)) or 1.0
                deviation = abs(value - right) / scale
                self.worst = max(self.worst, deviation)
                if not deviation <= TOLERANCE:  # also NaN, and a name without its counterpart
                    words = f"{self.topic}: {interface} of '{name}' is {value!r}"
                    self._wrong[interface, name] = f'{words}, the formulas give {right!r}'


#: Longest start on a slow machine, and period of commands [s].
_START, _PERIOD = 60.0, 0.02

#: Number of characters of the output of a bridge that ended.
_TAIL = 2000


class _DemoClient(WatchClient):
    """Moves the joints, and compares the messages of the bridge with the formulas."""

    def __init__(self, state: WatchState) -> None:
        self.comparisons = (
            Comparison('actuator_states', 'joint_states', formulas.joints_from_actuators),
            Comparison('joint_commands', 'actuator_commands', formulas.actuators_from_joints),
        )
        # Lost messages could not be compared.
        super().__init__(state, is_complete=True)
        self._start: dict[str, float] = {}
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
        if topic == 'joint_states':
            self._start = self._start or values['position']

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, and command the joints meanwhile."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if self._start:
                self._begun = min(self._begun, now)
                command = command_at(now - self._begun, self._start)
                rows = {interface: [*values.values()] for interface, values in command.items()}
                message = self._kind(name=list(MOTIONS), **rows)
                message.header.stamp = self.node.get_clock().now().to_msg()
                self._publisher.publish(message)
            super().spin_for(_PERIOD)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    # In a namespace of its own, no command of the demo reaches another robot in the same domain.
    namespace = f'/demo_{os.getpid()}'
    state = WatchState(f'{namespace}/transmission_bridge'.strip('/'))
    client = _DemoClient(state)
    try:
        with _run_bridge(namespace) as require_alive:
            console.out.line(f'bridge with simulated motors, namespace {namespace}')
            limit = time.monotonic() + _START
            while missing := [
                topic for topic in state.topics if state.compute_age(topic, 0.0) is None
            ]:
                require_alive()
                if time.monotonic() > limit:
                    raise FailedError(f'no message on {", ".join(missing)} within {_START:g} s')
                client.spin_for(_PERIOD)
            shown = argparse.Namespace(**vars(options), once=False, filter='')
            show_until_end(shown, console, state, client.spin_for)
            require_alive()
    finally:
        client.close()
    faults = [fault for comparison in client.comparisons for fault in comparison.faults]
    for fault in faults:
        console.err.line(f'transmission_bridge: demo: {fault}')
    counts = ', '.join(f'{each.compared} {each.topic}' for each in client.comparisons)
    worst = max(comparison.worst for comparison in client.comparisons)
    words = f'largest relative deviation from formulas written out by hand {worst:.1e}'
    console.out.line(f'demo {"FAILED" if faults else "passed"}: {counts}, {words}')
    return Exit.ERRORS if faults else Exit.OK


@contextmanager
def _run_bridge(namespace: str) -> Iterator[Callable[[], None]]:
    """Run the bridge as a process during the block; yield a check that it still runs."""
    words = ['--urdf', str(resource('urdf', 'arm.urdf')), '--simulate']
    words += ['--ros-args', '-r', f'__ns:={namespace}']
    command = [sys.executable, '-m', 'transmission_bridge.ros.bridge_main', *words]
    received: list[int] = []
    with TemporaryFile() as log, ExitStack() as stack:
        # An exception between the fork and the end of Popen would lose the process.
        with handle_signals(dict.fromkeys(SIGNALS, lambda number, _: received.append(number))):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            stack.callback(_end_process, process)
        for number in received:
            signal.raise_signal(number)

        def require_alive() -> None:
            if process.poll() is not None:
                log.seek(0)
                output = log.read().decode(errors='replace')[-_TAIL:]
                raise FailedError(f'the bridge ended with {process.returncode}: {output}')

        yield require_alive


def _end_process(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(5.0)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
