# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The grammar of numbers in descriptions: the whole text, finite, the same in every locale."""

from __future__ import annotations

import math
import re

__all__ = ['parse_number']

_NUMBER = re.compile(r'[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')


def parse_number(text: str) -> float:
    """
    Return the number that a stripped text is, as a whole.

    ::

        number = [+-] (digits [. digits*] | . digits) [(e|E) [+-] digits]

    Narrower than :class:`float`, which also reads ``nan``, ``inf``, ``1_000`` and non-ASCII
    digits, and turns ``1e400`` into infinity and ``1e-400`` into zero.

    Source: the casts of ros2_control (``lexical_casts.cpp``), without its silent default.

    :param text: The text, surrounding white space allowed.
    :raises ValueError: If it is no finite decimal number; the message says what was expected.
    """
    stripped = text.strip(' \t\r\n')
    if _NUMBER.fullmatch(stripped) is None:
        raise ValueError('a decimal number such as 50, -1.5 or 2e-3')
    value = float(stripped)
    if math.isinf(value):
        raise ValueError('a number within the range of double precision')
    mantissa = re.split('[eE]', stripped)[0]
    if value == 0.0 and any(digit in '123456789' for digit in mantissa):
        raise ValueError('a number within the range of double precision')
    return value
