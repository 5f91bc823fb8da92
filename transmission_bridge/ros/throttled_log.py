# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Log lines that would come with every message: each kind at most once per period."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
import time

from rclpy.node import Node

from transmission_bridge.errors import clipped, indented

__all__ = ['ThrottledLog']

#: Kinds remembered; a hostile sender must not be able to make this grow.
_KINDS = 256

#: Different things that a kind is about and that are logged each for itself in a period.
_SUBJECTS = 8


class ThrottledLog:
    """
    Logs a kind of event at most once per period, saying how often it was held back.

    rclpy throttles by the line of code, so that one bad topic would silence all others. Kinds are
    ours, of a few words: no text of a message may be one. What an event is about may come from a
    message, if it is short: one mistake does not hide another, until there are too many of them.
    The text logged is bounded.

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

        :param about: What the event is about, where the same kind can be about different things.
        """
        text = self._due(self._of_subject(kind, about) if about else kind, text)
        if text:
            self._logger.warning(text)

    def error(self, kind: Hashable, text: str) -> None:
        """Log an error."""
        text = self._due(kind, text)
        if text:
            self._logger.error(text)

    def _of_subject(self, kind: Hashable, about: str) -> Hashable:
        """Return what is throttled: the subject, or the kind where it has had many of late."""
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

    def _due(self, kind: Hashable, text: str) -> str:
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
