# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: a driver and the bridge at work, and every number checked."""

from __future__ import annotations

import argparse
import math

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.termination import terminate_as_interrupt

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--seconds',
        type=_seconds,
        default=8.0,
        metavar='N',
        help='how long the robot moves (default: %(default)g)',
    )
    parser.add_argument(
        '--plain',
        action='store_true',
        help='show a few snapshots instead of a live table, as where output is no terminal',
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found '{text}'")
    return seconds


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.demo_run import run_demo

    with terminate_as_interrupt():
        return run_demo(options.seconds, plain=options.plain, console=console)


COMMAND = Command(
    summary='show a simulated driver and the bridge at work',
    description='Start a simulated driver and the bridge as two processes, move the joints of\n'
    'the example robot, show actuators and joints, and compare every published value\n'
    'with formulas written out by hand. Needs rclpy.\n\n'
    'exit code: 0 all values agree, 1 one does not, nothing arrived, or a process died,\n'
    '2 wrong usage or rclpy is missing.',
    example='  transmission_bridge demo --seconds 20',
    add_arguments=_add_arguments,
    run=_run,
)
