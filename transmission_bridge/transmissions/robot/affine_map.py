# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A sparse affine map over the last axis of an array, the compiled form of a linear robot.

``y_i = sum_k c_ik (x_j(ik) - before_j(ik)) + after_i``; absent terms are not computed. Linear
types, the table of a robot and its program make these maps, and the C export writes their terms
and numbers. The order of the operations is fixed, because all of them have the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from itertools import pairwise
import math
from operator import add
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.types import Array

#: For each output its terms in the order of the sum: the input and the index of the coefficient.
Sums: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]

#: Terms evaluated per step of a batch: all working memory stays in a second-level cache. Results
#: do not depend on it.
CHUNK_TERMS = 24576

#: The neutral number of addition: adding it preserves even the sign of a zero.
NOTHING = -0.0


class AffineTerms(NamedTuple):
    """
    The operations of an affine map, without its numbers.

    :param sums: The terms of each output.
    :param before: Index of the bias of each input, -1 without a bias.
    :param after: Index of the bias of each output, -1 without a bias.
    :param n_numbers: How many numbers the map has.
    """

    sums: Sums
    before: tuple[int, ...]
    after: tuple[int, ...]
    n_numbers: int

    def expand(self, values: Any, numbers: Any) -> list[Any]:
        """Return each output, for numbers or for symbols."""
        inputs = [
            values[column] if bias < 0 else values[column] - numbers[bias]
            for column, bias in enumerate(self.before)
        ]
        outputs = []
        for terms, bias in zip(self.sums, self.after, strict=True):
            added = [inputs[column] * numbers[number] for column, number in terms]
            added += [numbers[bias]] if bias >= 0 else []
            outputs.append(reduce(add, added) if added else NOTHING)
        return outputs


class AffineMap:
    """
    ``y = C (x - before) + after``, computed from the nonzero terms only.

    A dense product would compute ``0 * NaN`` and spread one unknown value over the whole robot.
    Here a term with coefficient zero is absent. Every shape of input goes through the same
    operations in the same order, so the results of a batch equal the results of its samples, and
    the results of a robot equal its transmissions, to the last bit.

    The biases are separate from the coefficients because ``C x - C before`` would lose precision
    if ``x`` is close to ``before``.

    The map is immutable: working memory belongs to the caller, see :class:`AffineWorkspace`.

    :param sums: The terms of each output. Workspaces and compiled functions follow from them.
    :param coefficients: The coefficients of the terms. Terms may share one.
    :param before: Biases of the inputs, shape ``(n_in,)``.
    :param after: Biases of the outputs, shape ``(n_out,)``.
    """

    def __init__(self, sums: Sums, coefficients: Array, before: Array, after: Array) -> None:
        self.n_out, self.n_in = len(after), len(before)
        #: The terms; and coefficients, biases of the inputs, and biases of the outputs.
        self.sums, self.parts = sums, (coefficients, before.copy(), after.copy())
        #: These three one after the other: the first numbers of a program.
        self.numbers = np.concatenate(self.parts)
        # Neutral zeros; no bias if all are zero.
        self._before = np.where(before == 0.0, 0.0, before) if before.any() else None
        self._after = np.where(after == 0.0, NOTHING, after) if after.any() else None
        absent = self.n_in, len(self.numbers)
        self._layers: list[tuple[slice, slice]] = []
        taken: list[tuple[int, int]] = []
        for layer in range(max(map(len, sums), default=1) or 1):
            # The first layer has every output, others reach from their first term to their last.
            rows = [row for row, terms in enumerate(sums) if layer < len(terms) or not layer]
            first, stop, begin = min(rows, default=0), max(rows, default=-1) + 1, len(taken)
            taken += [x[layer] if layer < len(x) else absent for x in sums[first:stop]]
            self._layers.append((slice(first, stop), slice(begin, len(taken))))
        self._index = np.array([place for place, _ in taken], dtype=np.intp)
        self._coefficient = np.append(self.numbers, 1.0)[[number for _, number in taken]]

    @classmethod
    def from_matrix(cls, matrix: Array, before: Array, after: Array) -> AffineMap:
        """Return the map of a matrix ``C``, shape ``(n_out, n_in)``, and its biases."""
        rows, columns = np.nonzero(matrix)
        terms = list(zip(columns.tolist(), range(len(rows)), strict=True))
        ends = np.searchsorted(rows, np.arange(len(matrix) + 1)).tolist()
        sums = tuple(tuple(terms[begin:end]) for begin, end in pairwise(ends))
        return cls(sums, matrix[rows, columns], before, after)

    @classmethod
    def from_maps(cls, maps: Sequence[AffineMap], shared: Collection[int] = ()) -> AffineMap:
        """
        Return one map for several, with their inputs and outputs one after the other.

        :param maps: The maps.
        :param shared: Indices of maps with the coefficients of the map before them, which they
            share if they have the same terms. Others may be equal by chance.
        """
        sums: list[tuple[tuple[int, int], ...]] = []
        numbers, left = np.empty(0), 0
        for which, part_map in enumerate(maps):
            last = maps[which - 1].sums, maps[which - 1].parts[0].tolist()
            if which not in shared or last != (part_map.sums, part_map.parts[0].tolist()):
                begin, numbers = len(numbers), np.append(numbers, part_map.parts[0])
            sums += [tuple((left + j, begin + k) for j, k in terms) for terms in part_map.sums]
            left += part_map.n_in
        before, after = zip(*(part_map.parts[1:] for part_map in maps), strict=True)
        return cls(tuple(sums), numbers, np.concatenate(before), np.concatenate(after))

    def list_terms(self, live: Collection[int] = ()) -> AffineTerms:
        """
        Return the operations, with biases that are not zero or in ``live``.

        :param live: Indices of biases that may become other than zero.
        """
        numbers = self.numbers.tolist()
        biases = [k if x != 0.0 or k in live else -1 for k, x in enumerate(numbers)]
        n = len(numbers) - self.n_out
        before, after = biases[n - self.n_in : n], biases[n:]
        return AffineTerms(self.sums, tuple(before), tuple(after), len(numbers))

    def __call__(self, x: Array) -> Array:
        """Map the last axis of ``x``, shape ``(..., n_in)``, to a new array ``(..., n_out)``."""
        y = np.empty((*x.shape[:-1], self.n_out))
        if x.ndim == 1:
            AffineWorkspace(self).map_into(x, y)
            return y
        samples = math.prod(x.shape[:-1])
        inputs, outputs = x.reshape(samples, self.n_in), y.reshape(samples, self.n_out)
        rows = max(16, CHUNK_TERMS // max(len(self._index), 1))
        workspace = None
        for start in range(0, samples, rows):
            part = inputs[start : start + rows]
            if workspace is None or len(part) < rows:
                workspace = AffineWorkspace(self, len(part))
            workspace.map_into(part, outputs[start : start + rows])
        return y


class AffineWorkspace:
    """
    Working memory of an :class:`AffineMap` for one sample, or for a fixed number of samples.

    The terms form layers with at most one term per output. An output without a term in a layer
    reads from an extra lane after the input that holds ``-0.0``. The operations and their order
    are those of :meth:`AffineTerms.expand`, which takes 2.4 times as long for a sample of 6
    joints, and 25 times as long for 100 joints.

    Samples lie along the last axis here: every operation runs over contiguous memory. Coefficients
    and biases are repeated along it, because this is twice as fast as broadcasting. Threads must
    not share a workspace.
    """

    def __init__(self, affine: AffineMap, samples: int | None = None) -> None:
        tail = () if samples is None else (samples,)
        lanes = np.empty((affine.n_in + 1, *tail))
        lanes[-1] = NOTHING
        terms = np.empty((len(affine._index), *tail))
        self._inputs: Array = lanes[:-1]
        self._outputs: Array = terms[: affine.n_out]
        self._lanes, self._terms = lanes, terms
        self._index = affine._index
        self._sums = [(terms[total], terms[added]) for total, added in affine._layers[1:]]
        self._coefficient = _repeat_samples(affine._coefficient, samples)
        self._before = None if affine._before is None else _repeat_samples(affine._before, samples)
        self._after = None if affine._after is None else _repeat_samples(affine._after, samples)

    def map_into(self, x: Array, out: Array) -> None:
        """Map ``x``, shape ``(n_in,)`` or ``(samples, n_in)``, into ``out``."""
        # Outputs by position and assignments are faster than ``out=`` and ``copyto``.
        if self._before is None:
            self._inputs[...] = x.T
        else:
            np.subtract(x.T, self._before, self._inputs)
        # Any mode but 'raise' writes straight into the output; no index is out of range.
        self._lanes.take(self._index, 0, self._terms, 'clip')
        np.multiply(self._terms, self._coefficient, self._terms)
        for total, added in self._sums:
            np.add(total, added, total)
        if self._after is None:
            out.T[...] = self._outputs
        else:
            np.add(self._outputs, self._after, out.T)


class AffineStream:
    """
    The stream of a robot without mechanisms, as :class:`~.program.RobotMap`.

    Results are overwritten by the next call. Threads must not share it.
    """

    def __init__(self, affine: AffineMap) -> None:
        self._map_into = AffineWorkspace(affine).map_into
        self._mapped: Array = np.empty((len(FIELDS), affine.n_out // len(FIELDS)))
        self._flat = self._mapped.reshape(-1)

    def forget_solutions(self) -> None:
        """Do nothing: nothing is solved."""

    def map_state(self, values: Array, report: MapReport | None = None) -> Array:
        """Map one state; see :meth:`~.program.RobotMap.map_state`."""
        self._map_into(values.reshape(-1), self._flat)
        return self._mapped

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """Map a command; see :meth:`~.program.RobotMap.map_command`."""
        return self.map_state(values)


def _repeat_samples(values: Array, samples: int | None) -> Array:
    return values if samples is None else np.repeat(values[:, np.newaxis], samples, axis=1)
