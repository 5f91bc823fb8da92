# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver without a node: its settings, its drive and its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, Field, field, fields
from typing import Any

from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.sim.drive import Drive, Dynamics, read_command
from transmission_bridge.sim.faults import (
    Drop,
    Duplicate,
    Fault,
    Freeze,
    inject,
    NotANumber,
    Shuffle,
    Subset,
)

__all__ = ['Driver', 'DriverSettings', 'parameter_name_of', 'range_of']


# -- What can be changed on a simulated driver while it runs, with the words that explain it -----
#
# One table: the node declares its parameters from it, so that both have the same ranges.


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

        :param held: The sample at which a frozen drive stands still.
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


# -- A simulated driver without a node: the drive, the time it stands at, and its faults ---------


class Driver:
    """
    Takes commands and gives samples at times that its owner tells.

    The same calls give the same samples: there is no clock inside, and the faults are seeded.

    :param names: The actuators, distinct.
    :param now: The time at which the drive stands at rest [s], of a clock that never goes back.
    """

    def __init__(self, names: Sequence[str], settings: DriverSettings, *, now: float) -> None:
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
        """Go on with other settings from now."""
        self._advance(now)
        self._drive = self._drive.with_dynamics(settings.dynamics)
        self._settings = settings

    def command(self, message: JointStateData, *, now: float) -> tuple[str, ...]:
        """
        Follow a command from now.

        :returns: The names in it that are none of ours.
        :raises MessageError: If the message is refused; nothing has changed then.
        """
        command = read_command(message, self.names)
        self._advance(now)
        self._drive = self._drive.commanded(command)
        return command.unknown

    def sample(self, *, now: float) -> JointStateRecord | None:
        """Return what is sent now, faults included, without a stamp; ``None``: nothing is."""
        self._advance(now)
        truth = self._drive.sample()
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
