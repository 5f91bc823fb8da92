# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names to places, once per layout."""

from __future__ import annotations

import gc
import weakref

from command_paths import reason
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.inputs import find_entries, MOST_UNKNOWN, PlanCache
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import Layout, LayoutTable

#: Two names of one place among them.
INDEX = {'a': 0, 'b': 1, 'c': 2, 'C': 2}
NONE = (0, 0, 0)


@given(st.lists(st.sampled_from([*'abcCxy']), max_size=8))
def test_find_places(names):
    """Every known name gets its place, every other is reported, a repeated place is refused."""
    known = [name for name in names if name in INDEX]
    if len({INDEX[name] for name in known}) < len(known):
        assert reason(find_entries, Layout(tuple(names), NONE), INDEX) == 'duplicate_name'
        return
    found = find_entries(Layout(tuple(names), NONE), INDEX)
    places = np.arange(3)[found.places]
    assert places.tolist() == [INDEX[name] for name in known]
    assert found.count == len(known)
    picks = range(len(names)) if found.picks is None else found.picks
    assert [names[pick] for pick in picks] == known
    assert list(found.unknown) == [repr(name) for name in names if name not in INDEX]


@pytest.mark.parametrize(
    ('names', 'lengths', 'sentence'),
    [
        ('ab', (1, 0, 0), "1 position value for 2 names ('a', 'b'): give one per name, or none"),
        ('ab', (0, 3, 2), "3 velocity values for 2 names ('a', 'b'): give one per name, or none"),
        ('ab', (2, 0, 1), "1 effort value for 2 names ('a', 'b'): give one per name, or none"),
        (
            'ab',
            (3, 3, 1),
            '3 position values and 3 velocity values and 1 effort value for 2 names',
        ),
        ('a', (2, 1, 0), "2 position values for 1 name ('a'): give one per name, or none"),
        ('', (1, 0, 0), '1 position value for 0 names: give one per name, or none'),
        ('abcdefg', (1, 0, 0), "'e' and 2 more): give one per name, or none"),
    ],
)
def test_ragged(names, lengths, sentence):
    """An array of another length than the names is refused, with each such length."""
    with pytest.raises(MessageError) as caught:
        find_entries(Layout(tuple(names), lengths), INDEX)
    assert caught.value.reason == 'ragged'
    assert sentence in str(caught.value)


def test_unknown_names_are_bounded():
    """Of any number of unknown names the first are reported, each cut and escaped."""
    names = [f'\x1b[2J{number}' + 'x' * 10_000 for number in range(1000)]
    found = find_entries(Layout(('a', *names), NONE), INDEX)
    assert found.count == 1
    assert len(found.unknown) == MOST_UNKNOWN
    assert all(name.isprintable() and len(name) < 100 for name in found.unknown)
    assert found.unknown[7].startswith(r"'\x1b[2J7xxx")


class _Plan:
    """What is worked out for a layout."""


def make(layout):
    """Return a plan, or refuse a layout."""
    if 'x' in layout.names:
        raise MessageError('unknown', 'no x here')
    return _Plan()


def test_plan_is_made_once_per_layout():
    """A refusal too, which is an error of its own each time."""
    cache, good, bad = PlanCache(make), Layout(('a', 'b'), NONE), Layout(('x',), NONE)
    errors = []
    for _ in range(3):
        assert cache.find_plan(good) is cache.find_plan(good)
        with pytest.raises(MessageError, match='no x here') as caught:
            cache.find_plan(bad)
        assert caught.value.reason == 'unknown'
        errors.append(caught.value)
    assert len({id(error) for error in errors}) == 3


def test_plans_go_with_their_layouts():
    """A plan is dropped with the last layout that it was made for, refused layouts included."""
    table, cache = LayoutTable(limit=2), PlanCache(make)
    first = weakref.ref(cache.find_plan(table.find_layout('a', NONE)))
    assert reason(cache.find_plan, table.find_layout('x', NONE)) == 'unknown'
    for names in ('b', 'c', 'd'):
        cache.find_plan(table.find_layout(names, NONE))
    gc.collect()
    assert first() is None
    assert len(cache._plans) <= 3
