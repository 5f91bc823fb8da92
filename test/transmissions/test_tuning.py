# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Changing parameters: all or nothing, checked, and the same as building afresh."""

from copy import copy
import dataclasses
from fractions import Fraction
import math
import pickle

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from zoo import elements
from zoo.elements import ratio, transmission
from zoo.robots import maps

from transmission_bridge import RobotTransmissions
from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.interfaces import DIRECTIONS, list_mapped_interfaces
from transmission_bridge.transmissions import LinearTransmission
from transmission_bridge.transmissions.tunable import as_floats, list_paths, LiveNumber


def same(a, b):
    """Tell whether two robots compute the same, to the last bit, and report the same numbers."""
    assert (a.joint_names, a.actuator_names) == (b.joint_names, b.actuator_names)
    for direction in DIRECTIONS:
        names = a.actuator_names if direction == 'actuator_to_joint' else a.joint_names
        x = np.random.default_rng(1).normal(size=(3, len(names)))
        for interface in list_mapped_interfaces(direction):
            ours, theirs = (each.map(direction, interface, x) for each in (a, b))
            if not np.array_equal(ours, theirs):
                return False
    return repr(a.transmissions) == repr(b.transmissions)


@pytest.fixture(scope='module')
def t():
    """Return a robot with a differential, a simple transmission and a joint without one."""
    joints = {'roll': ratio(2, 0.5), 'pitch': ratio(-2, -0.5)}
    text = transmission('wrist', 'Differential', joints, {'left': ratio(50), 'right': ratio(-50)})
    text += transmission('lift', 'Simple', {'lift': ratio(8)}, ['drive'])
    return elements.maps(('lift', 'roll', 'pitch', 'free'), text)


A = np.array([100.0, 20.0, 16.0, 3.0])


@pytest.mark.parametrize('name', ['wrist', 'arm', 'hand'])
@settings(max_examples=15)
@given(st.data())
def test_tuning_equals_building_afresh(name, data):
    """A tuned robot equals one of a description with those numbers; tuned back, the first one."""
    robot, dialects = maps(name).description, st.sampled_from(['ros2_control', 'ros_control'])
    specs = {
        spec.name: dataclasses.replace(spec, dialect=data.draw(dialects))
        for spec in robot.transmissions
    }
    # Limits would exclude each other with some of the numbers.
    joints = tuple(dataclasses.replace(each, limits=None) for each in robot.joints)
    robot = dataclasses.replace(robot, joints=joints, transmissions=tuple(specs.values()))
    original = RobotTransmissions(robot)
    numbers = st.floats(0.1, 100.0) | st.integers(1, 9)
    changes = {}
    for key, tunable in original.parameters.items():
        *way, field = tunable.path
        if field in ('mechanical_reduction', 'offset') and data.draw(st.booleans()):
            changes[key] = data.draw(numbers)
            side, member = way
            spec, new = specs[tunable.transmission], {field: float(changes[key])}
            members = tuple(
                dataclasses.replace(end, **new) if end.name == member else end
                for end in getattr(spec, side)
            )
            specs[spec.name] = dataclasses.replace(spec, **{side: members})
    tuned = original.with_parameters(changes)
    assert same(original, RobotTransmissions(robot))
    assert (tuned.description, tuned.findings) == (original.description, original.findings)
    afresh = dataclasses.replace(robot, transmissions=tuple(specs.values()))
    assert same(tuned, RobotTransmissions(afresh))
    for key in changes:
        tuned = tuned.with_parameters({key: original.parameters[key].default})
    assert same(tuned, original)


def test_a_number_of_the_description_has_its_path():
    """A copy keeps it; the result of an operation is a plain number."""
    number = LiveNumber(2.0, ('joints', 'a', 'offset'))
    for each in (number, *as_floats([number]), pickle.loads(pickle.dumps(number)), copy(number)):
        assert (each, each.path) == (2.0, ('joints', 'a', 'offset'))
    for each in (1.0 * number, -number, float(number), abs(number)):
        assert type(each) is float
    assert [type(each) for each in as_floats([1, np.float64(2.0), Fraction(3)])] == [float] * 3
    assert list_paths([1.0, number]) == {1: ('joints', 'a', 'offset')}


OFFSET, RATIO, FLAG = 'roll.offset', 'roll.mechanical_reduction', 'ignore_absolute_encoder'


@pytest.mark.parametrize(('path', 'value', 'expected'), [
    *((OFFSET, value, 'a number') for value in (True, '0.1', None, [0.1], 1j)),
    *((OFFSET, value, 'a finite number') for value in (math.nan, math.inf, 10**400)),
    *((RATIO, value, 'a finite number') for value in (math.nan, -math.inf)),
    *((RATIO, value, 'a number other than zero') for value in (0.0, -0.0, 0)),
    (RATIO, False, 'a number'),
    *((FLAG, value, 'true or false') for value in (1, 0.0, 'true', None)),
])  # fmt: skip
def test_a_bad_value_is_refused_with_a_reason(t, path, value, expected):
    """It names transmission, parameter and reason; good values beside it change nothing either."""
    path = path if path == FLAG else f'joints.{path}'
    with pytest.raises(ParameterError) as caught:
        t.with_parameters({'lift': {'joints': {'lift': {'offset': 0.3}}}, f'wrist.{path}': value})
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.transmission, error.parameter, error.expected) == ('wrist', path, expected)
    assert str(error).startswith("transmission 'wrist': ")
    assert same(t, RobotTransmissions(t.description))


@pytest.mark.parametrize('nested', [
    {'joints': {'roll': {'offst': 1.0}}},
    {'joints': {'lift': {'offset': 1.0}}},
    {'joints': {'roll': {'offset': {'more': 1.0}}}},
    {'joints': {1: {'offset': 1.0}}},
])  # fmt: skip
def test_an_unknown_parameter_is_refused_with_the_known(t, nested):
    """A path that is no parameter is refused, and the message lists those there are."""
    with pytest.raises(ParameterError, match='unknown parameter') as caught:
        t.with_parameters({'wrist': nested})
    assert 'actuators.left.mechanical_reduction' in caught.value.expected
    path = next(iter(nested.values()))
    if path == {'lift': {'offset': 1.0}}:
        assert "'joints.lift.offset': 'lift'" in str(caught.value)  # the unknown part
    # A simple transmission does not use the reduction of its actuator.
    with pytest.raises(ParameterError, match='unknown parameter'):
        t.with_parameters({'lift.actuators.drive.mechanical_reduction': 2.0})


def test_what_is_no_mapping_or_no_transmission_is_refused(t):
    """Transmissions that there are are named."""
    for nested in (1.0, 'joints', None, ['joints']):
        with pytest.raises(ParameterError, match='mapping'):
            t.with_parameters({'wrist': nested})
    with pytest.raises(UnknownNameError) as caught:
        t.with_parameters({'waist.joints.roll.offset': 0.1})
    assert caught.value.known == ('wrist', 'lift')


def test_the_encoder_flag_can_be_set_and_cleared(t):
    """With ignore_absolute_encoder, absolute positions pass by role; positions stay mapped."""
    ignoring = t.with_parameters({'wrist.ignore_absolute_encoder': True})
    assert ignoring.joint_names == ('lift', 'roll', 'pitch', 'free')
    assert ignoring.actuator_to_joint('absolute_position', A).tolist() == [2.0, 100.0, 20.0, 3.0]
    assert (ignoring.actuator_to_joint('position', A) == t.actuator_to_joint('position', A)).all()
    assert ignoring.ignore_absolute_encoder == {'wrist'}
    kept = ignoring.with_parameters({'lift.joints.lift.offset': 1.0})
    assert kept.ignore_absolute_encoder == {'wrist'}
    assert same(ignoring.with_parameters({'wrist.ignore_absolute_encoder': False}), t)
    both = ignoring.with_parameters({'wrist.ignore_torque_sensor': True})
    by_role = {each.spec.name: each.by_role for each in both.bindings if each.by_role}
    assert by_role == {'wrist': {'absolute_position', 'torque'}}


class Fussy(LinearTransmission):
    """A plugin that fails in its own way for some values."""

    api_version = 1

    @classmethod
    def from_spec(cls, reader):
        """Build a gear whose ratio is one over the number of teeth above ten."""
        teeth = reader.number('teeth', description='Teeth.', default=12.0, maximum=100.0)
        return cls([[1.0 / (teeth - 10.0)]] if teeth > 9.0 else [1.0])


def test_parameters_of_a_plugin_are_live(registry_of):
    """They can be changed by name within their range; whatever the plugin raises is a refusal."""
    text = elements.urdf('j', transmission('gear', 'me/Fussy', 'j', 'a'))
    fussy = elements.load(text, registry=registry_of(Fussy))
    assert fussy.with_parameters({'gear.teeth': 14}).actuator_to_joint('velocity', [8.0]) == [2.0]
    with pytest.raises(ParameterError, match=r'expected a number in \[-inf, 100\]'):
        fussy.with_parameters({'gear.teeth': 101.0})
    for teeth, reason in ((10.0, 'ZeroDivisionError'), (3.0, 'ShapeError')):
        with pytest.raises(ParameterError, match=reason) as caught:
            fussy.with_parameters({'gear.teeth': teeth})
        assert caught.value.transmission == 'gear'
        assert caught.value.__cause__ is not None
