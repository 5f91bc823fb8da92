# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tab about the whole robot: what is not drawn or rejected, and how the page looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transmission_bridge.errors import shortened
from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.texts import format_note


class RobotPanel:
    """
    The panel.

    :param set_degrees: Is called if the units of angles change.
    """

    def __init__(self, page: Page, tab: Any, set_degrees: Callable[[bool], None]) -> None:
        self._page, self._widgets, self._set_degrees = page, page.make_widgets(tab), set_degrees
        self._is_dark = False

    def show(self) -> None:
        """Show the present state."""
        page, add_widget = self._page, self._widgets.add_widget
        notes = ''.join(format_note(text, kind) for text, kind in self._list_notes())
        self._widgets.add_text(notes)
        add_widget('button_group', 'view', self._reset_view, options=('Reset view',))
        add_widget('checkbox', 'degrees', self._set_degrees, value=page.units.degrees)
        add_widget('checkbox', 'dark', self._set_dark, value=self._is_dark)
        self._widgets.show_changes()

    def _list_notes(self) -> list[tuple[str, str]]:
        model, scene = self._page.model, self._page.session.scene
        robot, changed = model.robot, len(model.list_changes())
        lost = np.flatnonzero(np.isnan(self._page.state.joints[0]))
        unknown = [robot.joint_names[joint] for joint in lost]
        n_joints = len(robot.joint_names)
        lines = [(f'{n_joints} joints, {len(robot.transmissions)} transmissions', 'dim')]
        lines += [(f'{changed} numbers differ from the URDF', 'care' if changed else 'dim')]
        if unknown:
            names = shortened(unknown, 20, show=str)
            lines += [(f'{len(unknown)} joints at unknown positions (grey): {names}', 'bad')]
        lines += [
            (f'{each.name} is rejected (transmission_bridge check shows the reason)', 'bad')
            for each in robot.refused[:5]
        ]
        if scene is not None:
            if scene.missing:
                lines += [(f'{len(scene.missing)} links are drawn as frames:', 'dim')]
            lines += [(f'{link}: {why}', 'dim') for link, why in [*scene.missing.items()][:5]]
            if scene.poses.n_left_out:
                lines += [(f'{scene.poses.n_left_out} links are not drawn', 'dim')]
        return [*lines, ('transparent blue: commanded; orange: preview of a change', 'dim')]

    def _reset_view(self, _: str) -> None:
        if self._page.session.scene is not None:
            self._page.session.scene.reset_view(self._page.client)

    def _set_dark(self, value: bool) -> None:
        self._is_dark = value
        self._page.client.gui.configure_theme(
            dark_mode=value, show_logo=False, show_share_button=False, control_width='large'
        )
