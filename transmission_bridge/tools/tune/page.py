# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the panels of one browser share: the robot as it is shown, and its user's choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from typing import Any

from transmission_bridge.tools.limit_report import transmission_limits
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import Preview, TuneModel
from transmission_bridge.tools.tune.robots import Limits, list_limits, RobotState
from transmission_bridge.tools.tune.session import TuneSession
from transmission_bridge.tools.tune.texts import PageUnits
from transmission_bridge.tools.tune.widgets import Widgets
from transmission_bridge.tools.units import UNKNOWN_UNIT
from transmission_bridge.transmissions import Binding
from transmission_bridge.types import Array

#: The limits of a member that has none.
OPEN: Limits = (-math.inf, math.inf, UNKNOWN_UNIT)


class Page:
    """
    The page of one client.

    :param client: viser's handle.
    :param session: The session of the page.
    :ivar units: The displayed units.
    :ivar chosen: The transmission that is shown.
    :ivar joint: The joint of the buttons.
    :ivar limits: Limits of all joints, by name.
    :ivar preview: Effect of the change that the page shows, ``None`` without one.
    :ivar pose: Positions of joints that the user is asked for, ``None`` without a question.
    """

    def __init__(self, client: Any, session: TuneSession) -> None:
        self.client, self.session = client, session
        self.units = PageUnits()
        self.chosen = self.joint = ''
        self.limits: dict[str, Limits] = {}
        self.preview: Preview | None = None
        self.pose: Mapping[str, float] | None = None
        self._shown: tuple[TuneModel, RobotState] | None = None
        #: Limits of the actuators, and the transmission from which they were computed.
        self._actuator_limits: tuple[object, dict[str, Limits]] = None, {}

    def make_widgets(self, container: Any) -> Widgets:
        """Return the widgets of a container."""
        return Widgets(self.client.gui, container, self.session.post_task)

    def read_robot(self, model: TuneModel) -> None:
        """Read the present state of the robot."""
        if self._shown is None or model is not self._shown[0]:
            self.limits = list_limits(model.robot)
        self._shown = model, self.session.robot.read_state()

    @property
    def model(self) -> TuneModel:
        """The numbers that the page shows."""
        assert self._shown is not None
        return self._shown[0]

    @property
    def state(self) -> RobotState:
        """The state that the page shows."""
        assert self._shown is not None
        return self._shown[1]

    def limit_actuators(self, binding: Binding) -> None:
        """Compute the limits of the actuators of a transmission, if its numbers have changed."""
        if self._actuator_limits[0] is not binding.transmission:
            report = transmission_limits(self.model.robot, binding)
            limits = {
                actuator.name: (lower, upper, report.unit)
                for actuator, (lower, upper) in zip(
                    binding.spec.actuators, report.actuators[0].tolist(), strict=True
                )
            }
            self._actuator_limits = binding.transmission, limits

    def find_side(self, kind: str) -> tuple[tuple[str, ...], Array, Array, Mapping[str, Limits]]:
        """Return names, values, ages and limits of actuators or joints."""
        state, robot = self.state, self.model.robot
        if kind == 'joint':
            return robot.joint_names, state.joints, state.joint_ages, self.limits
        return robot.actuator_names, state.actuators, state.actuator_ages, self._actuator_limits[1]

    def format_bars(self, kind: str, members: Iterable[int]) -> str:
        """Return a table of actuators or joints, actuators as their drivers count."""
        names, values, ages, limits = self.find_side(kind)
        rows = []
        for n in members:
            low, high, unit = limits.get(names[n], OPEN)
            numbers = values[:, n]
            shown: tuple[str, ...] = (unit,)
            if kind == 'actuator' and names[n] in self.model.robot.units:
                units = self.model.robot.units[names[n]].all_units
                numbers = numbers / [each.scale for each in units]
                low, high = (limit / units[0].scale for limit in (low, high))
                shown = tuple(each.text for each in units)
            rows.append((names[n], shown, numbers.tolist(), float(ages[n]), low, high))
        return texts.format_bars(kind, rows, self.units)
