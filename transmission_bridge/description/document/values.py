# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read the values of descriptions: numbers, booleans, vectors.

The tables of elements name the readers; other rooms read numbers of files and options by
:func:`parse_number`. The accepted texts are fixed, because users have them in their files; the
expectations are sentences, and free to change.
"""

from __future__ import annotations

import math
import re

#: White space of XML; ``str.strip()`` without it would also remove no-break spaces.
XML_SPACE = ' \t\n\r'

# -- Numbers --------------------------------------------------------------------------------------


#: The two numbers that both dialects define for the joints and actuators of a transmission: fields
#: of the specs, and parts of the names of parameters.
MECHANICAL_REDUCTION = 'mechanical_reduction'
OFFSET = 'offset'

#: Values of a limit that is off.
INFINITE = ('inf', '-inf')

_NUMBER = re.compile(r'[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')
#: Expressions of xacro.
_XACRO = re.compile(r'\$[({]')


def parse_number(text: str) -> float:
    """
    Convert a text to a finite number, in every locale alike.

    ::

        number = [+-] (digits [. digits*] | . digits) [(e|E) [+-] digits]

    Narrower than :class:`float`, which also reads ``nan``, ``inf``, ``1_000`` and non-ASCII
    digits, and turns ``1e400`` into infinity and ``1e-400`` into zero.

    Source: the casts of ros2_control (``lexical_casts.cpp``), without its silent default.

    :param text: The text; surrounding white space is allowed.
    :raises ValueError: If the text is not a finite decimal number. The message is the expectation.
    """
    stripped = text.strip(XML_SPACE)
    if _NUMBER.fullmatch(stripped) is None:
        if _XACRO.search(stripped):
            raise ValueError('a number: xacro was not run, give the output of "xacro FILE"')
        raise ValueError('a decimal number such as 50, -1.5 or 2e-3')
    value = float(stripped)
    is_lost = value == 0.0 and re.search('[1-9]', re.split('[eE]', stripped)[0])
    if math.isinf(value) or is_lost:
        raise ValueError('a number within the range of double precision')
    return value


# -- Values of attributes and texts --------------------------------------------------------------
#
# Each reader raises :class:`InvalidValue` if the text is not such a value.


_INTEGER = re.compile(r'[+-]?[0-9]{1,18}')
_SPACES = re.compile(r'[ \t\n\r]+')


class InvalidValue(ValueError):
    """
    The text of a value is invalid.

    :ivar expected: The expectation.
    :ivar found: The text, shortened.
    """

    def __init__(self, expected: str, found: str) -> None:
        self.expected = expected
        self.found = f"'{found if len(found) <= 60 else found[:60] + '…'}'"
        super().__init__(f'expected {expected}, found {self.found}')


def read_number(text: str) -> float:
    """Read a finite number."""
    try:
        return parse_number(text)
    except ValueError as error:
        raise InvalidValue(str(error), text.strip(XML_SPACE)) from None


def read_ratio(text: str) -> float:
    """Read a finite number other than zero."""
    value = read_number(text)
    if value == 0.0:
        raise InvalidValue('a number other than zero', text.strip(XML_SPACE))
    return value


def read_integer(text: str, *, least: int, most: int = 2**31 - 1) -> int:
    """Read an integer from ``least`` to ``most``."""
    stripped = text.strip(XML_SPACE)
    if _INTEGER.fullmatch(stripped) is None or not least <= int(stripped) <= most:
        raise InvalidValue(f'an integer from {least} to {most}', stripped)
    return int(stripped)


def read_update_rate(text: str) -> int:
    """Read an integer from 0; an empty text is 0."""
    return read_integer(text, least=0, most=2**32 - 1) if text else 0


def read_magnitude(text: str) -> float:
    """Read a finite number and drop its sign."""
    return abs(read_number(text))


def read_boolean(text: str) -> bool:
    """Read ``true`` or ``false`` in any case."""
    stripped = text.strip(XML_SPACE)
    value = {'true': True, 'false': False}.get(stripped.lower())
    if value is None:
        raise InvalidValue('true or false', stripped)
    return value


def read_vector(text: str) -> tuple[float, float, float]:
    """Read three numbers, separated by white space."""
    x, y, z = _read_number_list(text, 3, 'three numbers')
    return x, y, z


def read_quaternion(text: str) -> tuple[float, float, float, float]:
    """Read a quaternion x, y, z, w and normalise it."""
    values = _read_number_list(text, 4, 'four numbers')
    # Divided by the largest component first, so that no square overflows or underflows.
    scale = max(map(abs, values))
    if scale == 0.0:
        raise InvalidValue('a quaternion other than 0 0 0 0', text)
    norm = math.hypot(*(value / scale for value in values))
    x, y, z, w = (value / scale / norm for value in values)
    return x, y, z, w


def read_color(text: str) -> tuple[float, float, float, float]:
    """Read red, green, blue and opacity, each clipped to 0 to 1."""
    values = _read_number_list(text, 4, 'four numbers')
    red, green, blue, alpha = (min(max(value, 0.0), 1.0) for value in values)
    return red, green, blue, alpha


def _read_number_list(text: str, count: int, expected: str) -> list[float]:
    words = [word for word in _SPACES.split(text) if word]
    if len(words) != count:
        raise InvalidValue(expected, text)
    return [read_number(word) for word in words]
