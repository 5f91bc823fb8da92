# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The sparse affine map: one result for every shape, to the last bit, and no waste."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.transmissions import affine_map
from transmission_bridge.transmissions.affine_map import AffineMap

NUMBERS = st.floats(-1e6, 1e6)
INPUTS = NUMBERS | st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e300])


def arrays(shape, elements):
    """Return a strategy for arrays of any shape, empty ones included."""
    size = int(np.prod(shape))
    return st.lists(elements, min_size=size, max_size=size).map(
        lambda values: np.array(values, dtype=float).reshape(shape)
    )


@st.composite
def maps(draw):
    """Draw a matrix with many zeros, and biases that may be absent."""
    shape = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    matrix = draw(arrays(shape, st.just(0.0) | NUMBERS))
    before = draw(st.none() | arrays(shape[1:], st.sampled_from([0.0, -0.0]) | NUMBERS))
    after = draw(st.none() | arrays(shape[:1], st.sampled_from([0.0, -0.0, np.nan]) | NUMBERS))
    return matrix, before, after


def by_hand(matrix, before, after, x):
    """Compute one sample in Python's own floats, term by term in the order of the columns."""
    outputs = []
    for row, coefficients in enumerate(matrix.tolist()):
        total = None
        for column, coefficient in enumerate(coefficients):
            if coefficient == 0.0:
                continue
            value = float(x[column])
            if before is not None and before[column] != 0.0:
                value -= float(before[column])
            term = coefficient * value
            total = term if total is None else total + term
        total = -0.0 if total is None else total
        if after is not None and after[row] != 0.0:
            total += float(after[row])
        outputs.append(total)
    return np.array(outputs)


def same_bits(a, b):
    """Tell whether two arrays are equal to the last bit, signs of zeros included."""
    return (
        a.shape == b.shape
        and np.array_equal(a, b, equal_nan=True)
        and bool(np.all((np.signbit(a) == np.signbit(b)) | np.isnan(a)))
    )


def build(parts):
    """Build the map of a drawn matrix with its biases."""
    matrix, before, after = parts
    return AffineMap(matrix, before=before, after=after)


@given(maps(), st.data())
def test_equals_the_sum_written_out(parts, data):
    """Each output is the sum of its own terms, whatever the values of the other inputs are."""
    x = data.draw(arrays(parts[0].shape[1:], INPUTS))
    with np.errstate(all='ignore'):
        assert same_bits(build(parts)(x), by_hand(*parts, x))


@given(maps(), st.data())
def test_every_shape_equals_a_loop(parts, data):
    """A batch of any shape and memory layout equals its samples mapped one by one."""
    affine = build(parts)
    leading = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    x = data.draw(arrays((*leading, affine.n_in), INPUTS))
    strided = np.repeat(x, 2, axis=-1)[..., ::2]
    columns_first = np.asfortranarray(x)
    backwards = np.ascontiguousarray(x[::-1])[::-1]
    with np.errstate(all='ignore'):
        expected = np.empty((*leading, affine.n_out))
        for place in itertools.product(*(range(length) for length in leading)):
            expected[place] = affine(x[place])
        for batch in (x, strided, columns_first, backwards):
            assert same_bits(affine(batch), expected)


@given(maps(), st.integers(1, 40), st.integers(0, 100), st.integers(0, 2**32 - 1))
def test_chunks_do_not_show(parts, terms, samples, seed):
    """Where a batch is cut into chunks does not show in the result."""
    affine = build(parts)
    x = np.random.default_rng(seed).normal(size=(samples, affine.n_in))
    with pytest.MonkeyPatch.context() as patch, np.errstate(all='ignore'):
        whole = affine(x)
        patch.setattr(affine_map, 'CHUNK_TERMS', terms)
        assert same_bits(affine(x), whole)
        assert same_bits(np.array([affine(row) for row in x]).reshape(whole.shape), whole)


@given(maps(), st.data())
def test_a_workspace_keeps_nothing(parts, data):
    """A workspace used again and again gives what a new call gives."""
    affine = build(parts)
    workspace = affine.make_workspace()
    out = np.empty(affine.n_out)
    with np.errstate(all='ignore'):
        for _ in range(3):
            x = data.draw(arrays((affine.n_in,), INPUTS))
            workspace.map_into(x, out)
            assert same_bits(out, affine(x))


@given(maps(), st.data())
def test_input_stays_and_output_is_new(parts, data):
    """The input is not changed, and no result shares memory with it or with another result."""
    affine = build(parts)
    for leading in ((), (3,)):
        x = data.draw(arrays((*leading, affine.n_in), INPUTS))
        before = x.copy()
        with np.errstate(all='ignore'):
            first, second = affine(x), affine(x)
        assert same_bits(x, before)
        assert not np.shares_memory(first, x)
        assert not np.shares_memory(first, second)
        # Nothing larger is kept alive by a result.
        assert first.base is None


@given(st.lists(maps(), min_size=1, max_size=4), st.data())
def test_stacked_maps_equal_the_maps(parts, data):
    """Several maps stacked into one give the same bits as each by itself."""
    each = [build(part) for part in parts]
    inputs = [data.draw(arrays((2, affine.n_in), INPUTS)) for affine in each]
    stacked = AffineMap.from_maps(each)
    with np.errstate(all='ignore'):
        expected = np.concatenate([f(x) for f, x in zip(each, inputs, strict=True)], axis=-1)
        assert same_bits(stacked(np.concatenate(inputs, axis=-1)), expected)


@given(maps(), st.data())
def test_a_map_keeps_numbers_of_its_own(parts, data):
    """Its matrix is the given one; what it was built from and its answers may be changed."""
    affine = build(parts)
    matrix = parts[0].copy()
    x = data.draw(arrays((affine.n_in,), INPUTS))
    with np.errstate(all='ignore'):
        expected = affine(x)
        for array in (affine.matrix, *parts):
            if array is not None:
                array[...] = 3.0
        assert np.array_equal(affine.matrix, matrix)
        assert same_bits(affine(x), expected)
        assert same_bits(pickle.loads(pickle.dumps(affine))(x), expected)


def _peak(function):
    """Return the most memory [bytes] that was held at a time while a function ran."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_batches_need_no_memory_of_their_size():
    """However long a batch is, the working memory stays that of one chunk."""
    n = 12
    matrix = np.eye(n) + np.eye(n, k=1)
    affine = AffineMap(matrix, before=np.ones(n), after=np.ones(n))
    x = np.zeros((200_000, n))
    # The output is new.
    assert x.nbytes < _peak(lambda: affine(x)) < 1.1 * x.nbytes


def test_a_cycle_with_a_workspace_needs_no_memory():
    """With a workspace, one sample is mapped without allocating anything of its size."""
    n = 500
    affine = AffineMap(np.eye(n) + np.eye(n, k=1), before=np.ones(n), after=np.ones(n))
    x, out, workspace = np.zeros(n), np.empty(n), affine.make_workspace()
    workspace.map_into(x, out)
    assert _peak(lambda: workspace.map_into(x, out)) < x.nbytes // 2
    assert _peak(lambda: affine(x)) > x.nbytes
