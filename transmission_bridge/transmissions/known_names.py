# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Names that must not be ignored: of ratios, offsets, limits and units; also misspelt ones.

The reader of descriptions asks for names in a ``<transmission>``, the builder for names beside it.
A name that gets a meaning here can make a URDF of a user invalid, and one that loses it can let a
robot run with a wrong ratio.
"""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
import re

from transmission_bridge.description.document import MECHANICAL_REDUCTION, OFFSET
from transmission_bridge.transmissions.robot.units import UNITS
from transmission_bridge.transmissions.tunable import BY_ROLE

#: Meaning of every limit of a joint or an actuator.
LIMIT = 'limit'

#: Meaning of a flag that ros2_control ignores.
REVERSED = 'reversed'

#: Smallest likeness of names and of words; a word of five letters may have one wrong letter.
_OF_NAMES, _OF_WORDS = 0.85, 0.8
#: Number of compared letters, because names of files have any length.
_COMPARED_LETTERS = 100

#: Words that mean a limit together, in either order.
_BOUNDS = ('limit', 'lower', 'upper', 'min', 'max')
_LIMITED = ('velocity', 'speed', 'effort', 'torque', 'force', 'position')
_PAIRS = [each for pair in product(_BOUNDS, _LIMITED) for each in (pair, pair[::-1])]

#: Meanings of complete names and of words, also of words written as one. A word without a meaning
#: is similar to one that has a meaning.
_NAMES = {
    **{name.replace('_', ''): name for name in (MECHANICAL_REDUCTION, *UNITS, *BY_ROLE)},
    'ignoretransmissionabsoluteencoder': 'ignore_absolute_encoder',
}
_WORDS = {
    **dict.fromkeys((*_BOUNDS, 'minimum', 'maximum', *_LIMITED), LIMIT),
    **{a + b: LIMIT for a, b in _PAIRS},
    **dict.fromkeys(('reduction', 'ratio'), MECHANICAL_REDUCTION),
    **{name: name for name in (OFFSET, REVERSED)},
    'power': '',
}
#: Words that may be misspelt; words written as one are compared exactly.
_SINGLE_WORDS = [word for word in _WORDS if word not in {a + b for a, b in _PAIRS}]
_DECISIVE = ('reduction', 'ratio', 'limit')
_SEPARATORS = re.compile(r'[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?=(?i:reduction|ratio(?!n)))')


@lru_cache(1024)
def find_known_name(name: str) -> str:
    """
    Return the meaning of the known name that is closest to a name.

    Case and separators are ignored; the likeness is computed by :mod:`difflib`. The complete name
    is compared first, then each word. ``reduction``, ``ratio``, ``limit`` and a bound of a
    quantity decide: ``max_motor_velocity`` is a limit. Otherwise all words must have one meaning:
    ``max_gain`` and ``offset_x`` are other numbers. ``position`` alone is also another number.

    :returns: ``mechanical_reduction``, ``offset``, ``limit``, ``reversed``, or the name of a unit
        or a flag; empty for other names.
    """
    words = [word.lower() for word in _SEPARATORS.split(name[:_COMPARED_LETTERS]) if word]
    letters = ''.join(words)
    if close := get_close_matches(letters, _NAMES, 1, _OF_NAMES):
        return _NAMES[close[0]]
    words = [letters] if letters in _WORDS else words
    near = [
        word if word in _WORDS else ''.join(get_close_matches(word, _SINGLE_WORDS, 1, _OF_WORDS))
        for word in words
    ]
    for word in near:
        if word.endswith(_DECISIVE):
            return _WORDS[word]
    if not (set(near).isdisjoint(_BOUNDS) or set(near).isdisjoint(_LIMITED)):
        return LIMIT
    meanings = {_WORDS.get(word, '') for word in near}
    return meanings.pop() if len(meanings) == 1 and near != ['position'] else ''


#: Words in the names of numbers of a drive outside of a ``<transmission>``: where such a number
#: counts, and its values without an effect.
_RATIO = 'its <mechanical_reduction> in a <transmission>', ('1',)
_ZERO = 'its <offset> in a <transmission>', ('0',)
_SIGN = 'a negative <mechanical_reduction> in a <transmission>', ('false', '0', '')
_FOLLOWS = '<mimic joint="..." multiplier="..." offset="..."/> in its <joint> of the URDF', ('',)
_DRIVE = {
    **dict.fromkeys((MECHANICAL_REDUCTION, 'reduction', 'ratio', 'gear', 'gearing'), _RATIO),
    **dict.fromkeys((OFFSET, 'zero'), _ZERO),
    **dict.fromkeys((REVERSED, 'reverse', 'inverted', 'invert', 'flip', 'flipped'), _SIGN),
    **dict.fromkeys(('direction', 'sign'), (_SIGN[0], ('1',))),
    'matrix': ('its matrix in a <transmission> of type CoupledTransmission', ()),
    **dict.fromkeys(('mimic', 'multiplier'), _FOLLOWS),
}
#: Words of numbers that do not map positions.
_OTHER = {'torque', 'effort', 'force', 'current', 'velocity', 'gain', 'inertia', 'covariance'}


def find_drive_parameter(name: str, value: str) -> str:
    """
    Return where a number of a drive counts that is a ``<param>`` outside of a ``<transmission>``.

    :returns: A phrase; empty if the name has no such meaning, or the value has no effect.
    """
    words = [word.lower() for word in _SEPARATORS.split(name[:_COMPARED_LETTERS]) if word]
    if not _OTHER.isdisjoint(words):
        return ''
    for word in (*words, find_known_name(name)):
        if word in _DRIVE:
            phrase, neutral = _DRIVE[word]
            text = value.strip().lower()
            with suppress(ValueError):
                text = f'{float(text):g}'
            return '' if text in neutral else phrase
    return ''
