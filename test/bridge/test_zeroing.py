# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets from wanted positions, calibration marks and absolute encoders."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import outcome
from zoo.elements import ANKLE, leg, load, maps, params, ratio, transmission

from transmission_bridge.bridge.zeroing import (
    compute_absolute_zeros,
    compute_zero_offsets,
    list_joints_at_zero,
    list_zero_positions,
    list_zeroable_joints,
)

NAN = np.nan
JOINTS = ('elbow', 'dial', 'roll', 'lift', 'pitch', 'shoulder')
ANGLES = st.floats(-100.0, 100.0)
RATIOS = st.one_of(st.floats(0.1, 200.0), st.floats(-200.0, -0.1))


@pytest.fixture(scope='module')
def mechanisms(linkages):
    """Return the maps of robots by the joints that are zeroed."""
    return {
        ('knee',): maps(('knee',), leg(params(upper=0.5))),
        ('pitch', 'roll'): maps(('pitch', 'roll'), ANKLE),
        ('hip', 'knee'): load(linkages['five_bar'], strict=True),
    }


@pytest.fixture(scope='module')
def linkage(mechanisms):
    """Return the maps of a linkage that two actuators with offsets move."""
    return mechanisms['hip', 'knee']


def zero(robot, wanted, position, velocity=None, held=(), settled=()):
    """Work offsets out; positions and velocities of actuators as given, by default at rest."""
    actuators = np.full((3, len(robot.actuator_names)), NAN)
    actuators[0] = position
    actuators[1] = 0.0 if velocity is None else velocity
    is_held = np.array([name in held for name in robot.joint_names])
    more = {'held': is_held, 'max_velocity': 0.01, 'settled': settled}
    return compute_zero_offsets(robot, wanted, actuators, **more)


def zeroed(robot, changes, position, names=()):
    """Return the positions of joints (all) with the offsets set."""
    after = robot.with_parameters({change.tunable.name: change.new for change in changes})
    found = after.actuator_to_joint('position', position)
    return found[[robot.joint_names.index(name) for name in names or robot.joint_names]]


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
def test_present_position_means_wanted_one(robot, reference, wanted, position, ratios):
    """With the new offsets, the joints have the wanted positions and no other has moved."""
    before = robot.with_parameters(reference.nested(ratios))
    changes = zero(before, wanted, position)
    assert [change.tunable.path[1] for change in changes] == list(wanted)
    old, new = before.actuator_to_joint('position', position), zeroed(before, changes, position)
    by_name = {change.tunable.path[1]: change for change in changes}
    for place, name in enumerate(robot.joint_names):
        if name not in wanted:
            assert new[place] == old[place]
            continue
        change = by_name[name]
        assert change.tunable.value == ratios['offset', name]
        size = sum(map(abs, (wanted[name], old[place], change.tunable.value, change.new)))
        assert abs(new[place] - wanted[name]) <= 1e-12 * size


NEAR = st.one_of(st.floats(-0.39, 0.39), st.sampled_from([1e-2, 1e-5, 1e-7, 1e-9, 1e-12]))


@given(
    joints=st.sampled_from([('knee',), ('pitch', 'roll'), ('hip', 'knee')]),
    present=st.tuples(NEAR, NEAR),
    wanted=st.tuples(NEAR, NEAR) | st.just((0.0, 0.0)),
)
def test_a_mechanism_is_zeroed(mechanisms, joints, present, wanted):
    """Also if it is close, by offsets of its joints or actuators; passive joints close loops."""
    robot = mechanisms[joints]
    size = len(joints)
    there = np.full((2, len(robot.joint_names)), NAN)
    there[:, [robot.joint_names.index(name) for name in joints]] = present[:size], wanted[:size]
    position, other = robot.joint_to_actuator('position', there)
    changes = zero(robot, dict(zip(joints, wanted, strict=False)), position)
    found = zeroed(robot, changes, position, joints)
    is_linkage = 'hip' in joints
    assert np.abs(found - wanted[:size]).max() <= (1e-9 if is_linkage else 1e-12)
    if is_linkage:
        assert [change.tunable.path[1] for change in changes] == ['hip_motor', 'knee_motor']
        closed = pytest.approx(robot.actuator_to_joint('position', other), abs=1e-9)
        assert zeroed(robot, changes, position) == closed


def test_the_edge_of_a_mechanism(mechanisms):
    """At a dead centre the speed of the actuator decides; beyond it nothing can be mapped."""
    knee = mechanisms['knee',]
    domain = knee.transmissions['leg'].domain
    position = knee.joint_to_actuator('position', domain.lower)
    assert np.isnan(knee.actuator_to_joint('velocity', [0.2], at=position)).all()
    assert outcome(zero, knee, {'knee': domain.lower[0]}, position, [0.2]) == 'moving'
    assert zero(knee, {'knee': domain.lower[0]}, position, [0.0])
    position = knee.joint_to_actuator('position', [0.0])
    assert outcome(zero, knee, {'knee': 0.6}, position) == 'not_additive'


def test_a_joint_of_a_linkage_is_zeroed_alone(linkage):
    """The other joints of the linkage stay, though their motors move."""
    a, names = np.array([1.0, -2.0]), ('hip', 'knee')
    before = dict(zip(names, zeroed(linkage, (), a, names), strict=True))
    for wanted in ({'hip': 0.1}, {'knee': 0.1}):
        after = zeroed(linkage, zero(linkage, wanted, a), a, names)
        assert after == pytest.approx([*(before | wanted).values()], abs=1e-9)


def test_a_linkage_far_from_any_position_is_zeroed_whole(linkage):
    """Motors that count turns from anywhere need all joints of what moves together."""
    a = np.array([-400.0, 1e4])
    assert np.isnan(linkage.actuator_to_joint('position', a)).all()
    assert outcome(zero, linkage, {'knee': 0.0}, a) == 'unknown'
    found = zeroed(linkage, zero(linkage, {'hip': 0.2, 'knee': -0.1}, a), a, ('hip', 'knee'))
    assert found == pytest.approx((0.2, -0.1), abs=1e-9)


def test_what_a_part_of_a_linkage_leaves_alone_keeps_its_offset(linkages):
    """A joint that another motor moves alone is neither needed nor set."""
    text = linkages['four_bar_knee']
    waist = (
        '<link name="chest"/><joint name="waist" type="continuous"><parent link="thigh"/>'
        '<child link="chest"/><axis xyz="0 0 1"/></joint>'
    )
    for before, more in (
        ('<ros2_control', waist),
        ('<transmission', '<joint name="waist"/>'),
        ('<joint name="knee" role', '<actuator name="waist" role="actuator2"/>'),
        ('<loop', '<joint name="waist" role="joint2"/>'),
    ):
        text = text.replace(before, more + before)
    robot = load(text)
    for other in (0.3, NAN):
        (change,) = zero(robot, {'knee': 0.1}, [0.5, other])
        assert (change.tunable.path[1], change.tunable.path[0]) == ('knee_motor', 'actuators')
    (change,) = zero(robot, {'waist': 0.1}, [NAN, 0.3])
    assert (change.tunable.path[1], change.new) == ('waist', pytest.approx(-0.2))


#: Velocities at which ``pitch`` turns and ``roll`` stands, and one velocity that alone is known.
PITCHING = {'left': 1.4, 'right': 2.1}
ALONE = dict.fromkeys(('winch', 'right', 'hip', 'crank', 'finger'), NAN)


@pytest.mark.parametrize(
    ('wanted', 'position', 'velocity', 'held', 'why'),
    [
        (('roll', 'shoulder'), {'left': NAN, 'winch': NAN}, {}, '', 'unknown'),
        (('shoulder',), {'left': NAN, 'winch': NAN}, {}, '', None),
        # A position that the joint or a coupled one holds would get another meaning.
        (('roll',), {}, {}, 'roll', 'held'),
        (('roll',), {}, {}, 'pitch', 'held'),
        (('roll',), {}, {}, 'lift', None),
        # Times 1/4 above the threshold.
        (('lift',), {}, {'winch': 0.1}, '', 'moving'),
        (('lift',), {}, {'winch': 0.03}, '', None),
        (('lift',), {}, {'winch': NAN}, '', 'moving'),
        (('lift',), {}, {'hip': 100.0}, '', None),
        (('roll',), {}, PITCHING, '', 'moving'),
        # The unknown velocity of one of two actuators may be any.
        (('roll',), {}, {**ALONE, 'left': 0.005}, '', 'moving'),
        (('finger',), {}, {}, '', 'no_offset'),
        # A linkage is not set either while its second motor moves, holds a command or is silent.
        ({'knee': 5.0}, {}, {}, '', 'unreachable'),
        (('knee_rod',), {}, {}, '', 'no_offset'),
        (('hip',), {}, {'knee_motor': 5.0}, '', 'moving'),
        (('hip',), {}, {}, 'knee', 'held'),
        (('hip', 'knee'), {'knee_motor': NAN}, {}, '', 'unknown'),
        (('nobody',), {}, {}, '', 'unknown_joint'),
    ],
)
def test_refused(robot, linkage, wanted, position, velocity, held, why):
    """Joints that are unknown, held, moving or without an offset; the others do not matter."""
    if {*wanted} & {*linkage.joint_names}:
        robot = linkage
    positions = [position.get(name, 0.0) for name in robot.actuator_names]
    velocities = [velocity.get(name, 0.0) for name in robot.actuator_names]
    wanted = wanted if isinstance(wanted, dict) else dict.fromkeys(wanted, 0.0)
    found = outcome(zero, robot, wanted, positions, velocities, (held,))
    assert found == why if why else len(found) == len(wanted)


@pytest.mark.parametrize(
    ('names', 'positions', 'found'),
    [
        ((), (), dict.fromkeys(JOINTS, 0.0)),
        (('lift', 'roll'), (), {'lift': 0.0, 'roll': 0.0}),
        ((), tuple(range(6)), dict(zip(JOINTS, range(6), strict=True))),
        (('lift', 'lift'), (), 'duplicate_name'),
        ((), (1.0,), 'size'),
    ],
)
def test_choice_of_joints(robot, linkage, names, positions, found):
    """No names mean all joints with an offset, no positions mean zeros."""
    assert outcome(list_zero_positions, robot, names, positions) == found
    assert list_zeroable_joints(linkage) == ('hip', 'knee')
    assert outcome(list_zero_positions, maps(('j',)), (), ()) == 'no_offset'


# -- absolute encoders ---------------------------------------------------------------------------


def encoded(**joints):
    """Return a robot of joints with an offset; whether the encoder of each is its own."""
    gears = ''
    for name in joints:
        members = {name: ratio(10, 0.5)}, (f'{name}_motor',)
        gears += transmission(f'{name}_gear', 'Simple', *members)
    own = {f'{name}_gear.ignore_absolute_encoder': is_own for name, is_own in joints.items()}
    limit = 'revolute lower="-3" upper="3" velocity="1" effort="1"'
    return maps(dict.fromkeys(joints, limit), gears).with_parameters(own)


@pytest.mark.parametrize(
    ('names', 'found'),
    [
        ((), {'a': 0.1}),
        (('a',), {'a': 0.1}),
        (('b',), 'mapped_absolute'),
        (('a', 'c'), 'no_absolute'),
    ],
)
def test_joints_with_an_encoder_of_their_own(names, found):
    """By default those that have one and a reading; nothing is set where there is none."""
    mapped = encoded(a=True, b=False, c=True)
    assert outcome(compute_absolute_zeros, mapped, names, np.array([0.1, 0.2, NAN])) == found
    assert outcome(compute_absolute_zeros, encoded(a=False), (), np.array([0.1])) == 'no_absolute'


# -- unknown turns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('away', 'travel', 'settled'),
    [
        ({'roll': 0.019}, 6.0, ('roll', 'pitch')),
        ({'roll': 0.021}, 6.0, ()),
        ({'pitch': -0.021}, 6.0, ()),
        # A quarter of what the joint moves in a turn of its encoder.
        ({'roll': 0.009}, 0.04, ('roll', 'pitch')),
        ({'roll': 0.011}, 0.04, ()),
        ({'pitch': np.nan}, 6.0, ()),
    ],
)
def test_a_joint_that_is_there_but_for_whole_turns_keeps_its_offset(away, travel, settled):
    """All wanted joints of a transmission or none; others get offsets."""
    wrist = transmission('wrist', 'Differential', ('roll', 'pitch'), ('left', 'right'))
    robot = maps(('roll', 'pitch', 'j'), wrist)
    wanted = {'roll': 0.4, 'pitch': -0.2, 'j': 1.0}
    joints = [wanted[name] + away.get(name, 0.0) for name in robot.joint_names]
    positions = robot.joint_to_actuator('position', joints)
    is_open = np.array([name in ('left', 'right') for name in robot.actuator_names])
    travels = np.full(len(joints), travel)
    assert list_joints_at_zero(robot, wanted, positions, is_open, travels) == settled
    del wanted['j']  # it passes, and has no offset
    positions = np.nan_to_num(positions)
    changes = zero(robot, wanted, positions, settled=settled)
    assert [change.tunable.path[1] for change in changes] == ([] if settled else [*wanted])
    assert outcome(zero, robot, wanted, positions, held=('roll',), settled=settled) == 'held'


def test_a_joint_without_an_offset_can_be_settled():
    """It passes the bridge, and only its turn was unknown."""
    robot = maps(('j',))
    known = np.array([True])
    there = list_joints_at_zero(robot, {'j': 1.0}, np.array([1.01]), known, np.array([6.0]))
    assert there == ('j',)
    assert zero(robot, {'j': 1.0}, [1.01], settled=there) == ()
    assert outcome(zero, robot, {'j': 1.0}, [1.01]) == 'no_offset'
