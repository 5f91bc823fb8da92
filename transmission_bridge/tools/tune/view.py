# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One browser's page, made anew from the present state of the robot whenever it is shown.

A :class:`View` holds what its user has chosen and typed, and nothing else. What the page shows is
computed from that, from the numbers in use and from the state of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
import math
import time
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.bridge.zeroing import find_zeroable_joints
from transmission_bridge.description.values import INFINITE, parse_number
from transmission_bridge.errors import shortened, TransmissionBridgeError
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import write_output
from transmission_bridge.tools.limit_report import transmission_limits
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import Preview, Saved
from transmission_bridge.tools.tune.panel import Panel
from transmission_bridge.tools.tune.robots import FileRobot, Limits, limits_of, RobotState
from transmission_bridge.tools.tune.session import Session
from transmission_bridge.tools.tune.texts import label, note, plain, Units
from transmission_bridge.tools.units import UNKNOWN_UNIT
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

__all__ = ['View', 'slider_span']

#: Joints in the table.
_MOST_JOINTS = 300

#: Characters of an entry of the list of transmissions, which is searched for them.
_ENTRY = 300

#: Sensible steps of a slider from end to end.
_STEPS = 2000

#: Speed above which a joint is moving [rad/s or m/s], as the bridge has it by default.
_MOVING = 0.01

_OPEN: Limits = (-math.inf, math.inf, UNKNOWN_UNIT)

_NO_PARAMETERS = (
    'Its numbers cannot be parameters, because of a name in them: parameters may have letters, '
    'digits, _, -, . and / only.'
)

_CARE = 'A changed number can move a joint with its next command.'


#: Is called with a position or number in SI.
_Act = Callable[[float], None]


class _Ask(NamedTuple):
    """
    A change that the user is asked about before it is made.

    :param values: Computes the new numbers from the state of the robot, each time anew.
    :param wanted: Joints that it sets, and where to.
    """

    title: str
    values: Callable[[RobotState], Mapping[str, float]]
    wanted: Mapping[str, float] = {}


def slider_span(tunable: Tunable, unit: str) -> tuple[float, float] | None:
    """
    Return the ends of a slider for a number: around its value, inside its range.

    :returns: ``None`` where a slider makes no sense, for a limit that is open.
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


class View:
    """
    The page of one client.

    :param client: viser's handle.
    :param session: The session that it belongs to.
    :ivar preview: What the change that it shows would do, ``None`` without one.
    """

    def __init__(self, client: Any, session: Session) -> None:
        self._gui, self._session = client.gui, session
        self._client = client
        self._units, self._dark = Units(), False
        self._chosen, self._joint, self._is_at = '', '', '0'
        self._gui.main_panel.dock_right()
        self._gui.main_panel.set_width(380)
        self._gui.add_html(texts.STYLE)
        self._head = Panel(self._gui, self._gui.add_folder(None), session.post)
        tabs = self._gui.add_tab_group()
        with tabs.add_tab('Tune'):
            form = self._gui.add_form(None)

        async def submitted(_: Any) -> None:
            session.post(partial(self._decide, 'Apply'))

        # Enter in a field applies.
        form.on_submit(submitted)
        self._tune = Panel(self._gui, form, session.post)
        self._joints, self._robot, self._save = (
            Panel(self._gui, tabs.add_tab(name), session.post)
            for name in ('Joints', 'Robot', 'Save')
        )
        self.rebuild()

    def rebuild(self) -> None:
        """Begin anew: the robot is another one."""
        model = self._session.robot.model
        self._limits = {} if model is None else limits_of(model.robot.robot)
        self._choices: dict[str, str] = {}
        for binding in () if model is None else model.robot.bindings:
            spec = binding.spec
            members = ', '.join(each.name for each in (*spec.joints, *spec.actuators))
            text = f'{spec.name}: {members}' if spec.type else f'{spec.name} (passes through)'
            self._choices[label(text, _ENTRY)] = spec.name
        self._saved: Saved | None = None
        self._difference = self._written = ''
        known = self._chosen in self._choices.values()
        self._choose(self._chosen if known else next(iter(self._choices.values()), ''))

    def _choose(self, transmission: str) -> None:
        """Show a transmission; what was typed for another and not applied is not kept unseen."""
        self._chosen = transmission
        self.preview: Preview | None = None
        #: What was typed by parameter, and what of it the robot has been asked to use.
        self._draft: dict[str, str] = {}
        self._sent: dict[str, str] = {}
        self._dragged: set[str] = set()
        self._spans: dict[str, tuple[float, float]] = {}
        self._ask: _Ask | None = None
        self._say('')
        #: Limits of the actuators, and the transmission with the numbers that they are of.
        self._actuator_limits: tuple[object, dict[str, Limits]] = None, {}

    def select(self, joint: str) -> None:
        """Show the transmission of a joint, whose link was clicked."""
        model = self._session.robot.model
        for binding in () if model is None else model.robot.bindings:
            if joint in (member.name for member in binding.spec.joints):
                self._choose(binding.spec.name)
                self._joint = joint

    # -- what is shown ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show where everything is now."""
        self._show_head()
        if self._session.robot.model is None:
            return
        self._model, self._state = self._session.robot.model, self._session.robot.state()
        for binding in self._model.robot.bindings:
            if binding.spec.name == self._chosen:
                self._show_tune(binding)
        n_joints = len(self._model.robot.joint_names)
        shown = range(min(n_joints, _MOST_JOINTS))
        self._joints.html(self._bars('joint', shown))
        n_more = n_joints - _MOST_JOINTS
        self._joints.html(note(f'and {n_more} more' if n_more > 0 else '', 'dim'))
        self._joints.show()
        self._show_robot()
        self._show_save()

    def _show_head(self) -> None:
        session, robot, head = self._session, self._session.robot, self._head
        first = note(_CARE, 'care')
        if isinstance(robot, FileRobot):
            first = note('From a file, without a robot: the sliders move it.', 'dim')
        if not session.settings.may_change:
            first = note('For looking only.', 'dim')
        if problem := robot.problem():
            first = texts.GONE + note(problem, 'bad')
        head.html(first + texts.sentences(robot.sentences(), most=3))
        shown = next((text for text, name in self._choices.items() if name == self._chosen), '-')
        head.add(
            'dropdown',
            'show',
            lambda text: self._choose(self._choices.get(text, self._chosen)),
            options=tuple(self._choices) or ('-',),
            value=shown,
            hint='Type a part of the name of a transmission, joint or actuator',
        )
        head.add('button_group', 'view', self._reset_view, options=('Reset view',))
        head.show()

    def _reset_view(self, _: str) -> None:
        if self._session.scene is not None:
            self._session.scene.reset_view(self._client)

    def _show_tune(self, binding: Binding) -> None:
        model, state = self._model, self._state
        if self._actuator_limits[0] is not binding.transmission:
            found = transmission_limits(model.robot, binding).actuators
            limits = {each.name: (each.lower, each.upper, each.unit) for each in found}
            self._actuator_limits = binding.transmission, limits
        names, tune, session = model.robot.joint_names, self._tune, self._session
        commanded = ', '.join(names[place] for place in binding.joints if state.commanded[place])
        live = f'commanded now: {commanded}; sliders ask before they change anything'
        tune.html(
            note(binding.spec.type or 'passes through: no transmission, no numbers', 'dim')
            + self._bars('actuator', binding.actuators)
            + self._bars('joint', binding.all_joints)
            + note(live if commanded else '', 'care')
        )
        self.preview = None
        if session.settings.may_change:
            if isinstance(session.robot, FileRobot):
                self._show_movers(session.robot, binding)
            if model.numbers(self._chosen):
                self._apply_dragged(not commanded)
                self._show_ways(binding)
                self._show_numbers(binding)
                self._show_change()
                steps = ('Undo', 'Redo', 'As in the URDF')
                tune.add('button_group', 'steps', self._step, options=steps)
                every = dict.fromkeys(find_zeroable_joints(model.robot), 0.0)
                text = 'Zero all joints of the robot here'
                tune.add('button', text, lambda _: self._place(every), color='gray')
            elif binding.spec.type:
                tune.html(note(_NO_PARAMETERS, 'care'))
        tune.show()

    def _side(self, kind: str) -> tuple[tuple[str, ...], Array, Array, Mapping[str, Limits]]:
        """Return the names of actuators or joints, their values and ages, and their limits."""
        state, names = self._state, self._model.robot
        if kind == 'joint':
            return names.joint_names, state.joints, state.joint_ages, self._limits
        return names.actuator_names, state.actuators, state.actuator_ages, self._actuator_limits[1]

    def _bars(self, kind: str, places: Iterable[int]) -> str:
        names, values, ages, limits = self._side(kind)
        rows = []
        for place in places:
            low, high, unit = limits.get(names[place], _OPEN)
            numbers = values[:, place].tolist()
            rows.append((names[place], unit, numbers, float(ages[place]), low, high))
        return texts.bars(kind, rows, self._units)

    def _show_movers(self, file: FileRobot, binding: Binding) -> None:
        """Show sliders that move the actuators, and the joints, of a robot from a file."""

        def move(kind: str, place: int, position: float) -> None:
            try:
                (file.move_joint if kind == 'joint' else file.move)(place, position)
            except TransmissionBridgeError as error:
                self._say(str(error), 'bad')

        for kind, places in (('actuator', binding.actuators), ('joint', binding.joints)):
            names, values, _, limits = self._side(kind)
            for place in places:
                low, high, unit = limits.get(names[place], _OPEN)
                value = float(values[0, place]) if math.isfinite(values[0, place]) else 0.0
                low = min(value, low if math.isfinite(low) else -math.pi)
                high = max(value, high if math.isfinite(high) else math.pi, low + 1e-3)
                text = f'move {label(names[place])}'
                act = partial(move, kind, place)
                self._slider(f'{kind} {text}', text, (low, high), value, unit, act)

    def _slider(
        self, key: str, text: str, span: tuple[float, float], value: float, unit: str, act: _Act
    ) -> None:
        units = self._units
        low, high, value = (units.to_page(each, unit) for each in (*span, value))
        shown = {'min': low, 'max': high, 'step': (high - low) / _STEPS, 'value': value}
        self._tune.add(
            'slider', key, lambda value: act(units.from_page(value, unit)), label=text, **shown
        )

    def _show_ways(self, binding: Binding) -> None:
        joints = {label(member.name): member.name for member in binding.spec.joints}
        if self._joint not in joints.values():
            self._joint = next(iter(joints.values()))
        shown = next(text for text, name in joints.items() if name == self._joint)
        unit = self._limits.get(self._joint, _OPEN)[2]

        def way(what: str) -> None:
            model, joint = self._model, self._joint
            if what == 'Zero here':
                self._place({joint: 0.0})
            elif what == 'Turns wrong':
                title = f'Turn {joint} the other way?'
                self._ask = _Ask(title, lambda now: model.flip(joint, now.actuators[0]))
            else:
                try:
                    self._place({joint: self._parsed(self._is_at, unit)})
                except ValueError as error:
                    self._say(f'is at: expected {error}', 'bad')

        add, typed = self._tune.add, partial(setattr, self, '_is_at')

        def choose(text: str) -> None:
            self._joint = joints.get(text, self._joint)

        visible, title = len(joints) > 1, f'is at [{self._units.name(unit)}]'
        add('dropdown', 'joint', choose, options=tuple(joints), value=shown, visible=visible)
        add('text', title, typed, value=self._is_at, hint='Sets its offset, after asking')
        add('button_group', 'this joint', way, options=('Is at', 'Zero here', 'Turns wrong'))

    def _show_numbers(self, binding: Binding) -> None:
        heading, units, model = '', self._units, self._model
        for name, unit, tunable in model.numbers(self._chosen):
            above = f'<div class="tb"><b>{plain(_heading(tunable, binding), 120)}</b></div>'
            if above != heading:
                self._tune.html(above)
            heading = above
            shown = label(tunable.path[-1].replace('mechanical_', '').replace('_', ' '))
            text = self._draft.get(name, units.field(tunable.value, unit))
            self._tune.add(
                'text',
                name,
                partial(self._typed, name),
                label=f'{shown} [{units.name(unit)}]' if unit else shown,
                value=text,
                hint=f'{tunable.description} {_range_text(tunable, unit)} URDF: '
                f'{units.field(model.described(name), unit)}. Parameter {label(name)}',
            )
            span, value = self._spans.get(name), tunable.value
            if span is None or not span[0] <= value <= span[1]:
                span = slider_span(tunable, unit)
            if span is not None:
                # The ends stay while it is dragged.
                self._spans[name] = span
                with suppress(ValueError):
                    value = min(max(self._parsed(text, unit), span[0]), span[1])
                drag = partial(self._drag, name, unit, (span[1] - span[0]) / _STEPS)
                self._slider(name, '', span, value, unit, drag)

    def _parsed(self, text: str, unit: str) -> float:
        """
        Return what was typed as a number.

        :raises ValueError: If it is none, with what was expected.
        """
        text = text.strip()
        return self._units.from_page(float(text) if text in INFINITE else parse_number(text), unit)

    # -- changing --------------------------------------------------------------------------------

    def _typed(self, name: str, text: str) -> None:
        """A field was edited: nothing happens but a preview, until Enter or *Apply*."""
        self._ask = None
        self._draft[name] = text.strip()

    def _drag(self, name: str, unit: str, step: float, value: float) -> None:
        # Without digits that are finer than the steps of the slider.
        digits = max(0, 1 - math.floor(math.log10(step)))
        self._typed(name, self._units.field(round(value, digits), unit))
        self._dragged.add(name)

    def _apply_dragged(self, at_once: bool) -> None:
        """Apply what a slider was dragged to, unless a joint is commanded, or more is edited."""
        if not self._sent:  # one change after the other
            if at_once and self._dragged and self._draft.keys() == self._dragged:
                self._decide('Apply')
            self._dragged = set()

    def _place(self, wanted: Mapping[str, float]) -> None:
        model = self._model
        self._ask = _Ask(
            f'Set where {shortened(list(wanted), show=str)} is?',
            lambda now: model.place(wanted, now.actuators, now.commanded, _MOVING),
            wanted,
        )

    def _step(self, what: str) -> None:
        model, transmission = self._model, self._chosen
        if what == 'As in the URDF':
            title = f'{transmission} as in the URDF?'
            self._ask = _Ask(title, lambda _: model.as_described(transmission))
            return
        self._ask, is_back = None, what == 'Undo'
        try:
            values = model.step(is_back=is_back)
        except TransmissionBridgeError as error:
            self._say(str(error), 'bad')
        else:
            noted = partial(model.stepped, is_back=is_back)
            self._session.apply(values, self._answered, noted)

    @property
    def _edited(self) -> dict[str, str]:
        """What was typed and the robot has not been asked to use."""
        return {name: text for name, text in self._draft.items() if self._sent.get(name) != text}

    def _pending(self) -> tuple[_Ask | None, Mapping[str, float]]:
        """
        Return what is asked, and the numbers that it sets, or what is typed.

        :raises TransmissionBridgeError, ValueError: If it cannot be done, with the reason.
        """
        ask, model = self._ask, self._model
        if ask is None and not self._edited and model.lost:
            title = 'Set again what was tuned before the bridge was started again?'
            ask = _Ask(title, lambda _: model.lost)
        if ask is not None:
            return ask, ask.values(self._state)
        values = {}
        for name, text in self._edited.items():
            _, unit, tunable = model.number(name)
            try:
                value = self._parsed(text, unit)
            except ValueError as error:
                raise ValueError(f'{".".join(tunable.path)}: expected {error}') from None
            if text != self._units.field(tunable.value, unit):
                values[name] = value
        return None, values

    def _show_change(self) -> None:
        """Show what would change, with the buttons that do it or not."""
        model, state = self._model, self._state
        do, leave = ('Do it', 'Cancel') if self._ask or not self._edited else ('Apply', 'Discard')
        content = note(*self._said[:2]) if self._said[2] == self._session.robot.n_starts else ''
        options: tuple[str, ...] = (leave,)
        try:
            ask, values = self._pending()
        except (TransmissionBridgeError, ValueError) as error:
            content = note(str(error), 'bad')
        else:
            if values:
                options = do, leave
                self.preview = model.preview(values, state.actuators[0])
                names = model.robot.joint_names
                hint = note(_CARE, 'care') if ask else note('Enter or Apply does it.', 'dim')
                content = texts.change(
                    '' if ask is None else ask.title,
                    [(model.number(name), value) for name, value in values.items()],
                    self.preview,
                    {name: unit for name, (_, _, unit) in self._limits.items()},
                    [names[place] for place in np.flatnonzero(state.commanded)],
                    self._units,
                )
                content += hint
        is_open = bool(self._ask or self._edited) or len(options) > 1
        self._tune.html(f'<div class="asked{" open" if is_open else ""}">{content}</div>')
        self._tune.add(
            'button_group', 'do', self._decide, label='', options=options, visible=is_open
        )

    def _decide(self, what: str) -> None:
        """Do what is shown, or leave it."""
        session, model = self._session, self._model
        if what == 'Discard':
            self._draft = {}
        if what == 'Cancel' and self._ask is None:
            model.forget_lost()
        if what in ('Discard', 'Cancel'):
            self._ask = None
            return
        if self._model is not session.robot.model:
            return  # of another robot
        # Where the robot is now, not where it was when the question was asked.
        self._state = session.robot.state()
        try:
            ask, values = self._pending()
        except (TransmissionBridgeError, ValueError):
            return  # the page says why
        if not values or (ask is None) != (what == 'Apply'):
            return
        self._ask = None
        before = {name: model.value(name) for name in values}
        wanted = {} if ask is None else ask.wanted
        placed = {joint: (where, self._state.actuators[0]) for joint, where in wanted.items()}
        self._sent = dict(self._draft) if ask is None else {}
        session.apply(
            values,
            self._answered,
            lambda: model.done(before, values, time.monotonic(), placed),
        )

    def _answered(self, reason: str) -> None:
        # What was edited meanwhile stays.
        self._draft, self._sent = self._edited, {}
        self._say(reason or 'done', 'bad' if reason else 'good')

    def _say(self, text: str, kind: str = '') -> None:
        #: Until the bridge starts again, or another thing is said.
        self._said = text, kind, self._session.robot.n_starts

    # -- the robot, and saving -------------------------------------------------------------------

    def _show_robot(self) -> None:
        model, state, panel = self._model, self._state, self._robot
        scene, robot = self._session.scene, model.robot
        changed, n_joints = len(model.changed()), len(robot.joint_names)
        unknown = [robot.joint_names[each] for each in np.flatnonzero(np.isnan(state.joints[0]))]
        lines = [(f'{n_joints} joints, {len(robot.transmissions)} transmissions', 'dim')]
        lines += [(f'{changed} numbers differ from the URDF', 'care' if changed else 'dim')]
        if unknown:
            names = shortened(unknown, 20, show=str)
            lines += [(f'{len(unknown)} joints of unknown position, grey: {names}', 'bad')]
        for each in robot.refused[:5]:
            lines += [(f'{each.name} is refused (transmission_bridge check says why)', 'bad')]
        if scene is not None:
            if scene.missing:
                lines += [(f'{len(scene.missing)} links are drawn as frames:', 'dim')]
            lines += [(f'{link}: {why}', 'dim') for link, why in [*scene.missing.items()][:5]]
            if scene.poses.n_left_out:
                lines += [(f'{scene.poses.n_left_out} links are not drawn', 'dim')]
        lines += [('transparent blue: commanded; orange: as a change would have it', 'dim')]
        panel.html(''.join(note(text, kind) for text, kind in lines))
        panel.add('checkbox', 'degrees', self._set_degrees, value=self._units.degrees)
        panel.add('checkbox', 'dark', self._set_dark, value=self._dark)
        panel.show()

    def _set_degrees(self, value: bool) -> None:
        self._units = Units(degrees=value)
        self._choose(self._chosen)

    def _set_dark(self, value: bool) -> None:
        self._dark = value
        self._gui.configure_theme(
            dark_mode=value, show_logo=False, show_share_button=False, control_width='large'
        )

    def _show_save(self) -> None:
        panel, output = self._save, self._session.settings.output
        where = f'to {output}' if output else 'Start with --output FILE (.urdf or .yaml) to save.'
        panel.html(note(where, 'dim') + self._difference)
        panel.add('button', 'Show difference', lambda _: self._compare(output))
        is_ready = bool(output and self._saved and self._session.settings.may_change)
        panel.add('button', 'Write the file', lambda _: self._write(output), visible=is_ready)
        panel.html(self._written)
        panel.show()

    def _compare(self, output: str) -> None:
        self._saved, self._written = None, ''
        try:
            saved = self._model.saved(output or 'robot.urdf')
        except (UsageError, TransmissionBridgeError) as error:
            self._difference = note(str(error), 'bad')
        else:
            self._difference = texts.difference(saved.lines)
            self._saved = saved if saved.lines else None

    def _write(self, output: str) -> None:
        # What was shown is written, whatever changed since.
        saved, self._saved = self._saved, None
        settings = self._session.settings
        if saved is None or not output or not settings.may_change:
            return
        try:
            write_output(output, saved.data, force=settings.force)
        except UsageError as error:
            self._written = note(str(error), 'bad')
        else:
            self._written = note(f'written: {output}', 'good')


def _heading(tunable: Tunable, binding: Binding) -> str:
    """Return whose number it is."""
    kind, *rest = tunable.path
    members = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}.get(kind, ())
    for member in members:
        if rest and member.name == rest[0]:
            return f'{kind[:-1]} {member.name}' + (f' ({member.role})' if member.role else '')
    return binding.spec.name


def _range_text(tunable: Tunable, unit: str) -> str:
    low = '-inf' if tunable.minimum is None else f'{tunable.minimum:g}'
    high = 'inf' if tunable.maximum is None else f'{tunable.maximum:g}'
    return f'Range {low} to {high} {unit}{", not zero" if tunable.nonzero else ""}.'
