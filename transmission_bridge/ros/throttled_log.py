# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A log for lines that could come with every message: each kind at most once per period."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
import time

from rclpy.node import Node

from transmission_bridge.errors import clipped, indented

#: Kinds that are remembered: a hostile sender must not make the memory grow.
_KINDS = 256

#: Subjects of one kind that are logged separately in a period.
_SUBJECTS = 8


class ThrottledLog:
    """
    Logs a kind of event at most once per period, with the number of times it was held back.

    rclpy throttles by the line of code, so that one bad topic would silence all others. A kind is
    a few words of the code, never text of a message. ``about`` may be a short text of a message:
    one mistake then does not hide another, until there are too many. The logged text is bounded.

    :param node: The node whose logger is used.
    :param period: Seconds, by the steady clock: simulated time may stand still.
    """

    def __init__(self, node: Node, period: float = 5.0) -> None:
        self._logger = node.get_logger()
        self._period = period
        self._kinds: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()
        self._subjects: dict[Hashable, tuple[float, int]] = {}

    def warning(self, kind: Hashable, text: str, *, about: str = '') -> None:
        """
        Log a warning.

        :param about: What the event concerns, for a kind that can concern different things.
        """
        # One line each: rclpy allows one severity per line of code.
        if text := self._throttle_text(self._choose_key(kind, about) if about else kind, text):
            self._logger.warning(text)

    def info(self, kind: Hashable, text: str) -> None:
        """Log a piece of information."""
        if text := self._throttle_text(kind, text):
            self._logger.info(text)

    def error(self, kind: Hashable, text: str) -> None:
        """Log an error."""
        if text := self._throttle_text(kind, text):
            self._logger.error(text)

    def _choose_key(self, kind: Hashable, about: str) -> Hashable:
        """Return what to throttle: the subject, or the kind if it had many subjects lately."""
        subject = (kind, about)
        now = time.monotonic()
        since = self._kinds.get(subject, (-self._period, 0))[0]
        if now - since < self._period:
            return subject
        begun, count = self._subjects.get(kind, (-self._period, 0))
        if now - begun >= self._period:
            begun, count = now, 0
        if count == _SUBJECTS:
            return kind
        self._subjects[kind] = begun, count + 1
        return subject

    def _throttle_text(self, kind: Hashable, text: str) -> str:
        now = time.monotonic()
        since, held_back = self._kinds.get(kind, (-self._period, 0))
        if now - since < self._period and kind in self._kinds:
            self._kinds[kind] = since, held_back + 1
            return ''
        self._kinds[kind] = now, 0
        self._kinds.move_to_end(kind)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        return indented(clipped(text)) + (
            f' ({held_back} more of this kind since)' if held_back else ''
        )
