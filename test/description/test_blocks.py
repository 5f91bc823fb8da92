# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ros2_control blocks: hardware, properties, components, and how they agree with the URDF."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from transmission_bridge.description import load_description, ParameterSpec, Ros2ControlSpec
from transmission_bridge.errors import DescriptionError

HW = 'name="hw" type="system"'
GOOD = (
    '<transmission name="good"><plugin>T</plugin><joint name="j3" role="joint1"/>'
    '<actuator name="a3" role="actuator1"/></transmission>'
)


def values(parameters: tuple[ParameterSpec, ...]) -> dict[str, str]:
    """Return parameters as a dictionary."""
    return {parameter.name: parameter.value for parameter in parameters}


def only_block(text: str) -> Ros2ControlSpec:
    """Load a robot without findings and return its only block."""
    robot = load_description(text)
    assert robot.findings == ()
    (block,) = robot.blocks
    return block


def test_everything_of_a_block_is_read(block: Callable[..., str]) -> None:
    """Attributes, hardware, parameters and the async properties arrive as written."""
    spec = only_block(
        block(
            '<hardware><plugin>\n some/Hardware </plugin><group>arm</group>'
            '<param name="port">/dev/tty0</param><param name="empty"/></hardware>'
            '<properties><async affinity="[2,4]" scheduling_policy="detached"'
            ' thread_priority="30" print_warnings="False"/></properties>',
            attributes='name="hw" type="system" rw_rate="250" is_async="TRUE" thread_priority="7"',
        )
    )
    assert (spec.name, spec.type, spec.plugin, spec.group) == (
        'hw',
        'system',
        'some/Hardware',
        'arm',
    )
    assert (spec.rw_rate, spec.is_async) == (250, True)
    assert values(spec.parameters) == {'port': '/dev/tty0', 'empty': ''}
    assert dict(spec.properties) == {
        'affinity': '[2,4]',
        'scheduling_policy': 'detached',
        'thread_priority': '30',
        'print_warnings': 'False',
    }


def test_components_and_interfaces_are_read(block: Callable[..., str]) -> None:
    """Joints, sensors and gpios keep interfaces, bounds, sizes, types and parameters."""
    spec = only_block(
        block(
            '<sensor name="ft"><state_interface name="force.x" data_type="float32" size="2"/>'
            '<param name="frame">tool</param></sensor>'
            '<gpio name="valve"><command_interface name="open" data_type="bool">'
            '<param name="initial_value">false</param></command_interface></gpio>',
            components='<joint name="j1" mimic="false"><limits enable="true"/>'
            '<command_interface name="position"><param name="min">-1</param>'
            '<param name="max"> 1e0 </param><param name="initial_value">0.5</param>'
            '<param name="custom">x</param></command_interface>'
            '<command_interface name="velocity"><limits enable="false"/></command_interface>'
            '<state_interface name="position"/></joint>',
        )
    )
    joint, sensor, gpio = spec.components
    assert spec.component('j1') is joint
    assert spec.component('ft', 'sensor') is sensor
    assert spec.component('ft') is None
    assert (joint.kind, joint.mimic, joint.limits_enabled) == ('joint', False, True)
    position, velocity = joint.command_interfaces
    assert (position.min, position.max, position.initial_value) == (-1.0, 1.0, '0.5')
    assert values(position.parameters)['custom'] == 'x'
    assert (position.size, position.data_type, position.limits_enabled) == (1, 'double', True)
    assert velocity.limits_enabled is False
    assert (velocity.min, velocity.max, velocity.initial_value) == (None, None, None)
    (force,) = sensor.state_interfaces
    assert (force.name, force.size, force.data_type) == ('force.x', 2, 'float32')
    assert values(sensor.parameters) == {'frame': 'tool'}
    assert gpio.command_interfaces[0].initial_value == 'false'


TOPIC_BASED = (
    'joint_state_topic_hardware_interface/JointStateTopicSystem',
    'topic_based_ros2_control/TopicBasedSystem',
)
#: Commands of each kind, two of them without their state.
LACKING = (
    '<joint name="j1"><command_interface name="position"/><command_interface name="velocity"/>'
    '<command_interface name="effort"/><command_interface name="acceleration"/>'
    '<state_interface name="position"/></joint>'
    '<joint name="j2"><state_interface name="position"/><state_interface name="effort"/></joint>'
    '<gpio name="j3"><command_interface name="position"/></gpio>'
)


@pytest.mark.parametrize('plugin', TOPIC_BASED)
def test_topic_based_hardware_needs_the_state_of_what_it_commands(
    block: Callable[..., str], plugin: str
) -> None:
    """Its write() throws without one: a warning for each joint names the interface to add."""
    hardware = f'<hardware><plugin>{plugin}</plugin></hardware>'
    text = block(hardware, components='\n' + LACKING)
    (finding,) = load_description(text).findings
    assert (finding.severity, finding.subject) == ('warning', 'j1')
    assert finding.path == '/robot/ros2_control/joint[1]'
    assert finding.expected == (
        '<state_interface name="velocity"/> and <state_interface name="effort"/>'
    )
    with pytest.raises(DescriptionError, match="joint 'j1' cannot be commanded"):
        load_description(text, strict=True)
    states = ''.join(f'<state_interface name="{name}"/>' for name in ('velocity', 'effort'))
    whole = LACKING.replace('</joint>', states + '</joint>', 1)
    assert only_block(block(hardware, components=whole)).plugin == plugin


@pytest.mark.parametrize(
    'plugin',
    ['some/Hardware', 'joint_command_topic_hardware_interface/JointCommandTopicSystem'],
)
def test_other_hardware_needs_no_state(block: Callable[..., str], plugin: str) -> None:
    """A command without a state has no finding if the hardware does not compare."""
    hardware = f'<hardware><plugin>{plugin}</plugin></hardware>'
    assert only_block(block(hardware, components=LACKING)).plugin == plugin


def test_disabled_limits_of_a_joint_reach_its_interfaces(block: Callable[..., str]) -> None:
    """An interface has limits only if its joint has them too."""
    spec = only_block(
        block(
            components='<joint name="j1"><limits enable="false"/>'
            '<command_interface name="position"><limits enable="true"/></command_interface>'
            '</joint>'
        )
    )
    assert spec.components[0].command_interfaces[0].limits_enabled is False


@pytest.mark.parametrize(
    ('attributes', 'inside', 'path', 'message'),
    [
        ('type="system"', '', '', 'without a name'),
        ('name="hw"', '', '', 'without a type'),
        ('HW rw_rate="-50"', '', '', 'rw_rate'),
        ('HW rw_rate="d 50"', '', '', 'rw_rate'),
        ('HW rw_rate="50abc"', '', '', 'rw_rate'),
        ('HW rw_rate="12345678901"', '', '', 'rw_rate'),
        ('HW is_async="yes"', '', '', 'is_async'),
        ('HW is_async="true" thread_priority="-30"', '', '', 'thread_priority'),
        ('', '<hardware/>', '/hardware', 'no plugin'),
        ('', '<hardware><plugin/></hardware>', '/hardware', 'no plugin'),
        (
            '',
            '<hardware><plugin>P</plugin><param>1</param></hardware>',
            '/hardware/param',
            '<param>',
        ),
        (
            '',
            '<properties><async thread_priority="x"/></properties>',
            '/properties/async',
            'priority',
        ),
        (
            '',
            '<properties><async print_warnings="x"/></properties>',
            '/properties/async',
            'warnings',
        ),
        ('', '<transmision name="t"/>', '/transmision', 'unknown element'),
        ('', '<sensor/>', '/sensor', '<sensor> without a name'),
        (
            '',
            '<gpio name="g"><state_interface/></gpio>',
            '/gpio/state_interface',
            'without a name',
        ),
        ('', '<sensor name="s"><limits/></sensor>', '/sensor/limits', 'without enable'),
        ('', '<sensor name="s"><limits enable="1"/></sensor>', '/sensor/limits', 'enable'),
        (
            '',
            '<gpio name="g"><state_interface name="i" size="-4"/></gpio>',
            '/gpio/state_interface',
            'size',
        ),
        (
            '',
            '<gpio name="g"><state_interface name="i" size="ILLEGAL"/></gpio>',
            '/gpio/state_interface',
            'size',
        ),
        ('', '<joint name="x" mimic="maybe"/>', '/joint[5]', 'mimic'),
    ],
)
def test_a_fault_of_the_block_does_not_cost_its_transmissions(
    block: Callable[..., str], attributes: str, inside: str, path: str, message: str
) -> None:
    """It is one error with its place, and the block's transmissions load."""
    text = block(inside, GOOD, attributes=attributes.replace('HW', HW) or HW)
    loaded = load_description(text)
    (error,) = loaded.errors
    assert error.path == f'/robot/ros2_control{path}'
    assert message in error.message
    assert error.expected
    assert error.found
    assert [each.name for each in loaded.transmissions] == ['good']
    with pytest.raises(DescriptionError):
        load_description(text, strict=True)


@pytest.mark.parametrize(
    ('inside', 'message'),
    [
        ('<gpio name="g"><command_interface name="i" initial_value="1"/></gpio>', 'initial_value'),
        (
            '<gpio name="g"><command_interface name="i"><param name="min">a</param>'
            '</command_interface></gpio>',
            'min is not usable',
        ),
        ('<gpio name="g"/><gpio name="g"/>', 'declared twice'),
        ('<gpio name="g"><param name="p">1</param><param name="p">2</param></gpio>', 'last one'),
        (
            '<hardware><plugin>A</plugin></hardware><hardware><plugin>B</plugin></hardware>',
            'last one is used',
        ),
    ],
)
def test_ignored_data_are_warnings_that_strict_mode_refuses(
    block: Callable[..., str], inside: str, message: str
) -> None:
    """Unused data are reported and have no effect."""
    loaded = load_description(block(inside, GOOD))
    (finding,) = loaded.findings
    assert finding.severity == 'warning'
    assert message in finding.message
    assert len(loaded.transmissions) == 1
    with pytest.raises(DescriptionError):
        load_description(block(inside, GOOD), strict=True)


def test_two_blocks_of_one_name_are_a_warning(robot: Callable[..., str]) -> None:
    """The resource manager refuses the second; here both are read."""
    one = '<ros2_control name="hw" type="sensor"/>'
    loaded = load_description(robot(one, one))
    assert len(loaded.blocks) == 2
    (finding,) = loaded.findings
    assert finding.path == '/robot/ros2_control[2]'


MIMIC = (
    '<joint name="j1" type="continuous"><parent link="l0"/><child link="l1"/></joint>'
    '<joint name="j2" type="continuous"><parent link="l1"/><child link="l2"/>'
    '<mimic joint="j1"/></joint>'
    '<joint name="j3" type="fixed"><parent link="l2"/><child link="l3"/></joint>'
    '<joint name="j4" type="continuous"><parent link="l3"/><child link="l4"/></joint>'
)
STATE = '<state_interface name="position"/>'
COMMAND = '<command_interface name="position"/>'


@pytest.mark.parametrize(
    ('components', 'severity', 'message'),
    [
        ('<joint name="j1"/><joint name="j2"/>', None, ''),
        ('<joint name="j1"/><joint name="j2" mimic="true"/>', None, ''),
        (f'<joint name="j2" mimic="false">{COMMAND}</joint>', None, ''),
        ('<joint name="j1" mimic="true"/>', 'error', "'j1' mimics nothing"),
        (
            f'<joint name="j1"/><joint name="j2">{COMMAND}</joint>',
            'warning',
            'cannot be commanded',
        ),
        ('<joint name="j2"/>', 'warning', 'another block'),
        ('<joint name="ghost"/>', 'warning', "no joint 'ghost'"),
        ('<joint name="j3"/>', 'warning', 'cannot be controlled'),
    ],
)
def test_joints_of_a_block_agree_with_the_urdf(
    block: Callable[..., str], components: str, severity: str | None, message: str
) -> None:
    """Each rule of ros2_control about mimic, fixed and unknown joints is one finding."""
    text = block(components=components, joints=MIMIC)
    findings = load_description(text).findings
    if severity is None:
        assert findings == ()
        return
    (finding,) = findings
    assert finding.severity == severity
    assert message in finding.message
    with pytest.raises(DescriptionError):
        load_description(text, strict=True)
