# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Links and joints of the URDF, and the tree that they form."""

from __future__ import annotations

import math

from hypothesis import assume, example, given
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.four_joints import find_only, load_clean, robot

from transmission_bridge.description import (
    CalibrationSpec,
    DynamicsSpec,
    JointLimits,
    load_description,
    MimicSpec,
    Pose,
    SafetySpec,
)
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.kinematics.spatial import rotation_from_rpy

COMPONENT = st.floats(-1e300, 1e300)
LIMIT = '<limit lower="-1.5" upper="2" velocity="3" effort="4"/>'


def one_joint(inside, kind='revolute', version=''):
    """Return a robot of two links and one joint."""
    return (
        f'<robot name="r"{version}><link name="a"/><link name="b"/><joint name="j" type="{kind}">'
        f'<parent link="a"/><child link="b"/>{inside}</joint></robot>'
    )


def test_everything_of_a_joint_is_read():
    """Origin, axis, limits, safety, mimic, dynamics and calibration arrive as written."""
    loaded = load_description(
        one_joint(
            '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 3 4"/>'
            + LIMIT
            + '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_position="10"'
            ' k_velocity="20"/><mimic joint="j" multiplier="-2" offset="0.5"/>'
            '<dynamics damping="0.7" friction="0.1"/><calibration rising="0.3"/>'
        )
    )
    joint = loaded.joint('j')
    assert (joint.type, joint.parent, joint.child, joint.is_scalar) == ('revolute', 'a', 'b', True)
    assert joint.origin == Pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    assert joint.axis == (0.0, 0.6, 0.8)
    assert joint.limits == JointLimits(lower=-1.5, upper=2.0, velocity=3.0, effort=4.0)
    assert joint.safety == SafetySpec(-1.0, 1.0, 10.0, 20.0)
    assert joint.mimic == MimicSpec('j', -2.0, 0.5)
    assert joint.dynamics == DynamicsSpec(0.7, 0.1)
    assert joint.calibration == CalibrationSpec(rising=0.3, falling=None)


def test_what_a_joint_leaves_open_has_its_default():
    """The axis is x, the origin is zero, everything else is absent."""
    joint = load_clean(one_joint('', kind='continuous')).joint('j')
    assert (joint.axis, joint.origin) == ((1.0, 0.0, 0.0), Pose())
    assert (joint.limits, joint.safety, joint.mimic) == (None, None, None)
    assert (joint.dynamics, joint.calibration) == (None, None)


@given(COMPONENT, COMPONENT, COMPONENT)
def test_axes_have_unit_length(x, y, z):
    """However long or short, the axis keeps its direction and has length one."""
    scale = max(abs(x), abs(y), abs(z))
    assume(scale > 0)
    text = one_joint(f'<axis xyz="{x} {y} {z}"/>', kind='continuous')
    axis = load_description(text).joint('j').axis
    assert math.isclose(math.hypot(*axis), 1.0, rel_tol=1e-15)
    length = math.hypot(x / scale, y / scale, z / scale)
    for given_component, component in zip((x, y, z), axis, strict=True):
        assert math.isclose(component, given_component / scale / length, rel_tol=1e-14)


def with_origin(attributes, version=' version="1.1"'):
    """Return a robot with a joint with these attributes in its origin."""
    return one_joint(f'<origin xyz="1 2 3" {attributes}/>', 'continuous', version)


def rotated(x, y, z, w):
    """Return the images of the axes under ``v + 2 w (u x v) + 2 u x (u x v)``, as columns."""
    u, axes = np.array([x, y, z]), np.eye(3)
    once = np.cross(u, axes)
    return (axes + 2.0 * w * once + 2.0 * np.cross(u, once)).T


ANGLES = st.floats(-1.0, 1.0)


@given(st.tuples(ANGLES, ANGLES, ANGLES, ANGLES), st.floats(1e-3, 1e3))
@example((0.0, 0.7071068, 0.0, 0.7071068), 1.0)
@example((0.0, -0.5, 0.0, 0.5), 1.0)
@example((0.5, 0.5, -0.5, 0.5), 1.0)
@example((0.5, 0.50000001, -0.5, 0.5), 1.0)
@example((1.0, 0.0, 0.0, 0.0), 2.0)
def test_a_quaternion_is_the_rotation_that_it_is(q, length):
    """URDF 1.1 has quat_xyzw, of any length; with a pitch of a right angle to rounding as well."""
    norm = math.hypot(*q)
    assume(norm > 1e-3)
    quaternion = ' '.join(repr(length * value) for value in q)
    origin = load_clean(with_origin(f'quat_xyzw="{quaternion}"')).joint('j').origin
    assert origin.xyz == (1.0, 2.0, 3.0)
    expected = rotated(*(value / norm for value in q))
    assert np.abs(rotation_from_rpy(origin.rpy) - expected).max() < 1e-14


@pytest.mark.parametrize(
    ('attributes', 'expected'),
    [
        ('quat_xyzw="0 0 0 1" rpy="0 0 0"', 'rpy or quat_xyzw'),
        ('quat_xyzw="0 0 1"', 'four numbers'),
        ('quat_xyzw="0 0 0 0"', 'a quaternion other than 0 0 0 0'),
        ('quat_xyzw="0 0 0 a"', 'a decimal number such as 50, -1.5 or 2e-3'),
    ],
)
def test_an_unusable_quaternion_costs_the_joint(attributes, expected):
    """As every number of a joint that cannot be read."""
    loaded = load_description(with_origin(attributes))
    assert loaded.joints == ()
    assert loaded.errors[0].expected == expected


@pytest.mark.parametrize('version', ['', '1.0', '1.1', '1.2', '2.0', '10.0'])
def test_quaternions_of_old_versions_are_ignored(version):
    """As in urdfdom before 1.1, with a warning; versions are compared as numbers."""
    attribute = f' version="{version}"' if version else ''
    if version in ('', '1.0'):
        loaded, finding = find_only(with_origin('quat_xyzw="1 0 0 0" rpy="0.1 0 0"', attribute))
        assert loaded.joint('j').origin.rpy == (0.1, 0.0, 0.0)
        assert (finding.severity, finding.path) == ('warning', '/robot/joint/origin')
        assert 'quat_xyzw' in finding.message
    else:
        loaded = load_description(with_origin('quat_xyzw="1 0 0 0"', attribute))
        assert abs(loaded.joint('j').origin.rpy[0]) == pytest.approx(math.pi)


def test_links_keep_their_inertial_data():
    """Mass, centre and inertia are read, geometry is not; a bad mass loses that link alone."""
    inertia = '<inertia ixx="1" ixy="2" ixz="3" iyy="4" iyz="5" izz="6"/>'
    loaded = load_description(
        f'<robot name="r"><link name="a"><inertial><mass value="2.5"/><origin xyz="0 0 1"/>'
        f'{inertia}</inertial><visual><geometry><box size="not read"/></geometry></visual></link>'
        '<link name="b"><inertial><mass value="heavy"/></inertial></link></robot>'
    )
    (error,), (link,) = loaded.errors, loaded.links
    assert (link.name, link.mass) == ('a', 2.5)
    assert link.inertial_origin == Pose((0.0, 0.0, 1.0))
    assert link.inertia == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert error.path == '/robot/link[2]/inertial/mass'


@pytest.mark.parametrize(
    'extra',
    [
        '<link name="l1"><inertial><mass value="1"/></inertial></link>',
        '<joint name="j1" type="fixed"><parent link="l0"/><child link="l1"/></joint>',
    ],
)
def test_equal_names_cost_the_later_one(extra):
    """Of two links or joints with one name the first is used, and the second is an error."""
    loaded = load_description(robot(extra))
    (error,) = loaded.errors
    assert 'twice' in error.message
    assert loaded.joint('j1').type == 'revolute'
    assert loaded.links[1].mass is None


@pytest.mark.parametrize(
    ('inside', 'limits', 'expected', 'found'),
    [
        ('', None, '<limit>', ''),
        ('<limit lower="-1" upper="1" velocity="2"/>', (-1, 1, 2, None), 'attribute effort', ''),
        (LIMIT.replace('"3"', '"-3"').replace('"4"', '"-4"'), (-1.5, 2, 3, 4), None, ''),
        (LIMIT.replace('2', '-2'), (-1.5, -2, 3, 4), '', '-1.5 to -2.0'),
    ],
)
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_odd_limits_are_open_or_as_written_with_a_warning(kind, inside, limits, expected, found):
    """What is missing is open, rates and efforts are magnitudes, crossed ones stay."""
    text = one_joint(inside, kind=kind)
    if expected is None:
        loaded = load_clean(text)
    else:
        loaded, finding = find_only(text)
        assert finding.severity == 'warning'
        assert expected in finding.expected
        assert found in finding.found
        assert finding.fatal_if_strict or inside
    assert loaded.joint('j').limits == (limits and JointLimits(*limits))


@pytest.mark.parametrize(
    ('joints', 'message'),
    [
        ('ab', 'more than one tree'),
        ('ab bx bc', 'unknown child link'),
        ('ab xc', 'unknown parent link'),
        ('ab bc ac', 'already has a parent'),
        ('ab bc ca', 'form a loop'),
        ('ab cc', 'form a loop'),
        ('ab bc', ''),
        ('ab ac', ''),
    ],
)
def test_broken_trees_are_warnings_that_strict_mode_refuses(joints, message):
    """A transmission needs no tree, so all joints stay; a URDF parser would refuse."""
    text = ''.join(f'<link name="{link}"/>' for link in 'abc') + ''.join(
        f'<joint name="j{number}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{child}"/></joint>'
        for number, (parent, child) in enumerate(joints.split())
    )
    text = f'<robot name="r">{text}</robot>'
    if not message:
        load_clean(text)
        return
    loaded, finding = find_only(text)
    assert len(loaded.joints) == len(joints.split())
    assert message in finding.message
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)


def test_what_a_joint_cannot_mimic():
    """A loop is one error at a joint of it, however it is reached; an unknown joint is one."""
    followed = {1: 2, 2: 3, 3: 2, 4: 4, 5: 9}
    links = ''.join(f'<link name="l{number}"/>' for number in range(6))
    joints = ''.join(
        f'<joint name="j{number}" type="continuous"><parent link="l{number - 1}"/>'
        f'<child link="l{number}"/><mimic joint="j{followed[number]}"/></joint>'
        for number in range(1, 6)
    )
    loaded = load_description(f'<robot name="r">{links}{joints}</robot>')
    assert [error.path for error in loaded.errors] == [
        '/robot/joint[2]', '/robot/joint[4]', '/robot/joint[5]',
    ]  # fmt: skip
    assert loaded.errors[0].found == "'j2' after 'j3' after 'j2'"
    assert loaded.errors[2].found == "'j9'"
    assert loaded.joint('j5').mimic == MimicSpec('j9')


def test_a_robot_without_a_name_is_a_warning():
    """URDF wants a name, nothing here needs it."""
    loaded = load_description('<robot/>')
    assert (loaded.name, loaded.findings[0].message) == ('', '<robot> without a name')


def test_unknown_elements_are_fine_and_unknown_names_told_with_the_known_ones():
    """Materials, Gazebo extensions and whatever else a URDF holds are no findings."""
    loaded = load_clean(robot('<material name="m"/><gazebo><a/></gazebo><thing/>'))
    with pytest.raises(UnknownNameError, match='j1, j2, j3, j4'):
        loaded.joint('j9')
    with pytest.raises(UnknownNameError, match='none'):
        loaded.transmission('t')
