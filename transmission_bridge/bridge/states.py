# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From the states of one or several drivers to the states of the joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.places import FIELDS, find_places, Places, PlanCache
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['Stamp', 'StatePath']

#: Seconds and nanoseconds, as in a message header.
Stamp = tuple[int, int]

#: Unknown names that are counted each by itself.
UNKNOWN_NAMES = 64

_EMPTY: Array = np.empty(0)
_EMPTY.setflags(write=False)


class _Source:
    """What one driver has said so far: which numbers are its own, and its newest stamp."""

    def __init__(self, n_actuators: int, index: Mapping[str, int]) -> None:
        self.supplied: npt.NDArray[np.bool_] = np.zeros((len(FIELDS), n_actuators), dtype=bool)
        self.stamp: Stamp | None = None
        self.plans: PlanCache[Places] = PlanCache(lambda layout: find_places(layout, index))


class StatePath:
    """
    Merges actuator states by name and maps them to joint states.

    Every number is the newest that a driver gave for it. NaN and inf mean unknown. A driver that
    leaves out an interface it used to give for an actuator makes it unknown; what other drivers
    give stays. A message is taken whole or, if it cannot be used, not at all.

    :param robot: The maps; exchanged by :meth:`use`.
    :param unknown_joints: ``omit`` or ``nan``, see
        :class:`~transmission_bridge.bridge.options.BridgeOptions`.
    :param actuator_names: Driver's name to URDF name, where they differ.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    :ivar unknown_names: Names in messages that the robot does not have, with their counts.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        *,
        unknown_joints: str = 'omit',
        actuator_names: Mapping[str, str] | None = None,
    ) -> None:
        self._omit = unknown_joints == 'omit'
        index = {name: place for place, name in enumerate(robot.actuator_names)}
        # A renamed actuator is known under the driver's name only: its own name may be another's.
        renamed = {old: index[new] for old, new in (actuator_names or {}).items() if new in index}
        taken = set(renamed.values())
        self._index = {name: place for name, place in index.items() if place not in taken}
        self._index.update(renamed)
        self.report = MapReport()
        self.unknown_names: Counter[str] = Counter()
        self.use(robot)
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot

    def reset(self) -> None:
        """Forget everything that drivers have said."""
        self._values: Array = np.full((len(FIELDS), len(self._robot.actuator_names)), np.nan)
        self._given = [False] * len(FIELDS)
        self._sources: dict[str, _Source] = {}
        self._joint_position: Array = np.full(len(self._robot.joint_names), np.nan)

    @property
    def joint_position(self) -> Array:
        """Newest joint positions, shape ``(n_joints,)``, NaN where unknown; do not change."""
        return self._joint_position

    def update(self, source: str, layout: Layout, data: JointStateData, stamp: Stamp) -> None:
        """
        Take over the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; copied from, not kept.
        :param stamp: Its stamp, never zero.
        :raises MessageError: If it cannot be used; then nothing has changed.
        """
        known = self._sources.get(source)
        if known is None:
            known = _Source(len(self._robot.actuator_names), self._index)
            self._sources[source] = known
        plan = known.plans.get(layout)
        if plan.unknown:
            self._count_unknown(plan.unknown)
        places, picks = plan.places, plan.picks
        for field, numbers in enumerate((data.position, data.velocity, data.effort)):
            if len(numbers):
                self._values[field, places] = numbers if picks is None else numbers[picks]
                known.supplied[field, places] = True
                self._given[field] = True
            elif self._given[field]:
                forgotten = places[known.supplied[field, places]]
                self._values[field, forgotten] = np.nan
                known.supplied[field, forgotten] = False
        np.copyto(self._values, np.nan, where=np.isinf(self._values))
        known.stamp = stamp

    def _count_unknown(self, names: tuple[str, ...]) -> None:
        """Count names; the number of names remembered is bounded, whatever arrives."""
        for name in names:
            if name in self.unknown_names or len(self.unknown_names) < UNKNOWN_NAMES:
                self.unknown_names[name] += 1

    def joint_state(self) -> JointStateRecord | None:
        """
        Return the state of every joint that is known, stamped with the newest input's stamp.

        An interface unknown for all of these joints is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamps = [source.stamp for source in self._sources.values() if source.stamp is not None]
        actuators = self._values[0]
        position = self._robot.actuator_to_joint(
            'position', actuators, guess=self._joint_position, report=self.report
        )
        rates = [
            self._robot.actuator_to_joint(
                interface, self._values[field], at=actuators, report=self.report
            )
            if self._given[field]
            else _EMPTY
            for field, interface in ((1, 'velocity'), (2, 'effort'))
        ]
        self._joint_position = position
        names = self._robot.joint_names
        known = np.isfinite(position)
        if self._omit and not known.all():
            names = tuple(name for name, is_known in zip(names, known, strict=True) if is_known)
            position = position[known]
            rates = [rate[known] if len(rate) else rate for rate in rates]
        fields = [_known_or_empty(values) for values in (position, *rates)]
        if not stamps or not any(len(values) for values in fields):
            return None
        return JointStateRecord(max(stamps), '', names, *fields)


def _known_or_empty(values: Array) -> Array:
    return _EMPTY if np.isnan(values).all() else values
