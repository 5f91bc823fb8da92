# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab of the tuning page for calibration by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transmission_bridge.tools.calibration.actions import HandActions, HEADING

#: Escapes a text for a page, and formats a note of a kind.
Escape = Callable[[str], str]
Note = Callable[[str, str], str]


def describe_tab(panel: Any, actions: HandActions, escape: Escape, note: Note) -> None:
    """
    Describe what :class:`HandActions` shows, and a button for each action.

    :param panel: A :class:`~transmission_bridge.tools.tune.panel.Panel`.
    """
    panel.add_text(
        ''.join(note(text, 'bad' if bad else 'care') for text, bad in actions.sentences)
    )
    if actions.is_safe:
        rows = [''.join(f'<th>{escape(cell.lower())}</th>' for cell in HEADING[1:])]
        for place, (cells, _) in enumerate(actions.list_lines()):
            name, *values = map(escape, cells)
            shown = f'<b>▸ {name}</b>' if place == actions.chosen else name
            rows.append(f'<td colspan="{len(values)}">{shown}</td>')
            rows.append(''.join(f'<td>{value}</td>' for value in values))
        table = ''.join(f'<tr>{row}</tr>' for row in rows)
        panel.add_text(f'<div class="tb"><table>{table}</table></div>')
    for action in actions.actions:
        panel.add_widget(
            'button', action.key, lambda _, act=action.act: act(), label=action.label, color='gray'
        )
