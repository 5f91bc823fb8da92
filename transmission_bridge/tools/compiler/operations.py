# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The largest number of arithmetic operations of a compiled function."""

from __future__ import annotations

from typing import Any

import casadi as ca


def count_operations(function: Any) -> int:
    """
    Return how many numbers a call of a function computes at most.

    Of two branches the longer one counts; a term of a product of matrices counts as one operation.

    :param function: A function of CasADi.
    """
    return _count(function, {})


def _count(function: Any, known: dict[int, int]) -> int:
    key = hash(function)
    if key not in known:
        if function.is_a('SXFunction'):
            known[key] = int(function.n_instructions())
        elif function.is_a('MXFunction'):
            places = range(function.n_instructions())
            known[key] = sum(_count_instruction(function, k, known) for k in places)
        else:
            branches = function.info()  # of a switch
            known[key] = max(_count(f, known) for f in (*branches['f'], branches['f_def']))
    return known[key]


def _count_instruction(function: Any, place: int, known: dict[int, int]) -> int:
    kind = function.instruction_id(place)
    if kind in (ca.OP_INPUT, ca.OP_OUTPUT):
        return 0
    node = function.instruction_MX(place)
    if kind == ca.OP_CALL:
        return _count(node.which_function(), known)
    # A product is the second factor times the third, added to the first one.
    return int(node.nnz() * (node.dep(1).shape[1] if kind == ca.OP_MTIMES else 1))
