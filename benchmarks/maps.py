# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Time of the maps, next to a Python loop, a copy of the array, and a C++ loop. Needs no ROS.

Types whose ratio depends on the position are measured each by itself: batches of positions, and a
live stream that moves, or whose driver is silent. ``given`` is the direction in which the type has
its range, ``back`` the other one; a closure alone is compared with the formula of its joint.

Each round times every case once, in random order, in CPU time of the one thread; what is compared
are ratios within rounds, printed as ``median [min..max]``. A *cycle* is one sample of position,
velocity and effort.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import random
import statistics
import sys
import time

import casadi as ca
import numpy as np
from reference import CppLoop, PythonLoop
from robot import robot_urdf

from transmission_bridge import (
    Domain,
    EquationTransmission,
    load_description,
    MapReport,
    RobotTransmissions,
)
from transmission_bridge.description import MemberSpec, RobotDescription, TransmissionSpec
from transmission_bridge.interfaces import DIRECTIONS
from transmission_bridge.transmissions import Binding, TabulatedTransmission
from transmission_bridge.transmissions.equation_types import (
    AnkleLeg,
    CrankSliderTransmission,
    GuidedSlider,
    HingedCylinder,
    ParallelAnkleTransmission,
)
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.robot import AffineMap, RobotTable
from transmission_bridge.transmissions.robot.affine_map import AffineWorkspace
from transmission_bridge.transmissions.robot.program import RobotMap
from transmission_bridge.transmissions.robot.table import order_members

Case = Callable[[], object]
Figures = dict[str, list[float]]

INTERFACES = ('position', 'velocity', 'effort')
DIRECTION = 'actuator_to_joint'

#: What a figure must reach, and what it should.
LIMITS = {
    'batch 12 joints, position / copy': (6.0, 3.0),
    'batch 12 joints, velocity / copy': (6.0, 3.0),
    'batch 12 joints, effort / copy': (6.0, 3.0),
    # numpy passes five times over a chunk in the cache, which others share; C++ passes once.
    'batch 100 joints, 3 interfaces / C++ loop': (1.8, 1.0),
}

#: A sample of a batch costs no more than one of a stream, also if it is solved for.
BATCH = (1.0, 0.5)

#: A solved direction against the given one: three Newton steps and a guess against a formula.
SOLVED = (2.5, 2.0)

#: What is sought may not cost more than what is there: both run one function, to the noise of a
#: shared machine. But the C library takes 0.1 us for the remainder of an unknown angle.
SILENT = (1.25, 1.0)


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--samples', type=int, default=1_000_000, help='samples × 12 joints')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--gate', action='store_true', help='exit 1 if a limit is not kept')
    arguments = parser.parse_args()

    times, ratios = {}, {}
    for measure in (cycles, narrow_batch, wide_batch, varying_ratios):
        some_times, some_ratios = measure(arguments.rounds, arguments.samples)
        times |= some_times
        ratios |= some_ratios
    failed = [
        name
        for name, (must, _) in LIMITS.items()
        if name not in ratios or statistics.median(ratios[name]) > must
    ]
    if arguments.json:
        print(json.dumps({'nanoseconds': times, 'ratios': ratios, 'failed': failed}))
    else:
        for name, values in times.items():
            print(f'{name:<52}{summary(values, 1)} ns')
        for name, values in ratios.items():
            limits = ' (must {}, aim {})'.format(*LIMITS[name]) if name in LIMITS else ''
            print(f'{name:<52}{summary(values, 3)}{limits}')
        print('not kept: ' + (', '.join(failed) or 'none'))
    return int(bool(failed) and arguments.gate)


def summary(values: list[float], digits: int) -> str:
    """Return ``median [min..max]``."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f'{middle:10.{digits}f} [{low:.{digits}f}..{high:.{digits}f}]'


def cycles(rounds: int, _: int) -> tuple[Figures, Figures]:
    """Measure one sample at a time, for robots of several sizes."""
    times: Figures = {}
    ratios: Figures = {}
    for joints in (7, 30, 100, 300):
        robot, inputs = prepared(joints, 1)
        rows = [array[0] for array in inputs]
        lists = [row.tolist() for row in rows]
        affine = [robot.affine(DIRECTION, name) for name in INTERFACES]
        workspaces = [AffineWorkspace(each) for each in affine]
        outputs = [np.empty(joints) for _ in INTERFACES]
        stacked = AffineMap.from_maps(affine)
        flat, flat_out, workspace = (
            np.concatenate(rows),
            np.empty(3 * joints),
            AffineWorkspace(stacked),
        )
        python, cpp = PythonLoop(robot), CppLoop(robot)

        def call(robot=robot, rows=rows):
            for name, row in zip(INTERFACES, rows, strict=True):
                robot.actuator_to_joint(name, row)

        def into(rows=rows, outputs=outputs, workspaces=workspaces):
            for row, out, space in zip(rows, outputs, workspaces, strict=True):
                space.map_into(row, out)

        cases = {
            'Python loop': repeated(lambda python=python, lists=lists: python(lists), 100),
            'C++ loop': (
                lambda cpp=cpp, inputs=inputs, outputs=outputs: cpp(inputs, outputs, 1000),
                1000,
            ),
            'actuator_to_joint': repeated(call, 500),
            'into': repeated(into, 500),
            'stacked into': repeated(
                lambda x=flat, y=flat_out, w=workspace: w.map_into(x, y), 500
            ),
        }
        measured = timed(cases, rounds)
        times |= {f'cycle {joints} joints, {name}': values for name, values in measured.items()}
        for name in ('actuator_to_joint', 'into', 'stacked into'):
            ratios[f'cycle {joints} joints, {name} / Python loop'] = quotients(
                measured[name], measured['Python loop']
            )
    for name in ('actuator_to_joint', 'into', 'stacked into'):
        ratios[f'cycle {name}, 300 joints / 7 joints'] = quotients(
            times[f'cycle 300 joints, {name}'], times[f'cycle 7 joints, {name}']
        )
    return times, ratios


def narrow_batch(rounds: int, samples: int) -> tuple[Figures, Figures]:
    """Measure many samples of twelve joints against a copy of the array."""
    robot, (x, *_) = prepared(12, samples)
    few = x[:500].tolist()
    python = PythonLoop(robot)
    cases: dict[str, tuple[Case, int]] = {
        name: (lambda name=name: robot.actuator_to_joint(name, x), samples) for name in INTERFACES
    }
    cases['copy'] = (x.copy, samples)
    cases['Python loop'] = (
        lambda: [python((row, row, row)) for row in few],
        len(few) * len(INTERFACES),
    )
    measured = timed(cases, rounds)
    times = {f'batch 12 joints, {name}': values for name, values in measured.items()}
    ratios = {
        f'batch 12 joints, {name} / {other}': quotients(measured[name], measured[other])
        for other in ('copy', 'Python loop')
        for name in INTERFACES
    }
    return times, ratios


def wide_batch(rounds: int, samples: int) -> tuple[Figures, Figures]:
    """Measure samples of a hundred joints against the C++ loop, each with new outputs."""
    joints = 100
    robot, inputs = prepared(joints, max(1, samples // 20))
    cpp = CppLoop(robot)

    def ours():
        return [
            robot.actuator_to_joint(name, x) for name, x in zip(INTERFACES, inputs, strict=True)
        ]

    def theirs():
        outputs = [np.empty((len(x), joints)) for x in inputs]
        cpp(inputs, outputs)
        return outputs

    cases = {'3 interfaces': (ours, len(inputs[0])), 'C++ loop': (theirs, len(inputs[0]))}
    measured = timed(cases, rounds)
    return (
        {f'batch 100 joints, {name}': values for name, values in measured.items()},
        {
            'batch 100 joints, 3 interfaces / C++ loop': quotients(
                measured['3 interfaces'], measured['C++ loop']
            )
        },
    )


def varying_ratios(rounds: int, samples: int) -> tuple[Figures, Figures]:
    """Measure each type whose ratio varies: a live stream, silent or not, and batches of it."""
    times: Figures = {}
    ratios: Figures = {}
    for name, transmission, formula in mechanisms():
        x, y = swaying(transmission, max(1, samples // 10))
        given, back = DIRECTIONS if transmission.domain.space == 'actuator' else DIRECTIONS[::-1]
        for word, direction, at in (('given', given, x), ('back', back, y)):
            cases = {
                'live': live(transmission, direction, at[:1000]),
                'silent': live(transmission, direction, np.full_like(at[:1000], np.nan)),
                'batch': (
                    lambda t=transmission, d=direction, at=at: t.map(d, 'position', at),
                    len(at),
                ),
            }
            measured = timed(cases, rounds)
            times |= {f'{name}, {word}, {case}': values for case, values in measured.items()}
            of = f'{name}, {word}'
            ratios[f'{of}, silent / live'] = quotients(measured['silent'], measured['live'])
            ratios[f'{of}, batch / live'] = quotients(measured['batch'], measured['live'])
            LIMITS[f'{of}, silent / live'] = SILENT
            LIMITS[f'{of}, batch / live'] = BATCH
            if word == 'back' or formula != name:
                ratios[f'{of}, batch / formula'] = quotients(
                    measured['batch'], times[f'{formula}, given, batch']
                )
                LIMITS[f'{of}, batch / formula'] = SOLVED
    return times, ratios


def mechanisms() -> list[tuple[str, MechanismTransmission, str]]:
    """Return names, mechanisms, and the name of the formula that each is compared with."""
    leg = {'crank': 0.05, 'foot': (0.05, 0.05, 0.0)}
    right = {**leg, 'foot': (0.05, -0.05, 0.0)}
    ankle = ParallelAnkleTransmission(
        (
            AnkleLeg(motor=(0.0, 0.05, 0.24), rod=0.24, **leg),
            AnkleLeg(motor=(0.0, -0.05, 0.15), rod=0.15, **right),
        ),
        lower=(-0.6, -0.3),
        upper=(0.4, 0.3),
    )
    angles = np.linspace(0.0, 3.0, 50)
    found = {
        'crank with a rod': CrankSliderTransmission(GuidedSlider(0.04, 0.12, 0.015), 1.6),
        'hinged cylinder': CrankSliderTransmission(HingedCylinder(0.25, 0.9), 1.2),
        'ankle': ankle,
        'table of 50 points': TabulatedTransmission(angles, angles + np.sin(angles)),
        'universal joint': UniversalJoint(),
    }
    closure = 'universal joint, a closure alone'
    return [
        *((name, t, name) for name, t in found.items()),
        (closure, ClosedJoint(), 'universal joint'),
    ]


class UniversalJoint(EquationTransmission):
    """A universal joint, bent by 37 degrees."""

    api_version = 1

    def range(self) -> Domain:
        """Return almost a turn."""
        return self.bare_range('actuator', [-3.0], [3.0])

    @staticmethod
    def joint_position(a, p):
        """Return the angle behind the cross."""
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2(0.2 * s * c, 0.8 * c * c + s * s)


class ClosedJoint(UniversalJoint):
    """The same by what is zero if the cross fits."""

    joint_position = None

    def pose(self):
        """Return both forks at zero."""
        return [0.0], [0.0]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero."""
        return 0.8 * ca.sin(q) * ca.cos(a) - ca.cos(q) * ca.sin(a)


def swaying(t: MechanismTransmission, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions that move over most of the range, and those of the other space."""
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    share = 0.5 + 0.4 * np.sin(2e-3 * np.arange(count))[:, np.newaxis]
    x = low + share * (high - low)
    y = t.map(
        'joint_to_actuator' if t.domain.space == 'joint' else 'actuator_to_joint', 'position', x
    )
    return x, y


def live(t: MechanismTransmission, direction: str, at: np.ndarray) -> tuple[Case, int]:
    """Return a case that maps one instant after the other, as the bridge does for this robot."""
    names = [
        [f'{end}{k}' for k in range(n)] for end, n in (('j', t.n_joints), ('a', t.n_actuators))
    ]
    ends = (tuple(map(MemberSpec, each)) for each in names)
    alone = Binding(TransmissionSpec('t', 'type', 'ros2_control', *ends), t)
    stream = RobotMap(RobotTable(*order_members(RobotDescription('r'), (alone,))), direction)
    rows = np.stack([at, np.ones_like(at), np.ones_like(at)], axis=1)
    report = MapReport()

    def run() -> None:
        for each in rows:
            stream.map_state(each, report)

    return run, len(rows)


def prepared(joints: int, samples: int) -> tuple[RobotTransmissions, list[np.ndarray]]:
    """Return a mixed robot with inputs for it, once all three ways agree on what they compute."""
    robot = RobotTransmissions(load_description(robot_urdf(joints)))
    random_numbers = np.random.default_rng(joints)
    inputs = [random_numbers.normal(size=(samples, joints)) for _ in INTERFACES]
    first = [np.ascontiguousarray(x[:1]) for x in inputs]
    from_cpp = [np.empty((1, joints)) for _ in INTERFACES]
    CppLoop(robot)(first, from_cpp)
    from_python = PythonLoop(robot)([x[0].tolist() for x in first])
    for name, x, c, p in zip(INTERFACES, first, from_cpp, from_python, strict=True):
        ours = robot.actuator_to_joint(name, x)
        for other in (c, np.array([p])):
            np.testing.assert_allclose(ours, other, rtol=1e-12, atol=1e-12)
    return robot, inputs


def repeated(function: Case, calls: int) -> tuple[Case, int]:
    """Return a case that calls a function many times."""

    def run() -> None:
        for _ in range(calls):
            function()

    return run, calls


def timed(cases: dict[str, tuple[Case, int]], rounds: int) -> Figures:
    """Return nanoseconds per sample of each case, one figure per round."""
    order = list(cases)
    shuffle = random.Random(1).shuffle
    figures: Figures = {name: [] for name in cases}
    for case, _ in cases.values():
        case()
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            case, samples = cases[name]
            start = time.thread_time_ns()
            case()
            figures[name].append((time.thread_time_ns() - start) / samples)
    return figures


def quotients(above: list[float], below: list[float]) -> list[float]:
    """Return the ratios within rounds."""
    return [a / b for a, b in zip(above, below, strict=True)]


if __name__ == '__main__':
    sys.exit(main())
