# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names of a driver that differ from the URDF's, and several drivers with the same ones."""

from __future__ import annotations

from contextlib import suppress

from command_paths import Commands
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.elements import maps

from transmission_bridge.bridge.outlets import DriverNames
from transmission_bridge.bridge.state_plan import NamePlan
from transmission_bridge.bridge.states import States
from transmission_bridge.errors import MessageError, ParameterError, UnknownNameError
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint

ACTUATORS = tuple('abcdefg')
EMPTY = np.empty(0)
FIELDS = ('position', 'velocity', 'effort')

#: Two arms with drivers that call their motors M1 and M2, and a gripper with its URDF name.
ARMS = {
    'left/actuator_states:M1': 'a',
    'left/actuator_states:M2': 'b',
    'right/actuator_states:M1': 'c',
    'right/actuator_states:M2': 'd',
}


def record_of(names, position=EMPTY, velocity=EMPTY, effort=EMPTY):
    """Return a command."""
    return JointStateRecord(
        (1, 2), 'f', tuple(names), *map(np.array, (position, velocity, effort))
    )


def bridge_with(entries):
    """Return the commands of a robot of joints without transmissions, with these drivers."""
    topics = dict.fromkeys(['actuator_states', *(each.rpartition(':')[0] for each in entries)])
    return Commands(
        maps(ACTUATORS),
        actuator_names=tuple(f'{driver_name}={name}' for driver_name, name in entries.items()),
        actuator_state_topics=tuple(filter(None, topics)),
        mixed_commands='nan',
    )


def sent_by(commands, record):
    """Return what each driver gets, as namespace, names and lists."""
    commands.sent.clear()
    commands.send(record)
    return {
        namespace: (part.names, part.position.tolist(), part.velocity.tolist())
        for _, namespace, part in commands.sent
    }


@st.composite
def robots(draw):
    """Return entries by which some actuators have drivers that use the same few names."""
    entries, places = {}, {}
    counts = dict.fromkeys(('', 'left/', '/right/', '~/x/'), 0)
    for name in draw(st.permutations(ACTUATORS)):
        kind = draw(st.sampled_from(['urdf', 'common', *counts]))
        namespace = '' if kind in ('urdf', 'common') else kind
        driver_name = name
        if kind != 'urdf':
            counts[namespace] += 1
            driver_name = f'M{counts[namespace]}'
            entries[f'{driver_name}' if kind == 'common' else f'{kind}states:{driver_name}'] = name
        places[name] = namespace, driver_name
    return entries, places


@st.composite
def commands(draw):
    """Return a command to some actuators, each with a number of some interface at least."""
    names = draw(st.lists(st.sampled_from(ACTUATORS), min_size=1, unique=True))
    number = st.floats(-9.0, 9.0) | st.just(np.nan)
    rows = np.array([[draw(number) for _ in names] for _ in range(3)])
    rows[draw(st.integers(0, 2)), np.isnan(rows).all(axis=0)] = 1.0
    return record_of(names, *(EMPTY if np.isnan(row).all() else row for row in rows))


@given(robot=robots(), record=commands())
def test_every_number_reaches_its_driver_and_nobody_else(robot, record):
    """Under its name there, once; what the drivers echo as states is what was sent."""
    entries, places = robot
    wanted = {
        (*places[name], field, value)
        for field in FIELDS
        for name, value in zip(record.names, getattr(record, field), strict=False)
        if not np.isnan(value)
    }
    found = []
    plan = NamePlan(ACTUATORS, entries)
    states = States(plan)
    commands = bridge_with(entries)
    commands.send(record)
    parts = [(namespace, part) for _, namespace, part in commands.sent]
    for namespace, part in parts:
        assert (part.stamp, part.frame_id) == (record.stamp, '')
        for field in FIELDS:
            values = getattr(part, field)
            assert not len(values) or not np.isnan(values).all()
            found += [
                (namespace, name, field, value)
                for name, value in zip(part.names, values, strict=bool(len(values)))
                if not np.isnan(value)
            ]
        # In the bridge's own namespace may be actuators of one topic's driver, and others.
        for source in (f'{namespace}states', *(() if namespace else ('any',))):
            with suppress(MessageError):
                states.merge_message(plan, source, Layout(part.names, part.lengths), part, (1, 0))
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert len(dict(parts)) == len(parts)
    for field, known in zip(FIELDS, states.read_values(0.0), strict=True):
        sent = dict(zip(record.names, getattr(record, field), strict=False))
        np.testing.assert_array_equal(known, [sent.get(name, np.nan) for name in ACTUATORS])


@given(robot=robots(), data=st.data())
def test_trajectories_are_divided_alike(robot, data):
    """Each driver gets its columns of every waypoint, with all times; omitted rates stay so."""
    entries, places = robot
    names = tuple(data.draw(st.lists(st.sampled_from(ACTUATORS), min_size=1, unique=True)))
    given_fields = {data.draw(st.sampled_from(POINT_FIELDS[:3]))}
    given_fields |= data.draw(st.sets(st.sampled_from(POINT_FIELDS)))
    points = tuple(
        Waypoint(
            (second, 5),
            *(
                np.arange(len(names)) + 10.0 * second if field in given_fields else EMPTY
                for field in POINT_FIELDS
            ),
        )
        for second in range(data.draw(st.integers(1, 3)))
    )
    record = TrajectoryRecord((3, 4), 'f', names, points)
    seen = []
    commands = bridge_with(entries)
    commands.map(record, None)
    for _, namespace, part in commands.sent:
        assert (part.stamp, part.frame_id) == ((3, 4), 'f')
        assert [point.time for point in part.points] == [point.time for point in points]
        own = [name for name in ACTUATORS if name in names and places[name][0] == namespace]
        assert part.names == tuple(places[name][1] for name in own)
        seen += own
        for ours, whole in zip(part.points, points, strict=True):
            for field in POINT_FIELDS:
                columns = [names.index(name) for name in own] if field in given_fields else []
                assert getattr(ours, field).tolist() == getattr(whole, field)[columns].tolist()
    assert sorted(seen) == sorted(names)


def test_two_arms_by_hand():
    """Both motors M1 get their own number, in the namespace of their states."""
    assert DriverNames(ARMS, ACTUATORS).namespaces == ('left/', 'right/', '')
    commands = bridge_with(ARMS)
    assert sent_by(commands, record_of('abcdg', np.arange(5.0))) == {
        'left/': (('M1', 'M2'), [0.0, 1.0], []),
        'right/': (('M1', 'M2'), [2.0, 3.0], []),
        '': (('g',), [4.0], []),
    }
    assert sent_by(commands, record_of('c', [7.0])) == {'right/': (('M1',), [7.0], [])}
    mixed = record_of('ac', [1.0, np.nan], [np.nan, 2.0])
    assert sent_by(commands, mixed) == {
        'left/': (('M1',), [1.0], []),
        'right/': (('M1',), [], [2.0]),
    }
    commands = bridge_with(ARMS)
    commands.send(record_of('ab', [1.0, 2.0]))
    point = Waypoint((1, 0), np.zeros(2), EMPTY, EMPTY, EMPTY)
    commands.map(TrajectoryRecord((0, 0), '', ('c', 'g'), (point,)), None)
    assert commands.gate.reached == ({'left/'}, {'right/', ''})
    assert bridge_with({}).gate.reached == ({''}, {''})


def test_a_driver_has_its_own_actuators_only():
    """On its topic no other name is known; on others the URDF's names are."""
    plan = NamePlan(ACTUATORS, ARMS)
    states = States(plan)

    def tell(source, names, values):
        record = record_of(names, values)
        states.merge_message(plan, source, Layout(record.names, record.lengths), record, (1, 0))

    tell('left/actuator_states', ('M2', 'c', 'g'), [1.0, 8.0, 9.0])
    tell('right/actuator_states', ('M2',), [2.0])
    tell('grippers', ('g', 'M1'), [3.0, 9.0])
    nan = np.nan
    np.testing.assert_array_equal(states.read_values(0.0)[0], [nan, 1.0, nan, 2.0, nan, nan, 3.0])
    assert states.unknown_names == {"'c'": 1, "'g'": 1, "'M1'": 1}
    with pytest.raises(MessageError, match=r'expected some of .M1., .M2., found .c.'):
        tell('left/actuator_states', ('c',), [1.0])


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
    found = sent_by(bridge_with(entries), record_of(names, [*numbers.values()]))
    ((found, position, _),) = found.values()
    assert (found, position) == (expected, [numbers[name] for name in sorted(names)])


@pytest.mark.parametrize(
    ('entries', 'words'),
    [
        ({'l/s:M1': 'a', 'r/s:M1': 'a'}, 'a would have two drivers.*l/s only.*r/s:M1=a'),
        ({'l_states:M1': 'a', 'r_states:M1': 'b'}, 'a and b would both be M1 on actuator_comm'),
        ({'x/l:M1': 'a', 'x/r:M1': 'b'}, 'a and b would both be M1 on x/actuator_commands'),
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
        NamePlan(ACTUATORS, entries)
    assert DriverNames(entries, ACTUATORS).namespaces == ('',)


@pytest.mark.parametrize(
    ('source', 'expected', 'found', 'entries'),
    [
        ('right/s', "'M'", 'x', "'right/s:x=b'"),
        ('right/s', "'M'", 'xy', "'right/s:x=?', 'right/s:y=?'"),
        ('s', "'a', 'b', 'N'", 'x', "'x=?'"),
    ],
)
def test_names_that_are_not_known(source, expected, found, entries):
    """There is an entry to copy for each, complete where nothing is left to choose."""
    plan = NamePlan(('a', 'b', 'c'), {'right/s:M': 'b', 'N': 'c'})
    states = States(plan)
    record = record_of(found, np.zeros(len(found)))
    with pytest.raises(MessageError) as caught:
        states.merge_message(plan, source, Layout(record.names, record.lengths), record, (1, 0))
    assert str(caught.value) == (
        f'no name is known: expected some of {expected}, found '
        f'{", ".join(map(repr, found))}; check that the topic and the description are of this '
        f"robot, or give the driver's names by actuator_names: [{entries}]"
    )
