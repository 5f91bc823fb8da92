# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Links and joints of the URDF, and the tree that they form."""

from __future__ import annotations

from collections.abc import Callable
import math

from hypothesis import assume, example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import (
    CalibrationSpec,
    DynamicsSpec,
    JointLimits,
    load_description,
    MimicSpec,
    Pose,
    RobotDescription,
    SafetySpec,
)
from transmission_bridge.errors import DescriptionError, UnknownNameError
from transmission_bridge.kinematics.spatial import rotation_from_rpy

COMPONENT = st.floats(-1e300, 1e300)


def one_joint(inside: str, kind: str = 'revolute') -> RobotDescription:
    """Load a robot of two links and one joint."""
    return load_description(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="{kind}">'
        f'<parent link="a"/><child link="b"/>{inside}</joint></robot>'
    )


LIMIT = '<limit lower="-1.5" upper="2" velocity="3" effort="4"/>'


def test_everything_of_a_joint_is_read() -> None:
    """Origin, axis, limits, safety, mimic, dynamics and calibration arrive as written."""
    robot = one_joint(
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 3 4"/>'
        + LIMIT
        + '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_position="10"'
        ' k_velocity="20"/><mimic joint="j" multiplier="-2" offset="0.5"/>'
        '<dynamics damping="0.7" friction="0.1"/><calibration rising="0.3"/>'
    )
    joint = robot.joint('j')
    assert (joint.type, joint.parent, joint.child, joint.is_scalar) == ('revolute', 'a', 'b', True)
    assert joint.origin == Pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    assert joint.axis == (0.0, 0.6, 0.8)
    assert joint.limits == JointLimits(lower=-1.5, upper=2.0, velocity=3.0, effort=4.0)
    assert joint.safety == SafetySpec(-1.0, 1.0, 10.0, 20.0)
    assert joint.mimic == MimicSpec('j', -2.0, 0.5)
    assert joint.dynamics == DynamicsSpec(0.7, 0.1)
    assert joint.calibration == CalibrationSpec(rising=0.3, falling=None)


def test_what_a_joint_leaves_open_has_its_default() -> None:
    """The axis is x, the origin is zero, everything else is absent."""
    joint = one_joint('', kind='continuous').joint('j')
    assert joint.axis == (1.0, 0.0, 0.0)
    assert joint.origin == Pose()
    assert (joint.limits, joint.safety, joint.mimic) == (None, None, None)
    assert (joint.dynamics, joint.calibration) == (None, None)


@given(COMPONENT, COMPONENT, COMPONENT)
def test_axes_have_unit_length(x: float, y: float, z: float) -> None:
    """However long or short, the axis keeps its direction and has length one."""
    assume(max(abs(x), abs(y), abs(z)) > 0)
    axis = one_joint(f'<axis xyz="{x} {y} {z}"/>', kind='continuous').joint('j').axis
    assert math.isclose(math.hypot(*axis), 1.0, rel_tol=1e-15)
    scale = max(abs(x), abs(y), abs(z))
    length = math.hypot(x / scale, y / scale, z / scale)
    for given_component, component in zip((x, y, z), axis, strict=True):
        assert math.isclose(component, given_component / scale / length, rel_tol=1e-14)


def with_origin(attributes: str, version: str = ' version="1.1"') -> RobotDescription:
    """Load a robot with a joint with these attributes in its origin."""
    return load_description(
        f'<robot name="r"{version}><link name="a"/><link name="b"/>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        f'<origin xyz="1 2 3" {attributes}/></joint></robot>'
    )


def rotated(x: float, y: float, z: float, w: float) -> np.ndarray:
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
def test_a_quaternion_is_the_rotation_that_it_is(
    q: tuple[float, float, float, float], length: float
) -> None:
    """URDF 1.1 has quat_xyzw, of any length; with a pitch of a right angle to rounding as well."""
    norm = math.hypot(*q)
    assume(norm > 1e-3)
    robot = with_origin(f'quat_xyzw="{" ".join(repr(length * value) for value in q)}"')
    origin = robot.joint('j').origin
    assert origin.xyz == (1.0, 2.0, 3.0)
    expected = rotated(*(value / norm for value in q))
    assert np.abs(rotation_from_rpy(origin.rpy) - expected).max() < 1e-14
    assert robot.findings == ()


@pytest.mark.parametrize(
    ('attributes', 'expected'),
    [
        ('quat_xyzw="0 0 0 1" rpy="0 0 0"', 'rpy or quat_xyzw'),
        ('quat_xyzw="0 0 1"', 'four numbers'),
        ('quat_xyzw="0 0 0 0"', 'a quaternion other than 0 0 0 0'),
        ('quat_xyzw="0 0 0 a"', 'a decimal number such as 50, -1.5 or 2e-3'),
    ],
)
def test_an_unusable_quaternion_costs_the_joint(attributes: str, expected: str) -> None:
    """As every number of a joint that cannot be read."""
    robot = with_origin(attributes)
    assert robot.joints == ()
    assert robot.errors[0].expected == expected


@pytest.mark.parametrize('version', ['', ' version="1.0"'])
def test_a_quaternion_in_a_urdf_of_version_1_0_is_ignored(version: str) -> None:
    """As in urdfdom, which robot_state_publisher uses; a warning reports it."""
    robot = with_origin('quat_xyzw="1 0 0 0" rpy="0.1 0 0"', version)
    assert robot.joint('j').origin.rpy == (0.1, 0.0, 0.0)
    (finding,) = robot.findings
    assert (finding.severity, finding.path) == ('warning', '/robot/joint/origin')
    assert 'quat_xyzw' in finding.message


@pytest.mark.parametrize('version', ['1.1', '1.2', '2.0', '10.0'])
def test_newer_versions_have_quaternions(version: str) -> None:
    """Versions are compared as numbers."""
    robot = with_origin('quat_xyzw="1 0 0 0"', f' version="{version}"')
    assert abs(robot.joint('j').origin.rpy[0]) == pytest.approx(math.pi)


def test_links_keep_their_inertial_data() -> None:
    """Mass, centre and inertia are read, geometry is not."""
    robot = load_description(
        '<robot name="r"><link name="a"><inertial><mass value="2.5"/><origin xyz="0 0 1"/>'
        '<inertia ixx="1" ixy="2" ixz="3" iyy="4" iyz="5" izz="6"/></inertial>'
        '<visual><geometry><box size="not read"/></geometry></visual></link></robot>'
    )
    (link,) = robot.links
    assert (link.name, link.mass) == ('a', 2.5)
    assert link.inertial_origin == Pose((0.0, 0.0, 1.0))
    assert link.inertia == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert not robot.errors


def test_a_bad_link_is_one_error_and_costs_the_link() -> None:
    """A mass that is no number loses the link, not the robot."""
    robot = load_description(
        '<robot name="r"><link name="a"><inertial><mass value="heavy"/></inertial></link>'
        '<link name="b"/></robot>'
    )
    assert [link.name for link in robot.links] == ['b']
    (error,) = robot.errors
    assert error.path == '/robot/link[1]/inertial/mass'


@pytest.mark.parametrize('tag', ['link', 'joint'])
def test_equal_names_cost_the_later_one(robot: Callable[..., str], tag: str) -> None:
    """Of two links or joints with one name the first is used, and the second is an error."""
    extra = {
        'link': '<link name="l1"><inertial><mass value="1"/></inertial></link>',
        'joint': '<joint name="j1" type="fixed"><parent link="l0"/><child link="l1"/></joint>',
    }[tag]
    loaded = load_description(robot(extra))
    assert len(loaded.errors) == 1
    assert 'twice' in loaded.errors[0].message
    assert loaded.joint('j1').type == 'revolute'
    assert loaded.links[1].mass is None


def test_unknown_elements_are_fine(robot: Callable[..., str]) -> None:
    """Materials, Gazebo extensions and whatever else a URDF holds are no findings."""
    assert (
        load_description(robot('<material name="m"/><gazebo><a/></gazebo><thing/>')).findings == ()
    )


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_joints_without_limits_are_unlimited_with_a_warning(kind: str) -> None:
    """URDF parsers refuse the document; here only strict mode does."""
    robot = one_joint('', kind=kind)
    assert robot.joint('j').limits is None
    (finding,) = robot.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert finding.expected == '<limit>'


def test_incomplete_limits_name_what_is_missing() -> None:
    """A limit without effort is reported and open there."""
    robot = one_joint('<limit lower="-1" upper="1" velocity="2"/>')
    assert robot.joint('j').limits == JointLimits(-1.0, 1.0, 2.0, None)
    (finding,) = robot.findings
    assert finding.expected == 'attribute effort'


def test_rates_and_efforts_are_magnitudes() -> None:
    """A negative velocity or effort limit counts by its absolute value."""
    limits = one_joint('<limit lower="-1" upper="1" velocity="-2" effort="-3"/>').joint('j').limits
    assert limits == JointLimits(-1.0, 1.0, 2.0, 3.0)


def test_crossed_limits_are_a_warning() -> None:
    """They are kept as written, and reported."""
    robot = one_joint('<limit lower="1" upper="-1" velocity="2" effort="3"/>')
    assert robot.joint('j').limits == JointLimits(1.0, -1.0, 2.0, 3.0)
    (finding,) = robot.findings
    assert (finding.severity, finding.found) == ('warning', '1.0 to -1.0')


def tree(*joints: tuple[str, str], links: str = 'abc') -> RobotDescription:
    """Load continuous joints between links."""
    text = ''.join(f'<link name="{link}"/>' for link in links)
    for number, (parent, child) in enumerate(joints):
        text += (
            f'<joint name="j{number}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{child}"/></joint>'
        )
    return load_description(f'<robot name="r">{text}</robot>')


@pytest.mark.parametrize(
    ('joints', 'message'),
    [
        ([('a', 'b')], 'more than one tree'),
        ([('a', 'b'), ('b', 'x'), ('b', 'c')], 'unknown child link'),
        ([('a', 'b'), ('x', 'c')], 'unknown parent link'),
        ([('a', 'b'), ('b', 'c'), ('a', 'c')], 'already has a parent'),
        ([('a', 'b'), ('b', 'c'), ('c', 'a')], 'form a loop'),
        ([('a', 'b'), ('c', 'c')], 'form a loop'),
    ],
)
def test_broken_trees_are_warnings_that_strict_mode_refuses(
    joints: list[tuple[str, str]], message: str
) -> None:
    """A transmission needs no tree, so all joints stay; a URDF parser would refuse."""
    robot = tree(*joints)
    assert len(robot.joints) == len(joints)
    (finding,) = robot.findings
    assert message in finding.message
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)


def test_a_sound_tree_has_no_finding() -> None:
    """Branches and chains are trees."""
    assert tree(('a', 'b'), ('b', 'c')).findings == ()
    assert tree(('a', 'b'), ('a', 'c')).findings == ()


def test_mimic_loops_are_one_error_each() -> None:
    """A loop is reported once, at a joint of the loop, however it is reached."""
    links = ''.join(f'<link name="l{number}"/>' for number in range(6))
    followed = {1: 2, 2: 3, 3: 2, 4: 4}
    joints = ''.join(
        f'<joint name="j{number}" type="continuous"><parent link="l{number - 1}"/>'
        f'<child link="l{number}"/>'
        + (f'<mimic joint="j{followed[number]}"/>' if number in followed else '')
        + '</joint>'
        for number in range(1, 6)
    )
    robot = load_description(f'<robot name="r">{links}{joints}</robot>')
    assert [error.path for error in robot.errors] == ['/robot/joint[2]', '/robot/joint[4]']
    assert robot.errors[0].found == "'j2' after 'j3' after 'j2'"
    assert len(robot.joints) == 5


def test_mimicking_an_unknown_joint_is_an_error() -> None:
    """The joint stays, what it says it follows is not there."""
    robot = one_joint('<mimic joint="ghost"/>', kind='continuous')
    (error,) = robot.errors
    assert error.found == "'ghost'"
    assert robot.joint('j').mimic == MimicSpec('ghost')


def test_a_robot_without_a_name_is_a_warning() -> None:
    """URDF wants a name, nothing here needs it."""
    robot = load_description('<robot/>')
    assert robot.name == ''
    assert robot.findings[0].message == '<robot> without a name'


def test_unknown_names_are_told_with_the_known_ones(robot: Callable[..., str]) -> None:
    """Asking for a joint or transmission that is not there raises with what there is."""
    loaded = load_description(robot())
    with pytest.raises(UnknownNameError, match='j1, j2, j3, j4'):
        loaded.joint('j9')
    with pytest.raises(UnknownNameError, match='none'):
        loaded.transmission('t')


def test_strict_accepts_a_sound_robot(robot: Callable[..., str]) -> None:
    """Strict mode refuses only what has a finding."""
    assert load_description(robot(), strict=True) == load_description(robot())
    with pytest.raises(DescriptionError, match='without limits'):
        load_description(robot().replace('<limit', '<unlimited'), strict=True)
