# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge completion``: what a shell needs to complete the commands."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.extras import optional

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('shell', choices=('bash', 'fish', 'zsh'), help='the shell')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.main import PROGRAM

    argcomplete = optional('argcomplete', 'cli')
    console.out.line(argcomplete.shellcode([PROGRAM], shell=options.shell))
    return Exit.OK


COMMAND = Command(
    summary='print a completion script for bash, fish or zsh',
    description='Print a script that makes a shell complete commands, options and values.\n'
    'Needs argcomplete, which ROS has.\n\n'
    'exit code: 0 printed, 2 wrong usage, or argcomplete is missing.',
    example='  source <(transmission_bridge completion bash)\n'
    '  transmission_bridge completion fish \\\n'
    '      > ~/.config/fish/completions/transmission_bridge.fish',
    add_arguments=_add_arguments,
    run=_run,
)
