# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: its data, its page, and its node beside a bridge."""

from __future__ import annotations

from dataclasses import replace
import io
import math
import select
import threading

from fake_terminal import FakeTerminal
from hypothesis import given, strategies as st
import pytest
from zoo.elements import transmission, urdf

from transmission_bridge.bridge.diagnostics.status import Diagnostic, ERROR, Fact, OK, WARN
from transmission_bridge.tools.bridge_client import BridgeClient, read_bridge_reports
from transmission_bridge.tools.cli import Console, open_keys, TextStream
from transmission_bridge.tools.watch import make_screen, open_screen, WatchPager
from transmission_bridge.tools.watch_state import AGE, CLAMPED, describe_missing_nodes, WatchState

TOPICS = ('actuator_states', 'actuator_commands', 'joint_states', 'joint_commands')


def store(state: WatchState, topic: str, now: float, velocity=(), effort=(), **positions: float):
    """Store a message with positions by name."""
    arrays = {'position': [*positions.values()], 'velocity': velocity, 'effort': effort}
    state.store_message(topic, [*positions], arrays, now)


def status_of(name: str, level: int, message: str, **values: object) -> Diagnostic:
    """Return a status; keys with other characters are given by a mapping."""
    return Diagnostic(name, level, message, tuple(Fact(*each) for each in values.items()))


def hear(state: WatchState, now: float, *parts: Diagnostic, life='active', name='bridge') -> None:
    """Store the diagnostics of a bridge: its state of life, and statuses of its parts."""
    every = (status_of('life cycle', OK, life, state=life, description='x'), *parts)
    said = [replace(each, name=f'{name}: {each.name}') for each in every]
    state.reports = {**state.reports, **read_bridge_reports(said, now)}


def input_of(topic: str, received: int = 0, timeout: str = 'never', level: int = OK) -> Diagnostic:
    """Return the status of a topic that a bridge listens to; those of drivers have a timeout."""
    values = {'rate [Hz]': '0.0', 'received': str(received)}
    values |= {'timeout [s]': timeout} if timeout else {}
    return status_of(topic, level, 'not used', **values)


def output_of(topic: str) -> Diagnostic:
    """Return the status of a topic that a bridge publishes."""
    return status_of(topic, OK, 'OK')


def commands_of(topic: str, level: int = OK, **clamped: object) -> Diagnostic:
    """Return the status of a source of commands."""
    counts = {f'clamped {joint}': str(count) for joint, count in clamped.items()}
    return status_of(f'commands of {topic}', level, 'inside', clamped='9', **counts)


def lines_of(state, now=10.0, pager=None, missing=(), size=()) -> list[str]:
    """Return the texts of a page, or without a size all lines as for a pipe."""
    top = [(sentence, 'bold red') for sentence in missing]
    lines = [text for text, _ in make_screen(state, now, top, pager or WatchPager(), size)]
    return [text[2:] if text[:2] in ('  ', '! ') else text for text in lines]


# -- data ----------------------------------------------------------------------------------------


def test_the_newest_value_of_each_interface_is_kept():
    """Messages with some names and some interfaces add up; NaN commands nothing."""
    state = WatchState()
    store(state, 'joint_states', 10.0, velocity=(3.0, 4.0), a=1.0, b=2.0)
    store(state, 'joint_states', 11.0, b=5.0)
    store(state, 'joint_commands', 11.0, b=6.0)
    store(state, 'joint_commands', 11.5, velocity=(7.0,), b=math.nan)
    assert [(row.kind, row.name, row.numbers) for row in state.make_rows(12.0)] == [
        ('joint', 'a', {'POS': 1.0, 'VEL': 3.0, AGE: 2.0}),
        ('joint', 'b', {'POS': 5.0, 'VEL': 4.0, AGE: 1.0, 'CMD POS': 6.0, 'CMD VEL': 7.0}),
    ]


@given(st.integers(1, 200), st.floats(0.5, 10.0))
def test_the_rate_of_a_regular_topic_is_its_rate(hertz, seconds):
    """Whatever the rate and however long, to within one message over two seconds."""
    state, now = WatchState(), 100.0 + seconds
    for number in range(int(hertz * seconds) + 1):
        store(state, 'actuator_states', 100.0 + number / hertz, m=0.0)
    rate = state.compute_rate('actuator_states', now)
    assert abs(rate - hertz) <= 1.0 / min(seconds, 2.0) + 1e-6
    assert state.compute_rate('joint_states', now) == 0.0
    assert state.compute_rate('actuator_states', now + 3.0) == 0.0
    # A burst counts over the time since the topic was first heard.
    for number in range(21):
        store(state, 'joint_states', 11.0 - (number == 0), a=0.0)
    assert state.compute_rate('joint_states', 12.0) == pytest.approx(10.0)


def test_reports_are_those_of_bridges_with_the_worst_trouble_first():
    """Other nodes, and other nodes with life cycles, are no bridges."""
    statuses = [
        status_of('motors: left', ERROR, 'hot', state='x'),
        Diagnostic('lonely', ERROR, 'no part', ()),
        status_of('arm/b: life cycle', OK, 'active', state='active'),
        Diagnostic('arm/b: actuators', WARN, 'pale', ()),
        Diagnostic('arm/b: transmission wrist', ERROR, 'failed', ()),
    ]
    (report,) = read_bridge_reports(statuses, 10.0).values()
    assert (report.name, report.state, report.received) == ('arm/b', 'active', 10.0)
    assert [each.message for each in report.troubles] == ['failed', 'pale']
    assert [report.is_gone(now) for now in (13.5, 13.6)] == [False, True]


def test_clamps_are_summed_over_the_sources_and_the_worst_trouble_stands_first():
    """Counts are the newest of each source; errors before warnings, above the table."""
    state = WatchState()
    store(state, 'joint_states', 1.0, elbow=0.0, wrist=0.0)
    second = commands_of('position_commands', elbow=4, wrist='x')
    for count in (2, 3):
        first = commands_of('joint_commands', WARN, elbow=count)
        hear(state, 1.0, first, second)
    assert [row.numbers.get(CLAMPED) for row in state.make_rows(1.0)] == [7, None]
    hear(state, 1.0, first, Diagnostic('transmission wrist', ERROR, 'failed\nto load', ()))
    lines = lines_of(state, 1.0, missing=['the driver is missing'])
    assert lines[:4] == [
        'the driver is missing',
        'ERROR bridge: transmission wrist: failed\\nto load',
        'WARN bridge: commands of joint_commands: inside',
        '',
    ]
    assert any(line.startswith('elbow') for line in lines[4:])
    hear(state, 2.0, second)
    assert state.list_findings() == []


def test_what_is_unknown_stands_in_its_row_with_the_reason():
    """Also of an actuator or a joint without a message; the sentence of a status is not split."""
    state = WatchState()
    store(state, 'actuator_states', 1.0, m1=1.0, m2=2.0)
    store(state, 'joint_states', 1.0, q1=0.1)
    words = "stale: 'm2'; it's odd"
    motors = status_of('actuators', ERROR, words, **{'unknown m2': 'stale', 'stale': "'m2'"})
    hear(state, 1.0, motors, status_of('joints', OK, 'x', **{'unknown q2': 'm2 stale'}))
    assert state.list_findings() == [(ERROR, f'bridge: actuators: {words}')]
    assert {(row.kind, row.name): row.unknown for row in state.make_rows(1.0)} == {
        ('actuator', 'm1'): '', ('actuator', 'm2'): 'stale',
        ('joint', 'q1'): '', ('joint', 'q2'): 'm2 stale',
    }  # fmt: skip
    assert any(line.startswith('q2') and line.endswith('m2 stale') for line in lines_of(state))


def test_topics_and_rows_of_drivers_are_those_that_the_bridge_names():
    """
    Nothing is said of the usual topic where drivers have others.

    With commands of their own two that use one name are two motors; else the newest number counts.
    """
    state = WatchState()
    assert state.topics == [*TOPICS]
    drivers, commands = (
        [f'{side}/{name}' for side in ('left', 'right')]
        for name in ('states', 'actuator_commands')
    )
    for value, topic in enumerate((*drivers, commands[1]), 1):
        store(state, topic, value, M1=value)
    parts = [
        *map(input_of, drivers),
        *(input_of(topic, timeout='') for topic in ('joint_commands', 'actuator_torque_sensors')),
        *map(output_of, ('joint_states', *commands)),
        commands_of('joint_commands'),
    ]
    hear(state, 3.0, *parts)
    assert state.topics == [*drivers, *commands, 'joint_states', 'joint_commands']
    assert [(row.name, row.numbers) for row in state.make_rows(3.0)] == [
        ('left/M1', {'POS': 1.0, AGE: 2.0}),
        ('right/M1', {'POS': 2.0, AGE: 1.0, 'CMD POS': 3.0}),
    ]
    hear(state, 4.0, *parts[:2], output_of('actuator_commands'))
    (row,) = state.make_rows(4.0)
    assert (row.name, row.numbers['POS']) == ('M1', 2.0)
    store(state, 'actuator_states', 5.0, m=0.0)
    assert state.topics[:3] == [*drivers, 'actuator_states']


def test_units_of_drivers_stand_behind_the_actuators_that_have_any():
    """By the name that the driver uses; where nobody has units there is no column."""
    state = WatchState()
    parts = [input_of('actuator_states', 1), input_of('left/actuator_states', 1)]
    parts.append(output_of('left/actuator_commands'))
    for topic in ('actuator_states', 'left/actuator_states'):
        store(state, topic, 1.0, m1=1.0, m2=2.0)
    hear(state, 1.0, *parts)
    assert not any('UNITS' in line for line in lines_of(state))
    values = {'known': '4', 'units left/m1': 'turn, rpm, A'}
    hear(state, 1.0, *parts, status_of('actuators', OK, 'all known', **values))
    units = {'m1': '', 'm2': '', 'left/m1': 'turn, rpm, A', 'left/m2': ''}
    assert {row.name: row.units for row in state.make_rows(1.0)} == units
    (line,) = (line for line in lines_of(state) if line.startswith('left/m1'))
    assert line.endswith('turn, rpm, A')
    assert 'turn, rpm, A' in ''.join(lines_of(state, size=(200, 24)))
    values = {f'units {side}m{n}': 'tick' for side in ('', 'left/') for n in (1, 2)}
    hear(state, 1.0, *parts, status_of('actuators', OK, 'all known', **values))
    # If it is the same for all, it is in the heading.
    (line,) = (line for line in lines_of(state, size=(40, 20)) if 'tick' in line)
    assert line.split() == ['ACTUATOR', 'POS', 'tick', 'AGE', 's']


ALL, DRIVER, JOINTS = 'actuator_states joint_states', 'actuator_states', 'joint_states'
NO_BRIDGE = 'the bridge is missing: no diagnostics of arm/b in namespace /arm'
NO_DRIVER = 'the driver is missing: no message has arrived on actuator_states in namespace /arm'
LAUNCH = "; 'ros2 launch transmission_bridge bridge.launch.py' starts one"
NODE = 'but of other bridges: left/other; --node left/other shows that one'
TOPIC = '; other topics of joint states: /motors/states'
GONE = 'the bridge arm/b has gone: its last diagnostics arrived 5 s ago'
SILENT = 'the driver on actuator_states is silent: no message for 1.1 s'
SET = "not active: 'ros2 lifecycle set /arm/b"


@pytest.mark.parametrize(('heard', 'life', 'parts', 'sentences'), [
    ('', None, [], [NO_BRIDGE, NO_DRIVER]),
    (JOINTS, None, [], [LAUNCH, NO_DRIVER]),
    (DRIVER, None, [], [NO_BRIDGE]),
    (ALL, None, [], []),
    ('left/other', None, [], [NODE, TOPIC]),
    (f'left/other {ALL}', None, [], []),
    ('left/other', 'inactive', [], [f'arm/b is inactive, {SET} activate', NO_DRIVER]),
    (ALL, 'unconfigured', [], [f'arm/b is unconfigured, {SET} configure']),
    *((ALL, life, [], [f'arm/b is {life}, not active'])
      for life in ('configuring', 'inactive', 'deactivating', 'finalized')),
    (ALL, 'active', [], []),
    (JOINTS, 'active', [], [NO_DRIVER]),
    (DRIVER, 'active', [], ['arm/b is active, but no joint_states arrive in namespace /arm']),
    (ALL, 'active -5', [], [GONE]),
    # A driver that publishes on change is never silent.
    (ALL, 'active +0.9', [input_of(DRIVER, 9, '1')], []),
    (ALL, 'active +1.1', [input_of(DRIVER, 9, '1')], [SILENT]),
    (ALL, 'inactive +1.1', [input_of(DRIVER, 9, '1')], ['arm/b is inactive, not active']),
    (ALL, 'active +1.1', [input_of(DRIVER, 9, 'never')], []),
    (ALL, 'active +1.1', [input_of(DRIVER, 9, '')], []),
    # Its topic may be remapped, then only the bridge hears it; one that has gone is not present.
    (JOINTS, 'active', [input_of(DRIVER, 7)], []),
    (JOINTS, 'active', [input_of(DRIVER, 0)], [NO_DRIVER]),
    ('', 'active', [input_of(DRIVER, 9, level=ERROR)], ['or the topic is remapped']),
])  # fmt: skip
def test_what_is_missing_is_said(heard, life, parts, sentences):
    """Nothing if both sides work; else who is missing, and the state of a bridge that rests."""
    state = WatchState('arm/b')
    life, _, seconds = (life or '').partition(' ')
    for name in heard.split():
        if name == 'left/other':
            hear(state, 10.0, name=name)
            state.others = ['/motors/states']
        else:
            store(state, name, 10.0, m=0.0)
    if life:
        hear(state, 10.0 + min(float(seconds or 0.0), 0.0), *parts, life=life, name='arm/b')
    found = describe_missing_nodes(state, 10.0 + max(float(seconds or 0.0), 0.0))
    assert len(found) == len(sentences)
    assert all(words in text for words, text in zip(sentences, found, strict=True))
    assert (TOPIC in ''.join(found)) == (TOPIC in sentences)


def test_a_misspelt_node_gets_the_closest_name():
    """Of the bridges that are heard, whichever comes first."""
    state = WatchState('left/arn')
    for name in ('base/lift', 'left/arm', 'right/arm'):
        hear(state, 10.0, name=name)
    sentence, _ = describe_missing_nodes(state, 10.0)
    assert 'of other bridges: base/lift, left/arm, right/arm; --node left/arm shows' in sentence


# -- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize('has_rich', [False, True])
def test_a_live_table_shows_names_as_they_are_and_needs_rich(monkeypatch, hide, has_rich):
    """Brackets in names are text, not styles; without rich plain lines and a hint, and it runs."""
    pytest.importorskip('rich') if has_rich else hide('rich')
    out, err = FakeTerminal(), io.StringIO()
    monkeypatch.setattr('sys.stdout', out)
    for name, value in (('COLUMNS', '160'), ('LINES', '24'), ('TERM', 'xterm')):
        monkeypatch.setenv(name, value)
    state = WatchState()
    store(state, 'joint_states', 1.0, **{'[bold]elbow[/]': 1.25})
    with open_screen(state, Console(TextStream(out), TextStream(err)), is_plain=False) as (
        show,
        is_live,
    ):
        assert is_live == has_rich
        assert not show([])
    assert all(each in out.getvalue() for each in ('[bold]elbow[/]', 'AGE s', '1.2500'))
    assert ("pip install --editable '.[cli]'" in err.getvalue()) == (not has_rich)


def robot_of(count: int, age: float = 0.0) -> WatchState:
    """Return the state of a robot: half of the motors and joints are commanded."""
    state = WatchState()
    for side, topic, scale in (('motor', 'actuator', 10.0), ('joint', 'joint', 1.0)):
        values = {f'left_finger_{number:03}_{side}': scale * number for number in range(count)}
        rates = {'velocity': [-1e-9] * count, 'effort': [1234567.0] * count}
        store(state, f'{topic}_states', 10.0 - age, **rates, **values)
        store(state, f'{topic}_commands', 10.0, **dict([*values.items()][: count // 2]))
    hear(state, 10.0, commands_of('x', left_finger_000_joint=3))
    return state


@given(
    *(st.integers(24, 200), st.integers(8, 60), st.integers(0, 30), st.integers(0, 4)),
    st.text(max_size=20),
)
def test_a_page_fits_the_terminal(width, height, count, sentences, keys):
    """No line is longer and no page higher; each row stands on exactly one page."""
    state, pager, size = robot_of(count), WatchPager(), (width, height)
    missing = ['the driver is missing: ' + 'why ' * 20] * sentences
    # Whatever was pressed, a page can be drawn.
    pressed = WatchPager()
    pressed.handle_keys(keys)
    assert len(lines_of(state, 10.0, pressed, missing, size)) <= height
    seen: list[str] = []
    lines = lines_of(state, 10.0, pager, missing, size)
    while not seen or pager.page:
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert not sentences or lines[0].startswith(('the driver', '... '))
        found = [line.split()[0] for line in lines if line.startswith('left')]
        assert bool(found) == bool(count)
        if not found:
            return
        seen += found
        pager.handle_keys('n')
        lines = lines_of(state, 10.0, pager, missing, size)
    # A name that does not fit keeps both ends.
    assert [name[-2:] for name in seen] == ['nt'] * count + ['or'] * count
    if width >= 60:
        assert [name[:15] for name in seen] == [f'left_finger_{n:03}' for n in range(count)] * 2


def test_on_a_narrow_terminal_position_age_and_command_stay():
    """Counts, efforts and velocities give way first; at 80 columns no name is shortened."""
    state = robot_of(30)
    for width, heading in (
        (160, 'JOINT POS VEL EFF CMD AGE s CLAMPED'),
        (80, 'JOINT POS VEL EFF CMD AGE s'),
        (60, 'JOINT POS CMD AGE s'),
        (40, 'JOINT POS AGE s'),
        (24, 'JOINT POS'),
    ):
        assert lines_of(state, size=(width, 24))[1].split() == heading.split()


def test_plain_lines_show_every_row_and_topic_or_those_of_a_filter():
    """Without a terminal the table is aligned text, with topics without a message."""
    state = WatchState()
    store(state, 'actuator_states', 1.0, motor=100.0)
    store(state, 'joint_states', 1.0, **{'elbow\n': math.nan})
    lines = lines_of(state, 1.5)
    assert any(line.startswith('motor') and '100.0000' in line for line in lines)
    assert any(line.startswith('elbow\\n') and 'nan' in line for line in lines)
    assert 'joint_commands: no message yet' in lines
    assert [line.split(':')[0] for line in lines[-len(TOPICS) - 1 : -1]] == list(TOPICS)
    lines = lines_of(robot_of(12), pager=WatchPager('01?_motor'))
    names = [line.split()[0] for line in lines if line.startswith('left')]
    assert names == ['left_finger_010_motor', 'left_finger_011_motor']


@pytest.mark.parametrize('size', [(160, 24), None])
def test_numbers_fit_their_column_and_zero_has_no_sign(size):
    """A large number has fewer digits; on a terminal and on a pipe."""
    lines = lines_of(robot_of(1), size=size)
    row = next(line for line in lines if line.startswith('left_finger_000_motor')).split()
    assert row[1:4] == ['0.0000', '0.0000', '1.23e+06']


@pytest.mark.parametrize(('age', 'colour'), [(0.0, 'yellow'), (1.0, 'dim')])
def test_colours_mean_what_the_legend_says(age, colour):
    """Old rows are dim, clamped joints yellow."""
    lines = make_screen(robot_of(1, age), 10.0, [], WatchPager(), (80, 24))
    assert lines[-1][0].endswith('yellow: warning   red: unknown   dim: > 0.5 s')
    assert [s for text, s in lines if text.startswith('! left_finger_000_joint')] == [colour]


def test_keys_turn_pages_and_filter():
    """As in a pager: n and p, arrows; / begins a filter, Enter keeps it, Esc ends it; q ends."""
    state, pager = robot_of(60), WatchPager()
    for keys, status in (
        ('', 'page 1 of 6   n p: turn'),
        ('n \x1b[C', 'page 4 of 6'),
        ('p\x1b[5~\x1b[D\x1b[D', 'page 6 of 6'),
        ('/FINGER_01?_jx', 'filter: FINGER_01?_jx_'),
        ('\x7f\r', "10 of 'FINGER_01?_j'   Esc: all"),
        ('\x1b', 'page 1 of 6'),
    ):
        pager.handle_keys(keys)
        lines = lines_of(state, pager=pager, size=(80, 24))
        assert lines[-1].startswith(status)
        if keys.endswith('\r'):
            names = [line.split()[0] for line in lines if 'finger' in line]
            assert names == [f'left_finger_{number:03}_joint' for number in range(10, 20)]
    for keys, is_over in (('/q\r', False), ('q', True)):
        pager.handle_keys(keys)
        assert pager.is_over == is_over


def test_keys_are_read_without_waiting_and_the_terminal_is_given_back():
    """Single keys arrive at once and unechoed; afterwards the terminal is as before."""
    pty, termios = pytest.importorskip('pty'), pytest.importorskip('termios')
    ours, theirs = pty.openpty()
    with open(ours, 'wb', buffering=0) as keyboard, open(theirs, encoding='utf-8') as terminal:
        before = termios.tcgetattr(theirs)
        with open_keys(terminal) as pressed:
            assert pressed() == ''
            keyboard.write(b'n\x1b[6~')
            select.select([theirs], [], [], 30.0)
            assert pressed() == 'n\x1b[6~'
            assert not termios.tcgetattr(theirs)[3] & termios.ECHO
        assert termios.tcgetattr(theirs) == before
    with open_keys(io.StringIO()) as pressed:
        assert pressed() == ''


ONE = urdf(
    {'q': 'revolute lower="-1" upper="3" velocity="1" effort="1"', 'p': 'continuous'},
    transmission('t', 'Simple', ['q'], ['m']),
)


@given(st.floats(-5.0, 5.0), st.integers(0, 4096))
def test_a_joint_and_its_motor_are_one_row_with_a_bar_between_the_limits(position, ticks):
    """The needle is where the joint is, ticks are whole numbers, and units are in the heading."""
    state = WatchState()
    state.set_description('<robot')
    state.set_description(ONE)
    store(state, 'joint_states', 1.0, q=position, p=1.0)
    store(state, 'actuator_states', 1.0, m=float(ticks), x=2.0)
    units = {'units m': 'tick, tick/s, SI', 'units x': 'tick, tick/s, SI'}
    hear(state, 1.0, status_of('actuators', OK, 'all known', **units),
         status_of('driver bus', OK, 'running', **{'temperature [C] m': '41'}))  # fmt: skip
    rows = {row.name: row for row in state.make_rows(1.0)}
    assert [*rows] == ['q', 'p', 'x']
    assert (rows['q'].numbers['MOTOR'], rows['q'].limits, rows['q'].units) == (
        ticks,
        (-1.0, 3.0),
        'rad',
    )
    lines = lines_of(state, 1.0, size=(100, 20))
    assert {'rad', 'tick', 'MOTOR'} <= set(lines[1].split())
    (line,) = (line for line in lines if line.startswith('q '))
    assert str(ticks) in line.split()
    bar = line[line.index('[') + 1 : line.index(']')]
    if -1.0 <= position <= 3.0:
        assert bar.index('|') / (len(bar) - 1) == pytest.approx((position + 1) / 4, abs=0.05)
    else:
        assert line[line.index(']') + 1 : line.index(']') + 2] == ('>' if position > 0 else ' ')
        assert set(bar) == {' '}
    assert '41' in lines_of(state, 1.0, size=(200, 20))[2].split()


def test_a_joint_beyond_its_limits_is_marked():
    """By keys of the diagnostics, not by sentences."""
    state = WatchState()
    state.set_description(ONE)
    store(state, 'joint_states', 49.5, q=0.01, p=0.0)
    hear(state, 49.5, status_of('joints', WARN, 'x', **{'position of q': 'beyond'}))
    lines = make_screen(state, 49.5, [], WatchPager(), (170, 40))
    assert [style for text, style in lines if text.startswith('! q ')] == ['yellow']


def test_eighteen_joints_fit_on_24_lines():
    """With two findings; the whole findings and the topics are on larger screens."""
    state = WatchState()
    store(state, 'joint_states', 9.9, **{f'joint_{n:02}': 0.1 for n in range(18)})
    words = 'a long sentence ' * 12
    hear(state, 9.9, Diagnostic('one', WARN, words, ()), Diagnostic('two', WARN, words, ()))
    assert sum(line.startswith('joint_') for line in lines_of(state, size=(80, 23))) >= 18
    small, large = (' '.join(lines_of(state, size=size)) for size in ((80, 23), (170, 49)))
    assert [text.count(words.strip()) for text in (small, large)] == [0, 2]
    assert 'joint_commands: no message yet' in large


# -- nodes ---------------------------------------------------------------------------------------


@pytest.mark.ros
def test_nodes_are_watched_from_a_driver_alone_to_a_bridge_that_works(
    run, mixed_robot, harness, peer, start_process
):
    """Exit code 1 with what is missing, and what the bridge says itself; 0 if both sides work."""
    bridge = 'arm/transmission_bridge'

    def start(module, namespace, *settings):
        words = ['--urdf', mixed_robot, '--ros-args', '-r', f'__ns:=/{namespace}', *settings]
        return start_process(f'transmission_bridge.ros.main {module}', *words)

    def watched(words, node=bridge):
        """Watch until the words are there: on a busy machine nothing may be heard in time."""
        for _ in range(5):
            result = run('watch', '--once', '--seconds', '2', '--node', node)
            if words in result.err:
                break
        return result.expect(1, err=words)

    plugin = 'plugin:=transmission_bridge/SimulatedDriver'
    start('driver_node', 'alone', '-p', plugin).wait_for('is active')
    result = watched('the bridge is missing: no diagnostics of alone/b', 'alone/b')
    assert 'good_motor' in result.out
    assert 'the driver is missing' not in result.err
    assert run('watch', '--seconds', '0.3', '--node', 'no name/b').code == 2

    topics = "actuator_state_topics:=['left/states','right/states']"
    start('bridge_node', 'arm', '-p', topics, '-p', 'autostart:=false')
    peer.spin_until(lambda: peer.state(f'/{bridge}') == 'unconfigured', 'the bridge')
    peer.start(f'/{bridge}')
    result = watched('arrived on left/states, right/states in namespace /arm')
    assert '/arm/left/states has 0 publishers' in result.out
    assert f'ERROR {bridge}: transmission broken_transmission' in result.out
    # What the bridge names is all that is listened to: no input of it is taken for a driver's.
    assert [line for line in result.out.splitlines() if line.endswith(': no message yet')] == [
        f'{topic}: no message yet' for topic in ('left/states', 'right/states', *TOPICS[1:])
    ]

    driver, stop = peer.publisher('/arm/right/states'), threading.Event()

    def publish() -> None:
        while not stop.wait(0.02):
            driver.publish(harness.JointState(name=['good_motor'], position=[12.5]))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        result = run('watch', '--once', '--node', f'/{bridge}')
    finally:
        stop.set()
        thread.join()
    assert result.code == 0
    assert 'missing' not in result.err  # what is waited for may be there: finding takes time
    assert '0.1250' in result.out
    assert 'right/states: ' in result.out


@pytest.mark.ros
def test_a_message_on_its_way_is_dropped_if_its_topic_is_no_longer_followed(harness, peer):
    """And the topic is one of the others then."""
    from rclpy.serialization import serialize_message

    client, received = BridgeClient('client', 'arm/b'), []
    try:
        client.follow_topics({'states': lambda message, *_: received.append(message.names)})
        publisher = peer.publisher('/arm/states')
        assert '/arm/states' not in client.list_other_topics()
        decode = client._make_decoder('states')
        for topics in ({'states': client._received['states']}, {}):
            client.follow_topics(topics)
            decode(serialize_message(harness.JointState(name=['m1'], position=[1.25])))
            assert received == [('m1',)]
        peer.spin_until(lambda: client.list_other_topics() == ['/arm/states'], 'the topic')
        peer.spin_until(lambda: not publisher.get_subscription_count(), 'the end')
    finally:
        client.close()
