# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A path, text or bytes to characters that are safe to parse.

Line numbers stay those of the user's text: removed parts are replaced by blanks.
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

#: Longest description that is read, 16 MiB.
MAX_BYTES = 16 * 1024 * 1024

#: Seconds after which a pipe has to end: xacro takes some for a large robot.
PIPE_TIMEOUT = 60.0

_PIECE = 1024 * 1024

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)
# Other codecs are not for text, or take more than linear time.
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
    Return the characters of a description, line ends normalised to line feeds.

    :param source: Text (a ``str`` that contains ``<``, or bytes), or a path.
    :param name: The file that the text came from, for errors; a path is its own name.
    :returns: The text without byte order mark.
    :raises DescriptionError: If it cannot be read or decoded, is empty, or is too long.
    """
    if isinstance(source, str) and ('<' in source or not source.strip('\ufeff \t\r\n')):
        text = source
        # Each character is at least one byte: a cheap check before the one below.
        _check_size(len(text))
    elif isinstance(source, (bytes, bytearray)):
        text = _decode(bytes(source))
    else:
        name = os.fsdecode(source)
        text = _decode(_read(source))
    try:
        _check_size(len(text.encode('utf-8')))
    except UnicodeEncodeError as error:
        raise DescriptionError(
            'the robot description is not text',
            line=text.count('\n', 0, error.start) + 1,
            found='a lone surrogate code point',
        ) from None
    text = text.replace('\r\n', '\n').replace('\r', '\n')
    if (null := text.find('\0')) >= 0:
        # Some parsers end there, and would not read the rest.
        raise DescriptionError(
            'the robot description is not text',
            line=text.count('\n', 0, null) + 1,
            found='a null character',
        )
    # The parser would drop the mark itself, and then find a prolog that without_prolog() did not.
    start = _MARKS_AND_BLANKS.match(text)
    end = start.end() if start is not None else 0
    if end == len(text):
        what = f"file '{_shortened(name)}'" if name else 'the robot description'
        raise DescriptionError(f'{what} is empty: what should have written it (xacro?) has failed')
    return '\n' * text.count('\n', 0, end) + text[end:]


def without_prolog(text: str) -> str:
    """
    Blank out the XML declaration and a bare DOCTYPE, so that neither has any effect.

    Without its declaration a text may begin with blank lines and has no encoding of its own;
    without a DOCTYPE there is no entity, no default attribute and no external access.

    :returns: A text with the same lines.
    :raises DescriptionError: If the DOCTYPE holds declarations.
    """
    declaration = _DECLARATION.match(text)
    position = 0
    if declaration is not None:
        text = _blanked(text, *declaration.span(1))
        position = declaration.end()
    while (skipped := _SKIPPED.match(text, position)) is not None:
        position = skipped.end()
    if not text.startswith('<!DOCTYPE', position):
        return text
    bare = _BARE_DOCTYPE.match(text, position)
    if bare is None:
        raise DescriptionError(
            'declarations in a DOCTYPE (entities, default attributes) are refused',
            line=text.count('\n', 0, position) + 1,
            expected='no DOCTYPE, or one without declarations',
        )
    return _blanked(text, *bare.span())


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r'[^\n]', ' ', text[start:end]) + text[end:]


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise DescriptionError(
            'the robot description is too long', expected=f'at most {MAX_BYTES} bytes'
        )


def read_file(path: str | os.PathLike[str]) -> bytes:
    """
    Return the content of a file, or of a pipe as in ``<(xacro robot.xacro)``.

    :returns: At most one byte more than :data:`MAX_BYTES`, because some files never end.
    :raises OSError: If it cannot be read, or is a pipe that has not ended after
        :data:`PIPE_TIMEOUT` seconds.
    :raises ValueError: If the path is not valid.
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
        what = 'nobody has written to this pipe' if is_empty else 'this pipe has not ended'
        raise TimeoutError(errno.ETIMEDOUT, f'{what} after {PIPE_TIMEOUT:g} s')


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise DescriptionError(
            f"cannot read the robot description '{_shortened(os.fsdecode(path))}': {reason}"
        ) from error


def _shortened(path: str) -> str:
    text = path.encode('utf-8', 'backslashreplace').decode('utf-8')
    return text if len(text) <= 200 else text[:200] + '…'


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark, and the encoding that it or the XML declaration names."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return mark, encoding
    declared = _ENCODING_NAME.match(data[:1024])
    return b'', declared[1].decode('ascii') if declared else 'utf-8'


def _decode(data: bytes) -> str:
    _check_size(len(data))
    mark, encoding = encoding_of(data)
    return _decode_as(data[len(mark) :], encoding)


def _decode_as(data: bytes, encoding: str) -> str:
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
