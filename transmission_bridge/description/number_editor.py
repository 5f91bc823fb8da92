# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Writing numbers of transmissions back into their description, each where it stands.

Every dialect and spelling keeps its own: attribute or child element, ``mechanical_reduction`` or
``mechanicalReduction``. Where a number does not stand there yet, because it has a default, an
element is inserted with the indentation of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from transmission_bridge.description.control_specs import (
    MemberSpec,
    ParameterSpec,
    TransmissionSpec,
)
from transmission_bridge.description.members import ROS2_CONTROL, ROS_CONTROL
from transmission_bridge.description.numbers import parse_number
from transmission_bridge.description.text_positions import Edit, EditableText, TextElement, Word

__all__ = ['NumberEditor']

_SPELLINGS = {'ros2_control': ROS2_CONTROL, 'ros_control': ROS_CONTROL}
_INDENTATION = re.compile(r'(\r\n|\n|\r)([ \t]*)\Z')
#: What belongs to the line that an element ends.
_REST_OF_LINE = re.compile(r'[ \t]*(?:<!--[^\r\n]*?-->[ \t]*)+(?=[\r\n])')
#: Indentation of an element below its parent, where there is nothing to go by.
_STEP = '  '


class NumberEditor:
    """
    Collects changes of numbers, then makes them all at once.

    :param data: The description; :func:`load_description` has read it.
    :raises DescriptionError: If it cannot be written back as it is.
    """

    def __init__(self, data: bytes) -> None:
        self._text = EditableText(data)
        self._edits: dict[int, list[Edit]] = {}
        self._added: dict[TextElement, list[str]] = {}

    def set_member_number(
        self, spec: TransmissionSpec, member: MemberSpec, field: str, value: float
    ) -> bool:
        """
        Set the reduction or the offset of a joint or an actuator.

        :param field: ``mechanical_reduction`` or ``offset``.
        :returns: Whether that could be done.
        """
        spelling = _SPELLINGS[spec.dialect]
        tag = spelling.reduction if field == 'mechanical_reduction' else field
        element = self._text.element(member.path)
        if element is None:
            return False
        found = element.all(tag)
        given = spelling.attributes and tag in element.attributes
        if not found and not given and field == 'mechanical_reduction':
            found = self._of_pr2(spec, tag)
        for child in found:
            self._set(self._text.words(child), 0, value)
        if given:
            self._set(self._text.attribute_words(element, tag), 0, value)
        if found or given:
            return True
        others = {spelling.reduction, 'offset'} & element.attributes.keys()
        if spelling.attributes and others:
            end = max(end for _, end in element.attributes.values()) + 1
            self._put(Edit(end, end, f' {tag}="{value!r}"'))
        else:
            self._add(element, tag, '', repr(value))
        return True

    def set_parameter(
        self,
        spec: TransmissionSpec,
        member: MemberSpec | None,
        name: str,
        place: int,
        value: float,
    ) -> bool:
        """
        Set one number of a parameter.

        :param member: The joint or actuator that has the parameter, ``None``: the transmission.
        :param place: Which of its numbers, counted from zero.
        :returns: Whether it is there.
        """
        parameters = spec.parameters if member is None else member.parameters
        found = [parameter for parameter in parameters if parameter.name == name]
        return bool(found) and all(
            self._set(self._words_of(parameter), place, value) for parameter in found
        )

    def add_parameter(
        self,
        spec: TransmissionSpec,
        member: MemberSpec | None,
        name: str,
        values: Sequence[float],
    ) -> bool:
        """
        Add a parameter that had its default.

        :returns: Whether that could be done.
        """
        element = self._text.element(spec.path if member is None else member.path)
        if element is None:
            return False
        self._add(element, 'param', f' name="{name}"', ' '.join(map(repr, values)))
        return True

    def result(self) -> bytes:
        """Return the description with all changes made."""
        edits = [edit for group in self._edits.values() for edit in group]
        for element, children in self._added.items():
            edits += self._inserted(element, children)
        return self._text.encoded(edits)

    def _of_pr2(self, spec: TransmissionSpec, tag: str) -> list[TextElement]:
        """Return where a transmission in the style of the PR2 has its reduction."""
        element = self._text.element(spec.path)
        if spec.dialect != 'ros_control' or element is None or element.all('type'):
            return []
        return element.all(tag)

    def _words_of(self, parameter: ParameterSpec) -> list[Word]:
        path, at, attribute = parameter.path.partition('/@')
        element = self._text.element(path)
        if element is None:
            return []
        if not at:
            return self._text.words(element)
        return self._text.attribute_words(element, attribute)

    def _set(self, words: Sequence[Word], place: int, value: float) -> bool:
        if place >= len(words):
            return False
        word = words[place]
        try:
            if parse_number(word.text) == value:
                return True
        except ValueError:
            return False
        for edit in word.replaced(repr(value)):
            self._put(edit)
        return True

    def _put(self, edit: Edit) -> None:
        """Make an edit; of two at the same characters the second counts."""
        if edit.start == edit.end:
            self._edits.setdefault(edit.start, []).append(edit)
        else:
            self._edits[edit.start] = [edit]

    def _add(self, element: TextElement, tag: str, attributes: str, text: str) -> None:
        prefix = element.name.rpartition(':')[0]
        name = f'{prefix}:{tag}' if prefix else tag
        self._added.setdefault(element, []).append(f'<{name}{attributes}>{text}</{name}>')

    def _inserted(self, element: TextElement, children: Sequence[str]) -> list[Edit]:
        """Return the edits that put children behind those that an element has."""
        text = self._text.text
        if element.children:
            last = element.children[-1]
            line = self._own_line(last)
            before = '' if line is None else ''.join(line)
            rest = _REST_OF_LINE.match(text, last.end) if line is not None else None
            at = last.end if rest is None else rest.end()
            return [Edit(at, at, ''.join(before + child for child in children))]
        line = self._own_line(element)
        before = after = ''
        if line is not None:
            after = ''.join(line)
            before = after + self._step(element, line[1])
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

    def _own_line(self, element: TextElement) -> tuple[str, str] | None:
        """Return line end and indentation before an element, ``None`` where it begins no line."""
        line = _INDENTATION.search(self._text.text, max(element.start - 1000, 0), element.start)
        return None if line is None else (line[1], line[2])

    def _step(self, element: TextElement, indentation: str) -> str:
        """Return by how much an element is indented below its parent."""
        above = self._own_line(element.parent) if element.parent is not None else None
        if above is not None and indentation.startswith(above[1]):
            return indentation[len(above[1]) :] or _STEP
        return _STEP
