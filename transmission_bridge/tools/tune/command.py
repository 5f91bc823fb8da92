# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge tune``: serves pages, each computed anew for every update.

A panel stores only its user's choices and input. The page is computed from these, from the current
numbers and from the state of the robot. The session makes a :class:`PageView` for each browser,
and calls it in the thread of :func:`run`. Users rely on the options; widgets and texts are free
to change.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
import socket
from typing import Any

import numpy as np

from transmission_bridge.errors import shortened
from transmission_bridge.tools.cli import Console, Exit, import_optional, UsageError
from transmission_bridge.tools.files import check_output_path
from transmission_bridge.tools.robot import read_bridge_setup, read_robot_file
from transmission_bridge.tools.tune import texts
from transmission_bridge.tools.tune.calibrate_panel import CalibratePanel
from transmission_bridge.tools.tune.robots import TuneBridgeRobot, TuneFileRobot
from transmission_bridge.tools.tune.save_panel import SavePanel
from transmission_bridge.tools.tune.server import open_server, PageRequestGuard
from transmission_bridge.tools.tune.session import Page, PageSettings, TuneSession
from transmission_bridge.tools.tune.shapes import MeshPackages
from transmission_bridge.tools.tune.texts import format_line, format_note
from transmission_bridge.tools.tune.tune_panel import TunePanel

#: Largest number of joints in the tab of joints.
_MOST_JOINTS = 300


class PageView:
    """
    The panels of one browser; the session makes it and calls its public methods.

    :meth:`refresh_widgets` writes model and state of the page before the panels read them.

    :param client: viser's handle of the browser.
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
        self._robot = self.page.make_widgets(robot)
        #: In this order: *Tune* replaces the preview of the page, *Calibrate* may replace that.
        self._panels = self._tune, CalibratePanel(self.page, calibrate), SavePanel(self.page, save)
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
            n_joints = len(model.robot.joint_names)
            text = self.page.format_bars('joint', range(min(n_joints, _MOST_JOINTS)))
            n_more = n_joints - _MOST_JOINTS
            text += format_note(f'and {n_more} more' if n_more > 0 else '', 'dim')
            self._joints.add_text(text)
            self._joints.show_changes()
            add_widget, is_degrees = self._robot.add_widget, self.page.units.degrees
            self._robot.add_text(''.join(format_note(*note) for note in self._list_notes()))
            add_widget('button_group', 'view', self._reset_view, options=('Reset view',))
            add_widget('checkbox', 'degrees', self._tune.set_degrees, value=is_degrees)
            self._robot.show_changes()
            for panel in self._panels:
                panel.show()

    def _show_head(self) -> None:
        """Show in one line what the robot is, and what the bridge finds."""
        session = self.page.session
        text, kind = session.robot.describe_state()
        if kind != 'bad' and not session.settings.may_change:
            text, kind = f'Read-only page.   {text}', 'dim'
        self._head.add_text((texts.GONE if kind == 'bad' else '') + format_line(text, kind))
        self._head.show_changes()

    def _list_notes(self) -> list[tuple[str, str]]:
        model, scene = self.page.model, self.page.session.scene
        robot, changed = model.robot, len(model.list_changes())
        lost = np.flatnonzero(np.isnan(self.page.state.joints[0]))
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
        if self.page.session.scene is not None:
            self.page.session.scene.reset_view(self.page.client)


#: Default of ``--host``: other machines cannot open the page.
_THIS_MACHINE = '127.0.0.1'

#: All addresses of this machine.
_EVERYWHERE = ('0.0.0.0', '::')

#: Leaves some higher ports to try if the first one is in use.
_MOST_PORT = 64_000


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command until Ctrl-C.

    :raises UsageError: If an option, the output or the robot cannot be used.
    """
    import_optional('viser', 'tune')
    if options.output:
        check_output_path(options.output, force=options.force)
    if not 0 < options.port <= _MOST_PORT:
        raise UsageError(f'--port: expected a number from 1 to {_MOST_PORT}, found {options.port}')
    host = options.host or _THIS_MACHINE
    name = socket.gethostname() if host in _EVERYWHERE else host
    settings = PageSettings(
        may_change=options.host is None or options.allow_changes,
        output=options.output or '',
        force=options.force,
        packages=MeshPackages(options.package_path),
    )
    robot = _open_robot(options)
    gate = PageRequestGuard(name)
    server = open_server(gate, host, options.port, 'transmission_bridge tune')
    try:
        session = TuneSession(server, robot, settings, PageView)
        port = server.get_port()
        place = f'[{name}]:{port}' if ':' in name else f'{name}:{port}'
        console.out.line(f'open http://{place}/?code={gate.code}')
        if name != _THIS_MACHINE:
            what = 'change the robot' if settings.may_change else 'view the robot'
            console.out.line(f'everyone with this address can {what}; nothing is encrypted')
        console.out.line('Ctrl-C ends')
        console.out.flush()
        with suppress(KeyboardInterrupt):  # the usual end
            session.run()
    finally:
        server.stop()
        robot.close()
    return Exit.OK


def _open_robot(options: argparse.Namespace) -> TuneFileRobot | TuneBridgeRobot:
    if options.file is None:
        if options.params_file:
            raise UsageError('--params-file needs a FILE: the bridge has its own')
        return TuneBridgeRobot(options.node)
    data, setup = read_robot_file(options.file), read_bridge_setup(options)
    original, _ = replace(setup, numbers={}).robot(data)
    return TuneFileRobot(data, original, setup.numbers)
