# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The faults that drivers of other tests have."""

from __future__ import annotations

from dataclasses import replace

from driver_faults import Faults, inject, Injector
from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from transmission_bridge.messages.joint_state import JointStateRecord

N = 40
SAMPLE = JointStateRecord(
    (12, 34),
    'frame',
    tuple(f'actuator_{place}' for place in range(N)),
    np.arange(N, dtype=float),
    np.arange(N) + 1000.0,
    np.empty(0),
)


def entries(sample):
    """Return name, position and velocity of each entry, NaN as a string."""
    assert len(sample.effort) == 0
    rows = zip(sample.names, sample.position, sample.velocity, strict=True)
    return [(name, *map(str, row)) for name, *row in rows]


def moved(by):
    """Return the sample of a drive that has moved."""
    return replace(SAMPLE, stamp=(99, 1), position=SAMPLE.position + by)


@given(st.integers(0, 2**31 - 1), st.integers(0, 10**9), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_each_fault_is_what_it_says_and_the_same_again(seed, number, chance):
    """NaN, left out, doubled and shuffled entries by seed and number; the sample stays."""
    before = entries(SAMPLE)

    def sent(**faults):
        first, again = (inject(SAMPLE, Faults(**faults, seed=seed), number, None) for _ in '12')
        assert entries(first) == entries(again)
        assert entries(SAMPLE) == before
        assert (first.stamp, first.frame_id) == (SAMPLE.stamp, SAMPLE.frame_id)
        return first

    holes = sent(nan=chance)
    assert holes.names == SAMPLE.names
    for values, truth in ((holes.position, SAMPLE.position), (holes.velocity, SAMPLE.velocity)):
        assert np.all(np.isnan(values) | (values == truth))
        assert chance not in (0.0, 1.0) or np.all(np.isnan(values) == bool(chance))
    subset = sent(subset=chance)
    remaining = iter(before)
    assert all(entry in remaining for entry in entries(subset))
    assert chance not in (0.0, 1.0) or len(subset.names) == N * (not chance)
    assert sent(nan=0.5, subset=chance).names == subset.names
    twice = entries(sent(duplicate=chance))
    assert twice[:N] == before
    assert set(twice[N:]) <= set(before)
    assert chance not in (0.0, 1.0) or len(twice) == N * (1 + bool(chance))
    lost = inject(SAMPLE, Faults(drop=chance, seed=seed), number, None) is None
    assert chance not in (0.0, 1.0) or lost == bool(chance)
    mixed = sent(shuffle=True)
    assert sorted(entries(mixed)) == sorted(before)
    assert mixed.names != SAMPLE.names


def test_frozen_values_are_those_of_the_first_frozen_sample():
    """Under new stamps; switched off, the drive has gone on meanwhile."""
    injector = Injector()
    for freeze, by, seen in ((0, 0, 0), (1, 1, 1), (1, 2, 1), (0, 3, 3), (1, 4, 4)):
        injector.faults = Faults(freeze=bool(freeze))
        sent = injector.sent(moved(float(by)))
        assert entries(sent) == entries(moved(float(seen)))
        assert sent.stamp == (99, 1)
