# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot description as frozen values, without XML, and the effective limits of its joints.

Users and every other room read these values, so names, units and defaults are fixed. The tables of
this room set the fields by name; a test compares the defaults with the docs. The fields of
``origin``, ``mimic`` and ``limits`` of a joint are also names in the fingerprint of compiled C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
import math
from typing import Any, Literal, TypeVar

import numpy as np

from transmission_bridge.errors import sentence, UnknownNameError
from transmission_bridge.types import Array

# -- `<ros2_control>` blocks and `<transmission>` elements ---------------------------------------
#
# Both dialects become the same :class:`TransmissionSpec`. ``dialect`` distinguishes them, because
# a simple transmission uses the joint's reduction in one and the actuator's in the other.


#: ``ros2_control``: inside a ``<ros2_control>`` block; ``ros_control``: ROS 1, top level.
Dialect = Literal['ros2_control', 'ros_control']

#: Hardware that publishes commands as JointState, and compares them with the state.
_OF_JOINT_STATES = ('JointStateTopicSystem', 'TopicBasedSystem')

#: Parameter of such hardware, and its default.
TRIGGER_THRESHOLD, _DEFAULT_THRESHOLD = 'trigger_joint_command_threshold', 1e-5


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """
    A ``<param>``, or a child element or attribute that the dialect itself does not define.

    :param name: ``name`` of the ``<param>``, else the name of the tag or attribute.
    :param value: Stripped text; may be empty.
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

    :param min: Lower bound, ``None`` if absent.
    :param max: Upper bound, ``None`` if absent.
    :param initial_value: Text as written (``data_type`` is its type), ``None`` if absent.
    :param limits_enabled: Whether ``<limits enable>`` of the interface and of its component are
        both true.
    :param parameters: Every ``<param>``, including ``min``, ``max`` and ``initial_value``.
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

    :param mimic: The ``mimic`` attribute of a joint, ``None`` if absent.
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

    :param type: ``system``, ``actuator`` or ``sensor``, unchecked.
    :param plugin: Hardware plugin, empty if not given.
    :param parameters: Hardware ``<param>`` elements.
    """

    name: str
    type: str
    plugin: str = ''
    group: str = ''
    rw_rate: int = 0
    is_async: bool = False
    parameters: tuple[ParameterSpec, ...] = ()
    components: tuple[ComponentSpec, ...] = ()
    line: int | None = None
    path: str = ''

    @property
    def joints(self) -> tuple[ComponentSpec, ...]:
        """The components that are joints."""
        return tuple(component for component in self.components if component.kind == 'joint')

    @property
    def takes_joint_states(self) -> bool:
        """
        Whether the hardware reads joint states from a topic.

        It fails on a finite number for an undeclared state interface of a joint.
        """
        return self.compares_commands or self.publishes_joint_commands

    @property
    def compares_commands(self) -> bool:
        """Whether the hardware fails if a command has no state interface of its name."""
        return self.plugin.endswith(_OF_JOINT_STATES)

    @property
    def trigger_threshold(self) -> float:
        """
        Smallest difference of commands and states at which topic-based hardware sends commands.

        The sum over all joints and interfaces. If it is negative, every cycle sends commands.
        """
        for parameter in self.parameters:
            if parameter.name == TRIGGER_THRESHOLD:
                with suppress(ValueError):  # the hardware cannot load such a text
                    return float(parameter.value)
        return _DEFAULT_THRESHOLD

    @property
    def is_silent_at_target(self) -> bool:
        """Whether the hardware is topic-based and sends no command that equals the state."""
        return self.takes_joint_states and self.trigger_threshold >= 0.0

    @property
    def publishes_joint_commands(self) -> bool:
        """Whether the hardware publishes control_msgs/JointCommand, one topic per interface."""
        return self.plugin.endswith('JointCommandTopicSystem')

    def component(self, name: str, kind: str = 'joint') -> ComponentSpec | None:
        """Return the first component with this name and kind, or ``None``."""
        named = (each for each in self.components if (each.name, each.kind) == (name, kind))
        return next(named, None)


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """
    A joint or an actuator of a transmission.

    :param role: As written, empty if not given.
    :param mechanical_reduction: Finite, not zero; 1.0 if the dialect has that default.
    :param offset: [rad or m], 0.0 by default.
    :param given: The values in the text, of ``role``, ``mechanical_reduction``, ``offset`` and
        ``read_only``.
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
    A transmission with its joints and actuators in role order.

    They are sorted by canonical role (``joint1``, ``joint2``, …, ``actuator1``, …). If the roles
    are distinct but not canonical, they keep document order, with a warning.

    :param type: Plugin type string, for example ``transmission_interface/SimpleTransmission``.
    :param block: Name of the ``<ros2_control>`` block, empty in the ROS 1 dialect.
    :param ignore_absolute_encoder: Whether every joint has ROS 1's
        ``<ignoreTransmissionAbsoluteEncoder>``: absolute positions pass through by role.
    :param can_command: Whether the actuators can be commanded through it. ROS 2: a joint that is
        not ``read_only`` has a command interface, and not all actuators are ``read_only``. ROS 1:
        a joint has no hardware interface, or another one than ``JointStateInterface``.
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
class RejectedSpec:
    """
    A transmission with an error, as far as it could be read; its joints are not bridged.

    :param block: Name of the ``<ros2_control>`` block, empty in the ROS 1 dialect.
    :param unknown_joints: Names in ``joints`` that the robot or the block does not have. An empty
        name represents a missing joint or a joint without a name: it may mean any joint.
    :param with_units: Actuators with units of their driver.
    """

    name: str
    type: str
    dialect: Dialect
    joints: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    block: str = ''
    unknown_joints: tuple[str, ...] = ()
    with_units: tuple[str, ...] = ()
    line: int | None = None
    path: str = ''


# -- Robot, links and joints ---------------------------------------------------------------------
#
# Numbers are SI (REP 103): radians and metres, seconds, newtons and newton metres. A missing
# number is ``None``, or the default of the format (axis ``1 0 0``, reduction ``1.0``). ``line``
# counts from 1; ``path`` is an element path such as ``/robot/joint[3]``.


Severity = Literal['error', 'warning', 'info']
JointType = Literal[
    'fixed', 'revolute', 'continuous', 'prismatic', 'floating', 'planar', 'spherical'
]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    An error, warning or information about a description, or about objects built from it.

    :param severity: ``error``: the element (or the value) is dropped; ``warning`` and ``info``:
        it is used.
    :param message: The problem in one sentence, without its location.
    :param line: Line in the text, or ``None``.
    :param path: Element path.
    :param expected: Expectation.
    :param found: Finding in its place.
    :param subject: Name of the transmission (or joint), empty for the document.
    :param fatal_if_strict: Whether strict mode rejects the description: for every error, and for
        warnings about data that nothing uses or that ros2_control or URDF parsers reject.
    """

    severity: Severity
    message: str
    line: int | None = None
    path: str = ''
    expected: str = ''
    found: str = ''
    subject: str = ''
    fatal_if_strict: bool = False

    @classmethod
    def about(
        cls,
        place: Any,
        severity: Severity,
        message: str,
        expected: str = '',
        found: str = '',
        subject: str | None = None,
        **more: bool,
    ) -> Finding:
        """Return a finding about an element; its subject is the element's name by default."""
        subject = place.name if subject is None else subject
        return cls(severity, message, place.line, place.path, expected, found, subject, **more)

    def __str__(self) -> str:
        """Return ``severity: line 12, /robot/x: message (expected a, found b)``."""
        text = sentence(
            self.message, line=self.line, path=self.path, expected=self.expected, found=self.found
        )
        return f'{self.severity}: {text}'

    @property
    def text(self) -> str:
        """The message with expectation and finding, without its location."""
        return sentence(self.message, expected=self.expected, found=self.found)


@dataclass(frozen=True, slots=True)
class OriginSpec:
    """
    Position and roll-pitch-yaw of a frame in its parent: ``<origin>``.

    The rotation is ``Rz(yaw) Ry(pitch) Rx(roll)`` (URDF: fixed axes x, y, z in this order).
    """

    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class JointLimitSpec:
    """``<limit>``: position bounds [rad or m], velocity and effort; ``None``: unlimited."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class MimicSpec:
    """``<mimic>``: ``q = multiplier * q_joint + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class DynamicsSpec:
    """``<dynamics>``: viscous damping [N m s/rad or N s/m] and static friction [N m or N]."""

    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True, slots=True)
class JointSpec:
    """
    One ``<joint>`` of the robot.

    :param type: URDF joint type.
    :param origin: Joint frame in the parent link's frame at zero position.
    :param axis: Joint axis in the joint frame, unit length (``1 0 0`` by default).
    """

    name: str
    type: JointType
    parent: str = ''
    child: str = ''
    origin: OriginSpec = OriginSpec()
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    limits: JointLimitSpec | None = None
    mimic: MimicSpec | None = None
    dynamics: DynamicsSpec | None = None
    line: int | None = None
    path: str = ''

    @property
    def is_scalar(self) -> bool:
        """Whether its position is one number: revolute, continuous or prismatic."""
        return self.type in ('revolute', 'continuous', 'prismatic')


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """One ``<link>``; inertia and geometry are not read."""

    name: str
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """
    A robot: kinematic tree, ros2_control blocks, transmissions, and findings.

    :param name: The robot's name.
    :param links: In document order.
    :param joints: In document order. Empty for a fragment with transmissions only.
    :param blocks: ``<ros2_control>`` blocks in document order.
    :param transmissions: Transmissions without an error finding, ros2_control blocks before
        top-level (ROS 1) ones, each in document order.
    :param rejected: Transmissions with an error finding.
    :param findings: In document order.
    :param is_unexpanded: Whether there is unexpanded xacro and no transmission: the xacro may
        hold a transmission of any joint.
    """

    name: str
    links: tuple[LinkSpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    blocks: tuple[Ros2ControlSpec, ...] = ()
    transmissions: tuple[TransmissionSpec, ...] = ()
    rejected: tuple[RejectedSpec, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_unexpanded: bool = False

    def joint(self, name: str) -> JointSpec:
        """
        Return the joint with this name.

        :raises UnknownNameError: If the robot has no such joint.
        """
        return _find_named('joint', self.joints, name)

    def transmission(self, name: str) -> TransmissionSpec:
        """
        Return the usable transmission with this name.

        :raises UnknownNameError: If the robot has no such transmission.
        """
        return _find_named('transmission', self.transmissions, name)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity ``error``."""
        return tuple(finding for finding in self.findings if finding.severity == 'error')


_Named = TypeVar('_Named', JointSpec, TransmissionSpec)


def _find_named(kind: str, specs: Sequence[_Named], name: str) -> _Named:
    for spec in specs:
        if spec.name == name:
            return spec
    raise UnknownNameError(kind, name, tuple(spec.name for spec in specs))


#: Interfaces in the order of the rows of :func:`collect_limits`.
_ROWS = ('position', 'velocity', 'effort', 'acceleration')

#: An interface and its two bounds, ``None`` if absent.
_Bounds = tuple[str, float | None, float | None]


def collect_limits(robot: RobotDescription, names: Sequence[str]) -> Array:
    """
    Return the limits of joints as one array.

    - ``<limit>`` sets the bounds of revolute and prismatic joints, and the magnitudes of velocity
      and effort.
    - Command interfaces of every ``<ros2_control>`` block narrow them. Position: the largest
      ``min`` and the smallest ``max``. Velocity and effort: the smaller of ``|min|`` and
      ``|max|`` in both directions. Acceleration: ``|min|`` limits deceleration and ``|max|``
      limits acceleration; if one is missing, the other limits both.
    - ``<limits enable="false">`` of the joint disables all of its limits; in an interface it
      disables the interface's ``min`` and ``max``.

    :param robot: The description.
    :param names: Names of joints. A joint outside the URDF is limited by blocks only.
    :returns: Lower and upper bounds, shape ``(2, 4, n_joints)``, rows position, velocity, effort
        and acceleration (lower: deceleration) [rad or m, per second, N m or N]; infinite: no
        bound. If the description contradicts itself, ``lower > upper``, and no position is
        allowed.
    """
    joints = {joint.name: joint for joint in robot.joints}
    components: dict[str, list[ComponentSpec]] = defaultdict(list)
    for component in (joint for block in robot.blocks for joint in block.joints):
        components[component.name].append(component)
    limits = np.full((2, len(_ROWS), len(names)), math.inf)
    limits[0] = -math.inf
    for column, name in enumerate(names):
        if not all(component.limits_enabled for component in components[name]):
            continue
        bounds: list[_Bounds] = [
            (interface.name, interface.min, interface.max)
            for component in components[name]
            for interface in component.command_interfaces
            if interface.limits_enabled
        ]
        joint = joints.get(name)
        if joint is not None and (limit := joint.limits) is not None:
            bounds += [('velocity', None, limit.velocity), ('effort', None, limit.effort)]
            if joint.type in ('revolute', 'prismatic'):
                bounds.append(('position', limit.lower, limit.upper))
        for kind, low, high in bounds:
            given = [bound for bound in (low, high) if bound is not None]
            if kind in _ROWS and given:
                pair = -math.inf if low is None else low, math.inf if high is None else high
                if kind == 'acceleration':
                    pair = -abs(given[0]), abs(given[-1])
                elif kind != 'position':
                    least = min(map(abs, given))
                    pair = -least, least
                both = limits[:, _ROWS.index(kind), column]
                both[:] = max(both[0], pair[0]), min(both[1], pair[1])
    return limits
