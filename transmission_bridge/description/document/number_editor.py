# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Write numbers of transmissions into their description.

Elements, comments and their order stay, and so do line ends, byte order mark and encoding. Blanks
and quotes inside of tags become those of the XML writer. A number keeps its form: attribute or
child element, ``mechanical_reduction`` or ``mechanicalReduction``. If it is missing, because it
has a default, an element is inserted with the indentation of its neighbours.

The tools that change a description write their results through it: export, loops, compile. An
editor is changed in place by its ``set_…``, ``add_…`` and ``append_…``; the specs that they get
come from the same bytes, because elements are found by path. A number that is equal keeps its
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import re
from typing import Any, TypeAlias

from lxml import etree

from transmission_bridge.description.document.values import (
    INFINITE,
    MECHANICAL_REDUCTION,
    OFFSET,
    parse_number,
)
from transmission_bridge.description.document.xml import (
    blank_prolog,
    decode_description,
    description_text,
    MARKUP,
    parse_xml,
    strip_xml_prefix,
)
from transmission_bridge.description.specs import (
    Dialect,
    MemberSpec,
    ParameterSpec,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import TRANSMISSIONS

#: What has parameters.
Owner: TypeAlias = TransmissionSpec | MemberSpec

_WORD = re.compile(r'[^ \t\n\r,;]+')
_INDENTATION = re.compile(r'\n[ \t]*\Z')


class DescriptionEditor:
    """
    Change numbers of a description.

    :param data: The description; :func:`load_description` has read it.
    """

    def __init__(self, data: bytes) -> None:
        self._raw, self._mark, self._encoding = decode_description(data)
        self._text = blank_prolog(description_text(data))
        # It is well-formed, but prefixes may be undeclared.
        parser = etree.XMLParser(
            encoding='utf-8', recover=True, strip_cdata=False, resolve_entities=False
        )
        self._root: Any = etree.fromstring(self._text.encode(), parser)
        parsed = parse_xml(self._text)
        paths = (element.path for element in (parsed, *parsed.iterate_below()))
        #: By paths in the specs, for example ``/robot/transmission[2]``.
        self._elements: dict[str, Any] = dict(zip(paths, self._root.iter('*'), strict=True))

    def result(self) -> bytes:
        """Return the description with all changes."""
        ending = '\r\n' if '\r\n' in self._raw else '\n' if '\n' in self._raw else '\r'
        prolog = self._raw.replace('\r\n', '\n').replace('\r', '\n')
        start = next(mark.start() for mark in MARKUP.finditer(self._text) if mark[1])
        text = prolog[: len(prolog) - len(self._text) + start]
        for node in (self._root, *self._root.itersiblings()):
            text += '\n' * (node is not self._root)
            text += etree.tostring(node, encoding='unicode', with_tail=False)
        text += self._text[len(self._text.rstrip()) :]
        return self._mark + text.replace('\n', ending).encode(self._encoding, 'xmlcharrefreplace')

    def set_member_number(
        self, dialect: Dialect, member: MemberSpec, field: str, value: float
    ) -> bool:
        """
        Set the reduction or the offset of a joint or an actuator.

        :param field: ``mechanical_reduction`` or ``offset``.
        :returns: Whether its place exists.
        """
        row = TRANSMISSIONS[dialect].children[0]
        tag = row.value(field).name
        element = self._elements[member.path]
        is_given = tag in row.attributes and bool(_find_attribute(element, tag))
        children = [
            each for each in element.iterchildren('*') if strip_xml_prefix(each.tag) == tag
        ]
        for child in children:
            _set_word(child, '', 0, value)
        if is_given or children:
            return not is_given or _set_word(element, tag, 0, value)
        numbers = [row.value(each).name for each in (MECHANICAL_REDUCTION, OFFSET)]
        if tag in row.attributes and any(_find_attribute(element, number) for number in numbers):
            return _set_attribute(element, tag, value)
        return _add_child(element, tag, repr(value))

    def set_limit(
        self, member: MemberSpec, kind: str, value: float, *, in_parameters: bool
    ) -> bool:
        """
        Set a limit of an actuator: as attribute of its ``<limit>``, as its ``<param>``, or both.

        A missing limit becomes an attribute of the ``<limit>``, or of a new one.

        :param kind: ``lower``, ``upper``, ``velocity`` or ``effort``.
        :param in_parameters: Whether a parameter of this name is this limit.
        :returns: Whether its place exists.
        """
        limits = [
            self._elements[parameter.path]
            for parameter in member.parameters
            if parameter.name == 'limit'
            and not parameter.value
            and not parameter.children
            and parameter.path in self._elements
        ]
        done = in_parameters and self.set_parameter(member, kind, 0, value)
        for element in limits:
            if _find_attribute(element, kind):
                done = _set_attribute(element, kind, value)
        if done:
            return True
        if limits:
            return _set_attribute(limits[0], kind, value)
        return _add_child(self._elements[member.path], 'limit', **{kind: repr(value)})

    def set_joint_limits(self, joint: str, lower: float, upper: float) -> bool:
        """Set the ends of the ``<limit>`` of a joint of the URDF; return whether it has one."""
        for element in self._root.iterchildren('{*}joint'):
            for limit in element.iterchildren('{*}limit') if element.get('name') == joint else ():
                bounds = {'lower': lower, 'upper': upper}
                return all(_set_attribute(limit, name, bound) for name, bound in bounds.items())
        return False

    def set_attribute(self, parameter: ParameterSpec, attribute: str, value: float) -> bool:
        """Set an attribute of an element that a type reads, or add it."""
        return _set_attribute(self._elements[parameter.path], attribute, value)

    def set_parameter(self, owner: Owner, name: str, index: int, value: float) -> bool:
        """
        Set one number of a parameter.

        :param owner: The transmission, joint or actuator that has the parameter.
        :param index: Index of the number in the parameter.
        :returns: Whether it exists.
        """
        paths = [each.path.partition('/@') for each in owner.parameters if each.name == name]
        return bool(paths) and all(
            _set_word(self._elements[path], attribute, index, value)
            for path, _, attribute in paths
        )

    def add_parameter(self, owner: Owner, name: str, values: Sequence[float]) -> bool:
        """Add a missing parameter."""
        element = self._elements[owner.path]
        return _add_child(element, 'param', ' '.join(map(repr, values)), name=name)

    def append_lines(self, path: str, lines: Iterable[str]) -> bool:
        """
        Append elements, each in lines of its own, to an element that has others.

        :returns: Whether it exists.
        """
        element = self._elements.get(path)
        if element is None or not len(element):
            return False
        before = _find_inner_indentation(element)
        added = etree.fromstring('<x>' + ''.join(before + line for line in lines) + '</x>')
        added[-1].tail, element[-1].tail = element[-1].tail, before
        element.extend(added)
        return True


def _find_attribute(element: Any, name: str) -> str:
    """Return the full name of an attribute; of ``x:name`` and ``name``, name is used."""
    names = [key for key in element.attrib if strip_xml_prefix(key) == name]
    return name if name in names else ''.join(names[:1])


def _set_attribute(element: Any, attribute: str, value: float) -> bool:
    if _find_attribute(element, attribute):
        return _set_word(element, attribute, 0, value)
    element.set(attribute, repr(value))
    return True


def _set_word(element: Any, attribute: str, index: int, value: float) -> bool:
    """Replace a number of an attribute or of the own text, and return whether it exists."""
    key = _find_attribute(element, attribute)
    # Owner, attribute, and text; comments may split a word, and a child ends it.
    pieces = [(element, key or 'text', (element.get(key) if key else element.text) or '')]
    for child in () if key else element:
        pieces.append((None, '', ' ' if isinstance(child.tag, str) else ''))
        pieces.append((child, 'tail', child.tail or ''))
    words = [*_WORD.finditer(''.join(text for _, _, text in pieces))]
    if index >= len(words):
        return False
    word, (start, end) = words[index][0], words[index].span()
    try:
        if parse_number(word) == value:
            return True
    except ValueError:
        if word not in INFINITE:  # valid for a limit
            return False
    for owner, name, text in pieces:
        left, right = (min(max(each, 0), len(text)) for each in (start, end))
        if left < right:
            new = text[:left] + repr(value) * (start >= 0) + text[right:]
            owner.set(key, new) if key else setattr(owner, name, new)
        start, end = start - len(text), end - len(text)
    return True


def _add_child(element: Any, tag: str, text: str = '', **attributes: str) -> bool:
    before = _find_inner_indentation(element)
    if len(element):
        after, element[-1].tail = element[-1].tail, before
    else:
        after, element.text = _find_indentation(element), before
    namespace = element.tag[: element.tag.find('}') + 1]
    child = etree.SubElement(element, namespace + tag, attributes)
    child.text, child.tail = text or None, after
    return True


def _find_indentation(node: Any) -> str:
    """Return line end and blanks before an element or a comment, empty inside a line."""
    parent, previous = node.getparent(), node.getprevious()
    text = previous.tail if previous is not None else parent.text if parent is not None else ''
    indentation = _INDENTATION.search(text or '')
    return indentation[0] if indentation else ''


def _find_inner_indentation(element: Any) -> str:
    """Return line end and blanks before a child that is added to an element."""
    if len(element):
        return next(filter(None, map(_find_indentation, element)), '')
    indentation, parent = _find_indentation(element), element.getparent()
    above = _find_indentation(parent) if parent is not None else ''
    return indentation and indentation + (
        indentation.removeprefix(above) if above and indentation.startswith(above) else '  '
    )
