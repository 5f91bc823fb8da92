# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""ros2_control blocks: hardware, properties, components, and how they agree with the URDF."""

import pytest
from zoo.four_joints import block, find_only, JOINTS, load, load_clean, read_table, robot, ros2


def values(parameters):
    """Return parameters as a dictionary."""
    return {parameter.name: parameter.value for parameter in parameters}


def test_everything_of_a_block_is_read():
    """Attributes, hardware and parameters arrive as written; options of threads are left."""
    text = block(
        '<hardware><plugin>\n some/Hardware </plugin><group>arm</group>'
        '<param name="port">/dev/tty0</param><param name="empty"/></hardware>'
        '<properties><async affinity="[2,4]" scheduling_policy="detached"'
        ' thread_priority="30" print_warnings="False"/></properties>',
        attributes='name="hw" type="system" rw_rate="250" is_async="TRUE" thread_priority="7"',
    )
    (spec,) = load_clean(text).blocks
    assert (spec.name, spec.type) == ('hw', 'system')
    assert (spec.plugin, spec.group) == ('some/Hardware', 'arm')
    assert (spec.rw_rate, spec.is_async) == (250, True)
    assert values(spec.parameters) == {'port': '/dev/tty0', 'empty': ''}


def test_components_and_interfaces_are_read():
    """Joints, sensors and gpios keep interfaces, bounds, sizes, types and parameters."""
    text = block(
        '<sensor name="ft"><state_interface name="force.x" data_type="float32" size="2"/>'
        '<param name="frame">tool</param></sensor>'
        '<gpio name="valve"><command_interface name="open" data_type="bool">'
        '<param name="initial_value">false</param></command_interface></gpio>',
        components='<joint name="j1" mimic="false"><command_interface name="position">'
        '<param name="max"> 1e0 </param><param name="initial_value">0.5</param>'
        '<param name="custom">x</param><limits enable="false"/></command_interface></joint>'
        '<joint name="j2"><limits enable="false"/>'
        '<command_interface name="position"><limits enable="true"/></command_interface></joint>',
    )
    (spec,) = load_clean(text).blocks
    joint, limitless, sensor, gpio = spec.components
    assert spec.component('j1') is joint
    assert (spec.component('ft', 'sensor'), spec.component('ft')) == (sensor, None)
    assert (joint.kind, joint.mimic, joint.limits_enabled) == ('joint', False, True)
    (position,) = joint.command_interfaces
    assert (position.max, position.initial_value, position.limits_enabled) == (1.0, '0.5', False)
    assert values(position.parameters)['custom'] == 'x'
    # An interface has limits only if its joint has them too.
    assert limitless.command_interfaces[0].limits_enabled is False
    (force,) = sensor.state_interfaces
    assert (force.name, force.size, force.data_type) == ('force.x', 2, 'float32')
    assert values(sensor.parameters) == {'frame': 'tool'}
    assert gpio.command_interfaces[0].initial_value == 'false'


#: Commands of each kind, two of them without their state.
LACKING = (
    '<joint name="j1"><command_interface name="position"/><command_interface name="velocity"/>'
    '<command_interface name="effort"/><command_interface name="acceleration"/>'
    '<state_interface name="position"/></joint>'
    '<joint name="j2"><state_interface name="position"/><state_interface name="effort"/></joint>'
    '<gpio name="j3"><command_interface name="position"/></gpio>'
)
STATES = '<state_interface name="velocity"/> and <state_interface name="effort"/>'


@pytest.mark.parametrize(('plugin', 'expected'), [
    ('joint_state_topic_hardware_interface/JointStateTopicSystem', [STATES]),
    ('topic_based_ros2_control/TopicBasedSystem', [STATES]),
    ('joint_command_topic_hardware_interface/JointCommandTopicSystem', []),
    ('some/Hardware', []),
])  # fmt: skip
def test_topic_based_hardware_needs_the_state_of_what_it_commands(plugin, expected):
    """Its write() throws without one: a warning for each joint names the interface to add."""
    hardware = f'<hardware><plugin>{plugin}</plugin></hardware>'
    states = STATES.replace(' and ', '')
    load_clean(block(hardware, components=LACKING.replace('</joint>', states + '</joint>', 1)))
    findings = load(block(hardware, components=LACKING)).findings
    assert [finding.expected for finding in findings] == expected
    for finding in findings:
        assert (finding.severity, finding.subject) == ('warning', 'j1')
        assert "joint 'j1' cannot be commanded" in finding.message
        assert finding.path == '/robot/ros2_control/joint[1]'


#: Attributes of the block, what stands in it, level, path below the block, and the message.
FAULTS = read_table("""
type="system" | | error | | without a name
name="hw" | | error | | without a type
HW rw_rate="-50" | | error | | rw_rate
HW rw_rate="12345678901" | | error | | rw_rate
HW is_async="yes" | | error | | is_async
HW | <hardware/> | error | /hardware | no plugin
HW | <hardware><plugin/></hardware> | error | /hardware | no plugin
HW | <hardware><plugin>P</plugin><param>1</param></hardware> | error | /hardware/param | <param>
HW | <transmision name="t"/> | error | /transmision | unknown element
HW | <sensor/> | error | /sensor | <sensor> without a name
HW | <gpio name="g"><state_interface/></gpio> | error | /gpio/state_interface | without a name
HW | <sensor name="s"><limits/></sensor> | error | /sensor/limits | without enable
HW | <sensor name="s"><limits enable="1"/></sensor> | error | /sensor/limits | enable
HW | <gpio name="g"><I name="i" size="-4"/></gpio> | error | /gpio/state_interface | size
HW | <joint name="x" mimic="maybe"/> | error | /joint[5] | mimic
HW | <gpio name="g"><I name="i" initial_value="1"/></gpio> | warning | * | initial_value
HW | <gpio name="g"><I name="i"><param name="min">a</param></I></gpio> | warning | * | min cannot
HW | <gpio name="g"/><gpio name="g"/> | warning | * | declared twice
HW | <gpio name="g"><P name="p">1</P><P name="p">2</P></gpio> | warning | * | last one
HW | <H>A</H><H>B</H> | warning | * | last one is used
""")
SHORT = {
    'HW': 'name="hw" type="system"',
    '<I': '<state_interface',
    '</I>': '</state_interface>',
    '<P': '<param',
    '</P>': '</param>',
    '<H>': '<hardware><plugin>',
    '</H>': '</plugin></hardware>',
}


@pytest.mark.parametrize(('attributes', 'inside', 'level', 'path', 'said'), FAULTS)
def test_a_fault_of_the_block_does_not_cost_its_transmissions(
    attributes, inside, level, path, said
):
    """It is one finding with its place, and the block's transmissions load."""
    for short, long in SHORT.items():
        attributes, inside = attributes.replace(short, long), inside.replace(short, long)
    loaded = load(block(inside, ros2('good', 'j3', 'a3'), attributes=attributes))
    (finding,) = (each for each in loaded.findings if each.severity == level)
    assert finding.fatal_if_strict
    assert path == '*' or finding.path == f'/robot/ros2_control{path}'
    assert said in finding.message
    assert finding.expected
    assert finding.found
    assert [each.name for each in loaded.transmissions] == ['good']


def test_two_blocks_of_one_name_are_a_warning():
    """The resource manager refuses the second; here both are read."""
    one = '<ros2_control name="hw" type="sensor"/>'
    loaded, finding = find_only(robot(one, one))
    assert len(loaded.blocks) == 2
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert finding.path == '/robot/ros2_control[2]'


#: j2 mimics j1, and j3 is fixed.
MIMIC = JOINTS.replace('<parent link="l1"/>', '<parent link="l1"/><mimic joint="j1"/>').replace(
    'name="j3" type="revolute"', 'name="j3" type="fixed"'
)


@pytest.mark.parametrize(('components', 'level', 'said'), read_table("""
<joint name="j1"/><joint name="j2"/> | |
<joint name="j1"/><joint name="j2" mimic="true"/> | |
<joint name="j2" mimic="false">COMMAND</joint> | |
<joint name="j1" mimic="true"/> | error | 'j1' mimics nothing
<joint name="j1"/><joint name="j2">COMMAND</joint> | warning | cannot be commanded
<joint name="j2"/> | warning | another block
<joint name="ghost"/> | warning | no joint 'ghost'
<joint name="j3"/> | warning | cannot be controlled
"""))  # fmt: skip
def test_joints_of_a_block_agree_with_the_urdf(components, level, said):
    """Each rule of ros2_control about mimic, fixed and unknown joints is one finding."""
    components = components.replace('COMMAND', '<command_interface name="position"/>')
    findings = load(block(components=components, joints=MIMIC)).findings
    expected = [(level, True)] if level else []
    assert [(each.severity, each.fatal_if_strict) for each in findings] == expected
    assert all(said in each.message for each in findings)
