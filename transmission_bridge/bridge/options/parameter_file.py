# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read a ROS parameter file.

Nested names and names with dots are read, for any number of nodes. Unlike plain values, nodes of
YAML contain line numbers and quotes. Aliases are rejected, as by rcl: with them, a few hundred
bytes expand to gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
import re
from typing import Any

from transmission_bridge.description.document import parse_number
from transmission_bridge.errors import shortened, shown

PARAMETERS = 'ros__parameters'

#: Infinity in YAML.
_INFINITE = ('.inf', '+.inf', '-.inf')

#: Maximum length of an error of the parser.
_LONGEST = 200


def read_parameters(data: bytes) -> dict[str, list[tuple[str, Any]]]:
    """
    Return the name and the YAML node of every parameter, by name of the ROS node.

    :param data: The file.
    :returns: Empty if it is not a parameter file. Names of ROS nodes are as ``/left/bridge``.
    :raises ValueError: If it is not YAML, or has aliases.
    """
    import yaml  # slow, and only files need it

    try:
        root = yaml.compose(data.decode('utf-8-sig'), Loader=yaml.SafeLoader)
    except RecursionError:
        raise ValueError('it is not YAML: nested too deep') from None
    except Exception as error:  # PyYAML also raises ValueError and others
        raise ValueError(f'it is not YAML: {" ".join(str(error).split())[:_LONGEST]}') from None
    by_node: dict[str, list[tuple[str, Any]]] = {}
    visited = set()
    stack: list[tuple[Any, str, str | None]] = [(root, '', None)]
    while stack:
        node, owner, path = stack.pop()
        if id(node) in visited:  # an alias is the node of its anchor
            raise ValueError(f'it has an alias of line {node.start_mark.line + 1}')
        visited.add(id(node))
        parameters = by_node.setdefault(owner, []) if path is not None else []
        if getattr(node, 'id', '') == 'mapping':
            for key, value in reversed(node.value):
                if key.id != 'scalar':
                    raise ValueError(f'line {key.start_mark.line + 1} has a {key.id} as a name')
                name = key.value
                if path is not None:
                    stack.append((value, owner, f'{path}.{name}' if path else name))
                elif name == PARAMETERS:
                    stack.append((value, owner, ''))
                else:  # a namespace may be a level of its own
                    stack.append((value, f'{owner}/{name.strip("/")}', None))
        elif path:
            parameters.append((path, node))
    return by_node


def read_number(leaf: Any) -> float:
    """
    Return the number of a YAML node.

    :raises ValueError: If it is not a number (a quoted number is text), with the expected type.
    """
    if leaf.id != 'scalar' or leaf.style is not None:
        raise ValueError('a number')
    if leaf.value in _INFINITE:  # an open limit
        return float(leaf.value.replace('.', ''))
    return parse_number(leaf.value)


def describe_leaf(leaf: Any) -> str:
    """Return the value of a YAML node for an error."""
    return shown(leaf.value) if leaf.id == 'scalar' else f'a {leaf.id}'


def describe_damaged_files(arguments: Sequence[str]) -> str:
    """Return a sentence about the first parameter file that is not YAML; rcl names no line."""
    for option, name in pairwise(arguments):
        if option == '--params-file' and Path(name).is_file():  # a pipe can be read once
            try:
                with suppress(OSError):
                    read_parameters(Path(name).read_bytes())
            except ValueError as error:
                return f"parameter file '{name}': {error}"
    return ''


def warn_of_unused_parameter_files(arguments: Sequence[str], ours: str) -> Iterator[str]:
    """
    Yield a warning for each parameter file without parameters of this node: rcl ignores it.

    :param arguments: The command line; rcl has already read its files.
    :param ours: The node's name with its namespace.
    """
    for option, name in pairwise(arguments):
        # A pipe is empty now. A file that cannot be read is left to rcl.
        if option == '--params-file' and Path(name).is_file():
            with suppress(OSError, ValueError):
                nodes = tuple(read_parameters(Path(name).read_bytes()))
                if not any(_matches_node(node, ours) for node in nodes):
                    found = f'parameters of {shortened(nodes) or "no node"}'
                    yield (
                        f"parameter file '{name}' is not used: expected parameters of "
                        f"{shown(ours)} or '/**', found {found}"
                    )


def _matches_node(name: str, ours: str) -> bool:
    pattern = re.escape(name).replace(r'/\*\*', r'(/\w+)*').replace(r'/\*', r'/\w+')
    return re.fullmatch(pattern, ours) is not None
