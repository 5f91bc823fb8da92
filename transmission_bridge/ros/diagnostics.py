# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics (REP 107) on ``/diagnostics``, once a second in every state of the life cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
import math
import time
import traceback
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from transmission_bridge.bridge.diagnostics import (
    ERROR,
    judge_part,
    NAME_LENGTH,
    Status,
    TroubleLog,
    WARN,
)
from transmission_bridge.bridge.snapshot import BridgeWatch, Changes, LifeCycle, Moment, Peers
from transmission_bridge.description import Finding
from transmission_bridge.errors import clipped, indented, shortened, shown
from transmission_bridge.ros.channels import endpoint
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.optional_topics import TRAJECTORY_TOPIC
from transmission_bridge.ros.peers import (
    Graph,
    incompatible_publishers,
    incompatible_subscribers,
    JOINT_STATE,
    names_of,
    Namesake,
    SharedTopic,
)
from transmission_bridge.ros.session import is_simulated, Session, STEADY
from transmission_bridge.ros.throttled_log import ThrottledLog

#: Seconds between two messages; REP 107 asks for one.
_PERIOD = 1.0

#: Longest time between two looks [s] that counts: a process may have been stopped for longer.
_LONGEST_PERIOD = 1.5


class NodeFacts(NamedTuple):
    """
    What the node knows of itself.

    :param state: State of its life cycle.
    :param failure: Why the last transition failed, empty if it succeeded.
    :param refused: What was refused of ``tuned_file`` when it was configured.
    :param absence: What it waits for, as a sentence; empty if it waits for nothing.
    """

    state: str
    failure: str
    refused: tuple[Finding, ...]
    absence: str


class Diagnostics:
    """
    Watches node and session, publishes what it finds, and logs troubles that begin and end.

    Exceptions of transmissions are logged here too, because no message is to blame for them.

    :param node: The node to watch.
    :param facts: Returns what it knows of itself.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param description: The source of the description.
    :param log: Where bugs are logged.
    """

    def __init__(
        self,
        node: LifecycleNode,
        facts: Callable[[], NodeFacts],
        session: Callable[[], Session | None],
        description: DescriptionSource,
        log: ThrottledLog,
    ) -> None:
        self._node = node
        self._facts = facts
        self._session = session
        self._description = description
        self._log = log
        self._name = node.get_fully_qualified_name().lstrip('/')
        self._watched: Session | None = None
        self._opened: float | None = None
        self._watch: BridgeWatch | None = None
        self._shared: dict[str, SharedTopic] = {}
        self._clock_time: float | None = None
        self._window = Changes()
        self._node_log, self._session_log = TroubleLog(), TroubleLog()
        self._namesake = Namesake(node, self._name)
        self._told: set[str] = set()
        self._sent: dict[tuple[int, str], tuple[Any, Status, Any]] = {}
        self._looked = time.monotonic()
        # Not a life-cycle publisher: diagnostics are published in every state.
        self._publisher = node.create_publisher(**endpoint('/diagnostics', overridable=False))
        # Not the node's clock: simulated time may stand still.
        self._timer = node.create_timer(_PERIOD, self._tick, clock=STEADY)

    def _tick(self) -> None:
        try:
            self.publish()
        except Exception:  # a bug must not end the executor
            self._log.error(('diagnostics', 'bug'), f'diagnostics: bug\n{traceback.format_exc()}')

    def publish(self) -> None:
        """Publish one message now."""
        session = self._session()
        self._follow(session)
        now = time.monotonic()
        period, self._looked = now - self._looked, now
        graph = Graph(self._node)
        parts: list[Any] = [self._life(session, graph)]
        if session is not None and self._watch is not None:
            parts += self._watch.take_snapshot(
                self._look(session, graph, period),
                self._inputs(session, graph),
                self._outputs(session, graph),
                session.reports,
                session.misplaced_encoders,
                {topic: topic == TRAJECTORY_TOPIC for topic in session.command_topics},
            )
        hardware = session.robot.robot.name if session is not None else ''
        life, *others = self._judged(parts, hardware or 'none')
        self._tell([life[0]], self._node_log)
        if session is not None:
            self._tell_exceptions(session)
            if session.is_open:
                self._tell((status for status, _ in others), self._session_log)
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [each for _, each in (life, *others)]
        self._publisher.publish(message)

    def _judged(self, parts: Iterable[Any], hardware: str) -> list[tuple[Status, Any]]:
        """Return statuses and messages; reuse those that have not changed."""
        before, self._sent = self._sent, {}
        for number, part in enumerate(parts):
            # Numbered, because two statuses may have one name.
            key = (number, hardware)
            known, status, message = before.get(key, (None, None, None))
            if status is None or part != known:
                said, status = status, judge_part(part)
                if status != said:
                    message = _message(status, self._name, hardware)
            self._sent[key] = part, status, message
        return [(status, message) for _, status, message in self._sent.values()]

    def _follow(self, session: Session | None) -> None:
        """Forget what was found in another session, or before it was opened or closed."""
        opened = session.opened if session is not None and session.is_open else None
        if session is not self._watched:
            self._told = set()
            self._watch = None
            if session is not None:
                statistics = session.inputs.statistics
                self._watch = BridgeWatch(session.bridge, statistics, session.state_topics)
        elif opened == self._opened:
            return
        self._watched, self._opened, self._clock_time = session, opened, None
        self._session_log = TroubleLog()
        for shared in self._shared.values():
            shared.close()
        self._shared = {}
        if session is not None and self._watch is not None and opened is not None:
            self._watch.restart()
            knows = session.states.merged.knows_name
            for topic in session.state_topics:
                self._shared[topic] = SharedTopic(self._node, topic, partial(knows, topic))

    def _tell(self, statuses: Iterable[Status], log: TroubleLog) -> None:
        logger = self._node.get_logger()
        for level, text in log.find_log_lines(statuses):
            text = indented(clipped(text))
            # rclpy allows each line of code one severity.
            if level == ERROR:
                logger.error(text)
            elif level == WARN:
                logger.warning(text)
            else:
                logger.info(text)

    def _tell_exceptions(self, session: Session) -> None:
        """Log each failing transmission's traceback once."""
        for report in session.reports:
            for name in report.errors.keys() - self._told:
                self._told.add(name)
                self._node.get_logger().error(
                    f'transmission {shown(name)} raised, what it should have mapped is unknown\n'
                    f'{indented(clipped(report.errors[name]))}'
                )

    def _life(self, session: Session | None, graph: Graph) -> LifeCycle:
        node, window, facts = self._node, self._window, self._facts()
        no_clock = is_simulated(node) and not graph.publishers('/clock')
        life = LifeCycle(
            facts.state,
            self._description.place,
            facts.failure,
            # Not at once: somebody may be about to start it.
            window.find_confirmed(('start', facts.state), facts.absence),
            graph.resolved('/clock') if window.find_settled('clock', no_clock) else '',
            shown('/' + self._name) if self._namesake.look(graph) else '',
        )
        if session is None:
            return life
        return replace(
            life,
            robot=session.robot,
            refused=shortened([each.text for each in facts.refused], show=str),
            missing=session.missing,
            is_clocked=session.options.publish == 'rate',
        )

    def _look(self, session: Session, graph: Graph, period: float) -> Moment:
        now = session.time()
        before, self._clock_time = self._clock_time, now
        elapsed = min(period, time.monotonic() - session.opened, _LONGEST_PERIOD)
        # In simulated time if fewer seconds passed there.
        if is_simulated(self._node) and graph.publishers('/clock'):
            elapsed = 0.0 if before is None else min(max(now - before, 0.0), elapsed)
        return Moment(now, period, elapsed, is_open=session.is_open)

    def _inputs(self, session: Session, graph: Graph) -> dict[str, Peers]:
        found = {}
        own = (*session.inputs.subscriptions, *session.outputs.publishers)
        for topic, subscription in session.inputs.subscriptions.items():
            nodes, shared = graph.publishers(topic), self._shared.get(topic)
            names = names_of(nodes, JOINT_STATE)
            heard = session.inputs.statistics[topic].heard
            is_missing = shared is not None and not nodes and heard == -math.inf
            bridges = graph.bridges(topic) if topic in session.command_topics else ()
            found[topic] = Peers(
                graph.resolved(topic),
                _listed(incompatible_publishers(nodes, subscription.qos_profile)),
                {bytes(node.endpoint_gid): name for node, name in zip(nodes, names, strict=True)},
                graph.joint_state_topics(own, topic) if is_missing else (),
                shortened(shared.look(nodes)) if shared is not None else '',
                _listed(bridges),
            )
        return found

    def _outputs(self, session: Session, graph: Graph) -> dict[str, Peers]:
        found = {}
        namespaces = session.drivers.namespaces
        contested = {'joint_states', *(f'{each}actuator_commands' for each in namespaces)}
        for topic, publisher in session.outputs.publishers.items():
            nodes = graph.subscribers(topic)
            has_rivals = session.is_open and topic in contested
            found[topic] = Peers(
                graph.resolved(topic),
                _listed(incompatible_subscribers(nodes, publisher.qos_profile)),
                rivals=_listed(graph.rivals(topic) if has_rivals else ()),
                is_heard=bool(nodes),
            )
        return found


def _listed(names: Sequence[str]) -> str:
    return shortened(names, show=str)


def _message(status: Status, node: str, hardware: str) -> Any:
    return DiagnosticStatus(
        level=bytes([status.level]),
        name=f'{node}: {status.name}',
        message=status.message,
        hardware_id=clipped(hardware, NAME_LENGTH),
        values=[KeyValue(key=key, value=value) for key, value in status.values],
    )
