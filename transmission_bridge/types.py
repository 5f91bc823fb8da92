# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Types of arrays by their contents: annotations of all rooms, which check and convert nothing.

Shapes are in the docstrings of the functions.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

#: Numbers.
Array: TypeAlias = npt.NDArray[np.float64]

#: Booleans, one for each element.
Mask: TypeAlias = npt.NDArray[np.bool_]

#: Indices.
Index: TypeAlias = npt.NDArray[np.intp]

#: No numbers: the array of an interface that a message does not have. Read-only, because all such
#: messages share it.
EMPTY: Array = np.empty(0)
EMPTY.setflags(write=False)
