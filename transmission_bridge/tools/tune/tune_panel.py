# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The tab with one transmission: its members, its numbers, and sliders that move a drawn robot.

``command`` shows it in every update, in the thread of the session. It writes the choices and the
preview of its page, and moves a robot from a file; input and questions are the
:class:`ChangePanel`'s. Labels of buttons select what they do; other texts are free to change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
import math
from typing import Any

from transmission_bridge.errors import shortened, TransmissionBridgeError
from transmission_bridge.tools.cli import shorten_end
from transmission_bridge.tools.tune.change_panel import CARE, ChangePanel, read_input
from transmission_bridge.tools.tune.model import Number
from transmission_bridge.tools.tune.robots import TuneFileRobot
from transmission_bridge.tools.tune.session import OPEN, Page, Widgets
from transmission_bridge.tools.tune.texts import escape_html, format_note, PageUnits
from transmission_bridge.transmissions import Binding, Tunable

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
    """The tab of the chosen transmission; each browser has its own."""

    def __init__(self, page: Page, tab: Any) -> None:
        gui = page.client.gui
        with tab:
            self._choice = page.make_widgets(gui.add_folder(None))
            form = gui.add_form(None)
        self._page, self._widgets = page, page.make_widgets(form)
        self._choices: dict[str, str] = {}  # names of transmissions by entry of the list
        #: The pending change, and the text of the field for the position of a joint.
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
        if isinstance(session.robot, TuneFileRobot):
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

    def _show_movers(self, file: TuneFileRobot, binding: Binding) -> None:
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
                act = partial(_move, self._change, move, n, scale)
                span = low / scale, high / scale
                add_slider(self._widgets, page, label, span, value / scale, unit, act, label)

    def _show_numbers(self, binding: Binding) -> None:
        add_widget, change, heading = self._widgets.add_widget, self._change, ''
        self._show_joints(binding)
        for number in self._page.model.list_numbers(self._page.chosen):
            above, heading = heading, escape_html(_format_heading(number.tunable, binding), 120)
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
        if what == 'Turns wrong':
            change.ask(
                f'Reverse the direction of {joint}?',
                lambda now: model.compute_reversal(joint, now.actuators[0]),
            )
            return
        try:
            is_zero = what == 'Zero here'
            wanted = 0.0 if is_zero else read_input(self._is_at, unit, self._page.units)
        except ValueError as error:
            change.set_message(f'is at: expected {error}', 'bad')
            return
        change.ask(
            f'Set the position of {shortened([joint], show=str)}?',
            lambda now: model.compute_placing_offsets(
                {joint: wanted}, now.actuators, now.commanded
            ),
        )

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


def _move(
    change: ChangePanel,
    move: Callable[[int, float], None],
    n: int,
    scale: float,
    value: float,
) -> None:
    try:
        move(n, value * scale)
    except TransmissionBridgeError as error:
        change.set_message(str(error), 'bad')


def _format_heading(tunable: Tunable, binding: Binding) -> str:
    """Return the member or the transmission that a number belongs to."""
    kind, *rest = tunable.path
    members = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}.get(kind, ())
    for member in members:
        if rest and member.name == rest[0]:
            return f'{kind[:-1]} {member.name}' + (f' ({member.role})' if member.role else '')
    return binding.spec.name
