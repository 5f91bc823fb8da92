# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Throttle log lines that could come with every message.

All modules of this room log by it what others can cause again and again, in the thread of the
executor; :func:`log_node_text` alone is also called in the threads of drivers. Texts may change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partialmethod
import math
import time
import traceback

from rclpy.node import Node

from transmission_bridge.errors import clipped, indented, MessageError

#: Maximum number of remembered kinds: a hostile sender must not make the memory grow.
_KINDS = 256

#: Maximum number of subjects of one kind in a period.
_SUBJECTS = 8


def log_node_text(node: Node, severity: str, text: str, more: str = '') -> None:
    """Log a text of limited length, and more, as ``error``, ``warning`` or ``info``."""
    text, logger = indented(clipped(text)) + more, node.get_logger()
    # Each severity has a line of its own: rclpy allows one severity per line of code.
    if severity == 'error':
        logger.error(text)
    elif severity == 'warning':
        logger.warning(text)
    else:
        logger.info(text)


#: Period of a kind [s] of the steady clock, because simulated time may stand still.
_PERIOD = 5.0

#: Time of an event that has not happened, and a count.
_NEVER = -math.inf, 0


class ThrottledLog:
    """
    Logs a kind of event at most once per period, with the number of suppressed lines.

    rclpy throttles by the line of code, so one bad topic would silence all others. A kind is a
    constant of the code, never text of a message. ``about`` may be a short text of a message, so
    that one mistake does not hide another until there are too many. The logged text is bounded.

    :param node: The node with the logger.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        # Start of the last period, and the number of lines held back since, or of subjects.
        self._kinds: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()
        self._subjects: dict[Hashable, tuple[float, int]] = {}

    def _log_event(self, severity: str, kind: Hashable, text: str, *, about: str = '') -> None:
        """
        Log an event unless one of its kind was logged lately.

        :param about: The subject, for a kind with different subjects; a kind that has many in a
            period is throttled as one.
        """
        now, key = time.monotonic(), (kind, about) if about else kind
        if about and now - self._kinds.get(key, _NEVER)[0] >= _PERIOD:
            begun, count = self._subjects.get(kind, _NEVER)
            if now - begun >= _PERIOD:
                begun, count = now, 0
            if count == _SUBJECTS:
                key = kind
            else:
                self._subjects[kind] = begun, count + 1
        since, held_back = self._kinds.get(key, _NEVER)
        if now - since < _PERIOD:
            self._kinds[key] = since, held_back + 1
            return
        self._kinds[key] = now, 0
        self._kinds.move_to_end(key)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        more = f' ({held_back} more of this kind since)' if held_back else ''
        log_node_text(self._node, severity, text, more)

    error = partialmethod(_log_event, 'error')
    warning = partialmethod(_log_event, 'warning')
    info = partialmethod(_log_event, 'info')

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
