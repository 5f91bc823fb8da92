# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The life of parameters: where values come from, what is refused, what survives."""

from dataclasses import fields
import math

import pytest
from zoo import linkages
from zoo.elements import ratio, transmission, urdf

from transmission_bridge.bridge.options.files import warn_of_unused_parameter_files
from transmission_bridge.bridge.options.options import BridgeOptions

pytestmark = pytest.mark.versions

ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'
LIFT = 'transmissions.hoist.joints.lift.mechanical_reduction'
IGNORE = 'transmissions.hoist.ignore_absolute_encoder'


def test_descriptors(peer, active_bridge):
    """Each parameter has a description; live ones a range, structural ones are read-only."""
    active_bridge()
    names = peer.parameter_names()
    structural = [option.name for option in fields(BridgeOptions)] + ['autostart']
    of_rclpy = ('use_sim_time', 'start_type_description_service')
    ours = [name for name in names if '.' not in name and name not in of_rclpy]
    live = [name for name in names if name.startswith('transmissions.')]
    assert set(structural) < set(ours)
    described = peer.describe(names)
    assert all(described[name].description for name in (*ours, *live))
    assert all(described[name].read_only for name in (*structural, 'use_sim_time'))
    for name in live:
        assert not described[name].read_only
        if '.ignore_' not in name:
            (span,) = described[name].floating_point_range
            assert span.from_value < span.to_value
            assert math.isfinite(span.to_value - span.from_value)
    assert 'rad' in described[ROLL].description
    assert 'split, nan' in described['mixed_commands'].additional_constraints


def test_life(peer, active_bridge, reference):
    """URDF, then the file, then what was set since, also after a cleanup, in which none is."""
    active_bridge({LIFT: 8.0})
    driver, joints = peer.publisher('actuator_states', readers=0), peer.listen('joint_states')

    def lift_of():
        (state,) = peer.exchange(driver, reference.Message(('winch',), position=(2.0,)), joints)
        return state.position[state.names.index('lift')]

    assert lift_of() == 2.0 / 8.0 + 0.3
    assert peer.set_parameters({LIFT: -16.0}).successful
    assert lift_of() == 2.0 / -16.0 + 0.3
    assert peer.parameters([LIFT, ROLL]) == {LIFT: -16.0, ROLL: 0.1}
    peer.pass_through('deactivate', 'cleanup')
    assert peer.parameter_names('transmissions.') == []
    (result,) = peer.set_each_parameter({ROLL: 0.2})
    assert not result.successful
    peer.start()
    assert peer.parameters([LIFT, ROLL]) == {LIFT: -16.0, ROLL: 0.1}
    assert lift_of() == 2.0 / -16.0 + 0.3


REFUSED = "its transmission 'rail' was rejected"
SIDES = {
    'actuator_state_topics': ['a/actuator_states', 'b/actuator_states'],
    'actuator_names': ['a/actuator_states:M=left', 'b/actuator_states:M=right'],
}


@pytest.fixture
def with_slide(reference):
    """Return the reference robot with one more transmission, which is refused."""
    slide = '<joint name="slide"><command_interface name="position"/></joint>'
    slide += transmission('rail', 'Simple', {'slide': ratio(0)}, ['slide_motor'])
    slide += f'</ros2_control>{linkages.joint("slide", "base", "l_slide")}'
    return reference.URDF.replace('</ros2_control>', slide)


BUS = ['a/actuator_commands:=/bus', 'b/actuator_commands:=/bus']
STATES = ['a/actuator_states:=/states', 'b/actuator_states:=/states']
LINK = '<robot name="a"><link name="a"/></robot>'
SIMULATED = 'transmission_bridge/SimulatedDriver'
QOS = 'qos_overrides./joint_states.publisher'


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({IGNORE: 1.0}, ('true or false', IGNORE)),
        ({'command_joints': ['lift', 'roll', 'lift']}, ("'lift' is repeated",)),
        ({'command_joints': ['lift', 'slide']}, ("'slide' is not", f'be commanded, {REFUSED}')),
        ({'command_actuators': ['slide_motor']}, (f'an actuator of the robot, {REFUSED}',)),
        ({'actuator_state_topics': ['joint_commands']}, ('would have two subscriptions',)),
        ({**SIDES, 'rules': BUS}, ("and 'b/actuator_commands' would both be /bus",)),
        ({**SIDES, 'rules': STATES}, ("and 'b/actuator_states' would both be /states",)),
        ({f'{QOS}.reliability': 'maybe'}, ("'/joint_states' cannot be created", 'maybe')),
        ({f'{QOS}.depth': -3}, ("topic '/joint_states' cannot be created", 'Failed to create')),
        ({'robot_description': '<robot name="a">\n<link'}, ('line 2', 'well-formed')),
        ({'robot_description': LINK}, ('nothing to bridge',)),
        # The bridge does not wait for such a driver on topics instead.
        (
            {'hardware_plugins': [f'hardwar={SIMULATED}']},
            ("block 'hardwar' (closest: 'hardware')",),
        ),
        (
            {'hardware_plugins': [f'hardware={SIMULATED}s']},
            ('unknown driver in Python', 'Drivers'),
        ),
        ({'robot_description': '~/my/robot'}, ('this is a path', '--urdf FILE', '~/my/robot')),
    ],
)
def test_refused_at_configure(peer, make_bridge, with_slide, log, values, words):
    """What cannot be used fails the configuration with a sentence, and leaves nothing behind."""
    rules = [each for rule in values.get('rules', ()) for each in ('-r', rule)]
    values = {key: value for key, value in values.items() if key != 'rules'}
    values = {'robot_description': with_slide, **values}
    node = make_bridge(values, cli_args=['--ros-args', *rules])
    assert not peer.change_state('configure')
    assert peer.state() == 'unconfigured'
    peer.spin_until(lambda: log('configure failed'), 'the failure')
    assert log(*words) > 0
    assert log('Traceback') == 0
    assert all(word in node.failure for word in words)
    assert (node._session, list(node._managed_entities)) == (None, [])
    assert [each.topic_name for each in node.subscriptions] == ['/robot_description']


def test_parameter_file_of_another_urdf(peer, make_bridge, with_slide, log):
    """Numbers that differ from the URDF, and what names no part in use, are said once."""
    topics = {'qos_overrides./joint_states.publisher.depth': 7}
    wrong = {
        ROLL.replace('roll', 'rol'): f" (closest: '{ROLL}')",
        'transmissions.rail.joints.slide.offset': ", because transmission 'rail' is rejected",
        'state_timeot': " (closest: 'state_timeout')",
        'xyz': '',
        'qos_overrides./joint_stats.publisher.depth': '',
    }
    numbers = {LIFT: -60.0, ROLL: 0.25, PITCH: -0.2}
    # Driver's name and wrap period of a motor of the rejected transmission cost no other motor.
    motors = {
        'actuator_names': ['M1=left', 'M3=slide_motor', 'M4=slide_motor'],
        'wrap_period': ['slide_motor=6.28', 'left=6.28'],
    }
    file = {**topics, **numbers, **motors, **dict.fromkeys(wrong, 1)}
    make_bridge({'robot_description': with_slide, **file})
    peer.start()
    assert log(
        'INFO',
        '2 numbers of the parameter file differ from the URDF: '
        'hoist.joints.lift.mechanical_reduction -60 (URDF -4), '
        'wrist.joints.roll.offset 0.25 (URDF 0.1)',
    )
    for name, hint in wrong.items():
        assert log('WARN', f"parameter file: '{name}' matches no parameter{hint}") == 1
    assert log('matches no parameter') == len(wrong)
    for option in motors:
        assert log('WARN', f"{option}: 'slide_motor' is left out, {REFUSED}") == 1
    assert peer.parameters(list(numbers)) == numbers


def test_a_file_and_the_command_line(meet, harness, reference, start_process, tmp_path):
    """Of a real file, of ``-p`` and of requests, ``nan``, ``off`` and integers are as meant."""
    given = {
        'robot_description': harness.quoted(reference.URDF),
        'state_timeout': '10',
        'zero_positions': '[0, 1]',
        'unknown_joints': 'nan',
        'limits': 'off',
        'actuator_names': '[]',
        'autostrt': 'true',
        LIFT: '8',
    }
    path = harness.parameter_file(tmp_path / 'bridge.yaml', given)
    words = ('--ros-args', '--params-file', path, '-p', f'{ROLL}:=1')
    process = start_process('transmission_bridge.ros.main bridge_node', *words)
    peer = meet('transmission_bridge')
    # What may be why it does not start is said at once.
    process.wait_for("'autostrt' matches no parameter (closest: 'autostart')")
    peer.start()
    expected = {'unknown_joints': 'nan', 'limits': 'off', 'state_timeout': 10.0}
    expected |= {'zero_positions': [0.0, 1.0], LIFT: 8.0, ROLL: 1.0}
    assert peer.parameters(list(expected)) == expected
    assert peer.set_parameters({LIFT: 5, 'zero_positions': [2, 3]}).successful
    expected |= {'zero_positions': [2.0, 3.0], LIFT: 5.0}
    values = peer.parameters(list(expected))
    assert values == expected
    assert {type(values[LIFT]), *map(type, values['zero_positions'])} == {float}
    process.ends_well()


#: Names of nodes as a parameter file may give them.
NODES = ('/**', 'b', '/b', 'left/b', '/left: {b: %s}', '/*/b', '/**/b', '/*', '/left/*')
NODES += ('/left/**', '"*"', '"**"', '/right/b', 'right: {"**": %s}', '/left', '/left/arm/c')


@pytest.mark.parametrize('namespace', ['', '/left', '/left/arm'])
def test_a_file_for_another_node(harness, context, tmp_path, namespace):
    """Only a file that rcl does not use for the node is reported, with its names."""
    for number, name in enumerate(NODES):
        path = tmp_path / f'{number}.yaml'
        text = name if '%s' in name else f'{name}: %s'
        path.write_text(text % '{ros__parameters: {x: 1}}')
        arguments = ['--ros-args', '--params-file', str(path)]
        node = harness.rclpy.create_node(
            'b',
            namespace=namespace,
            context=context,
            cli_args=arguments,
            use_global_arguments=False,
            allow_undeclared_parameters=True,
            automatically_declare_parameters_from_overrides=True,
        )
        told = list(warn_of_unused_parameter_files(arguments, node.get_fully_qualified_name()))
        is_used = node.has_parameter('x')
        node.destroy_node()
        assert bool(told) != is_used, name
        expected = f"' is not used: expected parameters of '{namespace}/b' or '/**', found"
        assert all(expected in each for each in told)


def test_a_live_offset_in_degrees_is_a_warning(peer, make_bridge, log):
    """An implausible number is a warning in the URDF, in a parameter file and live, each once."""
    limit = 'revolute lower="-3" upper="3" velocity="2" effort="1"'
    text = urdf({'j': limit}, transmission('t', 'Simple', {'j': ratio(10)}, {'m': ''}))
    name = 'transmissions.t.joints.j.offset'
    words = "the offset of joint 'j' is probably in another unit"
    make_bridge({'robot_description': text, name: 80.0})
    peer.start()
    assert log('WARN', words, '80 rad') == 1
    for value in (0.1, 90.0, 90.0):
        assert peer.set_parameters({name: value}).successful
    assert log('WARN', words, '90 rad') == 1
    assert log('WARN', words) == 2
