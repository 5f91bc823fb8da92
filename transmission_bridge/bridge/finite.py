# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Asking of a whole array, many times a millisecond, whether everything in it is known."""

from __future__ import annotations

import numpy as np

from transmission_bridge.transmissions.affine_map import Array

__all__ = ['FiniteCheck']


class FiniteCheck:
    """
    Whether all of an array is finite, at a third of the price of ``np.isfinite(x).all()``.

    :param size: Number of elements of the arrays that will be asked about.
    """

    def __init__(self, size: int) -> None:
        self._mask = np.empty(size, dtype=np.bool_)
        self._all = np.ones(size, dtype=np.bool_).tobytes()

    def __call__(self, values: Array) -> bool:
        """Return whether every element of ``values``, shape ``(size,)``, is finite."""
        np.isfinite(values, self._mask)
        return self._mask.tobytes() == self._all
