# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The arguments that every command has that reads a robot, or does what its bridge does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from transmission_bridge.tools.command import UsageError

__all__ = ['add_bridge_arguments', 'add_robot_arguments', 'aliases_of']


def add_robot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add FILE and ``--alias`` to a command."""
    parser.add_argument(
        'file',
        metavar='FILE',
        help="robot description: URDF, or SDF with <ros2_control> blocks; '-' reads standard "
        "input ('xacro robot.urdf.xacro | %(prog)s -')",
    )
    parser.add_argument(
        '--alias',
        action='append',
        default=[],
        metavar='TYPE=TYPE',
        help='read a type in FILE as an installed type; may be repeated',
    )


def add_bridge_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--actuator-names`` and ``--params-file`` to a command."""
    parser.add_argument(
        '--actuator-names',
        action='extend',
        nargs='+',
        default=[],
        metavar='DRIVER=URDF',
        help="names that a driver uses instead of the URDF's, each as TOPIC:DRIVER=URDF where "
        'several drivers use the same; they count instead of those in the parameter file',
    )
    parser.add_argument(
        '--params-file',
        metavar='YAML',
        help='parameter file of the bridge, of any node: its numbers of the transmissions and '
        'its options (actuator_names, plugin_aliases, wrap_period and so on) are used',
    )


def aliases_of(pairs: Sequence[str]) -> dict[str, str]:
    """
    Return the types of ``--alias``, theirs to ours.

    :raises UsageError: If one is not of the form TYPE=TYPE, or a type is given twice.
    """
    aliases: dict[str, str] = {}
    for pair in pairs:
        theirs, _, ours = pair.partition('=')
        if not theirs or not ours:
            raise UsageError(f"--alias takes TYPE=TYPE, found '{pair}'")
        if theirs in aliases:
            raise UsageError(f"--alias: '{theirs}' is given twice")
        aliases[theirs] = ours
    return aliases
