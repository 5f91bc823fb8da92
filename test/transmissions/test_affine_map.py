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
from transmission_bridge.transmissions.affine_map import AffineMap, Workspace

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
    """Draw a matrix with many zeros, and biases that may be zero."""
    shape = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    matrix = draw(arrays(shape, st.just(0.0) | NUMBERS))
    before, after = np.zeros(shape[1]), np.zeros(shape[0])
    if draw(st.booleans()):
        before = draw(arrays(shape[1:], st.sampled_from([0.0, -0.0]) | NUMBERS))
    if draw(st.booleans()):
        after = draw(arrays(shape[:1], st.sampled_from([0.0, -0.0, np.nan]) | NUMBERS))
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
            if before[column] != 0.0:
                value -= float(before[column])
            term = coefficient * value
            total = term if total is None else total + term
        total = -0.0 if total is None else total
        if after[row] != 0.0:
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
    return AffineMap.from_matrix(matrix, before, after)


@given(maps(), st.data(), st.integers(1, 40))
def test_each_output_is_the_sum_of_its_own_terms(parts, data, terms):
    """
    Whatever the other inputs are, for a batch of any shape and layout, cut into chunks anywhere.

    Inputs stay, and nothing that is given or returned shares memory with the map.
    """
    affine, workspace = build(parts), Workspace(build(parts))
    leading = data.draw(st.lists(st.integers(0, 3), max_size=3))
    x = data.draw(arrays((*leading, affine.n_in), INPUTS))
    before, out = x.copy(), np.empty(affine.n_out)
    expected = np.empty((*leading, affine.n_out))
    strided = np.repeat(x, 2, axis=-1)[..., ::2]
    batches = [x, strided, np.asfortranarray(x)]
    if leading:
        batches.append(np.ascontiguousarray(x[::-1])[::-1])
    with np.errstate(all='ignore'), pytest.MonkeyPatch.context() as patch:
        for place in itertools.product(*map(range, leading)):
            expected[place] = by_hand(*parts, x[place])
            workspace.map_into(x[place], out)
            assert same_bits(out, expected[place])
            expanded = affine.list_terms().expand(x[place], affine.numbers)
            assert same_bits(np.array(expanded, dtype=float), expected[place])
        results = [affine(batch) for batch in batches]
        patch.setattr(affine_map, 'CHUNK_TERMS', terms)
        results.append(affine(x))
        for array in parts:
            array[...] = 3.0
        results += [affine(x), pickle.loads(pickle.dumps(affine))(x)]
    for result in results:
        assert same_bits(result, expected)
        assert not np.shares_memory(result, x)
        # Nothing larger is kept alive by a result.
        assert result.base is None
    assert not any(np.shares_memory(*pair) for pair in itertools.combinations(results, 2))
    assert same_bits(x, before)


@given(st.lists(maps(), min_size=1, max_size=4), st.data())
def test_stacked_maps_equal_the_maps(parts, data):
    """Several maps stacked into one give the same bits as each by itself."""
    each = [build(part) for part in parts]
    inputs = [data.draw(arrays((2, affine.n_in), INPUTS)) for affine in each]
    each.insert(1, build(parts[0]))
    inputs.insert(1, data.draw(arrays((2, each[0].n_in), INPUTS)))
    stacked = AffineMap.from_maps(each, shared=data.draw(st.sampled_from([(), (1,)])))
    with np.errstate(all='ignore'):
        expected = np.concatenate([f(x) for f, x in zip(each, inputs, strict=True)], axis=-1)
        assert same_bits(stacked(np.concatenate(inputs, axis=-1)), expected)


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
    affine = AffineMap.from_matrix(matrix, np.ones(n), np.ones(n))
    x = np.zeros((200_000, n))
    # The output is new.
    assert x.nbytes < _peak(lambda: affine(x)) < 1.1 * x.nbytes


def test_a_cycle_with_a_workspace_needs_no_memory():
    """With a workspace, one sample is mapped without allocating anything of its size."""
    n = 500
    affine = AffineMap.from_matrix(np.eye(n) + np.eye(n, k=1), np.ones(n), np.ones(n))
    x, out, workspace = np.zeros(n), np.empty(n), Workspace(affine)
    workspace.map_into(x, out)
    assert _peak(lambda: workspace.map_into(x, out)) < x.nbytes // 2
    assert _peak(lambda: affine(x)) > x.nbytes
