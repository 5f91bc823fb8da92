# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One closed position map and its Jacobian, and every interface in both directions from them.

The mechanism knows neither actuators nor joints: ``x`` is the space that the closed form starts
from, ``y = g(x)`` the other one, ``G = dg/dx``.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.closed_form import ClosedForm
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import Quantity
from transmission_bridge.transmissions.newton import solve
from transmission_bridge.transmissions.one_sample import OneSample, SampleForm, SampleMap, State
from transmission_bridge.transmissions.seeds import seed_table
from transmission_bridge.transmissions.small_matrix import (
    apply,
    apply_transposed,
    choose,
    component,
    every,
    inverse,
    orientation,
    singular_values,
)
from transmission_bridge.transmissions.square import SQUARES

__all__ = ['POSITIONS', 'Mechanism']

POSITIONS = (Quantity.POSITION, Quantity.ABSOLUTE_POSITION)

#: Where the quantities stand in a state.
_PLACE = {
    Quantity.POSITION: 0,
    Quantity.ABSOLUTE_POSITION: 0,
    Quantity.VELOCITY: 1,
    Quantity.EFFORT: 2,
}

Mask = npt.NDArray[np.bool_]


class Mechanism:
    """
    Every interface of a closed form, with domain, singularities and branch watched.

    Arrays are ``(n,)`` or ``(samples, n)``. What cannot be answered is NaN and counted; see
    :class:`~transmission_bridge.transmissions.position_dependent.PositionDependentTransmission`
    for the reasons. The caller silences numpy. A single sample is mapped in plain numbers where
    the mechanism is regular, see
    :class:`~transmission_bridge.transmissions.one_sample.OneSample`.

    :param closed_form: The maps.
    :param sample_form: The same for one sample.
    :param domain: Positions ``x`` that are mapped.
    :param condition_limit: How singular ``G`` may be.
    :raises TransmissionError: If no position can be reached or the maps do not fit together.
    """

    def __init__(
        self,
        closed_form: ClosedForm,
        sample_form: SampleForm,
        domain: Domain,
        condition_limit: float,
    ) -> None:
        self._form = closed_form
        self._domain = domain
        self._condition_limit = condition_limit
        self._span = domain.span
        self.n_x = len(domain.lower)
        self.n_y = closed_form.checked_length(domain)
        self._seeds = seed_table(domain, closed_form.evaluate, condition_limit)
        self._one: OneSample | None = None
        if self.n_x == self.n_y and self.n_x in SQUARES:
            sample_form.check(self._seeds.x[len(self._seeds.x) // 2].tolist())
            self._one = OneSample(sample_form, domain, self._seeds, condition_limit)

    def mapped(
        self,
        quantity: Quantity,
        along: bool,
        arrays: list[Array],
        guess: Array | None,
        counts: Counter[str],
    ) -> Array:
        """
        Map one quantity.

        :param along: From ``x`` to ``y``, else back.
        :param arrays: The values, then the positions and the velocities where needed.
        :param guess: Where to start a solution, in ``x``.
        """
        value, at = arrays[0], arrays[0 if quantity in POSITIONS else 1]
        if value.ndim == 1 and quantity is not Quantity.ACCELERATION:
            state = self._sample_state(along, (at, value, value), guess)
            if state is not None:
                return np.array(state[_PLACE[quantity]])
        if quantity in POSITIONS:
            return self._position(along, value, guess, counts)
        x, slope = self._locate(along, at, guess, counts)
        if quantity is Quantity.EFFORT:
            slope = self._regular(x, slope, along, counts)
            return apply_transposed(inverse(slope) if along else slope, value)
        slope = self._regular(x, slope, not along, counts)
        if quantity is Quantity.VELOCITY:
            return apply(slope if along else inverse(slope), value)
        rate = arrays[2]
        if along:
            return apply(slope, value) + apply(self._slope_rate(x, rate, counts), rate)
        inverted = inverse(slope)
        x_rate = apply(inverted, rate)
        bias = apply(self._slope_rate(x, x_rate, counts), x_rate)
        return apply(inverted, value - bias)

    def mapped_state(
        self,
        along: bool,
        arrays: tuple[Array, Array, Array],
        guess: Array | None,
        counts: Counter[str],
    ) -> tuple[Array, Array, Array]:
        """Map position, velocity and effort of one sample; the position is found once."""
        position, velocity, effort = arrays
        state = self._sample_state(along, arrays, guess)
        if state is not None:
            return np.array(state[0]), np.array(state[1]), np.array(state[2])
        x, slope = self._locate(along, position, guess, counts)
        here = self._regular(x, slope, False, counts)
        steep = self._regular(x, here, True, counts)
        if along:
            y = self._form.value(x)
            return y, apply(here, velocity), apply_transposed(inverse(steep), effort)
        return x, apply(inverse(steep), velocity), apply_transposed(here, effort)

    def sample_map(self, along: bool) -> SampleMap | None:
        """Return the map of one sample in plain numbers, if there is one."""
        if self._one is None:
            return None
        return self._one.along if along else self._one.back

    def jacobian(self, along: bool, at: Array) -> Array:
        """Return ``G`` at ``x``, or ``G^-1`` at ``y``; NaN where it does not exist."""
        counts: Counter[str] = Counter()
        x, slope = self._locate(along, at, None, counts)
        slope = self._regular(x, slope, not along, counts)
        return slope if along else inverse(slope)

    # -- where the mechanism is ------------------------------------------------------------------

    def _position(
        self, along: bool, position: Array, guess: Array | None, counts: Counter[str]
    ) -> Array:
        if not along:
            return self._located(position, guess, counts)[0]
        x = self._inside(position, _known(position), counts)
        if not self._seeds.is_whole:
            x = self._on_branch(x, self._form.slope(x), counts)[0]
        y = self._form.value(x)
        known = _known(y)
        if not every(known):
            _count(counts, 'domain', _known(x) & ~known)
        return y

    def _locate(
        self, along: bool, position: Array, guess: Array | None, counts: Counter[str]
    ) -> tuple[Array, Array]:
        """Return ``x`` and ``G`` at a position of the input's space; NaN where there is none."""
        if along:
            x, slope = self._inside(position, _known(position), counts), None
        else:
            x, slope = self._located(position, guess, counts)
        if slope is None:
            slope = self._form.slope(x)
        return (x, slope) if self._seeds.is_whole else self._on_branch(x, slope, counts)

    def _located(
        self, y: Array, guess: Array | None, counts: Counter[str]
    ) -> tuple[Array, Array | None]:
        """Return ``x`` of ``y``, and ``G`` where the solver had it anyway."""
        known = _known(y)
        if self._form.inverse_value is not None:
            return self._inside(self._form.inverse_value(y), known, counts), None
        may_reach = known & self._seeds.may_reach(y)
        if not every(may_reach):
            _count(counts, 'domain', known & ~may_reach)
        start = choose(may_reach, self._start(y, guess), np.nan)
        x, slope, converged = solve(self._form.evaluate, y, start, self._span)
        lost = may_reach & ~converged
        if guess is not None and not every(~lost):
            # The guess of a stream, its last solution, would fail with every further sample too.
            start = choose(lost, self._seeds.nearest(y), np.nan)
            other_x, other_slope, found = solve(self._form.evaluate, y, start, self._span)
            x = choose(lost, other_x, x)
            slope = choose(lost, other_slope, slope)
            converged = converged | found
        if not every(converged):
            _count(counts, 'no_convergence', may_reach & ~converged)
        x = choose(converged, x, np.nan)
        slope = self._regular(x, slope, True, counts)
        x = choose(np.isfinite(slope[..., 0, 0]), x, np.nan)
        x, slope = self._on_branch(x, slope, counts)
        x = self._inside(x, _known(x), counts)
        return x, choose(_known(x), slope, np.nan)

    def _start(self, y: Array, guess: Array | None) -> Array:
        if guess is None:
            return self._seeds.nearest(y)
        usable = self._domain.contains(guess)
        return guess if every(usable) else choose(usable, guess, self._seeds.nearest(y))

    def _sample_state(
        self, along: bool, arrays: tuple[Array, Array, Array], guess: Array | None
    ) -> State | None:
        """Map position, velocity and effort of one sample, where that takes plain numbers."""
        sample_map = self.sample_map(along)
        if sample_map is None:
            return None
        position, velocity, effort = (array.tolist() for array in arrays)
        solves = not along and self._form.inverse_value is None
        start = self._start(arrays[0], guess).tolist() if solves else ()
        return sample_map(position, velocity, effort, start)

    # -- what is watched -------------------------------------------------------------------------

    def _inside(self, x: Array, known: Mask, counts: Counter[str]) -> Array:
        inside = self._domain.contains(x)
        if every(inside):
            return x
        _count(counts, 'domain', known & ~inside)
        return choose(inside, x, np.nan)

    def _on_branch(self, x: Array, slope: Array, counts: Counter[str]) -> tuple[Array, Array]:
        # The sign of a singular determinant is a matter of rounding.
        off = (orientation(slope) * self._seeds.branch < 0.0) & self._is_regular(slope)
        if every(~off):
            return x, slope
        _count(counts, 'branch', off & _known(x))
        return choose(~off, x, np.nan), choose(~off, slope, np.nan)

    def _regular(self, x: Array, slope: Array, inverts: bool, counts: Counter[str]) -> Array:
        """Return ``G``, NaN where it does not exist or is too singular for its use."""
        largest, _ = singular_values(slope)
        regular = largest <= self._condition_limit * self._seeds.gain
        if inverts:
            regular = regular & self._is_regular(slope)
        if every(regular):
            return slope
        missing = np.isnan(largest)
        _count(counts, 'domain', _known(x) & missing)
        _count(counts, 'singular', _known(x) & ~missing & ~regular)
        return choose(regular, slope, np.nan)

    def _is_regular(self, slope: Array) -> Mask:
        largest, smallest = singular_values(slope)
        typical = np.maximum(largest, self._seeds.gain)
        return typical <= self._condition_limit * smallest

    def _slope_rate(self, x: Array, rate: Array, counts: Counter[str]) -> Array:
        result = self._form.slope_rate(x, rate)
        missing = _known(x) & _known(rate) & np.isnan(result).any(axis=(-2, -1))
        _count(counts, 'domain', missing)
        return result


def _known(array: Array) -> Mask:
    known = np.isfinite(component(array, 0))
    for place in range(1, array.shape[-1]):
        known = known & np.isfinite(component(array, place))
    return known


def _count(counts: Counter[str], reason: str, mask: Mask) -> None:
    count = int(np.count_nonzero(mask))
    if count:
        counts[reason] += count
