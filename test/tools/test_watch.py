# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``."""

from __future__ import annotations

import io
import math
import select
import threading

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.bridge.diagnostics import ERROR, OK, Status, WARN
from transmission_bridge.tools.bridge_client import find_bridge_reports
from transmission_bridge.tools.cli import Console, Stream
from transmission_bridge.tools.watch_screen import make_screen, open_keys, open_screen, Pager
from transmission_bridge.tools.watch_state import AGE, CLAMPED, find_missing_sides, WatchState

TOPICS = ('actuator_states', 'actuator_commands', 'joint_states', 'joint_commands')


def arrays(*position: float, velocity=(), effort=()) -> dict:
    """Return the arrays of a message."""
    return {'position': position, 'velocity': velocity, 'effort': effort}


def said(state='active', *more: Status, name: str = 'transmission_bridge') -> list[Status]:
    """Return the diagnostics of a bridge: its state of life, and statuses of parts of it."""
    life = Status('life cycle', OK, state, (('state', state), ('description', 'x')))
    return [
        Status(f'{name}: {each.name}', each.level, each.message, each.values)
        for each in (life, *more)
    ]


def hear(state: WatchState, statuses: list[Status], now: float) -> None:
    """Let a state have a message of diagnostics."""
    state.reports = {**state.reports, **find_bridge_reports(statuses, now)}


def plain_lines(state, now, missing=(), pattern=''):
    """Return the lines for a pipe."""
    top = [(sentence, 'bold red') for sentence in missing]
    return [text for text, _ in make_screen(state, now, top, Pager(pattern))]


def input_of(topic: str, received: int = 0, timeout: str = 'never') -> Status:
    """Return the status of a topic that a bridge listens to; those of drivers have a timeout."""
    values = (('rate [Hz]', '0.0'), ('received', str(received)))
    return Status(topic, OK, 'not used', (*values, *[('timeout [s]', timeout)] * bool(timeout)))


def output_of(topic: str) -> Status:
    """Return the status of a topic that a bridge publishes."""
    return Status(topic, OK, 'OK', (('incompatible', ''),))


def commands_of(topic: str, level: int = OK, **clamped: object) -> Status:
    """Return the status of a source of commands."""
    counts = tuple((f'clamped {joint}', str(count)) for joint, count in clamped.items())
    return Status(f'commands of {topic}', level, 'inside', (('clamped', '9'), *counts))


def test_the_newest_value_of_each_interface_is_kept():
    """Messages with some names and some interfaces add up; NaN commands nothing."""
    state = WatchState()
    state.store_message('joint_states', ['a', 'b'], arrays(1.0, 2.0, velocity=(3.0, 4.0)), 10.0)
    state.store_message('joint_states', ['b'], arrays(5.0), 11.0)
    state.store_message('joint_commands', ['b'], arrays(6.0), 11.0)
    state.store_message('joint_commands', ['b'], arrays(math.nan, velocity=(7.0,)), 11.5)
    first, second = state.make_rows(12.0)
    assert (first.kind, first.name) == ('joint', 'a')
    assert first.numbers == {'POS': 1.0, 'VEL': 3.0, AGE: 2.0}
    assert second.numbers == {'POS': 5.0, 'VEL': 4.0, AGE: 1.0, 'CMD POS': 6.0, 'CMD VEL': 7.0}


@given(st.integers(1, 200), st.floats(0.5, 10.0))
def test_the_rate_of_a_regular_topic_is_its_rate(hertz, seconds):
    """Whatever the rate and however long, to within one message over two seconds."""
    state = WatchState()
    count = int(hertz * seconds)
    for number in range(count + 1):
        state.store_message('actuator_states', ['m'], arrays(0.0), 100.0 + number / hertz)
    now = 100.0 + seconds
    assert (
        abs(state.compute_rate('actuator_states', now) - hertz) <= 1.0 / min(seconds, 2.0) + 1e-6
    )
    assert state.compute_rate('joint_states', now) == 0.0
    assert state.compute_rate('actuator_states', now + 3.0) == 0.0
    # A burst counts over the time since the topic was first heard.
    for number in range(21):
        state.store_message('joint_states', ['a'], arrays(0.0), 11.0 - (number == 0))
    assert state.compute_rate('joint_states', 12.0) == pytest.approx(10.0)


def test_clamps_are_summed_over_the_sources_and_the_worst_trouble_stands_first():
    """Counts are the newest of each source; errors before warnings, above the table."""
    state = WatchState()
    state.store_message('joint_states', ['elbow', 'wrist'], arrays(0.0, 0.0), 1.0)
    second = commands_of('position_commands', elbow=4, wrist='x')
    for count in (2, 3):
        first = commands_of('joint_commands', WARN, elbow=count)
        hear(state, said('active', first, second, name='bridge'), 1.0)
    assert [row.numbers.get(CLAMPED) for row in state.make_rows(1.0)] == [7, None]
    error = Status('transmission wrist', ERROR, 'failed\nto load', ())
    hear(state, said('active', first, error, name='bridge'), 1.0)
    lines = plain_lines(state, 1.0, ['the driver is missing'])
    assert lines[:4] == [
        'the driver is missing',
        'ERROR bridge: transmission wrist: failed\\nto load',
        'WARN bridge: commands of joint_commands: inside',
        '',
    ]
    assert any(line.startswith('elbow') for line in lines[4:])
    hear(state, said('active', second, name='bridge'), 2.0)
    assert state.list_troubles() == []


def test_topics_and_rows_of_drivers_are_those_that_the_bridge_names():
    """
    Nothing is said of the usual topic where drivers have others.

    With commands of their own two that use one name are two motors; else the newest number counts.
    """
    state = WatchState()
    assert state.topics == [*TOPICS]
    drivers = ('left/states', 'right/states')
    for value, topic in enumerate(drivers, 1):
        state.store_message(topic, ['M1'], arrays(value), value)
    commands = ('left/actuator_commands', 'right/actuator_commands')
    state.store_message(commands[1], ['M1'], arrays(3.0), 3.0)
    parts = [
        *map(input_of, drivers),
        *(input_of(topic, timeout='') for topic in ('joint_commands', 'actuator_torque_sensors')),
        *map(output_of, ('joint_states', *commands)),
        commands_of('joint_commands'),
    ]
    hear(state, said('active', *parts), 3.0)
    assert state.topics == [*drivers, *commands, 'joint_states', 'joint_commands']
    left, right = state.make_rows(3.0)
    assert (left.name, left.numbers) == ('left/M1', {'POS': 1.0, AGE: 2.0})
    assert (right.name, right.numbers) == ('right/M1', {'POS': 2.0, AGE: 1.0, 'CMD POS': 3.0})
    hear(state, said('active', *parts[:2], output_of('actuator_commands')), 4.0)
    (row,) = state.make_rows(4.0)
    assert (row.name, row.numbers['POS']) == ('M1', 2.0)
    state.store_message('actuator_states', ['m'], arrays(0.0), 5.0)
    assert state.topics[:3] == [*drivers, 'actuator_states']


LIVES = ('unconfigured', 'configuring', 'inactive', 'active', 'deactivating', 'finalized')


@given(
    driver=st.booleans(),
    joints=st.booleans(),
    life=st.none() | st.sampled_from(LIVES),
    elsewhere=st.booleans(),
    age=st.sampled_from([0.0, 2.0, 5.0]),
)
def test_what_is_missing_is_said(driver, joints, life, elsewhere, age):
    """Nothing where both sides work; else who is missing, and the state of a bridge that rests."""
    state = WatchState('arm/bridge')
    if driver:
        state.store_message('actuator_states', ['m'], arrays(0.0), 10.0)
    if joints:
        state.store_message('joint_states', ['q'], arrays(0.0), 10.0)
    if elsewhere:
        hear(state, said(name='left/other'), 10.0)
        state.others = ['/motors/states']
    if life is not None:
        hear(state, said(life, name='arm/bridge'), 10.0 - age)
    sentences = '\n'.join(find_missing_sides(state, 10.0))
    is_hinted = elsewhere and not driver and life is None
    assert ('; other topics of joint states: /motors/states' in sentences) == is_hinted
    is_there = life is not None and age <= 2.0
    works = (is_there and life == 'active') or life is None
    assert bool(sentences) == (not (works and driver and joints))
    if not sentences:
        return
    if life is None:
        assert ('--node left/other shows' in sentences) == elsewhere
        assert ('bridge.launch.py' in sentences) == (not elsewhere)
        assert 'the bridge is missing: no diagnostics of arm/bridge in namespace /arm' in sentences
        assert ('the driver is missing' in sentences) == (not driver)
    elif not is_there:
        assert 'arm/bridge has gone' in sentences
    else:
        assert (f'arm/bridge is {life}, not active' in sentences) == (life != 'active')
        assert ('the driver is missing' in sentences) == (not driver)


def test_a_driver_that_only_the_bridge_hears_is_not_missing_but_silent_at_its_timeout():
    """Its topic may have another name; no sentence for drivers that publish on change."""
    state = WatchState()
    for topic, name in (('actuator_states', 'm'), ('joint_states', 'q')):
        state.store_message(topic, [name], arrays(0.0), 10.0)
    for timeout, is_said in (('1', True), ('never', False), ('', False)):
        hear(state, said('active', input_of('actuator_states', 9, timeout)), 10.0)
        assert find_missing_sides(state, 10.9) == []
        sentences = find_missing_sides(state, 11.1)
        assert len(sentences) == is_said
        if is_said:
            assert 'the driver on actuator_states is silent: no message for 1.1 s' in sentences[0]
    hear(state, said('inactive', input_of('actuator_states', 9, '1')), 11.0)
    assert 'silent' not in find_missing_sides(state, 11.1)[0]

    unheard = WatchState()
    unheard.store_message('joint_states', ['q'], arrays(0.0), 1.0)
    hear(unheard, said('active', input_of('actuator_states', 7)), 1.0)
    assert find_missing_sides(unheard, 1.0) == []
    hear(unheard, said('active', input_of('actuator_states', 0)), 2.0)
    (sentence,) = find_missing_sides(unheard, 2.0)
    assert 'the driver is missing: no message has arrived on actuator_states' in sentence


def test_plain_lines_show_every_row_and_topic():
    """Without a terminal the table is aligned text, with topics without a message."""
    state = WatchState()
    state.store_message('actuator_states', ['motor'], arrays(100.0), 1.0)
    state.store_message('joint_states', ['elbow\n'], arrays(math.nan), 1.0)
    lines = plain_lines(state, 1.5)
    assert any(line.startswith('motor') and '100.0000' in line for line in lines)
    assert any(line.startswith('elbow\\n') and 'nan' in line for line in lines)
    assert 'joint_commands: no message yet' in lines
    assert [line.split(':')[0] for line in lines[-len(TOPICS) - 1 : -1]] == list(TOPICS)


class _Terminal(io.StringIO):
    encoding = 'utf-8'

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize('has_rich', [False, True])
def test_a_live_table_shows_names_as_they_are_and_needs_rich(monkeypatch, hide, has_rich):
    """Brackets in names are text, not styles; without rich plain lines and a hint, and it runs."""
    pytest.importorskip('rich') if has_rich else hide('rich')
    out, err = _Terminal(), io.StringIO()
    monkeypatch.setattr('sys.stdout', out)
    for name, value in (('COLUMNS', '160'), ('LINES', '24'), ('TERM', 'xterm')):
        monkeypatch.setenv(name, value)
    state = WatchState()
    state.store_message('joint_states', ['[bold]elbow[/]'], arrays(1.25), 1.0)
    with open_screen(state, Console(Stream(out), Stream(err)), is_plain=False) as (show, is_live):
        assert is_live == has_rich
        assert not show([])
    assert all(each in out.getvalue() for each in ('[bold]elbow[/]', 'AGE [s]', '1.2500'))
    assert ("pip install '.[cli]'" in err.getvalue()) == (not has_rich)


def page_of(state, pager=None, missing=(), width=80, height=24) -> list[str]:
    """Return the texts of a page."""
    top = [(sentence, 'bold red') for sentence in missing]
    lines = make_screen(state, 10.0, top, pager or Pager(), (width, height))
    return [text for text, _ in lines]


def robot_of(count: int, age: float = 0.0) -> WatchState:
    """Return the state of a robot: half of the motors and joints are commanded."""
    state = WatchState()
    for side, scale in (('motor', 10.0), ('joint', 1.0)):
        names = [f'left_finger_{number:03}_{side}' for number in range(count)]
        topic = 'actuator' if side == 'motor' else 'joint'
        values = [scale * number for number in range(count)]
        numbers = arrays(*values, velocity=[-1e-9] * count, effort=[1234567.0] * count)
        state.store_message(f'{topic}_states', names, numbers, 10.0 - age)
        state.store_message(
            f'{topic}_commands', names[: count // 2], arrays(*values[: count // 2]), 10.0
        )
    hear(state, said('active', commands_of('x', left_finger_000_joint=3)), 10.0)
    return state


@given(
    *(st.integers(24, 200), st.integers(8, 60), st.integers(0, 30), st.integers(0, 4)),
    st.text(max_size=20),
)
def test_a_page_fits_the_terminal(width, height, count, sentences, keys):
    """No line is longer and no page higher; each row stands on exactly one page."""
    state, pager = robot_of(count), Pager()
    missing = ['the driver is missing: ' + 'why ' * 20] * sentences
    # Whatever was pressed, a page can be drawn.
    pressed = Pager()
    pressed.handle_keys(keys)
    assert len(page_of(state, pressed, missing, width, height)) <= height
    seen: list[str] = []
    while not seen or pager.page:
        lines = page_of(state, pager, missing, width, height)
        if seen and not pager.page:
            break
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert not sentences or lines[0].startswith(('the driver', '... '))
        found = [line.split()[0] for line in lines if line.startswith('left')]
        assert bool(found) == bool(count)
        if not found:
            return
        seen += found
        pager.handle_keys('n')
    numbers = [*range(count)] * 2
    # A name that does not fit keeps both ends.
    assert [name[-5:] for name in seen] == ['motor'] * count + ['joint'] * count
    if width >= 60:
        assert [name[:15] for name in seen] == [f'left_finger_{each:03}' for each in numbers]


def test_on_a_narrow_terminal_position_age_and_command_stay():
    """Counts, efforts and velocities give way first; at 80 columns no name is shortened."""
    state = robot_of(30)
    headings = {width: page_of(state, width=width)[0].split() for width in (24, 40, 60, 80, 160)}
    assert headings[160] == [*headings[80], 'CLAMPED']
    assert headings[80] == ['ACTUATOR', 'POS', 'VEL', 'EFF', 'CMD', 'POS', 'AGE', '[s]']
    assert headings[60] == ['ACTUATOR', 'POS', 'CMD', 'POS', 'AGE', '[s]']
    assert headings[40] == ['ACTUATOR', 'POS', 'AGE', '[s]']
    assert headings[24] == ['ACTUATOR', 'POS']


def test_numbers_fit_their_column_zero_has_no_sign_and_a_filter_leaves_rows_out():
    """A large number has fewer digits; on a terminal and on a pipe."""
    for lines in (page_of(robot_of(1), width=160), plain_lines(robot_of(1), 10.0)):
        row = next(line for line in lines if line.startswith('left_finger_000_motor')).split()
        assert row[1:4] == ['0.0000', '0.0000', '1.23e+06']
    lines = plain_lines(robot_of(12), 10.0, [], '01?_motor')
    names = [line.split()[0] for line in lines if line.startswith('left')]
    assert names == [f'left_finger_01{number}_motor' for number in '01']


def test_colours_mean_what_the_legend_says():
    """Old rows are dim, clamped joints yellow."""

    def styles(age):
        lines = make_screen(robot_of(1, age), 10.0, [], Pager(), (80, 24))
        assert lines[-1][0].startswith('dim: older than 0.5 s   yellow: commands clamped')
        return [style for text, style in lines if text.startswith('left_finger_000_joint')]

    assert styles(0.0) == ['yellow']
    assert styles(1.0) == ['dim']


def test_keys_turn_pages_and_filter():
    """As in a pager: n and p, arrows; / begins a filter, Enter keeps it, Esc ends it; q ends."""
    state, pager = robot_of(60), Pager()

    def page(keys: str) -> list[str]:
        pager.handle_keys(keys)
        return page_of(state, pager)

    def last(lines: list[str]) -> str:
        return lines[-2]

    assert last(page('')).startswith('page 1 of 7   n p: turn')
    assert last(page('n \x1b[C')).startswith('page 4 of 7')
    assert last(page('p\x1b[5~\x1b[D\x1b[D')).startswith('page 7 of 7')
    typed = page('/FINGER_01?_jx')
    assert last(typed).startswith('filter: FINGER_01?_jx_')
    kept = page('\x7f\r')
    assert last(kept).startswith("10 of 'FINGER_01?_j'   Esc: all")
    assert [line.split()[0] for line in kept if 'finger' in line] == [
        f'left_finger_{number:03}_joint' for number in range(10, 20)
    ]
    assert last(page('\x1b')).startswith('page 1 of 7')
    assert not pager.is_over
    page('/q\r')
    assert not pager.is_over
    page('q')
    assert pager.is_over


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


@pytest.fixture
def start(harness, mixed_robot):
    """Start a node in a namespace as a process; what is left of it ends with the test."""
    processes = []

    def start_process(module, namespace, **parameters):
        settings = [f'{name}:={value}' for name, value in parameters.items()]
        pairs = [word for setting in settings for word in ('-p', setting)]
        processes.append(
            harness.Process(
                f'transmission_bridge.ros.{module}',
                ['--urdf', mixed_robot, '--ros-args', '-r', f'__ns:=/{namespace}', *pairs],
            )
        )
        return processes[-1]

    yield start_process
    for process in processes:
        process.clean_up()
        print(process.output)


@pytest.mark.ros
def test_a_driver_without_a_bridge_is_exit_code_one(run, start):
    """The driver's states are shown, and that it is the bridge that is missing."""
    start('simulated_driver_main', 'alone').wait_for('driving')
    result = run('watch', '--once', '--node', 'alone/transmission_bridge')
    assert result.code == 1
    assert 'good_motor' in result.out
    assert 'the bridge is missing: no diagnostics of alone/transmission_bridge' in result.err
    assert 'the driver is missing' not in result.err
    result = run('watch', '--once', '--node', 'nobody_is_here/b')
    assert result.code == 1
    assert 'the bridge is missing: no diagnostics of nobody_is_here/b' in result.err
    assert 'other topics of joint states: /alone/actuator_states' in result.err
    assert run('watch', '--seconds', '0.3', '--node', 'no name/b').code == 2


@pytest.mark.ros
def test_a_bridge_says_itself_what_it_waits_for(run, start, harness, peer):
    """Not active, then without a driver, then in order; its errors while no state has arrived."""
    topics = "['left/states','right/states']"
    bridge = 'arm/transmission_bridge'
    start('bridge_main', 'arm', actuator_state_topics=topics, autostart='false')
    peer.spin_until(lambda: peer.state(f'/{bridge}') == 'unconfigured', 'the bridge')

    def watched(words, node=bridge):
        """Watch until the words are there: on a busy machine nothing may be heard in time."""
        for _ in range(5):
            result = run('watch', '--once', '--seconds', '2', '--node', node)
            if words in result.err:
                break
        return result

    result = watched('is unconfigured')
    assert result.code == 1
    assert f"{bridge} is unconfigured, not active: 'ros2 lifecycle set /{bridge} con" in result.err
    assert 'the driver is missing: no message has arrived on actuator_states' in result.err

    assert peer.change_state('configure', f'/{bridge}')
    result = watched('is inactive')
    assert result.code == 1
    assert f"{bridge} is inactive, not active: 'ros2 lifecycle set /{bridge} act" in result.err
    assert f'ERROR {bridge}: transmission broken_transmission' in result.out

    assert peer.change_state('activate', f'/{bridge}')
    result = watched('no message has arrived on left/states')
    assert result.code == 1
    assert 'no message has arrived on left/states, right/states in namespace /arm' in result.err
    assert '/arm/left/states has 0 publishers' in result.out
    assert f'ERROR {bridge}: transmission broken_transmission' in result.out
    # What the bridge names is all that is listened to: no input of it is taken for a driver's.
    lines = result.out.splitlines()
    assert [line for line in lines if line.endswith(': no message yet')] == [
        f'{topic}: no message yet' for topic in ('left/states', 'right/states', *TOPICS[1:])
    ]

    result = watched('but of other bridges', 'another/b')
    assert result.code == 1
    assert f'but of other bridges: {bridge}; --node {bridge} shows that one' in result.err

    driver = peer.publisher('/arm/right/states')
    stop = threading.Event()

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


def test_units_of_drivers_stand_behind_the_actuators_that_have_any():
    """By the name that the driver uses; where nobody has units there is no column."""
    state = WatchState()
    for topic in ('actuator_states', 'left/actuator_states'):
        state.store_message(topic, ['m1', 'm2'], arrays(1.0, 2.0), 1.0)
    parts = (input_of('left/actuator_states', 1), output_of('left/actuator_commands'))
    hear(state, said('active', input_of('actuator_states', 1), *parts), 1.0)
    assert not any('UNITS' in line for line in plain_lines(state, 1.0))
    values = (('known', '4'), ('units left/m1', 'turn, rpm, A'))
    actuators = Status('actuators', OK, 'all known', values)
    hear(state, said('active', input_of('actuator_states', 1), *parts, actuators), 1.0)
    assert {row.name: row.units for row in state.make_rows(1.0)} == {
        'm1': '', 'm2': '', 'left/m1': 'turn, rpm, A', 'left/m2': '',
    }  # fmt: skip
    lines = plain_lines(state, 1.0)
    (line,) = (line for line in lines if line.startswith('left/m1'))
    assert line.endswith('turn, rpm, A')
    assert 'turn, rpm, A' in ''.join(page_of(state, width=200))
    assert 'rpm' not in ''.join(page_of(state, width=40))


def test_a_driver_that_has_gone_is_not_called_present():
    """Without joint states, the sentence refers to the diagnostics, which know the driver."""
    state = WatchState()
    driver = input_of('actuator_states', 9)
    hear(state, said('active', Status(driver.name, ERROR, 'gone', driver.values)), 1.0)
    (sentence,) = find_missing_sides(state, 1.0)
    assert 'no joint_states arrive' in sentence
    assert 'see its diagnostics' in sentence
    assert 'driver' not in sentence
