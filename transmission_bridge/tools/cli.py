# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What every command is made of: streams, exit codes, arguments, tables, progress."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
import importlib
import json
import math
import os
import shutil
import sys
from typing import Any, TextIO
import unicodedata

from transmission_bridge.errors import printable

__all__ = [
    'Command',
    'Console',
    'Exit',
    'OutputError',
    'Stream',
    'UsageError',
    'aligned',
    'columns_of',
    'duration',
    'in_order',
    'named_values',
    'optional',
    'printable',
    'progress',
]

#: Sentences are not wrapped shorter than this.
_NARROWEST = 40


class OutputError(Exception):
    """The output cannot be written (a full disk, a closed stream)."""


class Stream:
    """
    Lines of text to a stream.

    A character that the stream's encoding lacks is written as an escape. A reader that goes away
    (``| head``) is no error and changes no verdict: the rest is dropped.

    :param stream: The stream, ``None`` where the process has none (``>&-``).
    :param is_result: Whether text is lost without it, so that writing fails where there is none.
    """

    def __init__(self, stream: TextIO | None, *, is_result: bool = False) -> None:
        self._stream = stream
        self._is_closed = stream is None and is_result

    @property
    def is_terminal(self) -> bool:
        """Whether a person is watching."""
        return self._stream is not None and self._stream.isatty()

    @property
    def width(self) -> int | None:
        """Columns to wrap text at, ``None`` where lines go to a file or another program."""
        if not self.is_terminal:
            return None
        return max(_NARROWEST, shutil.get_terminal_size().columns)

    @property
    def _encoding(self) -> str:
        return getattr(self._stream, 'encoding', None) or 'utf-8'

    def line(self, text: str = '') -> None:
        """Write one line."""
        self.write(text + '\n')

    def json(self, document: Any) -> None:
        """Write a document as JSON, in ASCII; not finite numbers are a bug here."""
        self.line(json.dumps(document, indent=2, allow_nan=False))

    def write(self, text: str) -> None:
        """
        Write text as it is.

        :raises OutputError: If it cannot be written.
        """
        if self._is_closed:
            raise OutputError('cannot write the output: standard output is closed')
        safe = text.encode(self._encoding, 'backslashreplace').decode(self._encoding)
        try:
            if self._stream is not None:
                self._stream.write(safe)
        except OSError as error:
            self._lost(error)

    def flush(self) -> None:
        """
        Hand over what is buffered.

        :raises OutputError: If it cannot be written.
        """
        try:
            if self._stream is not None:
                self._stream.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        stream, self._stream = self._stream, None
        _send_nowhere(stream)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f'cannot write the output: {error.strerror}') from error


def _send_nowhere(stream: TextIO | None) -> None:
    """Let the interpreter's own flush at exit succeed; what is still buffered is lost anyway."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except OSError:  # a stream without a file descriptor has nothing to flush at exit
        pass
    finally:
        os.close(nowhere)


@dataclass(frozen=True, slots=True)
class Console:
    """
    Where a command writes.

    :param out: Its result.
    :param err: Sentences about what went wrong or is worth knowing.
    """

    out: Stream
    err: Stream

    @classmethod
    def standard(cls) -> Console:
        """Return the console of this process."""
        return cls(Stream(sys.stdout, is_result=True), Stream(sys.stderr))


def optional(module: str, extra: str) -> Any:
    """
    Import a module of an optional library.

    :param module: Its name, for example ``scipy.optimize``.
    :param extra: The extra of this package that installs the library.
    :returns: The module.
    :raises UsageError: If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition('.')[0]
        raise UsageError(
            f"this needs {library}, which cannot be imported ({error}): pip install '"
            f"transmission_bridge[{extra}]', or python3-{library} where your system has it"
        ) from None


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    #: What was looked at has errors.
    ERRORS = 1
    #: It could not be looked at: wrong usage, or a file that cannot be read or written.
    USAGE = 2
    #: Ctrl-C, as shells count it.
    INTERRUPTED = 130


class UsageError(Exception):
    """The user's mistake in one sentence; ends a command with :attr:`Exit.USAGE`."""


@dataclass(frozen=True, slots=True)
class Command:
    """
    One command.

    :param description: What it does and what its exit codes mean, for its own help.
    :param example: Command lines to copy, for its own help.
    :param add_arguments: Adds its arguments to a parser.
    :param run: Does it, and returns the exit code. Raises :class:`UsageError` or an error of this
        package for what the user can mend.
    """

    description: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], Exit]


def columns_of(text: str) -> int:
    """Return how many columns a terminal needs for a text without control characters."""
    wide = sum(unicodedata.east_asian_width(character) in 'WF' for character in text)
    marks = sum(unicodedata.combining(character) != 0 for character in text)
    return len(text) + wide - marks


def aligned(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), gap: str = '  '
) -> list[str]:
    """
    Return one line per row, each column as wide as its widest cell.

    :param rows: Cells, all rows equally long.
    :param right: Columns to align right, for numbers.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            filling = ' ' * (width - columns_of(cell))
            padded.append(filling + cell if place in right else cell + filling)
        lines.append(gap.join(padded).rstrip())
    return lines


def named_values(
    pairs: Sequence[str], known: Collection[str], what: str, lost: Mapping[str, str]
) -> dict[str, float]:
    """
    Return the values by name.

    :param pairs: Texts ``name=value``.
    :param known: Names that there are.
    :param what: What a name names, for messages: ``actuator``.
    :param lost: Names that are in the description but cannot be used, with the reason.
    :raises UsageError: If a text has another form, a name is unknown or given twice, or a value
        is no finite decimal number.
    """
    # Here, because the room brings lxml, which whoever asks for help need not wait for.
    from transmission_bridge.description.values import parse_number

    values: dict[str, float] = {}
    for pair in pairs:
        # The last sign separates: a name may hold one, a number cannot.
        name, separator, text = pair.rpartition('=')
        if not separator:
            raise UsageError(f"expected {what}=value, found '{pair}'")
        if name not in known:
            reason = f' ({lost[name]})' if name in lost else ''
            raise UsageError(f"unknown {what} '{name}'{reason}, known: {_listed(known)}")
        if name in values:
            raise UsageError(f"{what} '{name}' is given twice")
        try:
            values[name] = parse_number(text)
        except ValueError as error:
            raise UsageError(f"{what} '{name}': expected {error}, found '{text}'") from None
    return values


def in_order(values: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """Return the values in the order of the names, NaN where a name has none."""
    return [values.get(name, math.nan) for name in names]


def _listed(names: Collection[str]) -> str:
    return ', '.join(names) or 'none'


def duration(text: str) -> float:
    """
    Return the number of seconds that an argument is.

    :raises argparse.ArgumentTypeError: If it is no finite number above 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found '{text}'")
    return number


@contextmanager
def live_table(console: Console) -> Iterator[Any]:
    """
    Give a :class:`rich.live.Live` to show things in place, ``None`` where output is no terminal.

    Without rich it is ``None`` as well, and the user is told.
    """
    if not console.out.is_terminal:
        yield None
        return
    try:
        rich_live, rich_console = optional('rich.live', 'cli'), optional('rich.console', 'cli')
    except UsageError as error:
        console.err.line(f'plain lines instead of a live table: {error}')
        yield None
        return
    screen = rich_console.Console(file=sys.stdout, highlight=False)
    with rich_live.Live(console=screen, auto_refresh=False, vertical_overflow='ellipsis') as live:
        yield live


@contextmanager
def progress(stream: Stream, what: str) -> Iterator[Callable[[float], None]]:
    """
    Show a bar of progress to a person where rich is installed, and nothing to a file or program.

    :param stream: Where to.
    :param what: What is going on.
    :returns: A function to be called with numbers from 0 to 1.
    """
    try:
        from rich.console import Console as RichConsole
        from rich.progress import Progress

        is_shown = stream.is_terminal
    except ImportError:
        is_shown = False
    if not is_shown:
        yield lambda done: None
        return
    with Progress(console=RichConsole(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)
