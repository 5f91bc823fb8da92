# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joint states without a bag's topic, and messages that the fast reader does not read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, record_from_message
from transmission_bridge.tools.bags.model import JOINT_STATE, Schema, Topic
from transmission_bridge.tools.cli import UsageError

__all__ = ['joint_state_topic', 'read_unusual']


def joint_state_topic(name: str) -> Topic:
    """
    Return a topic for joint states, with their definition if rosbags is installed.

    :param name: Name of the topic.
    """
    try:
        store = _type_store()
    except UsageError:
        return Topic(name, JOINT_STATE)
    definition, _ = store.generate_msgdef(JOINT_STATE, ros_version=2)
    return Topic(
        name,
        JOINT_STATE,
        type_hash=store.hash_rihs01(JOINT_STATE),
        schema=Schema(JOINT_STATE, 'ros2msg', definition.encode()),
    )


def read_unusual(data: bytes) -> JointStateRecord:
    """
    Return a joint state that needs a general decoder, such as a big-endian one.

    :raises MessageError: If it cannot be decoded at all (``undecodable``).
    :raises UsageError: If rosbags is not installed.
    """
    store = _type_store()
    try:
        return record_from_message(store.deserialize_cdr(data, JOINT_STATE))
    except Exception as error:  # it raises whatever a broken message leads to
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from None


@lru_cache(maxsize=1)
def _type_store() -> Any:
    try:
        from rosbags.typesys import get_typestore, Stores
    except ImportError:
        raise UsageError(
            "a message in an unusual form needs rosbags: pip install '.[bags]' in a checkout of "
            'transmission_bridge'
        ) from None
    return get_typestore(Stores.LATEST)
