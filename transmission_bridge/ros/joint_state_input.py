# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Received JointState bytes to arrays, by the fast path or, if need be, by rclpy's own."""

from __future__ import annotations

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr_parser import UnusualMessageError
from transmission_bridge.messages.cdr_reader import JointStateReader
from transmission_bridge.messages.joint_state import JointStateData, record_from_message
from transmission_bridge.messages.layout import Layout

__all__ = ['JointStateInput']


class JointStateInput:
    """Reads the messages of one topic."""

    def __init__(self) -> None:
        self._reader = JointStateReader()

    def read(self, data: bytes) -> tuple[Layout, JointStateData]:
        """
        Return layout and contents of a message, valid until the next call.

        :raises MessageError: If it cannot be decoded at all (``undecodable``).
        """
        try:
            view = self._reader.read(data)
        except UnusualMessageError:
            return self._read_typed(data)
        return view.layout, view

    def _read_typed(self, data: bytes) -> tuple[Layout, JointStateData]:
        try:
            record = record_from_message(deserialize_message(data, JointState))
        except Exception as error:  # rclpy raises whatever its C extension says
            raise MessageError('undecodable', f'the message cannot be decoded: {error}') from error
        return self._reader.layouts.get(record.names, record.lengths), record
