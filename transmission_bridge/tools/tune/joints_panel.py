# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab with all joints."""

from __future__ import annotations

from typing import Any

from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.texts import format_note

#: Rows of the table of joints.
_MOST_JOINTS = 300


class JointsPanel:
    """The panel."""

    def __init__(self, page: Page, tab: Any) -> None:
        self._page, self._widgets = page, page.make_widgets(tab)

    def show(self) -> None:
        """Show the present state."""
        n_joints = len(self._page.model.robot.joint_names)
        n_more = n_joints - _MOST_JOINTS
        text = self._page.format_bars('joint', range(min(n_joints, _MOST_JOINTS)))
        text += format_note(f'and {n_more} more' if n_more > 0 else '', 'dim')
        self._widgets.add_text(text)
        self._widgets.show_changes()
