# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A direction of a mechanism with all its numbers, as it is called or becomes C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.calls import map_samples
from transmission_bridge.transmissions.mechanism.step import Step
from transmission_bridge.transmissions.mechanism.table import thin_positions
from transmission_bridge.transmissions.tunable import list_paths, ParameterPath
from transmission_bridge.types import Array, Mask

#: Smallest width of a table [rad or m, or shares of the sizes].
NARROW = 0.1

#: Tolerance of the ends of a solution, as a share of the size.
BEYOND = 1e-8

#: A path that ends with a derivative of this many times the one at the pose ends at a dead centre.
DEAD_CENTRE = 4.0


class Assembly(NamedTuple):
    """
    The numbers of a mechanism that both directions share, in bare coordinates.

    :param pose: A closed, regular position, shape ``(n,)``.
    :param size: Size of each coordinate.
    :param lower: Lower ends of the coordinates, -inf without a limit.
    :param upper: Upper ends.
    :param is_exact: Whether these are the range that is mapped; others only save the search for a
        solution that does not exist.
    :param ends: With one coordinate on each side, positions at the ends of the range that are dead
        centres, if all positions between are on the branch; else NaN.
    :param typical: Medians of the sizes of the derivatives of joints by actuators, of the inverse,
        and of passive joints.
    :param positions: Positions for the table, the pose first.
    """

    pose: Array
    size: Array
    lower: Array
    upper: Array
    is_exact: Mask
    typical: Sequence[float]
    positions: Array
    ends: Array


class CompiledPart(NamedTuple):
    """
    A direction of an independent set of members of a transmission.

    :param step: Its compiled functions.
    :param numbers: Its numbers, in the order of :class:`~.step.Numbers`.
    :param table: Its table, entry by entry; empty for a formula.
    :param inputs: Indices of its inputs among the inputs of the transmission.
    :param outputs: Indices of its outputs.
    :param live: Paths of the numbers that are live numbers, by index. No other number depends on
        them, except the ends that are not exact, those that are dead centres, and the table.
    :param unknown_bounds: Values of these ends for other numbers of the rows, by index.
    """

    step: Step
    numbers: list[float]
    table: Array
    inputs: Sequence[int]
    outputs: Sequence[int]
    live: Mapping[int, ParameterPath]
    unknown_bounds: Mapping[int, float]

    @classmethod
    def build(
        cls,
        step: Step,
        assembly: Assembly,
        p: Array | Sequence[float],
        sides: Sequence[npt.ArrayLike],
        max_gain: float,
        members: tuple[Sequence[int], Sequence[int]],
    ) -> CompiledPart:
        """
        Return a direction with its numbers.

        :param p: Numbers of the rows.
        :param sides: Reductions and offsets of actuators, then of joints.
        :param max_gain: Largest gain, as a multiple of the typical one.
        :param members: Indices of inputs and outputs in the transmission.
        """
        near, sides = step.near, [*sides]
        given, wanted = near.given, near.wanted
        if not step.is_forward:
            sides = [*sides[2:], *sides[:2]]
        slopes = near.evaluate_slopes(assembly.pose, p)[near.unknown]
        width = np.ptp(assembly.positions[:, given], axis=0)
        # A formula needs no ends that only save a search. A solution at an end of shares is beyond
        # it by the tolerance of the given position times the gain.
        is_exact, beyond = assembly.is_exact, BEYOND * near.mechanism.has_sizes * assembly.size
        is_known = is_exact | (step.n_start > 0)
        ends = [
            np.where(is_known, assembly.lower, -math.inf)[given],
            np.where(is_known, assembly.upper, math.inf)[given],
            np.where(is_exact, assembly.lower - beyond, -math.inf)[wanted],
            np.where(is_exact, assembly.upper + beyond, math.inf)[wanted],
        ]
        numbers: list[Any] = [
            *(*sides, *ends, [max_gain], assembly.typical),
            np.maximum(width, NARROW * assembly.size[given]),
            [DEAD_CENTRE * np.abs(slopes).max(initial=0.0)],
            assembly.ends[:, [*given, *wanted]].T.ravel() if step.has_ends else [],
            assembly.pose[list(near.mechanism.held)],
            near.collect_numbers(assembly.pose, p, assembly.size),
        ]
        table = np.zeros(0)
        if step.n_start:
            chosen = thin_positions(assembly.positions, step.n_entries, sorted({*given, *wanted}))
            table = step.make_table(chosen)
        flat = [number for each in numbers for number in each]
        first, n = 2 * (len(given) + len(wanted)), len(given)
        loose = [first + k for k, place in enumerate(given) if not is_exact[place]]
        unknown = dict.fromkeys(loose, -math.inf)
        unknown |= {place + n: math.inf for place in loose}
        before = sum(map(len, numbers[:-3]))
        unknown |= dict.fromkeys(range(before, before + len(numbers[-3])), math.nan)
        return cls(
            step, [float(each) for each in flat], table, *members, list_paths(flat), unknown
        )

    def make_starts(self, position: Array, guess: Array | None) -> Array:
        """
        Return the warm starts of samples.

        :param position: Positions of the inputs, shape ``(samples, n)``.
        :param guess: Positions of the outputs near the solution. They are of no use if they do not
            determine all coordinates.
        """
        near, (r, n, *_) = self.step.near, self.step.near.counts
        starts = np.full((len(position), self.step.n_start), math.nan)
        if guess is not None and self.step.n_start and near.unknown == near.wanted:
            own = self.step.split_numbers(np.array(self.numbers))
            is_forward = self.step.is_forward
            sides = (own.ratios, own.offsets), (own.wanted_ratios, own.wanted_offsets)
            (ratio, offset), (joint_ratio, joint_offset) = sides[:: 1 if is_forward else -1]
            actuators, joints = (position, guess)[:: 1 if is_forward else -1]
            bare = actuators / ratio + offset, joint_ratio * (joints - joint_offset)
            starts[:, : near.n_state] = 0.0
            starts[:, : r + n] = np.concatenate(bare[:: -1 if is_forward else 1], axis=1)
        return starts

    def compute_accelerations(self, position: Array, velocity: Array, after: Array) -> Array:
        """
        Return the accelerations of the outputs at constant velocity of the inputs.

        ``after`` are the next warm starts of the same samples.
        """
        given = [position, velocity, after]
        (bent,) = map_samples(self.step.bend_function, given, [self.numbers])
        return bent
