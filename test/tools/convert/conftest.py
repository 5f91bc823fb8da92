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
from zoo.elements import chain

from transmission_bridge.description import load_description
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader, JointStateWriter
from transmission_bridge.transmissions import RobotTransmissions

pytest.importorskip('rosbags', reason='rosbags is not installed')

from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

URDF = chain(
    {
        'pan_drive': """<plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="pan"><mechanical_reduction>101</mechanical_reduction>
        <offset>0.25</offset></joint><actuator name="m1"/>""",
        'wrist': """<plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="m2" role="actuator1"><mechanical_reduction>48</mechanical_reduction>
      </actuator>
      <actuator name="m3" role="actuator2"><mechanical_reduction>-50</mechanical_reduction>
      </actuator>
      <joint name="pitch" role="joint1"><offset>0.1</offset></joint>
      <joint name="roll" role="joint2"><offset>-0.2</offset></joint>""",
    },
    **dict.fromkeys(('pan', 'pitch', 'roll'), 'continuous 0 0 1 1'),
)
MOTORS = ('m1', 'm2', 'm3')
STORE = get_typestore(Stores.LATEST)
START = 1_700_000_000_000_000_000
QOS = Qos(
    QosHistory.KEEP_LAST,
    7,
    QosReliability.BEST_EFFORT,
    QosDurability.TRANSIENT_LOCAL,
    QosTime(1, 5),
    QosTime(2147483647, 4294967295),
    QosLiveliness.AUTOMATIC,
    QosTime(2147483647, 4294967295),
    False,
)
STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}


def states(count, names=MOTORS, seed=0, period=1_000_000, start=START):
    """Return times and serialised joint states."""
    writer, rng = JointStateWriter(names), np.random.default_rng(seed)
    made = []
    for number in range(count):
        for row in (writer.position, writer.velocity, writer.effort):
            row[:] = rng.standard_normal(len(names))
        time = start + number * period
        made.append((time, writer.write_message(*divmod(time - 5, 10**9))))
    return made


def text_message(text):
    """Return a serialised std_msgs/String."""
    return bytes(STORE.serialize_cdr(STORE.types['std_msgs/msg/String'](data=text), STRING))


STRING = 'std_msgs/msg/String'
JOINT_STATE = 'sensor_msgs/msg/JointState'


def write(path, topics, *, storage='mcap', version=9):
    """Write a bag of topics by name: the type, and a list of times and messages."""
    with Writer(path, version=version, storage_plugin=STORAGES[storage]) as writer:
        entries = []
        for name, (msgtype, messages) in topics.items():
            connection = writer.add_connection(
                name, msgtype, typestore=STORE, offered_qos_profiles=[QOS]
            )
            entries += [(time, connection, data) for time, data in messages]
        for time, connection, data in sorted(entries, key=lambda entry: entry[0]):
            writer.write(connection, time, data)
    return path


def read(path):
    """Return connections and messages, as rosbags reads them."""
    with Reader(path) as reader:
        connections = {
            each.topic: (each.msgtype, each.msgdef, each.digest, each.ext, each.msgcount)
            for each in reader.connections
        }
        messages = [(c.topic, time, bytes(data)) for c, time, data in reader.messages()]
    return SimpleNamespace(connections=connections, messages=messages)


def live(messages, numbers=None, **choices):
    """Return what the bridge with tuned numbers and choices publishes, for source, time, data."""
    robot = RobotTransmissions(load_description(URDF)).with_parameters(numbers or {})
    path = state_path(robot, **choices)
    encoder, readers = JointStateEncoder(), {}
    published = []
    for source, time, data in messages:
        view = readers.setdefault(source, JointStateReader()).read_message(data)
        stamp = view.stamp if view.stamp != (0, 0) else divmod(time, 10**9)
        path.merge_message(source, view.layout, view, stamp)
        state = path.make_joint_state()
        if state is not None:
            published.append((time, encoder.encode_record(state)))
    return published


def drive(path, messages, topic='/actuator_states', **choices):
    """Write a bag of joint states on one topic."""
    return write(path, {topic: (JOINT_STATE, messages)}, **choices)


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


def told(path, topic=None):
    """Return times and messages of a topic, or of all."""
    return [message[1:] for message in read(path).messages if topic in (None, message[0])]


@pytest.fixture(scope='session')
def bags():
    """Return this module."""
    return sys.modules[__name__]


@pytest.fixture
def robot_file(tmp_path: Path) -> Path:
    """Return a file with the robot."""
    path = tmp_path / 'arm.urdf'
    path.write_text(URDF)
    return path


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path):
    """Whatever a command does, it leaves no temporary file behind."""
    yield
    assert not list(tmp_path.rglob('*.partial'))
