# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Links and joints of the URDF, the tree that they form, and the looks of links."""

import math

from hypothesis import assume, example, given, strategies as st
import numpy as np
import pytest
from zoo.four_joints import find_only, load, load_clean, robot

from transmission_bridge.description import (
    collect_limits,
    DynamicsSpec,
    JointLimitSpec,
    MimicSpec,
    OriginSpec,
)
from transmission_bridge.description.document.visuals import load_urdf_visuals, VisualSpec
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.spatial import rotation_from_rpy

LIMIT = '<limit lower="-1.5" upper="2" velocity="3" effort="4"/>'


def joint(name, parent, child, inside='', kind='continuous'):
    """Return a joint."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def one_joint(inside, kind='continuous', version=''):
    """Return a robot of two links and one joint."""
    links = '<link name="a"/><link name="b"/>'
    return f'<robot name="r"{version}>{links}{joint("j", "a", "b", inside, kind)}</robot>'


def test_everything_of_a_joint_is_read():
    """Origin, axis, limits, mimic and dynamics arrive as written."""
    inside = (
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 3 4"/>'
        '<mimic joint="j" multiplier="-2" offset="0.5"/><dynamics damping="0.7" friction="0.1"/>'
    )
    spec = load(one_joint(inside + LIMIT, 'revolute')).joint('j')
    assert (spec.type, spec.parent, spec.child, spec.is_scalar) == ('revolute', 'a', 'b', True)
    assert spec.origin == OriginSpec((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    assert spec.axis == (0.0, 0.6, 0.8)
    assert spec.limits == JointLimitSpec(lower=-1.5, upper=2.0, velocity=3.0, effort=4.0)
    assert (spec.mimic, spec.dynamics) == (MimicSpec('j', -2.0, 0.5), DynamicsSpec(0.7, 0.1))


COMPONENT = st.floats(-1e300, 1e300)


@given(st.tuples(COMPONENT, COMPONENT, COMPONENT))
def test_axes_have_unit_length(axis):
    """However long or short, the axis keeps its direction and has length one."""
    scale = max(map(abs, axis))
    assume(scale > 0)
    x, y, z = axis
    found = load(one_joint(f'<axis xyz="{x} {y} {z}"/>')).joint('j').axis
    length = math.hypot(*(value / scale for value in axis))
    assert found == pytest.approx([value / scale / length for value in axis], rel=1e-14, abs=0.0)
    assert math.hypot(*found) == pytest.approx(1.0, rel=1e-15)


def with_origin(attributes, version=' version="1.1"'):
    """Return a robot with a joint with these attributes in its origin."""
    return one_joint(f'<origin xyz="1 2 3" {attributes}/>', version=version)


ANGLES = st.floats(-1.0, 1.0)


@given(st.tuples(ANGLES, ANGLES, ANGLES, ANGLES), st.floats(1e-3, 1e3))
@example((0.0, -0.5, 0.0, 0.5), 1.0)
@example((0.5, 0.5, -0.5, 0.5), 1.0)
@example((0.5, 0.50000001, -0.5, 0.5), 1.0)
def test_a_quaternion_is_the_rotation_that_it_is(q, length):
    """URDF 1.1 has quat_xyzw, of any length; with a pitch of a right angle to rounding as well."""
    norm = math.hypot(*q)
    assume(norm > 1e-3)
    quaternion = ' '.join(repr(length * value) for value in q)
    origin = load_clean(with_origin(f'quat_xyzw="{quaternion}"')).joint('j').origin
    assert origin.xyz == (1.0, 2.0, 3.0)
    # The images of the axes under v + 2 w (u x v) + 2 u x (u x v), as columns.
    (*u, w), axes = np.array(q) / norm, np.eye(3)
    once = np.cross(u, axes)
    expected = (axes + 2.0 * w * once + 2.0 * np.cross(u, once)).T
    assert np.abs(rotation_from_rpy(origin.rpy) - expected).max() < 1e-14


@pytest.mark.parametrize(('attributes', 'expected'), [
    ('quat_xyzw="0 0 0 1" rpy="0 0 0"', 'rpy or quat_xyzw'),
    ('quat_xyzw="0 0 1"', 'four numbers'),
    ('quat_xyzw="0 0 0 0"', 'a quaternion other than 0 0 0 0'),
    ('quat_xyzw="0 0 0 a"', 'a decimal number such as 50, -1.5 or 2e-3'),
])  # fmt: skip
def test_an_unusable_quaternion_costs_the_joint(attributes, expected):
    """As every number of a joint that cannot be read."""
    loaded = load(with_origin(attributes))
    assert (loaded.joints, loaded.errors[0].expected) == ((), expected)


@pytest.mark.parametrize(('version', 'more', 'angle', 'levels'), [
    *((version, ' rpy="0.1 0 0"', 0.1, ['warning']) for version in ('', ' version="1.0"')),
    *((f' version="{n}"', '', math.pi, []) for n in ('1.1', '1.2', '2.0', '10.0')),
])  # fmt: skip
def test_quaternions_of_old_versions_are_ignored(version, more, angle, levels):
    """As in urdfdom before 1.1, with a warning; versions are compared as numbers."""
    loaded = load(with_origin(f'quat_xyzw="1 0 0 0"{more}', version))
    assert abs(loaded.joint('j').origin.rpy[0]) == pytest.approx(angle)
    assert [each.severity for each in loaded.findings] == levels
    for each in loaded.findings:
        assert (each.path, 'quat_xyzw' in each.message) == ('/robot/joint/origin', True)


@pytest.mark.parametrize(('inside', 'limits', 'expected', 'found'), [
    ('', None, '<limit>', 'none'),
    ('<limit lower="-1" upper="1" velocity="2"/>', (-1, 1, 2, None), 'attribute effort', 'none'),
    (LIMIT.replace('"3"', '"-3"').replace('"4"', '"-4"'), (-1.5, 2, 3, 4), None, ''),
    (LIMIT.replace('2', '-1.5'), (-1.5, -1.5, 3, 4), None, ''),
    (LIMIT.replace('2', '-2'), (-1.5, -2, 3, 4), 'lower at most upper', '-1.5 to -2.0'),
])  # fmt: skip
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_odd_limits_are_open_or_as_written_with_a_warning(kind, inside, limits, expected, found):
    """What is missing is open, rates and efforts are magnitudes, crossed ones stay."""
    loaded = load(one_joint(inside, kind))
    told = [(each.severity, each.expected, each.found) for each in loaded.findings]
    assert told == [('warning', expected, found)] * (expected is not None)
    assert [each.fatal_if_strict for each in loaded.findings] == [found == 'none'] * bool(expected)
    assert loaded.joint('j').limits == (limits and JointLimitSpec(*limits))


@pytest.mark.parametrize('extra', ['<link name="l1"/>', joint('j1', 'l0', 'l1', kind='fixed')])
def test_equal_names_cost_the_later_one(extra):
    """Of two links or joints with one name the first is used, and the second is an error."""
    loaded = load(robot(extra))
    (error,) = loaded.errors
    assert 'twice' in error.message
    assert loaded.joint('j1').type == 'revolute'


@pytest.mark.parametrize(('joints', 'message'), [
    ('ab', 'more than one tree'),
    ('ab bx bc', 'unknown child link'),
    ('ab xc', 'unknown parent link'),
    ('ab bc ac', 'already has a parent'),
    ('ab bc ca', 'form a loop'),
    ('ab cc', 'form a loop'),
    ('ab bc', ''),
    ('ab ac', ''),
])  # fmt: skip
def test_broken_trees_are_warnings_that_strict_mode_refuses(joints, message):
    """A transmission needs no tree, so all joints stay; a URDF parser would refuse."""
    links = ''.join(f'<link name="{link}"/>' for link in 'abc')
    elements = (joint(pair, *pair) for pair in joints.split())
    loaded = load(robot(links=links, joints=''.join(elements)))
    assert [each.name for each in loaded.joints] == joints.split()
    expected = [('warning', True)] if message else []
    assert [(each.severity, each.fatal_if_strict) for each in loaded.findings] == expected
    assert all(message in each.message for each in loaded.findings)


def test_what_a_joint_cannot_mimic():
    """A loop is one error at a joint of it, however it is reached; an unknown joint is one."""
    joints = (
        joint(f'j{number}', f'l{number - 1}', f'l{number}', f'<mimic joint="j{other}"/>')
        for number, other in {1: 2, 2: 3, 3: 2, 4: 4, 5: 9}.items()
    )
    loaded = load(robot('<link name="l5"/>', joints=''.join(joints)))
    assert [(error.path, error.found) for error in loaded.errors] == [
        ('/robot/joint[2]', "'j2' after 'j3' after 'j2'"),
        ('/robot/joint[4]', "'j4' after 'j4'"),
        ('/robot/joint[5]', "'j9'"),
    ]
    assert loaded.joint('j5').mimic == MimicSpec('j9')


def test_unknown_elements_are_fine_and_unknown_names_told_with_the_known_ones():
    """Whatever else a URDF holds is no finding; that it has no name is a warning."""
    assert load('<robot/>').findings[0].message == '<robot> without a name'
    loaded = load_clean(robot('<material name="m"/><gazebo><a/></gazebo><thing/>'))
    with pytest.raises(UnknownNameError, match='j1, j2, j3, j4'):
        loaded.joint('j9')
    with pytest.raises(UnknownNameError, match='none'):
        loaded.transmission('t')


BOX = '<geometry><box size="1 2 3"/></geometry>'
RED = '<material name="m"><color rgba="1 0 0 1"/></material>'
GREEN = '<material name="m"><color rgba="0 1 0 1"/></material>'


def looks(*visuals, before='', after=''):
    """Return the looks of a robot that has a link with these visuals."""
    inside = ''.join(f'<visual>{each}</visual>' for each in visuals)
    return load_urdf_visuals(f'<robot>{before}<link name="a">{inside}</link>{after}</robot>')


def test_every_shape_is_read():
    """With origin, size, file and colour."""
    pose, color = OriginSpec((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)), (0.1, 0.2, 0.3, 1.0)
    assert looks(
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
        '<geometry><mesh filename="package://p/m.stl" scale="1 1 -1"/></geometry>'
        '<material name="m"><color rgba="0.1 0.2 0.3 1.5"/></material>',
        BOX,
        '<geometry><cylinder radius="1" length="2"/></geometry>',
        '<geometry><sphere radius="1"/></geometry>',
    ) == (
        VisualSpec('a', 'mesh', pose, (1.0, 1.0, -1.0), 'package://p/m.stl', color),
        VisualSpec('a', 'box', OriginSpec(), (1.0, 2.0, 3.0)),
        VisualSpec('a', 'cylinder', OriginSpec(), (1.0, 2.0)),
        VisualSpec('a', 'sphere', OriginSpec(), (1.0,)),
    )


def test_a_material_may_be_named_elsewhere():
    """As urdfdom has it, in any link; what the robot says itself comes first."""
    named = f'{BOX}<material name="m"/>'
    there = f'<link name="b"><visual>{BOX}{GREEN}</visual></link>'
    red, green = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)
    assert [each.color for each in looks(named, before=RED)] == [red]
    assert [each.color for each in looks(named, after=there)] == [green, green]
    assert looks(named, before=RED, after=there)[0].color == red


@pytest.mark.parametrize('bad', [
    '',
    '<geometry><box size="1 2"/></geometry>',
    '<geometry><mesh scale="1 1 1"/></geometry>',
    '<geometry><cone/></geometry>',
    f'<origin xyz="x"/>{BOX}',
])  # fmt: skip
def test_what_cannot_be_read_is_left_out(bad):
    """The link is then one without this geometry or colour; its others stay."""
    plain = f'{BOX}<material><color rgba="1 x 0 1"/></material>'
    assert looks(bad, plain) == (VisualSpec('a', 'box', OriginSpec(), (1.0, 2.0, 3.0)),)
    assert load_urdf_visuals('<sdf><model name="m"/></sdf>') == ()


def test_acceleration_in_a_limit_is_one_information():
    """Only ``<ros2_control>`` has limits of accelerations; the other limits count."""
    loaded, finding = find_only(one_joint(LIMIT.replace('/>', ' acceleration="4"/>'), 'revolute'))
    assert (finding.severity, finding.path) == ('info', '/robot/joint/limit')
    assert collect_limits(loaded, ['j'])[1, :, 0].tolist() == [2.0, 3.0, 4.0, math.inf]
