# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Safe parsing: what a hostile or merely odd text can and cannot do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.description.source import description_text, MAX_BYTES
from transmission_bridge.description.xml import (
    Element,
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    parse_xml,
)
from transmission_bridge.errors import DescriptionError


def refusal(source: str | bytes) -> DescriptionError:
    """Return the error of a description that cannot be parsed."""
    with pytest.raises(DescriptionError) as caught:
        load_description(source)
    return caught.value


def laughs() -> str:
    """Return a text with entities that would grow to three gigabytes."""
    lines = ['<!ENTITY l0 "lol">']
    lines += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    return '<!DOCTYPE robot [' + '\n'.join(lines) + ']>\n<robot name="&l9;">&l9;</robot>'


def test_entities_that_grow_are_refused() -> None:
    """Billion laughs ends in an error that names the declarations and their line."""
    error = refusal('<?xml version="1.0"?>\n' + laughs())
    assert 'DOCTYPE' in error.message
    assert error.line == 2


@pytest.mark.parametrize('keyword', ['SYSTEM', 'PUBLIC "x"'])
def test_external_entities_are_never_read(tmp_path: Path, keyword: str) -> None:
    """The content of a file does not get into a description or into the error about it."""
    secret = tmp_path / 'secret.txt'
    secret.write_text('s3cr3t', encoding='utf-8')
    error = refusal(
        f'<!DOCTYPE robot [<!ENTITY x {keyword} "{secret.as_uri()}">]>'
        '<robot name="&x;">&x;</robot>'
    )
    assert 's3cr3t' not in str(error)


@pytest.mark.parametrize(
    'subset',
    [
        '<!ENTITY % p SYSTEM "http://localhost/x"> %p;',
        '<!ATTLIST robot name CDATA "invented">',
        '<!ELEMENT robot ANY>',
        '',
    ],
)
def test_every_internal_subset_is_refused(subset: str) -> None:
    """Declarations could add attributes or entities, so they are not allowed."""
    assert 'DOCTYPE' in refusal(f'<!DOCTYPE robot [{subset}]><robot/>').message


@pytest.mark.parametrize(
    'doctype',
    ['<!DOCTYPE robot>', '<!DOCTYPE robot SYSTEM "x.dtd">', '<!DOCTYPE r PUBLIC "a" \'b\'>'],
)
def test_a_bare_doctype_has_no_effect(doctype: str) -> None:
    """Nothing is loaded for it, and an entity stays undefined."""
    assert load_description(f'<?xml version="1.0"?>{doctype}\n<robot name="r"/>').name == 'r'
    assert "'x' not defined" in refusal(f'{doctype}<robot name="r">&x;</robot>').message
    assert "'x' not defined" in refusal(f'{doctype}<robot name="&x;"/>').message


def test_external_dtd_is_not_loaded(tmp_path: Path) -> None:
    """An entity that an external DTD defines is undefined here."""
    (tmp_path / 'x.dtd').write_text('<!ENTITY x "s3cr3t">', encoding='utf-8')
    uri = (tmp_path / 'x.dtd').as_uri()
    assert (
        "'x' not defined" in refusal(f'<!DOCTYPE robot SYSTEM "{uri}"><robot>&x;</robot>').message
    )


def test_predefined_entities_and_character_references_are_read() -> None:
    """The five predefined entities and both kinds of reference are text."""
    root = parse_xml('<robot name="&lt;&gt;&amp;&apos;&quot;">&#53;&#x30;</robot>')
    assert root.get('name') == '<>&\'"'
    assert root.text == '50'


@pytest.mark.parametrize(
    ('inside', 'text'),
    [
        ('40<!-- was 30 -->', '40'),
        ('<!-- was 30 -->40', '40'),
        ('4<!-- -->0', '40'),
        ('<?note x?>40', '40'),
        ('<![CDATA[4]]>0', '40'),
        (' \n 40\t', '40'),
        ('4<b/>0', '4 0'),
        ('<b>5</b>40', '40'),
    ],
)
def test_text_is_what_is_left_without_comments(inside: str, text: str) -> None:
    """Comments join their two sides, child elements part them."""
    assert parse_xml(f'<a>{inside}</a>').text == text


def test_names_are_local_names() -> None:
    """Default namespaces, prefixes and undeclared prefixes do not matter."""
    for text in (
        '<robot xmlns="http://www.ros.org"><joint name="x"/></robot>',
        '<u:robot xmlns:u="u"><u:joint u:name="x"/></u:robot>',
        '<robot><xacro:joint name="x"/></robot>',
        '<robot xmlns:u="u"><joint u:name="y" name="x"/></robot>',
        '<robot xmlns:u="u"><joint name="x" u:name="y"/></robot>',
    ):
        root = parse_xml(text)
        assert root.tag == 'robot'
        assert root.find_all('joint')[0].get('name') == 'x'


@pytest.mark.parametrize(
    'start', ['', '\n', '\n\n  \n', '\ufeff', '\ufeff\n\n', '\n\ufeff\n', '\r\n\r\n']
)
def test_lines_are_those_of_the_users_text(start: str) -> None:
    """Leading blank lines and a byte order mark are accepted, and lines count from the top."""
    text = start + '<?xml version="1.0" encoding="latin-1"?>\n<robot name="r">\n<gpio/></robot>'
    root = parse_xml(description_text(text))
    blank = len(re.findall(r'\r\n|\n', start))
    assert (root.line, root.children[0].line) == (blank + 2, blank + 3)


@pytest.mark.parametrize(
    'encoding', ['utf-8', 'UTF-16', 'ISO-8859-1', 'windows-1252', 'utf-8-sig']
)
def test_bytes_are_decoded_as_they_declare(encoding: str) -> None:
    """A declared encoding or a byte order mark is obeyed."""
    declared = encoding.removesuffix('-sig')
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<robot name="Köbes"/>'
    assert load_description(text.encode(encoding)).name == 'Köbes'


@pytest.mark.parametrize('encoding', ['utf-7', 'rot13', 'punycode', 'no-such', 'unicode_escape'])
def test_strange_encodings_are_refused(encoding: str) -> None:
    """Only encodings of plain text are decoded."""
    error = refusal(f'<?xml version="1.0" encoding="{encoding}"?><robot/>'.encode())
    assert error.found == encoding


def test_bytes_that_are_no_text_name_their_line() -> None:
    """A byte that does not belong into UTF-8 is found by its line."""
    error = refusal(b'<robot>\n\n\xff</robot>')
    assert error.line == 3
    assert '0xff' in error.found
    sixteen = '<robot>\n\n'.encode('utf-16') + b'\x00\xdc' + 'Ċ'.encode('utf-16-le')
    assert refusal(sixteen).line == 3


def test_the_declared_encoding_of_text_does_not_matter() -> None:
    """A message is text already, whatever its declaration says."""
    for encoding in ('utf-16', 'ascii', 'latin-1', 'made-up'):
        text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Köbes"/>'
        assert load_description(text).name == 'Köbes'


@pytest.mark.parametrize('before', [0, 70_000])
def test_lines_are_right_beyond_what_the_parser_counts(before: int) -> None:
    """Lines beyond 65535 are as right as those before, and so is a tag over several lines."""
    text = (
        '<robot>'
        + '\n' * before
        + '\n<!-- <no/>\n -->\n<a\n b="1"\n/><![CDATA[<no>\n]]><c/></robot>'
    )
    first, second = parse_xml(text).children
    assert (first.line, second.line) == (before + 4, before + 7)


def test_syntax_errors_name_their_line() -> None:
    """The error of the parser has the line once."""
    error = refusal('\n\n<robot>\n<joint></robot>')
    assert error.line == 4
    assert 'mismatch' in error.message
    assert 'column' not in str(error)


@pytest.mark.parametrize(
    'text',
    [
        '<robot',
        '<robot/><robot/>',
        '<robot a="1" a="2"/>',
        '<!-- -->',
        '<',
        '<?xml version="1.0"?>',
        '<!-- --><?xml version="1.0"?><robot/>',
        '<robot>\0</robot>',
        '<robot>\x01</robot>',
        'x<robot/>',
        '<robot>\ud800</robot>',
        '<robot>&undefined;</robot>',
    ],
)
def test_what_is_no_xml_is_refused(text: str) -> None:
    """Everything that is not well-formed ends in a DescriptionError."""
    refusal(text)


def test_paths_number_elements_with_siblings() -> None:
    """An index counts siblings of the same tag and is omitted without siblings."""
    root = parse_xml('<r><a/><b><c/></b><a><c/><d/><c/></a></r>')
    assert [element.path for element in walk(root)] == [
        '/r', '/r/a[1]', '/r/b', '/r/b/c', '/r/a[2]', '/r/a[2]/c[1]', '/r/a[2]/d', '/r/a[2]/c[2]',
    ]  # fmt: skip


def walk(root: Element) -> list[Element]:
    """Return all elements in document order."""
    return [root, *(each for child in root.children for each in walk(child))]


@st.composite
def trees(draw: st.DrawFn) -> str:
    """Draw a text of nested elements, comments and lines, one element a line at most."""

    def element(depth: int) -> str:
        tag = draw(st.sampled_from('abc'))
        parts = [
            draw(
                st.sampled_from(
                    ['\n', ' ', '<!-- <x> \n -->', '<![CDATA[<y>\n]]>', 'text', '<?z <\n?>']
                )
            )
            + (element(depth + 1) if depth < 3 and draw(st.booleans()) else '')
            for _ in range(draw(st.integers(0, 3)))
        ]
        return f'<{tag}\n x="a>b">' + ''.join(parts) + f'</{tag}\n>'

    return element(0)


@given(trees())
def test_line_and_path_lead_to_the_element(text: str) -> None:
    """On its line each element's start tag stands, and its path is its own."""
    lines = text.split('\n')
    elements = walk(parse_xml(text))
    assert all(f'<{each.tag}' in lines[each.line - 1] for each in elements)
    assert [each.index for each in elements] == list(range(len(elements)))
    assert len({each.path for each in elements}) == len(elements)
    assert sorted(each.line for each in elements) == [each.line for each in elements]


def test_depth_is_bounded() -> None:
    """The deepest nesting that is allowed is read, one more is refused; ten thousand too."""
    nested: Callable[[int], str] = lambda depth: '<a>' * depth + '</a>' * depth  # noqa: E731
    assert len(walk(parse_xml(nested(MAX_DEPTH)))) == MAX_DEPTH
    for depth in (MAX_DEPTH + 1, 10_000):
        assert 'nested too deep' in refusal('<robot>' + nested(depth) + '</robot>').message


def test_deep_parameters_reach_the_specification(robot: Callable[..., str]) -> None:
    """The deepest element that is read can be kept as a parameter, compared and printed."""
    depth = MAX_DEPTH - 2
    inner = '<x>' * depth + '</x>' * depth
    text = robot(f'<transmission name="t"><type>T</type>{inner}<joint name="j1"/>'
                 '<actuator name="a"><mechanicalReduction>1</mechanicalReduction></actuator>'
                 '</transmission>')  # fmt: skip
    spec = load_description(text).transmission('t')
    assert spec == load_description(text).transmission('t')
    assert repr(spec).count("name='x'") == depth
    assert hash(spec) == hash(load_description(text).transmission('t'))


def test_number_of_elements_is_bounded() -> None:
    """A text of tiny elements does not fill the memory."""
    assert 'too many' in refusal('<robot>' + '<a/>' * (MAX_ELEMENTS + 1) + '</robot>').message


def test_number_of_attributes_is_bounded() -> None:
    """Old parsers compare each attribute of an element with each other one."""
    many = ' '.join(f'a{number}=""' for number in range(MAX_ATTRIBUTES))
    assert len(parse_xml(f'<robot {many}/>').attributes) == MAX_ATTRIBUTES
    assert 'too many attributes' in refusal(f'<robot {many} one="more"/>').message


def test_size_is_bounded(tmp_path: Path) -> None:
    """16 MiB are read, one byte more is refused, as text, as bytes and as a file."""
    line = '<!-- ' + 'x' * 1013 + ' -->\n'
    longest = '<robot name="r">' + line * (MAX_BYTES // len(line) - 1)
    longest += ' ' * (MAX_BYTES - len(longest) - 8) + '</robot>'
    assert len(longest) == MAX_BYTES
    assert load_description(longest).name == 'r'
    assert load_description(longest.encode()).name == 'r'
    for source in (longest + ' ', longest.encode() + b' ', longest.replace('x', 'ö', 1)):
        assert 'too long' in refusal(source).message
    path = tmp_path / 'robot.urdf'
    path.write_text(longest + ' ', encoding='utf-8')
    with pytest.raises(DescriptionError, match='too long'):
        load_description(path)


PROLOG = [
    '\ufeff',
    ' ',
    '\n',
    '\xa0',
    '<?xml version="1.0"?>',
    '<?xml version="1.1" encoding="utf-16"?>',
    '<?p <!x?>',
    '<!-- > -->',
    '<!---->',
    '<!DOCTYPE robot>',
    '\0',
    '&#32;',
]


@given(
    st.lists(st.sampled_from(PROLOG), max_size=4), st.lists(st.sampled_from(PROLOG), max_size=2)
)
def test_no_prolog_lets_an_entity_through(before: list[str], after: list[str]) -> None:
    """Whatever stands before a DOCTYPE with declarations, they are refused or it is no XML."""
    doctype = '<!DOCTYPE robot [<!ENTITY x "grown"><!ATTLIST robot a CDATA "grown">]>'
    text = ''.join(before) + doctype + ''.join(after) + '<robot name="&x;">&x;</robot>'
    for source in (text, text.encode(), text.encode('utf-16')):
        refusal(source)


@pytest.mark.parametrize('piece', [1, 2, 3, 5, 64])
def test_pieces_leave_no_seams(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the text is cut on its way to the parser, the tree and the errors are the same."""
    text = (
        '\n<?xml version="1.0"?><!DOCTYPE r>\n<r n="&amp;&#246;ö€𝄞"><!-- <x> -->4<!-- -->0'
        '<![CDATA[<&]]><b\n c=">"/>&lt;</r>'
    )

    def facts() -> list[object]:
        return [(e.tag, e.attributes, e.text, e.line, e.path) for e in walk(parse_xml(text))]

    whole = facts()
    wrong = str(refusal('<robot>\n<a></robot>'))
    monkeypatch.setattr('transmission_bridge.description.xml._PIECE', piece)
    assert facts() == whole
    assert whole[0][1:3] == ({'n': '&öö€𝄞'}, '40<& <')  # type: ignore[index]
    assert str(refusal('<robot>\n<a></robot>')) == wrong
    assert 'too deep' in refusal('<a>' * 5000).message
