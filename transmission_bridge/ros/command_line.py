# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Run a node by its command line. ROS is imported only when the command runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
import re
import signal
import sys

from transmission_bridge.errors import describe_unknown_option, shortened, shown
from transmission_bridge.ros.process import NodeT, run


def remove_ros_arguments(arguments: Sequence[str]) -> list[str]:
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


def run_node_command(
    program: str,
    description: str,
    example: str,
    import_node: Callable[[], Callable[..., NodeT]],
    args: Sequence[str] | None,
    *,
    on_stop: Callable[[NodeT], object] | None = None,
) -> int:
    """
    Run a node with a robot description as a process.

    :param program: Its name on the command line.
    :param description: Its purpose, in a sentence.
    :param example: Arguments for the help text.
    :param import_node: Imports the class of the node, which takes ``parameter_overrides``.
    :param args: Command line without the program's name, ``sys.argv[1:]`` by default.
    :param on_stop: As in :func:`~transmission_bridge.ros.process.run`.
    :returns: The exit code: 0, or 1 if the description or a parameter cannot be used. A mistake
        in the command line exits with 2, as in argparse.
    """
    given = list(sys.argv[1:] if args is None else args)
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=f'ROS arguments follow --ros-args, for example: {program} --urdf robot.urdf '
        f'--ros-args {example}',
        allow_abbrev=False,
    )
    parser.add_argument(
        '--executor',
        default='auto',
        choices=('auto', 'events', 'single_threaded'),
        help='executor of the callbacks; auto: the first of the others that is available',
    )
    parser.add_argument(
        '--urdf',
        type=Path,
        metavar='FILE',
        help='robot description to use instead of the parameter or topic robot_description',
    )
    own = remove_ros_arguments(given)
    if problem := describe_unknown_option(own, parser):
        parser.error(problem)
    options = parser.parse_args(own)
    text = _read_urdf(parser, options.urdf)

    def make_described_node() -> NodeT:
        # Imported here, because run() handles signals now, and this import is slow.
        from rclpy.parameter import Parameter

        overrides = [Parameter('robot_description', value=text)] if text else None
        node = import_node()(parameter_overrides=overrides)
        for sentence in find_unused_parameter_files(given, node.get_fully_qualified_name()):
            node.get_logger().warning(sentence)
        return node

    return run(make_described_node, given, executor=options.executor, on_stop=on_stop)


def _read_urdf(parser: argparse.ArgumentParser, path: Path | None) -> str:
    """
    Return the text of the file, empty if no file is given.

    If the file cannot be read, the process ends with exit code 2, as in argparse. Ctrl-C during
    the reading ends it with 130.
    """
    if path is None:
        return ''
    try:
        # Imported here, because it is slow, and a signal during it must be handled.
        from transmission_bridge.description.source import description_text, read_file

        return description_text(read_file(path), name=str(path))
    except KeyboardInterrupt:
        # A pipe may block. Nothing has started yet, so the process ends like a command.
        raise SystemExit(128 + signal.SIGINT) from None
    except (OSError, ValueError) as error:
        parser.error(f'--urdf {path}: {getattr(error, "strerror", None) or error}')


def find_unused_parameter_files(arguments: Sequence[str], ours: str) -> Iterator[str]:
    """
    Yield a warning for each parameter file without parameters of this node: rcl ignores it.

    :param arguments: The command line; rcl has already read its files.
    :param ours: The node's name with its namespace.
    """
    from transmission_bridge.bridge.parameter_file import read_parameters  # as in _read_urdf

    for option, name in pairwise(arguments):
        # A pipe is empty now. A file that cannot be read is left to rcl.
        if option == '--params-file' and Path(name).is_file():
            with suppress(OSError, ValueError):
                nodes = tuple(read_parameters(Path(name).read_bytes()))
                if not any(_matches_node(each, ours) for each in nodes):
                    found = f'parameters of {shortened(nodes) or "no node"}'
                    yield (
                        f"parameter file '{name}' is not used: expected parameters of "
                        f"{shown(ours)} or '/**', found {found}"
                    )


def _matches_node(name: str, ours: str) -> bool:
    pattern = re.escape(name).replace(r'/\*\*', r'(/\w+)*').replace(r'/\*', r'/\w+')
    return re.fullmatch(pattern, ours) is not None
