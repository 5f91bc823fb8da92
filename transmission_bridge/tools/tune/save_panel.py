# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab that saves numbers, and measured stops, into a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import write_output
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.model import SavedFile
from transmission_bridge.tools.tune.page import OPEN, Page
from transmission_bridge.tools.tune.texts import format_note

#: Names of parameter files, which have no limits of joints.
_PARAMETER_FILES = ('.yaml', '.yml')


class SavePanel:
    """The panel."""

    def __init__(self, page: Page, tab: Any) -> None:
        self._page, self._widgets = page, page.make_widgets(tab)
        self._writes_stops = False
        #: The file that is shown and not written yet, and texts about it.
        self._saved: SavedFile | None = None
        self._difference = self._written = ''

    def forget(self) -> None:
        """Forget what is shown of the file."""
        self._saved, self._difference, self._written = None, '', ''

    def show(self) -> None:
        """Show the present state."""
        session, add_widget = self._page.session, self._widgets.add_widget
        output, changes = session.settings.output, [*self._list_changes()]
        members = [member for member, *_ in changes]
        changes.sort(key=lambda change: members.index(change[0]))
        self._widgets.add_text(texts.format_changes(changes, self._page.units))
        add_widget(
            *('checkbox', 'Write the stops as <limit> too', self._choose_stops),
            value=self._writes_stops,
            visible=bool(session.robot.stops) and not output.endswith(_PARAMETER_FILES),
        )
        add_widget(
            *('button', 'Show the difference of the file', self._show_difference),
            color='green' if changes and self._saved is None else 'gray',
            disabled=not changes,
        )
        is_ready = bool(output and self._saved and session.settings.may_change)
        add_widget(
            *('button', 'write', self._write),
            label=f'Write {Path(output).name or "the file"}',
            color='green' if is_ready else 'gray',
            disabled=not is_ready,
        )
        hint = 'look at the difference first' if changes else 'nothing differs from the URDF'
        if not output:
            hint = 'To save, start with --output FILE (.urdf or .yaml).'
        hint = '' if is_ready or self._written else hint
        self._widgets.add_text(format_note(hint, 'dim') + self._written + self._difference)
        self._widgets.show_changes()

    def _choose_stops(self, value: bool) -> None:
        self._writes_stops = value
        self.forget()

    def _list_changes(self) -> Iterator[tuple[str, str, str, float, float]]:
        """Yield member, number, unit, value in the description and now of each difference."""
        for name, values in self._page.model.list_changes().items():
            _, unit, tunable = self._page.model.find_number(name)
            *members, last = tunable.path
            member = members[-1] if members else tunable.transmission
            yield member, last.removeprefix('mechanical_'), unit, *values
        stops = self._page.session.robot.stops.items()
        for joint, measured in stops if self._writes_stops else ():
            *limits, unit = self._page.limits.get(joint, OPEN)
            for side, old, new in zip(('lower', 'upper'), limits, measured, strict=True):
                yield joint, f'{side} limit', unit, old, new

    def _show_difference(self, _: Any) -> None:
        self.forget()
        robot = self._page.session.robot
        try:
            output = self._page.session.settings.output or 'robot.urdf'
            stops = robot.stops if self._writes_stops else {}
            saved = self._page.model.render_file(output, robot.bridge, stops)
        except (UsageError, TransmissionBridgeError) as error:
            self._difference = format_note(str(error), 'bad')
        else:
            self._difference = texts.format_difference(saved.lines)
            self._saved = saved if saved.lines else None

    def _write(self, _: Any) -> None:
        # Writes the file that was shown, without later changes.
        saved, self._saved = self._saved, None
        settings = self._page.session.settings
        if saved is None or not settings.output or not settings.may_change:
            return
        try:
            write_output(settings.output, saved.data, force=settings.force)
        except UsageError as error:
            self._written = format_note(str(error), 'bad')
        else:
            self._written = format_note(f'written: {settings.output}', 'good')
