# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator commands as messages that hold nothing but commands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.merged_states import Stamp
from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['actuator_messages']

Mask = npt.NDArray[np.bool_]


def actuator_messages(
    names: tuple[str, ...], sent: Array, stamp: Stamp, *, merged: bool
) -> list[JointStateRecord]:
    """
    Return messages that name only actuators with a command.

    An interface that a message does not command is an empty array.

    :param names: The actuators.
    :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, NaN: no command.
    :param merged: Whether actuators commanded in different modes share one message, with NaN
        where one has no command, instead of one message per interface.
    """
    given: Mask = ~np.isnan(sent)
    commanded: Mask = np.any(given, axis=0)
    fields: Mask = np.any(given, axis=1)
    if not commanded.any():
        return []
    modes = given[:, commanded]
    if merged or (modes == modes[:, :1]).all():
        return [_message(names, sent, commanded, fields, stamp)]
    return [
        _message(names, sent, given[row], np.arange(len(FIELDS)) == row, stamp)
        for row in np.flatnonzero(fields)
    ]


def _message(
    names: tuple[str, ...], sent: Array, actuators: Mask, fields: Mask, stamp: Stamp
) -> JointStateRecord:
    position, velocity, effort = (
        sent[row][actuators] if fields[row] else np.empty(0) for row in range(len(FIELDS))
    )
    return JointStateRecord(
        stamp,
        '',
        tuple(names[place] for place in np.flatnonzero(actuators)),
        position,
        velocity,
        effort,
    )
