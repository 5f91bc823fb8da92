# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The file of the parameter ``tuned_file``: offsets that services have set, for the next start.

It is a ROS parameter file, of the bridge and of a node that there is not::

    /**:
      ros__parameters:
        transmissions.wrist.joints.roll.offset: 0.1
    /replaced:
      ros__parameters:
        urdf.wrist.joints.roll.offset: 0.0

What stands under ``/replaced`` is the number of the URDF that the other one replaced.
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
# Offsets that services of transmission_bridge have set (parameter tuned_file). Under /replaced is
# the number of the URDF in the place of which each came. Where the URDF says another one now, the
# offset is refused: remove both lines, or set the offset again.
"""

_NODE, _REPLACED = '/**', '/replaced'
_PARAMETERS, _URDF = 'ros__parameters', 'urdf.'

#: Bytes that a file may have.
_LARGEST = 1 << 20

#: Permissions of a new file, before the process's mask.
_MODE = 0o644


@contextmanager
def replacing(path: str, data: bytes) -> Iterator[None]:
    """
    Write a file beside the target, and move it there if the block ends well.

    The new file is complete on the disk before the block begins, and takes the old one's place in
    one step after it: whenever the power is cut, the target is the old file or the new one. If it
    is a link, what the link leads to is replaced.

    :param path: The target.
    :param data: What it contains afterwards.
    :raises OSError: If it cannot be written; the target is as before.
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
    # The new name is on the disk once the folder is.
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class TunedFile:
    """
    The numbers in the file.

    :param path: The file, ``~`` for the home folder; it need not be there.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path)

    def read(self) -> dict[str, tuple[float, float]]:
        """
        Return the number of each parameter, and that of the URDF which it replaced.

        :returns: Nothing where there is no file.
        :raises ParameterError: If it cannot be read, or was not written by a bridge.
        """
        if os.path.exists(self._path) and not os.path.isfile(self._path):
            # To open a pipe would wait for a writer.
            raise self._error('a regular file', 'a folder, pipe, socket or device')
        try:
            with open(self._path, 'rb') as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._error('a file that can be read', str(error)) from None
        if len(data) > _LARGEST:
            raise self._error(f'at most {_LARGEST} bytes', 'more')
        try:
            root = yaml.safe_load(data.decode('utf-8'))
        except Exception as error:  # nearly every kind: of numbers, times, nesting, tags
            found = ' '.join(str(error).split()) or type(error).__name__
            raise self._error('YAML', found[:200]) from None
        numbers = self._numbers(root, _NODE, PREFIX)
        replaced = self._numbers(root, _REPLACED, _URDF)
        for name in numbers.keys() ^ replaced.keys():
            raise self._error(f"'{name}' under both {_NODE} and {_REPLACED}", 'one of them')
        return {name: (numbers[name], replaced[name]) for name in numbers}

    def _numbers(self, root: Any, node: str, prefix: str) -> dict[str, float]:
        """Return the numbers of a node by the name of the parameter, which has another prefix."""
        parameters = root
        for key in (node, _PARAMETERS):
            parameters = parameters.get(key) if isinstance(parameters, dict) else None
        if not isinstance(parameters, dict):
            raise self._error(f'{node} with {_PARAMETERS}', 'none')
        numbers = {}
        for name, value in parameters.items():
            if not isinstance(name, str) or not name.startswith(prefix):
                raise self._error(f'names that begin with {prefix}', shown(str(name)))
            # A number by its type: true is none.
            if type(value) not in (int, float) or not math.isfinite(value):
                raise self._error(f'a finite number for {shown(name)}', shown(repr(value)))
            numbers[PREFIX + name.removeprefix(prefix)] = float(value)
        return numbers

    def _error(self, expected: str, found: str) -> ParameterError:
        return ParameterError(
            f'tuned_file {shown(self._path)} cannot be used',
            parameter='tuned_file',
            expected=expected,
            found=found,
        )

    def values(
        self, robot: RobotTransmissions, urdf: Mapping[str, float | bool]
    ) -> tuple[dict[str, float], tuple[Finding, ...]]:
        """
        Return the numbers that count for a robot, and a finding for each of the others.

        :param robot: With the numbers of its URDF.
        :param urdf: These by parameter.
        :raises ParameterError: As :meth:`read`.
        """
        reasons: dict[str, str] = {}
        numbers = self.read()
        for name, (_, replaced) in numbers.items():
            if name not in urdf:
                reasons[name] = f'this robot has no such parameter{closest(name, urdf)}'
            elif urdf[name] != replaced:
                reasons[name] = f'it replaced {replaced!r}, and the URDF says {urdf[name]!r} now'
        values = {name: number for name, (number, _) in numbers.items() if name not in reasons}
        if _objection(robot, values):
            for name, value in values.items():
                reasons[name] = _objection(robot, {name: value})
            values = {name: value for name, value in values.items() if not reasons[name]}
        return values, tuple(
            Finding(
                'error',
                f'tuned_file: {shown(name)} = {numbers[name][0]!r} is refused: {reason}',
                subject=name,
            )
            for name, reason in reasons.items()
            if reason
        )

    @contextmanager
    def keeping(self, changes: Mapping[str, tuple[float, float]]) -> Iterator[None]:
        """
        Write numbers to the file when the block has ended well, whole or not at all.

        Other numbers in it stay. Whatever can go wrong does so before the block begins.

        :param changes: As :meth:`read` returns them.
        :raises MessageError: If the file cannot be written (``not_kept``).
        """
        is_done = False
        try:
            with replacing(self._path, _text({**self.read(), **changes}).encode()):
                yield
                is_done = True
        except MessageError:  # of the block
            raise
        except (OSError, ValueError, ParameterError) as error:
            done = 'the offsets are set, but ' if is_done else ''
            raise MessageError(
                'not_kept', f'{done}tuned_file {shown(self._path)} cannot be written: {error}'
            ) from error


def _objection(robot: RobotTransmissions, values: Mapping[str, float]) -> str:
    """Return why a robot cannot have these numbers, empty if it can."""
    try:
        robot.with_parameters(strip_prefixes(values))
    except TransmissionBridgeError as error:
        return str(error)
    return ''


def _text(numbers: Mapping[str, tuple[float, float]]) -> str:
    lines = []
    for node, prefix, place in ((_NODE, PREFIX, 0), (_REPLACED, _URDF, 1)):
        lines += [f'{node}:', f'  {_PARAMETERS}:']
        lines += [
            f'    {prefix}{name.removeprefix(PREFIX)}: {format_yaml_number(pair[place])}'
            for name, pair in sorted(numbers.items())
        ]
    return _HEADING + '\n'.join(lines) + '\n'
