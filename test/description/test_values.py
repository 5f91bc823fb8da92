# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers, booleans and vectors against independent definitions."""

from decimal import Decimal, InvalidOperation
from functools import partial
import math

from hypothesis import given, strategies as st
import pytest

from transmission_bridge.description.document import values
from transmission_bridge.description.document.values import InvalidValue, read_number

GRAMMAR = r'[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]{1,2})?\s?'
NUMBERS = st.from_regex(GRAMMAR, fullmatch=True) | st.floats().map(str)
#: Texts that chance hardly finds.
EDGES = [
    '1,5', '1e400', '-1e-400', '0e-999', '5.', '.', '1e', '1_000', '٣', '\u00a05', '4.9e-324',
    '2e-324', '1.7976931348623157e308',
]  # fmt: skip


@given(st.text('0123456789+-.eE_ xnaif,٣½\u00a0', max_size=12) | st.text(max_size=6) | NUMBERS)
def test_numbers_follow_the_grammar(drawn):
    """Whole text, ASCII, finite, not lost to underflow: as decimal arithmetic sees it."""
    for text in (drawn, *EDGES):
        stripped = text.strip(' \t\r\n')
        try:
            exact = Decimal(stripped if set(stripped) <= set('0123456789+-.eE') else '')
        except InvalidOperation:
            exact = Decimal('nan')
        expected = float(exact)
        if math.isfinite(expected) and (expected != 0.0 or exact == 0):
            assert read_number(text) == expected
            continue
        with pytest.raises(InvalidValue) as caught:
            read_number(text)
        assert caught.value.expected
        assert caught.value.found


ratio, boolean, vector = values.read_ratio, values.read_boolean, values.read_vector
count = partial(values.read_integer, least=1)


@pytest.mark.parametrize(('read', 'texts', 'expected'), [
    (ratio, ['0', '-0', '0.0', '+.0', '0e5'], 'other than zero'),
    (boolean, ['1', 'yes', '', 'truefalse'], 'true or false'),
    (count, ['', '1.0', 'ILLEGAL', '-4', '0', '12345678901', '9' * 5000, '٣'], 'integer from 1 '),
    (vector, ['', '1', '1 2', '1 2 3 4', '1,2,3', '1\u00a02\u00a03'], 'three numbers'),
    (vector, ['1 2 x'], 'a decimal number'),
    # An expression of xacro is recognised, and the error has the remedy.
    (read_number, ['${gear}', '-${gear}', ' ${2 * pi}\n', '$(arg gear)', '1 ${x'],
     'xacro was not run, give the output of "xacro FILE"'),
    (read_number, ['{gear}', '-{gear}', ' {2 * pi}\n', '(arg gear)', '1 {x'],
     'a decimal number such as'),
])  # fmt: skip
def test_what_is_no_such_value_is_refused(read, texts, expected):
    """Zero as a ratio, other words than true and false, parts, other counts and commas."""
    for text in texts:
        with pytest.raises(InvalidValue, match=expected):
            read(text)


def test_values_are_read():
    """Booleans in any case, integers and vectors with space around."""
    assert (ratio('-50'), count(' +7 '), count('1')) == (-50.0, 7, 1)
    assert [boolean(text) for text in ('TRUE', ' False ', 'tRuE')] == [True, False, True]
    assert vector(' 1\t2 \n -3e1 ') == (1.0, 2.0, -30.0)
