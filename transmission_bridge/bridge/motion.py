# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The numbers of one message on their way to the drivers, and the form of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from transmission_bridge.errors import shortened
from transmission_bridge.messages.trajectory import TrajectoryRecord
from transmission_bridge.types import Array, Mask

if TYPE_CHECKING:
    from transmission_bridge.bridge.ledger import Ledger
    from transmission_bridge.bridge.plan import Pattern, Plan
    from transmission_bridge.bridge.states import KnownState

#: Kinds of motions: rules depend on the kind, never on the number of waypoints.
COMMAND, TRAJECTORY, END = 'command', 'trajectory', 'end'

#: Rows of a motion; commands and ends have the first three.
POSITION, VELOCITY, EFFORT, ACCELERATION = range(4)

#: The arrays of a waypoint in this order.
ARRAYS = ('positions', 'velocities', 'effort', 'accelerations')

#: Largest absolute and relative rounding error of a mapped value.
ROUNDING = 1e-9


@dataclass(slots=True, eq=False)
class Motion:
    """
    The numbers of one message; rules change them in place.

    Rows are position, velocity, effort and, in a trajectory, acceleration; NaN: no command.

    :param route: Topic of the message.
    :param pattern: Structure of the message; another one after joints were rejected alone.
    :param values: Numbers of the joints, shape ``(3, n_joints)``, in a trajectory ``(4, n_points,
        n_joints)``.
    :param sent: Numbers of the actuators in SI, rows as ``values``; the map sets them.
    :param record: The trajectory.
    :param start: Time at which the trajectory starts [s].
    :param due: Mask of the joints with commands that end.
    :param over: Mask of the joints with rates that end after a rejection; ``None``: no end is due.
    :param changes: Count of :class:`CommandCounts` and its key for each change.
    :param shares: Remaining share of the effort of joints.
    :param speeds: Rows of :attr:`Ledger.speeds` after it; ``None``: not recorded.
    """

    route: str
    pattern: Pattern
    values: Array
    sent: Array
    record: TrajectoryRecord | None = None
    start: float = 0.0
    due: Mask | None = None
    over: Mask | None = None
    changes: set[tuple[str, str]] = field(default_factory=set)
    shares: dict[str, float] = field(default_factory=dict)
    speeds: Array | None = None


class Verdict(NamedTuple):
    """
    What a rule did with a motion: it changed numbers, or rejects it.

    :param reason: Reason of the rejection; empty: none.
    :param sentence: Place, expectation and finding.
    :param joints: Mask of the joints that cause a rejection, if it may concern them alone.
    :param ends: Mask of the joints with rates that end; ``None``: no end is due.
    :param changes: Count of :class:`CommandCounts`, and the joints.
    :param shares: Remaining share of the effort of joints.
    """

    reason: str = ''
    sentence: str = ''
    joints: Mask | None = None
    ends: Mask | None = None
    changes: Sequence[tuple[str, Sequence[str]]] = ()
    shares: dict[str, float] = {}


class Rule:
    """A rule for the motions of one pattern; it ignores NaN, as of joints rejected before."""

    @classmethod
    def make(cls, plan: Plan, pattern: Pattern) -> Iterator[Rule]:
        """Yield the rules that a pattern needs."""
        raise NotImplementedError

    def apply(self, motion: Motion, known: KnownState, ledger: Ledger) -> Verdict | None:
        """Change a motion in place; return what was done, ``None``: nothing."""
        raise NotImplementedError


def list_names(names: tuple[str, ...], mask: Mask) -> tuple[str, ...]:
    """Return the names in a mask, shape ``(..., n)``."""
    some = mask.reshape(-1, mask.shape[-1]).any(axis=0)
    return tuple(names[place] for place in np.flatnonzero(some))


def find_beyond(values: Array, lower: Array, upper: Array) -> Mask:
    """Return the mask of the numbers outside by more than rounding; NaN is not outside."""
    below = values < lower - ROUNDING * (1.0 + np.abs(lower))
    above: Mask = values > upper + ROUNDING * (1.0 + np.abs(upper))
    return below | above


def describe_outside(
    names: Sequence[str],
    values: Array,
    outside: Mask,
    lower: Array,
    upper: Array,
    units: Sequence[str] = (),
) -> str:
    """Return sentences about the numbers outside their bounds; units start with a space."""
    lower, upper = np.broadcast_to(lower, values.shape), np.broadcast_to(upper, values.shape)
    sentences = [
        f'{names[index[-1]]}: {values[index]:g} is not in [{lower[index]:g}, {upper[index]:g}]'
        f'{units[index[-1]] if units else ""}'
        for index in map(tuple, np.argwhere(outside))
    ]
    return shortened(sentences, show=str)
