# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are cut off or damaged, and conversions that are."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from types import SimpleNamespace

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
import pytest

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
def test_a_recording_that_was_cut_off_says_how_far_it_goes(
    run, bags, tmp_path, robot_file, recorded, suffix, where
):
    """Exit code 1 and nothing written; with --keep-readable exactly what comes before the cut."""
    whole, published = recorded.files[suffix], recorded.published
    cut = whole[: where % len(whole)]
    result, target = convert(run, tmp_path, robot_file, f'in.{suffix}', cut)
    assert (result.code, result.out) == (1, '')
    assert not target.exists()
    result, target = convert(run, tmp_path, robot_file, f'in.{suffix}', cut, '--keep-readable')
    assert result.code in (1, 2)
    if target.exists():
        kept = [message[1:] for message in bags.read(target).messages]
        assert kept == published[: len(kept)]
        assert f'after {len(kept)} messages' in result.err
        if suffix == 'mcap':  # all but the rest of one message
            per_message = len(whole) / COUNT
            assert len(kept) >= len(cut) / per_message - 60
    else:  # not even the topic can be read
        assert len(cut) < 8000 or suffix == 'db3'


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


@dataclass
class Chunked:
    """An MCAP file with every checksum, its chunks, and what the live bridge makes of it."""

    data: bytes
    chunks: list
    states: list
    bags: SimpleNamespace

    def kept(self, lost):
        """Return what the live bridge makes of the messages that are not in lost chunks."""
        spans = [
            (self.chunks[number].message_start_time, self.chunks[number].message_end_time)
            for number in lost
        ]
        return self.bags.live(
            [
                ('one', time, data)
                for time, data in self.states
                if not any(first <= time <= last for first, last in spans)
            ]
        )

    def before(self, number):
        """Return how many messages are before a chunk."""
        return sum(time < self.chunks[number].message_start_time for time, _ in self.states)


@pytest.fixture(scope='module')
def chunked(bags):
    """Return a recording in chunks without compression, so that each byte can be placed."""
    states, file = bags.states(COUNT), BytesIO()
    writer = Writer(
        file, chunk_size=200_000, compression=CompressionType.NONE, enable_data_crcs=True
    )
    writer.start('ros2')
    schema = writer.register_schema(bags.JOINT_STATE, 'ros2msg', b'string[] name')
    channel = writer.register_channel('/actuator_states', 'cdr', schema)
    for time_, data in states:
        writer.add_message(channel, time_, data, time_)
    writer.add_attachment(1, 2, 'note', 'text/plain', b'attached')
    writer.finish()
    file.seek(0)
    chunks = make_reader(file).get_summary().chunk_indexes
    assert len(chunks) > 8
    return Chunked(file.getvalue(), chunks, states, bags)


@SETTINGS
@given(st.data())
def test_reading_goes_on_behind_damaged_chunks(run, bags, tmp_path, robot_file, chunked, data):
    """Exactly the messages of the damaged chunks are lost, and the first one is named."""
    numbers = st.integers(1, len(chunked.chunks) - 1)  # the first one defines the topic
    lost = sorted(data.draw(st.sets(numbers, min_size=1, max_size=3)))
    changed = bytearray(chunked.data)
    for number in lost:
        chunk = chunked.chunks[number]
        # Past the chunk's head: a number that nothing but the checksum guards, or a length.
        place = data.draw(st.integers(60, chunk.chunk_length - 1))
        changed[chunk.chunk_start_offset + place] ^= data.draw(st.integers(1, 255))
    result, target = convert(run, tmp_path, robot_file, 'in.mcap', bytes(changed))
    assert (result.code, result.out) == (1, '')
    assert not target.exists()
    assert f'after {chunked.before(lost[0])} messages' in result.err
    assert 'its checksum is wrong' in result.err
    assert 'nothing was written; --keep-readable writes what can be read' in result.err
    result, target = convert(
        run, tmp_path, robot_file, 'in.mcap', bytes(changed), '--keep-readable'
    )
    assert result.code == 1
    kept = chunked.kept(lost)
    assert [message[1:] for message in bags.read(target).messages] == kept
    behind = len(kept) - chunked.before(lost[0])
    assert (f'; {behind} messages behind that could be read' in result.err) == (behind > 0)
    more = f'; {len(lost) - 1} more places are damaged'
    assert (more in result.err) == (len(lost) > 1)


@pytest.mark.parametrize('length', [3, 2**20, 2**40, 2**64 - 1])
def test_a_chunk_of_a_wrong_length_costs_no_message(
    run, bags, tmp_path, robot_file, chunked, length
):
    """Where the way from record to record is lost, the summary tells the next chunk."""
    chunk = chunked.chunks[4]
    changed = bytearray(chunked.data)
    changed[chunk.chunk_start_offset + 1 : chunk.chunk_start_offset + 9] = struct.pack(
        '<Q', length
    )
    result, target = convert(
        run, tmp_path, robot_file, 'in.mcap', bytes(changed), '--keep-readable'
    )
    assert result.code == 1
    # A chunk tells its length twice, and with the right one everything in it can be read.
    assert [message[1:] for message in bags.read(target).messages] == chunked.kept([])
    assert f'the length of the chunk at byte {chunk.chunk_start_offset} is wrong' in result.err


def test_the_checksum_of_the_data_section_is_checked(run, bags, tmp_path, robot_file, chunked):
    """What no chunk guards is guarded by it: all messages are read, and the damage is reported."""
    changed = bytearray(chunked.data)
    place = changed.index(b'ros2')
    changed[place] ^= 1
    result, target = convert(run, tmp_path, robot_file, 'in.mcap', bytes(changed))
    assert result.code == 1
    assert f'after {COUNT} messages' in result.err
    assert 'the checksum of the data section is wrong' in result.err
    assert not target.exists()
    result, target = convert(
        run, tmp_path, robot_file, 'in.mcap', bytes(changed), '--keep-readable'
    )
    assert result.code == 1
    assert [message[1:] for message in bags.read(target).messages] == chunked.kept([])


def test_a_damaged_attachment_is_not_copied_as_a_good_one(run, tmp_path, robot_file, chunked):
    """Its checksum is made anew in OUT, so it is checked first."""
    changed = bytearray(chunked.data)
    changed[changed.index(b'attached')] ^= 1
    result, target = convert(
        run, tmp_path, robot_file, 'in.mcap', bytes(changed), '--keep-readable'
    )
    assert result.code == 1
    assert 'the checksum of the data section is wrong; 1 more places are damaged' in result.err
    assert b'ttached' not in target.read_bytes()


def test_a_damaged_row_of_a_database_is_reported(run, tmp_path, robot_file, recorded):
    """A row that is no message ends the reading there."""
    path = tmp_path / 'in.db3'
    path.write_bytes(recorded.files['db3'])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE messages SET data = 'text' WHERE id = 5000")
    database.close()
    result = run('convert', robot_file, path, tmp_path / 'out.mcap')
    assert result.code == 1
    assert 'after 4000 messages, 3.999 s into the recording' in result.err


class Interrupted(Exception):
    """Stands for anything that may end a run."""


@pytest.mark.parametrize('error', [KeyboardInterrupt, Interrupted, OSError(28, 'No space left')])
@pytest.mark.parametrize('name', ['out.mcap', 'out.db3', 'out.csv', 'out'])
def test_whatever_ends_a_run_leaves_nothing(
    run, monkeypatch, tmp_path, robot_file, recorded, name, error
):
    """An interrupt, a bug or a full disk in the middle: no file under the name, none beside it."""
    from transmission_bridge.tools.convert.run import MessageConverter

    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    calls = []
    original = MessageConverter.convert

    def convert_some(self, batch):
        calls.append(1)
        if len(calls) == 2:
            raise error
        return original(self, batch)

    monkeypatch.setattr(MessageConverter, 'convert', convert_some)
    arguments = ('convert', robot_file, tmp_path / 'in.mcap', tmp_path / name)
    before = sorted(tmp_path.iterdir())
    if error is Interrupted:
        with pytest.raises(Interrupted):
            run(*arguments)
    else:
        result = run(*arguments)
        assert result.code == (130 if error is KeyboardInterrupt else 2)
    assert sorted(tmp_path.iterdir()) == before
    assert len(calls) == 2


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_without_leaving_anything(tmp_path, robot_file, recorded, number):
    """The process ends by the signal, or with 130 for Ctrl-C, and takes its files with it."""
    # A pipe that nobody writes to keeps the run in its middle.
    os.mkfifo(tmp_path / 'pipe.csv')
    process = subprocess.Popen(
        [
            *(sys.executable, '-m', 'transmission_bridge', 'convert'),
            *(robot_file, tmp_path / 'pipe.csv', tmp_path / 'out.mcap'),
        ],
        stderr=subprocess.PIPE,
    )
    try:
        with open(tmp_path / 'pipe.csv', 'w', encoding='utf-8') as pipe:
            pipe.write('time,m1.position\n' + '1.0,2.0\n' * 2000)
            pipe.flush()
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob('.out.mcap.*.partial/out.mcap')):
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
    from transmission_bridge.tools.convert.run import MessageConverter

    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    original = MessageConverter.convert

    def convert_slowly(self, batch):
        (tmp_path / name).write_text('theirs')
        return original(self, batch)

    monkeypatch.setattr(MessageConverter, 'convert', convert_slowly)
    result = run('convert', robot_file, tmp_path / 'in.mcap', tmp_path / name)
    assert result.code == 2
    assert 'is there already' in result.err
    assert (tmp_path / name).read_text() == 'theirs'
