# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Formats of bags, and what a conversion does not concern."""

from __future__ import annotations

import sys

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin
from rosbags.rosbag2 import Writer as BagWriter


def published(bags, states):
    """Return what the live bridge makes of states."""
    return bags.live([('one', *message) for message in states])


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(40)), st.integers(1, 20_000))
def test_any_order_of_times_gives_what_a_sorted_file_gives(
    run, bags, tmp_path_factory, robot_file, order, chunk_size
):
    """Shuffled messages in chunks of any size come to the bridge in the order of receipt."""
    folder = tmp_path_factory.mktemp('shuffled')
    states = bags.states(40)
    shuffled = bags.mcap([states[place] for place in order], chunk_size=chunk_size)
    (folder / 'in.mcap').write_bytes(shuffled)
    assert run('convert', robot_file, folder / 'in.mcap', folder / 'out.mcap').code == 0
    assert bags.told(folder / 'out.mcap') == published(bags, states)


@pytest.mark.parametrize('kind', ['NONE', 'LZ4'])
def test_chunks_are_compressed_if_those_of_the_input_are(run, bags, tmp_path, robot_file, kind):
    """
    A compressed recording does not grow; attachments and other metadata are left out.

    Channels that differ in metadata of their publishers only become one connection.
    """
    source, states = tmp_path / 'in.mcap', bags.states(60)
    source.write_bytes(bags.mcap(states, compression=kind, extras=True, publishers=2))
    for options in ((), ('--keep',)):
        target = tmp_path / f'out{len(options)}.mcap'
        assert run('convert', robot_file, source, target, *options).code == 0
        assert bags.told(target, '/joint_states') == published(bags, states)
        with Reader(target) as reader:
            assert len(reader.connections) == 1 + len(options)
            (found,) = {chunk.compression for chunk in reader.storage.chunks}
        assert found == ('' if kind == 'NONE' else 'zstd')


@pytest.mark.parametrize(('source', 'target'), [('in.csv', 'out'), ('in.mcap', 'out.db3')])
def test_a_bag_made_of_anything_knows_its_type(run, bags, tmp_path, robot_file, source, target):
    """With definition and hash: of MCAP hashes are computed from definitions, CSV has neither."""
    text = b'time,m1.position\n1,2\n'
    data = text if source == 'in.csv' else bags.mcap(bags.states(1))
    (tmp_path / source).write_bytes(data)
    assert run('convert', robot_file, tmp_path / source, tmp_path / target).code == 0
    connections = bags.read(tmp_path / target).connections
    msgtype, definition, digest, _, count = connections['/joint_states']
    assert (msgtype, count) == (bags.JOINT_STATE, 1)
    assert digest == bags.STORE.hash_rihs01(bags.JOINT_STATE)
    assert definition.data.startswith('std_msgs/Header header')


def test_a_type_that_nobody_knows_is_copied_with_its_definition(run, bags, tmp_path, robot_file):
    """Through both formats: a definition that does not parse stays as it is."""
    with BagWriter(tmp_path / 'odd', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        odd = writer.add_connection('/odd', 'a/msg/Odd', msgdef='not a $ type', rihs01='RIHS01_1')
        known = writer.add_connection('/actuator_states', bags.JOINT_STATE, typestore=bags.STORE)
        for time, data in bags.states(3):
            writer.write(known, time, data)
            writer.write(odd, time, b'\0\1\0\0odd' + data[:8])
    before = bags.told(tmp_path / 'odd', '/odd')
    for step, name in (('odd', 'a.db3'), ('odd/odd.mcap', 'b.mcap')):
        assert run('convert', robot_file, tmp_path / step, tmp_path / name).code == 0
        after = bags.read(tmp_path / name)
        assert after.connections['/odd'][1].data == 'not a $ type'
        assert bags.told(tmp_path / name, '/odd') == before


def test_publishers_with_their_own_qos_stay_two_connections(run, bags, tmp_path, robot_file):
    """The name of a topic may stand for several connections, also of the states."""
    other = bags.QOS._replace(depth=3)
    states = bags.states(6)
    with BagWriter(tmp_path / 'in', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.set_custom_data('operator', 'me')
        for qos in (bags.QOS, other):
            for topic in ('/actuator_states', '/other'):
                writer.add_connection(
                    topic, bags.JOINT_STATE, typestore=bags.STORE, offered_qos_profiles=[qos]
                )
        for number, (time, data) in enumerate(states):
            for connection in writer.connections[2 * (number % 2) :][:2]:
                writer.write(connection, time, data)
    assert run('convert', robot_file, tmp_path / 'in', tmp_path / 'out').code == 0
    with Reader(tmp_path / 'out') as reader:
        found = [(each.topic, each.ext.offered_qos_profiles[0]) for each in reader.connections]
        assert reader.storage.metadata.custom == {'operator': 'me'}
    assert sorted(found) == [('/joint_states', bags.QOS), ('/other', other), ('/other', bags.QOS)]
    assert bags.told(tmp_path / 'out', '/joint_states') == published(bags, states)


def split(bags, folder, states):
    """Write a bag in three files."""
    whole = bags.drive(folder / 'in', states, storage='sqlite3')
    for number in range(3):
        part = states[30 * number : 30 * number + 30]
        written = bags.drive(folder / f'p{number}', part, storage='sqlite3')
        (written / f'p{number}.db3').rename(whole / f'p{number}.db3')
    head, _, tail = (whole / 'metadata.yaml').read_text().partition('relative_file_paths:')
    tail = tail[tail.index('\n  ', tail.index('in.db3')) :]
    listed = '\n'.join(f'  - p{number}.db3' for number in range(3))
    (whole / 'metadata.yaml').write_text(f'{head}relative_file_paths:\n{listed}{tail}')
    (whole / 'in.db3').unlink()


@pytest.mark.parametrize(
    ('storage', 'mode'),
    [
        ('mcap', 'file'),
        ('mcap', 'message'),
        ('sqlite3', 'file'),
        ('sqlite3', 'message'),
        ('', 'split'),
    ],
)
def test_bags_of_several_files_and_compressed_ones_are_read(
    run, bags, tmp_path, robot_file, storage, mode
):
    """The files of a split bag are one recording; rosbag2's compression of files and messages."""
    states = bags.states(90)
    if mode == 'split':
        split(bags, tmp_path, states)
    else:
        plugin = StoragePlugin[storage.upper()]
        writer = BagWriter(tmp_path / 'in', version=9, storage_plugin=plugin)
        writer.set_compression(CompressionMode[mode.upper()], CompressionFormat.ZSTD)
        with writer:
            connection = writer.add_connection(
                '/actuator_states', bags.JOINT_STATE, typestore=bags.STORE
            )
            for time, data in states:
                writer.write(connection, time, data)
    assert run('convert', robot_file, tmp_path / 'in', tmp_path / 'out.mcap').code == 0
    assert bags.told(tmp_path / 'out.mcap') == published(bags, states)


@pytest.mark.parametrize('library', ['rosbags.rosbag2', 'rosbags.typesys'])
def test_rosbags_is_asked_for_only_where_it_is_needed(
    run, refuse, bags, tmp_path, robot_file, monkeypatch, library
):
    """From table to table nothing is needed; one sentence says what to install."""
    bags.drive(tmp_path / 'folder', bags.states(1))
    (tmp_path / 'table.csv').write_text('time,m1.position\n1.0,2.0\n')
    monkeypatch.setitem(sys.modules, library, None)
    assert run('convert', robot_file, tmp_path / 'table.csv', tmp_path / 'a.csv').code == 0
    for source, target in (('table.csv', 'a.mcap'), ('table.csv', 'a.db3'), ('folder', 'a')):
        way = ('convert', robot_file, tmp_path / source, tmp_path / target)
        refuse('this needs rosbags, which cannot be imported', *way)
        refuse("pip install '.[bags]'", *way)
        assert not (tmp_path / target).exists()


@pytest.mark.parametrize('name', ['a?b', 'a#b', 'a%41b'])
def test_names_that_rosbags_would_misread_are_one_sentence(
    run, refuse, bags, tmp_path, robot_file, name
):
    """It makes a URI of the name of a database: no other file is read or written."""
    source = bags.drive(tmp_path / 'in', bags.states(3), storage='sqlite3') / 'in.db3'
    before, odd = sorted(tmp_path.iterdir()), tmp_path / f'{name}.db3'
    refuse('cannot have ?, # or %', 'convert', robot_file, source, odd)
    assert sorted(tmp_path.iterdir()) == before
    source.rename(odd)
    refuse('cannot have ?, # or %', 'convert', robot_file, odd, tmp_path / 'out.csv')
    assert run('convert', robot_file, tmp_path / 'in', tmp_path / f'{name}.mcap').code == 1
