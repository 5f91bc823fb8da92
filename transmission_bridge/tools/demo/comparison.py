# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Compares outputs of the bridge with the expected ones for its inputs.

Messages are matched by their stamps, in any order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

from transmission_bridge.tools.demo.formulas import Terms

#: Maps an interface and values by name to the terms of the expected values.
Formulas = Callable[[str, Mapping[str, float]], dict[str, Terms]]

#: Values of a message by interface, then by name; interfaces without values are absent.
Values = Mapping[str, Mapping[str, float]]

#: Largest accepted deviation, relative to the sum of the magnitudes of the terms.
TOLERANCE = 1e-12

#: Maximum number of stored messages without a counterpart.
_WAITING = 1000


class Comparison:
    """
    Compares one direction of the bridge.

    :param topic: Topic of the output.
    :param formulas: Return the expected output.
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, topic: str, formulas: Formulas) -> None:
        self.topic, self._formulas = topic, formulas
        # Inputs and outputs by stamp.
        self._waiting: tuple[dict[tuple[int, int], Values], ...] = ({}, {})
        self._wrong: dict[tuple[str, str], str] = {}
        self.compared, self.worst = 0, 0.0

    def add_message(self, stamp: tuple[int, int], values: Values, *, is_output: bool) -> None:
        """Add an input or an output of the bridge."""
        self._waiting[is_output][stamp] = values
        if all(stamp in each for each in self._waiting):
            self._compare_values(*(each.pop(stamp) for each in self._waiting))
        elif len(waiting := self._waiting[is_output]) > _WAITING:
            del waiting[next(iter(waiting))]

    @property
    def faults(self) -> list[str]:
        """A sentence for each value that was wrong, missing or surplus."""
        return [*self._wrong.values()] if self.compared else [f'{self.topic}: nothing to compare']

    def _compare_values(self, given: Values, published: Values) -> None:
        self.compared += 1
        for interface in {**given, **published}:
            expected = self._formulas(interface, given[interface]) if interface in given else {}
            found = published.get(interface, {})
            for name in {**expected, **found}:
                terms, value = expected.get(name, (math.nan,)), found.get(name, math.nan)
                right, scale = math.fsum(terms), math.fsum(map(abs, terms)) or 1.0
                deviation = abs(value - right) / scale
                self.worst = max(self.worst, deviation)
                if not deviation <= TOLERANCE:  # also NaN, and a name without its counterpart
                    words = f"{self.topic}: {interface} of '{name}' is {value!r}"
                    self._wrong[interface, name] = f'{words}, the formulas give {right!r}'
