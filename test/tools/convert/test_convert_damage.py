# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are cut off or damaged, and conversions that are."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

COUNT = 12000
MAGIC = b'\x89MCAP0\r\n'
SETTINGS = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
    result = run('convert', tmp_path / name, target, '--description', robot_file, *options)
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


def test_a_damaged_chunk_is_found_by_its_checksum(run, tmp_path, robot_file, recorded):
    """A flipped bit in a number, which nothing else would notice, is damage."""
    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    checked = tmp_path / 'checked.mcap'
    run('convert', tmp_path / 'in.mcap', checked, '--description', robot_file)
    data = bytearray(checked.read_bytes())
    data[len(data) // 2] ^= 1
    back = ('--topic', '/joint_states:/actuator_states', '--to', 'actuator')
    result, target = convert(run, tmp_path, robot_file, 'bad.mcap', bytes(data), *back)
    assert result.code == 1
    assert 'checksum' in result.err
    assert 'nothing was written; --keep-readable writes what comes before' in result.err
    assert not target.exists()


def test_a_damaged_row_of_a_database_is_reported(run, tmp_path, robot_file, recorded):
    """A row that is no message ends the reading there."""
    path = tmp_path / 'in.db3'
    path.write_bytes(recorded.files['db3'])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE messages SET data = 'text' WHERE id = 5000")
    database.close()
    result = run('convert', path, tmp_path / 'out.mcap', '--description', robot_file)
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
    from transmission_bridge.tools.convert_messages import MessageConverter

    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    calls = []
    original = MessageConverter.convert

    def convert_some(self, batch):
        calls.append(1)
        if len(calls) == 2:
            raise error
        return original(self, batch)

    monkeypatch.setattr(MessageConverter, 'convert', convert_some)
    arguments = ('convert', tmp_path / 'in.mcap', tmp_path / name, '--description', robot_file)
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
            *(tmp_path / 'pipe.csv', tmp_path / 'out.mcap', '--description', robot_file),
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
    from transmission_bridge.tools.convert_messages import MessageConverter

    (tmp_path / 'in.mcap').write_bytes(recorded.files['mcap'])
    original = MessageConverter.convert

    def convert_slowly(self, batch):
        (tmp_path / name).write_text('theirs')
        return original(self, batch)

    monkeypatch.setattr(MessageConverter, 'convert', convert_slowly)
    result = run('convert', tmp_path / 'in.mcap', tmp_path / name, '--description', robot_file)
    assert result.code == 2
    assert 'is there already' in result.err
    assert (tmp_path / name).read_text() == 'theirs'
