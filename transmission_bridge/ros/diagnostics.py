# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics (REP 107) on ``/diagnostics``, once a second in every state of the life cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
import math
import time
import traceback
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.lifecycle import LifecycleNode

from transmission_bridge.bridge.diagnostics import (
    actuator_status,
    command_status,
    ERROR,
    gate_status,
    input_status,
    judged,
    NAME_LENGTH,
    output_status,
    Status,
    transmission_statuses,
    Trouble,
    TroubleLog,
    WARN,
    Window,
)
from transmission_bridge.bridge.driver_watch import ActuatorWatch, DriverWatch, GRACE
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
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['Diagnostics']

#: Seconds between two messages; REP 107 asks for one.
_PERIOD = 1.0

#: Longest time between two looks [s] that counts: a process may have been stopped for longer.
_LONGEST_PERIOD = 1.5


class WatchedNode(LifecycleNode):
    """
    What diagnostics ask of the node.

    :ivar life_state: State of its life cycle.
    :ivar failure: Why the last transition failed, empty if it succeeded.
    :ivar tuned_findings: What was refused of ``tuned_file`` when it was configured.
    """

    life_state: str
    failure: str
    tuned_findings: tuple[Finding, ...]

    def start_missing(self) -> str:
        """Return a sentence on what it waits for, empty where it waits for nothing."""
        raise NotImplementedError


class Diagnostics:
    """
    Watches node and session, publishes what it finds, and logs troubles that begin and end.

    Exceptions of transmissions are logged here too, because no message is to blame for them.

    :param node: The node to watch.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param description: The source of the description.
    :param log: Where bugs are logged.
    """

    def __init__(
        self,
        node: WatchedNode,
        session: Callable[[], Session | None],
        description: DescriptionSource,
        log: ThrottledLog,
    ) -> None:
        self._node = node
        self._session = session
        self._description = description
        self._log = log
        self._name = node.get_fully_qualified_name().lstrip('/')
        self._watched: Session | None = None
        self._watch: _ActiveWatch | None = None
        self._window, self._node_window = Window(), Window()
        self._node_log = TroubleLog()
        self._namesake = Namesake(node, self._name)
        self._told: set[str] = set()
        self._sent: dict[tuple[int, str], tuple[Status, Any]] = {}
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
        if session is not self._watched:
            self._watched, self._window, self._told = session, Window(), set()
        now = time.monotonic()
        period, self._looked = now - self._looked, now
        graph = Graph(self._node)
        life = self._life(session).troubled(self._of_node(graph, session))
        self._tell([life], self._node_log)
        statuses = [life]
        watch = self._watch_of(session)
        if session is not None:
            statuses += self._of_session(session, graph, watch, period)
            self._tell_exceptions(session)
            if watch is not None:
                self._tell(statuses[1:], watch.log)
        hardware = session.robot.robot.name if session is not None else ''
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = self._messages(statuses, hardware or 'none')
        self._publisher.publish(message)

    def _messages(self, statuses: Iterable[Status], hardware: str) -> list[Any]:
        """Return them as messages; reuse the last ones of those that have not changed."""
        before, self._sent = self._sent, {}
        for number, status in enumerate(statuses):
            # Numbered, because two statuses may have one name.
            key = (number, hardware)
            known, message = before.get(key, (None, None))
            if known != status:
                message = _message(status, self._name, hardware)
            self._sent[key] = status, message
        return [message for _, message in self._sent.values()]

    def _watch_of(self, session: Session | None) -> _ActiveWatch | None:
        """Return the watch of the session since it was opened, ``None`` while it is closed."""
        if session is not None and not session.is_open:
            session = None
        watch = self._watch
        if watch is not None and not (
            session is not None and watch.session is session and watch.opened == session.opened
        ):
            watch.close()
            watch = None
        if watch is None and session is not None:
            watch = _ActiveWatch(self._node, session)
        self._watch = watch
        return watch

    def _tell(self, statuses: Iterable[Status], log: TroubleLog) -> None:
        logger = self._node.get_logger()
        for level, text in log.look(statuses):
            text = indented(clipped(text))
            # rclpy allows each line of code one severity.
            if level == ERROR:
                logger.error(text)
            elif level == WARN:
                logger.warning(text)
            else:
                logger.info(text)

    def _of_node(self, graph: Graph, session: Session | None) -> list[Trouble]:
        """Return troubles around the node, in any state."""
        troubles = []
        has_clock = bool(graph.publishers('/clock'))
        needs_clock = is_simulated(self._node)
        if self._node_window.settled('clock', needs_clock and not has_clock):
            words = (
                f'use_sim_time is set and {graph.resolved("/clock")} has 0 publishers: start the '
                'simulator, or set use_sim_time to false'
            )
            if session is not None and session.options.publish == 'rate':
                words += ' (publish is rate, by that clock: nothing is published)'
            troubles.append(Trouble(WARN, words, 'clock'))
        if self._namesake.look(graph):
            words = (
                f'another node has the name {shown("/" + self._name)} too, so that both publish '
                'the same topics and answer the same services: end one of them, or give it '
                'another namespace'
            )
            troubles.append(Trouble(WARN, words, 'name'))
        return troubles

    def _tell_exceptions(self, session: Session) -> None:
        """Log each failing transmission's traceback once."""
        for report in session.reports:
            for name in report.errors.keys() - self._told:
                self._told.add(name)
                self._node.get_logger().error(
                    f'transmission {shown(name)} raised, what it should have mapped is unknown\n'
                    f'{indented(clipped(report.errors[name]))}'
                )

    def _life(self, session: Session | None) -> Status:
        state = self._node.life_state
        values: dict[str, object] = {'state': state, 'description': self._description.place}
        troubles = []
        if failure := self._node.failure:
            troubles.append(Trouble(ERROR, f'{state}: {failure}'))
        missing = self._node.start_missing()
        # Not at once: somebody may be about to start it.
        if self._node_window.settled(('start', state), bool(missing)) and missing:
            troubles.append(Trouble(WARN, f'{state}: {missing}', 'start'))
        if session is not None:
            robot = session.robot
            found = Counter(finding.severity for finding in robot.findings)
            values |= {
                'robot': robot.robot.name,
                'joints': len(robot.joint_names),
                'actuators': len(robot.actuator_names),
                'transmissions': len(robot.transmissions),
                'passed through': ', '.join(robot.pass_through),
                **{f'findings {kind}': found[kind] for kind in ('error', 'warning', 'info')},
            }
            if found['error']:
                troubles.append(Trouble(WARN, f'{state}; the description has errors'))
            if refused := self._node.tuned_findings:
                # Logged at configure.
                words = shortened([each.text for each in refused], show=str)
                troubles.append(Trouble(ERROR, f'{state}; {words}'))
            if session.missing:
                troubles.append(Trouble(ERROR, f'{state}; {session.missing}', 'missing'))
        return judged('life cycle', troubles, values, state)

    def _of_session(
        self, session: Session, graph: Graph, watch: _ActiveWatch | None, period: float
    ) -> list[Status]:
        now = session.time()
        window = self._window
        inputs = session.inputs
        stale = session.states.merged.stale(now) & session.is_open
        of_topics: Mapping[str, list[Trouble]] = {}
        of_actuators: list[Trouble] = []
        if watch is not None:
            of_topics, of_actuators = watch.look(graph, now, period)
            if watch.open_for <= GRACE:
                stale &= np.isfinite(session.states.merged.newest())
        unheard = self._unheard(session, graph)
        return [
            *(
                input_status(
                    statistics,
                    window,
                    place=graph.resolved(topic),
                    now=now,
                    period=period,
                    incompatible=incompatible_publishers(
                        graph.publishers(topic), inputs.subscriptions[topic].qos_profile
                    ),
                    troubles=of_topics.get(topic, ()),
                    fine=self._fine(session, topic),
                    timeout=(
                        session.states.merged.timeout_of(topic)
                        if topic in session.state_topics
                        else None
                    ),
                )
                for topic, statistics in inputs.statistics.items()
            ),
            *(
                output_status(
                    topic,
                    graph.resolved(topic),
                    incompatible_subscribers(graph.subscribers(topic), publisher.qos_profile),
                    of_topics.get(topic, ()),
                )
                for topic, publisher in session.outputs.publishers.items()
            ),
            actuator_status(
                session.robot,
                session.states.merged,
                stale=stale,
                now=now,
                troubles=of_actuators,
                is_told=any(of_topics.get(topic) for topic in session.state_topics),
                driver_names=session.drivers.names,
            ),
            *transmission_statuses(
                session.robot,
                session.states.merged,
                session.reports,
                window,
                stale=stale,
                misplaced=session.misplaced_encoders,
            ),
            *(
                command_status(
                    inputs.statistics[topic],
                    session.gate.ledger.counts[topic],
                    window,
                    unheard[topic == TRAJECTORY_TOPIC],
                    self._other_bridges(graph, topic),
                )
                for topic in session.command_topics
            ),
            gate_status(session.gate),
        ]

    def _unheard(self, session: Session, graph: Graph) -> tuple[str, str]:
        """Return topics of commands and of trajectories without listeners, each as one text."""
        arrays = (f'actuator_{field}_commands' for field in FIELDS)
        found = []
        for reached, names in zip(
            session.drivers.reached,
            (('actuator_commands', *arrays), ('actuator_trajectory',)),
            strict=True,
        ):
            unheard = []
            for namespace in sorted(reached):
                topics = [f'{namespace}{name}' for name in names]
                listens = graph.has_listeners(set(topics) & session.outputs.publishers.keys())
                if self._window.settled(('unheard', topics[0]), not listens) and not listens:
                    unheard.append(graph.resolved(topics[0]))
            found.append(', '.join(unheard))
        return found[0], found[1]

    def _other_bridges(self, graph: Graph, topic: str) -> list[Trouble]:
        """Return the trouble that other bridges receive the same commands."""
        bridges = graph.bridges(topic)
        if not (self._window.settled(('bridges', topic), bool(bridges)) and bridges):
            return []
        words = (
            f'{graph.resolved(topic)} is also received by another bridge '
            f'({shortened(bridges, show=str)}), so that each command moves both robots: give each '
            f'bridge a topic of its own, by a namespace and relative names, or remap {topic}'
        )
        return [Trouble(ERROR, words, 'other bridges')]

    def _fine(self, session: Session, topic: str) -> str:
        if not session.is_open:
            return 'not listened to while the node is inactive'
        return 'waiting for the driver' if topic in session.state_topics else 'not used'


class _ActiveWatch:
    """
    Drivers, actuators and other publishers, watched from activation to deactivation.

    :ivar open_for: Seconds since activation, without those in which simulated time stood still.
    """

    def __init__(self, node: LifecycleNode, session: Session) -> None:
        self._node = node
        self.session = session
        self.opened = session.opened
        self.log = TroubleLog()
        self.open_for = 0.0
        self._window = Window()
        self._clock_time: float | None = None
        merged = session.states.merged
        self._drivers = {
            topic: DriverWatch(node.resolve_topic_name(topic), partial(merged.timeout_of, topic))
            for topic in session.state_topics
        }
        self._shared = {
            topic: SharedTopic(node, topic, partial(merged.knows, topic))
            for topic in session.state_topics
        }
        self._actuators = ActuatorWatch(session.robot, node.resolve_topic_name)

    def close(self) -> None:
        """Stop listening."""
        for shared in self._shared.values():
            shared.close()

    def look(
        self, graph: Graph, now: float, period: float
    ) -> tuple[dict[str, list[Trouble]], list[Trouble]]:
        """Return the troubles of topics and those of actuators."""
        elapsed = self._elapsed(graph, now, min(period, time.monotonic() - self.opened))
        self.open_for += elapsed
        merged = self.session.states.merged
        found: dict[str, list[Trouble]] = {}
        names = {}
        for topic, driver in self._drivers.items():
            peers = graph.publishers(topic)
            names[topic] = names_of(peers, JOINT_STATE)
            statistics = self.session.inputs.statistics[topic]
            found[topic] = driver.look(
                statistics,
                merged.given_by(topic),
                now=now,
                elapsed=elapsed,
                open_for=self.open_for,
                publishers={
                    bytes(peer.endpoint_gid): name
                    for peer, name in zip(peers, names[topic], strict=True)
                },
                others=self._others(graph, topic) if not peers else (),
            )
            shared = self._shared[topic].look(peers)
            if shared:
                words = (
                    f'several publishers of {graph.resolved(topic)} '
                    f'({shortened(names[topic], show=str)}) give {shortened(shared)} in turn: '
                    'end one of them, or let one driver give each actuator'
                )
                found[topic].append(Trouble(WARN, words, 'shared'))
        namespaces = self.session.drivers.namespaces
        for topic in ('joint_states', *(f'{each}actuator_commands' for each in namespaces)):
            rivals = graph.rivals(topic)
            if self._window.settled(topic, bool(rivals)) and rivals:
                words = (
                    f'{graph.resolved(topic)} is published by others too: '
                    f'{shortened(rivals, show=str)}; listeners get both in turn: remap one of them'
                )
                found[topic] = [Trouble(WARN, words, 'published by others')]
        publishers = names
        of_actuators = self._actuators.look(
            merged, self._window, open_for=self.open_for, publishers=publishers
        )
        return found, of_actuators

    def _others(self, graph: Graph, topic: str) -> list[str]:
        session = self.session
        if session.inputs.statistics[topic].heard > -math.inf:
            return []
        own = (*session.inputs.subscriptions, *session.outputs.publishers)
        return graph.joint_state_topics(own, topic)

    def _elapsed(self, graph: Graph, now: float, period: float) -> float:
        """Return the seconds since the last look, in simulated time if fewer passed there."""
        before, self._clock_time = self._clock_time, now
        period = min(period, _LONGEST_PERIOD)
        if not is_simulated(self._node):
            return period
        if not graph.publishers('/clock'):
            return period
        return 0.0 if before is None else min(max(now - before, 0.0), period)


def _message(status: Status, node: str, hardware: str) -> Any:
    return DiagnosticStatus(
        level=bytes([status.level]),
        name=f'{node}: {status.name}',
        message=status.message,
        hardware_id=clipped(hardware, NAME_LENGTH),
        values=[KeyValue(key=key, value=value) for key, value in status.values],
    )
