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
from types import SimpleNamespace
from unittest import mock

import lz4.frame
import pytest
import rosbags.rosbag2.reader
from waiting import wait

from transmission_bridge.bridge.offline import map_recorded

#: As rosbags imports it: a part of newer versions of Python, otherwise a package.
zstd = rosbags.rosbag2.reader.zstd
COUNT = 6000


@pytest.fixture(scope='module')
def recorded(bags, tmp_path_factory):
    """Return a recording of several chunks by suffix, and what the live bridge makes of it."""
    messages, folder = bags.states(COUNT), tmp_path_factory.mktemp('recorded') / 'b'
    files = {
        'mcap': bags.mcap(messages, chunk_size=100_000),
        'db3': (bags.drive(folder, messages, storage='sqlite3') / 'b.db3').read_bytes(),
    }
    reader = importlib.import_module('mcap.reader').make_reader(BytesIO(files['mcap']))
    chunks = reader.get_summary().chunk_indexes
    return SimpleNamespace(files=files, chunks=chunks, published=bags.live(messages))


@pytest.fixture
def database(tmp_path, recorded):
    """Return a function that changes the rows of the recording; it returns the path."""

    def call(change):
        path = tmp_path / 'in.db3'
        path.write_bytes(recorded.files['db3'])
        with contextlib.closing(sqlite3.connect(path)) as rows:
            rows.executescript(change)
        return path

    return call


@pytest.mark.parametrize('suffix', ['mcap', 'db3'])
@pytest.mark.parametrize('share', [0.001, 0.5, 0.999])
def test_of_a_recording_that_was_cut_off_the_program_that_recovers_it_is_named(
    convert, bags, recorded, suffix, share
):
    """Exit code 1 and nothing written; with --keep-readable exactly what can be read."""
    whole = recorded.files[suffix]
    cut_off = whole[: int(share * len(whole))]
    program = {'mcap': 'mcap recover IN.mcap', 'db3': 'sqlite3 IN.db3 .recover'}[suffix]
    for options in ((), ('--keep-readable',)):
        result, target = convert(cut_off, *options, name=f'in.{suffix}')
        assert (result.code, result.out == '') == (1, not target.exists())
        assert program in result.err
        if target.exists():
            assert options
            kept = bags.told(target)
            assert kept == recorded.published[: len(kept)]
            assert f'after {len(kept)} messages' in result.err


def test_the_messages_before_a_damaged_chunk_can_be_kept(convert, bags, recorded):
    """Its checksum is wrong: exactly the messages before it are read."""
    chunk, changed = recorded.chunks[5], bytearray(recorded.files['mcap'])
    changed[chunk.chunk_start_offset + 60] ^= 1
    before = round((chunk.message_start_time - bags.START) / 1_000_000)
    for options in ((), ('--keep-readable',)):
        result, target = convert(changed, *options, name='in.mcap')
        assert result.code == 1
        assert f'after {before} messages, {(before - 1) / 1000:.3f} s into' in result.err
        assert "checksum mismatch.; 'mcap recover IN.mcap -o OUT.mcap' may" in result.err
        hint = 'nothing was written; --keep-readable writes the readable part'
        assert (hint in result.err) == (not options) == (not target.exists())
    assert bags.told(target) == recorded.published[:before]


def test_messages_that_the_index_lacks_are_missed(convert, recorded):
    """A chunk whose index is lost is not read by rosbags: its messages are counted."""
    changed = bytearray(recorded.files['mcap'])
    # The index of the last chunk in the summary gets an opcode that readers skip.
    summary = changed.rindex(struct.pack('<Q', recorded.chunks[-1].chunk_start_offset))
    assert changed[summary - 25] == 8
    changed[summary - 25] = 0x80
    result, target = convert(changed, name='in.mcap')
    assert (result.code, target.exists()) == (1, False)
    assert 'messages of its index not found' in result.err


@pytest.mark.parametrize(
    ('value', 'kept'), [("data = 'text'", 2999), ("timestamp = 'x'", COUNT - 1)]
)
def test_a_damaged_row_of_a_database_is_reported(convert, database, value, kept):
    """A row that is no message ends the reading there."""
    path = database(f'UPDATE messages SET {value} WHERE id = 3000')
    result, _ = convert(path, '--keep-readable')
    assert result.code == 1
    assert f'after {kept} messages' in result.err
    assert 'a row of the table messages is not a message' in result.err


@pytest.mark.parametrize('name', ['a.mcap', 'a.db3', 'a.csv', 'a.bag', 'a'])
@pytest.mark.parametrize('content', [b'', b'junk\0' * 100, b'SQLite format 3\0'])
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


def zeros():
    """Return 300 MiB of zeros, compressed, without the size that a frame may state."""
    compress = zstd.ZstdCompressor()
    return b''.join(compress.compress(bytes(1 << 20)) for _ in range(300)) + compress.flush()


@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
def test_compressed_bags_that_expand_without_end_are_refused(convert, bags, tmp_path, mode):
    """A file is not written into the temporary folder first; a message is damage."""
    ((time_, data),) = bags.states(1)
    messages = {'FILE': [], 'MESSAGE': [(time_, zstd.compress(data)), (time_ + 1, zeros())]}[mode]
    folder = bags.drive(tmp_path / 'in', messages)
    text = (folder / 'metadata.yaml').read_text()
    text = text.replace("format: ''", 'format: zstd').replace("mode: ''", f'mode: {mode}')
    words = f'a compressed piece is cut off, or has more than {256 << 20} bytes'
    if mode == 'FILE':
        packed = zstd.compress((folder / 'in.mcap').read_bytes()) + zeros()
        (folder / 'in.mcap.zstd').write_bytes(packed)
        text = text.replace('in.mcap', 'in.mcap.zstd')
        words = f"'in.mcap.zstd' of {len(packed)} bytes expands to more than"
    (folder / 'metadata.yaml').write_text(text)
    with mock.patch('tempfile.TemporaryDirectory', side_effect=AssertionError):
        result, _ = convert(folder, '--keep-readable', target='out.csv')
    assert result.code == 1
    assert words in result.err
    assert ('after 1 message,' in result.err) == (mode == 'MESSAGE')


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
    magic = b'\x89MCAP0\r\n'
    begin = magic + record(1, text(b'ros2') + text(b'by hand'))
    whole = begin + chunk + record(2, bytes(20)) + magic
    result, _ = convert(whole, name='in.mcap')
    assert result.code == 1
    most = min(claimed, 256 << 20)
    assert f'a compressed piece is cut off, or has more than {most} bytes' in result.err


def test_a_view_without_end_is_refused(convert, database):
    """Databases of rosbag2 have tables only."""
    path = database(
        'ALTER TABLE messages RENAME TO former; CREATE VIEW messages AS '
        'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) '
        'SELECT 1 AS id, 1 AS topic_id, 1 AS timestamp, 1 AS data FROM n'
    )
    result, _ = convert(path, target='out.csv')
    assert result.code == 1
    assert 'Cannot open database' in result.err


@pytest.mark.parametrize(('pattern', 'new', 'words'), [
    (r'\Z', '#' * (5 << 20), 'its metadata.yaml has more than'),
    ('storage_identifier: .*', 'storage_identifier: &a x\n  ros_distro: *a',
     'its metadata.yaml has aliases'),
    ('name: /actuator_states', 'name: 5', ''),
    ('rosbag2_bagfile_information:', '? [1, {a: 2}]\n:', ''),
])  # fmt: skip
def test_metadata_of_wrong_types_or_endless_length_end_in_one_sentence(
    convert, bags, tmp_path, pattern, new, words
):
    """Whatever stands where a number or a text is expected."""
    folder = bags.drive(tmp_path / 'in', bags.states(3))
    text, count = re.subn(pattern, new, (folder / 'metadata.yaml').read_text())
    assert count
    (folder / 'metadata.yaml').write_text(text)
    result, target = convert(folder, target='out')
    assert result.code in ((1,) if words else (1, 2))
    assert result.err.count('\n') == 1
    assert words in result.err
    assert not target.exists()


# -- Runs that end early --------------------------------------------------------------------------


def test_a_full_disk_leaves_nothing(run, monkeypatch, tmp_path, robot_file, recorded):
    """An error in the middle of a run: exit code 2, no file under the name, none beside it."""
    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])

    def mapped_in_part(messages, bridges):
        for number, each in enumerate(map_recorded(messages, bridges)):
            if number == COUNT // 2:
                raise OSError(28, 'full')
            yield each

    monkeypatch.setattr('transmission_bridge.tools.convert.run.map_recorded', mapped_in_part)
    before = sorted(tmp_path.iterdir())
    result = run('convert', robot_file, tmp_path / 'in.mcap', tmp_path / 'out.csv')
    assert (result.code, sorted(tmp_path.iterdir())) == (2, before)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_without_leaving_anything(tmp_path, robot_file, number):
    """The process ends by the signal, or with 130 for Ctrl-C, and takes its files with it."""
    # Python itself ends by SIGINT if that came within exec, which makes the classes of messages.
    codes = (-number, 130) if number == signal.SIGINT else (-number,)
    lines = (f'{number},2.0\n' for number in range(1, 1_000_000))
    (tmp_path / 'in.csv').write_text('time,m1.position\n' + ''.join(lines))
    program = [sys.executable, '-m', 'transmission_bridge', 'convert']
    words = [*program, robot_file, tmp_path / 'in.csv', tmp_path / 'out.mcap']
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        try:
            part = '.out.mcap.*.partial/bag/out/out.mcap'
            wait(lambda: process.poll() is not None or [*tmp_path.glob(part)], 'its first part')
            process.send_signal(number)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode in codes
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
    refuse('already exists', 'convert', robot_file, tmp_path / 'in.csv', tmp_path / name)
    assert (tmp_path / name).read_text() == 'theirs'
