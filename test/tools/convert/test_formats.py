# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Formats of recordings: bags of all kinds, which are copied beside the states, and tables."""

from __future__ import annotations

import contextlib
import sys
from time import process_time

from hypothesis import given, HealthCheck, settings, strategies as st
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.tools.bags.csv_file import CsvRows, nanoseconds, seconds

# -- bags ----------------------------------------------------------------------------------------


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(40)), st.integers(1, 20_000))
def test_any_order_of_times_gives_what_a_sorted_file_gives(convert, bags, order, chunk_size):
    """Shuffled messages in chunks of any size come to the bridge in the order of receipt."""
    states = bags.states(40)
    shuffled = bags.mcap([states[place] for place in order], chunk_size=chunk_size)
    assert bags.told(convert(shuffled, name='in.mcap')[1]) == bags.live(states)


@pytest.mark.parametrize('kind', ['NONE', 'LZ4'])
@pytest.mark.parametrize('options', [(), ('--keep',)])
def test_chunks_are_compressed_if_those_of_the_input_are(convert, bags, kind, options):
    """
    A compressed recording does not grow; attachments and other metadata are left out.

    Channels that differ in metadata of their publishers only become one connection.
    """
    states = bags.states(60)
    source = bags.mcap(states, compression=kind, extras=True, publishers=2)
    _, target = convert(source, *options, name='in.mcap')
    assert bags.told(target, '/joint_states') == bags.live(states)
    with Reader(target) as reader:
        assert len(reader.connections) == 1 + len(options)
        (found,) = {chunk.compression for chunk in reader.storage.chunks}
    assert found == ('' if kind == 'NONE' else 'zstd')


@pytest.mark.parametrize(('name', 'target'), [('in.csv', 'out'), ('in.mcap', 'out.db3')])
def test_a_bag_made_of_anything_knows_its_type(convert, bags, name, target):
    """With definition and hash: of MCAP hashes are computed from definitions, CSV has neither."""
    data = b'time,m1.position\n1,2\n' if name == 'in.csv' else bags.mcap(bags.states(1))
    _, path = convert(data, name=name, target=target)
    msgtype, definition, digest, _, count = bags.read(path).connections['/joint_states']
    assert (msgtype, count) == (bags.JOINT_STATE, 1)
    assert digest == bags.STORE.hash_rihs01(bags.JOINT_STATE)
    assert definition.data.startswith('std_msgs/Header header')


def test_a_type_that_nobody_knows_is_copied_with_its_definition(convert, bags, tmp_path):
    """Through both formats: a definition that does not parse stays as it is."""
    with Writer(tmp_path / 'odd', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        odd = writer.add_connection('/odd', 'a/msg/Odd', msgdef='not a $ type', rihs01='RIHS01_1')
        known = writer.add_connection('/actuator_states', bags.JOINT_STATE, typestore=bags.STORE)
        for time, data in bags.states(3):
            writer.write(known, time, data)
            writer.write(odd, time, b'\0\1\0\0odd' + data[:8])
    before = bags.told(tmp_path / 'odd', '/odd')
    for step, target in (('odd', 'a.db3'), ('odd/odd.mcap', 'b.mcap')):
        after = bags.read(convert(tmp_path / step, target=target)[1])
        assert after.connections['/odd'][1].data == 'not a $ type'
        assert [message[1:] for message in after.messages if message[0] == '/odd'] == before


def test_publishers_with_their_own_qos_stay_two_connections(convert, bags, tmp_path):
    """The name of a topic may stand for several connections, also of the states."""
    other, states = bags.QOS._replace(depth=3), bags.states(6)
    with Writer(tmp_path / 'in', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.set_custom_data('operator', 'me')
        for qos in (bags.QOS, other):
            given_ = {'typestore': bags.STORE, 'offered_qos_profiles': [qos]}
            for topic in ('/actuator_states', '/other'):
                writer.add_connection(topic, bags.JOINT_STATE, **given_)
        for number, (time, data) in enumerate(states):
            for connection in writer.connections[2 * (number % 2) :][:2]:
                writer.write(connection, time, data)
    _, target = convert(tmp_path / 'in', target='out')
    with Reader(target) as reader:
        found = [(each.topic, each.ext.offered_qos_profiles[0]) for each in reader.connections]
        assert reader.storage.metadata.custom == {'operator': 'me'}
    assert sorted(found) == [('/joint_states', bags.QOS), ('/other', other), ('/other', bags.QOS)]
    assert bags.told(target, '/joint_states') == bags.live(states)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
def test_bags_that_rosbag2_compressed_are_read(convert, bags, tmp_path, storage, mode):
    """Its own compression of whole files and of messages."""
    states = bags.states(90)
    source = bags.drive(tmp_path / 'in', states, storage=storage, compression=mode)
    assert bags.told(convert(source)[1]) == bags.live(states)


def test_the_files_of_a_split_bag_are_one_recording(convert, bags, tmp_path):
    """As its metadata.yaml lists them."""
    states = bags.states(90)
    whole = bags.drive(tmp_path / 'in', states, storage='sqlite3')
    for number in range(3):
        part = states[30 * number : 30 * number + 30]
        written = bags.drive(tmp_path / f'p{number}', part, storage='sqlite3')
        (written / f'p{number}.db3').rename(whole / f'p{number}.db3')
    head, _, tail = (whole / 'metadata.yaml').read_text().partition('relative_file_paths:')
    tail = tail[tail.index('\n  ', tail.index('in.db3')) :]
    listed = '\n'.join(f'  - p{number}.db3' for number in range(3))
    (whole / 'metadata.yaml').write_text(f'{head}relative_file_paths:\n{listed}{tail}')
    (whole / 'in.db3').unlink()
    assert bags.told(convert(whole)[1]) == bags.live(states)


@pytest.mark.parametrize('library', ['rosbags.rosbag2', 'rosbags.typesys'])
def test_rosbags_is_asked_for_only_where_it_is_needed(
    convert, bags, tmp_path, monkeypatch, library
):
    """From table to table nothing is needed; one sentence says what to install."""
    bags.drive(tmp_path / 'folder', bags.states(1))
    monkeypatch.setitem(sys.modules, library, None)
    table = 'time,m1.position\n1.0,2.0\n'
    assert convert(table, target='a.csv')[0].code == 0
    for source, target in ((table, 'a.mcap'), (table, 'a.db3'), (tmp_path / 'folder', 'a')):
        result, path = convert(source, target=target)
        assert (result.code, path.exists()) == (2, False)
        assert 'this needs rosbags, which cannot be imported' in result.err
        assert "pip install --editable '.[bags]'" in result.err


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


# -- tables --------------------------------------------------------------------------------------


def test_a_line_is_a_message(convert):
    """Cells in any order of columns come out as the joints' values, times as they were."""
    text = 'm3.position,time,m1.position,m2.position,m1.velocity\n-50,1.25,101,48,202\n'
    result, path = convert(text, target='out.csv')
    assert (result.code, result.err) == (0, '')
    joints = ('pan', 'pitch', 'roll')
    columns = (f'{name}.{kind}' for kind in ('position', 'velocity', 'effort') for name in joints)
    assert path.read_text().splitlines() == [
        ','.join(['time', 'stamp', *columns]),
        '1.250000000,1.250000000,1.25,1.1,-0.2,2.0,nan,nan,,,',
    ]


def test_an_empty_cell_is_not_in_the_message_and_nan_is_unknown(convert, bags):
    """Merging sees the difference: what is not said stays, what is unknown becomes unknown."""
    text = (
        'time,stamp,topic,m1.position,m2.position,m3.position\n'
        '1,0.5,/left,101,48,50\n2,1.5,right,,96,\n2,1.5,/else,7,,\n3,2.5,/left,nan,48,50\n'
    )
    topics = ('--topic', '/left:/joint_states', '/right:/joint_states')
    result, path = convert(text, *topics, target='out')
    assert (result.code, result.err) == (0, '')
    messages = bags.told(path, '/joint_states')
    views = [JointStateReader().read_message(data) for _, data in messages]
    assert [time for time, _ in messages] == [10**9, 2 * 10**9, 3 * 10**9]
    assert [view.stamp for view in views] == [(0, 5 * 10**8), (1, 5 * 10**8), (2, 5 * 10**8)]
    assert [view.names for view in views] == [('pan', 'pitch', 'roll')] * 2 + [('pitch', 'roll')]
    assert [view.position[0] for view in views] == [1.25, 1.25, 0.1]
    assert [view.position[-1] for view in views] == pytest.approx([0.8, 1.3, 0.8])
    # A table has no lines of other topics.
    table = convert(text, *topics, target='out.csv')[1].read_text()
    assert [line.split(',')[:3] for line in table.split()[1:]] == [
        ['1.000000000', '0.500000000', '1.25'],
        ['2.000000000', '1.500000000', '1.25'],
        ['3.000000000', '2.500000000', ''],
    ]


@pytest.mark.parametrize(('text', 'words'), [
    ('', "no column 'time'"),
    ('m1.position\n1\n', "no column 'time'"),
    ('time,time\n', "column 'time' is given twice"),
    ('time,m1\n', "column 'm1': expected time, stamp, topic, or a name and .position"),
    ('time,m1.speed\n', "column 'm1.speed'"),
    ('time,.position\n', "column '.position'"),
    ('time,m1.position\n1,2\n1.5\n', 'line 3: expected 2 cells, found 1'),
    ('time,m1.position\n1,2\n2,x\n', "line 3: expected a number, found 'x'"),
    ('time,m1.position\n1,2\n2,1_0\n', "line 3: expected a number, found '1_0'"),
    ('time,m1.position\n1,2\nsoon,2\n', "found 'soon'"),
    ('time,m1.position\n1,2\n1.0000000001,2\n', 'at most nine decimals'),
    ('time,m1.position\n1,2\n-1,2\n', 'after 1970'),
    ('time,m1.position\n1,2\n9999999999,2\n', 'does not fit'),
    ('time,m1.position\n1,2\n2,"2\n', 'line 3'),
    (b'time,m1.position\n1,2\n2,\xff\n', "line 3: expected a number, found '\ufffd'"),
    (b'time,m1.position\n1,2\n2,\0\n', 'line 3'),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_one_sentence(convert, text, words):
    """Exit code 1; where lines came before, how many, and with the option they are kept."""
    result, path = convert(text, target='out.csv')
    assert (result.code, result.out, path.exists()) == (1, '', False)
    assert words in result.err
    if len(text.splitlines()) > 2:
        assert 'after 1 message,' in result.err
        result, path = convert(text, '--keep-readable', target='out.csv')
        assert result.code == 1
        assert len(path.read_text().splitlines()) == 2


def test_a_bad_cell_costs_its_own_line(convert):
    """With --keep-readable the lines behind are converted; the first is named, all are counted."""
    lines = [f'{n},{n}\n' for n in range(1, 100)]
    lines[2], lines[5], lines[6], lines[50] = 'x,1\n', '6\n', '7,1,"a"b\n', '51,\xff\n'
    text = ('time,m1.position\n' + ''.join(lines)).encode('latin-1')
    result, path = convert(text, target='out.csv')
    assert (result.code, path.exists()) == (1, False)
    result, path = convert(text, '--keep-readable', target='out.csv')
    assert result.code == 1
    assert 'after 2 messages, 1.000 s into the recording: line 4: expected a time' in result.err
    assert '; damaged elsewhere: 3 places; 93 messages after it could be read' in result.err
    times = [float(line.split(',')[0]) for line in path.read_text().splitlines()[1:]]
    assert times == [n for n in range(1, 100) if n not in (3, 6, 7, 51)]


def test_many_columns_take_no_longer_than_their_bytes(convert):
    """A table of 20,000 columns is converted within seconds."""
    columns = ','.join(
        ['time', 'm1.position', *(f'n{number}.position' for number in range(20_000))]
    )
    begin = process_time()
    text = columns + '\n' + ''.join(f'{row},101{",1" * 20_000}\n' for row in range(5))
    result, path = convert(text, target='out.csv')
    assert process_time() - begin < 5.0
    assert (result.code, len(path.read_text().splitlines())) == (0, 6)


@given(
    rows=st.lists(st.lists(st.integers().map(str), min_size=2, max_size=2), min_size=1),
    end=st.sampled_from(['\n', '\r\n', '\r']),
    mark=st.sampled_from(['', '\ufeff']),
)
def test_a_table_is_read_whatever_ends_its_lines(tmp_path_factory, rows, end, mark):
    """Unix, Windows or old Macintosh, with a byte order mark or without."""
    path = tmp_path_factory.mktemp('table') / 'table.csv'
    path.write_bytes((mark + ''.join(','.join(row) + end for row in rows)).encode())
    with contextlib.closing(CsvRows(str(path))) as table:
        assert list(table) == rows
        assert table.progress == 1.0


@given(st.integers(-(2**40) * 10**9, 2**40 * 10**9))
def test_times_are_exact_to_the_nanosecond(value):
    """Text and back is the same number."""
    assert nanoseconds(seconds(value)) == value
