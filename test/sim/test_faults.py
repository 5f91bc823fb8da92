# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The faults of the simulated drive."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.sim import (
    Drop,
    Duplicate,
    Freeze,
    inject,
    NotANumber,
    Shuffle,
    Subset,
)

N = 40
SAMPLE = JointStateRecord(
    (12, 34),
    'frame',
    tuple(f'actuator_{place}' for place in range(N)),
    np.arange(N, dtype=float),
    np.arange(N) + 1000.0,
    np.arange(N) + 2000.0,
)
FAULTS = [Drop, NotANumber, Subset, Duplicate]
seeds = st.integers(0, 2**31 - 1)
numbers = st.integers(0, 10**9)


def entries(sample):
    """Return name, position, velocity and effort of each entry, NaN as a string."""
    rows = zip(sample.names, sample.position, sample.velocity, sample.effort, strict=True)
    return [(name, *(str(value) for value in row)) for name, *row in rows]


def header(sample):
    """Return what no fault but the drop may touch."""
    return sample.stamp, sample.frame_id


@pytest.mark.parametrize('fault', FAULTS)
@given(seeds, numbers)
def test_fault_of_probability_zero_does_nothing(fault, seed, number):
    """A fault that never happens sends the sample as it is."""
    sent = inject(SAMPLE, [fault(0.0)], seed=seed, number=number)
    assert entries(sent) == entries(SAMPLE)


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_same_seed_and_number_same_faults(seed, number, probability):
    """Seed and number of a sample decide all that happens to it."""
    chain = [NotANumber(probability), Subset(probability), Duplicate(probability), Shuffle()]
    once, again = (inject(SAMPLE, chain, seed=seed, number=number) for _ in range(2))
    assert entries(once) == entries(again)


def test_samples_differ():
    """Another number or another seed gives other faults."""
    sent = {
        tuple(inject(SAMPLE, [Shuffle()], seed=seed, number=number).names)
        for seed in range(5)
        for number in range(5)
    }
    assert len(sent) == 25


@given(seeds, numbers)
def test_faults_do_not_disturb_each_other(seed, number):
    """Switching one fault on leaves the random choices of another as they were."""
    alone = inject(SAMPLE, [Subset(0.5)], seed=seed, number=number)
    together = inject(SAMPLE, [NotANumber(0.5), Subset(0.5)], seed=seed, number=number)
    assert alone.names == together.names


@pytest.mark.parametrize('probability', [0.1, 0.5, 0.9])
def test_drop_loses_its_share(probability):
    """Over many samples the lost share is the probability, within five standard deviations."""
    count = 4000
    lost = sum(
        inject(SAMPLE, [Drop(probability)], seed=1, number=number) is None
        for number in range(count)
    )
    deviation = np.sqrt(count * probability * (1 - probability))
    assert abs(lost - count * probability) < 5 * deviation


def test_after_a_drop_nothing_follows():
    """A lost sample stays lost, whatever faults stand behind the drop."""
    chain = [Drop(1.0), Freeze(SAMPLE), Shuffle()]
    assert inject(SAMPLE, chain, seed=0, number=0) is None


@given(seeds, numbers)
def test_freeze_holds_values_under_a_fresh_stamp(seed, number):
    """A frozen drive repeats its values, in messages that are new."""
    later = replace(SAMPLE, stamp=(99, 1), position=SAMPLE.position + 5.0)
    sent = inject(later, [Freeze(SAMPLE)], seed=seed, number=number)
    assert entries(sent) == entries(SAMPLE)
    assert sent.stamp == (99, 1)


@given(seeds, numbers, st.floats(0.05, 1.0))
def test_nan_replaces_values_and_leaves_the_rest(seed, number, probability):
    """Every value sent is either NaN or what the drive reported; names stay."""
    sent = inject(SAMPLE, [NotANumber(probability)], seed=seed, number=number)
    assert sent.names == SAMPLE.names
    for field in ('position', 'velocity', 'effort'):
        values, truth = getattr(sent, field), getattr(SAMPLE, field)
        assert np.all(np.isnan(values) | (values == truth))
    if probability == 1.0:
        assert np.isnan(sent.position).all()


def test_nan_strikes_single_values():
    """The interfaces of one actuator become NaN independently."""
    sent = inject(SAMPLE, [NotANumber(0.5)], seed=3, number=0)
    holes = [tuple(np.isnan([p, v, e])) for p, v, e in zip(*fields(sent), strict=True)]
    assert len(set(holes)) == 8


def fields(sample):
    """Return the three arrays."""
    return sample.position, sample.velocity, sample.effort


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_subset_keeps_order_and_values(seed, number, probability):
    """What remains stands in its order with its own values."""
    sent = entries(inject(SAMPLE, [Subset(probability)], seed=seed, number=number))
    remaining = iter(entries(SAMPLE))
    assert all(entry in remaining for entry in sent)


def test_subset_may_leave_nothing():
    """With certainty every actuator is left out, and an empty message is sent."""
    sent = inject(SAMPLE, [Subset(1.0)], seed=0, number=0)
    assert entries(sent) == []


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_duplicates_follow_the_whole_sample(seed, number, probability):
    """The sample comes first as it is, then some of its entries once more."""
    sent = entries(inject(SAMPLE, [Duplicate(probability)], seed=seed, number=number))
    assert sent[:N] == entries(SAMPLE)
    again = iter(entries(SAMPLE))
    assert all(entry in again for entry in sent[N:])
    if probability == 1.0:
        assert len(sent) == 2 * N


@given(seeds, numbers)
def test_shuffle_permutes_entries(seed, number):
    """Every actuator is there once with its own values, in another order."""
    sent = inject(SAMPLE, [Shuffle()], seed=seed, number=number)
    assert sorted(entries(sent)) == sorted(entries(SAMPLE))
    assert sent.names != SAMPLE.names
    assert header(sent) == header(SAMPLE)


@pytest.mark.parametrize('fault', [Subset(0.5), Duplicate(0.5), NotANumber(0.5), Shuffle()])
def test_interface_that_is_not_reported_stays_empty(fault):
    """A fault never turns an empty array into a filled one."""
    sent = inject(replace(SAMPLE, effort=np.empty(0)), [fault], seed=0, number=0)
    assert len(sent.effort) == 0
    assert len(sent.position) == len(sent.names)


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('probability', [-0.1, 1.1, float('nan')])
def test_impossible_probability_is_refused(fault, probability):
    """A probability outside [0, 1] is refused."""
    with pytest.raises(ParameterError, match='probability'):
        fault(probability)


def test_sample_is_not_changed():
    """Faults leave the sample they are given as it was."""
    before = entries(SAMPLE)
    chain = [NotANumber(1.0), Duplicate(1.0), Shuffle(), Subset(0.5)]
    inject(SAMPLE, chain, seed=0, number=0)
    assert entries(SAMPLE) == before
