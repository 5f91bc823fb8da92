# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions, gated by the life cycle, that keep trouble to the message that brought it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
import traceback
from typing import Any

from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.statistics import TopicStatistics
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.cdr_writer import JointStateWriter
from transmission_bridge.messages.joint_state import JointStateData
from transmission_bridge.messages.layout import Layout
from transmission_bridge.ros.joint_state_input import deserialized, JointStateInput
from transmission_bridge.ros.qos import overridable, overriding
from transmission_bridge.ros.throttled_log import ThrottledLog

__all__ = ['Inputs']

#: Bytes of a message that is looked at in any case; and how often a larger robot's names may be
#: in one, with all their numbers.
_LARGEST, _LARGEST_SHARE = 1 << 20, 10


class Inputs:
    """
    The data topics that a configured node listens to; closed when made.

    :param node: The node to subscribe with.
    :param time: Gives the time of receipt [s].
    :param log: Where refused messages are reported.
    :param names: All names of the robot. A message much larger than one of all these is refused
        (``too_large``) before anything is made of it.
    :ivar is_open: Whether messages are to be taken; others are dropped unread, because rclpy has
        no life-cycle subscriptions.
    :ivar statistics: Counts by topic.
    :ivar subscriptions: Subscriptions by topic.
    """

    def __init__(
        self,
        node: LifecycleNode,
        time: Callable[[], float],
        log: ThrottledLog,
        names: Iterable[str],
    ) -> None:
        self._node = node
        of_robot = JointStateWriter(dict.fromkeys(names)).write(0, 0)
        self._largest = max(_LARGEST, _LARGEST_SHARE * len(of_robot))
        self.is_open = False
        self._time = time
        self._log = log
        self.statistics: dict[str, TopicStatistics] = {}
        self.subscriptions: dict[str, Any] = {}

    def joint_state(
        self,
        topic: str,
        qos: QoSProfile,
        take: Callable[[Layout, JointStateData, float], None],
        time: Callable[[], float] | None = None,
    ) -> None:
        """
        Subscribe to JointState messages as bytes.

        :param take: As of :class:`JointStateInput`.
        :param time: Gives the time of receipt [s] instead of the time of all inputs.
        """
        self._subscribe(JointState, topic, qos, JointStateInput(take), time or self._time)

    def typed(
        self, message_type: type, topic: str, qos: QoSProfile, take: Callable[[Any, float], None]
    ) -> None:
        """
        Subscribe to messages of another type; as bytes too, so that their size is known first.

        :param take: Called with message and time of receipt; may raise :class:`MessageError`.
        """
        self._subscribe(
            message_type,
            topic,
            qos,
            lambda data, now: take(deserialized(data, message_type), now),
            self._time,
        )

    def open(self) -> None:
        """Take messages from now on, with nothing heard."""
        for statistics in self.statistics.values():
            statistics.heard = statistics.used = -math.inf
        self.is_open = True

    def note_stamp(self, topic: str, reason: str, sentence: str) -> None:
        """Count a stamp that the time of receipt replaced, and warn."""
        self.statistics[topic].replaced_stamps[reason] += 1
        self._log.warning((topic, reason), f'{topic}: {sentence}')

    def destroy(self) -> None:
        """Unsubscribe from everything."""
        for subscription in self.subscriptions.values():
            self._node.destroy_subscription(subscription)
        self.subscriptions = {}

    def _subscribe(
        self,
        message_type: type,
        topic: str,
        qos: QoSProfile,
        take: Callable[[bytes, float], None],
        time: Callable[[], float],
    ) -> None:
        if topic in self.statistics:
            raise ParameterError(f"topic '{topic}' would be listened to twice", parameter=topic)
        statistics = self.statistics[topic] = TopicStatistics(topic)
        log, largest = self._log, self._largest

        def receive(data: bytes) -> None:
            if not self.is_open:
                return
            statistics.received += 1
            statistics.heard = now = time()
            try:
                if len(data) > largest:
                    raise MessageError(
                        'too_large', f'{len(data)} bytes, expected at most {largest}'
                    )
                take(data, now)
                statistics.used = now
            except MessageError as error:
                statistics.rejected[error.reason] += 1
                if statistics.is_trouble(error.reason):
                    log.warning(
                        (topic, error.reason),
                        f'{topic}: {error}; message dropped',
                        about=error.about,
                    )
            except Exception:  # a bug must cost one message, not the executor
                statistics.rejected['bug'] += 1
                log.error((topic, 'bug'), f'{topic}: bug\n{traceback.format_exc()}')

        with overriding(topic):
            self.subscriptions[topic] = self._node.create_subscription(
                message_type,
                topic,
                receive,
                raw=True,
                **overridable(qos),
            )
