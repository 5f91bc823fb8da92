# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Small robots for the machine that tests the promises: descriptions, and the facts by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
import importlib.metadata
import itertools
import math
from pathlib import Path
import re

import casadi as ca
import numpy as np
from small_robots import params, transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import (
    EquationTransmission,
    Registry,
    RobotTransmissions,
)
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

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


def _simple(name, joint, actuator, reduction, offset=0.0):
    numbers = {f'joints.{joint}.mechanical_reduction': reduction, f'joints.{joint}.offset': offset}
    return Group(name, 'Simple', (joint,), (actuator,), numbers)


def _through(name):
    """Return a joint that passes through, with a reduction of 1."""
    return Group(name, '', (name,), (name,), {})


def _two(name, kind, joints, actuators):
    numbers = {}
    for joint, (reduction, offset) in joints.items():
        numbers[f'joints.{joint}.mechanical_reduction'] = reduction
        numbers[f'joints.{joint}.offset'] = offset
    for actuator, reduction in actuators.items():
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


class Bow(EquationTransmission):
    """``q = sinh(a)``."""

    api_version = 2

    def range(self):
        """Return two radians each way."""
        return self.bare_range('actuator', [-2.0], [2.0])

    @staticmethod
    def joint_position(a, p):
        """Return the position."""
        return ca.sinh(a)


class Bent(EquationTransmission):
    """One motor bends a finger with a lagging second joint: ``q = (a, sin(a))``."""

    api_version = 2
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
    own = [
        _Entry(f'me/{name}', f'{__name__}:{name}', ENTRY_POINT_GROUP) for name in ('Bow', 'Bent')
    ]
    return Registry([*importlib.metadata.entry_points(group=ENTRY_POINT_GROUP), *own])


_KNEE = Path(__file__).parents[2] / 'docs' / 'transmissions.md'

_CYLINDER = params(crank_radius=0.1, pivot_distance=0.4, crank_angle=1.5)
_HOIST = _simple('hoist', 'lift', 'winch', -4.0, 0.25)
_LIFT = Joint(-0.5, 0.5, 1.0, 50.0, slides=True)
_WRIST = _two(
    'wrist',
    'Differential',
    {'roll': (1.5, 0.1), 'pitch': (0.7, -0.2)},
    {'left': 2.0, 'right': -3.0},
)
_WRIST_JOINTS = {'roll': Joint(-1.5, 1.5, 3.0, 20.0), 'pitch': Joint(-1.0, 1.0, 2.0, 15.0)}
_ARM = _two(
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
        (_WRIST, _HOIST, _through('finger')),
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
        (_ARM, _simple('spine', 'neck', 'head', 20.0, 0.5), _HOIST),
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
            _simple('base', 'pan', 'turner', 3.0, 0.1),
            _simple('nod', 'tilt', 'tilter', -10.0),
            _simple('boom', 'swing', 'swinger', 1.5),
            _HOIST,
        ),
        {'tilter': ('left/', 'tilter')},
        (('turner', 'tilter', 'winch'), ('winch', 'swinger'), ()),
    ),
    'plugins': Facts(
        {
            'bow': Joint(-1.5, 1.5, 3.0, 10.0),
            'near': Joint(-0.2, 1.2),
            'far': Joint(velocity=2.0),
            **_WRIST_JOINTS,
        },
        {
            'archer': Motor({'velocity': 2.0}),
            'bender': Motor(),
            'left': Motor(),
            'right': Motor({'velocity': 8.0}),
        },
        (
            Group('bow', 'me/Bow', ('bow',), ('archer',), {}),
            Group('bend', 'me/Bent', ('near', 'far'), ('bender',), {}),
            _WRIST,
        ),
        {'archer': ('left/', 'archer')},
        (
            ('archer', 'left', 'right'),
            ('left', 'bender'),
            ('right', 'left', 'bender', 'archer'),
            (),
        ),
    ),
}


@cache
def maps(name):
    """Return the maps of a robot."""
    facts = ROBOTS[name]
    text = facts.text
    if facts.urdf:
        document = _KNEE.read_text(encoding='utf-8')
        text = re.search(rf'file={facts.urdf}\n(.*?)^```$', document, re.DOTALL | re.MULTILINE)[1]
    robot = RobotTransmissions(load_description(text), registry=_registry())
    own = {motor for group in facts.groups for motor in group.actuators}
    assert set(robot.actuator_names) == own, (robot.actuator_names, own)
    return robot


def span(lower=-math.inf, upper=math.inf, velocity=math.inf, effort=math.inf, **_):
    """Return the bounds of position, velocity, effort and acceleration."""
    return [(lower, upper), (-velocity, velocity), (-effort, effort), (-math.inf, math.inf)]


class No(Exception):
    """A message has to be rejected; the argument is the reason."""


class Mechanics:
    """
    Formulas with the numbers in use, and what the drivers said.

    Linear formulas are by hand; if the ratio varies, the maps of the robot are used.

    :param facts: The robot.
    :param robot: Its maps.
    :param age: Seconds after which a reading is too old.
    :param are_limited: Whether there are limits.
    """

    def __init__(self, facts, robot, age, are_limited=True):
        self.facts, self._age = facts, age
        self.numbers = {group.name: dict(group.numbers) for group in facts.groups}
        limits = {name: vars(joint) for name, joint in facts.joints.items() if are_limited}
        self.joints = {name: span(**limits.get(name, {})) for name in facts.joints}
        self.limits = {name: dict(motor.limits) for name, motor in facts.motors.items()}
        self.are_limited = are_limited
        self.motors = {
            name: span(**(limits if are_limited else {})) for name, limits in self.limits.items()
        }
        self.unit = {name: list(motor.unit) for name, motor in facts.motors.items()}
        self.group_of = {n: g for g in facts.groups for n in (*g.joints, *g.actuators)}
        self.use(robot)
        self.forget()

    def use(self, robot):
        """Use the numbers as they are now."""
        self.robot, self.formula = robot, {}
        for group in self.facts.groups:
            found = group.matrix(self.numbers[group.name])
            if found:
                inverse = None if group.is_few else np.linalg.inv(found[0]).tolist()
                self.formula[group.name] = (*found, inverse)

    def forget(self):
        """Forget all readings."""
        self.readings, self.heard, self.now = {}, {}, -math.inf

    def note_time(self, now):
        """Forget all readings if time went backwards; return whether it did."""
        went_back = now < self.now
        if went_back:
            self.forget()
        self.now = now
        return went_back

    def hear(self, space, readings, now):
        """Take a message: (total position, velocity) by actuator; return whether it was silent."""
        self.note_time(now)
        was_silent = now - self.heard.get(space, now) > self._age
        self.heard[space] = now
        for name, values in readings.items():
            self.readings[name] = (*values, now)
        return was_silent

    def silent(self, now):
        """Return the namespaces of silent drivers."""
        return {space for space, time in self.heard.items() if now - time > self._age}

    def fresh(self, name, now, row=0):
        """Return the position (or velocity) of an actuator, ``None`` if unknown or too old."""
        *values, time = self.readings.get(name, (None, None, math.inf))
        return values[row] if now - time <= self._age else None

    def measured(self, group, now, row=0):
        """Return positions (or velocities) of joints that are not too old, ``None``: unknown."""
        at = {name: self.fresh(name, now) for name in group.actuators}
        known = {name: self.fresh(name, now, row) for name in group.actuators}
        return self.to_joints(group, known, row, at)

    def _whole(self, names, values):
        values = [None if values is None else values.get(name) for name in names]
        return np.array([math.nan if value is None else value for value in values])

    def to_joints(self, group, values, row, at=None):
        """Map positions or velocities of actuators to joints; ``None``: unknown."""
        if group.name not in self.formula:
            joints, motors = self.robot.joint_names, self.robot.actuator_names
            mode = ('position', 'velocity')[row]
            values, point = self._whole(motors, values), self._whole(motors, at)
            found = self.robot.actuator_to_joint(mode, values, at=point)
            found = dict(zip(joints, found.tolist(), strict=True))
            return {
                name: found[name] if math.isfinite(found[name]) else None for name in group.joints
            }
        matrix, offset, _ = self.formula[group.name]
        result = {}
        for joint, line, bias in zip(group.joints, matrix, offset, strict=True):
            terms = [(f, values.get(n)) for f, n in zip(line, group.actuators, strict=True) if f]
            result[joint] = None
            if all(value is not None for _, value in terms):
                result[joint] = sum(f * value for f, value in terms) + bias * (row == 0)
        return result

    def to_actuators(self, group, values, row, at=None, rate=None):
        """
        Map values of joints to actuators, at these positions if the ratio varies.

        :param row: 0 to 2, 3: acceleration, which needs a rate.
        :raises No: If they cannot be mapped.
        """
        if row and not any(values.values()) and row < 3:
            return dict.fromkeys(group.actuators, 0.0)
        if group.name not in self.formula:
            joints, motors = self.robot.joint_names, self.robot.actuator_names
            found = self.robot.joint_to_actuator(
                ('position', 'velocity', 'effort', 'acceleration')[row],
                self._whole(joints, values),
                at=self._whole(joints, at),
                rate=self._whole(joints, rate),
            )
            found = {name: float(found[motors.index(name)]) for name in group.actuators}
            if not all(map(math.isfinite, found.values())):
                raise No('unmapped')
            return found
        matrix, offset, inverse = self.formula[group.name]
        if row == 2:
            terms = [(matrix[n], values[j]) for n, j in enumerate(group.joints) if j in values]
            return {a: sum(m[k] * v for m, v in terms) for k, a in enumerate(group.actuators)}
        moved = [
            values[joint] - bias * (row == 0) if joint in values else None
            for joint, bias in zip(group.joints, offset, strict=True)
        ]
        if inverse is None:  # least squares of the joints with a value
            given = [(line, v) for line, v in zip(matrix, moved, strict=True) if v is not None]
            best = np.linalg.lstsq(*map(np.array, zip(*given, strict=True)), rcond=None)[0]
            return dict(zip(group.actuators, best.tolist(), strict=True))
        return {
            name: sum(f * v for f, v in zip(line, moved, strict=True))
            for name, line in zip(group.actuators, inverse, strict=True)
        }

    def map(self, group, own, measured=None):
        """
        Map values of a group's joints, by name and row, to its actuators.

        :param measured: Where the joints are, for what is not mapped where a position is given;
            ``None``: everything is mapped there.
        """
        rows = list(own[group.joints[0]])
        given, rate = ({j: values.get(row) for j, values in own.items()} for row in (0, 1))
        result = {name: {} for name in group.actuators}
        for row in rows:
            at = given if measured is None or (row == 1 and 0 in rows) else measured
            values = {joint: each[row] for joint, each in own.items()}
            for name, value in self.to_actuators(group, values, row, at, rate).items():
                result[name][row] = value
        return result

    def speed(self, before, after):
        """
        Return the greatest share of a velocity limit between two waypoints.

        :param before: Time, and values by row of the joints and of the actuators.
        :param after: The same later.
        """
        (t0, joints0, sent0), (t1, joints1, sent1) = before, after
        shares = [0.0]
        for group in dict.fromkeys(self.group_of[joint] for joint in joints0):
            way = [sent0, sent1]
            if group.name not in self.formula:
                middle = {j: (joints0[j][0] + joints1[j][0]) / 2 for j in group.joints}
                middle = self.to_actuators(group, middle, 0)
                way.insert(1, {name: {0: value} for name, value in middle.items()})
            steps = [(joints0[j], joints1[j], self.joints[j], t1 - t0) for j in group.joints]
            for name in group.actuators:
                seconds = (t1 - t0) / (len(way) - 1)
                ends = [(x[name], y[name]) for x, y in itertools.pairwise(way)]
                steps += [(x, y, self.motors[name], seconds) for x, y in ends]
            for x, y, bounds, seconds in steps:
                shares.append(abs(y[0] - x[0]) / seconds / (bounds[1][1] or 1e-300))
        return max(shares)

    def tune(self, group, robot, changes):
        """Use other numbers of a transmission; a torque constant is a unit."""
        for key, value in changes.items():
            name, leaf = key.split('.')[1], key.split('.')[-1]
            if '.limit.' in key:
                self.limits[name][leaf] = value
                self.motors[name] = span(**(self.limits[name] if self.are_limited else {}))
            elif leaf == 'torque_constant':
                self.unit[name][2] = value
            else:
                self.numbers[group.name][key] = value
        self.use(robot)
