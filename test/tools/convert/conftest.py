# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings made by rosbags, an independent reader, and a robot to convert them with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge.description import load_description
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader, JointStateWriter
from transmission_bridge.transmissions import RobotTransmissions

rosbags = pytest.importorskip('rosbags', reason='rosbags is not installed')

from rosbags.interfaces import (  # noqa: E402 - only where it is installed
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import Reader, StoragePlugin, Writer  # noqa: E402
from rosbags.typesys import get_typestore, Stores  # noqa: E402

URDF = """<robot name="arm">
  <link name="l0"/><link name="l1"/><link name="l2"/><link name="l3"/>
  <joint name="pan" type="continuous"><parent link="l0"/><child link="l1"/></joint>
  <joint name="pitch" type="continuous"><parent link="l1"/><child link="l2"/></joint>
  <joint name="roll" type="continuous"><parent link="l2"/><child link="l3"/></joint>
  <transmission name="pan_drive">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="pan"><offset>0.25</offset>
      <hardwareInterface>PositionJointInterface</hardwareInterface></joint>
    <actuator name="m1"><mechanicalReduction>101</mechanicalReduction></actuator>
  </transmission>
  <transmission name="wrist">
    <type>transmission_interface/DifferentialTransmission</type>
    <actuator name="m2"><role>actuator1</role>
      <mechanicalReduction>48</mechanicalReduction></actuator>
    <actuator name="m3"><role>actuator2</role>
      <mechanicalReduction>-50</mechanicalReduction></actuator>
    <joint name="pitch"><role>joint1</role><offset>0.1</offset>
      <hardwareInterface>PositionJointInterface</hardwareInterface></joint>
    <joint name="roll"><role>joint2</role><offset>-0.2</offset>
      <hardwareInterface>PositionJointInterface</hardwareInterface></joint>
  </transmission>
</robot>
"""
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
    """
    Write a bag with rosbags.

    :param topics: By name: the type, and a list of times and messages.
    """
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
            connection.topic: (
                connection.msgtype,
                connection.msgdef,
                connection.digest,
                connection.ext,
                connection.msgcount,
            )
            for connection in reader.connections
        }
        messages = [(c.topic, time, bytes(data)) for c, time, data in reader.messages()]
    return SimpleNamespace(connections=connections, messages=messages)


def live(messages, numbers=None, **choices):
    """
    Return what the live bridge publishes for what its drivers sent, times kept.

    :param numbers: Tuned numbers of the transmissions.
    :param choices: Those of the state path.
    """
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


@pytest.fixture(scope='session')
def bags():
    """Return what this module knows of bags."""
    return SimpleNamespace(
        URDF=URDF,
        MOTORS=MOTORS,
        START=START,
        STORE=STORE,
        QOS=QOS,
        STRING=STRING,
        JOINT_STATE=JOINT_STATE,
        states=states,
        text_message=text_message,
        write=write,
        read=read,
        live=live,
    )


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
