# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are written into a description, and what stays around them."""

import pytest
from zoo.elements import transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.description.document import DescriptionEditor


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16'])
@pytest.mark.parametrize(('number', 'expected'), [
    ('1', '7.5'), (' 1\t', ' 7.5\t'), ('<!-- é -->1', '<!-- é -->7.5'),
    ('1<!-- a -->2<!-- b -->', '7.5<!-- a --><!-- b -->'), ('7.5e0', '7.5e0'),
    ('<?a b?>1', '<?a b?>7.5'), ('<![CDATA[ 1 ]]>', ' 7.5 '),
])  # fmt: skip
def test_a_number_is_replaced_among_comments(number, expected, encoding):
    """A number that comments split is replaced as a whole; a number of this value stays."""
    offset = '<offset>{}</offset><!-- <offset>2</offset> -->'
    text = urdf(['q'], transmission('t', 'Simple', {'q': offset}, {'a': '<!-- motor -->'}))
    data = text.format(number).encode(encoding)
    (spec,) = load_description(data).transmissions
    editor = DescriptionEditor(data)
    assert editor.result() == data
    assert editor.set_member_number(spec.dialect, spec.joints[0], 'offset', 7.5)
    assert editor.result().decode(encoding) == text.format(expected)


@pytest.mark.parametrize('end', ['\n', '\r\n', '\r'])
@pytest.mark.parametrize(
    'head', ['', '\n\n', "<?xml version='1.0' encoding='cp1252'?>\n<!-- é -->\n"]
)
@pytest.mark.parametrize('tail', ['', '\n', '\n<!-- after -->\n\n'])
def test_what_is_around_the_robot_stays(head, tail, end):
    """Declaration, comments, line ends and encoding; characters that it lacks are references."""
    text = f'{head}<robot name="é">\n  <link name="a"/>\n</robot>{tail}'.replace('\n', end)
    data = text.encode('cp1252' if head.startswith('<') else 'utf-8')
    assert DescriptionEditor(data).result() == data
