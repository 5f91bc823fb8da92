# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read and write the file of the parameter ``tuned_file``: numbers set by services.

It is a ROS parameter file for one bridge and for a node that does not exist::

    /left/transmission_bridge:
      ros__parameters:
        transmissions.wrist.joints.roll.mechanical_reduction: -50.0
        transmissions.wrist.joints.roll.offset: 0.1
    /replaced:
      ros__parameters:
        urdf.wrist.joints.roll.mechanical_reduction: 50.0
        urdf.wrist.joints.roll.offset: 0.0

It has every live number on which the positions of a transmission depend, because a number is
valid only with the others. Units of drivers are not live, and not in the file. A number under
``/replaced`` is the number of the URDF that was replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
import fcntl
import os
import shutil
from typing import Any

from transmission_bridge.bridge.options.options import (
    format_yaml_number,
    list_parameter_names,
    PREFIX,
)
from transmission_bridge.bridge.options.parameter_file import (
    describe_leaf,
    PARAMETERS,
    read_number,
    read_parameters,
)
from transmission_bridge.description import Finding
from transmission_bridge.errors import (
    closest,
    MessageError,
    ParameterError,
    shortened,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.transmissions import RobotTransmissions, Tunable

_HEADING = """\
# Numbers set by services of transmission_bridge (parameter tuned_file), with the other numbers on
# which the positions of their transmission depend. Each number under /replaced is the number of
# the URDF that was replaced. If the URDF has another number now, all numbers of the transmission
# are rejected: remove their lines, or set the numbers again.
"""

_REPLACED, _URDF = '/replaced', 'urdf.'

#: Maximum size of the file [bytes].
_LARGEST = 1 << 20

#: Permissions of a new file, before the mask of the process.
_MODE = 0o644


@contextmanager
def replace_file(path: str, make_data: Callable[[], bytes]) -> Iterator[None]:
    """
    Write a file next to the target, and atomically replace the target if the block succeeds.

    The new file is complete on the disk before the block begins. So after a power failure at any
    time, the target is the old file or the new one. One process at a time can have the new file;
    others fail at once. If a process ends early, the next one uses its file. If the target is a
    link, the linked file is replaced.

    :param path: The target.
    :param make_data: Returns its new contents. It may read the target, which no other process
        replaces before the end of the block.
    :raises OSError: If it cannot be written; the target is unchanged.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    made = os.path.join(folder, f'.{name[:100]}.partial')
    handle = os.open(made, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _MODE)
    with open(handle, 'r+b') as file:
        _lock_file(handle, made)
        try:
            file.truncate(0)
            file.write(make_data())
            file.flush()
            os.fsync(handle)
            if os.path.exists(target):
                shutil.copymode(target, made)
            yield
            os.replace(made, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(made)
            raise
        # The new name is on the disk after a sync of the folder.
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _lock_file(handle: int, path: str) -> None:
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # If a process has finished since the opening, the handle is the target.
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return
    raise OSError('another process is writing it, try again')


class TunedFile:
    """
    The numbers in the file.

    :param path: The file, ``~`` for the home folder; it may be missing, but not its folder.
    :param node: Name of the bridge with its namespace; empty to read the file of any bridge.
    """

    def __init__(self, path: str, node: str = '') -> None:
        self._path = os.path.expanduser(path)
        self._node = node

    def read_tuned_numbers(self) -> dict[str, tuple[float, float]]:
        """
        Return the number of each parameter, and the number of the URDF that it replaced.

        :returns: Empty if the file is missing.
        :raises ParameterError: If it cannot be read, its folder does not exist, or it was not
            written by a bridge of this name.
        """
        folder = os.path.dirname(os.path.realpath(self._path))
        if not os.path.isdir(folder):
            raise self._make_error('a file in a folder that exists', f'no folder {shown(folder)}')
        if os.path.exists(self._path) and not os.path.isfile(self._path):
            # Opening a pipe would wait for a writer.
            raise self._make_error('a regular file', 'a folder, pipe, socket or device')
        try:
            with open(self._path, 'rb') as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._make_error('a file that can be read', str(error)) from None
        if len(data) > _LARGEST:
            raise self._make_error(f'at most {_LARGEST} bytes', 'more')
        try:
            nodes = read_parameters(data)
        except ValueError as error:
            raise self._make_error('a parameter file', str(error)) from None
        found = shortened(tuple(nodes)) or 'none'
        old = nodes.pop(_REPLACED, None)
        if old is None or len(nodes) != 1:
            raise self._make_error(f'numbers of one node and of {_REPLACED}', found)
        ((node, new),) = nodes.items()
        if self._node not in ('', node):
            raise self._make_error(
                f'numbers of {shown(self._node)}, because a file belongs to one node',
                f'numbers of {shown(node)}',
            )
        numbers, replaced = self._read_numbers(new, PREFIX), self._read_numbers(old, _URDF)
        for name in numbers.keys() ^ replaced.keys():
            raise self._make_error(
                f'{shown(name)} under both {shown(node)} and {_REPLACED}', 'one of them'
            )
        return {name: (numbers[name], replaced[name]) for name in numbers}

    def _read_numbers(self, leaves: Collection[tuple[str, Any]], prefix: str) -> dict[str, float]:
        """Return the numbers of a node by parameter."""
        numbers = {}
        for name, leaf in leaves:
            if not name.startswith(prefix):
                raise self._make_error(f'names that begin with {prefix}', shown(name))
            try:
                numbers[PREFIX + name.removeprefix(prefix)] = read_number(leaf)
            except ValueError as error:
                raise self._make_error(f'{error} for {shown(name)}', describe_leaf(leaf)) from None
        return numbers

    def _make_error(self, expected: str, found: str) -> ParameterError:
        return ParameterError(
            f'tuned_file {shown(self._path)} cannot be used',
            parameter='tuned_file',
            expected=expected,
            found=found,
        )

    def check_numbers(
        self, robot: RobotTransmissions, given: Mapping[str, float | bool]
    ) -> tuple[dict[str, float], tuple[Finding, ...]]:
        """
        Return the valid numbers, and a finding for each transmission with an invalid number.

        :param robot: The robot with the numbers of its URDF.
        :param given: Numbers of the parameter file, which override these, by parameter. Another
            offset, limit or torque constant is used; another number is an error, because the
            others are not valid with it (:func:`is_dependency`).
        :raises ParameterError: As :meth:`read_tuned_numbers`.
        """
        tunables = list_parameter_names(robot).tunables
        groups: dict[str, dict[str, tuple[float, float]]] = {}
        for name, pair in self.read_tuned_numbers().items():
            about = tunables[name].transmission if name in tunables else name
            groups.setdefault(about, {})[name] = pair
        values: dict[str, float] = {}
        findings = []
        for about, group in groups.items():
            reason = f'this robot has no such parameter{closest(about, tunables)}'
            if about not in group:
                reason = _explain_rejection(robot, tunables, group, given)
            if reason:
                text = f'tuned_file: the numbers of {shown(about)} are rejected: {reason}'
                findings.append(Finding('error', text, subject=about))
            else:
                values |= {name: number for name, (number, _) in group.items()}
        return values, tuple(findings)

    @contextmanager
    def keep_numbers(self, changes: Mapping[str, tuple[float, float]]) -> Iterator[None]:
        """
        Write numbers to the file atomically when the block succeeds.

        Other numbers in the file stay. Errors occur before the block begins.

        :param changes: As :meth:`read_tuned_numbers` returns them.
        :raises MessageError: If the file cannot be written (``not_kept``).
        """
        is_done = False
        try:
            with replace_file(self._path, lambda: self._merge_numbers(changes)):
                yield
                is_done = True
        except MessageError:  # from the block
            raise
        except (OSError, ValueError, ParameterError) as error:
            done = 'the numbers are set, but ' if is_done else ''
            raise MessageError(
                'not_kept', f'{done}tuned_file {shown(self._path)} cannot be written: {error}'
            ) from error

    def _merge_numbers(self, changes: Mapping[str, tuple[float, float]]) -> bytes:
        assert self._node, 'a file belongs to one node'
        lines, numbers = [], {**self.read_tuned_numbers(), **changes}
        for node, prefix, place in ((self._node, PREFIX, 0), (_REPLACED, _URDF, 1)):
            lines += [f'{node}:', f'  {PARAMETERS}:']
            lines += [
                f'    {prefix}{name.removeprefix(PREFIX)}: {format_yaml_number(pair[place])}'
                for name, pair in sorted(numbers.items())
            ]
        return (_HEADING + '\n'.join(lines) + '\n').encode()


def list_position_numbers(
    tunables: Mapping[str, Tunable], transmissions: Collection[str]
) -> dict[str, float]:
    """
    Return every number on which the positions of transmissions depend, by parameter.

    :param tunables: The numbers of a robot by parameter.
    :param transmissions: Names.
    """
    return {
        name: tunable.value
        for name, tunable in tunables.items()
        if tunable.transmission in transmissions and tunable.shapes_map
    }


def is_dependency(tunable: Tunable) -> bool:
    """Return whether other numbers are valid only with its value: that of an offset can differ."""
    return tunable.shapes_map and tunable.path[-1] != 'offset'


def _explain_rejection(
    robot: RobotTransmissions,
    tunables: Mapping[str, Tunable],
    group: Mapping[str, tuple[float, float]],
    given: Mapping[str, float | bool],
) -> str:
    """Return the reason why the numbers of a transmission are not valid; empty if they are."""
    transmissions = {tunables[name].transmission for name in group}
    for name in list_position_numbers(tunables, transmissions).keys() - group.keys():
        return f'{shown(name)}, on which its positions depend, is missing'
    for name, (number, replaced) in group.items():
        now = tunables[name].value
        if now != replaced:
            was = f'{shown(name)} = {number!r} replaced {replaced!r}'
            return f'{was}, but the URDF now has {now!r}'
        if is_dependency(tunables[name]) and given.get(name, number) != number:
            return f'{shown(name)} is {number!r}, but {given[name]!r} in the parameter file'
    try:
        robot.with_parameters({name.removeprefix(PREFIX): pair[0] for name, pair in group.items()})
    except TransmissionBridgeError as error:
        return str(error)
    return ''
