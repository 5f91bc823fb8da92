# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``bridge_node``."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.ros.bridge_node import TransmissionBridge
from transmission_bridge.ros.executors import run

__all__ = ['main']


def main(args: Sequence[str] | None = None) -> int:
    """Run the bridge until it is told to stop; return the exit code."""
    return run(TransmissionBridge, args, on_stop=TransmissionBridge.trigger_shutdown)


if __name__ == '__main__':
    raise SystemExit(main())
