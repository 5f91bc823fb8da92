# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is known of a mechanism in closed form, and whether it fits together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.domain import Domain

__all__ = ['ClosedForm']


@dataclass(frozen=True)
class ClosedForm:
    """
    What is known of a mechanism in closed form.

    :param value: ``g``, ``(..., n)`` to ``(..., m)``.
    :param slope: ``G``, ``(..., n)`` to ``(..., m, n)``.
    :param slope_rate: ``G'`` at a position and a velocity, to ``(..., m, n)``.
    :param evaluate: ``g`` and ``G`` together, as the solver needs them.
    :param inverse_value: ``g^-1``, or ``None``: it is solved.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    slope_rate: Callable[[Array, Array], Array]
    evaluate: Callable[[Array], tuple[Array, Array]]
    inverse_value: Callable[[Array], Array] | None = None

    def checked_length(self, domain: Domain) -> int:
        """
        Call every map with one sample and with three, and return the length of ``y``.

        :raises TransmissionError: If an answer has another shape than the others ask for.
        """
        n_x = len(domain.lower)
        middle = np.array(domain.lower) + 0.5 * domain.span
        n_y = np.shape(self.value(middle))[-1:]
        for x in (middle, np.tile(middle, (3, 1))):
            batch = x.shape[:-1]
            y = self.value(x)
            answers = [
                ('position', y, (*batch, *n_y)),
                ('jacobian', self.slope(x), (*batch, *n_y, n_x)),
                ('jacobian_rate', self.slope_rate(x, x), (*batch, *n_y, n_x)),
            ]
            if self.inverse_value is not None:
                answers.append(('inverse position', self.inverse_value(y), (*batch, n_x)))
            for name, answer, expected in answers:
                if np.shape(answer) != expected:
                    raise TransmissionError(
                        f'the {name} map answers positions of shape {x.shape} with another shape',
                        expected=str(expected),
                        found=str(np.shape(answer)),
                    )
        return int(n_y[0])
