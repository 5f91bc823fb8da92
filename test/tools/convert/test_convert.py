# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: what it converts, with which choices, and what it refuses."""

from __future__ import annotations

import contextlib
import importlib
from io import BytesIO
import os
import sqlite3
import struct

import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter

OUTPUTS = ['out', 'out.mcap', 'out.db3']


def positions(data):
    """Return the positions of a message by name."""
    view = JointStateReader().read_message(data)
    return dict(zip(view.names, view.position, strict=True))


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('output', OUTPUTS)
def test_a_bag_comes_out_as_the_live_bridge_would_have_recorded_it(
    run, bags, tmp_path, storage, output
):
    """States are those of the live bridge to the last bit, all else is untouched, times kept."""
    source = bags.write(tmp_path / 'in', bags.recording(), storage=storage)
    run('convert', source, tmp_path / output).expect(out='400 messages converted')
    before, after = bags.read(source), bags.read(tmp_path / output)
    expected = [m for m in before.messages if m[0] != '/actuator_states']
    published = bags.live([m for m in before.messages if m[0] == '/actuator_states'])
    expected += [('/joint_states', *each) for each in published]
    assert sorted(after.messages) == sorted(expected)
    assert [time for _, time, _ in after.messages] == sorted(m[1] for m in before.messages)
    connections = dict(before.connections)
    connections['/joint_states'] = connections.pop('/actuator_states')
    if output == 'out.mcap':  # rosbags reads no type hashes from a single file
        connections = {k: (*v[:2], '', *v[3:]) for k, v in connections.items()}
    assert after.connections == connections


def test_what_is_converted_may_be_kept_or_replaced(convert, bags, tmp_path):
    """With --keep the source is there as well; where both have one name it is replaced."""
    source = bags.write(tmp_path / 'in', bags.recording(20))
    before = bags.read(source).messages
    after = bags.read(convert(source, '--keep')[1]).messages
    assert [m for m in after if m[0] != '/joint_states'] == before
    _, target = convert(source, '--topic', 'actuator_states:actuator_states', target='out')
    converted = bags.live(bags.told(source, '/actuator_states'))
    assert bags.told(target, '/actuator_states') == converted


def test_rejected_messages_and_unknown_names_are_listed(run, bags, tmp_path):
    """Each reason once, with its count; the other messages are converted."""
    topics = bags.recording(3)
    for number, names in ((9, ['m1', 'm1']), (10, ['m1', 'm9'])):
        message = JointStateWriter(names).write_message(1, 1)
        topics['/actuator_states'][1].append((bags.START + number, message))
    topics['/actuator_states'][1].append((bags.START + 11, b'\0\1\0\0odd'))
    result = run('convert', bags.write(tmp_path / 'in', topics), tmp_path / 'out')
    for words in ('/actuator_states rejected (duplicate_name)', 'undecodable', "left out: 'm9'"):
        result.expect(0, '4 messages converted', words)


@pytest.mark.parametrize(('topic', 'words'), [
    ('/silent', 'no message of /silent determines a joint'),
    ('/half', 'no message of /half determines a joint'),
    ('/joint_states', '--to actuator converts the reverse'),
    ('/foreign', "'m1', 'm2', 'm3', found 'M1', 'M2'; check that the topic"),
    ('/foreign', '5 messages of /foreign rejected (foreign)'),
])  # fmt: skip
def test_if_nothing_is_converted_nothing_is_written(convert, bags, tmp_path, topic, words):
    """Exit code 1 and the reason; a former OUT stays unchanged."""
    topics = {
        '/silent': (bags.JOINT_STATE, []),
        '/joint_states': (bags.JOINT_STATE, bags.states(3, ('pan', 'pitch'))),
        '/half': (bags.JOINT_STATE, bags.states(3, ('m2',))),
        '/foreign': (bags.JOINT_STATE, bags.states(5, ('M1', 'M2'))),
        '/good': (bags.JOINT_STATE, bags.states(5)),
    }
    source = bags.write(tmp_path / 'in', topics)
    result, path = convert(source, '--topic', f'{topic}:/x', target='out')
    assert (result.code, result.out, path.exists()) == (1, '', False)
    assert words in result.err
    assert 'no file was written' in result.err
    convert(source, '--topic', '/good:/x', target='out')
    before = _contents(path)
    assert convert(source, '--topic', f'{topic}:/x', target='out')[0].code == 1
    assert _contents(path) == before


def _contents(path):
    files = path.rglob('*') if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


def parameter_file(path, text):
    """Write the parameters of a node."""
    lines = ''.join(f'    {line}\n' for line in text.splitlines())
    path.write_text(f'arm/bridge:\n  ros__parameters:\n{lines}')
    return '--params-file', path


PARAMETERS = """actuator_state_topics: [left/states, right/states]
unknown_rates: zero
unknown_joints: 'nan'
limits: 7
actuator_names: ['X=m1']
state_timeout: 0.5
publish_rate: 50.0
transmissions:
  pan_drive: {joints: {pan: {offset: -1.5}}}
  gone: {joints: {x: {offset: 1.0}}}
transmissions.wrist.actuators.m3.mechanical_reduction: -60.0"""


def test_a_parameter_file_gives_what_its_bridge_publishes(convert, bags, tmp_path):
    """
    Numbers, turns, topics and what is unknown; what it leaves out is told.

    One name of two drivers is translated by its topic, and each driver gets its own back.
    """
    left, right = 'left/states', 'right/states'
    topics = {
        f'/{left}': (bags.JOINT_STATE, bags.states(300, ('M1',), 1)),
        f'/{right}': (bags.JOINT_STATE, bags.states(300, ('M1', 'M2'), 2, 1_700_001)),
    }
    source = bags.write(tmp_path / 'in', topics)
    names = {f'{left}:M1': 'm1', f'{right}:M1': 'm2', f'{right}:M2': 'm3'}
    entries = [f'{driver}={name}' for driver, name in names.items()]
    file = parameter_file(tmp_path / 'bridge.yaml', PARAMETERS)
    result, joints = convert(source, *file, '--actuator-names', *entries, target='joints.mcap')
    result.expect(err="no such number: 'transmissions.gone.joints.x.offset'")
    assert result.err.count('\n') == 1
    assert bags.told(joints) == bags.live(
        [(name[1:], *message) for name, *message in bags.read(source).messages],
        {
            'pan_drive': {'joints': {'pan': {'offset': -1.5}}},
            'wrist': {'actuators': {'m3': {'mechanical_reduction': -60.0}}},
        },
        unknown_rates='zero',
        unknown_joints='nan',
        resolves_turns=False,
        actuator_state_topics=(left, right),
        actuator_names=names,
    )
    for driver in (left, right):
        its = ('--actuator-names', *(each for each in entries if each.startswith(driver)))
        back = ('--to', 'actuator', '--topic', f'/joint_states:/{driver}', *file, *its)
        old, new = (bags.told(p, f'/{driver}') for p in (source, convert(joints, *back)[1]))
        read = JointStateReader().read_message
        assert {read(data).names for _, data in new} == {read(old[0][1]).names}
        assert positions(new[-1][1]) == pytest.approx(positions(old[-1][1]), rel=0, abs=3e-11)


@pytest.mark.parametrize(('mistake', 'words'), [
    ('actuator_names: M1=m1', "line 3: actuator_names: expected a list of texts, found 'M1=m1"),
    ('pass_through: 1', "pass_through: expected true or false, found '1'"),
    ('wrap_period: [m1=0]', "wrap_period cannot be accepted: period of 'm1'"),
    ('pass_through: true\npass_through: false', 'is given twice, as True and False'),
    (['--actuator-names', 'M1'], "--actuator-names: expected entries 'left=right'"),
    (['--actuator-names', 'M1=m9'], "unknown actuator 'm9', known: m1, m2, m3"),
    (['--actuator-names', 'm1=m2'], "expected also a driver's name for m1"),
    (['--topic', 'a'], "--topic takes SOURCE:TARGET, found 'a'"),
    (['--topic', 'a:b', '/a:c'], "'/a' is given twice"),
    (['--topic', '/none:/b'], "'/none' cannot be converted: expected sensor_msgs/msg/Joint"),
    (['--topic', '/actuator_states:/other_states'], "has '/other_states' already; name another"),
    (['--keep', '--topic', '/actuator_states:/actuator_states'], 'already; name another'),
])  # fmt: skip
def test_a_mistake_is_one_sentence(refuse, bags, tmp_path, mistake, words):
    """In a parameter file or an argument: exit code 2, what is wrong; nothing is written."""
    source = bags.write(tmp_path / 'in', bags.recording(2))
    if isinstance(mistake, str):
        mistake = parameter_file(tmp_path / 'bridge.yaml', mistake)
    refuse(words, 'convert', source, tmp_path / 'out.mcap', *mistake)
    assert not (tmp_path / 'out.mcap').exists()


def test_what_is_not_there_is_one_sentence(refuse, bags, tmp_path, robot_file):
    """A bag without /robot_description needs a file; that and the recording have to be there."""
    source, target = bags.drive(tmp_path / 'in', bags.states(2)), tmp_path / 'out.mcap'
    refuse(f"'{source}' has no /robot_description: give also the robot", 'convert', source, target)
    refuse("cannot read 'no/such.urdf'", 'convert', 'no/such.urdf', source, target)
    for name in ('none.mcap', 'none', 'none.db3', ''):
        refuse('', 'convert', robot_file, name and tmp_path / name, target)


def test_a_folder_that_is_no_bag_is_never_replaced(refuse, bags, tmp_path):
    """Not even with --force; nor is IN, nor a folder that is not there made."""
    source = bags.write(tmp_path / 'in', bags.recording(2))
    (tmp_path / 'home').mkdir()
    (tmp_path / 'home' / 'thesis').write_text('mine')
    for target in (tmp_path / 'home', source, tmp_path / 'none' / 'out.mcap'):
        refuse('', 'convert', source, target, '--force')
    assert (tmp_path / 'home' / 'thesis').read_text() == 'mine'
    assert not (tmp_path / 'none').exists()


# -- Recordings of all kinds ---------------------------------------------------------------------


@pytest.mark.parametrize('kind', ['NONE', 'LZ4'])
@pytest.mark.parametrize('options', [(), ('--keep',)])
def test_chunks_are_compressed_whatever_those_of_the_input_are(convert, bags, kind, options):
    """Channels that differ in metadata of their publishers only become one connection."""
    states = bags.states(60)
    _, target = convert(bags.mcap(states, compression=kind, extras=True, publishers=2), *options)
    assert bags.told(target, '/joint_states') == bags.live(states)
    with Reader(target) as reader:
        assert len(reader.connections) == 1 + len(options)
        (found,) = {chunk.compression for chunk in reader.storage.chunks}
    assert found == 'zstd'


def test_an_unknown_type_is_copied_with_its_definition(convert, bags, tmp_path):
    """Through both storages: a definition that does not parse stays unchanged."""
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
    """Custom metadata stays also."""
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


# -- Recordings that cannot be read, and runs that end early --------------------------------------


@pytest.mark.parametrize('suffix', ['mcap', 'db3'])
@pytest.mark.parametrize('share', [0.0, 0.001, 0.5, 0.999])
def test_of_a_recording_that_rosbags_cannot_read_nothing_is_written(
    convert, bags, tmp_path, suffix, share
):
    """Cut off anywhere: exit code 1, one sentence, and no file."""
    if suffix == 'mcap':
        whole = bags.mcap(bags.states(2000), chunk_size=20_000)
    else:
        bags.drive(tmp_path / 'b', bags.states(2000), storage='sqlite3')
        whole = (tmp_path / 'b' / 'b.db3').read_bytes()
    result, target = convert(whole[: int(share * len(whole))], name=f'in.{suffix}')
    assert (result.code, result.out, target.exists()) == (1, '', False)
    assert f"in.{suffix}' cannot be read as a recording: " in result.err
    assert result.err.endswith('; no file was written\n')


def test_a_message_that_the_index_lacks_is_missed(convert, bags):
    """A chunk without an index is not read by rosbags: its messages are counted."""
    changed = bytearray(bags.mcap(bags.states(2000), chunk_size=20_000))
    reader = importlib.import_module('mcap.reader').make_reader(BytesIO(changed))
    chunks = reader.get_summary().chunk_indexes
    # The index of the last chunk in the summary gets an opcode that readers skip.
    summary = changed.rindex(struct.pack('<Q', chunks[-1].chunk_start_offset))
    assert changed[summary - 25] == 8
    changed[summary - 25] = 0x80
    result, target = convert(changed)
    result.expect(1, err='messages of its index not found')
    assert not target.exists()


def test_a_row_of_a_database_that_is_no_message_is_reported(convert, bags, tmp_path):
    """SQLite accepts any type in any column."""
    path = bags.drive(tmp_path / 'in', bags.states(20), storage='sqlite3') / 'in.db3'
    with contextlib.closing(sqlite3.connect(path)) as rows:
        rows.executescript("UPDATE messages SET data = 'text' WHERE id = 10")
    result, target = convert(path)
    assert (result.code, target.exists()) == (1, False)
    assert 'cannot be read as a recording' in result.err


def test_a_pipe_is_not_read(refuse, tmp_path, robot_file):
    """Reading a pipe may never end."""
    os.mkfifo(tmp_path / 'pipe.mcap')
    words = "pipe.mcap' is not a regular file"
    refuse(words, 'convert', robot_file, tmp_path / 'pipe.mcap', tmp_path / 'out.mcap')
