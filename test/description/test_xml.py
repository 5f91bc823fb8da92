# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From text to elements, safely: what a hostile or odd text can do, and where each word stands."""

from hypothesis import given, strategies as st
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.description.document.xml import (
    MAX_ATTRIBUTES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    parse_xml,
)
from transmission_bridge.errors import DescriptionError


def refusal(source):
    """Return the error of a description that cannot be parsed."""
    with pytest.raises(DescriptionError) as caught:
        load_description(source)
    return caught.value


def walk(root):
    """Return all elements in document order."""
    return [root, *(each for child in root.children for each in walk(child))]


LAUGHS = '\n'.join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize('subset', [
    f'<!ENTITY l0 "lol">{LAUGHS}',
    '<!ENTITY l9 SYSTEM "SECRET">',
    '<!ENTITY l9 PUBLIC "x" "SECRET">',
    '<!ENTITY % p SYSTEM "http://localhost/x"> %p;',
    '<!ATTLIST robot name CDATA "invented">',
    '<!ELEMENT robot ANY>',
    '',
])  # fmt: skip
def test_every_internal_subset_is_refused(subset, tmp_path):
    """Declarations could add attributes or entities, that grow or read a file."""
    secret = tmp_path / 'secret.txt'
    secret.write_text('s3cr3t', encoding='utf-8')
    subset = subset.replace('SECRET', secret.as_uri())
    text = f'<?xml version="1.0"?>\n<!DOCTYPE robot [{subset}]><robot name="&l9;">&l9;</robot>'
    error = refusal(text)
    assert (error.line, 'DOCTYPE' in error.message) == (2, True)
    assert 's3cr3t' not in str(error)


@pytest.mark.parametrize('external', ['', ' SYSTEM "DTD"', ' PUBLIC "a" \'DTD\''])
def test_a_bare_doctype_has_no_effect(external, tmp_path):
    """Nothing is loaded for it, and an entity stays undefined."""
    (tmp_path / 'x.dtd').write_text('<!ENTITY x "s3cr3t">', encoding='utf-8')
    doctype = f'<!DOCTYPE robot{external}>'.replace('DTD', (tmp_path / 'x.dtd').as_uri())
    assert load_description(f'<?xml version="1.0"?>{doctype}\n<robot name="r"/>').name == 'r'
    for use in ('<robot name="r">&x;</robot>', '<robot name="&x;"/>'):
        assert "'x' not defined" in refusal(doctype + use).message


PROLOG = st.lists(st.sampled_from([
    '\ufeff', ' ', '\n', '\xa0', '<?xml version="1.0"?>',
    '<?xml version="1.1" encoding="utf-16"?>', '<?p <!x?>', '<!-- > -->', '<!---->',
    '<!DOCTYPE robot>', '\0', '&#32;',
]), max_size=3)  # fmt: skip


@given(PROLOG, PROLOG)
def test_no_prolog_lets_an_entity_through(before, after):
    """Whatever stands before a DOCTYPE with declarations, they are refused or it is no XML."""
    doctype = '<!DOCTYPE robot [<!ENTITY x "grown"><!ATTLIST robot a CDATA "grown">]>'
    text = ''.join(before) + doctype + ''.join(after) + '<robot name="&x;">&x;</robot>'
    for source in (text, text.encode(), text.encode('utf-16')):
        refusal(source)


@pytest.mark.parametrize(
    'encoding', ['utf-8', 'UTF-16', 'ISO-8859-1', 'windows-1252', 'utf-8-sig', 'made-up']
)
def test_bytes_are_decoded_as_they_declare(encoding):
    """A declared encoding or a byte order mark is obeyed; of text it does not matter."""
    declared = encoding.removesuffix('-sig')
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<robot name="Köbes"/>'
    assert load_description(text).name == 'Köbes'
    if encoding != 'made-up':
        assert load_description(text.encode(encoding)).name == 'Köbes'


@pytest.mark.parametrize(('inside', 'text'), [
    ('40<!-- was 30 -->', '40'),
    ('<!-- was 30 -->40', '40'),
    ('4<!-- -->0', '40'),
    ('<?note x?>40', '40'),
    ('<![CDATA[4]]>0', '40'),
    (' \n 40\t', '40'),
    ('4<b/>0', '4 0'),
    ('<b>5</b>40', '40'),
    ('&#53;&#x30;&lt;&gt;&amp;&apos;&quot;', '50<>&\'"'),
])  # fmt: skip
def test_text_is_what_is_left_without_comments(inside, text):
    """Comments join their two sides, child elements part them, references are characters."""
    assert parse_xml(f'<a>{inside}</a>').text == text


@pytest.mark.parametrize('text', [
    '<robot xmlns="http://www.ros.org"><joint name="x"/></robot>',
    '<u:robot xmlns:u="u"><u:joint u:name="x"/></u:robot>',
    '<robot><xacro:joint name="x"/></robot>',
    '<robot xmlns:u="u"><joint u:name="y" name="x"/></robot>',
    '<robot xmlns:u="u"><joint name="x" u:name="y"/></robot>',
])  # fmt: skip
def test_names_are_local_names(text):
    """Default namespaces, prefixes and undeclared prefixes do not matter."""
    root = parse_xml(text)
    assert (root.tag, root.find_all('joint')[0].get('name')) == ('robot', 'x')


SIXTEEN = '<robot>\n\n'.encode('utf-16') + b'\x00\xdc' + 'Ċ'.encode('utf-16-le')


@pytest.mark.parametrize(('text', 'line', 'words'), [
    (b'<robot>\n\n\xff</robot>', 3, '0xff'),
    (SIXTEEN, 3, ''),
    ('\n\n<robot>\n<joint></robot>', 4, 'mismatch'),
    # Only encodings of plain text are decoded.
    *((f'<?xml version="1.0" encoding="{each}"?><robot/>'.encode(), None, f'found {each}')
      for each in ('rot13', 'punycode', 'no-such', 'unicode_escape')),
    *((text, None, '') for text in (
        '<robot', '<robot/><robot/>', '<robot a="1" a="2"/>', '<!-- -->', '<',
        '<?xml version="1.0"?>', '<!-- --><?xml version="1.0"?><robot/>', '<robot>\0</robot>',
        '<robot>\x01</robot>', 'x<robot/>', '<robot>\ud800</robot>', '<robot>&undefined;</robot>',
    )),
])  # fmt: skip
def test_what_is_no_xml_is_refused(text, line, words):
    """Everything that is not well-formed ends in an error with its line, once."""
    error = refusal(text)
    assert line in (None, error.line)
    assert words in str(error)
    assert 'column' not in str(error)


def test_what_a_text_may_hold_is_bounded():
    """Depth, elements and attributes: as much as is allowed is read, and one more is refused."""
    assert len(walk(parse_xml('<a>' * MAX_DEPTH + '</a>' * MAX_DEPTH))) == MAX_DEPTH
    for depth in (MAX_DEPTH, 10_000):
        text = '<robot>' + '<a>' * depth + '</a>' * depth + '</robot>'
        assert 'nested too deep' in refusal(text).message
    many = ' '.join(f'a{number}=""' for number in range(MAX_ATTRIBUTES))
    assert len(parse_xml(f'<robot {many}/>').attributes) == MAX_ATTRIBUTES
    assert 'too many attributes' in refusal(f'<robot {many} one="more"/>').message
    assert 'too many' in refusal('<robot>' + '<a/>' * (MAX_ELEMENTS + 1) + '</robot>').message


def test_size_is_bounded(tmp_path):
    """16 MiB are read, one byte more is refused, as text, as bytes and as a file."""
    line = '<!-- ' + 'x' * 1013 + ' -->\n'
    longest = '<robot name="r">' + line * (MAX_BYTES // len(line) - 1)
    longest += ' ' * (MAX_BYTES - len(longest) - 8) + '</robot>'
    assert len(longest) == MAX_BYTES
    path = tmp_path / 'robot.urdf'
    path.write_text(longest + ' ', encoding='utf-8')
    assert load_description(longest).name == load_description(longest.encode()).name == 'r'
    for source in (longest + ' ', longest.encode() + b' ', longest.replace('x', 'ö', 1), path):
        assert 'too long' in refusal(source).message


@pytest.mark.parametrize('piece', [1, 2, 3, 5, 64])
def test_pieces_leave_no_seams(piece, monkeypatch):
    """Wherever the text is cut on its way to the parser, the tree and the errors are the same."""
    text = (
        '\n<?xml version="1.0"?><!DOCTYPE r>\n<r n="&amp;&#246;ö€𝄞"><!-- <x> -->4<!-- -->0'
        '<![CDATA[<&]]><b\n c=">"/>&lt;</r>'
    )

    def facts():
        return [(e.tag, e.attributes, e.text, e.line, e.path) for e in walk(parse_xml(text))]

    whole = facts()
    wrong = str(refusal('<robot>\n<a></robot>'))
    monkeypatch.setattr('transmission_bridge.description.document.xml._PIECE', piece)
    assert facts() == whole
    assert whole[0][1:3] == ({'n': '&öö€𝄞'}, '40<& <')
    assert str(refusal('<robot>\n<a></robot>')) == wrong
    assert 'too deep' in refusal('<a>' * 5000).message


@pytest.mark.parametrize('before', [0, 70_000])
def test_lines_are_right_beyond_what_the_parser_counts(before):
    """Lines beyond 65535 are as right as those before, and so is a tag over several lines."""
    inside = '\n<!-- <no/>\n -->\n<a\n b="1"\n/><![CDATA[<no>\n]]><c/></robot>'
    first, second = parse_xml('<robot>' + '\n' * before + inside).children
    assert (first.line, second.line) == (before + 4, before + 7)


def test_paths_number_elements_with_siblings():
    """An index counts siblings of the same tag and is omitted without siblings."""
    root = parse_xml('<r><a/><b><c/></b><a><c/><d/><c/></a></r>')
    paths = '/r /r/a[1] /r/b /r/b/c /r/a[2] /r/a[2]/c[1] /r/a[2]/d /r/a[2]/c[2]'
    assert [element.path for element in walk(root)] == paths.split()
