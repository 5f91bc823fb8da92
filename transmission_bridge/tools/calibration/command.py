# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: find numbers of transmissions."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.calibration.recorded import run_recorded
from transmission_bridge.tools.cli import Console, Exit


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    return run_recorded(options, console)
