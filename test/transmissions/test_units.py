# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Units of drivers: the numbers of actuators as their drivers write them, at the edge."""

from __future__ import annotations

from contextlib import suppress
import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import record, StatePath
from zoo import elements
from zoo.elements import params, ratio, transmission

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, TransmissionError, UnknownNameError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import interfaces_of
from transmission_bridge.transmissions.units import CONSTANTS, read_units, UNITS, units_from_text

#: Units of what turns and of what slides, with the constants that these need.
TURNING = st.sampled_from(
    [
        {},
        {'position_unit': 'turn', 'velocity_unit': 'rpm', 'effort_unit': 'mN m'},
        {'position_unit': 'tick', 'ticks_per_turn': '4096'},
        {'position_unit': '0.5 turn', 'velocity_unit': '0.229 rpm'},
        {'velocity_unit': 'deg/s', 'effort_unit': '0.00269 A', 'torque_constant': '0.08'},
        {'effort_unit': 'percent', 'rated_effort': '2.5'},
    ]
)
SLIDING = st.sampled_from(
    [{'position_unit': 'mm'}, {'effort_unit': 'A', 'torque_constant': '0.08'}]
)
ALL_UNITS = st.fixed_dictionaries(
    dict.fromkeys(('swivel_m', 'left', 'right', 'flap_m', 'upper', 'lower'), TURNING)
    | {'cylinder': SLIDING}
)

#: Another position of each joint, and rates, well inside of what the mechanisms reach.
PLACES = {'knee': 1.4, 'pitch': -0.2, 'roll': 0.1}


def swivel(inside='', kind='Simple', more=''):
    """Return a transmission whose actuator has parameters."""
    joint = {'swivel': ratio(-50, 0.3) if kind == 'Simple' else ''}
    return transmission('swivel_t', kind, joint, {'swivel_m': inside}, more)


SWIVEL = swivel()

#: Linear types, equations and a table, of actuators without units, and a joint alone.
WRIST = transmission(
    'wrist',
    'Differential',
    {'bend': '<offset>0.1</offset>', 'twist': '<offset>-0.2</offset>'},
    {'left': ratio(20), 'right': ratio(-30)},
)
TABLE = params(actuator='-3 0 1 3', joint='-2 0 2 2.5')
FLAP = transmission('flap_t', 'transmission_bridge/TabulatedTransmission', ('flap',), ('flap_m',), TABLE)  # noqa: E501  # fmt: skip
REST = WRIST + FLAP + elements.leg(params(lower=0.6, upper=2.2)) + elements.ANKLE
JOINTS = ('swivel', 'alone', 'bend', 'twist', 'knee', 'pitch', 'roll', 'flap')


def robot_with(swivel_t=SWIVEL, units=(), **options):
    """Return the robot; ``units`` are parameters by actuator."""
    text = elements.urdf(JOINTS, swivel_t + REST)
    for name, texts in dict(units).items():
        element = rf'(<actuator name="{name}"[^>]*>)'
        text, count = re.subn(element, lambda found, texts=texts: found[1] + params(**texts), text)
        assert count == 1, name
    return RobotTransmissions(load_description(text), **options)


def scales_of(robot, name):
    """Return SI for the numbers of a driver: position, velocity, effort."""
    return DriverUnits(robot).scales[:, robot.actuator_names.index(name)].tolist()


def errors_of(robot):
    """Return the findings that are errors."""
    return [each for each in robot.findings if each.severity == 'error']


@given(units=ALL_UNITS, alone=TURNING, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_units_of_drivers_leave_the_maps_in_si(units, alone, seed):
    """Whatever the units, maps are those of a robot without, to the last bit."""
    entry = {'alone': ', '.join(f'{k}:{v}' for k, v in alone.items())} if alone else {}
    plain, robot = robot_with(), robot_with(units=units, actuator_units=entry)
    assert not errors_of(plain) + errors_of(robot)
    random = np.random.default_rng(seed)
    place = np.array([PLACES.get(name, 0.3) for name in robot.joint_names])
    q = place + random.uniform(-0.1, 0.1, (5, len(place)))
    values, rate = random.normal(size=(2, *q.shape))
    for interface in interfaces_of('joint_to_actuator'):
        given = q if interface == 'position' else values
        theirs, ours = (
            each.joint_to_actuator(interface, given, at=q, rate=rate) for each in (plain, robot)
        )
        assert ours.tobytes() == theirs.tobytes()
    a = plain.joint_to_actuator('position', q)
    assert robot.jacobian(a).tobytes() == plain.jacobian(a).tobytes()


def test_a_torque_constant_is_live():
    """A torque constant is a parameter; what it changes is the effort alone."""
    robot = robot_with(units={'swivel_m': {'effort_unit': 'A', 'torque_constant': '0.08'}})
    assert scales_of(robot, 'swivel_m') == [1.0, 1.0, 0.08]
    tuned = robot.with_parameters({'swivel_t.actuators.swivel_m.torque_constant': 0.1})
    assert scales_of(tuned, 'swivel_m') == [1.0, 1.0, 0.1]
    assert tuned.units['swivel_m'].effort.text == 'A'
    again = tuned.with_parameters({'swivel_t.joints.swivel.offset': 0.0})
    assert scales_of(again, 'swivel_m') == [1.0, 1.0, 0.1]
    with pytest.raises(ParameterError, match=r'torque_constant is invalid'):
        robot.with_parameters({'swivel_t.actuators.swivel_m.torque_constant': -0.1})


@pytest.mark.parametrize('unit', ['rad', 'deg', 'turn', 'tick', 'm', 'mm'])
def test_the_units_of_position_and_velocity_follow_from_each_other(unit):
    """A unit of one of them alone is no SI for the other, in the description and the parameter."""
    more = {'ticks_per_turn': '4096'} if unit == 'tick' else {}
    both = read_units({'position_unit': unit, 'velocity_unit': f'{unit}/s', **more})
    assert read_units({'position_unit': f' {unit} ', **more}) == both
    assert read_units({'velocity_unit': f'{unit}/s', **more}) == both
    assert both.position.scale == both.velocity.scale
    name = 'cylinder' if unit in ('m', 'mm') else 'swivel_m'
    assert robot_with(units={name: {'position_unit': unit, **more}}).units[name] == both
    text = ', '.join(f'{key}:{value}' for key, value in {'position_unit': unit, **more}.items())
    assert units_from_text(text) == both


DEG, TURN = params(position_unit='deg'), params(position_unit='turn')
TWICE = '<position_unit>{}</position_unit>{}'.format
#: Parameters of an actuator that cannot be used, and what the error says.
# fmt: off
WRONG = [
    (params(position_unit='turns'), r"position_unit is not a unit.*closest: 'turn'"),
    (params(position_unit='rpm'), r'expected one of rad, deg, turn, tick, m, mm'),
    (params(effort_unit='Nm'), r"closest: 'N m'"),
    (params(position_unit=''), r'not a unit'),
    (params(position_unit='tick'), r"position_unit 'tick' needs ticks_per_turn"),
    (params(velocity_unit='tick/s'), r'needs ticks_per_turn'),
    (params(effort_unit='A'), r"effort_unit 'A' needs torque_constant"),
    (params(effort_unit='percent'), r'needs rated_effort'),
    (params(position_unit='tick', ticks_per_turn='0'), r'ticks_per_turn is invalid'),
    (params(position_unit='tick', ticks_per_turn='-4096'), r'negative reduction'),
    (params(position_unit='tick', ticks_per_turn='many'), r'not a number'),
    (params(position_unit='1e300 turn'), r'position_unit is invalid'),
    (params(position_unit='-1 turn'), r'position_unit is invalid'),
    (params(velocity_unit='rpm'), r"position_unit is missing and .* 'rpm'.* of rad, .*, tick,"),
    (params(position_unit='0.5 turn'), r'velocity_unit is missing.*one of rad/s, deg/s, .*, tick/s,'),  # noqa: E501
    (params(velocity_unit='2 mm/s'), r'position_unit is missing.*one of m, mm, with an optional'),
    (params(position_unit='turn', velocity_unit='m/s'), r'do not belong to one actuator'),
    (params(velocity_unit='rpm', effort_unit='N'), r'do not belong to one actuator'),
    (params(positionUnit='turn'), r"'positionUnit' of actuator 'swivel_m' is not used"),
    (params(postion_unit='turn'), r'expected position_unit inside an <actuator>'),
    (params(velocity_units='rpm'), r'expected velocity_unit inside'),
    (TWICE('turn', DEG), r'is given more than once'),
]
# fmt: on


@pytest.mark.parametrize(
    ('swivel_t', 'sentence'),
    [
        *((swivel(inside), sentence) for inside, sentence in WRONG),
        # Joints are SI, and a unit that stands beside the actuators is none of theirs.
        (swivel(more=DEG), 'position_unit inside an <actuator>'),
        (SWIVEL.replace(ratio(-50, 0.3), DEG), 'position_unit inside an <actuator>'),
        # A screw is turned.
        (
            swivel(params(position_unit='mm'), 'transmission_bridge/ScrewTransmission', params(lead=1)),  # noqa: E501
            'the actuator is rotary',
        ),
    ],
)  # fmt: skip
def test_units_that_cannot_be_used_disable_their_transmission(swivel_t, sentence):
    """A unit that would be taken for another one is an error; the other joints are bridged."""
    robot = robot_with(swivel_t)
    (finding,) = errors_of(robot)
    assert finding.subject == 'swivel_t'
    assert re.search(sentence, str(finding)), str(finding)
    assert 'swivel' not in robot.joint_names
    assert 'bend' in robot.joint_names


def test_a_unit_that_is_given_twice_alike_is_one():
    """Nothing is unclear about it."""
    robot = robot_with(swivel(TWICE('deg', DEG)))
    assert not errors_of(robot)
    assert scales_of(robot, 'swivel_m') == pytest.approx([math.tau / 360] * 2 + [1.0])


# -- several transmissions at one actuator -------------------------------------------------------


def shared(first='', second='', reduction='10'):
    """Return two transmissions that read one actuator, with what stands in it."""
    commands = transmission('first', 'Simple', {'j': ratio(reduction)}, {'m': first})
    reads = transmission('second', 'Simple', ('k',), {'m': second})
    return elements.maps(
        ('j', 'k'), commands + reads.replace('"actuator1"', '"actuator1" read_only="true"')
    )


@pytest.mark.parametrize('place', ['first', 'second'])
def test_units_of_a_shared_actuator_are_given_once(place):
    """The units that one transmission gives hold in the others that read the same actuator."""
    robot = shared(**{place: TURN})
    assert scales_of(robot, 'm') == [math.tau, math.tau, 1.0]
    path, layouts = StatePath(robot), LayoutTable()
    message = record(('m',), [1.0])
    path.merge_message('', layouts.find_layout(('m',), message.lengths), message, (1, 0))
    assert path.make_joint_state().position == pytest.approx([math.tau / 10.0, math.tau])


def test_units_given_by_two_transmissions_are_an_error():
    """Whose units hold would be a guess, and one of them live."""
    robot = shared(first=TURN, second=TURN)
    assert robot.joint_names == ('j',)
    assert "transmission 'first' also sets the units of 'm'" in str(robot.findings)


@pytest.mark.parametrize(
    'broken',
    [
        # Refused by the builder, and refused as it is read.
        {'first': TURN + DEG},
        {'first': TURN, 'reduction': '0'},
        {'first': '<position_unit>turn</position_unit>', 'reduction': 'ten'},
    ],
)
def test_no_transmission_takes_for_si_what_a_refused_one_gives_units_for(broken):
    """An actuator whose units were lost with a transmission moves no other joint either."""
    robot = shared(**broken)
    assert robot.joint_names == ()
    assert "transmission 'first' sets the units of 'm': rejected" in str(robot.findings)


# -- joints that pass through --------------------------------------------------------------------


def test_units_of_a_joint_that_passes_through_come_from_a_parameter():
    """They hold as those of an actuator element."""
    robot = robot_with(actuator_units={'alone': 'position_unit:turn, velocity_unit:rpm'})
    assert scales_of(robot, 'alone') == pytest.approx([math.tau, math.tau / 60.0, 1.0])
    tuned = robot.with_parameters({'swivel_t.joints.swivel.offset': 0.0})
    assert scales_of(tuned, 'alone') == scales_of(robot, 'alone')


@pytest.mark.parametrize(
    ('entry', 'error', 'sentence'),
    [
        ({'alon': 'position_unit:turn'}, UnknownNameError, "closest: 'alone'"),
        ({'left': 'position_unit:turn'}, ParameterError, 'belongs to a transmission'),
        ({'alone': 'position_unit:m'}, ParameterError, 'the joint turns'),
        ({'alone': 'turn'}, ParameterError, 'is invalid'),
        ({'alone': 'position_units:turn'}, ParameterError, "closest: 'position_unit'"),
        ({'alone': 'ticks_per_turn:4096'}, ParameterError, 'no unit is given'),
        ({'alone': 'velocity_unit:rpm'}, ParameterError, 'position_unit is missing'),
        ({'alone': ''}, ParameterError, 'is invalid'),
        ({'alone': 'position_unit:tick'}, ParameterError, 'needs ticks_per_turn'),
        ({'alone': 'position_unit:deg,position_unit:rad'}, ParameterError, 'at most once'),
    ],
)  # fmt: skip
def test_a_parameter_with_units_that_cannot_be_used(entry, error, sentence):
    """It is refused with a sentence, and the robot with it."""
    with pytest.raises(error, match=re.escape(sentence)):
        robot_with(actuator_units=entry)


# -- hostile texts -------------------------------------------------------------------------------

NAMES = [*UNITS, *CONSTANTS]
WORDS = st.sampled_from(
    [*NAMES, 'turn', 'A', '1e400', 'nan', '-', '0', ',', ':', '%', '']
) | st.text(max_size=12)


@given(
    texts=st.dictionaries(st.sampled_from(NAMES), WORDS),
    text=st.lists(WORDS, max_size=8).map(''.join),
)
def test_any_texts_are_units_or_an_error(texts, text):
    """There is no other exception, and what is accepted has scales that can be divided by."""
    with suppress(TransmissionError):
        units_from_text(text)
    with suppress(TransmissionError):
        assert all(1e-12 <= each.scale <= 1e12 for each in read_units(texts).all_units)
