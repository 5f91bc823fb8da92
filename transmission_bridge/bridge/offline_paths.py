# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The live path of either direction, with what it does to many messages at once beside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.joint_view import JointView
from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.places import Places
from transmission_bridge.bridge.reverse_states import ReverseStatePath
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.unwrap import wrap_periods
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction, FIELDS

__all__ = ['OfflinePath']

Mask = npt.NDArray[np.bool_]


class OfflinePath:
    """
    States of one space to those of the other, with the choices of a bridge.

    :param robot: The maps.
    :param direction: Which way.
    :param options: The choices. Of those the ones count that say what is in a state, not when one
        is published or how long it holds.
    :param driver: Topic of the driver whose actuators come out of joint states.
    :ivar names: Everything that can come out, in its order.
    :raises TransmissionBridgeError: If a choice does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        options: BridgeOptions,
        driver: str,
    ) -> None:
        self._path: StatePath | ReverseStatePath
        self.names: tuple[str, ...]
        periods = wrap_periods(
            pairs('wrap_period', options.wrap_period),
            robot.actuator_names,
            robot.lost_actuators,
        )
        # In both directions, as it checks the choices.
        path = StatePath(
            robot,
            unknown_joints=options.unknown_joints,
            unknown_rates=options.unknown_rates,
            undeclared=options.undeclared_interfaces,
            actuator_names=pairs('actuator_names', options.actuator_names),
            wrap_period=periods,
        )
        # Topics in a recording have the slash in front that options may leave out.
        self._drivers = {topic.strip('/'): topic for topic in options.actuator_state_topics}
        self._view: JointView | None = None
        if direction == ACTUATOR_TO_JOINT:
            self._path = path
            self._view = path.view
            self.names = self._view.names
        else:
            called: dict[str, str] = {}
            for name, actuator in path.merged.names_of_driver(self._driver(driver)).items():
                called.setdefault(actuator, name)
            self._path = ReverseStatePath(robot, called)
            self.names = self._path.names
        turns = bool(periods) and direction == ACTUATOR_TO_JOINT
        self._affine = None if turns else robot.mapper.stacked(direction)

    @property
    def can_batch(self) -> bool:
        """
        Whether :meth:`map_batch` gives what :meth:`state` gives.

        A transmission that has to be called may depend on the solution before, and the turns of a
        single-turn encoder depend on the reading before: these go message by message.
        """
        return self._affine is not None

    @property
    def merged(self) -> MergedStates:
        """What was said of the inputs."""
        return self._path.merged

    @property
    def report(self) -> MapReport:
        """What became NaN in position-dependent transmissions, and why."""
        return self._path.report

    def update(self, source: str, layout: Layout, data: JointStateData, stamp: Stamp) -> None:
        """
        Take over a message.

        Time stands still here: a recording has no timeouts, and no clock that is set back.

        :raises MessageError: If it cannot be used; then nothing has changed.
        """
        self._path.update(self._driver(source), layout, data, stamp, 0.0)

    def places(self, source: str, layout: Layout) -> Places:
        """Return where the entries of a message go, one like which was taken before."""
        return self.merged.places(self._driver(source), layout)

    def _driver(self, topic: str) -> str:
        return self._drivers.get(topic.strip('/'), topic)

    def state(self) -> JointStateRecord | None:
        """Return the state of the other space, ``None`` while nothing is known."""
        if isinstance(self._path, StatePath):
            return self._path.joint_state()
        return self._path.actuator_state()

    def map_batch(self, values: Array) -> tuple[Array, Mask]:
        """
        Map many states.

        :param values: Rows position, velocity, effort of each, shape ``(samples, 3, n_in)``.
        :returns: Shape ``(samples, 3, n_out)``, in the order of :attr:`names`, NaN what is not
            known or not shown; and which of it is known, shown or not.
        """
        assert self._affine is not None
        samples = len(values)
        mapped = self._affine(values.reshape(samples, -1)).reshape(samples, len(FIELDS), -1)
        if self._view is not None:
            return self._view(mapped)
        assert isinstance(self._path, ReverseStatePath)
        mapped = mapped[:, :, self._path.picks]
        known: Mask = np.isfinite(mapped)
        return np.where(known, mapped, np.nan), known
