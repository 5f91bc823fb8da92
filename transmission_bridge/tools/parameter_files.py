# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of transmissions in a ROS parameter file, and the options of the bridge.

Both spellings are read, nested and with dots in the names, of any number of nodes, as people write
them and as ``ros2 param dump`` does::

    /**:
      ros__parameters:
        transmissions:
          wrist: {joints: {roll: {offset: 0.1}}}
        transmissions.wrist.joints.pitch.offset: -0.2
        actuator_names: [M1=wrist_motor]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import Field, fields
import json
import math
import re
from typing import Any

from transmission_bridge.bridge.options import BridgeOptions, PREFIX, yaml_number
from transmission_bridge.description.values import parse_number
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.yaml_text import compose_yaml, YamlError
from transmission_bridge.transmissions.tunable import ParameterPath

__all__ = ['parameters_yaml', 'read_options', 'read_parameter_file']

_PARAMETERS = 'ros__parameters'
#: Deepest nesting, and most values; aliases could make a small file endless.
_DEEPEST, _MOST = 32, 100_000
_BOOL = 'tag:yaml.org,2002:bool'
_TEXT = 'tag:yaml.org,2002:str'

#: In the node's words.
_EXPECTED = {bool: 'true or false', str: 'text', tuple: 'a list of texts'}


def read_parameter_file(data: bytes, name: str) -> dict[str, float | bool]:
    """
    Return the parameters of transmissions by their full names.

    :param data: The file.
    :param name: Its name, for errors.
    :raises UsageError: If it is not a parameter file, a value is not a number, or two nodes
        disagree.
    """
    values: dict[str, float | bool] = {}
    for path, leaf in _parameters(data, name):
        if path.startswith(PREFIX):
            _note(values, path, _value(leaf, path, name), leaf, name)
    return values


def read_options(data: bytes, name: str, wanted: Collection[str]) -> dict[str, Any]:
    """
    Return options of the bridge as :class:`BridgeOptions` takes them.

    :param data: The file.
    :param name: Its name, for errors.
    :param wanted: The names of the options.
    :raises UsageError: If it is not a parameter file, a value has the wrong type, or two nodes
        disagree.
    """
    options = {option.name: option for option in fields(BridgeOptions) if option.name in wanted}
    values: dict[str, Any] = {}
    for path, leaf in _parameters(data, name):
        option = options.get(path)
        # An empty list has no type, and is no value for a node.
        if option is not None and not (leaf.id == 'sequence' and not leaf.value):
            _note(values, path, _option_value(leaf, option, name), leaf, name)
    return values


def _note(values: dict[str, Any], path: str, value: Any, leaf: Any, name: str) -> None:
    if values.setdefault(path, value) != value:
        raise UsageError(
            f"'{name}', line {_line(leaf)}: {path} is given twice, as {values[path]!r} "
            f'and {value!r}'
        )


def _parameters(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """Yield name and node of every parameter in the file."""
    try:
        root = compose_yaml(data.decode('utf-8-sig'))
    except (YamlError, UnicodeDecodeError) as error:
        raise UsageError(f"'{name}' is not YAML: {error}") from None
    n_nodes = 0
    for node in _parameter_nodes(root, name, 0):
        n_nodes += 1
        for number, parameter in enumerate(_leaves(node, name, '', 0)):
            if number >= _MOST:
                raise UsageError(f"'{name}' holds more than {_MOST} values")
            yield parameter
    if not n_nodes:
        raise UsageError(f"'{name}' is not a ROS parameter file: it has no {_PARAMETERS}")


def _pairs(node: Any) -> list[tuple[Any, Any]]:
    """Return the entries of a mapping; other nodes have none."""
    if getattr(node, 'id', '') != 'mapping':
        return []
    return list(node.value)


def _parameter_nodes(node: Any, file: str, depth: int) -> Iterator[Any]:
    if depth > _DEEPEST:
        raise UsageError(f"'{file}' is nested too deep")
    for key, value in _pairs(node):
        if key.value == _PARAMETERS:
            yield value
        else:
            yield from _parameter_nodes(value, file, depth + 1)


def _leaves(node: Any, file: str, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise UsageError(f"'{file}' is nested too deep")
    for key, value in _pairs(node):
        name = key.value if isinstance(key.value, str) else ''
        below = f'{path}.{name}' if path else name
        if getattr(value, 'id', '') == 'mapping':
            yield from _leaves(value, file, below, depth + 1)
        else:
            yield below, value


def _value(leaf: Any, path: str, name: str) -> float | bool:
    """
    Return a number, or true or false.

    :raises UsageError: If it is neither; a quoted number is text.
    """
    text = leaf.value if isinstance(leaf.value, str) else ''
    if leaf.tag == _BOOL:
        return text.lower() in ('true', 'yes', 'on')
    try:
        if leaf.id != 'scalar' or leaf.style is not None:
            raise ValueError('a number')
        if text in _INFINITE:  # a limit that is open
            return math.copysign(math.inf, -1.0 if text.startswith('-') else 1.0)
        return parse_number(text)
    except ValueError as error:
        found = repr(text) if leaf.id == 'scalar' else f'a {leaf.id}'
        raise UsageError(
            f"'{name}', line {_line(leaf)}: {path}: expected {error}, found {found}"
        ) from None


def _option_value(leaf: Any, option: Field[Any], name: str) -> Any:
    kind = type(option.default)
    if kind is float:
        return _value(leaf, option.name, name)
    if kind is bool and leaf.tag == _BOOL:
        return leaf.value.lower() in ('true', 'yes', 'on')
    if kind is str and leaf.tag == _TEXT:
        return leaf.value
    if kind is tuple and leaf.id == 'sequence' and all(each.tag == _TEXT for each in leaf.value):
        return tuple(each.value for each in leaf.value)
    found = repr(leaf.value) if leaf.id == 'scalar' else f'a {leaf.id}'
    raise UsageError(
        f"'{name}', line {_line(leaf)}: {option.name}: expected {_EXPECTED[kind]}, found {found}"
    )


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


#: How YAML writes infinity.
_INFINITE = ('.inf', '+.inf', '-.inf')

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
