# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Text to the user: whatever the encoding of the stream, and also when the reader has gone."""

from __future__ import annotations

from dataclasses import dataclass
import json
import os
import shutil
import sys
from typing import Any, TextIO

from transmission_bridge.errors import printable

__all__ = ['Console', 'OutputError', 'Stream', 'printable']

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
