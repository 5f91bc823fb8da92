# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What determines a mechanism, and how it is written."""

from __future__ import annotations

import re

from documents import ROOT
from lxml import etree
import pytest

import transmission_bridge as tb
from transmission_bridge.tools.loops.writing import _new_name

PAIRS = {'tip': '_1', 'ball': '_2', 'pin': '_2', 'horn': '_1', 'lever': '_2'}


def close_frames(text, *names):
    """Return a URDF without transmissions, with frames renamed to closing frames."""
    text = re.sub(r' *<ros2_control.*</ros2_control>\n', '', text, flags=re.DOTALL)
    for name in names:
        side = next(end for part, end in PAIRS.items() if name.endswith(part))
        stem = name.partition('_')[0] if len(names) > 2 else 'knee'
        text = re.sub(rf'link(="|\sname="){name}"', rf'link\1closing_{stem}{side}"', text)
    return text


@pytest.fixture
def ankle(save, linkages):
    """Return the file of the push-rod ankle with closing frames."""
    names = 'upper_tip', 'upper_ball', 'lower_tip', 'lower_ball'
    return save(close_frames(linkages['push_rod_ankle'], *names), 'ankle.urdf')


def test_joints_without_effort_are_passive_and_choices_are_listed(run, ankle):
    """The ankle has four joints with effort and two motions: the motors are a choice."""
    result = run('loops', ankle, '--json')
    assert (result.code, result.err) == (1, '')
    (mechanism,) = result.json['mechanisms']
    assert mechanism['choice'] == {
        'option': '--drive',
        'number': 2,
        'among': ['upper_motor', 'ankle_pitch', 'ankle_roll', 'lower_motor'],
    }
    assert (mechanism['rank'], mechanism['mobility']) == (6, 2)
    assert [loop['rank'] for loop in mechanism['loops']] == [3, 3]
    assert max(max(loop['gap']) for loop in mechanism['loops']) < 1e-9


def test_commanded_joints_follow_from_the_motors(run, ankle, tmp_path):
    """The branch without motors is commanded; elements and comments of the URDF stay."""
    out = tmp_path / 'out.urdf'
    motors = 'upper_motor=left', 'lower_motor'
    run('loops', ankle, '--drive', *motors, '--output', out).expect()
    robot = tb.RobotTransmissions(tb.load_description(out, strict=True))
    (binding,) = robot.bindings
    assert robot.actuator_names == ('left', 'lower_motor_motor')
    assert [joint.name for joint in binding.spec.joints] == ['ankle_pitch', 'ankle_roll']
    before, after = (
        etree.tostring(etree.parse(path), method='c14n').decode() for path in (ankle, out)
    )
    assert after.startswith(before.removesuffix('\n\n</robot>'))
    assert run('check', out).code == 0
    run('loops', ankle, '--drive', *motors, '--output', out).expect(2, err='--force')


def test_a_block_that_has_the_joints_gets_the_transmission(run, ankle, tmp_path):
    """Its joints are what is commanded, its plugin stays, and so do the line ends."""
    block = """  <ros2_control name="mine" type="system">
    <hardware><plugin>my/Robot</plugin></hardware>
    <joint name="upper_motor"><command_interface name="position"/></joint>
    <joint name="ankle_roll"><command_interface name="position"/></joint>
  </ros2_control>
</robot>"""
    ankle.write_bytes(ankle.read_text().replace('</robot>', block).replace('\n', '\r\n').encode())
    out = tmp_path / 'out.urdf'
    result = run('loops', ankle, '--drive', 'upper_motor', 'lower_motor', '--output', out)
    assert 'REPLACE_ME' not in result.expect().out
    data = out.read_bytes()
    assert data.count(b'\n') == data.count(b'\r\n')
    (made,) = tb.load_description(data, strict=True).transmissions
    assert made.block == 'mine'
    assert [joint.name for joint in made.joints] == ['upper_motor', 'ankle_roll']


def test_wrong_choices_are_refused(refuse, ankle):
    """Names of the command line are of the URDF, and independent."""
    drive = '--drive', 'upper_motor', 'lower_motor'
    refuse("--drive: expected a joint of this URDF, found 'uper_motor'", 'loops', ankle,
           '--drive', 'uper_motor')  # fmt: skip
    refuse("found 'ankle_rol' (closest: 'ankle_roll'", 'loops', ankle, '--command', 'ankle_rol')
    refuse('expected 2 independent joints', 'loops', ankle, *drive, '--command', 'ankle_roll')


def test_a_robot_drawn_open_gets_a_start_and_a_rounded_one_a_tolerance(
    run, save, tmp_path, linkages
):
    """Both are read from the assembly, so that the result closes without a further step."""
    text, out = close_frames(linkages['five_bar'], 'rod_tip', 'shin_pin'), tmp_path / 'out.urdf'
    loops = 'closed_loop: [[closing_knee_1, closing_knee_2]]\nname_mot: [hip, knee_crank]\n'
    opened = text.replace('xyz="0 0 -0.38"', 'xyz="0 0 -0.36" rpy="0.0001 0 0"')
    for robot, kind, words in (
        (opened.replace('rpy="0.0001 0 0"', ''), '3d', '<start joint="knee"'),
        (opened, '6d', '<param name="tolerance">'),
    ):
        options = ('--from', save(f"{loops}type: ['{kind}']\n", 'robot.yaml'))
        options += ('--command', 'hip', 'knee', '--output', out, '--force')
        run('loops', save(robot), *options).expect()
        assert words in out.read_text()
        assert run('check', out).code == 0


def test_the_example_of_the_documents_works(run, tmp_path):
    """Its commands write a knee that follows the motor, and leave no XML to write by hand."""
    path, out = tmp_path / 'exported_knee.urdf', tmp_path / 'driven_knee.urdf'
    path.write_bytes((ROOT / 'examples' / 'linkages' / 'exported_knee.urdf').read_bytes())
    words = 'choose at most 1 with --drive JOINT=MOTOR ...: knee_crank, knee'
    run('loops', path).expect(1, words)
    assert run('loops', path, '--drive', 'knee_crank=knee_motor', '--output', out).code == 0
    assert run('check', '--strict', out).code == 0
    way = ('--to', 'joint', '--interface', 'position', '--json')
    assert run('map', out, *way, 'knee_motor=0.2').json['knee'] == pytest.approx(0.16, abs=0.02)


def test_a_new_name_has_letters_digits_and_underscores():
    """Also if the first one is taken."""
    taken = {'a_b'}
    assert [_new_name('a b', taken) for _ in range(2)] == ['a_b_2', 'a_b_3']
