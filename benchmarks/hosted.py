# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a driver in Python costs inside the bridge, as ratios against one beside it.

The same bus with a blocking ``read`` serves 6 joints at 100 Hz: as a :class:`tb.Driver` in
``bridge_node``, and as a plain rclpy node (timer and subscription) beside ``bridge_node``. Each
pair runs both in random order; printed are CPU of all processes and the median time from a joint
command to ``write``, with 95 % intervals, and the cycles of two hosted drivers. Needs rclpy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import math
import os
from pathlib import Path
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bridge import estimate_ratio
from load import cpu_seconds, Executor
from network import isolate_network
import rclpy
from rclpy.task import Future
from sensor_msgs.msg import JointState

SIMPLE = 'transmission_interface/SimpleTransmission'

#: Joints of a driver, rate of its cycle [Hz], and mean rate of commands [Hz].
JOINTS, RATE, COMMANDS = 6, 100.0, 37.0

#: Each command is this much farther [rad], so that it is known where it is written.
STEP = 1e-5

BUS = """
import os, time
import numpy as np

class Bus:
    def __init__(self, log, seconds):
        self.log, self.seconds, self.last = open(log, 'a', buffering=1), seconds, None
        self.position = np.zeros({joints})

    def read(self):
        time.sleep(self.seconds)
        print('read', time.monotonic(), file=self.log)
        return self.position

    def write(self, positions):
        if positions[0] != self.last:
            self.last = positions[0]
            print(f'{positions[0]:.5f}', time.monotonic(), file=self.log)
"""

HOSTED = """
import transmission_bridge as tb

class Arm(tb.Driver):
    def configure(self, hardware):
        self.bus = Bus(hardware.read_text('log'), hardware.read_number('seconds'))

    def read(self):
        return [self.bus.read()]

    def write(self, command):
        self.bus.write(command.position)
"""

PLAIN = """
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import JointState

NAMES = [f'motor_{k}' for k in range({joints})]
bus = Bus(sys.argv[1], float(sys.argv[2]))
rclpy.init()
node = rclpy.create_node('plain_driver')
publisher = node.create_publisher(JointState, 'actuator_states', 10)

def publish():
    message = JointState(name=NAMES, position=bus.read().tolist())
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)

def receive(message):
    goals = dict(zip(message.name, message.position))
    bus.write([goals[name] for name in NAMES])

node.create_subscription(JointState, 'actuator_commands', receive, 10)
node.create_timer(1.0 / {rate}, publish)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


def write_urdf(folder: Path, logs: list[Path], seconds: float, plugin: str) -> str:
    """Write a robot with a block of ``JOINTS`` joints for each log, and return its path."""
    links, blocks = '<link name="base"/>', ''
    for block, log in enumerate(logs):
        blocks += (
            f'<ros2_control name="b{block}" type="system"><hardware><plugin>{plugin}</plugin>'
        )
        for name, value in (('log', log), ('seconds', seconds), ('rate', RATE)):
            blocks += f'<param name="{name}">{value}</param>'
        blocks += '</hardware>'
        for k in range(block * JOINTS, (block + 1) * JOINTS):
            links += f'<link name="l{k}"/><joint name="joint_{k}" type="continuous">'
            links += f'<parent link="base"/><child link="l{k}"/></joint>'
            blocks += (
                f'<joint name="joint_{k}"/><transmission name="t{k}"><plugin>{SIMPLE}</plugin>'
            )
            blocks += f'<joint name="joint_{k}" role="joint1"/>'
            blocks += f'<actuator name="motor_{k}" role="actuator1"/></transmission>'
        blocks += '</ros2_control>'
    path = folder / f'{plugin.partition("/")[0]}_{len(logs)}.urdf'
    path.write_text(f'<robot name="bench">{links}{blocks}</robot>', encoding='utf-8')
    return str(path)


@contextlib.contextmanager
def run_processes(*commands: list[str]) -> Iterator[list[int]]:
    """Run processes during the block."""
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    processes = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait(20)


def measure(commands: list[list[str]], logs: list[Path], seconds: float) -> dict[str, float]:
    """Command all joints at times that no cycle knows; return CPU, latency and cycles."""
    for log in logs:
        log.write_text('', encoding='utf-8')
    node = rclpy.create_node('load')
    publisher = node.create_publisher(JointState, 'joint_commands', 10)
    states: list[JointState] = []
    node.create_subscription(JointState, 'joint_states', states.append, 10)
    executor, sent, rest = Executor(), {}, random.Random(1)
    executor.add_node(node)

    def spin(limit: float) -> None:
        executor.spin_until_future_complete(Future(), timeout_sec=limit)

    def send(count: int) -> None:
        message = JointState(name=[f'joint_{k}' for k in range(JOINTS * len(logs))])
        message.position = [STEP * count] * len(message.name)
        sent[f'{STEP * count:.5f}'] = time.monotonic()
        publisher.publish(message)

    with run_processes(*commands) as processes:
        limit, count = time.monotonic() + 30.0, 0
        while len(states) < 20 or '.' not in logs[0].read_text(encoding='utf-8'):
            if time.monotonic() > limit:
                raise SystemExit('no states, or no command arrives')
            count += 1
            send(count)
            spin(0.05)
        sent.clear()
        before, start = sum(map(cpu_seconds, processes)), time.monotonic()
        while time.monotonic() - start < seconds:
            count += 1
            send(count)
            spin(rest.uniform(0.5, 1.5) / COMMANDS)
        end, cpu = time.monotonic(), sum(map(cpu_seconds, processes)) - before
        spin(0.1)
    node.destroy_node()
    rows = [[line.split() for line in log.read_text('utf-8').splitlines()] for log in logs]
    cycles = [sum(row[0] == 'read' and start < float(row[1]) < end for row in log) for log in rows]
    waits = [float(at) - sent[name] for name, at in rows[0] if name in sent]
    return {
        'cpu': cpu / (end - start),
        'p50_ms': 1e3 * statistics.median(waits),
        'share written': len(waits) / len(sent),
        'least rate [Hz]': min(cycles) / (end - start),
    }


def main() -> int:
    """Run the pairs and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--pairs', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=4.0)
    arguments = parser.parse_args()
    bridge = shutil.which('bridge_node', path=os.path.dirname(sys.executable)) or 'bridge_node'
    order = random.Random(1)
    rclpy.init()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = [folder / 'one.log', folder / 'two.log']
        texts = {'arm.py': BUS + HOSTED, 'plain.py': BUS + PLAIN}
        for file, text in texts.items():
            words = text.replace('{joints}', str(JOINTS)).replace('{rate}', str(RATE))
            (folder / file).write_text(words, 'utf-8')
        host = ['--driver', str(folder / 'arm.py'), '--urdf']
        ways = {
            'hosted': [[bridge, *host, write_urdf(folder, logs[:1], 0.005, 'arm/Arm')]],
            'plain': [
                [bridge, '--urdf', write_urdf(folder, logs[:1], 0.005, 'none/None')],
                [sys.executable, str(folder / 'plain.py'), str(logs[0]), '0.005'],
            ],
        }
        figures: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
        for pair in range(arguments.pairs):
            for way in order.sample(list(ways), 2):
                print(f'pair {pair + 1}: {way} ...', end='\r', file=sys.stderr)
                figures[way].append(measure(ways[way], logs[:1], arguments.seconds))
        for key in figures['hosted'][0]:
            values = {way: [run[key] for run in runs] for way, runs in figures.items()}
            pairs = zip(values['hosted'], values['plain'], strict=True)
            low, middle, high = estimate_ratio([math.log(a / b) for a, b in pairs], order)
            medians = ', '.join(f'{way} {statistics.median(v):.3g}' for way, v in values.items())
            print(f'{key:16} {middle:6.3f} [{low:.3f}..{high:.3f}]  medians: {medians}')
        two = [bridge, *host, write_urdf(folder, logs, 0.006, 'arm/Arm')]
        rate = measure([two], logs, arguments.seconds)['least rate [Hz]']
        print(f'two hosted drivers with a read of 6 ms: {rate:.1f} cycles per second at least')
    return 0


if __name__ == '__main__':
    with isolate_network(os.environ) as variables:
        os.environ.update(variables)
        raise SystemExit(main())
