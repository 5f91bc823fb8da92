# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the panels of one browser share: the robot as it is shown, choices, and widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
import math
from typing import Any

from transmission_bridge.tools.limit_report import transmission_limits
from transmission_bridge.tools.robot import UNKNOWN_UNIT
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import Limits, Preview, TuneModel
from transmission_bridge.tools.tune.robots import RobotState
from transmission_bridge.tools.tune.session import TuneSession
from transmission_bridge.tools.tune.texts import PageUnits
from transmission_bridge.transmissions import Binding
from transmission_bridge.types import Array

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
        self._acts: dict[tuple[str, str], Callable[[Any], None] | None] = {}
        self._handles: dict[tuple[str, str], Any] = {}
        #: What the browser shows or will show. Input is included when :meth:`_accept_input`
        #: handles it, so that later input is not overwritten.
        self._sent: dict[tuple[str, str], dict[str, Any]] = {}

    def add_text(self, content: str) -> None:
        """Describe a text."""
        self._next['html', str(len(self._next))] = {'content': content}

    def add_widget(
        self, kind: str, key: str, act: Callable[[Any], None] | None = None, **props: Any
    ) -> None:
        """
        Describe a widget.

        :param kind: ``text``, ``slider``, ``button``, ...: viser's ``gui.add_<kind>``.
        :param key: Its name in this panel, and its label unless ``props`` has one.
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
        if self._acts.get(key) is not None:
            # A coroutine, because viser runs functions in a pool of threads, in which Enter could
            # overtake the text typed before it.
            async def changed(event: Any) -> None:
                if event.client_id is not None:  # else the program changed it
                    self._post(partial(self._accept_input, key, handle, event.target.value))

            (handle.on_click if 'button' in key[0] else handle.on_update)(changed)
        return handle

    def _accept_input(self, key: tuple[str, str], handle: Any, value: Any) -> None:
        act = self._acts[key]
        if act is not None and self._handles.get(key) is handle:
            if 'value' in self._sent[key]:
                self._sent[key]['value'] = value
            act(value)


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
    :ivar model: The numbers that the page shows.
    :ivar state: The state that the page shows.
    :ivar preview: Effect of the change that the page shows, ``None`` without one.
    :ivar pose: Positions of joints that the user is asked for, ``None`` without a question.
    """

    def __init__(self, client: Any, session: TuneSession) -> None:
        self.client, self.session = client, session
        self.units = PageUnits()
        self.chosen = self.joint = ''
        self.preview: Preview | None = None
        self.pose: Mapping[str, float] | None = None
        # Set by the view before it shows panels.
        self.model: TuneModel
        self.state: RobotState
        #: Limits of the actuators, and the transmission from which they were computed.
        self._actuator_limits: tuple[object, dict[str, Limits]] = None, {}

    def make_widgets(self, container: Any) -> Widgets:
        """Return the widgets of a container."""
        return Widgets(self.client.gui, container, self.session.post_task)

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
            return robot.joint_names, state.joints, state.joint_ages, self.model.limits
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
