# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot description as frozen values, without XML."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args, Literal

from transmission_bridge.description.document.values import (
    make_choice_reader,
    MECHANICAL_REDUCTION,
    read_boolean,
    read_color,
    read_magnitude,
    read_number,
    read_positive_integer,
    read_quaternion,
    read_rate,
    read_ratio,
    read_vector,
)
from transmission_bridge.description.rows import Place, Row, Twice, Value
from transmission_bridge.errors import sentence, UnknownNameError

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
class TransmissionEnd:
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
    joints: tuple[TransmissionEnd, ...]
    actuators: tuple[TransmissionEnd, ...]
    block: str = ''
    parameters: tuple[ParameterSpec, ...] = ()
    ignore_absolute_encoder: bool = False
    can_command: bool = True
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class RejectedTransmission:
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
        cls, place: Any, severity: Severity, message: str, expected: str = '', found: str = ''
    ) -> Finding:
        """Return a finding about a named element, which is its subject."""
        return cls(severity, message, place.line, place.path, expected, found, place.name)

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
class Pose:
    """
    Position and roll-pitch-yaw of a frame in its parent: ``<origin>``.

    The rotation is ``Rz(yaw) Ry(pitch) Rx(roll)`` (URDF: fixed axes x, y, z in this order).
    """

    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class JointLimits:
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
    origin: Pose = Pose()
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    limits: JointLimits | None = None
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
    rejected: tuple[RejectedTransmission, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    is_unexpanded: bool = False

    def joint(self, name: str) -> JointSpec:
        """
        Return the joint with this name.

        :raises UnknownNameError: If the robot has no such joint.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise UnknownNameError('joint', name, tuple(joint.name for joint in self.joints))

    def transmission(self, name: str) -> TransmissionSpec:
        """
        Return the usable transmission with this name.

        :raises UnknownNameError: If the robot has no such transmission.
        """
        for transmission in self.transmissions:
            if transmission.name == name:
                return transmission
        known = tuple(transmission.name for transmission in self.transmissions)
        raise UnknownNameError('transmission', name, known)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity ``error``."""
        return tuple(finding for finding in self.findings if finding.severity == 'error')


# -- The tables ----------------------------------------------------------------------------------
#
# One row for each element of a description, and one for each of its values. The default of a
# value is the default of its field above. docs/transmissions.md lists these rows.


def _require_value(name: str, read: Callable[[str], Any], meaning: str) -> Value:
    return Value(name, read, meaning, missing='<{tag}> without {name}')


_NAME = Value('name', str, 'Its name.', missing='<{tag}> without a name')
_ANY_NAME = replace(_NAME, may_be_empty=True)

# URDF links and joints. A link or a joint with an error is dropped, because the rest of it would
# be a guess.

_whole = partial(Row, ends='error')
_TWICE: Twice = ('error', '{tag} described twice, the first one counts')
_POSE = (
    Value('xyz', read_vector, 'Position [m].'),
    Value('rpy', read_vector, 'Roll, pitch and yaw [rad], about fixed axes.'),
    Value('quat_xyzw', read_quaternion, 'Quaternion, instead of `rpy`.', since=(1, 1)),
)
ORIGIN = _whole('origin', 'Pose of a frame in its parent.', Pose, _POSE)
LINK = _whole('link', 'A body.', LinkSpec, (_NAME,), many=True, twice=_TWICE)

_DIRECTION = _require_value('xyz', read_vector, 'A vector other than zero, of any length.')
AXIS = _whole(
    'axis', 'Direction of the joint in its frame, `1 0 0` by default.', None, (_DIRECTION,)
)
_LIMITS = (
    Value('velocity', read_magnitude, 'Maximum speed [rad/s or m/s]; its sign is ignored.'),
    Value('effort', read_magnitude, 'Maximum effort [N m or N]; its sign is ignored.'),
    Value('lower', read_number, 'Minimum position [rad or m].'),
    Value('upper', read_number, 'Maximum position [rad or m].'),
)
_MIMIC = (
    Value('joint', str, 'The joint that it follows.', missing='<{tag}> without a joint'),
    Value('multiplier', read_number, 'Factor of the position of that joint.'),
    Value('offset', read_number, 'Its position while that joint is at zero [rad or m].'),
)
_DYNAMICS = (
    Value('damping', read_number, 'Viscous damping [N m s/rad or N s/m].'),
    Value('friction', read_number, 'Static friction [N m or N].'),
)
_OF_JOINT = (
    ORIGIN,
    AXIS,
    _whole('limit', 'Limits; a missing one is no limit.', JointLimits, _LIMITS, field='limits'),
    _whole('mimic', 'The joint follows another one.', MimicSpec, _MIMIC),
    _whole('dynamics', 'Friction.', DynamicsSpec, _DYNAMICS),
)
_TYPE = Value(
    'type',
    make_choice_reader(*get_args(JointType)),
    'One of ' + ', '.join(f'`{name}`' for name in get_args(JointType)) + '.',
    missing='joint without a type',
    expected='one of ' + ', '.join(get_args(JointType)),
    unusable='unknown joint type',
)
_JOINT = (
    _NAME,
    _TYPE,
    Value('link', str, 'The link that it is fixed to.', within='parent', field='parent'),
    Value('link', str, 'The link that it moves.', within='child', field='child'),
)
JOINT = _whole('joint', 'A joint.', JointSpec, _JOINT, _OF_JOINT, many=True, twice=_TWICE)

# The looks of links, for tools that draw the robot.

_RADIUS = _require_value('radius', read_number, 'Radius [m].')
_LENGTH = _require_value('length', read_number, 'Length along z [m].')
_EDGE_LENGTHS = _require_value('size', read_vector, 'Lengths of its edges [m].')
_FILE = _require_value('filename', str, 'Its URI or path.')
_SCALE = Value('scale', read_vector, 'Factors along x, y and z, `1 1 1` by default.')
SHAPES = (
    _whole('box', 'A box.', None, (_EDGE_LENGTHS,), field='shape'),
    _whole('cylinder', 'A cylinder.', None, (_RADIUS, _LENGTH), field='shape'),
    _whole('capsule', 'A cylinder with round ends.', None, (_RADIUS, _LENGTH), field='shape'),
    _whole('sphere', 'A sphere.', None, (_RADIUS,), field='shape'),
    _whole('mesh', 'A file.', None, (_FILE, _SCALE), field='shape'),
)
_COLOR = (
    Value('name', str, 'Name of a `<material>` of the robot.'),
    Value(
        'rgba', read_color, 'Red, green, blue and opacity, 0 to 1.', within='color', field='color'
    ),
)
MATERIAL = Row('material', 'Color.', None, _COLOR)
_GEOMETRY = Row('geometry', 'Its shape.', None, (), SHAPES)
_OF_VISUAL = (ORIGIN, _GEOMETRY, MATERIAL)
VISUAL = Row('visual', 'The looks of a link.', None, (), _OF_VISUAL, many=True)

# `<ros2_control>` blocks. An invalid value is an error and keeps its default; the block and its
# transmissions are used.

PARAM = Row(
    'param',
    'A parameter of the element around it.',
    ParameterSpec,
    (_ANY_NAME, Value('text', str, 'Its value.', place='text', field='value')),
    field='parameters',
    many=True,
    last_counts=True,
    twice=('ignored', 'the parameter is given twice, the last one is used'),
)
_ENABLED = Value(
    'enable',
    read_boolean,
    'Whether the limits apply.',
    within='limits',
    field='limits_enabled',
    missing='<{tag}> without enable',
    expected='enable="true" or "false"',
)
_NOT_READ = 'Not read; a warning.'
_INITIAL = '<param name="initial_value">'


def _make_bound(name: str, meaning: str) -> Value:
    # An invalid bound is no limit, as in ros2_control.
    unusable = f'{name} cannot be read and is ignored'
    return Value(name, read_number, meaning, place='param', unusable=unusable, fault='ignored')


_INTERFACE = (
    _NAME,
    Value('size', read_positive_integer, 'Number of elements.'),
    Value('data_type', str, 'Type of its value.'),
    Value('initial_value', str, _NOT_READ, place='ignored', expected=_INITIAL),
    Value('initial_value', str, 'Its first value.', place='param'),
    _make_bound('min', 'Minimum; in a command interface it limits the joint.'),
    _make_bound('max', 'Maximum; in a command interface it limits the joint.'),
    _ENABLED,
)
INTERFACES = tuple(
    Row(tag, meaning, InterfaceSpec, _INTERFACE, (PARAM,), field=f'{tag}s', many=True)
    for tag, meaning in (
        ('command_interface', 'A quantity that can be commanded.'),
        ('state_interface', 'A quantity that is measured.'),
    )
)
_FOLLOWS = Value('mimic', read_boolean, 'Whether it follows the `<mimic>` of the URDF.')
COMPONENTS = tuple(
    Row(
        tag,
        meaning,
        ComponentSpec,
        values,
        (*INTERFACES, PARAM),
        field='components',
        many=True,
        twice=('ignored', 'the {tag} is declared twice in this block, the first one is used'),
    )
    for tag, meaning, values in (
        ('joint', 'A joint of the URDF.', (_NAME, _FOLLOWS, _ENABLED)),
        ('sensor', 'A sensor.', (_NAME, _ENABLED)),
        ('gpio', 'Inputs and outputs.', (_NAME,)),
    )
)
_DRIVER = (
    Value('text', str, 'Its type.', place='text', within='plugin', field='plugin'),
    Value('text', str, 'Its group.', place='text', within='group', field='group'),
)
HARDWARE = Row('hardware', 'The driver.', None, _DRIVER, (PARAM,), last_counts=True)
_PROPERTIES = Row('properties', 'Not read.', many=True)

# Transmissions of both dialects. A transmission with an error is rejected. Everything that the
# dialect does not define is a parameter for the type of the transmission, which reports unused
# ones.


def _list_end_values(reduction: str, place: Place) -> tuple[Value, ...]:
    meaning = 'Ratio, actuator over joint, other than zero.'
    return (
        Value('role', str, 'Its role in the type: `joint1`, `actuator2`.', place=place),
        Value(reduction, read_ratio, meaning, place=place, field=MECHANICAL_REDUCTION),
        Value('offset', read_number, 'Joint position at actuator zero [rad or m].', place=place),
    )


def _make_type_value(tag: str, foreign: str) -> Value:
    return Value(
        tag,
        str,
        'Type of the transmission.',
        place='child',
        field='type',
        missing='<{name}> is missing',
        expected='<{name}> with the type of the transmission',
        foreign=foreign,
    )


_transmission = partial(
    Row, 'transmission', spec=TransmissionSpec, many=True, unknown='parameters', ends='never'
)
_end = partial(Row, spec=TransmissionEnd, many=True, unknown='parameters', ends='end')
_joint_end = partial(_end, 'joint', 'A joint that it moves.', field='joints')
_actuator_end = partial(_end, 'actuator', 'An actuator that moves it.', field='actuators')

_READ_ONLY = Value('read_only', read_boolean, 'Whether it is only measured, never commanded.')
_ROS2_END = (_NAME, *_list_end_values('mechanical_reduction', 'either'), _READ_ONLY)
ROS2_TRANSMISSION = _transmission(
    meaning='A transmission of the block.',
    values=(_NAME, _make_type_value('plugin', 'type')),
    children=(_joint_end(values=_ROS2_END), _actuator_end(values=_ROS2_END), PARAM),
    field='transmissions',
)

HARDWARE_INTERFACE = Row(
    'hardwareInterface',
    'An interface; a joint with only `JointStateInterface` is measured, not commanded.',
    field='command_interfaces',
    many=True,
)
IGNORE_ABSOLUTE_ENCODER = Row(
    'ignoreTransmissionAbsoluteEncoder',
    'In every joint or in none, with any text: absolute positions pass through by role.',
)
_OF_JOINT_END = (HARDWARE_INTERFACE, IGNORE_ABSOLUTE_ENCODER)
_ROLE_ATTRIBUTE = Value('role', str, _NOT_READ, place='ignored', expected='<role>')
_ROS1_END = (_NAME, _ROLE_ATTRIBUTE, *_list_end_values('mechanicalReduction', 'child'))
_MISSING, _EXPECTED = '<{name}> is missing', 'the ratio inside <{tag}>'
_ROS1_ACTUATOR = tuple(
    replace(value, missing=_MISSING, expected=_EXPECTED) if value.read is read_ratio else value
    for value in _ROS1_END
)
_TYPE_ATTRIBUTE = Value('type', str, _NOT_READ, place='ignored', expected='<type>')
ROS1_TRANSMISSION = _transmission(
    meaning='A transmission of ROS 1.',
    values=(_NAME, _make_type_value('type', 'plugin'), _TYPE_ATTRIBUTE),
    children=(
        _joint_end(values=_ROS1_END, children=_OF_JOINT_END),
        _actuator_end(values=_ROS1_ACTUATOR, children=(HARDWARE_INTERFACE,)),
    ),
)

#: The transmissions of each dialect.
TRANSMISSIONS: dict[Dialect, Row] = {
    'ros2_control': ROS2_TRANSMISSION,
    'ros_control': ROS1_TRANSMISSION,
}
#: Tag of the reduction of a joint or an actuator.
REDUCTION_TAGS: dict[Dialect, str] = {
    dialect: row.children[0].value(MECHANICAL_REDUCTION).name
    for dialect, row in TRANSMISSIONS.items()
}

_NO_TYPE = '<{tag}> without a type'
_BLOCK = (
    _ANY_NAME,
    Value('type', str, '`system`, `actuator` or `sensor`.', may_be_empty=True, missing=_NO_TYPE),
    Value('is_async', read_boolean, 'Whether it has a thread of its own.'),
    Value('rw_rate', read_rate, 'Rate of its cycles [Hz]; 0: as the controller manager.'),
)
ROS2_CONTROL = Row(
    'ros2_control',
    'Hardware, its components and its transmissions.',
    Ros2ControlSpec,
    _BLOCK,
    (HARDWARE, _PROPERTIES, ROS2_TRANSMISSION, *COMPONENTS),
    many=True,
    unknown='refused',
    ends='never',
)
