# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Compiled functions of CasADi: small expressions that they share, and how Python calls them.

A call is of one sample with fixed arrays, or of many samples. Unknown numbers are NaN. Only this
room uses it. The expressions also become C code: another order of operations changes last bits of
results, in Python and in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
import math
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import numpy.typing as npt

from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Larger numbers are unknown; CasADi would simplify a comparison of a number with itself.
LARGEST = 1e308


def is_known(number: Expression) -> Expression:
    """Return whether a number is known; CasADi would simplify a comparison with itself."""
    return ca.fabs(number) <= LARGEST


def is_all_known(vector: Expression) -> Expression:
    """Return whether all numbers of a vector are known."""
    return all_of(is_known(each) for each in ca.vertsplit(vector))


def is_any_known(vector: Expression) -> Expression:
    """Return whether any number of a vector is known."""
    return ca.sum1(ca.fabs(vector) <= LARGEST) > 0.0


def known_if(condition: Expression, vector: Expression) -> Expression:
    """Return a vector that is NaN unless the condition holds."""
    return vector + ca.if_else(condition, 0.0, math.nan)


def all_of(conditions: Any) -> Expression:
    """Return whether all of the conditions hold; at least one is required."""
    return reduce(ca.logic_and, conditions)


def make_switch(name: str, given: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Return a function of a condition, inputs, and values that are kept if it is false."""
    kept = [ca.MX.sym('kept', output.sparsity()) for output in outputs]
    arguments = [*given, *kept]
    do, keep = ca.Function('do', arguments, outputs), ca.Function('keep', arguments, kept)
    return ca.Function.if_else(name, do, keep)


# -- calls from Python ----------------------------------------------------------------------------

#: Samples of one call; the last call is padded. Results do not depend on these counts.
CHUNKS = (1, 16, 256)


class CasadiCall:
    """
    A compiled function with the arrays that it reads and writes. Threads must not share it.

    It owns the arrays: a pointer to other arrays could outlive them. ``inputs`` and ``outputs``
    are existing arrays by index; other arrays are new. The caller writes ``inputs``, calls
    ``run``, and reads ``outputs`` before the next call; several calls may share arrays.
    """

    def __init__(
        self,
        function: Any,
        inputs: Mapping[int, Array] | None = None,
        outputs: Mapping[int, Array] | None = None,
    ) -> None:
        self._buffer, self.run = function.buffer()
        sizes = [function.numel_in(k) for k in range(function.n_in())]
        self.inputs = _bind_arrays(self._buffer.set_arg, sizes, inputs or {})
        sizes = [function.numel_out(k) for k in range(function.n_out())]
        self.outputs = _bind_arrays(self._buffer.set_res, sizes, outputs or {})

    def __call__(self, *values: npt.ArrayLike) -> list[Array]:
        """Copy the first inputs, run, and return the outputs; the next call overwrites them."""
        for array, value in zip(self.inputs, values, strict=False):
            array[...] = value
        self.run()
        return self.outputs


def _bind_arrays(
    bind: Callable[..., None], sizes: Sequence[int], given: Mapping[int, Array]
) -> list[Array]:
    arrays = []
    for k, size in enumerate(sizes):
        array = given[k] if k in given else np.full(size, math.nan)
        assert (array.size, array.dtype.type) == (size, np.float64), (k, array)
        bind(k, array.reshape(-1).data)
        arrays.append(array)
    return arrays


@lru_cache(maxsize=256)
def _vectorize_function(function: Any, count: int, n_shared: int) -> Any:
    n_in = function.n_in()
    return function.map('mapped', 'serial', count, list(range(n_in - n_shared, n_in)), [])


def call_for_samples(
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
    calls: dict[int, CasadiCall] = {}
    first = 0
    while first < n_samples:
        left = n_samples - first
        count = next((size for size in CHUNKS if size >= left), CHUNKS[-1])
        if count not in calls:
            calls[count] = call = CasadiCall(_vectorize_function(function, count, len(shared)))
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
