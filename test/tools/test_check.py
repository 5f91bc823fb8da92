# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``."""

from __future__ import annotations

import json
import os
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.resources import resource

SIMPLE = 'transmission_interface/SimpleTransmission'

# Where we read what ros2_control leaves unread: attributes for numbers, and roles.
BETTER = {'r2_attr_reduction.urdf', 'r2_diff_xml_swapped.urdf', 'r2_four_roles_reversed.urdf'}


def _transmissions(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each['name']: each for each in document['transmissions']}


def test_json_has_exactly_the_documented_shape(run, mixed_robot):
    """The document has the keys of its description, and null for what could not be read."""
    document = run('check', mixed_robot, '--json').json
    assert set(document) == {
        'robot', 'transmissions', 'pass_through', 'without_velocity_limit', 'units', 'findings',
    }  # fmt: skip
    assert document['units'] == {}
    assert document['robot'] == 'mixed'
    assert document['pass_through'] == ['direct']
    assert document['transmissions'] == [
        {
            'name': 'good_transmission',
            'type': SIMPLE,
            'dialect': 'ros_control',
            'line': 7,
            'loaded': True,
            'joints': [{'name': 'good', 'role': '', 'mechanical_reduction': 1.0, 'offset': 0.0}],
            'actuators': [
                {'name': 'good_motor', 'role': '', 'mechanical_reduction': 100.0, 'offset': 0.0}
            ],
        },
        {
            'name': 'strange_transmission',
            'type': 'elsewhere/StrangeTransmission',
            'dialect': 'ros_control',
            'line': 12,
            'loaded': False,
            'joints': [
                {'name': 'strange', 'role': '', 'mechanical_reduction': 1.0, 'offset': 0.0}
            ],
            'actuators': [
                {'name': 'strange_motor', 'role': '', 'mechanical_reduction': 7.0, 'offset': 0.0}
            ],
        },
        {
            'name': 'broken_transmission',
            'type': SIMPLE,
            'dialect': 'ros_control',
            'line': 17,
            'loaded': False,
            'joints': [
                {'name': 'broken', 'role': None, 'mechanical_reduction': None, 'offset': None}
            ],
            'actuators': [
                {
                    'name': 'broken_motor',
                    'role': None,
                    'mechanical_reduction': None,
                    'offset': None,
                }
            ],
        },
    ]
    assert [finding['severity'] for finding in document['findings']] == ['error', 'error']
    for finding in document['findings']:
        assert set(finding) == {'severity', 'line', 'path', 'message'}
    strange, broken = document['findings']
    assert (strange['line'], strange['path']) == (12, '/robot/transmission[2]')
    assert strange['message'] == (
        "transmission 'strange_transmission' of unknown type 'elsewhere/StrangeTransmission' "
        "cannot be used: no installed type is similar, see 'transmission_bridge plugins'"
    )
    assert broken['line'] == 20
    assert "found '50abc'" in broken['message']


def test_members_stand_in_the_order_of_their_roles(run, reversed_robot):
    """Joints and actuators are listed by role, whatever their order in the text."""
    (transmission,) = run('check', reversed_robot, '--json').json['transmissions']
    for side, names in (('joints', ['zed', 'alpha']), ('actuators', ['m1', 'm2'])):
        assert [member['name'] for member in transmission[side]] == names
    assert [member['mechanical_reduction'] for member in transmission['actuators']] == [50, -50]
    assert [member['offset'] for member in transmission['joints']] == [0.5, -0.5]


def test_text_names_everything_a_person_looks_for(run, mixed_robot):
    """The text shows every transmission, its members and numbers, and each finding's place."""
    result = run('check', mixed_robot)
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[0] == f"robot 'mixed' in {mixed_robot}"
    assert f'line 7: good_transmission  {SIMPLE} (ros_control)' in lines
    assert f'line 17: REJECTED broken_transmission  {SIMPLE} (ros_control)' in lines
    assert '  actuator  good_motor     -           100       0' in lines
    assert '  actuator  broken_motor   ?             ?       ?' in lines
    assert '1 joint passed through (no transmission): direct' in lines
    assert '2 joints not bridged (transmission rejected): strange, broken' in lines
    assert any(line.startswith(f'{mixed_robot}:20: error: ') for line in lines)
    assert lines[-1] == '1 transmission loaded, 2 rejected, 2 errors, 0 warnings'


def test_the_table_fits_a_terminal_and_its_columns_are_aligned(run, reversed_robot):
    """Rows of members stay within 80 columns and end their numbers in the same one."""
    lines = run('check', reversed_robot).out.splitlines()
    heading = next(line for line in lines if 'REDUCTION' in line)
    members = [line for line in lines if line.startswith(('  joint', '  actuator'))]
    assert len(members) == 4
    assert {len(line) for line in members} == {len(heading)}
    assert len(heading) <= 80
    assert max(map(len, lines[1:])) <= 120
    end = heading.index('REDUCTION') + len('REDUCTION')
    assert [line[:end].split()[-1] for line in members] == ['2', '-2', '50', '-50']


def test_a_clean_robot_exits_with_zero(run, reversed_robot):
    """No findings, exit code 0, and the summary says so."""
    result = run('check', reversed_robot)
    assert (result.code, result.err) == (0, '')
    assert result.out.endswith('1 transmission loaded, 0 errors, 0 warnings\n')


@pytest.mark.parametrize('name', ['r2_camel_case.urdf', 'r2_act_reduction.urdf'])
def test_strict_makes_ignored_data_an_error(run, edge_files, tmp_path, name: str):
    """A warning about data that nothing uses exits with 0, and with 1 in strict mode."""
    # A ratio that nobody reads is no more than a warning where it says nothing new.
    path = tmp_path / name
    text = next(each for each in edge_files if each.name == name).read_text(encoding='utf-8')
    path.write_text(re.sub(r'(?<=eduction>)[0-9.]+(?=<)', '1', text), encoding='utf-8')
    lenient, strict = run('check', path, '--json'), run('check', path, '--json', '--strict')
    assert (lenient.code, strict.code) == (0, 1)
    assert [finding['severity'] for finding in lenient.json['findings']] == ['warning']
    assert [finding['severity'] for finding in strict.json['findings']] == ['error']
    assert lenient.json['transmissions'] == strict.json['transmissions']


@pytest.mark.parametrize('name', ['r2_camel_case.urdf', 'r2_act_reduction.urdf'])
def test_a_ratio_that_nobody_reads_is_an_error(run, edge_files, name: str):
    """Where ros2_control runs at 1:1, the transmission is refused and its joint not bridged."""
    path = next(path for path in edge_files if path.name == name)
    result = run('check', path)
    assert result.code == 1
    assert '1 joint not bridged (transmission rejected): j1' in result.out
    assert '<mechanical_reduction> inside <joint name="j1">' in ' '.join(result.out.split())


def test_joints_that_a_misnamed_transmission_costs_are_listed(run, tmp_path):
    """Joints of a block whose transmission names no joint that exists are shown as not bridged."""
    path = tmp_path / 'robot.urdf'
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="hip" type="continuous"><parent link="a"/><child link="b"/></joint>'
        '<ros2_control name="hw" type="system"><hardware><plugin>p</plugin></hardware>'
        '<joint name="hip"><command_interface name="position"/></joint>'
        '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
        '<joint name="hipp" role="joint1"/><actuator name="m" role="actuator1"/></transmission>'
        '</ros2_control></robot>',
        encoding='utf-8',
    )
    result = run('check', path)
    assert result.code == 1
    assert 'not bridged (transmission rejected): hipp, hip' in result.out
    mapped = run('map', path, '--to', 'actuator', '--interface', 'position', 'hip=1')
    assert mapped.code != 0
    assert "transmission 't' may refer to it" in mapped.err


def test_strict_keeps_counting_after_the_first_error(run, mixed_robot):
    """Strict mode reports every finding, not only the first."""
    assert len(run('check', mixed_robot, '--json', '--strict').json['findings']) == 2


def test_the_edge_cases_end_with_a_verdict(run, edge_files):
    """Each of the peers' edge cases is checked without traceback; the code fits the findings."""
    assert len(edge_files) == 69
    for path in edge_files:
        text, document = run('check', path), run('check', path, '--json')
        has_errors = any(each['severity'] == 'error' for each in document.json['findings'])
        assert text.code == document.code == int(has_errors), path.name
        assert text.err == document.err == ''
        assert 'Traceback' not in text.out


def test_what_the_peers_load_is_loaded_or_has_a_finding(run, edge_files, edge_results):
    """A known type that a peer loads is loaded with the same numbers, or refused aloud."""
    compared = refused = 0
    different = set()
    for path in edge_files:
        document = run('check', path, '--json').json
        ours = _transmissions(document)
        blamed = {each['line'] for each in document['findings'] if each['severity'] == 'error'}
        for theirs in _loaded(edge_results[path.name]):
            mine = ours[theirs['name']]
            if mine['loaded']:
                numbers = _numbers(mine)
                if numbers != {key: theirs['loaded'][key] for key in numbers}:
                    different.add(path.name)
                compared += 1
            else:
                assert mine['line'] in blamed, (path.name, theirs['name'])
                refused += 1
    assert different == BETTER
    assert compared >= 40
    assert refused > 0


def _loaded(node: Any) -> list[dict[str, Any]]:
    """Return every transmission in a peer's result that it loaded."""
    if isinstance(node, list):
        return [each for item in node for each in _loaded(item)]
    if not isinstance(node, dict):
        return []
    if isinstance(node.get('loaded'), dict):
        return [node]
    return [each for item in node.values() for each in _loaded(item)]


def _numbers(transmission: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers in the form of the peers' results."""
    joints, actuators = transmission['joints'], transmission['actuators']
    if transmission['type'] == SIMPLE:
        source = actuators if transmission['dialect'] == 'ros_control' else joints
        return {
            'reduction': source[0]['mechanical_reduction'],
            'offset': joints[0]['offset'],
        }
    return {
        'actuator_reduction': [each['mechanical_reduction'] for each in actuators],
        'joint_reduction': [each['mechanical_reduction'] for each in joints],
        'joint_offset': [each['offset'] for each in joints],
    }


@pytest.mark.parametrize('text', ['', '<robot', 'hello', '<html/>', '<robot>&xxe;</robot>'])
def test_what_is_no_robot_is_an_error_finding(run, tmp_path: Path, text: str):
    """A file that cannot be parsed exits with 1, and the finding says why."""
    path = tmp_path / 'not_a_robot.urdf'
    path.write_text(text)
    result = run('check', path, '--json')
    assert result.code == 1
    assert (result.json['robot'], result.json['transmissions']) == ('', [])
    (finding,) = result.json['findings']
    assert finding['severity'] == 'error'
    assert run('check', path).out.startswith(f'{path}:')


def test_an_unreadable_file_is_a_usage_error(run, tmp_path: Path):
    """A missing file, a directory and an impossible name exit with 2 and one sentence."""
    for name in (tmp_path / 'missing.urdf', tmp_path, 'nul\0byte'):
        result = run('check', name)
        assert (result.code, result.out) == (2, '')
        assert result.err.startswith('transmission_bridge: cannot read ')
        assert result.err.count('\n') == 1


def test_an_endless_file_is_refused(run):
    """A file without end is read as far as a description may be long."""
    result = run('check', '/dev/zero')
    assert result.code == 1
    assert 'too long' in result.out


def test_a_pipe_is_read_and_one_without_a_writer_is_given_up(
    run, monkeypatch, reversed_robot, tmp_path: Path
):
    """``check <(xacro robot.xacro)`` works; what nobody writes to exits with 2 and a sentence."""
    process = subprocess.run(
        [
            *('bash', '-c', '"$1" -m transmission_bridge check --json <(cat "$2")'),
            *('bash', sys.executable, str(reversed_robot)),
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b'')
    assert json.loads(process.stdout) == run('check', reversed_robot, '--json').json
    monkeypatch.setattr('transmission_bridge.description.source.PIPE_TIMEOUT', 0.1)
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    result = run('check', pipe)
    sentence = f"cannot read '{pipe}': no data came from this pipe after 0.1 s"
    assert (result.code, result.err) == (2, f'transmission_bridge: {sentence}\n')


def test_standard_input_is_read_for_a_dash(run, reversed_robot):
    """A dash stands for standard input, as in ``xacro robot.urdf.xacro | ... check -``."""
    data = reversed_robot.read_bytes()
    expected = run('check', reversed_robot, '--json').json
    assert run('check', '-', '--json', stdin=data).json == expected


def test_an_alias_reads_a_strange_type_as_an_installed_one(run, mixed_robot):
    """A transmission of an unknown type loads through an alias of the same mechanism."""
    result = run(
        'check', mixed_robot, '--json', '--alias', f'elsewhere/StrangeTransmission={SIMPLE}'
    )
    strange = _transmissions(result.json)['strange_transmission']
    assert strange['loaded']
    assert strange['type'] == 'elsewhere/StrangeTransmission'


def test_an_alias_of_another_mechanism_is_refused(run, mixed_robot):
    """An alias with other numbers of joints and actuators is an error finding."""
    alias = 'elsewhere/StrangeTransmission=transmission_interface/DifferentialTransmission'
    result = run('check', mixed_robot, '--json', '--alias', alias)
    assert not _transmissions(result.json)['strange_transmission']['loaded']
    assert any('expected 2 joints' in each['message'] for each in result.json['findings'])


def test_an_alias_for_a_type_that_is_not_there_is_a_warning(run, reversed_robot):
    """A mistyped alias does not pass in silence."""
    result = run('check', reversed_robot, '--json', '--alias', f'no/Such={SIMPLE}')
    (finding,) = result.json['findings']
    assert (result.code, finding['severity']) == (0, 'warning')
    assert "alias for 'no/Such'" in finding['message']


def test_a_name_that_cannot_be_a_parameter_is_a_warning(run, reversed_robot):
    """What the node would only log when it is configured is seen before."""
    text = reversed_robot.read_text().replace('name="alpha"', 'name="al pha"')
    reversed_robot.write_text(text, encoding='utf-8')
    result = run('check', reversed_robot, '--json')
    names = [
        each['message'].split("'")[1]
        for each in result.json['findings']
        if 'cannot be a parameter' in each['message']
    ]
    assert (result.code, len(names)) == (0, 2)
    assert all('.joints.al pha.' in name for name in names)
    assert {each['severity'] for each in result.json['findings']} == {'warning'}


@pytest.mark.parametrize('aliases', [['a'], ['=b'], ['a='], ['a=b', 'a=c']])
def test_an_alias_of_another_form_is_a_usage_error(run, reversed_robot, aliases: list[str]):
    """An alias that is no pair, or is given twice, exits with 2."""
    arguments = [word for alias in aliases for word in ('--alias', alias)]
    result = run('check', reversed_robot, *arguments)
    assert (result.code, result.out) == (2, '')
    assert '--alias' in result.err


def test_names_cannot_control_the_terminal(run, reversed_robot):
    """Control characters and line breaks in names are shown as escapes."""
    text = reversed_robot.read_text().replace('name="m1"', 'name="m&#10;1&#x9b;2J"')
    reversed_robot.write_text(text, encoding='utf-8')
    out = run('check', reversed_robot).out
    assert r'm\n1\x9b2J' in out
    assert '\x9b' not in out
    assert len(out.splitlines()) == len(run('check', '-', stdin=text.encode()).out.splitlines())


# -- findings that are equal ---------------------------------------------------------------------


def _simple(name: str, type_name: str, reduction: str = '10') -> str:
    return (
        f'<transmission name="{name}_transmission"><type>{type_name}</type>\n'
        f'<joint name="{name}"><hardwareInterface>PositionJointInterface</hardwareInterface>'
        f'</joint>\n<actuator name="{name}_motor">'
        f'<mechanicalReduction>{reduction}</mechanicalReduction></actuator></transmission>\n'
    )


def _robot(*transmissions: str) -> bytes:
    return ('<robot name="r">\n' + ''.join(transmissions) + '</robot>').encode()


def test_equal_findings_are_one(run):
    """Findings that differ in names and lines only are one with a count and all the lines."""
    data = _robot(
        *(_simple(f'finger_{number}', 'their/FourBarTransmission') for number in range(33)),
        *(_simple(f'toe_{number}', 'their/Reducer') for number in range(2)),
        _simple('nose', 'their/SimpleTransmision'),
        *(_simple(f'ear_{number}', SIMPLE, 'much') for number in range(3)),
    )
    result = run('check', '-', stdin=data)
    fingers, toes, nose, ears = (line for line in result.out.splitlines() if ': error: ' in line)
    lines = ', '.join(str(2 + 3 * number) for number in range(33))
    assert fingers == (
        "-:2: error: 33 transmissions of unknown type 'their/FourBarTransmission' cannot be used: "
        "the closest installed type is 'transmission_interface/FourBarLinkageTransmission' "
        f'[lines {lines}]'
    )
    assert toes == (
        "-:101: error: 2 transmissions of unknown type 'their/Reducer' cannot be used: no "
        "installed type is similar, see 'transmission_bridge plugins' [lines 101, 104]"
    )
    assert nose == (
        "-:107: error: transmission 'nose_transmission' of unknown type 'their/SimpleTransmision' "
        f"cannot be used: the closest installed type is '{SIMPLE}' [/robot/transmission[36]]"
    )
    assert ears.startswith('-:112: error: 3 times: ')
    assert "found 'much'" in ears
    assert ears.endswith(' [lines 112, 115, 118]')
    assert result.out.endswith('0 transmissions loaded, 39 rejected, 39 errors, 0 warnings\n')
    findings = run('check', '-', '--json', stdin=data).json['findings']
    assert sum(each['severity'] == 'error' for each in findings) == 39


_SEVERAL = re.compile(r'-:(\d+): error: (\d+) transmissions of unknown type .* \[lines (.*)]')


@given(st.lists(st.sampled_from(['a/A', 'b/B', 'c/C', SIMPLE]), min_size=1, max_size=12))
def test_each_finding_is_in_exactly_one_line(run, types):
    """Counts of the lines add up to the findings, and each line of the file is named once."""
    data = _robot(*(_simple(f'j{number}', each) for number, each in enumerate(types)))
    out = run('check', '-', stdin=data).out
    named = []
    for line in out.splitlines():
        if found := _SEVERAL.match(line):
            numbers = found[3].split(', ')
            assert (found[1], int(found[2])) == (numbers[0], len(numbers))
            named += numbers
        elif found := re.match(r"-:(\d+): error: transmission '\w+' of unknown type", line):
            named.append(found[1])
    unknown = [number for number, each in enumerate(types) if each != SIMPLE]
    assert sorted(map(int, named)) == [2 + 3 * number for number in unknown]


@pytest.mark.parametrize(
    ('theirs', 'ours'),
    [
        ('transmission_interface/SimpleTransmision', SIMPLE),
        ('pr2_mechanism/SimpleTransmission', SIMPLE),
        (
            'transmission_interface/HalfDifferentialTransmission',
            'transmission_interface/DifferentialTransmission',
        ),
        ('transmission_bridge/ScrewTransmision', 'transmission_bridge/ScrewTransmission'),
        ('tabulated', 'transmission_bridge/TabulatedTransmission'),
        ('their/Hey5Reducer', ''),
        ('their/PR2GripperTransmission', ''),
        ('their/WristTransmission', ''),
    ],
)
def test_the_closest_type_is_a_similar_one(run, theirs, ours):
    """A misspelt type names the one that was meant, one of another kind names none."""
    document = run('check', '-', '--json', stdin=_robot(_simple('j', theirs))).json
    (finding,) = (each for each in document['findings'] if each['severity'] == 'error')
    assert (f"closest installed type is '{ours}'" in finding['message']) is bool(ours)
    assert ('no installed type is similar' in finding['message']) is not bool(ours)


@pytest.mark.parametrize('columns', [60, 80, 160])
def test_text_wraps_at_the_width_of_the_terminal_only(run, tmp_path: Path, columns: int):
    """On a terminal no line but a table's is longer than it; elsewhere a finding is one line."""
    path = tmp_path / 'robot.urdf'
    path.write_bytes(_robot(*(_simple(f'finger_{number}', 'their/Odd') for number in range(40))))
    reader, writer = os.openpty()
    process = subprocess.Popen(
        [sys.executable, '-m', 'transmission_bridge', 'check', path.name],
        stdout=writer,
        cwd=tmp_path,
        env={**os.environ, 'COLUMNS': str(columns)},
    )
    os.close(writer)
    shown = b''
    try:
        while piece := os.read(reader, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    finally:
        os.close(reader)
    assert process.wait(timeout=60) == 1
    lines = shown.decode().replace('\r\n', '\n').splitlines()
    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > columns - 15
    plain = run('check', path).out.splitlines()
    assert sum(': error: ' in line for line in plain) == 1
    assert max(map(len, plain)) > 200


# -- numbers that are hardly meant ---------------------------------------------------------------


def test_a_number_that_is_hardly_meant_is_a_warning(run):
    """A reduction that no gear has is warned of with its line, and the exit code stays zero."""
    document = run('check', '-', '--json', stdin=_robot(_simple('j', SIMPLE, '2e6')))
    (finding,) = (each for each in document.json['findings'] if each['severity'] == 'warning')
    assert (document.code, finding['line']) == (0, 4)
    assert finding['message'] == (
        "the reduction of 'j_motor' is implausible; check it (expected a magnitude from 0.0001 "
        'to 100000, found 2e+06)'
    )


def test_joints_without_a_velocity_limit_are_listed(run):
    """All that can be sent a position, in one line; a joint that only turns is not."""
    text = resource('urdf', 'topic_based.urdf').read_text(encoding='utf-8')
    for speed in ('2.0', '0.1'):
        text = text.replace(f'velocity="{speed}"', '')
    result = run('check', '-', stdin=text.encode())
    assert result.code == 0
    assert (
        '2 joints without a velocity limit (max_step does not check them): shoulder, left_finger\n'
    ) in result.out
    document = run('check', '-', '--json', stdin=text.encode()).json
    assert document['without_velocity_limit'] == ['shoulder', 'left_finger']


@pytest.mark.parametrize(('threshold', 'number'), [('1e-5', 1), ('-1', 0)])
def test_velocities_that_nothing_ends_are_a_warning(run, threshold: str, number: int):
    """A topic-based component that is silent at its target is warned of, its example is not."""
    text = resource('urdf', 'topic_based.urdf').read_text(encoding='utf-8')
    text = text.replace('threshold">-1<', f'threshold">{threshold}<')
    document = run('check', '-', '--json', stdin=text.encode())
    found = [each['message'] for each in document.json['findings']]
    assert [
        message.startswith("velocity and effort commands of 'turntable' continue")
        for message in found
    ] == [True] * number


UNEXPANDED = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base"/><link name="tip"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="tip"/></joint>
  <ros2_control name="h" type="system"><hardware><plugin>p/P</plugin></hardware>
    <joint name="hinge"/>
    <xacro:motor joint="hinge"/>
    {beside}
  </ros2_control>
</robot>
"""
BESIDE = """
    <transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="hinge" role="joint1"/><actuator name="m" role="actuator1"/></transmission>
"""


def test_xacro_without_a_transmission_is_an_error(run, tmp_path):
    """A file whose every transmission is a macro exits with 1 and passes nothing through."""
    path = tmp_path / 'robot.urdf.xacro'
    path.write_text(UNEXPANDED.format(beside=''), encoding='utf-8')
    result = run('check', path)
    assert result.code == 1
    assert f'{path}:6: error: this is unexpanded xacro' in result.out
    assert '<xacro:motor>' in result.out
    assert 'unknown element' not in result.out
    assert 'passed through' not in result.out
    path.write_text(UNEXPANDED.format(beside=BESIDE), encoding='utf-8')
    result = run('check', path)
    assert result.code == 0
    assert f'{path}:6: warning: unexpanded xacro is ignored' in result.out
