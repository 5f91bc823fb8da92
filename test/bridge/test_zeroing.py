# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets that make the present actuator positions mean wanted joint positions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.zeroing import (
    find_wanted_positions,
    find_zero_offsets,
    find_zeroable_joints,
)
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions

JOINTS = ('elbow', 'dial', 'roll', 'lift', 'pitch', 'shoulder')
ANGLES = st.floats(-100.0, 100.0)
RATIOS = st.one_of(st.floats(0.1, 200.0), st.floats(-200.0, -0.1))


@pytest.fixture(scope='module')
def knee(robots):
    """Return the maps of a knee with a bound in joint coordinates."""
    text = robots.urdf(('knee',), robots.leg('<param name="upper">0.5</param>'))
    return RobotTransmissions(load_description(text, strict=True))


@pytest.fixture(scope='module')
def ankle(robots):
    """Return the maps of an ankle with solved joint positions."""
    text = robots.urdf(('pitch', 'roll'), robots.ANKLE)
    return RobotTransmissions(load_description(text, strict=True))


@pytest.fixture(scope='module')
def leg(linkages):
    """Return the maps of a linkage that two actuators with offsets move."""
    return RobotTransmissions(load_description(linkages['five_bar'], strict=True))


def zero(robot, wanted, position, velocity=None, held=(), max_velocity=0.01):
    """Work offsets out; positions and velocities of actuators as given or zero."""
    size = len(robot.actuator_names)
    actuators = np.full((3, size), np.nan)
    actuators[0] = position
    if velocity is not None:
        actuators[1] = velocity
    return find_zero_offsets(
        robot,
        wanted,
        actuators,
        held=np.array([name in held for name in robot.joint_names]),
        max_velocity=max_velocity,
    )


def applied(robot, changes):
    """Return the robot with the offsets set."""
    nested = {}
    for change in changes:
        level = nested.setdefault(change.tunable.transmission, {})
        for part in change.tunable.path[:-1]:
            level = level.setdefault(part, {})
        level[change.tunable.path[-1]] = change.new
    return robot.with_parameters(nested)


def refusal(*args, **kwargs):
    """Return the reason for which zeroing is refused."""
    with pytest.raises(MessageError) as caught:
        zero(*args, **kwargs)
    return caught.value.reason


@given(
    wanted=st.dictionaries(st.sampled_from(JOINTS), ANGLES, min_size=1),
    position=st.lists(st.floats(-1e4, 1e4), min_size=6, max_size=6),
    ratios=st.fixed_dictionaries(
        {
            ('reduction', name): RATIOS
            for name in ('lift', 'dial', 'left', 'right', 'roll', 'pitch', 'hip', 'crank')
        }
        | {('offset', name): ANGLES for name in JOINTS}
    ),
)
def test_present_position_means_wanted_one(robot, tuned, wanted, position, ratios):
    """With the new offsets, the joints have the wanted positions and no other has moved."""
    before = tuned(ratios)
    changes = zero(before, wanted, position)
    assert [change.member_name for change in changes] == list(wanted)
    after = applied(before, changes)
    old = before.actuator_to_joint('position', position)
    new = after.actuator_to_joint('position', position)
    for place, name in enumerate(robot.joint_names):
        if name not in wanted:
            assert new[place] == old[place]
            continue
        (change,) = (each for each in changes if each.member_name == name)
        assert change.old == ratios['offset', name]
        size = sum(map(abs, (wanted[name], old[place], change.old, change.new)))
        assert abs(new[place] - wanted[name]) <= 1e-12 * size


@given(present=st.floats(-0.4, 0.4), wanted=st.floats(-0.4, 0.4))
def test_position_dependent(knee, present, wanted):
    """The same holds for a mechanism with a ratio that depends on position."""
    position = knee.joint_to_actuator('position', [present])
    (change,) = zero(knee, {'knee': wanted}, position)
    found = applied(knee, [change]).actuator_to_joint('position', position)
    assert abs(found[0] - wanted) <= 1e-12


@pytest.mark.parametrize('present', [1e-2, 1e-5, 1e-7, 1e-9, 1e-12])
def test_solved_position(ankle, present):
    """A joint with a solved position is set, also if it is already close."""
    position = ankle.joint_to_actuator('position', [present, -present])
    changes = zero(ankle, {'pitch': 0.0, 'roll': 0.0}, position)
    found = applied(ankle, changes).actuator_to_joint('position', position)
    assert np.abs(found).max() <= 1e-14


def test_moving_where_the_ratio_is_lost(knee):
    """At a dead centre the joint velocity is unknown, and its actuator's decides."""
    domain = knee.transmissions['leg'].domain
    position = knee.joint_to_actuator('position', domain.lower)
    assert np.isnan(knee.actuator_to_joint('velocity', [0.2], at=position)).all()
    assert refusal(knee, {'knee': domain.lower[0]}, position, [0.2]) == 'moving'
    assert zero(knee, {'knee': domain.lower[0]}, position, [0.0])


def test_out_of_the_domain(knee):
    """An offset with a position that its transmission cannot map is rejected."""
    position = knee.joint_to_actuator('position', [0.0])
    assert refusal(knee, {'knee': 0.6}, position) == 'not_additive'


def test_report(robot):
    """The text of a change has the old and the new number with all digits."""
    position = np.zeros(6)
    position[robot.actuator_names.index('winch')] = 1.0
    (change,) = zero(robot, {'lift': 0.0}, position)
    assert change.tunable.name == 'hoist.joints.lift.offset'
    assert str(change) == 'lift: offset 0.3 -> 0.25'


LEG_ANGLES = st.floats(-0.45, 0.45)


@given(present=st.tuples(LEG_ANGLES, LEG_ANGLES), wanted=st.tuples(LEG_ANGLES, LEG_ANGLES))
def test_a_linkage_is_zeroed_by_the_offsets_of_its_actuators(leg, present, wanted):
    """All joints have the wanted positions, and passive joints close the loops."""
    places = [leg.joint_names.index(name) for name in ('hip', 'knee')]
    there = np.full((2, len(leg.joint_names)), np.nan)
    there[:, places] = present, wanted
    a, other = leg.joint_to_actuator('position', there)
    changes = zero(leg, dict(zip(('hip', 'knee'), wanted, strict=True)), a)
    assert [change.member_name for change in changes] == ['hip_motor', 'knee_motor']
    found = applied(leg, changes).actuator_to_joint('position', a)
    assert found[places] == pytest.approx(wanted, abs=1e-9)
    assert found == pytest.approx(leg.actuator_to_joint('position', other), abs=1e-9)


def test_a_linkage_is_zeroed_from_numbers_in_the_units_of_its_driver(linkages):
    """Its offsets are in SI whatever the driver counts in."""
    text = linkages['five_bar'].replace(
        '<param name="joint">hip</param>',
        '<param name="joint">hip</param><param name="position_unit">turn</param>',
    )
    robot = RobotTransmissions(load_description(text, strict=True))
    turn, turns = 2.0 * np.pi, 1.5
    changes = zero(robot, {'hip': 0.1, 'knee': -0.2}, [turn * turns, -3.0])
    assert changes[0].new == pytest.approx(0.1 - turn * turns / 9.0)
    found = applied(robot, changes).actuator_to_joint('position', [turn * turns, -3.0])
    assert found[[robot.joint_names.index(name) for name in ('hip', 'knee')]] == pytest.approx(
        [0.1, -0.2], abs=1e-9
    )


def test_a_joint_of_a_linkage_is_zeroed_alone(leg):
    """The other joints of the linkage stay, though their motors move."""
    a = np.array([1.0, -2.0])
    places = [leg.joint_names.index(name) for name in ('hip', 'knee')]
    before = leg.actuator_to_joint('position', a)[places]
    for wanted in ({'hip': 0.1}, {'knee': 0.1}):
        after = applied(leg, zero(leg, wanted, a)).actuator_to_joint('position', a)[places]
        expected = [wanted.get('hip', before[0]), wanted.get('knee', before[1])]
        assert after == pytest.approx(expected, abs=1e-9)


def test_a_linkage_far_from_any_position_is_zeroed_whole(leg):
    """Motors that count turns from anywhere need all joints of what moves together."""
    a = np.array([-400.0, 1e4])
    assert np.isnan(leg.actuator_to_joint('position', a)).all()
    assert refusal(leg, {'knee': 0.0}, a) == 'unknown'
    changes = zero(leg, {'hip': 0.2, 'knee': -0.1}, a)
    found = dict(
        zip(
            leg.joint_names,
            applied(leg, changes).actuator_to_joint('position', a).tolist(),
            strict=True,
        )
    )
    assert (found['hip'], found['knee']) == pytest.approx((0.2, -0.1), abs=1e-9)


def test_what_a_part_of_a_linkage_leaves_alone_keeps_its_offset(linkages):
    """A joint that another motor moves alone is neither needed nor set."""
    text = linkages['four_bar_knee']
    for before, more in (
        ('<ros2_control', WAIST),
        ('<transmission', '<joint name="waist"/>'),
        ('<joint name="knee" role', '<actuator name="waist" role="actuator2"/>'),
        ('<loop', '<joint name="waist" role="joint2"/>'),
    ):
        text = text.replace(before, more + before)
    robot = RobotTransmissions(load_description(text))
    assert robot.actuator_names == ('knee_motor', 'waist')
    for other in (0.3, np.nan):
        (change,) = zero(robot, {'knee': 0.1}, [0.5, other])
        assert (change.member_name, change.tunable.path[0]) == ('knee_motor', 'actuators')
    (change,) = zero(robot, {'waist': 0.1}, [np.nan, 0.3])
    assert (change.member_name, change.new) == ('waist', pytest.approx(-0.2))


WAIST = (
    '<link name="chest"/><joint name="waist" type="continuous"><parent link="thigh"/>'
    '<child link="chest"/><axis xyz="0 0 1"/></joint>'
)


@pytest.mark.parametrize(
    ('wanted', 'reason'),
    [
        ({'knee': 5.0}, 'unreachable'),
        ({'hip': 0.0, 'knee': 2.5}, 'unreachable'),
        ({'knee_rod': 0.0}, 'no_offset'),
        ({'knee_crank': 0.0}, 'no_offset'),
    ],
)
def test_what_a_linkage_cannot_have_is_refused(leg, wanted, reason):
    """Nor is a joint set that only follows the commanded ones."""
    assert refusal(leg, wanted, np.zeros(2)) == reason


def test_a_linkage_at_rest(leg):
    """A joint of the linkage that moves or holds a command, or a motor that is silent."""
    assert refusal(leg, {'hip': 0.0}, np.zeros(2), np.array([0.0, 5.0])) == 'moving'
    assert refusal(leg, {'hip': 0.0}, np.zeros(2), held=('knee',)) == 'held'
    wanted = {'hip': 0.0, 'knee': 0.0}
    assert refusal(leg, wanted, np.array([0.0, np.nan])) == 'unknown'
    assert find_zeroable_joints(leg) == ('hip', 'knee')


NAN = np.nan
#: Velocities at which ``pitch`` turns and ``roll`` stands, and one velocity that alone is known.
PITCHING = {'left': 1.4, 'right': 2.1}
ALONE = dict.fromkeys(('winch', 'right', 'hip', 'crank', 'finger'), NAN)


@pytest.mark.parametrize(
    ('wanted', 'position', 'velocity', 'held', 'reason'),
    [
        (('roll', 'shoulder'), {'left': NAN, 'winch': NAN}, {}, '', 'unknown'),
        (('lift', 'shoulder'), {'left': NAN, 'winch': NAN}, {}, '', 'unknown'),
        (('shoulder',), {'left': NAN, 'winch': NAN}, {}, '', None),
        # A position that the joint or a coupled one holds would get another meaning.
        (('roll',), {}, {}, 'roll', 'held'),
        (('roll',), {}, {}, 'pitch', 'held'),
        (('roll',), {}, {}, 'lift', None),
        (('roll',), {}, {}, 'shoulder', None),
        # Times 1/4 above the threshold.
        (('lift',), {}, {'winch': 0.1}, '', 'moving'),
        (('lift',), {}, {'winch': -0.1}, '', 'moving'),
        (('lift',), {}, {'winch': 0.03}, '', None),
        (('lift',), {}, {'winch': NAN}, '', None),
        (('lift',), {}, {'hip': 100.0}, '', None),
        (('roll',), {}, PITCHING, '', 'moving'),
        # If only one of two actuators has a velocity, it decides.
        (('roll',), {}, {**ALONE, 'left': 0.02}, '', 'moving'),
        (('roll',), {}, {**ALONE, 'left': 0.005}, '', None),
        (('lift',), {}, {**ALONE, 'left': 0.02}, '', None),
        (('finger',), {}, {}, '', 'no_offset'),
        (('nobody',), {}, {}, '', 'unknown_joint'),
    ],
)
def test_refused(robot, wanted, position, velocity, held, reason):
    """Joints that are unknown, held, moving or without an offset; the others do not matter."""
    names = robot.actuator_names
    given = (
        robot,
        dict.fromkeys(wanted, 0.0),
        [position.get(name, 1.0) for name in names],
        [velocity.get(name, 0.0) for name in names],
    )
    if reason is None:
        assert len(zero(*given, held=(held,))) == len(wanted)
    else:
        assert refusal(*given, held=(held,)) == reason


def test_choice_of_joints(robot):
    """No names mean all joints with an offset, no positions mean zeros."""
    assert find_zeroable_joints(robot) == JOINTS
    assert find_wanted_positions(robot, (), ()) == dict.fromkeys(JOINTS, 0.0)
    assert find_wanted_positions(robot, ('lift', 'roll'), ()) == {'lift': 0.0, 'roll': 0.0}
    assert find_wanted_positions(robot, ('lift', 'roll'), (1.0, 2.0)) == {'lift': 1.0, 'roll': 2.0}
    assert find_wanted_positions(robot, (), tuple(range(6))) == dict(
        zip(JOINTS, range(6), strict=True)
    )


@pytest.mark.parametrize(
    ('names', 'positions', 'reason'),
    [
        (('lift', 'lift'), (), 'duplicate_name'),
        (('lift',), (1.0, 2.0), 'size'),
        ((), (1.0,), 'size'),
    ],
)
def test_choice_refused(robot, names, positions, reason):
    """Doubled names and other numbers of names and positions are refused."""
    with pytest.raises(MessageError) as caught:
        find_wanted_positions(robot, names, positions)
    assert caught.value.reason == reason


def test_robot_without_offsets():
    """A robot without offsets is an error with this reason."""
    robot = RobotTransmissions(
        load_description(
            '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/></joint></robot>'
        )
    )
    with pytest.raises(MessageError) as caught:
        find_wanted_positions(robot, (), ())
    assert caught.value.reason == 'no_offset'
