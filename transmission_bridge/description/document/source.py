# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Convert a path, text or bytes to a text that is safe to parse.

Line numbers do not change: removed parts are replaced by blanks.
"""

from __future__ import annotations

import codecs
import os
import re

from lxml import etree

from transmission_bridge.errors import DescriptionError, shown

#: Maximum size of a description, 16 MiB.
MAX_BYTES = 16 * 1024 * 1024

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)
_ENCODING_NAME = re.compile(rb'^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["\']([A-Za-z][\w.-]*)["\']')
_DECLARATION = re.compile(r'\A\s*<\?xml\s+version\s*=\s*["\']1\.\d["\'][^<>]*?\?>')
_BARE_DOCTYPE = re.compile(r'<!DOCTYPE[^<>\[\]]*>')
_MARKS_AND_BLANKS = re.compile(r'[\s\ufeff]*')


def description_text(source: str | bytes | bytearray | os.PathLike[str], *, name: str = '') -> str:
    """
    Return the text of a description with line feeds as line ends, without byte order mark.

    :param source: Text (a ``str`` that contains ``<``, or bytes), or a path.
    :param name: The file of the text, for errors; a path is its own name.
    :raises DescriptionError: If it cannot be read or decoded, is empty, or is too long.
    """
    if isinstance(source, str) and ('<' in source or not source.strip('\ufeff \t\r\n')):
        text = source
        try:
            _check_byte_count(source.encode('utf-8'))
        except UnicodeEncodeError:
            raise DescriptionError(
                'the robot description is not text', found='a lone surrogate code point'
            ) from None
    elif isinstance(source, (bytes, bytearray)):
        text, _, _ = decode_text(bytes(source))
    else:
        name = os.fsdecode(source)
        try:
            data = read_file(name)
        except (OSError, ValueError) as error:
            reason = getattr(error, 'strerror', None) or str(error)
            text = f'cannot read the robot description {shown(name)}: {reason}'
            raise DescriptionError(text) from error
        text, _, _ = decode_text(data)
    text = text.replace('\r\n', '\n').replace('\r', '\n')
    # The parser would drop the mark itself, and then read a prolog that blank_prolog() missed.
    start = _MARKS_AND_BLANKS.match(text)
    end = start.end() if start is not None else 0
    if end == len(text):
        what = f'file {shown(name)}' if name else 'the robot description'
        raise DescriptionError(f'{what} is empty: the program that writes it (xacro?) has failed')
    return '\n' * text.count('\n', 0, end) + text[end:]


def blank_prolog(text: str) -> str:
    """
    Blank out the XML declaration and a bare DOCTYPE, so that they have no effect.

    Without a declaration a text may begin with blank lines and has no encoding of its own.
    Without a DOCTYPE it has no entities, no default attributes and no external access.

    :raises DescriptionError: If the DOCTYPE contains declarations.
    """
    text = _BARE_DOCTYPE.sub(_blank_match, _DECLARATION.sub(_blank_match, text))
    if (place := text.find('<!DOCTYPE')) >= 0:
        raise DescriptionError(
            'a DOCTYPE must not contain declarations (entities, default attributes)',
            line=text.count('\n', 0, place) + 1,
            expected='no DOCTYPE, or one without declarations',
        )
    return text


def _blank_match(found: re.Match[str]) -> str:
    return re.sub(r'[^\n]', ' ', found[0])


def _check_byte_count(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise DescriptionError(
            'the robot description is too long', expected=f'at most {MAX_BYTES} bytes'
        )


def read_file(path: str | os.PathLike[str]) -> bytes:
    """
    Return the content of a file, or of a pipe as in ``<(xacro robot.xacro)``.

    :returns: At most one byte more than :data:`MAX_BYTES`, because some files never end.
    :raises OSError: If it cannot be read.
    :raises ValueError: If the path is invalid.
    """
    with open(path, 'rb') as file:
        return file.read(MAX_BYTES + 1)


def decode_text(data: bytes) -> tuple[str, bytes, str]:
    """
    Return the text of a description, its byte order mark, and its encoding.

    The encoding is that of the mark or of the XML declaration, else UTF-8.

    :raises DescriptionError: If it is too long or cannot be decoded.
    """
    _check_byte_count(data)
    mark, encoding = next(
        (pair for pair in _BYTE_ORDER_MARKS if data.startswith(pair[0])), (b'', '')
    )
    if not mark:
        declared = _ENCODING_NAME.match(data[:1024])
        encoding = declared[1].decode('ascii') if declared else 'utf-8'
    data = data[len(mark) :]
    try:
        if not mark:
            etree.XMLParser(encoding=encoding)  # knows encodings of text only
        return data.decode(encoding), mark, encoding
    except LookupError:
        raise DescriptionError('the declared encoding is not supported', found=encoding) from None
    except UnicodeDecodeError as error:
        raise DescriptionError(
            f'the robot description is not text in {encoding}',
            line=data[: error.start].decode(encoding, 'ignore').count('\n') + 1,
            found=f'byte 0x{data[error.start]:02x}: {error.reason}',
        ) from None
