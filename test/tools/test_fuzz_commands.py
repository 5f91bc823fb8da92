# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands given damaged files: exit codes 0, 1 or 2, no traceback, no end without an end.

Python's warnings are errors here, so that what would be printed between the lines of a result is
found too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager
import json
from pathlib import Path
import re
import signal
import tempfile

from hypothesis import given, HealthCheck, settings, strategies as st
import pytest
from zoo.elements import leg, ratio, ros1, ros1_robot, transmission, urdf
from zoo.robots import Joint

for extra in ('scipy', 'matplotlib', 'yaml'):
    pytest.importorskip(extra)

#: Seconds that no input may take.
PATIENCE = 60

ROS1 = ros1_robot(ros1('pan', reduction='9'), joints=['pan'])
DESCRIBED = (
    {
        'pan': Joint(-1, 1, 1, 1).text,
        'roll': Joint(velocity=1, effort=1).text,
        'pitch': Joint(1, -1, 1, 1).text,
        'knee': Joint(-1, 1, 1, 1).text,
    },
    transmission('gear', 'Simple', {'pan': ratio(9)}, ['m'])
    + transmission('wrist', 'Differential', ['roll', 'pitch'], ['left', 'right'])
    + leg(),
)
PARAMETERS = """/**:
  ros__parameters:
    transmissions:
      gear: {joints: {pan: {mechanical_reduction: 9.5, offset: 0.25}}}
      leg: {crank_radius: 0.07, stroke_at_zero: 0.01}
    transmissions.wrist.joints.roll.offset: 1.0
    command_joints: [pan]
"""

#: Arguments with which each command that reads files works.
USUAL = {
    'calibrate': 'robot.urdf --lerobot arm.json --transmission gear',
    'check': 'robot.urdf --json --params-file tuned.yaml',
    'compile': 'robot.urdf --output out --ros2-control',
    'export': 'robot.urdf --params-file tuned.yaml --output robot.urdf --force',
    'map': 'robot.urdf knee=1 --to actuator --interface effort --at knee=0',
    'plot': 'robot.urdf --output out.svg',
}

SERVO = {'id': 1, 'drive_mode': 0, 'homing_offset': 9, 'range_min': 800, 'range_max': 3300}

#: What numbers, names and marks of a file become.
NONSENSE = (
    *(b'', b'0', b'-1', b'-0.0', b'nan', b'inf', b'1e308', b'1e-300', b'5e-324', b'99', b'x'),
    *(b'"', b'1,', b'1e9', b'[]', b'{', b'&a [*a]', b'pan.position', b'l_knee', b'<', b'\0'),
)


#: A robot, numbers, and the file of a servo driver.
FILES = {
    'robot.urdf': urdf(*DESCRIBED).encode(),
    'tuned.yaml': PARAMETERS.encode(),
    'arm.json': json.dumps({'m': SERVO}).encode(),
}


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw the bytes as they are, cut off, with bytes replaced, or with words replaced."""
    kind = draw(st.sampled_from(['whole', 'cut', 'bytes', 'word', 'word', 'word']))
    place = draw(st.integers(0, len(data) - 1))
    if kind == 'cut':
        return data[:place]
    if kind == 'bytes':
        return data[:place] + draw(st.binary(max_size=6)) + data[place + 3 :]
    if kind == 'word':
        found = sorted(set(re.findall(rb'[-+.\w]+', data)))
        count = draw(st.sampled_from([1, -1]))
        return data.replace(found[place % len(found)], draw(st.sampled_from(NONSENSE)), count)
    return data


@contextmanager
def guarded(given: dict[str, bytes]) -> Iterator[None]:
    """Work in a folder of these files; raise if the block takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f'no end within {PATIENCE} s')

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, data in given.items():
            Path(name).write_bytes(data)
        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(PATIENCE)
        try:
            yield
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        assert not list(Path().rglob('*.partial'))


@pytest.mark.parametrize('command', USUAL)
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_file_ends_in_an_exit_code(run, command, data):
    """Whatever was done to the robot, the parameters and the ranges; whole ones pass."""
    words = USUAL[command].split()
    given_files = {name: data.draw(damaged(FILES[name])) for name in FILES if name in words}
    if data.draw(st.booleans()):
        given_files['robot.urdf'] = data.draw(damaged(ROS1.encode()))
    with guarded(given_files):
        result = run(command, *words)
    assert result.code in ((0,) if given_files.items() <= FILES.items() else (0, 1, 2))
    assert 'Traceback' not in result.out + result.err
    if result.code == 2:
        assert 'transmission_bridge: ' in result.err
    if command == 'check' and result.out.startswith('{'):
        errors = [each for each in result.json['findings'] if each['severity'] == 'error']
        assert result.code == int(bool(errors))
