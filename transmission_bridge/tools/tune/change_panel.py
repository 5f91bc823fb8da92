# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The pending change of numbers of one transmission: input, or a question, and its preview.

A change is pending until the user sets or discards it; it is a question if it follows from the
state of the robot. ``tune_panel`` alone uses this module, in the thread of the session, which
sets the numbers. Labels of buttons select what they do; other texts are free to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
import time
from typing import NamedTuple

import numpy as np

from transmission_bridge.description.document import INFINITE, parse_number
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.robots import TuneRobotState
from transmission_bridge.tools.tune.session import Page, Widgets
from transmission_bridge.tools.tune.texts import format_change, format_note, PageUnits


def read_input(text: str, unit: str, units: PageUnits) -> float:
    """
    Convert input to a number in SI.

    :raises ValueError: If it is not a number; the message is the expectation.
    """
    text = text.strip()
    return units.from_page(float(text) if text in INFINITE else parse_number(text), unit)


#: The warning beside a question; ``tune_panel`` shows it also.
CARE = 'A changed number can move a joint with its next command.'


class _Question(NamedTuple):
    """
    A change that the user must confirm.

    :param values: Computes the new numbers from the present state of the robot.
    """

    title: str
    values: Callable[[TuneRobotState], Mapping[str, float]]


class ChangePanel:
    """
    The pending change of one transmission; :class:`TunePanel` makes a new one for another choice.

    :param page: The page; a shown change writes its ``preview``.
    :param widgets: The form.
    :ivar texts: Input by parameter, as it is in the fields; written by the fields and sliders.
    """

    def __init__(self, page: Page, widgets: Widgets) -> None:
        self._page, self._widgets = page, widgets
        self.texts: dict[str, str] = {}
        #: Input that was sent to the robot, without an answer yet (:meth:`decide` until the
        #: answer), and names of sliders that moved since :meth:`take_dragged`.
        self._sent: dict[str, str] = {}
        self._dragged: set[str] = set()
        #: The open question; input of a field, a button or an answer closes it.
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

    def ask(self, title: str, values: Callable[[TuneRobotState], Mapping[str, float]]) -> None:
        """Ask whether to set numbers that follow from the present state of the robot."""
        self._question = _Question(title, values)

    def step(self, what: str) -> None:
        """
        Undo a change, or ask whether to reset all numbers of the transmission.

        :param what: The label of the button.
        """
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
        """
        Apply the pending change, or cancel it.

        The answer calls :meth:`_finish`, later if it is one of a bridge.

        :param what: The label of the button: ``Apply`` or ``Discard`` for input, ``Do it`` or
            ``Cancel`` for a question; ``Apply`` is also from Enter and from moved sliders.
        """
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
        """Drop the input that was sent; ``reason`` is empty if the robot accepted it."""
        self.texts, self._sent = self._edited, {}
        self.set_message(reason or 'done', 'bad' if reason else 'good')
