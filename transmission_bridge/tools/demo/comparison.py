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

    :param inputs: Topic of the input.
    :param topic: Topic of the output.
    :param formulas: Return the expected output.
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, inputs: str, topic: str, formulas: Formulas) -> None:
        self.topic, self._formulas = topic, formulas
        # Messages by topic and stamp.
        self._waiting: dict[str, dict[tuple[int, int], Values]] = {inputs: {}, topic: {}}
        self._wrong: dict[tuple[str, str], str] = {}
        self.compared, self.worst = 0, 0.0

    def add_message(self, topic: str, stamp: tuple[int, int], values: Values) -> None:
        """Add an input or an output of the bridge; messages of other topics are not used."""
        if (waiting := self._waiting.get(topic)) is None:
            return
        waiting[stamp] = values
        if all(stamp in messages for messages in self._waiting.values()):
            self._compare_values(*(messages.pop(stamp) for messages in self._waiting.values()))
        elif len(waiting) > _WAITING:
            del waiting[next(iter(waiting))]

    @property
    def faults(self) -> list[str]:
        """A sentence for each value that was wrong, missing or surplus."""
        return [*self._wrong.values()] if self.compared else [f'{self.topic}: nothing to compare']

    def _compare_values(self, given: Values, published: Values) -> None:
        self.compared += 1
        for interface in {**given, **published}:
            expected = self._formulas(interface, given[interface]) if interface in given else {}
            values = published.get(interface, {})
            for name in {**expected, **values}:
                terms, value = expected.get(name, (math.nan,)), values.get(name, math.nan)
                right, scale = math.fsum(terms), math.fsum(map(abs, terms)) or 1.0
                deviation = abs(value - right) / scale
                self.worst = max(self.worst, deviation)
                if not deviation <= TOLERANCE:  # also NaN, and a name without its counterpart
                    words = f"{self.topic}: {interface} of '{name}' is {value!r}"
                    self._wrong[interface, name] = f'{words}, the formulas give {right!r}'
