# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Write numbers of transmissions into their description without other changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
import re

from transmission_bridge.description.document.source import description_text, encoding_of
from transmission_bridge.description.document.values import (
    INFINITE,
    MECHANICAL_REDUCTION,
    OFFSET,
    parse_number,
)
from transmission_bridge.description.specs import (
    ParameterSpec,
    TransmissionEnd,
    TRANSMISSIONS,
    TransmissionSpec,
)
from transmission_bridge.errors import DescriptionError

# -- Positions of elements, attributes and words in the text -------------------------------------
#
# A parser reports no positions, and writing its tree changes quotes, blanks and line ends. So the
# text itself is scanned. After
# :func:`~transmission_bridge.description.load.load_description` it is well-formed and declares no
# entities.


_MARKUP = re.compile(
    r'<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<\?.*?\?>|<!DOCTYPE[^>]*>'
    r'|</[^>]*>'
    r'|<(?P<name>[^\s/>!?]+)(?P<attributes>(?:[^"\'>]|"[^"]*"|\'[^\']*\')*?)(?P<empty>/?)>',
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'([^\s=]+)\s*=\s*(?:"([^"]*)"|\'([^\']*)\')', re.DOTALL)
#: A character, which may be a reference.
_CHARACTER, _ANY = re.compile(r'&[^;]+;|.', re.DOTALL), re.compile('.', re.DOTALL)
_WORD = re.compile(r'[^ \t\n\r,;]+')


@dataclass(frozen=True, slots=True)
class Edit:
    """
    One change of a text.

    :param start: First character that is replaced.
    :param end: Character after the last; ``start`` to insert.
    :param text: The replacement.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """
    A word; comments and CDATA may split it.

    :param text: The word.
    :param spans: Start and end of each piece in the text.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    def replaced(self, text: str) -> list[Edit]:
        """Return the edits that replace the word."""
        (start, end), *others = self.spans
        return [Edit(start, end, text), *(Edit(*span, '') for span in others)]


@dataclass(eq=False, slots=True)
class TextElement:
    """
    An element and its position.

    :ivar name: Its name as written, with a prefix if it has one.
    :ivar start: Start of its start tag.
    :ivar open_end: End of the start tag.
    :ivar close_start: Start of its end tag; ``open_end`` without one.
    :ivar end: End of the element.
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
        """Return the children with a local name."""
        return [child for child in self.children if child.tag == tag]


class EditableText:
    """
    A description that can be edited without changing any other byte.

    :param data: The description.
    :ivar text: Its characters, with line ends unchanged.
    :ivar elements: By their paths in the specs, for example ``/robot/transmission[2]``.
    :raises DescriptionError: If it cannot be written back unchanged.
    """

    def __init__(self, data: bytes) -> None:
        self._mark, self._encoding = encoding_of(data)
        self.text = data[len(self._mark) :].decode(self._encoding)
        read = description_text(data).lstrip()
        same = self.text.replace('\r\n', '\n').replace('\r', '\n').strip('\ufeff \t\r\n')
        if self.encoded(()) != data or read.strip('\ufeff \t\r\n') != same:
            raise DescriptionError('the description cannot be written back as it is')
        self.elements: dict[str, TextElement] = {}
        self._scan_text()

    def encoded(self, edits: Sequence[Edit]) -> bytes:
        """Return the bytes of the text after edits, which do not overlap."""
        pieces, at = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            pieces += [self.text[at : edit.start], edit.text]
            at = edit.end
        return self._mark + ''.join([*pieces, self.text[at:]]).encode(self._encoding)

    def words(self, element: TextElement, attribute: str = '') -> list[Word]:
        """
        Return the words of an element, separated by blanks, commas, semicolons.

        :param attribute: The attribute that has them, empty: its own text.
        """
        ends = element.attributes.get(attribute)
        runs = element.runs if ends is None else [(*ends, False)]
        characters: list[tuple[str, int, int]] = []
        for run in runs:
            if run is None:
                characters.append((' ', 0, 0))
                continue
            start, end, is_cdata = run
            pattern = _ANY if is_cdata else _CHARACTER
            for each in pattern.finditer(self.text, start, end):
                characters.append((unescape(each[0]) or '\ufffd', *each.span()))
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

    def _scan_text(self) -> None:
        opened: TextElement | None = None
        at = 0
        for mark in _MARKUP.finditer(self.text):
            if opened is not None and mark.start() > at:
                opened.runs.append((at, mark.start(), False))
            at = mark.end()
            if mark['name']:
                element = self._open_element(mark, opened)
                opened = opened if element.is_empty else element
            elif mark['cdata'] is not None and opened is not None:
                opened.runs.append((*mark.span('cdata'), True))
            elif mark[0].startswith('</') and opened is not None:
                opened.close_start, opened.end = mark.span()
                opened = opened.parent
        self._number_elements()

    def _open_element(self, mark: re.Match[str], parent: TextElement | None) -> TextElement:
        element = TextElement(mark['name'], mark.start(), mark.end(), parent)
        element.is_empty = bool(mark['empty'])
        element.close_start = element.end = mark.end()
        base = mark.start('attributes')
        for attribute in _ATTRIBUTE.finditer(mark['attributes']):
            prefix, _, local = attribute[1].rpartition(':')
            if 'xmlns' in (prefix, attribute[1]):
                continue
            # Of x:name and name, name is used.
            if local == attribute[1] or local not in element.attributes:
                start, end = attribute.span(2 if attribute[2] is not None else 3)
                element.attributes[local] = base + start, base + end
        if parent is None:
            self.elements[f'/{element.tag}'] = element
        else:
            parent.children.append(element)
            parent.runs.append(None)
        return element

    def _number_elements(self) -> None:
        """Number the elements as in the paths of the specs."""
        waiting = list(self.elements.items())
        for path, element in waiting:
            self.elements[path] = element
            totals: dict[str, list[TextElement]] = {}
            for child in element.children:
                totals.setdefault(child.tag, []).append(child)
            for tag, same in totals.items():
                for number, child in enumerate(same, 1):
                    ordinal = f'[{number}]' if len(same) > 1 else ''
                    waiting.append((f'{path}/{tag}{ordinal}', child))


# -- Writing numbers -----------------------------------------------------------------------------
#
# A number keeps its form: attribute or child element, ``mechanical_reduction`` or
# ``mechanicalReduction``. If it is missing, because it has a default, an element is inserted with
# the indentation of its neighbours.


_INDENTATION = re.compile(r'(?:\r\n|\n|\r)[ \t]*\Z')
#: Comments after an element on its line.
_REST_OF_LINE = re.compile(r'[ \t]*(?:<!--[^\r\n]*?-->[ \t]*)+(?=[\r\n])')
#: Indentation of an element below its parent, without a neighbour.
_STEP = '  '


class NumberEditor:
    """
    Collect changes of numbers, then apply all of them.

    :param data: The description; :func:`load_description` has read it.
    :raises DescriptionError: If it cannot be written back as it is.
    """

    def __init__(self, data: bytes) -> None:
        self._text = EditableText(data)
        self._edits: dict[int, list[Edit]] = {}
        self._added: dict[TextElement, list[str]] = {}

    def set_member_number(
        self, spec: TransmissionSpec, member: TransmissionEnd, field: str, value: float
    ) -> bool:
        """
        Set the reduction or the offset of a joint or an actuator.

        :param field: ``mechanical_reduction`` or ``offset``.
        :returns: Whether its place exists.
        """
        row = TRANSMISSIONS[spec.dialect].children[0]
        tag = row.value(field).name
        in_attributes = tag in row.attributes
        element = self._text.elements.get(member.path)
        if element is None:
            return False
        found = element.all(tag)
        given = in_attributes and tag in element.attributes
        if not found and not given and field == MECHANICAL_REDUCTION:
            found = self._list_pr2_reductions(spec, tag)
        for child in found:
            self._set_word(self._text.words(child), 0, value)
        if given:
            self._set_word(self._text.words(element, tag), 0, value)
        if found or given:
            return True
        numbers = {row.value(each).name for each in (MECHANICAL_REDUCTION, OFFSET)}
        if in_attributes and numbers & element.attributes.keys():
            end = max(end for _, end in element.attributes.values()) + 1
            self._record_edit(Edit(end, end, f' {tag}="{value!r}"'))
        else:
            self._add_child(member.path, tag, '', repr(value))
        return True

    def set_limit(
        self,
        spec: TransmissionSpec,
        member: TransmissionEnd,
        kind: str,
        value: float,
        *,
        in_parameters: bool,
    ) -> bool:
        """
        Set a limit of an actuator: as attribute of its ``<limit>``, as its ``<param>``, or both.

        A missing limit becomes an attribute of the ``<limit>``, or of a new one.

        :param kind: ``lower``, ``upper``, ``velocity`` or ``effort``.
        :param in_parameters: Whether a parameter of this name is this limit.
        :returns: Whether its place exists.
        """
        found = [
            element
            for each in member.parameters
            if each.name == 'limit' and not each.value and not each.children
            if (element := self._text.elements.get(each.path)) is not None
        ]
        done = in_parameters and self.set_parameter(spec, member, kind, 0, value)
        for element in found:
            if kind in element.attributes:
                done = self._set_attribute(element, kind, value)
        if done:
            return True
        if found:
            return self._set_attribute(found[0], kind, value)
        return self._add_child(member.path, 'limit', f' {kind}="{value!r}"', '')

    def set_attribute(self, parameter: ParameterSpec, attribute: str, value: float) -> bool:
        """
        Set an attribute of an element that a type reads, or add it.

        :returns: Whether its place exists.
        """
        element = self._text.elements.get(parameter.path)
        return element is not None and self._set_attribute(element, attribute, value)

    def set_parameter(
        self,
        spec: TransmissionSpec,
        member: TransmissionEnd | None,
        name: str,
        place: int,
        value: float,
    ) -> bool:
        """
        Set one number of a parameter.

        :param member: The joint or actuator that has the parameter, ``None``: the transmission.
        :param place: Index of the number in the parameter.
        :returns: Whether it exists.
        """
        parameters = spec.parameters if member is None else member.parameters
        found = [parameter for parameter in parameters if parameter.name == name]
        return bool(found) and all(
            self._set_word(self._list_words(parameter), place, value) for parameter in found
        )

    def add_parameter(
        self,
        spec: TransmissionSpec,
        member: TransmissionEnd | None,
        name: str,
        values: Sequence[float],
    ) -> bool:
        """
        Add a missing parameter.

        :returns: Whether its place exists.
        """
        path = spec.path if member is None else member.path
        return self._add_child(path, 'param', f' name="{name}"', ' '.join(map(repr, values)))

    def result(self) -> bytes:
        """Return the description with all changes made."""
        edits = [edit for group in self._edits.values() for edit in group]
        for element, children in self._added.items():
            edits += self._insert_children(element, children)
        return self._text.encoded(edits)

    def _list_pr2_reductions(self, spec: TransmissionSpec, tag: str) -> list[TextElement]:
        """Return the reduction elements of a transmission in the style of the PR2."""
        element = self._text.elements.get(spec.path)
        if spec.dialect != 'ros_control' or element is None or element.all('type'):
            return []
        return element.all(tag)

    def _list_words(self, parameter: ParameterSpec) -> list[Word]:
        path, _, attribute = parameter.path.partition('/@')
        if (element := self._text.elements.get(path)) is None:
            return []
        return self._text.words(element, attribute)

    def _set_word(self, words: Sequence[Word], place: int, value: float) -> bool:
        if place >= len(words):
            return False
        word = words[place]
        try:
            if parse_number(word.text) == value:
                return True
        except ValueError:
            if word.text not in INFINITE:  # valid for a limit
                return False
        for edit in word.replaced(repr(value)):
            self._record_edit(edit)
        return True

    def _set_attribute(self, element: TextElement, attribute: str, value: float) -> bool:
        if attribute in element.attributes:
            return self._set_word(self._text.words(element, attribute), 0, value)
        ends = [end + 1 for _, end in element.attributes.values()]
        at = max(ends, default=element.start + 1 + len(element.name))
        self._record_edit(Edit(at, at, f' {attribute}="{value!r}"'))
        return True

    def _record_edit(self, edit: Edit) -> None:
        """Record an edit; a second edit of the same characters replaces the first."""
        if edit.start == edit.end:
            self._edits.setdefault(edit.start, []).append(edit)
        else:
            self._edits[edit.start] = [edit]

    def _add_child(self, path: str, tag: str, attributes: str, text: str) -> bool:
        """Add a child to an element, and return whether the element exists."""
        element = self._text.elements.get(path)
        if element is None:
            return False
        prefix = element.name.rpartition(':')[0]
        name = f'{prefix}:{tag}' if prefix else tag
        end = f'>{text}</{name}>' if text else '/>'
        self._added.setdefault(element, []).append(f'<{name}{attributes}{end}')
        return True

    def _insert_children(self, element: TextElement, children: Sequence[str]) -> list[Edit]:
        """Return the edits that insert children after the existing ones."""
        text = self._text.text
        if element.children:
            last = element.children[-1]
            before = self._find_line_start(last)
            rest = _REST_OF_LINE.match(text, last.end) if before else None
            at = last.end if rest is None else rest.end()
            return [Edit(at, at, ''.join(before + child for child in children))]
        after = self._find_line_start(element)
        before = after and after + self._find_indentation(element, after)
        inside = ''.join(before + child for child in children)
        if element.is_empty:
            # <a b="c" /> becomes <a b="c">...</a>
            slash = text.rindex('/', element.start, element.open_end)
            start = len(text[:slash].rstrip(' \t\r\n'))
            return [Edit(start, element.open_end, f'>{inside}{after}</{element.name}>')]
        content = text[element.open_end : element.close_start]
        if '\n' in content or '\r' in content:
            after = ''
        return [Edit(element.open_end, element.open_end, inside + after)]

    def _find_line_start(self, element: TextElement) -> str:
        """Return line end and indentation before an element, empty inside a line."""
        line = _INDENTATION.search(self._text.text, max(element.start - 1000, 0), element.start)
        return '' if line is None else line[0]

    def _find_indentation(self, element: TextElement, line: str) -> str:
        """Return the indentation of an element below its parent."""
        above = self._find_line_start(element.parent) if element.parent is not None else ''
        return (line.removeprefix(above) if above and line.startswith(above) else '') or _STEP
