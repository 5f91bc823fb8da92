# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Positions in a text: the same elements and words as for the parser, to the byte."""

from __future__ import annotations

from pathlib import Path
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.description.number_editor import Edit, EditableText
from transmission_bridge.description.source import description_text
from transmission_bridge.description.xml import parse_xml
from transmission_bridge.errors import DescriptionError

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob('urdf/*.urdf'), *ROOT.glob('test/data/**/*.urdf')])


def words(text):
    """Split a text as a reader of several numbers does."""
    return [word for word in re.split('[ \t\n\r,;]+', text) if word]


def compare(data):
    """Compare every element with the parser's."""
    text = EditableText(data)
    waiting = [parse_xml(description_text(data))]
    for parsed in waiting:
        element = text.elements.get(parsed.path)
        assert element is not None, parsed.path
        assert element.tag == parsed.tag
        assert [word.text for word in text.words(element)] == words(parsed.text)
        assert element.attributes.keys() == parsed.attributes.keys()
        for name, value in parsed.attributes.items():
            assert [word.text for word in text.words(element, name)] == words(value)
        assert text.text.startswith(f'<{element.name}', element.start)
        assert text.text[element.end - 1] == '>'
        waiting += parsed.children
    return len(waiting)


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_every_element_is_found_where_the_parser_sees_it(file):
    """Paths, attributes and words agree on every robot at hand; unchanged is unchanged."""
    data = file.read_bytes()
    try:
        parse_xml(description_text(data))
    except DescriptionError:
        pytest.skip('refused by the parser')
    assert compare(data) > 0
    assert EditableText(data).encoded(()) == data


PIECES = [
    'x', ' 1.5 ', '\n', '\r\n', '&lt;', '&#50;', '&#x33;', '<!-- <a> -->', '<![CDATA[4<5]]>',
    '<?pi <b> ?>', '<a>', '</a>', '<b c="1&gt;0" d=\'2 > 1\'>', '</b>', '<e/>', '<p:e f="" />',
    ',', 'é', '𝔸',
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.sampled_from(['utf-8', 'utf-8-sig', 'utf-16']),
    st.sampled_from(['', '<?xml version="1.0"?>', '\n<!DOCTYPE r>\n', '<!-- <r> -->\r\n']),
)
def test_any_nesting_of_markup_is_scanned_as_it_is_parsed(pieces, encoding, prolog):
    """Comments, CDATA, references, quotes, prefixes and line ends in any order and encoding."""
    body, opened = [], []
    for piece in pieces:
        if piece.startswith('</'):
            if not opened or opened[-1] != piece[2:-1]:
                continue
            opened.pop()
        elif piece in ('<a>', PIECES[12]):
            opened.append(piece[1])
        body.append(piece)
    body += [f'</{name}>' for name in reversed(opened)]
    text = f'{prolog}<r xmlns:p="urn:p">{"".join(body)}</r>'
    compare(text.encode(encoding))


def test_edits_change_what_they_name_and_nothing_else():
    """A word torn by comments is replaced as a whole, in the first of its places."""
    data = '<r a="x">\r\n1<!-- é -->2 <![CDATA[3]]>&#52;</r>'.encode('utf-16')
    text = EditableText(data)
    first, second = text.words(text.elements.get('/r'))
    assert (first.text, second.text) == ('12', '34')
    edits = [*first.replaced('7.5'), *second.replaced('8'), Edit(0, 0, '<!---->')]
    expected = '<!----><r a="x">\r\n7.5<!-- é --> <![CDATA[8]]></r>'
    assert text.encoded(edits) == expected.encode('utf-16')
