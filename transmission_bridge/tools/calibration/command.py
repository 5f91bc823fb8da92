# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: find numbers of transmissions."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.calibration import by_hand, recorded
from transmission_bridge.tools.cli import Console, Exit


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    return (by_hand.run if options.data is None else recorded.run_recorded)(options, console)
