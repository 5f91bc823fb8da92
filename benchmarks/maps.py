# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Time of the maps, next to a Python loop, a copy of the array, and a C++ loop. Needs no ROS.

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

import numpy as np
from reference import CppLoop, PythonLoop
from robot import robot_urdf

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.transmissions.affine_map import AffineMap

Case = Callable[[], object]
Figures = dict[str, list[float]]

INTERFACES = ('position', 'velocity', 'effort')
DIRECTION = 'actuator_to_joint'

#: What a figure must reach, and what it should.
LIMITS = {
    'batch 12 joints, position / copy': (6.0, 3.0),
    'batch 12 joints, velocity / copy': (6.0, 3.0),
    'batch 12 joints, effort / copy': (6.0, 3.0),
    'batch 100 joints, 3 interfaces / C++ loop': (1.0, 0.5),
}


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--samples', type=int, default=1_000_000, help='samples × 12 joints')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--gate', action='store_true', help='exit 1 where a limit is not kept')
    arguments = parser.parse_args()

    times, ratios = {}, {}
    for measure in (cycles, narrow_batch, wide_batch):
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
        affine = [robot.mapper.map_of(name, DIRECTION).affine for name in INTERFACES]
        workspaces = [each.workspace() for each in affine]
        outputs = [np.empty(joints) for _ in INTERFACES]
        stacked = AffineMap.stacked(affine)
        flat, flat_out, workspace = np.concatenate(rows), np.empty(3 * joints), stacked.workspace()
        python, cpp = PythonLoop(robot), CppLoop(robot)

        def call(robot=robot, rows=rows):
            for name, row in zip(INTERFACES, rows, strict=True):
                robot.actuator_to_joint(name, row)

        def into(affine=affine, rows=rows, outputs=outputs, workspaces=workspaces):
            for each, row, out, space in zip(affine, rows, outputs, workspaces, strict=True):
                each.into(row, out, space)

        cases = {
            'Python loop': repeated(lambda python=python, lists=lists: python(lists), 100),
            'C++ loop': (
                lambda cpp=cpp, inputs=inputs, outputs=outputs: cpp(inputs, outputs, 1000),
                1000,
            ),
            'actuator_to_joint': repeated(call, 500),
            'into': repeated(into, 500),
            'stacked into': repeated(
                lambda s=stacked, x=flat, y=flat_out, w=workspace: s.into(x, y, w), 500
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
