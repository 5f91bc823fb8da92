# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Compares outputs of the bridge with the expected ones for its inputs.

Messages are matched by their stamps, in any order of arrival.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import sys

from transmission_bridge.errors import counted
from transmission_bridge.tools.demo.formulas import Terms

#: Seconds and nanoseconds.
Stamp = tuple[int, int]

#: Maps an interface and values by name to the terms of the expected values.
Formulas = Callable[[str, Mapping[str, float]], dict[str, Terms]]

#: Largest accepted deviation, relative to the sum of the magnitudes of the terms.
TOLERANCE = 1e-12

#: Share of the inputs that may be lost.
_LOST = 0.05

#: Maximum number of stored messages without a counterpart.
_WAITING = 1000


@dataclass(frozen=True, slots=True)
class JointSample:
    """
    A JointState.

    :param values: By interface, then by name; interfaces without values are absent.
    """

    stamp: Stamp
    values: dict[str, dict[str, float]]


class Comparison:
    """
    Compares one direction of the bridge.

    :param topic: Topic of the output.
    :param kind: Kind of its names: ``joint`` or ``actuator``.
    :param formulas: Return the expected output.
    :ivar topic: Topic of the output.
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, topic: str, kind: str, formulas: Formulas) -> None:
        self.topic = topic
        self._kind = kind
        self._formulas = formulas
        self._inputs: dict[Stamp, JointSample] = {}
        self._outputs: dict[Stamp, JointSample] = {}
        self._sentences: dict[tuple[str, str], str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: Stamp = (sys.maxsize, 0)
        self._last: Stamp = (0, 0)
        self.compared = 0
        self.worst = 0.0

    def add_input(self, sample: JointSample) -> None:
        """Add an input of the bridge."""
        self._first = min(self._first, sample.stamp)
        self._last = max(self._last, sample.stamp)
        self._store_sample(sample, self._inputs)

    def add_output(self, sample: JointSample) -> None:
        """Add an output of the bridge."""
        self._store_sample(sample, self._outputs)

    @property
    def progress(self) -> str:
        """The progress as a text."""
        verdict = f'{len(self._sentences)} WRONG' if self._sentences else 'all right'
        return f'{self.compared} {self.topic}: {verdict}'

    @property
    def faults(self) -> list[str]:
        """A sentence for each value that was wrong or missing, and for missing messages."""
        sentences = [
            f'{sentence} ({self._counts[key]} of {self.compared} messages)'
            for key, sentence in self._sentences.items()
        ]
        # Outputs between inputs, with stamps that no input had.
        strange = sum(self._first < stamp < self._last for stamp in self._outputs)
        if not self.compared:
            sentences.append(f'{self.topic}: no message could be compared')
        elif strange > _LOST * self.compared:
            found = counted(strange, 'message')
            sentences.append(f'{self.topic}: {found} with stamps of no input')
        return sentences

    def _store_sample(self, sample: JointSample, waiting: dict[Stamp, JointSample]) -> None:
        waiting[sample.stamp] = sample
        if sample.stamp in self._inputs and sample.stamp in self._outputs:
            self._compare_samples(self._inputs.pop(sample.stamp), self._outputs.pop(sample.stamp))
        elif len(waiting) > _WAITING:
            del waiting[next(iter(waiting))]

    def _compare_samples(self, given: JointSample, published: JointSample) -> None:
        self.compared += 1
        for interface in {**given.values, **published.values}:
            values = given.values.get(interface, {})
            try:
                expected = self._formulas(interface, values) if values else {}
            except KeyError as error:
                self._record_fault(interface, error.args[0], 'is unknown: the input lacks it')
                continue
            found = published.values.get(interface, {})
            for name in {**expected, **found}:
                self._compare_value(interface, name, expected.get(name), found.get(name))

    def _compare_value(
        self, interface: str, name: str, terms: Terms | None, found: float | None
    ) -> None:
        if terms is None:
            self._record_fault(interface, name, 'is published, and has no source in the input')
            return
        value = math.fsum(terms)
        if found is None:
            self._record_fault(interface, name, f'is missing, the formulas give {value!r}')
            return
        scale = math.fsum(map(abs, terms))
        deviation = abs(found - value) / scale if scale else abs(found)
        # NaN is also a fault.
        if not deviation <= TOLERANCE:
            self._record_fault(interface, name, f'is {found!r}, the formulas give {value!r}')
        self.worst = max(self.worst, deviation)

    def _record_fault(self, interface: str, name: str, fault: str) -> None:
        self._counts[interface, name] += 1
        sentence = f"{self.topic}: {interface} of {self._kind} '{name}' {fault}"
        self._sentences.setdefault((interface, name), sentence)
