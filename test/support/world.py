# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A bridge without a node, its drivers and its commanders, in plain terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scenarios import MODES, TICK
from state_paths import record
from zoo.elements import load

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeInspector,
    InspectionTime,
    TopicPeers,
)
from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.rules.tuning_guard import check_tuning
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.messages.records import Layout, POINT_FIELDS, TrajectoryRecord, Waypoint

#: ``command_timeout`` [s].
TIMEOUT = 0.5

#: Tolerances of numbers that are equal.
CLOSE = {'rel': 1e-12, 'abs': 1e-15, 'nan_ok': True}


class World:
    """
    A bridge with a clock that a test moves.

    :param robot: Its description, or its maps.
    :param options: Of the bridge.
    :ivar sent: What drivers were sent: topics with their namespaces, and contents.
    :ivar fails: Whether sending fails.
    """

    def __init__(self, robot, **options):
        given = {'command_timeout': TIMEOUT, 'state_timeout': 1.0} | options
        self.robot = load(robot) if isinstance(robot, str) else robot
        self.bridge = Bridge(self.robot, BridgeOptions(**given), self._receive)
        self.gate, self.states = self.bridge.gate, self.bridge.states
        self.counts = self.gate.ledger.counts
        self.now = 100.0
        self.sent = []
        self.fails = False

    def _receive(self, outgoing):
        if self.fails and outgoing:
            raise ConnectionError
        self.sent += [(topic, read(content)) for topic, content in outgoing]

    def _sent_by(self, act, *given):
        before = len(self.sent)
        act(*given)
        return as_words(self.sent[before:])

    def _tick(self, seconds):
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            self.gate.end_expired_commands((2, 0), self.now)

    def wait(self, seconds):
        """Let time pass, with ticks; return what is sent."""
        return self._sent_by(self._tick, seconds)

    def state(self, names=(), driver='driver', stamp=(1, 0), **rows):
        """Have a driver give positions, velocities, efforts of its (first) actuators."""
        names = names or self.robot.actuator_names[: max(map(len, rows.values()))]
        message = record(names, **rows)
        layout = Layout(message.names, message.lengths)
        self.bridge.states.merge_message(
            self.bridge.plan.state_map, driver, layout, message, stamp, self.now
        )

    def joints(self):
        """Return the numbers of the joint states by mode and joint."""
        data = self.states.encode_state(self.bridge.plan.state_map, self.now)
        return {} if data is None else by_mode(JointStateReader().read_message(data))

    def command_record(self, message, topic='joint_commands'):
        """Command joints by a record; return what is sent."""
        given = Layout(message.names, message.lengths), message, message.stamp, self.now, topic
        return self._sent_by(self.gate.send_joint_command, *given)

    def command(self, *, topic='joint_commands', **modes):
        """Command joints, each mode as ``{joint: value}``; return what is sent."""
        return self.command_record(spread(modes), topic)

    def plain(self, mode, numbers):
        """Command ``command_joints`` by a plain array; return what is sent."""
        given = f'{mode}_commands', mode, np.array(numbers, dtype=float), (1, 0), self.now
        return self._sent_by(self.gate.send_interface_command, *given)

    def array(self, **modes):
        """Command joints; return the plain arrays that are sent."""
        return arrays(self.command(**modes))

    def trajectory(self, joint, *points, start=None):
        """Send waypoints ``(time, {array: numbers})``; return those that are sent on."""
        before = len(self.sent)
        self.gate.send_joint_trajectory(way(np.atleast_1d(joint), points), self.now, start)
        ((_, sent),) = self.sent[before:]
        return sent.points

    def stop(self):
        """Deactivate; return what is sent."""
        return self._sent_by(self.gate.send_stop, (3, 0), self.now)

    def tune(self, changes):
        """Change parameters."""
        after = self.robot.with_parameters(changes)
        self.bridge.guard_tuning(after, self.now)
        self.bridge.replace_robot(after)
        self.robot = after

    def inspect(self, watch=None, *, open_for=1.0, inputs=None, spaces=('',)):
        """Return the statuses of the bridge by name; ``spaces``: namespaces of its drivers."""
        topics = [
            s + each for s in spaces for each in ('actuator_commands', 'actuator_trajectory')
        ]
        outputs, look = (
            {topic: TopicPeers(topic) for topic in topics},
            InspectionTime(self.now, 1.0, open_for),
        )
        watch = watch or BridgeInspector(self.bridge, {}, [], {}, [])
        return {each.name: each for each in watch.inspect_bridge(look, inputs or {}, outputs)}

    def play(self, scenario):
        """Run the steps of a scenario, and compare what is sent with what is expected."""
        for step in scenario.steps:
            getattr(self, f'_{type(step).__name__.lower()}')(step)

    def _state(self, step):
        message = spread(step.actuators)
        self.state(message.names, step.topic, **{mode: getattr(message, mode) for mode in MODES})
        if step.joints is not None:
            compare(self.joints(), step.joints)

    def _command(self, step):
        if isinstance(step.sent, str):
            assert reason(self.command, topic=step.topic, **step.joints) == step.sent
        else:
            compare(self.command(topic=step.topic, **step.joints), step.sent)

    def _wait(self, step):
        compare(self.wait(step.seconds), step.sent)

    def _tune(self, step):
        if not step.refused:
            self.tune(step.values)
            return
        with pytest.raises(ParameterError, match=step.refused):
            self.tune(step.values)

    def _deactivate(self, step):
        compare(self.stop(), step.sent)
        self.bridge.reset()


def reason(act, *given, **more):
    """Return why something is rejected."""
    with pytest.raises(MessageError) as caught:
        act(*given, **more)
    return caught.value.reason


def read(content):
    """Return a message to a driver, a JointState as a record."""
    is_bytes = isinstance(content, bytes)
    return JointStateReader().read_message(content).copy_record() if is_bytes else content


def check_ratios(before, after, position, live):
    """Check tuned maps while joints without an active position, velocity or effort are live."""
    plans = [Plan(robot, BridgeOptions()) for robot in (before, after)]
    check_tuning(*plans, position, live, Ledger(plans[0]))


def by_mode(message):
    """Return ``{mode: {name: number}}`` of a record."""
    return {
        mode: dict(zip(message.names, numbers.tolist(), strict=True))
        for mode in MODES
        if len(numbers := getattr(message, mode))
    }


def as_words(messages):
    """Return ``{mode: {actuator: number}}`` of records, lists of arrays by their topic."""
    found = {}
    for topic, content in messages:
        if topic.endswith('actuator_commands'):
            for mode, numbers in by_mode(content).items():
                found.setdefault(mode, {}).update(numbers)
        else:
            found[topic] = content.tolist()
    return found


def arrays(sent):
    """Return the arrays of what was sent."""
    return {topic: numbers for topic, numbers in sent.items() if topic not in MODES}


def way(names, points, stamp=(0, 0), frame=''):
    """Return a trajectory; waypoints are ``(time, {array: numbers})``."""
    waypoints = (
        Waypoint(
            (int(time), round(time % 1 * 1e9)),
            *(np.array(given.get(field, ()), dtype=float, ndmin=1) for field in POINT_FIELDS),
        )
        for time, given in points
    )
    return TrajectoryRecord(stamp, frame, tuple(names), tuple(waypoints))


def spread(modes, **more):
    """Return a record of ``{mode: {name: number}}``; what is not given is NaN."""
    names = dict.fromkeys(name for values in modes.values() for name in values)
    rows = {mode: [row.get(name, math.nan) for name in names] for mode, row in modes.items()}
    return record(names, **rows, **more)


# -- scenarios -----------------------------------------------------------------------------------


def compare(found, expected):
    """Compare numbers by mode and name, or lists by topic."""
    assert found.keys() == expected.keys(), (found, expected)
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers, **CLOSE), key
