# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The whole robot as one map: what its transmissions compute, by name and in batches."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.errors import ShapeError, UnsupportedInterfaceError
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of, quantity_of

MAPS = [(direction, name) for direction in DIRECTIONS for name in interfaces_of(direction)]

#: Which outputs depend on which inputs, by hand: (first, second) outputs of (first, second) input.
FOUR_BAR = {'rate': [[True, False], [True, True]], 'effort': [[True, True], [False, True]]}


def members(robot, direction):
    """Return the names of inputs and outputs."""
    names = (robot.actuator_names, robot.joint_names)
    return names if direction == 'actuator_to_joint' else names[::-1]


def samples(robot, direction, seed, leading=()):
    """Return random values for a direction."""
    n = len(members(robot, direction)[0])
    return np.random.default_rng(seed).normal(scale=10.0, size=(*leading, n))


def dependence(robot, direction, interface):
    """Return which output depends on which input, from the description alone."""
    inputs, outputs = members(robot, direction)
    depends = {(name, name) for name in robot.pass_through}
    for spec in robot.robot.transmissions:
        joints, actuators = ([m.name for m in side] for side in (spec.joints, spec.actuators))
        theirs = (actuators, joints) if direction == 'actuator_to_joint' else (joints, actuators)
        kind = 'effort' if interface in ('effort', 'torque', 'force') else 'rate'
        for (row, output), (column, name) in itertools.product(
            enumerate(theirs[1]), enumerate(theirs[0])
        ):
            if 'FourBar' not in spec.type or FOUR_BAR[kind][row][column]:
                depends.add((output, name))
    return np.array([[(o, i) in depends for i in inputs] for o in outputs], dtype=bool).reshape(
        len(outputs), len(inputs)
    )


@given(st.data())
def test_the_robot_equals_its_transmissions_in_any_order(robots, data):
    """
    Each joint and actuator has the value that its transmission alone gives, bit for bit.

    Joints stand in the order of the URDF, actuators in that of the transmissions.
    """
    robot = data.draw(robots)
    shuffled = dataclasses.replace(
        robot,
        joints=tuple(data.draw(st.permutations(robot.joints))),
        transmissions=tuple(data.draw(st.permutations(robot.transmissions))),
    )
    for each, seed in ((robot, 1), (shuffled, 2)):
        t = RobotTransmissions(each)
        assert t.joint_names == tuple(joint.name for joint in each.joints)
        driven = [member.name for spec in each.transmissions for member in spec.actuators]
        assert t.actuator_names == (*driven, *t.pass_through)
        for direction, interface in MAPS:
            x = samples(t, direction, seed)
            result = getattr(t, direction)(interface, x)
            inputs, outputs = (
                dict(zip(names, values, strict=True))
                for names, values in zip(members(t, direction), (x, result), strict=True)
            )
            expected = {name: inputs[name] for name in t.pass_through}
            for spec in robot.transmissions:
                sides = [
                    [member.name for member in side] for side in (spec.actuators, spec.joints)
                ]
                if direction == 'joint_to_actuator':
                    sides = sides[::-1]
                values = getattr(t.transmissions[spec.name], direction)(
                    interface, [inputs[name] for name in sides[0]]
                )
                expected |= zip(sides[1], values, strict=True)
            assert outputs == expected


@given(st.data())
def test_unknown_values_touch_what_depends_on_them(robots, data):
    """NaN and inf reach exactly what depends on them by the description, and no other joint."""
    t = RobotTransmissions(data.draw(robots))
    n = len(t.actuator_names)
    for direction, interface in MAPS:
        x = samples(t, direction, 2)
        for place in data.draw(st.lists(st.integers(0, max(0, len(x) - 1)), max_size=3)):
            if len(x):
                x[place] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        depends = dependence(t, direction, interface)
        known = np.isfinite(x)
        with np.errstate(invalid='ignore'):
            result = getattr(t, direction)(interface, x)
        expected = ~(depends & ~known).any(axis=1)
        assert (np.isfinite(result) == expected).all()
        filled = getattr(t, direction)(interface, np.where(known, x, 3.5))
        assert (result[expected] == filled[expected]).all()
    jacobian = t.jacobian(samples(t, 'actuator_to_joint', 8, (2,)))
    assert jacobian.shape == (2, len(t.joint_names), n)
    assert (jacobian == t.actuator_to_joint('velocity', np.eye(n)).T).all()
    assert ((jacobian != 0.0) == dependence(t, 'actuator_to_joint', 'velocity')).all()


@settings(max_examples=25)
@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_a_batch_equals_a_loop(robots, data, leading):
    """
    A batch of any shape and memory layout gives what its samples give, to the last bit.

    Arguments are not changed, results are new, and a copy of the robot gives the same.
    """
    t = RobotTransmissions(data.draw(robots))
    copy = pickle.loads(pickle.dumps(t))
    assert (copy.joint_names, copy.actuator_names) == (t.joint_names, t.actuator_names)
    assert (copy.findings, copy.robot) == (t.findings, t.robot)
    for direction, interface in MAPS:
        function = getattr(t, direction)
        x = samples(t, direction, 3, leading)
        before = x.copy()
        loop = [function(interface, row) for row in x.reshape(-1, x.shape[-1])] if x.size else []
        expected = np.array(loop).reshape(*leading, len(members(t, direction)[1]))
        for batch in (x, np.asfortranarray(x), np.repeat(x, 2, axis=-1)[..., ::2]):
            for other in (t, copy, copy.with_parameters({})):
                result = getattr(other, direction)(interface, batch)
                assert result.shape == expected.shape
                assert result.dtype == np.float64
                assert result.tobytes() == expected.tobytes()
        first = function(interface, x)
        assert (x == before).all()
        assert not np.shares_memory(first, x)
        assert not np.shares_memory(first, function(interface, -x))


URDF = {
    'ros2_control': (
        '<transmission name="t"><plugin>{type}</plugin>{members}</transmission>',
        '<joint name="{name}" role="{role}"><mechanical_reduction>{ratio}</mechanical_reduction>'
        '<offset>{offset}</offset></joint>',
        '<actuator name="{name}" role="{role}">'
        '<mechanical_reduction>{ratio}</mechanical_reduction></actuator>',
    ),
    'ros_control': (
        '<transmission name="t"><type>{type}</type>{members}</transmission>',
        '<joint name="{name}"><role>{role}</role>'
        '<hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>'
        '<mechanicalReduction>{ratio}</mechanicalReduction><offset>{offset}</offset></joint>',
        '<actuator name="{name}"><role>{role}</role>'
        '<mechanicalReduction>{ratio}</mechanicalReduction></actuator>',
    ),
}
ELEMENTS = (
    (1, {'name': 'zed', 'role': 'joint1', 'ratio': 2, 'offset': 0.5}),
    (1, {'name': 'alpha', 'role': 'joint2', 'ratio': -2, 'offset': -0.5}),
    (2, {'name': 'm1', 'role': 'actuator1', 'ratio': 50}),
    (2, {'name': 'm2', 'role': 'actuator2', 'ratio': -50}),
)


@pytest.mark.parametrize('dialect', URDF)
@pytest.mark.parametrize('joints', [('zed', 'alpha'), ('alpha', 'zed')])
@pytest.mark.parametrize('order', list(itertools.permutations(range(4))))
def test_roles_decide_whatever_the_order_of_the_text(dialect, joints, order):
    """Parameters and data go by role in every order of elements, of joints, and of names."""
    templates = URDF[dialect]
    block = templates[0].format(
        type='transmission_interface/DifferentialTransmission',
        members=''.join(templates[k].format(**d) for k, d in (ELEMENTS[n] for n in order)),
    )
    if dialect == 'ros2_control':
        components = ''.join(
            f'<joint name="{name}"><command_interface name="effort"/></joint>' for name in joints
        )
        block = (
            '<ros2_control name="b" type="system"><hardware><plugin>a/B</plugin></hardware>'
            f'{components}{block}</ros2_control>'
        )
    tree = '<link name="base"/>' + ''.join(
        f'<link name="l_{name}"/><joint name="{name}" type="continuous">'
        f'<parent link="base"/><child link="l_{name}"/></joint>'
        for name in joints
    )
    t = RobotTransmissions(load_description(f'<robot name="r">{tree}{block}</robot>'))
    assert t.findings == ()
    assert t.joint_names == joints
    motors = {'m1': 100.0, 'm2': 20.0}
    q = t.actuator_to_joint('position', [motors[name] for name in t.actuator_names])
    found = dict(zip(t.joint_names, q, strict=True))
    assert found == pytest.approx({'zed': 0.9, 'alpha': -1.1}, rel=1e-15)
    back = dict(zip(t.actuator_names, t.joint_to_actuator('position', q), strict=True))
    assert back == pytest.approx(motors, rel=1e-14)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_another_shape_is_refused(make_spec, make_robot, direction):
    """Values, at, rate and guess of another last axis are refused by name."""
    t = RobotTransmissions(make_robot(make_spec('t', 'simple', ('j',), ('m',))))
    function = getattr(t, direction)
    for shape in ((), (0,), (2,), (1, 2)):
        with pytest.raises(ShapeError, match=r'^values: '):
            function('position', np.zeros(shape))
        for name in ('at', 'rate', 'guess'):
            with pytest.raises(ShapeError, match=rf'^{name}: '):
                function('position', [1.0], **{name: np.zeros(shape)})
    with pytest.raises(ShapeError, match='actuator_position'):
        t.jacobian([1.0, 2.0])


def test_an_interface_that_is_not_mapped_is_refused(make_spec, make_robot):
    """All are mapped but a measurement as a command; what is not is refused with what there is."""
    names = {'position', 'velocity', 'acceleration', 'effort', 'torque', 'force'}
    assert set(interfaces_of('actuator_to_joint')) == names | {'absolute_position'}
    assert set(interfaces_of('joint_to_actuator')) == names
    for direction in DIRECTIONS:
        effort = quantity_of('effort', direction)
        assert {quantity_of(name, direction) for name in ('torque', 'force')} == {effort}
    t = RobotTransmissions(make_robot(make_spec('t', 'simple', ('j',), ('m',))))
    for interface, direction in (
        ('current', 'actuator_to_joint'),
        ('', 'actuator_to_joint'),
        ('Position', 'joint_to_actuator'),
        ('absolute_position', 'joint_to_actuator'),
    ):
        assert not t.transmissions['t'].supports(interface, direction)
        for refused in (
            lambda i=interface, d=direction: getattr(t, d)(i, [1.0]),
            lambda i=interface, d=direction: t.affine(d, i),
            lambda i=interface, d=direction: getattr(t.transmissions['t'], d)(i, [1.0]),
        ):
            with pytest.raises(UnsupportedInterfaceError) as caught:
                refused()
            error = pickle.loads(pickle.dumps(caught.value))
            assert (error.interface, error.direction) == (interface, direction)
            assert error.supported == interfaces_of(direction)
            assert 'velocity' in str(error)
