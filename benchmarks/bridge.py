# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the bridge costs, as ratios against plain rclpy nodes measured in the same run.

Each round starts, in random order and pinned to one processor, a typed relay (what a user writes
who wants nothing done), a raw relay on the events executor (the floor for an rclpy node), a naive
typed bridge, and the installed bridge_node itself in several settings. A load process on another
processor publishes at 1 kHz, measures what comes back, then floods. Needs rclpy and two
processors; prints the median and the spread of the ratios of each round.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
import json
import math
import os
from pathlib import Path
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from network import isolate_network
from robot import robot_urdf

HERE = Path(__file__).resolve().parent
LOAD_CPU, NODE_CPU = 0, 1
SINGLE_THREADED = '--executor=single_threaded'

#: Mechanisms are two position-dependent transmissions.
#: Name of the figure, the key it is read from, variant over reference, and the bound to hold.
GATES = (
    ('CPU per message / plain relay', 'cpu_us', 'bridge', 'typed_relay', '<=', 0.42),
    ('CPU per message / raw relay', 'cpu_us', 'bridge', 'raw_relay', '<=', 1.35),
    ('p50 latency / plain relay', 'p50_us', 'bridge', 'typed_relay', '<=', 0.80),
    ('added p50 latency / plain relay', 'added_us', 'bridge', 'typed_relay', '', 0.0),
    ('flood rate / plain relay', 'rate', 'bridge', 'typed_relay', '>=', 3.2),
    ('CPU, 100 joints / 7 joints', 'cpu_us', 'bridge_100', 'bridge_7', '<=', 1.15),
    ('CPU, commands / states', 'cpu_us', 'commands', 'bridge', '<=', 1.2),
    ('p50 latency, commands / states', 'p50_us', 'commands', 'bridge', '<=', 1.2),
    ('CPU, two drivers / one driver', 'cpu_share', 'two_drivers', 'bridge', '<=', 2.2),
    ('CPU, mechanisms / plain relay', 'cpu_us', 'nonlinear', 'typed_relay', '<=', 0.38),
    ('CPU, mechanisms / raw relay', 'cpu_us', 'nonlinear', 'raw_relay', '<=', 1.35),
    ('p50, mechanisms / plain relay', 'p50_us', 'nonlinear', 'typed_relay', '<=', 0.80),
    ('flood rate, mechanisms / plain relay', 'rate', 'nonlinear', 'typed_relay', '>=', 3.2),
    ('CPU, mechanisms / none', 'cpu_us', 'nonlinear', 'bridge', '<=', 1.08),
    ('flood rate, mechanisms / none', 'rate', 'nonlinear', 'bridge', '>=', 0.93),
    ('CPU, states, units / SI', 'cpu_us', 'units', 'bridge', '<=', 1.05),
    ('CPU, commands, units / SI', 'cpu_us', 'units_commands', 'commands', '<=', 1.05),
    ('flood rate, units / SI', 'rate', 'units', 'bridge', '', 0.0),
    ('CPU, mechanisms, units / SI', 'cpu_us', 'units_nonlinear', 'nonlinear', '<=', 1.08),
    ('flood rate, mechanisms, units / SI', 'rate', 'units_nonlinear', 'nonlinear', '', 0.0),
    ('CPU, single-threaded / plain relay', 'cpu_us', 'bridge_single', 'typed_relay', '<=', 1.0),
    ('flood rate, single-threaded / plain relay', 'rate', 'bridge_single', 'typed_relay', '', 0.0),
    ('raw relay / plain relay, CPU', 'cpu_us', 'raw_relay', 'typed_relay', '', 0.0),
    ('naive bridge / plain relay, CPU', 'cpu_us', 'naive_bridge', 'typed_relay', '', 0.0),
)


@dataclass(frozen=True)
class Variant:
    """A process under load, and the load."""

    name: str
    command: tuple[str, ...]
    drivers: tuple[str, ...]
    output: str = 'joint_states'
    flood: bool = False


def names(prefix: str, first: int, last: int) -> str:
    """Return numbered names, separated by commas."""
    return ','.join(f'{prefix}_{k}' for k in range(first, last))


def variants(joints: int, folder: Path) -> list[Variant]:
    """Return everything that a round measures."""
    python = sys.executable
    states = (f'actuator_states={names("motor", 0, joints)}',)

    def relay(name: str) -> Variant:
        script = str(HERE / 'relays' / f'{name}.py')
        return Variant(name, (python, script), states, flood=True)

    def bridge(name: str, count: int, drivers: tuple[str, ...], **more: object) -> Variant:
        return Variant(name, bridge_command(folder, name, count, drivers), drivers, **more)

    half = joints // 2
    commands = (f'joint_commands={names("joint", 0, joints)}',)
    single = bridge('bridge_single', joints, states, flood=True)

    return [
        Variant('direct', (), states, output='actuator_states'),
        relay('typed_relay'),
        relay('raw_relay'),
        relay('naive_bridge'),
        bridge('bridge', joints, states, flood=True),
        bridge('nonlinear', joints, states, flood=True),
        replace(
            single,
            command=(*single.command[:1], '--executor=single_threaded', *single.command[1:]),
        ),
        bridge('bridge_7', 7, (f'actuator_states={names("motor", 0, 7)}',)),
        bridge('bridge_100', 100, (f'actuator_states={names("motor", 0, 100)}',)),
        bridge('units', joints, states, flood=True),
        bridge('units_nonlinear', joints, states, flood=True),
        *(
            bridge(name, joints, commands, output='actuator_commands')
            for name in ('commands', 'units_commands')
        ),
        bridge(
            'two_drivers',
            joints,
            (
                f'driver_a/actuator_states={names("motor", 0, half)}',
                f'driver_b/actuator_states={names("motor", half, joints)}',
            ),
        ),
    ]


def bridge_command(
    folder: Path, name: str, joints: int, drivers: tuple[str, ...]
) -> tuple[str, ...]:
    """Write the node's parameter file and return the command that starts it as users do."""
    topics = [driver.partition('=')[0] for driver in drivers if 'actuator_states' in driver]
    urdf = robot_urdf(joints, nonlinear='nonlinear' in name, units='units' in name)
    lines = [
        '/**:',
        '  ros__parameters:',
        '    autostart: true',
        '    robot_description: |',
        f'      {urdf}',
    ]
    if topics:
        lines.append(f'    actuator_state_topics: [{", ".join(topics)}]')
    path = folder / f'{name}.yaml'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    executable = shutil.which('bridge_node', path=os.path.dirname(sys.executable))
    command = (
        (executable,) if executable else ('ros2', 'run', 'transmission_bridge', 'bridge_node')
    )
    return (*command, '--ros-args', '--params-file', str(path))


def measure(variant: Variant, arguments: argparse.Namespace) -> dict[str, float]:
    """Start the process and the load, and return the load's figures."""
    process = None
    if variant.command:
        process = subprocess.Popen(
            variant.command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {NODE_CPU}),
        )
    try:
        load = subprocess.run(
            [
                sys.executable,
                str(HERE / 'load.py'),
                f'--pid={process.pid if process else 0}',
                f'--output={variant.output}',
                f'--seconds={arguments.seconds}',
                f'--warm-up={arguments.warm_up}',
                f'--flood={arguments.flood if variant.flood else 0}',
                *(f'--driver={driver}' for driver in variant.drivers),
            ],
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {LOAD_CPU}),
        )
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return json.loads(load.stdout)


def report(rounds: list[dict[str, dict[str, float]]]) -> tuple[list[str], bool]:
    """Return lines to print, and whether every bound holds."""
    lines, good = [], True
    for title, key, variant, reference, sense, bound in GATES:
        if not all(key in rounds[0].get(name, {}) for name in (variant, reference)):
            continue
        ratios = [figures_of[variant][key] / figures_of[reference][key] for figures_of in rounds]
        median = statistics.median(ratios)
        holds = not sense or (median <= bound if sense == '<=' else median >= bound)
        good = good and holds
        verdict = f'{sense} {bound:g} {"ok" if holds else "MISSED"}' if sense else ''
        lines.append(f'{title:44} {median:6.3f} [{min(ratios):.3f}..{max(ratios):.3f}]  {verdict}')
    for name in rounds[0]:
        figure = {
            key: statistics.median(figures_of[name][key] for figures_of in rounds)
            for key in ('cpu_us', 'p50_us', 'p99_us')
        }
        lines.append(
            f'{"CPU, p50, p99 [us], " + name:44} '
            + ', '.join(f'{value:.0f}' for value in figure.values())
        )
        sent = sum(figures_of[name]['sent'] for figures_of in rounds)
        lost = sum(figures_of[name]['lost'] for figures_of in rounds)
        lines.append(f'{"lost / sent at 1 kHz, " + name:44} {lost:.0f} / {sent:.0f}')
        if name == 'bridge':
            good = good and lost <= 0.001 * sent
    return lines, good


def estimate_ratio(logs: list[float], order: random.Random) -> tuple[float, float, float]:
    """Return the mean ratio of pairs between the ends of its interval of 95 %."""
    means = sorted(statistics.fmean(order.choices(logs, k=len(logs))) for _ in range(2000))
    return math.exp(means[50]), math.exp(statistics.fmean(logs)), math.exp(means[-50])


def compare(chosen: list[Variant], arguments: argparse.Namespace, order: random.Random) -> None:
    """Measure this installation and another one in pairs, and print mean ratios."""
    other = str(arguments.against / 'bridge_node')
    bridges = [
        variant
        for variant in chosen
        if variant.command and variant.command[0].endswith('bridge_node')
    ]
    logs: dict[tuple[str, str], list[float]] = {}
    for number in range(arguments.rounds):
        for variant in bridges:
            print(f'pair {number + 1}: {variant.name} ...', end='\r', file=sys.stderr)
            pair = [variant, replace(variant, command=(other, *variant.command[1:]))]
            order.shuffle(pair)
            figures = {each.command[0] == other: measure(each, arguments) for each in pair}
            for key in ('cpu_us', 'p50_us', 'rate'):
                if key in figures[True]:
                    ratio = figures[False][key] / figures[True][key]
                    logs.setdefault((variant.name, key), []).append(math.log(ratio))
    for (name, key), values in logs.items():
        low, middle, high = estimate_ratio(values, order)
        print(f'{name:24} {key:8} {middle:6.3f} [{low:.3f}..{high:.3f}]  {len(values)} pairs')


def main() -> int:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--joints', type=int, default=30)
    parser.add_argument('--seconds', type=float, default=4.0, help='at 1 kHz, per variant')
    parser.add_argument('--warm-up', type=float, default=1.0)
    parser.add_argument('--flood', type=float, default=2.0, help='seconds')
    parser.add_argument('--only', nargs='*', help='names of variants')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--against', type=Path, help='folder with another bridge_node')
    parser.add_argument('--gate', action='store_true', help='exit 1 if a bound is missed')
    arguments = parser.parse_args()
    needed = {name for gate in GATES for name in gate[2:4]} | {'direct'}
    order = random.Random(arguments.seed)
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            variant
            for variant in variants(arguments.joints, Path(folder))
            if variant.name in (arguments.only or needed)
        ]
        if arguments.against:
            compare(chosen, arguments, order)
            return 0
        for number in range(arguments.rounds):
            order.shuffle(chosen)
            figures = {}
            for variant in chosen:
                print(f'round {number + 1}: {variant.name} ...', end='\r', file=sys.stderr)
                figures[variant.name] = measure(variant, arguments)
            direct = figures.get('direct', {}).get('p50_us', 0.0)
            for values in figures.values():
                values['added_us'] = values['p50_us'] - direct
            rounds.append(figures)
    print(
        f'{platform.processor() or platform.machine()}, {os.cpu_count()} processors, Python '
        f'{platform.python_version()}, {arguments.rounds} rounds, {arguments.joints} joints'
    )
    if 'typed_relay' in rounds[0]:
        plain = [figures['typed_relay']['cpu_us'] for figures in rounds]
        print(
            f'for information: the plain relay takes {statistics.median(plain):.0f} us of CPU '
            'per message here'
        )
    lines, good = report(rounds)
    print('\n'.join(lines))
    return 1 if arguments.gate and not good else 0


if __name__ == '__main__':
    with isolate_network(os.environ) as variables:
        os.environ.update(variables)
        raise SystemExit(main())
