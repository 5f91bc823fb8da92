# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers of transmissions that are rather a slip, and commands that would have no end."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo.elements import load, params, ratio, transmission, urdf

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge import topic_based
from transmission_bridge.bridge.implausible_numbers import warn_of_implausible_numbers
from transmission_bridge.bridge.robot_plan import list_command_timeouts
from transmission_bridge.resources import resource

HALF_TURN = 'revolute lower="-3.14" upper="3.14"'


def findings_of(kind, *, joints=('',), actuators=('',), more='', joint=HALF_TURN, velocity=1.0):
    """
    Return the findings of a robot with one transmission.

    :param joints: What stands in the joints; actuators the same.
    :param joint: Type and ends of the joints.
    """
    members = (
        {f'{side}_{place}': text for place, text in enumerate(inside, 1)}
        for side, inside in (('joint', joints), ('actuator', actuators))
    )
    names = [f'joint_{place}' for place in range(1, len(joints) + 1)]
    limits = dict.fromkeys(names, f'{joint} velocity="{velocity}" effort="1"')
    text = urdf(limits, transmission('t', kind, *members, more))
    robot, lines = load(text), text.splitlines()
    assert (list(robot.transmissions), robot.findings) == (['t'], ())
    found = warn_of_implausible_numbers(robot)
    for finding in found:
        assert finding.severity == 'warning'
        at_joint = finding.path.startswith('/robot/joint')
        assert at_joint or finding.path.startswith('/robot/ros2_control/transmission')
        assert finding.subject == ('joint_1' if at_joint else 't')
        for name in finding.message.split("'")[1::2]:
            assert f'name="{name.rpartition(".")[2]}"' in lines[finding.line - 1]
    return found


@given(st.floats(-9.0, 9.0).map(lambda exponent: 10.0**exponent), st.sampled_from([-1.0, 1.0]))
def test_a_reduction_beyond_gears_is_warned_of_where_it_stands(magnitude, sign):
    """A reduction outside 1e-4 to 1e5, of either sign, is one warning at the joint that has it."""
    found = findings_of('Simple', joints=[ratio(repr(sign * magnitude))])
    assert len(found) == (not 1e-4 <= magnitude <= 1e5)
    for finding in found:
        assert "'joint_1' is implausible" in finding.message
        assert finding.expected == 'a magnitude from 0.0001 to 100000'
        assert float(finding.found) == pytest.approx(sign * magnitude, rel=1e-5)


def test_reductions_that_are_extreme_together_are_warned_of():
    """Two reductions on one way multiply, and the ratio of that actuator is what counts."""
    numbers = [ratio(2000), '']
    (finding,) = findings_of('FourBarLinkage', joints=numbers, actuators=numbers)
    assert "the largest ratio of actuator 'actuator_1'" in finding.message
    assert float(finding.found) == 4e6


@pytest.mark.parametrize(
    ('matrix', 'words'),
    [
        ('1 0; -0.5 0.5', None),
        ('2e-6 0; 0 2e-6', 'the largest ratio of actuator'),
        ('1 1; 1 1.00001', None),
        ('1 1; 1 1.0000001', "matrix of transmission 't' is nearly singular"),
    ],
)
def test_a_matrix_is_warned_of_for_its_ratios_and_its_condition(matrix, words):
    """The largest entry of a column is its actuator's ratio; a condition over 1e6 is a finding."""
    found = findings_of('Coupled', joints=['', ''], actuators=['', ''], more=params(matrix=matrix))
    assert bool(found) is (words is not None)
    for finding in found:
        assert words in finding.message
        if 'singular' in words:
            entries = np.array([row.split() for row in matrix.split(';')], dtype=float)
            assert float(finding.found) == pytest.approx(np.linalg.cond(entries), rel=1e-2)


@given(
    offset=st.floats(-400.0, 400.0),
    bound=st.sampled_from([1.0, math.pi, 3.1416, 3.15, 3.3, 4.5, 6.2]),
    kind=st.sampled_from(['revolute', 'prismatic', 'continuous']),
)
def test_an_offset_in_degrees_or_millimetres_is_warned_of(offset, bound, kind):
    """More than a turn or 4 m on a joint that has half a turn or 4 m at most is a warning."""
    ends = f'{kind} lower="{-bound}" upper="{bound}"'
    found = findings_of('Simple', joints=[f'<offset>{offset!r}</offset>'], joint=ends)
    degrees = kind == 'revolute' and bound < 3.2 and abs(offset) > 2.0 * math.pi
    millimetres = kind == 'prismatic' and bound <= 4.0 and abs(offset) > 4.0
    assert bool(found) is (degrees or millimetres)
    for finding in found:
        assert ('in degrees' if degrees else 'in millimetres') in finding.message
        assert float(finding.found.split()[0]) == pytest.approx(offset, rel=1e-5)


@pytest.mark.parametrize(
    ('kind', 'ends', 'velocity', 'words'),
    [
        ('revolute', (-110, 110), 1, '-110 rad; -110 degrees are -1.91986 rad'),
        ('revolute', (0, 62.5), 1, '62.5 rad; 62.5 degrees are 1.09083 rad'),
        ('revolute', (-1.9, 1.9), 115, '115 rad/s; 115 degrees/s are 2.00713 rad/s'),
        ('prismatic', (0, 85), 1, '85 m; 85 mm are 0.085 m'),
        ('prismatic', (0, 1), 250, '250 m/s; 250 mm/s are 0.25 m/s'),
        # Several turns, motors without a gear, wheels, long rails, and no limit in effect.
        ('revolute', (-9.42, 10), 52, ''),
        ('revolute', (-1e16, 1e16), 100, ''),
        ('revolute', (-1.9, 1.9), 1000, ''),
        ('prismatic', (0, 12), 5, ''),
        ('prismatic', (-1000, 1000), 1, ''),
    ],
)
def test_limits_in_degrees_or_millimetres_are_warned_of(kind, ends, velocity, words):
    """The warning stands at the joint and has the value in the other unit."""
    joint = f'{kind} lower="{ends[0]}" upper="{ends[1]}"'
    found = findings_of('Simple', joint=joint, velocity=velocity)
    assert [finding.found for finding in found] == [words] * bool(words)


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        ({}, ''),
        ({'crank_angle': 90}, '90 rad; 90 degrees are 1.5708 rad'),
        ({'lower': -48}, '-48 rad; -48 degrees are -0.837758 rad'),
    ],
)
def test_dimensions_in_degrees_or_millimetres_are_warned_of(changed, words):
    """The warning stands at the number and has the value in the other unit."""
    given = {'crank_radius': 0.04, 'rod_length': 0.12, 'crank_angle': 1.6} | changed
    ends = '\n' + params(lower=given.pop('lower', -0.9)) + '\n' + params(upper=0.6)
    more = ''.join('\n' + params(**{name: value}) for name, value in given.items())
    found = findings_of('CrankSlider', joints=[ends], more=more)
    assert [finding.found for finding in found] == [words] * bool(words)


@pytest.mark.parametrize('name', ['arm.urdf', 'arm_ros1.urdf', 'one_joint.urdf'])
def test_a_usual_robot_is_not_warned_of(name):
    """The robots of this package have nothing implausible."""
    robot = RobotTransmissions(load_description(resource('urdf', name)))
    assert warn_of_implausible_numbers(robot) == ()


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
    (finding,) = topic_based.warn_of_endless_commands(cart(threshold, interface), timeout)
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
    findings = topic_based.warn_of_endless_commands(cart(**given), timeout)
    assert [each.found for each in findings] == found


@pytest.mark.parametrize(('plugin', 'number'), [(TOPIC_BASED, 1), ('some/Hardware', 0)])
def test_several_command_interfaces_are_warned_of(plugin, number):
    """Topic-based hardware sends those that a message has beside each other."""
    findings = topic_based.warn_of_several_interfaces(cart(None, 'position', plugin, 'velocity'))
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
    findings = topic_based.warn_of_other_topics(robot, lambda topic: own.get(topic, f'/{topic}'))
    assert [each.subject for each in findings] == ['x'] * number + ['y'] * number
    for finding in findings:
        assert finding.severity == 'warning'
        assert finding.found.removesuffix('/position') in named.values()
