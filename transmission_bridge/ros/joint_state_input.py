# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Received bytes to messages; JointState by the fast path or, if need be, by rclpy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr_parser import CutMessageError, UnusualMessageError
from transmission_bridge.messages.cdr_reader import JointStateReader
from transmission_bridge.messages.joint_state import JointStateData, record_from_message
from transmission_bridge.messages.layout import Layout

__all__ = ['JointStateInput', 'deserialized']


def deserialized(data: bytes, message_type: type) -> Any:
    """
    Return the typed message of received bytes.

    :raises MessageError: If they cannot be decoded (``undecodable``).
    """
    try:
        return deserialize_message(data, message_type)
    except Exception as error:  # rclpy raises whatever its C extension says
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from error


class JointStateInput:
    """
    Reads the messages of one topic.

    :param take: Called with layout, contents, which are valid during the call, and time of
        receipt; may raise :class:`MessageError`.
    """

    def __init__(self, take: Callable[[Layout, JointStateData, float], None]) -> None:
        self._take = take
        self._reader = JointStateReader()

    def __call__(self, data: bytes, now: float) -> None:
        """
        Pass a message on.

        :param now: Time of receipt.
        :raises MessageError: If it cannot be decoded at all (``undecodable``), or ``take`` raises.
        """
        try:
            view = self._reader.read(data)
        except CutMessageError as error:
            # rclpy could not read it either, and its type support would complain on stderr.
            raise MessageError('undecodable', f'the message is cut: {error}') from error
        except UnusualMessageError:
            self._take(*self._read_typed(data), now)
            return
        self._take(view.layout, view, now)

    def _read_typed(self, data: bytes) -> tuple[Layout, JointStateData]:
        record = record_from_message(deserialized(data, JointState))
        return self._reader.layouts.get(record.names, record.lengths), record
