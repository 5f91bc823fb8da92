# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge tune``: serves the page."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
import socket

from transmission_bridge.tools.cli import Console, Exit, optional, UsageError
from transmission_bridge.tools.files import check_output
from transmission_bridge.tools.robot import bridge_setup, read_robot_file
from transmission_bridge.tools.tune.robots import BridgeRobot, FileRobot
from transmission_bridge.tools.tune.server import open_server, RequestGuard
from transmission_bridge.tools.tune.session import PageSettings, TuneSession
from transmission_bridge.tools.tune.shapes import Packages
from transmission_bridge.tools.tune.view import PageView

_THIS_MACHINE = '127.0.0.1'

#: All addresses of this machine.
_EVERYWHERE = ('0.0.0.0', '::')

#: Leaves some higher ports to try if the first one is in use.
_MOST_PORT = 64_000


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    optional('viser', 'tune')
    if options.output:
        check_output(options.output, force=options.force)
    if not 0 < options.port <= _MOST_PORT:
        raise UsageError(f'--port: expected a number from 1 to {_MOST_PORT}, found {options.port}')
    host = options.host or _THIS_MACHINE
    name = socket.gethostname() if host in _EVERYWHERE else host
    settings = PageSettings(
        may_change=options.host is None or options.allow_changes,
        output=options.output or '',
        force=options.force,
        packages=Packages(options.package_path),
    )
    robot = _open_robot(options)
    gate = RequestGuard(name)
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


def _open_robot(options: argparse.Namespace) -> FileRobot | BridgeRobot:
    if options.file is None:
        if options.params_file:
            raise UsageError('--params-file needs a FILE: the bridge has its own')
        namespace, _, node = options.node.rpartition('/')
        return BridgeRobot(namespace, node)
    data, setup = read_robot_file(options.file), bridge_setup(options)
    original, _ = replace(setup, numbers={}).robot(data)
    return FileRobot(data, original, setup.numbers)
