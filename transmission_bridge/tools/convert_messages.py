# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The messages of a recording, those of some topics in the other space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from transmission_bridge.bridge.offline import OfflineConverter
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.tools.bags.joint_state_topic import read_unusual
from transmission_bridge.tools.bags.model import Message, Topic
from transmission_bridge.tools.convert_topics import TopicPlan
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction

__all__ = ['MessageConverter']


class MessageConverter:
    """
    Converts batches of messages.

    Topics with the same target are drivers of one bridge, and their states are merged.

    :param robot: The maps.
    :param direction: Which way.
    :param plan: What becomes of each topic.
    :param options: Those of the bridges.
    :param names_hint: How to give a driver's names, for a sentence.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    :ivar bridges: The converters, by the name of the target.
    :ivar converted: How many messages came out of them.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        plan: TopicPlan,
        options: BridgeOptions,
        names_hint: str,
    ) -> None:
        self._plan = plan
        self.bridges = {
            target: OfflineConverter(robot, direction, read_unusual, options, target)
            for target in dict.fromkeys(plan.pairs.values())
        }
        if direction == ACTUATOR_TO_JOINT:
            for bridge in self.bridges.values():
                bridge.path.merged.names_hint = names_hint
        self.converted = 0

    def convert(self, batch: Sequence[Message]) -> list[Message]:
        """
        Return the messages with those to be converted in the other space, in the same order.

        :raises UsageError: If a topic cannot be converted.
        :raises UnusableFileError: If a message needs a decoder that is not installed.
        """
        target_of = {
            topic: self._plan.target_of(topic) for topic in {message.topic for message in batch}
        }
        results: list[Message | None] = list(batch)
        for name in self.bridges:
            places = [
                place for place, message in enumerate(batch) if target_of[message.topic] == name
            ]
            for topic, group in groupby(places, key=lambda place: batch[place].topic):
                self._convert_some(name, topic, batch, list(group), results)
        if not self._plan.keep:
            return [message for message in results if message is not None]
        both = (
            (before, None if after is before else after)
            for before, after in zip(batch, results, strict=True)
        )
        return [message for pair in both for message in pair if message is not None]

    def _convert_some(
        self,
        name: str,
        source: Topic,
        batch: Sequence[Message],
        places: Sequence[int],
        results: list[Message | None],
    ) -> None:
        """Convert consecutive messages of one driver."""
        messages = [batch[place] for place in places]
        outputs = self.bridges[name].convert(
            source.name,
            [message.data for message in messages],
            [message.time for message in messages],
        )
        target = self._plan.target(name, source)
        for place, message, data in zip(places, messages, outputs, strict=True):
            if data is None:
                results[place] = None
                continue
            results[place] = Message(
                target, message.time, message.published, message.sequence, data
            )
            self.converted += 1
