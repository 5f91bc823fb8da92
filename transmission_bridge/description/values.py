# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Values of attributes and texts: numbers, ratios, integers, booleans, vectors, quaternions."""

from __future__ import annotations

import math
import re

from transmission_bridge.description.numbers import parse_number
from transmission_bridge.description.xml import XML_SPACE

__all__ = ['ValueFault', 'boolean', 'integer', 'number', 'quaternion', 'ratio', 'vector']

_INTEGER = re.compile(r'[+-]?[0-9]{1,18}')
_SPACES = re.compile(r'[ \t\n\r]+')


class ValueFault(ValueError):
    """
    A text that is not the value asked for.

    :ivar expected: What would have been right.
    :ivar found: The text, shortened where it is long.
    """

    def __init__(self, expected: str, found: str) -> None:
        self.expected = expected
        self.found = f"'{found if len(found) <= 60 else found[:60] + '…'}'"
        super().__init__(f'expected {expected}, found {self.found}')


def number(text: str) -> float:
    """
    Return the finite number that a text is.

    :raises ValueFault: If it is none.
    """
    try:
        return parse_number(text)
    except ValueError as error:
        raise ValueFault(str(error), text.strip(XML_SPACE)) from None


def ratio(text: str) -> float:
    """
    Return the finite number other than zero that a text is.

    :raises ValueFault: If it is none.
    """
    value = number(text)
    if value == 0.0:
        raise ValueFault('a number other than zero', text.strip(XML_SPACE))
    return value


def integer(text: str, *, least: int, most: int = 2**31 - 1) -> int:
    """
    Return the integer that a text is.

    :raises ValueFault: If it is none, or outside ``least`` to ``most``.
    """
    stripped = text.strip(XML_SPACE)
    if _INTEGER.fullmatch(stripped) is None or not least <= int(stripped) <= most:
        raise ValueFault(f'an integer from {least} to {most}', stripped)
    return int(stripped)


def boolean(text: str) -> bool:
    """
    Return the boolean that a text is: ``true`` or ``false`` in any case.

    :raises ValueFault: If it is neither.
    """
    stripped = text.strip(XML_SPACE)
    value = {'true': True, 'false': False}.get(stripped.lower())
    if value is None:
        raise ValueFault('true or false', stripped)
    return value


def vector(text: str) -> tuple[float, float, float]:
    """
    Return the three numbers, separated by white space, that a text is.

    :raises ValueFault: If there are not exactly three, or one of them is no number.
    """
    x, y, z = _numbers(text, 3, 'three numbers')
    return x, y, z


def quaternion(text: str) -> tuple[float, float, float, float]:
    """
    Return the four numbers x, y, z, w that a text is, as a quaternion of norm 1.

    :raises ValueFault: If there are not exactly four, one of them is no number, or all are zero.
    """
    values = _numbers(text, 4, 'four numbers')
    # By the largest component first, so that no square overflows or vanishes.
    scale = max(map(abs, values))
    if scale == 0.0:
        raise ValueFault('a quaternion other than 0 0 0 0', text)
    norm = math.hypot(*(value / scale for value in values))
    x, y, z, w = (value / scale / norm for value in values)
    return x, y, z, w


def _numbers(text: str, count: int, expected: str) -> list[float]:
    words = [word for word in _SPACES.split(text) if word]
    if len(words) != count:
        raise ValueFault(expected, text)
    return [number(word) for word in words]
