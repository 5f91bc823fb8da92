# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The tab with one transmission: its members, its numbers, and sliders that move a drawn robot.

A change of numbers is pending until the user sets or discards it, and a question if it follows
from the state of the robot. Each browser has its own; :class:`TuneSession` sets numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
import math
import time
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.description.document import INFINITE, parse_number
from transmission_bridge.errors import shortened, TransmissionBridgeError
from transmission_bridge.tools.cli import shorten_end
from transmission_bridge.tools.tune.model import Number
from transmission_bridge.tools.tune.robots import FileRobot, RobotState
from transmission_bridge.tools.tune.session import OPEN, Page, Widgets
from transmission_bridge.tools.tune.texts import (
    escape_text,
    format_change,
    format_note,
    PageUnits,
)
from transmission_bridge.transmissions import Binding, Tunable


def read_input(text: str, unit: str, units: PageUnits) -> float:
    """
    Convert input to a number in SI.

    :raises ValueError: If it is not a number; the message is the expectation.
    """
    text = text.strip()
    return units.from_page(float(text) if text in INFINITE else parse_number(text), unit)


CARE = 'A changed number can move a joint with its next command.'


class _Question(NamedTuple):
    """
    A change that the user must confirm.

    :param values: Computes the new numbers from the present state of the robot.
    """

    title: str
    values: Callable[[RobotState], Mapping[str, float]]


class ChangePanel:
    """
    The panel, for one transmission.

    :param widgets: The form.
    :ivar texts: Input by parameter, as it is in the fields.
    """

    def __init__(self, page: Page, widgets: Widgets) -> None:
        self._page, self._widgets = page, widgets
        self.texts: dict[str, str] = {}
        #: Input that was sent to the robot, without an answer yet, and names of moved sliders.
        self._sent: dict[str, str] = {}
        self._dragged: set[str] = set()
        self._question: _Question | None = None
        #: Text, kind and start of the bridge: shown until another message or another start.
        self._message = '', '', page.session.robot.n_starts

    @property
    def _edited(self) -> dict[str, str]:
        """Input that was not sent to the robot yet."""
        return {name: text for name, text in self.texts.items() if self._sent.get(name) != text}

    def store_text(self, name: str, text: str, *, is_dragged: bool = False) -> None:
        """Store input of a field or a slider for a preview; Enter or *Apply* sets it."""
        self.texts[name] = text.strip()
        if is_dragged:
            self._dragged.add(name)
        else:
            self._question = None

    def take_dragged(self) -> bool:
        """Return once whether the input is from sliders alone, if nothing is sent now."""
        if self._sent:
            return False
        is_dragged = bool(self._dragged) and self.texts.keys() == self._dragged
        self._dragged = set()
        return is_dragged

    def convert_input(self, old: PageUnits, new: PageUnits) -> None:
        """Convert the input to other displayed units."""
        for name, text in self.texts.items():
            unit = self._page.model.find_number(name).unit
            with suppress(ValueError):
                self.texts[name] = new.format_field(read_input(text, unit, old), unit)

    def ask(self, title: str, values: Callable[[RobotState], Mapping[str, float]]) -> None:
        """Ask whether to set numbers that follow from the present state of the robot."""
        self._question = _Question(title, values)

    def ask_to_place(self, wanted: Mapping[str, float]) -> None:
        """Ask whether to set offsets for positions of joints."""
        model = self._page.model
        self.ask(
            f'Set the position of {shortened(list(wanted), show=str)}?',
            lambda now: model.compute_placing_offsets(wanted, now.actuators, now.commanded),
        )

    def step(self, what: str) -> None:
        """Undo a change, or ask whether to reset all numbers of the transmission."""
        model, transmission = self._page.model, self._page.chosen
        if what == 'As in the URDF':
            title = f'Set the numbers of {transmission} as in the URDF?'
            self.ask(title, lambda _: model.list_reset_values(transmission))
            return
        self._question = None
        try:
            values = model.list_step_values()
        except TransmissionBridgeError as error:
            self.set_message(str(error), 'bad')
        else:
            self._page.session.apply_values(values, self._finish, model.finish_step)

    def set_message(self, text: str, kind: str) -> None:
        """Show a message."""
        self._message = text, kind, self._page.session.robot.n_starts

    def _read_pending(self) -> Mapping[str, float]:
        """
        Return the new numbers of the question, without a question of the input.

        :raises TransmissionBridgeError, ValueError: If the change is impossible, with the reason.
        """
        model, units = self._page.model, self._page.units
        if self._question is not None:
            return self._question.values(self._page.state)
        values = {}
        for name, text in self._edited.items():
            _, unit, tunable = model.find_number(name)
            try:
                value = read_input(text, unit, units)
            except ValueError as error:
                raise ValueError(f'{".".join(tunable.path)}: expected {error}') from None
            if text != units.format_field(tunable.value, unit):
                values[name] = value
        return values

    def show(self) -> None:
        """Show the pending change, with buttons to apply or cancel it."""
        page, model, state = self._page, self._page.model, self._page.state
        text, kind, n_starts = self._message
        if model.has_lost:
            text, kind = 'The bridge has started again: Undo sets the numbers from before.', 'care'
        elif n_starts != page.session.robot.n_starts:
            text = ''
        content = format_note(text, kind)
        question = self._question
        values: Mapping[str, float] = {}
        try:
            values = self._read_pending()
        except (TransmissionBridgeError, ValueError) as error:
            content = format_note(str(error), 'bad')
        if values:
            page.preview = model.preview_change(values, state.actuators[0])
            names = model.robot.joint_names
            hint = (CARE, 'care') if question else ('Enter or Apply sets it.', 'dim')
            content = format_change(
                '' if question is None else question.title,
                [(model.find_number(name), value) for name, value in values.items()],
                page.preview,
                {name: unit for name, (_, _, unit) in page.model.limits.items()},
                [names[joint] for joint in np.flatnonzero(state.commanded)],
                page.units,
            )
            content += format_note(*hint)
        is_open = bool(question or self._edited or values)
        options: tuple[str, ...] = ('Do it', 'Cancel') if question else ('Apply', 'Discard')
        options = options if values else options[1:]
        self._widgets.add_text(f'<div class="asked{" open" if is_open else ""}">{content}</div>')
        self._widgets.add_widget(
            'button_group', 'do', self.decide, label='', options=options, visible=is_open
        )

    def decide(self, what: str) -> None:
        """Apply the pending change, or cancel it."""
        page, model = self._page, self._page.model
        if what == 'Discard':
            self.texts = {}
        if what in ('Discard', 'Cancel'):
            self._question = None
            return
        if model is not page.session.robot.model:
            return  # a change of another robot
        page.state = page.session.robot.read_state()  # not that when the question appeared
        try:
            question, values = self._question, self._read_pending()
        except (TransmissionBridgeError, ValueError):
            return  # the page shows the reason
        if not values or (question is None) != (what == 'Apply'):
            return
        self._question = None
        before = {name: model.find_value(name) for name in values}
        if question is None:
            self._sent = dict(self.texts)
        page.session.apply_values(
            values,
            self._finish,
            lambda: model.record_step(before, time.monotonic()),
        )

    def _finish(self, reason: str) -> None:
        self.texts, self._sent = self._edited, {}
        self.set_message(reason or 'done', 'bad' if reason else 'good')


#: Steps of a slider.
_STEPS = 2000


def compute_slider_span(tunable: Tunable, unit: str) -> tuple[float, float] | None:
    """
    Return the ends of a slider for a number: around its value, inside its range.

    :returns: ``None`` for an infinite value, such as an absent limit.
    """
    value = tunable.value
    if not math.isfinite(value):
        return None
    reach = max(0.5 * abs(value), 0.2)
    low, high = value - reach, value + reach
    if tunable.nonzero:
        low, high = sorted((0.5 * value, 2.0 * value))
    elif tunable.path[-1] == 'offset' and unit == 'rad':
        low, high = min(-math.pi, value - 0.5), max(math.pi, value + 0.5)
    low = low if tunable.minimum is None else max(low, tunable.minimum)
    high = high if tunable.maximum is None else min(high, tunable.maximum)
    return (low, high) if low < high else None


def add_slider(
    widgets: Widgets, page: Page, key: str, span: tuple[float, float], value: float, unit: str,
    act: Callable[[float], None], label: str = '',
) -> None:  # fmt: skip
    """
    Describe a slider.

    :param span: Its ends in SI.
    :param act: Receives the value in SI.
    """
    units = page.units
    low, high, shown = (units.to_page(each, unit) for each in (*span, value))
    places: dict[str, Any] = {'min': low, 'max': high, 'step': (high - low) / _STEPS}
    widgets.add_widget(
        *('slider', key, lambda shown: act(units.from_page(shown, unit))),
        label=label,
        value=shown,
        **places,
    )


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
        self._change, self._is_at = ChangePanel(page, self._widgets), '0'
        #: The ends of sliders by parameter.
        self._spans: dict[str, tuple[float, float]] = {}

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
            self._choices[shorten_end(text, _ENTRY)] = spec.name
        names, chosen = [*self._choices.values()], self._page.chosen
        self.choose(chosen if chosen in names else [*names, ''][0])

    def choose(self, transmission: str) -> None:
        """Show a transmission, and discard input for another one."""
        self._page.chosen, self._page.preview = transmission, None
        self._change, self._is_at = ChangePanel(self._page, self._widgets), '0'
        self._spans = {}

    def set_degrees(self, is_degrees: bool) -> None:
        """Show angles in degrees, or in radians."""
        old, new = self._page.units, PageUnits(degrees=is_degrees)
        self._page.units = new
        self._change.convert_input(old, new)

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
            if self._change.take_dragged() and not commanded:
                self._change.decide('Apply')
            self._show_numbers(binding)
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
                label = f'{"motor" if kind == "actuator" else kind} {shorten_end(names[n])}'
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

    def _show_numbers(self, binding: Binding) -> None:
        add_widget, change, heading = self._widgets.add_widget, self._change, ''
        self._show_joints(binding)
        for number in self._page.model.list_numbers(self._page.chosen):
            above, heading = heading, escape_text(_format_heading(number.tunable, binding), 120)
            if above != heading:
                self._widgets.add_text(f'<div class="tb"><b>{heading}</b></div>')
            self._show_number(number)
        change.show()
        add_widget('button_group', 'steps', change.step, options=('Undo', 'As in the URDF'))

    def _show_joints(self, binding: Binding) -> None:
        page, add_widget = self._page, self._widgets.add_widget
        joints = {shorten_end(member.name): member.name for member in binding.spec.joints}
        if page.joint not in joints.values():
            page.joint = next(iter(joints.values()))
        shown = next(text for text, name in joints.items() if name == page.joint)
        unit = page.model.limits.get(page.joint, OPEN)[2]
        add_widget(
            *('dropdown', 'joint', lambda text: setattr(page, 'joint', joints[text])),
            options=tuple(joints),
            value=shown,
            visible=len(joints) > 1,
        )
        add_widget(
            *('text', f'is at [{page.units.name_unit(unit)}]', partial(setattr, self, '_is_at')),
            value=self._is_at,
            hint='Sets its offset after confirmation',
        )
        acts = ('Is at', 'Zero here', 'Turns wrong')
        add_widget('button_group', 'this joint', partial(self._ask, unit), options=acts)

    def _ask(self, unit: str, what: str) -> None:
        model, joint, change = self._page.model, self._page.joint, self._change
        if what == 'Zero here':
            change.ask_to_place({joint: 0.0})
        elif what == 'Turns wrong':
            change.ask(
                f'Reverse the direction of {joint}?',
                lambda now: model.compute_reversal(joint, now.actuators[0]),
            )
        else:
            try:
                change.ask_to_place({joint: read_input(self._is_at, unit, self._page.units)})
            except ValueError as error:
                change.set_message(f'is at: expected {error}', 'bad')

    def _show_number(self, number: Number) -> None:
        (name, unit, tunable), page, units = number, self._page, self._page.units
        label = shorten_end(tunable.path[-1].replace('mechanical_', '').replace('_', ' '))
        text = self._change.texts.get(name, units.format_field(tunable.value, unit))
        low = -math.inf if tunable.minimum is None else tunable.minimum
        high = math.inf if tunable.maximum is None else tunable.maximum
        suffix = ', not zero' if tunable.nonzero else ''
        described = page.model.original.parameters[tunable.name]
        self._widgets.add_widget(
            *('text', name, partial(self._change.store_text, name)),
            label=f'{label} [{units.name_unit(unit)}]' if unit else label,
            value=text,
            hint=f'{tunable.description} Range {low:g} to {high:g} {unit}{suffix}. URDF: '
            f'{units.format_field(described.value, unit)}. '
            f'Parameter {shorten_end(name)}',
        )
        span, value = self._spans.get(name), tunable.value
        if span is None or not span[0] <= value <= span[1]:
            span = compute_slider_span(tunable, unit)
        if span is None:
            return
        self._spans[name] = span  # the ends stay the same during dragging
        with suppress(ValueError):
            value = min(max(read_input(text, unit, units), span[0]), span[1])
        # Without digits below the step of the slider.
        digits = max(0, 1 - math.floor(math.log10((span[1] - span[0]) / _STEPS)))

        def drag(value: float) -> None:
            shown = units.format_field(round(value, digits), unit)
            self._change.store_text(name, shown, is_dragged=True)

        add_slider(self._widgets, page, name, span, value, unit, drag)


def _format_heading(tunable: Tunable, binding: Binding) -> str:
    """Return the member or the transmission that a number belongs to."""
    kind, *rest = tunable.path
    members = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}.get(kind, ())
    for member in members:
        if rest and member.name == rest[0]:
            return f'{kind[:-1]} {member.name}' + (f' ({member.role})' if member.role else '')
    return binding.spec.name
