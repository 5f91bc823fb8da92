# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge param`` and ``zero``: their arguments, their file, and a bridge."""

from __future__ import annotations

import math
import signal

from hypothesis import given, strategies as st
import pytest

from transmission_bridge.tools.files import (
    format_parameter_file,
    read_parameter_file,
)
from transmission_bridge.tools.zero import list_offsets

ROLL = 'transmissions.good_transmission.joints.good.offset'
RATIO = 'transmissions.good_transmission.actuators.good_motor.mechanical_reduction'

_LISTS = st.lists(st.floats(allow_nan=False)) | st.lists(st.text())
_VALUE = st.booleans() | st.integers() | st.floats() | st.text() | _LISTS


@given(st.dictionaries(st.from_regex('p_[a-z0-9_.]{0,9}', fullmatch=True), _VALUE))
def test_a_dump_is_yaml_with_the_same_values_and_types(values):
    """Whatever the texts hold, and however small the numbers are; it names its node."""
    yaml = pytest.importorskip('yaml')
    entries = [(*item, '') for item in ({**values, 'not_set': None}).items()]
    ((node, document),) = yaml.safe_load(format_parameter_file(entries, '/left/bridge')).items()
    found = (document['ros__parameters'] or {}).items()
    assert node == '/left/bridge'
    for (name, value), (own, read) in zip(values.items(), found, strict=True):
        assert (name, type(value)) == (own, type(read))
        assert value == read or (math.isnan(value) and math.isnan(read))


def test_a_file_with_numbers_names_the_bridge_if_there_is_one():
    """Else it is for every node, and says so."""
    numbers = [('transmissions.wrist.joints.roll.offset', 2.0, '')]
    named = format_parameter_file(numbers, '/left/bridge', 'Numbers')
    for_all = format_parameter_file(numbers, heading='Numbers')
    assert named.startswith('# Numbers\n/left/bridge:\n  ros__parameters:\n')
    assert '# /** is every node that reads this file' in for_all
    assert '\n/**:\n  ros__parameters:\n' in for_all
    # A node rejects an integer.
    assert named.endswith('    transmissions.wrist.joints.roll.offset: 2.0\n')
    values = {'transmissions.wrist.joints.roll.offset': 2.0}
    assert read_parameter_file(named.encode(), '') == values
    assert read_parameter_file(for_all.encode(), '') == values


def test_the_question_lists_every_offset_that_may_change():
    """Those of the asked joints, of all without a choice, and of actuators of linkages."""
    names = [f'transmissions.{end}' for end in ('a.joints.x.offset', 'b.joints.y.z.offset')]
    names += ['transmissions.leg.actuators.m.offset', 'transmissions.a.joints.x.lower']
    numbers = dict.fromkeys(names, 0.5)
    assert list(list_offsets(numbers, ())) == names[:3]
    assert list(list_offsets(numbers, ['y.z'])) == names[1:3]


@pytest.mark.parametrize(('words', 'line'), [
    ('expected NAME ..., found', ['get']),
    ('expected NAME VALUE [NAME VALUE ...]', ['set', 'a', '1.0', 'b']),
    ("'a' is given twice", ['set', 'a', '1.0', 'a', '2.0']),
    ('expected at most one PREFIX', ['dump', 'a', 'b']),
    ('--output: expected param dump, found param get', ['get', 'a', '--output', 'x.yaml']),
    ("cannot write 'no/x.yaml'", ['dump', '--output', 'no/x.yaml']),
    ('--node: expected the name of a bridge', ['get', 'a', '--node', '/']),
    ("--node: expected the name of a bridge, found 'a b'", ['get', 'a', '--node', 'a b']),
])  # fmt: skip
def test_wrong_usage_is_found_without_a_bridge(refuse, words, line):
    """In one sentence, at once."""
    pytest.importorskip('rclpy')
    refuse(words, 'param', *line)


@pytest.mark.parametrize('text', ['"', '1' * 30])
def test_a_value_that_is_no_parameter_is_refused(refuse, text):
    """A quote without an end, and an integer beyond 64 bits."""
    pytest.importorskip('rclpy')
    refuse('expected a value in YAML', 'param', 'set', 'a', text)


@pytest.mark.ros
def test_parameters_of_a_bridge_are_read_set_and_dumped(
    run, refuse, mixed_robot, peer, start_process, tmp_path
):
    """The dump names the bridge and starts it with the same numbers; zero changes an offset."""
    node = 'left/transmission_bridge'

    def start(*settings, program='bridge'):
        words = ['--urdf', mixed_robot, '--ros-args', '-r', '__ns:=/left', *settings]
        return start_process(f'transmission_bridge.ros.main {program}_node', *words)

    bridge = start('-p', 'autostart:=false')
    peer.spin_until(lambda: peer.state(f'/{node}') == 'unconfigured', 'the bridge')
    words = 'it is unconfigured, and has numbers of transmissions after configure'
    run('param', 'dump', '--node', node).expect(1, err=words)
    words = f'found /{node}: --node {node} selects that one'
    run('zero', '--all', '--node', 'left/other').expect(1, err=words)

    peer.start(f'/{node}')
    assert run('param', 'set', ROLL, '0.5', '--node', node).code == 0
    run('zero', '--all', '--node', node).expect(1, err=f'/{node}: ')
    start('-p', 'plugin:=transmission_bridge/SimulatedDriver', program='driver')
    peer.spin_until(lambda: run('zero', '--all', '--node', node).code == 0, 'a zeroed joint')
    assert run('param', 'get', ROLL, '--node', node).out == f'{ROLL}: 0.0\n'
    # A single joint, and both parameters are as before, also after a rejection.
    parameters = ('param', 'get', 'zero_joints', 'zero_positions', '--node', node)
    before = run(*parameters).out
    assert run('zero', 'good=0.25', '--node', node).code == 0
    assert run('param', 'get', ROLL, '--node', node).out == f'{ROLL}: 0.25\n'
    run('zero', 'god=0.25', '--node', node).expect(1, err='god')
    assert run(*parameters).out == before
    # Nothing is changed for all joints without a question.
    refuse('expected JOINT=POSITION, or --all', 'zero', '--node', node)
    refuse("found 'good'", 'zero', 'good', '--node', node)
    result = run('zero', '--node', node, answers='\n').expect(130, err=f'  {ROLL}: 0.25\n')
    assert result.out == ''
    assert run('param', 'get', ROLL, '--node', node).out == f'{ROLL}: 0.25\n'
    assert run('zero', '--node', node, answers='y\n').code == 0
    assert run('param', 'get', ROLL, '--node', node).out == f'{ROLL}: 0.0\n'
    result = run('param', 'set', ROLL, '-1.5e-05', RATIO, '50.0', '--node', node)
    assert (result.code, result.out) == (0, f'{ROLL}: -1.5e-05\n{RATIO}: 50.0\n')
    # One of two is invalid, so none is set.
    result = run('param', 'set', ROLL, '0.5', RATIO, '0.0', '--node', node)
    result.expect(1, err='expected a number other than zero, found 0.0')
    assert run('param', 'get', ROLL, '--node', f'/{node}').out == f'{ROLL}: -1.5e-05\n'
    refuse("(closest: 'autostart'", 'param', 'get', 'autostrat', '--node', node)
    refuse("has no parameter 'autostrat'", 'param', 'set', 'autostrat', '1', '--node', node)
    file = tmp_path / 'tuned.yaml'
    dumped = run('param', 'dump', '--node', node).out
    assert dumped.startswith(f'/{node}:\n  ros__parameters:\n    transmissions.')
    assert run('param', 'dump', '--node', node, '--output', file).code == 0
    assert file.read_text() == dumped
    refuse('already exists', 'param', 'dump', '--node', node, '--output', file)
    numbers = read_parameter_file(file.read_bytes(), 'tuned.yaml')
    assert (numbers[ROLL], numbers[RATIO]) == (-1.5e-05, 50.0)
    bridge.stop(signal.SIGTERM, within=30.0)
    start('--params-file', file, '-p', 'autostart:=true').wait_for('active')
    result = run('param', 'dump', '--node', node)
    assert result.out == dumped
