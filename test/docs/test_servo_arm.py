# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The arm of six serial servos: its files are those of the document, and it runs as it says."""

from __future__ import annotations

import math
from pathlib import Path
import shutil
import textwrap

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.messages.joint_state import LayoutTable

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'servo_arm'
ROBOT = RobotTransmissions(load_description(EXAMPLE / 'servo_arm.urdf', strict=True))
UNITS = DriverUnits(ROBOT)
LIMITS = [joint.limits for joint in ROBOT.robot.joints if joint.is_scalar]

#: Ticks per turn.
TURN = 4096

#: What each servo reads while its joint is at zero, in the order of the joints.
AT_ZERO = (2048, 2048, 2048, 2048, 512, 1536)

#: Ticks of servos at shoulder_lift 0.5 and wrist_roll 1.0, counted on beyond 4095.
GOAL = {
    'shoulder_lift_servo': 2048 - 0.5 * TURN / math.tau,
    'wrist_roll_servo': TURN + 512 + 1.0 * TURN / math.tau,
}


def test_its_files_are_those_of_the_document(documents):
    """One text but for the licence; the transmission of the document is in the description."""
    for name in ('servo_driver.py', 'command.py'):
        text = (EXAMPLE / name).read_text(encoding='utf-8').partition('Apache-2.0\n')[2]
        assert documents.files('first_robot.md')[name] == text
    (snippet,) = [
        block.text
        for block in documents.blocks('first_robot.md')
        if block.language == 'xml' and block.text.startswith('<transmission name="shoulder_lift')
    ]
    description = (EXAMPLE / 'servo_arm.urdf').read_text(encoding='utf-8')
    assert textwrap.indent(snippet, '    ') in description


def test_nothing_is_odd_in_it():
    """It loads without a finding, and every servo has its period."""
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    assert ROBOT.findings == ()
    assert ROBOT.joint_names == tuple(name.removesuffix('_servo') for name in ROBOT.actuator_names)
    parameters = yaml.safe_load((EXAMPLE / 'servo_arm.yaml').read_text(encoding='utf-8'))
    entries = parameters['/**']['ros__parameters']['wrap_period']
    periods = dict(each.split('=') for each in entries)
    assert periods == dict.fromkeys(ROBOT.actuator_names, str(TURN))


def test_servos_read_what_the_comments_say_at_joint_zero():
    """Offsets and signs are those of the comments, and the lift alone is reversed."""
    ticks = UNITS.of_drivers(ROBOT.joint_to_actuator('position', np.zeros(6)), 0)
    np.testing.assert_allclose(ticks, AT_ZERO, rtol=1e-12)
    signs = np.sign(np.diag(ROBOT.jacobian(ticks)))
    assert dict(zip(ROBOT.joint_names, signs, strict=True)) == {
        name: -1.0 if name == 'shoulder_lift' else 1.0 for name in ROBOT.joint_names
    }


@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6))
def test_every_joint_is_known_at_the_first_reading(message, shares):
    """Wherever the arm is switched on, the limits of the joints decide the turns."""
    lower, upper = np.array([(each.lower, each.upper) for each in LIMITS]).T
    joints = lower + np.array(shares) * (upper - lower)
    ticks = np.rint(UNITS.of_drivers(ROBOT.joint_to_actuator('position', joints), 0)) % TURN
    states = state_path(ROBOT, wrap_period=dict.fromkeys(ROBOT.actuator_names, TURN))
    record = message(dict(zip(ROBOT.actuator_names, ticks, strict=True)))
    states.merge_message(
        'driver', LayoutTable().find_layout(record.names, record.lengths), record, (1, 0)
    )
    found = states.find_joint_motion()[0]
    np.testing.assert_allclose(found, joints, rtol=0.0, atol=math.pi / TURN)


@pytest.mark.ros
def test_the_arm_moves_over_the_seam(harness, folder, start_script, start_bridge, peer):
    """It is known at start; the wrist passes from 4095 to 0 without a jump of the joint."""
    for path in EXAMPLE.iterdir():
        shutil.copy(path, folder)
    driver = start_script('servo_driver.py')
    joints, ticks = peer.listen('joint_states'), peer.listen('actuator_states')
    bridge = start_bridge('--params-file', folder / 'servo_arm.yaml', urdf='servo_arm.urdf')
    peer.spin_until(lambda: joints, 'an arm that is known')
    assert set(joints[0].names) == set(ROBOT.joint_names)
    command = start_script('command.py', 'wrist_roll=1.0', 'shoulder_lift=0.5', 'gripper=0.3')
    _, errors = command.communicate(timeout=harness.PATIENCE)
    assert (command.returncode, errors) == (0, '')

    def arrived():
        at = dict(zip(ticks[-1].names, ticks[-1].position, strict=True)) if ticks else {}
        return at and all(abs(at[name] - goal) < 1.0 for name, goal in GOAL.items())

    peer.spin_until(arrived, 'servos at their goals')
    rolls = [dict(zip(each.names, each.position, strict=True))['wrist_roll'] for each in joints]
    np.testing.assert_allclose(rolls[0], (4000 - TURN - 512) / TURN * math.tau, atol=1e-9)
    assert np.ptp(rolls) < 2.0
    assert bridge.stop() == 0
    assert 'WARN' not in bridge.output
    assert driver.poll() is None
