# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Layouts and the table that keeps them."""

from __future__ import annotations

import gc
import sys
import weakref

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from transmission_bridge.messages.joint_state import LayoutTable


def test_alike_is_same():
    """Equal names and lengths give the same object; ragged is another length than the names'."""
    table = LayoutTable()
    layout = table.find_layout(['a', 'b'], (2, 2, 0))
    assert table.find_layout(('a', 'b'), (2, 2, 0)) is layout
    assert (layout.names, layout.lengths) == (('a', 'b'), (2, 2, 0))
    others = [
        table.find_layout(('b', 'a'), (2, 2, 0)),
        table.find_layout(('a', 'b'), (2, 0, 2)),
        table.find_layout(('ab',), (2, 2, 0)),
    ]
    assert len({layout, *others}) == 4
    ragged = [table.find_layout(('a', 'b'), each) for each in ((1, 2, 2), (2, 3, 0), (0, 0, 1))]
    assert [each.is_ragged for each in (layout, *others[:2], *ragged)] == [False] * 3 + [True] * 3


def test_bounded():
    """The table drops the layout used longest ago, and with it what hangs on it weakly."""
    table = LayoutTable(limit=3)
    compiled = weakref.WeakKeyDictionary()
    kept = table.find_layout(('kept',), (1, 1, 1))
    for number in range(20):
        compiled[table.find_layout((str(number),), (1, 1, 1))] = number
        assert table.find_layout(('kept',), (1, 1, 1)) is kept
    gc.collect()
    assert len(table) == 3
    assert sorted(compiled.values()) == [18, 19]
    with pytest.raises(ValueError, match='at least 1'):
        LayoutTable(limit=0)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 300)), min_size=1, max_size=60))
def test_bounded_in_bytes(shapes):
    """The layouts that a table keeps take 1.5 MiB at most; one that is too heavy is not kept."""
    table, alive = LayoutTable(), weakref.WeakSet()
    for number, (count, length) in enumerate(shapes):
        names = [f'{number} {name}'.ljust(length, 'x') for name in range(count)]
        layout = table.find_layout(names, (0, 0, 0))
        assert (
            sum(map(sys.getsizeof, layout.names)) < layout.weight < 8192 + count * (length + 300)
        )
        assert (table.find_layout(names, (0, 0, 0)) is layout) is layout.is_kept
        alive.add(layout)
    last = layout
    del layout
    assert sum(each.weight for each in alive if each.is_kept) <= 3 << 19
    assert [each for each in alive if not each.is_kept] == [last] * (not last.is_kept)
