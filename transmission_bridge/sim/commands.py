# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From an ``actuator_commands`` message to one mode and one target per actuator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateData
from transmission_bridge.messages.layout import ragged
from transmission_bridge.sim.modes import Mode

__all__ = ['Command', 'read_command']


@dataclass(frozen=True, eq=False)
class Command:
    """
    What each actuator of a drive is told, in the order of its names.

    :param mode: Values of :class:`Mode`, shape ``(n,)``; ``NONE``: no command for this one.
    :param target: Shape ``(n,)``, [rad or m], [rad/s or m/s] or [N m or N] by mode; meaningless
        where the mode is ``NONE``.
    :param unknown: Names in the message that the drive does not have.
    """

    mode: NDArray[np.int8]
    target: NDArray[np.float64]
    unknown: tuple[str, ...] = ()


def read_command(message: JointStateData, names: Sequence[str]) -> Command:
    """
    Read a command message for the actuators ``names``.

    An empty array is an interface that is not commanded, a value that is not finite is no command
    for that actuator. Of several finite values the first of position, velocity, effort decides.

    :param message: Any subset of actuators, in any order; may name actuators of other drives.
    :param names: The drive's actuators, distinct.
    :raises MessageError: ``ragged`` if an array is neither empty nor as long as the names,
        ``duplicate_name`` if a name stands twice. Nothing of such a message is used.
    """
    given = tuple(message.names)
    if len(set(given)) != len(given):
        twice = sorted({name for name in given if given.count(name) > 1})
        raise MessageError('duplicate_name', f'named more than once: {", ".join(twice)}')
    fields = {
        Mode.POSITION: message.position,
        Mode.VELOCITY: message.velocity,
        Mode.EFFORT: message.effort,
    }
    lengths = {mode.name.lower(): len(values) for mode, values in fields.items()}
    if not {0, len(given)}.issuperset(lengths.values()):
        raise ragged(given, lengths)
    place_of = {name: place for place, name in enumerate(names)}
    known = [place for place, name in enumerate(given) if name in place_of]
    places = [place_of[given[place]] for place in known]
    modes = np.full(len(names), Mode.NONE, dtype=np.int8)
    targets = np.full(len(names), np.nan)
    # The field that takes precedence is written last.
    for mode in sorted(fields, reverse=True):
        if len(fields[mode]):
            values = np.full(len(names), np.nan)
            values[places] = np.asarray(fields[mode], dtype=np.float64)[known]
            finite = np.isfinite(values)
            modes[finite] = mode
            targets[finite] = values[finite]
    return Command(modes, targets, tuple(name for name in given if name not in place_of))
