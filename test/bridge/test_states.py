# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state path against the reference model, and when joint states are due."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from state_paths import outcome, record, state_path
import states_model
from world import World
from zoo import reference
from zoo.elements import ANKLE, load, maps, ratio, transmission, urdf

from transmission_bridge.bridge.inputs import find_message_entries, MOST_UNKNOWN
from transmission_bridge.bridge.options.options import AUTO, BridgeOptions
from transmission_bridge.bridge.states.state_map import DriverStateIndex
from transmission_bridge.bridge.states.states import States
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.records import Layout, MessageLayoutTable

NAN = math.nan


#: Names of drivers, exchanged ones too.
OWN = {'left': 'right', 'right': 'left', 'axis_0': 'hip', 'finger': 'crank', 'x': 'finger'}


@settings(max_examples=100)
@pytest.mark.parametrize('renamed', [{}, OWN], ids=['names of the URDF', 'names of the drivers'])
@given(
    data=st.data(),
    unknown_joints=st.sampled_from(['omit', 'nan']),
    timeout=st.sampled_from([0.0, 2.0]),
)
def test_any_sequence(robot, renamed, data, unknown_joints, timeout):
    """After any sequence of messages, pauses, tunings and resets the output equals the model."""
    choices = {'unknown_joints': unknown_joints, 'actuator_names': renamed, 'timeout': timeout}
    path = state_path(robot, stamp_hold=states_model.STAMP_HOLD, **choices)
    model = states_model.ReferenceStates(reference.Numbers(), unknown_joints, timeout)
    now, present = 100.0, robot
    own = {name: name for name in reference.ACTUATORS if name not in renamed.values()} | renamed
    draws = (('winch', *renamed), ('hip', 'stranger')) if renamed else ()
    for step in data.draw(states_model.draw_steps(*draws)):
        if step[0] == 'state':
            _, source, message = step
            reasons = model.update(source, message, now, own) or {None}
            assert outcome(path.feed, message, source, now) in reasons
        elif step[0] == 'tune':
            present = present.with_parameters(reference.nested(step[1]))
            path.replace_robot(present)
            model.numbers = model.numbers.tuned(step[1])
        elif step[0] == 'wait':
            now += step[1]
        else:
            path.reset()
            model.forget()
        model.now = now
        expected, found = model.joint_state(), path.make_joint_state(now)
        assert (found is None) == (expected is None)
        if expected is not None:
            expected.check(found)
            assert found.frame_id == ''


def test_unknown_names_are_bounded():
    """Of any number of unknown names the first are reported, each cut and escaped."""
    names = [f'\x1b[2J{number}' + 'x' * 10_000 for number in range(1000)]
    found = find_message_entries(Layout(('a', *names), (0, 0, 0)), {'a': 0})
    assert (found.count, len(found.unknown)) == (1, MOST_UNKNOWN)
    assert all(name.isprintable() and len(name) < 100 for name in found.unknown)
    assert found.unknown[7].startswith(r"'\x1b[2J7xxx")


@given(
    st.sampled_from([-1.0, 0.0, 0.5]),
    st.lists(
        st.tuples(
            st.sampled_from(['one', 'other']),
            st.sampled_from([('a', 'b', 'c'), ('c', 'a', 'x'), ('b',)]),
            st.integers(1, 3),
            st.sampled_from([0.0, 0.01, 0.15, 0.3, 0.6, 1.5, -0.1]),
            st.sampled_from([1.0, NAN, math.inf]),
        ),
        max_size=30,
    ),
)
def test_a_message_like_the_last_one_needs_no_look(timeout, messages):
    """Numbers, ages, timeouts, silence, rivals and counts are as if it were the first."""
    options, plan = BridgeOptions(state_timeout=timeout), DriverStateIndex(('a', 'b', 'c'))
    usual, looked = States(plan, options), States(plan, options)
    table, now = MessageLayoutTable(), 10.0
    for source, names, n_rows, gap, value in messages:
        now += gap
        message = record(names, *[[value, *range(1, len(names))]] * n_rows)
        known = table.find_layout(message.names, message.lengths)
        usual.merge_message(plan, source, known, message, (1, 0), now)
        looked.merge_message(
            plan, source, Layout(known.names, known.lengths), message, (1, 0), now
        )
        later = now + 0.4
        for look in (
            lambda each: each.compute_ages(now),
            lambda each: each.spells.numbers,
            lambda each: each.mask_stale_actuators(later),
            lambda each: each.read_values(now).copy(),
            lambda each: [each.find_driver_timeout(name) for name in ('one', 'other')],
            lambda each: each.list_rivals('abc'),
            lambda each: (each.unknown_names, each.contests, each.choose_stamp(now)),
            lambda each: each.not_finite.copy(),
        ):
            np.testing.assert_equal(look(usual), look(looked))


@pytest.mark.parametrize('messages', [1, 1000])
def test_silence_does_not_prolong_the_timeout(messages):
    """The only message after ten minutes grows old in seconds, and so does a slow driver."""
    world = World(maps('a'), state_timeout=AUTO)
    states = world.states

    def hear(times):
        for world.now in times:
            world.state('a', position=[1.0])

    hear(0.01 * np.arange(messages))
    hear([610.0])
    assert states.find_driver_timeout('driver') <= 5.0
    assert states.mask_stale_actuators(616.0).all()
    assert np.isnan(states.read_values(616.0)).all()
    for gap in (0.99, 4.9, 30.0):
        hear(620.0 + gap * np.arange(100.0))
        assert 1.0 <= states.find_driver_timeout('driver') <= 5.0


# -- positions that are solved -------------------------------------------------------------------


def test_tuning_forgets_the_solution():
    """After a tuning the new maps give a position without a guess, not NaN."""
    robot = maps(('pitch', 'roll'), ANKLE)
    path = state_path(robot)
    path.feed(record(robot.actuator_names, robot.joint_to_actuator('position', [0.4, 0.3])))
    assert path.make_joint_state().position == pytest.approx([0.4, 0.3], abs=1e-12)
    offsets = {'ankle.joints.pitch.offset': -0.1, 'ankle.joints.roll.offset': -0.2}
    path.replace_robot(robot.with_parameters(offsets))
    assert path.compute_joint_motion()[0] == pytest.approx([0.3, 0.1], abs=1e-12)


# -- state interfaces that are not declared ------------------------------------------------------

#: Interfaces: both rates, position alone, none of a state, one here and one in a second block.
BLOCKS = {
    'whole': ('state position', 'state velocity', 'state effort'),
    'part': ('command position', 'state position', 'state temperature'),
    'none': ('command acceleration',),
    'twice': ('state effort',),
    'free': (),
}
INTERFACES = tuple(BLOCKS)
DECLARED = [[1.0, 1.0, NAN, NAN, 1.0], [2.0, NAN, NAN, 2.0, 2.0], [3.0, NAN, NAN, 3.0, 3.0]]
ALL = [[1.0] * 5, [2.0] * 5, [3.0] * 5]
TOPIC_BASED = (
    'joint_state_topic_hardware_interface/JointStateTopicSystem',
    'topic_based_ros2_control/TopicBasedSystem',
    'joint_command_topic_hardware_interface/JointCommandTopicSystem',
)


def declared(plugin, **options):
    """Return a state path of the robot of :data:`BLOCKS`."""
    text = urdf(INTERFACES, plugin=plugin).replace('<joint name="free"/>', '')
    for name, interfaces in BLOCKS.items():
        pairs = (each.split() for each in interfaces)
        inside = ''.join(f'<{side}_interface name="{interface}"/>' for side, interface in pairs)
        text = text.replace(f'<joint name="{name}"/>', f'<joint name="{name}">{inside}</joint>')
    second = (
        f'<ros2_control name="second" type="sensor"><hardware><plugin>{plugin}</plugin></hardware>'
        '<joint name="twice"><state_interface name="velocity"/></joint></ros2_control></robot>'
    )
    return state_path(load(text.replace('</robot>', second), strict=True), **options)


@pytest.mark.parametrize('unknown_rates', ['nan', 'zero'])
@pytest.mark.parametrize(
    ('plugin', 'expected'),
    [*((plugin, DECLARED) for plugin in TOPIC_BASED), ('some/Hardware', ALL)],
)
def test_undeclared_interfaces(plugin, unknown_rates, expected):
    """Topic-based hardware is given no number for a state interface that was not declared."""
    path = declared(plugin, unknown_rates=unknown_rates)
    path.feed(record(INTERFACES, *ALL))
    found = path.make_joint_state()
    assert found.names == INTERFACES
    np.testing.assert_array_equal([found.position, found.velocity, found.effort], expected)


def test_nothing_but_hidden_numbers_is_no_state():
    """A message without a number would be useless."""
    path = declared(TOPIC_BASED[0], unknown_joints='nan')
    for position, is_published in (((), False), ((1.0,), True)):
        path.feed(record(('part',), position, (2.0,)))
        assert (path.make_joint_state() is not None) == is_published


# -- joints that follow another one --------------------------------------------------------------

#: ``one`` and ``other`` follow each other; ``lost`` follows a joint that has nothing usable.
FOLLOWERS = {
    'third': 'joint="second" multiplier="-2" offset="0.25"',
    'second': 'joint="first" multiplier="0.5" offset="-1"',
    'one': 'joint="other"',
    'other': 'joint="one"',
    'lost': 'joint="broken"',
}


@pytest.fixture(scope='module')
def followers():
    """Return the maps of a robot of joints in chains and in a loop."""
    text = transmission('strange', 'nobody/HasTransmission', ('broken',), ('engine',))
    text += transmission('gear', 'Simple', {'first': ratio(4.0)}, ('motor',))
    return maps(('third', 'second', 'first', 'one', 'other', 'broken', 'lost'), text, FOLLOWERS)


@pytest.mark.parametrize('unknown_rates', ['nan', 'zero'])
def test_a_follower_is_computed_over_any_chain(followers, unknown_rates):
    """It is multiplier q + offset, its velocity multiplier q'; in a loop it is an error."""
    path = state_path(followers, unknown_rates=unknown_rates)
    path.feed(record(('motor',), [6.0], [2.0], [3.0]))
    found = path.make_joint_state()
    assert found.names == ('first', 'third', 'second')
    assert found.position.tolist() == [1.5, -2.0 * (0.5 * 1.5 - 1.0) + 0.25, 0.5 * 1.5 - 1.0]
    assert found.velocity.tolist() == [0.5, -0.5, 0.25]
    effort = 0.0 if unknown_rates == 'zero' else NAN
    np.testing.assert_array_equal(found.effort, [12.0, effort, effort])
    loops = [each for each in followers.findings if each.subject in ('one', 'other')]
    assert {each.severity for each in loops} == {'error'}
    path.feed(record(('motor',), [NAN], [1.0], [1.0]))
    assert path.make_joint_state() is None


@pytest.mark.parametrize('name', ['third', 'second', 'lost'])
def test_a_follower_is_not_commanded(followers, name):
    """It may be named, as topic-based hardware does, if its value is no command."""
    world = World(followers)
    with pytest.raises(MessageError, match=f'{name} .it follows') as caught:
        world.command(position={'first': 0.25, name: 0.5})
    assert caught.value.reason == 'not_commandable'
    assert np.isnan(world.gate.ledger.joints).all()
    assert world.command(position={name: NAN, 'first': 0.5}) == {'position': {'motor': 2.0}}
