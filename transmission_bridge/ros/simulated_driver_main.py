# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``simulated_driver``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transmission_bridge.ros.command_line import run_node_command

if TYPE_CHECKING:
    from transmission_bridge.ros.simulated_driver import SimulatedDriver


def main(args: Sequence[str] | None = None) -> int:
    """Run a simulated driver until a signal stops it, and return the exit code."""

    def import_driver() -> type[SimulatedDriver]:
        from transmission_bridge.ros.simulated_driver import SimulatedDriver

        return SimulatedDriver

    return run_node_command(
        'simulated_driver',
        'Replace a robot driver: follow actuator_commands and publish actuator_states for the '
        'actuators of a robot description.',
        'Example with ROS arguments: simulated_driver --urdf robot.urdf --ros-args -p rate:=500.0',
        import_driver,
        args,
    )


if __name__ == '__main__':
    raise SystemExit(main())
