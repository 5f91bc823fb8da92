# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The page of one browser, computed from the present state of the robot for each update.

A panel stores only its user's choices and input. The page is computed from these, from the current
numbers and from the state of the robot.
"""

from __future__ import annotations

from typing import Any

from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.calibrate_panel import CalibratePanel
from transmission_bridge.tools.tune.head_panel import HeadPanel
from transmission_bridge.tools.tune.joints_panel import JointsPanel
from transmission_bridge.tools.tune.page import Page
from transmission_bridge.tools.tune.robot_panel import RobotPanel
from transmission_bridge.tools.tune.save_panel import SavePanel
from transmission_bridge.tools.tune.session import TuneSession
from transmission_bridge.tools.tune.tune_panel import TunePanel


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
        self._head = HeadPanel(self.page)
        tabs = gui.add_tab_group()
        tune, joints, calibrate, robot, save = map(
            tabs.add_tab, ('Tune', 'Joints', 'Calibrate', 'Robot', 'Save')
        )
        self._tune, self._save = TunePanel(self.page, tune), SavePanel(self.page, save)
        self._panels = (
            self._tune,
            JointsPanel(self.page, joints),
            CalibratePanel(self.page, calibrate),
            RobotPanel(self.page, robot, self._tune.set_degrees),
            self._save,
        )
        self.rebuild_widgets()

    def rebuild_widgets(self) -> None:
        """Forget choices and input, because the robot has changed."""
        self._tune.forget()
        self._save.forget()

    def select_joint(self, joint: str) -> None:
        """Show the transmission of a joint after a click on its link."""
        model = self.page.session.robot.model
        for binding in () if model is None else model.robot.bindings:
            if joint in (member.name for member in binding.spec.joints):
                self._tune.choose(binding.spec.name)
                self.page.joint = joint

    def refresh_widgets(self) -> None:
        """Show the present state."""
        self._head.show()
        self._tune.show_choice()
        model = self.page.session.robot.model
        if model is not None:
            self.page.read_robot(model)
            for panel in self._panels:
                panel.show()
