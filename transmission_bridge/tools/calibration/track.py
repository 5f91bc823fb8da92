# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Where one joint was moved to by hand: the farthest positions, and the approaches to its stops.

The farthest position towards a stop is never beyond it. It is taken as the stop if motions that
turned back by :data:`BACK` came near it, in the direction of the stop that the user was asked
for: where a hand turns back on its way to the other stop says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import NamedTuple

from transmission_bridge.types import Array

#: Names of the stops of a joint by side: against and along its positive direction.
SIDES = {-1: 'lower', 1: 'upper'}

#: Largest difference between stops and limits of a turning joint [rad], and of a sliding joint as
#: a share of the way between its limits. The offset is then within half of it.
TOLERANCE, SLIDING_TOLERANCE = math.radians(1.0), 0.01

#: Motion of a joint without limits instead of the way between them [rad or m].
TURN = 2.0 * math.pi

#: As shares of the way between the limits: a motion back that ends an approach to a stop, and how
#: far approaches to the same stop may be apart.
BACK, _NEAR = 0.1, 0.04


def compute_spread_factor(count: int) -> float:
    """Return how far the stop may be from the farthest approach, in spreads (95 %)."""
    return math.inf if count < 2 else 20.0 ** (1.0 / (count - 1)) - 1.0


@dataclass(frozen=True)
class Stop:
    """
    The farthest position towards a stop of a joint.

    :param actuators: Positions of the actuators there [rad or m at the motor].
    :param count: Number of approaches that came near it.
    :param spread: Distance of the nearest approach from it [rad or m at the joint].
    """

    actuators: Array
    count: int
    spread: float

    @property
    def uncertainty(self) -> float:
        """How far the stop may be beyond it [rad or m], with 95 % confidence."""
        return self.spread * compute_spread_factor(self.count) if self.count > 1 else math.inf


class Range(NamedTuple):
    """Position limits of a joint [rad or m], infinite if absent."""

    lower: float
    upper: float


@dataclass(eq=False)
class JointTrack:
    """
    The motion of one joint.

    :param name: The joint.
    :param limits: Its limits.
    :param turns: Whether it turns; otherwise it slides.
    :ivar sides: The stops that it is moved to, as the user says.
    :ivar asked: The side whose approaches count, 0 for none; ``None`` for both.
    :ivar last: The last position, up to a constant [rad or m].
    :ivar resolution: The smallest step, which is not below the encoder's resolution.
    """

    name: str
    limits: Range
    turns: bool
    sides: tuple[int, ...] = (-1, 1)
    asked: int | None = None
    last: float = math.nan
    resolution: float = math.inf
    #: By side, positive towards it: the farthest position with its actuators, the farthest one
    #: since the motion turned, and where approaches turned back.
    _farthest: dict[int, tuple[float, Array]] = field(default_factory=dict)
    _since_turn: dict[int, float] = field(default_factory=dict)
    _approaches: list[tuple[int, float]] = field(default_factory=list)
    _way = 0

    @property
    def span(self) -> float:
        """The way between the limits [rad or m]; a turn without limits."""
        way = self.limits.upper - self.limits.lower
        return way if math.isfinite(way) and way > 0.0 else TURN

    @property
    def middle(self) -> float:
        """The middle of the limits [rad or m]; zero without limits."""
        middle = 0.5 * (self.limits.lower + self.limits.upper)
        return middle if math.isfinite(middle) else 0.0

    @property
    def has_limits(self) -> bool:
        """Whether the description limits it on both sides."""
        return math.isfinite(self.limits.upper - self.limits.lower)

    @property
    def tolerance(self) -> float:
        """Largest accepted difference between the ways between stops and limits."""
        return TOLERANCE if self.turns else SLIDING_TOLERANCE * self.span

    def forget(self) -> None:
        """Forget all motion."""
        self._farthest, self._since_turn, self._approaches, self._way = {}, {}, [], 0

    def add_reading(self, position: float, actuators: Array) -> None:
        """Store a position of the joint, up to a constant, and of the actuators."""
        if position != self.last and not math.isnan(self.last):
            self.resolution = min(self.resolution, abs(position - self.last))
        self.last = position
        for side in SIDES:
            here = side * position
            if side not in self._farthest or here > self._farthest[side][0]:
                self._farthest[side] = here, actuators
            self._since_turn[side] = max(here, self._since_turn.get(side, here))
        for side in SIDES:
            way_back = self._since_turn[side] - side * position
            if way_back > BACK * self.span and self._way != -side:
                if self._way and self.asked in (None, side):  # where a motion begins is no stop
                    self._approaches.append((side, self._since_turn[side]))
                self._way = -side
                self._since_turn = {each: each * position for each in SIDES}

    def find_stop(self, side: int) -> Stop | None:
        """Return the stop at the lower (-1) or the upper (1) side, ``None`` before an approach."""
        if not self._farthest:
            return None
        farthest, actuators = self._farthest[side]
        missed = [farthest - reached for towards, reached in self._approaches if towards == side]
        near = [way for way in missed if way <= _NEAR * self.span]
        return Stop(actuators, len(near), max(near)) if near else None

    def count_approaches(self, side: int) -> int:
        """Return how many approaches came near the farthest position of a side."""
        stop = self.find_stop(side)
        return 0 if stop is None else stop.count

    @property
    def seen(self) -> tuple[float, float]:
        """Lowest and highest position, up to a constant [rad or m]; NaN: none."""
        if not self._farthest:
            return math.nan, math.nan
        return -self._farthest[-1][0], self._farthest[1][0]

    def format_way(self, way: float) -> str:
        """Return a distance in degrees or millimetres."""
        return f'{math.degrees(way):.1f} deg' if self.turns else f'{1e3 * way:.1f} mm'
