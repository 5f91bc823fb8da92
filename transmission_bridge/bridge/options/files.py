# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The files that hold parameters and numbers: of ROS, and of the parameter ``tuned_file``.

The node and tools read and write them. The form of ``tuned_file`` is fixed, because robots have
such files: JSON, ``{"node": NODE, "transmissions": {NAME: {"type": TYPE, "numbers": {PARAMETER:
[NUMBER, NUMBER OF THE URDF]}}}}``. Only the node writes it: an empty one when it is configured,
then the numbers of its services.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
import json
import os
from pathlib import Path
import re
import shutil
from typing import Any, NamedTuple

from transmission_bridge.bridge.options.options import list_parameter_names, PREFIX, strip_prefixes
from transmission_bridge.description import Finding
from transmission_bridge.description.document import parse_number
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.transmissions import RobotTransmissions, Tunable

#: The key of the parameters of a node in a parameter file of ROS.
PARAMETERS = 'ros__parameters'

#: Infinity in YAML.
_INFINITE = ('.inf', '+.inf', '-.inf')

#: Maximum length of an error of the parser.
_LONGEST = 200


def read_yaml_parameters(data: bytes) -> dict[str, list[tuple[str, Any]]]:
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
    if re.fullmatch('[-+]?0[0-7]+', leaf.value):  # the node would read 012 as 10
        raise ValueError('a number without a leading zero, which YAML 1.1 reads as octal')
    return parse_number(leaf.value)


def describe_yaml_node(leaf: Any) -> str:
    """Return the value of a YAML node for an error."""
    return shown(leaf.value) if leaf.id == 'scalar' else f'a {leaf.id}'


def describe_damaged_files(arguments: Sequence[str]) -> str:
    """Return a sentence about the first parameter file that is not YAML; rcl names no line."""
    for option, name in pairwise(arguments):
        if option == '--params-file' and Path(name).is_file():  # a pipe can be read once
            try:
                with suppress(OSError):
                    read_yaml_parameters(Path(name).read_bytes())
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
                nodes = tuple(read_yaml_parameters(Path(name).read_bytes()))
                forms = '|'.join(map(re.escape, nodes))
                forms = forms.replace(r'/\*\*', r'(/\w+)*').replace(r'/\*', r'/\w+')
                if not nodes or not re.fullmatch(forms, ours):
                    found = f'parameters of {shortened(nodes) or "no node"}'
                    yield (
                        f"parameter file '{name}' is not used: expected parameters of "
                        f"{shown(ours)} or '/**', found {found}"
                    )


#: What a file of another program raises when it is read.
_DAMAGED = ValueError, LookupError, TypeError, AttributeError, RecursionError


class _Entry(NamedTuple):
    """
    The entry of a transmission; its fields are the keys in the file.

    :param numbers: By parameter, a number and the URDF's number that it replaced.
    """

    type: str
    numbers: dict[str, tuple[float, float]]


class TunedFile:
    """
    The numbers in a ``tuned_file``, read again for each call.

    The node and ``compile`` read it; two nodes do not share one.

    :param path: The file, ``~`` for the home folder.
    :param node: Name of the bridge with its namespace; empty to read the file of any bridge.
    """

    def __init__(self, path: str, node: str = '') -> None:
        self._path = os.path.expanduser(path)
        self._node = node

    def read_tuned_numbers(
        self, robot: RobotTransmissions, overrides: Mapping[str, float | bool]
    ) -> tuple[dict[str, float], tuple[Finding, ...]]:
        """
        Return the valid numbers, and a finding for each transmission with invalid numbers.

        :param robot: The robot.
        :param overrides: Numbers of the parameter file, which override these, by parameter.
            Another offset, limit or torque constant is used; another number is an error, because
            the others are not valid with it.
        :returns: No numbers if the file is missing.
        :raises ParameterError: If it cannot be read, or belongs to another node.
        """
        values: dict[str, float] = {}
        findings = []
        for name, entry in self._read_entries().items():
            if reason := _explain_rejection(robot, name, entry, overrides):
                text = f'tuned_file: the numbers of {shown(name)} are rejected: {reason}'
                findings.append(Finding('error', text, subject=name))
            else:
                values |= {key: number for key, (number, _) in entry.numbers.items()}
        return values, tuple(findings)

    @contextmanager
    def keep_numbers(
        self,
        robot: RobotTransmissions,
        changes: Mapping[str, float],
        overrides: Mapping[str, float | bool],
    ) -> Iterator[str]:
        """
        Write numbers, and what they depend on, to the file atomically when the block succeeds.

        Numbers of other transmissions stay in the file. Errors occur before the block begins.

        :param robot: The robot with its present numbers.
        :param changes: New numbers by parameter.
        :param overrides: Numbers of the parameter file for the next start.
        :returns: What is stored, in a sentence.
        :raises ParameterError: If the file cannot be used, or if the parameter file would override
            a number on which others depend.
        :raises MessageError: If the file cannot be written (``not_kept``).
        """
        entries, tunables = self._read_entries(), list_parameter_names(robot).tunables
        stored: dict[str, tuple[float, float]] = {}
        for name in {tunables[change].transmission for change in changes}:
            entries[name] = _make_entry(robot, name, changes, entries.get(name))
            if reason := _explain_rejection(robot, name, entries[name], overrides):
                raise ParameterError(f'tuned_file cannot keep the numbers: {reason}')
            stored |= entries[name].numbers
        differences, hidden = [], []
        for key, (number, urdf) in stored.items():
            if key not in changes and number != urdf:
                differences.append(f'{key.removeprefix(PREFIX)} {number!r} (URDF {urdf!r})')
            if overrides.get(key, number) != number:
                hidden.append(key)
        text = f'stored in {self._path!r} together with the numbers that differ from the URDF: '
        text += shortened(differences, show=str) or 'none'
        if hidden:
            text += f'; at the next start the parameter file overrides {shortened(hidden)}'
        target, done = os.path.realpath(self._path), ''  # of a link, the linked file
        partial = f'{target}.partial'
        try:
            with open(partial, 'wb') as file:
                file.write(self._format_entries(entries))
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(target, partial)
            yield text
            done = 'the numbers are set, but '
            os.replace(partial, target)
        except OSError as error:
            text = f'{done}tuned_file {shown(self._path)} cannot be written: {error}'
            raise MessageError('not_kept', text) from error
        finally:
            with suppress(OSError):
                os.unlink(partial)

    def _read_entries(self) -> dict[str, _Entry]:
        """Return type and numbers of each transmission; a missing file is made for this node."""
        try:
            if self._node:
                with suppress(FileExistsError), open(self._path, 'xb') as new:
                    new.write(self._format_entries({}))
            if not os.path.isfile(self._path):  # opening a pipe would wait for a writer
                raise ValueError('a folder, pipe, socket or device')
            with open(self._path, 'rb') as file:
                document = json.load(file, object_pairs_hook=_make_object)
            if self._node not in ('', document['node']):
                owner = repr(document['node'])[:100]
                raise ValueError(f'the file of {owner}, and a file belongs to one node')
            entries = {}
            for name, entry in document['transmissions'].items():
                pairs = entry['numbers'].items()
                numbers = {key: (float(number), float(urdf)) for key, (number, urdf) in pairs}
                entries[name] = _Entry(entry['type'], numbers)
        except (OSError, *_DAMAGED) as error:
            raise ParameterError(
                f'tuned_file {shown(self._path)} cannot be used',
                parameter='tuned_file',
                expected=f'a file that {shown(self._node)} has written',
                found=str(error),
            ) from None
        return entries

    def _format_entries(self, entries: Mapping[str, _Entry]) -> bytes:
        transmissions = {name: entry._asdict() for name, entry in entries.items()}
        document = {'node': self._node, 'transmissions': transmissions}
        return (json.dumps(document, indent=1) + '\n').encode()


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(content := dict(pairs)) < len(pairs):
        raise ValueError('a key twice')
    return content


def _list_tunables(robot: RobotTransmissions, name: str) -> dict[str, Tunable]:
    """Return the numbers of a transmission by parameter."""
    tunables = list_parameter_names(robot).tunables.items()
    return {key: tunable for key, tunable in tunables if tunable.transmission == name}


def _make_entry(
    robot: RobotTransmissions, name: str, changes: Mapping[str, float], before: _Entry | None
) -> _Entry:
    """Return the numbers of a transmission to keep, with those that were kept before."""
    tunables = _list_tunables(robot, name)
    numbers = {key: tunable.value for key, tunable in tunables.items() if tunable.shapes_map}
    numbers |= {key: changes[key] for key in tunables if key in changes}
    entry = _Entry(
        robot.description.transmission(name).type,
        {key: (number, tunables[key].default) for key, number in numbers.items()},
    )
    if before is not None and before.type == entry.type:
        for key, (number, urdf) in before.numbers.items():
            if key in tunables and urdf == tunables[key].default:
                entry.numbers.setdefault(key, (number, urdf))
    return entry


def _explain_rejection(
    robot: RobotTransmissions, name: str, entry: _Entry, overrides: Mapping[str, float | bool]
) -> str:
    """Return the reason why the numbers of a transmission are not valid; empty if they are."""
    tunables, numbers = _list_tunables(robot, name), entry.numbers
    type_name = robot.description.transmission(name).type if name in robot.transmissions else None
    old = {'type': entry.type, **{key: urdf for key, (_, urdf) in numbers.items()}}
    new: dict[str, Any] = {
        key: one.default for key, one in tunables.items() if one.shapes_map or key in old
    }
    new['type'] = type_name
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            return f'they replaced {key} = {old.get(key)!r}, but the URDF now has {new.get(key)!r}'
    for key, (number, _) in numbers.items():
        # Other numbers are also valid with another offset.
        is_dependency = tunables[key].shapes_map and tunables[key].path[-1] != 'offset'
        if is_dependency and key in overrides and overrides[key] != number:
            return f'{key} is {number!r}, but {overrides[key]!r} in the parameter file'
    try:
        robot.with_parameters(strip_prefixes({key: pair[0] for key, pair in numbers.items()}))
    except TransmissionBridgeError as error:
        return str(error)
    return ''
