# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The three arrays of a JointState as one, so that one operation does for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ['joined_rows']

_ROWS = 3


def joined_rows(
    doubles: NDArray[np.float64], lengths: tuple[int, int, int]
) -> NDArray[np.float64] | None:
    """
    Return a view of position, velocity and effort as they lie in a serialised message.

    Between two arrays that are not empty lie four bytes of length and four of padding: one word.

    :param doubles: The words of the message from the first position on, and one more behind the
        last effort.
    :param lengths: Of position, velocity and effort.
    :returns: Shape ``(3, n)``; ``None`` where an array is empty or of another length.
    """
    length = lengths[0]
    if length == 0 or lengths != (length,) * _ROWS:
        return None
    return doubles[: _ROWS * (length + 1)].reshape(_ROWS, length + 1)[:, :length]
