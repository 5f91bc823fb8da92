# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab with one transmission: its members, its numbers, and sliders that move a drawn robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import math
from typing import Any

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.change_panel import CARE, ChangePanel
from transmission_bridge.tools.tune.numbers_panel import add_slider, NumbersPanel
from transmission_bridge.tools.tune.page import OPEN, Page
from transmission_bridge.tools.tune.robots import FileRobot
from transmission_bridge.tools.tune.texts import format_note, PageUnits, shorten_label
from transmission_bridge.transmissions import Binding

#: Characters of an entry of the list of transmissions; the list is searched by these texts.
_ENTRY = 300


class TunePanel:
    """The panel."""

    def __init__(self, page: Page, tab: Any) -> None:
        gui = page.client.gui
        with tab:
            self._choice = page.make_widgets(gui.add_folder(None))
            form = gui.add_form(None)
        self._page, self._widgets = page, page.make_widgets(form)
        self._choices: dict[str, str] = {}
        self._change = ChangePanel(page, self._widgets)
        self._numbers = NumbersPanel(page, self._widgets, self._change)

        async def submitted(_: Any) -> None:
            page.session.post_task(lambda: self._change.decide('Apply'))

        # Enter in a field applies.
        form.on_submit(submitted)

    def forget(self) -> None:
        """Forget choices and input, because the robot has changed."""
        model, self._choices = self._page.session.robot.model, {}
        for binding in () if model is None else model.robot.bindings:
            spec = binding.spec
            members = dict.fromkeys(each.name for each in (*spec.joints, *spec.actuators))
            text = ', '.join(members) + ('' if spec.type else ' (passes through)')
            text = f'{spec.name}: {text}' if text in self._choices else text
            self._choices[shorten_label(text, _ENTRY)] = spec.name
        names, chosen = [*self._choices.values()], self._page.chosen
        self.choose(chosen if chosen in names else [*names, ''][0])

    def choose(self, transmission: str) -> None:
        """Show a transmission, and discard input for another one."""
        self._page.chosen, self._page.preview = transmission, None
        self._change = ChangePanel(self._page, self._widgets)
        self._numbers = NumbersPanel(self._page, self._widgets, self._change)

    def set_degrees(self, is_degrees: bool) -> None:
        """Show angles in degrees, or in radians."""
        old, new = self._page.units, PageUnits(degrees=is_degrees)
        model, self._page.units = self._page.model, new
        self._change.draft.convert(lambda name: model.find_number(name).unit, old, new)

    def show_choice(self) -> None:
        """Show the list of transmissions."""
        chosen = self._page.chosen
        self._choice.add_widget(
            *('dropdown', 'show', lambda text: self.choose(self._choices.get(text, chosen))),
            options=tuple(self._choices) or ('-',),
            value=next((text for text, name in self._choices.items() if name == chosen), '-'),
            hint='Type a part of the name of a transmission, joint or actuator',
        )
        self._choice.show_changes()

    def show(self) -> None:
        """Show the present state."""
        for binding in self._page.model.robot.bindings:
            if binding.spec.name == self._page.chosen:
                self._show_binding(binding)
        self._widgets.show_changes()

    def _show_binding(self, binding: Binding) -> None:
        page, widgets, session = self._page, self._widgets, self._page.session
        page.limit_actuators(binding)
        names, state = page.model.robot.joint_names, page.state
        commanded = ', '.join(names[joint] for joint in binding.joints if state.commanded[joint])
        live = f'commanded now: {commanded}; changes by sliders must be confirmed'
        widgets.add_text(
            format_note(binding.spec.type or 'passes through: no transmission, no numbers', 'dim')
            + page.format_bars('actuator', binding.actuators)
            + page.format_bars('joint', binding.all_joints)
            + format_note(live if commanded else CARE, 'care')
        )
        page.preview = None
        if not session.settings.may_change:
            return
        if isinstance(session.robot, FileRobot):
            self._show_movers(session.robot, binding)
        if page.model.list_numbers(page.chosen):
            # Other edits, and changes of commanded joints, need Apply.
            if self._change.draft.take_dragged() and not commanded:
                self._change.decide('Apply')
            self._numbers.show(binding)
        elif binding.spec.type:
            text = (
                'Its numbers cannot be parameters, because they contain a name with other '
                'characters than letters, digits, _, -, . and /.'
            )
            widgets.add_text(format_note(text, 'care'))

    def _show_movers(self, file: FileRobot, binding: Binding) -> None:
        """Show sliders that move the actuators and joints of a robot from a file."""
        page, units = self._page, self._page.model.robot.units
        for kind, members in (('actuator', binding.actuators), ('joint', binding.joints)):
            names, values, _, limits = page.find_side(kind)
            for n in members:
                low, high, unit = limits.get(names[n], OPEN)
                value = float(values[0, n]) if math.isfinite(values[0, n]) else 0.0
                low = min(value, low if math.isfinite(low) else -math.pi)
                high = max(value, high if math.isfinite(high) else math.pi, low + 1e-3)
                label = f'{"motor" if kind == "actuator" else kind} {shorten_label(names[n])}'
                move: Callable[[int, float], None] = file.move_joint
                scale = 1.0
                if kind == 'actuator':
                    move = file.move_actuator
                    if of_driver := units.get(names[n]):
                        scale, unit = of_driver.position.scale, of_driver.position.text or unit
                act = partial(self._move, move, n, scale)
                span = low / scale, high / scale
                add_slider(self._widgets, page, label, span, value / scale, unit, act, label)

    def _move(
        self, move: Callable[[int, float], None], member: int, scale: float, value: float
    ) -> None:
        try:
            move(member, value * scale)
        except TransmissionBridgeError as error:
            self._change.set_message(str(error), 'bad')
