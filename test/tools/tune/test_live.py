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
from transmission_bridge.tools.tune.live import BridgeRobot
from transmission_bridge.tools.tune.model import NotPossible

ARM = Path(resource('urdf', 'arm.urdf'))
SERVOS = Path(__file__).parents[3] / 'examples' / 'servo_arm' / 'servo_arm.urdf'

pytestmark = pytest.mark.ros

OFFSET = '<offset>0.25</offset>'
PAN = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan'


@pytest.fixture
def robot(harness):
    """Return the robot of the bridge in the domain of the tests."""
    robot = BridgeRobot('', 'transmission_bridge')
    yield robot
    robot.close()


def spin_until(robot, condition, seconds: float = 30.0) -> None:
    """Let the robot hear until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, (robot.find_problem(), robot.list_warnings())
        robot.spin_for(0.05)


def joint(robot, name: str) -> float:
    """Return where a joint is read."""
    return float(robot.read_state().joints[0][robot.model.robot.joint_names.index(name)])


def test_states_numbers_refusals_and_commands_of_a_bridge(robot, live_arm, peer):
    """What the page shows is what the bridge has; a refusal leaves everything as it was."""
    spin_until(robot, lambda: robot.model is not None)
    spin_until(robot, lambda: np.isfinite(robot.read_state().joints[0]).all())
    # Asked again where the first question was lost.
    spin_until(robot, lambda: not robot.find_problem() and robot.list_warnings() == ())
    assert joint(robot, 'shoulder_pan') == 0.25
    answers: list[str] = []
    values = {f'{PAN}.offset': 0.5, f'{PAN}.mechanical_reduction': -101.0}
    robot.apply_values(values, answers.append)
    robot.apply_values({**values, f'{PAN}.mechanical_reduction': 0.0}, answers.append)
    spin_until(robot, lambda: len(answers) == 2)
    assert answers[0] == ''
    assert 'expected a number other than zero, found 0.0' in answers[1]
    spin_until(robot, lambda: robot.model.find_value(f'{PAN}.mechanical_reduction') == -101.0)
    spin_until(robot, lambda: joint(robot, 'shoulder_pan') == 0.5)
    # Somebody else's change.
    assert peer.set_parameters({f'{PAN}.offset': -0.1}).successful
    spin_until(robot, lambda: robot.model.find_value(f'{PAN}.offset') == -0.1)
    with pytest.raises(NotPossible):
        robot.model.find_step_values(is_back=True)  # it is not a step of the page
    # A motor is unknown after the timeout of its driver, and known again when it is heard.
    spin_until(robot, lambda: joint(robot, 'shoulder_pan') == -0.1)
    position = live_arm.positions.pop('shoulder_pan_motor')
    spin_until(robot, lambda: np.isnan(joint(robot, 'shoulder_pan')))
    assert np.isfinite(joint(robot, 'elbow'))
    live_arm.positions = {**live_arm.positions, 'shoulder_pan_motor': position}
    spin_until(robot, lambda: joint(robot, 'shoulder_pan') == -0.1)
    # A command is seen by what the bridge sends to the motors, whatever made it do so.
    place = robot.model.robot.joint_names.index('shoulder_pan')
    assert not robot.read_state().commanded.any()
    live_arm.commanded = 'shoulder_pan'
    spin_until(robot, lambda: robot.read_state().commanded[place])
    assert robot.read_state().commanded.sum() == 1
    live_arm.commanded = ''
    spin_until(robot, lambda: not robot.read_state().commanded.any())


@pytest.mark.parametrize('sent', [signal.SIGINT, signal.SIGKILL])
def test_a_bridge_that_dies_is_waited_for(robot, live_arm, sent):
    """
    Within seconds it is gone, and so is all that was known of the robot.

    Its numbers are asked anew, those that it lost are known, and what was asked of the dead one
    is refused.
    """
    spin_until(robot, lambda: robot.model is not None and not robot.find_problem())
    spin_until(robot, lambda: np.isfinite(robot.read_state().joints[0]).all())
    model, answers = robot.model, []
    robot.apply_values({f'{PAN}.offset': 0.75}, answers.append)
    spin_until(robot, lambda: model.find_value(f'{PAN}.offset') == 0.75)
    if sent == signal.SIGKILL:
        os.kill(live_arm.bridge.pid, signal.SIGSTOP)
        robot.apply_values({f'{PAN}.offset': 0.25}, answers.append)
    os.kill(live_arm.bridge.pid, sent)
    spin_until(robot, lambda: 'is not there' in robot.find_problem(), 12.0)
    spin_until(robot, lambda: len(answers) == 1 + (sent == signal.SIGKILL))
    assert {*answers[1:]} <= {'the bridge does not answer', 'the bridge has gone'}
    del answers[1:]
    assert np.isnan(robot.read_state().joints[0]).all()
    robot.apply_values({f'{PAN}.offset': 0.5}, answers.append)
    assert answers == ['', 'the bridge has gone']
    live_arm.start()
    spin_until(robot, lambda: not robot.find_problem() and robot.list_warnings() == ())
    spin_until(robot, lambda: np.isfinite(robot.read_state().joints[0]).all())
    assert model.lost_values == {f'{PAN}.offset': 0.75}
    robot.apply_values(model.lost_values, answers.append)
    spin_until(robot, lambda: len(answers) == 3 and not model.lost_values)
    assert answers[2] == ''
    assert robot.model is model
    assert live_arm.value(f'{PAN}.offset'.removeprefix('transmissions.')) == 0.75


def test_another_description_is_another_robot(robot, live_arm, peer):
    """An offset of its calibration mark is not one of tuning, and nothing to be saved."""
    live_arm.start(calibration_offsets='true')
    spin_until(robot, lambda: robot.model is not None)
    model, node = robot.model, 'transmission_bridge'
    assert peer.change_state('deactivate', node)
    assert peer.change_state('cleanup', node)
    text, joint = ARM.read_text(encoding='utf-8'), '<joint name="shoulder_pan" type="revolute">'
    assert OFFSET in text
    assert joint in text
    other = text.replace(OFFSET, '').replace(joint, f'{joint}<calibration rising="0.125"/>')
    assert peer.set_parameters({'robot_description': other}).successful
    for transition, before in (('configure', 'unconfigured'), ('activate', 'inactive')):
        if peer.state(node) == before:  # else it has started by itself
            peer.change_state(transition, node)
    spin_until(robot, lambda: robot.model is not model)
    spin_until(robot, lambda: robot.model.find_value(f'{PAN}.offset') == 0.125)
    assert robot.model.find_changes() == {}


def test_commands_of_a_driver_that_wraps_are_shown_in_its_turn(robot, live_arm):
    """The motor is sent to where its encoder wraps to, the joint to where it was commanded."""
    live_arm.start(wrap_period='[shoulder_pan_motor=6.25]', unknown_turn='first')
    spin_until(robot, lambda: robot.model is not None)
    for position in (1.0, 3.0, -2.25):
        live_arm.positions = {**live_arm.positions, 'shoulder_pan_motor': position}
        reached = 0.25 + (position % 6.25) / 101.0
        spin_until(robot, lambda: math.isclose(joint(robot, 'shoulder_pan'), reached))
    live_arm.target, live_arm.commanded = joint(robot, 'shoulder_pan'), 'shoulder_pan'
    place = robot.model.robot.joint_names.index('shoulder_pan')
    spin_until(robot, lambda: np.isfinite(robot.read_state().target[place]))
    assert math.isclose(robot.read_state().target[place], live_arm.target)


def test_a_reversed_servo_is_read_in_the_turn_of_the_bridge(robot, live_arm):
    """The numbers of a question are those of the row above it, and the log has no error."""
    live_arm.start(SERVOS.read_text(encoding='utf-8'), wrap_period='[shoulder_pan_servo=4096]')
    spin_until(robot, lambda: robot.model is not None)
    names = robot.model.robot.actuator_names
    live_arm.positions = {**dict.fromkeys(names, 2048.0), 'shoulder_pan_servo': 2300.0}

    def is_read_at(position: float) -> bool:
        state, maps = robot.read_state(), robot.model.robot
        rows = state.joints[0], maps.actuator_to_joint('position', state.actuators[0])
        return all(math.isclose(row[0], position, abs_tol=1e-9) for row in rows)

    angle = (2300.0 - 2048.0) / 4096.0 * math.tau
    spin_until(robot, lambda: is_read_at(angle))
    reversal = robot.model.find_reversal('shoulder_pan', robot.read_state().actuators[0])
    answers: list[str] = []
    robot.apply_values(reversal, answers.append)
    spin_until(robot, lambda: is_read_at(-angle))
    assert answers == ['']
    # The bridge logs what its next diagnostics find.
    received = robot.report.received
    spin_until(robot, lambda: robot.report.received > received + 1.0)
    assert 'beyond its limits' not in live_arm.bridge.output
