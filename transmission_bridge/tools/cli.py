# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Common parts of commands: streams, exit codes, arguments, tables, progress, keys.

Every command uses it. Commands raise the errors, and ``main`` prints them. Scripts rely on the
numbers of :class:`Exit` only; the extras are those of ``setup.py``. Widths, bars and sentences are
free to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import IntEnum
import importlib
import json
import math
from operator import attrgetter
import os
import select
import shutil
import sys
import threading
from typing import Any, TextIO
import unicodedata

from transmission_bridge.errors import printable as printable, UnknownNameError

#: Narrowest width to which sentences are wrapped.
_NARROWEST = 40


class OutputError(Exception):
    """The output cannot be written (a full disk, a closed stream)."""


class TextStream:
    """
    Lines of text to a stream.

    A character outside of the stream's encoding is written as an escape. If the reader closes the
    pipe (``| head``), the rest is dropped without an error.

    :param stream: The stream, ``None`` if the process has none (``>&-``).
    :param is_result: Whether the text is the result: writing it without a stream is an error.
    """

    def __init__(self, stream: TextIO | None, *, is_result: bool = False) -> None:
        self._stream = stream
        self._is_closed = stream is None and is_result

    @property
    def is_terminal(self) -> bool:
        """Whether the output is a terminal."""
        return self._stream is not None and self._stream.isatty()

    @property
    def width(self) -> int | None:
        """Columns to wrap text at, ``None`` for a file or another program."""
        if not self.is_terminal:
            return None
        return max(_NARROWEST, shutil.get_terminal_size().columns)

    def line(self, text: str = '') -> None:
        """Write one line."""
        self.write(text + '\n')

    def write(self, text: str) -> None:
        """
        Write text.

        :raises OutputError: If it cannot be written.
        """
        if self._is_closed:
            raise OutputError('cannot write the output: standard output is closed')
        encoding = getattr(self._stream, 'encoding', None) or 'utf-8'
        self._do('write', text.encode(encoding, 'backslashreplace').decode(encoding))

    def write_bytes(self, data: bytes) -> None:
        """
        Write bytes unchanged, if the stream accepts bytes.

        :raises OutputError: If they cannot be written.
        """
        buffer = getattr(self._stream, 'buffer', None)
        if buffer is None:
            self.write(data.decode('utf-8', 'backslashreplace'))
        else:
            self.flush()
            self._do('buffer.write', data)

    def flush(self) -> None:
        """
        Flush the stream.

        :raises OutputError: If it cannot be written.
        """
        self._do('flush')

    def _do(self, method: str, *arguments: str | bytes) -> None:
        stream = self._stream
        if stream is None:
            return
        try:
            attrgetter(method)(stream)(*arguments)
        except OSError as error:
            self._stream = None
            # So that the interpreter's flush at exit succeeds.
            with suppress(OSError), open(os.devnull, 'wb') as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
            if not isinstance(error, BrokenPipeError):
                raise OutputError(f'cannot write the output: {error.strerror}') from error


@dataclass(frozen=True, slots=True)
class Console:
    """
    The output of a command, which ``main`` makes for it.

    :param out: Its result.
    :param err: Errors, warnings and notes.
    """

    out: TextStream
    err: TextStream


def import_optional(module: str, extra: str) -> Any:
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
            f'this needs {library}, which cannot be imported ({error}): pip install --editable '
            f"'.[{extra}]' "
            f'in a checkout of transmission_bridge, or python3-{library} of your system'
        ) from None


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    #: The input has errors.
    ERRORS = 1
    #: Wrong usage, or a file that cannot be read or written.
    USAGE = 2
    #: Ctrl-C, as shells count it.
    INTERRUPTED = 130


class UsageError(Exception):
    """Wrong usage, in one sentence; ends a command with :attr:`Exit.USAGE`."""


class ToolFailedError(Exception):
    """A running node does not do what was asked; ends a command with :attr:`Exit.ERRORS`."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """
    The result of a command, for people and for programs.

    :param lines: A text, which is printed.
    :param document: The output of ``--json``; its numbers have to be finite.
    :param exit: The exit code.
    """

    lines: Iterable[str]
    document: Any
    exit: Exit = Exit.OK

    def show(self, console: Console, *, as_json: bool) -> Exit:
        """Print the text, or the document in ASCII, and return the exit code."""
        if as_json:
            console.out.line(json.dumps(self.document, indent=2, allow_nan=False))
        else:
            for line in self.lines:
                console.out.line(line)
        return self.exit


def measure_text(text: str) -> int:
    """Return the width of a text without control characters on a terminal, in columns."""
    wide = sum(unicodedata.east_asian_width(character) in 'WF' for character in text)
    marks = sum(unicodedata.combining(character) != 0 for character in text)
    return len(text) + wide - marks


def shorten_middle(text: str, most: int) -> str:
    """Return a printable text of limited length; both ends of a name distinguish it."""
    shown = printable(text)
    end = (most - 1) // 2
    return shown if measure_text(shown) <= most else f'{shown[: most - 1 - end]}…{shown[-end:]}'


def shorten_end(text: str, most: int = 48) -> str:
    """Return a printable text of limited length, with an ellipsis."""
    shown = printable(text)
    return shown if len(shown) <= most else f'{shown[: most - 1]}…'


def align_rows(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """
    Return one line per row; a column has the width of its widest cell.

    :param rows: Cells, all rows equally long.
    :param right: Columns to align right, for numbers.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(measure_text, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            filling = ' ' * (width - measure_text(cell))
            padded.append(filling + cell if column in right else cell + filling)
        lines.append('  '.join(padded).rstrip())
    return lines


def wrap_text(text: str, width: int | None) -> str:
    """
    Return a sentence in lines, all but the first indented; names and commands stay whole.

    :param width: Columns to wrap at, ``None``: no wrapping.
    """
    if width is None:
        return text
    import textwrap  # slow, and help does not need it

    return textwrap.fill(
        text, width, subsequent_indent='    ', break_long_words=False, break_on_hyphens=False
    )


def parse_values(
    pairs: Sequence[str], names: Collection[str] | None, what: str, lost: Mapping[str, str]
) -> dict[str, float]:
    """
    Return the values by name.

    :param pairs: Texts ``name=value``.
    :param names: The allowed names, ``None`` for all.
    :param what: Kind of the names, for errors: ``actuator``.
    :param lost: Names in the description that cannot be used, with the reason.
    :raises UnknownNameError: If a name is unknown.
    :raises UsageError: If a text has another form, a name is given twice or cannot be used, or a
        value is not a finite decimal number.
    """
    # Imports lxml, which is slow, and help does not need it.
    from transmission_bridge.description.document import parse_number

    values: dict[str, float] = {}
    for pair in pairs:
        # The last '=' separates: a name may contain one, a number cannot.
        name, separator, text = pair.rpartition('=')
        if not separator:
            raise UsageError(f"expected {what}=value, found '{pair}'")
        if names is not None and name not in names:
            if name in lost:
                others = ', '.join(names) or 'none'
                raise UsageError(f"no usable {what} '{name}' ({lost[name]}), known: {others}")
            raise UnknownNameError(what, name, tuple(names))
        if name in values:
            raise UsageError(f"{what} '{name}' is given twice")
        try:
            values[name] = parse_number(text)
        except ValueError as error:
            raise UsageError(f"{what} '{name}': expected {error}, found '{text}'") from None
    return values


def parse_duration(text: str) -> float:
    """
    Return an argument as seconds.

    :raises argparse.ArgumentTypeError: If it is not a finite number above 0.
    """
    with suppress(ValueError):
        if 0.0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found '{text}'")


#: A line of text, and its style as rich names it.
Line = tuple[str, str]

#: Returns the lines that fit a width and a height.
MakeLines = Callable[[int, int], Sequence[Line]]


@contextmanager
def open_live_table(console: Console) -> Iterator[Callable[[MakeLines], None] | None]:
    """
    Yield a function that updates the terminal in place, ``None`` if the output is not a terminal.

    Without rich it is also ``None``, with a note to the user.
    """
    live: Any = nullcontext()
    try:
        if console.out.is_terminal:
            screen = import_optional('rich.console', 'cli').Console(
                file=sys.stdout, highlight=False
            )
            live = import_optional('rich.live', 'cli').Live(
                console=screen, auto_refresh=False, vertical_overflow='ellipsis'
            )
    except UsageError as error:
        console.err.line(f'plain lines instead of a live table: {error}')

    def draw_page(make_lines: MakeLines) -> None:
        # Without the last line of the terminal, because writing it would scroll.
        lines = make_lines(screen.width, screen.height - 1)
        # As Text, because rich interprets brackets in a str as a style.
        text, group = (
            import_optional('rich.text', 'cli').Text,
            import_optional('rich.console', 'cli').Group,
        )
        shown = [text(*line, no_wrap=True, overflow='crop') for line in lines]
        live.update(group(*shown), refresh=True)

    with live as shown:
        yield shown and draw_page


@contextmanager
def show_busy(stream: TextStream) -> Iterator[None]:
    """
    Show a moving bar on a terminal from the second second on, if rich is installed.

    Another thread draws it until the end of the block.
    """
    ended = threading.Event()

    def show() -> None:
        if not ended.wait(1.0):
            with progress(stream, 'computing', total=None):
                ended.wait()

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield
    finally:
        ended.set()
        shown.join()


@contextmanager
def progress(
    stream: TextStream, what: str, *, total: float | None = 1.0
) -> Iterator[Callable[[float], None]]:
    """
    Show a progress bar on a terminal, if rich is installed.

    :param stream: The output.
    :param what: Label of the bar.
    :param total: Where it ends; ``None``: it moves all the time.
    :returns: A function of the progress from 0 to ``total``.
    """
    bar: Any = nullcontext()
    with suppress(UsageError):
        if stream.is_terminal:
            screen = import_optional('rich.console', 'cli').Console(stderr=True)
            bar = import_optional('rich.progress', 'cli').Progress(console=screen, transient=True)
    with bar as shown:
        task = shown and shown.add_task(what, total=total)
        yield lambda done: shown and shown.update(task, completed=done)


@contextmanager
def open_keys(file: Any) -> Iterator[Callable[[], str]]:
    """
    Yield a function that returns the keys pressed since its last call, without waiting.

    In this context the terminal does not echo keys or wait for Enter; Ctrl-C still works.

    :param file: Standard input; if it is not a terminal there are no keys.
    """
    try:
        import termios
        import tty

        number = file.fileno()
        before = termios.tcgetattr(number)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield lambda: ''
        return

    def read_keys() -> str:
        pressed = b''
        while select.select([number], [], [], 0.0)[0] and (some := os.read(number, 1024)):
            pressed += some
        return pressed.decode(errors='ignore')

    try:
        tty.setcbreak(number)
        yield read_keys
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
