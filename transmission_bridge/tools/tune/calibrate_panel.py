# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The tab of the calibration by hand, which all pages share: one step, the joints, and *Write*.

``command`` shows it in every update, in the thread of the session. The :class:`HandGuide` has the
state and the texts of steps. The tab writes ``pose`` and ``preview`` of its page, and the arrow of
the scene; widgets are free to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from transmission_bridge.tools.calibration.guide import (
    AFTERWARDS,
    GuideAct,
    GuideStep,
    HandGuide,
    JointProgress,
    Sweep,
)
from transmission_bridge.tools.calibration.outcome import name_values
from transmission_bridge.tools.tune.robots import TuneBridgeRobot
from transmission_bridge.tools.tune.session import Page
from transmission_bridge.tools.tune.texts import (
    escape_html,
    format_line,
    format_table,
)

#: Characters of a hint.
_HINT = 400


class CalibratePanel:
    """
    Shows the step of the robot's :class:`HandGuide`, and presses its acts.

    :param page: The page.
    :param tab: viser's handle of the tab.
    """

    def __init__(self, page: Page, tab: Any) -> None:
        gui, self._page, self._widgets = page.client.gui, page, page.make_widgets(tab)
        with tab:
            self._folder = gui.add_folder(
                'Other ways', expand_by_default=False, visible=False, order=1e12
            )
        self._others = page.make_widgets(self._folder)

        async def pressed(_: Any) -> None:
            page.session.post_task(self._press)

        gui.add_command('Next step of the calibration', hotkey='N').on_trigger(pressed)

    def _press(self, act: GuideAct | None = None) -> None:
        """Do what a button does, by default the button of the step."""
        guide = self._page.session.robot.calibration
        if guide is not None:
            guide.press(act)
        elif act is not None:
            act.act()

    def _make_first_step(self) -> GuideStep:
        """Return the step before a calibration, and after one that was written."""
        robot = self._page.session.robot
        if not isinstance(robot, TuneBridgeRobot) or not self._page.session.settings.may_change:
            hint = 'Needs a running bridge, and a page that may change it.'
            return GuideStep('Calibrate by hand', hint)
        if robot.stored:
            hint = f'{robot.stored}. {AFTERWARDS} The URDF still has the old numbers: tab Save.'
            done = GuideAct('Done', partial(setattr, robot, 'stored', ''))
            again = GuideAct('Calibrate again', robot.begin_calibration)
            return GuideStep('The bridge uses the new numbers', hint, done, second=again)
        hint = 'Offsets by moving the arm: to its stops, or into the pose with all joints at zero.'
        return GuideStep('Calibrate by hand', hint, GuideAct('Begin', robot.begin_calibration))

    def show(self) -> None:
        """Show the present state."""
        page, robot = self._page, self._page.session.robot
        guide, step = robot.calibration, self._make_first_step()
        if guide is not None:
            guide.update()
            step, known = guide.step, [each for each in guide.outcomes if not each.refusal]
            if values := name_values(known):
                page.preview = page.model.preview_change(values, page.state.actuators[0])
        page.pose = step.pose
        self._show_step(step, guide)
        self._folder.visible = guide is not None and guide.is_safe
        if guide is not None and guide.is_safe:
            self._show_others(guide)
        if page.session.scene is not None:
            page.session.scene.show_arrow(step.joint, step.side)

    def _show_step(self, step: GuideStep, guide: HandGuide | None) -> None:
        """Show the step, its buttons, the joints, and *Write*. The widgets are always the same."""
        widgets, is_safe = self._widgets, guide is not None and guide.is_safe
        progress = [] if guide is None else guide.list_progress()
        n_known = 0 if guide is None else guide.count_known()
        share = f'{100.0 * n_known / max(len(progress), 1):.0f}%'
        count = f'{n_known} of {len(progress)} joints known<i style="width:{share}"></i>'
        count = f'<div class="dim count">{count}</div>' if progress else ''
        widgets.add_text(
            f'<div class="tb step">{count}'
            f'<div class="title">{escape_html(step.title, _HINT)}</div>'
            f'{escape_html(step.hint, _HINT)}</div>'
            + _format_sweep(None if guide is None else guide.sweep)
        )
        obstacle = '' if guide is None else guide.write_obstacle
        write = None if guide is None or not is_safe else guide.write_act
        is_last = not (obstacle or step.primary or step.joint)
        trouble = '' if guide is None else '. '.join(guide.troubles)
        for key, act, color, reason in (
            ('next', step.primary, 'green', step.obstacle),
            ('second', step.second, 'gray', ''),
            ('write', write, 'green' if is_last else 'gray', obstacle),
        ):
            if key == 'write':
                kind = 'bad' if trouble else 'dim'
                widgets.add_text(format_line(trouble or step.obstacle, kind, 'two'))
                widgets.add_text(_format_progress(progress) if is_safe else '')
            widgets.add_widget(
                *('button', key, lambda _, act=act: self._press(act)),
                label=(act.label if act else key) + ' to the bridge' * (key == 'write'),
                color=color,
                visible=act is not None,
                disabled=bool(reason),
            )
        widgets.add_text(format_line(obstacle if is_safe else '', 'dim'))
        widgets.show_changes()

    def _show_others(self, guide: HandGuide) -> None:
        """Show what is needed rarely, in a folded section: four acts for a joint, then others."""
        names = tuple(moved.tracks[joint].name for moved, joint in guide.hand.joints)
        acts = {act.label: act for act in guide.others.values()}
        add_widget = self._others.add_widget
        add_widget(
            *('dropdown', 'joint', lambda name: guide.choose(names.index(name))),
            options=names,
            value=names[guide.chosen],
        )
        for label, options in (('this joint', [*acts][:4]), ('all joints', [*acts][4:])):
            press = lambda text: guide.press(acts.get(text))  # noqa: E731
            add_widget('button_group', label, press, options=tuple(options))
        self._others.show_changes()


def _format_sweep(sweep: Sweep | None) -> str:
    """Return the bar of the present joint between its limits."""
    if sweep is None:
        return ''
    low, high, now = (100.0 * share for share in sweep[:3])
    texts = ''.join(f'<span>{escape_html(text)}</span>' for text in sweep.texts)
    part = f'<u style="left:{low:.1f}%;width:{high - low:.1f}%"></u>'
    needle = f'<i style="left:calc({now:.1f}% - 2px)"></i>'
    bar = f'<div class="sweep">{part}{needle}</div><div class="ends">{texts}</div>'
    return f'<div class="tb">{bar}</div>'


def _format_progress(progress: Sequence[JointProgress]) -> str:
    """Return the table of the joints."""
    marks = ('arrow', ''), ('upper', ''), ('lower', '')
    rows = []
    for joint in progress:
        mark = '▸' if joint.is_here else '✓' if joint.is_known else '○'
        kind = 'here' if joint.is_here else 'good' if joint.is_known else 'dim'
        cells = (f'{mark} {joint.name}', *joint.done, joint.result)
        rows.append((kind, [*map(escape_html, cells)]))
    return format_table((('joint', '40%'), *marks, ('result', '20%')), rows, 'joints')
