# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Status bits of compiled mechanisms: reasons for a missing result, with their report names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.report import MapReport

#: No position is found; for ``SINGULAR``, a velocity or an effort is unknown.
OUT_OF_DOMAIN, NO_CONVERGENCE, OTHER_BRANCH, SINGULAR = 1, 2, 4, 8

_REASONS = {
    OUT_OF_DOMAIN: 'domain',
    NO_CONVERGENCE: 'no_convergence',
    OTHER_BRANCH: 'branch',
    SINGULAR: 'singular',
}


def count_status(status: npt.ArrayLike, report: MapReport) -> None:
    """Count the reasons of one status or of many."""
    bits = np.asarray(status, dtype=np.intp)
    if bits.any():
        for bit, reason in _REASONS.items():
            report.count(reason, bits & bit != 0)
