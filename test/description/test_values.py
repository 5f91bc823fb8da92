# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers, booleans and vectors against independent definitions."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import partial
import locale
import math

from hypothesis import example, given
from hypothesis import strategies as st
import pytest

from transmission_bridge.description.values import (
    read_boolean,
    read_integer,
    read_number,
    read_ratio,
    read_vector,
    ValueFault,
)

CHARACTERS = '0123456789+-.eE_ xnaif,٣½\u00a0'


def oracle(text):
    """Return the number by decimal arithmetic and set operations only, or None."""
    stripped = text.strip(' \t\r\n')
    if not set(stripped) <= set('0123456789+-.eE') or not stripped:
        return None
    try:
        exact = Decimal(stripped)
    except InvalidOperation:
        return None
    if not exact.is_finite():
        return None
    value = float(exact)
    if math.isinf(value) or (value == 0.0 and exact != 0):
        return None
    return value


GRAMMAR = r'[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]{1,2})?\s?'
NUMBERS = st.from_regex(GRAMMAR, fullmatch=True)


@given(st.text(CHARACTERS, max_size=12) | st.text(max_size=6) | st.floats().map(str) | NUMBERS)
@example('1e400')
@example('-1e-400')
@example('0e-999')
@example('5.')
@example('.')
@example('1e')
@example('1_000')
@example('٣')
@example('\u00a05')
@example('4.9e-324')
@example('2e-324')
@example('1.7976931348623157e308')
def test_numbers_follow_the_grammar(text):
    """Whole text, ASCII, finite, not lost to underflow: as decimal arithmetic sees it."""
    expected = oracle(text)
    if expected is None:
        with pytest.raises(ValueFault) as caught:
            read_number(text)
        assert caught.value.expected
        assert caught.value.found
    else:
        assert read_number(text) == expected


def test_numbers_do_not_depend_on_the_locale():
    """A comma is not a decimal point, even if it is one for the C library."""
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        for name in ('de_DE.UTF-8', 'de_DE.utf8', 'fr_FR.UTF-8', ''):
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            assert read_number('1.5') == 1.5
            with pytest.raises(ValueFault):
                read_number('1,5')
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


REFUSED = [
    *((read_ratio, text, 'other than zero') for text in ('0', '-0', '0.0', '+.0', '0e5')),
    *((read_boolean, text, 'true or false') for text in ('1', 'yes', '', 'truefalse')),
    *(
        (partial(read_integer, least=1), text, 'an integer from 1 to')
        for text in ('', '1.0', 'ILLEGAL', '-4', '0', '12345678901', '9' * 5000, '٣')
    ),
    *(
        (read_vector, text, '.')
        for text in ('', '1', '1 2', '1 2 3 4', '1,2,3', '1 2 x', '1\u00a02\u00a03')
    ),
]


@pytest.mark.parametrize(('read', 'text', 'expected'), REFUSED)
def test_what_is_no_such_value_is_refused(read, text, expected):
    """Zero as a ratio, other words than true and false, parts, other counts and commas."""
    with pytest.raises(ValueFault, match=expected):
        read(text)


def test_values_are_read():
    """Booleans in any case, integers and vectors with space around."""
    assert (read_ratio('-50'), read_integer(' +7 ', least=1)) == (-50.0, 7)
    assert [read_boolean(text) for text in ('TRUE', ' False ', 'tRuE')] == [True, False, True]
    assert read_vector(' 1\t2 \n -3e1 ') == (1.0, 2.0, -30.0)


@pytest.mark.parametrize('text', ['${gear}', '-${gear}', ' ${2 * pi}\n', '$(arg gear)', '1 ${x'])
def test_a_number_that_xacro_would_compute(text):
    """An expression of xacro is recognised, and the error has the remedy."""
    with pytest.raises(ValueFault, match='xacro was not run, give the output of "xacro FILE"'):
        read_number(text)
    with pytest.raises(ValueFault, match='a decimal number such as'):
        read_number(text.replace('$', ''))
