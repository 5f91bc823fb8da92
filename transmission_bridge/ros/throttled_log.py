# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Throttle log lines that could come with every message."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
import time
import traceback

from rclpy.node import Node

from transmission_bridge.errors import clipped, indented, MessageError

#: Maximum number of remembered kinds: a hostile sender must not make the memory grow.
_KINDS = 256

#: Maximum number of subjects of one kind in a period.
_SUBJECTS = 8


def log_text(node: Node, severity: str, text: str) -> None:
    """Log a text of limited length as ``error``, ``warning`` or ``info``."""
    text, logger = indented(clipped(text)), node.get_logger()
    # Each severity has a line of its own: rclpy allows one severity per line of code.
    if severity == 'error':
        logger.error(text)
    elif severity == 'warning':
        logger.warning(text)
    else:
        logger.info(text)


#: Period of a kind [s] of the steady clock, because simulated time may stand still.
_PERIOD = 5.0


class ThrottledLog:
    """
    Logs a kind of event at most once per period, with the number of suppressed lines.

    rclpy throttles by the line of code, so one bad topic would silence all others. A kind is a
    constant of the code, never text of a message. ``about`` may be a short text of a message, so
    that one mistake does not hide another until there are too many. The logged text is bounded.

    :param node: The node with the logger.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._kinds: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()
        self._subjects: dict[Hashable, tuple[float, int]] = {}

    def warning(self, kind: Hashable, text: str, *, about: str = '') -> None:
        """Log a warning; ``about`` is the subject, for a kind with different subjects."""
        # Each severity has a line of its own: rclpy allows one severity per line of code.
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

    def guard(self, subject: str, action: Callable[[], object]) -> Callable[[], None]:
        """Return a function that does something, and logs its errors: none ends the executor."""

        def act_safely() -> None:
            try:
                action()
            except MessageError as error:
                self.warning((subject, error.reason), str(error))
            except Exception:
                self.error((subject, 'bug'), f'{subject}: bug\n{traceback.format_exc()}')

        return act_safely

    def _choose_key(self, kind: Hashable, about: str) -> Hashable:
        """Return the subject as the key to throttle, or the kind if it had many subjects."""
        subject = (kind, about)
        now = time.monotonic()
        since = self._kinds.get(subject, (-_PERIOD, 0))[0]
        if now - since < _PERIOD:
            return subject
        begun, count = self._subjects.get(kind, (-_PERIOD, 0))
        if now - begun >= _PERIOD:
            begun, count = now, 0
        if count == _SUBJECTS:
            return kind
        self._subjects[kind] = begun, count + 1
        return subject

    def _throttle_text(self, kind: Hashable, text: str) -> str:
        now = time.monotonic()
        since, held_back = self._kinds.get(kind, (-_PERIOD, 0))
        if now - since < _PERIOD and kind in self._kinds:
            self._kinds[kind] = since, held_back + 1
            return ''
        self._kinds[kind] = now, 0
        self._kinds.move_to_end(kind)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        return indented(clipped(text)) + (
            f' ({held_back} more of this kind since)' if held_back else ''
        )
