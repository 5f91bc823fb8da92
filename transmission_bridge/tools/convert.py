# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: convert recordings between actuator and joint space."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
import os
from pathlib import Path
import sqlite3
from typing import Any

from transmission_bridge.bridge import OfflineBridge
from transmission_bridge.errors import counted, MessageError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.messages import JointStateRecord, record_from_message
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    FailedError,
    optional,
    printable,
    progress,
    UsageError,
)
from transmission_bridge.tools.files import check_output, check_regular, safe_output
from transmission_bridge.tools.robot import bridge_setup, NAMES_HINT, read_robot_file

_JOINT_STATE, _STRING = 'sensor_msgs/msg/JointState', 'std_msgs/msg/String'
_DESCRIPTION = '/robot_description'
_METADATA = 'metadata.yaml'

#: Storages by the suffix of a file; other names are folders.
_STORAGES = {'.mcap': 'mcap', '.db3': 'sqlite3'}


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises FailedError: If the recording cannot be read, or no message can be converted.
    """
    path, output, to = options.input, options.output, options.to
    sides = [text.split(':') for text in options.topic]
    setup = bridge_setup(options, [side[0 if to == 'joint' else -1] for side in sides])
    pairs = pair_topics(options.topic, to, setup.options.actuator_state_topics)
    if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
        raise UsageError('OUT and IN are the same file: name another OUT')
    marker = '' if Path(output).suffix in _STORAGES else _METADATA
    check_output(output, force=options.force, marker=marker)
    with _report_errors(path, output), closing(_open_recording(path)) as source:
        data = read_robot_file(options.file) if options.file else _find_description(source)
        robot, notes = setup.robot(data)
        file = f"'{options.file or path}'"
        if not robot.joint_names:
            raise UsageError(f'{file} has no joint that can be converted')
        if count := sum(finding.severity == 'error' for finding in robot.findings):
            notes.append(f"{file} has errors ({count}), joints are missing: see 'check'")
        direction = ACTUATOR_TO_JOINT if to == 'joint' else JOINT_TO_ACTUATOR
        bridges = {
            target: OfflineBridge(robot, direction, _decode_state, setup.options, target)
            for target in dict.fromkeys(pairs.values())
        }
        for bridge in bridges.values() if to == 'joint' else ():
            bridge.plan.names_hint = NAMES_HINT
        _check_topics(source, pairs, keep=options.keep)
        with (
            safe_output(output, force=options.force, marker=marker) as made,
            _create_like(source, made) as writer,
        ):
            with progress(console.err, 'converting') as show:
                converted = _convert(source, writer, pairs, bridges, show, keep=options.keep)
            for note in (*notes, *_list_notes(bridges.values())):
                console.err.line(printable(note))
            if not converted:
                topics, other = ', '.join(pairs), 'joint' if to == 'actuator' else 'actuator'
                raise FailedError(
                    f'nothing was converted and no file was written: no message of {topics} '
                    f'determines a {to} (--to {other} converts the reverse)'
                )
    targets = ', '.join(f'{source} to {target}' for source, target in pairs.items())
    result = f'{counted(converted, "message")} converted ({targets}) in {output}'
    console.out.line(printable(result))
    return Exit.OK


def _list_notes(bridges: Iterable[OfflineBridge]) -> Iterator[str]:
    """Yield sentences about messages, names and values that were left out."""
    for bridge in bridges:
        for (source, reason), count in bridge.rejected.items():
            sentence = bridge.sentences[source, reason]
            yield f'{counted(count, "message")} of {source} rejected ({reason}): {sentence}'
        if bridge.states.unknown_names:
            yield f'unknown names were left out: {", ".join(bridge.states.unknown_names)}'
        for (name, reason), count in bridge.states.report.counts.items():
            yield f'{counted(count, "value")} of {name} unknown: {reason}'


# -- Topics --------------------------------------------------------------------------------------


def pair_topics(texts: Sequence[str], to: str, drivers: Sequence[str]) -> dict[str, str]:
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


def _check_topics(source: Any, pairs: Mapping[str, str], *, keep: bool) -> None:
    """
    Check the topics of a recording.

    :param keep: Whether the converted topics are copied also.
    :raises UsageError: If a source does not exist or cannot be converted, or a target exists.
    """
    types = {_add_root(connection.topic): connection.msgtype for connection in source.connections}
    for name, target in pairs.items():
        if target in types and (target not in pairs or keep):
            reason = f"has '{target}' already; name another target: --topic {name}:NAME"
        elif types.get(name) != _JOINT_STATE:
            states = sorted(each for each, kind in types.items() if kind == _JOINT_STATE)
            found = types.get(name, 'no topic')
            reason = (
                f"'{name}' cannot be converted: expected {_JOINT_STATE}, found {found}; topics "
                f'with joint states are: {", ".join(states) or "none"} (see --topic)'
            )
        else:
            continue
        raise UsageError(f"'{source.path}': {reason}")


def _add_root(name: str) -> str:
    return '/' + name.lstrip('/')


def _convert(
    source: Any,
    writer: Any,
    pairs: Mapping[str, str],
    bridges: Mapping[str, OfflineBridge],
    show: Callable[[float], None],
    *,
    keep: bool,
) -> int:
    """Write the copied and the converted messages, and return the number of the latter."""
    copies: dict[int, Any] = {}
    targets: dict[int, tuple[OfflineBridge, Any]] = {}
    first: dict[str, Any] = {}
    for each in source.connections:
        target = pairs.get(_add_root(each.topic))
        if target is None or keep:
            copies[each.id] = _add_topic(writer, each, each.topic)
        if target is not None:
            like = first.setdefault(target, each)
            targets[each.id] = bridges[target], _add_topic(writer, like, target)
    converted = 0
    for read, (connection, time, data) in enumerate(_read_messages(source), 1):
        if connection.id in copies:
            writer.write(copies[connection.id], time, data)
        if connection.id in targets:
            bridge, target = targets[connection.id]
            found = bridge.map_message(connection.topic, time, data)
            if found is not None:
                writer.write(target, time, found)
                converted += 1
        if read % 1000 == 0:
            show(read / source.message_count)
    return converted


# -- Recordings: rosbags reads and writes them ---------------------------------------------------


@contextmanager
def _report_errors(source: str, output: str) -> Iterator[None]:
    """Raise errors of files as :class:`UsageError`."""
    try:
        yield
    except (OSError, OverflowError, sqlite3.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise UsageError(f"cannot convert '{source}' to '{output}': {reason}") from None


def _describe_unreadable(path: Any, error: object) -> FailedError:
    reason = f"'{path}' cannot be read as a recording: {error}"
    return FailedError(f'{reason}; no file was written')


def _open_recording(path: str) -> Any:
    """Return the open reader of a folder of rosbag2 or of one of its files."""
    rosbag2 = optional('rosbags.rosbag2', 'bags')
    try:
        for file in Path(path).iterdir() if os.path.isdir(path) else [Path(path)]:
            if not file.is_dir():
                check_regular(file)
        reader = rosbag2.Reader(path)
        reader.open()
    except OSError:
        raise
    except Exception as error:  # rosbags raises any exception for a damaged file
        raise _describe_unreadable(path, error) from None
    return reader


def _read_messages(source: Any, topics: Sequence[Any] = ()) -> Iterator[tuple[Any, int, bytes]]:
    """Yield topic, time of receipt [ns] and bytes of each message, of all or of some topics."""
    count = 0
    try:
        for topic, time, data in source.messages(topics):
            if type(time) is not int or type(data) is not bytes:
                raise ValueError('a row of the table messages is not a message')
            count += 1
            yield topic, time, data
    except Exception as error:  # rosbags raises any exception for a damaged file
        raise _describe_unreadable(source.path, error) from None
    if not topics and count < source.message_count:
        missing = counted(source.message_count - count, 'message')
        raise _describe_unreadable(source.path, f'{missing} of its index not found')


def _find_description(source: Any) -> bytes:
    """
    Return the first description in a recording.

    :raises UsageError: If it has none.
    """
    topics = [connection for connection in source.connections if connection.topic == _DESCRIPTION]
    for _, _, data in _read_messages(source, topics) if topics else ():
        return bytes(_decode(data, _STRING).data, 'utf-8')
    hint = 'give also the robot, convert FILE IN OUT'
    raise UsageError(f"'{source.path}' has no {_DESCRIPTION}: {hint}")


@lru_cache(maxsize=1)
def _load_types() -> Any:
    types = optional('rosbags.typesys', 'bags')
    return types.get_typestore(types.Stores.LATEST)


def _decode(data: bytes, name: str) -> Any:
    try:
        return _load_types().deserialize_cdr(data, name)
    except Exception as error:  # rosbags raises any exception for a broken message
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from None


def _decode_state(data: bytes) -> JointStateRecord:
    return record_from_message(_decode(data, _JOINT_STATE))


@contextmanager
def _create_like(source: Any, path: str) -> Iterator[Any]:
    """
    Yield the writer of a recording with the compression and metadata of another one.

    A folder also has its storage.

    :param path: A file or folder that does not exist, in an otherwise empty folder.
    """
    rosbag2, inner = optional('rosbags.rosbag2', 'bags'), source.storage
    suffix, stores = Path(path).suffix, getattr(inner, 'storages', [inner])
    is_database = 'sqlite' in type(stores[0]).__name__.lower()
    kind = _STORAGES.get(suffix, 'sqlite3' if is_database else 'mcap')
    # rosbags names the file after its folder.
    is_file = suffix in _STORAGES
    folder = Path(path).parent / 'bag' / Path(path).stem if is_file else Path(path)
    if kind == 'sqlite3' and set('?#%') & set(path):  # rosbags makes an unquoted URI of it
        raise OSError('the path of an SQLite file cannot have ?, # or %')
    writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin[kind.upper()])
    chunks = (chunk for store in stores for chunk in getattr(store, 'chunks', ()))
    if kind == 'mcap' and any(chunk.compression for chunk in chunks):
        writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    for key, value in (inner.metadata.custom or {}).items():
        writer.set_custom_data(str(key), str(value))
    with writer:
        yield writer
    if is_file:
        os.rename(next(folder.glob(f'*{suffix}')), path)


#: The hash of a type without a known definition; rosbags writes no empty one.
_NO_HASH = f'RIHS01_{"0" * 64}'


def _add_topic(writer: Any, topic: Any, name: str) -> Any:
    """Add a topic like another one; publishers that differ in nothing share it."""
    for each in writer.connections:
        if (each.topic, each.msgtype, each.ext) == (name, topic.msgtype, topic.ext):
            return each
    definition = topic.msgdef.data
    with suppress(Exception):  # rosbags does not know the type, which stays without a definition
        definition = definition or _load_types().generate_msgdef(topic.msgtype, ros_version=2)[0]
    return writer.add_connection(
        name, topic.msgtype, msgdef=definition, rihs01=topic.digest or _NO_HASH,
        serialization_format=topic.ext.serialization_format,
        offered_qos_profiles=topic.ext.offered_qos_profiles,
    )  # fmt: skip
