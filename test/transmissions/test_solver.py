# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The bounded solver by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from transmission_bridge.transmissions.mechanism import ITERATION_LIMIT, solve


def solved(function, derivative, target: list[float], start: list[float], span: float = 1.0):
    """Solve scalar equations."""
    calls = []

    def evaluate(x):
        calls.append(len(x))
        with np.errstate(all='ignore'):
            return function(x), derivative(x)[..., np.newaxis]

    with np.errstate(all='ignore'):
        x, _, converged = solve(
            evaluate,
            np.array(target)[:, np.newaxis],
            np.array(start)[:, np.newaxis],
            np.array([span]),
        )
    return x[:, 0], converged, len(calls)


@given(st.floats(-1.4, 1.4), st.floats(-1.4, 1.4))
def test_it_finds_the_root_from_any_start(root: float, start: float) -> None:
    """On a monotone curve the damping brings every start to the root, to rounding."""
    x, converged, _ = solved(np.tan, lambda x: 1.0 / np.cos(x) ** 2, [np.tan(root)], [start])
    assert converged.all()
    assert abs(np.tan(x[0]) - np.tan(root)) <= 4e-15 * (1.0 + abs(np.tan(root)))


def test_it_halves_where_there_is_no_answer() -> None:
    """A step into the region where the map is NaN is taken back."""
    x, converged, _ = solved(np.sqrt, lambda x: 0.5 / np.sqrt(x), [1e-3], [1.0])
    assert converged.all()
    assert abs(x[0] - 1e-6) < 1e-18


def test_it_ends_where_there_is_no_root() -> None:
    """Without a root it gives up within its bound and says so."""
    _, converged, calls = solved(lambda x: 1.0 + x * x, lambda x: 2.0 * x, [0.0], [0.7])
    assert not converged.any()
    assert calls <= ITERATION_LIMIT + 1


def test_each_sample_goes_its_own_way() -> None:
    """A sample that never converges changes nothing for the others, to the last bit."""
    alone, _, _ = solved(np.tan, lambda x: 1.0 / np.cos(x) ** 2, [0.3], [1.2])
    together, converged, _ = solved(
        np.tan, lambda x: 1.0 / np.cos(x) ** 2, [0.3, np.nan, 5.0], [1.2, 0.0, np.nan]
    )
    assert converged.tolist() == [True, False, False]
    assert together[0] == alone[0]


def test_a_double_root_is_found_slowly() -> None:
    """At a singular position each step gains a binary digit, and the bound allows for it."""
    x, converged, calls = solved(lambda x: x * x, lambda x: 2.0 * x, [0.0], [0.5])
    assert converged.all()
    assert abs(x[0]) < 1e-12
    assert calls <= ITERATION_LIMIT + 1


def test_least_squares_of_contradicting_equations() -> None:
    """With more equations than unknowns the residual is at its smallest, to rounding."""

    def evaluate(x):
        value = np.concatenate([np.sin(x), x + 0.1 * x * x], axis=-1)
        slope = np.concatenate([np.cos(x), 1.0 + 0.2 * x], axis=-1)[..., np.newaxis]
        return value, slope

    x, _, converged = solve(evaluate, np.array([[0.3, 0.5]]), np.array([[0.0]]), np.ones(1))
    assert converged.all()
    residual = evaluate(x)[0] - np.array([[0.3, 0.5]])
    assert abs(np.sum(residual * evaluate(x)[1][..., 0])) < 1e-13
