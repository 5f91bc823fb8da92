# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers in descriptions: their grammar, the same in every locale, and what they are called."""

from __future__ import annotations

import math
import re

__all__ = ['MECHANICAL_REDUCTION', 'OFFSET', 'field_meant', 'parse_number']

#: The two numbers that both dialects define for the members of a transmission.
MECHANICAL_REDUCTION = 'mechanical_reduction'
OFFSET = 'offset'

_NUMBER = re.compile(r'[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')
#: What xacro replaces by its value.
_XACRO = re.compile(r'\$[({]')
_SEPARATORS = re.compile(r'[\W_]+')
_CAMEL_CASE = re.compile('(?<=[a-z0-9])(?=[A-Z])')
_RATIO = re.compile('reduction|ratio(?!n)')
_MOST_EDITS = 2


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
        if _XACRO.search(stripped):
            raise ValueError('a number: xacro was not run, give what "xacro FILE" prints')
        raise ValueError('a decimal number such as 50, -1.5 or 2e-3')
    value = float(stripped)
    if math.isinf(value):
        raise ValueError('a number within the range of double precision')
    mantissa = re.split('[eE]', stripped)[0]
    if value == 0.0 and any(digit in '123456789' for digit in mantissa):
        raise ValueError('a number within the range of double precision')
    return value


def field_meant(name: str) -> str | None:
    """
    Return which of the two numbers of a member a name is like.

    A name is like ``mechanical_reduction`` or ``offset`` if at most two letters are wrong,
    missing, too many or swapped with the next, whatever its case and separators; or like the first
    if it contains ``reduction`` or ``ratio``. ``offset_x`` is the name of another number, and
    ``acceleration`` contains no ratio.

    :returns: :data:`MECHANICAL_REDUCTION`, :data:`OFFSET`, or ``None``.
    """
    words = [word for word in _SEPARATORS.split(_CAMEL_CASE.sub('_', name).lower()) if word]
    if any(_RATIO.search(word) for word in words):
        return MECHANICAL_REDUCTION
    letters = ''.join(words)
    if _is_near(letters, 'mechanicalreduction'):
        return MECHANICAL_REDUCTION
    if _is_near(letters, OFFSET) and (OFFSET not in words or len(words) == 1):
        return OFFSET
    return None


def _is_near(text: str, other: str) -> bool:
    """Whether at most two letters differ: one more, one less, another, or two swapped."""
    if abs(len(text) - len(other)) > _MOST_EDITS:
        return False
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(text, 1):
        row = [i]
        for k, wanted in enumerate(other, 1):
            edits = min(rows[-1][k] + 1, row[-1] + 1, rows[-1][k - 1] + (letter != wanted))
            if i > 1 and k > 1 and text[i - 2 : i] == other[k - 1] + other[k - 2]:
                edits = min(edits, rows[-2][k - 2] + 1)
            row.append(edits)
        rows.append(row)
    return rows[-1][-1] <= _MOST_EDITS
