# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands given nonsense: exit codes 0, 1 or 2, no traceback, no end without an end.

``TRANSMISSION_BRIDGE_FUZZ_EXAMPLES`` sets how many inputs each test tries. Python's warnings are
errors here, so that what would be printed between the lines of a result is found too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import tempfile

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

pytest.importorskip('scipy')
pytest.importorskip('matplotlib')

EXAMPLES = int(os.environ.get('TRANSMISSION_BRIDGE_FUZZ_EXAMPLES', '60'))

#: Seconds that no input may take.
PATIENCE = 60

fuzzed = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

ROBOT = """<robot name="r"><link name="base"/><link name="l1"/><link name="l2"/><link name="l3"/>
<link name="l4"/>
<joint name="pan" type="revolute"><parent link="base"/><child link="l1"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="roll" type="continuous"><parent link="l1"/><child link="l2"/></joint>
<joint name="pitch" type="revolute"><parent link="l2"/><child link="l3"/>
  <limit lower="1" upper="-1" velocity="1" effort="1"/></joint>
<joint name="knee" type="revolute"><parent link="l3"/><child link="l4"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<ros2_control name="b" type="system"><hardware><plugin>p</plugin></hardware>
<joint name="pan"><command_interface name="position"/></joint>
<joint name="roll"><command_interface name="position"/></joint>
<joint name="pitch"><command_interface name="position"/></joint>
<joint name="knee"><command_interface name="position"/></joint>
<transmission name="gear"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m" role="actuator1"/>
  <joint name="pan" role="joint1"><mechanical_reduction>9</mechanical_reduction></joint>
</transmission>
<transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1"/><actuator name="right" role="actuator2"/>
  <joint name="roll" role="joint1"/><joint name="pitch" role="joint2"/>
</transmission>
<transmission name="crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
  <param name="crank_radius">0.06</param><param name="pivot_distance">0.3</param>
  <param name="crank_angle">1.2</param>
  <actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/>
</transmission>
</ros2_control></robot>"""

NAMES = ('m', 'left', 'right', 'cylinder', 'pan', 'roll', 'pitch', 'knee')

words = st.one_of(
    st.sampled_from(
        ['', '-', '--', '--help', '-h', '=', 'gear', 'crank', 'wrist.*', '*', 'm=1', 'pan=nan',
         'pan=-0.5', '0', '-1.5', '1e309', 'base', 'l4', 'joint', 'actuator', 'last', '\0',
         '\u202e', '\ud800', '/', '.', '..', 'a' * 300, '%s', '$x$', 'bash'],
    ),
    st.text(max_size=8),
)  # fmt: skip

numbers = st.one_of(
    st.floats(-2.0, 2.0).map(repr),
    st.sampled_from(
        ['', 'nan', 'inf', '-inf', '1e308', '-1e308', '5e-324', '0', '-0.0', 'x', '1,', '"', '1e9']
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Draw a table that may be right, or wrong in one of the ways that tables are wrong."""
    names = draw(st.lists(st.sampled_from([*NAMES, 'time', 'x', 'topic', 'pan.position']),
                          min_size=1, max_size=10))  # fmt: skip
    tame = draw(st.booleans())
    cell = st.floats(-2.0, 2.0).map(repr) if tame else numbers
    cells = draw(st.lists(cell, min_size=1, max_size=40))
    rows = draw(st.integers(0, 40))
    width = len(names)
    # Rows repeat a few drawn numbers: hypothesis should look for kinds of tables, not of numbers.
    lines = [
        ','.join(cells[(3 * row + 7 * column) % len(cells)] for column in range(width))
        for row in range(rows)
    ]
    return damaged(draw, '\n'.join([','.join(names), *lines]).encode())


def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Return the bytes as they are, cut off, or with a piece replaced."""
    kind = draw(st.sampled_from(['whole', 'whole', 'cut', 'replaced']))
    place = draw(st.integers(0, max(len(data) - 1, 0)))
    if kind == 'cut':
        return data[:place]
    if kind == 'replaced':
        return data[:place] + draw(st.binary(max_size=6)) + data[place + 3 :]
    return data


@st.composite
def robots(draw: st.DrawFn) -> bytes:
    """Draw a description that may have a number replaced, or be damaged."""
    text = ROBOT
    if draw(st.booleans()):
        old = draw(st.sampled_from(['>9<', '>0.06<', '>0.3<', '>1.2<', '"-1"', 'Simple', '"l4"']))
        new = draw(st.sampled_from(['0', '-1', '1e300', '1e-300', 'nan', 'x', '', '99']))
        text = text.replace(old, f'{old[0]}{new}{old[-1]}')
    return damaged(draw, text.encode())


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
def survive(run):
    """Return a function that runs a command with files and checks how it ends."""

    def call(command: str, arguments: list[str], files: dict[str, bytes]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, data in files.items():
                (folder / file).write_bytes(data)
            given = [a.replace('@', f'{folder}/') if a.startswith('@') else a for a in arguments]
            here = os.getcwd()
            os.chdir(folder)
            try:
                with guarded():
                    result = run(command, *given, stdin=b'<robot name="r"/>')
            finally:
                os.chdir(here)
        assert result.code in (0, 1, 2)
        assert 'Traceback' not in result.out + result.err
        if result.code == 2:
            assert result.err.count('\n') >= 1

    return call


@fuzzed
@given(data=st.data())
def test_calibrate(survive, data):
    """Any table, any description, any options."""
    options = data.draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(['--transmission', '--fix', '--alias']), words),
                st.tuples(st.just('--noise'), st.sampled_from(['joint', 'actuator', ''])),
                st.tuples(st.just('--offset'), st.sampled_from(['first', 'last', 'x'])),
                st.tuples(
                    st.sampled_from(['--output', '--report']),
                    st.sampled_from(['out.yaml', 'out.png', 'robot.urdf', '', '/', 'no/x.svg']),
                ),
                st.sampled_from([('--json',), ('--force',)]),
                st.tuples(words),
            ),
            max_size=3,
        )
    )
    name = data.draw(st.sampled_from(['data.csv', 'data.csv', 'data.mcap', 'data.db3', 'data']))
    survive(
        'calibrate',
        [f'@{name}', '--description', '@robot.urdf', *(w for pair in options for w in pair)],
        {name: data.draw(tables()), 'robot.urdf': data.draw(robots())},
    )


@fuzzed
@given(data=st.data())
def test_plot_check_and_jacobian(survive, data):
    """Any description, any options."""
    command, arguments = data.draw(
        st.sampled_from(
            [
                ('plot', ['@robot.urdf']),
                ('plot', ['@robot.urdf', '--output', 'x.svg']),
                ('check', ['@robot.urdf', '--limits', '--json']),
                ('jacobian', ['@robot.urdf', '--base', 'base', '--end', 'l4']),
                (
                    'jacobian',
                    ['@robot.urdf', '--base', 'l4', '--end', 'l1', '--space', 'actuator'],
                ),
            ]
        )
    )
    more = data.draw(st.lists(words, max_size=4))
    survive(command, [*arguments, *more], {'robot.urdf': data.draw(robots())})


@fuzzed
@given(st.sampled_from(['completion', 'watch', 'calibrate', 'plot', 'jacobian']), st.data())
def test_arguments(survive, command, data):
    """Any words at all; ``watch`` with somebody who hears nothing instead of ROS."""
    option = st.sampled_from(
        ['--once', '--seconds', '--namespace', '--plain', '--json', '--force']
    )
    arguments = data.draw(st.lists(st.one_of(option, words), max_size=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('transmission_bridge.tools.watch_client.WatchClient', Deaf)
        survive(command, arguments, {})


class Deaf:
    """A client of ``watch`` that hears one state and is then interrupted."""

    def __init__(self, state: object, namespace: str) -> None:
        self._state = state
        self._turns = 0

    def spin_for(self, seconds: float) -> None:
        """Hear something, and after some turns be interrupted as by Ctrl-C."""
        self._turns += 1
        for topic in ('actuator_states', 'joint_states'):
            self._state.take(topic, ['a', '\n'], {'position': [1.0, float('nan')]}, self._turns)
        if self._turns > 3:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Do nothing."""
