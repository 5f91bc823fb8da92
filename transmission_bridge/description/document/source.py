# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Convert a path, text or bytes to a text that is safe to parse.

Line numbers do not change: removed parts are replaced by blanks.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import select
import stat
import time

from transmission_bridge.errors import DescriptionError

#: Maximum size of a description, 16 MiB.
MAX_BYTES = 16 * 1024 * 1024

#: Longest time [s] until a pipe ends: xacro takes some seconds for a large robot.
PIPE_TIMEOUT = 60.0

_PIECE = 1024 * 1024

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)
# Other codecs are not for text, or need more than linear time.
_ENCODINGS = re.compile(r'utf-8|utf-16(-[lb]e)?|ascii|iso8859-\d+|cp125\d')
_ENCODING_NAME = re.compile(rb'^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["\']([A-Za-z][\w.-]*)["\']')
_DECLARATION = re.compile(r'\s*(<\?xml\s+version\s*=\s*["\']1\.\d["\'][^<>]*?\?>)')
_MARKS_AND_BLANKS = re.compile(r'[\s\ufeff]*')
_SKIPPED = re.compile(r'\s+|<!--.*?-->|<\?.*?\?>', re.DOTALL)
_QUOTED = r'(?:"[^"<>]*"|\'[^\'<>]*\')'
_BARE_DOCTYPE = re.compile(
    rf'<!DOCTYPE\s+[^\s<>\[\]"\']+(?:\s+(?:SYSTEM|PUBLIC\s+{_QUOTED})\s+{_QUOTED})?\s*>'
)


def description_text(source: str | bytes | bytearray | os.PathLike[str], *, name: str = '') -> str:
    """
    Return the text of a description with line feeds as line ends, without byte order mark.

    :param source: Text (a ``str`` that contains ``<``, or bytes), or a path.
    :param name: The file of the text, for errors; a path is its own name.
    :raises DescriptionError: If it cannot be read or decoded, is empty, or is too long.
    """
    if isinstance(source, str) and ('<' in source or not source.strip('\ufeff \t\r\n')):
        text = source
        # Each character has at least one byte: a cheap check before the exact one.
        _check_byte_count(len(text))
    elif isinstance(source, (bytes, bytearray)):
        text = _decode_text(bytes(source))
    else:
        name = os.fsdecode(source)
        text = _decode_text(_read_path(source))
    try:
        _check_byte_count(len(text.encode('utf-8')))
    except UnicodeEncodeError as error:
        raise DescriptionError(
            'the robot description is not text',
            line=text.count('\n', 0, error.start) + 1,
            found='a lone surrogate code point',
        ) from None
    text = text.replace('\r\n', '\n').replace('\r', '\n')
    if (null := text.find('\0')) >= 0:
        # Some parsers stop at a null character.
        raise DescriptionError(
            'the robot description is not text',
            line=text.count('\n', 0, null) + 1,
            found='a null character',
        )
    # The parser would drop the mark itself, and then read a prolog that blank_prolog() missed.
    start = _MARKS_AND_BLANKS.match(text)
    end = start.end() if start is not None else 0
    if end == len(text):
        what = f"file '{_shorten_path(name)}'" if name else 'the robot description'
        raise DescriptionError(f'{what} is empty: the program that writes it (xacro?) has failed')
    return '\n' * text.count('\n', 0, end) + text[end:]


def blank_prolog(text: str) -> str:
    """
    Blank out the XML declaration and a bare DOCTYPE, so that they have no effect.

    Without a declaration a text may begin with blank lines and has no encoding of its own.
    Without a DOCTYPE it has no entities, no default attributes and no external access.

    :raises DescriptionError: If the DOCTYPE contains declarations.
    """
    declaration = _DECLARATION.match(text)
    position = 0
    if declaration is not None:
        text = _blank_span(text, *declaration.span(1))
        position = declaration.end()
    while (skipped := _SKIPPED.match(text, position)) is not None:
        position = skipped.end()
    if not text.startswith('<!DOCTYPE', position):
        return text
    bare = _BARE_DOCTYPE.match(text, position)
    if bare is None:
        raise DescriptionError(
            'a DOCTYPE must not contain declarations (entities, default attributes)',
            line=text.count('\n', 0, position) + 1,
            expected='no DOCTYPE, or one without declarations',
        )
    return _blank_span(text, *bare.span())


def _blank_span(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r'[^\n]', ' ', text[start:end]) + text[end:]


def _check_byte_count(size: int) -> None:
    if size > MAX_BYTES:
        raise DescriptionError(
            'the robot description is too long', expected=f'at most {MAX_BYTES} bytes'
        )


def read_file(path: str | os.PathLike[str]) -> bytes:
    """
    Return the content of a file, or of a pipe as in ``<(xacro robot.xacro)``.

    :returns: At most one byte more than :data:`MAX_BYTES`, because some files never end.
    :raises OSError: If it cannot be read, or is a pipe that is still open after
        :data:`PIPE_TIMEOUT` seconds.
    :raises ValueError: If the path is invalid.
    """
    # open() must not block on a pipe without a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        deadline = time.monotonic() + PIPE_TIMEOUT
        data = bytearray()
        while len(data) <= MAX_BYTES:
            if not is_file:
                _wait_until_readable(handle, deadline, is_empty=not data)
            try:
                piece = os.read(handle, min(_PIECE, MAX_BYTES + 1 - len(data)))
            except BlockingIOError:  # another reader of the pipe was faster
                continue
            if not piece:
                break
            data += piece
        return bytes(data)
    finally:
        os.close(handle)


def _wait_until_readable(handle: int, deadline: float, *, is_empty: bool) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    left = deadline - time.monotonic()
    if left <= 0.0 or not poll.poll(1000.0 * left):
        what = 'no data came from this pipe' if is_empty else 'this pipe is still open'
        raise TimeoutError(errno.ETIMEDOUT, f'{what} after {PIPE_TIMEOUT:g} s')


def _read_path(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise DescriptionError(
            f"cannot read the robot description '{_shorten_path(os.fsdecode(path))}': {reason}"
        ) from error


def _shorten_path(path: str) -> str:
    text = path.encode('utf-8', 'backslashreplace').decode('utf-8')
    return text if len(text) <= 200 else text[:200] + '…'


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark, and the encoding by it or by the XML declaration."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return mark, encoding
    declared = _ENCODING_NAME.match(data[:1024])
    return b'', declared[1].decode('ascii') if declared else 'utf-8'


def _decode_text(data: bytes) -> str:
    _check_byte_count(len(data))
    mark, encoding = encoding_of(data)
    return _decode_with(data[len(mark) :], encoding)


def _decode_with(data: bytes, encoding: str) -> str:
    try:
        known = _ENCODINGS.fullmatch(codecs.lookup(encoding).name) is not None
    except LookupError:
        known = False
    if not known:
        raise DescriptionError(
            'the declared encoding is not supported',
            expected='UTF-8, UTF-16, ASCII, ISO 8859 or Windows 125x',
            found=encoding,
        )
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DescriptionError(
            f'the robot description is not text in {encoding}',
            line=data[: error.start].decode(encoding, 'ignore').count('\n') + 1,
            found=f'byte 0x{data[error.start]:02x}: {error.reason}',
        ) from None
