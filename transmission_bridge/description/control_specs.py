# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What ``<ros2_control>`` blocks and ``<transmission>`` elements say, in frozen values.

Both dialects and their spellings end in the same :class:`TransmissionSpec`; only ``dialect``
remembers the origin, because the dialects disagree on whose reduction a simple transmission uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    'REDUCTION_TAGS',
    'ComponentSpec',
    'Dialect',
    'InterfaceSpec',
    'MemberSpec',
    'ParameterSpec',
    'RejectedTransmission',
    'Ros2ControlSpec',
    'TransmissionSpec',
]

#: ``ros2_control``: inside a ``<ros2_control>`` block; ``ros_control``: ROS 1, top level.
Dialect = Literal['ros2_control', 'ros_control']

#: Hardware that publishes what controllers command as JointState, and compares it with the state.
_OF_JOINT_STATES = ('JointStateTopicSystem', 'TopicBasedSystem')

#: How a dialect writes the reduction of a joint or an actuator.
REDUCTION_TAGS: dict[Dialect, str] = {
    'ros2_control': 'mechanical_reduction',
    'ros_control': 'mechanicalReduction',
}


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """
    A ``<param>``, or a child element or attribute that the dialect itself does not define.

    :param name: ``name`` of the ``<param>``, else the tag or attribute name.
    :param value: Stripped text, empty where there is none.
    :param attributes: Attributes of an unknown child element.
    :param children: Child elements of an unknown child element.
    """

    name: str
    value: str
    line: int | None = None
    path: str = ''
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[ParameterSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceSpec:
    """
    A command or state interface of a component.

    :param min: Parsed bound, ``None`` where absent.
    :param max: Parsed bound, ``None`` where absent.
    :param initial_value: Text as written (its type follows ``data_type``), ``None`` where absent.
    :param limits_enabled: ``<limits enable>`` of the interface and of its component, ANDed.
    :param parameters: Every ``<param>``, ``min``, ``max`` and ``initial_value`` as well.
    """

    name: str
    min: float | None = None
    max: float | None = None
    initial_value: str | None = None
    size: int = 1
    data_type: str = 'double'
    limits_enabled: bool = True
    parameters: tuple[ParameterSpec, ...] = ()
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """
    A ``<joint>``, ``<sensor>`` or ``<gpio>`` of a ros2_control block.

    :param mimic: The ``mimic`` attribute of a joint, ``None`` where absent.
    """

    name: str
    kind: Literal['joint', 'sensor', 'gpio']
    command_interfaces: tuple[InterfaceSpec, ...] = ()
    state_interfaces: tuple[InterfaceSpec, ...] = ()
    mimic: bool | None = None
    limits_enabled: bool = True
    parameters: tuple[ParameterSpec, ...] = ()
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class Ros2ControlSpec:
    """
    One ``<ros2_control>`` block without its transmissions.

    :param type: ``system``, ``actuator``, ``sensor``, or whatever was written.
    :param plugin: Hardware plugin, empty where not given.
    :param parameters: Hardware ``<param>`` elements.
    :param properties: Attributes of ``<properties><async>``.
    """

    name: str
    type: str
    plugin: str = ''
    group: str = ''
    rw_rate: int = 0
    is_async: bool = False
    parameters: tuple[ParameterSpec, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    components: tuple[ComponentSpec, ...] = ()
    line: int | None = None
    path: str = ''

    @property
    def takes_joint_states(self) -> bool:
        """
        Whether the hardware reads joint states from a topic.

        It fails on a finite number for a state interface that a joint does not declare.
        """
        return self.plugin.endswith((*_OF_JOINT_STATES, 'JointCommandTopicSystem'))

    @property
    def compares_commands(self) -> bool:
        """Whether the hardware fails where a command has no state interface of its name."""
        return self.plugin.endswith(_OF_JOINT_STATES)

    def component(self, name: str, kind: str = 'joint') -> ComponentSpec | None:
        """Return the first component of this name and kind, or ``None``."""
        for component in self.components:
            if component.name == name and component.kind == kind:
                return component
        return None


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """
    A joint or an actuator of a transmission.

    :param role: As written, empty where not given.
    :param mechanical_reduction: Never zero, always finite; 1.0 where the dialect has that default.
    :param offset: [rad or m], 0.0 by default.
    :param given: Which of ``role``, ``mechanical_reduction``, ``offset``, ``read_only`` the text
        holds.
    :param command_interfaces: From the block's joint (``hardwareInterface`` texts in ROS 1).
    :param parameters: Everything else inside the element, for the plugin.
    """

    name: str
    role: str = ''
    mechanical_reduction: float = 1.0
    offset: float = 0.0
    read_only: bool = False
    given: frozenset[str] = frozenset()
    command_interfaces: tuple[str, ...] = ()
    state_interfaces: tuple[str, ...] = ()
    parameters: tuple[ParameterSpec, ...] = ()
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class TransmissionSpec:
    """
    A transmission, its members in role order.

    Members are sorted by canonical role (``joint1``, ``joint2``, …, ``actuator1``, …); where the
    roles are distinct but none is canonical they stay in document order and a warning says so.

    :param type: Plugin type string, for example ``transmission_interface/SimpleTransmission``.
    :param block: Name of the ``<ros2_control>`` block, empty in the ROS 1 dialect.
    :param ignore_absolute_encoder: ROS 1's ``<ignoreTransmissionAbsoluteEncoder>`` was present in
        every joint: absolute positions pass through by role.
    :param can_command: Whether the actuators could be commanded through it: not ``read_only``, and
        a joint with a command interface (ROS 2) or any hardware interface beyond
        ``JointStateInterface``, or none named at all (ROS 1).
    """

    name: str
    type: str
    dialect: Dialect
    joints: tuple[MemberSpec, ...]
    actuators: tuple[MemberSpec, ...]
    block: str = ''
    parameters: tuple[ParameterSpec, ...] = ()
    ignore_absolute_encoder: bool = False
    can_command: bool = True
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class RejectedTransmission:
    """
    A transmission that was refused, with what could be read of it; its joints are lost.

    :param block: Name of the ``<ros2_control>`` block, empty in the ROS 1 dialect.
    :param unknown_joints: Names in ``joints`` that the robot or the block does not have, empty for
        a joint without a name, and where there is no joint at all: which joint was meant is open.
    """

    name: str
    type: str
    dialect: Dialect
    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    block: str = ''
    unknown_joints: tuple[str, ...] = ()
    line: int | None = None
    path: str = ''
