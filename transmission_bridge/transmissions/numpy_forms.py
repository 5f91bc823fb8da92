# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism that only numpy knows, as functions that CasADi calls back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.system import Forms
from transmission_bridge.transmissions.transmission import as_real
from transmission_bridge.types import Array

#: Length of a step in shares of the range, and shorter ones nearer to where the Jacobian ends.
STEPS = (2.0**-9, 2.0**-14)

#: Places and weights of the central difference of sixth order.
PLACES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0


class _Call(ca.Callback):
    """A function of one sample that calls numpy's, which takes arrays of samples."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Sequence[Array]],
        n_in: Sequence[int],
        shapes_out: Sequence[tuple[int, int]],
        errors: list[BaseException],
    ) -> None:
        ca.Callback.__init__(self)
        self._function, self._n_in, self._shapes = function, n_in, shapes_out
        self._errors = errors
        self.construct(name, {})

    def get_n_in(self) -> int:
        """Return the number of arguments."""
        return len(self._n_in)

    def get_n_out(self) -> int:
        """Return the number of results."""
        return len(self._shapes)

    def get_sparsity_in(self, place: int) -> Any:
        """Return the shape of an argument."""
        return ca.Sparsity.dense(self._n_in[place], 1)

    def get_sparsity_out(self, place: int) -> Any:
        """Return the shape of a result."""
        return ca.Sparsity.dense(*self._shapes[place])

    def eval(self, arguments: Sequence[Any]) -> list[Array]:
        """Call it; what it raises is kept, and its results are unknown."""
        try:
            with np.errstate(all='ignore'):
                found = self._function(*(each.full().T for each in arguments))
            return [
                as_real('result', each).reshape(shape)
                for each, shape in zip(found, self._shapes, strict=True)
            ]
        except (Exception, SystemExit) as error:  # whatever a third party raises
            self._errors.append(error)
            return [np.full(shape, np.nan) for shape in self._shapes]


class Evaluated(Protocol):
    """What is needed here of a position-dependent transmission; see there."""

    @property
    def domain(self) -> Domain:
        """Positions that are mapped."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """Its numbers that can be tuned."""

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return ``y = g(x)`` and its slope."""

    def inverse(self, y: Array) -> Array | None:
        """Return ``x`` where there is an equation for it."""

    def slope_rate(self, x: Array, rate: Array) -> Array | None:
        """Return the rate of the slope where it is known."""


def forms_of(transmission: Evaluated, domain: Domain) -> Forms:
    """
    Return the functions of a transmission that gives ``evaluate``.

    :raises TransmissionError: If an answer has another shape than the others ask for.
    """
    n_x, n_p = len(domain.lower), len(transmission.numbers)
    with np.errstate(all='ignore'):
        n_y, has_inverse, has_rate = _checked(transmission, domain)

    def bend(x: Array, y: Array, rate: Array, p: Array) -> list[Array]:
        if has_rate:
            turned = np.asarray(transmission.slope_rate(x, rate))[0]
        else:
            turned = _derivative(transmission, x, rate)
        return [turned @ rate[0]]

    def inverse(y: Array, p: Array) -> list[Array]:
        return [np.asarray(transmission.inverse(y))]

    errors: list[BaseException] = []
    return Forms(
        value=_Call(
            'value',
            lambda x, p: transmission.evaluate(x),
            (n_x, n_p),
            ((n_y, 1), (n_y, n_x)),
            errors,
        ),
        inverse=_Call('inverse', inverse, (n_y, n_p), ((n_x, 1),), errors)
        if has_inverse
        else None,
        closure=None,
        bend=_Call('bend', bend, (n_x, n_y, n_x, n_p), ((n_y, 1),), errors),
        pattern=np.ones((n_y, n_x), dtype=bool),
        errors=errors,
    )


def _checked(transmission: Evaluated, domain: Domain) -> tuple[int, bool, bool]:
    """Return the length of ``y``, and whether there are an inverse and a rate of ``G``."""
    n_x, n_y = len(domain.lower), 0
    for count in (1, 3):
        x = np.tile(np.array(domain.lower) + 0.5 * domain.span, (count, 1))
        y, slope = transmission.evaluate(x)
        n_y = n_y or np.shape(y)[-1]
        back, rate = transmission.inverse(y), transmission.slope_rate(x, x)
        answers = (
            ('evaluate', y, (count, n_y)),
            ('evaluate', slope, (count, n_y, n_x)),
            ('slope_rate', rate, (count, n_y, n_x)),
            ('inverse', back, (count, n_x)),
        )
        for name, answer, expected in answers:
            if answer is not None and as_real(name, answer).shape != expected:
                raise TransmissionError(
                    f'{type(transmission).__name__}.{name} answers positions of shape {x.shape} '
                    'with another shape',
                    expected=str(expected),
                    found=str(np.shape(answer)),
                )
    return n_y, back is not None, rate is not None


def _derivative(transmission: Evaluated, x: Array, rate: Array) -> Array:
    """
    Return ``G'`` at one position by the central difference of sixth order.

    The error is about ``1e-12 |G| |x'| / span`` for a Jacobian that is smooth over the range, by
    rounding. It is ``3e-11`` within 0.6 % of the range from where ``G`` ends, and the result NaN
    within 0.02 %.
    """
    speed = np.abs(rate / transmission.domain.span).max()
    unit = rate / speed if speed else 0.0 * rate
    for step in STEPS:
        slopes = transmission.evaluate(x + step * PLACES[:, np.newaxis] * unit)[1]
        turned = np.einsum('k,kij->ij', WEIGHTS, slopes)
        if np.isfinite(turned).all():
            break
    return np.asarray(turned / step * speed)
