# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``bridge_node``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transmission_bridge.ros.command_line import run_command

if TYPE_CHECKING:
    from transmission_bridge.ros.bridge_node import TransmissionBridge


def main(args: Sequence[str] | None = None) -> int:
    """Run the bridge until it is told to stop, as :func:`run_command` does."""

    def load() -> type[TransmissionBridge]:
        from transmission_bridge.ros.bridge_node import TransmissionBridge

        return TransmissionBridge

    return run_command(
        'bridge_node',
        'Gives an actuator-space robot driver a joint-space interface, from the transmissions in '
        'the robot description.',
        '-p autostart:=true',
        load,
        args,
        on_stop=lambda node: node.end(),
    )


if __name__ == '__main__':
    raise SystemExit(main())
