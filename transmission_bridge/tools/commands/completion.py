# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge completion``: what a shell needs to complete the commands."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.completion_scripts import grammar_of, SHELLS
from transmission_bridge.tools.console import Console

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('shell', choices=tuple(SHELLS), help='the shell')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.main import command_names, load_command, PROGRAM

    grammars = {name: grammar_of(load_command(name)) for name in command_names()}
    console.out.write(SHELLS[options.shell](PROGRAM, grammars))
    return Exit.OK


COMMAND = Command(
    summary='print a completion script for bash, fish or zsh',
    description='Print a script that makes a shell complete commands, options and values.\n\n'
    'exit code: 0 printed, 2 wrong usage.',
    example='  source <(transmission_bridge completion bash)\n'
    '  transmission_bridge completion fish \\\n'
    '      > ~/.config/fish/completions/transmission_bridge.fish',
    add_arguments=_add_arguments,
    run=_run,
)
