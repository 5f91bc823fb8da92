# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``bridge_node``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys
from typing import Any

from transmission_bridge.ros.command_line import (
    add_urdf,
    files_of_others,
    own_arguments,
    read_urdf,
)
from transmission_bridge.ros.executors import run

__all__ = ['main']


def main(args: Sequence[str] | None = None) -> int:
    """
    Run the bridge until it is told to stop.

    :param args: Command line without the program's name, ``sys.argv[1:]`` by default.
    :returns: The exit code. A mistake in the command line exits with 2, as argparse does.
    """
    given = list(sys.argv[1:] if args is None else args)
    parser = argparse.ArgumentParser(
        prog='bridge_node',
        description='Gives an actuator-space robot driver a joint-space interface, from the '
        'transmissions in the robot description.',
        epilog='ROS arguments follow --ros-args, for example: '
        'bridge_node --urdf robot.urdf --ros-args -p autostart:=true',
    )
    parser.add_argument(
        '--executor',
        default='auto',
        choices=('auto', 'events', 'single_threaded'),
        help='what runs the callbacks; auto takes the first of the others that is there',
    )
    add_urdf(parser)
    options = parser.parse_args(own_arguments(given))
    text = read_urdf(parser, options.urdf)

    def make_node() -> Any:
        # Inside, because run() handles signals by now and these imports are slow.
        from rclpy.parameter import Parameter

        from transmission_bridge.ros.bridge_node import TransmissionBridge

        overrides = [Parameter('robot_description', value=text)] if text else None
        node = TransmissionBridge(parameter_overrides=overrides)
        for sentence in files_of_others(given, node.get_fully_qualified_name()):
            node.get_logger().warning(sentence)
        return node

    return run(make_node, given, executor=options.executor, on_stop=lambda node: node.end())


if __name__ == '__main__':
    raise SystemExit(main())
