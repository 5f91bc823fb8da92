# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Drivers in Python in the process of the bridge.

A hosted driver is a driver on topics without the topics: it has the names of the topics that it
would have as a process, so names, units, turns, timeouts and diagnostics are those of any driver.
Its states and commands are also published while another node listens.

The thread of a driver only asks the executor to take a state, and logs; all else runs in the
executor. A session and ``driver_node`` use these classes. Names of topics, and of the statuses of
drivers and their keys, are public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
import math
import re
import sys
import time
from typing import Any, TypeAlias

import numpy as np
from rclpy.node import Node

from transmission_bridge.bridge.diagnostics import Diagnostic, ERROR, Fact, make_diagnostic, WARN
from transmission_bridge.bridge.options import BridgeOptions, split_option_pairs
from transmission_bridge.drivers import (
    Driver,
    DriverError,
    DriverHost,
    find_block_drivers,
    find_driver_class,
    Hardware,
    list_driver_plugins,
    list_encoder_periods,
)
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import (
    JointStateEncoder,
    JointStateReader,
    JointStateRecord,
    Layout,
    MessageLayoutTable,
    TrajectoryRecord,
)
from transmission_bridge.ros.channels import compute_trajectory_delay
from transmission_bridge.ros.throttled_log import log_node_text, ThrottledLog
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import EMPTY, Mask

STATES, COMMANDS, TRAJECTORY = 'actuator_states', 'actuator_commands', 'actuator_trajectory'

#: Time after which an unanswered request to the executor is repeated [s]: a change of executors
#: loses tasks.
_LOST = 0.1

#: Longest time for which another thread keeps the interpreter [s]. Some libraries of servos poll
#: their port without a pause, which delays the bridge by Python's 5 ms each time.
_SWITCH = 0.0005

#: Share of its rate below which a driver is too slow, and duration of a method that hangs [s].
_SLOW, _HANG = 0.8, 1.0

#: States, their layout, and the mask of the actuators with forgotten commands.
Sample: TypeAlias = tuple[JointStateRecord, Layout, Mask]

#: A publisher with ``publish`` and ``get_subscription_count``.
Publisher = Any


def find_chosen_drivers(
    robot: RobotTransmissions, plugins: Mapping[str, str]
) -> dict[str, tuple[type[Driver], Hardware]]:
    """
    Return class and hardware of each driver in Python, by block.

    :param plugins: The drivers that a user has chosen, by block.
    :raises UnknownNameError: If there is no such block, or no such driver in Python.
    """
    blocks = ('*', *(block.name for block in robot.description.blocks))
    for block, plugin in plugins.items():
        if block not in blocks:
            raise UnknownNameError('block', block, blocks, parameter='hardware_plugins')
        if find_driver_class(plugin) is None:
            raise UnknownNameError('driver in Python', plugin, tuple(list_driver_plugins()))
    return find_block_drivers(robot, plugins)


def inspect_hosted_driver(host: DriverHost) -> Diagnostic:
    """Return the status of a driver; called once a second."""
    facts, rate = host.list_facts(), host.hardware.rate
    hangs = facts.busy_for > _HANG
    words = f'{facts.busy}() has not returned for {facts.busy_for:.1f} s: give its I/O a timeout'
    lasts = facts.read_time + facts.write_time
    # Not of a busy machine: the driver itself takes too long.
    is_slow = facts.life == 'active' and facts.rate < _SLOW * rate and lasts > _SLOW / rate
    slow = f'{facts.rate:.0f} cycles/s, the rate is {rate:g}, a cycle takes {1e3 * lasts:.1f} ms'
    level = ERROR if facts.failing_for > _HANG else WARN
    lines = [
        Fact('plugin', type(host.driver).__name__),
        Fact('state', facts.life),
        Fact('hangs', words * hangs, ERROR),
        # The host logs each failure.
        Fact(
            'fails', facts.failure and f'{facts.failure} ({facts.failing_for:.1f} s)', level, False
        ),
        Fact('slow', slow * (is_slow and not hangs), WARN),
        Fact('rate [Hz]', f'{facts.rate:.1f}'),
        Fact('late cycles', facts.late),
        Fact('read [ms]', f'{1e3 * facts.read_time:.2f}'),
        Fact('write [ms]', f'{1e3 * facts.write_time:.2f}'),
        *(Fact(f'failures {method}', count) for method, count in facts.failures.items()),
    ]
    for name, numbers in facts.status.items():
        lines += [
            Fact(f'{name} {motor}', f'{x:g}') for motor, x in zip(host.names, numbers, strict=True)
        ]
    return make_diagnostic(
        f'driver {host.hardware.name}',
        lines,
        'running' * (facts.life == 'active') or 'stopped',
    )


class HostedDriver:
    """
    A driver in this process, between its host and a node.

    Its owner sets ``receive`` and ``copies`` before the executor takes the first state.

    :param topic: Topic of its states, before remapping.
    :param limits: As for :class:`~transmission_bridge.drivers.DriverHost`.
    :ivar receive: Receives its states.
    :ivar copies: Publishers of its states and its commands for other nodes, by topic.
    """

    def __init__(
        self,
        node: Node,
        log: ThrottledLog,
        topic: str,
        driver: Driver,
        hardware: Hardware,
        **limits: Any,
    ) -> None:
        self._node, self.topic, self.namespace = node, topic, topic.removesuffix(STATES)
        self._take = log.guard(topic, self._take_state)
        # Time of the request that the executor has not answered [s]. Both threads write it: the
        # executor resets it before it takes the state, so that a state is never left.
        self._asked = -math.inf
        self.receive: Callable[[Sample], None] = lambda sample: None
        self.copies: Mapping[str, Publisher] = {}
        report = partial(log_node_text, node)
        self.host = DriverHost(driver, hardware, self._ask_for_take, report, **limits)
        self._layouts, self._encoder = MessageLayoutTable(), JointStateEncoder()
        self._reader = JointStateReader()
        self._index = {name: motor for motor, name in enumerate(self.host.names)}

    def _ask_for_take(self) -> None:
        """Let the executor of the bridge take the state; called in the thread of the driver."""
        executor, now = self._node.executor, time.monotonic()
        if executor is not None and now - self._asked > _LOST:
            self._asked = now
            with suppress(Exception):  # the executor may end at this moment
                executor.create_task(self._take)

    def _take_state(self) -> None:
        self._asked = -math.inf
        state = self.host.take_state()
        if state is None:
            return
        stamp = self._node.get_clock().now().seconds_nanoseconds()
        # A row without a number is an empty array.
        given = [row if np.isfinite(row).any() else EMPTY for row in state.rows]
        position, velocity, effort = [*given, EMPTY, EMPTY][: len(FIELDS)]
        whole = state.rows if all(map(len, (position, velocity, effort))) else None
        record = JointStateRecord(stamp, '', self.host.names, position, velocity, effort, whole)
        layout = self._layouts.find_layout(record.names, record.lengths)
        self.receive((record, layout, state.forgotten))
        if (copy := self._find_copy(STATES)) is not None:
            copy.publish(self._encoder.encode_record(record))

    def send_command(self, data: bytes) -> None:
        """
        Hand a serialised command over; names of other drivers are left out.

        :raises MessageError: If the message cannot be read.
        """
        view, index = self._reader.read_message(data), self._index
        picks = [pick for pick, name in enumerate(view.names) if name in index]
        rows = np.full((len(FIELDS), len(picks)), np.nan)
        for row, numbers in enumerate((view.position, view.velocity, view.effort)):
            if len(numbers):
                rows[row] = numbers[picks]
        self.host.send_commands(rows, [index[view.names[pick]] for pick in picks])
        if (copy := self._find_copy(COMMANDS)) is not None:
            copy.publish(data)

    def send_trajectory(self, record: TrajectoryRecord) -> None:
        """Hand a trajectory over."""
        delay = compute_trajectory_delay(
            record, self._node.get_clock().now().seconds_nanoseconds()
        )
        actuators = [self._index[name] for name in record.names]
        if not self.host.send_trajectory(record, actuators, delay):
            log_node_text(self._node, 'warning', f'{self.topic}: all waypoints are in the past')

    def _find_copy(self, topic: str) -> Publisher | None:
        """Return the publisher of a topic for other nodes, ``None`` if nobody listens."""
        publisher = self.copies.get(topic)
        return publisher if publisher is not None and publisher.get_subscription_count() else None


class HostedDrivers:
    """
    The drivers in this process.

    The owner calls :meth:`start` with ``configure``, then with ``activate``, at last :meth:`end`;
    drivers that were deactivated can be activated again. While there are drivers, Python switches
    threads faster, in the whole process.

    :param drivers: Topic of its states, class and hardware of each driver.
    :param limits: As for :class:`~transmission_bridge.drivers.DriverHost`.
    :raises DriverError: If the class of a driver cannot be called.
    """

    def __init__(
        self,
        node: Node,
        log: ThrottledLog,
        drivers: Sequence[tuple[str, type[Driver], Hardware]],
        **limits: Any,
    ) -> None:
        made = []
        # All are made before the first thread starts.
        for topic, kind, hardware in drivers:
            try:
                made.append((topic, kind(), hardware))
            except Exception as error:
                words = f"driver '{hardware.name}': {kind.__name__}() failed: {error!r}"
                raise DriverError(words) from error
        self._drivers = [HostedDriver(node, log, *parts, **limits) for parts in made]
        self._switch = sys.getswitchinterval()
        if drivers:
            sys.setswitchinterval(_SWITCH)

    def __iter__(self) -> Iterator[HostedDriver]:
        """Iterate over the drivers."""
        return iter(self._drivers)

    def start(self, step: str) -> None:
        """
        Let every driver ``configure`` or ``activate``.

        :raises DriverError: If one fails.
        """
        for driver in self._drivers:
            driver.host.take_step(step)

    def deactivate(self) -> None:
        """Deactivate every driver; failures are logged."""
        for driver in self._drivers:
            driver.host.begin_step('deactivate')
        for driver in self._drivers:
            driver.host.take_step('deactivate')

    def end(self) -> None:
        """Clean up every driver, and end its thread; later calls do nothing."""
        for driver in self._drivers:
            driver.host.begin_step('cleanup')
        for driver in self._drivers:
            driver.host.end()
        if self._drivers:
            sys.setswitchinterval(self._switch)
            self._drivers = []


def find_hosted_drivers(
    robot: RobotTransmissions, options: BridgeOptions
) -> tuple[list[tuple[str, type[Driver], Hardware]], BridgeOptions]:
    """
    Return topic, class and hardware of each driver in Python, and the options with these.

    The options get the topics, names and periods that a driver on topics would need. Topics are
    public: diagnostics and copies of messages have them.

    :raises DriverError: If a driver cannot be used.
    :raises UnknownNameError: If ``hardware_plugins`` has an unknown name.
    """
    plugins = split_option_pairs('hardware_plugins', options.hardware_plugins)
    by_block = find_chosen_drivers(robot, plugins)
    if not by_block:
        return [], options
    hosted = {motor.name for _, hardware in by_block.values() for motor in hardware.actuators}
    has_all = hosted == set(robot.actuator_names)
    names = [
        f'{entry}={name}'
        for entry, name in split_option_pairs('actuator_names', options.actuator_names).items()
        if name not in hosted
    ]
    drivers = []
    for block, (kind, hardware) in by_block.items():
        # A token of a topic has no other characters, and no digit first.
        token = re.sub(r'^(?=\d)', '_', re.sub(r'\W', '_', block, flags=re.ASCII))
        is_alone = has_all and len(by_block) == 1
        topic = STATES if is_alone or not block else f'{token}/{STATES}'
        if topic != STATES:
            names += [f'{topic}:{motor.name}={motor.name}' for motor in hardware.actuators]
        drivers.append((topic, kind, hardware))
    others = () if has_all else options.actuator_state_topics
    topics = dict.fromkeys((*others, *(topic for topic, *_ in drivers)))
    periods = {name: f'{period:.12g}' for name, period in list_encoder_periods(by_block).items()}
    periods |= split_option_pairs('wrap_period', options.wrap_period)
    return drivers, replace(
        options,
        actuator_state_topics=tuple(topics),
        actuator_names=tuple(names),
        wrap_period=tuple(f'{name}={period}' for name, period in periods.items()),
    )
