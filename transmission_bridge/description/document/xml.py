# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Read a path, text or bytes as XML, safely: a tree of plain elements with line and path.

Descriptions come from topics and files of others, hence the limits on bytes, depth, elements and
attributes, and no entities. Findings report lines and paths, and the editor finds elements by
path, so the form of a path is fixed. Nothing changes an element after :func:`parse_xml`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
import os
import re
from typing import Any

from lxml import etree

from transmission_bridge.description.document.values import XML_SPACE
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
        text, _, _ = decode_description(bytes(source))
    else:
        name = os.fsdecode(source)
        try:
            data = read_urdf_file(name)
        except (OSError, ValueError) as error:
            reason = getattr(error, 'strerror', None) or str(error)
            text = f'cannot read the robot description {shown(name)}: {reason}'
            raise DescriptionError(text) from error
        text, _, _ = decode_description(data)
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


def read_urdf_file(path: str | os.PathLike[str]) -> bytes:
    """
    Return the content of a file, or of a pipe as in ``<(xacro robot.xacro)``.

    :returns: At most one byte more than :data:`MAX_BYTES`, because some files never end.
    :raises OSError: If it cannot be read.
    :raises ValueError: If the path is invalid.
    """
    with open(path, 'rb') as file:
        return file.read(MAX_BYTES + 1)


def decode_description(data: bytes) -> tuple[str, bytes, str]:
    """
    Return the text of a description, its byte order mark, and its encoding.

    The mark or the XML declaration determines the encoding, else it is UTF-8.

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


#: Maximum depth of nesting; descriptions need about ten.
MAX_DEPTH = 100
#: Maximum number of elements.
MAX_ELEMENTS = 250_000
#: Maximum number of attributes of an element.
MAX_ATTRIBUTES = 5000

_PIECE = 1024 * 1024

#: Markup of a well-formed text; group 1 is the beginning of a start tag.
MARKUP = re.compile(r'<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|(<[^/!?])', re.DOTALL)
#: All spellings of the namespace that xacro accepts.
_XACRO = re.compile(r'\{http://(www\.|wiki\.)?ros\.org/(wiki/)?xacro/?(#[a-z]+)?\}')
_VALUE = re.compile(r'=\s*["\']')
_MESSAGE_TAIL = re.compile(r',? \(?line \d+, column \d+\)?.*', re.DOTALL)


@dataclass(slots=True, eq=False, repr=False)
class Element:
    """
    One XML element, read-only once parsed.

    :param tag: Local name.
    :param attributes: Stripped values by local name.
    :param index: Index in document order, from 0.
    :param is_xacro: Whether it is an unexpanded element of xacro.
    :ivar children: Child elements in document order.
    :ivar text: The element's own text without comments, stripped.
    :ivar line: Line of the ``<`` of the start tag, from 1.
    """

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    index: int
    is_xacro: bool
    children: list[Element] = field(default_factory=list)
    text: str = ''
    line: int = 0
    _pieces: list[str] = field(default_factory=list)
    _totals: dict[str, int] = field(default_factory=dict)
    _ordinal: int = 1
    _path: str = ''

    def __post_init__(self) -> None:
        if (parent := self.parent) is not None:
            parent.children.append(self)
            self._ordinal = parent._totals[self.tag] = parent._totals.get(self.tag, 0) + 1
            # Texts before and after a child are separate words.
            parent._pieces.append(' ')

    @property
    def path(self) -> str:
        """The path, for example ``/robot/joint[3]``; a tag with siblings is numbered."""
        if not self._path:
            parent = self.parent
            above = parent.path if parent is not None else ''
            alone = parent is None or parent._totals[self.tag] == 1
            self._path = f'{above}/{self.tag}' + ('' if alone else f'[{self._ordinal}]')
        return self._path

    def find_all(self, *tags: str) -> list[Element]:
        """Return the children with one of these tags in document order, without xacro's."""
        return [child for child in self.children if child.tag in tags and not child.is_xacro]

    def iterate_below(self) -> Iterator[Element]:
        """Yield all elements inside this one, in document order."""
        for child in self.children:
            yield child
            yield from child.iterate_below()

    def find_child(self, tag: str) -> Element | None:
        """Return the first child with this tag, or ``None``."""
        return next(iter(self.find_all(tag)), None)

    def get(self, attribute: str) -> str | None:
        """Return the stripped value of an attribute, or ``None``."""
        return self.attributes.get(attribute)


class _TreeBuilder:
    """Build the tree from the parser's events; raise an error if a limit is exceeded."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self._open: list[Element] = []

    def start(self, tag: str | bytes, attrib: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise DescriptionError('elements are nested too deep', expected=f'depth {MAX_DEPTH}')
        if len(self.elements) >= MAX_ELEMENTS:
            raise DescriptionError('too many elements', expected=f'at most {MAX_ELEMENTS}')
        parent = self._open[-1] if self._open else None
        attributes: dict[str, str] = {}
        for name, value in attrib.items():
            local = strip_xml_prefix(name)
            # If an element has x:name and name, name is used.
            if local == name or local not in attrib:
                # With entities off, the parser returns every & of an attribute in this form.
                attributes[local] = value.replace('&#38;', '&').strip(XML_SPACE)
        is_xacro = _XACRO.match(str(tag)) is not None
        local = strip_xml_prefix(str(tag))
        element = Element(local, attributes, parent, len(self.elements), is_xacro)
        self.elements.append(element)
        self._open.append(element)

    def data(self, data: str | bytes) -> None:
        self._open[-1]._pieces.append(str(data))

    def comment(self, text: str | bytes) -> None:
        pass  # texts before and after a comment are one text

    def end(self, tag: str | bytes) -> None:
        element = self._open.pop()
        element.text = ''.join(element._pieces).strip(XML_SPACE)
        element._pieces = []

    def close(self) -> list[Element]:
        return self.elements


def strip_xml_prefix(name: str) -> str:
    """Return the local name of an element or an attribute."""
    if '}' in name or ':' in name:
        return name.rpartition('}')[2].rpartition(':')[2]
    return name


def parse_xml(text: str) -> Element:
    """
    Parse the text of a description (from :func:`description_text`) and return its root element.

    :raises DescriptionError: If it is not well-formed, declares entities, or exceeds a limit.
    """
    blanked = blank_prolog(text)
    # The parser would compare many attributes pairwise.
    for piece in blanked.split('<'):
        if len(piece) > 4 * MAX_ATTRIBUTES and len(_VALUE.findall(piece)) > MAX_ATTRIBUTES:
            raise DescriptionError(
                'too many attributes in one element', expected=f'at most {MAX_ATTRIBUTES}'
            )
    parser = etree.XMLParser(
        target=_TreeBuilder(),
        encoding='utf-8',
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        data = blanked.encode('utf-8')
        # In pieces, because some parsers accept at most 10 MB at once.
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        elements: Any = parser.close()
    except etree.XMLSyntaxError as error:
        reason = _MESSAGE_TAIL.sub('', error.msg or '') or 'no element found'
        raise DescriptionError(f'not well-formed XML: {reason}', line=error.lineno) from None
    # The parser counts lines only to 65535, and reports the line of the end of a start tag.
    starts = [mark.start() for mark in MARKUP.finditer(blanked) if mark[1] is not None]
    line = 1
    for element, (before, start) in zip(elements, pairwise((0, *starts)), strict=True):
        line += blanked.count('\n', before, start)
        element.line = line
    root: Element = elements[0]
    return root
