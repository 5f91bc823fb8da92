# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Status bits of compiled mechanisms: reasons for a missing result, with their report names."""

from __future__ import annotations

#: No position is found; for ``SINGULAR``, a velocity or an effort is unknown.
OUT_OF_DOMAIN, NO_CONVERGENCE, OTHER_BRANCH, SINGULAR = 1, 2, 4, 8

#: Names of the bits in a report.
REASONS = {
    OUT_OF_DOMAIN: 'domain',
    NO_CONVERGENCE: 'no_convergence',
    OTHER_BRANCH: 'branch',
    SINGULAR: 'singular',
}
