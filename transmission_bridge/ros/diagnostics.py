# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Publish diagnostics (REP 107) once a second in every state of the life cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
import math
import time
import traceback
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from transmission_bridge.bridge.diagnostics import (
    BridgeWatch,
    ERROR,
    Look,
    make_status,
    NAME_LENGTH,
    Peers,
    Recent,
    Status,
    Trouble,
    TroubleLog,
    WARN,
)
from transmission_bridge.description import Finding
from transmission_bridge.errors import clipped, indented, shortened, shown
from transmission_bridge.ros.channels import describe_endpoint
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.optional_topics import TRAJECTORY_TOPIC
from transmission_bridge.ros.peers import (
    describe_incompatible_peers,
    Graph,
    list_node_names,
    name_type,
)
from transmission_bridge.ros.session import BridgeSession, is_simulated, STEADY
from transmission_bridge.ros.throttled_log import ThrottledLog

#: Period of the messages [s]; REP 107 requires 1 s.
_PERIOD = 1.0

#: Longest period [s] for the judgement of rates: a process may have been stopped for longer.
_LONGEST_PERIOD = 1.5

#: Seconds after which a node of the same name in the graph is alive: beyond the lease of a killed
#: one (20 s).
_LEASE = 25.0


class NodeFacts(NamedTuple):
    """
    Facts about the node itself.

    :param state: State of its life cycle.
    :param failure: Reason why the last transition failed; empty if it succeeded.
    :param refused: Numbers of ``tuned_file`` that were rejected at configure.
    :param absence: Reason why it waits, as a sentence; empty if it does not wait.
    """

    state: str
    failure: str
    refused: tuple[Finding, ...]
    absence: str


class DiagnosticsPublisher:
    """
    Publishes diagnostics of node and session, and logs the start and the end of each trouble.

    :param node: The node.
    :param facts: Returns the facts about the node.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param description: The source of the description.
    :param log: Receives bugs.
    """

    def __init__(
        self,
        node: LifecycleNode,
        facts: Callable[[], NodeFacts],
        session: Callable[[], BridgeSession | None],
        description: DescriptionSource,
        log: ThrottledLog,
    ) -> None:
        self._node = node
        self._facts = facts
        self._session = session
        self._description = description
        self._log = log
        self._name = node.get_fully_qualified_name().lstrip('/')
        self._watched: BridgeSession | None = None
        self._opened: float | None = None
        self._watch: BridgeWatch | None = None
        self._clock_time: float | None = None
        self._recent = Recent()
        self._node_log, self._session_log = TroubleLog(), TroubleLog()
        self._looked = time.monotonic()
        # A plain publisher, because diagnostics are published in every state.
        self._publisher = node.create_publisher(
            **describe_endpoint('/diagnostics', overridable=False)
        )
        # Not the node's clock: simulated time may stand still.
        self._timer = node.create_timer(_PERIOD, self._publish_safely, clock=STEADY)

    def _publish_safely(self) -> None:
        try:
            self.publish_diagnostics()
        except Exception:  # a bug must not end the executor
            self._log.error(('diagnostics', 'bug'), f'diagnostics: bug\n{traceback.format_exc()}')

    def publish_diagnostics(self) -> None:
        """Publish one message now."""
        session = self._session()
        self._follow_session(session)
        now = time.monotonic()
        period, self._looked = now - self._looked, now
        graph = Graph(self._node)
        statuses = [self._inspect_life_cycle(session, graph)]
        if session is not None and self._watch is not None:
            statuses += self._watch.inspect_bridge(
                self._read_time(session, graph, period),
                self._find_input_peers(session, graph),
                self._find_output_peers(session, graph),
                session.reports,
                {topic: topic == TRAJECTORY_TOPIC for topic in session.command_topics},
            )
        self._log_troubles(statuses[:1], self._node_log)
        if session is not None and session.is_open:
            self._log_troubles(statuses[1:], self._session_log)
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        hardware = (session.robot.description.name if session is not None else '') or 'none'
        message.status = [_make_status_message(each, self._name, hardware) for each in statuses]
        self._publisher.publish(message)

    def _follow_session(self, session: BridgeSession | None) -> None:
        """Forget the results of another session, or of the time before it was opened or closed."""
        opened = session.opened if session is not None and session.is_open else None
        if session is not self._watched:
            self._watch = None
            if session is not None:
                statistics = session.inputs.statistics
                self._watch = BridgeWatch(session.bridge, statistics, session.state_topics)
        elif opened == self._opened:
            return
        self._watched, self._opened, self._clock_time = session, opened, None
        self._session_log = TroubleLog()
        if self._watch is not None and opened is not None:
            self._watch.restart()

    def _log_troubles(self, statuses: Iterable[Status], log: TroubleLog) -> None:
        logger = self._node.get_logger()
        for level, text in log.list_log_lines(statuses):
            text = indented(clipped(text))
            # Each severity has a line of its own: rclpy allows one severity per line of code.
            if level == ERROR:
                logger.error(text)
            elif level == WARN:
                logger.warning(text)
            else:
                logger.info(text)

    # fmt: off
    def _inspect_life_cycle(self, session: BridgeSession | None, graph: Graph) -> Status:
        node, recent, facts, clock = self._node, self._recent, self._facts(), ''
        # Not by the names of nodes: that of a process that ended may stay in the graph forever,
        # because rmw_dds_common adds it again if its last message is late.
        is_shared = node.count_publishers(f'/{self._name}/transition_event') > 1
        namesake = (f'another node has the same name {shown("/" + self._name)}; both publish the '
                    'same topics and answer the same services: stop one of them, or give it '
                    'another namespace' if is_shared else '')
        if is_simulated(node) and not graph.list_publishers('/clock'):
            clock = (f'use_sim_time is set and {graph.resolve_topic("/clock")} has 0 publishers: '
                     'start the simulator, or set use_sim_time to false')
            if session is not None and session.options.publish_rate:
                clock += ' (publish_rate is by that clock: nothing is published)'
        troubles = [
            Trouble('', ERROR, facts.failure),
            # Confirmed over a time, because another process may be starting it.
            Trouble('start', WARN, recent.confirm(('start', facts.state), facts.absence)),
            Trouble('clock', WARN, recent.confirm('clock', clock)),
            Trouble('name', ERROR, recent.confirm('name', namesake, _LEASE)),
        ]
        values = {'state': facts.state, 'description': self._description.origin}
        if session is not None:
            robot = session.robot
            found = Counter(each.severity for each in robot.findings)
            troubles += [
                # Both are logged at configure.
                Trouble('', WARN, 'the description has errors' if found['error'] else ''),
                Trouble('', ERROR, shortened([each.text for each in facts.refused], show=str)),
                Trouble('missing', ERROR, session.missing),
            ]
            values |= {
                'robot': robot.description.name,
                'joints': str(len(robot.joint_names)),
                'actuators': str(len(robot.actuator_names)),
                'transmissions': str(len(robot.transmissions)),
                'passed through': ', '.join(robot.pass_through),
                **{f'findings {kind}': str(found[kind]) for kind in ('error', 'warning', 'info')},
            }
        return make_status('life cycle', troubles, values, state=facts.state)
    # fmt: on

    def _read_time(self, session: BridgeSession, graph: Graph, period: float) -> Look:
        now = session.time()
        before, self._clock_time = self._clock_time, now
        elapsed = min(period, time.monotonic() - session.opened, _LONGEST_PERIOD)
        # In simulated time if it is shorter.
        if is_simulated(self._node) and graph.list_publishers('/clock'):
            elapsed = 0.0 if before is None else min(max(now - before, 0.0), elapsed)
        return Look(now, period, elapsed, is_open=session.is_open)

    def _find_input_peers(self, session: BridgeSession, graph: Graph) -> dict[str, Peers]:
        found = {}
        own = (*session.inputs.subscriptions, *session.outputs.publishers)
        for topic, subscription in session.inputs.subscriptions.items():
            nodes, is_state = graph.list_publishers(topic), topic in session.state_topics
            names = list_node_names(nodes, name_type(subscription))
            heard = session.inputs.statistics[topic].heard
            is_missing = session.is_open and is_state and not nodes and heard == -math.inf
            is_contested = is_state or topic in session.command_topics
            found[topic] = Peers(
                graph.resolve_topic(topic),
                _join_names(describe_incompatible_peers(nodes, subscription)),
                {bytes(node.endpoint_gid): name for node, name in zip(nodes, names, strict=True)},
                elsewhere=graph.list_joint_state_topics(own, topic) if is_missing else (),
                rivals=_join_names(graph.list_bridges(topic) if is_contested else ()),
            )
        return found

    def _find_output_peers(self, session: BridgeSession, graph: Graph) -> dict[str, Peers]:
        found = {}
        commands = {f'{each}actuator_commands' for each in session.drivers.namespaces}
        drivers = [peer for each in session.state_topics for peer in graph.list_publishers(each)]
        for topic, publisher in session.outputs.publishers.items():
            nodes = graph.list_subscribers(topic)
            has_rivals = session.is_open and topic in {'joint_states', *commands}
            is_missing = topic in commands and not nodes
            own = session.outputs.publishers
            found[topic] = Peers(
                graph.resolve_topic(topic),
                _join_names(describe_incompatible_peers(nodes, publisher)),
                elsewhere=graph.list_subscriptions(drivers, own) if is_missing else (),
                rivals=_join_names(graph.list_rival_nodes(topic) if has_rivals else ()),
                is_heard=bool(nodes),
            )
        return found


def _join_names(names: Sequence[str]) -> str:
    return shortened(names, show=str)


@lru_cache(256)  # most statuses are as they were a second ago
def _make_status_message(status: Status, node: str, hardware: str) -> Any:
    return DiagnosticStatus(
        level=bytes([status.level]),
        name=f'{node}: {status.name}',
        message=status.message,
        hardware_id=clipped(hardware, NAME_LENGTH),
        values=[KeyValue(key=key, value=value) for key, value in status.values],
    )
