# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Where elements, attributes and words stand in a description, to the byte.

A parser tells what is in a text but not where, and writing its tree back changes quotes, blanks
and line ends. So the text itself is scanned here. It has been read by
:func:`~transmission_bridge.description.load.load_description` before: it is well-formed and has
no entities of its own.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field
import re

from transmission_bridge.description.source import description_text
from transmission_bridge.errors import DescriptionError

__all__ = ['Edit', 'EditableText', 'TextElement', 'Word']

_MARKUP = re.compile(
    r'<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<\?.*?\?>|<!DOCTYPE[^>]*>'
    r'|</[^>]*>'
    r'|<(?P<name>[^\s/>!?]+)(?P<attributes>(?:[^"\'>]|"[^"]*"|\'[^\']*\')*?)(?P<empty>/?)>',
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'([^\s=]+)\s*=\s*(?:"([^"]*)"|\'([^\']*)\')', re.DOTALL)
_REFERENCE = re.compile(r'&(#x[0-9a-fA-F]+|#[0-9]+|lt|gt|amp|quot|apos);')
_NAMED = {'lt': '<', 'gt': '>', 'amp': '&', 'quot': '"', 'apos': "'"}
_WORD = re.compile(r'[^ \t\n\r,;]+')
_DECLARED = re.compile(rb'^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["\']([A-Za-z][\w.-]*)["\']')
_MARKS = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)


@dataclass(frozen=True, slots=True)
class Edit:
    """
    One change of a text.

    :param start: First character that is replaced.
    :param end: Character behind the last; ``start`` to insert.
    :param text: What comes there.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """
    A word as its reader sees it, which comments and CDATA may tear into several pieces.

    :param text: The word.
    :param spans: Start and end of each piece in the text.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    def replaced(self, text: str) -> list[Edit]:
        """Return the edits that put another word in its place."""
        (start, end), *others = self.spans
        return [Edit(start, end, text), *(Edit(*span, '') for span in others)]


@dataclass(eq=False, slots=True)
class TextElement:
    """
    An element and where it stands.

    :ivar name: Its name as written, with a prefix if it has one.
    :ivar start: Where its start tag begins.
    :ivar open_end: Behind the start tag.
    :ivar close_start: Where its end tag begins; ``open_end`` where there is none.
    :ivar end: Behind it.
    :ivar is_empty: Whether it is one tag, ``<a/>``.
    :ivar attributes: Start and end of the values, by local name.
    :ivar runs: Pieces of its own text: start, end, whether it is CDATA; ``None`` is a child.
    """

    name: str
    start: int
    open_end: int
    parent: TextElement | None
    close_start: int = 0
    end: int = 0
    is_empty: bool = False
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)
    children: list[TextElement] = field(default_factory=list)
    runs: list[tuple[int, int, bool] | None] = field(default_factory=list)

    @property
    def tag(self) -> str:
        """The local name."""
        return self.name.rpartition(':')[2]

    def all(self, tag: str) -> list[TextElement]:
        """Return the children of a local name."""
        return [child for child in self.children if child.tag == tag]


class EditableText:
    """
    A description that can be changed without touching any other byte of it.

    :param data: The description.
    :ivar text: Its characters, line ends as they are.
    :raises DescriptionError: If it cannot be written back as it is.
    """

    def __init__(self, data: bytes) -> None:
        self._mark, self._encoding = _encoding(data)
        self.text = data[len(self._mark) :].decode(self._encoding)
        read = description_text(data).lstrip()
        same = self.text.replace('\r\n', '\n').replace('\r', '\n').strip('\ufeff \t\r\n')
        if self.encoded(()) != data or read.strip('\ufeff \t\r\n') != same:
            raise DescriptionError('the description cannot be written back as it is')
        self._by_path: dict[str, TextElement] = {}
        self._scan()

    def element(self, path: str) -> TextElement | None:
        """
        Return the element at a path as the specs give it, ``None`` where there is none.

        :param path: For example ``/robot/transmission[2]``.
        """
        return self._by_path.get(path)

    def words(self, element: TextElement) -> list[Word]:
        """Return the words of an element's own text, separated by blanks, commas, semicolons."""
        return self._words(element.runs)

    def attribute_words(self, element: TextElement, attribute: str) -> list[Word]:
        """Return the words of an attribute's value."""
        return self._words([(*element.attributes[attribute], False)])

    def encoded(self, edits: Sequence[Edit]) -> bytes:
        """Return the bytes of the text after edits, which do not overlap."""
        pieces, at = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            pieces += [self.text[at : edit.start], edit.text]
            at = edit.end
        return self._mark + ''.join([*pieces, self.text[at:]]).encode(self._encoding)

    def _words(self, runs: Sequence[tuple[int, int, bool] | None]) -> list[Word]:
        characters: list[tuple[str, int, int]] = []
        for run in runs:
            if run is None:
                characters.append((' ', 0, 0))
            else:
                characters += self._characters(*run)
        whole = ''.join(character for character, _, _ in characters)
        words = []
        for match in _WORD.finditer(whole):
            spans: list[tuple[int, int]] = []
            for _, start, end in characters[match.start() : match.end()]:
                if spans and spans[-1][1] == start:
                    spans[-1] = spans[-1][0], end
                else:
                    spans.append((start, end))
            words.append(Word(match.group(), tuple(spans)))
        return words

    def _characters(self, start: int, end: int, is_cdata: bool) -> list[tuple[str, int, int]]:
        """Return the characters of a piece of text with their places; a reference is one."""
        characters = []
        at = start
        while at < end:
            match = None if is_cdata else _REFERENCE.match(self.text, at, end)
            if match is None:
                characters.append((self.text[at], at, at + 1))
                at += 1
            else:
                characters.append((_referenced(match[1]), at, match.end()))
                at = match.end()
        return characters

    def _scan(self) -> None:
        opened: TextElement | None = None
        at = 0
        for mark in _MARKUP.finditer(self.text):
            if opened is not None and mark.start() > at:
                opened.runs.append((at, mark.start(), False))
            at = mark.end()
            if mark['name']:
                element = self._opened(mark, opened)
                opened = opened if element.is_empty else element
            elif mark['cdata'] is not None and opened is not None:
                opened.runs.append((*mark.span('cdata'), True))
            elif mark[0].startswith('</') and opened is not None:
                opened.close_start, opened.end = mark.span()
                opened = opened.parent
        self._name_paths()

    def _opened(self, mark: re.Match[str], parent: TextElement | None) -> TextElement:
        element = TextElement(mark['name'], mark.start(), mark.end(), parent)
        element.is_empty = bool(mark['empty'])
        element.close_start = element.end = mark.end()
        base = mark.start('attributes')
        for attribute in _ATTRIBUTE.finditer(mark['attributes']):
            prefix, _, local = attribute[1].rpartition(':')
            if 'xmlns' in (prefix, attribute[1]):
                continue
            # Where x:name and name are both given, the plain one is meant.
            if local == attribute[1] or local not in element.attributes:
                start, end = attribute.span(2 if attribute[2] is not None else 3)
                element.attributes[local] = base + start, base + end
        if parent is None:
            self._by_path[f'/{element.tag}'] = element
        else:
            parent.children.append(element)
            parent.runs.append(None)
        return element

    def _name_paths(self) -> None:
        """Number the elements as the paths of parsed elements are numbered."""
        waiting = list(self._by_path.items())
        for path, element in waiting:
            self._by_path[path] = element
            totals: dict[str, list[TextElement]] = {}
            for child in element.children:
                totals.setdefault(child.tag, []).append(child)
            for tag, same in totals.items():
                for number, child in enumerate(same, 1):
                    ordinal = f'[{number}]' if len(same) > 1 else ''
                    waiting.append((f'{path}/{tag}{ordinal}', child))


def _referenced(name: str) -> str:
    if name.startswith('#x'):
        return chr(int(name[2:], 16))
    return chr(int(name[1:])) if name.startswith('#') else _NAMED[name]


def _encoding(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark and the encoding, as the description's source module does."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    declared = _DECLARED.match(data[:1024])
    return b'', declared[1].decode('ascii') if declared else 'utf-8'
