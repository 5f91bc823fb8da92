# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``bridge_node``."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.ros.command_line import run_node_command


def main(args: Sequence[str] | None = None) -> int:
    """Run the bridge until a signal stops it, and return the exit code."""
    return run_node_command(
        'bridge_node',
        'TransmissionBridge',
        'Give an actuator-space robot driver a joint-space interface, from the transmissions in '
        'the robot description.',
        'Example with ROS arguments: bridge_node --urdf robot.urdf --ros-args -p limits:=reject',
        args,
        is_bridge=True,
    )


if __name__ == '__main__':
    raise SystemExit(main())
