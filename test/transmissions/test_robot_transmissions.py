# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The whole robot as one map: what its transmissions compute, by name and in batches."""

from __future__ import annotations

import dataclasses
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.robots import maps

from transmission_bridge import RobotTransmissions
from transmission_bridge.errors import ShapeError, UnsupportedInterfaceError
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of, quantity_of

MAPS = [(direction, name) for direction in DIRECTIONS for name in interfaces_of(direction)]


def expected_of(t, direction, interface, x):
    """Return what each transmission alone gives for one sample, and what passes through."""
    is_forward = direction == 'actuator_to_joint'
    names = t.actuator_names if is_forward else t.joint_names
    given = dict(zip(names, x, strict=True))
    outputs = {name: given[name] for name in t.pass_through}
    for spec in t.robot.transmissions:
        sides = [[member.name for member in side] for side in (spec.actuators, spec.joints)]
        inputs, found = sides if is_forward else sides[::-1]
        values = [given[name] for name in inputs]
        mapped = t.transmissions[spec.name].map(direction, interface, values)
        outputs |= zip(found, mapped, strict=True)
    return [outputs[name] for name in (t.joint_names if is_forward else t.actuator_names)]


@pytest.mark.parametrize('name', ['wrist', 'arm', 'hand', 'encoders'])
@settings(max_examples=25)
@given(st.data(), st.lists(st.integers(0, 3), max_size=2))
def test_the_robot_equals_its_transmissions_in_any_order(name, data, leading):
    """
    Each joint and actuator has the value that its transmission alone gives, bit for bit.

    Joints stand in the order of the URDF, actuators in that of the transmissions. So it is for a
    batch of any shape, for values that are unknown, and for a copy of the robot.
    """
    robot = maps(name).robot
    # A hand's finger adds three terms: the last bit of their sum depends on their order.
    joints = robot.joints if name == 'hand' else data.draw(st.permutations(robot.joints))
    robot = dataclasses.replace(
        robot,
        joints=tuple(joints),
        transmissions=tuple(data.draw(st.permutations(robot.transmissions))),
    )
    t = RobotTransmissions(robot)
    assert t.joint_names == tuple(joint.name for joint in robot.joints)
    driven = [member.name for spec in robot.transmissions for member in spec.actuators]
    assert t.actuator_names == (*driven, *t.pass_through)
    copy = pickle.loads(pickle.dumps(t))
    assert (copy.joint_names, copy.actuator_names) == (t.joint_names, t.actuator_names)
    assert (copy.findings, copy.robot) == (t.findings, t.robot)
    random, n, m = np.random.default_rng(1), len(t.joint_names), len(t.actuator_names)
    for direction, interface in MAPS:
        n_in, n_out = (m, n) if direction == 'actuator_to_joint' else (n, m)
        x = random.normal(scale=10.0, size=(*leading, n_in))
        unknown = st.sampled_from([np.nan, np.inf, -np.inf])
        places = st.dictionaries(st.integers(0, max(0, x.size - 1)), unknown, max_size=3)
        for place, value in (data.draw(places) if x.size else {}).items():
            x.flat[place] = value
        before = x.copy()
        rows = [expected_of(t, direction, interface, row) for row in x.reshape(-1, n_in)]
        expected = np.array(rows).reshape(*leading, n_out)
        for each in (t, copy, copy.with_parameters({})):
            result = getattr(each, direction)(interface, x)
            assert result.dtype == np.float64
            assert np.array_equal(result, expected, equal_nan=True)
            assert not np.shares_memory(result, x)
        assert x.tobytes() == before.tobytes()
    velocities = t.actuator_to_joint('velocity', np.eye(m)).T
    jacobian = t.jacobian(np.zeros((*leading, m)))
    assert np.array_equal(jacobian, np.broadcast_to(velocities, (*leading, n, m)))


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


def test_the_interfaces():
    """All are mapped both ways but a measurement; torques and forces are efforts."""
    names = {'position', 'velocity', 'acceleration', 'effort', 'torque', 'force'}
    assert set(interfaces_of('actuator_to_joint')) == names | {'absolute_position'}
    assert set(interfaces_of('joint_to_actuator')) == names
    for direction in DIRECTIONS:
        effort = quantity_of('effort', direction)
        assert {quantity_of(name, direction) for name in ('torque', 'force')} == {effort}


@pytest.mark.parametrize(
    ('interface', 'direction'),
    [
        ('current', 'actuator_to_joint'),
        ('', 'actuator_to_joint'),
        ('Position', 'joint_to_actuator'),
        ('absolute_position', 'joint_to_actuator'),
    ],
)
def test_an_interface_that_is_not_mapped_is_refused(make_spec, make_robot, interface, direction):
    """A robot and its transmissions refuse it with those that there are."""
    t = RobotTransmissions(make_robot(make_spec('t', 'simple', ('j',), ('m',))))
    transmission = t.transmissions['t']
    assert not transmission.supports(interface, direction)
    for refused, arguments in (
        (getattr(t, direction), (interface, [1.0])),
        (t.affine, (direction, interface)),
        (getattr(transmission, direction), (interface, [1.0])),
    ):
        with pytest.raises(UnsupportedInterfaceError) as caught:
            refused(*arguments)
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.interface, error.direction) == (interface, direction)
        assert error.supported == interfaces_of(direction)
        assert 'velocity' in str(error)
