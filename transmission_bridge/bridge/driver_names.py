# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names that a driver uses instead of the URDF's, on the way to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from transmission_bridge.description.specs import Finding
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import TrajectoryRecord

__all__ = ['DriverNames', 'names_of_lost']

RecordT = TypeVar('RecordT', JointStateRecord, TrajectoryRecord)


class DriverNames:
    """
    Renames actuators in messages to drivers; the way back is taken where states are merged.

    :param actuator_names: Driver's name to URDF name. Of two names for one actuator the first
        counts.
    """

    def __init__(self, actuator_names: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}
        for driver_name, name in actuator_names.items():
            self._names.setdefault(name, driver_name)

    def __call__(self, record: RecordT) -> RecordT:
        """Return the message with the driver's names."""
        if not self._names:
            return record
        return replace(record, names=tuple(self._names.get(name, name) for name in record.names))


def names_of_lost(
    option: str, names: Iterable[str], lost: Mapping[str, str]
) -> tuple[Finding, ...]:
    """
    Return a warning for each actuator of an option that a refused transmission costs.

    :param option: Name of the option.
    :param names: The actuators that it names.
    :param lost: Actuators of refused transmissions, with the reason.
    """
    return tuple(
        Finding('warning', f"{option}: '{name}' is left out, {lost[name]}", subject=name)
        for name in dict.fromkeys(names)
        if name in lost
    )
