# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``simulated_driver``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys
from typing import Any

from transmission_bridge.ros.command_line import add_urdf, own_arguments, read_urdf
from transmission_bridge.ros.executors import run

__all__ = ['main']


def main(args: Sequence[str] | None = None) -> int:
    """
    Run a simulated driver until it is told to stop.

    :param args: Command line without the program's name, ``sys.argv[1:]`` by default.
    :returns: The exit code: 0, or 1 if the description or a parameter cannot be used. A mistake
        in the command line exits with 2, as argparse does.
    """
    given = list(sys.argv[1:] if args is None else args)
    parser = argparse.ArgumentParser(
        prog='simulated_driver',
        description='A stand-in for a robot driver: follows actuator_commands and publishes '
        'actuator_states for the actuators of a robot description.',
        epilog='ROS arguments follow --ros-args, for example: '
        'simulated_driver --urdf robot.urdf --ros-args -p rate:=500.0',
    )
    add_urdf(parser)
    text = read_urdf(parser, parser.parse_args(own_arguments(given)).urdf)

    def make_node() -> Any:
        # Inside, because run() handles signals by now and these imports are slow.
        from rclpy.parameter import Parameter

        from transmission_bridge.ros.simulated_driver import SimulatedDriver

        overrides = [Parameter('robot_description', Parameter.Type.STRING, text)] if text else None
        return SimulatedDriver(parameter_overrides=overrides)

    return run(make_node, given)


if __name__ == '__main__':
    raise SystemExit(main())
