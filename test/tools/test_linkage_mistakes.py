# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Deliberate mistakes in the documented linkages: ``check`` names the element and the cause."""

from __future__ import annotations

import re

import pytest
from zoo.four_joints import read_table

KNEE, LEG, ANKLE = 'four_bar_knee', 'five_bar', 'push_rod_ankle'
UPPER = '<loop type="point" frame1="upper_tip" frame2="upper_ball"/>'
LOWER = UPPER.replace('upper', 'lower')

#: The mistake, its robot, the joint in which a text is replaced (else anywhere), the text and its
#: replacement, the element of the finding by the name of a joint (else that joint) or its place in
#: the transmission (``.``: itself), and a part of the finding. The first ones are mistakes that
#: were drawn before the findings were written, those from the first loop on are reports of users.
MISTAKES = read_table("""
axis of a passive joint | five_bar | knee_rod | "0 1 0" -> "1 0 0" | . | block the driven joints
centimetres | push_rod_ankle | upper_foot | 0.05 0.05 0 -> 5 5 0 | | 5 mm are 0.005 m
limits in degrees | five_bar | hip | "-0.9" upper="0.9" -> "-50" upper="50" | | 50 degrees are
yaw in degrees | five_bar | knee_rod | 0.06 0 0" -> 0.06 0 0" rpy="0 0 180" | | 180 degrees
start in degrees | four_bar_knee | | position="0" -> position="20" | . | 20 degrees are
motor of a rod | five_bar | | >knee_crank -> >knee_rod | actuator[2]/param | turns joint 'knee_rod'
fixed universal joint | push_rod_ankle | lower_rod_x | revolute -> fixed | . | cannot be used
rod to the axis | four_bar_knee | | 2="lever -> 2="shin | . | a frame of a loop on the axis
passive role | five_bar | | "knee" role -> "knee_rod" role | transmission/joint[2] | 'knee_rod'
wrong parent | five_bar | knee_rod | link="crank" -> link="body" | knee_crank | the <parent>
prismatic crank | four_bar_knee | knee_crank | revolute -> prismatic | . | joints with other axes
offset in degrees | four_bar_knee | | <offset>0.0 -> <offset>30 | actuator | 30 degrees are
limit out of reach | four_bar_knee | knee | upper="0.7" -> upper="2.5" | | found -0.7 to 2.5 rad
""")

#: What becomes of the loops of the ankle, and the finding.
# fmt: off
LOOPS = {
    'doubled': ([(UPPER, f'{UPPER}\n{UPPER}')], 'loop[2]', 'the same frames'),
    'missing': ([(LOWER, '')], 'lower_motor', 'check for a missing <loop>'),
    'a rod without a length': ([(LOWER, LOWER.replace('point', 'rod'))],
                               'loop[2]', "or type='point'"),
}
# fmt: on


def edited(urdf, before, after, within=''):
    """Return a description with a text replaced, in a joint or anywhere."""
    part = urdf
    if within:
        part = re.search(rf'<joint name="{within}" type.*?</joint>', urdf, re.DOTALL)[0]
    assert before in part
    return urdf.replace(part, part.replace(before, after, 1))


@pytest.fixture
def find(run):
    """Return a function that gives the findings of ``check``."""
    return lambda urdf: run('check', '-', '--json', stdin=urdf.encode()).json['findings']


def find_element(urdf, element):
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


def check_place(urdf, findings, element, words):
    """Check that a finding at the line of an element has the cause or the correction."""
    place = find_element(urdf, element)
    found = [each['message'] for each in findings if (each['path'], each['line']) == place]
    assert any(words in each for each in found), (place, findings)


@pytest.mark.parametrize('row', MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_in_a_joint_or_a_name_is_found(row, linkages, find):
    """One finding is at the line of the element, and its text has the cause or the correction."""
    _, robot, within, edit, element, words = row
    urdf = edited(linkages[robot], *edit.split(' -> '), within)
    check_place(urdf, find(urdf), element or within, words)


@pytest.mark.parametrize('mistake', LOOPS)
def test_a_mistake_in_the_loops_is_found(mistake, linkages, find):
    """One finding is at the line of the loop or of the joint that it leaves alone."""
    edits, element, words = LOOPS[mistake]
    urdf = linkages[ANKLE]
    for edit in edits:
        urdf = edited(urdf, *edit)
    check_place(urdf, find(urdf), element, words)


def test_everything_in_millimetres_is_named(linkages, find):
    """A robot that is a thousand times as large closes its loops."""

    def convert(found):
        return f'<origin xyz="{" ".join(f"{1e3 * float(each):g}" for each in found[1].split())}"'

    urdf = re.sub('<origin xyz="([^"]*)"', convert, linkages[ANKLE])
    check_place(urdf, find(urdf), 'upper_motor', '240 mm are 0.24 m')


@pytest.mark.parametrize('robot', [KNEE, LEG, ANKLE])
def test_a_documented_linkage_has_no_probable_mistake(robot, linkages, find):
    """The only finding is the share of the joints' box out of reach, as information."""
    assert [each['severity'] for each in find(linkages[robot])] in ([], ['info'])


def test_the_share_of_the_joint_box_out_of_reach_is_information(linkages, find):
    """Wider limits of an ankle have corners that no positions of its motors reach together."""
    limits = '"-0.4" upper="0.4"', '"-0.8" upper="0.8"'
    findings = find(edited(linkages[ANKLE], *limits, within='ankle_roll'))
    (share,) = (each['message'] for each in findings if each['severity'] == 'info')
    assert 5.0 < float(re.search(r'reaches ([\d.]+)%', share)[1]) < 50.0
