# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the command lines of the nodes have in common. Imports nothing of ROS."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import signal

__all__ = ['add_urdf', 'own_arguments', 'read_urdf']


def own_arguments(arguments: Sequence[str]) -> list[str]:
    """Return a command line without what stands between ``--ros-args`` and ``--`` or its end."""
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
    Return the text of the file, empty where none was named.

    A file that cannot be read ends the process with exit code 2, as argparse does; Ctrl-C while
    it is read ends it with 130.
    """
    if path is None:
        return ''
    try:
        # Here, because it imports what takes a while, which a signal must not meet.
        from transmission_bridge.description.source import description_text, read_file

        return description_text(read_file(path), name=str(path))
    except KeyboardInterrupt:
        # A pipe may keep it waiting; nothing has been started yet, so this ends as a command does.
        raise SystemExit(128 + signal.SIGINT) from None
    except (OSError, ValueError) as error:
        parser.error(f'--urdf {path}: {getattr(error, "strerror", None) or error}')
