# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge completion``: what a shell needs to complete the commands."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.cli import Command, Console, Exit, optional

__all__ = ['COMMAND', 'complete']


def complete(line: str) -> None:
    """
    Answer a shell that asks what may come next, and end the process.

    :param line: What has been typed. Of other commands only the names are needed, and reading
        descriptions takes longer to import than one wants to wait for at each Tab.
    :raises UsageError: If argcomplete is not installed.
    """
    from transmission_bridge.tools.main import COMMANDS, load_command, PROGRAM

    parser = argparse.ArgumentParser(prog=PROGRAM, allow_abbrev=False)
    parser.add_argument('--version', action='store_true')
    subparsers = parser.add_subparsers(metavar='COMMAND')
    for name, (_, summary) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, allow_abbrev=False)
        if name in line.split():
            load_command(name).add_arguments(subparser)
    optional('argcomplete', 'cli').autocomplete(parser)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('shell', choices=('bash', 'fish', 'zsh'), help='the shell')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.main import PROGRAM

    argcomplete = optional('argcomplete', 'cli')
    console.out.line(argcomplete.shellcode([PROGRAM], shell=options.shell))
    return Exit.OK


COMMAND = Command(
    description='Print a script that makes a shell complete commands, options and values.\n'
    'Needs argcomplete, which ROS has.\n\n'
    'exit code: 0 printed, 2 wrong usage, or argcomplete is missing.',
    example='  source <(transmission_bridge completion bash)\n'
    '  transmission_bridge completion fish \\\n'
    '      > ~/.config/fish/completions/transmission_bridge.fish',
    add_arguments=_add_arguments,
    run=_run,
)
