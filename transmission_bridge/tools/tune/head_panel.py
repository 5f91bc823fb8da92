# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The top of the page: what the robot is, and what the bridge finds."""

from __future__ import annotations

from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.robots import FileRobot
from transmission_bridge.tools.tune.texts import escape_text, format_note

#: Characters of the tooltip of the findings.
_TOOLTIP = 2000


class HeadPanel:
    """The panel."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._widgets = page.make_widgets(page.client.gui.add_folder(None))

    def show(self) -> None:
        """Show the present state."""
        session, robot = self._page.session, self._page.session.robot
        first, warnings = '', robot.list_warnings()
        if isinstance(robot, FileRobot):
            first = format_note('From a file, without a robot: the sliders move it.', 'dim')
        if not session.settings.may_change:
            first = format_note('Read-only page.', 'dim')
        if problem := robot.describe_problem():
            first = texts.GONE + format_note(problem, 'bad')
        title = escape_text('   '.join(warnings), _TOOLTIP)
        notes = texts.format_notes(warnings, most=2)
        self._widgets.add_text(f'{first}<div class="head" title="{title}">{notes}</div>')
        self._widgets.show_changes()
