# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Do the intervals of ``calibrate`` cover? Fixed seeds with noise, slips, outliers and a stuck joint.

Per seed every transmission of a robot gets other true numbers, motion, noise, up to two slips per
joint (of 5 to 50 standard deviations, for good), 2 % outliers, and one joint that stands still
while its motor moves. Counted is, for each number, how often the 95 % interval holds the true one
(for an offset: that of most of the recording), and how wide it is next to that of least squares on
the same data without slips and outliers. A number that is kept because the noise hides it has no
interval and is not counted; the crank's ``stroke_at_zero``, to which that happens often, is truly
as described. Needs no ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
import json
import os
import statistics
import sys

from transmission_bridge.types import Array

# One thread per process, set before numpy is imported: these are many small problems.
os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.tools.calibration.calibrate import calibrate_transmission
from transmission_bridge.tools.calibration.fit import Levels, Problem, Solution
from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.results import Calibration
from transmission_bridge.transmissions.binding import Binding

#: The bounds, for each number: coverage between, and the median width at most.
COVERAGE = (0.93, 0.97)
WIDTH = 1.3

ROWS = 600
OUTLIERS = 0.02

JOINTS = ('pan', 'roll', 'pitch', 'knee', 'held')

ROBOT = """<robot name="study"><link name="base"/>{links}
<ros2_control name="block" type="system"><hardware><plugin>any/Driver</plugin></hardware>
{joints}
<transmission name="gear"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="pan_motor" role="actuator1"/>
  <joint name="pan" role="joint1"><mechanical_reduction>100</mechanical_reduction></joint>
</transmission>
<transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1"><mechanical_reduction>50</mechanical_reduction></actuator>
  <actuator name="right" role="actuator2"><mechanical_reduction>-50</mechanical_reduction>
  </actuator>
  <joint name="roll" role="joint1"><mechanical_reduction>1.5</mechanical_reduction></joint>
  <joint name="pitch" role="joint2"><mechanical_reduction>-0.8</mechanical_reduction></joint>
</transmission>
<transmission name="crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
  <param name="crank_radius">0.06</param><param name="pivot_distance">0.3</param>
  <param name="crank_angle">1.2</param>
  <actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/>
</transmission>
<transmission name="stuck"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="held_motor" role="actuator1"/>
  <joint name="held" role="joint1"><mechanical_reduction>80</mechanical_reduction></joint>
</transmission>
</ros2_control></robot>"""

#: Numbers that the user knows and keeps (--fix); of the differential one that has to be known.
KNOWN = {
    'wrist.actuators.left.mechanical_reduction',
    *(f'crank.{name}' for name in ('crank_radius', 'crank_angle', 'offset')),
    'crank.actuators.cylinder.mechanical_reduction',
    'crank.joints.knee.mechanical_reduction',
}


@dataclass(frozen=True)
class Case:
    """
    One transmission of one seed.

    :param truth: True numbers by name.
    :param pairs: The recording as it is.
    :param clean: The same without slips and outliers.
    """

    binding: Binding
    truth: dict[str, float]
    pairs: Pairs
    clean: Pairs


@dataclass(frozen=True)
class Outcome:
    """What came out of one number: whether the interval holds it, and the relative width."""

    transmission: str
    parameter: str
    covered: bool
    width: float


def robot() -> RobotTransmissions:
    """Return the robot of the study, as described."""
    links = ''.join(
        f'<link name="{name}_link"/><joint name="{name}" type="continuous"><parent link="base"/>'
        f'<child link="{name}_link"/></joint>'
        for name in JOINTS
    )
    joints = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in JOINTS
    )
    return RobotTransmissions(load_description(ROBOT.format(links=links, joints=joints)))


def cases(seed: int, described: RobotTransmissions) -> Iterator[Case]:
    """Yield the recordings of one seed."""
    random = np.random.default_rng(seed)
    time = np.arange(ROWS) * 0.02
    for binding in described.bindings:
        name = binding.spec.name
        numbers = {
            tunable.path: _true(random, f'{name}.{".".join(tunable.path)}', tunable.value)
            for tunable in described.tunables[name]
        }
        real = described.with_parameters({name: _nested(numbers)})
        transmission = real.transmissions[name]
        motion = np.stack([_motion(random, time) for _ in binding.joints], axis=1)
        if name == 'crank':
            motion *= 0.8
        actuators = transmission.joint_to_actuator('position', motion)
        joints = np.full_like(motion, 0.3) if name == 'stuck' else motion
        noise = 10.0 ** random.uniform(-3.5, -2.5)
        clean = joints + random.normal(0.0, noise, joints.shape)
        level, held = _slips(random, joints.shape, noise)
        odd = random.normal(0.0, 0.3, joints.shape) * (random.random(joints.shape) < OUTLIERS)
        truth = {'.'.join(path): value for path, value in numbers.items()}
        for place, joint in enumerate(binding.spec.joints):
            truth[f'joints.{joint.name}.offset'] += held[place]
        yield Case(
            binding,
            truth,
            Pairs(actuators, clean + level + odd, time, True),
            Pairs(actuators, clean + held, time, True),
        )


def outcomes(seed: int) -> tuple[list[Outcome], bool]:
    """
    Calibrate one seed.

    :returns: One outcome per estimated number, and whether the stuck joint was named.
    """
    found: list[Outcome] = []
    named = False
    for case in cases(seed, robot()):
        name = case.binding.spec.name
        result = calibrate_transmission(
            case.binding, case.pairs, is_fixed=lambda path, name=name: f'{name}.{path}' in KNOWN
        )
        if name == 'stuck':
            named = _is_named(result)
            continue
        reference = _least_squares(case, [each.name for each in result.estimated])
        for parameter in result.estimated:
            assert parameter.half_width is not None
            error = abs(parameter.value - case.truth[parameter.name])
            found.append(
                Outcome(
                    name,
                    parameter.name,
                    error <= parameter.half_width,
                    parameter.half_width / reference[parameter.name],
                )
            )
    return found, named


def _is_named(result: Calibration) -> bool:
    return (
        not result.estimated
        and result.channels[0].motion is Motion.STUCK
        and any("'held' did not move" in sentence for sentence in result.warnings)
    )


def _least_squares(case: Case, fitted: Sequence[str]) -> dict[str, float]:
    """Return half of the 95 % interval of plain least squares on the clean data."""
    from scipy import stats

    model = TransmissionModel(case.binding, case.clean.actuators, case.clean.joints)
    names = ['.'.join(tunable.path) for tunable in model.tunables]
    free = [names.index(name) for name in fitted]
    shape = model.measured.shape
    none = Levels(np.zeros(shape, dtype=np.intp))
    problem = Problem(model, free, none, np.ones(shape, dtype=bool), np.ones(shape[1]))
    start = np.array([case.truth[name] for name in names])
    solution = problem.solved(Solution(start, np.empty(0)), 'linear')
    residuals, slopes = problem.residuals(solution), problem.slopes(solution.values)
    freedom = len(residuals) - len(free)
    variance = float(residuals @ residuals) / freedom
    covariance = variance * np.linalg.inv(slopes.T @ slopes)
    widths = float(stats.t.ppf(0.975, freedom)) * np.sqrt(np.diag(covariance))
    return dict(zip(fitted, widths.tolist(), strict=True))


def _true(random: np.random.Generator, name: str, described: float) -> float:
    if name in KNOWN or name.endswith(('lower', 'upper')):
        return described
    if name.endswith('.offset'):
        return described + random.normal(0.0, 0.1)
    if name.startswith('crank'):
        return described * (1.0 + random.normal(0.0, 0.01))
    return described * (1.0 + random.normal(0.0, 0.03))


def _nested(numbers: dict[tuple[str, ...], float]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for path, value in numbers.items():
        place = nested
        for part in path[:-1]:
            place = place.setdefault(part, {})  # type: ignore[assignment]
        place[path[-1]] = value
    return nested


def _motion(random: np.random.Generator, time: Array) -> Array:
    speeds = random.uniform(0.5, 3.0, size=3)
    phases = random.uniform(0.0, 2.0 * np.pi, size=3)
    waves = np.sin(time[:, np.newaxis] * speeds + phases)
    return np.asarray(0.35 * waves.sum(axis=1))


def _slips(
    random: np.random.Generator, shape: tuple[int, int], noise: float
) -> tuple[Array, Array]:
    """Return the slipped part of every position, and per joint that of most of the rows."""
    level = np.zeros(shape)
    held = np.zeros(shape[1])
    for joint in range(shape[1]):
        for _ in range(random.integers(0, 3)):
            size = random.choice([-1.0, 1.0]) * random.uniform(5.0, 50.0) * noise
            level[random.integers(30, shape[0] - 30) :, joint] += size
        levels, rows = np.unique(level[:, joint], return_counts=True)
        held[joint] = levels[np.argmax(rows)]
    return level, held


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--seeds', type=int, default=1000)
    parser.add_argument('--processes', type=int, default=os.cpu_count())
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--gate', action='store_true', help='exit 1 where a bound is not kept')
    arguments = parser.parse_args()

    with ProcessPoolExecutor(arguments.processes) as pool:
        results = list(pool.map(outcomes, range(arguments.seeds), chunksize=5))
    every = [outcome for found, _ in results for outcome in found]
    named = sum(is_named for _, is_named in results)
    figures = {'all': _figures(every)}
    for key in sorted({(outcome.transmission, outcome.parameter) for outcome in every}):
        chosen = [o for o in every if (o.transmission, o.parameter) == key]
        figures['.'.join(key)] = _figures(chosen)
    if arguments.json:
        print(json.dumps({'seeds': arguments.seeds, 'stuck named': named, 'figures': figures}))
    else:
        print(f'{arguments.seeds} seeds; stuck joint named in {named}')
        print(f'{"":48} {"count":>6} {"coverage":>9} {"width / least squares":>22}')
        for name, (count, coverage, width) in figures.items():
            print(f'{name:48} {count:6} {coverage:9.1%} {width:22.3f}')
    outside = [
        name
        for name, (_, coverage, width) in figures.items()
        if not COVERAGE[0] <= coverage <= COVERAGE[1] or width > WIDTH
    ]
    if named < len(results):
        outside.append('naming of the stuck joint')
    if outside:
        print(f'outside the bounds: {", ".join(outside)}', file=sys.stderr)
    return 1 if arguments.gate and outside else 0


def _figures(chosen: list[Outcome]) -> tuple[int, float, float]:
    coverage = statistics.fmean(outcome.covered for outcome in chosen)
    return len(chosen), coverage, statistics.median(outcome.width for outcome in chosen)


if __name__ == '__main__':
    sys.exit(main())
