# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of ``convert``, next to a plain loop over the same file with rosbags and numpy.

A recording of 12 joints at 1 kHz is made, and a longer one to compare memory with. The loop
decodes each message, multiplies its arrays by a matrix, and encodes the result. Each round runs
both once, in random order, as processes of their own; what is compared are ratios within rounds,
printed as ``median [min..max]``. Needs the extra ``bags``, no ROS.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from robot import robot_urdf

N_JOINTS = 12
RATE = 1000
START = 1_700_000_000_000_000_000

#: Bounds: ratio to the plain loop, MiB.
MOST_RATIO, MOST_MEMORY = 1.0, 300.0
#: By how much memory may grow from the short to the long recording.
MOST_GROWTH = 1.1


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--minutes', type=float, default=10.0, help='length of the recording')
    parser.add_argument('--long', type=float, default=60.0, help='of the longer one; 0: none')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--folder', help='where the recordings are made')
    parser.add_argument('--gate', action='store_true', help='exit 1 where a limit is not kept')
    parser.add_argument('--child', nargs=3, metavar=('WHAT', 'IN', 'OUT'), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        CHILDREN[arguments.child[0]](*arguments.child[1:])
        return 0
    folder = Path(tempfile.mkdtemp(prefix='convert.', dir=arguments.folder))
    try:
        kept = measure(folder, arguments)
    finally:
        shutil.rmtree(folder)
    return 0 if kept or not arguments.gate else 1


def measure(folder: Path, arguments: argparse.Namespace) -> bool:
    """Print the figures, and return whether every limit is kept."""
    (folder / 'robot.urdf').write_text(robot_urdf(N_JOINTS))
    recording = make(folder, 'short', arguments.minutes)
    times: dict[str, list[float]] = {'convert': [], 'plain': []}
    loads: dict[str, list[float]] = {'convert': [], 'plain': []}
    memory: list[float] = []
    for _ in range(arguments.rounds):
        for what in random.sample(sorted(times), 2):
            seconds, load, peak = run(what, recording, folder)
            times[what].append(seconds)
            loads[what].append(load)
            if what == 'convert':
                memory.append(peak)
    length = 60.0 * arguments.minutes
    ratios = [a / b for a, b in zip(times['convert'], times['plain'], strict=True)]
    cpu_ratios = [a / b for a, b in zip(loads['convert'], loads['plain'], strict=True)]
    speeds = [length / seconds for seconds in times['convert']]
    print(f'{arguments.minutes:g} min, {N_JOINTS} joints, {RATE} Hz, {arguments.rounds} rounds')
    print(f'plain loop, rosbags and numpy  {spread(times["plain"])} s')
    print(f'convert                        {spread(times["convert"])} s')
    print(f'convert / plain                {spread(ratios)}')
    print(f'convert / plain, CPU time      {spread(cpu_ratios)}  (at most {MOST_RATIO:g})')
    print(f'times real time, CPU time      {spread([length / s for s in loads["convert"]])}')
    print(f'times real time                {spread(speeds)}')
    print(f'memory, {arguments.minutes:g} min  {spread(memory)} MiB  (at most {MOST_MEMORY:g})')
    kept = statistics.median(cpu_ratios) <= MOST_RATIO and max(memory) <= MOST_MEMORY
    shutil.rmtree(recording)
    if arguments.long:
        _, _, peak = run('convert', make(folder, 'long', arguments.long), folder)
        print(f'memory, {arguments.long:g} min  {peak:.0f} MiB')
        kept = kept and peak <= min(MOST_MEMORY, MOST_GROWTH * max(memory))
    return kept


def spread(values: list[float]) -> str:
    """Return ``median [min..max]``."""
    return f'{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]'


def make(folder: Path, name: str, minutes: float) -> Path:
    """Record, in a process of its own, so that its memory is not counted as the others'."""
    path = folder / name
    spawn('--child', 'record', str(60 * minutes), str(path))
    return path


def run(what: str, recording: Path, folder: Path) -> tuple[float, float, float]:
    """Run a case, and return its seconds, those of CPU, and the MiB that it needed at most."""
    target = folder / f'out_{what}'
    if what == 'plain':
        command = [__file__, '--child', 'plain', str(recording), str(target)]
    else:
        robot = str(folder / 'robot.urdf')
        command = ['-m', 'transmission_bridge', 'convert', robot, str(recording), str(target)]
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f'{what} failed')
    shutil.rmtree(target)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def spawn(*arguments: str) -> None:
    """Run this file with arguments."""
    subprocess.run([sys.executable, __file__, *arguments], check=True)


def record(seconds: str, path: str) -> None:
    """Write a recording of states."""
    import numpy as np
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores

    from transmission_bridge.messages.cdr import JointStateWriter

    states = JointStateWriter([f'motor_{number}' for number in range(N_JOINTS)])
    rows = (states.position, states.velocity, states.effort)
    rng = np.random.default_rng(0)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(
            '/actuator_states',
            'sensor_msgs/msg/JointState',
            typestore=get_typestore(Stores.LATEST),
        )
        for number in range(int(float(seconds) * RATE)):
            if number % 1000 == 0:
                numbers = rng.standard_normal((1000, 3, N_JOINTS))
            for row, values in zip(rows, numbers[number % 1000], strict=True):
                row[:] = values
            at = START + number * (10**9 // RATE)
            writer.write(connection, at, states.write(*divmod(at, 10**9)))


def plain(source: str, target: str) -> None:
    """Map every message by a matrix, with rosbags, numpy and nothing else."""
    import numpy as np
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores

    store = get_typestore(Stores.LATEST)
    state = 'sensor_msgs/msg/JointState'
    names = [f'joint_{number}' for number in range(N_JOINTS)]
    matrix, offset = 0.01 * np.eye(N_JOINTS), np.zeros(N_JOINTS)
    with (
        Reader(source) as reader,
        Writer(target, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        connection = writer.add_connection('/joint_states', state, typestore=store)
        for _, at, data in reader.messages():
            given = store.deserialize_cdr(data, state)
            mapped = store.types[state](
                given.header,
                names,
                matrix @ given.position + offset,
                matrix @ given.velocity,
                matrix @ given.effort,
            )
            writer.write(connection, at, store.serialize_cdr(mapped, state))


CHILDREN = {'record': record, 'plain': plain}

if __name__ == '__main__':
    sys.exit(main())
