# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets for which present positions have wanted values."""

from __future__ import annotations

from transmission_bridge.bridge.zeroing.zeroing import (
    check_at_rest as check_at_rest,
    compute_absolute_targets as compute_absolute_targets,
    compute_zero_offsets as compute_zero_offsets,
    list_settled_joints as list_settled_joints,
    list_wanted_positions as list_wanted_positions,
    list_zeroable_joints as list_zeroable_joints,
    MAX_AGE as MAX_AGE,
)
