# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The faults that tests give the simulated driver."""

from __future__ import annotations

from dataclasses import replace

from driver_faults import Faults, inject, Injector
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord

N = 40
SAMPLE = JointStateRecord(
    (12, 34),
    'frame',
    tuple(f'actuator_{place}' for place in range(N)),
    np.arange(N, dtype=float),
    np.arange(N) + 1000.0,
    np.arange(N) + 2000.0,
)
FAULTS = ['drop', 'nan', 'subset', 'duplicate']
seeds = st.integers(0, 2**31 - 1)
numbers = st.integers(0, 10**9)


def sent_with(sample=SAMPLE, *, number=0, held=None, **faults):
    """Return a sample as it is sent with these faults."""
    return inject(sample, Faults(**faults), number, held)


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
    sent = sent_with(**{fault: 0.0}, seed=seed, number=number)
    assert entries(sent) == entries(SAMPLE)


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_same_seed_and_number_same_faults(seed, number, probability):
    """Seed and number of a sample decide all that happens to it."""
    chances = dict.fromkeys(('nan', 'subset', 'duplicate'), probability)
    once, again = (sent_with(**chances, shuffle=True, seed=seed, number=number) for _ in range(2))
    assert entries(once) == entries(again)


def test_samples_differ():
    """Another number or another seed gives other faults."""
    sent = {
        sent_with(shuffle=True, seed=seed, number=number).names
        for seed in range(5)
        for number in range(5)
    }
    assert len(sent) == 25


@given(seeds, numbers)
def test_faults_do_not_disturb_each_other(seed, number):
    """Switching one fault on leaves the random choices of another as they were."""
    alone = sent_with(subset=0.5, seed=seed, number=number)
    together = sent_with(nan=0.5, subset=0.5, seed=seed, number=number)
    assert alone.names == together.names


@pytest.mark.parametrize('probability', [0.1, 0.5, 0.9])
def test_drop_loses_its_share(probability):
    """Over many samples the lost share is the probability, within five standard deviations."""
    count = 4000
    lost = sum(
        sent_with(drop=probability, seed=1, number=number) is None for number in range(count)
    )
    deviation = np.sqrt(count * probability * (1 - probability))
    assert abs(lost - count * probability) < 5 * deviation


def test_after_a_drop_nothing_follows():
    """A lost sample stays lost, whatever other faults there are."""
    assert sent_with(drop=1.0, held=SAMPLE, shuffle=True) is None


@given(seeds, numbers)
def test_freeze_holds_values_under_a_fresh_stamp(seed, number):
    """A frozen drive repeats its values, in messages that are new."""
    later = replace(SAMPLE, stamp=(99, 1), position=SAMPLE.position + 5.0)
    sent = sent_with(later, held=SAMPLE, seed=seed, number=number)
    assert entries(sent) == entries(SAMPLE)
    assert sent.stamp == (99, 1)


@given(seeds, numbers, st.floats(0.05, 1.0))
def test_nan_replaces_values_and_leaves_the_rest(seed, number, probability):
    """Every value sent is either NaN or what the drive reported; names stay."""
    sent = sent_with(nan=probability, seed=seed, number=number)
    assert sent.names == SAMPLE.names
    for field in ('position', 'velocity', 'effort'):
        values, truth = getattr(sent, field), getattr(SAMPLE, field)
        assert np.all(np.isnan(values) | (values == truth))
    if probability == 1.0:
        assert np.isnan(sent.position).all()


def test_nan_strikes_single_values():
    """The interfaces of one actuator become NaN independently."""
    sent = sent_with(nan=0.5, seed=3)
    holes = [tuple(np.isnan([p, v, e])) for p, v, e in zip(*fields(sent), strict=True)]
    assert len(set(holes)) == 8


def fields(sample):
    """Return the three arrays."""
    return sample.position, sample.velocity, sample.effort


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_subset_keeps_order_and_values(seed, number, probability):
    """Remaining actuators keep their order and values."""
    sent = entries(sent_with(subset=probability, seed=seed, number=number))
    remaining = iter(entries(SAMPLE))
    assert all(entry in remaining for entry in sent)


def test_subset_may_leave_nothing():
    """With certainty every actuator is left out, and an empty message is sent."""
    sent = sent_with(subset=1.0)
    assert entries(sent) == []


@given(seeds, numbers, st.floats(0.0, 1.0))
def test_duplicates_follow_the_whole_sample(seed, number, probability):
    """The sample comes first as it is, then some of its entries once more."""
    sent = entries(sent_with(duplicate=probability, seed=seed, number=number))
    assert sent[:N] == entries(SAMPLE)
    again = iter(entries(SAMPLE))
    assert all(entry in again for entry in sent[N:])
    if probability == 1.0:
        assert len(sent) == 2 * N


@given(seeds, numbers)
def test_shuffle_permutes_entries(seed, number):
    """Every actuator is there once with its own values, in another order."""
    sent = sent_with(shuffle=True, seed=seed, number=number)
    assert sorted(entries(sent)) == sorted(entries(SAMPLE))
    assert sent.names != SAMPLE.names
    assert header(sent) == header(SAMPLE)


@pytest.mark.parametrize(
    'fault', [{'subset': 0.5}, {'duplicate': 0.5}, {'nan': 0.5}, {'shuffle': True}]
)
def test_interface_that_is_not_reported_stays_empty(fault):
    """A fault never turns an empty array into a filled one."""
    sent = sent_with(replace(SAMPLE, effort=np.empty(0)), **fault)
    assert len(sent.effort) == 0
    assert len(sent.position) == len(sent.names)


def test_sample_is_not_changed():
    """Faults leave the sample they are given as it was."""
    before = entries(SAMPLE)
    sent_with(nan=1.0, duplicate=1.0, shuffle=True, subset=0.5)
    assert entries(SAMPLE) == before


def moved(by):
    """Return the sample of a drive that has moved."""
    return replace(SAMPLE, position=SAMPLE.position + by)


def test_frozen_values_are_those_of_the_first_frozen_sample():
    """Switched on, freeze holds the next sample; switched off, the drive has gone on meanwhile."""
    injector = Injector()
    assert entries(injector.sent(SAMPLE)) == entries(SAMPLE)
    injector.faults = Faults(freeze=True)
    for by in (1.0, 2.0):
        assert entries(injector.sent(moved(by))) == entries(moved(1.0))
    injector.faults = Faults()
    assert entries(injector.sent(moved(3.0))) == entries(moved(3.0))
    injector.faults = Faults(freeze=True)
    assert entries(injector.sent(moved(4.0))) == entries(moved(4.0))


def test_faults_follow_seed_and_sample_count():
    """Two drivers with the same seed fail alike, one with another seed fails otherwise."""

    def losses(seed):
        injector = Injector()
        injector.faults = Faults(drop=0.5, seed=seed)
        return [injector.sent(SAMPLE) is None for _ in range(64)]

    assert losses(1) == losses(1)
    assert losses(1) != losses(2)
