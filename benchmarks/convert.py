# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of ``convert``, next to a plain loop over the same file.

A recording of 12 joints at 1 kHz is made in each format, and a longer one to compare memory with.
The loop decodes each message, multiplies its arrays by a matrix, and encodes the result, by
rosbags, or csv, and numpy. Each round runs both once, in random
order, as processes of their own; what is compared are ratios within rounds, printed as
``median [min..max]``. Positions are compared with the maps. Needs the extra ``bags``, no ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import csv
from functools import partial
import os
from pathlib import Path
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from robot import robot_urdf

N_JOINTS = 12
RATE = 1000
START = 1_700_000_000_000_000_000
#: From which format to which.
WAYS = ('mcap:mcap', 'db3:db3', 'mcap:csv', 'csv:mcap')
FIELDS = ('position', 'velocity', 'effort')
STATE = 'sensor_msgs/msg/JointState'

#: Bounds: ratio to the plain loop, MiB, and positions beside the maps.
MOST_RATIO, MOST_MEMORY, MOST_ERROR = 1.0, 300.0, 1e-14
#: By how much memory may grow from the short to the long recording.
MOST_GROWTH = 1.1


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--minutes', type=float, default=5 / 3, help='length of the recording')
    parser.add_argument('--long', type=float, default=10.0, help='of the longer one; 0: none')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--ways', nargs='+', choices=WAYS, default=WAYS)
    parser.add_argument('--folder', help='where the recordings are made')
    parser.add_argument('--gate', action='store_true', help='exit 1 if a limit is not kept')
    parser.add_argument('--child', nargs=3, metavar=('WHAT', 'IN', 'OUT'), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        CHILDREN[arguments.child[0]](*arguments.child[1:])
        return 0
    kept = True
    for way in arguments.ways:
        folder = Path(tempfile.mkdtemp(prefix='convert.', dir=arguments.folder))
        try:
            kept = measure(folder, *way.split(':'), arguments) and kept
        finally:
            shutil.rmtree(folder)
    return 0 if kept or not arguments.gate else 1


def measure(folder: Path, kind: str, to: str, arguments: argparse.Namespace) -> bool:
    """Print the figures of one way, and return whether every limit is kept."""
    (folder / 'robot.urdf').write_text(robot_urdf(N_JOINTS))
    recording = make(folder, f'short.{kind}', arguments.minutes)
    times: dict[str, list[float]] = {'convert': [], 'plain': []}
    loads: dict[str, list[float]] = {'convert': [], 'plain': []}
    memory: list[float] = []
    for _ in range(arguments.rounds):
        for what in random.sample(sorted(times), 2):
            seconds, load, peak = run(what, recording, folder, to)
            times[what].append(seconds)
            loads[what].append(load)
            if what == 'convert':
                memory.append(peak)
    worst = error(folder, recording)
    length = 60.0 * arguments.minutes
    ratios = [a / b for a, b in zip(times['convert'], times['plain'], strict=True)]
    cpu_ratios = [a / b for a, b in zip(loads['convert'], loads['plain'], strict=True)]
    print(
        f'{kind} to {to}: {arguments.minutes:g} min, {N_JOINTS} joints, {RATE} Hz, '
        f'{arguments.rounds} rounds'
    )
    print(f'plain loop                     {spread(times["plain"])} s')
    print(f'convert                        {spread(times["convert"])} s')
    print(f'convert / plain                {spread(ratios)}')
    print(f'convert / plain, CPU time      {spread(cpu_ratios)}  (at most {MOST_RATIO:g})')
    print(f'times real time, CPU time      {spread([length / s for s in loads["convert"]])}')
    print(f'memory, {arguments.minutes:g} min  {spread(memory)} MiB  (at most {MOST_MEMORY:g})')
    print(f'positions beside the maps      {worst:.1e}  (at most {MOST_ERROR:g})')
    kept = statistics.median(cpu_ratios) <= MOST_RATIO and max(memory) <= MOST_MEMORY
    kept = kept and worst <= MOST_ERROR
    recording.unlink()
    if arguments.long:
        _, _, peak = run('convert', make(folder, f'long.{kind}', arguments.long), folder, to)
        print(f'memory, {arguments.long:g} min  {peak:.0f} MiB')
        kept = kept and peak <= min(MOST_MEMORY, MOST_GROWTH * max(memory))
    return kept


def spread(values: list[float]) -> str:
    """Return ``median [min..max]``."""
    return f'{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]'


def make(folder: Path, name: str, minutes: float) -> Path:
    """Record, in a process of its own, so that its memory is not counted as the others'."""
    spawn('--child', 'record', str(60 * minutes), str(folder / name))
    return folder / name


def run(what: str, recording: Path, folder: Path, to: str) -> tuple[float, float, float]:
    """Run a case, and return its seconds, those of CPU, and the MiB that it needed at most."""
    target = folder / f'out_{what}.{to}'
    if what == 'plain':
        command = [__file__, '--child', 'plain', str(recording), str(target)]
    else:
        command = convert(folder, recording, target)
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f'{what} failed')
    target.unlink()
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def convert(folder: Path, recording: Path, target: Path) -> list[str]:
    """Return the arguments of a conversion."""
    robot = str(folder / 'robot.urdf')
    return ['-m', 'transmission_bridge', 'convert', robot, str(recording), str(target)]


def spawn(*arguments: str) -> None:
    """Run this file with arguments."""
    subprocess.run([sys.executable, __file__, *arguments], check=True)


def error(folder: Path, recording: Path) -> float:
    """Return the largest difference of a converted position from the maps."""
    import numpy as np

    import transmission_bridge as tb

    target = folder / 'out.csv'
    command = [sys.executable, *convert(folder, recording, target)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    robot = tb.RobotTransmissions(tb.load_description((folder / 'robot.urdf').read_text()))
    wrong, number = 0.0, 0
    with open(target, encoding='utf-8', newline='') as lines:
        for number, row in enumerate(csv.DictReader(lines)):
            found = np.array([float(row[f'{name}.position']) for name in robot.joint_names])
            expected = robot.actuator_to_joint('position', numbers_at(number)[0])
            wrong = max(wrong, float(np.abs(found - expected).max()))
    target.unlink()
    if not number:
        raise SystemExit('nothing was converted')
    return wrong


def numbers_at(number: int) -> Any:
    """Return position, velocity and effort of a message."""
    import numpy as np

    return np.sin(np.arange(1.0, 1.0 + 3 * N_JOINTS) * (0.001 * number + 1.0)).reshape(3, -1)


def record(seconds: str, path: str) -> None:
    """Write a recording of states."""
    from transmission_bridge.messages import JointStateWriter

    names = [f'motor_{number}' for number in range(N_JOINTS)]
    count = int(float(seconds) * RATE)
    times = [START + number * (10**9 // RATE) for number in range(count)]
    if path.endswith('.csv'):
        with states_out(path, names) as write:
            for number, at in enumerate(times):
                write(at, numbers_at(number))
        return
    states = JointStateWriter(names)
    with bag(path, '/actuator_states') as write:
        for number, at in enumerate(times):
            states.position[:], states.velocity[:], states.effort[:] = numbers_at(number)
            write(at, states.write_message(*divmod(at, 10**9)))


@contextmanager
def bag(path: str, topic: str) -> Iterator[Any]:
    """Give a function that writes a joint state to a file by rosbags."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores

    target = Path(path)
    plugin = {'.mcap': StoragePlugin.MCAP, '.db3': StoragePlugin.SQLITE3}[target.suffix]
    folder = target.parent / f'{target.name}.bag'
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        store = get_typestore(Stores.LATEST)
        connection = writer.add_connection(topic, STATE, typestore=store)
        yield partial(writer.write, connection)
    next(folder.glob(f'*{target.suffix}')).rename(target)
    shutil.rmtree(folder)


@contextmanager
def states_in(path: str) -> Iterator[Iterator[tuple[int, Any]]]:
    """Give times of receipt, and position, velocity and effort, by rosbags or csv, and numpy."""
    import numpy as np

    if path.endswith('.csv'):
        with open(path, encoding='utf-8', newline='') as lines:
            rows = csv.reader(lines)
            next(rows)
            yield (
                (round(float(row[0]) * 1e9), np.array(row[1:], dtype=float).reshape(3, -1))
                for row in rows
            )
        return
    from rosbags.rosbag2 import Reader
    from rosbags.typesys import get_typestore, Stores

    read = get_typestore(Stores.LATEST).deserialize_cdr
    with Reader(path) as reader:
        decoded = ((at, read(data, STATE)) for _, at, data in reader.messages())
        yield ((at, (each.position, each.velocity, each.effort)) for at, each in decoded)


@contextmanager
def states_out(path: str, names: list[str]) -> Iterator[Callable[[int, Any], None]]:
    """Give a function that writes a time and position, velocity and effort."""
    import numpy as np

    if path.endswith('.csv'):
        with open(path, 'w', encoding='utf-8', newline='') as file:
            lines = csv.writer(file)
            lines.writerow(['time', *(f'{name}.{each}' for each in FIELDS for name in names)])
            yield lambda at, rows: lines.writerow([seconds_of(at), *np.concatenate(rows).tolist()])
        return
    from rosbags.typesys import get_typestore, Stores

    store = get_typestore(Stores.LATEST)
    state, header, stamp = (
        store.types[name] for name in (STATE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    with bag(path, '/joint_states') as write:

        def write_state(at: int, rows: Any) -> None:
            made = state(header(stamp(*divmod(at, 10**9)), ''), names, *rows)
            write(at, store.serialize_cdr(made, STATE))

        yield write_state


def seconds_of(at: int) -> str:
    """Return a time in a CSV file."""
    return f'{at // 10**9}.{at % 10**9:09d}'


def plain(source: str, target: str) -> None:
    """Map every message by a matrix, with rosbags or csv, numpy, and nothing else."""
    import numpy as np

    matrix, offset = 0.01 * np.eye(N_JOINTS), np.zeros(N_JOINTS)
    names = [f'joint_{number}' for number in range(N_JOINTS)]
    with states_in(source) as states, states_out(target, names) as write:
        for at, (position, velocity, effort) in states:
            write(at, (matrix @ position + offset, matrix @ velocity, matrix @ effort))


CHILDREN = {'record': record, 'plain': plain}

if __name__ == '__main__':
    sys.exit(main())
