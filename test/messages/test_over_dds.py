# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Real bytes: a raw subscription and a raw publisher over DDS."""

from __future__ import annotations

from joint_states import make_sample, plain
import pytest

from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter
from transmission_bridge.messages.joint_state import fill_message, record_from_message

pytestmark = [pytest.mark.ros, pytest.mark.versions]


def test_raw_subscription(ros, peer):
    """A raw subscription's bytes, of two alternating layouts, read as the typed ones do."""
    samples = [
        make_sample(['left', 'right_wheel', 'π'], frame_id='base'),
        make_sample(['a', 'bc', 'def', 'ghij'], frame_id='', fields=(True, False, True)),
    ]
    raw, typed = [], []
    peer.node.create_subscription(ros.Message, 'read', raw.append, 10, raw=True)
    peer.node.create_subscription(ros.Message, 'read', typed.append, 10)
    publisher = peer.publisher('read', readers=2)
    reader = JointStateReader()
    for count in range(1, 9):
        publisher.publish(samples[count % 2].fill(ros.Message()))
        peer.spin_until(lambda count=count: len(raw) == len(typed) == count)
        assert plain(reader.read_message(raw[-1])) == samples[count % 2].plain
        assert plain(record_from_message(typed[-1])) == samples[count % 2].plain


def test_raw_publisher(ros, peer):
    """Written bytes arrive at a typed subscription as what was written."""
    received = []
    peer.node.create_subscription(ros.Message, 'written', received.append, 10)
    publisher = peer.publisher('written')
    writer = JointStateWriter(['left', 'right_wheel', 'π'], 'base', (True, False, True))
    empty = JointStateWriter([])
    for sec in range(4):
        writer.position[:] = sec, float('nan'), -0.0
        writer.effort[:] = float('inf'), sec, 1e-310
        for data in (writer.write_message(sec, 2**32 - 1), empty.write_message(-sec, 0)):
            expected = ros.Message()
            fill_message(expected, JointStateReader().read_message(data))
            publisher.publish(data)
            peer.spin_until(lambda: received)
            found = plain(record_from_message(received.pop()))
            assert found == plain(record_from_message(expected))
