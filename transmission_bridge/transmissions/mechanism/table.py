# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A table of positions of a mechanism, reached on straight paths from its pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math

import numpy as np

from transmission_bridge.transmissions.calls import Call
from transmission_bridge.transmissions.mechanism.solver import Solver
from transmission_bridge.types import Array

#: Targets of the table: grid points along each given coordinate, by their number, and the number
#: of random targets for more coordinates.
POINTS, TARGETS = {1: 33, 2: 13, 3: 7}, 150

#: A state that moves by less than this share of the range is no new state.
MOVED = 1e-3

#: Positions with a smaller difference, as a share of the range, are equal.
SAME = 1e-6


def enter_states(
    solver: Solver, positions: Iterable[Array], fixed: tuple[Array, Sequence[float]]
) -> list[Array]:
    """
    Return the states at positions, as far as these are regular.

    :param positions: Values of all coordinates.
    :param fixed: Positions of held coordinates, and the numbers of the rows.
    """
    enter, states = Call(solver.continuation.enter_function), []
    for z in positions:
        state, done = enter(z[[*solver.corrector.unknown, *solver.corrector.given]], *fixed)
        if done[0] == 1.0:
            states.append(state.copy())
    return states


def grow_states(
    solver: Solver, fixed: tuple[Array, Sequence[float]], pose: Array, lower: Array, upper: Array
) -> list[Array]:
    """
    Return states from target to target, each as far as a straight path leads; none at a bad pose.

    The next target is always the one closest to a known state, reached from this state.

    :param lower: Lower ends of the given coordinates.
    :param upper: Upper ends of the given coordinates.
    """
    n, first, going = (
        len(lower),
        len(solver.corrector.unknown),
        Call(solver.continuation.path_function),
    )
    width = upper - lower
    if n in POINTS:
        axes = [np.linspace(0.0, 1.0, POINTS[n])] * n
        targets = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
        farthest = 1.01 / (POINTS[n] - 1)
    else:
        targets, farthest = np.random.default_rng(4).uniform(size=(TARGETS, n)), 1.0
    states = enter_states(solver, [pose], fixed)
    if not states:
        return []
    places = [(states[0][first : first + n] - lower) / width]
    apart, left = np.abs(targets - places[0]).max(axis=1), np.zeros(len(targets))
    while (apart + left).min() <= farthest:
        k = int(np.argmin(apart + left))
        left[k] = math.inf
        nearest = int(np.argmin(np.abs(np.array(places) - targets[k]).max(axis=1)))
        target = lower + targets[k] * width
        state = going(states[nearest], target, *fixed)[0].copy()
        place = (state[first : first + n] - lower) / width
        apart = np.minimum(apart, np.abs(targets - place).max(axis=1))
        if np.abs(place - places[nearest]).max() > MOVED:
            states.append(state)
            places.append(place)
    return states


def are_consistent(
    solver: Solver, fixed: tuple[Array, Sequence[float]], states: list[Array]
) -> bool:
    """Return whether straight paths to each state from its neighbours end at this state."""
    first, n = solver.corrector.counts[:2]
    going, known = Call(solver.continuation.path_function), np.array(states)[:, : first + n]
    width = np.ptp(known, axis=0)
    for state in known:
        place = state[first:]
        apart = (np.abs(known[:, first:] - place) / width[first:]).max(axis=1)
        for k in np.argsort(apart)[1 : 2 * n + 1].tolist():
            end, done, _ = going(states[k], place, *fixed)
            differs = np.abs(end[:first] - state[:first]) > SAME * width[:first]
            if done[0] == 1.0 and differs.any():
                return False
    return True


def thin_positions(positions: Array, count: int, places: Sequence[int]) -> Array:
    """
    Return all positions up to a count; of more the first, and always the one farthest from these.

    :param positions: Shape ``(samples, n)``.
    :param places: Indices of the coordinates that distances are measured in.
    """
    if len(positions) <= count:
        return positions
    shares = positions[:, places]
    width = np.ptp(shares, axis=0)
    shares = shares / np.where(width > 0.0, width, 1.0)
    chosen, apart = [0], np.full(len(positions), math.inf)
    while len(chosen) < count:
        apart = np.minimum(apart, np.abs(shares - shares[chosen[-1]]).max(axis=1))
        chosen.append(int(np.argmax(apart)))
    return positions[chosen]
