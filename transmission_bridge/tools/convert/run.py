# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One conversion of a recording: its topics, its messages, from file to file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
import os
from typing import Literal

from transmission_bridge.bridge.offline import OfflineConverter
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.tools.bags.files import create_sink, is_folder, METADATA_FILE
from transmission_bridge.tools.bags.joint_state_topic import read_unusual
from transmission_bridge.tools.bags.model import (
    DamageError,
    JOINT_STATE,
    Message,
    Sink,
    Source,
    Topic,
    UnusableFileError,
)
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import safe_output
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction

__all__ = [
    'DESCRIPTION_TOPIC',
    'Converted',
    'DamagedInputError',
    'MessageConverter',
    'NothingConvertedError',
    'Output',
    'TopicPlan',
    'convert_recording',
    'description_of',
    'descriptions_in',
    'find_description',
    'topic_pairs',
]

_JOINTS, _ACTUATORS = '/joint_states', '/actuator_states'


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
    Which topics are converted, to which targets.

    :param file: Name of the recording, for errors.
    :param pairs: Target by source.
    :param keep: Whether to copy sources as well.
    :ivar pairs: Target by source.
    """

    def __init__(self, file: str, pairs: Mapping[str, str], *, keep: bool) -> None:
        self._file = file
        self.pairs = dict(pairs)
        self.keep = keep
        self._targets: dict[str, Topic] = {}
        self._by_topic: dict[Topic, str | None] = {}
        self._seen: set[str] = set()

    def target_of(self, topic: Topic) -> str | None:
        """
        Return the name of the target, ``None`` for a topic that is copied.

        :raises UsageError: If the topic cannot be converted, or has the name of a target.
        """
        if topic not in self._by_topic:
            self._by_topic[topic] = self._judge(topic)
        return self._by_topic[topic]

    def target(self, name: str, topic: Topic) -> Topic:
        """
        Return the target topic, with the properties of the first of its sources.

        :param name: Its name.
        :param topic: The source.
        """
        if name not in self._targets:
            self._targets[name] = replace(topic, name=name)
        return self._targets[name]

    def check(self, topics: Iterable[Topic]) -> None:
        """
        Check that every source exists and no target does.

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
                f"'{self._file}' has no topic '{missing[0]}'; topics with joint states are: "
                f'{", ".join(states) or "none"} (see --topic)'
            )

    def _judge(self, topic: Topic) -> str | None:
        name = _absolute(topic.name)
        target = self.pairs.get(name)
        if target is not None:
            self._seen.add(name)
            if topic.type != JOINT_STATE or topic.encoding != 'cdr':
                raise UsageError(
                    f"'{self._file}': topic '{topic.name}' cannot be converted: expected "
                    f'{JOINT_STATE} in cdr, found {topic.type or "no type"} in '
                    f'{topic.encoding or "no encoding"}'
                )
        if name in self.pairs.values() and (target is None or self.keep):
            sources = [source for source, its in self.pairs.items() if its == name]
            raise UsageError(
                f"'{topic.name}' is in '{self._file}' already; name another target: "
                f'--topic {sources[0]}:NAME'
            )
        return target


def _absolute(name: str) -> str:
    return '/' + name.lstrip('/')


DESCRIPTION_TOPIC = '/robot_description'
_STRING = 'std_msgs/msg/String'

_ORIGIN = 4
#: Byte orders by the second byte of the encapsulation, of plain CDR and XCDR2.
_BYTE_ORDERS: dict[int, Literal['big', 'little']] = {0: 'big', 1: 'little', 6: 'big', 7: 'little'}


def description_of(data: bytes) -> bytes | None:
    """
    Return the text in a serialised std_msgs/String, ``None`` if it is not one.

    :param data: The message, encapsulation included.
    """
    if len(data) < _ORIGIN + 4 or data[0] or data[1] not in _BYTE_ORDERS:
        return None
    length = int.from_bytes(data[_ORIGIN : _ORIGIN + 4], _BYTE_ORDERS[data[1]])
    text = data[_ORIGIN + 4 : _ORIGIN + 4 + length]
    if len(text) != length or not text.endswith(b'\0'):
        return None
    return text[:-1]


def find_description(source: Source) -> bytes | None:
    """
    Return the first description in a recording, ``None`` where there is none.

    :param source: The recording; read as far as needed.
    :raises DamageError: If there is none in the readable part of a damaged recording.
    """
    if source.lists_topics and not any(topic.name == DESCRIPTION_TOPIC for topic in source.topics):
        return None
    problems: list[str] = []
    for batch in source.batches(problems.append):
        found = descriptions_in(batch)
        if found:
            return found[0]
    if problems:
        raise DamageError(problems[0])
    return None


def descriptions_in(messages: Iterable[Message]) -> list[bytes]:
    """Return the robot descriptions in messages."""
    texts = (
        description_of(message.data)
        for message in messages
        if message.topic.name == DESCRIPTION_TOPIC and message.topic.type == _STRING
    )
    return [text for text in texts if text is not None]


class MessageConverter:
    """
    Converts messages, one after the other.

    Topics with the same target are drivers of one bridge, and their states are merged.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param plan: Sources and targets.
    :param options: Options of the bridges.
    :param names_hint: How to give a driver's names, for errors.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    :ivar bridges: The converters, by target.
    :ivar converted: Number of converted messages.
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

    def convert(self, messages: Iterable[Message]) -> Iterator[Message]:
        """
        Yield the messages in the same order, converted where planned.

        :raises UsageError: If a topic cannot be converted.
        :raises UnusableFileError: If a message needs a decoder that is not installed.
        """
        for message in messages:
            topic, time, published, sequence, data = message
            name = self._plan.target_of(topic)
            if name is None or self._plan.keep:
                yield message
            if name is None:
                continue
            target = self._plan.target(name, topic)
            converted = self.bridges[name].convert(topic.name, data, time)
            if converted is not None:
                self.converted += 1
                yield Message(target, time, published, sequence, converted)


_BILLION = 10**9


class DamagedInputError(Exception):
    """The recording could not be read to its end, so nothing was written."""


class NothingConvertedError(Exception):
    """
    No message could be converted, so nothing was written.

    :param done: What was read.
    """

    def __init__(self, done: Converted) -> None:
        self.done = done
        super().__init__()


@dataclass(frozen=True)
class Output:
    """
    The output of a conversion.

    :param path: Path.
    :param storage: ``mcap`` or ``sqlite3``, of a folder; ``None``: as the input.
    :param force: Whether it may replace an existing one.
    :param keep_readable: Whether to write the readable part of a damaged recording.
    """

    path: str
    storage: str | None = None
    force: bool = False
    keep_readable: bool = False


@dataclass
class Converted:
    """
    The result of a conversion.

    :param read: Number of messages read.
    :param converted: Number of messages converted.
    :param damage: How far the recording could be read, and the problem there, empty if there is
        none.
    :param places: Number of places that could not be read.
    :param behind: Number of messages after the first of these.
    :param bridges: The converters, with their counts, by target.
    :param other_descriptions: Whether the recording contains other descriptions than the one used.
    """

    read: int = 0
    converted: int = 0
    damage: str = ''
    places: int = 0
    behind: int = 0
    bridges: Mapping[str, OfflineConverter] = field(default_factory=dict)
    other_descriptions: bool = False
    first_time: int | None = None
    last_time: int = 0

    def note(self, batch: list[Message]) -> None:
        """Count messages."""
        if batch:
            self.read += len(batch)
            self.behind += len(batch) if self.damage else 0
            self.last_time = batch[-1].time
            if self.first_time is None:
                self.first_time = batch[0].time

    def note_damage(self, problem: str) -> None:
        """Record a place that cannot be read, before the messages after it."""
        self.places += 1
        self.damage = self.damage or f'{self._how_far}: {problem}'

    @property
    def damage_in_full(self) -> str:
        """The first damage, and what was read after it."""
        more = f'; {self.places - 1} more places are damaged' if self.places > 1 else ''
        behind = f'; {self.behind} messages behind that could be read' if self.behind else ''
        return self.damage + more + behind

    @property
    def _how_far(self) -> str:
        if self.first_time is None:
            return 'before the first message'
        seconds = (self.last_time - self.first_time) / _BILLION
        return (
            f'after {self.read} messages, {seconds:.3f} s into the recording '
            f'(time {self.last_time / _BILLION:.3f})'
        )


def convert_recording(
    source: Source,
    output: Output,
    converter: MessageConverter,
    plan: TopicPlan,
    *,
    description: bytes | None,
    show: Callable[[float], None],
) -> Converted:
    """
    Convert a recording, piece by piece.

    :param source: The recording.
    :param output: The output.
    :param converter: Converts the messages.
    :param plan: Sources and targets.
    :param description: The description in use if it is the recording's own.
    :param show: Called with the progress from 0 to 1.
    :raises DamagedInputError: If it is damaged, and the readable part is not to be kept.
    :raises NothingConvertedError: If no message can be converted.
    :raises UsageError: If a topic does not exist, or the output cannot be written.
    """
    done = Converted(bridges=converter.bridges)
    if source.lists_topics:
        plan.check(source.topics)
    folder = is_folder(output.path)
    marker = METADATA_FILE if folder else ''
    with safe_output(output.path, force=output.force, folder=folder, marker=marker) as made:
        names = dict.fromkeys(
            name for bridge in converter.bridges.values() for name in bridge.names
        )
        try:
            sink = create_sink(
                made,
                os.path.basename(os.path.normpath(output.path)),
                source,
                storage=output.storage,
                columns=tuple(names),
                topics=tuple(converter.bridges),
            )
            try:
                _copy(source, sink, converter, plan, done, description, show)
                if done.damage and not (output.keep_readable and done.read):
                    raise DamagedInputError(done.damage_in_full)
                sink.close()
            except BaseException:
                sink.abort()
                raise
        except (OSError, UnusableFileError) as error:
            reason = getattr(error, 'strerror', None) or str(error)
            raise UsageError(f"cannot write '{output.path}': {reason}") from None
        done.converted = converter.converted
        if not done.converted:
            raise NothingConvertedError(done)
    return done


def _copy(
    source: Source,
    sink: Sink,
    converter: MessageConverter,
    plan: TopicPlan,
    done: Converted,
    description: bytes | None,
    show: Callable[[float], None],
) -> None:
    """Convert everything that can be read."""
    if source.lists_topics:
        _declare(source, sink, plan)
    for batch in source.batches(done.note_damage):
        done.note(batch)
        if description is not None:
            different = any(text != description for text in descriptions_in(batch))
            done.other_descriptions = done.other_descriptions or different
        sink.write(list(converter.convert(batch)))
        show(source.progress)
    if not done.damage:
        plan.check(source.topics)
    _declare(source, sink, plan)
    for record in source.extras(done.note_damage):
        sink.add_extra(record)


def _declare(source: Source, sink: Sink, plan: TopicPlan) -> None:
    """Add the topics that are copied, so that those without messages are kept."""
    for topic in source.topics:
        if plan.target_of(topic) is None or plan.keep:
            sink.add(topic)
