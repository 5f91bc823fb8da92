# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From the states of the joints back to those of the actuators, for recordings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import JOINT_TO_ACTUATOR

__all__ = ['ReverseStatePath']

_EMPTY: Array = np.empty(0)
_EMPTY.setflags(write=False)


class ReverseStatePath:
    """
    Merges joint states by name and maps them to actuator states.

    The counterpart of :class:`~transmission_bridge.bridge.states.StatePath`. These are states and
    no commands: nothing is limited, completed or held. Joints that follow another one are passed
    over, because the joint they follow says all that is known.

    :param robot: The maps.
    :param names: What the driver calls its actuators, by the URDF's names; others are left out.
    :ivar picks: Places of the driver's actuators in the robot.
    :ivar names: What it calls them.
    :ivar merged: What was said of the joints.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(self, robot: RobotTransmissions, names: Mapping[str, str]) -> None:
        picks = [place for place, name in enumerate(robot.actuator_names) if name in names]
        self.picks = np.array(picks, dtype=np.intp)
        self.names = tuple(names[robot.actuator_names[place]] for place in picks)
        self._mapper = robot.stream(JOINT_TO_ACTUATOR)
        self.merged = MergedStates(
            robot.joint_names, driver_names=None, wrap_period={}, timeout=0.0
        )
        self.report = MapReport()

    def update(
        self, source: str, layout: Layout, data: JointStateData, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Take over a message; see :meth:`StatePath.update`.

        :raises MessageError: If it cannot be used; then nothing has changed.
        """
        self.merged.update(source, layout, data, stamp, now)

    def actuator_state(self) -> JointStateRecord | None:
        """
        Return the state of every actuator of which anything is known.

        An interface unknown for all of these actuators is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp(0.0)
        if stamp is None:
            return None
        mapped: Array = self._mapper.of_instant(self.merged.values(0.0), self.report)[
            :, self.picks
        ]
        finite = np.isfinite(mapped)
        # What is too large for a number is not known either.
        mapped = np.where(finite, mapped, np.nan)
        known = np.asarray(finite.any(axis=0))
        if not known.any():
            return None
        names = tuple(name for name, is_known in zip(self.names, known, strict=True) if is_known)
        rows = (row if not np.isnan(row).all() else _EMPTY for row in mapped[:, known])
        return JointStateRecord(stamp, '', names, *rows)
