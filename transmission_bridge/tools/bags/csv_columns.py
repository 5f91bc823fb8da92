# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The columns of joint states in CSV files.

A line is a message::

    time,stamp,topic,left.position,right.position,left.velocity,...

``time`` is when it was received, ``stamp`` (optional, else the same) what its header says, both in
seconds with up to nine decimals. ``topic`` is optional as well. Every other column is named
``name.position``, ``name.velocity`` or ``name.effort``, in SI units. An empty cell is a value that
the message does not hold, ``nan`` one that it holds and that is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['STAMP', 'TIME', 'TOPIC', 'Columns', 'nanoseconds', 'number', 'seconds']

TIME, STAMP, TOPIC = 'time', 'stamp', 'topic'

_BILLION = 10**9
_SECONDS = re.compile(r'(-?)(\d{1,18})(?:\.(\d{1,9})0*)?')
_NUMBER = re.compile(
    r'[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)', re.IGNORECASE
)


@dataclass(frozen=True)
class Columns:
    """
    Where the cells of a line are.

    :param time: Place of the time of receipt.
    :param stamp: Place of the stamp, or ``None``.
    :param topic: Place of the topic, or ``None``.
    :param names: Names, in the order of their first columns.
    :param cells: For position, velocity and effort the place for each name, ``None`` where there
        is no column.
    """

    time: int
    stamp: int | None
    topic: int | None
    names: tuple[str, ...]
    cells: tuple[tuple[int | None, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str]) -> Columns:
        """
        Return the columns of a header.

        :raises ValueError: If it is none of this kind; the message says why.
        """
        titles = [title.strip() for title in header]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"column '{title}' is there twice")
        if TIME not in titles:
            raise ValueError(f"there is no column '{TIME}'")
        places: dict[str, dict[str, int]] = {}
        for place, title in enumerate(titles):
            name, dot, interface = title.rpartition('.')
            if dot and name and interface in FIELDS:
                places.setdefault(name, {})[interface] = place
            elif title not in (TIME, STAMP, TOPIC):
                raise ValueError(
                    f"column '{title}': expected {TIME}, {STAMP}, {TOPIC}, or a name and "
                    f'.position, .velocity or .effort'
                )
        return cls(
            titles.index(TIME),
            titles.index(STAMP) if STAMP in titles else None,
            titles.index(TOPIC) if TOPIC in titles else None,
            tuple(places),
            tuple(tuple(each.get(field) for each in places.values()) for field in FIELDS),
        )


def nanoseconds(text: str) -> int:
    """
    Return a time given in seconds, to the nanosecond.

    :raises ValueError: If it is no decimal number with at most nine decimals.
    """
    match = _SECONDS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a time in seconds with at most nine decimals, found '{text}'")
    sign, whole, fraction = match.groups()
    value = int(whole) * _BILLION + int((fraction or '').ljust(9, '0'))
    return -value if sign else value


def seconds(value: int) -> str:
    """Return nanoseconds as seconds with nine decimals."""
    whole, fraction = divmod(abs(value), _BILLION)
    return f'{"-" if value < 0 else ""}{whole}.{fraction:09d}'


def number(text: str) -> float:
    """
    Return the number that a cell is.

    :raises ValueError: If it is none.
    """
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped) is None:
        raise ValueError(f"expected a number, found '{text}'")
    return float(stripped)
