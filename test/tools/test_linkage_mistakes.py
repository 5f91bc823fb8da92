# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Deliberate mistakes in the documented linkages: ``check`` names element and correction."""

from __future__ import annotations

from collections.abc import Callable
import re

import pytest

Edit = Callable[[str], str]

KNEE, LEG, ANKLE = 'four_bar_knee', 'five_bar', 'push_rod_ankle'
UPPER = '<loop type="point" frame1="upper_tip" frame2="upper_ball"/>'
LOWER = UPPER.replace('upper', 'lower')
ROD = '<loop type="rod" frame1="upper_cross" frame2="upper_ball"/>'


def text(*pairs: str) -> Edit:
    """Return an edit that replaces the first of each pair by the second."""

    def change(urdf: str) -> str:
        for before, after in zip(pairs[::2], pairs[1::2], strict=True):
            assert before in urdf
            urdf = urdf.replace(before, after, 1)
        return urdf

    return change


def joint(name: str, *pairs: str) -> Edit:
    """Return an edit within one joint."""

    def change(urdf: str) -> str:
        element = re.search(rf'<joint name="{name}" type.*?</joint>', urdf, re.DOTALL)
        assert element is not None
        return urdf.replace(element[0], text(*pairs)(element[0]))

    return change


def millimetres(urdf: str) -> str:
    """Return a robot that is a thousand times as large."""

    def convert(found: re.Match[str]) -> str:
        return f'<origin xyz="{" ".join(f"{1e3 * float(each):g}" for each in found[1].split())}"'

    return re.sub('<origin xyz="([^"]*)"', convert, urdf)


#: Robot, edit, the element with the finding by name or number, and a part of the finding. The
#: first ones are 24 mistakes that were drawn before the findings were written, the others are
#: reports of users.
MISTAKES: dict[str, tuple[str, Edit, str, str]] = {
    'axis of a passive joint': (
        LEG, joint('knee_rod', '"0 1 0"', '"1 0 0"'), 'knee_rod', 'expected 0 1 0',
    ),
    'universal joint with one axis twice': (
        ANKLE, joint('lower_rod_x', '"1 0 0"', '"0 1 0"'), 'lower_rod_x', 'expected 1 0 0',
    ),
    'sign of a lever': (
        LEG, joint('shin_lever', '0.06 0 0', '-0.06 0 0'), 'shin_lever', 'expected 0.06 0 0',
    ),
    'sign of a height': (
        ANKLE, joint('upper_motor', '0.24', '-0.24'), 'upper_motor', 'expected 0 0.05 0.24',
    ),
    'everything in millimetres': (ANKLE, millimetres, 'upper_motor', '240 mm are 0.24 m'),
    'a point in centimetres': (
        ANKLE, joint('upper_foot', '0.05 0.05 0', '5 5 0'), 'upper_foot', 'expected 0.05 0.05 0',
    ),
    'limits in degrees': (
        LEG, joint('hip', '"-0.9" upper="0.9"', '"-50" upper="50"'), 'hip', '50 degrees are',
    ),
    'roll, pitch, yaw in degrees': (
        LEG, joint('knee_rod', '0.06 0 0"', '0.06 0 0" rpy="0 0 180"'), 'knee_rod', '180 degrees',
    ),
    'start in degrees': (KNEE, text('position="0"', 'position="20"'), '', '20 degrees are'),
    'crossed frames': (
        ANKLE,
        text('2="upper_ball"', '2="X"', '2="lower_ball"', '2="upper_ball"', '"X"', '"lower_ball"'),
        'loop[2]', "expected 'lower_ball', found 'upper_ball'",
    ),
    'rod in place of its tip': (
        LEG, text('frame1="rod_tip"', 'frame1="rod"'), 'loop', "expected 'rod_tip', found 'rod'",
    ),
    'foot in place of its ball': (
        ANKLE, text('frame2="lower_ball"', 'frame2="foot"'), 'loop[2]', "expected 'lower_ball'",
    ),
    'motor of a passive joint': (
        LEG, text('>knee_crank<', '>knee_rod<'), 'actuator[2]/param', "turns joint 'knee_rod'",
    ),
    'fixed universal joint': (
        ANKLE, joint('lower_rod_x', 'revolute', 'fixed'), 'lower_rod_x', 'revolute about 1 0 0',
    ),
    'mimic in a loop': (
        LEG, joint('knee_rod', '<parent', '<mimic joint="knee"/><parent'), 'knee_rod', '<mimic>',
    ),
    'doubled loop': (ANKLE, text(UPPER, UPPER + '\n' + UPPER), 'loop[2]', 'the same frames'),
    'missing loop': (ANKLE, text(LOWER, ''), 'lower_motor', 'check for a missing <loop>'),
    'rod to the axis of the knee': (
        KNEE, text('frame2="lever"', 'frame2="shin"'), '', 'a frame of a loop on the axis',
    ),
    'commanded passive joint': (
        LEG, text('"knee" role', '"knee_rod" role'), 'transmission/joint[2]', "'knee_rod'",
    ),
    'wrong parent': (
        LEG, joint('knee_rod', 'link="crank"', 'link="body"'), 'knee_crank', 'the <parent>',
    ),
    'prismatic crank': (
        KNEE, joint('knee_crank', 'revolute', 'prismatic'), 'knee_crank', 'revolute about 0 1 0',
    ),
    'rod without a length': (
        ANKLE, text(LOWER, LOWER.replace('point', 'rod')), 'loop[2]', "or type='point'",
    ),
    'point in the first loop': (
        ANKLE, joint('upper_foot', '0.05 0.05', '0.05 0.5'), 'upper_foot', 'expected 0.05 0.05 0',
    ),
    'open loop beside a rod': (
        ANKLE,
        lambda urdf: joint('lower_foot', '-0.05', '-0.5')(text(UPPER, ROD)(urdf)),
        'loop[2]', "loop point 'lower_tip' - 'lower_ball' stays open",
    ),
    'axis of a crank': (
        ANKLE, joint('upper_motor', '"0 1 0"', '"0 0 1"'), 'upper_motor', 'expected 0 1 0',
    ),
    'origin of a rod in millimetres': (
        KNEE, joint('knee', '-0.35', '-350'), 'knee', '-350 mm are -0.35 m',
    ),
    'origin of a hinge in millimetres': (
        LEG, joint('knee', '-0.3"', '-300"'), 'knee', 'expected 0 0 -0.3, found 0 0 -300',
    ),
    'offset in degrees': (
        KNEE, text('<offset>0.0', '<offset>30'), 'actuator', '30 degrees are',
    ),
    'motor of the commanded joint': (
        LEG, text('>knee_crank<', '>knee<'), 'actuator[2]/param', "turns joint 'knee'",
    ),
    'limit out of reach': (
        KNEE, joint('knee', 'upper="0.7"', 'upper="2.5"'), 'knee', 'found -0.7 to 2.5 rad',
    ),
}  # fmt: skip


def find_element(urdf: str, element: str) -> tuple[str, int]:
    """Return path and line of an element of the robot or its transmission."""
    names = re.findall(r'<joint name="(\w+)" type', urdf)
    if element in names:
        line = urdf[: urdf.index(f'<joint name="{element}" type')].count('\n') + 1
        return f'/robot/joint[{names.index(element) + 1}]', line
    path = '/robot/ros2_control/transmission'
    line = urdf[: urdf.index('<transmission')].count('\n') + 1
    for tag, _, number in re.findall(r'(\w+)(\[(\d)\])?', element.removeprefix('transmission/')):
        path += f'/{tag}[{number}]' if number else f'/{tag}'
        for _ in range(int(number or 1)):
            line += urdf.split('\n', line)[-1].split(f'<{tag}')[0].count('\n') + 1
    return path, line


@pytest.mark.parametrize('name', MISTAKES)
def test_check_names_the_element_of_a_mistake_in_a_linkage(name, linkages, tmp_path, run):
    """One finding is at the line of the element, and its text has the cause or the correction."""
    robot, edit, element, words = MISTAKES[name]
    urdf = edit(linkages[robot])
    path = tmp_path / 'robot.urdf'
    path.write_text(urdf, encoding='utf-8')
    place = find_element(urdf, element)
    findings = run('check', path, '--json').json['findings']
    found = [each['message'] for each in findings if (each['path'], each['line']) == place]
    assert any(words in each for each in found), (place, findings)


@pytest.mark.parametrize('robot', [KNEE, LEG, ANKLE])
def test_a_documented_linkage_has_no_probable_mistake(robot, linkages, tmp_path, run):
    """The only finding is the share of the joints' box out of reach, as information."""
    path = tmp_path / 'robot.urdf'
    path.write_text(linkages[robot], encoding='utf-8')
    findings = run('check', path, '--json').json['findings']
    assert [each['severity'] for each in findings] in ([], ['info'])


def test_the_share_of_the_joint_box_out_of_reach_is_information(linkages, tmp_path, run):
    """Wider limits of an ankle have corners that no positions of its motors reach together."""
    urdf = joint('ankle_roll', '"-0.4" upper="0.4"', '"-0.8" upper="0.8"')(linkages[ANKLE])
    path = tmp_path / 'robot.urdf'
    path.write_text(urdf, encoding='utf-8')
    found = run('check', path, '--json').json['findings']
    (share,) = (each['message'] for each in found if each['severity'] == 'info')
    assert 5.0 < float(re.search(r'reaches ([\d.]+)%', share)[1]) < 50.0
