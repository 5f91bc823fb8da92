# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions called from Python: one sample with fixed arrays, or many samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.types import Array

#: Samples of one call; the last call is padded.
CHUNKS = (1, 16, 256)


class Call:
    """
    A compiled function with the arrays that it reads and writes. Threads must not share it.

    It owns the arrays: a pointer to other arrays could outlive them. ``inputs`` and ``outputs``
    are existing arrays by index; other arrays are new.
    """

    def __init__(
        self,
        function: Any,
        inputs: Mapping[int, Array] | None = None,
        outputs: Mapping[int, Array] | None = None,
    ) -> None:
        self._buffer, self.run = function.buffer()
        given, results = inputs or {}, outputs or {}
        self.inputs = [
            given[k] if k in given else np.full(function.numel_in(k), math.nan)
            for k in range(function.n_in())
        ]
        self.outputs = [
            results[k] if k in results else np.full(function.numel_out(k), math.nan)
            for k in range(function.n_out())
        ]
        for k, array in enumerate(self.inputs):
            assert (array.size, array.dtype) == (function.numel_in(k), np.float64), (k, array)
            self._buffer.set_arg(k, array.reshape(-1).data)
        for k, array in enumerate(self.outputs):
            assert (array.size, array.dtype) == (function.numel_out(k), np.float64), (k, array)
            self._buffer.set_res(k, array.reshape(-1).data)

    def __call__(self, *values: npt.ArrayLike) -> list[Array]:
        """Copy the first inputs, run, and return the outputs; the next call overwrites them."""
        for array, value in zip(self.inputs, values, strict=False):
            array[...] = value
        self.run()
        return self.outputs


@lru_cache(maxsize=256)
def _vectorize_function(function: Any, count: int, n_shared: int) -> Any:
    n_in = function.n_in()
    return function.map('mapped', 'serial', count, list(range(n_in - n_shared, n_in)), [])


def map_samples(
    function: Any, columns: Sequence[Array], shared: Sequence[npt.ArrayLike]
) -> tuple[Array, ...]:
    """
    Call a function for many samples.

    ``columns`` are its first inputs, shapes ``(samples, n)``; ``shared`` its other inputs, the
    same for all samples, with matrices column by column. The outputs have shapes ``(samples, n)``,
    with matrices column by column.
    """
    n_samples = len(columns[0])
    results = [np.empty((n_samples, function.numel_out(k))) for k in range(function.n_out())]
    calls: dict[int, Call] = {}
    first = 0
    while first < n_samples:
        left = n_samples - first
        count = next((each for each in CHUNKS if each >= left), CHUNKS[-1])
        if count not in calls:
            calls[count] = call = Call(_vectorize_function(function, count, len(shared)))
            for array, values in zip(call.inputs[len(columns) :], shared, strict=True):
                array[:] = np.asarray(values, dtype=np.float64).ravel()
        call = calls[count]
        rows = slice(first, min(first + count, n_samples))
        used = rows.stop - rows.start
        for array, column in zip(call.inputs, columns, strict=False):
            array.reshape(count, -1)[:used] = column[rows]
            array.reshape(count, -1)[used:] = math.nan
        call.run()
        for array, result in zip(call.outputs, results, strict=True):
            result[rows] = array.reshape(count, -1)[:used]
        first = rows.stop
    return tuple(results)
