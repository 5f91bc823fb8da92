# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Random commands to random robots whose actuators have limits.

The same commands go to the robot without limits of actuators, which says what the last stage was
given.
"""

from __future__ import annotations

from collections import Counter
import math

from command_paths import Commands
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS

pytest.importorskip('casadi')

#: Robots, and commands to each.
ROBOTS, PER_ROBOT = 8, 500

#: Largest rounding error, relative to the command.
DIRECTION = 1e-12

KINDS = ('lower', 'upper', 'velocity', 'effort')

#: Types with their numbers of joints and actuators, and what else stands in them.
TYPES = {
    'simple': ('transmission_interface/SimpleTransmission', 1, 1),
    'differential': ('transmission_interface/DifferentialTransmission', 2, 2),
    'bar': ('transmission_interface/FourBarLinkageTransmission', 2, 2),
    'coupled': ('transmission_bridge/CoupledTransmission', 3, 3),
    'finger': ('transmission_bridge/CoupledTransmission', 3, 1),
    'tendons': ('transmission_bridge/CoupledTransmission', 2, 3),
    'screw': ('transmission_bridge/ScrewTransmission', 1, 1),
    'crank': ('transmission_bridge/CrankSliderTransmission', 1, 1),
    'table': ('transmission_bridge/TabulatedTransmission', 1, 1),
    'ankle': ('transmission_bridge/ParallelAnkleTransmission', 2, 2),
}

#: Of the two legs of the ankle.
LEGS = (
    ('0 0.05 0.24', '0.24', '0.05 0.05 0'),
    ('0 -0.05 0.15', '0.15', '0.05 -0.05 0'),
)


def parameters(kind: str, draw: np.random.Generator) -> str:
    """Return the parameters of a transmission."""
    _, n, m = TYPES[kind]
    if kind in ('coupled', 'finger', 'tendons'):
        matrix = np.eye(n, m) + 0.5 * draw.uniform(-1.0, 1.0, (n, m))
        return ''.join(
            f'<param name="joint{row + 1}">{" ".join(map(repr, values))}</param>'
            for row, values in enumerate(matrix.tolist())
        )
    return {
        'screw': '<param name="lead">0.01</param>',
        # Its dead centre is within the domain.
        'crank': '<param name="rod_length">0.3</param><param name="crank_radius">0.1</param>'
        f'<param name="crank_angle">{draw.choice([0.05, 1.2])}</param>',
        'table': '<param name="actuator">0 0.2 0.5 1</param>'
        '<param name="joint">0 0.1 0.4 1.3</param>',
    }.get(kind, '')


def limit(draw: np.random.Generator) -> str:
    """Return the limits of an actuator: some of them, now and then none, or zero."""
    lower, upper = np.sort(draw.normal(0.0, draw.choice([0.3, 3.0, 30.0]), 2)).tolist()
    values = {
        'lower': lower,
        'upper': upper,
        'velocity': draw.choice([0.0, 1.0]) and draw.exponential(20.0),
        'effort': draw.choice([0.0, 1.0, 1.0, 1.0]) and draw.exponential(2.0),
    }
    given = [name for name in KINDS if draw.random() < 0.6]
    return f'<limit {" ".join(f"{name}={repr(float(values[name]))!r}" for name in given)}/>'


def made(draw: np.random.Generator) -> RobotTransmissions:
    """Return a robot of two to four transmissions and a joint that passes through."""
    joints, transmissions = ['direct'], []
    for number, kind in enumerate(draw.choice(list(TYPES), draw.integers(2, 5))):
        plugin, n, m = TYPES[kind]
        text = f'<transmission name="t{number}"><plugin>{plugin}</plugin>'
        text += parameters(kind, draw)
        for place in range(n):
            joints.append(f'q{number}{place}')
            text += f'<joint name="q{number}{place}" role="joint{place + 1}">'
            if kind in ('simple', 'differential', 'bar'):
                reduction = float(draw.choice([-1, 1]) * draw.uniform(0.5, 50.0))
                text += f'<mechanical_reduction>{reduction}</mechanical_reduction>'
                text += f'<offset>{draw.uniform(-0.5, 0.5)}</offset>'
            if kind == 'ankle':
                text += '<param name="lower">-0.4</param><param name="upper">0.4</param>'
            text += '</joint>'
        for place in range(m):
            text += f'<actuator name="a{number}{place}" role="actuator{place + 1}">'
            if kind == 'ankle':
                names = ('motor_position', 'rod_length', 'foot_attachment', 'crank_radius')
                for name, value in zip(names, (*LEGS[place], '0.05'), strict=True):
                    text += f'<param name="{name}">{value}</param>'
            text += f'{limit(draw) if draw.random() < 0.8 else ""}</actuator>'
        transmissions.append(f'{text}</transmission>')
    described = ''.join(
        f'<link name="l{name}"/><joint name="{name}" type="revolute"><parent link="base"/>'
        f'<child link="l{name}"/><limit lower="{-draw.exponential(1.0)}" '
        f'upper="{draw.exponential(1.0)}" velocity="60" effort="300"/></joint>'
        for name in joints
    )
    robot = RobotTransmissions(
        load_description(
            f'<robot name="r"><link name="base"/>{described}<ros2_control name="b" type="system">'
            f'{"".join(f"<joint name={name!r}/>" for name in joints)}{"".join(transmissions)}'
            '</ros2_control></robot>'
        )
    )
    errors = [each.message for each in robot.findings if each.severity == 'error']
    assert all('exclude each other' in each for each in errors)
    return made(draw) if errors else robot


def unlimited(robot: RobotTransmissions) -> RobotTransmissions:
    """Return the robot without limits of its actuators."""
    return robot.with_parameters(
        {
            '.'.join((name, *tunable.path)): -math.inf if tunable.path[-1] == 'lower' else math.inf
            for name, tunables in robot.tunables.items()
            for tunable in tunables
            if 'limit' in tunable.path
        }
    )


class Commander:
    """Draws commands: all modes, partial, at limits of joints and actuators and beyond."""

    def __init__(self, robot: RobotTransmissions, draw: np.random.Generator) -> None:
        self.robot, self._draw = robot, draw
        options = {
            'mixed_commands': str(draw.choice(['split', 'nan'])),
            'partial_commands': str(draw.choice(['hold', 'zero', 'reject'])),
            'limits': str(draw.choice(['clamp', 'clamp', 'clamp', 'reject'])),
        }
        self.policy = options['limits']
        self.limited = Commands(robot, **options)
        self.free = Commands(unlimited(robot), **options)
        self.bounds = self.limited.gate.actuator_limits.bounds
        self._layouts = LayoutTable()

    def command(self) -> np.ndarray:
        """Return rows position, velocity, effort, NaN: no command."""
        draw, n = self._draw, len(self.robot.joint_names)
        command = draw.normal(size=(3, n)) * draw.choice([1e-3, 0.3, 3.0, 100.0], (3, 1))
        ends = self.bounds[draw.integers(2), 0].copy()
        ends[~np.isfinite(ends)] = draw.normal()
        if draw.random() < 0.3:
            command[0] = np.nan_to_num(self.robot.actuator_to_joint('position', ends))
        given = draw.random((3, 1)) < 0.5
        if draw.random() < 0.3:
            given = draw.random((3, n)) < 0.5
        given = given & (draw.random(n) < draw.choice([0.3, 1.0]))
        return np.where(given, command, np.nan)

    def measured(self) -> np.ndarray:
        """Return positions, some unknown, some at a dead centre."""
        measured = self._draw.normal(size=len(self.robot.joint_names))
        measured *= self._draw.choice([0.0, 1e-4, 0.3, 2.0])
        measured[self._draw.random(len(measured)) < 0.1] = np.nan
        return measured

    def send(self, path: Commands, command: np.ndarray, at: np.ndarray, rate: np.ndarray):
        """Return what is sent, shape ``(3, n_actuators)``, or why it is refused."""
        names = self.robot.joint_names
        layout = self._layouts.find_layout(list(names), (len(names),) * 3)
        data = JointStateRecord((0, 0), '', names, *command)
        sent = np.full(self.bounds.shape[1:], np.nan)
        try:
            records = path.command(layout, data, at, (0, 0), measured_velocity=rate)
        except MessageError as error:
            return error.reason
        for record in records:
            places = [self.robot.actuator_names.index(name) for name in record.names]
            for row, field in enumerate(FIELDS):
                if len(getattr(record, field)):
                    sent[row, places] = np.where(
                        np.isnan(getattr(record, field)), sent[row, places], getattr(record, field)
                    )
        return sent


class Judge:
    """Compares what is sent with what would be sent without limits of actuators."""

    def __init__(self, robot: RobotTransmissions, policy: str, bounds: np.ndarray) -> None:
        self.robot, self.policy, self.bounds = robot, policy, bounds
        #: Counts of events, and the largest error of a direction in joint space.
        self.seen: Counter[str] = Counter()
        self.worst = 0.0

    def refused(self, free: np.ndarray) -> None:
        """Only what is outside is refused: any with reject, else a coupled position."""
        lower, upper = self.bounds
        outside = (free < lower) | (free > upper)
        if self.policy == 'clamp':
            coupled = np.zeros(outside.shape[1], dtype=bool)
            for binding in self.robot.bindings:
                if (len(binding.joints), len(binding.actuators)) != (1, 1):
                    coupled[list(binding.actuators)] = True
            outside = outside[0] & coupled
        assert outside.any()
        self.seen['refused'] += 1

    def sent(self, free: np.ndarray, found: np.ndarray) -> None:
        """No actuator is beyond a limit, directions stay, and what is inside is not touched."""
        lower, upper = self.bounds
        assert np.array_equal(np.isnan(free), np.isnan(found))
        assert not ((found < lower) | (found > upper)).any()
        rest = np.ones(free.shape, dtype=bool)
        for binding in self.robot.bindings:
            places = list(binding.actuators)
            rest[:, places] = False
            for row in range(3):
                before, after = free[row, places], found[row, places]
                least, most = lower[row, places], upper[row, places]
                outside = (before < least) | (before > most)
                if not outside.any():
                    assert np.array_equal(before, after, equal_nan=True)
                elif row == 0:
                    assert np.allclose(after, np.clip(before, least, most), rtol=0.0, atol=0.0)
                    self.seen['clamped'] += 1
                else:
                    self._scaled(binding, row, before, after, most)
        assert np.array_equal(free[rest], found[rest], equal_nan=True)
        self.seen['sent'] += 1

    def _scaled(self, binding, row: int, before, after, most) -> None:
        """Scaled by one factor, and by no more than one actuator needs."""
        outside = np.abs(before) > most
        share = (most[outside] / np.abs(before[outside])).min()
        assert np.abs(after - share * before).max() <= DIRECTION * np.abs(after).max()
        self.seen['scaled'] += 1
        transmission = binding.transmission
        jacobian = transmission.jacobian(np.zeros(len(before)))
        if not transmission.is_constant or not after.any():
            return
        # Joint velocities are J times actuator velocities, efforts solve Jᵀ τ_q = τ_a.
        matrix = jacobian if row == 1 else np.linalg.pinv(jacobian.T)
        one, other = matrix @ before, matrix @ after
        size = np.abs(matrix).max() * np.abs(before).max()
        error = np.abs(one / size - other / (share * size)).max()
        self.worst = max(self.worst, float(error))
        assert error <= DIRECTION


def run(seed: int, count: int) -> Judge:
    """Send commands to one robot, with and without limits of its actuators."""
    draw = np.random.default_rng(seed)
    commander = Commander(made(draw), draw)
    judge = Judge(commander.robot, commander.policy, commander.bounds)
    for _ in range(count):
        command, at, rate = commander.command(), commander.measured(), commander.measured()
        free = commander.send(commander.free, command, at, rate)
        found = commander.send(commander.limited, command, at, rate)
        if isinstance(found, str) and found == 'actuator_limit':
            assert not isinstance(free, str)
            judge.refused(free)
            commander.free.reset()  # it holds what the other one does not
            commander.limited.reset()
        elif isinstance(found, str) or isinstance(free, str):
            assert found == free
            judge.seen[found] += 1
        else:
            judge.sent(free, found)
    return judge


def test_random_commands(campaign: int) -> None:
    """Whatever is commanded, each limit holds, directions stay, and nothing inside is refused."""
    seen: Counter[str] = Counter()
    worst = 0.0
    for seed in range(ROBOTS * campaign):
        judge = run(seed, PER_ROBOT)
        seen += judge.seen
        worst = max(worst, judge.worst)
    print(f'{dict(seen)}, largest error of a direction {worst:.2g}')
    # Each of them was met.
    assert all(seen[what] for what in ('sent', 'scaled', 'clamped', 'refused', 'unmapped'))
