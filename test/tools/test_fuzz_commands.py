# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands given nonsense: exit codes 0, 1 or 2, no traceback, no end without an end.

Python's warnings are errors here, so that what would be printed between the lines of a result is
found too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
import re
import signal
import tempfile
from unittest import mock

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.elements import leg, maps, ratio, ros1, ros1_robot, transmission, urdf
from zoo.robots import Joint

from transmission_bridge.tools.cli import Exit, UsageError
from transmission_bridge.tools.commands import COMMANDS
from transmission_bridge.tools.demo import command as demo

for extra in ('scipy', 'matplotlib', 'rosbags', 'yaml'):
    pytest.importorskip(extra)

MCAP = b'\x89MCAP0\r\n'
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
ROBOT = urdf(*DESCRIBED)
NAMES = ('m', 'left', 'right', 'cylinder', 'pan', 'roll', 'pitch', 'knee')
COLUMNS = tuple(f'{name}.position' for name in NAMES)


PARAMETERS = """/**:
  ros__parameters:
    transmissions:
      gear: {joints: {pan: {mechanical_reduction: 9.5, offset: 0.25}}}
      leg: {crank_radius: 0.07, stroke_at_zero: 0.01}
    transmissions.wrist.joints.roll.offset: 1.0
    command_joints: [pan]
"""

#: Files that an input has, by name; ``@`` stands for their folder.
FILES = ('@robot.urdf', '@data.csv', '@data.mcap', '@data.db3', '@bag', '@tuned.yaml')

#: What a command may be given, without the slashes that would lead out of the folder.
words = st.one_of(
    st.sampled_from(
        ['', '-', '--', '--help', '-h', '=', 'gear', 'leg', 'wrist.*', '*', 'm=1', 'pan=nan',
         'pan=-0.5', '0', '-1.5', '1e309', 'base', 'l_knee', 'joint', 'actuator', 'last', '\0',
         '\u202e', '\ud800', '/', '.', '..', 'a' * 300, '%s', '$x$', 'bash', 'position', 'effort',
         'out.csv', 'out.mcap', 'out.db3', 'out.svg', 'out.png', 'out.yaml', 'no/x.svg',
         '/a:/b', 'actuator_states:x', ':', 'a=b', *FILES],
    ),
    st.text(max_size=8).filter(lambda text: '/' not in text),
)  # fmt: skip

#: Arguments with which each command works, to add nonsense to.
# fmt: off
USUAL = {
    name: [line.split() for line in lines] for name, lines in {
        'calibrate': ['@robot.urdf @data.csv', '@robot.urdf @data.mcap --joints /joint_states'],
        'check': ['@robot.urdf', '- --json --limits'],
        'compile': ['@robot.urdf --output out', '- --output out --ros2-control'],
        'convert': [
            '@robot.urdf @data.csv out.csv',
            '@robot.urdf @data.mcap out --topic actuator_states:x',
            '@robot.urdf @data.db3 out.mcap --to actuator --topic joint_states:x',
            '@robot.urdf @bag out.db3 --topic actuator_states:x',
        ],
        'demo': ['', '--seconds 1'],
        'export': [
            '@robot.urdf --params-file @tuned.yaml',
            '@robot.urdf --params-file @tuned.yaml --output @robot.urdf --force',
        ],
        'jacobian': [
            '@robot.urdf --base base --end l_knee',
            '@robot.urdf cylinder=0.38 --base l_knee --end l_pan --space actuator',
        ],
        'map': [
            '@robot.urdf m=1 left=2 --to joint --interface position',
            '@robot.urdf knee=1 --to actuator --interface effort --at knee=0',
        ],
        'plot': ['@robot.urdf', '@robot.urdf --output out.svg'],
        'plugins': ['', '--json'],
        'tune': ['@robot.urdf', '- --output out.urdf --port 9000'],
        'watch': ['--once', '--seconds 1', '--plain'],
    }.items()
}
# fmt: on


TIME = np.arange(40) * 0.125
_JOINTS = 0.5 * np.sin(np.multiply.outer(TIME, [1.0, 1.3, 1.7, 2.1]))
_ACTUATORS = maps(*DESCRIBED).joint_to_actuator('position', _JOINTS)
#: Time, actuators and joints, row by row, of the robot in motion.
ROWS = [[repr(cell) for cell in row] for row in np.c_[TIME, _ACTUATORS, _JOINTS].tolist()]
MOTION = '\n'.join([','.join(['time', *COLUMNS]), *(','.join(row) for row in ROWS)])
TEXTS = {
    'robot.urdf': ROBOT.encode(),
    'tuned.yaml': PARAMETERS.encode(),
    'data.csv': MOTION.encode(),
}

#: What numbers, names and marks of a file become.
NONSENSE = (
    *(b'', b'0', b'-1', b'-0.0', b'nan', b'inf', b'1e308', b'1e-300', b'5e-324', b'99', b'x'),
    *(b'"', b'1,', b'1e9', b'[]', b'{', b'&a [*a]', b'pan.position', b'l_knee', b'<'),
)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw the bytes as they are, cut off, with bytes replaced, or with words replaced."""
    kind = draw(st.sampled_from(['whole', 'cut', 'bytes', 'word', 'word', 'word']))
    place = draw(st.integers(0, max(len(data) - 1, 0)))
    if kind == 'cut':
        return data[:place]
    if kind == 'bytes':
        return data[:place] + draw(st.binary(max_size=6)) + data[place + 3 :]
    if kind == 'word':
        found = sorted(set(re.findall(rb'[-+.\w]+', data)))
        word = found[place % len(found)] if found else b'x'
        count = draw(st.sampled_from([1, -1]))
        return data.replace(word, draw(st.sampled_from(NONSENSE)), count)
    return data


@st.composite
def inputs(
    draw: st.DrawFn, command: str, recordings: dict[str, bytes]
) -> tuple[list[str], dict[str, bytes]]:
    """Draw arguments that are usual, have nonsense among them, or are nothing but nonsense."""
    arguments = list(draw(st.sampled_from([*USUAL[command], []])))
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    flags = [action for action in parser._actions if action.option_strings]
    for _ in range(draw(st.integers(0, 3))):
        flag = draw(st.sampled_from(flags))
        more = [draw(st.sampled_from(flag.option_strings))]
        if flag.nargs != 0:
            choices = [str(choice) for choice in flag.choices or ()]
            more += [draw(st.sampled_from(choices) | words if choices else words)]
        place = draw(st.sampled_from([0, len(arguments)]))
        arguments[place:place] = draw(st.sampled_from([more, more, more[:1], [draw(words)]]))
    given = {**TEXTS, **recordings}
    used = [name for name in given if '@' + name.partition('/')[0] in (*arguments, '@robot.urdf')]
    files = {name: draw(damaged(given[name])) for name in used}
    if draw(st.booleans()):
        files['robot.urdf'] = draw(damaged(ROS1.encode()))
    return arguments, files


@contextmanager
def guarded() -> Iterator[None]:
    """Raise where the block takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f'no end within {PATIENCE} s')

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope='module')
def recordings(run, tmp_path_factory) -> dict[str, bytes]:
    """Return recordings in every format, by the name below the folder of an input."""
    folder = tmp_path_factory.mktemp('recordings')
    lines = [','.join(['time', 'topic', *COLUMNS])]
    for time, *cells in ROWS:
        lines.append(','.join([time, '/actuator_states', *cells[:4], '', '', '', '']))
        lines.append(','.join([time, '/joint_states', '', '', '', '', *cells[4:]]))
    (folder / 'in.csv').write_text('\n'.join(lines))
    robot = folder / 'robot.urdf'
    robot.write_text(ROBOT)
    for target in ('data.mcap', 'data.db3', 'bag'):
        topics = ('--topic', '/actuator_states:/computed')
        made = run('convert', robot, folder / 'in.csv', folder / target, '--keep', *topics)
        assert made.code == 0
    paths = [folder / 'data.mcap', folder / 'data.db3', *(folder / 'bag').iterdir()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@contextmanager
def inside(files: dict[str, bytes], arguments: list[str]) -> Iterator[list[str]]:
    """Give the arguments with the folder of these files, which is the current one."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        for file, data in files.items():
            (Path(name) / file).parent.mkdir(exist_ok=True)
            (Path(name) / file).write_bytes(data)
        yield [a.replace('@', f'{name}/') if a.startswith('@') else a for a in arguments]
        assert not list(Path(name).rglob('*.partial'))
        # Of a recording there is all or nothing.
        for path in Path(name).rglob('out*.mcap'):
            assert path.read_bytes().startswith(MCAP)
            assert path.read_bytes().endswith(MCAP)


@pytest.fixture(scope='module', autouse=True)
def without_ros() -> Iterator[None]:
    """``demo`` starts no processes, ``watch`` hears one state, and ``tune`` serves nothing."""

    def hears(state: object) -> mock.Mock:
        def spin_for(seconds: float) -> None:
            client.turns += 1
            for topic in ('actuator_states', 'joint_states'):
                state.store_message(
                    topic, ['a', '\n'], {'position': [1.0, float('nan')]}, client.turns
                )
            if client.turns > 3:
                raise KeyboardInterrupt

        client = mock.Mock(turns=0, spin_for=spin_for)
        return client

    tools = 'transmission_bridge.tools'
    interrupted = mock.Mock(**{'return_value.run.side_effect': KeyboardInterrupt})
    for_ros = mock.Mock(side_effect=UsageError('there is no bridge'))
    with (
        mock.patch(f'{tools}.watch.WatchClient', hears),
        mock.patch.object(demo, 'run_demo', return_value=Exit.OK),
        mock.patch(f'{tools}.tune.command.open_server', mock.Mock(**{'get_port.return_value': 1})),
        mock.patch(f'{tools}.tune.command.TuneSession', interrupted),
        mock.patch(f'{tools}.tune.live.BridgeRobot', for_ros),
    ):
        yield


@pytest.mark.parametrize('command', ['', *COMMANDS])
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_input_ends_in_an_exit_code(run, recordings, command, data):
    """Any files, any options and words, for every command that there is, and without one."""
    if command:
        arguments, files = data.draw(inputs(command, recordings))
    else:
        command, *arguments = data.draw(st.lists(words, min_size=1, max_size=4))
        files = {}
    with inside(files, arguments) as given, guarded():
        result = run(command, *given, stdin=files.get('robot.urdf', b''))
    assert result.code in (0, 1, 2)
    assert 'Traceback' not in result.out + result.err
    if result.code == 2:
        assert result.err.count('\n') >= 1
        assert 'transmission_bridge: ' in result.err
    if command == 'check' and '--json' in given and result.out.startswith('{'):
        errors = [each for each in result.json['findings'] if each['severity'] == 'error']
        assert result.code == int(bool(errors))


@pytest.mark.parametrize('command', COMMANDS)
def test_the_usual_inputs_are_usual(run, recordings, command):
    """Undamaged files pass, so that nonsense gets behind the checks of arguments."""
    files = {**TEXTS, **recordings}
    for arguments in USUAL[command]:
        with inside(files, arguments) as given:
            result = run(command, *given, stdin=files['robot.urdf'])
            assert result.code == 0, (arguments, result.err)
