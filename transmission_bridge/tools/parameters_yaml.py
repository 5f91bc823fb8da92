# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Parameter files as the node reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import json
import math
import re

from transmission_bridge.transmissions.tunable import ParameterPath

__all__ = ['parameters_yaml', 'yaml_number']

#: A path below the transmission's name, the value, and a remark.
Entry = tuple[ParameterPath, float, str]

_PLAIN = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_WORDS = ('y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null')


def parameters_yaml(transmissions: Iterable[tuple[str, Iterable[Entry]]], heading: str) -> str:
    """
    Return a parameter file for the numbers of transmissions.

    :param transmissions: The numbers by transmission.
    :param heading: Lines of a comment at the top.
    """
    lines = [f'# {line}'.rstrip() for line in heading.splitlines()]
    lines += ['/**:', '  ros__parameters:', '    transmissions:']
    for name, entries in transmissions:
        nested: dict[str, object] = {}
        for path, value, remark in entries:
            place = nested
            for part in path[:-1]:
                place = place.setdefault(part, {})  # type: ignore[assignment]
            place[path[-1]] = (value, remark)
        if nested:
            lines.append(f'      {_key(name)}:')
            lines += _lines(nested, '        ')
    return '\n'.join(lines) + '\n'


def yaml_number(value: float) -> str:
    """
    Return the shortest text that reads as this number and as no integer.

    A node refuses an integer where a double belongs, and YAML 1.1 takes ``1e-05`` for a text.
    """
    if not math.isfinite(value):
        raise ValueError(f'not a finite number: {value}')
    mantissa, exponent, power = repr(float(value)).partition('e')
    return (mantissa if '.' in mantissa else mantissa + '.0') + exponent + power


def _lines(nested: dict[str, object], indent: str) -> Iterator[str]:
    for key, value in nested.items():
        if isinstance(value, dict):
            yield f'{indent}{_key(key)}:'
            yield from _lines(value, indent + '  ')
        elif isinstance(value, tuple):
            number, remark = value
            comment = f'  # {remark}' if remark else ''
            yield f'{indent}{_key(key)}: {yaml_number(number)}{comment}'


def _key(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else json.dumps(name)
