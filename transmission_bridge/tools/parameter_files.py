# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of transmissions in a ROS parameter file, and the options of the bridge.

As written by hand and by ``ros2 param dump``, for any number of nodes::

    /**:
      ros__parameters:
        transmissions:
          wrist: {joints: {roll: {offset: 0.1}}}
        transmissions.wrist.joints.pitch.offset: -0.2
        actuator_names: [M1=wrist_motor]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields
import json
import re
import textwrap
from typing import Any

from transmission_bridge.bridge.options import (
    BridgeOptions,
    describe_leaf,
    format_yaml_number,
    PARAMETERS,
    PREFIX,
    read_number,
    read_parameters,
)
from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.transmissions import ParameterPath

_BOOL = 'tag:yaml.org,2002:bool'
_TEXT = 'tag:yaml.org,2002:str'

#: Expected types, in the words of the node.
_EXPECTED = {bool: 'true or false', str: 'text', tuple: 'a list of texts'}


def read_parameter_file(data: bytes, name: str) -> dict[str, float | bool]:
    """
    Return the parameters of transmissions by their full names.

    :param data: The file.
    :param name: Its name, for errors.
    :raises UsageError: If it is not a parameter file, a value is not a number, or two nodes
        disagree.
    """
    return _read_values(data, name, lambda path: float if path.startswith(PREFIX) else None)


def read_options(data: bytes, name: str, wanted: Collection[str]) -> dict[str, Any]:
    """
    Return options of the bridge, as for :class:`BridgeOptions`.

    :param data: The file.
    :param name: Its name, for errors.
    :param wanted: The names of the options.
    :raises UsageError: If it is not a parameter file, a value has the wrong type, or two nodes
        disagree.
    """
    kinds = {field.name: type(field.default) for field in fields(BridgeOptions)}
    return _read_values(data, name, lambda path: kinds[path] if path in wanted else None)


def place_of(data: bytes, name: str, parameter: str) -> str:
    """
    Return the file and the first line of a parameter, for errors.

    :raises UsageError: If it is not a parameter file.
    """
    lines = (
        leaf.start_mark.line
        for path, leaf in _iterate_yaml_leaves(data, name)
        if path == parameter
    )
    line = next(lines, None)
    return f"'{name}'" if line is None else f"'{name}', line {line + 1}"


def _read_values(data: bytes, name: str, kind_of: Callable[[str], type | None]) -> dict[str, Any]:
    """Return the values of parameters with a type, by name."""
    values: dict[str, Any] = {}
    for path, leaf in _iterate_yaml_leaves(data, name):
        kind = kind_of(path)
        # An empty list has no type, so a node ignores it.
        if kind is None or (leaf.value == [] and not path.startswith(PREFIX)):
            continue
        place = f"'{name}', line {leaf.start_mark.line + 1}: {path}"
        try:
            value = _parse_value(leaf, kind)
        except ValueError as error:
            raise UsageError(f'{place}: expected {error}, found {describe_leaf(leaf)}') from None
        if values.setdefault(path, value) != value:
            raise UsageError(f'{place} is given twice, as {values[path]!r} and {value!r}')
    return values


def _parse_value(leaf: Any, kind: type) -> Any:
    """
    Return the value of a node; true and false are also numbers.

    :raises ValueError: If it has another type (a quoted number is text), with the expected one.
    """
    if leaf.tag == _BOOL and kind in (bool, float):
        return leaf.value.lower() in ('true', 'yes', 'on')
    if kind is float:
        return read_number(leaf)
    if kind is str and leaf.tag == _TEXT:
        return leaf.value
    if kind is tuple and leaf.id == 'sequence' and all(each.tag == _TEXT for each in leaf.value):
        return tuple(each.value for each in leaf.value)
    raise ValueError(_EXPECTED[kind])


def _iterate_yaml_leaves(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """Yield name and YAML node of every parameter in the file."""
    optional('yaml', 'cli')
    try:
        nodes = read_parameters(data)
    except ValueError as error:
        raise UsageError(f"'{name}' cannot be used: {error}") from None
    if not nodes:
        raise UsageError(f"'{name}' is not a ROS parameter file: it has no {PARAMETERS}")
    for leaves in nodes.values():
        yield from leaves


#: A path below the transmission's name, the value, and a remark.
Entry = tuple[ParameterPath, float, str]

#: A name that needs no quotes.
_PLAIN = re.compile(r'[A-Za-z_][\w./-]*')

#: The name of every node, and what a file with it says about that.
_EVERY_NODE = '/**'
_ABOUT_EVERY_NODE = (
    '/** is every node that reads this file: if there are several bridges, write the name of one, '
    'as /left/transmission_bridge'
)


def format_numbers(transmissions: Iterable[tuple[str, Iterable[Entry]]]) -> Iterator[str]:
    """Yield a line for each number of each transmission."""
    for name, entries in transmissions:
        for path, value, remark in entries:
            full = PREFIX + '.'.join((name, *path))
            key = full if _PLAIN.fullmatch(full) else json.dumps(full)
            yield f'{key}: {format_yaml_number(value)}' + (f'  # {remark}' if remark else '')


def format_parameter_file(lines: Iterable[str], node: str = '', heading: str = '') -> str:
    """
    Return a parameter file.

    :param lines: ``name: value`` of each parameter.
    :param node: Name of the bridge with its namespace; empty if no bridge is known, then the file
        is for every node.
    :param heading: Lines of a comment at the top.
    """
    remarks = heading.splitlines() + ([] if node else textwrap.wrap(_ABOUT_EVERY_NODE, 97))
    head = [f'# {line}'.rstrip() for line in remarks]
    head += [f'{node or _EVERY_NODE}:', f'  {PARAMETERS}:']
    return '\n'.join([*head, *(f'    {line}' for line in lines)]) + '\n'
