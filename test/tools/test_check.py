# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``."""

from __future__ import annotations

import re

import pytest
from zoo.elements import ros1, ros1_robot

from transmission_bridge.resources import resource

SIMPLE = 'transmission_interface/SimpleTransmission'
ODD = 'elsewhere/StrangeTransmission'
DIFFERENTIAL = 'transmission_interface/DifferentialTransmission'
TOPIC_BASED = resource('urdf', 'topic_based.urdf').read_text(encoding='utf-8')


# -- the document and the text -------------------------------------------------------------------


def test_json_has_exactly_the_documented_shape(run, mixed_robot):
    """The document has the keys of its description, and null for what could not be read."""
    document = run('check', mixed_robot, '--json').json
    strange, broken = document.pop('findings')
    limits = ('joint_limits', 'actuator_limits', 'own_actuator_limits')
    of_loaded = document['transmissions'][0]
    for key, member in zip(limits, ('good', *['good_motor'] * 2), strict=True):
        (each,) = of_loaded.pop(key)
        assert list(each) == ['name', 'lower', 'upper', 'velocity', 'effort', 'units']
        assert each['name'] == member
    assert of_loaded.pop('ratios') == of_loaded.pop('facts') == []
    assert document == {
        'robot': 'r',
        'transmissions': [
            {
                'name': f'{name}_transmission',
                'type': kind,
                'dialect': 'ros_control',
                'line': line,
                'loaded': name == 'good',
                'joints': [{'name': name, 'mechanical_reduction': of_joint} | others],
                'actuators': [{'name': f'{name}_motor', 'mechanical_reduction': ratio} | others],
            }
            for name, line, kind, of_joint, ratio, others in (
                ('good', 6, SIMPLE, 1.0, 100.0, {'role': '', 'offset': 0.0}),
                ('strange', 9, ODD, 1.0, 7.0, {'role': '', 'offset': 0.0}),
                ('broken', 12, SIMPLE, None, None, {'role': None, 'offset': None}),
            )
        ],
        'pass_through': ['direct'],
        'not_bridged': ['strange', 'broken'],
        'without_velocity_limit': document['without_velocity_limit'],
        'units': {},
    }
    message = strange.pop('message')
    assert strange == {'severity': 'error', 'line': 9, 'path': '/robot/transmission[2]'}
    words = "transmission 'strange_transmission' cannot be used: transmission type "
    assert message.startswith(f"{words}'elsewhere/StrangeTransmission' is not installed")
    strange['message'] = message
    assert (broken.keys(), broken['severity'], broken['line']) == (strange.keys(), 'error', 14)
    assert "found '50abc'" in broken['message']


def test_text_names_everything_a_person_looks_for(run, mixed_robot):
    """The text shows every transmission, its members and numbers, and each finding's place."""
    lines = run('check', mixed_robot).expect(1).out.splitlines()
    assert lines[0] == f"robot 'r' in {mixed_robot}"
    assert {
        f'line 6: good_transmission  {SIMPLE} (ros_control)',
        f'line 12: REJECTED broken_transmission  {SIMPLE} (ros_control)',
        '1 joint passed through (no transmission): direct',
        '2 joints not bridged (transmission rejected): strange, broken',
    } <= {*lines}
    assert {
        ('actuator', 'good_motor', '100', '0'),
        ('actuator', 'broken_motor', '?', '?'),
    } <= {tuple(line.split()[:4]) for line in lines}
    assert any(line.startswith(f'{mixed_robot}:14: error: ') for line in lines)
    assert lines[-1] == '1 transmission loaded, 2 rejected, 2 errors, 0 warnings'


def test_names_cannot_control_the_terminal(run, reversed_robot):
    """Control characters and line breaks in names are shown as escapes."""
    text = reversed_robot.read_text().replace('name="m1"', 'name="m&#10;1&#x9b;2J"')
    out = run('check', '-', stdin=text.encode()).out
    assert r'm\n1\x9b2J' in out
    assert '\x9b' not in out
    # Members are in the order of their roles.
    members = [line.split() for line in out.splitlines() if line.startswith(('  joint', '  act'))]
    assert [tuple(words[1:4]) for words in members] == [
        ('zed', '2', '0.5'), ('alpha', '-2', '-0.5'),
        (r'm\n1\x9b2J', '50', '0'), ('m2', '-50', '0'),
    ]  # fmt: skip


def test_text_wraps_at_the_width_of_the_terminal_only(run, save, tmp_path, monkeypatch):
    """On a terminal no line but a table's is longer than it; elsewhere a finding is one line."""
    columns = 60
    path = save(ros1_robot(*(ros1(f'finger_{n}', 'their/Odd') for n in range(40))))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COLUMNS', str(columns))
    shown = run('check', path.name, is_seen=True).expect(1)
    lengths = [len(line) for line in shown.out.splitlines() if 'REDUCTION' not in line]
    assert columns - 15 < max(lengths) <= columns
    plain = run('check', path).out.splitlines()
    assert sum(': error: ' in line for line in plain) == 1
    assert max(map(len, plain)) > 200


# -- findings ------------------------------------------------------------------------------------


def gear(before='', after=''):
    """Return a robot with one transmission of ROS 1, changed by a replacement."""
    return ros1_robot(ros1('j')).replace(before, after)


NONE = 'is not installed; installed: '

# fmt: off
#: Description, and the findings: how bad, where, and what they begin with or have within.
FINDINGS = {
    'no finding': (TOPIC_BASED, []),
    'endless commands': (TOPIC_BASED.replace('threshold">-1<', 'threshold">1e-5<'),
     [('warning', None, 'velocity and effort commands of')]),
    'name of no parameter': (gear('name="j"', 'name="j j"'),
     [('warning', None, "'transmissions.j_transmission.joints.j j.offset' can")]),
    **{theirs: (gear(SIMPLE, theirs), [('error', 2, f"(closest: '{ours}')" if ours else NONE)])
       for theirs, ours in (
           ('transmission_interface/SimpleTransmision', SIMPLE),
           ('transmission_interface/HalfDifferentialTransmission', DIFFERENTIAL),
           ('tabulated', 'transmission_bridge/TabulatedTransmission'),
           ('their/WristTransmission', ''),
       )},
}
# fmt: on


@pytest.mark.parametrize('case', FINDINGS)
def test_a_finding_has_its_level_its_line_and_what_is_wrong(run, case):
    """Errors are exit code 1, and cost what they concern; the text has them all as well."""
    text, findings = FINDINGS[case]
    result = run('check', '-', '--json', stdin=text.encode())
    found = [each for each in result.json['findings'] if each['severity'] != 'info']
    for each, (severity, line, message) in zip(found, findings, strict=True):
        assert each['severity'] == severity
        assert line in (None, each['line'])
        assert message in each['message']
    errors = [severity for severity, *_ in findings if severity == 'error']
    assert result.code == int(bool(errors))
    told = run('check', '-', stdin=text.encode()).expect(result.code)
    assert sum(': error: ' in line for line in told.out.splitlines()) == len(errors)


def test_joints_without_a_velocity_limit_are_listed(run):
    """All that can be sent a position, in one line; a joint that only turns is not."""
    text = re.sub('velocity="(2.0|0.1)"', '', TOPIC_BASED).encode()
    title = '2 joints without a velocity limit (max_step does not check them): '
    run('check', '-', stdin=text).expect(out=f'{title}shoulder, left_finger\n')
    document = run('check', '-', '--json', stdin=text).json
    assert document['without_velocity_limit'] == ['shoulder', 'left_finger']


def test_equal_findings_are_one(run):
    """Findings that differ in names and lines only are one with a count and all the lines."""
    fingers = (ros1(f'finger_{n}', 'their/FourBarTransmission') for n in range(2))
    ears = (ros1(f'ear_{n}', SIMPLE, 'much') for n in range(3))
    data = ros1_robot(*fingers, ros1('nose', 'their/SimpleTransmision'), *ears).encode()
    result = run('check', '-', stdin=data)
    of_fingers, of_nose, of_ears = (x for x in result.out.splitlines() if ': error: ' in x)
    type_name = 'transmission_interface/FourBarLinkageTransmission'
    for line, begin, closest, end in (
        (of_fingers, '-:2: error: 2 times: ', type_name, '[lines 2, 5]'),
        (of_nose, '-:8: error: ', SIMPLE, '[/robot/transmission[3]]'),
    ):
        assert line.startswith(f'{begin}transmission ')
        assert f"is not installed (closest: '{closest}')" in line
        assert line.endswith(end)
    assert of_ears.startswith('-:13: error: 3 times: ')
    assert "found 'much'" in of_ears
    assert of_ears.endswith(' [lines 13, 16, 19]')
    assert result.out.endswith('0 transmissions loaded, 6 rejected, 6 errors, 0 warnings\n')
    findings = run('check', '-', '--json', stdin=data).json['findings']
    assert sum(each['severity'] == 'error' for each in findings) == 6
