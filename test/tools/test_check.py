# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``."""

from __future__ import annotations

import contextlib
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

# The peers' edge cases, and what they make of each of them.
EDGES = Path(__file__).parent.parent / 'data' / 'edge'
RESULTS = json.loads((EDGES / 'edge_results.json').read_text(encoding='utf-8'))['files']


def _transmissions(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each['name']: each for each in document['transmissions']}


def _member(name: str, reduction: float | None = 1.0) -> dict[str, Any]:
    role, offset = (None, None) if reduction is None else ('', 0.0)
    return {'name': name, 'role': role, 'mechanical_reduction': reduction, 'offset': offset}


def test_json_has_exactly_the_documented_shape(run, mixed_robot):
    """The document has the keys of its description, and null for what could not be read."""
    document = run('check', mixed_robot, '--json').json
    strange, broken = document.pop('findings')
    assert document == {
        'robot': 'mixed',
        'transmissions': [
            {
                'name': f'{name}_transmission',
                'type': type_name,
                'dialect': 'ros_control',
                'line': line,
                'loaded': name == 'good',
                'joints': [_member(name, of_joint)],
                'actuators': [_member(f'{name}_motor', of_actuator)],
            }
            for name, line, type_name, of_joint, of_actuator in (
                ('good', 7, SIMPLE, 1.0, 100.0),
                ('strange', 12, 'elsewhere/StrangeTransmission', 1.0, 7.0),
                ('broken', 17, SIMPLE, None, None),
            )
        ],
        'pass_through': ['direct'],
        'without_velocity_limit': document['without_velocity_limit'],
        'units': {},
    }
    assert strange == {
        'severity': 'error',
        'line': 12,
        'path': '/robot/transmission[2]',
        'message': (
            "transmission 'strange_transmission' of unknown type 'elsewhere/StrangeTransmission' "
            "cannot be used: no installed type is similar, see 'transmission_bridge plugins'"
        ),
    }
    assert (broken.keys(), broken['severity'], broken['line']) == (strange.keys(), 'error', 20)
    assert "found '50abc'" in broken['message']
    assert run('check', mixed_robot, '--json', '--strict').json['findings'] == [strange, broken]


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
    """Rows of members, in the order of their roles, end their numbers in the same column."""
    result = run('check', reversed_robot)
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, '')
    assert lines[-1] == '1 transmission loaded, 0 errors, 0 warnings'
    heading = next(line for line in lines if 'REDUCTION' in line)
    members = [line for line in lines if line.startswith(('  joint', '  actuator'))]
    assert len(members) == 4
    assert {len(line) for line in members} == {len(heading)}
    assert len(heading) <= 80
    assert max(map(len, lines[1:])) <= 120
    end = heading.index('REDUCTION') + len('REDUCTION')
    assert [line[:end].split()[-1] for line in members] == ['2', '-2', '50', '-50']
    assert [line.split()[1] for line in members] == ['zed', 'alpha', 'm1', 'm2']
    assert [line.split()[-1] for line in members] == ['0.5', '-0.5', '0', '0']


@pytest.mark.parametrize('name', ['r2_camel_case.urdf', 'r2_act_reduction.urdf'])
def test_a_ratio_that_nobody_reads_is_an_error_unless_it_is_one(run, name: str):
    """Where ros2_control runs at 1:1, the joint is not bridged; a ratio of 1 is a warning."""
    path = EDGES / name
    result = run('check', path)
    assert result.code == 1
    assert '1 joint not bridged (transmission rejected): j1' in result.out
    assert '<mechanical_reduction> inside <joint name="j1">' in ' '.join(result.out.split())
    text = re.sub(r'(?<=eduction>)[0-9.]+(?=<)', '1', path.read_text(encoding='utf-8')).encode()
    lenient, strict = (
        run('check', '-', '--json', *options, stdin=text) for options in ((), ('--strict',))
    )
    assert (lenient.code, strict.code) == (0, 1)
    assert [finding['severity'] for finding in lenient.json['findings']] == ['warning']
    assert [finding['severity'] for finding in strict.json['findings']] == ['error']
    assert lenient.json['transmissions'] == strict.json['transmissions']


def test_joints_that_a_misnamed_transmission_costs_are_listed(run):
    """Joints of a block whose transmission names no joint that exists are shown as not bridged."""
    text = _hinge('<joint name="hinge"/>' + BESIDE.replace('joint name="hinge"', 'joint name="x"'))
    result = run('check', '-', stdin=text)
    assert result.code == 1
    assert 'not bridged (transmission rejected): x, hinge' in result.out
    words = ('--to', 'actuator', '--interface', 'position', 'hinge=1')
    mapped = run('map', '-', *words, stdin=text)
    assert mapped.code != 0
    assert "transmission 't' may refer to it" in mapped.err


def test_what_the_peers_load_is_loaded_or_has_a_finding(run):
    """A known type that a peer loads is loaded with the same numbers, or refused aloud."""
    compared = refused = 0
    different = set()
    paths = sorted(EDGES.glob('*.urdf'))
    assert len(paths) == 69
    for path in paths:
        text, result = run('check', path), run('check', path, '--json')
        errors = [each for each in result.json['findings'] if each['severity'] == 'error']
        assert text.code == result.code == int(bool(errors)), path.name
        assert text.err == result.err == ''
        ours = _transmissions(result.json)
        for theirs in _loaded(RESULTS[path.name]):
            mine = ours[theirs['name']]
            if mine['loaded']:
                numbers = _numbers(mine)
                if numbers != {key: theirs['loaded'][key] for key in numbers}:
                    different.add(path.name)
                compared += 1
            else:
                assert mine['line'] in {each['line'] for each in errors}, (path, theirs['name'])
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
    (finding,) = result.json['findings']
    assert (result.code, finding['severity']) == (1, 'error')
    assert (result.json['robot'], result.json['transmissions']) == ('', [])
    assert run('check', path).out.startswith(f'{path}:')


def test_an_unreadable_file_is_a_usage_error(refuse, tmp_path: Path):
    """A missing file, a directory and an impossible name exit with 2 and one sentence."""
    for name in (tmp_path / 'missing.urdf', tmp_path, 'nul\0byte'):
        refuse('transmission_bridge: cannot read ', 'check', name)


@pytest.mark.parametrize(
    ('alias', 'loaded', 'severity', 'words'),
    [
        (f'elsewhere/StrangeTransmission={SIMPLE}', True, 'error', "found '50abc'"),
        (
            'elsewhere/StrangeTransmission=transmission_interface/DifferentialTransmission',
            *(False, 'error', 'expected 2 joints'),
        ),
        (f'no/Such={SIMPLE}', False, 'warning', "alias for 'no/Such'"),
    ],
)
def test_an_alias_reads_a_strange_type_as_an_installed_one(
    run, mixed_robot, alias, loaded, severity, words
):
    """Of the same mechanism it loads, of another it is an error; one of no use is a warning."""
    document = run('check', mixed_robot, '--json', '--alias', alias).json
    strange = _transmissions(document)['strange_transmission']
    assert (strange['loaded'], strange['type']) == (loaded, 'elsewhere/StrangeTransmission')
    found = [each['severity'] for each in document['findings'] if words in each['message']]
    assert found == [severity]


@pytest.mark.parametrize('aliases', [['a'], ['=b'], ['a='], ['a=b', 'a=c']])
def test_an_alias_of_another_form_is_a_usage_error(refuse, reversed_robot, aliases: list[str]):
    """An alias that is no pair, or is given twice, exits with 2."""
    refuse(
        '--alias', 'check', reversed_robot, *(w for alias in aliases for w in ('--alias', alias))
    )


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


@pytest.mark.parametrize('columns', [60, 160])
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
    with contextlib.suppress(OSError):  # the end of a terminal
        while piece := os.read(reader, 65536):
            shown += piece
    os.close(reader)
    assert process.wait(timeout=60) == 1
    lengths = [len(line) for line in shown.decode().replace('\r\n', '\n').splitlines()]
    assert columns - 15 < max(lengths) <= columns
    plain = run('check', path).out.splitlines()
    assert sum(': error: ' in line for line in plain) == 1
    assert max(map(len, plain)) > 200


# -- numbers that are hardly meant ---------------------------------------------------------------


@pytest.mark.parametrize(
    ('changes', 'line', 'begin'),
    [
        (('threshold">-1<', 'threshold">-1<'), None, ''),
        (('threshold">-1<', 'threshold">1e-5<'), None, 'velocity and effort commands of'),
        (('>10</mech', '>2e6</mech'), 4, "the reduction of 'j_motor' is implausible; check it"),
        (('name="j"', 'name="j j"'), None, "'transmissions.j_transmission.joints.j j.offset' can"),
    ],
)
def test_what_the_bridge_would_warn_of_is_a_warning(run, changes, line, begin):
    """With its line, and the exit code stays zero; the example of a silent driver has none."""
    text = _robot(_simple('j', SIMPLE)).decode()
    if changes[0] not in text:
        text = resource('urdf', 'topic_based.urdf').read_text(encoding='utf-8')
    result = run('check', '-', '--json', stdin=text.replace(*changes).encode())
    found = [each for each in result.json['findings'] if each['severity'] != 'info']
    assert (result.code, len(found)) == (0, bool(begin))
    for each in found:
        assert each['severity'] == 'warning'
        assert line in (None, each['line'])
        assert each['message'].startswith(begin)


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


BESIDE = """
    <transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="hinge" role="joint1"/><actuator name="m" role="actuator1"/></transmission>
"""


def _hinge(control: str) -> bytes:
    """Return a robot with a hinge, and what its block of ros2_control has on line 5 and on."""
    return f"""<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base"/><link name="tip"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="tip"/></joint>
  <ros2_control name="h" type="system"><hardware><plugin>p/P</plugin></hardware>
    {control}
  </ros2_control>
</robot>""".encode()


def test_xacro_without_a_transmission_is_an_error(run):
    """A file whose every transmission is a macro exits with 1 and passes nothing through."""
    control = '<joint name="hinge"/>\n<xacro:motor joint="hinge"/>'
    result = run('check', '-', stdin=_hinge(control))
    assert result.code == 1
    assert '-:6: error: this is unexpanded xacro' in result.out
    assert '<xacro:motor>' in result.out
    assert 'unknown element' not in result.out
    assert 'passed through' not in result.out
    result = run('check', '-', stdin=_hinge(control + BESIDE))
    assert result.code == 0
    assert '-:6: warning: unexpanded xacro is ignored' in result.out
