# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The page at work: one robot, everybody who looks, and the loop between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import queue
import time
import traceback
from typing import Any

import numpy as np

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.live import BridgeRobot
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.tools.tune.robots import Done, FileRobot, RobotState
from transmission_bridge.tools.tune.scene import COMMANDED, RobotScene, WOULD_BE
from transmission_bridge.tools.tune.shapes import Packages

__all__ = ['Session', 'Settings']

#: Seconds between two poses, and between two updates of the numbers beside them.
_POSE, _NUMBERS = 0.05, 0.2


@dataclass(frozen=True)
class Settings:
    """
    How the page is served.

    :param may_change: Whether those who look may change anything.
    :param output: File that is saved to, empty for none.
    :param force: Whether it may be replaced.
    :param packages: Where meshes are.
    """

    may_change: bool
    output: str
    force: bool
    packages: Packages


class Session:
    """
    Everything happens in the thread that calls :meth:`run`; the others hand over what to do.

    :param server: The server, behind its gate.
    :param make_view: Makes the :class:`~.view.View` of a client that has joined.
    """

    def __init__(
        self,
        server: Any,
        robot: FileRobot | BridgeRobot,
        settings: Settings,
        make_view: Callable[[Any, Session], Any],
    ) -> None:
        self.robot = robot
        self._make_view = make_view
        self.settings = settings
        self.scene: RobotScene | None = None
        self._server = server
        self._todo: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._views: dict[int, Any] = {}
        self._shown: TuneModel | None = None
        self._numbers_due = 0.0
        server.on_client_connect(lambda client: self.post(lambda: self._join(client)))
        server.on_client_disconnect(
            lambda client: self.post(lambda: self._views.pop(client.client_id, None))
        )

    def post(self, task: Callable[[], object]) -> None:
        """Hand over something to be done by the thread of :meth:`run`."""
        self._todo.put(task)

    def run(self) -> None:
        """Serve until it is interrupted."""
        while True:
            self.step()

    def step(self) -> None:
        """Take what has arrived, and show it."""
        begin = time.monotonic()
        while not self._todo.empty():
            _guarded(self._todo.get())
            self._numbers_due = begin
        model = self.robot.model
        if model is not None:
            if model is not self._shown:
                self._show_another(model)
            self._show(model, self.robot.state())
        if begin >= self._numbers_due:
            self._numbers_due = begin + _NUMBERS
            self._views = {
                client: view for client, view in self._views.items() if _guarded(view.refresh)
            }
        self.robot.spin(max(_POSE - (time.monotonic() - begin), 0.005))

    def _join(self, client: Any) -> None:
        self._views[client.client_id] = self._make_view(client, self)

    # -- the robot -------------------------------------------------------------------------------

    def _show_another(self, model: TuneModel) -> None:
        self._shown = model
        if self.scene is not None:
            self.scene.remove()
        self.scene = RobotScene(
            self._server,
            model.robot.robot,
            self.robot.visuals,
            self.settings.packages,
            lambda client, joint: self.post(lambda: self._views[client].select(joint)),
        )
        for view in self._views.values():
            _guarded(view.rebuild)

    def _show(self, model: TuneModel, state: RobotState) -> None:
        assert self.scene is not None
        target, color = state.target, COMMANDED
        for view in self._views.values():
            if view.preview is not None and view.preview.robot is not None:
                with np.errstate(all='ignore'):
                    at_motors = state.actuators[0]
                    target = view.preview.robot.actuator_to_joint('position', at_motors)
                color = WOULD_BE
        others = np.where(np.isfinite(target), target, state.joints[0])
        positions, ghost = (
            dict(zip(model.robot.joint_names, each.tolist(), strict=True))
            for each in (state.joints[0], others)
        )
        self.scene.show(positions, ghost, color)

    # -- changes ---------------------------------------------------------------------------------

    def apply(self, values: Mapping[str, float], done: Done, note: Callable[[], None]) -> None:
        """
        Set numbers, all or none; every page shows them then.

        :param done: Is called with the reason why they were refused, empty where they were not.
        :param note: Is called before it if they were set.
        """
        model = self.robot.model
        if model is None or not self.settings.may_change:
            done('this page is for looking only')
            return

        def answered(reason: str) -> None:
            try:
                if not reason and self.robot.model is model:
                    model.accept(values)
                    note()
            except TransmissionBridgeError as error:
                reason = str(error)
            done(reason)

        self.robot.apply(values, answered)


def _guarded(task: Callable[[], object]) -> bool:
    """Return whether a task ended well: a bug on one page must not take it from the others."""
    try:
        task()
    except Exception:
        traceback.print_exc()
        return False
    return True
