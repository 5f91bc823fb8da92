# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics (REP 107) on ``/diagnostics``, once a second in every state of the life cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import time
import traceback
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from transmission_bridge.bridge.diagnostics import (
    command_status,
    input_status,
    judged,
    NAME_LENGTH,
    output_status,
    Status,
    WARN,
    Window,
)
from transmission_bridge.bridge.robot_diagnostics import actuator_status, transmission_statuses
from transmission_bridge.errors import clipped, indented, shown
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.peers import incompatible_publishers, incompatible_subscribers
from transmission_bridge.ros.session import Session
from transmission_bridge.ros.throttled_log import ThrottledLog

__all__ = ['Diagnostics']

#: Seconds between two messages; REP 107 asks for one.
_PERIOD = 1.0


class Diagnostics:
    """
    Looks at the session, if there is one, and publishes what it finds.

    What transmissions raise is logged here too, as it is no message's fault.

    :param node: The node that it is about.
    :param session: Gives the present session, ``None`` while unconfigured.
    :param description: Where the description comes from.
    :param log: For bugs of ours.
    """

    def __init__(
        self,
        node: LifecycleNode,
        session: Callable[[], Session | None],
        description: DescriptionSource,
        log: ThrottledLog,
    ) -> None:
        self._node = node
        self._session = session
        self._description = description
        self._log = log
        self._watched: Session | None = None
        self._window = Window()
        self._told: set[str] = set()
        self._looked = time.monotonic()
        # Not a life-cycle publisher: these must be heard while the node is inactive.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        # Not the node's clock: simulated time may stand still.
        self._timer = node.create_timer(
            _PERIOD, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _tick(self) -> None:
        try:
            self.publish()
        except Exception:  # a bug must not cost the executor
            self._log.error(('diagnostics', 'bug'), f'diagnostics: bug\n{traceback.format_exc()}')

    def publish(self) -> None:
        """Publish one message now."""
        session = self._session()
        if session is not self._watched:
            self._watched, self._window, self._told = session, Window(), set()
        now = time.monotonic()
        period, self._looked = now - self._looked, now
        statuses = [self._life(session)]
        if session is not None:
            statuses += self._of_session(session, period)
            self._tell_exceptions(session)
        name = self._node.get_fully_qualified_name().lstrip('/')
        hardware = session.robot.robot.name if session is not None else ''
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [_message(status, name, hardware or 'none') for status in statuses]
        self._publisher.publish(message)

    def _tell_exceptions(self, session: Session) -> None:
        """Log the traceback of each transmission that has begun to raise, once."""
        for report in session.reports:
            for name in report.errors.keys() - self._told:
                self._told.add(name)
                self._node.get_logger().error(
                    f'transmission {shown(name)} raised, what it should have mapped is unknown\n'
                    f'{indented(clipped(report.errors[name]))}'
                )

    def _life(self, session: Session | None) -> Status:
        state = self._node._state_machine.current_state[1]  # rclpy has no public access to it
        values: dict[str, object] = {'state': state, 'description': self._description.place}
        troubles = []
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
                troubles.append((WARN, f'{state}; the description has errors'))
        return judged('life cycle', troubles, values, state)

    def _of_session(self, session: Session, period: float) -> list[Status]:
        now = session.time()
        window = self._window
        timeout = session.options.state_timeout if session.is_open else 0.0
        stale = session.states.merged.stale(now) & session.is_open
        inputs = session.inputs
        return [
            *(
                input_status(
                    statistics,
                    window,
                    now=now,
                    period=period,
                    incompatible=incompatible_publishers(
                        self._node, topic, inputs.subscriptions[topic].qos_profile
                    ),
                    timeout=timeout if topic in session.state_topics else 0.0,
                )
                for topic, statistics in inputs.statistics.items()
            ),
            *(
                output_status(
                    topic, incompatible_subscribers(self._node, topic, publisher.qos_profile)
                )
                for topic, publisher in session.outputs.publishers.items()
            ),
            actuator_status(session.robot, session.states.merged, stale=stale, now=now),
            *transmission_statuses(
                session.robot,
                session.states.merged,
                session.reports,
                window,
                stale=stale,
            ),
            *(
                command_status(inputs.statistics[topic], session.commands.counts[topic], window)
                for topic in session.command_topics
            ),
        ]


def _message(status: Status, node: str, hardware: str) -> Any:
    return DiagnosticStatus(
        level=bytes([status.level]),
        name=f'{node}: {status.name}',
        message=status.message,
        hardware_id=clipped(hardware, NAME_LENGTH),
        values=[KeyValue(key=key, value=value) for key, value in status.values],
    )
