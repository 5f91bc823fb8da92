# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Does ``calibrate`` know when it does not know? Situations with many seeds each, and a table.

``answered``: numbers without doubt. ``named``: for a hypothesis (a wrong sign, exchanged motors, a
wrapped encoder), that the doubt says so. ``coverage``: how often the 95 % interval holds the true
number, over the seeds that are answered (or named). ``silently wrong``: seeds that are answered
with a number further off than three half widths. ``width``: median half width over that of least
squares with the true model's columns, for clean data. Data of the situations marked with a star
come from ``calibrate_data``, which shares nothing with the tool. Needs no ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
import json
import os
from pathlib import Path
import statistics
import sys
import time

# One thread per process, set before numpy is imported: these are many small problems.
os.environ.setdefault('OMP_NUM_THREADS', '1')
sys.path.insert(0, str(Path(__file__).parent))

import calibrate_data as data
from calibrate_data import gear, robot, ROWS, Sample, STEP
import numpy as np

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.tools.calibration.calibrate import calibrate_robot
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.calibration.results import Calibration
from transmission_bridge.types import Array

WRIST = """<transmission name="wrist">
<plugin>transmission_interface/DifferentialTransmission</plugin>
<actuator name="left" role="actuator1"><mechanical_reduction>50</mechanical_reduction></actuator>
<actuator name="right" role="actuator2"><mechanical_reduction>-48</mechanical_reduction></actuator>
<joint name="roll" role="joint1"><mechanical_reduction>1.5</mechanical_reduction></joint>
<joint name="pitch" role="joint2"><mechanical_reduction>-0.8</mechanical_reduction></joint>
</transmission>"""

HINGED = """<transmission name="crank">
<plugin>transmission_bridge/CrankSliderTransmission</plugin>
<param name="crank_radius">0.06</param><param name="pivot_distance">0.3</param>
<param name="crank_angle">1.2</param><param name="stroke_at_zero">{stroke}</param>
<actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/></transmission>"""

#: Of the wrist one ratio has to be known; of the crank what users know.
KNOWN = (
    'wrist.actuators.left.mechanical_reduction',
    'crank.actuators.*',
    'crank.joints.*.mechanical_reduction',
    'crank.crank_angle',
    'crank.offset',
)

#: What else of the crank is known where two numbers are not.
DIMENSIONS = ('crank.crank_radius', 'crank.stroke_at_zero')

# -- recordings from the package's own maps -----------------------------------------------------


def _motion(random: np.random.Generator, time: Array, joints: int, size: float = 0.35) -> Array:
    columns = []
    for _ in range(joints):
        speeds, phases = random.uniform(0.5, 3.0, 3), random.uniform(0.0, 2.0 * np.pi, 3)
        columns.append(size * np.sin(time[:, np.newaxis] * speeds + phases).sum(axis=1))
    return np.stack(columns, axis=1)


def _own(
    seed: int,
    urdf: str,
    *,
    outliers: float = 0.0,
    one_by_one: bool = False,
    known: Sequence[str] = KNOWN,
) -> Sample:
    """Return a recording of the described robot with other numbers."""
    random = np.random.default_rng(seed)
    described = RobotTransmissions(load_description(urdf))
    overrides: dict[str, object] = {}
    truth = {}
    for name, tunables in described.tunables.items():
        for tunable in tunables:
            full = f'{name}.{".".join(tunable.path)}'
            value = tunable.value
            if not _matches(full, known):
                if full.endswith('.offset'):
                    value += random.normal(0.0, 0.1 if name != 'crank' else 0.05)
                else:
                    value *= 1.0 + random.normal(0.0, 0.01 if name == 'crank' else 0.03)
                truth[full] = value
            place: dict = overrides
            for part in full.split('.')[:-1]:
                place = place.setdefault(part, {})
            place[tunable.path[-1]] = value
    real = described.with_parameters(overrides)
    times = np.arange(ROWS) * STEP
    q = _motion(random, times, len(real.joint_names), 0.28 if 'crank' in overrides else 0.35)
    if one_by_one:
        part = ROWS // q.shape[1]
        for column in range(q.shape[1]):
            moves = np.clip(np.arange(ROWS) - part * column, 0, part - 1) * q.shape[1] * STEP
            q[:, column] = _motion(random, moves, 1)[:, 0]
    a = real.joint_to_actuator('position', q)
    q = q + random.normal(0.0, 10.0 ** random.uniform(-3.5, -2.5), q.shape)
    q += random.normal(0.0, 0.3, q.shape) * (random.random(q.shape) < outliers)
    return Sample(
        urdf,
        times,
        dict(zip(real.actuator_names, a.T, strict=True)),
        dict(zip(real.joint_names, q.T, strict=True)),
        truth,
        tuple(k for k in known if any(fnmatchcase(n, k) for n in _names(described))),
    )


def _names(described: RobotTransmissions) -> list[str]:
    return [f'{name}.{".".join(t.path)}' for name, ts in described.tunables.items() for t in ts]


def _matches(name: str, patterns: Sequence[str] | set[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


PAN = robot(gear('gear', 'pan_motor', 'pan', 100.0), 'pan')
BOTH = robot(WRIST, 'roll', 'pitch')
KNEE = robot(HINGED.format(stroke=0.02), 'knee')


def _exchanged(seed: int, side: str, names: tuple[str, str]) -> Sample:
    sample = _own(seed, BOTH)
    columns = getattr(sample, side)
    swapped = {**columns, names[0]: columns[names[1]], names[1]: columns[names[0]]}
    return replace(sample, **{side: swapped})


# -- situations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Situation:
    """
    One row of the table.

    :param kind: ``clean``, ``modelled``, ``named``, or ``unmodelled``.
    :param words: What a doubt has to say where it is to be named.
    """

    kind: str
    make: Callable[[int], Sample]
    words: str = ''

    @property
    def is_independent(self) -> bool:
        """Whether the data come from the script that shares nothing with the tool."""
        return self.make.__module__ == 'calibrate_data'


def _backward(seed: int) -> Sample:
    sample = _own(seed, BOTH)
    sample.actuators['right'] *= -1.0
    sample.truth['wrist.actuators.right.mechanical_reduction'] *= -1.0
    return sample


SITUATIONS = {
    'white noise: gear': Situation('clean', data.white_noise),
    'white noise: gear, small motion': Situation('clean', partial(_own, urdf=PAN)),
    'white noise: differential': Situation('clean', partial(_own, urdf=BOTH)),
    'white noise: hinged cylinder, two numbers': Situation(
        'clean', partial(_own, urdf=KNEE, known=(*KNOWN, *DIMENSIONS))
    ),
    '2 % outliers: differential': Situation('modelled', partial(_own, urdf=BOTH, outliers=0.02)),
    'backlash 10 mrad': Situation('modelled', data.backlash),
    'time offset 5 to 50 ms': Situation('modelled', data.delay),
    'eccentric joint encoder 10 mrad': Situation('modelled', data.eccentricity),
    'eccentric motor encoder 0.3 rad': Situation('modelled', data.motor_eccentricity),
    'joint encoder 4 mrad twice per turn': Situation('modelled', data.oval_encoder),
    'strain wave 0.4 mrad': Situation('modelled', data.strain_wave),
    'pink noise': Situation('modelled', data.pink_noise),
    'wind-up 10 mrad sin(q)': Situation('modelled', data.wind_up),
    'joint encoder of 8 to 16 bits': Situation('modelled', data.coarse_encoder),
    'joints one after the other': Situation('modelled', partial(_own, urdf=BOTH, one_by_one=True)),
    'rest for 80 % of the time': Situation('modelled', data.rest),
    '3 to 8 poses': Situation('modelled', data.poses),
    'hinged cylinder, four numbers unknown': Situation('modelled', partial(_own, urdf=KNEE)),
    'MuJoCo crank-slider': Situation('modelled', data.mujoco_crank_slider),
    'motor counts backwards: gear': Situation('named', data.wrong_sign, 'opposite sign'),
    'motor counts backwards: differential': Situation('named', _backward, 'opposite sign'),
    'motors of two gears exchanged': Situation('named', data.exchanged_motors, 'is taken as'),
    'motors of a differential exchanged': Situation(
        'named', partial(_exchanged, side='actuators', names=('left', 'right')), 'exchanged'
    ),
    'joints of a differential exchanged': Situation(
        'named', partial(_exchanged, side='joints', names=('roll', 'pitch')), 'exchanged'
    ),
    'motor encoder of one turn': Situation('named', data.wrapped_motor, 'again after'),
    'joint encoder of one turn': Situation('named', data.wrapped_joint, 'again after'),
    'random walk 10 mrad': Situation('unmodelled', data.drift),
    'slip': Situation('unmodelled', data.slip),
    '40 % of rows shifted': Situation('unmodelled', data.shifted_outliers),
    'wind-up 10 mrad sqrt(q)': Situation('unmodelled', data.wind_up_hardening),
    'MuJoCo cable with friction': Situation('unmodelled', data.mujoco_tendon),
}


@dataclass(frozen=True)
class Outcome:
    """
    What came out of one seed.

    :param disturbed: Whether there are doubts or warnings, or effects were found.
    :param covered: Per true number whether its interval holds it; ``None`` in place of one that
        is not estimated.
    :param far: Whether a number is further off than three half widths.
    """

    answered: bool
    named: bool
    disturbed: bool
    covered: tuple[bool | None, ...]
    far: bool
    widths: tuple[float, ...]
    seconds: float


def recording(sample: Sample) -> Recording:
    """Return a sample as the tool reads it."""

    def series(columns: dict[str, Array]) -> Series:
        return Series(tuple(columns), np.stack(list(columns.values()), axis=1), sample.time)

    return Recording(series(sample.actuators), series(sample.joints), in_rows=True)


def calibrated(sample: Sample) -> tuple[Calibration, ...]:
    """Return what the tool says of a sample."""
    described = RobotTransmissions(load_description(sample.urdf))
    return calibrate_robot(described, recording(sample), fixed=sample.fixed)


def outcome(name: str, seed: int) -> Outcome:
    """Calibrate one seed of a situation."""
    situation = SITUATIONS[name]
    sample = situation.make(seed)
    begin = time.process_time()
    results = calibrated(sample)
    seconds = time.process_time() - begin
    found = {f'{r.transmission}.{p.name}': p for r in results for p in r.estimated_numbers}
    doubts = [sentence for result in results for sentence in result.doubts]
    covered: list[bool | None] = []
    far = False
    for number, true in sample.truth.items():
        parameter = found.get(number)
        if parameter is None or parameter.half_width is None:
            covered.append(None)
            continue
        error = abs(parameter.value - true)
        covered.append(error <= parameter.half_width)
        far |= error > 3.0 * parameter.half_width
    widths = _widths(sample, found) if situation.kind == 'clean' else ()
    return Outcome(
        not doubts and bool(found),
        bool(situation.words) and all(
            any(situation.words in s for s in result.doubts) for result in results
        ),
        any(result.doubts or result.warnings or result.effects for result in results),
        tuple(covered), far, widths, seconds,
    )  # fmt: skip


def _widths(sample: Sample, found: dict) -> tuple[float, ...]:
    """Return half widths over those of least squares with the columns of the truth."""
    from scipy import stats

    robot = RobotTransmissions(load_description(sample.urdf))
    names = [name for name in found if name in sample.truth]
    a = np.stack([sample.actuators[name] for name in robot.actuator_names], axis=1)
    q = np.stack([sample.joints[name] for name in robot.joint_names], axis=1)

    def predicted(changed: str, change: float) -> Array:
        overrides: dict = {}
        for name, true in sample.truth.items():
            place = overrides
            for part in name.split('.')[:-1]:
                place = place.setdefault(part, {})
            place[name.split('.')[-1]] = true + (change if name == changed else 0.0)
        return robot.with_parameters(overrides).actuator_to_joint('position', a).ravel()

    steps = {name: 1e-5 * max(abs(sample.truth[name]), 0.1) for name in names}
    columns = np.stack(
        [(predicted(n, steps[n]) - predicted(n, -steps[n])) / (2.0 * steps[n]) for n in names],
        axis=1,
    )
    rest = q.ravel() - predicted('', 0.0)
    rest = rest - columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]
    freedom = len(rest) - len(names)
    covariance = rest @ rest / freedom * np.linalg.inv(columns.T @ columns)
    halves = stats.t.ppf(0.975, freedom) * np.sqrt(np.diag(covariance))
    return tuple(found[n].half_width / half for n, half in zip(names, halves, strict=True))


def figures(name: str, outcomes: Sequence[Outcome]) -> dict[str, float | int | str | None]:
    """Return one row of the table."""
    kind = SITUATIONS[name].kind
    counted = [o for o in outcomes if (o.named if kind == 'named' else o.answered)]
    covered = [c for o in counted for c in o.covered if c is not None]
    kept = [c for o in counted for c in o.covered]
    widths = [w for o in outcomes for w in o.widths]
    return {
        'kind': kind,
        'independent': SITUATIONS[name].is_independent,
        'seeds': len(outcomes),
        'answered': sum(o.answered for o in outcomes) / len(outcomes),
        'disturbed': sum(o.disturbed for o in outcomes) / len(outcomes),
        'named': sum(o.named for o in outcomes) / len(outcomes) if kind == 'named' else None,
        'numbers': len(covered),
        'estimated': len(covered) / len(kept) if kept else None,
        'coverage': statistics.fmean(covered) if covered else None,
        'silently wrong': sum(o.answered and o.far for o in outcomes) / len(outcomes),
        'width': statistics.median(widths) if widths else None,
        'seconds': statistics.fmean(o.seconds for o in outcomes),
    }


#: Per kind of situation: what has to be true of its row.
BOUNDS: dict[str, Callable[[dict], bool]] = {
    'clean': lambda row: (
        row['disturbed'] <= 0.05 and row['coverage'] >= 0.92 and row['width'] <= 1.3
    ),
    'modelled': lambda row: row['answered'] >= 0.8 and row['coverage'] >= 0.92,
    'named': lambda row: row['named'] >= 0.8,
    'unmodelled': lambda row: True,
}

#: Of every situation: seeds that are answered with a number far off.
SILENT = 0.02


_HEADING = ' seeds answered disturbed  named coverage numbers silent width seconds'


def _line(row: dict) -> str:
    def text(key: str, form: str, width: int) -> str:
        return ('' if row[key] is None else format(row[key], form)).rjust(width)

    return (
        f'{row["seeds"]:6}' + text('answered', '.1%', 9) + text('disturbed', '.1%', 10)
        + text('named', '.1%', 7) + text('coverage', '.1%', 9) + text('numbers', '', 8)
        + text('silently wrong', '.1%', 7) + text('width', '.2f', 6) + text('seconds', '.2f', 8)
    )  # fmt: skip


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--seeds', type=int, default=300)
    parser.add_argument('--first', type=int, default=0, help='first seed: tune with others')
    parser.add_argument('--processes', type=int, default=os.cpu_count())
    parser.add_argument('--only', default='', help='situations whose name holds this text')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--gate', action='store_true', help='exit 1 where a bound is not kept')
    arguments = parser.parse_args()

    rows = {}
    print(f'{"":44}{_HEADING}', file=sys.stderr)
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name in SITUATIONS:
            if arguments.only not in name:
                continue
            seeds = range(arguments.first, arguments.first + arguments.seeds)
            found = list(pool.map(outcome, [name] * len(seeds), seeds, chunksize=5))
            row = rows[name] = figures(name, found)
            star = '*' if row['independent'] else ''
            print(f'{name + star:44}{_line(row)}', file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=1))
    outside = [
        name
        for name, row in rows.items()
        if row['silently wrong'] > SILENT or not BOUNDS[str(row['kind'])](row)
    ]
    if outside:
        print(f'outside the bounds: {", ".join(outside)}', file=sys.stderr)
    return 1 if arguments.gate and outside else 0


if __name__ == '__main__':
    sys.exit(main())
