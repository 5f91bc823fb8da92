# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The largest number of arithmetic operations of a compiled function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca


@lru_cache(maxsize=256)
def count_operations(function: Any) -> int:
    """
    Return how many numbers a call of a function computes at most.

    Of two branches the longer one counts; a term of a product of matrices counts as one operation.

    :param function: A function of CasADi.
    """
    if function.is_a('SXFunction'):
        return int(function.n_instructions())
    if function.is_a('MXFunction'):
        return sum(_count_instruction(function, k) for k in range(function.n_instructions()))
    branches = function.info()  # of a switch
    return max(map(count_operations, (*branches['f'], branches['f_def'])))


def _count_instruction(function: Any, place: int) -> int:
    kind = function.instruction_id(place)
    if kind in (ca.OP_INPUT, ca.OP_OUTPUT):
        return 0
    node = function.instruction_MX(place)
    if kind == ca.OP_CALL:
        return count_operations(node.which_function())
    # A product is the second factor times the third, added to the first one.
    return int(node.nnz() * (node.dep(1).shape[1] if kind == ca.OP_MTIMES else 1))
