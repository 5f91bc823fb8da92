# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The page of one browser, computed from the present state of the robot for each update.

A :class:`PageView` stores only its user's choices and input. The page is computed from these, from
the current numbers and from the state of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
import math
from pathlib import Path
import time
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.bridge.zeroing import list_zeroable_joints
from transmission_bridge.description.document import INFINITE, parse_number
from transmission_bridge.errors import shortened, TransmissionBridgeError
from transmission_bridge.tools.calibration.guide import AFTERWARDS
from transmission_bridge.tools.calibration.outcome import name_values
from transmission_bridge.tools.calibration.page import describe_others, describe_step
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import write_output
from transmission_bridge.tools.limit_report import transmission_limits
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.live import BridgeRobot
from transmission_bridge.tools.tune.model import Preview, SavedFile
from transmission_bridge.tools.tune.panel import Panel
from transmission_bridge.tools.tune.robots import FileRobot, Limits, list_limits, RobotState
from transmission_bridge.tools.tune.session import TuneSession
from transmission_bridge.tools.tune.texts import escape_text, format_note, PageUnits, shorten_label
from transmission_bridge.tools.units import UNKNOWN_UNIT
from transmission_bridge.transmissions import Binding, Tunable
from transmission_bridge.types import Array

#: Rows of the table of joints.
_MOST_JOINTS = 300

#: Characters of an entry of the list of transmissions; the list is searched by these texts.
_ENTRY = 300

#: Steps of a slider.
_STEPS = 2000

#: Speed above which a joint is moving [rad/s or m/s], the default of the bridge.
_MOVING = 0.01

_OPEN: Limits = (-math.inf, math.inf, UNKNOWN_UNIT)

_WRITTEN = f'{AFTERWARDS} The URDF still has the old numbers: tab Save.'

_BY_HAND = (
    'Offsets by moving the arm by hand: to its stops, or into the pose with all joints at zero.'
)

_CARE = 'A changed number can move a joint with its next command.'

#: Characters of the tooltip of the findings.
_TOOLTIP = 2000

#: Names of parameter files, which have no limits of joints.
_PARAMETER_FILES = ('.yaml', '.yml')

#: Receives a position or number in SI.
_Act = Callable[[float], None]


class _Question(NamedTuple):
    """
    A change that the user must confirm.

    :param values: Computes the new numbers from the present state of the robot.
    :param wanted: Positions of the joints that it places.
    """

    title: str
    values: Callable[[RobotState], Mapping[str, float]]
    wanted: Mapping[str, float] = {}


def compute_slider_span(tunable: Tunable, unit: str) -> tuple[float, float] | None:
    """
    Return the ends of a slider for a number: around its value, inside its range.

    :returns: ``None`` for an infinite value, such as an absent limit.
    """
    value = tunable.value
    if not math.isfinite(value):
        return None
    reach = max(0.5 * abs(value), 0.2)
    ends = [value - reach, value + reach]
    if tunable.nonzero:
        ends = sorted((0.5 * value, 2.0 * value))
    elif tunable.path[-1] == 'offset' and unit == 'rad':
        ends = [min(-math.pi, value - 0.5), max(math.pi, value + 0.5)]
    low = ends[0] if tunable.minimum is None else max(ends[0], tunable.minimum)
    high = ends[1] if tunable.maximum is None else min(ends[1], tunable.maximum)
    return (low, high) if low < high else None


class PageView:
    """
    The page of one client.

    :param client: viser's handle.
    :param session: The session of the page.
    :ivar preview: Effect of the change that the page shows, ``None`` without one.
    :ivar pose: Positions of joints that the user is asked for, ``None`` without a question.
    """

    pose: Mapping[str, float] | None = None

    def __init__(self, client: Any, session: TuneSession) -> None:
        self._gui, self._session = client.gui, session
        self._client = client
        self._units, self._dark = PageUnits(), False
        self._chosen, self._joint, self._is_at = '', '', '0'
        self._gui.main_panel.dock_right()
        self._gui.main_panel.set_width(380)
        self._gui.add_html(texts.STYLE)
        self._head = Panel(self._gui, self._gui.add_folder(None), session.post_task)
        tabs = self._gui.add_tab_group()
        with tabs.add_tab('Tune'):
            self._choice = Panel(self._gui, self._gui.add_folder(None), session.post_task)
            form = self._gui.add_form(None)

        async def submitted(_: Any) -> None:
            session.post_task(partial(self._handle_decision, 'Apply'))

        # Enter in a field applies.
        form.on_submit(submitted)
        self._tune = Panel(self._gui, form, session.post_task)
        self._joints, self._calibrate, self._robot, self._save = (
            Panel(self._gui, tabs.add_tab(name), session.post_task)
            for name in ('Joints', 'Calibrate', 'Robot', 'Save')
        )
        with self._calibrate.container:
            self._others_folder = self._gui.add_folder(
                'Other ways', expand_by_default=False, visible=False, order=1e12
            )
        self._others = Panel(self._gui, self._others_folder, session.post_task)
        self._calibrated, self._writes_stops = '', False
        command = self._gui.add_command('Next step of the calibration', hotkey='N')

        async def pressed(_: Any) -> None:
            session.post_task(self._press_step)

        command.on_trigger(pressed)
        self.rebuild_widgets()

    def rebuild_widgets(self) -> None:
        """Reset choices and input, because the robot has changed."""
        model = self._session.robot.model
        self._limits = {} if model is None else list_limits(model.robot)
        self._choices: dict[str, str] = {}
        for binding in () if model is None else model.robot.bindings:
            spec = binding.spec
            members = dict.fromkeys(each.name for each in (*spec.joints, *spec.actuators))
            text = ', '.join(members) + ('' if spec.type else ' (passes through)')
            text = f'{spec.name}: {text}' if text in self._choices else text
            self._choices[shorten_label(text, _ENTRY)] = spec.name
        self._saved: SavedFile | None = None
        self._difference = self._written = ''
        names = [*self._choices.values()]
        self._choose_transmission(self._chosen if self._chosen in names else [*names, ''][0])

    def _choose_transmission(self, transmission: str) -> None:
        """Show a transmission, and discard input for another one."""
        self._chosen = transmission
        self.preview: Preview | None = None
        #: Input by parameter, and the part of it that was sent to the robot.
        self._draft: dict[str, str] = {}
        self._sent: dict[str, str] = {}
        self._dragged: set[str] = set()
        self._spans: dict[str, tuple[float, float]] = {}
        self._question: _Question | None = None
        self._set_message('')
        #: Limits of the actuators, and the transmission from which they were computed.
        self._actuator_limits: tuple[object, dict[str, Limits]] = None, {}

    def select_joint(self, joint: str) -> None:
        """Show the transmission of a joint after a click on its link."""
        model = self._session.robot.model
        for binding in () if model is None else model.robot.bindings:
            if joint in (member.name for member in binding.spec.joints):
                self._choose_transmission(binding.spec.name)
                self._joint = joint

    # -- updates ---------------------------------------------------------------------------------

    def refresh_widgets(self) -> None:
        """Show the present state."""
        self._show_head()
        self._show_choice()
        if self._session.robot.model is None:
            return
        self._model, self._state = self._session.robot.model, self._session.robot.read_state()
        for binding in self._model.robot.bindings:
            if binding.spec.name == self._chosen:
                self._show_tune(binding)
        n_joints = len(self._model.robot.joint_names)
        shown = range(min(n_joints, _MOST_JOINTS))
        self._joints.add_text(self._make_bars('joint', shown))
        n_more = n_joints - _MOST_JOINTS
        self._joints.add_text(format_note(f'and {n_more} more' if n_more > 0 else '', 'dim'))
        self._joints.show_changes()
        self._show_calibration()
        self._show_robot_tab()
        self._show_save()

    def _show_head(self) -> None:
        session, robot, head = self._session, self._session.robot, self._head
        first, found = '', robot.list_warnings()
        if isinstance(robot, FileRobot):
            first = format_note('From a file, without a robot: the sliders move it.', 'dim')
        if not session.settings.may_change:
            first = format_note('Read-only page.', 'dim')
        if problem := robot.describe_problem():
            first = texts.GONE + format_note(problem, 'bad')
        title = escape_text('   '.join(found), _TOOLTIP)
        notes = texts.format_notes(found, most=2)
        head.add_text(f'{first}<div class="head" title="{title}">{notes}</div>')
        head.show_changes()

    def _show_choice(self) -> None:
        shown = next((text for text, name in self._choices.items() if name == self._chosen), '-')
        self._choice.add_widget(
            'dropdown',
            'show',
            lambda text: self._choose_transmission(self._choices.get(text, self._chosen)),
            options=tuple(self._choices) or ('-',),
            value=shown,
            hint='Type a part of the name of a transmission, joint or actuator',
        )
        self._choice.show_changes()

    def _show_tune(self, binding: Binding) -> None:
        model, state = self._model, self._state
        if self._actuator_limits[0] is not binding.transmission:
            found = transmission_limits(model.robot, binding).actuators
            limits = {each.name: (each.lower, each.upper, each.unit) for each in found}
            self._actuator_limits = binding.transmission, limits
        names, tune, session = model.robot.joint_names, self._tune, self._session
        commanded = ', '.join(names[place] for place in binding.joints if state.commanded[place])
        live = f'commanded now: {commanded}; changes by sliders must be confirmed'
        tune.add_text(
            format_note(binding.spec.type or 'passes through: no transmission, no numbers', 'dim')
            + self._make_bars('actuator', binding.actuators)
            + self._make_bars('joint', binding.all_joints)
            + format_note(live if commanded else _CARE, 'care')
        )
        self.preview = None
        if session.settings.may_change:
            if isinstance(session.robot, FileRobot):
                self._show_movers(session.robot, binding)
            if model.list_numbers(self._chosen):
                if not self._sent:  # else an earlier change is not finished
                    # Other edits, and changes of commanded joints, need Apply.
                    if not commanded and self._dragged and self._draft.keys() == self._dragged:
                        self._handle_decision('Apply')
                    self._dragged = set()
                self._show_joint_buttons(binding)
                self._show_numbers(binding)
                self._show_change()
                steps = ('Undo', 'Redo', 'As in the URDF')
                tune.add_widget('button_group', 'steps', self._handle_step, options=steps)
                every = dict.fromkeys(list_zeroable_joints(model.robot), 0.0)
                text = 'Zero all joints of the robot here'
                tune.add_widget('button', text, lambda _: self._ask_to_place(every), color='gray')
            elif binding.spec.type:
                text = (
                    'Its numbers cannot be parameters, because they contain a name with other '
                    'characters than letters, digits, _, -, . and /.'
                )
                tune.add_text(format_note(text, 'care'))
        tune.show_changes()

    def _find_side(self, kind: str) -> tuple[tuple[str, ...], Array, Array, Mapping[str, Limits]]:
        """Return names, values, ages and limits of actuators or joints."""
        state, robot = self._state, self._model.robot
        if kind == 'joint':
            return robot.joint_names, state.joints, state.joint_ages, self._limits
        return robot.actuator_names, state.actuators, state.actuator_ages, self._actuator_limits[1]

    def _make_bars(self, kind: str, places: Iterable[int]) -> str:
        names, values, ages, limits = self._find_side(kind)
        rows = []
        for place in places:
            low, high, unit = limits.get(names[place], _OPEN)
            numbers = values[:, place]
            shown: tuple[str, ...] = (unit,)
            if kind == 'actuator' and names[place] in self._model.robot.units:
                # As the driver counts.
                of_driver = self._model.robot.units[names[place]].all_units
                numbers = numbers / [each.scale for each in of_driver]
                low, high = (each / of_driver[0].scale for each in (low, high))
                shown = tuple(each.text for each in of_driver)
            rows.append((names[place], shown, numbers.tolist(), float(ages[place]), low, high))
        return texts.format_bars(kind, rows, self._units)

    def _show_movers(self, file: FileRobot, binding: Binding) -> None:
        """Show sliders that move the actuators and joints of a robot from a file."""

        def move_member(kind: str, place: int, position: float) -> None:
            try:
                (file.move_joint if kind == 'joint' else file.move_actuator)(place, position)
            except TransmissionBridgeError as error:
                self._set_message(str(error), 'bad')

        for kind, places in (('actuator', binding.actuators), ('joint', binding.joints)):
            names, values, _, limits = self._find_side(kind)
            for place in places:
                low, high, unit = limits.get(names[place], _OPEN)
                value = float(values[0, place]) if math.isfinite(values[0, place]) else 0.0
                low = min(value, low if math.isfinite(low) else -math.pi)
                high = max(value, high if math.isfinite(high) else math.pi, low + 1e-3)
                text = f'{"motor" if kind == "actuator" else kind} {shorten_label(names[place])}'
                act = partial(move_member, kind, place)
                if kind == 'actuator' and (units := self._model.robot.units.get(names[place])):
                    scale, unit = units.position.scale, units.position.text or unit
                    low, high, value = low / scale, high / scale, value / scale
                    act = partial(_scale_input, act, scale)
                self._add_slider(text, text, (low, high), value, unit, act)

    def _add_slider(
        self, key: str, text: str, span: tuple[float, float], value: float, unit: str, act: _Act
    ) -> None:
        units = self._units
        low, high, value = (units.to_page(each, unit) for each in (*span, value))
        shown = {'min': low, 'max': high, 'step': (high - low) / _STEPS, 'value': value}
        self._tune.add_widget(
            'slider', key, lambda value: act(units.from_page(value, unit)), label=text, **shown
        )

    def _show_joint_buttons(self, binding: Binding) -> None:
        joints = {shorten_label(member.name): member.name for member in binding.spec.joints}
        if self._joint not in joints.values():
            self._joint = next(iter(joints.values()))
        shown = next(text for text, name in joints.items() if name == self._joint)
        unit = self._limits.get(self._joint, _OPEN)[2]

        def ask(what: str) -> None:
            model, joint = self._model, self._joint
            if what == 'Zero here':
                self._ask_to_place({joint: 0.0})
            elif what == 'Turns wrong':
                self._question = _Question(
                    f'Reverse the direction of {joint}?',
                    lambda now: model.compute_reversal(joint, now.actuators[0]),
                )
            else:
                try:
                    self._ask_to_place({joint: self._parse_input(self._is_at, unit)})
                except ValueError as error:
                    self._set_message(f'is at: expected {error}', 'bad')

        add, typed = self._tune.add_widget, partial(setattr, self, '_is_at')

        def choose(text: str) -> None:
            self._joint = joints.get(text, self._joint)

        visible, title = len(joints) > 1, f'is at [{self._units.name_unit(unit)}]'
        add('dropdown', 'joint', choose, options=tuple(joints), value=shown, visible=visible)
        add('text', title, typed, value=self._is_at, hint='Sets its offset after confirmation')
        add('button_group', 'this joint', ask, options=('Is at', 'Zero here', 'Turns wrong'))

    def _show_numbers(self, binding: Binding) -> None:
        heading, units, model = '', self._units, self._model
        for name, unit, tunable in model.list_numbers(self._chosen):
            above, heading = heading, escape_text(_format_heading(tunable, binding), 120)
            if above != heading:
                self._tune.add_text(f'<div class="tb"><b>{heading}</b></div>')
            shown = shorten_label(tunable.path[-1].replace('mechanical_', '').replace('_', ' '))
            text = self._draft.get(name, units.format_field(tunable.value, unit))
            low = -math.inf if tunable.minimum is None else tunable.minimum
            high = math.inf if tunable.maximum is None else tunable.maximum
            suffix = ', not zero' if tunable.nonzero else ''
            self._tune.add_widget(
                'text',
                name,
                partial(self._store_draft, name),
                label=f'{shown} [{units.name_unit(unit)}]' if unit else shown,
                value=text,
                hint=f'{tunable.description} Range {low:g} to {high:g} {unit}{suffix}. URDF: '
                f'{units.format_field(model.read_described_value(name), unit)}. '
                f'Parameter {shorten_label(name)}',
            )
            span, value = self._spans.get(name), tunable.value
            if span is None or not span[0] <= value <= span[1]:
                span = compute_slider_span(tunable, unit)
            if span is not None:
                # The ends stay the same during dragging.
                self._spans[name] = span
                with suppress(ValueError):
                    value = min(max(self._parse_input(text, unit), span[0]), span[1])
                drag = partial(self._store_dragged, name, unit, (span[1] - span[0]) / _STEPS)
                self._add_slider(name, '', span, value, unit, drag)

    def _parse_input(self, text: str, unit: str) -> float:
        """
        Convert input to a number in SI.

        :raises ValueError: If it is not a number; the message is the expectation.
        """
        text = text.strip()
        return self._units.from_page(float(text) if text in INFINITE else parse_number(text), unit)

    # -- changes ---------------------------------------------------------------------------------

    def _store_draft(self, name: str, text: str) -> None:
        """Store input for a preview; Enter or *Apply* sets it."""
        self._question = None
        self._draft[name] = text.strip()

    def _store_dragged(self, name: str, unit: str, step: float, value: float) -> None:
        # Without digits below the step of the slider.
        digits = max(0, 1 - math.floor(math.log10(step)))
        self._store_draft(name, self._units.format_field(round(value, digits), unit))
        self._dragged.add(name)

    def _ask_to_place(self, wanted: Mapping[str, float]) -> None:
        model = self._model
        self._question = _Question(
            f'Set the position of {shortened(list(wanted), show=str)}?',
            lambda now: model.compute_placing_offsets(
                wanted, now.actuators, now.commanded, _MOVING
            ),
            wanted,
        )

    def _handle_step(self, what: str) -> None:
        model, transmission = self._model, self._chosen
        if what == 'As in the URDF':
            title = f'Set the numbers of {transmission} as in the URDF?'
            self._question = _Question(title, lambda _: model.list_reset_values(transmission))
            return
        self._question, is_back = None, what == 'Undo'
        try:
            values = model.list_step_values(is_back=is_back)
        except TransmissionBridgeError as error:
            self._set_message(str(error), 'bad')
        else:
            finish = partial(model.finish_step, is_back=is_back)
            self._session.apply_values(values, self._handle_answer, finish)

    @property
    def _edited(self) -> dict[str, str]:
        """Input that was not sent to the robot yet."""
        return {name: text for name, text in self._draft.items() if self._sent.get(name) != text}

    def _read_pending_values(self) -> tuple[_Question | None, Mapping[str, float]]:
        """
        Return the question and its new numbers, or ``None`` and the numbers of the input.

        :raises TransmissionBridgeError, ValueError: If the change is impossible, with the reason.
        """
        question, model = self._question, self._model
        if question is None and not self._edited and model.lost_values:
            title = 'Restore the numbers that were tuned before the restart of the bridge?'
            question = _Question(title, lambda _: model.lost_values)
        if question is not None:
            return question, question.values(self._state)
        values = {}
        for name, text in self._edited.items():
            _, unit, tunable = model.find_number(name)
            try:
                value = self._parse_input(text, unit)
            except ValueError as error:
                raise ValueError(f'{".".join(tunable.path)}: expected {error}') from None
            if text != self._units.format_field(tunable.value, unit):
                values[name] = value
        return None, values

    def _show_change(self) -> None:
        """Show the pending change, with buttons to apply or cancel it."""
        model, state = self._model, self._state
        options: tuple[str, ...] = ('Apply', 'Discard')
        if self._question or not self._edited:
            options = ('Do it', 'Cancel')
        text, kind, n_starts = self._message
        content = format_note(text if n_starts == self._session.robot.n_starts else '', kind)
        is_possible = False
        try:
            question, values = self._read_pending_values()
        except (TransmissionBridgeError, ValueError) as error:
            content = format_note(str(error), 'bad')
        else:
            if values:
                is_possible = True
                self.preview = model.preview_change(values, state.actuators[0])
                names = model.robot.joint_names
                hint = (_CARE, 'care') if question else ('Enter or Apply sets it.', 'dim')
                content = texts.format_change(
                    '' if question is None else question.title,
                    [(model.find_number(name), value) for name, value in values.items()],
                    self.preview,
                    {name: unit for name, (_, _, unit) in self._limits.items()},
                    [names[place] for place in np.flatnonzero(state.commanded)],
                    self._units,
                )
                content += format_note(*hint)
        is_open = bool(self._question or self._edited) or is_possible
        options = options if is_possible else options[1:]
        self._tune.add_text(f'<div class="asked{" open" if is_open else ""}">{content}</div>')
        self._tune.add_widget(
            'button_group', 'do', self._handle_decision, label='', options=options, visible=is_open
        )

    def _handle_decision(self, what: str) -> None:
        """Apply the pending change, or cancel it."""
        session, model = self._session, self._model
        if what == 'Discard':
            self._draft = {}
        if what == 'Cancel' and self._question is None:
            model.forget_lost_values()
        if what in ('Discard', 'Cancel'):
            self._question = None
            return
        if self._model is not session.robot.model:
            return  # a change of another robot
        # The present state, not the state when the question appeared.
        self._state = session.robot.read_state()
        try:
            question, values = self._read_pending_values()
        except (TransmissionBridgeError, ValueError):
            return  # the page shows the reason
        if not values or (question is None) != (what == 'Apply'):
            return
        self._question = None
        before = {name: model.find_value(name) for name in values}
        wanted = {} if question is None else question.wanted
        placed = {joint: (value, self._state.actuators[0]) for joint, value in wanted.items()}
        self._sent = dict(self._draft) if question is None else {}
        session.apply_values(
            values,
            self._handle_answer,
            lambda: model.record_step(before, values, time.monotonic(), placed),
        )

    def _handle_answer(self, reason: str) -> None:
        # Keeps input that is newer than the request.
        self._draft, self._sent = self._edited, {}
        self._set_message(reason or 'done', 'bad' if reason else 'good')

    def _set_message(self, text: str, kind: str = '') -> None:
        #: Shown until another message, or until the bridge restarts.
        self._message = text, kind, self._session.robot.n_starts

    # -- calibration ---------------------------------------------------------------------------

    def _show_calibration(self) -> None:
        """Show the calibration by hand, which all pages share."""
        robot, panel, scene = self._session.robot, self._calibrate, self._session.scene
        guide = robot.calibration if isinstance(robot, BridgeRobot) else None
        self.pose = None
        if not isinstance(robot, BridgeRobot) or not self._session.settings.may_change:
            panel.add_text(
                format_note('Needs a running bridge, and a page that may change it.', 'dim')
            )
        elif guide is None:
            panel.add_text(
                format_note(self._calibrated, 'good')
                + format_note(_WRITTEN if self._calibrated else _BY_HAND, 'dim')
            )
            panel.add_widget('button', 'Begin', lambda _: robot.begin_calibration(), color='green')
        else:
            guide.update()
            values = name_values([each for each in guide.outcomes if not each.refusal])
            if values:
                named = {PREFIX + name: value for name, value in values.items()}
                self.preview = self._model.preview_change(named, self._state.actuators[0])
            self.pose = guide.step.pose
            describe_step(panel, guide)
            if guide.is_safe:
                describe_others(self._others, guide)
                self._others.show_changes()
            if guide.written is not None:
                robot.end_calibration(partial(setattr, self, '_calibrated'))
        self._others_folder.visible = guide is not None and guide.is_safe
        if scene is not None:
            step = None if guide is None else guide.step
            scene.show_arrow(*(('', 0) if step is None else (step.joint, step.side)))
        panel.show_changes()

    def _press_step(self) -> None:
        robot = self._session.robot
        if isinstance(robot, BridgeRobot) and robot.calibration is not None:
            robot.calibration.press()

    # -- robot and saving ------------------------------------------------------------------------

    def _show_robot_tab(self) -> None:
        model, state, panel = self._model, self._state, self._robot
        scene, robot = self._session.scene, model.robot
        changed, n_joints = len(model.list_changes()), len(robot.joint_names)
        unknown = [robot.joint_names[each] for each in np.flatnonzero(np.isnan(state.joints[0]))]
        lines = [(f'{n_joints} joints, {len(robot.transmissions)} transmissions', 'dim')]
        lines += [(f'{changed} numbers differ from the URDF', 'care' if changed else 'dim')]
        if unknown:
            names = shortened(unknown, 20, show=str)
            lines += [(f'{len(unknown)} joints at unknown positions (grey): {names}', 'bad')]
        for each in robot.refused[:5]:
            text = f'{each.name} is rejected (transmission_bridge check shows the reason)'
            lines += [(text, 'bad')]
        if scene is not None:
            if scene.missing:
                lines += [(f'{len(scene.missing)} links are drawn as frames:', 'dim')]
            lines += [(f'{link}: {why}', 'dim') for link, why in [*scene.missing.items()][:5]]
            if scene.poses.n_left_out:
                lines += [(f'{scene.poses.n_left_out} links are not drawn', 'dim')]
        lines += [('transparent blue: commanded; orange: preview of a change', 'dim')]
        panel.add_text(''.join(format_note(text, kind) for text, kind in lines))

        def reset_view(_: str) -> None:
            if scene is not None:
                scene.reset_view(self._client)

        def set_degrees(value: bool) -> None:
            old, self._units = self._units, PageUnits(degrees=value)
            for name, text in self._draft.items():
                unit = model.find_number(name).unit
                with suppress(ValueError):
                    number = old.from_page(parse_number(text), unit)
                    self._draft[name] = self._units.format_field(number, unit)

        def set_dark(value: bool) -> None:
            self._dark = value
            self._gui.configure_theme(
                dark_mode=value, show_logo=False, show_share_button=False, control_width='large'
            )

        panel.add_widget('button_group', 'view', reset_view, options=('Reset view',))
        panel.add_widget('checkbox', 'degrees', set_degrees, value=self._units.degrees)
        panel.add_widget('checkbox', 'dark', set_dark, value=self._dark)
        panel.show_changes()

    def _show_save(self) -> None:
        panel, output = self._save, self._session.settings.output
        changes = [*self._list_changes()]
        panel.add_text(texts.format_changes(changes, self._units))
        panel.add_widget(
            *('checkbox', 'Write the stops as <limit> too', self._choose_stops),
            value=self._writes_stops,
            visible=bool(self._session.robot.stops) and not output.endswith(_PARAMETER_FILES),
        )
        shows = bool(changes) and self._saved is None
        panel.add_widget(
            *('button', 'Show the difference of the file', self._show_difference),
            color='green' if shows else 'gray',
            disabled=not changes,
        )
        is_ready = bool(output and self._saved and self._session.settings.may_change)
        panel.add_widget(
            *('button', 'write', self._write_saved),
            label=f'Write {Path(output).name or "the file"}',
            color='green' if is_ready else 'gray',
            disabled=not is_ready,
        )
        hint = 'look at the difference first' if changes else 'nothing differs from the URDF'
        if not output:
            hint = 'To save, start with --output FILE (.urdf or .yaml).'
        hint = '' if is_ready or self._written else hint
        panel.add_text(format_note(hint, 'dim') + self._written + self._difference)
        panel.show_changes()

    def _choose_stops(self, value: bool) -> None:
        self._writes_stops, self._saved, self._difference = value, None, ''

    def _list_changes(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Yield member, number, unit, value in the description and now of each difference."""
        for name, values in self._model.list_changes().items():
            _, unit, tunable = self._model.find_number(name)
            *members, last = tunable.path
            member = members[-1] if members else tunable.transmission
            yield member, last.removeprefix('mechanical_'), unit, *values
        for joint, ends in self._session.robot.stops.items() if self._writes_stops else ():
            *before, unit = self._limits.get(joint, _OPEN)
            for side, old, new in zip(('lower', 'upper'), before, ends, strict=True):
                yield joint, f'{side} limit', unit, old, new

    def _show_difference(self, _: Any) -> None:
        self._saved, self._written = None, ''
        try:
            output = self._session.settings.output or 'robot.urdf'
            stops = self._session.robot.stops if self._writes_stops else {}
            saved = self._model.render_file(output, self._session.robot.bridge, stops)
        except (UsageError, TransmissionBridgeError) as error:
            self._difference = format_note(str(error), 'bad')
        else:
            self._difference = texts.format_difference(saved.lines)
            self._saved = saved if saved.lines else None

    def _write_saved(self, _: Any) -> None:
        # Writes the file that was shown, without later changes.
        saved, self._saved = self._saved, None
        settings = self._session.settings
        if saved is None or not settings.output or not settings.may_change:
            return
        try:
            write_output(settings.output, saved.data, force=settings.force)
        except UsageError as error:
            self._written = format_note(str(error), 'bad')
        else:
            self._written = format_note(f'written: {settings.output}', 'good')


def _scale_input(act: _Act, scale: float, value: float) -> None:
    act(value * scale)


def _format_heading(tunable: Tunable, binding: Binding) -> str:
    """Return the member or the transmission that a number belongs to."""
    kind, *rest = tunable.path
    members = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}.get(kind, ())
    for member in members:
        if rest and member.name == rest[0]:
            return f'{kind[:-1]} {member.name}' + (f' ({member.role})' if member.role else '')
    return binding.spec.name
