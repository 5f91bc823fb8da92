# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories to actuator trajectories, against formulas written out by hand."""

from __future__ import annotations

import math

from command_paths import Commands, Trajectories
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

INTERFACES = ('position', 'velocity', 'acceleration', 'effort')
JOINTS = ('finger', 'elbow', 'roll', 'lift', 'pitch', 'shoulder')
GROUPS = (('roll', 'pitch'), ('shoulder', 'elbow'))
MOVES = {
    'finger': ('finger',),
    'lift': ('winch',),
    'roll': ('left', 'right'),
    'pitch': ('left', 'right'),
    'shoulder': ('hip', 'crank'),
    'elbow': ('hip', 'crank'),
}
NUMBER = st.floats(-1e3, 1e3)

#: A joint with limits, a follower, a joint that only is read, a knee whose ratio depends on its
#: position, and one actuator for two joints.
LIMITED = """
<robot name="limited">
  <link name="base"/>
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="a"/><limit lower="-1" upper="2" velocity="3" effort="4"/>
  </joint>
  <joint name="copy" type="continuous">
    <parent link="base"/><child link="b"/><mimic joint="slide"/>
  </joint>
  <joint name="knee" type="continuous"><parent link="base"/><child link="c"/></joint>
  <joint name="near" type="continuous"><parent link="base"/><child link="d"/></joint>
  <joint name="far" type="continuous"><parent link="base"/><child link="e"/></joint>
  <ros2_control name="hardware" type="system">
    <hardware><plugin>limited/Hardware</plugin></hardware>
    <joint name="knee"><command_interface name="position"/></joint>
    <joint name="near"><command_interface name="position"/></joint>
    <joint name="far"><command_interface name="position"/></joint>
    {leg}
    <transmission name="tendon">
      <plugin>transmission_bridge/CoupledTransmission</plugin>
      <actuator name="motor" role="actuator1"/>
      <joint name="near" role="joint1"/>
      <joint name="far" role="joint2"/>
      <param name="matrix">1.0; 0.5</param>
    </transmission>
  </ros2_control>
</robot>
"""


@pytest.fixture(scope='module')
def limited(robots):
    """Return the maps of the limited robot."""
    return RobotTransmissions(load_description(LIMITED.format(leg=robots.leg()), strict=True))


def make(robot, partial_commands='hold', limits='clamp'):
    """Return a command path and a trajectory path that belong together."""
    commands = Commands(robot, partial_commands=partial_commands, limits=limits)
    return commands, Trajectories(robot, commands, partial_commands=partial_commands)


def waypoint(time, **fields):
    """Return a waypoint; what is not given is omitted."""
    return Waypoint(time, *(np.array(fields.get(each, ()), dtype=float) for each in POINT_FIELDS))


def trajectory(names, *points, stamp=(0, 0), frame_id=''):
    """Return a trajectory with waypoints at given times, by default a second apart."""
    made = [
        each if isinstance(each, Waypoint) else waypoint((number, 5), **each)
        for number, each in enumerate(points)
    ]
    return TrajectoryRecord(stamp, frame_id, tuple(names), tuple(made))


def unknown(robot):
    """Return unknown joint positions."""
    return np.full(len(robot.joint_names), math.nan)


def refusal(path, robot, record, measured=None):
    """Return the reason for which a trajectory is refused."""
    with pytest.raises(MessageError) as caught:
        path.map(record, unknown(robot) if measured is None else measured)
    return caught.value.reason


@st.composite
def trajectories(draw):
    """Return a valid trajectory of some joints, what each waypoint omits being up to chance."""
    names = draw(st.lists(st.sampled_from(JOINTS), min_size=1, unique=True))
    numbers = st.lists(NUMBER, min_size=len(names), max_size=len(names)).map(np.array)
    arrays = st.one_of(st.just(np.empty(0)), numbers)
    points = draw(
        st.lists(
            st.tuples(arrays, arrays, arrays, arrays).filter(
                lambda each: any(len(array) for array in each[:3])
            ),
            min_size=1,
            max_size=4,
        )
    )
    times = sorted(
        draw(
            st.lists(
                st.tuples(st.integers(0, 3), st.integers(0, 10**9 - 1)),
                min_size=len(points),
                max_size=len(points),
                unique=True,
            )
        )
    )
    return TrajectoryRecord(
        draw(st.sampled_from([(0, 0), (7, 8)])),
        draw(st.sampled_from(['', 'base'])),
        tuple(names),
        tuple(Waypoint(time, *point) for time, point in zip(times, points, strict=True)),
    )


def partners(record):
    """Return the joints that are coupled to joints of a trajectory and not in it."""
    return [
        name
        for group in GROUPS
        if set(group) & set(record.names)
        for name in group
        if name not in record.names
    ]


def expected_joints(record, point, held, measured):
    """Return by interface the joint values that a waypoint means; the slow and obvious way."""
    result = {}
    for interface, field in zip(INTERFACES, POINT_FIELDS, strict=True):
        array = getattr(point, field)
        if not len(array):
            continue
        joints = dict(zip(record.names, array, strict=True))
        for name in partners(record):
            joints[name] = 0.0
            if interface == 'position':
                joints[name] = held[name] if name in held else measured[name]
            if interface == 'effort':
                joints[name] = math.nan  # nothing was commanded: refused
        result[interface] = joints
    return result


@given(
    record=trajectories(),
    held=st.dictionaries(st.sampled_from(JOINTS), NUMBER),
    measured=st.fixed_dictionaries(dict.fromkeys((*JOINTS, 'dial'), NUMBER)),
)
def test_every_waypoint(robot, reference, record, held, measured):
    """Every waypoint is mapped, what it omits stays omitted, header and times are untouched."""
    commands, path = make(robot)
    for group in (*GROUPS, ('finger',), ('lift',)):
        if all(name in held for name in group):
            commands.command_interface(
                'position',
                group,
                [held[name] for name in group],
                unknown(robot),
                (0, 0),
                source='x',
            )
        else:
            held = {name: value for name, value in held.items() if name not in group}
    position = np.array([measured[name] for name in robot.joint_names])
    wants_effort = any(len(point.effort) for point in record.points) and partners(record)
    if wants_effort:
        before = commands.held
        assert refusal(path, robot, record, position) == 'partial'
        np.testing.assert_array_equal(commands.held, before)
        return
    mapped = path.map(record, position)
    assert (mapped.stamp, mapped.frame_id) == (record.stamp, record.frame_id)
    assert [each.time for each in mapped.points] == [each.time for each in record.points]
    moved = {actuator for name in record.names for actuator in MOVES[name]}
    assert mapped.names == tuple(name for name in reference.ACTUATORS if name in moved)
    numbers = reference.Numbers()
    for point, found in zip(record.points, mapped.points, strict=True):
        joints = expected_joints(record, point, held, measured)
        for interface, field in zip(INTERFACES, POINT_FIELDS, strict=True):
            values = getattr(found, field)
            assert len(values) == (len(mapped.names) if interface in joints else 0)
            for actuator, value in zip(mapped.names, values, strict=False):
                formula = 'velocity' if interface == 'acceleration' else interface
                number = reference.actuator_value(numbers, formula, actuator, joints[interface])
                assert number.equals(value), (interface, actuator)


@given(record=trajectories(), measured=NUMBER)
def test_end_is_held(robot, record, measured):
    """The last waypoint's positions are the held commands, of the coupled joints too."""
    commands, path = make(robot)
    if partners(record) and any(len(point.effort) for point in record.points):
        return
    path.map(record, np.full(len(robot.joint_names), measured))
    last = dict(zip(record.names, record.points[-1].positions, strict=False))
    if last:
        last.update(dict.fromkeys(partners(record), measured))
    held = dict(zip(robot.joint_names, commands.held[0], strict=True))
    assert {name: value for name, value in held.items() if not math.isnan(value)} == last
    assert np.isnan(commands.held[1:]).all() or not last


def test_effort_of_a_held_joint(robot, reference):
    """A coupled joint keeps the effort that it was commanded last."""
    commands, path = make(robot)
    commands.command_interface(
        'effort', ('roll', 'pitch'), [1.0, 2.0], unknown(robot), (0, 0), source='x'
    )
    measured = np.zeros(len(robot.joint_names))
    point = {'positions': [0.5], 'effort': [3.0]}
    (found,) = path.map(trajectory(['roll'], point), measured).points
    for place, actuator in enumerate(('left', 'right')):
        number = reference.actuator_value(
            reference.Numbers(), 'effort', actuator, {'roll': 3.0, 'pitch': 2.0}
        )
        assert number.equals(found.effort[place])


def test_old_modes_are_over(robot):
    """A trajectory replaces what its joints were commanded by what its last waypoint says."""
    commands, path = make(robot)
    commands.command_interface('velocity', ('lift',), [1.0], unknown(robot), (0, 0), source='x')
    path.map(trajectory(['lift'], {'velocities': [2.0]}), unknown(robot))
    assert commands.held[1, robot.joint_names.index('lift')] == 2.0
    path.map(trajectory(['lift'], {'positions': [2.0]}), unknown(robot))
    assert np.isnan(commands.held[1:]).all()
    assert commands.stop((0, 0)) == []


def test_tuning_counts_at_once(robot, tuned, reference):
    """The maps can be exchanged between two trajectories."""
    changes = {('reduction', 'lift'): 8.0, ('offset', 'lift'): -1.0}
    _, path = make(robot)
    path.use(tuned(changes))
    (found,) = path.map(trajectory(['lift'], {'positions': [2.0]}), unknown(robot)).points
    assert found.positions.tolist() == [24.0]


@pytest.mark.parametrize(
    ('names', 'points', 'reason'),
    [
        ((), [{'positions': []}], 'no_names'),
        (('lift',), [], 'no_points'),
        (('lift', 'nobody'), [{'positions': [1.0, 1.0]}], 'unknown_joint'),
        (('lift', 'lift'), [{'positions': [1.0, 1.0]}], 'duplicate_name'),
        (('lift', 'dial'), [{'positions': [1.0, 1.0]}], 'not_commandable'),
        (('lift',), [{'positions': [1.0, 2.0]}], 'size'),
        (('lift', 'finger'), [{'positions': [1.0, 2.0], 'velocities': [1.0]}], 'size'),
        (('lift',), [{'positions': [1.0], 'effort': [1.0, 2.0]}], 'size'),
        (('lift',), [{'positions': [1.0]}, {}], 'empty_point'),
        (('lift',), [{'effort': [1.0]}], 'empty_point'),
        (('lift',), [{'positions': [math.nan]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'velocities': [math.inf]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'accelerations': [-math.inf]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'effort': [math.nan]}], 'not_finite'),
        (
            ('lift',),
            [waypoint((1, 0), positions=[1.0]), waypoint((1, 0), positions=[2.0])],
            'times',
        ),
        (
            ('lift',),
            [waypoint((1, 5), positions=[1.0]), waypoint((1, 4), positions=[2.0])],
            'times',
        ),
        (('roll',), [{'positions': [1.0]}], 'partial'),
        (('roll',), [{'velocities': [1.0], 'effort': [1.0]}], 'partial'),
    ],
)
def test_refused(robot, names, points, reason):
    """A trajectory that cannot be used is refused as a whole and changes nothing."""
    commands, path = make(robot)
    commands.command_interface('position', ('lift',), [1.5], unknown(robot), (0, 0), source='x')
    before = commands.held
    assert refusal(path, robot, trajectory(names, *points)) == reason
    np.testing.assert_array_equal(commands.held, before)


def test_first_time_may_be_zero_or_not(robot):
    """A trajectory may begin at once or later."""
    for time in ((0, 0), (3, 1)):
        _, path = make(robot)
        record = trajectory(['lift'], waypoint(time, positions=[1.0]))
        assert path.map(record, unknown(robot)).points[0].time == time


def test_partial_rejected(robot):
    """With partial_commands reject, a coupled transmission is commanded as a whole or not."""
    _, path = make(robot, partial_commands='reject')
    measured = np.zeros(len(robot.joint_names))
    one = trajectory(['roll'], {'positions': [1.0]})
    assert refusal(path, robot, one, measured) == 'partial'
    both = trajectory(['pitch', 'roll'], {'positions': [1.0, 2.0]})
    assert path.map(both, measured).names == ('left', 'right')


def test_too_few_actuators(limited):
    """Joints that share one actuator are commanded all or none."""
    _, path = make(limited)
    one = trajectory(['near'], {'positions': [1.0]})
    assert refusal(path, limited, one, np.zeros(4)) == 'partial'
    both = trajectory(['near', 'far'], {'positions': [1.0, 0.5]})
    assert path.map(both, unknown(limited)).names == ('motor',)


# -- limits --------------------------------------------------------------------------------------

BEYOND = {'positions': [5.0], 'velocities': [-9.0], 'accelerations': [99.0], 'effort': [5.0]}


def test_limits_clamp(limited):
    """Every waypoint is brought inside the limits of position, velocity and effort."""
    commands, path = make(limited)
    inside = {'positions': [0.5], 'velocities': [1.0]}
    found = path.map(trajectory(['slide'], inside, BEYOND), unknown(limited)).points
    assert [each.positions.tolist() for each in found] == [[0.5], [2.0]]
    assert [each.velocities.tolist() for each in found] == [[1.0], [-3.0]]
    assert [each.accelerations.tolist() for each in found] == [[], [99.0]]
    assert [each.effort.tolist() for each in found] == [[], [4.0]]
    assert commands.counts['joint_trajectory'].clamped == {'slide': 1}


@pytest.mark.parametrize('count', range(1, 7))
def test_last_waypoint_is_clamped(limited, count):
    """A last waypoint outside is clamped, however many waypoints inside precede it."""
    commands, path = make(limited)
    points = [{'positions': [0.5]}] * (count - 1) + [{'positions': [2.5]}]
    found = path.map(trajectory(['slide'], *points), unknown(limited)).points
    assert [point.positions.tolist() for point in found] == [[0.5]] * (count - 1) + [[2.0]]
    assert commands.counts['joint_trajectory'].clamped == {'slide': 1}


@pytest.mark.parametrize('count', range(1, 7))
def test_last_waypoint_is_rejected(limited, count):
    """With limits reject, a last waypoint outside costs the trajectory, whatever precedes."""
    commands, path = make(limited, limits='reject')
    points = [{'positions': [0.5]}] * (count - 1) + [{'positions': [2.5]}]
    assert refusal(path, limited, trajectory(['slide'], *points)) == 'limit'
    assert np.isnan(commands.held).all()


def test_limits_reject(limited):
    """With limits reject, one number outside costs the trajectory."""
    commands, path = make(limited, limits='reject')
    record = trajectory(['slide'], {'positions': [0.0]}, {'positions': [2.5]})
    assert refusal(path, limited, record) == 'limit'
    assert commands.counts['joint_trajectory'].limited == {'slide': 1}
    assert np.isnan(commands.held).all()


def test_limits_off(limited):
    """With limits off, everything passes."""
    _, path = make(limited, limits='off')
    (found,) = path.map(trajectory(['slide'], BEYOND), unknown(limited)).points
    assert [getattr(found, field).tolist() for field in POINT_FIELDS] == list(BEYOND.values())


def test_follower_is_not_commanded(limited):
    """A joint that follows another is no joint of a trajectory."""
    _, path = make(limited)
    record = trajectory(['copy'], {'positions': [0.0]})
    assert refusal(path, limited, record) == 'not_commandable'


# -- position-dependent mechanisms ---------------------------------------------------------------


def stroke(crank, angle):
    """Return length, slope and curvature of the cylinder, by the law of cosines."""
    r, d = crank
    s = math.sqrt(r * r + d * d - 2 * r * d * math.cos(angle))
    slope = r * d * math.sin(angle) / s
    return s, slope, r * d * math.cos(angle) / s - slope**2 / s


@given(st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 4), min_size=1, max_size=5))
def test_each_waypoint_at_its_own_position(limited, points):
    """Rates and effort use the position of their waypoint, accelerations its velocity too."""
    commands, path = make(limited)
    record = trajectory(
        ['knee'], *(dict(zip(POINT_FIELDS, [[x] for x in p], strict=True)) for p in points)
    )
    mapped = path.map(record, unknown(limited))
    assert mapped.names == ('cylinder',)
    for (q, v, acceleration, effort), found in zip(points, mapped.points, strict=True):
        s, slope, curvature = stroke((0.1, 0.4), 1.5 + q)
        close = {'rel_tol': 1e-10, 'abs_tol': 1e-12}
        assert math.isclose(found.positions[0], s, **close)
        assert math.isclose(found.velocities[0], slope * v, **close)
        expected = slope * acceleration + curvature * v * v
        assert math.isclose(found.accelerations[0], expected, **close)
        assert math.isclose(found.effort[0], effort / slope, **close)
    assert not commands.report.counts


@pytest.mark.parametrize(
    ('point', 'reason'),
    [
        ({'velocities': [0.1]}, 'no_position'),
        ({'accelerations': [0.1], 'velocities': [0.1]}, 'no_position'),
        ({'positions': [0.1], 'accelerations': [0.1]}, 'no_velocity'),
        ({'positions': [3.0]}, 'unmapped'),
        ({'positions': [3.0], 'velocities': [0.1]}, 'unmapped'),
    ],
)
def test_position_dependent_refused(limited, point, reason):
    """A waypoint that a mechanism cannot map without more is refused, as is one out of reach."""
    commands, path = make(limited)
    record = trajectory(['knee'], {'positions': [0.0]}, point)
    assert refusal(path, limited, record) == reason
    assert np.isnan(commands.held).all()


def test_others_do_not_need_positions(limited):
    """Joints with a fixed ratio may do without positions while a knee elsewhere could not."""
    _, path = make(limited)
    record = trajectory(['slide'], {'accelerations': [0.5]})
    (found,) = path.map(record, unknown(limited)).points
    assert found.accelerations.tolist() == [0.5]


# -- sources and time ----------------------------------------------------------------------------


def test_contested(robot):
    """A trajectory for a joint that another source commanded is counted as a contest."""
    commands, path = make(robot)
    commands.command_interface('position', ('lift',), [1.0], unknown(robot), (0, 0), source='x')
    path.map(trajectory(['lift', 'finger'], {'positions': [1.0, 1.0]}), unknown(robot))
    assert commands.counts['joint_trajectory'].contested == {'lift': 1}
    assert commands.counts['x'].contested == {}


def test_held_until_after_its_end(robot):
    """The end of a trajectory is held, whatever the command timeout is."""
    commands = Commands(robot, timeout=1.0)
    path = Trajectories(robot, commands, partial_commands='hold')
    record = trajectory(['lift'], waypoint((5, 0), positions=[1.0]))
    path.map(record, unknown(robot), now=10.0)
    for now in (15.9, 16.1, 99.0):
        assert commands.expire(unknown(robot), (0, 0), now) == []
        assert commands.held_positions[robot.joint_names.index('lift')]


def test_partner_under_way(robot, reference):
    """A joint omitted while a trajectory moves it holds its position: no jump to the end."""
    commands, path = make(robot)
    both = trajectory(['roll', 'pitch'], waypoint((5, 0), positions=[1.0, 2.0]))
    measured = np.full(len(robot.joint_names), 0.4)

    def sent(now, measured, by_trajectory):
        if by_trajectory:
            record = trajectory(['roll'], {'positions': [0.1]})
            found = path.map(record, measured, now=now)
            return dict(zip(found.names, found.points[0].positions.tolist(), strict=True))
        (found,) = commands.command_interface(
            'position', ('roll',), np.array([0.1]), measured, (1, 0), source='x', now=now
        )
        return dict(zip(found.names, found.position.tolist(), strict=True))

    for by_trajectory in (False, True):
        for now, pitch in ((12.0, 0.4), (15.5, 2.0)):
            path.map(both, measured, now=10.0)
            found = sent(now, measured, by_trajectory)
            assert found.keys() == {'left', 'right'}
            for name, value in found.items():
                number = reference.actuator_value(
                    reference.Numbers(), 'position', name, {'roll': 0.1, 'pitch': pitch}
                )
                assert number.equals(value), (now, name)
        path.map(both, measured, now=10.0)
        with pytest.raises(MessageError, match='pitch'):
            sent(12.0, unknown(robot), by_trajectory)


def test_partner_of_one_that_starts_later(robot):
    """It is under way until its own end, which a start in the future puts off."""
    commands = Commands(robot, timeout=1.0)
    path = Trajectories(robot, commands, partial_commands='hold')
    pitch = robot.joint_names.index('pitch')
    both = trajectory(['roll', 'pitch'], waypoint((5, 0), positions=[1.0, 2.0]))
    path.map(both, unknown(robot), now=10.0, start=20.0)
    for now, position in ((10.0, math.nan), (24.0, math.nan), (25.5, 2.0)):
        commands.update_clock(now)
        assert commands.held_positions[pitch]
        assert commands.held_at(now)[0, pitch] == pytest.approx(position, nan_ok=True)
    for now in (25.9, 26.1):
        commands.expire(unknown(robot), (0, 0), now)
        assert commands.held_positions[pitch]


def test_command_before_one_that_starts_later(robot, reference):
    """It lives and times out until the start, and its partner holds what it was commanded."""
    names = ('roll', 'pitch')
    both = trajectory(names, waypoint((5, 0), positions=[1.0, 2.0]))

    def send(commands, interface, joints, values, now):
        (sent,) = commands.command_interface(
            interface, joints, np.array(values), unknown(robot), (1, 0), source='x', now=now
        )
        return dict(zip(sent.names, getattr(sent, interface).tolist(), strict=True))

    def ready(timeout, interface):
        commands = Commands(robot, timeout=timeout)
        send(commands, interface, names, [0.25, 0.5], 9.5)
        path = Trajectories(robot, commands, partial_commands='hold')
        path.map(both, unknown(robot), now=10.0, start=20.0)
        return commands

    (ended,) = ready(1.0, 'velocity').expire(unknown(robot), (2, 0), 11.0)
    assert (set(ended.names), ended.velocity.tolist()) == ({'left', 'right'}, [0.0, 0.0])
    (ended,) = ready(1.0, 'velocity').stop((2, 0))
    assert ended.velocity.tolist() == [0.0, 0.0]
    started = ready(1e3, 'velocity')
    assert started.expire(unknown(robot), (2, 0), 20.0) == []
    assert started.stop((2, 0)) == []
    # A newer command takes its place.
    commands = ready(0.0, 'position')
    for now in (15.0, 26.0):
        found = send(commands, 'position', names[:1], [0.125], now)
        for name, value in found.items():
            number = reference.actuator_value(
                reference.Numbers(), 'position', name, {'roll': 0.125, 'pitch': 0.5}
            )
            assert number.equals(value)


def test_command_after_a_trajectory(robot, reference):
    """A command that came while a trajectory was under way is held at once."""
    commands, path = make(robot)
    both = trajectory(['roll', 'pitch'], waypoint((5, 0), positions=[1.0, 2.0]))
    path.map(both, unknown(robot), now=10.0)
    names = ('roll', 'pitch')
    for joints, values in ((names, [0.3, 0.6]), (names[:1], [0.1])):
        (found,) = commands.command_interface(
            'position', joints, np.array(values), unknown(robot), (1, 0), source='x', now=11.0
        )
    for name, value in zip(found.names, found.position.tolist(), strict=True):
        number = reference.actuator_value(
            reference.Numbers(), 'position', name, {'roll': 0.1, 'pitch': 0.6}
        )
        assert number.equals(value)


@pytest.mark.parametrize('timeout', [0.0, 1.0])
def test_time_going_backwards(robot, reference, timeout):
    """A trajectory also does not hold former commands: partners stay as measured."""
    commands = Commands(robot, timeout=timeout)
    path = Trajectories(robot, commands, partial_commands='hold')
    measured = np.full(len(robot.joint_names), 0.4)
    commands.command_interface(
        'position',
        ('roll', 'pitch'),
        np.array([1.0, 2.0]),
        measured,
        (1, 0),
        source='x',
        now=100.0,
    )
    found = path.map(trajectory(['roll'], {'positions': [0.1]}), measured, now=50.0)
    for name, value in zip(found.names, found.points[0].positions.tolist(), strict=True):
        number = reference.actuator_value(
            reference.Numbers(), 'position', name, {'roll': 0.1, 'pitch': 0.4}
        )
        assert number.equals(value)
