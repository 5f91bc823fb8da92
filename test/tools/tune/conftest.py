# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example arm behind a bridge that runs."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
import threading

import pytest

from transmission_bridge.resources import resource

#: The motors of the arm, in the order of the driver below.
MOTORS = (
    *('shoulder_pan_motor', 'forearm_roll_motor', 'shoulder_lift_motor', 'elbow_motor'),
    *('wrist_left_motor', 'wrist_right_motor'),
)


class LiveArm:
    """A bridge as a process, and a driver that says where its motors are."""

    def __init__(self, harness, peer, folder: Path) -> None:
        self._harness, self._peer = harness, peer
        self._path = folder / 'bridge.yaml'
        self.positions = dict.fromkeys(MOTORS, 0.0)
        self._states, self._commands = (
            peer.node.create_publisher(harness.JointState, topic, harness.RELIABLE)
            for topic in ('actuator_states', 'joint_commands')
        )
        #: The joint that is commanded to stand still.
        self.commanded = ''
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._drive)
        self._thread.start()
        self.bridge = None
        self.start()

    def start(self, description: str = '', **options: str) -> None:
        """Start the bridge, again where it has ended, with options as they stand in YAML."""
        if self.bridge is not None:
            self.bridge.clean_up()
        text = json.dumps(description or resource('urdf', 'arm.urdf').read_text(encoding='utf-8'))
        options = {'robot_description': text, 'autostart': 'true', **options}
        self.bridge = self._harness.Process(
            'transmission_bridge.ros.main bridge_node',
            ['--ros-args', '--params-file', self._harness.parameter_file(self._path, options)],
            env=self._harness.KILLED,
        )
        self.bridge.wait_for('active')

    def _drive(self) -> None:
        message = self._harness.JointState
        while not self._end.wait(0.02):
            names, positions = [*self.positions], [*self.positions.values()]
            self._states.publish(message(name=names, position=positions))
            if self.commanded:
                self._commands.publish(message(name=[self.commanded], velocity=[0.0]))

    def wait_for(self, name: str, wanted: float) -> None:
        """Return when a number in the bridge has a value."""
        self._peer.spin_until(
            lambda: math.isclose(self._peer.parameters([name])[name], wanted, rel_tol=1e-9),
            f'{name} = {wanted}',
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
