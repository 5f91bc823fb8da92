# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The sparse affine map: one result for every shape, to the last bit, and no waste."""

import itertools
import pickle
import tracemalloc

from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from transmission_bridge.transmissions.robot import affine_map
from transmission_bridge.transmissions.robot.affine_map import AffineMap, AffineWorkspace

NUMBERS = st.floats(-1e6, 1e6)
ZEROS = st.sampled_from([0.0, -0.0])
INPUTS = NUMBERS | ZEROS | st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, 1e300])


@st.composite
def matrices(draw):
    """Draw a matrix with many zeros, and biases before and after it that may be zero."""
    n_out, n_in = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    matrix = draw(arrays(float, (n_out, n_in), elements=st.just(0.0) | NUMBERS))
    before, after = np.zeros(n_in), np.zeros(n_out)
    if draw(st.booleans()):
        before = draw(arrays(float, n_in, elements=ZEROS | NUMBERS))
    if draw(st.booleans()):
        after = draw(arrays(float, n_out, elements=ZEROS | NUMBERS | st.just(np.nan)))
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
    if a.shape != b.shape or not np.array_equal(a, b, equal_nan=True):
        return False
    return bool(np.all((np.signbit(a) == np.signbit(b)) | np.isnan(a)))


@given(matrices(), st.data(), st.integers(1, 40))
def test_each_output_is_the_sum_of_its_own_terms(parts, data, terms):
    """
    Whatever the other inputs are, for a batch of any shape and layout, cut into chunks anywhere.

    Inputs stay, and nothing that is given or returned shares memory with the map.
    """
    affine = AffineMap.from_matrix(*parts)
    workspace = AffineWorkspace(affine)
    leading = data.draw(st.lists(st.integers(0, 3), max_size=3))
    x = data.draw(arrays(float, (*leading, affine.n_in), elements=INPUTS))
    before, out = x.copy(), np.empty(affine.n_out)
    expected = np.empty((*leading, affine.n_out))
    batches = [x, np.repeat(x, 2, axis=-1)[..., ::2], np.asfortranarray(x)]
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


def test_batches_need_no_memory_of_their_size():
    """However long a batch is, the working memory stays that of one chunk."""
    x, ones = np.zeros((200_000, 12)), np.ones(12)
    chain = AffineMap.from_matrix(np.eye(12) + np.eye(12, k=1), ones, ones)
    tracemalloc.start()
    try:
        chain(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The output is new.
    assert x.nbytes < peak < 1.1 * x.nbytes
