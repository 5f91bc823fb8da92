# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: bags in, bags out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter


def recording(bags, count=2500):
    """Return the topics of a drive: states, other states, text, and a topic without messages."""
    times = [bags.START + n * 7_000_003 for n in range(40)]
    return {
        '/actuator_states': (bags.JOINT_STATE, bags.states(count)),
        '/robot_description': (bags.STRING, [(bags.START, bags.text_message(bags.URDF))]),
        '/note': (bags.STRING, [(time, bags.text_message(f'at {time}')) for time in times]),
        '/other_states': (bags.JOINT_STATE, bags.states(33, ('x',), 5, 11_000_000)),
        '/silent': (bags.STRING, []),
    }


OUTPUTS = ['out', 'out.mcap', 'out.db3']


def positions(data):
    """Return the positions of a message by name."""
    view = JointStateReader().read_message(data)
    return dict(zip(view.names, view.position, strict=True))


@pytest.mark.parametrize(
    ('storage', 'output'), list(itertools.product(['mcap', 'sqlite3'], OUTPUTS))
)
def test_a_bag_comes_out_as_the_live_bridge_would_have_recorded_it(
    run, bags, tmp_path, storage, output
):
    """States are those of the live bridge to the last bit, all else is untouched, times kept."""
    source = bags.write(tmp_path / 'in', recording(bags), storage=storage)
    result = run('convert', source, tmp_path / output)
    assert (result.code, result.err) == (0, '')
    assert '2500 messages converted' in result.out
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


def test_several_drivers_are_merged_as_in_the_bridge(run, bags, tmp_path, robot_file):
    """Topics with one target are the drivers of one bridge; other targets are other bridges."""
    topics = {
        '/left': (bags.JOINT_STATE, bags.states(150, ('m1', 'm2'), 1, 1_000_003)),
        '/right': (bags.JOINT_STATE, bags.states(150, ('m3',), 2, 1_700_001)),
        '/alone': (bags.JOINT_STATE, bags.states(40, ('m2', 'm3'), 3)),
    }
    source, target = bags.write(tmp_path / 'in', topics), tmp_path / 'out'
    pairs = ['/left:joint_states', 'right:/joint_states', '/alone:/its_states']
    assert run('convert', robot_file, source, target, '--topic', *pairs).code == 0
    before = bags.read(source).messages
    together = bags.live([m for m in before if m[0] != '/alone'])
    assert bags.told(target, '/joint_states') == together
    alone = [m for m in before if m[0] == '/alone']
    assert bags.told(target, '/its_states') == bags.live(alone)
    assert len(bags.told(target)) == len(together) + 40


def test_there_and_back_is_the_recording(run, bags, tmp_path, robot_file):
    """
    Through any format to joint space and back: times and stamps equal, numbers to 1e-12.

    All formats hold the same numbers to the last bit, text as well.
    """
    source = bags.write(tmp_path / 'in', recording(bags, 300))
    returned = []
    for way in (*OUTPUTS, 'out.csv'):
        joints, back = tmp_path / 'way' / way, tmp_path / f'back_{way}.mcap'
        joints.parent.mkdir(exist_ok=True)
        assert run('convert', robot_file, source, joints).code == 0
        assert run('convert', robot_file, joints, back, '--to', 'actuator').code == 0
        returned.append(bags.told(back, '/actuator_states'))
    assert all(each == returned[0] for each in returned)
    before, after = bags.told(source, '/actuator_states'), returned[0]
    assert len(after) == len(before) == 300
    reader, other = JointStateReader(), JointStateReader()
    for (time, data), (other_time, other_data) in zip(before, after, strict=True):
        old, new = reader.read_message(data), other.read_message(other_data)
        assert (other_time, new.stamp, new.names) == (time, old.stamp, old.names)
        for row in ('position', 'velocity', 'effort'):
            # The largest terms are offsets times reductions.
            np.testing.assert_allclose(
                getattr(new, row), getattr(old, row), rtol=0, atol=1e-12 * 0.25 * 101
            )


def test_what_is_converted_may_be_kept_or_replaced(run, bags, tmp_path, robot_file):
    """With --keep the source is there as well; where both have one name it is replaced."""
    source = bags.write(tmp_path / 'in', recording(bags, 20))
    assert run('convert', source, tmp_path / 'kept', '--keep').code == 0
    before, after = bags.read(source).messages, bags.read(tmp_path / 'kept').messages
    assert [m for m in after if m[0] != '/joint_states'] == before
    pair = ('--topic', 'actuator_states:actuator_states')
    assert run('convert', source, tmp_path / 'replaced', *pair).code == 0
    converted = bags.live([m for m in before if m[0] == '/actuator_states'])
    assert bags.told(tmp_path / 'replaced', '/actuator_states') == converted


def test_messages_of_another_byte_order_and_without_a_stamp(run, bags, tmp_path, robot_file):
    """What the fast reader leaves rosbags decodes; the time of receipt is the stamp, as live."""
    decode, encode, kind = bags.STORE.deserialize_cdr, bags.STORE.serialize_cdr, bags.JOINT_STATE
    data = JointStateWriter(bags.MOTORS).write_message(0, 0)
    messages = [*bags.states(10), (bags.START + 10**8, data)]
    outputs = []
    for little in (True, False):
        encoded = [
            (time, bytes(encode(decode(data, kind), kind, little_endian=little)))
            for time, data in messages
        ]
        source, target = bags.drive(tmp_path / f'in{little}', encoded), tmp_path / f'{little}.db3'
        assert run('convert', robot_file, source, target).code == 0
        outputs.append(bags.told(target))
    assert outputs[0] == outputs[1] == bags.live([('one', *each) for each in messages])
    time, data = outputs[0][-1]
    assert JointStateReader().read_message(data).stamp == divmod(time, 10**9)


def test_what_is_odd_is_told(run, bags, tmp_path):
    """Refused messages, strangers' names and a description that changes are named."""
    double = JointStateWriter(['m1', 'm1']).write_message(1, 1)
    stranger = JointStateWriter(['m1', 'm9']).write_message(1, 1)
    topics = recording(bags, 3)
    topics['/actuator_states'][1].extend([(bags.START + 9, double), (bags.START + 10, stranger)])
    topics['/actuator_states'][1].append((bags.START + 11, b'\0\1\0\0odd'))
    topics['/robot_description'][1].append((bags.START + 50, bags.text_message('<robot/>')))
    result = run('convert', bags.write(tmp_path / 'in', topics), tmp_path / 'out')
    assert result.code == 0
    assert '1 messages of /actuator_states rejected (duplicate_name)' in result.err
    assert 'undecodable' in result.err
    assert "left out: 'm9'" in result.err
    assert '/robot_description changes' in result.err
    assert '4 messages converted' in result.out


NAMES = {'M1': 'm1', 'M2': 'm3', 'm3': 'm2'}
ENTRIES = [f'{driver}={name}' for driver, name in NAMES.items()]


def parameter_file(path, text, node='arm/bridge'):
    """Write the parameters of a node."""
    lines = ''.join(f'    {line}\n' for line in text.splitlines())
    path.write_text(f'{node}:\n  ros__parameters:\n{lines}')
    return path


@pytest.mark.parametrize('name', ['out', 'out.csv'])
def test_where_nothing_is_converted_nothing_is_written(run, bags, tmp_path, robot_file, name):
    """Exit code 1, why, and what can be done about it here; a former OUT stays as it was."""
    source, target = bags.drive(tmp_path / 'in', bags.states(5, ('M1', 'M2'))), tmp_path / name
    result = run('convert', robot_file, source, target)
    assert (result.code, result.out) == (1, '')
    for words in (
        '5 messages of /actuator_states rejected (foreign)',
        "expected some of 'm1', 'm2', 'm3', found 'M1', 'M2'; give the driver's names with",
        'nothing was converted, and nothing is written',
    ):
        assert words in result.err
    assert 'the parameter' not in result.err
    assert not target.exists()
    assert run('convert', robot_file, source, target, '--actuator-names', *ENTRIES).code == 0
    assert run('convert', robot_file, source, target, '--force').code == 1
    assert target.exists()


def test_why_nothing_was_converted_is_said(run, bags, tmp_path, robot_file):
    """The other direction is named where it is meant; silence is not an unknown joint."""
    topics = {
        '/actuator_states': (bags.JOINT_STATE, []),
        '/joint_states': (bags.JOINT_STATE, bags.states(3, ('pan', 'pitch'))),
        '/half': (bags.JOINT_STATE, bags.states(3, ('m2',))),
    }
    source = bags.write(tmp_path / 'in', topics)
    for pair, words in (
        ('/actuator_states:/x', 'there is no message with numbers on /actuator_states'),
        ('/joint_states:/x', 'they already name joints: --to actuator converts those'),
        ('/half:/x', 'no joint is known from the numbers in the messages'),
    ):
        result = run('convert', robot_file, source, tmp_path / 'out.mcap', '--topic', pair)
        assert result.code == 1
        assert words in result.err
    assert not (tmp_path / 'out.mcap').exists()


@pytest.mark.parametrize('where', ['option', 'file', 'both'])
def test_names_of_drivers_are_translated_in_both_directions(
    run, bags, tmp_path, robot_file, where
):
    """The same name by its topic, as in the bridge; back to each driver comes what it has."""
    left, right = 'left/actuator_states', 'right/actuator_states'
    topics = {
        f'/{left}': (bags.JOINT_STATE, bags.states(300, ('M1',), 1)),
        f'/{right}': (bags.JOINT_STATE, bags.states(300, ('M1', 'M2'), 2, 1_700_001)),
    }
    source = bags.write(tmp_path / 'in', topics)
    names = {f'{left}:M1': 'm1', f'{right}:M1': 'm2', f'{right}:M2': 'm3'}
    entries = [f'{driver}={name}' for driver, name in names.items()]
    in_file = entries if where == 'file' else ['X=m1']
    text = f'actuator_state_topics: [{left}, {right}]\nactuator_names: {in_file}'
    file = ['--params-file', parameter_file(tmp_path / 'bridge.yaml', text)]
    pairs = [f'/{left}:/joint_states', f'{right}:/joint_states']
    forward = {
        'option': ['--topic', *pairs, '--actuator-names', *entries],
        'file': file,
        'both': [*file, '--actuator-names', *entries],
    }[where]
    joints, target = tmp_path / 'joints.mcap', tmp_path / 'back.mcap'
    result = run('convert', robot_file, source, joints, *forward)
    assert (result.code, result.err) == (0, '')
    assert bags.told(joints) == bags.live(
        [(name[1:], *message) for name, *message in bags.read(source).messages],
        actuator_state_topics=(left, right),
        actuator_names=names,
    )
    for driver in (left, right):
        its = ['--actuator-names', *(each for each in entries if each.startswith(driver))]
        back = ('--topic', f'/joint_states:/{driver}', *(file if where == 'file' else its))
        way = ('convert', robot_file, joints, target, '--force', '--to', 'actuator')
        assert run(*way, *back).code == 0
        old, new = (bags.told(path, f'/{driver}') for path in (source, target))
        assert {frozenset(positions(data)) for _, data in new} == {frozenset(positions(old[0][1]))}
        assert positions(new[-1][1]) == pytest.approx(positions(old[-1][1]), rel=0, abs=3e-11)


@pytest.mark.parametrize('unknown_turn', ['first', 'resolve'])
def test_a_parameter_file_gives_what_its_bridge_publishes(run, bags, tmp_path, unknown_turn):
    """Numbers of transmissions, turns, topics and what is unknown; what it leaves out is told."""
    topics = {
        '/left/states': (bags.JOINT_STATE, bags.states(300, ('m1',), 1)),
        '/right/states': (bags.JOINT_STATE, bags.states(300, ('m2', 'm3'), 2, 1_700_001)),
        '/robot_description': (bags.STRING, [(bags.START, bags.text_message(bags.URDF))]),
    }
    source = bags.write(tmp_path / 'in', topics)
    text = f"""actuator_state_topics: [left/states, right/states]
wrap_period: [m1=0.5]
unknown_turn: {unknown_turn}
unknown_rates: zero
unknown_joints: 'nan'
command_joints: []
on_stop: nothing
limits: 7
autostart: maybe
robot_description: [x]
actuator_names: []
state_timeout: 0.5
publish: on_all
transmissions:
  pan_drive: {{joints: {{pan: {{offset: -1.5}}}}}}
  gone: {{joints: {{x: {{offset: 1.0}}}}}}
transmissions.wrist.actuators.m3.mechanical_reduction: -60.0"""
    file = parameter_file(tmp_path / 'bridge.yaml', text)
    result = run('convert', source, tmp_path / 'out.mcap', '--params-file', file)
    assert result.code == 0
    assert "no such number: 'transmissions.gone.joints.x.offset'" in result.err
    assert 'mapped message by message: state_timeout, publish' in result.err
    # Of a continuous joint behind a gear any turn of the motor is possible.
    is_open = unknown_turn == 'resolve'
    assert ('300 positions of m1 are unknown, because its turn was' in result.err) == is_open
    assert result.err.count('\n') == 2 + is_open
    published = bags.live(
        [m for m in bags.read(source).messages if m[0] != '/robot_description'],
        {
            'pan_drive': {'joints': {'pan': {'offset': -1.5}}},
            'wrist': {'actuators': {'m3': {'mechanical_reduction': -60.0}}},
        },
        unknown_rates='zero',
        unknown_joints='nan',
        wrap_period={'m1': 0.5},
        unknown_turn=unknown_turn,
    )
    assert bags.told(tmp_path / 'out.mcap', '/joint_states') == published


MISTAKES = [
    ('actuator_names: M1=m1', "line 3: actuator_names: expected a list of texts, found 'M1=m1"),
    ('actuator_names: [M1]', "expected entries 'left=right', no left side twice, found 'M1'"),
    ('actuator_names: [1, 2]', 'actuator_names: expected a list of texts, found a sequence'),
    ('actuator_names: [M1=m9]', "unknown actuator 'm9', known: m1, m2, m3"),
    ('pass_through: 1', "pass_through: expected true or false, found '1'"),
    ('unknown_rates: none', "unknown_rates cannot be accepted (expected 'nan' or 'zero'"),
    ('wrap_period: [m1=0]', "wrap_period of 'm1' cannot be accepted"),
    ('state_timeout: soon', 'state_timeout: expected a decimal number'),
    ('transmissions.wrist.joints.roll.mechanical_reduction: 0.0', 'other than zero'),
    ('pass_through: true\npass_through: false', 'is given twice, as True and False'),
    (['--actuator-names', 'M1'], "--actuator-names: expected entries 'left=right'"),
    (['--actuator-names', 'M1=m9'], "unknown actuator 'm9', known: m1, m2, m3"),
    (['--actuator-names', 'm1=m2'], "expected also a driver's name for m1"),
    (['--params-file', 'no/such.yaml'], "cannot read 'no/such.yaml'"),
    (['--topic', 'a'], "--topic takes SOURCE:TARGET, found 'a'"),
    (['--topic', 'a:'], '--topic takes SOURCE:TARGET'),
    (['--topic', 'a:b:c'], '--topic takes SOURCE:TARGET'),
    (['--topic', 'a:b', '/a:c'], "'/a' is given twice"),
    (['--topic', '/none:/b'], "no topic '/none'; topics with joint states are: /actuator"),
    (['--topic', '/note:/b'], "'/note' cannot be converted: expected sensor_msgs/msg/Joint"),
    (['--topic', '/actuator_states:/other_states'], "'/other_states' is in '"),
    (['--keep', '--topic', '/actuator_states:/actuator_states'], 'already; name another'),
    (['--to', 'motor'], 'invalid choice'),
    (['--storage', 'csv'], 'invalid choice'),
    (['--alias', 'x'], "--alias: expected entries 'left=right'"),
]


@pytest.mark.parametrize(('given', 'words'), MISTAKES)
def test_a_mistake_is_one_sentence(refuse, bags, tmp_path, given, words):
    """In a parameter file or an argument: exit code 2, what is wrong; nothing is written."""
    source = bags.write(tmp_path / 'in', recording(bags, 2))
    if isinstance(given, str):
        given = ['--params-file', parameter_file(tmp_path / 'bridge.yaml', given)]
    refuse(words, 'convert', source, tmp_path / 'out.mcap', *given)
    assert not (tmp_path / 'out.mcap').exists()


def test_what_is_not_there_is_one_sentence(refuse, bags, tmp_path, robot_file):
    """A bag without /robot_description needs a file; that and the recording have to be there."""
    source, target = bags.drive(tmp_path / 'in', bags.states(2)), tmp_path / 'out.mcap'
    words = f"'{source}' has no /robot_description: give also the robot"
    refuse(words, 'convert', source, target)
    refuse("cannot read 'no/such.urdf'", 'convert', 'no/such.urdf', source, target)
    for name in ('none.mcap', 'none', 'none.db3', 'none.csv', 'x\0y', ''):
        refuse('', 'convert', robot_file, name and tmp_path / name, target)


@pytest.mark.parametrize('name', OUTPUTS)
def test_nothing_is_replaced_without_force(refuse, run, bags, tmp_path, name):
    """OUT stays as it is, with --force it becomes what a fresh conversion gives."""
    source = bags.write(tmp_path / 'in', recording(bags, 4))
    target, fresh = tmp_path / name, tmp_path / 'fresh' / name
    fresh.parent.mkdir()
    bags.write(tmp_path / 'old', {'/x': (bags.STRING, [])})
    if name == 'out':
        (tmp_path / 'old').rename(target)
    else:
        target.write_bytes(b'mine')
    before = _contents(target)
    refuse('is there already; --force replaces it', 'convert', source, target)
    assert _contents(target) == before
    assert run('convert', source, target, '--force').code == 0
    assert run('convert', source, fresh).code == 0
    assert _contents(target) == _contents(fresh)


def _contents(path):
    files = path.rglob('*') if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


def test_a_folder_that_is_no_bag_is_never_replaced(refuse, bags, tmp_path):
    """Not even with --force; nor is IN, nor a folder that is not there made."""
    source = bags.write(tmp_path / 'in', recording(bags, 2))
    (tmp_path / 'home').mkdir()
    (tmp_path / 'home' / 'thesis').write_text('mine')
    for target in (tmp_path / 'home', source, tmp_path / 'none' / 'out.mcap'):
        refuse('', 'convert', source, target, '--force')
    assert (tmp_path / 'home' / 'thesis').read_text() == 'mine'
    assert not (tmp_path / 'none').exists()


@pytest.mark.parametrize('name', ['a.mcap', 'a.db3', 'a.csv', 'a.bag', 'a'])
def test_a_file_that_is_no_recording_has_errors(run, tmp_path, robot_file, name):
    """Exit code 1, and what is wrong."""
    for content in (b'', b'junk\0' * 100, b'\x89MCAP0\r\n', b'SQLite format 3\0'):
        (tmp_path / name).write_bytes(content)
        result = run('convert', robot_file, tmp_path / name, tmp_path / 'out.mcap')
        assert result.code == 1
        assert f"{name}' cannot be used" in result.err
        assert not (tmp_path / 'out.mcap').exists()
