# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Does ``calibrate`` know when it does not know? Situations with many seeds each, and a table.

``answered``: numbers without doubt. ``doubted``: the rest. ``silently wrong``: seeds that are
answered with a number further off than three half widths. ``coverage``: how often the 95 %
interval holds the true number, over the answered seeds. ``share``: median half width as a share of
the true reduction or dimension. Data of the situations marked with a star come from
``calibrate_data``, which shares nothing with the tool. Needs no ROS.
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
from transmission_bridge.tools.calibration.recorded import calibrate_recording
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.calibration.report import Recorded
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

#: What else of the crank is known if two numbers are not.
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


def _backward(seed: int) -> Sample:
    sample = _own(seed, BOTH)
    sample.actuators['right'] *= -1.0
    sample.truth['wrist.actuators.right.mechanical_reduction'] *= -1.0
    return sample


#: Each makes the recording of a seed.
SITUATIONS: dict[str, Callable[[int], Sample]] = {
    'white noise: gear': data.white_noise,
    'white noise: gear, small motion': partial(_own, urdf=PAN),
    'white noise: differential': partial(_own, urdf=BOTH),
    'white noise: hinged cylinder, two numbers': partial(
        _own, urdf=KNEE, known=(*KNOWN, *DIMENSIONS)
    ),
    '2 % outliers: differential': partial(_own, urdf=BOTH, outliers=0.02),
    'backlash 10 mrad': data.backlash,
    'time offset 5 to 50 ms': data.delay,
    'eccentric joint encoder 10 mrad': data.eccentricity,
    'eccentric motor encoder 0.3 rad': data.motor_eccentricity,
    'joint encoder 4 mrad twice per turn': data.oval_encoder,
    'strain wave 0.4 mrad': data.strain_wave,
    'pink noise': data.pink_noise,
    'wind-up 10 mrad sin(q)': data.wind_up,
    'joint encoder of 8 to 16 bits': data.coarse_encoder,
    'joints one after the other': partial(_own, urdf=BOTH, one_by_one=True),
    'rest for 80 % of the time': data.rest,
    '3 to 8 poses': data.poses,
    'hinged cylinder, four numbers unknown': partial(_own, urdf=KNEE),
    'MuJoCo crank-slider': data.mujoco_crank_slider,
    'motor counts backwards: gear': data.wrong_sign,
    'motor counts backwards: differential': _backward,
    'motors of two gears exchanged': data.exchanged_motors,
    'motors of a differential exchanged': partial(
        _exchanged, side='actuators', names=('left', 'right')
    ),
    'joints of a differential exchanged': partial(
        _exchanged, side='joints', names=('roll', 'pitch')
    ),
    'motor encoder of one turn': data.wrapped_motor,
    'joint encoder of one turn': data.wrapped_joint,
    'random walk 10 mrad': data.drift,
    'slip': data.slip,
    '40 % of rows shifted': data.shifted_outliers,
    'wind-up 10 mrad sqrt(q)': data.wind_up_hardening,
    'MuJoCo cable with friction': data.mujoco_tendon,
}

#: Situations that have to be answered: nothing is wrong with them.
CLEAN = [
    *(name for name in SITUATIONS if 'white noise' in name),
    'joint encoder of 8 to 16 bits', 'joints one after the other', 'rest for 80 % of the time',
    '3 to 8 poses',
]  # fmt: skip

#: Least share of answers there, least coverage of the intervals, most seeds that are silently
#: wrong in every situation.
ANSWERED, COVERAGE, SILENT = 0.9, 0.92, 0.02


@dataclass(frozen=True)
class Outcome:
    """
    What came out of one seed.

    :param covered: Per fitted number whether its interval holds the true one.
    :param far: Whether a number is further off than three half widths.
    :param shares: Half widths as shares of true reductions and dimensions.
    """

    answered: bool
    covered: tuple[bool, ...]
    far: bool
    shares: tuple[float, ...]
    seconds: float


def recording(sample: Sample) -> Recording:
    """Return a sample as the tool reads it."""

    def series(columns: dict[str, Array]) -> Series:
        return Series(tuple(columns), np.stack(list(columns.values()), axis=1), sample.time)

    return Recording(series(sample.actuators), series(sample.joints), in_rows=True)


def calibrated(sample: Sample) -> tuple[Recorded, ...]:
    """Return what the tool says of a sample."""
    described = RobotTransmissions(load_description(sample.urdf))
    return calibrate_recording(described, recording(sample), fixed=sample.fixed)


def outcome(name: str, seed: int) -> Outcome:
    """Calibrate one seed of a situation."""
    sample = SITUATIONS[name](seed)
    begin = time.process_time()
    results = calibrated(sample)
    seconds = time.process_time() - begin
    numbers = {f'{r.transmission}.{n.name}': n for r in results for n in r.fitted_numbers}
    found = [(numbers[name], true) for name, true in sample.truth.items() if name in numbers]
    off = [abs(number.value - true) / number.half_width for number, true in found]
    return Outcome(
        bool(numbers) and not any(result.doubts for result in results),
        tuple(each <= 1.0 for each in off),
        any(each > 3.0 for each in off),
        tuple(n.half_width / abs(true) for n, true in found if n.path[-1] != 'offset'),
        seconds,
    )


def figures(name: str, outcomes: Sequence[Outcome]) -> dict[str, float | int | bool | None]:
    """Return one row of the table."""
    answered = [each for each in outcomes if each.answered]
    covered = [each for one in answered for each in one.covered]
    shares = [each for one in answered for each in one.shares]
    return {
        'independent': getattr(SITUATIONS[name], '__module__', '') == 'calibrate_data',
        'seeds': len(outcomes),
        'answered': len(answered) / len(outcomes),
        'doubted': 1.0 - len(answered) / len(outcomes),
        'silently wrong': sum(each.far for each in answered) / len(outcomes),
        'coverage': statistics.fmean(covered) if covered else None,
        'numbers': len(covered),
        'share': statistics.median(shares) if shares else None,
        'seconds': statistics.fmean(each.seconds for each in outcomes),
    }


def _is_kept(name: str, row: dict) -> bool:
    """Whether a row keeps its bounds."""
    is_answered = name not in CLEAN or (
        row['answered'] >= ANSWERED and row['coverage'] >= COVERAGE
    )
    return is_answered and row['silently wrong'] <= SILENT


def _line(row: dict) -> str:
    def text(key: str, form: str, width: int) -> str:
        return ('-' if row[key] is None else format(row[key], form)).rjust(width)

    return (
        f'{row["seeds"]:6}' + text('answered', '.1%', 9) + text('doubted', '.1%', 9)
        + text('silently wrong', '.1%', 7) + text('coverage', '.1%', 9) + text('numbers', '', 8)
        + text('share', '.2%', 7) + text('seconds', '.2f', 8)
    )  # fmt: skip


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--seeds', type=int, default=300)
    parser.add_argument('--first', type=int, default=0, help='first seed: tune with others')
    parser.add_argument('--processes', type=int, default=os.cpu_count())
    parser.add_argument('--only', default='', help='situations whose name holds this text')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--gate', action='store_true', help='exit 1 if a bound is not kept')
    arguments = parser.parse_args()

    rows = {}
    heading = ' seeds answered  doubted silent coverage numbers  share seconds'
    print(f'{"":44}{heading}', file=sys.stderr)
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
    outside = [name for name, row in rows.items() if not _is_kept(name, row)]
    if outside:
        print(f'outside the bounds: {", ".join(outside)}', file=sys.stderr)
    return 1 if arguments.gate and outside else 0


if __name__ == '__main__':
    sys.exit(main())
