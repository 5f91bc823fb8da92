# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A sparse affine map over the last axis of an array: what a linear robot compiles to.

``y_i = sum_k c_ik (x_j(ik) - before_j(ik)) + after_i``, over the terms that exist and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from transmission_bridge.types import Array, Index

__all__ = ['AffineMap', 'Workspace']


#: First row, then column and coefficient for this row and those that follow it.
Layer = tuple[int, Index, Array]

#: Terms evaluated per step of a batch, so that all working memory stays in a second-level cache.
CHUNK_TERMS = 24576

#: The one number whose addition changes no other, not even the sign of a zero.
NOTHING = -0.0


class AffineMap:
    """
    ``y = C (x - before) + after`` that gathers the terms that exist.

    A dense product would compute ``0 * NaN`` and spread one unknown value over the whole robot.
    Here a term with coefficient zero is absent. The terms form layers of at most one per output,
    in the order of the columns; an output without a term in a layer takes it from a lane behind
    the input that holds ``-0.0``. Every shape of input goes through the same operations in the
    same order, so a batch equals its samples, and a robot its transmissions, to the last bit.

    The biases are apart from the coefficients because ``C x - C before`` would cancel badly where
    ``x`` is near ``before``.

    Immutable: working memory belongs to the caller, see :meth:`workspace`.

    :param matrix: Coefficients ``C``, shape ``(n_out, n_in)``.
    :param before: Subtracted from the input, shape ``(n_in,)``, or ``None``.
    :param after: Added to the output, shape ``(n_out,)``, or ``None``.
    """

    def __init__(
        self, matrix: Array, *, before: Array | None = None, after: Array | None = None
    ) -> None:
        self.n_out, self.n_in = matrix.shape
        self._before = _bias(before, 0.0)
        self._after = _bias(after, NOTHING)
        layers = _layers(matrix)
        self._index = np.concatenate([index for _, index, _ in layers])
        self._coefficient = np.concatenate([coefficient for _, _, coefficient in layers])
        self._sums = tuple(_sums(layers))

    @classmethod
    def stacked(cls, maps: Sequence[AffineMap]) -> AffineMap:
        """
        Return one map that does the work of several, their inputs and outputs one after the other.

        One call for all interfaces of a cycle costs little more than a call for one of them.
        """
        heights = np.cumsum([0, *(each.n_out for each in maps)])
        widths = np.cumsum([0, *(each.n_in for each in maps)])
        matrix = np.zeros((heights[-1], widths[-1]))
        before, after = np.zeros(widths[-1]), np.zeros(heights[-1])
        for each, top, left in zip(maps, heights, widths, strict=False):
            matrix[top : top + each.n_out, left : left + each.n_in] = each.matrix
            if each._before is not None:
                before[left : left + each.n_in] = each._before
            if each._after is not None:
                after[top : top + each.n_out] = each._after
        return cls(matrix, before=before, after=after)

    @property
    def matrix(self) -> Array:
        """The coefficients ``C`` as a new array, shape ``(n_out, n_in)``."""
        matrix = np.zeros((self.n_out, self.n_in))
        rows = np.concatenate([np.arange(self.n_out), *(np.r_[total] for total, _ in self._sums)])
        exists = self._index < self.n_in
        matrix[rows[exists], self._index[exists]] = self._coefficient[exists]
        return matrix

    @property
    def structure(self) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...], tuple[bool, ...]]:
        """For each output the inputs of its terms in their order; which biases there are."""
        rows: list[list[int]] = [[] for _ in range(self.n_out)]
        for row, place in self._terms():
            rows[row].append(int(self._index[place]))
        before = np.zeros(self.n_in, bool) if self._before is None else self._before != 0.0
        after = np.zeros(self.n_out, bool) if self._after is None else self._after != 0.0
        return tuple(map(tuple, rows)), tuple(before.tolist()), tuple(after.tolist())

    @property
    def numbers(self) -> list[float]:
        """The coefficients in the order of :attr:`structure`, then a bias for each in and out."""
        rows: list[list[float]] = [[] for _ in range(self.n_out)]
        for row, place in self._terms():
            rows[row].append(float(self._coefficient[place]))
        before = np.zeros(self.n_in) if self._before is None else self._before
        after = np.zeros(self.n_out) if self._after is None else self._after
        return [*(number for row in rows for number in row), *before.tolist(), *after.tolist()]

    def _terms(self) -> Iterator[tuple[int, int]]:
        """Yield the row of each term that exists, and its place, in the order of the sums."""
        rows = np.concatenate([np.arange(self.n_out), *(np.r_[total] for total, _ in self._sums)])
        for place, row in enumerate(rows.tolist()):
            if self._index[place] < self.n_in:
                yield row, place

    def workspace(self) -> Workspace:
        """Return working memory for :meth:`into`, one for each thread that maps."""
        return Workspace(self)

    def __call__(self, x: Array) -> Array:
        """
        Map the last axis.

        :param x: Input, shape ``(..., n_in)``, float64.
        :returns: A new array, shape ``(..., n_out)``.
        """
        if x.ndim == 1:
            return self._one(x)
        y = np.empty((*x.shape[:-1], self.n_out))
        self.into(x, y)
        return y

    def into(self, x: Array, out: Array, workspace: Workspace | None = None) -> None:
        """
        Map the last axis into an array that the caller has.

        With a workspace of this map a single sample is mapped without allocating anything.

        :param x: Input, shape ``(..., n_in)``, float64.
        :param out: Output, shape ``(..., n_out)``, float64; it may be ``x`` itself.
        :param workspace: From :meth:`workspace`, used where ``x`` is one sample.
        """
        if x.ndim == 1:
            (workspace or Workspace(self)).run(x, out)
        elif x.ndim == 2:
            self._batch(x, out)
        elif x.flags.c_contiguous and out.flags.c_contiguous:
            samples = x.size // self.n_in if self.n_in else out.size // max(self.n_out, 1)
            self._batch(x.reshape(samples, self.n_in), out.reshape(samples, self.n_out))
        else:
            for x_part, out_part in zip(x, out, strict=True):
                self.into(x_part, out_part)

    def _one(self, x: Array) -> Array:
        """Map one sample; the operations of :meth:`Workspace.run` with as few calls as can be."""
        lanes = np.empty(self.n_in + 1)
        if self._before is None:
            lanes[:-1] = x
        else:
            np.subtract(x, self._before, out=lanes[:-1])
        lanes[-1] = NOTHING
        terms: Array = lanes[self._index]
        terms *= self._coefficient
        for total, addend in self._sums:
            part = terms[total]
            part += terms[addend]
        y: Array = terms[: self.n_out]
        return y.copy() if self._after is None else y + self._after

    def _batch(self, x: Array, out: Array) -> None:
        rows = max(16, CHUNK_TERMS // max(len(self._index), 1))
        workspace = None
        for start in range(0, len(x), rows):
            part = x[start : start + rows]
            if workspace is None or len(part) < rows:
                workspace = Workspace(self, len(part))
            workspace.run(part, out[start : start + rows])


class Workspace:
    """
    Working memory of an :class:`AffineMap`, for one sample or for a fixed number of them.

    Samples lie along the last axis here, so that every operation runs over contiguous memory;
    coefficients and biases are repeated along it, because that is twice as fast as broadcasting.

    Not to be shared between threads.

    :param affine: The map.
    :param samples: Number of samples, ``None`` for a single one without a batch axis.
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
        self._sums = [(terms[total], terms[addend]) for total, addend in affine._sums]
        self._coefficient = _repeated(affine._coefficient, samples)
        self._before = None if affine._before is None else _repeated(affine._before, samples)
        self._after = None if affine._after is None else _repeated(affine._after, samples)

    def run(self, x: Array, out: Array) -> None:
        """Map ``x``, shape ``(n_in,)`` or ``(samples, n_in)``, into ``out``."""
        if self._before is None:
            np.copyto(self._inputs, x.T)
        else:
            np.subtract(x.T, self._before, out=self._inputs)
        # Any mode but 'raise' writes straight into the output; no index is out of range.
        self._lanes.take(self._index, 0, self._terms, 'clip')
        np.multiply(self._terms, self._coefficient, out=self._terms)
        for total, addend in self._sums:
            np.add(total, addend, out=total)
        if self._after is None:
            np.copyto(out.T, self._outputs)
        else:
            np.add(self._outputs, self._after, out=out.T)


def _bias(values: Array | None, neutral: float) -> Array | None:
    """Return a copy in which every zero changes nothing, ``None`` where all do."""
    if values is None or not np.any(values):
        return None
    return np.where(values == 0.0, neutral, values)


def _repeated(values: Array, samples: int | None) -> Array:
    return values if samples is None else np.repeat(values[:, np.newaxis], samples, axis=1)


def _layers(matrix: Array) -> list[Layer]:
    """
    Split a matrix into layers of at most one term per row.

    The first layer has every row, any other those from the first with a term in it to the last.
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


def _sums(layers: list[Layer]) -> Iterator[tuple[slice, slice]]:
    """Yield for each layer behind the first where it is added and where it stands."""
    start = len(layers[0][1])
    for first, index, _ in layers[1:]:
        yield slice(first, first + len(index)), slice(start, start + len(index))
        start += len(index)
