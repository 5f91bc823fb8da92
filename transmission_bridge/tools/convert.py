# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge convert``: convert recordings between actuator and joint space.

Messages take the paths of a running bridge; rosbags alone reads and writes the files. Each target
topic has a bridge of its own, which sees the messages in the order of the recording. Users rely on
options, default topics and exit codes, and a failed conversion leaves no file; sentences are free.
"""

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
from transmission_bridge.messages import JointStateRecord, record_from_joint_state
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    import_optional,
    printable,
    progress,
    ToolFailedError,
    UsageError,
)
from transmission_bridge.tools.files import check_regular_file, safe_output
from transmission_bridge.tools.robot import note_errors, read_bridge_setup, read_robot_file

#: Types of the messages, and the topic of the description, in recordings.
_JOINT_STATE, _STRING = 'sensor_msgs/msg/JointState', 'std_msgs/msg/String'
_DESCRIPTION = '/robot_description'

#: Storages by the suffix of a file; other names are folders of MCAP.
_STORAGES = {'.mcap': 'mcap', '.db3': 'sqlite3'}


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises ToolFailedError: If the recording cannot be read, or no message can be converted.
    """
    path, output, to = options.input, options.output, options.to
    pairs = _pair_topics(options.topic)
    setup = read_bridge_setup(options, [*(pairs if to == 'joint' else pairs.values())])
    if not pairs:
        drivers = [_add_root(topic) for topic in setup.options.actuator_state_topics]
        driver = drivers[0] if len(drivers) == 1 else '/actuator_states'
        back = {'/joint_states': driver}
        pairs = dict.fromkeys(drivers, '/joint_states') if to == 'joint' else back
    if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
        raise UsageError('OUT and IN are the same file: name another OUT')
    marker = '' if Path(output).suffix in _STORAGES else 'metadata.yaml'
    try:
        # A folder of rosbag2, or one of its files.
        rosbag2 = import_optional('rosbags.rosbag2', 'bags')
        if not os.path.isdir(path):
            check_regular_file(path)
        with _report_damage(path):
            reader = rosbag2.Reader(path)
            reader.open()
        with closing(reader) as source:
            data = read_robot_file(options.file) if options.file else _find_description(source)
            robot, notes = setup.robot(data)
            notes += note_errors(robot, options.file or path)
            direction = ACTUATOR_TO_JOINT if to == 'joint' else JOINT_TO_ACTUATOR

            def read(message: bytes) -> JointStateRecord:
                return record_from_joint_state(_decode(message, _JOINT_STATE))

            bridges = {
                target: OfflineBridge(robot, direction, read, setup.options, target)
                for target in pairs.values()
            }
            with (
                safe_output(output, force=options.force, marker=marker) as made,
                _create_like(source, made) as writer,
            ):
                with progress(console.err, 'converting') as show:
                    converted = _convert(source, writer, pairs, bridges, show, keep=options.keep)
                for note in (*notes, *_list_notes(bridges.values())):
                    console.err.line(printable(note))
                if not converted:
                    other = {'joint': 'actuator', 'actuator': 'joint'}[to]
                    raise ToolFailedError(
                        'nothing was converted and no file was written: no message of '
                        f'{", ".join(pairs)} determines a {to} (--to {other} converts the reverse)'
                    )
    except (OSError, OverflowError, sqlite3.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise UsageError(f"cannot convert '{path}' to '{output}': {reason}") from None
    targets = ', '.join(f'{source} to {target}' for source, target in pairs.items())
    done = f'{counted(converted, "message")} converted ({targets}) in {output}'
    console.out.line(printable(done))
    return Exit.OK


def _list_notes(bridges: Iterable[OfflineBridge]) -> Iterator[str]:
    """Yield sentences about messages, names and values that were left out."""
    for bridge in bridges:
        for (source, reason), count in bridge.rejected.items():
            rejected = f'{counted(count, "message")} of {source} rejected ({reason})'
            yield f'{rejected}: {bridge.sentences[source, reason]}'
        if bridge.states.unknown_names:
            yield f'unknown names were left out: {", ".join(bridge.states.unknown_names)}'
        for (name, reason), count in bridge.states.report.counts.items():
            yield f'{counted(count, "value")} of {name} unknown: {reason}'


# -- Topics --------------------------------------------------------------------------------------


def _pair_topics(texts: Sequence[str]) -> dict[str, str]:
    """
    Return target by source of pairs ``source:target``.

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
    return pairs


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
    """
    Write the copied and the converted messages, and return the number of the latter.

    :param keep: Whether the converted topics are copied also.
    :raises UsageError: If a source does not exist or cannot be converted, or a target exists.
    """
    types = {_add_root(connection.topic): connection.msgtype for connection in source.connections}
    for name, target in pairs.items():
        if target in types and (target not in pairs or keep):
            raise UsageError(
                f"'{source.path}': has '{target}' already; name another target: "
                f'--topic {name}:NAME'
            )
        if types.get(name) != _JOINT_STATE:
            states = sorted(topic for topic, kind in types.items() if kind == _JOINT_STATE)
            raise UsageError(
                f"'{source.path}': '{name}' cannot be converted: expected {_JOINT_STATE}, found "
                f'{types.get(name, "no topic")}; topics with joint states are: '
                f'{", ".join(states) or "none"} (see --topic)'
            )
    # By connection: the bridge, None for a copy, and the connection that is written.
    routes: dict[int, list[tuple[OfflineBridge | None, Any]]] = {}
    first: dict[str, Any] = {}
    for connection in source.connections:
        to, route = pairs.get(_add_root(connection.topic)), routes.setdefault(connection.id, [])
        if to is None or keep:
            route.append((None, _add_topic(writer, connection, connection.topic)))
        if to is not None:
            made = _add_topic(writer, first.setdefault(to, connection), to)
            route.append((bridges[to], made))
    converted = 0
    for read, (connection, time, data) in enumerate(_read_messages(source), 1):
        for bridge, made in routes[connection.id]:
            message = bridge.map_message(connection.topic, time, data) if bridge else data
            if message is not None:
                writer.write(made, time, message)
                converted += bridge is not None
        if read % 1000 == 0:
            show(read / source.message_count)
    return converted


# -- Recordings: rosbags reads and writes them ---------------------------------------------------


@contextmanager
def _report_damage(path: Any) -> Iterator[None]:
    """Raise what rosbags raises for a damaged file, which may be anything, as one error."""
    try:
        yield
    except Exception as error:
        raise ToolFailedError(
            f"'{path}' cannot be read as a recording: {error}; no file was written"
        ) from None


def _read_messages(source: Any, topics: Sequence[Any] = ()) -> Iterator[tuple[Any, int, bytes]]:
    """Yield topic, time of receipt [ns] and bytes of each message, of all or of some topics."""
    count = 0
    with _report_damage(source.path):
        for topic, time, data in source.messages(topics):
            if type(time) is not int or type(data) is not bytes:
                raise ValueError('a row of the table messages is not a message')
            count += 1
            yield topic, time, data
        if not topics and count < source.message_count:
            missing = counted(source.message_count - count, 'message')
            raise ValueError(f'{missing} of its index not found')


def _find_description(source: Any) -> bytes:
    """
    Return the first description in a recording.

    :raises UsageError: If it has none.
    """
    topics = [connection for connection in source.connections if connection.topic == _DESCRIPTION]
    for _, _, data in _read_messages(source, topics) if topics else ():
        return bytes(_decode(data, _STRING).data, 'utf-8')
    raise UsageError(f"'{source.path}' has no {_DESCRIPTION}: give also the robot (FILE IN OUT)")


@lru_cache(maxsize=1)
def _load_types() -> Any:
    """Return the store of message types of rosbags; it is slow to load."""
    types = import_optional('rosbags.typesys', 'bags')
    return types.get_typestore(types.Stores.LATEST)


def _decode(data: bytes, name: str) -> Any:
    try:
        return _load_types().deserialize_cdr(data, name)
    except Exception as error:  # rosbags raises any exception for a broken message
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from None


@contextmanager
def _create_like(source: Any, path: str) -> Iterator[Any]:
    """
    Yield the writer of a recording with the metadata of another one; MCAP is compressed.

    :param path: A file or folder that does not exist, in an otherwise empty folder.
    """
    rosbag2, suffix = import_optional('rosbags.rosbag2', 'bags'), Path(path).suffix
    kind, is_file = _STORAGES.get(suffix, 'mcap'), suffix in _STORAGES
    # rosbags names the file after its folder.
    folder = Path(path).parent / 'bag' / Path(path).stem if is_file else Path(path)
    if kind == 'sqlite3' and set('?#%') & set(path):  # rosbags makes an unquoted URI of it
        raise OSError('the path of an SQLite file cannot have ?, # or %')
    writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin[kind.upper()])
    if kind == 'mcap':
        writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    for key, value in (source.storage.metadata.custom or {}).items():
        writer.set_custom_data(str(key), str(value))
    with writer:
        yield writer
    if is_file:
        os.rename(next(folder.glob(f'*{suffix}')), path)


def _add_topic(writer: Any, topic: Any, name: str) -> Any:
    """Add a topic like another one; publishers that differ in nothing share it."""
    for made in writer.connections:
        if (made.topic, made.msgtype, made.ext) == (name, topic.msgtype, topic.ext):
            return made
    definition = topic.msgdef.data
    with suppress(Exception):  # rosbags does not know the type, which stays without a definition
        definition = definition or _load_types().generate_msgdef(topic.msgtype, ros_version=2)[0]
    digest = topic.digest or f'RIHS01_{"0" * 64}'  # rosbags writes no empty one
    return writer.add_connection(
        name, topic.msgtype, msgdef=definition, rihs01=digest,
        serialization_format=topic.ext.serialization_format,
        offered_qos_profiles=topic.ext.offered_qos_profiles,
    )  # fmt: skip
