# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What can go wrong with the samples of a driver.

A fault takes a sample, a random generator and the probability, and returns the sample as it is
sent, or ``None``. What happens to a sample depends on the seed, the sample's number and the fault
only, not on other faults or earlier samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from transmission_bridge.messages.joint_state import JointStateRecord


@dataclass(frozen=True)
class Faults:
    """
    Which faults happen, in the order freeze, nan, subset, duplicate, shuffle, drop.

    :param freeze: Whether the values stand still while messages go on.
    :param nan: Probability of each value to be NaN.
    :param subset: Probability of each actuator to be left out.
    :param duplicate: Probability of each actuator to be named a second time.
    :param shuffle: Whether the actuators come in another order each time.
    :param drop: Probability of each message to be lost.
    :param seed: Seed of the random choices of all faults.
    """

    freeze: bool = False
    nan: float = 0.0
    subset: float = 0.0
    duplicate: float = 0.0
    shuffle: bool = False
    drop: float = 0.0
    seed: int = 0


class Injector:
    """
    Sends the samples of a driver through faults.

    :ivar faults: Those from now on.
    """

    def __init__(self):
        self.faults = Faults()
        self._held = None
        self._samples = 0

    def sent(self, sample):
        """Return the next sample as it is sent, ``None``: it is lost."""
        self._held = (self._held or sample) if self.faults.freeze else None
        self._samples += 1
        return inject(sample, self.faults, self._samples, self._held)


def inject(sample, faults, number, held=None):
    """
    Send a sample through the faults that are switched on.

    :param sample: The sample of the drive.
    :param number: Number of the sample since the start.
    :param held: The sample whose values a frozen drive repeats; only the stamp is new.
        ``None``: it is not frozen.
    :returns: The sample as it is sent, ``None``: it is lost.
    """
    sent = replace(held or sample, stamp=sample.stamp)
    for name, stream, fault in _FAULTS:
        probability = getattr(faults, name)
        if probability and sent is not None:
            random = np.random.default_rng((faults.seed, number, stream))
            sent = fault(sent, random, probability)
    return sent


def _nan(sample, random, p):
    return _changed(sample, lambda each: np.where(random.random(len(each)) < p, np.nan, each))


def _subset(sample, random, p):
    return _taken(sample, np.flatnonzero(random.random(len(sample.names)) >= p))


def _duplicate(sample, random, p):
    again = np.flatnonzero(random.random(len(sample.names)) < p)
    return _taken(sample, np.concatenate([np.arange(len(sample.names)), again]))


def _shuffle(sample, random, p):
    return _taken(sample, random.permutation(len(sample.names)))


def _drop(sample, random, p):
    return None if random.random() < p else sample


def _taken(sample, places):
    """Return the entries at these indices; empty arrays stay empty."""
    taken = _changed(sample, lambda values: values[places] if len(values) else values)
    return replace(taken, names=tuple(sample.names[place] for place in places))


def _changed(sample, change):
    arrays = map(change, (sample.position, sample.velocity, sample.effort))
    return JointStateRecord(sample.stamp, sample.frame_id, sample.names, *arrays)


#: Name, number of its random stream, and what it does, in the order in which they happen.
_FAULTS = (
    ('nan', 3, _nan),
    ('subset', 4, _subset),
    ('duplicate', 5, _duplicate),
    ('shuffle', 6, _shuffle),
    ('drop', 1, _drop),
)
