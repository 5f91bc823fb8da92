# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The loop of the page: one robot, its scene, and for each browser what its panels share.

``command`` makes the session; panels use :class:`Page` and :class:`Widgets`. Only the thread of
:meth:`TuneSession.run` touches robot, scene and pages: viser's threads queue tasks for it. The
periods of updates are free to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
import math
import queue
import sys
import time
import traceback
from typing import Any

import numpy as np

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.limit_report import report_transmission_limits
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import Limits, Preview, TuneModel
from transmission_bridge.tools.tune.robots import (
    Done,
    TuneBridgeRobot,
    TuneFileRobot,
    TuneRobotState,
)
from transmission_bridge.tools.tune.scene import COMMANDED, PREVIEWED, RobotScene
from transmission_bridge.tools.tune.shapes import MeshPackages
from transmission_bridge.tools.tune.texts import PageUnits
from transmission_bridge.tools.units import UNKNOWN_UNIT
from transmission_bridge.transmissions import Binding
from transmission_bridge.types import Array

#: Seconds between updates of the pose, and of the numbers beside it.
_POSE, _NUMBERS = 0.05, 0.2


@dataclass(frozen=True)
class PageSettings:
    """
    What the command line allows all browsers; it never changes.

    :param may_change: Whether browsers may change anything.
    :param output: File to save to, empty for none.
    :param force: Whether an existing file may be replaced.
    :param packages: Folders of the packages that contain meshes.
    """

    may_change: bool
    output: str
    force: bool
    packages: MeshPackages


class TuneSession:
    """
    All work is done in the thread that calls :meth:`run`; other threads post tasks to it.

    :param server: The server, behind its gate.
    :param make_view: Makes the :class:`~.command.PageView` of a new client.
    """

    def __init__(
        self,
        server: Any,
        robot: TuneFileRobot | TuneBridgeRobot,
        settings: PageSettings,
        make_view: Callable[[Any, TuneSession], Any],
    ) -> None:
        self.robot = robot
        self.settings = settings
        #: The scene of :attr:`_shown`, the model for which the pages were made last; both are
        #: replaced when the robot has another model.
        self.scene: RobotScene | None = None
        self._server = server
        self._todo: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._views: dict[int, Any] = {}  # by the number of viser's client
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

    def _show_robot(self, model: TuneModel, state: TuneRobotState) -> None:
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


# -- What the panels of one browser share ---------------------------------------------------------


#: Decimals of a slider, the most that viser gives one.
_DIGITS = 7


class Widgets:
    """
    The widgets of a container.

    :meth:`add_text` and :meth:`add_widget` describe them in order, then :meth:`show_changes`
    sends the differences from the last description.

    :param gui: viser's ``client.gui``.
    :param container: Context manager of the container.
    :param post: Queues a task for the thread that describes the widgets.
    """

    def __init__(
        self, gui: Any, container: Any, post: Callable[[Callable[[], None]], None]
    ) -> None:
        self._gui, self._container, self._post = gui, container, post
        self._next: dict[tuple[str, str], dict[str, Any]] = {}
        self._acts: dict[tuple[str, str], Callable[[Any], None]] = {}
        self._handles: dict[tuple[str, str], Any] = {}
        #: What the browser shows or will show. Input is included when :meth:`_accept_input`
        #: handles it, so that later input is not overwritten.
        self._sent: dict[tuple[str, str], dict[str, Any]] = {}

    def add_text(self, content: str) -> None:
        """Describe a text."""
        self._next['html', str(len(self._next))] = {'content': content}

    def add_widget(self, kind: str, key: str, act: Callable[[Any], None], **props: Any) -> None:
        """
        Describe a widget.

        :param kind: ``text``, ``slider``, ``button``, ...: viser's ``gui.add_<kind>``.
        :param key: Its name, unique among widgets of this kind in the container, and its label
            unless ``props`` has one.
        :param act: Is called with the value when the user changes it.
        :param props: viser's arguments, including ``value``.
        """
        self._next[kind, key] = {'label': key, **props}
        self._acts[kind, key] = act

    def show_changes(self) -> None:
        """Replace the shown widgets by those described since the last call."""
        widgets, self._next = self._next, {}
        if [*widgets] != [*self._handles]:
            for handle in self._handles.values():
                handle.remove()
            with self._container:
                self._handles = {item[0]: self._make_widget(*item) for item in widgets.items()}
            self._sent = widgets
        for key, props in widgets.items():
            sent = self._sent[key]
            for name, value in props.items():
                # A slider has steps.
                step = props.get('step', 0.0) if name == 'value' else 0.0
                if sent[name] != value and (not step or abs(sent[name] - value) > 0.5 * step):
                    setattr(self._handles[key], name, value)
                    sent[name] = value

    def _make_widget(self, key: tuple[str, str], props: dict[str, Any]) -> Any:
        given = {'initial_value' if name == 'value' else name: props[name] for name in props}
        if key[0] == 'slider':
            given['marks'] = ()
        handle = getattr(self._gui, f'add_{key[0]}')(**given)
        if key[0] == 'slider':
            handle.precision = _DIGITS
        if key in self._acts:
            # A coroutine, because viser runs functions in a pool of threads, in which Enter could
            # overtake the text typed before it.
            async def changed(event: Any) -> None:
                if event.client_id is not None:  # else the program changed it
                    self._post(partial(self._accept_input, key, handle, event.target.value))

            (handle.on_click if 'button' in key[0] else handle.on_update)(changed)
        return handle

    def _accept_input(self, key: tuple[str, str], handle: Any, value: Any) -> None:
        if self._handles.get(key) is handle:
            if 'value' in self._sent[key]:
                self._sent[key]['value'] = value
            self._acts[key](value)


#: The limits of a member that has none.
OPEN: Limits = (-math.inf, math.inf, UNKNOWN_UNIT)


class Page:
    """
    What the panels of one browser share.

    :param client: viser's handle of the browser.
    :param session: The session of the page.
    :ivar units: The displayed units; the tab *Tune* writes them, ``chosen`` and ``joint``.
    :ivar chosen: The transmission that is shown.
    :ivar joint: The joint of the buttons; a click on a link also chooses it.
    :ivar model: The numbers that the page shows; the view writes them before it shows panels.
    :ivar state: The state that the page shows, written with ``model``, and before a change is set.
    :ivar preview: Effect of the change that the page shows, ``None`` without one; in each update
        *Tune* writes it, and then *Calibrate* may.
    :ivar pose: Positions of joints that the user is asked for, ``None`` without a question;
        *Calibrate* writes it.
    """

    def __init__(self, client: Any, session: TuneSession) -> None:
        self.client, self.session, self.units = client, session, PageUnits()
        self.chosen = self.joint = ''
        self.preview: Preview | None = None
        self.pose: Mapping[str, float] | None = None
        self.model: TuneModel
        self.state: TuneRobotState
        #: Limits of the actuators of the shown transmission, and the maps that they are from.
        self._actuator_limits: dict[str, Limits] = {}
        self._limits_of: object = None

    def make_widgets(self, container: Any) -> Widgets:
        """Return the widgets of a container."""
        return Widgets(self.client.gui, container, self.session.post_task)

    def limit_actuators(self, binding: Binding) -> None:
        """Compute the limits of the actuators of a transmission, if its numbers have changed."""
        if self._limits_of is not binding.transmission:
            report = report_transmission_limits(self.model.robot, binding)
            self._actuator_limits = {
                actuator.name: (lower, upper, report.unit)
                for actuator, (lower, upper) in zip(
                    binding.spec.actuators, report.actuators[0].tolist(), strict=True
                )
            }
            self._limits_of = binding.transmission

    def find_side(self, kind: str) -> tuple[tuple[str, ...], Array, Array, Mapping[str, Limits]]:
        """Return names, values, ages and limits of actuators or joints."""
        state, robot = self.state, self.model.robot
        if kind == 'joint':
            return robot.joint_names, state.joints, state.joint_ages, self.model.limits
        return robot.actuator_names, state.actuators, state.actuator_ages, self._actuator_limits

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
