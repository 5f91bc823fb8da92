# PYTHON_ARGCOMPLETE_OK
# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Entry point of ``transmission_bridge``: run a command, and print errors as sentences.

``setup.py`` and ``__main__`` name :func:`main`. Results go to standard output, errors to standard
error. Scripts rely on the exit codes; sentences are free to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
import contextlib
import os
import re
import sys
from typing import Any, NoReturn

from transmission_bridge import __version__
from transmission_bridge.errors import (
    closest,
    describe_unknown_option,
    DescriptionError,
    TransmissionBridgeError,
)
from transmission_bridge.signals import end_by_signal
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    import_optional,
    OutputError,
    printable,
    TextStream,
    ToolFailedError,
    UsageError,
)
from transmission_bridge.tools.commands import COMMANDS, PROGRAM

_HELP = """\
usage: {program} [--help] [--version] COMMAND ...

A joint-space interface for any actuator-space robot driver, from the transmissions in its URDF.

commands:
{commands}

'{program} COMMAND --help' shows the arguments of a command and an example.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    :param arguments: Without the program's name; by default the arguments of the process.
    :returns: The exit code, see :class:`~transmission_bridge.tools.cli.Exit`.
    """
    console = Console(TextStream(sys.stdout, is_result=True), TextStream(sys.stderr))
    try:
        with end_by_signal():
            code = _run_arguments(list(sys.argv[1:] if arguments is None else arguments), console)
        console.out.flush()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except (UsageError, ToolFailedError, OutputError, TransmissionBridgeError) as error:
        is_error = isinstance(error, DescriptionError | ToolFailedError)
        code = Exit.ERRORS if is_error else Exit.USAGE
        with contextlib.suppress(OutputError):
            console.out.flush()
        with contextlib.suppress(OutputError):
            console.err.line(f'{PROGRAM}: {printable(str(error))}')
            console.err.flush()
    return int(code)


def _run_arguments(arguments: list[str], console: Console) -> Exit:
    if '_ARGCOMPLETE' in os.environ:  # a shell asks for completions, which ends the process
        words = os.environ.get('COMP_LINE', '').split()
        import_optional('argcomplete', 'cli').autocomplete(_build_parsers(console, words)[0])
    first = arguments[0] if arguments else ''
    if first in COMMANDS:
        return _run_command(first, arguments[1:], console)
    if first in ('-h', '--help'):
        width = max(map(len, COMMANDS))
        rows = (f'  {name:{width}}  {command.summary}' for name, command in COMMANDS.items())
        console.out.write(_HELP.format(program=PROGRAM, commands='\n'.join(rows)))
    elif first == '--version':
        console.out.line(f'{PROGRAM} {__version__}')
    else:
        problem = f"unknown command '{first}'" if first else 'a command is missing'
        names = f'{closest(first, COMMANDS)}: {", ".join(COMMANDS)}'
        raise UsageError(f"{problem}{names} (see '{PROGRAM} --help')")
    return Exit.OK


class _Parser(argparse.ArgumentParser):
    """A parser that raises :class:`UsageError`, and prints help on the console."""

    def __init__(self, console: Console, **settings: Any) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(**settings, formatter_class=formatter, allow_abbrev=False)
        self._console = console
        # So that -1e-05 is a value, as -0.5 is: argparse does not recognise exponents.
        self._negative_number_matcher = re.compile(r'-\.?\d')

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")

    def print_help(self, file: object = None) -> None:
        self._console.out.write(self.format_help())


def _build_parsers(console: Console, words: Collection[str]) -> tuple[_Parser, dict[str, _Parser]]:
    """
    Return the parser of the program, and the parsers of the commands.

    :param words: Names of the commands that get their arguments.
    """
    tree = _Parser(console, prog=PROGRAM)
    tree.add_argument('--version', action='store_true')
    commands = tree.add_subparsers(metavar='COMMAND')
    for name, command in COMMANDS.items():
        parser = commands.add_parser(name, console=console, help=command.summary)
        if name in words:
            command.add_arguments(parser)
    return tree, dict(commands.choices)


def _run_command(name: str, arguments: list[str], console: Console) -> Exit:
    parser = _build_parsers(console, [name])[1][name]
    if problem := describe_unknown_option(arguments, parser):
        parser.error(problem)
    try:
        # Intermixed: ``name=value`` may stand before, between and after the options.
        options = parser.parse_intermixed_args(arguments)
    except SystemExit:  # help was printed
        return Exit.OK
    try:
        done = COMMANDS[name].run(options, console)
    except TransmissionBridgeError as error:
        # The error is in the description, which a recording may contain.
        if file := getattr(options, 'file', None) or getattr(options, 'input', None):
            error.args = (f"'{file}': {error}",)
        raise
    return done if isinstance(done, Exit) else done.show(console, as_json=options.json)
