# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The gate: what is sent to motors, by every route, and how it ends."""

from pathlib import Path
import re

import numpy as np
import pytest
from state_paths import record
from world import arrays, as_words, reason, TICK, TIMEOUT, World
from zoo.elements import (
    ANKLE,
    CLAW,
    FINGER,
    maps,
    NARROW,
    numbered,
    pair,
    params,
    three,
    transmission,
    WRIST,
)
from zoo.robots import maps as promise_maps

from transmission_bridge.bridge import bridge
from transmission_bridge.errors import MessageError

# -- joints that follow --------------------------------------------------------------------------


@pytest.mark.parametrize('limits', ['clamp', 'reject', 'off'])
@pytest.mark.parametrize(
    ('command', 'clamped', 'free'),
    [
        ({'position': {'j0': 1.0}}, 0.2, 1.0),
        ({'position': {'j1': 1.0}}, 0.2, 0.2),
        ({'position': {'j0': 1.0, 'j1': 1.0}}, 0.2, 6 / 26),
        ({'velocity': {'j0': -2.0, 'j1': -2.0}}, -0.4, -12 / 26),
        ({'velocity': {'j1': -2.0}}, -0.4, -0.4),
        ({'effort': {'j0': 50.0}}, 50.0, 50.0),
    ],
)
def test_a_joint_that_follows_keeps_its_limits(limits, command, clamped, free):
    """One motor sends no joint that it moves beyond a limit, whichever joint was commanded."""
    world = World(numbered(CLAW, NARROW), limits=limits)
    ((mode, _),) = command.items()
    if limits == 'reject' and clamped != free:
        assert reason(world.command, **command) == 'limit'
        assert world.counts['joint_commands'].limited == {'j1': 1}
    else:
        expected = free if limits == 'off' else clamped
        assert world.command(**command) == {mode: {'m0': pytest.approx(expected, rel=1e-12)}}
        is_clamped = limits == 'clamp' and clamped != free
        assert world.counts['joint_commands'].clamped == ({'j1': 1} if is_clamped else {})


def test_joints_without_a_common_position_within_their_limits_are_rejected():
    """If no motor position keeps all joints within their limits, a position is rejected."""
    joints = {'j0': '', 'j1': '<offset>2.5</offset>'}
    pair = transmission('pair', 'Coupled', joints, ('m0',), params(matrix='1; 1'))
    world = World(numbered(pair, NARROW))
    assert reason(world.command, position={'j0': -0.5}) == 'limit'
    assert world.command(velocity={'j0': -0.5}) == {'velocity': {'m0': pytest.approx(-0.5)}}


def test_a_step_of_a_joint_that_follows_counts():
    """``max_step`` compares all joints that one motor moves; a command to any of them counts."""
    world = World(numbered(CLAW, NARROW), max_step='reject', limits='off')
    world.state(position=(0.0,))
    assert reason(world.command, position={'j0': 0.3 / 5 + 1e-4}) == 'jumped'
    assert world.command(position={'j0': 0.3 / 5})
    world.now += 0.01
    assert reason(world.command, position={'j0': 0.42 / 5 + 1e-4}) == 'jumped'
    # After a rejection all of these joints start at the measured position.
    world.state(position=(-0.1,))
    assert reason(world.command, position={'j0': 0.0}) == 'jumped'
    assert world.command(position={'j0': -0.1 + 0.12 / 5})
    assert world.command(position={'j0': -0.1 + 0.2 / 5})


def test_joints_that_no_position_of_their_motor_fits():
    """They are not mapped, and with ``max_step`` make no step, whatever their position is."""
    robot = promise_maps('claw')  # near = a, far = sin(a), and the motor ends at 1.2
    world, steps = World(robot, limits='off'), World(robot, limits='off', max_step='reject')
    beyond = {'near': 9.0, 'far': 9.0}
    assert reason(world.command, position=beyond) == 'unmapped'
    way = (1.0, {'positions': (9.0, 9.0)})
    assert reason(world.trajectory, ('near', 'far'), way) == 'unmapped'
    for position in (beyond, {'near': 0.5, 'far': np.sin(0.5)}):
        assert reason(steps.command, position=position) == 'jumped'


# -- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('both', [False, True])
@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_a_finger_with_one_motor_stops(mode, both):
    """The velocity of one motor that bends two joints ends, whichever joints were commanded."""
    world = World(numbered(FINGER), zero_effort=True)
    assert world.command(**{mode: {'j0': 10.0}})[mode]['m0'] == pytest.approx(10.0)
    if both:
        assert world.wait(0.25) == {}
        world.command(**{mode: {'j1': 10.0}})
    assert world.wait(0.5) == {}
    assert world.wait(TICK) == {mode: {'m0': 0.0}}
    assert world.wait(5.0) == {}


def test_a_partner_that_cannot_be_mapped_ends_at_the_motors():
    """If the position that a mechanism needs is unknown, its motors and partners get zero."""
    wings = transmission('wings', 'Differential', ('bow', 'stern'), ('port', 'starboard'))
    world = World(maps(('pitch', 'roll', 'bow', 'stern'), ANKLE + wings))
    world.state(position=(0.0,) * 4)
    world.command(velocity={'pitch': 0.1, 'roll': 0.2, 'bow': 1.0, 'stern': 2.0})
    world.now += 0.375
    world.command(velocity={'roll': 0.2, 'stern': 2.0})
    world.states.reset()
    ends = {'velocity': dict.fromkeys(world.robot.actuator_names, 0.0)}
    assert world.wait(0.25) == ends
    # Those of the partners, which were commanded later.
    assert world.wait(0.5) == ends


@pytest.mark.parametrize('timeout', [0.0, TIMEOUT])
def test_no_command_is_completed_from_an_old_position(timeout):
    """A position older than state_timeout is unknown, also after it was read."""
    world = World(numbered(WRIST), command_timeout=timeout)
    world.state(position=(0.2, 0.2))
    for _ in range(2):
        assert world.command(position={'j0': 0.1}) != {}
    world.gate.reset()
    world.now += 3.0
    world.states.read_values(world.now)  # as diagnostics do
    assert reason(world.command, position={'j0': 0.1}) == 'partial'


# -- plain arrays --------------------------------------------------------------------------------

BOTH = {'command_actuators': ('m0', 'm1')}


def test_an_array_waits_for_a_command_of_each_member():
    """It is sent with active commands of its mode only, and counted if it lacks one."""
    world = World(pair(), **BOTH)
    assert world.array(position={'j0': 0.5}) == {}
    assert world.gate.arrays.unsent == {'actuator_position_commands': 1}
    assert world.gate.arrays.missing == {'actuator_position_commands': ('m1',)}
    assert world.array(position={'j1': 0.25}) == {'actuator_position_commands': [0.5, 0.25]}
    assert world.gate.arrays.missing == {}
    assert world.array(velocity={'j1': 0.25}) == {}
    assert world.array(position={'j0': 0.5}) == {}


@pytest.mark.parametrize(('mode', 'value'), [('velocity', 5.0), ('effort', 40.0)])
def test_an_array_keeps_limits_that_were_tuned_since(mode, value):
    """A number beyond its limit is no command; what ends rates is brought within."""
    world = World(pair('<limit velocity="100" effort="100"/>'), **BOTH, zero_effort=True)
    world.command(**{mode: {'j0': 1.0, 'j1': value}})
    world.bridge.replace_robot(world.robot.with_parameters({f't1.actuators.m1.limit.{mode}': 1.0}))
    assert world.array(**{mode: {'j0': 1.0}}) == {}
    world.gate.ledger.expire_rates(np.array([0]))
    assert arrays(world.wait(TICK)) == {f'actuator_{mode}_commands': [0.0, 1.0]}


def test_an_array_leads_no_joint_further_beyond_its_limit():
    """The velocity of a member becomes zero after its joint has passed its limit."""
    world = World(pair(), **BOTH)
    world.state(position=(0.0, 0.0))
    world.command(velocity={'j0': 1.0, 'j1': 2.0})
    world.state(position=(0.0, 1.7))
    assert world.array(velocity={'j0': 1.0}) == {'actuator_velocity_commands': [1.0, 0.0]}
    world.now += 0.25
    world.command(velocity={'j0': 1.0})
    world.gate.ledger.expire_rates(np.array([0]))
    assert arrays(world.wait(TICK)) == {'actuator_velocity_commands': [0.0, 0.0]}


# -- trajectories --------------------------------------------------------------------------------


def test_beyond_a_position_limit_a_trajectory_leads_no_further():
    """Outward velocities of waypoints become zero; with ``limits: reject`` it is rejected."""
    for speed, velocity, expected in (
        (0.0, 1.0, (0.0, 3.0)),
        (0.0, -1.0, (-1.0, 3.0)),
        (0.5, -1.0, (-1.0, 0.0)),
    ):
        world = World(pair())
        world.state(position=(1.7, 0.0), velocity=(speed, 0.0))
        (point,) = world.trajectory('j0', (1.0, {'velocities': velocity, 'effort': 3.0}))
        assert (point.velocities[0], point.effort[0]) == expected
    world = World(pair(), limits='reject')
    world.state(position=(1.7, 0.0))
    assert reason(world.trajectory, 'j0', (1.0, {'velocities': 1.0})) == 'limit'


@pytest.mark.parametrize('array', ['velocities', 'accelerations'])
def test_a_trajectory_of_rates_ends(array):
    """Its last velocity ends a timeout after its last waypoint."""
    world = World(pair())
    world.trajectory('j0', (1.0, {array: 0.5}), (2.0, {array: 1.0}))
    assert world.wait(2.5) == {}
    assert world.wait(TICK) == {'velocity': {'m0': 0.0}}


@pytest.mark.parametrize('start', [None, 105.0])
def test_stopping_ends_a_trajectory_of_rates(start):
    """Under way or not started; one with positions stays with its driver."""
    world = World(pair())
    world.trajectory('j0', (9.0, {'velocities': 1.0}), start=start)
    world.trajectory('j1', (9.0, {'positions': 1.0}), start=start)
    assert world.gate.list_left_trajectories(world.now) == ('m1',)
    assert world.stop() == {'velocity': {'m0': 0.0}}


def test_a_trajectory_is_no_faster_than_its_limits_between_waypoints():
    """The mean speed is compared with joints and motors, and never clamped."""
    slow = (1.0, {'positions': -1.0}), (2.0, {'positions': 1.0})
    fast = (1.0, {'positions': -1.0}), (1.001, {'positions': 1.0})
    world = World(pair())
    assert len(world.trajectory('j0', *slow)) == 2
    assert reason(world.trajectory, 'j0', *fast) == 'limit'
    assert len(World(pair(), limits='off').trajectory('j0', *fast)) == 2
    motor = World(pair('<limit velocity="1.5"/>'))
    assert reason(motor.trajectory, 'j1', *slow) == 'actuator_limit'


# -- the promises --------------------------------------------------------------------------------


def test_every_promise_names_a_check_and_a_test_that_exist():
    """The table at the top of docs/commands_and_states.md is about this code."""
    root = Path(__file__).parents[2]
    text = (root / 'docs' / 'commands_and_states.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| (\d+) \| .* \| (.*) \| (.*) \|$', text, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 12))
    code = {path: path.read_text(encoding='utf-8') for path in (root / 'test/bridge').glob('*.py')}
    files = {path.name for path in code}
    modules = Path(bridge.__file__).parent.rglob('*.py')
    package = ''.join(path.read_text(encoding='utf-8') for path in modules)
    for _, checks, tests in rows:
        for check in re.findall(r'`([^`]+)`', checks):
            assert re.search(rf'(def|class) {check.split(".")[-1]}\b', package), check
        for test in re.findall(r'`([^`]+)`', tests):
            assert test in files or any(f'def {test}(' in each for each in code.values()), test


# -- steps ---------------------------------------------------------------------------------------


def test_a_step_is_as_large_as_its_velocity_limit_allows():
    """From the last position it has the time since, at most 0.1 s, and 0.05 s more."""
    world = World(pair(), max_step='reject', limits='off')
    world.state(position=(0.0, 0.0))
    assert reason(world.command, position={'j0': 20 * 0.15 + 1e-3}) == 'jumped'
    assert world.command(position={'j0': 20 * 0.15}) == {'position': {'m0': 3.0}}
    world.now += 0.01
    assert world.command(position={'j0': 3.0 + 20 * 0.06}) == {'position': {'m0': 4.2}}
    world.now += 0.01
    assert reason(world.command, position={'j0': 4.2 + 20 * 0.06 + 1e-3}) == 'jumped'


def test_the_way_to_the_first_waypoint_is_compared():
    """It has the time until then; the bound of 0.1 s is for streams."""
    world = World(pair(), max_step='reject', limits='off')
    world.state(position=(0.0, 0.0))
    way = ('j0', (1.0, {'positions': 21.1}))
    assert reason(world.trajectory, *way) == 'jumped'
    assert world.trajectory('j0', (1.0, {'positions': 20.9}))
    assert world.trajectory(*way, start=world.now + 1.0)


# -- several interfaces of a joint ---------------------------------------------------------------


def test_the_latest_interface_counts():
    """A position that a controller left is not sent beside the velocity of the next one."""
    world = World(pair(), several_interfaces='latest')
    for step in range(3):
        world.command(position={'j0': 0.1 * step})
    for _ in range(3):  # a constant velocity is the latest nevertheless
        sent = world.command(position={'j0': 0.2}, velocity={'j0': 2.0})
        assert sent == {'velocity': {'m0': 2.0}}
    for _ in range(2):
        sent = world.command(position={'j0': 0.3}, velocity={'j0': 2.0})
        assert sent == {'position': {'m0': 0.3}}
    assert world.command(velocity={'j0': 2.0}) == {'velocity': {'m0': 2.0}}


class _Topics(World):
    """A world where each interface has a topic of its own."""

    def __init__(self):
        super().__init__(pair(), several_interfaces='latest', command_timeout=0.0)

    def send(self, wait, **joint):
        """Command the first joint after a while; return its motor's number or the rejection."""
        self.now += wait
        ((mode, value),) = joint.items()
        try:
            sent = self.command(topic=f'joint_commands/{mode}', **{mode: {'j0': value}})
        except MessageError as error:
            return error.reason
        return sent.get(mode, {}).get('m0')

    def cycle(self, wait, position, velocity):
        """Send both after a while."""
        return self.send(wait, position=position), self.send(0.0, velocity=velocity)


def test_the_latest_interface_counts_among_topics():
    """It does also where each interface has a topic of its own, after a silence of all, too."""
    world = _Topics()
    for step in range(10):
        assert world.send(0.1, position=0.1 * step) == 0.1 * step
    unknown = 'several_interfaces'
    assert world.cycle(0.1, 0.9, 0.0) == (0.9, unknown)
    assert world.cycle(0.1, 0.9, 0.0) == (unknown, unknown)
    assert world.cycle(0.1, 0.9, 2.0) == (unknown, 2.0)
    assert world.cycle(0.1, 0.9, 2.0) == (None, 2.0)
    assert world.cycle(5.0, 0.9, 2.0) == (None, 2.0)
    assert world.cycle(0.6, 1.0, 2.0) == (1.0, None)


@pytest.mark.parametrize(('first', 'second'), [('position', 'velocity'), ('velocity', 'position')])
def test_topics_without_history_are_rejected(first, second):
    """The order of the first messages of two topics is chance; the first change decides."""
    world = _Topics()
    world.send(0.0, **{first: 1.0})
    for mode in (second, first) * 20:
        assert world.send(0.05, **{mode: 1.0}) == 'several_interfaces'
    assert world.send(0.0, **{second: 1.1}) == 1.1
    assert world.send(0.0, **{first: 1.0}) is None


def test_a_topic_that_ended_holds_nothing():
    """The one that continues is sent though it stands still and the other one changed since."""
    world = _Topics()
    for step in range(20):
        found = world.send(0.1, velocity=2.0)
        world.send(0.0, position=0.1 * step)
    sent = [found, *(world.send(0.125, velocity=2.0) for _ in range(12))]
    assert sent == [None] * 9 + [2.0] * 4


# -- joints that are rejected alone --------------------------------------------------------------

#: It names all joints in each of its messages.
TOPICS = 'joint_state_topic_hardware_interface/JointStateTopicSystem'


@pytest.mark.parametrize(
    ('why', 'options', 'command'),
    [
        ('mixed_coupled', {}, {'position': {'j0': 0.1}, 'velocity': {'j1': 0.1, 'j2': 1.0}}),
        ('partial', {'partial_commands': 'reject'}, {'velocity': {'j0': 0.1, 'j2': 1.0}}),
        ('jumped', {'max_step': 'reject'}, {'position': {'j0': 9.0}, 'velocity': {'j2': 1.0}}),
        (
            'several_interfaces',
            {'several_interfaces': 'reject'},
            {'position': {'j1': 0.1}, 'velocity': {'j1': 0.1, 'j2': 1.0}},
        ),
    ],
)
def test_a_transmission_is_rejected_alone(why, options, command):
    """The others are sent, and the velocities of its joints end at once."""
    world = World(three(TOPICS), **options)
    world.state(position=(0.0, 0.0, 0.0))
    world.command(velocity={'j0': 2.0, 'j1': 1.0, 'j2': 0.5})
    world.command(**command)
    *_, sent, end = ([each] for each in world.sent)
    assert as_words(sent) == {'velocity': {'m2': 1.0}}
    assert as_words(end) == {'velocity': {'m0': 0.0, 'm1': 0.0}}
    named = {name for values in command.values() for name in values} - {'j2'}
    assert world.counts['joint_commands'].rejected == {f'{name} ({why})': 1 for name in named}


def test_a_change_of_a_joint_that_is_rejected_alone_is_not_counted():
    """Its velocity was clamped before it was rejected; that of the other joint is counted."""
    world = World(three(TOPICS))
    world.command(position={'j0': 0.1}, velocity={'j1': 50.0, 'j2': 50.0})
    assert world.counts['joint_commands'].clamped == {'j2': 1}


@pytest.mark.parametrize(('plugin', 'is_alone'), [(TOPICS, True), ('two/Hardware', False)])
def test_an_unknown_joint_is_left_out(plugin, is_alone):
    """A joint of another robot in the message stops no other joint; few of them are counted."""
    world = World(three(plugin))
    both = {'velocity': {'stranger': 1.0, 'j2': 1.0}}
    if not is_alone:
        assert reason(world.command, **both) == 'unknown_joint'
        return
    assert world.command(**both) == {'velocity': {'m2': 1.0}}
    assert reason(world.command, position={'stranger': 9.0}) == 'unknown_joint'
    counts = world.counts['joint_commands'].rejected
    assert counts == {"'stranger' (unknown_joint)": 1}
    for number in range(200):
        world.command(velocity={f'stranger {number}': 1.0, 'j2': 1.0})
    assert len(counts) < 100


def test_a_robot_without_joints_ignores_and_stops():
    """A robot without joints is sent nothing, by a command without names, by time or at a stop."""
    world = World(maps({}, ''))
    assert world.command_record(record((), ())) == world.wait(9.0) == world.stop() == {}
    assert world.sent == []
