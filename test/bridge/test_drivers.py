# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Drivers have names of their own for their actuators, topics of their own, and other units."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from state_paths import record, StatePath
from world import check_ratios, reason, way, World
from zoo.elements import leg, load, maps, params, ratio, transmission, urdf

from transmission_bridge.bridge.actuator_drivers import DriverNames, DriverUnits
from transmission_bridge.bridge.states.state_map import DriverStateIndex
from transmission_bridge.bridge.states.states import SensorPath
from transmission_bridge.errors import MessageError, ParameterError, UnknownNameError
from transmission_bridge.messages.records import Layout

NAN = math.nan
FIELDS = ('position', 'velocity', 'effort')

# -- names and topics ----------------------------------------------------------------------------

ACTUATORS = tuple('abcdefg')

#: Two arms with drivers that call their motors M1 and M2, and a gripper with its URDF name.
ARMS = {
    'left/actuator_states:M1': 'a',
    'left/actuator_states:M2': 'b',
    'right/actuator_states:M1': 'c',
    'right/actuator_states:M2': 'd',
}


def bridge_with(entries):
    """Return a bridge of a robot of joints without transmissions, with these drivers."""
    topics = dict.fromkeys(['actuator_states', *(each.rpartition(':')[0] for each in entries)])
    return World(
        maps(ACTUATORS),
        actuator_names=tuple(f'{driver_name}={name}' for driver_name, name in entries.items()),
        actuator_state_topics=tuple(filter(None, topics)),
        mixed_commands='nan',
    )


def test_namespaces_of_the_drivers():
    """A command and a trajectory note the namespaces that they were sent to."""
    bridge = bridge_with(ARMS)
    bridge.command_record(record('ab', [1.0, 2.0]))
    points = [(1.0, {'positions': np.arange(4.0)})]
    bridge.gate.send_joint_trajectory(way('gcad', points), bridge.now, None)
    assert DriverNames(ARMS, ACTUATORS).namespaces == ('left/', 'right/', '')
    assert bridge.gate.reached == ({'left/'}, {'left/', 'right/', ''})
    assert bridge_with({}).gate.reached == ({''}, {''})


def test_a_driver_has_its_own_actuators_only():
    """On its topic no other name is known; on others the URDF's names are."""
    bridge, left = bridge_with(ARMS), 'left/actuator_states'
    bridge.state(('M2', 'c', 'g'), left, position=[1.0, 8.0, 9.0])
    bridge.state(('M2',), 'right/actuator_states', position=[2.0])
    bridge.state(('g', 'M1'), 'grippers', position=[3.0, 9.0])
    found = bridge.states.read_values(bridge.now)[0]
    np.testing.assert_array_equal(found, [NAN, 1, NAN, 2, NAN, NAN, 3])
    assert bridge.states.unknown_names == {"'c'": 1, "'g'": 1, "'M1'": 1}
    with pytest.raises(MessageError, match=r'expected some of .M1., .M2., found .c.'):
        bridge.state(('c',), left, position=[1.0])


def test_names_of_sensors_are_beside_those_of_states():
    """Sensors of a driver are in the namespace of its states, with its names."""
    drivers = DriverNames(ARMS | {'axis': 'e', 'actuator_states:can0:1': 'f'}, ACTUATORS)
    assert drivers.find_topic_entries('torques') == {
        'left/torques:M1': 'a',
        'left/torques:M2': 'b',
        'right/torques:M1': 'c',
        'right/torques:M2': 'd',
        'torques:can0:1': 'f',
        'axis': 'e',
    }


@pytest.mark.parametrize(
    ('entries', 'names', 'expected'),
    [
        ({'a': 'b', 'b': 'a', 'axis_3': 'd'}, 'dacb', ('b', 'a', 'c', 'axis_3')),
        # A driver may name one actuator in two ways; it is commanded under the first name.
        ({'left/m': 'd', 'right/m': 'd'}, 'd', ('left/m',)),
        ({'n': 'd', 'x/y:m1': 'd', 'x/y:m2': 'd'}, 'd', ('m1',)),
    ],
)
def test_commands_reach_the_driver_under_its_own_names(entries, names, expected):
    """Names with a driver's name are exchanged, also crosswise; the others and the rest stay."""
    numbers = dict(zip(names, np.arange(4.0), strict=False))
    bridge = bridge_with(entries)
    bridge.command_record(record(names, [*numbers.values()]))
    ((_, part),) = bridge.sent
    assert part.names == expected
    assert part.position.tolist() == [numbers[name] for name in sorted(names)]


@pytest.mark.parametrize(
    ('entries', 'words'),
    [
        ({'l/s:M1': 'a', 'r/s:M1': 'a'}, 'a would have two drivers.*l/s only.*r/s:M1=a'),
        ({'l_states:M1': 'a', 'r_states:M1': 'b'}, 'a and b would both be M1 on actuator_comm'),
        ({'states:b': 'a'}, 'a and b would both be b on actuator_commands'),
        ({'states:M1': 'a', 'M1': 'b'}, 'a and b would both be M1 on actuator_commands'),
    ],
)
def test_two_actuators_are_never_one_to_a_driver(entries, words):
    """Entries that would command another driver's motor are rejected, with a valid entry."""
    with pytest.raises(ParameterError, match=words) as caught:
        DriverNames(entries, ACTUATORS)
    assert caught.value.parameter == 'actuator_names'


def test_unknown_actuators_of_a_driver():
    """An actuator that is not there is refused behind a topic, too, and commands nothing."""
    entries = {'left/states:M1': 'nobody'}
    with pytest.raises(UnknownNameError, match='nobody'):
        DriverStateIndex(ACTUATORS, entries)
    assert DriverNames(entries, ACTUATORS).namespaces == ('',)


def test_a_name_that_another_actuator_keeps():
    """It is refused, two would be commanded by it; exchanged names and several are accepted."""
    with pytest.raises(ParameterError, match='two actuators') as caught:
        DriverStateIndex(ACTUATORS, {'a': 'b'})
    assert caught.value.parameter == 'actuator_names'
    for names in ({'a': 'b', 'b': 'a'}, {'a': 'a'}, {'l': 'a', 'm': 'a'}):
        DriverStateIndex(ACTUATORS, names)


# -- units ---------------------------------------------------------------------------------------

UNITS = {
    'winch': {
        'position_unit': 'turn', 'velocity_unit': 'rpm', 'effort_unit': 'A',
        'torque_constant': '0.05',
    },
    'left': {
        'position_unit': 'tick', 'velocity_unit': 'tick/s', 'ticks_per_turn': '4096',
        'effort_unit': '0.1 percent', 'rated_effort': '0.5',
    },
    'cylinder': {'position_unit': 'mm', 'effort_unit': 'N'},
    'pull': {'position_unit': 'deg'},
}  # fmt: skip
NAMES = ('lift', 'pitch', 'roll', 'knee', 'alone', 'x', 'y', 'z')
#: Somewhere within the leg's range.
PLACE = np.array([1.4 if name == 'knee' else 0.2 for name in NAMES])


@pytest.fixture(scope='module')
def twins():
    """Return the robot in SI, and with units of its drivers."""

    def build(units):
        own = {name: params(**units.get(name, {})) for name in UNITS}
        own['winch'] += '<limit lower="-20" upper="30" velocity="40" effort="3"/>'
        own['left'] += ratio(10) + '<limit velocity="15" effort="0.2"/>'
        text = transmission('hoist', 'Simple', {'lift': ratio(50, 0.2)}, {'winch': own['winch']})
        motors = {'left': own['left'], 'right': ratio(-10)}
        text += transmission('wrist', 'Differential', ('pitch', 'roll'), motors)
        text += leg(params(lower=0.6, upper=1.62), actuator=own['cylinder'])
        matrix = params(matrix='1 0.5; 0.2 1; 0.4 0.3')
        motors = {'pull': own['pull'], 'push': ''}
        text += transmission('tendons', 'Coupled', ('x', 'y', 'z'), motors, matrix)
        more = {'alone': 'position_unit:deg'} if units else {}
        robot = load(urdf(NAMES, text), actuator_units=more)
        assert [each for each in robot.findings if each.severity != 'info'] == []
        assert robot.joint_names == NAMES
        return robot

    return build({}), build(UNITS)


def all_scales(robot):
    """Return SI for each number of the drivers, rows position, velocity, effort."""
    scales = DriverUnits(robot).scales
    return np.ones((3, len(robot.actuator_names))) if scales is None else scales


@given(st.integers(0, 2**32 - 1))
def test_states_are_those_of_the_bridge_in_si(twins, seed):
    """Whatever is measured is the same motion of the joints (commands: promises.py)."""
    random, found = np.random.default_rng(seed), []
    rows = random.normal(size=(3, len(twins[0].actuator_names)))
    joints = PLACE + 0.2 * random.uniform(-1, 1, len(NAMES))
    rows[0] = twins[0].joint_to_actuator('position', joints)
    rows[:, random.random(len(rows[0])) < 0.1] = NAN
    for robot in twins:
        world = World(robot, state_timeout=0.0)
        world.state(**dict(zip(FIELDS, rows / all_scales(robot), strict=True)))
        found.append(world.joints())
    assert found[0].keys() == found[1].keys()
    for mode, numbers in found[0].items():
        assert found[1][mode] == pytest.approx(numbers, rel=1e-9, abs=1e-11, nan_ok=True)


@pytest.mark.parametrize(
    ('interface', 'row'), [('absolute_position', 0), ('torque', 2)], ids=['encoders', 'torques']
)
def test_sensors_are_in_the_units(twins, interface, row):
    """Encoders as positions, torques as efforts: both robots give the motors in SI."""
    a, found = twins[0].joint_to_actuator('position', PLACE), []
    for robot in twins:
        message = record(robot.actuator_names, **{FIELDS[row]: a / all_scales(robot)[row]})
        layout = Layout(message.names, message.lengths)
        sensor = SensorPath(robot, interface, FIELDS[row])
        found.append(getattr(sensor.map_sensors(layout, message, a, (1, 0)), FIELDS[row]))
        np.testing.assert_allclose(sensor.find_actuator_values(), a, rtol=1e-12)
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_the_guard_looks_at_the_torque_constant(twins):
    """An effort may not jump by more than a factor of two."""
    _, robot = twins
    position, live = robot.joint_to_actuator('position', PLACE), np.ones(len(NAMES), bool)
    name = 'hoist.actuators.winch.torque_constant'
    check_ratios(robot, robot.with_parameters({name: 0.1}), position, live)
    with pytest.raises(ParameterError, match=r'winch would have an effort of 0\.11'):
        check_ratios(robot, robot.with_parameters({name: 0.11}), position, live)


@pytest.mark.filterwarnings('ignore:overflow')
@pytest.mark.parametrize('mode', ['position', 'velocity', 'acceleration'])
@pytest.mark.parametrize('name', ['x', 'y'])
def test_what_is_too_large_in_the_driver_s_unit_is_refused(name, mode):
    """Millimetres overflow where metres do not: a driver is never sent infinity."""
    text = transmission('t', 'Simple', ('x',), {'a': params(position_unit='mm')})
    robot = load(urdf(('x', 'y'), text), actuator_units={'y': 'position_unit:deg'})
    world = World(robot, limits='off')
    if mode != 'acceleration':
        assert reason(world.command, **{mode: {name: 1e308}}) == 'unmapped'
    field = {'position': 'positions', 'velocity': 'velocities'}.get(mode, 'accelerations')
    with pytest.raises(MessageError, match='cannot be mapped'):
        world.trajectory(name, (1.0, {field: 1e308}))
    assert world.sent == []


def test_what_a_driver_said_is_read_by_a_new_torque_constant(twins):
    """States and torque sensors of before count by the constant that is set afterwards."""
    _, robot = twins
    path, sensor = StatePath(robot), SensorPath(robot, 'torque', 'effort')
    message = record(('winch',), position=[0.5], effort=[2.0])
    layout = Layout(message.names, message.lengths)
    path.merge_message('driver', layout, message, (1, 0))
    sensor.map_sensors(layout, message, np.zeros(len(robot.actuator_names)), (1, 0))
    tuned = robot.with_parameters({'hoist.actuators.winch.torque_constant': 0.1})
    path.replace_robot(tuned)
    sensor.replace_robot(tuned)
    assert sensor.find_actuator_values()[robot.actuator_names.index('winch')] == pytest.approx(0.2)
    for _ in range(2):
        state = path.make_joint_state()
        assert state.effort.tolist() == pytest.approx([2.0 * 0.1 * 50.0])
        assert state.position.tolist() == pytest.approx([0.5 * math.tau / 50.0 + 0.2])
        # The next message as well, though its layout is known.
        path.merge_message('driver', layout, message, (1, 0))


def test_diagnostics_name_the_units_by_the_driver_s_names(twins):
    """SI units are listed as SI; an actuator without units is left out."""
    _, robot = twins
    world = World(
        robot,
        actuator_names=('left/actuator_states:m7=winch',),
        actuator_state_topics=('actuator_states', 'left/actuator_states'),
    )
    status = world.inspect(spaces=('', 'left/'))['actuators']
    facts = {fact.key: fact.value for fact in status.facts}
    assert {key: value for key, value in facts.items() if key.startswith('units ')} == {
        'units left/m7': 'turn, rpm, A',
        'units left': 'tick, tick/s, 0.1 percent',
        'units cylinder': 'mm, mm/s, N',
        'units pull': 'deg, deg/s, SI',
        'units alone': 'deg, deg/s, SI',
    }
