# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The gate: what is sent to motors, by every route, and how it ends."""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path
import re

import numpy as np
import pytest

from transmission_bridge.bridge import bridge
from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.command_plan import find_command_names, plan_command
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

FIELDS = ('position', 'velocity', 'effort')
TIMEOUT, TICK = 0.5, 0.125

SIMPLE = """<transmission name="t{0}"><plugin>transmission_interface/SimpleTransmission</plugin>
<actuator name="m{0}" role="actuator1">{limit}</actuator>
<joint name="j{0}" role="joint1"/></transmission>"""
#: One motor bends two joints alike.
FINGER = """<transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
<param name="matrix">1; 1</param><actuator name="m0" role="actuator1"/>
<joint name="j0" role="joint1"/><joint name="j1" role="joint2"/></transmission>"""
WRIST = """<transmission name="wrist">
<plugin>transmission_interface/DifferentialTransmission</plugin>
<actuator name="m0" role="actuator1"/><actuator name="m1" role="actuator2"/>
<joint name="j0" role="joint1"/><joint name="j1" role="joint2"/></transmission>"""


def made(
    *transmissions,
    limit='lower="-1.5" upper="1.5" velocity="20" effort="50"',
    count=2,
    kind='revolute',
    plugin='two/Hardware',
):
    """Return a robot of the joints ``j0``, ``j1``, ..."""
    joints = ''.join(
        f'<link name="l{n}"/><joint name="j{n}" type="{kind}"><parent link="base"/>'
        f'<child link="l{n}"/><limit {limit}/></joint>'
        for n in range(count)
    )
    declared = ''.join(f'<joint name="j{n}"/>' for n in range(count))
    return RobotTransmissions(
        load_description(
            f'<robot name="two"><link name="base"/>{joints}<ros2_control name="h" type="system">'
            f'<hardware><plugin>{plugin}</plugin></hardware>{declared}{"".join(transmissions)}'
            '</ros2_control></robot>'
        )
    )


def pair(limit='', **more):
    """Return a robot of two simple transmissions, the motor ``m1`` with a limit."""
    return made(SIMPLE.format(0, limit=''), SIMPLE.format(1, limit=limit), **more)


class World:
    """
    A bridge, its driver and its commander, in plain terms.

    :ivar sent: The messages sent, as ``(topic, numbers by actuator and interface)``.
    """

    def __init__(self, robot, **options):
        given = {'command_timeout': TIMEOUT, 'state_timeout': 1.0} | options
        self.robot = robot
        self.bridge = Bridge(robot, BridgeOptions(**given), self._receive)
        self.orders = given.get('command_actuators', ())
        self.layouts = LayoutTable()
        self.now = 100.0
        self.sent = []

    def _receive(self, outgoing):
        self.sent += [(each.topic, each.content) for each in outgoing]

    def wait(self, seconds):
        """Let time pass, with ticks; return the messages sent."""
        before = len(self.sent)
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            self.bridge.end_expired_commands((2, 0), self.now)
        return self.words(self.sent[before:])

    def state(self, names=(), **arrays):
        """Have the driver give positions, velocities, efforts of its (first) actuators."""
        rows = [np.array(arrays.get(field, ()), dtype=float) for field in FIELDS]
        names = names or self.robot.actuator_names[: max(map(len, rows))]
        record = JointStateRecord((1, 0), '', names, *rows)
        layout = self.layouts.find_layout(names, record.lengths)
        self.bridge.states.merge_message('driver', layout, record, (1, 0), self.now)

    def command(self, *, topic='joint_commands', **modes):
        """Command joints, each mode as ``{joint: value}``; return what is sent."""
        before = len(self.sent)
        names = tuple(dict.fromkeys(name for values in modes.values() for name in values))
        rows = [
            np.array([modes[field].get(name, math.nan) for name in names])
            if field in modes
            else np.empty(0)
            for field in FIELDS
        ]
        record = JointStateRecord((1, 0), '', names, *rows)
        layout = self.layouts.find_layout(names, record.lengths)
        self.bridge.send_joint_command(layout, record, (1, 0), self.now, topic)
        return self.words(self.sent[before:])

    def trajectory(self, joints, *points, start=None):
        """Send waypoints ``(time, {array: numbers})``; return those that are sent on."""
        before = len(self.sent)
        record = TrajectoryRecord(
            (0, 0),
            '',
            tuple(joints),
            tuple(
                Waypoint(
                    (int(time), round((time % 1) * 1e9)),
                    *(np.array(given.get(field, ()), dtype=float) for field in POINT_FIELDS),
                )
                for time, given in points
            ),
        )
        self.bridge.send_joint_trajectory(record, self.now, start)
        ((_, sent),) = self.sent[before:]
        return sent.points

    def stop(self):
        """Deactivate; return what is sent."""
        before = len(self.sent)
        self.bridge.send_stop((3, 0), self.now)
        return self.words(self.sent[before:])

    def tune(self, changes):
        """Change parameters."""
        after = self.robot.with_parameters(changes)
        self.bridge.guard_tuning(after, self.now)
        self.bridge.replace_maps(after)
        self.robot = after

    @staticmethod
    def words(messages):
        """Return ``{mode: {actuator: number}}`` of records, lists of arrays by their topic."""
        found = {}
        for topic, content in messages:
            if topic != 'actuator_commands':
                found[topic] = content.tolist()
                continue
            for field in FIELDS:
                if len(getattr(content, field)):
                    numbers = getattr(content, field).tolist()
                    found[field] = dict(zip(content.names, numbers, strict=True))
        return found


def reason(act, *given, **modes):
    """Return why something is rejected."""
    with pytest.raises(MessageError) as caught:
        act(*given, **modes)
    return caught.value.reason


# -- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('both', [False, True])
@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_a_finger_with_one_motor_stops(mode, both):
    """The velocity of one motor that bends two joints ends, whichever joints were commanded."""
    world = World(made(FINGER), zero_effort=True)
    assert world.command(**{mode: {'j0': 10.0}})[mode]['m0'] == pytest.approx(10.0)
    if both:
        assert world.wait(0.25) == {}
        world.command(**{mode: {'j1': 10.0}})
    assert world.wait(0.5) == {}
    assert world.wait(TICK) == {mode: {'m0': 0.0}}
    assert world.wait(5.0) == {}


WINGS = """<transmission name="wings">
<plugin>transmission_interface/DifferentialTransmission</plugin>
<actuator name="port" role="actuator1"/><actuator name="starboard" role="actuator2"/>
<joint name="bow" role="joint1"/><joint name="stern" role="joint2"/></transmission>"""


def test_a_partner_that_cannot_be_mapped_ends_at_the_motors(robots):
    """If the position that a mechanism needs is unknown, its motors get zero; others go on."""
    text = robots.urdf(('pitch', 'roll', 'bow', 'stern'), robots.ANKLE + WINGS)
    world = World(RobotTransmissions(load_description(text, strict=True)))
    world.state(position=(0.0,) * 4)
    world.command(velocity={'pitch': 0.1, 'roll': 0.2, 'bow': 1.0, 'stern': 2.0})
    world.now += 0.375
    world.command(velocity={'roll': 0.2, 'stern': 2.0})
    world.bridge.states.reset()
    ends = {'upper': 0.0, 'lower': 0.0, 'port': 2.0, 'starboard': -2.0}
    assert world.wait(0.25)['velocity'] == pytest.approx(ends, rel=1e-15)
    assert world.wait(0.5) == {'velocity': {'port': 0.0, 'starboard': 0.0}}


# -- what is known -------------------------------------------------------------------------------


@pytest.mark.parametrize('deactivated', [False, True])
def test_position_from_before_time_went_back_is_not_used_when_time_has_passed_it(deactivated):
    """A wrist joint is completed by the position of its partner, which is of a minute ago."""
    world = World(three())
    world.state(position=(0.2, 0.2))
    world.command(position={'j0': 0.1})
    world.bridge.end_expired_commands((1, 0), 40.0)
    if deactivated:
        world.bridge.send_stop((1, 0), 40.0)
        world.bridge.reset()
    world.now = 100.4
    world.state(('m2',), position=(0.0,))
    assert reason(world.command, position={'j0': 0.1}) == 'partial'


def test_velocity_in_force_ends_when_time_goes_back_before_a_forgotten_trajectory():
    """Its driver was silent, so that the positions are forgotten: it has nothing to end itself."""
    world = World(pair(), command_timeout=0.0)
    world.state(position=(0.0, 0.0))
    world.command(velocity={'j0': 0.5})
    world.trajectory(['j0'], (0.5, {'positions': [0.2]}), start=110.0)
    world.bridge.end_expired_commands((1, 0), 102.0)
    world.now = 40.0
    assert world.wait(TICK) == {'velocity': {'m0': 0.0}}


@pytest.mark.parametrize('timeout', [0.0, TIMEOUT])
def test_no_command_is_completed_from_an_old_position(timeout):
    """A position older than state_timeout is unknown, also after it was read."""
    world = World(made(WRIST), command_timeout=timeout)
    world.state(position=(0.2, 0.2))
    for _ in range(2):
        assert world.command(position={'j0': 0.1}) != {}
    world.bridge.gate.reset()
    world.now += 3.0
    world.bridge.states.merged.read_values(world.now)  # as diagnostics do
    assert reason(world.command, position={'j0': 0.1}) == 'partial'


# -- plain arrays --------------------------------------------------------------------------------

BOTH = {'command_actuators': ('m0', 'm1')}


def arrays(sent):
    """Return the arrays of what was sent."""
    return {topic: numbers for topic, numbers in sent.items() if topic.startswith('actuator_')}


def test_an_array_waits_for_a_command_of_each_member():
    """It is sent with active commands of its mode only, and counted if it lacks one."""
    world = World(pair(), **BOTH)
    assert arrays(world.command(position={'j0': 0.5})) == {}
    assert world.bridge.gate.unsent_arrays == {'actuator_position_commands': 1}
    assert world.bridge.gate.missing == {'actuator_position_commands': ('m1',)}
    sent = world.command(position={'j1': 0.25})
    assert arrays(sent) == {'actuator_position_commands': [0.5, 0.25]}
    assert world.bridge.gate.missing == {}
    assert arrays(world.command(velocity={'j1': 0.25})) == {}
    assert arrays(world.command(position={'j0': 0.5})) == {}


def test_an_array_does_not_send_to_an_unknown_turn():
    """The same command alone is also rejected."""
    limit = 'lower="-9" upper="9" velocity="20" effort="50"'
    robot = made(SIMPLE.format(0, limit=''), SIMPLE.format(1, limit=''), limit=limit)
    world = World(robot, **BOTH, wrap_period=('m1=6.283185307179586',))
    world.state(position=(0.0, 0.0))
    assert reason(world.command, position={'j1': 0.1}) == 'unknown_turn'
    world.bridge.states.merged.settle_turns({1: 0.0})
    assert arrays(world.command(position={'j0': 0.1, 'j1': 0.1})) != {}
    world.bridge.states.merged.turns.forget_turns()
    world.state(position=(0.0, 0.0))
    assert arrays(world.command(position={'j0': 0.1})) == {}


@pytest.mark.parametrize(
    ('mode', 'name', 'value'), [('velocity', 'velocity', 5.0), ('effort', 'effort', 40.0)]
)
def test_an_array_keeps_limits_that_were_tuned_since(mode, name, value):
    """A number beyond its limit is no command; what ends rates is brought within."""
    world = World(pair('<limit velocity="100" effort="100"/>'), **BOTH, zero_effort=True)
    world.command(**{mode: {'j0': 1.0, 'j1': value}})
    after = world.robot.with_parameters({f't1.actuators.m1.limit.{name}': 1.0})
    world.bridge.replace_maps(after)
    assert arrays(world.command(**{mode: {'j0': 1.0}})) == {}
    world.bridge.gate.ledger.expire_rates(np.array([0]))
    topic = f'actuator_{mode}_commands'
    assert arrays(world.wait(TICK)) == {topic: [0.0, 1.0]}


# -- trajectories --------------------------------------------------------------------------------


def test_beyond_a_position_limit_a_trajectory_leads_no_further():
    """Outward velocities of waypoints become zero; with ``limits: reject`` it is rejected."""
    world = World(pair())
    world.state(position=(1.7, 0.0), velocity=(0.0, 0.0))
    (point,) = world.trajectory(['j0'], (1.0, {'velocities': [1.0]}))
    assert point.velocities.tolist() == [0.0]
    (point,) = world.trajectory(['j0'], (1.0, {'velocities': [-1.0], 'effort': [3.0]}))
    assert (point.velocities.tolist(), point.effort.tolist()) == ([-1.0], [3.0])
    world.state(position=(1.7, 0.0), velocity=(0.5, 0.0))
    (point,) = world.trajectory(['j0'], (1.0, {'velocities': [-1.0], 'effort': [3.0]}))
    assert point.effort.tolist() == [0.0]
    world = World(pair(), limits='reject')
    world.state(position=(1.7, 0.0))
    assert reason(world.trajectory, ['j0'], (1.0, {'velocities': [1.0]})) == 'limit'


@pytest.mark.parametrize('array', ['velocities', 'accelerations'])
def test_a_trajectory_of_rates_ends(array):
    """Its last velocity ends a timeout after its last waypoint."""
    world = World(pair())
    world.trajectory(['j0'], (1.0, {array: [0.5]}), (2.0, {array: [1.0]}))
    assert world.wait(2.5) == {}
    assert world.wait(TICK) == {'velocity': {'m0': 0.0}}


@pytest.mark.parametrize('start', [None, 105.0])
def test_stopping_ends_a_trajectory_of_rates(start):
    """Under way or not started; one with positions stays with its driver."""
    world = World(pair())
    world.trajectory(['j0'], (9.0, {'velocities': [1.0]}), start=start)
    world.trajectory(['j1'], (9.0, {'positions': [1.0]}), start=start)
    assert world.bridge.gate.find_left_trajectories(world.now) == ('m1',)
    assert world.stop() == {'velocity': {'m0': 0.0}}


def test_a_trajectory_is_no_faster_than_its_limits_between_waypoints():
    """The mean speed is compared with joints and motors, and never clamped."""
    slow = (1.0, {'positions': [-1.0]}), (2.0, {'positions': [1.0]})
    fast = (1.0, {'positions': [-1.0]}), (1.001, {'positions': [1.0]})
    world = World(pair())
    assert len(world.trajectory(['j0'], *slow)) == 2
    assert reason(world.trajectory, ['j0'], *fast) == 'limit'
    assert len(World(pair(), limits='off').trajectory(['j0'], *fast)) == 2
    motor = World(pair('<limit velocity="1.5"/>'))
    assert reason(motor.trajectory, ['j1'], *slow) == 'actuator_limit'


# -- tuning --------------------------------------------------------------------------------------


def test_a_tuned_limit_does_not_move_a_commanded_joint():
    """A limit that would move what is commanded, or what was clamped, is refused."""
    world = World(pair('<limit lower="-1" upper="1" velocity="5" effort="5"/>'))
    world.state(position=(0.0, 0.0))
    world.command(position={'j1': 0.0})
    for name, value in (('lower', 0.5), ('upper', -0.5)):
        with pytest.raises(ParameterError, match=r'j1 would shift by 0\.5 rad'):
            world.tune({f't1.actuators.m1.limit.{name}': value})
    world.command(position={'j1': 1.4})
    with pytest.raises(ParameterError, match=r'j1 would shift by 0\.4 rad'):
        world.tune({'t1.actuators.m1.limit.upper': 2.0})
    world.command(effort={'j1': 5.0})
    with pytest.raises(ParameterError, match='effort 1 instead of 5'):
        world.tune({'t1.actuators.m1.limit.effort': 1.0})
    world.command(velocity={'j1': 15.0})
    world.tune({'t1.actuators.m1.limit.velocity': 1.0})
    with pytest.raises(ParameterError, match='velocity 10 instead of 1'):
        world.tune({'t1.actuators.m1.limit.velocity': 10.0})
    world.wait(1.0)
    world.tune({'t1.actuators.m1.limit.velocity': 10.0})


# -- beyond a limit, by array --------------------------------------------------------------------


def test_an_array_leads_no_joint_further_beyond_its_limit():
    """The velocity of a member becomes zero after its joint has passed its limit."""
    world = World(pair(), **BOTH)
    world.state(position=(0.0, 0.0))
    world.command(velocity={'j0': 1.0, 'j1': 2.0})
    world.state(position=(0.0, 1.7))
    sent = arrays(world.command(velocity={'j0': 1.0}))
    assert sent == {'actuator_velocity_commands': [1.0, 0.0]}
    world.now += 0.25
    world.command(velocity={'j0': 1.0})
    world.bridge.gate.ledger.expire_rates(np.array([0]))
    assert arrays(world.wait(TICK)) == {'actuator_velocity_commands': [0.0, 0.0]}


# -- the promises --------------------------------------------------------------------------------


def test_every_promise_names_a_check_and_a_test_that_exist():
    """The table at the top of docs/commands_and_states.md is about this code."""
    root = Path(__file__).parents[2]
    text = (root / 'docs' / 'commands_and_states.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| (\d+) \| .* \| (.*) \| (.*) \|$', text, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 12))
    code = {path: path.read_text(encoding='utf-8') for path in (root / 'test/bridge').glob('*.py')}
    code['package'] = ''.join(
        path.read_text(encoding='utf-8') for path in Path(bridge.__file__).parent.glob('*.py')
    )
    files = {path.name for path in code if path != 'package'}
    for _, checks, tests in rows:
        for check in re.findall(r'`([^`]+)`', checks):
            assert re.search(rf'(def|class) {check.split(".")[-1]}\b', code['package']), check
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
    way = (['j0'], (1.0, {'positions': [21.1]}))
    assert reason(world.trajectory, *way) == 'jumped'
    assert world.trajectory(['j0'], (1.0, {'positions': [20.9]}))
    assert world.trajectory(*way, start=world.now + 1.0)


# -- several interfaces of a joint ---------------------------------------------------------------


def test_the_latest_interface_counts():
    """A position that a controller left is not sent beside the velocity of the next one."""
    world = World(pair(), several_interfaces='latest')
    for step in range(10):
        world.now += 0.1
        world.command(position={'j0': 0.1 * step})
    sent = []
    for _ in range(12):
        world.now += 0.125
        sent.append(world.command(position={'j0': 0.9}, velocity={'j0': 2.0}))
    # 0.5 s are needed to see that it stays; a constant velocity is the latest nevertheless.
    assert [sorted(each) for each in sent] == [['position', 'velocity']] * 3 + [['velocity']] * 9
    world.now += 0.125
    assert world.command(position={'j0': 1.0}, velocity={'j0': 2.0}) == {'position': {'m0': 1.0}}


def test_the_latest_interface_counts_among_topics():
    """It does also where each interface has a topic of its own, after a silence of all, too."""
    world = World(pair(), several_interfaces='latest', command_timeout=0.0)

    def cycle(wait, **modes):
        world.now += wait
        return [
            world.command(topic=f'joint_commands/{mode}', **{mode: {'j0': value}})
            for mode, value in modes.items()
        ]

    for step in range(10):
        assert cycle(0.1, position=0.1 * step) == [{'position': {'m0': 0.1 * step}}]
    sent = [cycle(0.125, position=0.9, velocity=2.0) for _ in range(12)]
    assert [[sorted(each) for each in both] for both in sent[:3]] == [
        [['position'], ['velocity']]
    ] * 3
    assert sent[3:] == [[{}, {'velocity': {'m0': 2.0}}]] * 9
    assert cycle(5.0, position=0.9, velocity=2.0) == [{}, {'velocity': {'m0': 2.0}}]
    assert cycle(0.6, position=1.0, velocity=2.0) == [{'position': {'m0': 1.0}}, {}]


@pytest.mark.parametrize('modes', [('position', 'velocity'), ('velocity', 'position')])
def test_topics_without_history_are_rejected(modes):
    """The order of the first messages of two topics is chance; the first change decides."""
    world = World(pair(), several_interfaces='latest', command_timeout=0.0)
    first, second = modes
    world.command(topic=f'joint_commands/{first}', **{first: {'j0': 1.0}})
    world.now += 0.001
    for _ in range(8):
        for mode in reversed(modes):
            found = reason(world.command, topic=f'joint_commands/{mode}', **{mode: {'j0': 1.0}})
            assert found == 'several_interfaces'
            world.now += 0.05
    world.now += 0.5
    found = reason(world.command, topic=f'joint_commands/{first}', **{first: {'j0': 1.0}})
    assert found == 'several_interfaces'
    world.now += 0.1
    sent = world.command(topic=f'joint_commands/{second}', **{second: {'j0': 1.1}})
    assert sent == {second: {'m0': 1.1}}
    assert world.command(topic=f'joint_commands/{first}', **{first: {'j0': 1.0}}) == {}


def test_a_topic_that_ended_holds_nothing():
    """The one that continues is sent though it stands still and the other one changed since."""
    world = World(pair(), several_interfaces='latest', command_timeout=0.0)

    def velocity():
        return world.command(topic='joint_commands/velocity', velocity={'j0': 2.0})

    for step in range(20):
        world.now += 0.1
        world.command(topic='joint_commands/position', position={'j0': 0.1 * step})
        found = velocity() if step > 9 else None
    assert found == {}
    sent = []
    for _ in range(12):
        world.now += 0.125
        sent.append(velocity())
    assert sent == [{}] * 7 + [{'velocity': {'m0': 2.0}}] * 5


# -- joints that are rejected alone --------------------------------------------------------------


def three(plugin='two/Hardware'):
    """Return a robot of a wrist beside a joint of its own, without position limits."""
    limit, parts = 'velocity="20" effort="9"', (WRIST, SIMPLE.format(2, limit=''))
    return made(*parts, count=3, limit=limit, kind='continuous', plugin=plugin)


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
    world = World(three(), rejects='transmission', **options)
    world.state(position=(0.0, 0.0, 0.0))
    world.command(velocity={'j0': 2.0, 'j1': 1.0, 'j2': 0.5})
    world.command(**command)
    *_, sent, end = ([each] for each in world.sent)
    assert world.words(sent) == {'velocity': {'m2': 1.0}}
    assert world.words(end) == {'velocity': {'m0': 0.0, 'm1': 0.0}}
    counts = world.bridge.gate.ledger.counts['joint_commands'].rejected
    named = {name for values in command.values() for name in values} - {'j2'}
    assert counts == {f'{name} ({why})': 1 for name in named}


def test_an_unknown_joint_is_left_out():
    """A joint of another robot in the message stops no other joint."""
    world = World(three(), rejects='transmission')
    assert world.command(velocity={'stranger': 1.0, 'j2': 1.0}) == {'velocity': {'m2': 1.0}}
    counts = world.bridge.gate.ledger.counts['joint_commands'].rejected
    assert counts == {"'stranger' (unknown_joint)": 1}
    assert reason(world.command, position={'stranger': 9.0}) == 'unknown_joint'
    assert counts == {"'stranger' (unknown_joint)": 1}
    for number in range(1000):
        world.command(velocity={f'stranger {number}': 1.0, 'j2': 1.0})
    assert len(counts) < 100


def test_an_unknown_joint_in_a_shortened_array():
    """Then the values cannot be assigned, though as many joints declare the interface."""
    names = find_command_names(three())
    names = replace(names, declared={'velocity': frozenset({'j0', 'j1'})})
    layouts = LayoutTable()
    plan_command(layouts.find_layout(('j0', 'j2', 'j1'), (0, 2, 0)), names, may_be_unknown=True)
    strange = layouts.find_layout(('j0', 'stranger', 'j1'), (0, 2, 0))
    assert reason(plan_command, strange, names, may_be_unknown=True) == 'ragged'


@pytest.mark.parametrize(
    ('plugin', 'is_alone'),
    [
        ('joint_state_topic_hardware_interface/JointStateTopicSystem', True),
        ('two/Hardware', False),
    ],
)
def test_a_topic_based_component_has_joints_rejected_alone(plugin, is_alone):
    """Because it names all joints in each of its messages."""
    world = World(three(plugin))
    command = {'velocity': {'stranger': 1.0, 'j2': 1.0}}
    if is_alone:
        assert world.command(**command) == {'velocity': {'m2': 1.0}}
    else:
        assert reason(world.command, **command) == 'unknown_joint'
