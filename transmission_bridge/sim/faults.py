# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What can go wrong between a drive and its listeners, on purpose and reproducibly.

A fault takes an outgoing sample and a random generator and returns the sample as it is sent, or
``None`` where nothing is. :func:`inject` chains them. What happens to a sample depends on the
seed, the sample's number and the fault only: not on the other faults, nor on the samples before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.types import Index, Mask

__all__ = ['Drop', 'Duplicate', 'Fault', 'Freeze', 'NotANumber', 'Shuffle', 'Subset', 'inject']


class Fault(Protocol):
    """A pure change of one outgoing sample."""

    @property
    def stream(self) -> int:
        """Number of the fault's own random stream."""

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample as it is sent, ``None``: it is not."""


def inject(
    sample: JointStateRecord, faults: Iterable[Fault], *, seed: int, number: int
) -> JointStateRecord | None:
    """
    Send a sample through faults, one after the other.

    :param sample: What the drive would report.
    :param faults: In the order in which they happen.
    :param seed: Not negative.
    :param number: Number of the sample since the start.
    :returns: What is sent, ``None``: nothing.
    """
    sent: JointStateRecord | None = sample
    for fault in faults:
        if sent is None:
            return None
        sent = fault(sent, np.random.default_rng((seed, number, fault.stream)))
    return sent


@dataclass(frozen=True, slots=True)
class _Random:
    """
    A fault that happens by chance.

    :param probability: In [0, 1].
    :raises ParameterError: If it is not.
    """

    probability: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise ParameterError(
                'probability cannot be accepted',
                parameter='probability',
                expected='a number in [0, 1]',
                found=repr(self.probability),
            )

    def _strikes(self, random: np.random.Generator, n: int) -> Mask:
        return random.random(n) < self.probability


@dataclass(frozen=True, slots=True)
class Drop(_Random):
    """The sample is lost with the given probability."""

    stream: ClassVar[int] = 1

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample or ``None``."""
        return None if self._strikes(random, 1)[0] else sample


@dataclass(frozen=True, slots=True)
class Freeze:
    """
    The drive goes on reporting, but its values stand still.

    :param held: The sample at which they stand.
    """

    held: JointStateRecord
    stream: ClassVar[int] = 2

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the held values with the stamp of the sample: the message itself is fresh."""
        return replace(self.held, stamp=sample.stamp)


@dataclass(frozen=True, slots=True)
class NotANumber(_Random):
    """Each value of each interface is NaN with the given probability."""

    stream: ClassVar[int] = 3

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample with holes."""
        position, velocity, effort = (
            np.where(self._strikes(random, len(values)), np.nan, values)
            for values in (sample.position, sample.velocity, sample.effort)
        )
        return replace(sample, position=position, velocity=velocity, effort=effort)


@dataclass(frozen=True, slots=True)
class Subset(_Random):
    """Each actuator is left out with the given probability, which may leave none."""

    stream: ClassVar[int] = 4

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample of the actuators that remain."""
        return _taken(sample, np.flatnonzero(~self._strikes(random, len(sample.names))))


@dataclass(frozen=True, slots=True)
class Duplicate(_Random):
    """Each actuator is named a second time at the end with the given probability."""

    stream: ClassVar[int] = 5

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample with the repeated entries, values included."""
        again = np.flatnonzero(self._strikes(random, len(sample.names)))
        return _taken(sample, np.concatenate([np.arange(len(sample.names)), again]))


@dataclass(frozen=True, slots=True)
class Shuffle:
    """The actuators stand in another order in every sample; each keeps its values."""

    stream: ClassVar[int] = 6

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the permuted sample."""
        return _taken(sample, random.permutation(len(sample.names)))


def _taken(sample: JointStateRecord, places: Index) -> JointStateRecord:
    """Return the entries at these places; an interface that is not reported stays empty."""
    position, velocity, effort = (
        values[places] if len(values) else values
        for values in (sample.position, sample.velocity, sample.effort)
    )
    return replace(
        sample,
        names=tuple(sample.names[place] for place in places),
        position=position,
        velocity=velocity,
        effort=effort,
    )
