# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Named robots: descriptions, and the facts and formulas by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
import importlib.metadata
import math
from pathlib import Path

import casadi as ca

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import (
    EquationTransmission,
    Registry,
    RobotTransmissions,
)
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP
from zoo.elements import params, transmission, urdf

TURN = 2 * math.pi


def attributes(limits):
    """Return the finite ones as in a URDF."""
    return ' '.join(f'{key}="{value}"' for key, value in limits.items() if math.isfinite(value))


@dataclass(frozen=True)
class Joint:
    """A joint with its limits; infinite: none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    slides: bool = False

    @property
    def text(self):
        """The type and the limits as in a URDF."""
        kind = 'prismatic' if self.slides else 'revolute'
        limits = {name: value for name, value in vars(self).items() if name != 'slides'}
        return f'{"continuous" if math.isinf(self.upper) else kind} {attributes(limits)}'.strip()


@dataclass(frozen=True)
class Motor:
    """
    An actuator.

    :param limits: In SI at the motor.
    :param unit: Scales of the driver's position, velocity and effort to SI.
    :param inside: Parameters that say so in the description.
    """

    limits: dict[str, float] = field(default_factory=dict)
    unit: tuple[float, float, float] = (1.0, 1.0, 1.0)
    inside: str = ''
    period: float | None = None

    @property
    def text(self):
        """What stands in its element."""
        return self.inside + (f'<limit {attributes(self.limits)}/>' if self.limits else '')


#: A driver that speaks turns, rpm and ampere.
ODD = {
    'unit': (TURN, TURN / 60, 0.5),
    'inside': params(
        position_unit='turn', velocity_unit='rpm', effort_unit='A', torque_constant=0.5
    ),
}


@dataclass(frozen=True, eq=False)
class Group:
    """
    Joints that one transmission moves.

    :param kind: The class, which names the formula in :meth:`matrix`; others have none.
    :param numbers: Those of the description by the rest of their parameter's name.
    """

    name: str
    kind: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    numbers: dict[str, float]
    extra: str = ''

    @property
    def is_few(self):
        """Whether there are fewer actuators than joints."""
        return len(self.actuators) < len(self.joints)

    @property
    def is_single(self):
        """Whether one actuator moves one joint."""
        return len(self.actuators) == len(self.joints) == 1

    def matrix(self, numbers):
        """Return ``dq/da`` and the offsets of the joints, by hand; ``None``: it varies."""
        j = [numbers.get(f'joints.{name}.mechanical_reduction', 1.0) for name in self.joints]
        a = [numbers.get(f'actuators.{name}.mechanical_reduction', 1.0) for name in self.actuators]
        offset = [numbers.get(f'joints.{name}.offset', 0.0) for name in self.joints]
        if self.kind in ('Simple', ''):
            return [[1 / (j[0] * a[0])]], offset
        if self.kind == 'Differential':
            return [
                [1 / (2 * j[0] * a[0]), 1 / (2 * j[0] * a[1])],
                [1 / (2 * j[1] * a[0]), -1 / (2 * j[1] * a[1])],
            ], offset
        if self.kind == 'FourBarLinkage':
            return [
                [1 / (j[0] * a[0]), 0.0],
                [-1 / (j[1] * j[0] * a[0]), 1 / (j[1] * a[1])],
            ], offset
        if self.kind == 'Coupled':
            matrix = [
                [numbers[f'matrix.joint{n}.actuator{k}'] / a[k - 1] for k in range(1, len(a) + 1)]
                for n in range(1, len(j) + 1)
            ]
            return matrix, offset
        return None

    def text(self, motors):
        """Return the element."""
        numbers = dict.fromkeys((*self.joints, *self.actuators), '')
        for key, value in self.numbers.items():
            if '.' in key and (names := key.split('.'))[1] in numbers:
                numbers[names[1]] += f'<{names[2]}>{value}</{names[2]}>'
        actuators = {name: numbers[name] + motors[name].text for name in self.actuators}
        joints = {name: numbers[name] for name in self.joints}
        return transmission(self.name, self.kind, joints, actuators, self.extra)


@dataclass(eq=False)
class Facts:
    """
    A robot.

    :param joints: By name.
    :param motors: By name.
    :param groups: Also those of one joint that passes through.
    :param drivers: Name of an actuator at its driver by actuator, with its namespace, where it is
        not the actuator's own in the namespace of the bridge.
    :param orders: Some orders of plain arrays.
    :param urdf: The description, where it is not made of these.
    """

    joints: dict[str, Joint]
    motors: dict[str, Motor]
    groups: tuple[Group, ...]
    drivers: dict[str, tuple[str, str]] = field(default_factory=dict)
    orders: tuple[tuple[str, ...], ...] = ()
    urdf: str = ''

    def place(self, actuator):
        """Return namespace and name of an actuator at its driver."""
        return self.drivers.get(actuator, ('', actuator))

    @property
    def is_wrapped(self):
        """Whether it has single-turn encoders."""
        return any(motor.period for motor in self.motors.values())

    @property
    def options(self):
        """The options of the bridge that belong to the robot."""
        topics = ['actuator_states', *(f'{s}actuator_states' for s, _ in self.drivers.values())]
        return {
            'actuator_state_topics': tuple(dict.fromkeys(topics)),
            'actuator_names': tuple(
                f'{space}actuator_states:{name}={actuator}'
                for actuator, (space, name) in self.drivers.items()
            ),
            'wrap_period': tuple(
                f'{name}={motor.period!r}' for name, motor in self.motors.items() if motor.period
            ),
        }

    @property
    def text(self):
        """The description."""
        joints = {name: joint.text for name, joint in self.joints.items()}
        return urdf(joints, ''.join(each.text(self.motors) for each in self.groups if each.kind))


def _geared(name, kind, joints, actuators):
    """
    Return reductions.

    :param joints: Reduction and offset of each joint.
    :param actuators: Reduction of each actuator, ``None``: it has no element.
    """
    numbers = {}
    for joint, (reduction, offset) in joints.items():
        numbers[f'joints.{joint}.mechanical_reduction'] = reduction
        numbers[f'joints.{joint}.offset'] = offset
    for actuator, reduction in actuators.items():
        if reduction is not None:
            numbers[f'actuators.{actuator}.mechanical_reduction'] = reduction
    return Group(name, kind, tuple(joints), tuple(actuators), numbers)


def _coupled(name, rows, actuators, offsets=()):
    """
    Return a matrix.

    :param rows: Row of each joint, one number per actuator.
    :param actuators: Reduction of each actuator.
    """
    text, numbers = {}, {}
    for n, row in enumerate(rows.values(), start=1):
        text[f'joint{n}'] = ' '.join(map(str, row))
        numbers |= {f'matrix.joint{n}.actuator{k}': entry for k, entry in enumerate(row, start=1)}
    for actuator, reduction in actuators.items():
        numbers[f'actuators.{actuator}.mechanical_reduction'] = reduction
    for joint, offset in dict(offsets).items():
        numbers[f'joints.{joint}.offset'] = offset
    return Group(name, 'Coupled', tuple(rows), tuple(actuators), numbers, params(**text))


class Bent(EquationTransmission):
    """One motor bends a finger with a lagging second joint: ``q = (a, sin(a))``."""

    api_version = 1
    members = (1, 2)

    def range(self):
        """Return the range of the motor."""
        return self.bare_range('actuator', [0.1], [1.2])

    @staticmethod
    def joint_position(a, p):
        """Return the angles."""
        return a, ca.sin(a)


class _Entry(importlib.metadata.EntryPoint):
    """The entry of a class of this module."""

    def load(self):
        """Return the class."""
        return globals()[self.attr]


def _registry():
    own = _Entry('me/Bent', f'{__name__}:Bent', ENTRY_POINT_GROUP)
    return Registry([*importlib.metadata.entry_points(group=ENTRY_POINT_GROUP), own])


_LINKAGES = Path(__file__).parents[3] / 'examples' / 'linkages'

_TOPICS = (
    '<ros2_control name="topics" type="sensor"><hardware><plugin>'
    'joint_state_topic_hardware_interface/JointStateTopicSystem</plugin></hardware></ros2_control>'
)

_CYLINDER = params(crank_radius=0.1, pivot_distance=0.4, crank_angle=1.5)
_HOIST = _geared('hoist', 'Simple', {'lift': (-4.0, 0.25)}, {'winch': None})
_LIFT = Joint(-0.5, 0.5, 1.0, 50.0, slides=True)
_WRIST = _geared(
    'wrist',
    'Differential',
    {'roll': (1.5, 0.1), 'pitch': (0.7, -0.2)},
    {'left': 2.0, 'right': -3.0},
)
_WRIST_JOINTS = {'roll': Joint(-1.5, 1.5, 3.0, 20.0), 'pitch': Joint(-1.0, 1.0, 2.0, 15.0)}
_ARM = _geared(
    'arm',
    'FourBarLinkage',
    {'shoulder': (-0.9, 0.25), 'elbow': (1.1, -0.4)},
    {'hip': 4.0, 'crank': -2.5},
)
_ARM_JOINTS = {'shoulder': Joint(velocity=6.0, effort=7.0), 'elbow': Joint(-1.25, 0.75, 9.0, 8.0)}

ROBOTS = {
    'wrist': Facts(
        {**_WRIST_JOINTS, 'lift': _LIFT, 'finger': Joint(velocity=5.0)},
        {
            'left': Motor({'velocity': 9.0, 'effort': 4.0, 'lower': -4.0, 'upper': 4.0}),
            'right': Motor(),
            'winch': Motor({'lower': -1.6, 'upper': 2.5, 'velocity': 3.5, 'effort': 10.0}, **ODD),
            'finger': Motor(),
        },
        (_WRIST, _HOIST, Group('finger', '', ('finger',), ('finger',), {})),
        {'left': ('left/', 'motor'), 'right': ('right/', 'motor')},
        (('winch', 'finger'), ('finger', 'left', 'winch'), ('right',), ()),
    ),
    'arm': Facts(
        {**_ARM_JOINTS, 'neck': Joint(), 'lift': _LIFT},
        {
            'hip': Motor({'velocity': 20.0}),
            'crank': Motor({'effort': 2.0}, **ODD),
            'head': Motor(),
            'winch': Motor({'velocity': 3.5}),
        },
        (_ARM, _geared('spine', 'Simple', {'neck': (20.0, 0.5)}, {'head': None}), _HOIST),
        orders=(('crank', 'hip'), ('head', 'winch', 'hip', 'crank'), ('head', 'hip'), ()),
    ),
    'hand': Facts(
        {
            'near': Joint(-1.0, 1.0, 2.0, 10.0),
            'middle': Joint(-0.8, 0.8, 2.0),
            'far': Joint(velocity=1.5),
            'one': Joint(),
            'two': Joint(),
            'lift': _LIFT,
        },
        {'motor': Motor({'velocity': 30.0}), 'pull': Motor(), 'winch': Motor()},
        (
            _coupled('finger', {'near': [1.0], 'middle': [0.8], 'far': [0.5]}, {'motor': 20.0}),
            _coupled('twins', {'one': [1.0], 'two': [1.0]}, {'pull': 1.0}),
            _HOIST,
        ),
        {'pull': ('right/', 'pull')},
        (('motor', 'winch'), ('winch', 'pull', 'motor'), ()),
    ),
    'claw': Facts(
        {
            'thumb': Joint(-1.0, 1.0, 2.0, 10.0),
            'tip': Joint(-1.0, 1.5, 2.0, 5.0),
            'base': Joint(-1.0, 1.0, 3.0),
            'side': Joint(-0.7, 0.7, 2.0),
            'cup': Joint(-0.5, 0.8, 2.0),
            'near': Joint(-0.2, 1.0, 4.0),
            'far': Joint(-0.2, 0.8, 2.0),
        },
        {
            'motor': Motor({'velocity': 25.0}, **ODD),
            'bow': Motor(),
            'string': Motor({'effort': 6.0}),
            'bender': Motor(),
        },
        (
            _coupled('claw', {'thumb': [1.0], 'tip': [-3.0]}, {'motor': 20.0}, {'tip': 0.3}),
            _coupled(
                'palm',
                {'base': [1.0, 0.5], 'side': [-0.5, 1.0], 'cup': [0.7, 0.7]},
                {'bow': 2.0, 'string': -3.0},
                {'cup': 0.1},
            ),
            Group('bend', 'me/Bent', ('near', 'far'), ('bender',), {}),
        ),
        {'bow': ('right/', 'bow')},
        (('motor', 'string'), ('bow', 'bender'), ('bender', 'motor', 'string'), ()),
    ),
    'leg': Facts(
        {'knee': Joint(-0.8, 0.6, 4.0, 300.0), 'lift': _LIFT},
        {'cylinder': Motor({'velocity': 0.3}), 'winch': Motor()},
        (
            Group('leg', 'CrankSlider', ('knee',), ('cylinder',), {}, _CYLINDER),
            _HOIST,
        ),
        orders=(('cylinder', 'winch'), ('winch', 'cylinder'), ()),
    ),
    'linkage': Facts(
        {'knee': Joint(-0.7, 0.7, 10.0, 100.0)},
        {'knee_motor': Motor()},
        (Group('knee_linkage', 'linkage', ('knee',), ('knee_motor',), {}),),
        orders=(('knee_motor',), ()),
        urdf='four_bar_knee.urdf',
    ),
    'encoders': Facts(
        {
            'pan': Joint(-1.0, 1.0, 2.0),
            'tilt': Joint(-1.5, 1.5, 2.0),
            'swing': Joint(-3.0, 3.0),
            'lift': _LIFT,
        },
        {
            'turner': Motor(period=TURN),
            'tilter': Motor(period=1.0, **ODD),
            'swinger': Motor(period=TURN),
            'winch': Motor(),
        },
        (
            _geared('base', 'Simple', {'pan': (3.0, 0.1)}, {'turner': None}),
            _geared('nod', 'Simple', {'tilt': (-10.0, 0.0)}, {'tilter': None}),
            _geared('boom', 'Simple', {'swing': (1.5, 0.0)}, {'swinger': None}),
            _HOIST,
        ),
        {'tilter': ('left/', 'tilter')},
        (('turner', 'tilter', 'winch'), ('winch', 'swinger'), ()),
    ),
}


@cache
def maps(name, *, is_divided=False):
    """Return the maps of a robot, with topic-based hardware if joints are rejected alone."""
    facts = ROBOTS[name]
    text = facts.text
    if facts.urdf:
        text = (_LINKAGES / facts.urdf).read_text(encoding='utf-8')
    if is_divided:
        text = text.replace('</robot>', f'{_TOPICS}</robot>')
    robot = RobotTransmissions(load_description(text), registry=_registry())
    own = {motor for group in facts.groups for motor in group.actuators}
    assert set(robot.actuator_names) == own, (robot.actuator_names, own)
    return robot
