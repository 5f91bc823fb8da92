# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a conversion does not concern comes out of an MCAP file as it went in."""

from __future__ import annotations

from binascii import crc32
from dataclasses import dataclass, field
import re
import struct
import sys

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
from lz4 import frame as lz4
import pytest
import zstandard as zstd

MAGIC = b'\x89MCAP0\r\n'
COMPRESS = {'': bytes, 'zstd': zstd.compress, 'lz4': lz4.compress}
DECOMPRESS = {'': bytes, 'zstd': zstd.decompress, 'lz4': lz4.decompress}


def text(value):
    """Return a string or bytes as a field."""
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack('<I', len(raw)) + raw


def record(opcode, content):
    """Return a record."""
    return struct.pack('<BQ', opcode, len(content)) + content


def schema(number, name, encoding, data):
    """Return a schema record."""
    content = struct.pack('<H', number) + text(name) + text(encoding) + text(data)
    return record(3, content)


def channel(number, schema_number, topic, encoding='cdr', metadata=()):
    """Return a channel record."""
    pairs = b''.join(text(key) + text(value) for key, value in metadata)
    content = struct.pack('<HH', number, schema_number) + text(topic) + text(encoding)
    return record(4, content + text(pairs))


def message(number, sequence, time, published, data):
    """Return a message record."""
    return record(5, struct.pack('<HIQQ', number, sequence, time, published) + data)


def chunk(records, times, compression='', *, with_crc=True):
    """Return a chunk record."""
    raw = b''.join(records)
    packed = COMPRESS[compression](raw)
    head = struct.pack('<QQQI', min(times), max(times), len(raw), crc32(raw) if with_crc else 0)
    return record(6, head + text(compression) + struct.pack('<Q', len(packed)) + packed)


def attachment(name, data):
    """Return an attachment record."""
    content = struct.pack('<QQ', 5, 6) + text(name) + text('text/plain')
    content += struct.pack('<Q', len(data)) + data
    return record(9, content + struct.pack('<I', crc32(content)))


def metadata(name, **pairs):
    """Return a metadata record."""
    inner = b''.join(text(key) + text(value) for key, value in pairs.items())
    return record(0x0C, text(name) + text(inner))


def mcap(*records, ended=True):
    """Return a whole file of these records."""
    head = MAGIC + record(1, text('ros2') + text('by hand'))
    end = record(0x0F, bytes(4)) + record(2, bytes(20)) + MAGIC
    return head + b''.join(records) + (end if ended else b'')


@dataclass
class Contents:
    """Everything that stands in an MCAP file."""

    messages: list = field(default_factory=list)
    topics: dict = field(default_factory=dict)
    extras: list = field(default_factory=list)
    opcodes: list = field(default_factory=list)
    compressions: set = field(default_factory=set)


def contents(data):
    """Read a file by the specification, with every checksum, and look its index up."""
    assert data.startswith(MAGIC)
    assert data.endswith(MAGIC)
    found, schemas, channels = Contents(), {}, {}

    def look(raw, start, end, base):
        at = start
        while at < end:
            opcode, length = struct.unpack_from('<BQ', raw, at)
            content = raw[at + 9 : at + 9 + length]
            assert len(content) == length
            found.opcodes.append(opcode)
            if opcode == 3:
                (number,) = struct.unpack_from('<H', content)
                schemas[number] = content[2:]
            elif opcode == 4:
                number, its_schema = struct.unpack_from('<HH', content)
                channels[number] = content[4:]
                found.topics[content[4:]] = schemas.get(its_schema)
            elif opcode == 5:
                number, sequence, time, published = struct.unpack_from('<HIQQ', content)
                found.messages.append((channels[number], sequence, time, published, content[22:]))
            elif opcode == 6:
                _, _, size, crc = struct.unpack_from('<QQQI', content)
                (name_length,) = struct.unpack_from('<I', content, 28)
                compression = content[32 : 32 + name_length].decode()
                found.compressions.add(compression)
                (packed,) = struct.unpack_from('<Q', content, 32 + name_length)
                inner = DECOMPRESS[compression](content[40 + name_length :])
                assert (len(inner), len(content)) == (size, 40 + name_length + packed)
                assert crc in (0, crc32(inner))
                look(inner, 0, len(inner), None)
            elif opcode in (9, 0x0C):
                found.extras.append(raw[at : at + 9 + length])
            elif opcode in (0x0A, 0x0D):
                offset, its_length = struct.unpack_from('<QQ', content)
                assert raw[offset : offset + its_length] in found.extras
            elif opcode == 8:
                offset, its_length = struct.unpack_from('<QQ', content, 16)
                assert raw[offset] == 6
                assert struct.unpack_from('<Q', raw, offset + 1)[0] + 9 == its_length
            elif opcode == 2:
                summary, offsets, crc = struct.unpack('<QQI', content)
                assert crc in (0, crc32(raw[summary : at + 9 + 16]))
                assert not summary or raw[offsets] == 0x0E
            at += 9 + length
        assert at == end

    look(data, len(MAGIC), len(data) - len(MAGIC), 0)
    return found


QOS = '- history: 1\n  depth: 3'
DEFINITIONS = [
    schema(1, 'sensor_msgs/msg/JointState', 'ros2msg', b'string[] name'),
    schema(7, 'acme.Odd', 'protobuf', b'\x00\xff\xfe not text'),
    schema(9, 'acme/Json', 'jsonschema', b'{}'),
]
CHANNELS = [
    channel(3, 1, '/actuator_states', metadata=[('z', 'last'), ('offered_qos_profiles', QOS)]),
    channel(4, 7, '/odd', 'protobuf', [('b', '2'), ('a', '1')]),
    channel(5, 9, '/json', 'json'),
    channel(6, 0, 'no schema', ''),
    channel(8, 1, '/odd', 'cdr', [('other', 'publisher')]),
]


def sample(bags, compression, *, loose=False):
    """Return a file with everything that is unusual, its chunks overlapping in time."""
    states = bags.states(60)
    first, second = [], []
    for number, (time, data) in enumerate(states):
        part = first if number % 2 or number < 20 else second
        part.append((time, message(3, number + 1, time, time - 17, data)))
        odd = (4, 5, 6, 8)[number % 4]
        part.append((time + 9, message(odd, 1000 + number, time + 9, number, b'\0\xffdata' * 3)))
    second.reverse()
    pieces = []
    for part in (first, second):
        records = [each for _, each in part]
        pieces.append(
            b''.join(records) if loose else chunk(records, [t for t, _ in part], compression)
        )
    definitions = [*DEFINITIONS, *CHANNELS]
    if not loose:
        definitions = [chunk(definitions, [0], compression)]
    extras = [attachment('a.txt', b'x' * 3_000_000), metadata('mine', key='value')]
    return mcap(*definitions, extras[0], pieces[0], record(0x81, b'private'), extras[1], pieces[1])


@pytest.mark.parametrize(
    ('compression', 'loose'), [('', False), ('zstd', False), ('lz4', False), ('', True)]
)
def test_all_else_is_copied_byte_for_byte(run, bags, tmp_path, robot_file, compression, loose):
    """Sequence numbers, publish times, unknown schemas, channel metadata, attachments."""
    source = tmp_path / 'in.mcap'
    source.write_bytes(sample(bags, compression, loose=loose))
    result = run('convert', robot_file, source, tmp_path / 'out.mcap')
    assert (result.code, result.err) == (0, '')
    before, after = (contents(p.read_bytes()) for p in (source, tmp_path / 'out.mcap'))
    (own,) = [extra for extra in after.extras if b'rosbag2' in extra[:30]]
    assert b'/joint_states' in own
    assert [extra for extra in after.extras if extra is not own] == before.extras

    def others(found):
        return [m for m in found.messages if b'_states' not in m[0]]

    assert others(after) == sorted(others(before), key=lambda m: m[2])
    mine = [m for m in after.messages if b'/joint_states' in m[0]]
    theirs = sorted((m for m in before.messages if b'_states' in m[0]), key=lambda m: m[2])
    assert [m[1:4] for m in mine] == [m[1:4] for m in theirs]
    assert [m[4] for m in mine] == [
        data for _, data in bags.live([('d', m[2], m[4]) for m in theirs])
    ]
    renamed = {
        key.replace(text('/actuator_states'), text('/joint_states')): value
        for key, value in before.topics.items()
    }
    assert after.topics == renamed
    assert 6 in after.opcodes
    assert {8, 0x0A, 0x0B, 0x0D, 0x0E, 0x0F} <= set(after.opcodes)


def test_messages_come_out_in_the_order_of_receipt(run, bags, tmp_path, robot_file):
    """However chunks overlap, the bridge sees what was received first, first."""
    source = tmp_path / 'in.mcap'
    source.write_bytes(sample(bags, 'zstd'))
    assert run('convert', robot_file, source, tmp_path / 'out.mcap').code == 0
    times = [m[2] for m in contents((tmp_path / 'out.mcap').read_bytes()).messages]
    assert times == sorted(times)
    assert len(times) == 120


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_order_of_times_gives_what_a_sorted_file_gives(
    run, bags, tmp_path_factory, robot_file, data
):
    """Shuffled messages in chunks of any size are read as if they had been sorted."""
    folder = tmp_path_factory.mktemp('shuffled')
    states = [(time, message(3, 0, time, time, payload)) for time, payload in bags.states(40)]
    shuffled = data.draw(st.permutations(states))
    sizes = data.draw(st.lists(st.integers(1, 20), min_size=40, max_size=40))
    definitions = [*DEFINITIONS[:1], *CHANNELS[:1]]
    pieces = []
    for size in sizes:
        part, shuffled = shuffled[:size], shuffled[size:]
        if part:
            pieces.append(chunk([each for _, each in part], [time for time, _ in part]))
    (folder / 'in.mcap').write_bytes(mcap(*definitions, *pieces))
    (folder / 'sorted.mcap').write_bytes(mcap(*definitions, *(each for _, each in states)))
    results = []
    for name in ('in', 'sorted'):
        target = folder / name / 'out.mcap'
        target.parent.mkdir()
        assert run('convert', robot_file, folder / f'{name}.mcap', target).code == 0
        results.append(target.read_bytes())
    assert results[0] == results[1]


def test_the_compression_of_chunks_is_kept(run, bags, tmp_path, robot_file):
    """A compressed recording does not grow."""
    sizes = {}
    for compression in ('', 'zstd', 'lz4'):
        source, target = tmp_path / f'in{compression}.mcap', tmp_path / f'out{compression}.mcap'
        source.write_bytes(sample(bags, compression))
        assert run('convert', robot_file, source, target).code == 0
        data = target.read_bytes()
        assert contents(data).compressions == {compression}
        sizes[compression] = len(data)
    assert sizes['zstd'] < sizes['']


def test_folders_of_several_compressed_files_are_one_recording(run, bags, tmp_path, robot_file):
    """Split bags, and rosbag2's own compression of files and messages, are read as one."""
    messages = bags.states(90)
    topics = [{'/actuator_states': (bags.JOINT_STATE, messages[n : n + 30])} for n in (0, 30, 60)]
    for number, part in enumerate(topics):
        bags.write(tmp_path / f'part{number}', part, storage='sqlite3')
    whole = bags.write(
        tmp_path / 'whole', {'/actuator_states': (bags.JOINT_STATE, messages)}, storage='sqlite3'
    )
    expected = tmp_path / 'expected.mcap'
    assert run('convert', robot_file, whole, expected).code == 0
    for mode in ('', 'file'):
        split = tmp_path / f'split{mode}'
        split.mkdir()
        names = []
        for number in range(3):
            data = (tmp_path / f'part{number}' / f'part{number}.db3').read_bytes()
            suffix, data = ('.zstd', zstd.compress(data)) if mode else ('', data)
            names.append(f'p{number}.db3{suffix}')
            (split / names[-1]).write_bytes(data)
        head, _, tail = (whole / 'metadata.yaml').read_text().partition('relative_file_paths:')
        head = head.replace("compression_mode: ''", f"compression_mode: '{mode.upper()}'")
        head = head.replace("compression_format: ''", "compression_format: 'zstd'")
        tail = tail[tail.index('\n  ', tail.index('whole.db3')) :]
        listed = '\n'.join(f'  - {name}' for name in names)
        (split / 'metadata.yaml').write_text(f'{head}relative_file_paths:\n{listed}{tail}')
        target = tmp_path / f'{mode}.mcap'
        assert run('convert', robot_file, split, target).code == 0
        assert bags.read(target).messages == bags.read(expected).messages


def test_extras_are_asked_for_only_where_they_are_needed(
    run, bags, tmp_path, robot_file, monkeypatch
):
    """Each library is needed for its format only; one sentence says what to install."""
    for name, compression in (('plain', ''), ('zstd', 'zstd'), ('lz4', 'lz4')):
        (tmp_path / f'{name}.mcap').write_bytes(sample(bags, compression))
    folder = bags.write(
        tmp_path / 'folder', {'/actuator_states': (bags.JOINT_STATE, [])}, storage='sqlite3'
    )
    (tmp_path / 'table.csv').write_text('time,m1.position\n1.0,2.0\n')
    install = "pip install '.[bags]'"
    table, plain = 'table.csv', 'plain.mcap'
    for missing, source, target, words in (
        (('mcap', 'yaml', 'rosbags'), table, 'a.csv', ''),
        (('mcap', 'rosbags'), table, 'a.db3', ''),
        (('rosbags',), plain, 'a.mcap', ''),
        (('mcap',), plain, 'b.csv', f'this needs mcap, which cannot be imported.*{install}'),
        (('mcap',), table, 'b.mcap', f'this needs mcap, which cannot be imported.*{install}'),
        (('mcap',), table, 'b', f'this needs mcap, which cannot be imported.*{install}'),
        (('yaml',), table, 'b.mcap', 'YAML needs PyYAML: pip install PyYAML'),
        (('yaml',), table, 'b.db3', 'YAML needs PyYAML: pip install PyYAML'),
        (('yaml',), folder, 'b.csv', 'YAML needs PyYAML: pip install PyYAML'),
        (('backports.zstd', 'compression.zstd'), 'zstd.mcap', 'b.csv', f'zstd .*{install}'),
        (('lz4.frame',), 'lz4.mcap', 'b.csv', f'lz4 compression needs .*{install}'),
    ):
        with monkeypatch.context() as patch:
            for module in missing:
                patch.setitem(sys.modules, module, None)
            result = run('convert', robot_file, tmp_path / source, tmp_path / target)
        assert result.code == (2 if words else 0), (missing, source, target, result.err)
        assert (tmp_path / target).exists() == (not words)
        if words:
            assert re.search(words.replace('[', r'\['), result.err)
            assert result.err.count('\n') == 1


def test_schemas_of_any_kind_survive_sqlite(run, bags, tmp_path, robot_file):
    """Through a database and back: topics and messages, definitions that are no text as well."""
    (tmp_path / 'in.mcap').write_bytes(sample(bags, ''))
    assert run('convert', robot_file, tmp_path / 'in.mcap', tmp_path / 'a.db3').code == 0
    target = tmp_path / 'out.mcap'
    back = ('--to', 'actuator', '--topic', '/joint_states:/actuator_states')
    assert run('convert', robot_file, tmp_path / 'a.db3', target, *back).code == 0
    before, after = (contents(p.read_bytes()) for p in (tmp_path / 'in.mcap', target))
    assert {value for value in after.topics.values() if value} == {
        value for value in before.topics.values() if value
    }
    assert sorted((m[2], m[4]) for m in after.messages if b'_states' not in m[0]) == sorted(
        (m[2], m[4]) for m in before.messages if b'_states' not in m[0]
    )
