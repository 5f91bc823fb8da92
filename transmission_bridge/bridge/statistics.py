# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What came in on a topic: how many messages, when, and why some were refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import math

__all__ = ['CommandCounts', 'TopicStatistics']


class TopicStatistics:
    """
    Counts of one input topic since the node was configured.

    :param topic: Name of the topic, as the user gave it.
    :ivar received: Messages taken from the middleware while active.
    :ivar rejected: Messages refused, by reason; each was dropped as a whole.
    :ivar replaced_stamps: Stamps that the time of receipt replaced, by reason (``bad_stamp``,
        ``future_stamp``); their messages are used like others.
    :ivar heard: Time of receipt of the newest message since the node was activated [s], minus
        infinity before the first.
    :ivar used: The same of the newest message that was accepted.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.received = 0
        self.rejected: Counter[str] = Counter()
        self.replaced_stamps: Counter[str] = Counter()
        self.heard = -math.inf
        self.used = -math.inf

    @property
    def accepted(self) -> int:
        """Messages that were used."""
        return self.received - sum(self.rejected.values())

    def is_trouble(self, reason: str) -> bool:
        """
        Tell whether somebody should look why messages are refused.

        Messages about others are no trouble, as robots and grippers may share a topic, unless
        they are all that ever came.
        """
        return reason != 'foreign' or self.used == -math.inf


@dataclass(frozen=True, slots=True)
class CommandCounts:
    """
    What became of the commands of one source, each by joint.

    :param clamped: Commands that were brought inside the limits.
    :param limited: Commands refused because of the limits.
    :param contested: Commands to a joint that another source had commanded before.
    """

    clamped: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    contested: Counter[str] = field(default_factory=Counter)
