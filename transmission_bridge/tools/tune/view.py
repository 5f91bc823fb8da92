# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One browser's page: the panel of a transmission, made when it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
import math
import time
from typing import Any

import numpy as np

from transmission_bridge.description.specs import TransmissionSpec
from transmission_bridge.description.values import INFINITE, parse_number
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.limit_report import transmission_limits
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import Number, Proposal, Saved, TuneModel
from transmission_bridge.tools.tune.robots import RobotState
from transmission_bridge.tools.tune.session import Session
from transmission_bridge.tools.tune.texts import label, note, plain, Units
from transmission_bridge.tools.units import joint_unit
from transmission_bridge.transmissions.binding import Binding

__all__ = ['View', 'slider_span']

#: Transmissions and joints that are offered at a time; a filter finds the others.
_MOST_OFFERED = 50

#: Sensible steps of a slider from end to end.
_STEPS = 2000

#: Decimals of a slider, the most that viser gives one.
_DIGITS = 7

#: Seconds in which a number that is dragged is not set from outside.
_DRAGGED = 0.6

#: Speed above which a joint is moving [rad/s or m/s], as the bridge has it by default.
_MOVING = 0.01

_NO_PARAMETERS = (
    'Its numbers cannot be parameters, because of a name in them: parameters may have letters, '
    'digits, _, -, . and / only.'
)

_CARE = 'A changed number can move a joint with its next command.'


@dataclass
class _Field:
    """A number with its widgets."""

    number: Number
    text: Any
    slider: Any | None
    dragged: float = -math.inf


def slider_span(number: Number) -> tuple[float, float] | None:
    """
    Return the ends of a slider for a number: around its value, inside its range.

    :returns: ``None`` where a slider makes no sense, for a limit that is open.
    """
    tunable = number.tunable
    value = tunable.value
    if not math.isfinite(value):
        return None
    if tunable.nonzero:
        ends = sorted((0.5 * value, 2.0 * value))
    elif number.path[-1] == 'offset' and number.unit == 'rad':
        ends = [min(-math.pi, value - 0.5), max(math.pi, value + 0.5)]
    else:
        reach = max(0.5 * abs(value), 0.2)
        ends = [value - reach, value + reach]
    low = ends[0] if tunable.minimum is None else max(ends[0], tunable.minimum)
    high = ends[1] if tunable.maximum is None else min(ends[1], tunable.maximum)
    return (low, high) if low < high else None


class View:
    """
    The page of one client.

    :param client: viser's handle.
    :param session: The session that it belongs to.
    """

    def __init__(self, client: Any, session: Session) -> None:
        self._client = client
        self._gui = client.gui
        self._session = session
        self._units = Units()
        #: The name of a transmission.
        self._chosen: str | None = None
        self._choices: dict[str, str] = {}
        self._filter = ''
        self._fields: dict[str, _Field] = {}
        self._draft: dict[str, float] = {}
        self._faults: dict[str, str] = {}
        self._dragged: dict[str, float] = {}
        #: Whether the robot has not answered yet: one change after the other.
        self._is_waiting = False
        self._proposal: Proposal | None = None
        self._saved: Saved | None = None
        self._motors: dict[int, Any] = {}
        self._panel: Any = None
        self._limits: Mapping[str, tuple[float, float, str]] = {}
        self._offered: tuple[str, ...] | None = None
        self._build()
        self.rebuild()

    @property
    def _model(self) -> TuneModel | None:
        return self._session.model

    @property
    def _may_change(self) -> bool:
        return self._session.settings.may_change

    # -- the frame of the page -------------------------------------------------------------------

    def _build(self) -> None:
        gui = self._gui
        gui.main_panel.dock_right()
        gui.main_panel.set_width(380)
        gui.add_html(texts.STYLE)
        self._status = gui.add_html('')
        self._search = gui.add_text('find', '', hint='Part of the name of a transmission or joint')
        self._on(self._search, self._search_changed)
        self._selector = gui.add_dropdown('show', ('-',), initial_value='-')
        self._on(self._selector, self._selected)
        self._more = gui.add_html('')
        tabs = gui.add_tab_group()
        self._tune_tab = tabs.add_tab('Tune')
        with tabs.add_tab('Robot'):
            self._robot_text = gui.add_html('')
            degrees = gui.add_checkbox('degrees', False)
            self._on(degrees, self._set_degrees)
            dark = gui.add_checkbox('dark', False)
            self._on(dark, lambda value: self._theme(dark=value))
        with tabs.add_tab('Save'):
            self._build_save()

    def _theme(self, *, dark: bool) -> None:
        self._gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width='large'
        )

    def _build_save(self) -> None:
        gui, output = self._gui, self._session.settings.output
        if not output:
            gui.add_html(note('Start with --output FILE (.urdf or .yaml) to save.', 'dim'))
        else:
            gui.add_html(note(f'to {output}', 'dim'))
        self._difference = gui.add_html('')
        show = gui.add_button('Show difference')
        self._on_click(show, self._show_difference)
        self._write_button = gui.add_button('Write the file', visible=False)
        if self._may_change:
            self._on_click(self._write_button, self._write)
        self._write_note = gui.add_html('')

    def _on(self, widget: Any, act: Callable[[Any], None]) -> None:
        """Have something done in the session's thread when the user changes a widget."""

        async def changed(event: Any) -> None:
            # Without a client it was the program that changed it.
            if event.client_id is not None:
                value = event.target.value
                self._session.post(lambda: act(value))

        widget.on_update(changed)

    def _on_click(self, button: Any, act: Callable[[], None]) -> None:
        button.on_click(self._posted(act))

    def _posted(self, act: Callable[[], None]) -> Callable[[Any], Any]:
        # A coroutine, as all that listens to viser here: functions go to a pool of threads, where
        # Enter can overtake the number that was typed before it.
        async def clicked(_: Any) -> None:
            self._session.post(act)

        return clicked

    # -- choosing --------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Make everything that depends on the robot anew."""
        self._draft.clear()
        self._faults.clear()
        self._dragged.clear()
        self._offer()
        self._make_panel()
        self.refresh()

    def _matches(self, spec: TransmissionSpec) -> bool:
        wanted = self._filter.lower()
        members = (*spec.joints, *spec.actuators)
        return any(wanted in name.lower() for name in (spec.name, *(m.name for m in members)))

    def _offer(self) -> None:
        """Fill the list to choose from."""
        bindings = () if self._model is None else self._model.robot.bindings
        items = [binding.spec for binding in bindings if self._matches(binding.spec)]
        self._choices = {}
        for item in items[:_MOST_OFFERED]:
            text = label(item.name) + ('' if item.type else ' (passes through)')
            while text in self._choices:
                text += ' '
            self._choices[text] = item.name
        left = len(items) - len(self._choices)
        self._more.content = note(f'{left} more: narrow the search' if left else '', 'dim')
        options = tuple(self._choices) or ('-',)
        if options != self._offered:
            self._offered = options
            self._selector.options = options
        chosen = next((text for text, name in self._choices.items() if name == self._chosen), None)
        if chosen is None:
            chosen = options[0]
            self._chosen = self._choices.get(chosen)
        self._selector.value = chosen

    def _search_changed(self, text: str) -> None:
        self._filter = text.strip()
        before = self._chosen
        self._offer()
        if self._chosen != before:
            self._choose_anew()

    def _selected(self, text: str) -> None:
        self._chosen = self._choices.get(text)
        self._choose_anew()

    def _choose_anew(self) -> None:
        self._draft.clear()
        self._faults.clear()
        self._dragged.clear()
        self._make_panel()
        self.refresh()

    def _set_degrees(self, degrees: bool) -> None:
        self._units = Units(degrees=degrees)
        self._choose_anew()  # what was typed in the other unit and not applied is not kept unseen

    # -- the panel of a transmission -------------------------------------------------------------

    def _make_panel(self) -> None:
        self._session.show_preview(self, None)
        self._proposal = None
        if self._panel is not None:
            self._panel.remove()
        self._fields, self._motors = {}, {}
        self._panel = None
        model, chosen = self._model, self._chosen
        if model is None or chosen is None:
            return
        binding = model.binding(chosen)
        self._limits = _limits(model, binding)
        gui = self._gui
        with self._tune_tab:
            # Enter in a field applies.
            self._panel = gui.add_form(None)
        with self._panel:
            self._live = gui.add_html('')
            if self._may_change:
                if not self._session.robot.is_live:
                    self._add_motors(model, binding)
                if model.numbers(chosen):
                    self._add_actions(binding)
                    self._add_numbers(model, binding)
                elif binding.spec.type:
                    gui.add_html(note(_NO_PARAMETERS, 'care'))
        if self._may_change:
            self._panel.on_submit(self._posted(self._apply))

    def _add_motors(self, model: TuneModel, binding: Binding) -> None:
        """Add sliders for the actuators of a robot from a file."""
        gui, robot = self._gui, model.robot
        gui.add_html(note('move the motors', 'dim'))
        state = self._session.robot.state()
        for place in binding.actuators:
            name = robot.actuator_names[place]
            low, high, unit = self._limits.get(f'actuator {name}', (-math.inf, math.inf, 'rad'))
            value = float(state.actuators[0, place])
            low, high = _finite_span(low, high, value)
            slider = gui.add_slider(
                label(name),
                min=low,
                max=high,
                step=(high - low) / _STEPS,
                initial_value=min(max(value, low), high),
                hint=f'Position of the actuator [{unit}]',
            )
            self._motors[place] = slider
            self._on(slider, partial(self._session.robot.move, place))

    def _add_numbers(self, model: TuneModel, binding: Binding) -> None:
        gui = self._gui
        heading = ''
        for number in model.numbers(binding.spec.name):
            above = _heading(number, binding)
            if above != heading:
                heading = above
                gui.add_html(f'<div class="tb"><b>{plain(above, 120)}</b></div>')
            self._fields[number.name] = self._add_field(number, model.described(number.name))
        self._effects = gui.add_html('')
        self._apply_button = gui.add_button('Apply', disabled=True, color='blue')
        self._on_click(self._apply_button, self._apply)
        self._discard_button = gui.add_button('Discard', disabled=True, color='gray')
        self._on_click(self._discard_button, self._discard)
        self._message = gui.add_html('')
        steps = gui.add_button_group('steps', ('Undo', 'Redo', 'As in the URDF'))
        self._on_click_of(steps, self._stepped)
        zero = gui.add_button('Zero all joints of the robot here', color='gray')
        self._on_click(zero, self._zero_all)

    def _on_click_of(self, group: Any, act: Callable[[str], None]) -> None:
        async def clicked(event: Any) -> None:
            value = str(event.target.value)
            self._session.post(lambda: act(value))

        group.on_click(clicked)

    def _add_field(self, number: Number, described: float) -> _Field:
        gui, units = self._gui, self._units
        tunable = number.tunable
        unit = units.name(number.unit)
        name = number.path[-1].replace('mechanical_', '').replace('_', ' ')
        hint = (
            f'{tunable.description} {_range_text(number)} '
            f'URDF: {units.field(described, number.unit)}. Parameter {label(number.name)}'
        )
        text = gui.add_text(
            f'{label(name)} [{unit}]' if unit else label(name),
            units.field(tunable.value, number.unit),
            hint=hint,
        )
        field = _Field(number, text, None)
        self._on(text, lambda value: self._typed(number.name, value))
        span = slider_span(number)
        if span is not None:
            low, high = (units.to_page(end, number.unit) for end in span)
            field.slider = gui.add_slider(
                '',
                min=low,
                max=high,
                step=(high - low) / _STEPS,
                initial_value=units.to_page(tunable.value, number.unit),
                marks=(),
            )
            self._on(field.slider, lambda value: self._dragged_to(number.name, value))
        return field

    def _add_actions(self, binding: Binding) -> None:
        gui = self._gui
        joints = [member.name for member in binding.spec.joints]
        self._joint_labels = {label(name): name for name in joints}
        options = tuple(self._joint_labels)
        self._joint = gui.add_dropdown(
            'joint', options, initial_value=options[0], visible=len(options) > 1
        )
        unit = self._units.name(self._joint_unit(joints[0]))
        self._is_at = gui.add_text(f'is at [{unit}]', '0', hint='Sets its offset, after asking')
        ways = gui.add_button_group('this joint', ('Is at', 'Zero here', 'Turns wrong'))
        self._on_click_of(ways, self._way)
        self._question = gui.add_html('')
        self._yes = gui.add_button('Do it', visible=False, color='orange')
        self._on_click(self._yes, self._agreed)
        self._no = gui.add_button('Cancel', visible=False, color='gray')
        self._on_click(self._no, self._cancelled)

    def _joint_unit(self, joint: str) -> str:
        model = self._model
        return '' if model is None else joint_unit(model.robot.robot, joint)

    # -- editing numbers -------------------------------------------------------------------------

    def _typed(self, name: str, text: str) -> None:
        """A field was edited: nothing happens but a preview, until Enter or *Apply*."""
        field = self._fields.get(name)
        if field is None:
            return
        self._faults.pop(name, None)
        unit = field.number.unit
        if text.strip() == self._units.field(self._value(name), unit):
            self._draft.pop(name, None)
        else:
            try:
                number = _parsed(text)
            except ValueError as error:
                self._draft.pop(name, None)
                self._faults[name] = f'{".".join(field.number.path)}: expected {error}'
            else:
                self._draft[name] = self._units.from_page(number, unit)
                if field.slider is not None and field.slider.min <= number <= field.slider.max:
                    field.slider.value = number
        self._show_draft()

    def _dragged_to(self, name: str, value: float) -> None:
        field = self._fields.get(name)
        if field is None:
            return
        number = self._units.from_page(float(value), field.number.unit)
        self._faults.pop(name, None)
        field.dragged = time.monotonic()
        self._draft[name] = self._dragged[name] = _rounded(number, field)
        field.text.value = self._units.field(self._draft[name], field.number.unit)

    def apply_dragged(self) -> None:
        """Apply what a slider was dragged to, unless a joint is commanded, or more is edited."""
        if not self._dragged or self._is_waiting:
            return
        values, self._dragged = self._dragged, {}
        if self._commanded() or self._draft.keys() - values.keys() or self._faults:
            self._show_draft()
            return
        self._apply()

    def _commanded(self) -> tuple[str, ...]:
        """Return the joints of this transmission that are commanded at the moment."""
        model, state, chosen = self._model, self._session.state, self._chosen
        if model is None or state is None or chosen is None:
            return ()
        binding = model.binding(chosen)
        places = () if binding is None else binding.joints
        return tuple(model.robot.joint_names[p] for p in places if state.commanded[p])

    def _show_draft(self) -> None:
        """Show what the numbers that are edited would do."""
        model, state = self._model, self._session.state
        if model is None or state is None or not self._fields:
            return
        if self._faults:
            self._effects.content = texts.sentences(self._faults.values(), 'bad')
            self._session.show_preview(self, None)
        elif self._draft:
            preview = model.preview(self._draft, state.actuators[0])
            numbers = [field.number for field in self._fields.values()]
            self._effects.content = (
                texts.changes(self._draft, numbers, self._units)
                + texts.effects(preview, self._joint_units(), self._units, self._commanded())
                + note('Enter or Apply does it.', 'dim')
            )
            self._session.show_preview(self, preview)
        else:
            self._effects.content = ''
            self._session.show_preview(self, None)
        edited = bool(self._draft or self._faults)
        self._apply_button.disabled = not self._draft or bool(self._faults)
        self._discard_button.disabled = not edited

    def _joint_units(self) -> dict[str, str]:
        model = self._model
        if model is None:
            return {}
        return {name: self._joint_unit(name) for name in self._joint_labels.values()} | {
            name: self._joint_unit(name) for name in (self._proposal_joints or ())
        }

    _joint_labels: Mapping[str, str] = {}
    _proposal_joints: Sequence[str] = ()

    def _apply(self) -> None:
        """Apply all numbers that are edited, together."""
        if self._faults or not self._draft:
            return
        values = dict(self._draft)
        self._is_waiting = True
        self._session.apply(values, lambda reason: self._applied(values, reason))

    def _applied(self, values: Mapping[str, float], reason: str) -> None:
        self._is_waiting = False
        for name, value in values.items():
            # What was edited meanwhile stays.
            if self._draft.get(name) == value:
                del self._draft[name]
        self._say(reason, 'set')
        self._set_fields(force=bool(reason))
        self._show_draft()

    def _discard(self) -> None:
        self._draft.clear()
        self._faults.clear()
        self._set_fields(force=True)
        self._show_draft()

    def _stepped(self, what: str) -> None:
        model = self._model
        if what == 'Undo':
            self._session.undo(lambda reason: self._after_step(reason, 'taken back'))
        elif what == 'Redo':
            self._session.redo(lambda reason: self._after_step(reason, 'made again'))
        elif model is not None and self._chosen is not None:
            self._propose(model.as_described(self._chosen))

    def _after_step(self, reason: str, words: str) -> None:
        self._say(reason, words)
        self._set_fields(force=True)

    def _say(self, reason: str, otherwise: str) -> None:
        if self._fields:
            self._message.content = note(reason, 'bad') or note(otherwise, 'good')

    def _value(self, name: str) -> float:
        model = self._model
        return math.nan if model is None else model.value(name)

    def _set_fields(self, *, force: bool = False) -> None:
        """Show the values in use, in every field that is not being edited."""
        now = time.monotonic()
        for name, field in self._fields.items():
            if name in self._draft or name in self._faults:
                continue
            if now - field.dragged < _DRAGGED and not force:
                continue
            value = self._value(name)
            unit = field.number.unit
            text = self._units.field(value, unit)
            if field.text.value != text:
                field.text.value = text
            if field.slider is not None:
                shown = self._units.to_page(value, unit)
                if not field.slider.min <= shown <= field.slider.max:
                    self._move_ends(field, value)
                if math.isfinite(shown) and abs(field.slider.value - shown) > 1e-12:
                    field.slider.value = shown

    def _move_ends(self, field: _Field, value: float) -> None:
        """Let a slider reach a value; what is typed and asked beside it stays."""
        number, slider = field.number, field.slider
        span = slider_span(replace(number, tunable=replace(number.tunable, value=value)))
        if span is None or slider is None:
            return
        low, high = (self._units.to_page(end, number.unit) for end in span)
        slider.min, slider.max, slider.step = low, high, (high - low) / _STEPS
        slider.precision = _DIGITS

    # -- the ways people work --------------------------------------------------------------------

    def _way(self, what: str) -> None:
        model, state = self._model, self._session.state
        joint = self._joint_labels.get(str(self._joint.value))
        if model is None or state is None or joint is None:
            return
        if what == 'Turns wrong':
            self._propose(model.flip(joint, state.actuators[0]))
            return
        wanted = 0.0
        if what == 'Is at':
            try:
                wanted = self._units.from_page(_parsed(self._is_at.value), self._joint_unit(joint))
            except ValueError as error:
                self._propose(Proposal('Is at', {}, f'is at: expected {error}'))
                return
        self._propose(self._placed(model, state, {joint: wanted}))

    def _zero_all(self) -> None:
        model, state = self._model, self._session.state
        if model is None or state is None:
            return
        wanted = dict.fromkeys(model.joints_with_offset(), 0.0)
        self._propose(self._placed(model, state, wanted))

    @staticmethod
    def _placed(model: TuneModel, state: RobotState, wanted: Mapping[str, float]) -> Proposal:
        return model.place(wanted, state.actuators, state.commanded, _MOVING)

    def _propose(self, proposal: Proposal) -> None:
        """Ask before it is done."""
        model, state = self._model, self._session.state
        if model is None or state is None or not self._fields:
            return
        self._proposal = None if proposal.reason else proposal
        self._yes.visible = self._no.visible = self._proposal is not None
        if proposal.reason:
            self._question.content = note(proposal.reason, 'bad')
            self._session.show_preview(self, None)
            return
        preview = model.preview(proposal.values, state.actuators[0])
        self._proposal_joints = [shift.joint for shift in preview.shifts]
        numbers = [
            number
            for transmission in dict.fromkeys(model.place_of(name) for name in proposal.values)
            for number in model.numbers(transmission)
        ]
        commanded = [
            name
            for name, is_live in zip(model.robot.joint_names, state.commanded, strict=True)
            if is_live
        ]
        self._question.content = (
            f'<div class="tb"><b>{plain(proposal.title, 200)}?</b></div>'
            + texts.changes(proposal.values, numbers, self._units)
            + texts.effects(preview, self._joint_units(), self._units, commanded)
            + (note(_CARE, 'care') if self._session.robot.is_live else '')
        )
        self._session.show_preview(self, preview)

    def _agreed(self) -> None:
        proposal, self._proposal = self._proposal, None
        self._close_question()
        if proposal is not None:
            self._session.apply(proposal.values, self._proposed)

    def _proposed(self, reason: str) -> None:
        if self._fields:
            self._question.content = note(reason, 'bad') or note('done', 'good')
        self._set_fields(force=True)

    def _cancelled(self) -> None:
        self._proposal = None
        self._close_question()

    def _close_question(self) -> None:
        # What was clicked may be gone: another transmission was chosen meanwhile.
        if self._fields:
            self._question.content = ''
            self._yes.visible = self._no.visible = False
        self._session.show_preview(self, None)

    # -- saving ----------------------------------------------------------------------------------

    def _show_difference(self) -> None:
        model, output = self._model, self._session.settings.output
        self._saved = None
        self._write_note.content = ''
        if model is None:
            return
        try:
            saved = model.saved(output or 'robot.urdf')
        except (UsageError, TransmissionBridgeError) as error:
            self._difference.content = note(str(error), 'bad')
            self._write_button.visible = False
            return
        self._difference.content = texts.difference(saved.lines)
        self._saved = saved
        self._write_button.visible = bool(output and saved.lines and self._may_change)

    def _write(self) -> None:
        model, saved, settings = self._model, self._saved, self._session.settings
        if model is None or saved is None or not settings.output or not self._may_change:
            return
        # What was shown is written, whatever changed since.
        self._saved = None
        self._write_button.visible = False
        try:
            model.write(settings.output, saved, force=settings.force)
        except UsageError as error:
            self._write_note.content = note(str(error), 'bad')
        else:
            self._write_note.content = note(f'written: {settings.output}', 'good')

    # -- what moves ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show where everything is now."""
        session, model, state = self._session, self._model, self._session.state
        if not session.settings.may_change:
            first = note('For looking only.', 'dim')
        elif session.robot.is_live:
            first = note(_CARE, 'care')
        else:
            first = note('From a file, without a robot: the sliders move the motors.', 'dim')
        self._status.content = first + texts.sentences(session.sentences())
        if model is None or state is None or len(state.joints[0]) != len(model.robot.joint_names):
            return
        self._robot_text.content = self._robot_html(model, state)
        if self._panel is None or self._chosen is None:
            return
        self._live.content = self._live_html(model, state)
        self._set_fields()
        for place, slider in self._motors.items():
            value = float(state.actuators[0, place])
            if slider.min <= value <= slider.max and abs(slider.value - value) > 1e-9:
                slider.value = value

    def _live_html(self, model: TuneModel, state: RobotState) -> str:
        chosen, robot = self._chosen, model.robot
        assert chosen is not None
        binding = model.binding(chosen)
        joints, actuators = binding.joints, binding.actuators
        heading = binding.spec.type or 'passes through: no transmission, no numbers'
        commanded = [robot.joint_names[p] for p in joints if state.commanded[p]]
        return (
            note(heading, 'dim')
            + texts.bars(
                'actuator',
                self._rows(
                    'actuator',
                    robot.actuator_names,
                    actuators,
                    state.actuators,
                    state.actuator_ages,
                ),
                self._units,
            )
            + texts.bars(
                'joint',
                self._rows('joint', robot.joint_names, joints, state.joints, state.joint_ages),
                self._units,
            )
            + note(
                f'commanded now: {", ".join(commanded)}; sliders ask before they change anything'
                if commanded
                else '',
                'care',
            )
        )

    def _rows(
        self,
        kind: str,
        names: Sequence[str],
        places: Sequence[int],
        values: Any,
        ages: Any,
    ) -> list[tuple[str, str, list[float], float, float, float, bool]]:
        rows = []
        for place in places:
            low, high, unit = self._limits.get(f'{kind} {names[place]}', (-math.inf, math.inf, ''))
            numbers = [float(value) for value in values[:, place]]
            stale = math.isnan(numbers[0])
            rows.append((names[place], unit, numbers, float(ages[place]), low, high, stale))
        return rows

    def _robot_html(self, model: TuneModel, state: RobotState) -> str:
        names = model.robot.joint_names
        unknown = [names[place] for place in np.flatnonzero(np.isnan(state.joints[0]))]
        changed = model.changed()
        parts = [
            note(f'{len(names)} joints, {len(model.robot.transmissions)} transmissions', 'dim'),
            note(f'{len(changed)} numbers differ from the URDF', 'care' if changed else 'dim'),
        ]
        if unknown:
            parts.append(note(f'{len(unknown)} joints of unknown position, grey:', 'bad'))
            parts.append(texts.sentences(unknown, 'old', most=20))
        refused = [
            f'{spec.name} is refused (transmission_bridge check says why)'
            for spec in model.robot.refused
        ]
        parts.append(texts.sentences(refused, 'bad', most=5))
        missing = [f'{link}: {why}' for link, why in self._session.missing.items()]
        if missing:
            parts.append(note(f'{len(missing)} links are drawn as frames:', 'dim'))
            parts.append(texts.sentences(missing, 'dim', most=5))
        if self._session.n_left_out:
            parts.append(note(f'{self._session.n_left_out} links are not drawn', 'dim'))
        parts.append(note('transparent blue: commanded; orange: as a change would have it', 'dim'))
        return ''.join(parts)


def _parsed(text: str) -> float:
    """
    Return what was typed as a number.

    :raises ValueError: If it is none, with what was expected.
    """
    stripped = text.strip()
    if stripped in INFINITE:
        return float(stripped)
    return parse_number(stripped)


def _rounded(value: float, field: _Field) -> float:
    """Return what a slider says without digits that are finer than its steps."""
    step = (field.slider.max - field.slider.min) / _STEPS if field.slider is not None else 0.0
    if not step:
        return value
    digits = max(0, 1 - math.floor(math.log10(step)))
    return round(value, digits)


def _finite_span(low: float, high: float, value: float) -> tuple[float, float]:
    low = low if math.isfinite(low) else -math.pi
    high = high if math.isfinite(high) else math.pi
    low, high = min(low, value), max(high, value)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _heading(number: Number, binding: Binding) -> str:
    """Return whose number it is."""
    kind, *rest = number.path
    members = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}.get(kind, ())
    for member in members:
        if rest and member.name == rest[0]:
            return f'{kind[:-1]} {member.name}' + (f' ({member.role})' if member.role else '')
    return binding.spec.name


def _range_text(number: Number) -> str:
    tunable = number.tunable
    low = '-inf' if tunable.minimum is None else f'{tunable.minimum:g}'
    high = 'inf' if tunable.maximum is None else f'{tunable.maximum:g}'
    unit = f' {number.unit}' if number.unit else ''
    return f'Range {low} to {high}{unit}{", not zero" if tunable.nonzero else ""}.'


def _limits(model: TuneModel, binding: Binding) -> dict[str, tuple[float, float, str]]:
    """Return least and greatest position and the unit of each member, by kind and name."""
    found = transmission_limits(model.robot, binding)
    return {
        f'{kind} {each.name}': (each.lower, each.upper, each.unit)
        for kind, members in (('joint', found.joints), ('actuator', found.actuators))
        for each in members
    }
