# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One conversion from file to file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import os

from transmission_bridge.bridge.offline import OfflineConverter
from transmission_bridge.tools.bag_description import descriptions_in
from transmission_bridge.tools.bags.bag_folder import METADATA_FILE
from transmission_bridge.tools.bags.files import create_sink, is_folder
from transmission_bridge.tools.bags.model import Message, Sink, Source, UnusableFileError
from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.convert_messages import MessageConverter
from transmission_bridge.tools.convert_topics import TopicPlan
from transmission_bridge.tools.safe_output import safe_output

__all__ = [
    'Converted',
    'DamagedInputError',
    'NothingConvertedError',
    'Output',
    'convert_recording',
]

_BILLION = 10**9


class DamagedInputError(Exception):
    """The recording could not be read to its end, and nothing was written."""


class NothingConvertedError(Exception):
    """
    No message came out in the other space, and nothing was written.

    :param done: What was seen of the recording.
    """

    def __init__(self, done: Converted) -> None:
        self.done = done
        super().__init__()


@dataclass(frozen=True)
class Output:
    """
    What is to be written.

    :param path: Where.
    :param storage: ``mcap`` or ``sqlite3``, of a folder; ``None``: as the input.
    :param force: Whether it may replace something.
    :param keep_readable: Whether to write what can be read of a damaged recording.
    """

    path: str
    storage: str | None = None
    force: bool = False
    keep_readable: bool = False


@dataclass
class Converted:
    """
    What was done.

    :param read: How many messages were read.
    :param converted: How many came out in the other space.
    :param damage: How far the recording could be read and why no further, empty if it was read
        to its end.
    :param places: How many places could not be read.
    :param behind: How many of the messages are behind the first of them.
    :param bridges: By target, what the conversions noticed.
    :param other_descriptions: Whether the recording holds other descriptions than the one used.
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
        """Count messages that were read."""
        if batch:
            self.read += len(batch)
            self.behind += len(batch) if self.damage else 0
            self.last_time = batch[-1].time
            if self.first_time is None:
                self.first_time = batch[0].time

    def note_damage(self, problem: str) -> None:
        """Take note of a place that cannot be read, before what comes behind it."""
        self.places += 1
        self.damage = self.damage or f'{self._how_far}: {problem}'

    @property
    def damage_in_full(self) -> str:
        """The first damage, and what is behind it."""
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
    :param output: What is to be written.
    :param converter: Converts the messages.
    :param plan: What becomes of each topic.
    :param description: The description in use if it is the recording's own.
    :param show: Called with how much is done, from 0 to 1.
    :raises DamagedInputError: If it cannot be read to its end and nothing is to be kept.
    :raises NothingConvertedError: If nothing can be made of its messages.
    :raises UsageError: If a topic is not there, or the output cannot be written.
    """
    done = Converted(bridges=converter.bridges)
    if source.lists_topics:
        plan.check(source.topics)
    folder = is_folder(output.path)
    marker = METADATA_FILE if folder else ''
    with safe_output(output.path, force=output.force, folder=folder, marker=marker) as made:
        names = dict.fromkeys(
            name for bridge in converter.bridges.values() for name in bridge.path.names
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
    """Read, convert and write all that can be read."""
    if source.lists_topics:
        _declare(source, sink, plan)
    for batch in source.batches(done.note_damage):
        done.note(batch)
        if description is not None:
            different = any(text != description for text in descriptions_in(batch))
            done.other_descriptions = done.other_descriptions or different
        sink.write(converter.convert(batch))
        show(source.progress)
    if not done.damage:
        plan.check(source.topics)
    _declare(source, sink, plan)
    for record in source.extras(done.note_damage):
        sink.add_extra(record)


def _declare(source: Source, sink: Sink, plan: TopicPlan) -> None:
    """Make the topics known that are copied, so that those without messages are not lost."""
    for topic in source.topics:
        if plan.target_of(topic) is None or plan.keep:
            sink.add(topic)
