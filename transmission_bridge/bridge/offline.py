# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recorded JointState messages through the bridge, many at a time.

A message goes through the path of the live bridge. Those that follow it and differ from it in
stamp and numbers only are then mapped together, by the same operations in the same order, so that
the result is that of the live bridge to the last bit. As soon as anything else differs (names,
lengths, frame, which numbers are known) the next message goes through the live path again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.bridge.offline_form import InputForm, OutputForm, stamp_keys
from transmission_bridge.bridge.offline_paths import OfflinePath
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.stamps import is_possible, Stamp
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr_parser import UnusualMessageError
from transmission_bridge.messages.cdr_reader import JointStateReader
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import Direction

__all__ = ['OfflineConverter']

#: Messages mapped together: few at first, as the second may differ already, then ever more.
FEWEST, MOST = 16, 1024
#: After how many messages at most it is tried again whether they go together.
LONGEST_WAIT = 255

_BILLION = 10**9


class OfflineConverter:
    """
    Converts the messages of one bridge, of one or several drivers, in the order of receipt.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param read_unusual: Decodes what the fast reader leaves alone (big endian, for example);
        raises :class:`MessageError` if it cannot.
    :param options: The choices of the bridge, see :class:`OfflinePath`; by default its defaults.
    :param driver: Topic of the driver whose actuators come out of joint states.
    :raises TransmissionBridgeError: If a choice does not fit the robot.
    :ivar refused: Messages that could not be used, by source and reason.
    :ivar sentences: What the first of them was refused for, likewise.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        read_unusual: Callable[[bytes], JointStateRecord],
        options: BridgeOptions | None = None,
        driver: str = '',
    ) -> None:
        self._path = OfflinePath(robot, direction, options or BridgeOptions(), driver)
        self._read_unusual = read_unusual
        self._reader = JointStateReader()
        self._encoder = JointStateEncoder()
        self._stamps: dict[str, Stamp] = {}
        self._last: tuple[Layout, JointStateRecord] | None = None
        self._wait = self._skip = 0
        self.refused: Counter[tuple[str, str]] = Counter()
        self.sentences: dict[tuple[str, str], str] = {}

    @property
    def path(self) -> OfflinePath:
        """The path, with what it noticed."""
        return self._path

    def convert(
        self, source: str, messages: Sequence[bytes], received: Sequence[int]
    ) -> list[bytes | None]:
        """
        Convert consecutive messages of one driver.

        :param source: The driver, for example its topic.
        :param messages: Serialised messages.
        :param received: When each was received [ns]; the stamp of those that have none.
        :returns: For each message the one that the bridge sends for it, ``None`` where it sends
            none.
        """
        converted: list[bytes | None] = []
        while (start := len(converted)) < len(messages):
            first = self._one(source, messages[start], received[start])
            converted.append(first)
            if first is None or not self._path.can_batch or not self._is_worth_trying():
                continue
            self._follow(source, first, messages, received, converted)
        return converted

    def _is_worth_trying(self) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        return True

    def _follow(
        self,
        source: str,
        first: bytes,
        messages: Sequence[bytes],
        received: Sequence[int],
        converted: list[bytes | None],
    ) -> None:
        """Append what goes together with the last message converted."""
        window, begin = FEWEST, len(converted)
        while len(converted) < len(messages):
            last = len(converted) - 1
            part = slice(last, last + 1 + window)
            more = self._together(source, first, messages[part], received[part])
            converted += more
            if len(more) < min(window, len(messages) - last - 1):
                break
            window = min(2 * window, MOST)
        self._wait = 0 if len(converted) > begin else min(2 * self._wait + 1, LONGEST_WAIT)
        self._skip = self._wait

    # -- one by one ------------------------------------------------------------------------------

    def _one(self, source: str, message: bytes, received: int) -> bytes | None:
        """Do what the live bridge does with a message."""
        try:
            layout, data = self._read(message)
            self._take(source, layout, data, received)
            record = self._path.state()
            if record is None:
                return None
            self._last = layout, record
            return self._encoder.encode(record)
        except MessageError as error:
            key = (source, error.reason)
            self.refused[key] += 1
            self.sentences.setdefault(key, str(error))
            return None

    def _read(self, message: bytes) -> tuple[Layout, JointStateData]:
        try:
            view = self._reader.read(message)
        except UnusualMessageError:
            record = self._read_unusual(message)
            return self._reader.layouts.get(record.names, record.lengths), record
        return view.layout, view

    def _take(self, source: str, layout: Layout, data: JointStateData, received: int) -> None:
        is_given = data.stamp != (0, 0) and is_possible(data.stamp)
        stamp = data.stamp if is_given else divmod(received, _BILLION)
        self._path.update(source, layout, data, stamp)
        self._stamps[source] = stamp

    # -- many together ---------------------------------------------------------------------------

    def _together(
        self, source: str, first: bytes, messages: Sequence[bytes], received: Sequence[int]
    ) -> list[bytes]:
        """
        Convert messages that go together with the first of them, which is converted already.

        :param first: What the first was converted to.
        :returns: The results behind the first, up to the message that does not go with it.
        """
        assert self._last is not None
        layout, record = self._last
        plan = self._path.places(source, layout)
        try:
            form = InputForm(messages[0])
        except UnusualMessageError:
            return []
        block = form.leading(messages)
        if len(block) < 2:
            return []
        values = np.repeat(self._path.merged.values(0.0)[np.newaxis], len(block), axis=0)
        form.scatter(block, values, plan)
        np.copyto(values, np.nan, where=np.isinf(values))
        mapped, known = self._path.map_batch(values)
        others = (stamp for other, stamp in self._stamps.items() if other != source)
        keys = stamp_keys(block, received[: len(block)], max(others, default=None))
        result = OutputForm(first, record, self._path.names).messages(mapped, known, keys)
        if len(result) > 1:
            last = len(result) - 1
            layout, data = self._read(messages[last])
            self._take(source, layout, data, received[last])
        return result[1:]
