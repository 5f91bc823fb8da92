# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that are probably mistakes, and commands that would have no end."""

import math

from hypothesis import example, given, strategies as st
import numpy as np
import pytest
from world import World
from zoo.elements import load, params, ratio, transmission, urdf

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge import implausible
from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeInspector,
    compute_measured_limits,
    describe_joints_beyond,
    TopicPeers,
)
from transmission_bridge.bridge.diagnostics.status import OK, WARN
from transmission_bridge.bridge.implausible import warn_of_implausible_numbers
from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.bridge.robot_facts import list_command_timeouts
from transmission_bridge.resources import resource


def findings_of(joint, *, inside='', units='', more=''):
    """
    Return the findings of a robot with a simple transmission of ``hinge``.

    :param joint: Type and limits of the joint.
    :param inside: Content of the joint in the transmission.
    :param units: Units of the driver.
    :param more: Further joints.
    """
    given = transmission('t', 'Simple', {'hinge': inside}, {'motor': params(**units or {})})
    text = urdf({'hinge': joint}, given).replace('<ros2_control', f'{more}\n<ros2_control', 1)
    robot, lines = load(text), text.splitlines()
    assert (list(robot.transmissions), robot.findings) == (['t'], ())
    found = warn_of_implausible_numbers(robot)
    for finding in found:
        assert finding.severity == 'warning'
        name = finding.message.split("'")[1]
        assert f'<joint name="{name}"' in lines[finding.line - 1]
    return [(finding.message.split("'")[2], finding.found) for finding in found]


@given(
    offset=st.floats(-400.0, 400.0) | st.integers(-4096, 4096).map(float),
    kind=st.sampled_from(['revolute', 'prismatic', 'continuous']),
    units=st.sampled_from([{}, {'position_unit': 'tick', 'ticks_per_turn': 4096}]),
)
@example(2048.0, 'revolute', {})
@example(2061.0, 'revolute', {'position_unit': 'tick', 'ticks_per_turn': 4096})
def test_an_offset_in_another_unit_is_warned_of(offset, kind, units):
    """More than a turn or 4 m is a warning; an integer is in ticks if the driver counts them."""
    units = {} if kind == 'prismatic' else units
    joint = f'{kind} lower="-1" upper="1" velocity="1" effort="1"'
    found = findings_of(joint, inside=f'<offset>{offset!r}</offset>', units=units)
    assert len(found) == (abs(offset) > (4.0 if kind == 'prismatic' else math.tau))
    for text, value in found:
        in_ticks = bool(units) and offset.is_integer()
        assert ('in ticks' in text) == in_ticks
        assert float(value.split('; ')[0].split()[0]) == pytest.approx(offset, rel=1e-5)
        # Nobody has degrees beyond a turn; 2048 is the middle of a servo.
        in_ticks |= kind != 'prismatic' and abs(offset) > 360.0 and offset.is_integer()
        factor = math.tau / 4096 if in_ticks else 1e-3 if kind == 'prismatic' else math.radians(1)
        assert float(value.split()[-2]) == pytest.approx(offset * factor, rel=1e-5)


@pytest.mark.parametrize(
    ('joint', 'found'),
    [
        ('revolute lower="-110" upper="110"', ['-110 rad; -110 degrees are -1.91986 rad']),
        ('prismatic lower="0" upper="85"', ['85 m; 85 mm are 0.085 m']),
        ('prismatic lower="0" upper="100"', ['100 m; 100 mm are 0.1 m']),
        # Several turns, long rails, and no limit in effect.
        ('revolute lower="-9.42" upper="10"', []),
        ('revolute lower="-1e16" upper="1e16"', []),
        ('revolute lower="-100" upper="100"', []),
        ('prismatic lower="0" upper="12"', []),
        ('continuous lower="-110" upper="110"', []),
        # Limits that were not filled in.
        ('revolute lower="0" upper="0"', ['0 twice']),
        ('revolute lower="0" upper="1" velocity="0" effort="0"', ['0', '0']),
    ],
)
def test_limits_in_another_unit_or_without_a_use_are_warned_of(joint, found):
    """The warning is at the joint, with the value in the other unit."""
    for name in ('velocity', 'effort'):
        joint += '' if name in joint else f' {name}="1"'
    assert [value for _, value in findings_of(joint)] == found


@given(
    st.floats(-2.0, 2.0).filter(bool),
    st.floats(-1.0, 1.0),
    st.floats(-3.0, 0.0),
    st.floats(0.1, 3.0),
)
def test_a_joint_that_leaves_its_limits_by_mimic_is_warned_of(multiplier, offset, lower, upper):
    """Its limits contain its positions at the limits of the joint that it follows."""
    joint = '<joint name="finger" type="revolute"><parent link="base"/><child link="tip"/>'
    joint += f'<mimic joint="hinge" multiplier="{multiplier!r}" offset="{offset!r}"/>'
    joint += f'<limit lower="{lower!r}" upper="{upper!r}" velocity="1" effort="1"/></joint>'
    hinge = 'revolute lower="0" upper="0.8" velocity="1" effort="1"'
    found = findings_of(hinge, more=f'<link name="tip"/>{joint}')
    ends = offset, offset + 0.8 * multiplier
    excess = max(lower - min(ends), max(ends) - upper)
    assert bool(found) is (excess > 1e-4)


@pytest.mark.parametrize('name', ['arm.urdf', 'arm_ros1.urdf', 'one_joint.urdf'])
def test_a_usual_robot_is_not_warned_of(name):
    """The robots of this package have nothing implausible."""
    assert warn_of_implausible_numbers(load(resource('urdf', name))) == ()


# -- topic-based hardware components -------------------------------------------------------------

TOPIC_BASED = 'joint_state_topic_hardware_interface/JointStateTopicSystem'


def cart(threshold=None, interface='velocity', plugin=TOPIC_BASED, second=''):
    """Return a cart; a threshold belongs to its component, a second interface to its wheel."""
    text = urdf(('wheel', 'lift'), plugin=plugin)
    if threshold is not None:
        inside = params(trigger_joint_command_threshold=threshold)
        text = text.replace('</hardware>', f'{inside}</hardware>')
    for name, own in (('wheel', interface), ('lift', 'position')):
        both = f'<command_interface name="{own}"/><state_interface name="{own}"/>'
        if second:
            other = second if name == 'wheel' else 'acceleration'
            both += f'<command_interface name="{other}"/>'
        text = text.replace(f'<joint name="{name}"/>', f'<joint name="{name}">{both}</joint>')
    return load_description(text)


@pytest.mark.parametrize('interface', ['velocity', 'effort'])
@pytest.mark.parametrize(
    ('timeout', 'words'),
    [
        (-1.0, 'continue when the controller manager stops'),
        (0.0, 'continue when the controller manager stops'),
        (0.3, 'end though their controller continues'),
    ],
)
@pytest.mark.parametrize('threshold', [None, '0', '1e-5', 'wrong'])
def test_a_component_that_is_silent_at_its_target(threshold, timeout, words, interface):
    """It is warned of: its velocities and efforts continue when it stops, or end meanwhile."""
    (finding,) = implausible.warn_of_endless_commands(cart(threshold, interface), timeout)
    assert (finding.severity, finding.line) == ('warning', 4)
    assert f"of 'wheel' {words}" in finding.message
    assert "component 'hardware' sends nothing" in finding.message
    assert '<param name="trigger_joint_command_threshold">-1</param>' in finding.expected
    assert ('zero_effort' in finding.expected) == (interface == 'effort')
    assert finding.found == f'a threshold of {0 if threshold == "0" else 1e-5:g}'


@pytest.mark.parametrize(
    ('given', 'timeout', 'found'),
    [
        # With threshold -1 only a timeout of 0 is warned of.
        ({'threshold': '-1'}, 0.3, []),
        ({'threshold': '-1'}, 0.0, ['command_timeout: 0.0']),
        # Positions are held, and other hardware is not on these topics.
        ({'interface': 'position'}, 0.0, []),
        ({'plugin': 'some/Hardware'}, 0.0, []),
    ],
)
def test_a_component_that_repeats_needs_a_timeout(given, timeout, found):
    """Others are not warned of."""
    findings = implausible.warn_of_endless_commands(cart(**given), timeout)
    assert [each.found for each in findings] == found


@pytest.mark.parametrize(('plugin', 'number'), [(TOPIC_BASED, 1), ('some/Hardware', 0)])
def test_several_command_interfaces_are_warned_of(plugin, number):
    """Topic-based hardware sends those that a message has beside each other."""
    findings = implausible.warn_of_several_interfaces(cart(None, 'position', plugin, 'velocity'))
    assert [each.found for each in findings] == ["position and velocity of 'wheel'"] * number


@pytest.mark.parametrize(('threshold', 'timeout'), [(None, 0.0), ('0', 0.0), ('-1', 0.5)])
def test_the_timeout_by_default(threshold, timeout):
    """It is never if the component is silent at its target, as for any robot if it repeats."""
    robot = RobotTransmissions(cart(threshold))
    assert list_command_timeouts(robot, -1.0) == [timeout] * 2
    assert list_command_timeouts(robot, 2.0) == [2.0] * 2


@pytest.mark.parametrize(
    ('plugin', 'named', 'own', 'number'),
    [
        (TOPIC_BASED, {}, {}, 0),
        (TOPIC_BASED, {'joint_states_topic': '/left/a', 'joint_commands_topic': 'b'},
         {'joint_states': '/left/a', 'joint_commands': '/left/b'}, 0),
        (TOPIC_BASED, {'joint_states_topic': '/a'}, {'joint_states': '/left/a'}, 1),
        # Exchanged, or the names of the bridge were not remapped: both.
        (TOPIC_BASED, {'joint_states_topic': '/b', 'joint_commands_topic': '/a'},
         {'joint_states': '/a', 'joint_commands': '/b'}, 2),
        ('x/JointCommandTopicSystem', {'joint_commands_topic': 'b'},
         {'joint_commands/position': '/b/position', 'joint_commands': '/c'}, 0),
        ('x/JointCommandTopicSystem', {'joint_commands_topic': 'b'}, {}, 1),
    ],
)  # fmt: skip
def test_other_topics_of_a_component_are_warned_of(plugin, named, own, number):
    """Each topic that the component names and the bridge does not have is one warning."""
    block = f'<ros2_control name="{{}}" type="system"><hardware><plugin>{plugin}</plugin>'
    block += f'{params(**named)}</hardware></ros2_control>'
    robot = load_description(f'<robot name="r">{block.format("x")}{block.format("y")}</robot>')
    findings = implausible.warn_of_other_topics(robot, lambda topic: own.get(topic, f'/{topic}'))
    assert [each.subject for each in findings] == ['x'] * number + ['y'] * number
    for finding in findings:
        assert finding.severity == 'warning'
        assert finding.found.removesuffix('/position') in named.values()


# -- measurements in wrong units ------------------------------------------------------------------

#: Type and limits of a joint.
LIMIT = 'revolute lower="-1" upper="1" velocity="2" effort="1"'


@given(st.floats(-5.0, 5.0), st.floats(0.0, 5.0), st.floats(-20.0, 20.0))
def test_a_joint_beyond_its_limits_is_a_trouble_with_both_numbers(lower, extent, position):
    """More than 1 % of the range and 0.001 beyond: position and limits are in the sentence."""
    limits = np.array([[lower], [lower + extent]])
    found = describe_joints_beyond(['j'], np.array([position]), limits)
    beyond = max(lower - position, position - lower - extent)
    if abs(beyond - max(0.01 * extent, 1e-3)) > 1e-9:
        assert bool(found) is (beyond > max(0.01 * extent, 1e-3))
    for words in found.values():
        assert all(f'{number:.4g}' in words for number in (position, lower, lower + extent))
    for at, ends in ((position, np.array([[-math.inf], [math.inf]])), (math.nan, limits)):
        assert not describe_joints_beyond(['j'], np.array([at]), ends)


@pytest.mark.parametrize(
    ('inside', 'limits'),
    [
        ('', [-1.0, 1.0]),
        # A command is limited further, a measurement is not.
        ('<command_interface name="position"><param name="max">0.5</param></command_interface>',
         [-1.0, 1.0]),
        ('<limits enable="false"/><command_interface name="position"/>', [-math.inf, math.inf]),
    ],
)  # fmt: skip
def test_limits_of_measurements(inside, limits):
    """They are the URDF's, unless the hardware disables them."""
    text = urdf({'j': LIMIT}, transmission('t', 'Simple', ['j'], ['m']))
    text = text.replace('<joint name="j"/>', f'<joint name="j">{inside}</joint>', 1)
    assert compute_measured_limits(load(text))[:, 0].tolist() == limits


def test_two_looks_beyond_a_limit_are_a_warning():
    """A joint has to be beyond its limit at two looks, one after the other."""
    gear = transmission('t', 'Simple', {'j': ratio(10)}, ['m'])
    world, found = World(urdf({'j': LIMIT}, gear)), []
    watch = BridgeInspector(world.bridge, {'s': TopicStatistics('s')}, ['s'], {}, [])
    for position in (9.0, 11.0, 9.0, 9.0, 9.0, 9.0, 9.0, 11.0, 9.0, 11.0, 11.0, 10.05):
        world.now += 1.0
        world.state(['m'], 's', position=[position], velocity=[0.0])
        found.append(world.inspect(watch, inputs={'s': TopicPeers('/s')})['joints'])
    assert [each.level for each in found] == [OK] * 10 + [WARN, OK]
    assert [fact.key for fact in found[-2].facts if fact.level] == ['position of j']
