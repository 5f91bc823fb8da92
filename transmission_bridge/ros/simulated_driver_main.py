# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``simulated_driver``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transmission_bridge.ros.command_line import run_command

if TYPE_CHECKING:
    from transmission_bridge.ros.simulated_driver import SimulatedDriver


def main(args: Sequence[str] | None = None) -> int:
    """Run a simulated driver until it is told to stop, as :func:`run_command` does."""

    def load() -> type[SimulatedDriver]:
        from transmission_bridge.ros.simulated_driver import SimulatedDriver

        return SimulatedDriver

    return run_command(
        'simulated_driver',
        'A stand-in for a robot driver: follows actuator_commands and publishes actuator_states '
        'for the actuators of a robot description.',
        '-p rate:=500.0',
        load,
        args,
    )


if __name__ == '__main__':
    raise SystemExit(main())
