# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names to places, once per layout."""

from __future__ import annotations

import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.inputs import find_entries, MOST_UNKNOWN, PlanCache
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import Layout, LayoutTable

INDEX = {'a': 0, 'b': 1, 'c': 2}


def layout_of(names, lengths=(0, 0, 0)):
    """Return a layout of its own."""
    return Layout(tuple(names), lengths)


@given(st.lists(st.sampled_from(['a', 'b', 'c', 'x', 'y']), max_size=8))
def test_find_places(names):
    """Every known name gets its place, every other is reported, a repeated place is refused."""
    known = [name for name in names if name in INDEX]
    if len(set(known)) < len(known):
        with pytest.raises(MessageError) as caught:
            find_entries(layout_of(names), INDEX)
        assert caught.value.reason == 'duplicate_name'
        return
    found = find_entries(layout_of(names), INDEX)
    places = np.arange(len(INDEX))[found.places]
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
        find_entries(layout_of(tuple(names), lengths), INDEX)
    assert caught.value.reason == 'ragged'
    assert sentence in str(caught.value)


def test_two_names_of_one_place():
    """Two names that mean the same place are one name given twice."""
    with pytest.raises(MessageError, match="'left', 'right'") as caught:
        find_entries(layout_of(('left', 'right')), {'left': 0, 'right': 0})
    assert caught.value.reason == 'duplicate_name'


def test_unknown_names_are_bounded():
    """Of any number of unknown names the first are reported, each cut and escaped."""
    names = [f'\x1b[2J{number}' + 'x' * 10_000 for number in range(1000)]
    found = find_entries(layout_of(['a', *names]), INDEX)
    assert found.count == 1
    assert len(found.unknown) == MOST_UNKNOWN
    assert all(name.isprintable() and len(name) < 100 for name in found.unknown)
    assert found.unknown[7].startswith(r"'\x1b[2J7xxx")


def test_plan_is_made_once_per_layout():
    """A plan is worked out when a layout is first seen, a refusal too."""
    made = []

    def make(layout):
        made.append(layout.names)
        if 'x' in layout.names:
            raise MessageError('unknown', 'no x here')
        return layout.names

    cache = PlanCache(make)
    good, bad = layout_of('ab'), layout_of('x')
    for _ in range(3):
        assert cache.find_plan(good) == ('a', 'b')
        with pytest.raises(MessageError, match='no x here') as caught:
            cache.find_plan(bad)
        assert caught.value.reason == 'unknown'
    assert made == [('a', 'b'), ('x',)]


def test_plans_go_with_their_layouts():
    """A plan is dropped with the last layout that it was made for, refused layouts included."""
    table = LayoutTable(limit=2)

    class Plan:
        pass

    def make(layout):
        if 'x' in layout.names:
            raise MessageError('unknown', 'no x here')
        return Plan()

    cache = PlanCache(make)
    first = weakref.ref(cache.find_plan(table.find_layout('a', (0, 0, 0))))
    with pytest.raises(MessageError):
        cache.find_plan(table.find_layout('x', (0, 0, 0)))
    for names in ('b', 'c', 'd'):
        cache.find_plan(table.find_layout(names, (0, 0, 0)))
    gc.collect()
    assert first() is None
    assert len(cache._plans) <= 3
