# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The loop of the page: one robot, its scene, and a view for each browser.

Only the thread of :meth:`TuneSession.run` touches robot, scene and views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
import queue
import sys
import time
import traceback
from typing import Any

import numpy as np

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.tools.tune.robots import BridgeRobot, Done, FileRobot, RobotState
from transmission_bridge.tools.tune.scene import COMMANDED, PREVIEWED, RobotScene
from transmission_bridge.tools.tune.shapes import Packages

#: Seconds between updates of the pose, and of the numbers beside it.
_POSE, _NUMBERS = 0.05, 0.2


@dataclass(frozen=True)
class PageSettings:
    """
    Settings of the page.

    :param may_change: Whether browsers may change anything.
    :param output: File to save to, empty for none.
    :param force: Whether an existing file may be replaced.
    :param packages: Folders of the packages that contain meshes.
    """

    may_change: bool
    output: str
    force: bool
    packages: Packages


class TuneSession:
    """
    All work is done in the thread that calls :meth:`run`; other threads post tasks to it.

    :param server: The server, behind its gate.
    :param make_view: Makes the :class:`~.command.PageView` of a new client.
    """

    def __init__(
        self,
        server: Any,
        robot: FileRobot | BridgeRobot,
        settings: PageSettings,
        make_view: Callable[[Any, TuneSession], Any],
    ) -> None:
        self.robot = robot

        self.settings = settings
        self.scene: RobotScene | None = None
        self._server = server
        self._todo: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._views: dict[int, Any] = {}
        self._shown: TuneModel | None = None
        self._numbers_due = 0.0

        def open_view(client: Any) -> None:
            self._views[client.client_id] = make_view(client, self)

        server.on_client_connect(lambda client: self.post_task(lambda: open_view(client)))
        server.on_client_disconnect(
            lambda client: self.post_task(lambda: self._views.pop(client.client_id, None))
        )

    def post_task(self, task: Callable[[], object]) -> None:
        """Queue a task for the thread of :meth:`run`."""
        self._todo.put(task)

    def run(self) -> None:
        """Serve until an interrupt."""
        while True:
            self.update_pages()

    def update_pages(self) -> None:
        """Run the queued tasks, and update the scene and all views."""
        begin = time.monotonic()
        while not self._todo.empty():
            _run_guarded(self._todo.get())
            self._numbers_due = begin
        model = self.robot.model
        if model is not None:
            if model is not self._shown:
                self._replace_scene(model)
            # viser can fail while a client connects: the next update sends what was not sent.
            _run_guarded(lambda: self._show_robot(model, self.robot.read_state()))
        if begin >= self._numbers_due:
            self._numbers_due = begin + _NUMBERS
            for view in self._views.values():
                _run_guarded(view.refresh_widgets)
        self.robot.spin_for(max(_POSE - (time.monotonic() - begin), 0.005))

    # -- the robot -------------------------------------------------------------------------------

    def _replace_scene(self, model: TuneModel) -> None:
        self._shown = model
        if self.scene is not None:
            self.scene.remove_nodes()
        self.scene = RobotScene(
            self._server,
            model.robot.description,
            self.robot.visuals,
            self.settings.packages,
            lambda client, joint: self.post_task(lambda: self._views[client].select_joint(joint)),
        )
        for view in self._views.values():
            _run_guarded(view.rebuild_widgets)

    def _show_robot(self, model: TuneModel, state: RobotState) -> None:
        assert self.scene is not None
        target, color = state.target, COMMANDED
        for page in (view.page for view in self._views.values()):
            if page.preview is not None and page.preview.robot is not None:
                with np.errstate(all='ignore'):
                    at_motors = state.actuators[0]
                    target = page.preview.robot.actuator_to_joint('position', at_motors)
                color = PREVIEWED
            if page.pose is not None:
                names, color = model.robot.joint_names, COMMANDED
                target = np.array([page.pose.get(name, 0.0) for name in names])
        others = np.where(np.isfinite(target), target, state.joints[0])
        positions, ghost = (
            dict(zip(model.robot.joint_names, each.tolist(), strict=True))
            for each in (state.joints[0], others)
        )
        self.scene.show_poses(positions, ghost, color)

    # -- changes ---------------------------------------------------------------------------------

    def apply_values(
        self, values: Mapping[str, float], done: Done, record: Callable[[], None]
    ) -> None:
        """
        Set numbers atomically, and show them on every page.

        :param done: Receives the reason if they were rejected, else an empty text.
        :param record: Is called before ``done`` if they were set.
        """
        model = self.robot.model
        if model is None or not self.settings.may_change:
            done('this page is read-only')
            return

        def finish_change(reason: str) -> None:
            try:
                if not reason and self.robot.model is model:
                    model.accept_values(values)
                    record()
            except TransmissionBridgeError as error:
                reason = str(error)
            done(reason)

        self.robot.apply_values(values, finish_change)


def _run_guarded(task: Callable[[], object]) -> None:
    """Run a task. A bug on one page must not affect the other pages, or end this one."""
    try:
        task()
    except Exception:
        _print_once(traceback.format_exc())


@lru_cache(maxsize=100)
def _print_once(text: str) -> None:
    print(text, file=sys.stderr)
