# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Small CasADi expressions that compiled functions share; unknown numbers are NaN."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, TypeAlias

import casadi as ca

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
    first, *others = conditions
    for other in others:
        first = ca.logic_and(first, other)
    return first


def make_switch(name: str, given: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Return a function of a condition, inputs, and values that are kept if it is false."""
    kept = [ca.MX.sym('kept', output.sparsity()) for output in outputs]
    arguments = [*given, *kept]
    return ca.Function.if_else(
        name, ca.Function('do', arguments, outputs), ca.Function('keep', arguments, kept)
    )
