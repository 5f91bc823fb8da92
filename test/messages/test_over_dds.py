# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Real bytes: a raw subscription and a raw publisher over DDS."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest

from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter
from transmission_bridge.messages.joint_state import fill_message, record_from_message

pytestmark = [pytest.mark.ros, pytest.mark.versions]

SECONDS = 20.0


@pytest.fixture
def node(ros, monkeypatch):
    """Node in a domain of its own with ``spin_until(condition)``, bounded in time."""
    rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
    from rclpy.executors import SingleThreadedExecutor

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=1 + os.getpid() % 100)
    executor = SingleThreadedExecutor(context=context)
    node = rclpy.create_node('codec_test', context=context)
    executor.add_node(node)

    def spin_until(condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, 'nothing arrived in time'
            executor.spin_once(timeout_sec=0.05)

    yield SimpleNamespace(
        subscribe=node.create_subscription,
        publisher=node.create_publisher,
        spin_until=spin_until,
    )
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_raw_subscription(ros, node, make_sample, plain):
    """A raw subscription's bytes, of two alternating publishers, read as the typed ones do."""
    samples = [
        make_sample(['left', 'right_wheel', 'π'], frame_id='base'),
        make_sample(['a', 'bc', 'def', 'ghij'], frame_id='', fields=(True, False, True)),
    ]
    raw, typed = [], []
    node.subscribe(ros.Message, 'states', raw.append, 10, raw=True)
    node.subscribe(ros.Message, 'states', typed.append, 10)
    publisher = node.publisher(ros.Message, 'states', 10)
    node.spin_until(lambda: publisher.get_subscription_count() == 2)
    for count in range(1, 9):
        publisher.publish(samples[count % 2].fill(ros.Message()))
        node.spin_until(lambda: len(raw) == len(typed) == count)

    reader = JointStateReader()
    for count, (data, message) in enumerate(zip(raw, typed, strict=True), start=1):
        view = reader.read_message(data)
        assert plain(view) == samples[count % 2].plain
        assert plain(view) == plain(record_from_message(message))


def test_raw_publisher(ros, node, plain):
    """Written bytes arrive at a typed subscription as what was written."""
    received = []
    node.subscribe(ros.Message, 'states', received.append, 10)
    publisher = node.publisher(ros.Message, 'states', 10)
    node.spin_until(lambda: publisher.get_subscription_count() == 1)
    writer = JointStateWriter(['left', 'right_wheel', 'π'], 'base', (True, False, True))
    empty = JointStateWriter([])
    for sec in range(4):
        writer.position[:] = sec, float('nan'), -0.0
        writer.effort[:] = float('inf'), sec, 1e-310
        for data in (writer.write_message(sec, 2**32 - 1), empty.write_message(-sec, 0)):
            expected = ros.Message()
            fill_message(expected, JointStateReader().read_message(data))
            publisher.publish(data)
            node.spin_until(lambda: received)
            assert plain(record_from_message(received.pop())) == plain(
                record_from_message(expected)
            )
