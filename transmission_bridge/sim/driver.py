# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver without a node: its faults, its settings, its drive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, Field, field, fields, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.sim.drive import Drive, Dynamics, read_command
from transmission_bridge.types import Array, Index, Mask

__all__ = [
    'Driver',
    'DriverSettings',
    'Drop',
    'Duplicate',
    'Fault',
    'Freeze',
    'NotANumber',
    'Shuffle',
    'Subset',
    'inject',
    'parameter_name_of',
    'range_of',
]


# -- Faults --------------------------------------------------------------------------------------
#
# A fault takes an outgoing sample and a random generator and returns the sample as it is sent, or
# ``None``. What happens to a sample depends on the seed, the sample's number and the fault only,
# not on other faults or earlier samples.


class Fault(Protocol):
    """A pure change of one outgoing sample."""

    @property
    def stream(self) -> int:
        """Number of the fault's own random stream."""

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample as it is sent, ``None``: it is lost."""


def inject(
    sample: JointStateRecord, faults: Iterable[Fault], *, seed: int, number: int
) -> JointStateRecord | None:
    """
    Send a sample through faults, one after the other.

    :param sample: The sample of the drive.
    :param faults: In the order in which they happen.
    :param seed: Not negative.
    :param number: Number of the sample since the start.
    :returns: The sample as it is sent, ``None``: it is lost.
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
    Samples are sent with the same values; only their stamps are new.

    :param held: The sample with these values.
    """

    held: JointStateRecord
    stream: ClassVar[int] = 2

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the held values with the stamp of the sample."""
        return replace(self.held, stamp=sample.stamp)


@dataclass(frozen=True, slots=True)
class NotANumber(_Random):
    """Each value of each interface is NaN with the given probability."""

    stream: ClassVar[int] = 3

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample with NaN."""
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
        """Return the sample of the remaining actuators."""
        return _taken(sample, np.flatnonzero(~self._strikes(random, len(sample.names))))


@dataclass(frozen=True, slots=True)
class Duplicate(_Random):
    """Each actuator is named a second time at the end with the given probability."""

    stream: ClassVar[int] = 5

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the sample with repeated entries."""
        again = np.flatnonzero(self._strikes(random, len(sample.names)))
        return _taken(sample, np.concatenate([np.arange(len(sample.names)), again]))


@dataclass(frozen=True, slots=True)
class Shuffle:
    """The actuators are in another order in every sample."""

    stream: ClassVar[int] = 6

    def __call__(
        self, sample: JointStateRecord, random: np.random.Generator
    ) -> JointStateRecord | None:
        """Return the permuted sample."""
        return _taken(sample, random.permutation(len(sample.names)))


def _taken(sample: JointStateRecord, places: Index) -> JointStateRecord:
    """Return the entries at these indices; empty arrays stay empty."""
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


# -- Settings ------------------------------------------------------------------------------------
#
# One table: the node declares its parameters from it.


_PLANT = Dynamics()


def _setting(
    default: Any, description: str, *, group: str = '', span: tuple[float, float] | None = None
) -> Any:
    return field(
        default=default, metadata={'description': description, 'group': group, 'span': span}
    )


def _fault(default: Any, description: str, **more: Any) -> Any:
    return _setting(default, description, group='faults.', **more)


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """
    The numbers and switches of a simulated driver.

    Faults happen in the order freeze, nan, subset, duplicate, shuffle, drop.

    :raises ParameterError: If a number is outside its range, NaN included.
    """

    rate: float = _setting(100.0, 'Samples published per second [Hz].', span=(0.1, 10000.0))
    time_constant: float = _setting(
        _PLANT.time_constant,
        'Time constant with which a commanded quantity is followed [s].',
        span=(1e-4, 100.0),
    )
    inertia: float = _setting(
        _PLANT.inertia, 'Inertia that the effort moves [kg m^2, or kg].', span=(1e-6, 1e6)
    )
    damping: float = _setting(
        _PLANT.damping,
        'Viscous damping against the effort [N m s/rad, or N s/m].',
        span=(1e-6, 1e6),
    )
    freeze: bool = _fault(False, 'Whether the values stand still while messages go on.')
    nan: float = _fault(0.0, 'Probability of each value to be NaN.', span=(0.0, 1.0))
    subset: float = _fault(0.0, 'Probability of each actuator to be left out.', span=(0.0, 1.0))
    duplicate: float = _fault(
        0.0, 'Probability of each actuator to be named a second time.', span=(0.0, 1.0)
    )
    shuffle: bool = _fault(False, 'Whether the actuators come in another order each time.')
    drop: float = _fault(0.0, 'Probability of each message to be lost.', span=(0.0, 1.0))
    seed: int = _fault(0, 'Seed of the random choices of all faults.', span=(0, 2**31 - 1))

    def __post_init__(self) -> None:
        """Check every number against its range."""
        for setting in fields(self):
            span = range_of(setting)
            value = getattr(self, setting.name)
            if span is not None and not span[0] <= value <= span[1]:
                name = parameter_name_of(setting)
                raise ParameterError(
                    f'{name} cannot be accepted',
                    parameter=name,
                    expected=f'a number in [{span[0]:g}, {span[1]:g}]',
                    found=repr(value),
                )

    @property
    def dynamics(self) -> Dynamics:
        """The numbers of the plant."""
        return Dynamics(self.time_constant, self.inertia, self.damping)

    def faults(self, held: JointStateRecord) -> tuple[Fault, ...]:
        """
        Return the faults that are switched on.

        :param held: The sample that a frozen drive repeats.
        """
        chain: list[Fault] = [Freeze(held)] if self.freeze else []
        chain += [
            fault(probability)
            for fault, probability in (
                (NotANumber, self.nan),
                (Subset, self.subset),
                (Duplicate, self.duplicate),
            )
            if probability > 0.0
        ]
        chain += [Shuffle()] if self.shuffle else []
        chain += [Drop(self.drop)] if self.drop > 0.0 else []
        return tuple(chain)


def parameter_name_of(setting: Field[Any]) -> str:
    """Return the name of the ROS parameter, for example ``faults.drop``."""
    return f'{setting.metadata["group"]}{setting.name}'


def range_of(setting: Field[Any]) -> tuple[float, float] | None:
    """Return the smallest and the largest value allowed, ``None`` for a switch."""
    span: tuple[float, float] | None = setting.metadata['span']
    return span


# -- The driver ----------------------------------------------------------------------------------


class Driver:
    """
    Takes commands and returns samples at given times.

    The same calls give the same samples: it has no clock, and the faults are seeded.

    :param names: The actuators, distinct.
    :param now: Start time, at rest [s], of a clock that never goes back.
    :param scales: The number in SI for each of the driver's, rows position, velocity, effort,
        shape ``(3, n)``; ``None``: commands and samples are SI.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: DriverSettings,
        *,
        now: float,
        scales: Array | None = None,
    ) -> None:
        self._scales = scales
        self._drive = Drive.at_rest(names, dynamics=settings.dynamics)
        self._settings = settings
        self._now = now
        self._held: JointStateRecord | None = None
        self._samples = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The actuators."""
        return self._drive.names

    def use(self, settings: DriverSettings, *, now: float) -> None:
        """Use other settings from now on."""
        self._advance(now)
        self._drive = self._drive.with_dynamics(settings.dynamics)
        self._settings = settings

    def command(self, message: JointStateData, *, now: float) -> tuple[str, ...]:
        """
        Follow a command from now on.

        :returns: The names in it that are not of this drive.
        :raises MessageError: If the message is refused; then nothing has changed.
        """
        command = read_command(message, self.names)
        if self._scales is not None:
            # An actuator without a command has no target, whatever its mode selects.
            scale = self._scales[command.mode, np.arange(len(self.names))]
            command = replace(command, target=command.target * scale)
        self._advance(now)
        self._drive = self._drive.commanded(command)
        return command.unknown

    def sample(self, *, now: float) -> JointStateRecord | None:
        """Return the sample sent now, with faults, without a stamp; ``None``: it is lost."""
        self._advance(now)
        truth = self._drive.sample()
        if self._scales is not None:
            rows = np.array([truth.position, truth.velocity, truth.effort]) / self._scales
            truth = replace(truth, position=rows[0], velocity=rows[1], effort=rows[2])
        if not self._settings.freeze:
            self._held = None
        elif self._held is None:
            self._held = truth
        self._samples += 1
        return inject(
            truth,
            self._settings.faults(self._held or truth),
            seed=self._settings.seed,
            number=self._samples,
        )

    def _advance(self, now: float) -> None:
        self._drive = self._drive.advanced(now - self._now)
        self._now = now
