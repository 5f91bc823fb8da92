# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings made by rosbags, an independent reader, and a robot to convert them with."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from state_paths import state_path
from zoo.elements import ratio, transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader, JointStateWriter
from transmission_bridge.transmissions import RobotTransmissions

pytest.importorskip('rosbags', reason='rosbags is not installed')

from rosbags import interfaces
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

WRIST = {name: f'<offset>{offset}</offset>' for name, offset in (('pitch', 0.1), ('roll', -0.2))}
URDF = urdf(
    ('pan', 'pitch', 'roll'),
    transmission('pan_drive', 'Simple', {'pan': ratio(101, 0.25)}, ['m1'])
    + transmission('wrist', 'Differential', WRIST, {'m2': ratio(48), 'm3': ratio(-50)}),
)
MOTORS = ('m1', 'm2', 'm3')
STRING, JOINT_STATE = 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'
STORE = get_typestore(Stores.LATEST)
START = 1_700_000_000_000_000_000
FOREVER = interfaces.QosTime(2147483647, 4294967295)
QOS = interfaces.Qos(
    *(interfaces.QosHistory.KEEP_LAST, 7, interfaces.QosReliability.BEST_EFFORT),
    *(interfaces.QosDurability.TRANSIENT_LOCAL, interfaces.QosTime(1, 5), FOREVER),
    *(interfaces.QosLiveliness.AUTOMATIC, FOREVER, False),
)


def states(count, names=MOTORS, seed=0, period=1_000_000):
    """Return times and serialised joint states."""
    writer, rng, made = JointStateWriter(names), np.random.default_rng(seed), []
    for number in range(count):
        for row in (writer.position, writer.velocity, writer.effort):
            row[:] = rng.standard_normal(len(names))
        time = START + number * period
        made.append((time, writer.write_message(*divmod(time - 5, 10**9))))
    return made


def text_message(text):
    """Return a serialised std_msgs/String."""
    return bytes(STORE.serialize_cdr(STORE.types[STRING](data=text), STRING))


def recording(count=400):
    """Return the topics of a drive: states, other states, text, and a topic without messages."""
    times = [START + n * 7_000_003 for n in range(40)]
    return {
        '/actuator_states': (JOINT_STATE, states(count)),
        '/robot_description': (STRING, [(START, text_message(URDF))]),
        '/note': (STRING, [(time, text_message(f'at {time}')) for time in times]),
        '/other_states': (JOINT_STATE, states(33, ('x',), 5, 11_000_000)),
        '/silent': (STRING, []),
    }


def write(path, topics, *, storage='mcap'):
    """Write a bag of topics by name: the type, and a list of times and messages."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    with writer:
        entries = []
        for name, (msgtype, messages) in topics.items():
            connection = writer.add_connection(
                name, msgtype, typestore=STORE, offered_qos_profiles=[QOS]
            )
            entries += [(time, connection, data) for time, data in messages]
        for time, connection, data in sorted(entries, key=lambda entry: entry[0]):
            writer.write(connection, time, data)
    return path


def drive(path, messages, **choices):
    """Write a bag of states of actuators."""
    return write(path, {'/actuator_states': (JOINT_STATE, messages)}, **choices)


def read(path):
    """Return connections and messages, as rosbags reads them."""
    with Reader(path) as reader:
        connections = {
            each.topic: (each.msgtype, each.msgdef, each.digest, each.ext, each.msgcount)
            for each in reader.connections
        }
        messages = [(c.topic, time, bytes(data)) for c, time, data in reader.messages()]
    return SimpleNamespace(connections=connections, messages=messages)


def told(path, topic=None):
    """Return times and messages of a topic, or of all."""
    return [message[1:] for message in read(path).messages if topic in (None, message[0])]


def live(messages, numbers=None, **choices):
    """Return what the bridge publishes after messages: perhaps a source, time, and data."""
    robot = RobotTransmissions(load_description(URDF)).with_parameters(numbers or {})
    path = state_path(robot, **choices)
    encoder, readers, published = JointStateEncoder(), {}, []
    for *source, time, data in messages:
        source = source[0] if source else 'one'
        view = readers.setdefault(source, JointStateReader()).read_message(data)
        stamp = view.stamp if view.stamp != (0, 0) else divmod(time, 10**9)
        path.merge_message(source, view.layout, view, stamp)
        state = path.make_joint_state()
        if state is not None:
            published.append((time, encoder.encode_record(state)))
    return published


def mcap(messages, *, compression='NONE', chunk_size=1 << 20, extras=False, publishers=1):
    """Return an MCAP file of the library mcap, whose publishers take turns."""
    library = pytest.importorskip('mcap.writer', reason='mcap, which writes it, is not installed')
    file, kind = BytesIO(), library.CompressionType[compression]
    writer = library.Writer(file, compression=kind, chunk_size=chunk_size)
    writer.start('ros2')
    definition = STORE.generate_msgdef(JOINT_STATE, ros_version=2)[0].encode()
    schema = writer.register_schema(JOINT_STATE, 'ros2msg', definition)
    channels = [
        writer.register_channel('/actuator_states', 'cdr', schema, {'publisher': str(number)})
        for number in range(publishers)
    ]
    for number, (time, data) in enumerate(messages):
        writer.add_message(channels[number % publishers], time, data, time - 7, number)
    if extras:
        writer.add_attachment(1, 2, 'note', 'text/plain', b'attached')
        writer.add_metadata('mine', {'key': 'value'})
    writer.finish()
    return file.getvalue()


@pytest.fixture(scope='session')
def bags():
    """Return this module."""
    return sys.modules[__name__]


@pytest.fixture
def robot_file(save) -> Path:
    """Return a file with the robot."""
    return save(URDF, 'arm.urdf')


@pytest.fixture
def convert(run, tmp_path, robot_file):
    """Return a function that converts a path or the content of a file: result and target."""

    def call(source, *options, name='in.mcap', target='out.mcap'):
        if isinstance(source, bytes | bytearray):
            (tmp_path / name).write_bytes(source)
            source = tmp_path / name
        path = tmp_path / target
        result = run('convert', robot_file, source, path, '--force', *options)
        assert 'Traceback' not in result.err
        return result, path

    return call


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path):
    """Whatever a command does, it leaves no temporary file behind."""
    yield
    assert not list(tmp_path.rglob('*.partial'))
