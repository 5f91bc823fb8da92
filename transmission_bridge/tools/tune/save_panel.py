# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The tab that saves numbers, and measured stops, into a file.

``command`` shows it in every update, in the thread of the session. A file is written at a click
only, with the changes that are shown; ``tools/export`` and ``tools/files`` define its form.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import is_parameter_file, write_output
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import SavedFile
from transmission_bridge.tools.tune.session import OPEN, Page
from transmission_bridge.tools.tune.texts import format_note


class SavePanel:
    """
    Renders the file again after a change of numbers or stops, and writes what it rendered.

    :param page: The page, which it only reads.
    :param tab: viser's handle of the tab.
    """

    def __init__(self, page: Page, tab: Any) -> None:
        self._page, self._widgets = page, page.make_widgets(tab)
        #: Whether measured stops are written; the checkbox sets it.
        self._writes_stops = False
        #: The file with the shown changes, ``None`` without any, and what it was rendered for.
        self._saved: SavedFile | None = None
        self._rendered_for: object = None
        self._message = ''  # HTML: why there is no file, or whether it was written

    def show(self) -> None:
        """Show the present state."""
        page, session, add_widget = self._page, self._page.session, self._widgets.add_widget
        output, changes = session.settings.output, [*self._list_changes()]
        if self._rendered_for != (page.model, changes):
            self._message, stops = '', session.robot.stops if self._writes_stops else {}
            name, self._saved = output or 'robot.urdf', None
            try:
                if changes:
                    self._saved = page.model.render_file(name, session.robot.bridge, stops)
            except (UsageError, TransmissionBridgeError) as error:
                self._message = format_note(str(error), 'bad')
            self._rendered_for = page.model, changes
        saved, label = self._saved, 'Write the stops as <limit> too'
        self._widgets.add_text(texts.format_changes(changes, page.units))
        add_widget(
            *('checkbox', label, partial(setattr, self, '_writes_stops')),
            value=self._writes_stops,
            visible=bool(session.robot.stops) and not is_parameter_file(output),
        )
        is_ready = bool(output and saved and session.settings.may_change)
        add_widget(
            *('button', 'write', self._write),
            label=f'Write {Path(output).name or "the file"}',
            color='green' if is_ready else 'gray',
            disabled=not is_ready,
        )
        hint = '' if changes else 'nothing differs from the URDF'
        if not output:
            hint = 'To save, start with --output FILE (.urdf or .yaml).'
        difference = '' if saved is None else texts.format_difference(saved.lines)
        self._widgets.add_text(self._message or format_note(hint, 'dim'))
        self._widgets.add_text(difference)
        self._widgets.show_changes()

    def _list_changes(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Yield member, number, unit, value in the description and now of each difference."""
        for name, values in self._page.model.list_changes().items():
            _, unit, tunable = self._page.model.find_number(name)
            *members, last = tunable.path
            member = members[-1] if members else tunable.transmission
            yield member, last.removeprefix('mechanical_'), unit, *values
        stops = self._page.session.robot.stops.items()
        for joint, measured in stops if self._writes_stops else ():
            *limits, unit = self._page.model.limits.get(joint, OPEN)
            for side, old, new in zip(('lower', 'upper'), limits, measured, strict=True):
                yield joint, f'{side} limit', unit, old, new

    def _write(self, _: Any) -> None:
        """Write the file that is shown, without later changes."""
        settings, saved = self._page.session.settings, self._saved
        if saved is None or not settings.output or not settings.may_change:
            return
        try:
            write_output(settings.output, saved.data, force=settings.force)
        except UsageError as error:
            self._message = format_note(str(error), 'bad')
        else:
            self._message = format_note(f'written: {settings.output}', 'good')
