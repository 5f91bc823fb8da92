# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which mapped samples became NaN, and why."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

#: No position is found; for ``SINGULAR``, a velocity or an effort is unknown.
OUT_OF_DOMAIN, NO_CONVERGENCE, OTHER_BRANCH, SINGULAR = 1, 2, 4, 8

#: Names of the bits in a report.
REASONS = {
    OUT_OF_DOMAIN: 'domain',
    NO_CONVERGENCE: 'no_convergence',
    OTHER_BRANCH: 'branch',
    SINGULAR: 'singular',
}


class MapReport:
    """
    Collects failures of maps; the maps themselves keep no state.

    :ivar counts: Samples that became NaN, by ``(transmission, reason)``. Reasons are ``domain``,
    ``singular``, ``no_convergence`` and ``branch``. A transmission outside a robot has the name
    ``''``.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._name = ''

    def for_transmission(self, transmission: str) -> MapReport:
        """Return a view of the report that counts for one transmission."""
        part = MapReport()
        part.counts, part._name = self.counts, transmission
        return part

    def count(self, status: npt.ArrayLike) -> None:
        """Count the reasons in the status bits of one sample or of many."""
        bits = np.asarray(status, dtype=np.intp)
        for bit, reason in REASONS.items():
            if lost := int(np.count_nonzero(bits & bit)):
                self.counts[self._name, reason] += lost
