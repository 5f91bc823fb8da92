# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The node of a command beside running bridges: diagnostics, joint states, parameters.

Every command with a running bridge uses it. It publishes nothing. One thread calls all methods;
messages and answers arrive in :meth:`BridgeClient.spin_for`, which subclasses in ``watch``,
``demo`` and ``tune`` extend. The bridge defines names of services and statuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
import importlib
from operator import attrgetter
import os
import re
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import Diagnostic, Fact, OK, TOOLS
from transmission_bridge.description.document import MAX_BYTES
from transmission_bridge.messages import (
    JointStateReader,
    JointStateRecord,
    Layout,
    MessageLayoutTable,
    record_from_joint_state,
    UnusualCdrError,
)
from transmission_bridge.tools.cli import Console, printable, ToolFailedError, UsageError

#: The full name of a node, and how long it must not be.
_NAME, _LONGEST = re.compile(r'(/[A-Za-z_][A-Za-z0-9_]*)+'), 200

#: The lifecycle state in which a bridge works.
ACTIVE = 'active'

#: Seconds without diagnostics, which are published once a second, after which a bridge is gone.
#: The graph of nodes lists a killed process for longer.
_GONE = 3.5

#: Seconds after which a request counts as lost.
_PATIENCE = 3.0

#: Seconds in which a running bridge is found: discovery takes time, and diagnostics are published
#: once a second.
_DISCOVERY = 8.0

#: Seconds after which a user is told what is waited for.
_NOTE = 1.0

#: Seconds to wait for a message at a time.
_STEP = 0.02

#: The status that every bridge has in every lifecycle state, and a key in it.
_LIFE_CYCLE, _STATE = 'life cycle', 'state'

#: The topic of commands to a driver, in its namespace.
COMMANDS = 'actuator_commands'

#: The parameter and the topic of a robot description.
DESCRIPTION = 'robot_description'


_SET, _TRIGGER = 'rcl_interfaces.srv.SetParametersAtomically', 'std_srvs.srv.Trigger'

#: The type of each service of a bridge, and where its response has the answer. A service that may
#: reject a request also has where that stands; its answer is then the reason.
_SERVICES = {
    'list_parameters': ('rcl_interfaces.srv.ListParameters', 'result.names'),
    'get_parameters': ('rcl_interfaces.srv.GetParameters', 'values'),
    'set_parameters_atomically': (_SET, 'result.reason', 'result.successful'),
    'store_numbers': (_SET, 'result.reason', 'result.successful'),
    'zero': (_TRIGGER, 'message', 'success'),
    'zero_from_absolute': (_TRIGGER, 'message', 'success'),
}

_JOINT_STATE = 'sensor_msgs.msg.JointState'

#: Receives a message, which is valid during the call only, its layout, and the time of receipt.
Received = Callable[[JointStateRecord, Layout, float], None]

#: Receives the answer of a bridge, and the reason if there is none or the bridge rejects the
#: request, else an empty text. Without an answer it receives an empty mapping. If the bridge is
#: not present, it is called before the request returns.
Answered = Callable[[Any, str], None]


@dataclass(frozen=True)
class BridgeDiagnostics:
    """
    The latest diagnostics of a bridge.

    :param name: Its full name, without the leading slash.
    :param statuses: Statuses by the part of their names after the node's name.
    :param received: Time of receipt [s], ``time.monotonic()``.
    :param start: Increases if the bridge was restarted or gone; earlier answers may be outdated.
    """

    name: str
    statuses: Mapping[str, Diagnostic]
    received: float
    start: int = 0

    @property
    def state(self) -> str:
        """Its lifecycle state."""
        return self.statuses[_LIFE_CYCLE][_STATE]

    @property
    def troubles(self) -> tuple[Diagnostic, ...]:
        """Statuses that are not OK, most severe first."""
        statuses = [status for status in self.statuses.values() if status.level != OK]
        return tuple(sorted(statuses, key=lambda status: (-status.level, status.name)))

    def is_gone(self, now: float) -> bool:
        """Return whether no diagnostics have arrived for 3.5 s."""
        return now - self.received > _GONE


def read_bridge_reports(
    statuses: Sequence[Diagnostic], now: float
) -> dict[str, BridgeDiagnostics]:
    """Return reports by name of the bridges in a diagnostics message of any node."""
    parts: dict[str, dict[str, Diagnostic]] = {}
    for status in statuses:
        node, _, part = status.name.partition(': ')
        parts.setdefault(node, {})[part] = status
    return {
        node: BridgeDiagnostics(node, by_part, now)
        for node, by_part in parts.items()
        if _LIFE_CYCLE in by_part and by_part[_LIFE_CYCLE][_STATE]
    }


class BridgeClient:
    """
    A node with its own context, without publishers and signal handlers.

    :param name: Last part of the name of the node.
    :param bridge: Name of a bridge with its namespace, which the node also uses.
    :ivar node: The node.
    :ivar bridge: Full name of the bridge, with the leading slash.
    :ivar reports: The latest report of each bridge, by :attr:`BridgeDiagnostics.name`.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the name is invalid.
    """

    def __init__(self, name: str, bridge: str) -> None:
        self.bridge = f'/{bridge.strip("/")}'
        if not _NAME.fullmatch(self.bridge) or len(self.bridge) >= _LONGEST:
            raise UsageError(f"--node: expected the name of a bridge, found '{bridge}'")
        self._context = _import_ros('rclpy.context.Context')()
        try:
            self._context.init(args=[])
            self.node: Any = _import_ros('rclpy.node.Node')(
                TOOLS + name,
                namespace=self.bridge.rpartition('/')[0],
                context=self._context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except (RuntimeError, ValueError) as error:  # such as an impossible ROS_DOMAIN_ID
            self._context.try_shutdown()
            raise UsageError(f'ROS cannot be used: {error}') from None
        self._executor = _import_ros('rclpy.executors.SingleThreadedExecutor')(
            context=self._context
        )
        self._executor.add_node(self.node)
        self.reports: dict[str, BridgeDiagnostics] = {}
        # Sequence number of the last message, by bridge.
        self._sequences: dict[str, int] = {}
        self._listen_to('diagnostic_msgs.msg.DiagnosticArray', '/diagnostics', self._set_reports)
        self._topics: dict[str, Any] = {}
        self._received: dict[str, Received] = {}
        self._layouts = MessageLayoutTable()
        # By the future of each request: its client, its deadline, and the callback.
        self._requests: dict[Any, tuple[Any, float, Answered]] = {}
        self._services = {
            service: self.node.create_client(_import_ros(kind), f'{self.bridge}/{service}')
            for service, (kind, *_) in _SERVICES.items()
        }

    def _listen_to(
        self,
        kind: str,
        topic: str,
        take: Callable[..., None],
        *,
        is_complete: bool = False,
        **how: Any,
    ) -> Any:
        # Best effort is compatible with every publisher.
        depth, policy = (1000, 'RELIABLE') if is_complete else (50, 'BEST_EFFORT')
        reliability = _import_ros('rclpy.qos.ReliabilityPolicy')[policy]
        profile = _import_ros('rclpy.qos.QoSProfile')(depth=depth, reliability=reliability)
        return self.node.create_subscription(_import_ros(kind), topic, take, profile, **how)

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, and cancel requests without an answer."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            # If the timeout changes, the executor restarts with the first topic, and a busy first
            # topic would starve the others. So the timeout is constant except for the last call.
            self._executor.spin_once(timeout_sec=min(_STEP, left))
        for future, (client, lost, answered) in list(self._requests.items()):
            if not self.is_present or time.monotonic() > lost:
                del self._requests[future]
                client.remove_pending_request(future)
                answered({}, self._silence)

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def wait_for_bridge(self, seconds: float) -> bool:
        """Handle callbacks until the bridge is present, and return whether it is."""
        end = time.monotonic() + seconds
        while not self.is_present and time.monotonic() < end:
            self.spin_for(_STEP)
        return self.is_present

    def wait_for_answer(self, send: Callable[..., None], what: Any, **how: Any) -> tuple[Any, str]:
        """
        Send a request, handle callbacks until it is answered or lost, and return the answer.

        :param send: :meth:`send_request`, :meth:`get_parameters` or :meth:`set_parameters`.
        :param what: Its first argument; ``answered`` is added, keywords follow.
        :returns: The arguments of ``answered``.
        """
        answers: list[tuple[Any, str]] = []
        send(what, lambda *answer: answers.append(answer), **how)
        while not answers:
            self.spin_for(_STEP)
        return answers[0]

    # -- diagnostics -----------------------------------------------------------------------------

    @property
    def report(self) -> BridgeDiagnostics | None:
        """The latest report of the bridge, also if it is gone; ``None`` without a report."""
        return self.reports.get(self.bridge.strip('/'))

    @property
    def is_present(self) -> bool:
        """Whether the bridge publishes diagnostics and its services are available."""
        report = self.report
        is_silent = report is None or report.is_gone(time.monotonic())
        return not is_silent and all(
            client.service_is_ready() for client in self._services.values()
        )

    def _set_reports(self, message: Any, info: Mapping[str, Any]) -> None:
        statuses = [
            Diagnostic(
                status.name,
                status.level[0] if isinstance(status.level, bytes) else int(status.level),
                status.message,
                tuple(Fact(value.key, value.value) for value in status.values),
            )
            for status in message.status
        ]
        # Increases for each publisher; ``None`` if the middleware does not support it.
        sequence = info['publication_sequence_number'] or 0
        for name, report in read_bridge_reports(statuses, time.monotonic()).items():
            before = self.reports.get(name, report)
            is_other = sequence < self._sequences.get(name, 0) or before.is_gone(report.received)
            self._sequences[name] = sequence
            self.reports[name] = replace(report, start=before.start + is_other)

    # -- joint states ----------------------------------------------------------------------------

    def follow_topics(self, topics: Mapping[str, Received], *, is_complete: bool = False) -> None:
        """
        Subscribe to these topics of joint states, and unsubscribe from all others.

        :param topics: Callback for each message, by topic.
        :param is_complete: Whether no message may be lost; requires reliable publishers.
        """
        self._received = dict(topics)
        for topic in self._topics.keys() - topics.keys():
            self.node.destroy_subscription(self._topics.pop(topic))
        for topic in topics.keys() - self._topics.keys():
            self._topics[topic] = self._listen_to(
                _JOINT_STATE, topic, self._make_decoder(topic), is_complete=is_complete, raw=True
            )

    def list_other_topics(self) -> list[str]:
        """Return the full names of published topics of joint states that are not followed."""
        followed = {self.node.resolve_topic_name(topic) for topic in self._topics}
        return [
            name
            for name, types in self.node.get_topic_names_and_types()
            if _JOINT_STATE.replace('.', '/') in types
            and name not in followed
            and self.node.count_publishers(name)
        ]

    def _make_decoder(self, topic: str) -> Callable[[bytes], None]:
        reader = JointStateReader(self._layouts)
        deserialize = _import_ros('rclpy.serialization.deserialize_message')

        def decode_message(data: bytes) -> None:
            now, received = time.monotonic(), self._received.get(topic)
            if received is None:  # a late message of a topic that is no longer followed
                return
            try:
                view = reader.read_message(data)
            except UnusualCdrError:
                try:
                    record = record_from_joint_state(deserialize(data, _import_ros(_JOINT_STATE)))
                except Exception:  # not a message of this type
                    return
                received(record, self._layouts.find_layout(record.names, record.lengths), now)
            else:
                received(view, view.layout, now)

        return decode_message

    # -- parameters ------------------------------------------------------------------------------

    def send_request(self, service: str, answered: Answered, **arguments: Any) -> None:
        """
        Send a request to a service of the bridge.

        :param service: ``list_parameters``, whose answer is the list of names, ``zero`` or
            ``zero_from_absolute``, whose answer is what was set. The others have methods below.
        :param arguments: The fields of the request.
        """
        client = self._services[service]
        if not self.is_present:
            answered({}, self._silence)
            return
        future = client.call_async(client.srv_type.Request(**arguments))
        self._requests[future] = client, time.monotonic() + _PATIENCE, answered

        def finish_request(future: Any) -> None:
            if self._requests.pop(future, None) is None:
                return
            words, *verdict = (
                attrgetter(path)(future.result()) for path in _SERVICES[service][1:]
            )
            if all(verdict):
                answered(words, '')
            else:
                answered({}, words or 'rejected without a reason')

        future.add_done_callback(finish_request)

    @property
    def _silence(self) -> str:
        return 'the bridge does not answer' if self.is_present else 'the bridge has gone'

    def get_parameters(
        self,
        names: Sequence[str],
        answered: Answered,
        *,
        prefix: str | None = None,
    ) -> None:
        """
        Request parameters from the bridge.

        :param names: Their names; the answer omits unknown names.
        :param answered: Receives the values by name.
        :param prefix: Also requests all parameters with this prefix.
        """

        def request_listed(listed: list[str], reason: str) -> None:
            if reason:
                answered({}, reason)
                return
            asked = [
                name
                for name in listed
                if name in names or (prefix is not None and name.startswith(prefix))
            ]
            self.send_request(
                'get_parameters',
                lambda values, reason: answered(_name_values(asked, values), reason),
                names=asked,
            )

        self.send_request('list_parameters', request_listed)

    def set_parameters(
        self, values: Mapping[str, Any], answered: Answered, *, is_stored: bool = False
    ) -> None:
        """
        Set parameters of the bridge atomically.

        :param values: By name; a float sets a double. A message ``ParameterValue`` is sent as it
            is, see :func:`parse_parameter_value`.
        :param answered: Receives the words of the bridge, which may be none, or what is stored.
        :param is_stored: Whether numbers of transmissions are also kept for the next start.
        """
        parameter = _import_ros('rclpy.parameter.Parameter')
        message, kind = (
            _import_ros(f'rcl_interfaces.msg.{name}') for name in ('Parameter', 'ParameterValue')
        )
        messages = [
            message(name=name, value=value)
            if isinstance(value, kind)
            else parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        service = 'store_numbers' if is_stored else 'set_parameters_atomically'
        self.send_request(service, answered, parameters=messages)

    def follow_description(self, changed: Callable[[str], None]) -> None:
        """
        Subscribe to the robot description.

        :param changed: Receives its text.
        """
        durability = _import_ros('rclpy.qos.DurabilityPolicy').TRANSIENT_LOCAL
        latched = _import_ros('rclpy.qos.QoSProfile')(depth=1, durability=durability)

        def handle_text(message: Any) -> None:
            if len(message.data) <= MAX_BYTES:
                changed(message.data)

        text = _import_ros('std_msgs.msg.String')
        self.node.create_subscription(text, DESCRIPTION, handle_text, latched)

    def follow_parameters(self, changed: Callable[[dict[str, Any], list[str]], None]) -> None:
        """
        Subscribe to changes of the bridge's parameters by any node.

        :param changed: Receives the values of set parameters by name, and the names of declared
            and removed parameters.
        """

        def handle_event(event: Any) -> None:
            if event.node == self.bridge:
                news = event.changed_parameters
                others = [*event.new_parameters, *event.deleted_parameters]
                changed(
                    _name_values([new.name for new in news], [new.value for new in news]),
                    [other.name for other in others],
                )

        kind = 'rcl_interfaces.msg.ParameterEvent'
        self._listen_to(kind, '/parameter_events', handle_event, is_complete=True)


def _name_values(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return parameter values by name, as Python objects."""
    as_python = _import_ros('rclpy.parameter.parameter_value_to_python')
    return dict(zip(names, map(as_python, values), strict=False))


@contextmanager
def open_bridge_client(name: str, bridge: str, console: Console) -> Iterator[BridgeClient]:
    """
    Yield a client of a bridge that is present.

    :param name: Last part of the name of the client's node.
    :param bridge: Name of the bridge with its namespace.
    :param console: Receives a note if the bridge is not there at once.
    :raises ToolFailedError: If the bridge is not found, with the bridges that were.
    """
    with closing(BridgeClient(name, bridge)) as client:
        if not client.wait_for_bridge(_NOTE):
            console.err.line(f'note: waiting for the bridge {printable(client.bridge)}')
        if not client.wait_for_bridge(_DISCOVERY - _NOTE):
            if client.report is not None:
                raise ToolFailedError(
                    f'{client.bridge} publishes diagnostics, but its services are not available'
                )
            found = 'no bridge'
            if others := sorted(client.reports):
                found = f'/{", /".join(others)}: --node {others[0]} selects that one'
            domain = os.environ.get('ROS_DOMAIN_ID') or '0'
            raise ToolFailedError(
                f'expected the bridge {client.bridge} within {_DISCOVERY:g} s in ROS domain '
                f'{domain}, found {found}'
            )
        yield client


def require_answer(client: BridgeClient, send: Callable[..., None], what: Any, **how: Any) -> Any:
    """
    Return the answer of a bridge.

    :param send: As for :meth:`BridgeClient.wait_for_answer`, and so its arguments.
    :raises ToolFailedError: If there is no answer, or the bridge rejects the request.
    """
    answer, reason = client.wait_for_answer(send, what, **how)
    if reason:
        raise ToolFailedError(f'{client.bridge}: {reason}')
    return answer


def parse_parameter_value(text: str) -> Any:
    """
    Return a message ``ParameterValue``, as ``ros2 param set`` reads the text.

    :raises UsageError: If the text is not YAML, or a number is too large.
    """
    read = _import_ros('rclpy.parameter.get_parameter_value')
    try:
        value = read(text)
        if abs(value.integer_value) >= 1 << 63:
            raise ValueError('more than 64 bits')
        return value
    except Exception as error:  # PyYAML raises several
        reason = ' '.join(str(error).split())
        raise UsageError(f"expected a value in YAML, found '{text}': {reason}") from None


def _import_ros(name: str) -> Any:
    """
    Import a name from a ROS module, for example ``rclpy.node.Node``.

    :raises UsageError: If the module is not installed, with the remedy.
    """
    module, _, attribute = name.rpartition('.')
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise UsageError(
            f'{error.name} is not installed: source a ROS 2 installation, or '
            "pip install '.[jazzy]' (or '.[kilted]') in a checkout of transmission_bridge"
        ) from None
