# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The form of a rule, and what rules have in common.

The gate alone decides about verdicts. A plan keeps rules, so a rule keeps nothing of a motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import Motion, Pattern
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import shortened
from transmission_bridge.types import Array, Mask

#: Largest absolute and relative rounding error of a mapped value.
ROUNDING = 1e-9


class RuleVerdict(NamedTuple):
    """
    What a rule did with a motion: it changed numbers, or rejects it.

    :param reason: Reason of the rejection, a key of diagnostics that users rely on; empty: none.
    :param sentence: Place, expectation and finding.
    :param joints: Mask of the joints that cause a rejection, if it may concern them alone.
    :param expiring: Mask of the joints with rates that expire; ``None``: none.
    :param changes: Names of fields of :class:`CommandCounts`, each with the joints to count.
    :param shares: Remaining share of the effort of joints.
    """

    reason: str = ''
    sentence: str = ''
    joints: Mask | None = None
    expiring: Mask | None = None
    changes: Sequence[tuple[str, Sequence[str]]] = ()
    shares: dict[str, float] = {}


class Rule:
    """
    A rule for the motions of one pattern; it ignores NaN, as of joints rejected before.

    A plan calls :meth:`make` of each class in the order of ``RULES``.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield the rules that a pattern needs."""
        raise NotImplementedError

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """
        Change a motion in place; return what was done, ``None``: nothing.

        :param motion: With the changes of the rules before.
        :param state: What is known now.
        :param ledger: The active commands before this motion, only to read.
        """
        raise NotImplementedError


def list_masked(names: tuple[str, ...], mask: Mask) -> tuple[str, ...]:
    """Return the names in a mask, shape ``(..., n)``."""
    some = mask.any(axis=tuple(range(mask.ndim - 1)))
    return tuple(names[member] for member in np.flatnonzero(some))


def mask_beyond_limits(values: Array, lower: Array, upper: Array) -> Mask:
    """Return the mask of the numbers outside by more than rounding; NaN is not outside."""
    below = values < lower - ROUNDING * (1.0 + np.abs(lower))
    above: Mask = values > upper + ROUNDING * (1.0 + np.abs(upper))
    return below | above


def describe_limit_violations(
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
