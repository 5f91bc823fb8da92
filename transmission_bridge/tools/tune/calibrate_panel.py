# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab of the calibration by hand, which all pages share: one step, the joints, and *Write*."""

from __future__ import annotations

from typing import Any

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.tools.calibration.guide import AFTERWARDS, HandGuide
from transmission_bridge.tools.calibration.outcome import name_values
from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.robots import BridgeRobot
from transmission_bridge.tools.tune.texts import (
    escape_text,
    format_line,
    format_note,
    format_table,
)

#: Characters of a hint.
_HINT = 400

#: Title and text after the numbers are stored, and before a calibration.
_WRITTEN = (
    'The bridge uses the new numbers',
    f'{AFTERWARDS} The URDF still has the old numbers: tab Save.',
)
_BY_HAND = (
    'Calibrate by hand',
    'Offsets by moving the arm by hand: to its stops, or into the pose with all joints at zero.',
)


class CalibratePanel:
    """The panel."""

    def __init__(self, page: Page, tab: Any) -> None:
        gui, self._page, self._widgets = page.client.gui, page, page.make_widgets(tab)
        with tab:
            self._folder = gui.add_folder(
                'Other ways', expand_by_default=False, visible=False, order=1e12
            )
        self._others = page.make_widgets(self._folder)

        async def pressed(_: Any) -> None:
            page.session.post_task(self._press_step)

        gui.add_command('Next step of the calibration', hotkey='N').on_trigger(pressed)

    @property
    def _guide(self) -> HandGuide | None:
        robot = self._page.session.robot
        return robot.calibration if isinstance(robot, BridgeRobot) else None

    def _press_step(self) -> None:
        if self._guide is not None:
            self._guide.press()

    def show(self) -> None:
        """Show the present state."""
        page, guide, scene = self._page, self._guide, self._page.session.scene
        robot, self._page.pose = page.session.robot, None
        if not isinstance(robot, BridgeRobot) or not page.session.settings.may_change:
            text = 'Needs a running bridge, and a page that may change it.'
            self._widgets.add_text(format_note(text, 'dim'))
        elif guide is None:
            title, hint = _WRITTEN if robot.stored else _BY_HAND
            self._widgets.add_text(_format_step(title, hint) + format_note(robot.stored, 'good'))
            labels = ('Done', 'Calibrate again') if robot.stored else ('Begin',)
            acts = [lambda _: setattr(robot, 'stored', ''), lambda _: robot.begin_calibration()]
            for label, act, color in zip(
                labels, acts[-len(labels) :], ('green', 'gray'), strict=False
            ):
                self._widgets.add_widget('button', label, act, color=color)
        else:
            guide.update()
            values = name_values([outcome for outcome in guide.outcomes if not outcome.refusal])
            if values:
                named = {PREFIX + name: value for name, value in values.items()}
                page.preview = page.model.preview_change(named, page.state.actuators[0])
            page.pose = guide.step.pose
            self._show_step(guide)
            if guide.is_safe:
                self._show_others(guide)
            if guide.written is not None:
                robot.end_calibration(guide)
        self._folder.visible = guide is not None and guide.is_safe
        if scene is not None:
            step = None if guide is None else guide.step
            scene.show_arrow(*(('', 0) if step is None else (step.joint, step.side)))
        self._widgets.show_changes()

    def _show_step(self, guide: HandGuide) -> None:
        """Show the step, its buttons, the joints, and *Write*. The widgets are always the same."""
        widgets, step, progress = self._widgets, guide.step, guide.list_progress()
        n_known = sum(joint.is_known for joint in progress)
        count = (
            f'<div class="dim count">{n_known} of {len(progress)} joints known'
            f'<i style="width:{100.0 * n_known / max(len(progress), 1):.0f}%"></i></div>'
        )
        hint = step.hint + ' The blue robot shows it.' * (step.pose is not None)
        widgets.add_text(_format_step(step.title, hint, count) + _format_sweep(guide))
        for key, act, color in (('next', step.primary, 'green'), ('second', step.second, 'gray')):
            widgets.add_widget(
                *('button', key, lambda _, act=act: guide.press(act)),
                label=act.label if act else key,
                color=color,
                visible=act is not None,
                disabled=key == 'next' and bool(step.obstacle),
            )
        trouble = '. '.join(guide.troubles)
        widgets.add_text(format_line(trouble or step.obstacle, 'bad' if trouble else 'dim', 'two'))
        widgets.add_text(_format_progress(guide) if guide.is_safe else '')
        obstacle = guide.write_obstacle
        widgets.add_widget(
            *('button', 'write', lambda _: guide.press(guide.write_act)),
            label=f'{guide.write_act.label} to the bridge',
            color='gray' if obstacle or step.primary or step.joint else 'green',
            visible=guide.is_safe,
            disabled=bool(obstacle),
        )
        widgets.add_text(format_line(obstacle if guide.is_safe else '', 'dim'))

    def _show_others(self, guide: HandGuide) -> None:
        """Show what is needed rarely, in a folded section."""
        names = tuple(joint.name for joint in guide.list_progress())
        acts = {act.label: act for key, act in guide.others.items() if key != 'b'}
        add_widget = self._others.add_widget
        add_widget(
            *('dropdown', 'joint', lambda name: guide.choose(names.index(name))),
            options=names,
            value=names[guide.chosen],
        )
        for label, options in (('this joint', [*acts][:3]), ('all joints', [*acts][3:])):
            press = lambda text: guide.press(acts.get(text))  # noqa: E731
            add_widget('button_group', label, press, options=tuple(options))
        label = 'End without writing'
        add_widget('button', 'quit', lambda _: guide.finish(), label=label, color='gray')
        self._others.show_changes()


def _format_step(title: str, hint: str, above: str = '') -> str:
    """Return what is to be done, below other elements."""
    heading = f'<div class="title">{escape_text(title, _HINT)}</div>'
    return f'<div class="tb step">{above}{heading}{escape_text(hint, _HINT)}</div>'


def _format_sweep(guide: HandGuide) -> str:
    """Return the bar of the present joint between its limits."""
    sweep = guide.sweep
    if sweep is None:
        return ''
    low, high, now = (100.0 * each for each in sweep[:3])
    texts = ''.join(f'<span>{escape_text(text)}</span>' for text in sweep.texts)
    part = f'<u style="left:{low:.1f}%;width:{high - low:.1f}%"></u>'
    needle = f'<i style="left:calc({now:.1f}% - 2px)"></i>'
    bar = f'<div class="sweep">{part}{needle}</div><div class="ends">{texts}</div>'
    return f'<div class="tb">{bar}</div>'


def _format_progress(guide: HandGuide) -> str:
    """Return the table of the joints."""
    marks = ('arrow', ''), ('upper', ''), ('lower', '')
    rows = []
    for joint in guide.list_progress():
        mark = '▸' if joint.is_here else '✓' if joint.is_known else '○'
        kind = 'here' if joint.is_here else 'good' if joint.is_known else 'dim'
        cells = (f'{mark} {joint.name}', *joint.done, joint.result)
        rows.append((kind, [*map(escape_text, cells)]))
    return format_table((('joint', '40%'), *marks, ('result', '20%')), rows, 'joints')
