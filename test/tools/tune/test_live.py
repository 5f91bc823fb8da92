# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot behind a bridge, as the page gets it, without a page."""

from __future__ import annotations

import math
import os
from pathlib import Path
import signal
import time

import numpy as np
import pytest

from transmission_bridge.resources import resource
from transmission_bridge.tools.tune.model import TuneNotPossible
from transmission_bridge.tools.tune.robots import TuneBridgeRobot

ARM = resource('urdf', 'arm.urdf')
SERVOS = Path(__file__).parents[3] / 'examples' / 'servo_arm' / 'servo_arm.urdf'
PAN = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan'
OFFSET, REDUCTION = f'{PAN}.offset', f'{PAN}.mechanical_reduction'

pytestmark = pytest.mark.ros


class Robot(TuneBridgeRobot):
    """The robot of the bridge in the domain of the tests, which hears while it waits."""

    def __init__(self, peer) -> None:
        super().__init__('transmission_bridge')
        self._peer, self.answers = peer, []

    def until(self, condition) -> None:
        """Return when a condition holds."""
        self._peer.spin_until(lambda: self.spin_for(0.05) or condition(), 'what is waited for')

    def until_known(self) -> None:
        """Return when all is known; what was asked is asked again where it was lost."""
        self.until(lambda: self.model and np.isfinite(self.read_state().joints[0]).all())
        self.until(lambda: self.describe_state() == ('', 'care'))

    def apply(self, **values: float) -> None:
        """Set numbers of the first joint."""
        named = {f'{PAN}.{name}': value for name, value in values.items()}
        self.apply_values(named, self.answers.append)

    @property
    def pan(self) -> tuple[float, bool, float]:
        """Where the first joint is read, whether it is commanded, and where to."""
        state, place = self.read_state(), self.model.robot.joint_names.index('shoulder_pan')
        return state.joints[0][place], state.commanded[place], state.target[place]


@pytest.fixture
def robot(peer):
    """Return the robot of the bridge."""
    robot = Robot(peer)
    yield robot
    robot.close()


def test_states_numbers_and_refusals_of_a_bridge(robot, live_arm, peer):
    """What the page shows is what the bridge has; a refusal leaves everything as it was."""
    robot.until_known()
    assert robot.pan[0] == 0.25
    robot.apply(offset=0.5, mechanical_reduction=-101.0)
    robot.apply(offset=0.5, mechanical_reduction=0.0)
    robot.until(lambda: len(robot.answers) == 2)
    assert robot.answers[0] == ''
    assert 'expected a number other than zero, found 0.0' in robot.answers[1]
    robot.until(lambda: robot.model.find_value(REDUCTION) == -101.0)
    robot.until(lambda: robot.pan[0] == 0.5)
    # Somebody else's change is not a step of the page.
    assert peer.set_parameters({OFFSET: -0.1}).successful
    robot.until(lambda: robot.model.find_value(OFFSET) == -0.1)
    with pytest.raises(TuneNotPossible):
        robot.model.list_step_values()
    # A motor is unknown after the timeout of its driver, and known again when it is heard.
    robot.until(lambda: robot.pan[0] == -0.1)
    motors = live_arm.positions
    live_arm.positions = {k: v for k, v in motors.items() if k != 'shoulder_pan_motor'}
    robot.until(lambda: np.isnan(robot.pan[0]))
    assert np.isnan(robot.read_state().joints[0]).sum() == 1
    live_arm.positions = motors
    robot.until(lambda: robot.pan[0] == -0.1)
    # A command is seen by what the bridge sends to the motors, whatever made it do so.
    assert not robot.read_state().commanded.any()
    live_arm.commanded = 'shoulder_pan'
    robot.until(lambda: robot.pan[1])
    assert robot.read_state().commanded.sum() == 1
    live_arm.commanded = ''
    robot.until(lambda: not robot.read_state().commanded.any())


@pytest.mark.parametrize('sent', [signal.SIGINT, signal.SIGKILL])
def test_a_bridge_that_dies_is_waited_for(robot, live_arm, sent):
    """
    Within seconds it is gone, and so is all that was known of the robot.

    Its numbers are asked anew, Undo sets those that it lost, and what was asked of the
    dead one is refused. A calibration goes on with the new one.
    """
    robot.until_known()
    model, answers = robot.model, robot.answers
    robot.begin_calibration()
    guide = robot.calibration
    robot.until(lambda: not guide.step.obstacle)
    robot.apply(offset=0.75)
    # The event of the change may come before the answer.
    robot.until(lambda: answers == [''] and robot.model.find_value(OFFSET) == 0.75)
    if sent == signal.SIGKILL:
        os.kill(live_arm.bridge.pid, signal.SIGSTOP)
        robot.apply(offset=0.25)
    os.kill(live_arm.bridge.pid, sent)
    begin = time.monotonic()
    robot.until(lambda: 'is not there' in robot.describe_state()[0])
    assert time.monotonic() - begin < 12.0
    robot.until(lambda: len(answers) == 1 + (sent == signal.SIGKILL))
    assert {*answers[1:]} <= {'the bridge does not answer', 'the bridge has gone'}
    del answers[1:]
    assert np.isnan(robot.read_state().joints[0]).all()
    robot.apply(offset=0.5)
    assert answers == ['', 'the bridge has gone']
    live_arm.start()
    robot.until_known()
    assert model.list_step_values() == {OFFSET: 0.75}
    robot.apply(offset=0.75)
    robot.until(lambda: len(answers) == 3 and model.find_value(OFFSET) == 0.75)
    assert answers[2] == ''
    assert (robot.model, robot.calibration) == (model, guide)
    # The silence ended.
    robot.until(lambda: not guide.step.obstacle)
    live_arm.wait_for(OFFSET, 0.75)


def test_another_description_is_another_robot(robot, live_arm, peer):
    """An offset of its description is not one of tuning, and nothing to be saved."""
    live_arm.start()
    robot.until(lambda: robot.model is not None)
    model = robot.model
    assert peer.change_state('deactivate')
    assert peer.change_state('cleanup')
    before, after = '<offset>0.25</offset>', '<offset>0.125</offset>'
    other = ARM.read_text(encoding='utf-8').replace(before, after)
    assert peer.set_parameters({'robot_description': other}).successful
    for transition, before in (('configure', 'unconfigured'), ('activate', 'inactive')):
        if peer.state() == before:  # else it has started by itself
            peer.change_state(transition)
    robot.until(lambda: robot.model is not model)
    robot.until(lambda: robot.model.find_value(OFFSET) == 0.125)
    assert robot.model.list_changes() == {}


def test_a_reversed_servo_is_read_in_the_turn_of_the_bridge(robot, live_arm):
    """The numbers of a question are those of the row above it, and the log has no error."""
    # With a driver on topics.
    urdf = SERVOS.read_text(encoding='utf-8')
    urdf = urdf.replace('transmission_bridge/SerialServos', 'a/Topic')
    live_arm.start(urdf, wrap_period='[shoulder_pan_servo=4096]')
    robot.until(lambda: robot.model is not None)
    names = robot.model.robot.actuator_names
    live_arm.positions = {**dict.fromkeys(names, 2048.0), 'shoulder_pan_servo': 2300.0}

    def is_read_at(position: float) -> bool:
        state, maps = robot.read_state(), robot.model.robot
        rows = state.joints[0], maps.actuator_to_joint('position', state.actuators[0])
        return all(math.isclose(row[0], position, abs_tol=1e-9) for row in rows)

    angle = (2300.0 - 2048.0) / 4096.0 * math.tau
    robot.until(lambda: is_read_at(angle))
    reversal = robot.model.compute_reversal('shoulder_pan', robot.read_state().actuators[0])
    robot.apply_values(reversal, robot.answers.append)
    robot.until(lambda: is_read_at(-angle))
    assert robot.answers == ['']
    # The bridge logs what its next diagnostics find.
    received = robot.report.received
    robot.until(lambda: robot.report.received > received + 1.0)
    assert 'beyond its limits' not in live_arm.bridge.output
