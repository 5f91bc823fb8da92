# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state machine of test_promises.py for long: a million steps, or one seed."""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import subprocess
import sys
import time

#: Steps of one process, because hypothesis keeps memory, and of one robot.
_STEPS, _EACH = 50_000, 100

#: How often each promise has to be put to the test in a million steps.
_LEAST = 10_000

_PROMISES = ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', 'exact', 'open')


def run_seed(seed, steps):
    """Run one seed in this process; print its counts."""
    import test_promises

    started, failure = time.perf_counter(), ''
    try:
        test_promises.run(steps=_EACH, examples=-(-steps // _EACH), seed=seed)
    except Exception as error:  # any error is reported with its seed
        failure = '\n'.join([f'{type(error).__name__}: {error}', *getattr(error, '__notes__', ())])
    counts = test_promises.COUNTS
    found = {'steps': counts.pop('steps', 0), 'seconds': time.perf_counter() - started}
    print(json.dumps({**found, 'failure': failure, 'counts': counts}))


def start(seed, steps, path=(), timeout=None):
    """
    Run one seed in a process of its own.

    :param path: Folders that modules are taken from before others.
    :param timeout: Seconds after which it is given up.
    """
    command = [sys.executable, __file__, '--seed', str(seed), '--steps', str(steps)]
    path = [*path, str(Path(__file__).parents[2]), os.environ.get('PYTHONPATH', '')]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=timeout
    )
    if done.returncode:
        return {'failure': done.stderr, 'steps': 0}
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Run processes side by side; exit 1 at the first broken promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=1_000_000)
    parser.add_argument('--first', type=int, default=1, help='the first seed')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--seed', type=int, help='run this one only, in this process')
    arguments = parser.parse_args()
    if arguments.seed is not None:
        run_seed(arguments.seed, arguments.steps)
        return 0
    each = min(arguments.steps, _STEPS)
    seeds = range(arguments.first, arguments.first + arguments.steps // each)
    counts, steps, seconds = Counter(), 0, 0.0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = pool.map(lambda seed: start(seed, each), seeds)
        for seed, found in zip(seeds, runs, strict=True):
            if found['failure']:
                pool.shutdown(wait=False, cancel_futures=True)
                print(f'seed {seed}: {found["failure"]}')
                return 1
            counts.update(found['counts'])
            steps += found['steps']
            seconds += found['seconds']
            print(f'seed {seed}: {found["steps"] / found["seconds"]:.0f} steps/s', flush=True)
    print(f'{steps} steps, {steps / seconds:.0f} a second in each process')
    for name in sorted(counts):
        print(f'{("promise " if name in _PROMISES else "") + name:<40}{counts[name]:>12}')
    rare = [name for name in _PROMISES if counts[name] < _LEAST * steps / 1e6]
    if rare:
        print(f'put to the test too rarely: {", ".join(rare)}')
    return bool(rare)


if __name__ == '__main__':
    sys.exit(main())
