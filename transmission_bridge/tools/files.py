# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Input files, YAML, files of parameters, and atomic output files.

Commands use it. Parameter files must be accepted exactly as the node accepts them:
``bridge.options`` parses, this module adds file, line and :class:`UsageError`. Its sentences need
a noun phrase as text of each ValueError of :func:`read_number`. Nodes read the written files, so
ROS defines their form; comments in them are free to change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
import json
import math
import os
from pathlib import Path
import re
import shutil
import stat
import tempfile
import textwrap
from typing import Any

from transmission_bridge.bridge.options import (
    BridgeOptions,
    describe_yaml_node,
    format_yaml_number,
    PARAMETERS,
    PREFIX,
    read_number,
    read_yaml_parameters,
)
from transmission_bridge.tools.cli import import_optional, UsageError


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """
    Check that a path is a regular file: reading a pipe or a device may never end.

    :raises OSError: If it is something else, or cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"'{path}' is not a regular file")
    with open(path, 'rb'):
        pass


#: What PyYAML also raises.
_DAMAGED = ValueError, LookupError, AttributeError, TypeError, RecursionError


def parse_yaml_file(
    data: bytes, name: str, *, as_text: bool = False, most_aliases: int = 0
) -> Any:
    """
    Return the content of a YAML file.

    :param name: Name of the file, for errors.
    :param as_text: Whether scalars stay texts.
    :param most_aliases: Largest number of aliases, because many could expand without limit.
    :raises UsageError: If it is not YAML, or has more aliases.
    """
    yaml = import_optional('yaml', 'cli')
    try:
        text = data.decode('utf-8-sig')
        count = sum(isinstance(token, yaml.AliasToken) for token in yaml.scan(text))
        if count > most_aliases:
            raise ValueError(f'{count} aliases, at most {most_aliases} are read')
        return yaml.load(text, yaml.BaseLoader if as_text else yaml.SafeLoader)
    except (yaml.YAMLError, *_DAMAGED) as error:
        reason = ' '.join(str(error).split())[:200]
        raise UsageError(f"'{name}': expected YAML, found: {reason}") from None


def check_output_path(path: str, *, force: bool, marker: str = '') -> None:
    """
    Check that a file or folder may be written.

    :param force: Whether to replace an existing one.
    :param marker: File that an existing folder must contain to be replaced.
    :raises UsageError: If it may not.
    """
    target = Path(path)
    if not target.name or '\0' in path:
        raise UsageError(f"cannot write '{path}': it is not a file name")
    if not target.parent.is_dir():
        raise UsageError(f"cannot write '{path}': there is no folder '{target.parent}'")
    if not os.path.lexists(target):
        return
    if not force:
        raise UsageError(f"'{path}' already exists; --force replaces it")
    if target.is_dir() and not (marker and (target / marker).is_file()):
        raise UsageError(f"'{path}' is a folder, which is not replaced")


@contextmanager
def safe_output(path: str, *, force: bool, marker: str = '') -> Iterator[str]:
    """
    Yield a temporary path to write, and move it to the target at the end.

    The path is in a temporary folder beside the target. The folder is always removed, also if the
    block raises. If the target is a link, its destination is replaced.

    :param path: The target.
    :param force: Whether to replace an existing one.
    :param marker: As in :func:`check_output_path`.
    :raises UsageError: If it cannot be written, or may not.
    """
    check_output_path(path, force=force, marker=marker)
    target = Path(os.path.realpath(path))
    with _report_write_errors(path):
        parent = tempfile.mkdtemp('.partial', f'.{target.name[:100]}.', target.parent)
    try:
        made = Path(parent) / target.name
        yield str(made)
        check_output_path(path, force=force, marker=marker)
        with _report_write_errors(path):
            if os.path.lexists(target) and (target.is_dir() or made.is_dir()):
                aside = Path(parent) / 'replaced'
                os.rename(target, aside)
                try:
                    os.rename(made, target)
                except OSError:
                    os.rename(aside, target)
                    raise
            else:
                os.replace(made, target)
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@contextmanager
def _report_write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def write_output(path: str, data: bytes, *, force: bool) -> None:
    """
    Write a file, with the permissions of the replaced file.

    :param force: Whether to replace an existing one.
    :raises UsageError: If it cannot be written, or may not.
    """
    with safe_output(path, force=force) as made, _report_write_errors(path):
        Path(made).write_bytes(data)
        if os.path.exists(path):
            shutil.copymode(path, made)


_BOOL = 'tag:yaml.org,2002:bool'
_TEXT = 'tag:yaml.org,2002:str'

#: Expected types, in the words of the node.
_EXPECTED = {bool: 'true or false', str: 'text', tuple: 'a list of texts'}


def read_parameter_file(data: bytes, name: str, options: Collection[str] = ()) -> dict[str, Any]:
    """
    Return numbers of transmissions by their full names, and options of the bridge.

    :param data: The file.
    :param name: Its name, for errors.
    :param options: Names of the options of :class:`BridgeOptions` that are read; they are in the
        result if they are in the file.
    :raises UsageError: If it is not a parameter file, a value has the wrong type, or two nodes
        disagree.
    """
    kinds = {field.name: type(field.default) for field in fields(BridgeOptions)}
    values: dict[str, Any] = {}
    for path, leaf in _iterate_yaml_leaves(data, name):
        is_number = path.startswith(PREFIX)
        # An empty list has no type, so a node ignores it.
        if not is_number and (path not in options or leaf.value == []):
            continue
        where = f"'{name}', line {leaf.start_mark.line + 1}: {path}"
        try:
            value = _parse_value(leaf, float if is_number else kinds[path])
        except ValueError as error:
            raise UsageError(
                f'{where}: expected {error}, found {describe_yaml_node(leaf)}'
            ) from None
        if values.setdefault(path, value) != value:
            raise UsageError(f'{where} is given twice, as {values[path]!r} and {value!r}')
    return values


def find_parameter_line(data: bytes, name: str, parameter: str) -> str:
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
    if kind is tuple and leaf.id == 'sequence' and all(item.tag == _TEXT for item in leaf.value):
        return tuple(item.value for item in leaf.value)
    raise ValueError(_EXPECTED[kind])


def _iterate_yaml_leaves(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """Yield name and YAML node of every parameter in the file."""
    import_optional('yaml', 'cli')
    try:
        nodes = read_yaml_parameters(data)
    except ValueError as error:
        raise UsageError(f"'{name}' cannot be used: {error}") from None
    if not nodes:
        raise UsageError(f"'{name}' is not a ROS parameter file: it has no {PARAMETERS}")
    for leaves in nodes.values():
        yield from leaves


#: The full name of a parameter, its value, ``None`` if it is not set, and a remark.
Entry = tuple[str, Any, str]

#: A name that needs no quotes.
_PLAIN = re.compile(r'[A-Za-z_][\w./-]*')

#: The name of every node, and what a file with it says about that.
_EVERY_NODE = '/**'
_ABOUT_EVERY_NODE = (
    '/** is every node that reads this file: if there are several bridges, write the name of one, '
    'as /left/transmission_bridge'
)


def format_parameters(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield parameters, without those that are not set, each as a line of YAML."""
    for name, value, remark in entries:
        if value is not None:
            key = name if _PLAIN.fullmatch(name) else json.dumps(name)
            yield f'{key}: {_format_value(value)}' + (f'  # {remark}' if remark else '')


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        return '.nan' if math.isnan(value) else format_yaml_number(value)
    if isinstance(value, list):
        return f'[{", ".join(map(_format_value, value))}]'
    if isinstance(value, str):
        yaml = import_optional('yaml', 'cli')
        # Always quoted, so that no text is read as a number; and on one line.
        quoted: str = yaml.safe_dump(value, default_style='"', width=math.inf)
        return quoted.rstrip('\n')
    return str(value)


def is_parameter_file(name: str) -> bool:
    """Return whether numbers are written into a file of this name as parameters."""
    return name.lower().endswith(('.yaml', '.yml'))


def format_parameter_file(entries: Iterable[Entry], node: str = '', heading: str = '') -> str:
    """
    Return a parameter file.

    :param entries: Each parameter.
    :param node: Name of the bridge with its namespace; empty if no bridge is known, then the file
        is for every node.
    :param heading: Lines of a comment at the top.
    """
    remarks = heading.splitlines() + ([] if node else textwrap.wrap(_ABOUT_EVERY_NODE, 97))
    head = [f'# {line}'.rstrip() for line in remarks]
    head += [f'{node or _EVERY_NODE}:', f'  {PARAMETERS}:']
    return '\n'.join([*head, *(f'    {line}' for line in format_parameters(entries))]) + '\n'
