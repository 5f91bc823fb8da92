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
from state_paths import StatePath
from zoo import elements

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, TransmissionError, UnknownNameError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.transmissions import (
    RobotTransmissions,
)
from transmission_bridge.transmissions.interfaces import interfaces_of
from transmission_bridge.transmissions.units import (
    read_units,
    UNITS,
    units_from_text,
)
from transmission_bridge.types import EMPTY

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
CONSTANTS = ('ticks_per_turn', 'torque_constant', 'rated_effort')
ALL_UNITS = st.fixed_dictionaries(
    dict.fromkeys(('swivel_m', 'left', 'right', 'flap_m', 'upper', 'lower'), TURNING)
    | {'cylinder': SLIDING}
)

#: Another position of each joint, and rates, well inside of what the mechanisms reach.
PLACES = {'knee': 1.4, 'pitch': -0.2, 'roll': 0.1}


@pytest.fixture(scope='module')
def mixed() -> str:
    """Return a robot of linear types, of equations, of a table, and of joints alone."""
    return elements.urdf(
        ('swivel', 'alone', 'bend', 'twist', 'knee', 'pitch', 'roll', 'flap'),
        """
<transmission name="swivel_t">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="swivel_m" role="actuator1"/>
  <joint name="swivel" role="joint1">
    <mechanical_reduction>-50</mechanical_reduction><offset>0.3</offset>
  </joint>
</transmission>
<transmission name="wrist">
  <plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1" mechanical_reduction="20"/>
  <actuator name="right" role="actuator2" mechanical_reduction="-30"/>
  <joint name="bend" role="joint1"><offset>0.1</offset></joint>
  <joint name="twist" role="joint2"><offset>-0.2</offset></joint>
</transmission>
<transmission name="flap_t">
  <plugin>transmission_bridge/TabulatedTransmission</plugin>
  <actuator name="flap_m" role="actuator1"/>
  <joint name="flap" role="joint1"/>
  <param name="actuator">-3 0 1 3</param><param name="joint">-2 0 2 2.5</param>
</transmission>
"""
        + elements.leg('<param name="lower">0.6</param><param name="upper">2.2</param>')
        + elements.ANKLE,
    )


def with_units(text: str, units: dict[str, dict[str, str]]) -> str:
    """Return a description with parameters in the elements of actuators."""
    for name, texts in units.items():
        params = ''.join(f'<param name="{key}">{value}</param>' for key, value in texts.items())
        text, count = re.subn(
            rf'(<actuator name="{name}"[^>]*?)(/?)>',
            lambda found, params=params: f'{found[1]}>{params}' + '</actuator>' * bool(found[2]),
            text,
        )
        assert count == 1, name
    return text


def robot_of(text: str, **options) -> RobotTransmissions:
    """Return a robot without a finding that is an error."""
    robot = RobotTransmissions(load_description(text), **options)
    assert not [str(each) for each in robot.findings if each.severity == 'error']
    return robot


def samples(robot: RobotTransmissions, count: int, seed: int) -> dict[str, np.ndarray]:
    """Return motions in joint space that every mechanism reaches."""
    random = np.random.default_rng(seed)
    place = np.array([PLACES.get(name, 0.3) for name in robot.joint_names])
    shape = (count, len(place))
    return {
        'position': place + random.uniform(-0.1, 0.1, shape),
        'velocity': random.normal(size=shape),
        'acceleration': random.normal(size=shape),
        'effort': random.normal(size=shape),
    }


def scales_of(robot: RobotTransmissions) -> np.ndarray:
    """Return SI for each number of the drivers, rows position, velocity, effort."""
    scales = DriverUnits(robot).scales
    return np.ones((3, len(robot.actuator_names))) if scales is None else scales


def close(found, expected) -> None:
    """Compare numbers that are of one size in SI."""
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@given(units=ALL_UNITS, alone=TURNING, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_units_of_drivers_leave_the_maps_in_si(mixed, units, alone, seed):
    """Whatever the units, maps are those of a robot without, to the last bit."""
    entry = {'alone': ', '.join(f'{k}:{v}' for k, v in alone.items())} if alone else {}
    plain = robot_of(mixed)
    robot = robot_of(with_units(mixed, units), actuator_units=entry)
    joints = samples(plain, 5, seed)
    at = {'at': joints['position'], 'rate': joints['velocity']}
    for interface in interfaces_of('joint_to_actuator'):
        values = joints.get(interface, joints['effort'])
        theirs, ours = (each.joint_to_actuator(interface, values, **at) for each in (plain, robot))
        assert ours.tobytes() == theirs.tobytes()
    a = plain.joint_to_actuator('position', joints['position'])
    assert robot.jacobian(a).tobytes() == plain.jacobian(a).tobytes()


def test_a_torque_constant_is_live(mixed):
    """A torque constant is a parameter; what it changes is the effort alone."""
    units = {'swivel_m': {'effort_unit': 'A', 'torque_constant': '0.08'}}
    robot = robot_of(with_units(mixed, units))
    place = robot.actuator_names.index('swivel_m')
    assert scales_of(robot)[2, place] == 0.08
    tuned = robot.with_parameters({'swivel_t.actuators.swivel_m.torque_constant': 0.1})
    assert scales_of(tuned)[2, place] == 0.1
    assert tuned.units['swivel_m'].effort.text == 'A'
    again = tuned.with_parameters({'swivel_t.joints.swivel.offset': 0.0})
    assert scales_of(again)[2, place] == 0.1
    with pytest.raises(ParameterError, match=r'torque_constant is invalid'):
        robot.with_parameters({'swivel_t.actuators.swivel_m.torque_constant': -0.1})


@pytest.mark.parametrize('unit', ['rad', 'deg', 'turn', 'tick', 'm', 'mm'])
def test_the_units_of_position_and_velocity_follow_from_each_other(mixed, unit):
    """A unit of one of them alone is no SI for the other, in the description and the parameter."""
    more = {'ticks_per_turn': '4096'} if unit == 'tick' else {}
    both = read_units({'position_unit': unit, 'velocity_unit': f'{unit}/s', **more})
    assert read_units({'position_unit': f' {unit} ', **more}) == both
    assert read_units({'velocity_unit': f'{unit}/s', **more}) == both
    assert both.position.scale == both.velocity.scale
    name = 'cylinder' if unit in ('m', 'mm') else 'swivel_m'
    assert robot_of(with_units(mixed, {name: {'position_unit': unit, **more}})).units[name] == both
    text = ', '.join(f'{key}:{value}' for key, value in {'position_unit': unit, **more}.items())
    assert units_from_text(text) == both


#: Parameters of an actuator that cannot be used, and what the error says.
WRONG = [
    ({'position_unit': 'turns'}, r"position_unit is not a unit.*closest: 'turn'"),
    ({'position_unit': 'rpm'}, r'expected one of rad, deg, turn, tick, m, mm'),
    ({'effort_unit': 'Nm'}, r"closest: 'N m'"),
    ({'position_unit': ''}, r'not a unit'),
    ({'position_unit': 'tick'}, r"position_unit 'tick' needs ticks_per_turn"),
    ({'velocity_unit': 'tick/s'}, r'needs ticks_per_turn'),
    ({'effort_unit': 'A'}, r"effort_unit 'A' needs torque_constant"),
    ({'effort_unit': 'percent'}, r'needs rated_effort'),
    ({'position_unit': 'tick', 'ticks_per_turn': '0'}, r'ticks_per_turn is invalid'),
    ({'position_unit': 'tick', 'ticks_per_turn': '-4096'}, r'negative reduction'),
    ({'position_unit': 'tick', 'ticks_per_turn': 'many'}, r'not a number'),
    ({'position_unit': '1e300 turn'}, r'position_unit is invalid'),
    ({'position_unit': '-1 turn'}, r'position_unit is invalid'),
    ({'velocity_unit': 'rpm'}, r"position_unit is missing and .* 'rpm'.* one of rad, .*, tick,"),
    ({'position_unit': '0.5 turn'}, r'velocity_unit is missing.*one of rad/s, deg/s, .*, tick/s,'),
    (
        {'velocity_unit': '2 mm/s'},
        r'position_unit is missing.*one of m, mm, with an optional',
    ),
    ({'position_unit': 'turn', 'velocity_unit': 'm/s'}, r'do not belong to one actuator'),
    ({'velocity_unit': 'rpm', 'effort_unit': 'N'}, r'do not belong to one actuator'),
    ({'positionUnit': 'turn'}, r"'positionUnit' of actuator 'swivel_m' is not used"),
    ({'postion_unit': 'turn'}, r'expected position_unit inside an <actuator>'),
    ({'velocity_units': 'rpm'}, r'expected velocity_unit inside'),
]


@pytest.mark.parametrize(('texts', 'sentence'), WRONG)
def test_units_that_cannot_be_used_disable_their_transmission(mixed, texts, sentence):
    """A unit that would be taken for another one is an error; the other joints are bridged."""
    robot = RobotTransmissions(load_description(with_units(mixed, {'swivel_m': texts})))
    (finding,) = (each for each in robot.findings if each.severity == 'error')
    assert finding.subject == 'swivel_t'
    assert re.search(sentence, str(finding)), str(finding)
    assert 'swivel' not in robot.joint_names
    assert 'bend' in robot.joint_names


SWIVEL = '<actuator name="swivel_m" role="actuator1"/>'
DEG = '<param name="position_unit">deg</param>'
TWICE = '<actuator name="swivel_m" role="actuator1"><position_unit>{}</position_unit>{}</actuator>'


@pytest.mark.parametrize(
    ('before', 'after', 'said'),
    [
        # Joints are SI, and a unit that stands beside the actuators is none of theirs.
        *(
            (before, before + DEG, 'position_unit inside an <actuator>')
            for before in ('<joint name="swivel" role="joint1">', '<transmission name="swivel_t">')
        ),
        (SWIVEL, TWICE.format('turn', DEG), 'is given more than once'),
        (SWIVEL, TWICE.format('deg', DEG), ''),
        # A screw is turned.
        (
            '<plugin>transmission_interface/SimpleTransmission</plugin>\n  ' + SWIVEL,
            '<plugin>transmission_bridge/ScrewTransmission</plugin><param name="lead">1</param>'
            + SWIVEL.replace('/>', f'>{DEG.replace("deg", "mm")}</actuator>'),
            'the actuator is rotary',
        ),
    ],
)
def test_a_unit_that_is_not_the_actuator_s_is_an_error(mixed, before, after, said):
    """In a wrong place, given twice where it differs, or of another kind of motion."""
    assert before in mixed
    robot = RobotTransmissions(load_description(mixed.replace(before, after)))
    errors = [str(each) for each in robot.findings if each.severity == 'error']
    assert any(said in each for each in errors) or not said
    assert ('swivel' in robot.joint_names) is not bool(said)


SHARED = """
<transmission name="first"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m" role="actuator1">{first}</actuator>
  <joint name="j" role="joint1"><mechanical_reduction>{reduction}</mechanical_reduction></joint>
</transmission>
<transmission name="second"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m" role="actuator1" read_only="true">{second}</actuator>
  <joint name="k" role="joint1"/></transmission>
"""
TURN = '<param name="position_unit">turn</param>'


def shared(first='', second='', reduction='10') -> RobotTransmissions:
    """Return two transmissions that read one actuator."""
    text = SHARED.format(first=first, second=second, reduction=reduction)
    return RobotTransmissions(load_description(elements.urdf(('j', 'k'), text)))


@pytest.mark.parametrize('place', ['first', 'second'])
def test_units_of_a_shared_actuator_are_given_once(place):
    """The units that one transmission gives hold in the others that read the same actuator."""
    robot = shared(**{place: TURN})
    assert scales_of(robot)[0].tolist() == [math.tau]
    path, layouts = StatePath(robot), LayoutTable()
    message = JointStateRecord((1, 0), '', ('m',), np.array([1.0]), EMPTY, EMPTY)
    path.merge_message('', layouts.find_layout(('m',), message.lengths), message, (1, 0))
    close(path.make_joint_state().position, [math.tau / 10.0, math.tau])


def test_units_given_by_two_transmissions_are_an_error():
    """Whose units hold would be a guess, and one of them live."""
    robot = shared(first=TURN, second=TURN)
    assert robot.joint_names == ('j',)
    assert "transmission 'first' also sets the units of 'm'" in str(robot.findings)


def test_no_transmission_takes_for_si_what_a_refused_one_gives_units_for():
    """An actuator whose units were lost with a transmission moves no other joint either."""
    for broken in (
        # Refused by the builder, and refused as it is read.
        {'first': TURN + TURN.replace('turn', 'deg')},
        {'first': TURN, 'reduction': '0'},
        {'first': '<position_unit>turn</position_unit>', 'reduction': 'ten'},
    ):
        robot = shared(**broken)
        assert robot.joint_names == ()
        assert "transmission 'first' sets the units of 'm': rejected" in str(robot.findings)


# -- joints that pass through --------------------------------------------------------------------


def test_units_of_a_joint_that_passes_through_come_from_a_parameter(mixed):
    """They hold as those of an actuator element."""
    robot = robot_of(mixed, actuator_units={'alone': 'position_unit:turn, velocity_unit:rpm'})
    place = robot.actuator_names.index('alone')
    np.testing.assert_allclose(scales_of(robot)[:, place], [math.tau, math.tau / 60.0, 1.0])
    tuned = robot.with_parameters({'swivel_t.joints.swivel.offset': 0.0})
    np.testing.assert_array_equal(scales_of(tuned), scales_of(robot))


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
)
def test_a_parameter_with_units_that_cannot_be_used(mixed, entry, error, sentence):
    """It is refused with a sentence, and the robot with it."""
    with pytest.raises(error, match=re.escape(sentence)):
        RobotTransmissions(load_description(mixed), actuator_units=entry)


# -- hostile texts -------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(
        [*UNITS, *CONSTANTS, 'turn', 'A', '1e400', 'nan', '-', '0', ',', ':', '%', '']
    ),
    st.text(max_size=12),
)


@given(
    texts=st.dictionaries(st.sampled_from([*UNITS, *CONSTANTS]), WORDS),
    text=st.lists(WORDS, max_size=8).map(''.join),
)
def test_any_texts_are_units_or_an_error(texts, text):
    """There is no other exception, and what is accepted has scales that can be divided by."""
    with suppress(TransmissionError):
        units_from_text(text)
    try:
        units = read_units(texts)
    except TransmissionError:
        return
    assert all(1e-12 <= each.scale <= 1e12 for each in units.all_units)
