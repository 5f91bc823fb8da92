# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Units of drivers: the numbers of actuators as their drivers write them, at the edge."""

from contextlib import suppress
import math
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import record, StatePath
from zoo import elements
from zoo.elements import load, params, ratio, transmission

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.errors import ParameterError, TransmissionError, UnknownNameError
from transmission_bridge.interfaces import list_mapped_interfaces
from transmission_bridge.transmissions.robot.units import (
    CONSTANTS,
    parse_driver_units,
    read_actuator_units,
    UNITS,
)

TURN, DEG = params(position_unit='turn'), params(position_unit='deg')
RATIO = ratio(-50, 0.3)


def swivel(inside='', kind='Simple', joint=RATIO, more=''):
    """Return a transmission whose actuator has parameters."""
    return transmission('swivel_t', kind, {'swivel': joint}, {'swivel_m': inside}, more)


def robot_with(swivel_t='', left='', cylinder='', **options):
    """Return a robot of linear types, an equation and a joint alone, with units of actuators."""
    joints = {'bend': '<offset>0.1</offset>', 'twist': ''}
    actuators = {'left': ratio(20) + left, 'right': ratio(-30)}
    wrist = transmission('wrist', 'Differential', joints, actuators)
    leg = elements.leg(actuator=cylinder)
    names = ('swivel', 'alone', 'bend', 'twist', 'knee')
    return load(elements.urdf(names, (swivel_t or swivel()) + wrist + leg), **options)


def scales_of(robot, name):
    """Return SI for the numbers of a driver: position, velocity, effort."""
    return DriverUnits(robot).scales[:, robot.actuator_names.index(name)].tolist()


def errors_of(robot):
    """Return the findings that are errors."""
    return [each for each in robot.findings if each.severity == 'error']


#: Parameters of an actuator, and SI for its driver's position, velocity and effort.
# fmt: off
SCALES = [
    ({'position_unit': 'turn', 'velocity_unit': 'rpm', 'effort_unit': 'mN m'}, [math.tau, math.tau / 60, 1e-3]),  # noqa: E501
    ({'position_unit': 'tick', 'ticks_per_turn': '4096'}, [math.tau / 4096, math.tau / 4096, 1.0]),
    ({'position_unit': '0.5 turn', 'velocity_unit': '0.2 rpm'}, [math.pi, math.tau / 300, 1.0]),
    ({'velocity_unit': 'deg/s', 'effort_unit': '0.01 A', 'torque_constant': '0.08'}, [math.tau / 360, math.tau / 360, 8e-4]),  # noqa: E501
    ({'effort_unit': 'percent', 'rated_effort': '2.5'}, [1.0, 1.0, 0.025]),
]
# fmt: on


@pytest.mark.parametrize(('units', 'scales'), SCALES)
def test_units_of_drivers_leave_the_maps_in_si(units, scales):
    """Whatever the units, maps are those of a robot without, to the last bit."""
    inside, alone = params(**units), ', '.join(f'{k}:{v}' for k, v in units.items())
    more = {'cylinder': params(position_unit='mm'), 'actuator_units': {'alone': alone}}
    robot = robot_with(swivel(inside), inside, **more)
    assert not errors_of(robot)
    for name in ('swivel_m', 'left', 'alone'):
        assert scales_of(robot, name) == pytest.approx(scales)
    assert scales_of(robot, 'cylinder') == [1e-3, 1e-3, 1.0]
    q, values, rate = np.random.default_rng(0).uniform(-0.1, 0.1, (3, 5, len(robot.joint_names)))
    for interface in list_mapped_interfaces('joint_to_actuator'):
        given = q if interface == 'position' else values
        ours = robot.joint_to_actuator(interface, given, at=q, rate=rate)
        theirs = robot_with().joint_to_actuator(interface, given, at=q, rate=rate)
        assert np.isfinite(ours).all()
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize('unit', ['rad', 'deg', 'turn', 'tick', 'm', 'mm'])
def test_the_units_of_position_and_velocity_follow_from_each_other(unit):
    """A unit of one of them alone is no SI for the other, in the description and the parameter."""
    more = {'ticks_per_turn': '4096'} if unit == 'tick' else {}
    both = read_actuator_units({'position_unit': unit, 'velocity_unit': f'{unit}/s', **more})
    assert read_actuator_units({'position_unit': f' {unit} ', **more}) == both
    assert read_actuator_units({'velocity_unit': f'{unit}/s', **more}) == both
    assert both.position.scale == both.velocity.scale
    text = ', '.join(f'{key}:{value}' for key, value in {'position_unit': unit, **more}.items())
    assert parse_driver_units(text) == both


TWICE = '<position_unit>{}</position_unit>{}'.format
#: Parameters of an actuator that cannot be used, and what the error says.
# fmt: off
WRONG = [
    (params(position_unit='turns'), r"position_unit is not a unit.*closest: 'turn'"),
    (params(effort_unit='Nm'), r"closest: 'N m'"),
    (params(position_unit=''), r'not a unit'),
    (params(position_unit='tick'), r"position_unit 'tick' needs ticks_per_turn"),
    (params(effort_unit='A'), r"effort_unit 'A' needs torque_constant"),
    (params(position_unit='tick', ticks_per_turn='0'), r'ticks_per_turn is invalid'),
    (params(position_unit='tick', ticks_per_turn='-4096'), r'negative reduction'),
    (params(position_unit='tick', ticks_per_turn='many'), r'not a number'),
    (params(position_unit='1e300 turn'), r'position_unit is invalid'),
    (params(velocity_unit='rpm'), r"position_unit is missing and .* 'rpm'.* of rad, .*, tick,"),
    (params(position_unit='0.5 turn'), r'velocity_unit is missing.*one of rad/s, deg/s, .*, tick/s,'),  # noqa: E501
    (params(position_unit='turn', velocity_unit='m/s'), r'do not belong to one actuator'),
    (params(positionUnit='turn'), r"unread <positionUnit> in actuator 'swivel_m'"),
    (params(postion_unit='turn'), r'expected <param name="position_unit"> in an <actuator>'),
    (TWICE('turn', DEG), r'is given more than once'),
]
# fmt: on


@pytest.mark.parametrize(('swivel_t', 'sentence'), [
    *((swivel(inside), sentence) for inside, sentence in WRONG),
    # Joints are SI, and a unit that stands beside the actuators is none of theirs.
    (swivel(more=DEG), 'position_unit"> in an <actuator>'),
    (swivel(joint=DEG), 'position_unit"> in an <actuator>'),
    # A screw is turned.
    (swivel(params(position_unit='mm'), 'transmission_bridge/ScrewTransmission', '', params(lead=1)), 'the actuator is rotary'),  # noqa: E501
])  # fmt: skip
def test_units_that_cannot_be_used_disable_their_transmission(swivel_t, sentence):
    """A unit that would be taken for another one is an error; the other joints are bridged."""
    robot = robot_with(swivel_t)
    (finding,) = errors_of(robot)
    assert finding.subject == 'swivel_t'
    assert re.search(sentence, str(finding)), str(finding)
    assert 'swivel' not in robot.joint_names
    assert 'bend' in robot.joint_names


# -- several transmissions at one actuator -------------------------------------------------------


def shared(first='', second='', reduction='10'):
    """Return two transmissions that read one actuator, with what stands in it."""
    commands = transmission('first', 'Simple', {'j': ratio(reduction)}, {'m': first})
    reads = transmission('second', 'Simple', ('k',), {'m': second})
    reads = reads.replace('"actuator1"', '"actuator1" read_only="true"')
    return elements.maps(('j', 'k'), commands + reads)


@pytest.mark.parametrize('place', ['first', 'second'])
def test_units_of_a_shared_actuator_are_given_once(place):
    """The units that one transmission gives hold in the others that read the same actuator."""
    robot = shared(**{place: TURN})
    assert scales_of(robot, 'm') == [math.tau, math.tau, 1.0]
    path = StatePath(robot)
    path.feed(record(('m',), [1.0]))
    assert path.make_joint_state().position == pytest.approx([math.tau / 10.0, math.tau])


@pytest.mark.parametrize(('given_units', 'joints', 'sentence'), [
    ({'first': TURN, 'second': TURN}, ('j',), "also sets the units of 'm'"),
    # Refused by the builder, and refused as it is read.
    ({'first': TURN + DEG}, (), "sets the units of 'm': rejected"),
    ({'first': TURN, 'reduction': '0'}, (), "sets the units of 'm': rejected"),
    ({'first': '<position_unit>turn</position_unit>', 'reduction': 'ten'}, (),
     "sets the units of 'm': rejected"),
])  # fmt: skip
def test_units_that_would_be_a_guess_are_an_error(given_units, joints, sentence):
    """Of two that set them, or of a refused one: an actuator in other units moves no joint."""
    robot = shared(**given_units)
    assert robot.joint_names == joints
    assert f"transmission 'first' {sentence}" in str(robot.findings)


# -- joints that pass through --------------------------------------------------------------------


def test_units_of_a_joint_that_passes_through_hold_after_tuning():
    """They come from a parameter, and stay what they are when another number changes."""
    robot = robot_with(actuator_units={'alone': 'position_unit:turn, velocity_unit:rpm'})
    tuned = robot.with_parameters({'swivel_t.joints.swivel.offset': 0.0})
    assert scales_of(tuned, 'alone') == pytest.approx([math.tau, math.tau / 60.0, 1.0])


@pytest.mark.parametrize(('entry', 'error', 'sentence'), [
    ({'alon': 'position_unit:turn'}, UnknownNameError, "closest: 'alone'"),
    ({'left': 'position_unit:turn'}, ParameterError, 'belongs to a transmission'),
    ({'alone': 'position_unit:m'}, ParameterError, 'the joint turns'),
    ({'alone': 'turn'}, ParameterError, 'is invalid'),
    ({'alone': 'position_units:turn'}, ParameterError, "closest: 'position_unit'"),
    ({'alone': 'ticks_per_turn:4096'}, ParameterError, 'no unit is given'),
    ({'alone': ''}, ParameterError, 'is invalid'),
    ({'alone': 'position_unit:deg,position_unit:rad'}, ParameterError, 'at most once'),
])  # fmt: skip
def test_a_parameter_with_units_that_cannot_be_used(entry, error, sentence):
    """It is refused with a sentence, and the robot with it."""
    with pytest.raises(error, match=re.escape(sentence)):
        robot_with(actuator_units=entry)


# -- hostile texts -------------------------------------------------------------------------------

NAMES = [*UNITS, *CONSTANTS]
ODD = ['turn', 'A', '1e400', 'nan', '-', '0', ',', ':', '%', '']
WORDS = st.sampled_from([*NAMES, *ODD]) | st.text(max_size=12)


@given(
    texts=st.dictionaries(st.sampled_from(NAMES), WORDS),
    text=st.lists(WORDS, max_size=8).map(''.join),
)
def test_any_texts_are_units_or_an_error(texts, text):
    """There is no other exception, and what is accepted has scales that can be divided by."""
    with suppress(TransmissionError):
        parse_driver_units(text)
    with suppress(TransmissionError):
        assert all(1e-12 <= each.scale <= 1e12 for each in read_actuator_units(texts).all_units)
