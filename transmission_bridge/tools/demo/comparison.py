# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Compares what the bridge published with what it should have made of its input.

Messages belong together by their stamps, in whatever order they arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import sys

__all__ = ['Comparison', 'Sample', 'Stamp', 'Terms']

#: Seconds and nanoseconds.
Stamp = tuple[int, int]

#: Summands of a value: their sum is the value, the sum of their magnitudes what rounding scales
#: with.
Terms = tuple[float, ...]

#: Interface and the values it has by name, to the terms of the values that result.
Formulas = Callable[[str, Mapping[str, float]], dict[str, Terms]]

#: Largest deviation, over the sum of the magnitudes of the terms.
TOLERANCE = 1e-12

#: Share of the inputs that may be lost on the way to us.
_LOST = 0.05

#: Messages that wait for their counterpart; the two are milliseconds apart.
_WAITING = 1000


@dataclass(frozen=True, slots=True)
class Sample:
    """
    A JointState.

    :param values: By interface, then by name; an interface that the message leaves out is absent.
    """

    stamp: Stamp
    values: dict[str, dict[str, float]]


class Comparison:
    """
    One direction of the bridge, watched from outside.

    :param topic: Topic of the output, for sentences.
    :param kind: What its names name: ``joint`` or ``actuator``.
    :param formulas: What the output should be.
    :ivar topic: As given.
    :ivar compared: Outputs compared.
    :ivar worst: Largest deviation so far, relative to the sum of the magnitudes of the terms.
    """

    def __init__(self, topic: str, kind: str, formulas: Formulas) -> None:
        self.topic = topic
        self._kind = kind
        self._formulas = formulas
        self._inputs: dict[Stamp, Sample] = {}
        self._outputs: dict[Stamp, Sample] = {}
        self._sentences: dict[tuple[str, str], str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: Stamp = (sys.maxsize, 0)
        self._last: Stamp = (0, 0)
        self.compared = 0
        self.worst = 0.0

    def input(self, sample: Sample) -> None:
        """Take what the bridge was given."""
        self._first = min(self._first, sample.stamp)
        self._last = max(self._last, sample.stamp)
        self._take(sample, self._inputs)

    def output(self, sample: Sample) -> None:
        """Take what the bridge published."""
        self._take(sample, self._outputs)

    @property
    def progress(self) -> str:
        """How far it is, in a few words."""
        verdict = f'{len(self._sentences)} WRONG' if self._sentences else 'all right'
        return f'{self.compared} {self.topic}: {verdict}'

    @property
    def faults(self) -> list[str]:
        """A sentence for each value that was ever wrong or missing, and for missing messages."""
        sentences = [
            f'{sentence} ({self._counts[key]} of {self.compared} messages)'
            for key, sentence in self._sentences.items()
        ]
        strange = self._n_strange()
        if not self.compared:
            sentences.append(f'{self.topic}: nothing arrived that could be compared')
        elif strange > _LOST * self.compared:
            sentences.append(f'{self.topic}: {strange} messages with stamps of no input')
        return sentences

    def _n_strange(self) -> int:
        """Return how many outputs have a stamp that no input had, since we know of both."""
        return sum(self._first < stamp < self._last for stamp in self._outputs)

    def _take(self, sample: Sample, waiting: dict[Stamp, Sample]) -> None:
        waiting[sample.stamp] = sample
        if sample.stamp in self._inputs and sample.stamp in self._outputs:
            self._compare(self._inputs.pop(sample.stamp), self._outputs.pop(sample.stamp))
        elif len(waiting) > _WAITING:
            del waiting[next(iter(waiting))]

    def _compare(self, given: Sample, published: Sample) -> None:
        self.compared += 1
        for interface, values in given.values.items():
            found = published.values.get(interface, {})
            try:
                expected = self._formulas(interface, values)
            except KeyError as error:
                self._blame(interface, error.args[0], 'cannot be told: the input lacks it')
                continue
            for name in dict.fromkeys((*expected, *found)):
                self._compare_value(interface, name, expected.get(name), found.get(name))
        for interface in published.values.keys() - given.values.keys():
            self._blame(interface, '', 'has no source in the input')

    def _compare_value(
        self, interface: str, name: str, terms: Terms | None, found: float | None
    ) -> None:
        if terms is None:
            self._blame(interface, name, 'is published, the robot has no such name')
            return
        value = math.fsum(terms)
        if found is None:
            self._blame(interface, name, f'is missing, the formulas give {value!r}')
            return
        scale = math.fsum(map(abs, terms))
        deviation = abs(found - value) / scale if scale else abs(found)
        # Written so that NaN is a fault as well.
        if not deviation <= TOLERANCE:
            self._blame(interface, name, f'is {found!r}, the formulas give {value!r}')
        self.worst = max(self.worst, deviation)

    def _blame(self, interface: str, name: str, fault: str) -> None:
        of = f"{interface} of {self._kind} '{name}'" if name else interface
        self._counts[interface, name] += 1
        self._sentences.setdefault((interface, name), f'{self.topic}: {of} {fault}')
