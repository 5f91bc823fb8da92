# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read and write the file of the parameter ``tuned_file``: offsets set by services.

It is a ROS parameter file for the bridge and for a node that does not exist::

    /**:
      ros__parameters:
        transmissions.wrist.joints.roll.offset: 0.1
    /replaced:
      ros__parameters:
        urdf.wrist.joints.roll.offset: 0.0

A number under ``/replaced`` is the number of the URDF that the offset replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
import math
import os
import shutil
import tempfile
from typing import Any

import yaml

from transmission_bridge.bridge.options import format_yaml_number, PREFIX, strip_prefixes
from transmission_bridge.description import Finding
from transmission_bridge.errors import (
    closest,
    MessageError,
    ParameterError,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.transmissions import RobotTransmissions

_HEADING = """\
# Offsets set by services of transmission_bridge (parameter tuned_file). Each number under
# /replaced is the number of the URDF that the offset replaced. If the URDF has another number now,
# the offset is rejected: remove both lines, or set the offset again.
"""

_NODE, _REPLACED = '/**', '/replaced'
_PARAMETERS, _URDF = 'ros__parameters', 'urdf.'

#: Maximum size of the file [bytes].
_LARGEST = 1 << 20

#: Permissions of a new file, before the mask of the process.
_MODE = 0o644


@contextmanager
def replace_file(path: str, data: bytes) -> Iterator[None]:
    """
    Write a file next to the target, and atomically replace the target if the block succeeds.

    The new file is complete on the disk before the block begins. So after a power failure at any
    time, the target is the old file or the new one. If the target is a link, the linked file is
    replaced.

    :param path: The target.
    :param data: Its new contents.
    :raises OSError: If it cannot be written; the target is unchanged.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    handle, made = tempfile.mkstemp(prefix=f'.{name[:100]}.', suffix='.partial', dir=folder)
    try:
        with open(handle, 'wb') as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, made)
        else:
            os.chmod(made, _MODE)
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


class TunedFile:
    """
    The numbers in the file.

    :param path: The file, ``~`` for the home folder; it may be missing.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path)

    def read_tuned_numbers(self) -> dict[str, tuple[float, float]]:
        """
        Return the number of each parameter, and the number of the URDF that it replaced.

        :returns: Empty if the file is missing.
        :raises ParameterError: If it cannot be read, or was not written by a bridge.
        """
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
            root = yaml.safe_load(data.decode('utf-8'))
        except Exception as error:  # many classes: for numbers, times, nesting, tags
            found = ' '.join(str(error).split()) or type(error).__name__
            raise self._make_error('YAML', found[:200]) from None
        numbers = self._select_numbers(root, _NODE, PREFIX)
        replaced = self._select_numbers(root, _REPLACED, _URDF)
        for name in numbers.keys() ^ replaced.keys():
            raise self._make_error(f"'{name}' under both {_NODE} and {_REPLACED}", 'one of them')
        return {name: (numbers[name], replaced[name]) for name in numbers}

    def _select_numbers(self, root: Any, node: str, prefix: str) -> dict[str, float]:
        """Return the numbers of a node by parameter."""
        parameters = root
        for key in (node, _PARAMETERS):
            parameters = parameters.get(key) if isinstance(parameters, dict) else None
        if not isinstance(parameters, dict):
            raise self._make_error(f'{node} with {_PARAMETERS}', 'none')
        numbers = {}
        for name, value in parameters.items():
            if not isinstance(name, str) or not name.startswith(prefix):
                raise self._make_error(f'names that begin with {prefix}', shown(str(name)))
            # By its exact type, because a boolean is an int.
            if type(value) not in (int, float) or not math.isfinite(value):
                raise self._make_error(f'a finite number for {shown(name)}', shown(repr(value)))
            numbers[PREFIX + name.removeprefix(prefix)] = float(value)
        return numbers

    def _make_error(self, expected: str, found: str) -> ParameterError:
        return ParameterError(
            f'tuned_file {shown(self._path)} cannot be used',
            parameter='tuned_file',
            expected=expected,
            found=found,
        )

    def check_numbers(
        self, robot: RobotTransmissions, urdf: Mapping[str, float | bool]
    ) -> tuple[dict[str, float], tuple[Finding, ...]]:
        """
        Return the numbers that are valid for a robot, and a finding for each of the others.

        :param robot: The robot with the numbers of its URDF.
        :param urdf: The numbers of its URDF by parameter.
        :raises ParameterError: As :meth:`read_tuned_numbers`.
        """
        reasons: dict[str, str] = {}
        numbers = self.read_tuned_numbers()
        for name, (_, replaced) in numbers.items():
            if name not in urdf:
                reasons[name] = f'this robot has no such parameter{closest(name, urdf)}'
            elif urdf[name] != replaced:
                reasons[name] = f'it replaced {replaced!r}, but the URDF now has {urdf[name]!r}'
        values = {name: number for name, (number, _) in numbers.items() if name not in reasons}
        if _explain_mismatch(robot, values):
            for name, value in values.items():
                reasons[name] = _explain_mismatch(robot, {name: value})
            values = {name: value for name, value in values.items() if not reasons[name]}
        return values, tuple(
            Finding(
                'error',
                f'tuned_file: {shown(name)} = {numbers[name][0]!r} is rejected: {reason}',
                subject=name,
            )
            for name, reason in reasons.items()
            if reason
        )

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
            data = _format_numbers({**self.read_tuned_numbers(), **changes}).encode()
            with replace_file(self._path, data):
                yield
                is_done = True
        except MessageError:  # from the block
            raise
        except (OSError, ValueError, ParameterError) as error:
            done = 'the offsets are set, but ' if is_done else ''
            raise MessageError(
                'not_kept', f'{done}tuned_file {shown(self._path)} cannot be written: {error}'
            ) from error


def _explain_mismatch(robot: RobotTransmissions, values: Mapping[str, float]) -> str:
    """Return the reason why a robot cannot have these numbers; empty if it can."""
    try:
        robot.with_parameters(strip_prefixes(values))
    except TransmissionBridgeError as error:
        return str(error)
    return ''


def _format_numbers(numbers: Mapping[str, tuple[float, float]]) -> str:
    lines = []
    for node, prefix, place in ((_NODE, PREFIX, 0), (_REPLACED, _URDF, 1)):
        lines += [f'{node}:', f'  {_PARAMETERS}:']
        lines += [
            f'    {prefix}{name.removeprefix(PREFIX)}: {format_yaml_number(pair[place])}'
            for name, pair in sorted(numbers.items())
        ]
    return _HEADING + '\n'.join(lines) + '\n'
