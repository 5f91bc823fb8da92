# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Publish diagnostics (REP 107) once a second in every state of the life cycle.

The bridge's node owns the publisher, whose timer runs in the thread of all callbacks and only
reads the session. Names of statuses and keys are public, because ``watch`` and monitors read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from transmission_bridge.bridge.diagnostics import (
    Diagnostic,
    DiagnosticHistory,
    DiagnosticLog,
    ERROR,
    Fact,
    InspectionTime,
    make_diagnostic,
    TopicPeers,
    WARN,
)
from transmission_bridge.description import Finding
from transmission_bridge.errors import clipped, shortened
from transmission_bridge.ros.channels import describe_ros_endpoint
from transmission_bridge.ros.hosting import COMMANDS, inspect_hosted_driver, TRAJECTORY
from transmission_bridge.ros.session import BridgeNodeSession, is_ros_time_simulated, STEADY
from transmission_bridge.ros.throttled_log import log_node_text, ThrottledLog
from transmission_bridge.ros.topics import find_peers, list_publishers, list_rivals

#: Period of the messages [s]; REP 107 requires 1 s.
_PERIOD = 1.0

#: Seconds after which a node of the same name in the graph is alive: beyond the lease of a killed
#: one (20 s).
_LEASE = 25.0


class NodeDiagnosticFacts(NamedTuple):
    """
    Facts about the node itself, which the node makes for each look.

    :param state: State of its life cycle.
    :param failure: Reason why the last transition failed; empty if it succeeded.
    :param refused: Numbers of ``tuned_file`` that were rejected at configure.
    :param absence: Reason why it waits, as a sentence; empty if it does not wait.
    :param origin: The parameter or the topic of the description.
    :param session: The present session, ``None`` while unconfigured.
    """

    state: str
    failure: str
    refused: tuple[Finding, ...]
    absence: str
    origin: str
    session: BridgeNodeSession | None


class DiagnosticsPublisher:
    """
    Publishes diagnostics of node and session, and logs the start and the end of each trouble.

    :param node: The node.
    :param facts: Returns the facts about the node.
    :param log: Receives bugs.
    """

    def __init__(
        self, node: LifecycleNode, facts: Callable[[], NodeDiagnosticFacts], log: ThrottledLog
    ) -> None:
        self._node, self._facts = node, facts
        self._name = node.get_fully_qualified_name().lstrip('/')
        # Start of the session that was open at the last look, by the clock of times of receipt.
        self._opened: float | None = None
        self._events = DiagnosticHistory()
        # Each opening of the session begins another log of its troubles.
        self._node_log, self._session_log = DiagnosticLog(), DiagnosticLog()
        # Time of the last look at the session [s] of the steady clock.
        self._looked = time.monotonic()
        # A plain publisher, because diagnostics are published in every state.
        self._publisher = node.create_publisher(
            **describe_ros_endpoint('/diagnostics', overridable=False)
        )
        # Not the node's clock: simulated time may stand still.
        publish = log.guard('diagnostics', self._publish_diagnostics)
        self._timer = node.create_timer(_PERIOD, publish, clock=STEADY)

    def _publish_diagnostics(self) -> None:
        about, hardware = self._facts(), ''
        statuses = [self._inspect_life_cycle(about)]
        self._log_troubles(statuses, self._node_log)
        if (session := about.session) is not None:
            of_session = self._inspect_session(session)
            if session.is_open:
                self._log_troubles(of_session, self._session_log)
            statuses += of_session
            hardware = session.robot.description.name
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [_make_message(status, self._name, hardware) for status in statuses]
        self._publisher.publish(message)

    def _log_troubles(self, statuses: Iterable[Diagnostic], log: DiagnosticLog) -> None:
        for level, text in log.list_log_lines(statuses):
            log_node_text(self._node, ('info', 'warning', 'error')[level], text)

    def _inspect_life_cycle(self, about: NodeDiagnosticFacts) -> Diagnostic:
        node, recent, clock = self._node, self._events, ''
        # Not by the names of nodes: that of a process that ended may stay in the graph forever,
        # because rmw_dds_common adds it again if its last message is late.
        is_shared = node.count_publishers(f'/{self._name}/transition_event') > 1
        namesake = f'a second /{self._name} publishes and answers the same: end one of them'
        if is_ros_time_simulated(node) and not list_publishers(node, '/clock'):
            clock = (
                f'{node.resolve_topic_name("/clock")} has 0 publishers, and use_sim_time is set'
            )
        facts = [
            Fact('state', about.state),
            Fact('failure', about.failure, ERROR, False),
            # Confirmed over a time, because another process may be starting it.
            Fact('waiting', recent.confirm(('start', about.state), about.absence), WARN),
            Fact('clock', recent.confirm('clock', clock), WARN),
            Fact('same name', recent.confirm('name', namesake * is_shared, _LEASE), ERROR),
            Fact('description', about.origin),
        ]
        if (session := about.session) is not None:
            robot = session.robot
            counts = Counter(finding.severity for finding in robot.findings)
            tuned = shortened([finding.text for finding in about.refused], show=str)
            facts += [
                Fact('robot', robot.description.name),
                Fact('joints', len(robot.joint_names)),
                Fact('actuators', len(robot.actuator_names)),
                Fact('transmissions', len(robot.transmissions)),
                Fact('passed through', ', '.join(robot.pass_through)),
                *(Fact(f'findings {kind}', counts[kind]) for kind in ('error', 'warning', 'info')),
                # Both are logged at configure.
                Fact('errors of the description', counts['error'] or '', WARN, False),
                Fact('tuned_file', tuned, ERROR, False),
                Fact('missing', session.missing, ERROR),
            ]
        return make_diagnostic('life cycle', facts, state=about.state)

    def _inspect_session(self, session: BridgeNodeSession) -> list[Diagnostic]:
        opened = session.opened if session.is_open else None
        if opened != self._opened:
            self._opened, self._session_log = opened, DiagnosticLog()
        now, steady = session.time(), time.monotonic()
        period, self._looked = steady - self._looked, steady
        look = InspectionTime(now, period, None if opened is None else now - opened)
        commands = [f'{space}actuator_commands' for space in session.drivers.namespaces]
        contested = ('joint_states', *commands) if session.is_open else ()
        node, inputs, outputs = self._node, {}, {}
        for topic, ours in session.inputs.subscriptions.items():
            inputs[topic] = find_peers(node, topic, ours)
        for driver in session.hosted:
            inputs[driver.topic] = TopicPeers(
                f'driver {driver.host.hardware.name}', ('this process',)
            )
        for topic, publisher in session.outputs.publishers.items():
            if topic in inputs:  # a copy of the states of a hosted driver
                continue
            rivals = list_rivals(node, topic) if topic in contested else ()
            outputs[topic] = find_peers(node, topic, publisher, rivals)
        for driver in session.hosted:
            for topic in (driver.namespace + COMMANDS, driver.namespace + TRAJECTORY):
                peers = outputs[topic]
                names = 'this process', *peers.names
                outputs[topic] = TopicPeers(peers.place, names, peers.incompatible, peers.rivals)
        statuses = session.watch.inspect_bridge(look, inputs, outputs)
        return [*statuses, *(inspect_hosted_driver(driver.host) for driver in session.hosted)]


@lru_cache(256)  # most statuses are as they were a second ago
def _make_message(status: Diagnostic, node: str, hardware: str) -> Any:
    return DiagnosticStatus(
        level=bytes([status.level]),
        name=f'{node}: {status.name}',
        message=status.message,
        hardware_id=clipped(hardware) or 'none',
        values=[KeyValue(key=fact.key, value=str(fact.value)) for fact in status.facts],
    )
