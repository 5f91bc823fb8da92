# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab of the tuning page for calibration by hand: one step, the joints, and *Write*."""

from __future__ import annotations

from typing import Any

from transmission_bridge.tools.calibration.guide import HandGuide
from transmission_bridge.tools.tune.texts import escape_text, format_note

#: Characters of a hint.
_HINT = 400


def describe_step(panel: Any, guide: HandGuide) -> None:
    """
    Describe the step, its buttons, the joints, and *Write*. The widgets are always the same.

    :param panel: A :class:`~transmission_bridge.tools.tune.panel.Panel`.
    """
    step, progress = guide.step, guide.list_progress()
    known = sum(each.is_known for each in progress)
    panel.add_text(
        f'<div class="tb step"><div class="dim count">{known} of {len(progress)} joints known'
        f'<i style="width:{100.0 * known / max(len(progress), 1):.0f}%"></i></div>'
        f'<div class="title">{escape_text(step.title, _HINT)}</div>'
        f'{escape_text(step.hint, _HINT)}'
        f'{"" if step.pose is None else " The blue robot shows it."}</div>'
        + ''.join(format_note(each, 'bad') for each in guide.troubles)
        + _format_sweep(guide)
    )
    for key, act, color in (('next', step.primary, 'green'), ('second', step.second, 'gray')):
        panel.add_widget(
            *('button', key, lambda _, act=act: guide.press(act)),
            label=act.label if act else key,
            color=color,
            visible=act is not None,
            disabled=key == 'next' and bool(step.obstacle),
        )
    panel.add_text(format_note(step.obstacle, 'dim'))
    panel.add_text(_format_progress(guide) if guide.is_safe else '')
    obstacle = guide.write_obstacle
    panel.add_widget(
        *('button', 'write', lambda _: guide.press(guide.write_act)),
        label=f'{guide.write_act.label} to the bridge',
        color='gray' if obstacle else 'green',
        visible=guide.is_safe,
        disabled=bool(obstacle),
    )
    panel.add_text(format_note(obstacle, 'dim') if guide.is_safe else '')


def describe_others(panel: Any, guide: HandGuide) -> None:
    """Describe what is needed rarely, for a folded section."""
    names = tuple(each.name for each in guide.list_progress())
    acts = {act.label: act for key, act in guide.others.items() if key != 'b'}
    panel.add_widget(
        *('dropdown', 'joint', lambda name: guide.choose(names.index(name))),
        options=names,
        value=names[guide.chosen],
    )
    for label, options in (('this joint', [*acts][:3]), ('all joints', [*acts][3:])):
        press = lambda text: guide.press(acts.get(text))  # noqa: E731
        panel.add_widget('button_group', label, press, options=tuple(options))
    panel.add_widget(
        *('button', 'quit', lambda _: guide.finish()),
        label='End without writing',
        color='gray',
    )


def _format_sweep(guide: HandGuide) -> str:
    """Return the bar of the present joint between its limits."""
    sweep = guide.sweep
    if sweep is None:
        return ''
    low, high, now = (100.0 * each for each in sweep[:3])
    ends = ''.join(f'<span>{escape_text(text)}</span>' for text in sweep.texts)
    part = f'<u style="left:{low:.1f}%;width:{high - low:.1f}%"></u>'
    needle = f'<i style="left:calc({now:.1f}% - 2px)"></i>'
    bar = f'<div class="sweep">{part}{needle}</div><div class="ends">{ends}</div>'
    return f'<div class="tb">{bar}</div>'


def _format_progress(guide: HandGuide) -> str:
    """Return the table of the joints."""
    rows = [
        '<tr><th style="width:40%">joint</th>'
        + ''.join(f'<th class="c">{each}</th>' for each in ('arrow', 'upper', 'lower'))
        + '<th style="width:20%">result</th></tr>'
    ]
    for each in guide.list_progress():
        mark = '▸' if each.is_here else '✓' if each.is_known else '○'
        kind = 'here' if each.is_here else 'good' if each.is_known else 'dim'
        parts = ''.join(f'<td class="c">{part}</td>' for part in each.done)
        rows.append(
            f'<tr class="{kind}"><td>{mark} {escape_text(each.name)}</td>{parts}'
            f'<td class="n">{escape_text(each.result)}</td></tr>'
        )
    return f'<div class="tb joints"><table>{"".join(rows)}</table></div>'
