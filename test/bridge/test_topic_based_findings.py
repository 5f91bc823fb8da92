# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Warnings about topic-based hardware components."""

from __future__ import annotations

import pytest

from transmission_bridge.bridge.gate import find_command_timeouts
from transmission_bridge.bridge.topic_based import find_endless_commands, find_several_interfaces
from transmission_bridge.description import load_description, RobotDescription
from transmission_bridge.transmissions import RobotTransmissions

TOPIC_BASED = 'joint_state_topic_hardware_interface/JointStateTopicSystem'

URDF = """<robot name="r">
  <link name="base"/><link name="a"/><link name="b"/>
  <joint name="wheel" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="lift" type="continuous"><parent link="base"/><child link="b"/></joint>
  <ros2_control name="cart" type="system">
    <hardware><plugin>{plugin}</plugin>{threshold}</hardware>
    <joint name="wheel">
      <command_interface name="{interface}"/><state_interface name="{interface}"/></joint>
    <joint name="lift">
      <command_interface name="position"/><state_interface name="position"/></joint>
  </ros2_control>
</robot>"""


def robot(
    threshold: str | None = None, interface: str = 'velocity', plugin: str = TOPIC_BASED
) -> RobotDescription:
    """Return a cart; ``threshold`` belongs to its component, ``None``: not given."""
    given = '<param name="trigger_joint_command_threshold">{}</param>'
    return load_description(
        URDF.format(
            plugin=plugin,
            interface=interface,
            threshold='' if threshold is None else given.format(threshold),
        )
    )


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
def test_a_component_that_is_silent_at_its_target_is_warned_of(
    threshold: str | None, timeout: float, words: str, interface: str
) -> None:
    """Its velocities and efforts continue when it stops, or end while it is silent."""
    (finding,) = find_endless_commands(robot(threshold, interface), timeout)
    assert finding.severity == 'warning'
    assert finding.line == 5
    assert f"of 'wheel' {words}" in finding.message
    assert "component 'cart' is silent" in finding.message
    assert '<param name="trigger_joint_command_threshold">-1</param>' in finding.expected
    assert ('zero_effort' in finding.expected) == (interface == 'effort')
    assert finding.found == f'a threshold of {0 if threshold == "0" else 1e-5:g}'


@pytest.mark.parametrize(('timeout', 'number'), [(-1.0, 0), (0.3, 0), (0.0, 1)])
def test_a_component_that_repeats_needs_a_timeout(timeout: float, number: int) -> None:
    """With threshold -1 only a timeout of 0 is warned of."""
    findings = find_endless_commands(robot('-1'), timeout)
    assert [finding.found for finding in findings] == ['command_timeout: 0.0'] * number


@pytest.mark.parametrize(
    ('interface', 'plugin'), [('position', TOPIC_BASED), ('velocity', 'some/Hardware')]
)
def test_others_are_not_warned_of(interface: str, plugin: str) -> None:
    """Positions are held, and other hardware is not on these topics."""
    assert find_endless_commands(robot(None, interface, plugin), 0.0) == ()


@pytest.mark.parametrize(('plugin', 'number'), [(TOPIC_BASED, 1), ('some/Hardware', 0)])
def test_several_command_interfaces_are_warned_of(plugin: str, number: int) -> None:
    """Topic-based hardware sends those that a message has beside each other."""
    text = URDF.format(plugin=plugin, interface='position', threshold='')
    for name, other in (('wheel', 'velocity'), ('lift', 'acceleration')):
        start = f'<joint name="{name}">'
        text = text.replace(f'{start}\n', f'{start}<command_interface name="{other}"/>')
    findings = find_several_interfaces(load_description(text))
    assert [each.found for each in findings] == ["position and velocity of 'wheel'"] * number


def test_the_timeout_by_default() -> None:
    """It is never if the component is silent at its target, as for any robot if it repeats."""
    for threshold, timeout in ((None, 0.0), ('0', 0.0), ('-1', 0.5)):
        maps = RobotTransmissions(robot(threshold))
        assert find_command_timeouts(maps, -1.0) == [timeout] * 2
        assert find_command_timeouts(maps, 2.0) == [2.0] * 2
