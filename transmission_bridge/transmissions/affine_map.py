# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A sparse affine map over the last axis of an array, the compiled form of a linear robot.

``y_i = sum_k c_ik (x_j(ik) - before_j(ik)) + after_i``; absent terms are not computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math

import numpy as np

from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.types import Array, Index

#: First row, then column and coefficient of each row from there on.
Layer = tuple[int, Index, Array]

#: Terms evaluated per step of a batch: all working memory stays in a second-level cache.
CHUNK_TERMS = 24576

#: The neutral number of addition: adding it preserves even the sign of a zero.
NOTHING = -0.0


class AffineMap:
    """
    ``y = C (x - before) + after``, computed from the nonzero terms only.

    A dense product would compute ``0 * NaN`` and spread one unknown value over the whole robot.
    Here a term with coefficient zero is absent. The terms form layers with at most one term per
    output, in the order of the columns. An output without a term in a layer reads from an extra
    lane after the input that holds ``-0.0``. Every shape of input goes through the same operations
    in the same order, so the results of a batch equal the results of its samples, and the results
    of a robot equal its transmissions, to the last bit.

    The biases are separate from the coefficients because ``C x - C before`` would lose precision
    if ``x`` is close to ``before``.

    The map is immutable: working memory belongs to the caller, see :meth:`make_workspace`. ``C``
    has shape ``(n_out, n_in)``, ``before`` ``(n_in,)`` and ``after`` ``(n_out,)``.
    """

    def __init__(
        self, matrix: Array, *, before: Array | None = None, after: Array | None = None
    ) -> None:
        self.n_out, self.n_in = matrix.shape
        self._before = _copy_bias(before, 0.0)
        self._after = _copy_bias(after, NOTHING)
        self._matrix = matrix.copy()
        layers = _split_layers(matrix)
        self._index = np.concatenate([index for _, index, _ in layers])
        self._coefficient = np.concatenate([coefficient for _, _, coefficient in layers])
        self._layer_sums = tuple(_layer_sums(layers))

    @classmethod
    def from_maps(cls, maps: Sequence[AffineMap]) -> AffineMap:
        """Return one map for several, with their inputs and outputs one after the other."""
        heights = np.cumsum([0, *(each.n_out for each in maps)])
        widths = np.cumsum([0, *(each.n_in for each in maps)])
        matrix = np.zeros((heights[-1], widths[-1]))
        for each, top, left in zip(maps, heights, widths, strict=False):
            matrix[top : top + each.n_out, left : left + each.n_in] = each.matrix
        before, after = zip(*(each._biases() for each in maps), strict=True)
        return cls(matrix, before=np.concatenate(before), after=np.concatenate(after))

    def _biases(self) -> tuple[Array, Array]:
        """Return a bias for each input and output, zero by default."""
        before = np.zeros(self.n_in) if self._before is None else self._before
        return before, np.zeros(self.n_out) if self._after is None else self._after

    @property
    def matrix(self) -> Array:
        """The coefficients ``C`` as a new array, shape ``(n_out, n_in)``."""
        return self._matrix.copy()

    @property
    def structure(self) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...], tuple[bool, ...]]:
        """The inputs of the terms of each output; which inputs and outputs have biases."""
        terms = tuple(tuple(np.flatnonzero(row).tolist()) for row in self._matrix)
        before, after = (tuple((bias != 0.0).tolist()) for bias in self._biases())
        return terms, before, after

    @property
    def all_numbers(self) -> list[float]:
        """The coefficients in the order of :attr:`structure`, then biases of both sides."""
        coefficients = self._matrix[np.nonzero(self._matrix)]
        numbers: list[float] = np.concatenate([coefficients, *self._biases()]).tolist()
        return numbers

    def make_workspace(self) -> Workspace:
        """Return working memory for single samples; each thread needs its own."""
        return Workspace(self)

    def __call__(self, x: Array) -> Array:
        """Map the last axis of ``x``, shape ``(..., n_in)``, to a new array ``(..., n_out)``."""
        y = np.empty((*x.shape[:-1], self.n_out))
        if x.ndim == 1:
            self.make_workspace().map_into(x, y)
            return y
        samples = math.prod(x.shape[:-1])
        inputs, outputs = x.reshape(samples, self.n_in), y.reshape(samples, self.n_out)
        rows = max(16, CHUNK_TERMS // max(len(self._index), 1))
        workspace = None
        for start in range(0, samples, rows):
            part = inputs[start : start + rows]
            if workspace is None or len(part) < rows:
                workspace = Workspace(self, len(part))
            workspace.map_into(part, outputs[start : start + rows])
        return y


class Workspace:
    """
    Working memory of an :class:`AffineMap` for one sample, or for a fixed number of samples.

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
        self._layer_sums = [(terms[total], terms[addend]) for total, addend in affine._layer_sums]
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
        for total, addend in self._layer_sums:
            np.add(total, addend, total)
        if self._after is None:
            out.T[...] = self._outputs
        else:
            np.add(self._outputs, self._after, out.T)


class AffineStream:
    """The stream of a robot without mechanisms, as :class:`~.robot_map.RobotMap`."""

    def __init__(self, affine: AffineMap) -> None:
        self._map_into = affine.make_workspace().map_into
        self._mapped: Array = np.empty((len(FIELDS), affine.n_out // len(FIELDS)))
        self._flat = self._mapped.reshape(-1)

    def forget_solutions(self) -> None:
        """Nothing is solved."""

    def map_state(self, values: Array, report: MapReport | None = None) -> Array:
        """Map one state; see :meth:`~.robot_map.RobotMap.map_state`."""
        self._map_into(values.reshape(-1), self._flat)
        return self._mapped

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """Map a command; see :meth:`~.robot_map.RobotMap.map_command`."""
        return self.map_state(values)


def _copy_bias(values: Array | None, neutral: float) -> Array | None:
    """Return a copy with neutral zeros, or ``None`` if all values are zero."""
    if values is None or not np.any(values):
        return None
    return np.where(values == 0.0, neutral, values)


def _repeat_samples(values: Array, samples: int | None) -> Array:
    return values if samples is None else np.repeat(values[:, np.newaxis], samples, axis=1)


def _split_layers(matrix: Array) -> list[Layer]:
    """
    Split a matrix into layers with at most one term per row.

    The first layer has every row. Other layers have the rows from their first term to their last.
    """
    n_out, n_in = matrix.shape
    rows, columns = np.nonzero(matrix)
    layer_of = np.arange(len(rows)) - np.searchsorted(rows, rows)
    layers = []
    for layer in range(int(np.max(layer_of, initial=0)) + 1):
        chosen = layer_of == layer
        first, stop = (0, n_out) if layer == 0 else (rows[chosen][0], rows[chosen][-1] + 1)
        index = np.full(stop - first, n_in, dtype=np.intp)
        coefficient = np.ones(stop - first)
        index[rows[chosen] - first] = columns[chosen]
        coefficient[rows[chosen] - first] = matrix[rows[chosen], columns[chosen]]
        layers.append((int(first), index, coefficient))
    return layers


def _layer_sums(layers: list[Layer]) -> Iterator[tuple[slice, slice]]:
    """Yield for each layer after the first its target rows and its slice of the terms."""
    start = len(layers[0][1])
    for first, index, _ in layers[1:]:
        yield slice(first, first + len(index)), slice(start, start + len(index))
        start += len(index)
