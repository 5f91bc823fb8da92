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
from typing import Any, Protocol

import numpy as np

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.model import Preview, Proposal, TuneModel
from transmission_bridge.tools.tune.robots import Done, Robot, RobotState
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


class View(Protocol):
    """What one browser shows."""

    def apply_dragged(self) -> None:
        """Have done what its user has dragged."""

    def refresh(self) -> None:
        """Show the present numbers."""

    def rebuild(self) -> None:
        """Begin anew: the robot is another one."""


class Session:
    """
    Everything happens in the thread that calls :meth:`run`; the others hand over what to do.

    :param server: The server, behind its gate.
    :param robot: The robot.
    :param make_view: Makes the view of a client that has joined.
    """

    def __init__(
        self,
        server: Any,
        robot: Robot,
        settings: Settings,
        make_view: Callable[[Any, Session], View],
    ) -> None:
        self._make_view = make_view
        self.robot = robot
        self.settings = settings
        self.state: RobotState | None = None
        self._server = server
        self._todo: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._views: dict[int, View] = {}
        self._scene: RobotScene | None = None
        self._generation = 0
        self._numbers_due = 0.0
        self._ghost: tuple[View, Preview] | None = None
        server.on_client_connect(lambda client: self.post(lambda: self._join(client)))
        server.on_client_disconnect(lambda client: self.post(lambda: self._leave(client)))

    def post(self, task: Callable[[], None]) -> None:
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
            try:
                self._todo.get()()
            except Exception:  # a bug on one page must not take it from the others
                traceback.print_exc()
        self._use_newest()
        for view in list(self._views.values()):
            view.apply_dragged()
        if self.model is not None:
            self.state = self.robot.state()
            self._show(self.model, self.state)
        if begin >= self._numbers_due:
            self._numbers_due = begin + _NUMBERS
            for view in list(self._views.values()):
                view.refresh()
        self.robot.spin(max(_POSE - (time.monotonic() - begin), 0.005))

    # -- who looks -------------------------------------------------------------------------------

    def _join(self, client: Any) -> None:
        self._views[client.client_id] = self._make_view(client, self)

    def _leave(self, client: Any) -> None:
        self._views.pop(client.client_id, None)
        if self._ghost is not None and self._ghost[0] not in self._views.values():
            self._ghost = None

    # -- the robot -------------------------------------------------------------------------------

    @property
    def model(self) -> TuneModel | None:
        """The numbers, ``None`` while there is no robot."""
        return self.robot.model

    @property
    def missing(self) -> Mapping[str, str]:
        """By link, why it is not drawn."""
        return {} if self._scene is None else self._scene.missing

    @property
    def n_left_out(self) -> int:
        """Number of links that are not drawn."""
        return 0 if self._scene is None else self._scene.poses.n_left_out

    def sentences(self) -> tuple[str, ...]:
        """Return what is missing or wrong."""
        return self.robot.sentences()

    def _use_newest(self) -> None:
        model = self.model
        if model is None or self.robot.generation == self._generation:
            return
        self._generation = self.robot.generation
        if self._scene is not None:
            self._scene.remove()
        self._ghost = self.state = None
        self._scene = RobotScene(
            self._server, model.robot.robot, self.robot.visuals, self.settings.packages
        )
        for view in self._views.values():
            view.rebuild()

    def _show(self, model: TuneModel, state: RobotState) -> None:
        if self._scene is None:
            return
        names = model.robot.joint_names
        positions = dict(zip(names, state.joints[0].tolist(), strict=True))
        if self._ghost is not None and (tuned := self._ghost[1].robot) is not None:
            with np.errstate(all='ignore'):
                at_motors = state.actuators[0]
                would = tuned.actuator_to_joint('position', at_motors).tolist()
            self._scene.show(positions, _instead(positions, names, would), WOULD_BE)
        elif np.isfinite(state.target).any():
            target = _instead(positions, names, state.target.tolist())
            self._scene.show(positions, target, COMMANDED)
        else:
            self._scene.show(positions, None, COMMANDED)

    def show_preview(self, view: View, preview: Preview | None) -> None:
        """Show what a change would do as the transparent robot; ``None``: no longer."""
        if preview is not None:
            self._ghost = view, preview
        elif self._ghost is not None and self._ghost[0] is view:
            self._ghost = None

    # -- changes ---------------------------------------------------------------------------------

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """
        Set numbers, all or none; every page shows them then.

        :param done: Is called with the reason why they were refused, empty where they were not.
        """
        model = self.model
        if model is None:
            return
        # Before it is asked for: others hear of the change before the answer comes.
        before = {name: model.value(name) for name in values}
        self._set(values, lambda model: model.done(before, values, time.monotonic()), done)

    def undo(self, done: Done) -> None:
        """Take the last step back."""
        self._step_of_history(TuneModel.undo, TuneModel.undone, done)

    def redo(self, done: Done) -> None:
        """Make a step again that was taken back."""
        self._step_of_history(TuneModel.redo, TuneModel.redone, done)

    def _step_of_history(
        self,
        find: Callable[[TuneModel], Proposal],
        note: Callable[[TuneModel], None],
        done: Done,
    ) -> None:
        if self.model is None:
            return
        proposal = find(self.model)
        if proposal.reason:
            done(proposal.reason)
            return
        self._set(proposal.values, note, done)

    def _set(
        self, values: Mapping[str, float], note: Callable[[TuneModel], None], done: Done
    ) -> None:
        model = self.model
        if model is None or not self.settings.may_change:
            done('this page is for looking only')
            return

        def answered(reason: str) -> None:
            try:
                if not reason and self.model is model:
                    model.accept(values)
                    note(model)
            except TransmissionBridgeError as error:
                reason = str(error)
            done(reason)

        self.robot.apply(values, answered)


def _instead(
    positions: Mapping[str, float], names: tuple[str, ...], others: list[float]
) -> dict[str, float]:
    """Return positions with others in their place where these are known."""
    return {
        name: other if other == other else positions[name]
        for name, other in zip(names, others, strict=True)
    }
