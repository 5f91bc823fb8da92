# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``driver_node``."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.ros.command_line import run_node_command


def main(args: Sequence[str] | None = None) -> int:
    """Run a driver until a signal stops it, and return the exit code."""
    return run_node_command(
        'driver_node',
        'DriverNode',
        'Run a driver in Python on the topics actuator_states and actuator_commands.',
        'Example with ROS arguments: driver_node --urdf robot.urdf --ros-args -p block:=left_arm',
        args,
    )


if __name__ == '__main__':
    raise SystemExit(main())
