# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The codec against rclpy: its own serialisation, which is the oracle, and bytes over DDS."""

from types import SimpleNamespace
import warnings

from hypothesis import given, strategies as st
from joint_states import make_sample, plain, regular_samples, samples, writer_for
import pytest

from transmission_bridge.messages.cdr import (
    JointStateReader,
    TruncatedCdrError,
    UnusualCdrError,
)
from transmission_bridge.messages.records import fill_joint_state_message, record_from_joint_state

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def ros():
    """Return rclpy's JointState as ``Message``, with ``encode`` and ``decode``."""
    serialization = pytest.importorskip('rclpy.serialization', reason='rclpy is not installed')
    messages = pytest.importorskip('sensor_msgs.msg', reason='sensor_msgs is not installed')
    with warnings.catch_warnings():
        # The first use imports the type support, and with it modules that Python deprecates.
        warnings.simplefilter('ignore', DeprecationWarning)
        serialization.serialize_message(messages.JointState())
    return SimpleNamespace(
        Message=messages.JointState,
        encode=serialization.serialize_message,
        decode=lambda data: serialization.deserialize_message(data, messages.JointState),
    )


@pytest.mark.versions
@given(data=st.data())
def test_reads_what_rclpy_writes(ros, data):
    """Bytes serialised by rclpy are read as what was serialised, and fill a message again."""
    reader = JointStateReader()
    for sample in data.draw(st.lists(samples, min_size=1, max_size=4)) * 2:
        message, filled = ros.encode(sample.fill(ros.Message())), ros.Message()
        assert plain(reader.read_message(message)) == sample.plain
        fill_joint_state_message(filled, reader.read_message(message))
        for typed in (ros.decode(message), filled, ros.decode(ros.encode(filled))):
            assert plain(record_from_joint_state(typed)) == sample.plain


@given(data=st.data())
def test_writes_what_rclpy_writes(ros, data):
    """Written bytes equal rclpy's, except padding and bytes after the end, and are read by it."""
    sample = data.draw(regular_samples)
    written = writer_for(sample).write_message(sample.sec, sample.nanosec)
    theirs = ros.encode(sample.fill(ros.Message()))
    # What the padding does not change is no padding.
    zeros, ones = sample.encode(), sample.encode(lambda size: b'\xff' * size)
    assert len(written) == len(zeros) <= len(theirs)
    for ours, other, zero, one in zip(written, theirs, zeros, ones, strict=False):
        assert ours == (other if zero == one else 0)
    assert plain(record_from_joint_state(ros.decode(written))) == sample.plain


@given(data=st.data())
def test_mutated(ros, data):
    """Flipped, spliced or cut, it is read as rclpy reads it, or refused; by rclpy too if cut."""
    message, other = (data.draw(samples).encode() for _ in range(2))
    mutated = bytearray(message)
    for start in data.draw(st.lists(st.integers(0, len(message)), min_size=1, max_size=6)):
        source = data.draw(st.sampled_from([other, b'\xff' * len(message), bytes(len(message))]))
        piece = source[start : min(len(message), start + data.draw(st.integers(0, 4)))]
        mutated[start : start + len(piece)] = piece
    flip = data.draw(st.integers(1, 255))
    warm = JointStateReader()
    for at in data.draw(st.lists(st.integers(0, len(message) - 1), min_size=5, max_size=25)):
        flipped = message[:at] + bytes([message[at] ^ flip]) + message[at + 1 :]
        for each in (flipped, bytes(mutated), message[:at]):
            warm.read_message(message)
            try:
                view = JointStateReader().read_message(each)
            except UnusualCdrError as error:
                with pytest.raises(type(error)):
                    warm.read_message(each)
                if isinstance(error, TruncatedCdrError):
                    with pytest.raises(Exception, match='deserialize'):
                        ros.decode(each)
                continue
            typed = plain(record_from_joint_state(ros.decode(each)))
            assert plain(view) == plain(warm.read_message(each)) == typed


def test_typed_path_takes_the_rest(ros):
    """An unusual message is read by rclpy and gives an ordinary record."""
    sample = make_sample(['first', 'second'], frame_id='frame')
    message, xcdr2 = sample.encode(), sample.encode(widest=4)
    assert xcdr2[4:] != message[4:]
    inner_nul = message.replace(b'second\0', b'sec\0nd\0')
    for unusual, names in ((xcdr2, ('first', 'second')), (inner_nul, ('first', 'sec'))):
        with pytest.raises(UnusualCdrError):
            JointStateReader().read_message(unusual)
        record = record_from_joint_state(ros.decode(unusual))
        assert (record.names, plain(record)[3]) == (names, sample.plain[3])
