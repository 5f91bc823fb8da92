# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the nodes' command lines. Imports nothing of ROS."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
import re
import signal
from typing import Any

from transmission_bridge.errors import shortened, shown

__all__ = ['add_urdf', 'files_of_others', 'own_arguments', 'read_urdf']


def own_arguments(arguments: Sequence[str]) -> list[str]:
    """Return a command line without its ROS arguments (``--ros-args`` to ``--`` or the end)."""
    own: list[str] = []
    in_ros = False
    for argument in arguments:
        if argument == '--ros-args':
            in_ros = True
        elif in_ros and argument == '--':
            in_ros = False
        elif not in_ros:
            own.append(argument)
    return own


def add_urdf(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--urdf FILE``."""
    parser.add_argument(
        '--urdf',
        type=Path,
        metavar='FILE',
        help='robot description to use instead of the parameter or topic robot_description',
    )


def read_urdf(parser: argparse.ArgumentParser, path: Path | None) -> str:
    """
    Return the text of the file, empty if none was named.

    A file that cannot be read ends the process with exit code 2, as argparse does; Ctrl-C during
    the reading ends it with 130.
    """
    if path is None:
        return ''
    try:
        # Inside, because this import is slow and a signal must not meet it unhandled.
        from transmission_bridge.description.source import description_text, read_file

        return description_text(read_file(path), name=str(path))
    except KeyboardInterrupt:
        # A pipe may block; nothing has been started yet, so the process ends like a command.
        raise SystemExit(128 + signal.SIGINT) from None
    except (OSError, ValueError) as error:
        parser.error(f'--urdf {path}: {getattr(error, "strerror", None) or error}')


def files_of_others(arguments: Sequence[str], ours: str) -> Iterator[str]:
    """
    Yield a sentence for each parameter file that says nothing to this node: rcl ignores it.

    :param arguments: The command line; rcl has read its files already.
    :param ours: The node's name with its namespace.
    """
    import yaml  # slow, as in read_urdf

    for option, name in pairwise(arguments):
        # A pipe is empty by now. What PyYAML reads in another way than rcl is left alone.
        if option == '--params-file' and Path(name).is_file():
            with suppress(OSError, ValueError, yaml.YAMLError):
                nodes = tuple(_nodes(yaml.safe_load(Path(name).read_bytes())))
                if not any(_is_meant(each, ours) for each in nodes):
                    yield (
                        f"parameter file '{name}' is not used: expected parameters of "
                        f"{shown(ours)} or '/**', found those of {shortened(nodes) or 'nobody'}"
                    )


def _nodes(root: Any, above: str = '') -> Iterator[str]:
    """Yield the name of each node that has parameters; namespaces may be levels of their own."""
    for key, value in root.items() if isinstance(root, dict) else ():
        if key == 'ros__parameters':
            yield above
        else:
            yield from _nodes(value, f'{above}/{str(key).strip("/")}')


def _is_meant(name: str, ours: str) -> bool:
    pattern = re.escape(name).replace(r'/\*\*', r'(/\w+)*').replace(r'/\*', r'/\w+')
    return re.fullmatch(pattern, ours) is not None
