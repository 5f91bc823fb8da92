# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``transmission_bridge``: find the command, run it, turn errors into sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import contextlib
import os
import sys
from typing import Any, NoReturn

from transmission_bridge import __version__
from transmission_bridge.errors import closest, DescriptionError, TransmissionBridgeError
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    optional,
    OutputError,
    printable,
    UsageError,
)
from transmission_bridge.tools.commands import load_command, PROGRAM, SUMMARIES

__all__ = ['main']


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    :param arguments: Without the program's name; by default those of the process.
    :returns: The exit code, see :class:`~transmission_bridge.tools.cli.Exit`.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    console = Console.standard()
    try:
        if '_ARGCOMPLETE' in os.environ:  # a shell asks for completions
            _complete(os.environ.get('COMP_LINE', ''))
        code = _dispatch(arguments, console)
        console.out.flush()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except (UsageError, OutputError, TransmissionBridgeError) as error:
        code = Exit.ERRORS if isinstance(error, DescriptionError) else Exit.USAGE
        _complain(console, str(error))
    return int(code)


def _complete(line: str) -> None:
    """
    Answer a shell that asks for completions, and end the process.

    :param line: The command line so far. Only the arguments of commands in it are needed.
    """
    parser = argparse.ArgumentParser(prog=PROGRAM, allow_abbrev=False)
    parser.add_argument('--version', action='store_true')
    subparsers = parser.add_subparsers(metavar='COMMAND')
    for name, summary in SUMMARIES.items():
        subparser = subparsers.add_parser(name, help=summary, allow_abbrev=False)
        if name in line.split():
            load_command(name).add_arguments(subparser)
    optional('argcomplete', 'cli').autocomplete(parser)


def _dispatch(arguments: list[str], console: Console) -> Exit:
    first = arguments[0] if arguments else ''
    if first in SUMMARIES:
        return _run(first, arguments[1:], console)
    if first in ('-h', '--help'):
        console.out.write(_general_help())
    elif first == '--version':
        console.out.line(f'{PROGRAM} {__version__}')
    else:
        problem = f"unknown command '{first}'" if first else 'a command is missing'
        known = f'{closest(first, SUMMARIES)}: {", ".join(SUMMARIES)}'
        raise UsageError(f"{problem}{known} (see '{PROGRAM} --help')")
    return Exit.OK


def _general_help() -> str:
    width = max(map(len, SUMMARIES))
    summaries = '\n'.join(f'  {name:{width}}  {text}' for name, text in SUMMARIES.items())
    return f"""\
usage: {PROGRAM} [--help] [--version] COMMAND ...

A joint-space interface for any actuator-space robot driver, from the transmissions in its URDF.

commands:
{summaries}

'{PROGRAM} COMMAND --help' shows the arguments of a command and an example.
"""


def _run(name: str, arguments: list[str], console: Console) -> Exit:
    command = load_command(name)
    parser = _Parser(
        console,
        prog=f'{PROGRAM} {name}',
        description=command.description,
        epilog='example:\n' + command.example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    try:
        # Intermixed: ``name=value`` may be before, between and after the options.
        options = parser.parse_intermixed_args(arguments)
    except SystemExit:  # help was printed
        return Exit.OK
    try:
        return command.run(options, console)
    except TransmissionBridgeError as error:
        # It is in the description, which a recording may contain.
        if file := getattr(options, 'file', None) or getattr(options, 'input', None):
            error.args = (f"'{file}': {error}",)
        raise


class _Parser(argparse.ArgumentParser):
    """A parser that raises :class:`UsageError`, and prints help on the console."""

    def __init__(self, console: Console, **settings: Any) -> None:
        super().__init__(**settings)
        self._console = console

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")

    def print_help(self, file: object = None) -> None:
        self._console.out.write(self.format_help())


def _complain(console: Console, sentence: str) -> None:
    with contextlib.suppress(OutputError):
        console.out.flush()
    with contextlib.suppress(OutputError):
        console.err.line(f'{PROGRAM}: {printable(sentence)}')
        console.err.flush()
