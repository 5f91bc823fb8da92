# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From the states of one or several drivers to the states of the joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.bridge.joint_view import JointView
from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT

__all__ = ['StatePath']

_EMPTY: Array = np.empty(0)
_EMPTY.setflags(write=False)


class StatePath:
    """
    Merges actuator states by name and maps them to joint states.

    Every number is the newest that a driver gave for it; NaN and inf mean unknown. A message is
    taken whole or, if it cannot be used, not at all. See
    :class:`~transmission_bridge.bridge.options.BridgeOptions` for the choices.

    :param robot: The maps; exchanged by :meth:`use`.
    :param unknown_joints: ``omit`` or ``nan``.
    :param unknown_rates: ``nan`` or ``zero``.
    :param undeclared: ``auto``, ``publish`` or ``hide``.
    :param actuator_names: Driver's name to URDF name, where they differ.
    :param wrap_period: Period of single-turn encoders [rad or m] by actuator.
    :param timeout: Seconds after which a number that did not come again is unknown; 0: never.
    :param stamp_hold: Seconds for which nothing but older stamps has to come before the stamp of
        what is published goes back; 0, for recordings: at once.
    :ivar merged: What the drivers have said.
    :ivar view: What is said of the joints.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        *,
        unknown_joints: str = 'omit',
        unknown_rates: str = 'nan',
        undeclared: str = 'auto',
        actuator_names: Mapping[str, str] | None = None,
        wrap_period: Mapping[str, float] | None = None,
        timeout: float = 0.0,
        stamp_hold: float = 0.0,
    ) -> None:
        self._omit = unknown_joints == 'omit'
        self.merged = MergedStates(
            robot.actuator_names,
            driver_names=actuator_names or {},
            wrap_period=wrap_period or {},
            lost=robot.lost_actuators,
            timeout=timeout,
            stamp_hold=stamp_hold,
        )
        self._times_out = timeout > 0.0
        self.view = JointView(robot, unknown_rates, undeclared)
        # Nothing to add to and nothing to take from what the maps give.
        self._is_plain = self.view.is_plain
        self.report = MapReport()
        self.use(robot)
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._mapper = robot.stream(ACTUATOR_TO_JOINT)
        self._is_dirty = True

    def reset(self) -> None:
        """Forget everything that drivers have said."""
        self.merged.reset()
        self._mapper.forget()
        self._is_dirty = True

    def update(
        self, source: str, layout: Layout, data: JointStateData, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Take over the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; copied from, not kept.
        :param stamp: Its stamp, never zero.
        :param now: Time of receipt [s].
        :raises MessageError: If it cannot be used; then nothing has changed.
        """
        self.merged.update(source, layout, data, stamp, now)
        self._is_dirty = True

    def joint_position(self, now: float = 0.0) -> Array:
        """
        Return joint positions, shape ``(n_joints,)``, NaN where unknown or stale.

        **Overwritten** by the next call that maps.
        """
        if self._is_dirty or self._times_out:
            self._map(self.merged.values(now))
        position: Array = self._joints[0]
        return position

    def joint_state(self, now: float = 0.0) -> JointStateRecord | None:
        """
        Return the state of every joint that is known, with the stamp of the newest input.

        An interface unknown for all of these joints is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp(now)
        if stamp is None:
            return None
        joints = self._map(self.merged.values(now)).copy()
        if self._is_plain and self._all_known:
            return JointStateRecord(stamp, '', self.view.names, *joints)
        return self._selected(stamp, joints)

    def encoded(self, encoder: JointStateEncoder, now: float = 0.0) -> bytes | None:
        """
        Return what :meth:`joint_state` does, serialised.

        Numbers that are all to be published go to the message without a record between.
        """
        stamp = self.merged.stamp(now)
        if stamp is None:
            return None
        joints = self._map(self.merged.values(now))
        if self._is_plain and self._all_known:
            return encoder.encode_rows(self.view.names, stamp, joints)
        state = self._selected(stamp, joints)
        return None if state is None else encoder.encode(state)

    def _selected(self, stamp: Stamp, joints: Array) -> JointStateRecord | None:
        """Return what is to be published where not everything is."""
        shown, known = self.view(joints)
        names, hidden = self.view.names, self.view.hidden
        if self._omit and not known[0].all():
            named = known[0]
            names = tuple(name for name, is_known in zip(names, named, strict=True) if is_known)
            shown, known = shown[:, named], known[:, named]
            hidden = None if hidden is None else hidden[:, named]
        if not (known if hidden is None else known & ~hidden).any():
            return None
        return JointStateRecord(stamp, '', names, *(_known_or_empty(row) for row in shown))

    def _map(self, actuators: Array) -> Array:
        joints = self._mapper.of_instant(actuators, self.report)
        self._joints = joints
        self._all_known = self._mapper.all_finite
        self._is_dirty = False
        return joints


def _known_or_empty(values: Array) -> Array:
    return _EMPTY if np.isnan(values).all() else values
