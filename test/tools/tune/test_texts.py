# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Texts of the page: names are shown, and are nothing else."""

from __future__ import annotations

from html.parser import HTMLParser
import math

from hypothesis import given, strategies as st

from transmission_bridge.tools.cli import shorten_end
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import JointShift, Number, Preview
from transmission_bridge.tools.tune.texts import PageUnits
from transmission_bridge.transmissions.robot import JacobianChange
from transmission_bridge.transmissions.tunable import Tunable

HOSTILE = st.text(max_size=80) | st.sampled_from([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '{alert(1)}',
    '\x1b[2J\x1b]0;x\x07',
    '\u202e\u2066reversed',
    '&lt;b&gt;',
    'a' * 5000,
])  # fmt: skip

#: All that the page itself puts into its texts.
TAGS = {'div', 'span', 'table', 'tr', 'td', 'th', 'b', 'i', 'br', 'pre', 'details', 'summary'}
ATTRIBUTES = {'class', 'style', 'title', 'colspan'}


class Reader(HTMLParser):
    """What a browser would find."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ''
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        """Note text."""
        self.text += data


@given(HOSTILE)
def test_a_name_is_never_markup(name):
    """Whatever a name holds, the page has the elements that it would have without it."""
    preview = Preview(
        None, (JointShift(name, 0.0, 1.0),), (JacobianChange(name, name, 1.0, -1.0),)
    )
    refused = Preview(None, reason=name)
    number = Number(name, 'rad', Tunable(('joints', name, 'offset'), 0.1, 0.0, 'Offset [rad].'))
    pages = (
        texts.format_note(name),
        texts.format_line(name, 'dim'),
        texts.format_bars(name, [(name, [name], [0.1, 0.2, 0.3], 0.1, -1.0, 1.0)], PageUnits()),
        texts.format_change(name, [(number, 1.0)], preview, {name: 'rad'}, [name], PageUnits()),
        texts.format_change('', [], refused, {}, [], PageUnits()),
        texts.format_changes([(name, name, 'rad', 0.0, 1.0)], PageUnits()),
        texts.format_difference([name, name, f'+{name}', f'-{name}', name] * 100),
    )
    assert 'and 298 more lines' in pages[-1]
    for page in pages:
        reader = Reader(page)
        assert reader.tags <= TAGS
        assert reader.attributes <= ATTRIBUTES
        assert all(character.isprintable() or character == '\n' for character in reader.text)


def test_a_line_has_its_height_without_a_text_and_the_whole_text_as_its_tooltip():
    """So what is below it stays where it is."""
    empty, long = (texts.format_line(text, 'dim') for text in ('', 'far beyond ' * 100))
    assert empty.split(' title=')[0] == long.split(' title=')[0] == '<div class="tb one"'
    assert 'far beyond ' * 100 in long.split('>')[0]


@given(HOSTILE)
def test_a_label_is_short_and_printable_and_reads_as_it_is(name):
    """Control characters as escapes; what is escaped for the page is not for the reader."""
    shown = shorten_end(name)
    assert shown.isprintable()
    assert len(shown) <= 48
    assert Reader(texts.format_note('<b> & "x"')).text == '<b> & "x"'


@given(st.floats(-1e6, 1e6), st.sampled_from(['rad', 'm', '']))
def test_a_field_reads_back_as_its_number(value, unit):
    """In radians exactly, in degrees to ten digits."""
    assert float(PageUnits().format_field(value, unit)) == value
    degrees = PageUnits(degrees=True)
    back = degrees.from_page(float(degrees.format_field(value, unit)), unit)
    assert math.isclose(back, value, rel_tol=1e-9, abs_tol=1e-300)


def test_degrees_are_of_angles_only_and_there_is_no_negative_zero():
    """Metres and ratios stay what they are; noise around zero does not change its sign."""
    degrees, radians = PageUnits(degrees=True), PageUnits()
    shown = [degrees.format_text(*each) for each in ((math.pi, 'rad'), (0.5, 'm'), (0.5, ''))]
    assert shown == ['180.0000 °', '0.5000 m', '0.5000']
    cells = [radians.format_cell(value, 'rad') for value in (-0.0, -1e-9, -1.5)]
    assert cells == ['0.0000', '0.0000', '-1.5000']
    assert radians.format_text(math.nan, 'rad') == 'unknown'
