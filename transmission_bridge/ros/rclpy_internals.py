# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Everything that this package uses of rclpy beyond its public interface.

A later rclpy may take any of it away. Each function says what the bridge does then, and a test
removes each name and checks that. No other module uses private names of rclpy.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import suppress
from functools import partial
from inspect import Parameter, Signature
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.service import Service

try:
    from rclpy.impl.implementation_singleton import rclpy_implementation

    _implementation: Any = rclpy_implementation
except ImportError:
    _implementation = None

__all__ = [
    'Probe',
    'Send',
    'Serve',
    'WaitHook',
    'asking_for_info',
    'callback_of',
    'given_names',
    'given_values',
    'intercept',
    'is_rcl_error',
    'origin_of',
    'publish_unchecked',
    'skip_own_wakes',
    'with_info',
]


# -- Parameters that a node was given at its start -----------------------------------------------


def given_values(node: Node, names: Iterable[str]) -> dict[str, Any]:
    """
    Return the values that the node was given at its start for parameters not declared yet.

    An empty list is ``None``, as rclpy reads it. Uses ``Node._parameter_overrides``. Without it
    each parameter is declared without a type and undeclared again, which others see as two more
    parameter events, and an empty list counts as not given.
    """
    overrides = getattr(node, '_parameter_overrides', None)
    if overrides is not None:
        return {name: overrides[name].value for name in names if name in overrides}
    found = {}
    for name in names:
        anything = ParameterDescriptor(dynamic_typing=True)
        value = node.declare_parameter(name, None, anything).value
        node.undeclare_parameter(name)
        if value is not None:
            found[name] = value
    return found


def given_names(node: Node) -> Iterable[str]:
    """
    Return the names of all parameters that the node was given at its start.

    Uses ``Node._parameter_overrides``. Without it there are none, and the bridge does not warn of
    names in the parameter file that match no parameter.
    """
    return tuple(getattr(node, '_parameter_overrides', ()))


# -- Services and publishers ---------------------------------------------------------------------


Serve = Callable[[Any, Any], Any]
Send = Callable[[Any, Any], None]


def intercept(
    service: Service[Any, Any], wrap: Callable[[Serve, Send], tuple[Serve, Send]]
) -> bool:
    """
    Wrap what serves a request and what sends its response.

    Sets ``callback`` and ``send_response`` of the service. Where it has none, or does not let them
    be set, nothing changes and the result is ``False``: a request that rclpy raises for ends the
    node, of which the bridge warns when it starts.
    """
    serve, send = getattr(service, 'callback', None), getattr(service, 'send_response', None)
    if serve is None or send is None:
        return False
    serve, send = wrap(serve, send)
    try:
        vars(service).update(callback=serve, send_response=send)
    except TypeError:  # a class with slots has no dictionary
        return False
    return service.callback is serve and service.send_response is send


def is_rcl_error(error: BaseException) -> bool:
    """
    Tell whether an exception is rclpy's own for what rcl refuses.

    Uses ``rclpy.impl.implementation_singleton``. Without it none is: a request that rcl refuses
    is logged with its traceback, as a bug.
    """
    kind = getattr(_implementation, 'RCLError', None)
    return kind is not None and isinstance(error, kind)


def publish_unchecked(publisher: LifecyclePublisher[Any]) -> Callable[[bytes], None]:
    """
    Return a function that publishes without asking each time whether the node is active.

    To ask costs as much as to encode a message. For callers that publish only while the node is
    active. Uses that a life-cycle publisher is a :class:`rclpy.publisher.Publisher`. Where it is
    none, the function asks.
    """
    if not issubclass(LifecyclePublisher, Publisher):
        return publisher.publish
    return partial(Publisher.publish, publisher)


# -- Messages with information on their sample ---------------------------------------------------


Receive = Callable[[Any, Any], None]


def asking_for_info(receive: Receive) -> Receive:
    """
    Have rclpy pass information on the sample to the callback of a subscription.

    rclpy takes callbacks of two parameters for this, by their signature, which is stated here:
    the events executor (rclpy up to 9.1) calls them with one, so that they need a default.
    """
    sample = Parameter('sample', Parameter.POSITIONAL_ONLY)
    info = Parameter('info', Parameter.POSITIONAL_ONLY)
    vars(receive)['__signature__'] = Signature([sample, info])
    return receive


def with_info(data: Any, info: Any) -> tuple[bytes, Any]:
    """Return message and information; the events executor passes both as one tuple."""
    return data if isinstance(data, tuple) else (data, info)


def origin_of(info: Any) -> tuple[Hashable | None, float]:
    """
    Return the identity of a sample's writer, and its source time [s].

    Without identity (rclpy 7) the first is ``None``. Without a source time both are unknown,
    ``None`` and 0: commands are rejected for a while after each stall.
    """
    try:
        sent = info['source_timestamp'] * 1e-9
        gid = info.get('publisher_gid')
        return (gid['data'] if gid and sent else None), sent
    except (AttributeError, KeyError, TypeError):
        return None, 0.0


# -- Executors -----------------------------------------------------------------------------------


def skip_own_wakes(executor: SingleThreadedExecutor, is_own: Callable[[int], bool]) -> None:
    """
    Let callbacks of a thread finish without waking the executor.

    Replaces ``trigger`` of ``Executor._guard``. Without it the executor wakes once more for each
    callback.

    :param is_own: Tells from the identity of the thread that would wake it whether it need not.
    """
    guard = getattr(executor, '_guard', None)
    wake = getattr(guard, 'trigger', None)
    if guard is None or wake is None:
        return

    def trigger() -> None:
        if not is_own(threading.get_ident()):
            wake()

    vars(guard)['trigger'] = trigger


def callback_of(thread: int, spinning: CodeType) -> FrameType | None:
    """
    Return the frame of the callback that a thread runs for an executor in C++, if it runs one.

    Uses ``sys._current_frames`` of CPython. Without it there is none, and a single long callback
    counts as a flood of messages.

    :param thread: Its identity.
    :param spinning: The code that calls the executor.
    """
    frames: dict[int, FrameType] = getattr(sys, '_current_frames', dict)()
    frame = frames.get(thread)
    while frame is not None and (frame.f_back is None or frame.f_back.f_code is not spinning):
        frame = frame.f_back
    return frame


class WaitHook(SingleThreadedExecutor):
    """
    The executor of rclpy, with each of its waits handed to :meth:`wait_once`.

    Overrides ``Executor._wait_for_ready_callbacks``. Where rclpy does not call it, neither is
    :meth:`wait_once` called, and the executor is rclpy's own.
    """

    def wait_once(
        self, wait: Callable[[Any], Generator[Any, None, None]], timeout: Any
    ) -> Generator[Any, None, None]:
        """
        Wait once, and yield what is ready.

        :param wait: Waits up to a time and yields what is ready.
        :param timeout: The time as rclpy gives it: a number [s], ``None``, or an object whose
            ``timeout`` is one of these.
        """
        return wait(timeout)

    def _wait_for_ready_callbacks(
        self,
        timeout_sec: Any = None,
        nodes: list[Node] | None = None,
        condition: Callable[[], bool] = lambda: False,
    ) -> Generator[Any, None, None]:
        wait = super()._wait_for_ready_callbacks
        return self.wait_once(lambda limit: wait(limit, nodes, condition), timeout_sec)


# -- A subscription in no executor ---------------------------------------------------------------


class Probe:
    """
    Hears a topic beside the node's own subscription, for a short time.

    It is in no executor: messages wait until they are taken. Each comes with the number that its
    publisher gave it, which increases from message to message.

    Uses ``Subscription`` of ``rclpy.impl.implementation_singleton``, because the executor takes
    the messages of every public one. Without it nothing is heard: the bridge does not find several
    publishers of one actuator, nor another bridge of its name.

    :param topic: Its name as for a subscription.
    :param depth: Messages that are kept.
    """

    def __init__(self, node: LifecycleNode, message_type: type, topic: str, depth: int) -> None:
        self._type = message_type
        self._depth = depth
        self._handle: Any = None
        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        make = getattr(_implementation, 'Subscription', None)
        if make is None:
            return
        try:
            with node.handle:
                self._handle = make(node.handle, message_type, topic, qos.get_c_qos_profile())
        except (AttributeError, TypeError, RuntimeError):
            # Another signature; or a policy (SROS2) forbids it, where nobody takes a name unseen.
            return

    def take(self) -> list[tuple[bytes, int | None]]:
        """Return the newest messages that came."""
        messages: list[tuple[bytes, int | None]] = []
        # Of another version, where these are not as they are here: nothing is heard.
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            while self._handle is not None and len(messages) < self._depth:
                with self._handle:
                    taken = self._handle.take_message(self._type, True)
                if taken is None:
                    break
                data, info = taken
                messages.append((data, info['publication_sequence_number']))
        return messages

    def close(self) -> None:
        """Unsubscribe."""
        handle, self._handle = self._handle, None
        if hasattr(handle, 'destroy_when_not_in_use'):
            handle.destroy_when_not_in_use()
