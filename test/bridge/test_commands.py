# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands and trajectories: what is refused and counted (what is sent: promises.py)."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import record
from world import reason, World
from zoo.elements import leg, maps, params, transmission

from transmission_bridge.errors import MessageError

NAN, INF = math.nan, math.inf


@pytest.fixture(scope='module')
def mechanism():
    """Return a slide with a follower, a leg, and one actuator for two joints."""
    joints = dict.fromkeys(('copy', 'knee', 'near', 'far'), 'continuous')
    joints['slide'] = 'prismatic lower="-1" upper="2" velocity="3" effort="4"'
    tendon = transmission('tendon', 'Coupled', ('near', 'far'), ('motor',), params(matrix='1; .5'))
    return maps(joints, leg() + tendon, {'copy': 'joint="slide"'})


def check_refusal(world, why, act, *arguments):
    """Check that something is refused as a whole: nothing is sent, and the same is active."""
    world.command(position={'slide' if 'slide' in world.robot.joint_names else 'lift': 1.5})
    sent, active = len(world.sent), world.gate.ledger.joints.copy()
    assert reason(act, *arguments) == why
    assert len(world.sent) == sent
    np.testing.assert_array_equal(world.gate.ledger.joints, active)


# -- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'arrays', 'why'),
    [
        (('lift', 'nobody'), {'position': (1.0, 1.0)}, 'unknown_joint'),
        (('lift', 'lift'), {'position': (1.0, 1.0)}, 'duplicate_name'),
        (('lift', 'finger'), {'velocity': (1.0,)}, 'ragged'),
        (('lift', 'finger'), {'position': (1.0, INF)}, 'infinite'),
        (('lift', 'finger'), {'effort': (1.0, -INF)}, 'infinite'),
        (('lift', 'dial'), {'position': (1.0, 1.0)}, 'not_commandable'),
        (('lift', 'roll'), {'position': (1.0, 1.0)}, 'partial'),
        (('roll',), {'velocity': (1.0,)}, 'partial'),
        (('roll', 'pitch'), {'position': (1.0, NAN), 'velocity': (NAN, 1.0)}, 'mixed_coupled'),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(robot, names, arrays, why):
    """As a whole, and it changes nothing."""
    world = World(robot)
    check_refusal(world, why, world.command_record, record(names, **arrays))


@pytest.mark.parametrize(
    ('values', 'why'),
    [((0.5,) * 3, 'size'), ((0.5, NAN), 'not_finite'), ((INF, 0.5), 'not_finite')],
)
def test_a_plain_array_has_one_finite_number_for_each_of_its_joints(robot, values, why):
    """Others are refused."""
    world = World(robot, command_joints=('lift', 'finger'))
    check_refusal(world, why, world.plain, 'position', values)


FINGERS = {
    'Coupled': params(matrix='1; -0.5; 0.25'),
    'Tabulated': params(
        actuator='-9 0 9', joint1='-9 0 9', joint2='4.5 0 -4.5', joint3='-2.25 0 2.25'
    ),
}


def try_command(world, modes):
    """Return the joints and the actuators that are commanded, or why nothing is."""
    try:
        sent = world.command(**modes)
    except MessageError as error:
        return error.reason, np.zeros(0)
    numbers = [number for each in sent.values() for number in each.values()]
    return '', np.array([*numbers, *world.gate.ledger.joints.ravel()])


@pytest.mark.parametrize('limits', ['clamp', 'reject'])
def test_joints_of_a_table_follow_as_those_of_a_matrix(limits):
    """One motor and three joints: whichever of them are commanded, and however far."""
    bounds = dict.fromkeys('abc', 'revolute lower="-1" upper="2" velocity="3" effort="9"')
    texts = (transmission('hand', kind, 'abc', ['m'], more) for kind, more in FINGERS.items())
    worlds = [World(maps(bounds, text), limits=limits) for text in texts]
    random, reasons = np.random.default_rng(1), []
    for _ in range(80):
        names = [name for name in 'abc' if random.random() < 0.6] or ['b']
        rows = [row for row in ('position', 'velocity', 'effort') if random.random() < 0.5]
        modes = {
            row: dict(zip(names, random.normal(size=3).tolist(), strict=False)) for row in rows
        }
        for world in worlds:
            world.state(position=[0.5], velocity=[0.0])
        (reason_, numbers), other = (try_command(world, modes) for world in worlds)
        assert reason_ == other[0]
        np.testing.assert_allclose(numbers, other[1], atol=1e-9)
        reasons.append(reason_)
    assert reasons.count('') > 10


@given(
    limits=st.tuples(*(st.tuples(st.floats(-9, -0.1), st.floats(0.1, 9)) for _ in range(3))),
    joint=st.integers(0, 2),
    position=st.floats(-3, 3),
)
def test_a_joint_of_a_table_stops_at_the_first_limit(limits, joint, position):
    """Also where the limits of other joints are beyond the ends of their curves."""
    words = 'revolute lower="{}" upper="{}" velocity="3" effort="9"'
    bounds = {name: words.format(*each) for name, each in zip('abc', limits, strict=True)}
    curves = params(actuator='-2 0 2', joint1='-2 0 2', joint2='1 0 -1', joint3='-4 0 4')
    world = World(maps(bounds, transmission('hand', 'Tabulated', 'abc', ['m'], curves)))
    world.state(position=[0.0], velocity=[0.0])
    ratios = np.array([1.0, -0.5, 2.0])
    ends = np.sort(np.array(limits) / ratios[:, np.newaxis], axis=1)
    clamped = np.clip(position, *limits[joint]) / ratios[joint]
    if abs(clamped) > 2.0:
        return  # no position of the motor
    sent = world.command(position={'abc'[joint]: position})
    wanted = np.clip(clamped, ends[:, 0].max(), ends[:, 1].min())
    assert sent['position']['m'] == pytest.approx(wanted, abs=1e-9)


def test_joints_that_hold_a_position(robot):
    """Those with a position command or a trajectory, also one that has not started."""
    world = World(robot)
    world.command(position={'lift': 1.0})
    world.command(velocity={'shoulder': 1.0, 'elbow': 1.0})
    world.trajectory('finger', (1.0, {'positions': 0.5}), start=world.now + 9.0)
    places = np.flatnonzero(world.gate.ledger.mask_position_joints())
    assert {robot.joint_names[place] for place in places} == {'lift', 'finger'}


def test_clamps_rejections_and_contests_are_counted_by_source_and_joint(mechanism):
    """Also of a trajectory, and if the same message comes from another source."""
    world = World(mechanism)
    world.command(position={'slide': 40.0, 'knee': 0.1})
    world.command(topic='planner', position={'slide': 1.0})
    world.command(topic='other', position={'slide': 1.0})
    beyond = (1.0, {'positions': (2.5, 0.1)})
    (point,) = world.trajectory(('slide', 'knee'), beyond)
    assert point.positions[-1] == 2.0
    clamped = {source: dict(counts.clamped) for source, counts in world.counts.items()}
    contested = {source: dict(counts.contested) for source, counts in world.counts.items()}
    slide = {'slide': 1}
    every = 'joint_commands', 'planner', 'other', 'joint_trajectory'
    assert clamped == dict(zip(every, (slide, {}, {}, slide), strict=True))
    assert contested == dict(zip(every, ({}, slide, slide, slide | {'knee': 1}), strict=True))
    world = World(mechanism, limits='reject')
    check_refusal(world, 'limit', world.command_record, record(('slide',), effort=(60.0,)))
    check_refusal(world, 'limit', world.trajectory, ('slide', 'knee'), beyond)
    for source in ('joint_commands', 'joint_trajectory'):
        assert (world.counts[source].limited, world.counts[source].clamped) == (slide, {})


# -- trajectories --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'points', 'why'),
    [
        ((), [{'positions': []}], 'no_names'),
        (('lift',), [], 'no_points'),
        (('lift', 'nobody'), [{'positions': [1.0, 1.0]}], 'unknown_joint'),
        (('lift', 'lift'), [{'positions': [1.0, 1.0]}], 'duplicate_name'),
        (('lift', 'dial'), [{'positions': [1.0, 1.0]}], 'not_commandable'),
        (('lift',), [{'positions': [1.0, 2.0]}], 'size'),
        (('lift',), [{'positions': [1.0], 'effort': [1.0, 2.0]}], 'size'),
        (('lift',), [{'positions': [1.0]}, {}], 'empty_point'),
        (('lift',), [{'positions': [NAN]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'accelerations': [-INF]}], 'not_finite'),
        (('lift',), [{'positions': [1.0], 'time': 1 + each * 1e-9} for each in (5, 4)], 'times'),
        (('lift',), [{'positions': [1.0], 'time': 1}] * 2, 'times'),
        (('lift',), [{'positions': [1.0]}] * 2001, 'too_many_points'),
        (('roll',), [{'positions': [1.0]}], 'partial'),
        # What a mechanism cannot map without more, or out of reach, a part of it, a follower.
        (('knee',), [{'positions': [0.0]}, {'velocities': [0.1]}], 'no_position'),
        (('knee',), [{'accelerations': [0.1], 'velocities': [0.1]}], 'no_position'),
        (('knee',), [{'positions': [0.1], 'accelerations': [0.1]}], 'no_velocity'),
        (('knee',), [{'positions': [0.0]}, {'positions': [3.0]}], 'unmapped'),
        (('knee',), [{'positions': [3.0], 'velocities': [0.1]}], 'unmapped'),
        (('near',), [{'positions': [1.0]}], 'partial'),
        (('copy',), [{'positions': [0.0]}], 'not_commandable'),
    ],
)
def test_a_trajectory_that_cannot_be_used_is_refused(robot, mechanism, names, points, why):
    """As a whole, and it changes nothing."""
    world = World(mechanism if {*names} & {'knee', 'near', 'copy'} else robot)
    ways = [(point.get('time', number), point) for number, point in enumerate(points)]
    check_refusal(world, why, world.trajectory, names, *ways)
