# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the nodes' command lines. Imports nothing of ROS."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import signal

__all__ = ['add_urdf', 'own_arguments', 'read_urdf']


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
