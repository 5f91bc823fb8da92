# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A page that is served by the command itself, a bridge, and a browser that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
import re
import shutil
import threading

import pytest

from transmission_bridge.resources import resource

#: Names that Debian and others give to the browser.
_BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')

#: Milliseconds for anything on the page: a software renderer shares two processors with nodes.
PATIENCE = 60_000.0

ARM = Path(resource('urdf', 'arm.urdf'))

#: The motors of the arm, in the order of the driver below.
MOTORS = (
    *('shoulder_pan_motor', 'forearm_roll_motor', 'shoulder_lift_motor', 'elbow_motor'),
    *('wrist_left_motor', 'wrist_right_motor'),
)


@pytest.fixture(scope='session')
def chromium():
    """Return a browser; tests are skipped where there is none."""
    pytest.importorskip('viser', reason='viser is not installed (extra tune)')
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.skip('no chromium on this machine: apt-get install chromium')
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=[
                *('--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
                # A foreign name for this machine, as DNS rebinding makes it.
                '--host-resolver-rules=MAP elsewhere.example 127.0.0.1',
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def context(chromium, request):
    """Return a browser without cookies."""
    context = chromium.new_context(viewport={'width': 1000, 'height': 700})
    context.set_default_timeout(PATIENCE)
    # Ten pictures a second are enough to test by: without a graphics card they are what costs.
    context.add_init_script(
        'const now = window.requestAnimationFrame.bind(window);'
        'window.requestAnimationFrame = draw => setTimeout(() => now(draw), 100);'
    )
    if request.node.get_closest_marker('drawn') is None:
        # All of the page runs but the last step of a picture: the panel is what is looked at, and
        # the first picture of a robot keeps a software renderer busy for many seconds.
        context.add_init_script(
            "for (const shape of ['Arrays', 'Elements'])"
            " for (const many of ['', 'Instanced'])"
            ' WebGL2RenderingContext.prototype[`draw${shape}${many}`] = () => {};'
        )
    yield context
    context.close()


class Served:
    """
    A page that is served.

    :ivar address: Its address with the code.
    """

    def __init__(self, process, context) -> None:
        self._context = context
        self.process = process
        process.wait_for('Ctrl-C ends')
        self.address = re.search(r'open (\S+)', process.output)[1]
        self.port = int(re.search(r':(\d+)/', self.address)[1])

    def open(self, *, wait_for: str = 'offset [rad]'):
        """Return a page of the browser when it shows this text."""
        page = self._context.new_page()
        page.goto(self.address)
        page.get_by_text(wait_for, exact=True).first.wait_for()
        return page


@pytest.fixture
def serve(harness, context):
    """Return a function that starts the command and returns :class:`Served`."""
    processes = []

    def start(*arguments) -> Served:
        process = harness.Process(
            'transmission_bridge', ['tune', '--port', str(9000), *map(str, arguments)]
        )
        processes.append(process)
        return Served(process, context)

    yield start
    for process in processes:
        process.clean_up()
        print(process.output)


class LiveArm:
    """The example arm: a bridge as a process, and a driver that says where its motors are."""

    def __init__(self, harness, peer, folder: Path) -> None:
        self._harness, self._peer = harness, peer
        self._path = folder / 'bridge.yaml'
        self.positions = dict.fromkeys(MOTORS, 0.0)
        self._publisher = peer.node.create_publisher(
            harness.JointState, 'actuator_states', harness.RELIABLE
        )
        self._commands = peer.node.create_publisher(
            harness.JointState, 'joint_commands', harness.RELIABLE
        )
        #: The joint that is commanded, and where to; by default to stand still.
        self.commanded, self.target = '', math.nan
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._drive)
        self._thread.start()
        self.bridge = None
        self.start()

    def start(self, description: str = '', **options: str) -> None:
        """Start the bridge, again where it has ended, with options as they stand in YAML."""
        if self.bridge is not None:
            self.bridge.clean_up()
        text = json.dumps(description or ARM.read_text(encoding='utf-8'))
        file = self._harness.parameter_file(
            self._path, {'robot_description': text, 'autostart': 'true', **options}
        )
        self.bridge = self._harness.Process(
            'transmission_bridge.ros.bridge_main', ['--ros-args', '--params-file', file]
        )
        self.bridge.wait_for('active')

    def _drive(self) -> None:
        while not self._end.wait(0.02):
            self._publisher.publish(
                self._harness.JointState(
                    name=list(self.positions), position=list(self.positions.values())
                )
            )
            if self.commanded:
                stands = math.isnan(self.target)
                what = {'velocity': [0.0]} if stands else {'position': [self.target]}
                self._commands.publish(self._harness.JointState(name=[self.commanded], **what))

    def value(self, name: str) -> float:
        """Return the value of a number in the bridge."""
        name = f'transmissions.{name}'
        return self._peer.parameters([name])[name]

    def wait_for(self, name: str, wanted: float) -> None:
        """Return when a number in the bridge has a value."""
        self._peer.spin_until(
            lambda: math.isclose(self.value(name), wanted, rel_tol=1e-9), f'{name} = {wanted}'
        )

    def close(self) -> None:
        """End everything."""
        self._end.set()
        self._thread.join()
        self.bridge.clean_up()
        print(self.bridge.output)


@pytest.fixture
def live_arm(harness, peer, tmp_path) -> Iterator[LiveArm]:
    """Return the example arm, running."""
    arm = LiveArm(harness, peer, tmp_path)
    yield arm
    arm.close()
