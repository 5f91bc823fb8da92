# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state path with options as keywords."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.messages.joint_state import JointStateRecord


def record(names, position=(), velocity=(), effort=(), *, stamp=(1, 0)):
    """Return a message."""
    rows = (np.array(row, dtype=float) for row in (position, velocity, effort))
    return JointStateRecord(stamp, '', tuple(names), *rows)


def state_path(robot, *, stamp_hold=0.0, timeout=0.0, **options):
    """
    Return a state path.

    :param timeout: ``state_timeout``; here numbers stay known by default.
    :param options: Other options of the bridge; those that are pairs may be mappings.
    """
    for name in ('actuator_names', 'wrap_period'):
        if isinstance(entries := options.get(name), dict):
            options[name] = tuple(f'{key}={value}' for key, value in entries.items())
    return StatePath(robot, BridgeOptions(state_timeout=timeout, **options), stamp_hold=stamp_hold)
