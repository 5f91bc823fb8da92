# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What came in on a topic: how many messages, and why some were refused."""

from __future__ import annotations

from collections import Counter

__all__ = ['TopicStatistics']


class TopicStatistics:
    """
    Counts of one input topic since the node was configured.

    :param topic: Name of the topic, as the user gave it.
    :ivar received: Messages taken from the middleware while active.
    :ivar rejected: Messages refused, by reason; each was dropped as a whole.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.received = 0
        self.rejected: Counter[str] = Counter()

    @property
    def accepted(self) -> int:
        """Messages that were used."""
        return self.received - sum(self.rejected.values())
