# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The examples my_robot and servo_arm are those of docs/first_robot.md, and they work."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import textwrap

from documents import DOCUMENTS, python, ROOT
from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import state_path
from sts_bus import Bus, PortThread, Servo, TORQUE

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.drivers import find_block_drivers, list_encoder_periods
from transmission_bridge.messages.records import MessageLayoutTable
from transmission_bridge.tools.robot import BridgeSetup

FIRST = DOCUMENTS['first_robot.md']
MY_ROBOT, ARM = ROOT / 'examples' / 'my_robot', ROOT / 'examples' / 'servo_arm'
LICENCE = ('Copyright 2026 The transmission_bridge authors', 'SPDX-License-Identifier: Apache-2.0')


@pytest.mark.parametrize(('path', 'header'), [
    ('my_robot/my_robot/my_robot.py', '# {}\n#\n# {}\n'),
    ('my_robot/launch/my_robot.launch.py', '# {}\n#\n# {}\n'),
    ('my_robot/urdf/my_robot.urdf', '<!-- {} -->\n<!-- {} -->\n'),
])  # fmt: skip
def test_a_file_is_that_of_the_document(path, header):
    """They have one text, except for the licence."""
    file = ROOT / 'examples' / path
    text = file.read_text(encoding='utf-8')
    assert text.count(header.format(*LICENCE)) == 1
    assert FIRST.files[file.name] == text.replace(header.format(*LICENCE), '')


# -- my_robot ------------------------------------------------------------------------------------


def test_another_ratio_fails_the_test_of_my_robot(tmp_path):
    """With pytest and this package alone (colcon runs it as it is). The URDF has no finding."""
    source = shutil.copytree(MY_ROBOT, tmp_path / 'my_robot')
    urdf = source / 'urdf' / 'my_robot.urdf'
    assert RobotTransmissions(load_description(urdf)).findings == ()
    urdf.write_text(urdf.read_text('utf-8').replace('-50.0', '-60.0'), encoding='utf-8')
    result = python('-m', 'pytest', 'test/test_my_robot_urdf.py', cwd=source)
    assert '2 failed, 3 passed' in result.stdout


# -- servo_arm -----------------------------------------------------------------------------------

ROBOT = RobotTransmissions(load_description(ARM / 'servo_arm.urdf', strict=True))
UNITS = DriverUnits(ROBOT)

#: Ticks per turn, and what each servo reads while its joint is at zero, in their order.
TURN, AT_ZERO = 4096, (2048, 2048, 2048, 2048, 512, 1536)


def ticks_at(joints):
    """Return what the servos read at positions of the joints, counted on beyond a turn."""
    return UNITS.of_drivers(ROBOT.joint_to_actuator('position', joints), 0)


def test_nothing_is_odd_in_servo_arm():
    """It has the document's transmission, no finding but of ids, and a turn of each servo."""
    xml = FIRST.snippets('xml')
    (snippet,) = [text for text in xml if text.startswith('<transmission name="shoulder_lift')]
    assert textwrap.indent(snippet, '    ') in (ARM / 'servo_arm.urdf').read_text(encoding='utf-8')
    assert {(each.severity, each.found) for each in ROBOT.findings} == {
        ('info', repr(str(number))) for number in range(1, 7)
    }
    assert ROBOT.joint_names == tuple(name.removesuffix('_servo') for name in ROBOT.actuator_names)
    drivers = find_block_drivers(ROBOT, {})
    assert drivers['servo_arm'][1].read_numbers('id') == [1, 2, 3, 4, 5, 6]
    periods = dict.fromkeys(ROBOT.actuator_names, float(TURN))
    assert list_encoder_periods(drivers) == pytest.approx(periods)
    # Commands use them without a parameter file, which overrides them.
    setup = BridgeSetup(BridgeOptions(wrap_period=('gripper_servo=8192',)), {}, '', b'')
    assert setup.periods(ROBOT) == pytest.approx(periods | {'gripper_servo': 8192.0})


def test_servos_read_what_the_comments_say_at_joint_zero():
    """Offsets and signs are those of the comments, and the lift alone is reversed."""
    ticks = ticks_at(np.zeros(6))
    np.testing.assert_allclose(ticks, AT_ZERO, rtol=1e-12)
    signs = dict(zip(ROBOT.joint_names, np.sign(np.diag(ROBOT.jacobian(ticks))), strict=True))
    assert signs == {**dict.fromkeys(ROBOT.joint_names, 1.0), 'shoulder_lift': -1.0}


def test_the_command_of_the_document_finds_the_offsets_from_the_file_of_lerobot(tmp_path):
    """It finds every offset but that of the roll, which was not swept."""
    shutil.copytree(ARM, tmp_path / 'arm')
    urdf = tmp_path / 'arm' / 'servo_arm.urdf'
    unknown = re.sub('<offset>.*?</offset>', '<offset>0.0</offset>', urdf.read_text('utf-8'))
    urdf.write_text(unknown, encoding='utf-8')
    lines = [line for text in FIRST.snippets('bash') for line in text.splitlines()]
    (line,) = [each for each in lines if '--lerobot' in each]
    result = python('-m', *shlex.split(line), cwd=urdf.parent)
    assert "'wrist_roll' is not known" in result.stdout + result.stderr
    written = load_description(urdf.parent / 'my_arm.urdf')
    for spec in ROBOT.description.transmissions:
        offset = written.transmission(spec.name).joints[0].offset
        known = spec.name != 'wrist_roll_transmission'
        assert abs(offset - known * spec.joints[0].offset) < math.tau / TURN, spec.name


@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6))
def test_every_joint_is_known_at_the_first_reading(message, shares):
    """Wherever the arm is switched on, the limits of the joints decide the turns."""
    limits = [joint.limits for joint in ROBOT.description.joints if joint.is_scalar]
    lower, upper = np.array([(each.lower, each.upper) for each in limits]).T
    joints = lower + np.array(shares) * (upper - lower)
    states = state_path(ROBOT, wrap_period=dict.fromkeys(ROBOT.actuator_names, TURN))
    readings = np.rint(ticks_at(joints)) % TURN
    record = message(dict(zip(ROBOT.actuator_names, readings, strict=True)))
    layout = MessageLayoutTable().find_layout(record.names, record.lengths)
    states.merge_message('driver', layout, record, (1, 0))
    found = states.compute_joint_motion()[0]
    np.testing.assert_allclose(found, joints, rtol=0.0, atol=math.pi / TURN)


@pytest.mark.ros
def test_servo_arm_moves_over_the_seam(folder, start_script, start_bridge, peer):
    """It is known at start; the wrist passes from 4095 to 0 without a jump of the joint."""
    pytest.importorskip('rustypot', reason='rustypot is not installed')
    port = folder / 'servo_bus'
    text = (ARM / 'servo_arm.urdf').read_text(encoding='utf-8')
    (folder / 'servo_arm.urdf').write_text(text.replace('/dev/ttyACM0', str(port)), 'utf-8')
    servos = [Servo(k, 4000 if k == 5 else 2048, counts_turns=k == 5) for k in range(1, 7)]
    joints = peer.listen('joint_states')
    with PortThread(Bus(servos), port):
        # A busy machine stands still for longer than half a second, which is a warning otherwise.
        bridge = start_bridge('-p', 'command_timeout:=60.0', urdf='servo_arm.urdf')
        peer.spin_until(lambda: joints, 'an arm that is known')
        assert set(joints[0].names) == set(ROBOT.joint_names)
        command = ('command.py', 'wrist_roll=1.0', 'shoulder_lift=0.5', 'gripper=0.3')
        # It gives up after ten seconds, which may not be enough then.
        peer.spin_until(
            lambda: start_script(*command).ended()[::2] == (0, ''), 'an arm that was moved'
        )
        goals = {2: 2048 - 0.5 * TURN / math.tau, 5: TURN + 512 + 1.0 * TURN / math.tau}
        peer.spin_until(
            lambda: all(abs(servos[k - 1].at - goal) <= 1.0 for k, goal in goals.items()),
            'servos at their goals',
        )
        rolls = [
            dict(zip(each.names, each.position, strict=True))['wrist_roll'] for each in joints
        ]
        np.testing.assert_allclose(rolls[0], (4000 - TURN - 512) / TURN * math.tau, atol=1e-9)
        assert np.ptp(rolls) < 2.0
        assert bridge.stop() == 0
    # Afterwards a busy machine may lose answers of the bus, or be slow.
    assert 'WARN' not in bridge.output.partition('active: ')[0]
    assert not any(servo.table[TORQUE] for servo in servos)
