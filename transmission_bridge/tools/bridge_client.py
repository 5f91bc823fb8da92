# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A command's own node beside running bridges: diagnostics, joint states, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
import importlib
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import OK, Status
from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.messages.joint_state import (
    JointStateRecord,
    Layout,
    LayoutTable,
    record_from_message,
)
from transmission_bridge.tools.cli import UsageError

__all__ = ['ACTIVE', 'BridgeClient', 'Report']

#: The lifecycle state in which a bridge works.
ACTIVE = 'active'

#: Seconds without diagnostics, which come once a second, after which a bridge is gone. The graph
#: of nodes keeps a killed process for longer.
_GONE = 3.5

#: Seconds after which a request is taken for lost.
_PATIENCE = 3.0

#: Seconds to wait for a message at a time.
_STEP = 0.02

#: Queue depth of topics: of what is shown, and of what must be complete.
_DEPTH, _DEEP = 50, 1000

#: The status that bridges have in every lifecycle state, whatever their names are; a key in it.
_LIFE_CYCLE, _STATE = 'life cycle', 'state'

#: The services of parameters, by their types.
_SERVICES = {
    'ListParameters': 'list_parameters',
    'GetParameters': 'get_parameters',
    'SetParametersAtomically': 'set_parameters_atomically',
}

_JOINT_STATE = 'sensor_msgs.msg.JointState'

#: Is called with a message, which is valid during the call, its layout, and the time of receipt.
Received = Callable[[JointStateRecord, Layout, float], None]


@dataclass(frozen=True)
class Report:
    """
    The latest diagnostics of a bridge.

    :param name: Its full name, without the leading slash.
    :param statuses: Statuses by the names of the parts.
    :param heard: Time of receipt [s], ``time.monotonic()``.
    :param start: Increases if the bridge was started again, or was gone: what was asked before
        may be out of date.
    """

    name: str
    statuses: Mapping[str, Status]
    heard: float
    start: int = 0

    @property
    def state(self) -> str:
        """Its lifecycle state."""
        return self.statuses[_LIFE_CYCLE][_STATE]

    @property
    def troubles(self) -> tuple[Status, ...]:
        """Statuses that are not OK, most severe first."""
        found = [status for status in self.statuses.values() if status.level != OK]
        return tuple(sorted(found, key=lambda each: (-each.level, each.name)))

    def is_gone(self, now: float) -> bool:
        """Return whether it no longer sends diagnostics; a killed bridge after 3.5 s."""
        return now - self.heard > _GONE


def reports_of(statuses: Sequence[Status], now: float) -> dict[str, Report]:
    """Return reports by name of the bridges in a message of diagnostics, which may be anyone's."""
    parts: dict[str, dict[str, Status]] = {}
    for status in statuses:
        node, _, part = status.name.partition(': ')
        parts.setdefault(node, {})[part] = status
    return {
        node: Report(node, by_part, now)
        for node, by_part in parts.items()
        if _LIFE_CYCLE in by_part and _STATE in dict(by_part[_LIFE_CYCLE].values)
    }


class BridgeClient:
    """
    A node in a context of its own; it publishes nothing, and leaves signals to the command.

    Everything happens in the thread that calls :meth:`spin_for`.

    :param name: Name of the node.
    :param bridge: Name of a bridge with its namespace, in which the node is then; empty: none in
        particular.
    :ivar node: The node.
    :ivar bridge: Full name of the bridge, with the leading slash.
    :ivar reports: The latest report of each bridge that was heard, by :attr:`Report.name`.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, name: str, bridge: str = '') -> None:
        namespace = bridge.strip('/').rpartition('/')[0]
        self._context = _ros('rclpy.context.Context')()
        try:
            self._context.init(args=[])
            self.node: Any = _ros('rclpy.node.Node')(
                name,
                namespace=namespace,
                context=self._context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except _ros('rclpy.exceptions.InvalidNamespaceException'):
            self._context.try_shutdown()
            raise UsageError(f"'{namespace}' is not a valid namespace") from None
        except (RuntimeError, ValueError) as error:  # such as an impossible ROS_DOMAIN_ID
            self._context.try_shutdown()
            raise UsageError(f'ROS cannot be used: {error}') from None
        self._executor = _ros('rclpy.executors.SingleThreadedExecutor')(context=self._context)
        self._executor.add_node(self.node)
        self.bridge = f'/{bridge.strip("/")}'
        self.reports: dict[str, Report] = {}
        # The number of the last message, by bridge.
        self._sequences: dict[str, int] = {}
        self._subscribe('diagnostic_msgs.msg.DiagnosticArray', '/diagnostics', self._diagnosed)
        self._topics: dict[str, Any] = {}
        self._received: dict[str, Received] = {}
        self._layouts = LayoutTable()
        # Future of each request, its client, when it is taken for lost, and who waits for it.
        self._requests: dict[Any, tuple[Any, float, Callable[[Any, str], None]]] = {}
        self._services = {
            kind: self.node.create_client(
                _ros(f'rcl_interfaces.srv.{kind}'), f'{self.bridge}/{service}'
            )
            for kind, service in _SERVICES.items()
            if bridge
        }

    def _subscribe(
        self,
        kind: str,
        topic: str,
        take: Callable[..., None],
        *,
        is_complete: bool = False,
        **how: Any,
    ) -> Any:
        policies = _ros('rclpy.qos.ReliabilityPolicy')
        profile = _ros('rclpy.qos.QoSProfile')(
            depth=_DEEP if is_complete else _DEPTH,
            # Best effort is compatible with every publisher.
            reliability=policies.RELIABLE if is_complete else policies.BEST_EFFORT,
        )
        return self.node.create_subscription(_ros(kind), topic, take, profile, **how)

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, and give up requests without an answer."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            # With another timeout the executor starts again with the first topic, and if that is
            # busy, others are never handled. So it is the same except for the last time.
            self._executor.spin_once(timeout_sec=min(_STEP, left))
        for future, (client, lost, answered) in list(self._requests.items()):
            if not self.is_present or time.monotonic() > lost:
                del self._requests[future]
                client.remove_pending_request(future)
                answered(None, self._silence)

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    # -- diagnostics -----------------------------------------------------------------------------

    @property
    def report(self) -> Report | None:
        """The latest report of the bridge, also if it is gone; ``None``: it was never heard."""
        return self.reports.get(self.bridge.strip('/'))

    @property
    def is_present(self) -> bool:
        """Whether the bridge is there: it sends diagnostics, and its services are known."""
        report = self.report
        is_silent = report is None or report.is_gone(time.monotonic())
        return not is_silent and all(each.service_is_ready() for each in self._services.values())

    def _diagnosed(self, message: Any, info: Mapping[str, Any]) -> None:
        statuses = [
            Status(
                status.name,
                status.level[0] if isinstance(status.level, bytes) else int(status.level),
                status.message,
                tuple((value.key, value.value) for value in status.values),
            )
            for status in message.status
        ]
        # Counts up for each publisher; ``None`` if the middleware does not count.
        sequence = info['publication_sequence_number'] or 0
        for name, report in reports_of(statuses, time.monotonic()).items():
            before = self.reports.get(name, report)
            is_other = sequence < self._sequences.get(name, 0) or before.is_gone(report.heard)
            self._sequences[name] = sequence
            self.reports[name] = replace(report, start=before.start + is_other)

    # -- joint states ----------------------------------------------------------------------------

    def follow(self, topics: Mapping[str, Received], *, is_complete: bool = False) -> None:
        """
        Subscribe to these topics of joint states, and to no others any longer.

        :param topics: What to call for each message, by name of the topic.
        :param is_complete: Whether every message counts, for publishers that are reliable.
        """
        self._received = dict(topics)
        for topic in self._topics.keys() - topics.keys():
            self.node.destroy_subscription(self._topics.pop(topic))
        for topic in topics.keys() - self._topics.keys():
            self._topics[topic] = self._subscribe(
                _JOINT_STATE, topic, self._decoder(topic), is_complete=is_complete, raw=True
            )

    def other_topics(self) -> list[str]:
        """Return the full names of published topics of joint states that are not followed."""
        followed = {self.node.resolve_topic_name(topic) for topic in self._topics}
        return [
            name
            for name, types in self.node.get_topic_names_and_types()
            if _JOINT_STATE.replace('.', '/') in types
            and name not in followed
            and self.node.count_publishers(name)
        ]

    def _decoder(self, topic: str) -> Callable[[bytes], None]:
        reader = JointStateReader(self._layouts)
        deserialize = _ros('rclpy.serialization.deserialize_message')

        def take(data: bytes) -> None:
            now, received = time.monotonic(), self._received.get(topic)
            if received is None:  # no longer followed, and a message was on its way
                return
            try:
                view = reader.read(data)
            except UnusualMessageError:
                try:
                    record = record_from_message(deserialize(data, _ros(_JOINT_STATE)))
                except Exception:  # not a message of this type
                    return
                received(record, self._layouts.get(record.names, record.lengths), now)
            else:
                received(view, view.layout, now)

        return take

    # -- parameters ------------------------------------------------------------------------------

    def get_parameters(
        self,
        names: Sequence[str],
        answered: Callable[[dict[str, Any], str], None],
        *,
        prefix: str | None = None,
    ) -> None:
        """
        Ask the bridge for parameters.

        :param names: Their names; unknown ones are left out of the answer.
        :param answered: Is called with values by name, and why there is no answer; else empty.
        :param prefix: Ask for all that begin with this, too.
        """

        def listed(response: Any, reason: str) -> None:
            if reason:
                answered({}, reason)
                return
            asked = [
                name
                for name in response.result.names
                if name in names or (prefix is not None and name.startswith(prefix))
            ]
            self._ask('GetParameters', {'names': asked}, partial(found, asked))

        def found(asked: Sequence[str], response: Any, reason: str) -> None:
            answered({} if reason else _values(asked, response.values), reason)

        self._ask('ListParameters', {}, listed)

    def set_parameters(self, values: Mapping[str, Any], answered: Callable[[str], None]) -> None:
        """
        Set parameters of the bridge, all or none.

        :param values: By name; a float sets a double.
        :param answered: Is called with the reason why they were not set, empty if they were.
        """

        def done(response: Any, reason: str) -> None:
            if not reason and not response.result.successful:
                reason = response.result.reason or 'rejected without a reason'
            answered(reason)

        parameter = _ros('rclpy.parameter.Parameter')
        messages = [
            parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        self._ask('SetParametersAtomically', {'parameters': messages}, done)

    def follow_parameters(self, changed: Callable[[dict[str, Any], list[str]], None]) -> None:
        """
        Follow changes of the bridge's parameters, whoever makes them.

        :param changed: Is called with the values of those that were set, by name, and the names
            of those that were declared or removed.
        """

        def take(event: Any) -> None:
            if event.node == self.bridge:
                news = event.changed_parameters
                others = [*event.new_parameters, *event.deleted_parameters]
                changed(
                    _values([each.name for each in news], [each.value for each in news]),
                    [each.name for each in others],
                )

        kind = 'rcl_interfaces.msg.ParameterEvent'
        self._subscribe(kind, '/parameter_events', take, is_complete=True)

    def _ask(
        self, kind: str, arguments: Mapping[str, Any], answered: Callable[[Any, str], None]
    ) -> None:
        client = self._services[kind]
        if not self.is_present:
            answered(None, self._silence)
            return
        future = client.call_async(client.srv_type.Request(**arguments))
        self._requests[future] = client, time.monotonic() + _PATIENCE, answered

        def done(future: Any) -> None:
            if self._requests.pop(future, None) is not None:
                answered(future.result(), '')

        future.add_done_callback(done)

    @property
    def _silence(self) -> str:
        return 'the bridge does not answer' if self.is_present else 'the bridge has gone'


def _values(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return the values of parameters by name."""
    as_python = _ros('rclpy.parameter.parameter_value_to_python')
    return dict(zip(names, map(as_python, values), strict=False))


def _ros(name: str) -> Any:
    """
    Import something from a module of ROS, for example ``rclpy.node.Node``.

    :raises UsageError: If it is not installed, with what to do.
    """
    module, _, attribute = name.rpartition('.')
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise UsageError(
            f'{error.name} is not installed: source a ROS 2 installation, or '
            "pip install '.[kilted]' (or '.[jazzy]') in a checkout of transmission_bridge"
        ) from None
