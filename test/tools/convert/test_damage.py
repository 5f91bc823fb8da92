# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are cut off, damaged or endless, and conversions that end early."""

from __future__ import annotations

import contextlib
import importlib
from io import BytesIO
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from types import SimpleNamespace
from unittest import mock

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import lz4.frame
import pytest
import rosbags.rosbag2.reader

from transmission_bridge.bridge.offline import map_recorded

#: As rosbags imports it: a part of newer versions of Python, otherwise a package.
zstd = rosbags.rosbag2.reader.zstd
COUNT = 6000
MAGIC = b'\x89MCAP0\r\n'
SETTINGS = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope='module')
def recorded(bags, tmp_path_factory):
    """Return a recording of several chunks by suffix, and what the live bridge makes of it."""
    folder, messages = tmp_path_factory.mktemp('recorded'), bags.states(COUNT)
    files = {
        'mcap': (bags.drive(folder / 'a', messages) / 'a.mcap').read_bytes(),
        'db3': (bags.drive(folder / 'b', messages, storage='sqlite3') / 'b.db3').read_bytes(),
    }
    return SimpleNamespace(files=files, published=bags.live(messages))


@pytest.mark.parametrize('suffix', ['mcap', 'db3'])
@SETTINGS
@given(where=st.integers(0, 2**32 - 1))
def test_of_a_recording_that_was_cut_off_the_program_that_recovers_it_is_named(
    convert, bags, tmp_path, recorded, suffix, where
):
    """Exit code 1 and nothing written; with --keep-readable exactly what can be read."""
    whole, published = recorded.files[suffix], recorded.published
    for options in ((), ('--keep-readable',)):
        (tmp_path / 'out.mcap').unlink(missing_ok=True)
        cut_off = whole[: where % len(whole)]
        result, target = convert(cut_off, *options, name=f'in.{suffix}')
        assert (result.code, result.out == '') == (1, not target.exists())
        program = {'mcap': 'mcap recover IN.mcap', 'db3': 'sqlite3 IN.db3 .recover'}[suffix]
        assert program in result.err
        if target.exists():
            assert options
            kept = bags.told(target)
            assert kept == published[: len(kept)]
            assert f'after {len(kept)} messages' in result.err


@pytest.fixture(scope='module')
def chunked(bags):
    """Return a recording in chunks with checksums, as bytes, and the index of its chunks."""
    whole = bags.mcap(bags.states(COUNT), chunk_size=100_000)
    reader = importlib.import_module('mcap.reader').make_reader(BytesIO(whole))
    return whole, reader.get_summary().chunk_indexes


@pytest.fixture
def database(tmp_path, recorded):
    """Return a function that changes the rows of the recording; it returns the path."""

    def call(change):
        path = tmp_path / 'in.db3'
        path.write_bytes(recorded.files['db3'])
        with contextlib.closing(sqlite3.connect(path)) as rows, rows:
            change(rows)
        return path

    return call


@SETTINGS
@given(st.data())
def test_the_messages_before_a_damaged_chunk_can_be_kept(
    convert, bags, tmp_path, recorded, chunked, data
):
    """Its checksum is wrong: exactly the messages before it are read."""
    whole, chunks = chunked
    assert len(chunks) > 8
    number = data.draw(st.integers(1, len(chunks) - 1))
    place = data.draw(st.integers(60, chunks[number].chunk_length - 1))
    changed = bytearray(whole)
    changed[chunks[number].chunk_start_offset + place] ^= data.draw(st.integers(1, 255))
    before = round((chunks[number].message_start_time - bags.START) / 1_000_000)
    for options in ((), ('--keep-readable',)):
        (tmp_path / 'out.mcap').unlink(missing_ok=True)
        result, target = convert(changed, *options, name='in.mcap')
        assert result.code == 1
        assert f'after {before} messages, {(before - 1) / 1000:.3f} s into' in result.err
        assert "checksum mismatch.; 'mcap recover IN.mcap -o OUT.mcap' may" in result.err
        hint = 'nothing was written; --keep-readable writes the readable part'
        assert (hint in result.err) == (not options) == (not target.exists())
    assert bags.told(target) == recorded.published[:before]


def test_messages_that_the_index_lacks_are_missed(run, convert, tmp_path, robot_file, chunked):
    """A chunk whose index is lost is not read by rosbags: its messages are counted."""
    whole, chunks = chunked
    changed = bytearray(whole)
    # The index of the last chunk in the summary gets an opcode that readers skip.
    summary = changed.rindex(struct.pack('<Q', chunks[-1].chunk_start_offset))
    assert changed[summary - 25] == 8
    changed[summary - 25] = 0x80
    result, target = convert(changed, name='in.mcap')
    assert result.code == 1
    assert 'messages of its index were not found' in result.err
    assert not target.exists()
    words = (tmp_path / 'in.mcap', '--joints', 'actuator_states')
    assert run('calibrate', robot_file, *words).code == 2


@pytest.mark.parametrize(
    ('value', 'kept'), [("data = 'text'", 2999), ("timestamp = 'x'", COUNT - 1)]
)
def test_a_damaged_row_of_a_database_is_reported(convert, database, value, kept):
    """A row that is no message ends the reading there."""
    path = database(lambda rows: rows.execute(f'UPDATE messages SET {value} WHERE id = 3000'))
    result, _ = convert(path, '--keep-readable')
    assert result.code == 1
    assert f'after {kept} messages' in result.err
    assert 'a row of the table messages is not a message' in result.err


@pytest.mark.parametrize('name', ['a.mcap', 'a.db3', 'a.csv', 'a.bag', 'a'])
@pytest.mark.parametrize('content', [b'', b'junk\0' * 100, b'\x89MCAP0\r\n', b'SQLite format 3\0'])
def test_a_file_that_is_no_recording_has_errors(convert, name, content):
    """Exit code 1, and what is wrong."""
    result, target = convert(content, name=name)
    assert (result.code, target.exists()) == (1, False)
    assert f"{name}' cannot be used" in result.err


# -- Files that would take endless time, memory or disk space -------------------------------------


@pytest.mark.parametrize('name', ['pipe.csv', 'pipe.mcap', 'pipe.db3', 'bag/pipe.mcap'])
@pytest.mark.parametrize('command', ['convert', 'calibrate'])
def test_a_pipe_is_not_read(run, bags, tmp_path, robot_file, name, command):
    """Nobody may ever write to it."""
    bags.drive(tmp_path / 'bag', [])
    os.mkfifo(tmp_path / name)
    source = tmp_path / name.partition('/')[0]
    result = run(command, robot_file, source, *[tmp_path / 'out.csv'][: command == 'convert'])
    assert result.code == 2
    assert f"'{tmp_path / name}' is not a regular file" in result.err


def zeros(mebibytes=300):
    """Return so many zeros, compressed, without the size that a frame may state."""
    compress = zstd.ZstdCompressor()
    pieces = [compress.compress(bytes(1 << 20)) for _ in range(mebibytes)]
    return b''.join(pieces) + compress.flush()


@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
def test_compressed_bags_that_expand_without_end_are_refused(convert, bags, tmp_path, mode):
    """A file is not written into the temporary folder first; a message is damage."""
    ((time_, data),) = bags.states(1)
    messages = {'FILE': [], 'MESSAGE': [(time_, zstd.compress(data)), (time_ + 1, zeros())]}[mode]
    folder = bags.drive(tmp_path / 'in', messages)
    changes = [("format: ''", 'format: zstd'), ("mode: ''", f'mode: {mode}')]
    if mode == 'FILE':
        packed = zstd.compress((folder / 'in.mcap').read_bytes()) + zeros()
        (folder / 'in.mcap.zstd').write_bytes(packed)
        changes += [('in.mcap', 'in.mcap.zstd')]
        words = [f"'in.mcap.zstd' of {len(packed)} bytes expands to more than"]
    else:
        words = ['after 1 messages', f'is cut off, or has more than {256 << 20} bytes']
    text = (folder / 'metadata.yaml').read_text()
    for change in changes:
        text = text.replace(*change)
    (folder / 'metadata.yaml').write_text(text)
    with mock.patch('tempfile.TemporaryDirectory', side_effect=AssertionError):
        result, _ = convert(folder, '--keep-readable', target='out.csv')
    assert result.code == 1
    assert all(each in result.err for each in words)


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
@pytest.mark.parametrize('claimed', [1000, 300 << 20])
def test_a_chunk_that_expands_without_end_is_damage(convert, compression, claimed):
    """Whatever size it claims."""

    def text(value):
        return struct.pack('<I', len(value)) + value

    def record(opcode, content):
        return struct.pack('<BQ', opcode, len(content)) + content

    packed = zeros() if compression == 'zstd' else lz4.frame.compress(bytes(300 << 20))
    head = struct.pack('<QQQI', 1, 1, claimed, 0) + text(compression.encode())
    chunk = record(6, head + struct.pack('<Q', len(packed)) + packed)
    begin = MAGIC + record(1, text(b'ros2') + text(b'by hand'))
    whole = begin + chunk + record(2, bytes(20)) + MAGIC
    result, _ = convert(whole, name='in.mcap')
    assert result.code == 1
    most = min(claimed, 256 << 20)
    assert f'a compressed piece is cut off, or has more than {most} bytes' in result.err


@pytest.mark.parametrize('table', ['messages', 'topics', 'message_definitions', 'schema'])
def test_a_view_without_end_is_refused(convert, database, table):
    """Databases of rosbag2 have tables only."""

    def change(rows):
        columns = [row[1] for row in rows.execute(f'PRAGMA table_info({table})')]
        rows.execute(f'ALTER TABLE {table} RENAME TO former')
        selected = ', '.join(f'1 AS {column}' for column in columns)
        rows.execute(
            f'CREATE VIEW {table} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 '
            f'FROM n) SELECT {selected} FROM n'
        )

    result, _ = convert(database(change), target='out.csv')
    assert result.code == 1
    assert 'Cannot open database' in result.err


#: A short text that stands for a very long list, which an error would print.
LEVELS = 'a0: &a0 [x]\n' + ''.join(
    f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 10)}]\n' for n in range(1, 12)
)


@pytest.mark.parametrize(('pattern', 'new', 'words'), [
    (r'\Z', '#' * (5 << 20), 'its metadata.yaml has more than'),
    *((rf'\A((?:.*\n)*?.*{key}: ).*', rf'{LEVELS}\1*a11', 'its metadata.yaml has aliases')
      for key in ('name', 'ros_distro', 'compression_format')),
    ('name: /actuator_states', 'name: 5', ''),
    ('depth: 7', 'depth: &a [*a]', ''),
    ('rosbag2_bagfile_information:', '? [1, {a: 2}]\n:', ''),
])  # fmt: skip
def test_metadata_of_wrong_types_or_endless_length_end_in_one_sentence(
    convert, bags, tmp_path, pattern, new, words
):
    """Whatever stands where a number or a text is expected."""
    folder = bags.drive(tmp_path / 'in', bags.states(3))
    text = (folder / 'metadata.yaml').read_text()
    if 'aliases' in words:
        text = text.replace("mode: ''", 'mode: FILE')
    text, count = re.subn(pattern, new, text)
    assert count
    (folder / 'metadata.yaml').write_text(text)
    result, target = convert(folder, target='out')
    assert result.code in ((1,) if words else (1, 2))
    assert result.err.count('\n') == 1
    assert words in result.err
    assert not target.exists()


# -- Runs that end early --------------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'error'), [
    ('out.mcap', KeyboardInterrupt),
    ('out.db3', ZeroDivisionError),
    ('out.csv', OSError(28, 'full')),
    ('out', KeyboardInterrupt),
])  # fmt: skip
def test_whatever_ends_a_run_leaves_nothing(
    run, monkeypatch, tmp_path, robot_file, recorded, name, error
):
    """An interrupt, a bug or a full disk in the middle: no file under the name, none beside it."""
    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    calls = []

    def mapped_in_part(messages, bridges):
        for number, each in enumerate(map_recorded(messages, bridges)):
            if number == COUNT // 2:
                calls.append(number)
                raise error
            yield each

    monkeypatch.setattr('transmission_bridge.tools.convert.run.map_recorded', mapped_in_part)
    arguments = ('convert', robot_file, tmp_path / 'in.mcap', tmp_path / name)
    before = sorted(tmp_path.iterdir())
    if error is ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            run(*arguments)
    else:
        assert run(*arguments).code == (130 if error is KeyboardInterrupt else 2)
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
    refuse, monkeypatch, tmp_path, robot_file, name
):
    """What another program wrote under the name during the run stays."""
    (tmp_path / 'in.csv').write_text('time,m1.position\n1,2\n')

    def mapped_slowly(messages, bridges):
        (tmp_path / name).write_text('theirs')
        return map_recorded(messages, bridges)

    monkeypatch.setattr('transmission_bridge.tools.convert.run.map_recorded', mapped_slowly)
    refuse('is there already', 'convert', robot_file, tmp_path / 'in.csv', tmp_path / name)
    assert (tmp_path / name).read_text() == 'theirs'
