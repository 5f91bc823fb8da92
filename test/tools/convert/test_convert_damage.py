# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are cut off or damaged, and conversions that are."""

from __future__ import annotations

from io import BytesIO
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from unittest import mock

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import lz4.frame
import pytest
import rosbags.rosbag2.reader

from transmission_bridge.bridge.offline import map_recorded

#: As rosbags imports it: a part of newer versions of Python, otherwise a package.
zstd = rosbags.rosbag2.reader.zstd
COUNT = 12000
MAGIC = b'\x89MCAP0\r\n'
SETTINGS = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Recorded:
    """A recording as bytes by suffix, and what the live bridge makes of it."""

    def __init__(self, files, published):
        self.files = files
        self.published = published


@pytest.fixture(scope='module')
def recorded(bags, tmp_path_factory):
    """Return a recording of several chunks, and what the live bridge makes of it."""
    folder = tmp_path_factory.mktemp('recorded')
    messages = bags.states(COUNT)
    topics = {'/actuator_states': (bags.JOINT_STATE, messages)}
    data = {
        'mcap': (bags.write(folder / 'a', topics) / 'a.mcap').read_bytes(),
        'db3': (bags.write(folder / 'b', topics, storage='sqlite3') / 'b.db3').read_bytes(),
    }
    return Recorded(data, bags.live([('one', *message) for message in messages]))


def convert(run, tmp_path, robot_file, name, data, *options):
    """Convert these bytes, and return the result and what was written."""
    (tmp_path / name).write_bytes(data)
    target = tmp_path / 'out.mcap'
    target.unlink(missing_ok=True)
    result = run('convert', robot_file, tmp_path / name, target, *options)
    assert 'Traceback' not in result.err
    assert not list(tmp_path.rglob('*.partial'))
    return result, target


@pytest.mark.parametrize('suffix', ['mcap', 'db3'])
@SETTINGS
@given(where=st.integers(0, 2**32 - 1))
def test_of_a_recording_that_was_cut_off_the_program_that_recovers_it_is_named(
    run, bags, tmp_path, robot_file, recorded, suffix, where
):
    """Exit code 1 and nothing written; with --keep-readable exactly what can be read."""
    whole, published = recorded.files[suffix], recorded.published
    cut = whole[: where % len(whole)]
    for options in ((), ('--keep-readable',)):
        result, target = convert(run, tmp_path, robot_file, f'in.{suffix}', cut, *options)
        assert (result.code, result.out == '') == (1, not target.exists())
        program = {'mcap': 'mcap recover IN.mcap', 'db3': 'sqlite3 IN.db3 .recover'}[suffix]
        assert program in result.err
        if target.exists():
            assert options
            kept = [message[1:] for message in bags.read(target).messages]
            assert kept == published[: len(kept)]
            assert f'after {len(kept)} messages' in result.err


@pytest.mark.parametrize('suffix', ['mcap', 'db3'])
@SETTINGS
@given(
    flips=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 400), st.integers(-400, -1), st.integers(0, 2**32 - 1)),
            st.integers(1, 255),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_flipped_bytes_cost_no_traceback_and_leave_no_half_file(
    run, tmp_path, robot_file, recorded, suffix, flips
):
    """Whatever is damaged: an exit code of 0, 1 or 2, and a complete file or none."""
    changed = bytearray(recorded.files[suffix])
    for place, bits in flips:
        changed[place % len(changed)] ^= bits
    for options in ((), ('--keep-readable',)):
        result, target = convert(
            run, tmp_path, robot_file, f'in.{suffix}', bytes(changed), *options
        )
        assert result.code in (0, 1, 2)
        if result.code != 0 and not options:
            assert not target.exists()
        if target.exists():
            written = target.read_bytes()
            assert written.startswith(MAGIC)
            assert written.endswith(MAGIC)


@pytest.fixture(scope='module')
def chunked(bags):
    """Return a recording in chunks with checksums, as bytes, and the index of its chunks."""
    pytest.importorskip('mcap', reason='mcap, which writes recordings to read, is not installed')
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    states, file = bags.states(COUNT), BytesIO()
    writer = Writer(file, chunk_size=200_000, compression=CompressionType.NONE)
    writer.start('ros2')
    schema = writer.register_schema(bags.JOINT_STATE, 'ros2msg', b'string[] name')
    channel = writer.register_channel('/actuator_states', 'cdr', schema)
    for time_, data in states:
        writer.add_message(channel, time_, data, time_)
    writer.finish()
    file.seek(0)
    chunks = make_reader(file).get_summary().chunk_indexes
    assert len(chunks) > 8
    return file.getvalue(), chunks


@SETTINGS
@given(st.data())
def test_the_messages_before_a_damaged_chunk_can_be_kept(
    run, bags, tmp_path, robot_file, recorded, chunked, data
):
    """Its checksum is wrong: exactly the messages before it are read."""
    whole, chunks = chunked
    number = data.draw(st.integers(1, len(chunks) - 1))
    place = data.draw(st.integers(60, chunks[number].chunk_length - 1))
    changed = bytearray(whole)
    changed[chunks[number].chunk_start_offset + place] ^= data.draw(st.integers(1, 255))
    before = round((chunks[number].message_start_time - bags.START) / 1_000_000)
    for options in ((), ('--keep-readable',)):
        result, target = convert(run, tmp_path, robot_file, 'in.mcap', bytes(changed), *options)
        assert result.code == 1
        assert f'after {before} messages, {(before - 1) / 1000:.3f} s into' in result.err
        assert "checksum mismatch.; 'mcap recover IN.mcap -o OUT.mcap' may" in result.err
        hint = 'nothing was written; --keep-readable writes the readable part'
        assert (hint in result.err) == (not options) == (not target.exists())
    kept = [message[1:] for message in bags.read(target).messages]
    assert kept == recorded.published[:before]


@pytest.mark.parametrize('command', ['convert', 'calibrate'])
def test_messages_that_the_index_lacks_are_missed(
    run, bags, tmp_path, robot_file, recorded, chunked, command
):
    """A chunk whose index is lost is not read by rosbags: its messages are counted."""
    whole, chunks = chunked
    changed = bytearray(whole)
    # The index of the last chunk in the summary gets an opcode that readers skip.
    summary = changed.rindex(struct.pack('<Q', chunks[-1].chunk_start_offset))
    assert changed[summary - 25] == 8
    changed[summary - 25] = 0x80
    path = tmp_path / 'in.mcap'
    path.write_bytes(changed)
    if command == 'convert':
        result = run(command, robot_file, path, tmp_path / 'out.mcap')
        assert result.code == 1
        assert 'messages of its index were not found' in result.err
        assert not (tmp_path / 'out.mcap').exists()
    else:
        result = run(command, robot_file, path, '--joints', 'actuator_states')
        assert result.code == 2


@pytest.mark.parametrize(
    ('value', 'kept'), [("data = 'text'", 4999), ("timestamp = 'x'", COUNT - 1)]
)
def test_a_damaged_row_of_a_database_is_reported(
    run, bags, tmp_path, robot_file, recorded, value, kept
):
    """A row that is no message ends the reading there."""
    path = tmp_path / 'in.db3'
    path.write_bytes(recorded.files['db3'])
    with sqlite3.connect(path) as database:
        database.execute(f'UPDATE messages SET {value} WHERE id = 5000')
    database.close()
    result = run('convert', robot_file, path, tmp_path / 'out.mcap', '--keep-readable')
    assert result.code == 1
    assert f'after {kept} messages' in result.err
    assert 'a row of the table messages is not a message' in result.err


# -- Files that would take endless time, memory or disk space -------------------------------------


@pytest.mark.parametrize('name', ['pipe.csv', 'pipe.mcap', 'pipe.db3', 'bag/pipe.mcap'])
@pytest.mark.parametrize('command', ['convert', 'calibrate'])
def test_a_pipe_is_not_read(run, bags, tmp_path, robot_file, name, command):
    """Nobody may ever write to it."""
    bags.write(tmp_path / 'bag', {'/actuator_states': (bags.JOINT_STATE, [])})
    os.mkfifo(tmp_path / name)
    source = tmp_path / name.partition('/')[0]
    result = run(command, robot_file, source, *[tmp_path / 'out.csv'][: command == 'convert'])
    assert result.code == 2
    assert f"'{tmp_path / name}' is not a regular file" in result.err


def zeros(mebibytes):
    """Return so many zeros, compressed, without the size that a frame may state."""
    compress = zstd.ZstdCompressor()
    pieces = [compress.compress(bytes(1 << 20)) for _ in range(mebibytes)]
    return b''.join(pieces) + compress.flush()


def test_a_compressed_file_that_expands_without_end_is_refused(run, bags, tmp_path, robot_file):
    """Nothing is written into the temporary folder first."""
    folder = bags.write(tmp_path / 'in', {'/actuator_states': (bags.JOINT_STATE, [])})
    packed = zstd.compress((folder / 'in.mcap').read_bytes()) + zeros(300)
    (folder / 'in.mcap.zstd').write_bytes(packed)
    text = (folder / 'metadata.yaml').read_text()
    text = text.replace('in.mcap', 'in.mcap.zstd').replace("mode: ''", 'mode: FILE')
    (folder / 'metadata.yaml').write_text(text.replace("format: ''", 'format: zstd'))
    with mock.patch('tempfile.TemporaryDirectory', side_effect=AssertionError):
        result = run('convert', robot_file, folder, tmp_path / 'out.csv')
    assert result.code == 1
    assert f"'in.mcap.zstd' of {len(packed)} bytes expands to more than" in result.err


def test_messages_that_expand_without_end_are_damage(run, bags, tmp_path, robot_file):
    """Of a bag with compressed messages."""
    ((time_, data),) = bags.states(1)
    messages = [(time_, zstd.compress(data)), (time_ + 1, zeros(300))]
    folder = bags.write(tmp_path / 'in', {'/actuator_states': (bags.JOINT_STATE, messages)})
    text = (folder / 'metadata.yaml').read_text().replace("mode: ''", 'mode: MESSAGE')
    (folder / 'metadata.yaml').write_text(text.replace("format: ''", 'format: zstd'))
    result = run('convert', robot_file, folder, tmp_path / 'out.csv', '--keep-readable')
    assert result.code == 1
    assert 'after 1 messages' in result.err
    assert 'a compressed piece is cut off, or has more than 268435456 bytes' in result.err


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
@pytest.mark.parametrize('claimed', [1000, 300 << 20])
def test_a_chunk_that_expands_without_end_is_damage(
    run, tmp_path, robot_file, compression, claimed
):
    """Whatever size it claims."""

    def text(value):
        return struct.pack('<I', len(value)) + value

    def record(opcode, content):
        return struct.pack('<BQ', opcode, len(content)) + content

    packed = zeros(300) if compression == 'zstd' else lz4.frame.compress(bytes(300 << 20))
    head = struct.pack('<QQQI', 1, 1, claimed, 0) + text(compression.encode())
    chunk = record(6, head + struct.pack('<Q', len(packed)) + packed)
    begin = MAGIC + record(1, text(b'ros2') + text(b'by hand'))
    (tmp_path / 'in.mcap').write_bytes(begin + chunk + record(2, bytes(20)) + MAGIC)
    result = run('convert', robot_file, tmp_path / 'in.mcap', tmp_path / 'out.csv')
    assert result.code == 1
    most = min(claimed, 256 << 20)
    assert f'a compressed piece is cut off, or has more than {most} bytes' in result.err


@pytest.mark.parametrize('table', ['messages', 'topics', 'message_definitions', 'schema'])
def test_a_view_without_end_is_refused(run, tmp_path, robot_file, recorded, table):
    """Databases of rosbag2 have tables only."""
    path = tmp_path / 'in.db3'
    path.write_bytes(recorded.files['db3'])
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
        database.execute(f'ALTER TABLE {table} RENAME TO former')
        selected = ', '.join(f'1 AS {column}' for column in columns)
        database.execute(
            f'CREATE VIEW {table} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 '
            f'FROM n) SELECT {selected} FROM n'
        )
    database.close()
    result = run('convert', robot_file, path, tmp_path / 'out.csv')
    assert result.code == 1
    assert 'Cannot open database' in result.err


def test_metadata_of_endless_length_is_not_read(run, bags, tmp_path, robot_file):
    """Reading YAML takes long."""
    folder = bags.write(tmp_path / 'in', {'/actuator_states': (bags.JOINT_STATE, [])})
    with open(folder / 'metadata.yaml', 'a', encoding='utf-8') as file:
        file.write('#' * (5 << 20))
    result = run('convert', robot_file, folder, tmp_path / 'out.csv')
    assert result.code == 1
    assert 'its metadata.yaml has more than' in result.err


@pytest.mark.parametrize('key', ['name: ', 'ros_distro: ', 'compression_format: '])
def test_aliases_in_metadata_are_refused(run, bags, tmp_path, robot_file, key):
    """A short text can stand for a list of any length, which an error would print."""
    folder = bags.write(tmp_path / 'in', {'/actuator_states': (bags.JOINT_STATE, [])})
    text = (folder / 'metadata.yaml').read_text().replace("mode: ''", 'mode: FILE')
    levels = ''.join(f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 10)}]\n' for n in range(1, 12))
    text = re.sub(f'{key}.*', f'{key}*a11', text)
    (folder / 'metadata.yaml').write_text(f'a0: &a0 [x]\n{levels}{text}')
    result = run('convert', robot_file, folder, tmp_path / 'out.csv')
    assert result.code == 1
    assert 'its metadata.yaml has aliases' in result.err


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('name: /actuator_states', 'name: 5'),
        ('type: sensor_msgs/msg/JointState', 'type: [a, b]'),
        ('custom_data:', 'custom_data: [1, 2]'),
        ('message_count: 3', 'message_count: many'),
        ('depth: 7', 'depth: [7]'),
        ('depth: 7', 'depth: &a [*a]'),
        ('duration:', 'duration: {}\n  x:'),
        ("mode: ''", 'mode: 5'),
        ('version: 9', 'version: x'),
        ('rosbag2_bagfile_information:', '? [1, {a: 2}]\n:'),
    ],
)
def test_metadata_of_wrong_types_end_in_one_sentence(run, bags, tmp_path, robot_file, old, new):
    """Whatever stands where a number or a text is expected."""
    states = {'/actuator_states': (bags.JOINT_STATE, bags.states(3))}
    folder = bags.write(tmp_path / 'in', states)
    text = (folder / 'metadata.yaml').read_text()
    assert old in text
    (folder / 'metadata.yaml').write_text(text.replace(old, new))
    result = run('convert', robot_file, folder, tmp_path / 'out')
    assert result.code in (1, 2)
    assert result.err.count('\n') == 1
    assert not (tmp_path / 'out').exists()


# -- Runs that end early --------------------------------------------------------------------------


class Interrupted(Exception):
    """Stands for anything that may end a run."""


@pytest.mark.parametrize('error', [KeyboardInterrupt, Interrupted, OSError(28, 'No space left')])
@pytest.mark.parametrize('name', ['out.mcap', 'out.db3', 'out.csv', 'out'])
def test_whatever_ends_a_run_leaves_nothing(
    run, monkeypatch, tmp_path, robot_file, recorded, name, error
):
    """An interrupt, a bug or a full disk in the middle: no file under the name, none beside it."""
    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    calls = []

    def bridged_in_part(messages, bridges):
        for number, each in enumerate(map_recorded(messages, bridges)):
            if number == COUNT // 2:
                calls.append(number)
                raise error
            yield each

    monkeypatch.setattr('transmission_bridge.tools.convert.run.bridged', bridged_in_part)
    arguments = ('convert', robot_file, tmp_path / 'in.mcap', tmp_path / name)
    before = sorted(tmp_path.iterdir())
    if error is Interrupted:
        with pytest.raises(Interrupted):
            run(*arguments)
    else:
        result = run(*arguments)
        assert result.code == (130 if error is KeyboardInterrupt else 2)
    assert sorted(tmp_path.iterdir()) == before
    assert calls == [COUNT // 2]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_without_leaving_anything(tmp_path, robot_file, recorded, number):
    """The process ends by the signal, or with 130 for Ctrl-C, and takes its files with it."""
    lines = (f'{number},2.0\n' for number in range(1, 1_000_000))
    (tmp_path / 'in.csv').write_text('time,m1.position\n' + ''.join(lines))
    process = subprocess.Popen(
        [
            *(sys.executable, '-m', 'transmission_bridge', 'convert'),
            *(robot_file, tmp_path / 'in.csv', tmp_path / 'out.mcap'),
        ],
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob('.out.mcap.*.partial/bag/out/out.mcap')):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert b'Traceback' not in error
    assert not (tmp_path / 'out.mcap').exists()


@pytest.mark.parametrize('name', ['out.mcap', 'out'])
def test_a_target_that_appears_meanwhile_is_not_overwritten(
    run, monkeypatch, tmp_path, robot_file, recorded, name
):
    """What another program wrote under the name during the run stays."""
    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])

    def bridged_slowly(messages, bridges):
        (tmp_path / name).write_text('theirs')
        return map_recorded(messages, bridges)

    monkeypatch.setattr('transmission_bridge.tools.convert.run.bridged', bridged_slowly)
    result = run('convert', robot_file, tmp_path / 'in.mcap', tmp_path / name)
    assert result.code == 2
    assert 'is there already' in result.err
    assert (tmp_path / name).read_text() == 'theirs'
