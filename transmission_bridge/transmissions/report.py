# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What became NaN while mapping, and why."""

from __future__ import annotations

from collections import Counter
import traceback

__all__ = ['MapReport']


class MapReport:
    """
    Collects what a stream wants to know of its maps; the maps themselves keep nothing.

    :ivar counts: Samples that became NaN, by ``(transmission, reason)``. Reasons are ``domain``,
        ``singular``, ``no_convergence``, ``branch`` and ``exception``.
    :ivar errors: Traceback of the newest exception of a plugin, by transmission.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.errors: dict[str, str] = {}

    def add_exception(self, transmission: str) -> None:
        """Count the exception that is being handled, and keep its traceback."""
        self.counts[transmission, 'exception'] += 1
        self.errors[transmission] = traceback.format_exc()

    def add(self, transmission: str, counts: Counter[str]) -> None:
        """Add the counts of one transmission."""
        for reason, count in counts.items():
            self.counts[transmission, reason] += count
