# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The life of parameters: where values come from, what is refused, what survives."""

from __future__ import annotations

from dataclasses import fields
import math

import pytest

from transmission_bridge.bridge.options import BridgeOptions, find_option_range
from transmission_bridge.errors import ParameterError
from transmission_bridge.ros.command_line import find_unused_parameter_files
from transmission_bridge.ros.process import available_executors

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'
LEFT = 'transmissions.wrist.actuators.left.mechanical_reduction'
LIFT = 'transmissions.hoist.joints.lift.mechanical_reduction'
IGNORE = 'transmissions.hoist.ignore_absolute_encoder'


def reconfigure(peer):
    """Clean up an active node and make it active again."""
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)


@pytest.fixture
def lift_of(peer, reference):
    """Return a function for the position of the lift in the bridge with the winch at 2."""
    driver, joints = peer.publisher('actuator_states', readers=0), peer.listen('joint_states')

    def lift():
        message = reference.Message(('winch',), position=(2.0,))
        (state,) = peer.exchange(driver, message, joints)
        return state.position[state.names.index('lift')]

    return lift


def test_every_number_of_the_robot_is_a_parameter(peer, reference, active_bridge):
    """Each reduction and offset that a transmission uses is there, with the value of the URDF."""
    active_bridge()
    numbers = reference.Numbers()
    expected = {
        reference.parameter_name(('reduction', name)): value
        for name, value in numbers.reduction.items()
    } | {
        reference.parameter_name(('offset', name)): value for name, value in numbers.offset.items()
    }
    names = peer.parameter_names('transmissions.')
    assert {name for name in names if '.ignore_' not in name} == set(expected)
    assert peer.parameters(list(expected)) == expected


@pytest.mark.versions
def test_descriptors(peer, active_bridge):
    """Each parameter has a description; live ones a range, structural ones are read-only."""
    active_bridge()
    names = peer.parameter_names()
    structural = [option.name for option in fields(BridgeOptions)] + ['autostart']
    ours = [name for name in names if '.' not in name and name not in NOT_OURS]
    live = [name for name in names if name.startswith('transmissions.')]
    assert set(structural) < set(ours)
    described = peer.describe(names)
    for name in ours:
        assert described[name].description, name
    for name in structural:
        assert described[name].read_only, name
    for name in live:
        assert described[name].description, name
        assert not described[name].read_only
        if '.ignore_' not in name:
            (span,) = described[name].floating_point_range
            assert span.from_value < span.to_value
            assert math.isfinite(span.to_value - span.from_value)
    assert 'rad' in described[ROLL].description
    assert 'split, nan' in described['mixed_commands'].additional_constraints


#: Declared by rclpy.
NOT_OURS = ('use_sim_time', 'start_type_description_service')


@pytest.mark.versions
@pytest.mark.parametrize('name', ['on_stop', 'autostart', 'actuator_state_topics'])
def test_structural_parameters_are_read_only(peer, active_bridge, name):
    """A structural parameter cannot be set, and keeps its value."""
    active_bridge()
    before = peer.parameters([name])
    value = {'on_stop': 'nothing', 'autostart': True}.get(name, ['elsewhere'])
    (result,) = peer.set_each_parameter({name: value})
    assert not result.successful
    assert 'read-only' in result.reason
    assert peer.parameters([name]) == before


@pytest.mark.versions
def test_life(peer, active_bridge, lift_of):
    """URDF, then what the file says, then what was set since the start, also after a cleanup."""
    active_bridge({LIFT: 8.0})
    assert lift_of() == 2.0 / 8.0 + 0.3
    assert peer.set_parameters({LIFT: -16.0}).successful
    assert lift_of() == 2.0 / -16.0 + 0.3
    assert peer.parameters([LIFT, ROLL]) == {LIFT: -16.0, ROLL: 0.1}
    reconfigure(peer)
    assert peer.parameters([LIFT, ROLL]) == {LIFT: -16.0, ROLL: 0.1}
    assert lift_of() == 2.0 / -16.0 + 0.3


@pytest.mark.versions
def test_undeclared_after_cleanup(peer, active_bridge):
    """The robot's parameters are there between configure and cleanup only."""
    active_bridge()
    assert peer.parameters([ROLL])[ROLL] == 0.1
    assert peer.change_state('deactivate')
    assert peer.change_state('cleanup')
    assert peer.parameter_names('transmissions.') == []
    (result,) = peer.set_each_parameter({ROLL: 0.2})
    assert not result.successful
    assert peer.change_state('configure')
    assert peer.parameters([ROLL])[ROLL] == 0.1


@pytest.mark.parametrize(
    ('values', 'word'),
    [
        ({LIFT: 0.0}, 'zero'),
        ({LIFT: math.nan}, ''),
        ({ROLL: math.inf}, ''),
        ({LIFT: 2**53 + 1}, 'rounded'),
        ({ROLL: True}, '(expected a number, found True)'),
        ({ROLL: 'one'}, "(expected a number, found 'one')"),
        ({ROLL: 1e300}, ''),
        ({IGNORE: 1.0}, '(expected true or false, found 1.0)'),
        ({'zero_positions': ['a']}, "(expected a list of numbers, found ['a'])"),
        ({'limits': 1}, 'read-only'),
        ({'transmissions.wrist.joints.roll.nonsense': 1.0}, ''),
    ],
    ids=[
        'zero',
        'nan',
        'inf',
        'integer that would be rounded',
        'bool',
        'text',
        'out of range',
        'not a bool',
        'not numbers',
        'a wrong type for what cannot be set',
        'unknown',
    ],
)
def test_bad_value(peer, active_bridge, lift_of, values, word):
    """A bad value is refused with a reason and changes nothing, alone or with good ones."""
    active_bridge()
    for others in ({}, {PITCH: 0.5, 'transmissions.hoist.joints.lift.offset': 0.5}):
        for order in ({**others, **values}, {**values, **others}):
            result = peer.set_parameters(order)
            assert not result.successful
            assert result.reason
            assert word in result.reason
    assert peer.parameters([LIFT, ROLL, PITCH]) == {LIFT: -4.0, ROLL: 0.1, PITCH: -0.2}
    assert lift_of() == 2.0 / -4.0 + 0.3


@pytest.mark.versions
def test_plain_sets_stand_alone(peer, active_bridge):
    """Parameters in one plain request are checked separately."""
    active_bridge()
    results = peer.set_each_parameter({ROLL: 0.5, LIFT: 0.0, PITCH: 0.6})
    assert [result.successful for result in results] == [True, False, True]
    assert peer.parameters([LIFT, ROLL, PITCH]) == {LIFT: -4.0, ROLL: 0.5, PITCH: 0.6}


def test_setting_publishes_nothing(peer, harness, reference, active_bridge):
    """Tuning does not send a held command or a state again."""
    active_bridge({'tuning_guard': False})
    actuators, joints = peer.listen('actuator_commands'), peer.listen('joint_states')
    controller = peer.publisher('joint_commands')
    driver = peer.publisher('actuator_states')
    peer.exchange(controller, reference.Message(('lift',), position=(1.0,)), actuators)
    peer.exchange(driver, reference.Message(('winch',), position=(1.0,)), joints)
    del actuators[:], joints[:]
    for value in (5.0, -7.0):
        assert peer.set_parameters({LIFT: value}).successful
    for _ in range(3):
        peer.state()
    assert (actuators, joints) == ([], [])


@pytest.mark.versions
def test_overrides_at_configure(peer, make_bridge, reference, capfd):
    """An override of the wrong type or value makes configure fail with the correct form."""
    for number, (name, value, words) in enumerate(
        (
            (LIFT, 2**53 + 1, ('rounded', 'decimal point', LIFT)),
            (LIFT, True, ('a number', LIFT)),
            (LIFT, 0.0, ('zero', 'hoist')),
            (ROLL, 'x', ('a number', ROLL)),
            (IGNORE, 1.0, ('true or false', IGNORE)),
            ('limits', 'clip', ('clamp', 'limits')),
            ('actuator_names', ['nonsense'], ('left=right', 'actuator_names')),
            ('actuator_names', ['m1=nobody'], ('nobody', 'winch')),
            ('actuator_state_topics', ['no good'], ('actuator_state_topics', 'no good')),
        )
    ):
        node = make_bridge(
            {'robot_description': reference.URDF, name: value}, namespace=f'case_{number}'
        )
        assert not peer.change_state('configure', node.get_fully_qualified_name())
        output = capfd.readouterr().err
        assert 'configure failed' in output
        assert 'Traceback' not in output
        for word in words:
            assert word in output, (name, value)
        assert peer.state(node.get_fully_qualified_name()) == 'unconfigured'


@pytest.mark.versions
@pytest.mark.parametrize('number', [5, -7, 2**53, -(2**53)])
def test_integer_for_a_number(peer, active_bridge, lift_of, number):
    """An integer sets a parameter that is a double, by either service, and is a double then."""
    lift = 'transmissions.hoist.joints.lift.offset' if abs(number) > 1000 else LIFT
    # The range that is shown is widened by what the file says.
    active_bridge({lift: float(number)})
    for send in (peer.set_parameters, lambda values: peer.set_each_parameter(values)[0]):
        assert peer.set_parameters({lift: 3.5}).successful
        result = send({lift: number})
        assert result.successful, result.reason
        value = peer.parameters([lift])[lift]
        assert (value, type(value)) == (number, float)
    if lift == LIFT:
        assert lift_of() == 2.0 / number + 0.3


@pytest.mark.versions
def test_integers_at_the_start(peer, make_bridge, reference):
    """Integers among the values given to a node are the numbers that are meant."""
    make_bridge(
        {
            'robot_description': reference.URDF,
            'state_timeout': 2,
            'publish_rate': 50,
            'zero_positions': [0, 1],
            LIFT: 8,
        }
    )
    peer.start()
    values = peer.parameters(['state_timeout', 'publish_rate', 'zero_positions', LIFT])
    assert values == {
        'state_timeout': 2.0,
        'publish_rate': 50.0,
        'zero_positions': [0.0, 1.0],
        LIFT: 8.0,
    }
    numbers = [values['state_timeout'], values['publish_rate'], values[LIFT]]
    assert {type(each) for each in (*numbers, *values['zero_positions'])} == {float}


#: Values of structural parameters out of sense, and what their refusal says.
OUT_OF_RANGE = {
    'state_timeout': (1e300, 1e-9, -2.0, math.nan, math.inf),
    'command_timeout': (1e300, 1e-9, -2.0, math.nan, math.inf),
    'max_command_age': (1e300, 1e-9, -1.0, math.nan, math.inf),
    'zero_max_age': (1e300, 1e-9, -1.0, math.nan, math.inf),
    'publish_rate': (1e-300, 1e9, 0.0, -1.0, math.nan, math.inf),
    'zero_max_velocity': (-1e-9, 1e300, math.nan, math.inf),
}


@pytest.mark.parametrize('name', OUT_OF_RANGE)
def test_out_of_range(peer, make_bridge, name):
    """A number out of sense is refused at the start with its range, which is described."""
    make_bridge()
    span = find_option_range({option.name: option for option in fields(BridgeOptions)}[name])
    for value in OUT_OF_RANGE[name]:
        with pytest.raises(ParameterError) as caught:
            make_bridge({name: value}, namespace='other')
        assert str(span) in str(caught.value)
        assert caught.value.parameter == name
    (described,) = peer.describe([name])[name].floating_point_range
    assert described.from_value == span.least
    assert described.to_value == span.maximum
    assert str(span) in peer.describe([name])[name].additional_constraints


@pytest.mark.parametrize('text', ['nan', 'inf', '0', '-1.0', '1e300', '1e-9', 'turn'])
def test_wrap_period_out_of_range(peer, make_bridge, reference, capfd, text):
    """A period of no sense makes configure fail with the range."""
    make_bridge({'robot_description': reference.URDF, 'wrap_period': [f'winch={text}']})
    assert not peer.change_state('configure')
    output = capfd.readouterr().err
    assert "wrap_period of 'winch' cannot be accepted" in output
    assert '1e-06 to 1000000' in output
    assert (
        '1e-06 to 1000000' in peer.describe(['wrap_period'])['wrap_period'].additional_constraints
    )


def test_value_outside_the_shown_range(peer, active_bridge, lift_of):
    """A file may hold an offset beyond the range that is shown to tools, which then holds it."""
    offset = 'transmissions.hoist.joints.lift.offset'
    active_bridge({offset: 4e6})
    assert lift_of() == pytest.approx(2.0 / -4.0 + 4e6, rel=1e-15)
    (span,) = peer.describe([offset])[offset].floating_point_range
    assert span.to_value >= 4e6


@pytest.mark.versions
def test_unmatched_override(peer, active_bridge, capfd):
    """Overrides that match nothing are named in warnings, those that match are not."""
    names = (
        'transmissions.wrist.joints.rol.offset',
        'nonsense',
        'qos_overrides./joint_stats.publisher.depth',
    )
    active_bridge(
        {**dict.fromkeys(names, 1), ROLL: 0.2, 'qos_overrides./joint_states.publisher.depth': 7}
    )
    output = capfd.readouterr().err
    warned = [line for line in output.splitlines() if 'matches no parameter' in line]
    assert len(warned) == len(names)
    for name in names:
        assert any(f"'{name}'" in line for line in warned)


COLLIDING = """
<transmission name="t">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m1" role="actuator1"/>
  <joint name="x.joints.j" role="joint1"><mechanical_reduction>2.0</mechanical_reduction></joint>
</transmission>
<transmission name="t.joints.x">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m2" role="actuator1"/>
  <joint name="j" role="joint1"><mechanical_reduction>3.0</mechanical_reduction></joint>
</transmission>
<transmission name="s">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m3" role="actuator1"/>
  <joint name="with space" role="joint1"><mechanical_reduction>4.0</mechanical_reduction></joint>
</transmission>
"""


def test_names_that_cannot_be_parameters(peer, make_bridge, reference, robots, capfd):
    """Names that collide, or cannot stand in a file, are warned of, and the robot runs."""
    text = robots.urdf(('j', 'x.joints.j', 'with space'), COLLIDING)
    make_bridge({'robot_description': text})
    peer.start()
    output = capfd.readouterr().err
    for leaf in ('mechanical_reduction', 'offset'):
        assert f"'transmissions.t.joints.x.joints.j.{leaf}' cannot be a parameter" in output
        assert f"'transmissions.s.joints.with space.{leaf}' cannot be a parameter" in output
    names = peer.parameter_names('transmissions.')
    assert not [name for name in names if name.endswith(('offset', 'reduction'))]
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(('m1', 'm2', 'm3'), position=(12.0, 12.0, 12.0))
    (state,) = peer.exchange(driver, message, joints)
    assert dict(zip(state.names, state.position, strict=True)) == {
        'j': 4.0,
        'x.joints.j': 6.0,
        'with space': 3.0,
    }


def test_an_alias_of_no_type_is_a_warning(make_bridge, peer, reference, capfd):
    """An alias for a type that the robot does not have is warned of, one that is used is not."""
    simple = 'transmission_interface/SimpleTransmission'
    make_bridge(
        {
            'robot_description': reference.URDF.replace(simple, 'their/Gearbox'),
            'plugin_aliases': [f'their/Gearbox={simple}', f'their/Gearbax={simple}'],
        }
    )
    assert peer.change_state('configure')
    output = capfd.readouterr().err
    assert "no transmission uses the alias for 'their/Gearbax'" in output
    assert "the alias for 'their/Gearbox'" not in output


def test_a_number_that_is_hardly_meant_is_a_warning(make_bridge, peer, capfd):
    """The warnings of ``check`` are in the log at configure, which succeeds."""
    reduction = '<mechanicalReduction>1e7</mechanicalReduction>'
    make_bridge(
        {
            'robot_description': '<robot name="r"><transmission name="t">'
            '<type>transmission_interface/SimpleTransmission</type><joint name="j"/>'
            f'<actuator name="m">{reduction}</actuator></transmission></robot>'
        }
    )
    assert peer.change_state('configure')
    assert "the reduction of 'm' is implausible" in capfd.readouterr().err


@pytest.mark.versions
def test_parameter_file(meet, harness, reference, start_process, tmp_path):
    """Values of a real file arrive, including the words ``nan`` and ``off`` without quotes."""
    path = harness.parameter_file(
        tmp_path / 'bridge.yaml',
        {
            'robot_description': harness.quoted(reference.URDF),
            'unknown_joints': 'nan',
            'limits': 'off',
            'actuator_names': '[]',
            LIFT: '8.0',
            'transmissions.wrist.joints.roll.ofset': '1.0',
        },
    )
    process = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '--params-file', path
    )
    peer = meet('transmission_bridge')
    peer.start()
    assert peer.parameters(['unknown_joints', 'limits', LIFT]) == {
        'unknown_joints': 'nan',
        'limits': 'off',
        LIFT: 8.0,
    }
    assert process.stop() == 0
    assert "'transmissions.wrist.joints.roll.ofset' matches no parameter" in process.output
    assert 'Traceback' not in process.output


@pytest.mark.versions
@pytest.mark.parametrize('executor', available_executors())
def test_integers_from_a_file_and_the_command_line(
    meet, harness, reference, start_process, tmp_path, executor
):
    """Integers in a real file, behind ``-p`` and in requests are the numbers that are meant."""
    path = harness.parameter_file(
        tmp_path / 'bridge.yaml',
        {
            'robot_description': harness.quoted(reference.URDF),
            'state_timeout': '10',
            'zero_positions': '[0, 1]',
            LIFT: '8',
        },
    )
    process = start_process(
        'transmission_bridge.ros.bridge_main',
        *('--executor', executor, '--ros-args', '--params-file', path, '-p', f'{ROLL}:=1'),
    )
    peer = meet('transmission_bridge')
    peer.start()
    expected = {'state_timeout': 10.0, 'zero_positions': [0.0, 1.0], LIFT: 8.0, ROLL: 1.0}
    assert peer.parameters(list(expected)) == expected
    results = peer.set_each_parameter({LIFT: 5, 'zero_positions': [2, 3], ROLL: -1})
    assert [result.successful for result in results] == [True] * 3
    expected |= {'zero_positions': [2.0, 3.0], LIFT: 5.0, ROLL: -1.0}
    values = peer.parameters(list(expected))
    assert values == expected
    assert {type(values[LIFT]), *map(type, values['zero_positions'])} == {float}
    assert process.stop() == 0


@pytest.mark.parametrize(
    ('name', 'value', 'span'),
    [
        ('command_timeout', '1e300', '-1, 0, or 0.001 to 86400'),
        ('publish_rate', '1e-300', '0.01 to 10000'),
        ('zero_positions', '[.nan]', '-1000000 to 1000000'),
    ],
)
def test_out_of_range_on_the_command_line(start_process, name, value, span):
    """A number out of sense ends the process with its range and code 1, without a traceback."""
    process = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '-p', f'{name}:={value}'
    )
    assert process.ended() == 1
    assert f'{name} cannot be accepted (expected {span}, found' in process.output
    assert 'Traceback' not in process.output


def test_a_removed_parameter_is_an_error_that_names_its_successor(start_process):
    """The process ends with a sentence and code 1, without a traceback."""
    process = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '-p', 'tip_frames:=[hand]'
    )
    assert process.ended() == 1
    assert (
        'tip_frames was removed: use transmission_bridge.kinematics.JointDevice' in process.output
    )
    assert 'Traceback' not in process.output


@pytest.mark.versions
def test_parameter_file_with_a_wrong_type(harness, start_process, tmp_path):
    """A structural parameter of the wrong type ends the process with a sentence and code 1."""
    path = harness.parameter_file(tmp_path / 'bridge.yaml', {'state_timeout': "'10'"})
    process = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '--params-file', path
    )
    assert process.ended() == 1
    assert "state_timeout has the wrong type (expected a number, found '10')" in process.output
    assert 'Traceback' not in process.output


#: Names of nodes as a parameter file may give them.
NODES = (
    '/**',
    'b',
    '/b',
    'left/b',
    '/left: {b: %s}',
    '/*/b',
    '/**/b',
    '/*',
    '/left/*',
    '/left/**',
)
NODES += ('"*"', '"**"', '/right/b', 'right: {"**": %s}', '/left', '/left/arm/c')


@pytest.mark.versions
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
        told = list(find_unused_parameter_files(arguments, node.get_fully_qualified_name()))
        is_used = node.has_parameter('x')
        node.destroy_node()
        assert bool(told) != is_used, name


def test_the_names_in_a_file_for_other_nodes(start_process, tmp_path):
    """The node starts and reports the found and the expected names of the file."""
    path = tmp_path / 'bridge.yaml'
    path.write_text('left:\n  transmission_bridge: {ros__parameters: {autostart: true}}')
    process = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '--params-file', path
    )
    process.wait_for(
        f"parameter file '{path}' is not used: expected parameters of '/transmission_bridge' or "
        "'/**', found parameters of '/left/transmission_bridge'"
    )
