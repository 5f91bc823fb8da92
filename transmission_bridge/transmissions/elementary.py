# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Elementary functions of numbers and of arrays under the same names.

The equations of a mechanism are written once, over an :class:`Elementary`: with :data:`ARRAYS`
they map batches; with :data:`NUMBERS` one sample of a live stream, for which the calls of numpy
would cost many times the arithmetic. Both give the same to rounding; the arc tangent and the
hypotenuse of numpy may differ from those of the C library in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any, Generic, TypeVar

import numpy as np

from transmission_bridge.transmissions.affine_map import Array

__all__ = ['ARRAYS', 'NUMBERS', 'Elementary', 'Real']

#: What the equations of a mechanism are about: one number each, or arrays of shape ``(...)``.
Real = TypeVar('Real', float, Array)


@dataclass(frozen=True)
class Elementary(Generic[Real]):
    """
    Functions as numpy names them.

    Where there is no answer, arrays hold NaN; for numbers a :class:`ValueError` or an
    :class:`ArithmeticError` is raised, as for a division by zero.
    """

    sin: Callable[[Real], Real]
    cos: Callable[[Real], Real]
    sqrt: Callable[[Real], Real]
    hypot: Callable[[Real, Real | float], Real]
    arctan2: Callable[[Real | float, Real], Real]
    rint: Callable[[Real], Real]
    where: Callable[[Any, Real | float, Real | float], Real]


def _where(condition: bool, one: float, other: float) -> float:
    return one if condition else other


def _rint(number: float) -> float:
    return float(round(number))


ARRAYS: Elementary[Array] = Elementary(
    sin=np.sin,
    cos=np.cos,
    sqrt=np.sqrt,
    hypot=np.hypot,
    arctan2=np.arctan2,
    rint=np.rint,
    where=np.where,
)

NUMBERS: Elementary[float] = Elementary(
    sin=math.sin,
    cos=math.cos,
    sqrt=math.sqrt,
    hypot=math.hypot,
    arctan2=math.atan2,
    rint=_rint,
    where=_where,
)
