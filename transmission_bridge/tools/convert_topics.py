# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which topics of a recording are converted to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from transmission_bridge.tools.bags.model import JOINT_STATE, Topic
from transmission_bridge.tools.command import UsageError

__all__ = ['TopicPlan', 'topic_pairs']

_JOINTS, _ACTUATORS = '/joint_states', '/actuator_states'


def topic_pairs(texts: Sequence[str], to: str, drivers: Sequence[str]) -> dict[str, str]:
    """
    Return target by source.

    :param texts: Pairs ``source:target``, empty for the default.
    :param to: ``joint`` or ``actuator``.
    :param drivers: Topics of the drivers, which are the default on their side.
    :raises UsageError: If one has another form, or a source is given twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        source, colon, target = text.partition(':')
        if not colon or not source.strip('/') or not target.strip('/') or ':' in target:
            raise UsageError(f"--topic takes SOURCE:TARGET, found '{text}'")
        if _absolute(source) in pairs:
            raise UsageError(f"--topic: '{source}' is given twice")
        pairs[_absolute(source)] = _absolute(target)
    if pairs:
        return pairs
    if to == 'joint':
        return {_absolute(driver): _JOINTS for driver in drivers}
    return {_JOINTS: _absolute(drivers[0]) if len(drivers) == 1 else _ACTUATORS}


class TopicPlan:
    """
    What becomes of each topic.

    :param pairs: Target by source.
    :param keep: Whether sources stay in the recording as well.
    :ivar pairs: The same.
    """

    def __init__(self, pairs: Mapping[str, str], *, keep: bool) -> None:
        self.pairs = dict(pairs)
        self.keep = keep
        self._targets: dict[str, Topic] = {}
        self._by_topic: dict[Topic, str | None] = {}
        self._seen: set[str] = set()

    def target_of(self, topic: Topic) -> str | None:
        """
        Return the name of the topic that messages are converted to, ``None`` for copying them.

        :raises UsageError: If the topic cannot be converted, or would get mixed up with a target.
        """
        if topic not in self._by_topic:
            self._by_topic[topic] = self._judge(topic)
        return self._by_topic[topic]

    def target(self, name: str, topic: Topic) -> Topic:
        """
        Return the topic of what is converted; it is like the first of its sources.

        :param name: Its name.
        :param topic: Where the message comes from.
        """
        if name not in self._targets:
            self._targets[name] = replace(topic, name=name)
        return self._targets[name]

    def check(self, topics: Iterable[Topic]) -> None:
        """
        Check that every source is there and nothing gets mixed up.

        :param topics: All topics of the recording.
        :raises UsageError: Otherwise.
        """
        everything = tuple(topics)
        for topic in everything:
            self.target_of(topic)
        missing = [source for source in self.pairs if source not in self._seen]
        if missing:
            states = sorted({topic.name for topic in everything if topic.type == JOINT_STATE})
            raise UsageError(
                f"there is no topic '{missing[0]}'; topics with joint states are: "
                f'{", ".join(states) or "none"} (see --topic)'
            )

    def _judge(self, topic: Topic) -> str | None:
        name = _absolute(topic.name)
        target = self.pairs.get(name)
        if target is not None:
            self._seen.add(name)
            if topic.type != JOINT_STATE or topic.encoding != 'cdr':
                raise UsageError(
                    f"'{topic.name}' cannot be converted: expected {JOINT_STATE} in cdr, found "
                    f'{topic.type or "no type"} in {topic.encoding or "no encoding"}'
                )
        if name in self.pairs.values() and (target is None or self.keep):
            sources = [source for source, its in self.pairs.items() if its == name]
            raise UsageError(
                f"'{topic.name}' is in the recording already; name another target: "
                f'--topic {sources[0]}:NAME'
            )
        return target


def _absolute(name: str) -> str:
    return '/' + name.lstrip('/')
