# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The page of one browser, computed from the present state of the robot for each update.

A panel stores only its user's choices and input. The page is computed from these, from the current
numbers and from the state of the robot. The large panels have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transmission_bridge.errors import shortened
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.calibrate_panel import CalibratePanel
from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.robots import FileRobot
from transmission_bridge.tools.tune.save_panel import SavePanel
from transmission_bridge.tools.tune.session import TuneSession
from transmission_bridge.tools.tune.texts import format_line, format_note
from transmission_bridge.tools.tune.tune_panel import TunePanel

#: Rows of the table of joints.
_MOST_JOINTS = 300


class RobotPanel:
    """
    The panel.

    :param set_degrees: Is called if the units of angles change.
    """

    def __init__(self, page: Page, tab: Any, set_degrees: Callable[[bool], None]) -> None:
        self._page, self._widgets, self._set_degrees = page, page.make_widgets(tab), set_degrees

    def show(self) -> None:
        """Show the present state."""
        page, add_widget = self._page, self._widgets.add_widget
        notes = ''.join(format_note(text, kind) for text, kind in self._list_notes())
        self._widgets.add_text(notes)
        add_widget('button_group', 'view', self._reset_view, options=('Reset view',))
        add_widget('checkbox', 'degrees', self._set_degrees, value=page.units.degrees)
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


class PageView:
    """
    The panels of one client.

    :param client: viser's handle.
    :param session: The session of the page.
    :ivar page: What the panels share.
    """

    def __init__(self, client: Any, session: TuneSession) -> None:
        gui, self.page = client.gui, Page(client, session)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(380)
        gui.add_html(texts.STYLE)
        self._head = self.page.make_widgets(gui.add_folder(None))
        tabs = gui.add_tab_group()
        tune, joints, calibrate, robot, save = map(
            tabs.add_tab, ('Tune', 'Joints', 'Calibrate', 'Robot', 'Save')
        )
        self._tune, self._joints = TunePanel(self.page, tune), self.page.make_widgets(joints)
        self._panels = (
            self._tune,
            CalibratePanel(self.page, calibrate),
            RobotPanel(self.page, robot, self._tune.set_degrees),
            SavePanel(self.page, save),
        )
        self.rebuild_widgets()

    def rebuild_widgets(self) -> None:
        """Forget choices and input, because the robot has changed."""
        self._tune.forget()

    def select_joint(self, joint: str) -> None:
        """Show the transmission of a joint after a click on its link."""
        model = self.page.session.robot.model
        for binding in () if model is None else model.robot.bindings:
            if joint in (member.name for member in binding.spec.joints):
                self._tune.choose(binding.spec.name)
                self.page.joint = joint

    def refresh_widgets(self) -> None:
        """Show the present state."""
        self._show_head()
        self._tune.show_choice()
        model = self.page.session.robot.model
        if model is not None:
            self.page.model, self.page.state = model, self.page.session.robot.read_state()
            self._show_joints()
            for panel in self._panels:
                panel.show()

    def _show_head(self) -> None:
        """Show in one line what the robot is, and what the bridge finds."""
        session, robot, gone = self.page.session, self.page.session.robot, ''
        text, kind = '   '.join(robot.list_warnings()), 'care'
        if isinstance(robot, FileRobot):
            text, kind = 'From a file, without a robot: the sliders move it.', 'dim'
        if not session.settings.may_change:
            text, kind = f'Read-only page.   {text}', 'dim'
        if problem := robot.describe_problem():
            text, kind, gone = problem, 'bad', texts.GONE
        self._head.add_text(gone + format_line(text, kind))
        self._head.show_changes()

    def _show_joints(self) -> None:
        n_joints = len(self.page.model.robot.joint_names)
        text = self.page.format_bars('joint', range(min(n_joints, _MOST_JOINTS)))
        n_more = n_joints - _MOST_JOINTS
        text += format_note(f'and {n_more} more' if n_more > 0 else '', 'dim')
        self._joints.add_text(text)
        self._joints.show_changes()
