# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Conversion of a recording from file to file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from transmission_bridge.bridge import map_recorded, OfflineBridge
from transmission_bridge.errors import counted, MessageError
from transmission_bridge.tools.bags.files import create_sink, decode, Source
from transmission_bridge.tools.bags.model import (
    JOINT_STATE,
    Message,
    RecordedTopic,
    UnusableFileError,
)
from transmission_bridge.tools.cli import UsageError


def topic_pairs(texts: Sequence[str], to: str, drivers: Sequence[str]) -> dict[str, str]:
    """
    Return target by source.

    :param texts: Pairs ``source:target``, empty for the default.
    :param to: ``joint`` or ``actuator``.
    :param drivers: Topics of the drivers, the default for actuator states.
    :raises UsageError: If one has another form, or a source is given twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        source, colon, target = text.partition(':')
        if not colon or not source.strip('/') or not target.strip('/') or ':' in target:
            raise UsageError(f"--topic takes SOURCE:TARGET, found '{text}'")
        if _add_root(source) in pairs:
            raise UsageError(f"--topic: '{source}' is given twice")
        pairs[_add_root(source)] = _add_root(target)
    if pairs:
        return pairs
    if to == 'joint':
        return {_add_root(driver): '/joint_states' for driver in drivers}
    return {'/joint_states': _add_root(drivers[0]) if len(drivers) == 1 else '/actuator_states'}


def plan_topics(
    file: str, topics: Iterable[RecordedTopic], pairs: Mapping[str, str], *, keep: bool
) -> dict[RecordedTopic, RecordedTopic]:
    """
    Return the target of each converted topic, with the properties of its first source.

    :param file: Name of the recording, for errors.
    :param topics: All its topics.
    :param pairs: Target by source.
    :param keep: Whether sources are copied also.
    :raises UsageError: If a source does not exist or cannot be converted, or a target exists.
    """
    names = {topic: _add_root(topic.name) for topic in topics}
    plan: dict[RecordedTopic, RecordedTopic] = {}
    targets: dict[str, RecordedTopic] = {}
    for topic, name in names.items():
        sources = [source for source, target in pairs.items() if target == name]
        if sources and (name not in pairs or keep):
            raise UsageError(
                f"'{topic.name}' is in '{file}' already; name another target: "
                f'--topic {sources[0]}:NAME'
            )
        if name not in pairs:
            continue
        if (topic.type, topic.encoding) != (JOINT_STATE, 'cdr'):
            raise UsageError(
                f"'{file}': topic '{topic.name}' cannot be converted: expected {JOINT_STATE} in "
                f'cdr, found {topic.type or "no type"} in {topic.encoding or "no encoding"}'
            )
        plan[topic] = targets.setdefault(pairs[name], replace(topic, name=pairs[name]))
    for source in pairs:
        if source not in names.values():
            states = sorted({topic.name for topic in names if topic.type == JOINT_STATE})
            raise UsageError(
                f"'{file}' has no topic '{source}'; topics with joint states are: "
                f'{", ".join(states) or "none"} (see --topic)'
            )
    return plan


def _add_root(name: str) -> str:
    return '/' + name.lstrip('/')


DESCRIPTION_TOPIC = '/robot_description'
_STRING = 'std_msgs/msg/String'


def description_of(message: Message) -> bytes | None:
    """Return the robot description in a message, ``None`` if it has none."""
    if message.topic.name != DESCRIPTION_TOPIC or message.topic.type != _STRING:
        return None
    try:
        return bytes(decode(message.data, _STRING).data, 'utf-8')
    except MessageError:
        return None


def find_description(file: str, source: Source) -> bytes:
    """
    Return the first description in a recording.

    :param file: Name of the recording, for errors.
    :raises UnusableFileError: If the readable part of a damaged recording has no description.
    :raises UsageError: If the recording has no description.
    """
    problems: list[str] = []
    is_there = any(topic.name == DESCRIPTION_TOPIC for topic in source.topics)
    for message in source.messages(problems.append) if is_there else ():
        found = description_of(message)
        if found is not None:
            return found
    if problems:
        raise UnusableFileError(problems[0])
    raise UsageError(
        f"'{file}' has no {DESCRIPTION_TOPIC}: give also the robot, convert FILE IN OUT"
    )


class NothingWrittenError(Exception):
    """Nothing was converted, or the recording is damaged: nothing was written."""


@dataclass
class Conversion:
    """
    A conversion and its progress.

    :param bridges: The bridges, by target.
    :param plan: The target of each converted topic.
    :param description: The description in use if it is the recording's own.
    :param keep: Whether to copy also the converted topics.
    :param keep_readable: Whether to write the readable part of a damaged recording.
    """

    bridges: Mapping[str, OfflineBridge]
    plan: Mapping[RecordedTopic, RecordedTopic]
    description: bytes | None
    keep: bool = False
    keep_readable: bool = False
    #: Counts of read messages, messages before the first damage, damage, and converted messages.
    read, before, places, converted = 0, 0, 0, 0
    #: Times of receipt of the first and the last message.
    first, last = 0, 0
    #: Position and problem of the first damage, empty without one.
    damage = ''
    #: Whether the recording contains other descriptions than the one in use.
    has_others = False

    def write(
        self, source: Source, made: str, storage: str | None, show: Callable[[float], None]
    ) -> None:
        """
        Convert the readable part of a recording, message by message.

        :param made: Temporary path of the output.
        :param storage: ``mcap`` or ``sqlite3``, of a folder.
        :param show: Called with the progress from 0 to 1.
        :raises NothingWrittenError: If there is nothing to write.
        :raises OSError: If the output cannot be written.
        """
        plan, targets = self.plan, {topic.name: topic for topic in self.plan.values()}
        bridges = {topic: self.bridges[target.name] for topic, target in plan.items()}
        columns = dict.fromkeys(name for each in bridges.values() for name in each.names)
        kept = [topic for topic in source.topics if topic not in plan or self.keep]
        with create_sink(made, source, storage, tuple(columns), tuple(targets)) as sink:
            for topic in (*kept, *targets.values()):
                sink.add(topic)
            for message, data in map_recorded(source.messages(self._note_damage), bridges):
                topic, time, _ = message
                self.first, self.last = self.first if self.read else time, time
                self.read += 1
                if self.read % 1000 == 0:
                    show(source.progress)
                if topic not in plan or self.keep:
                    sink.write(message)
                    if self.description is not None:
                        self.has_others |= description_of(message) not in (None, self.description)
                if data is not None:
                    sink.write(Message(plan[topic], time, data))
                    self.converted += 1
            if not self.is_good:
                raise NothingWrittenError

    @property
    def is_good(self) -> bool:
        """Whether there is something to write."""
        return bool(self.converted) and (self.keep_readable or not self.damage)

    @property
    def damage_in_full(self) -> str:
        """The first damage, and what was read after it."""
        more = (
            f'; damaged elsewhere: {counted(self.places - 1, "place")}' if self.places > 1 else ''
        )
        behind = self.read - self.before
        after = f'; {counted(behind, "message")} after it could be read' if behind else ''
        return self.damage + more + after

    def _note_damage(self, problem: str) -> None:
        """Record damage, before the messages after it."""
        self.places += 1
        if not self.damage:
            self.before, seconds = self.read, (self.last - self.first) / 10**9
            read = counted(self.read, 'message')
            self.damage = f'after {read}, {seconds:.3f} s into the recording: {problem}'
