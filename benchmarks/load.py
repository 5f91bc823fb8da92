# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The load of the bridge benchmark: publishes, listens, and prints what it measured as JSON.

The time of sending travels in the header's stamp, which a bridge keeps, so that each message that
comes back tells its own latency. Needs rclpy; started by bridge.py in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

from drivers import Driver
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState

try:
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

#: Messages under way in the flood, and seconds after which those that are still are lost.
FLOOD_WINDOW = 32
FLOOD_PATIENCE = 0.05

#: Room for what comes back while this process does something else.
DEPTH = 1000


class Load:
    """Publishers, one subscription, and the figures of one process under load."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.pid = arguments.pid
        self.node = rclpy.create_node('load')
        self.drivers = [
            Driver(
                names.split(','),
                self.node.create_publisher(JointState, topic, 10),
            )
            for topic, names in (driver.split('=') for driver in arguments.driver)
        ]
        self.received: list[tuple[int, int]] = []
        qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
        self.node.create_subscription(JointState, arguments.output, self._receive, qos, raw=True)
        self.executor = Executor()
        self.executor.add_node(self.node)

    def _receive(self, data: bytes) -> None:
        sec = int.from_bytes(data[4:8], 'little', signed=True)
        nanosec = int.from_bytes(data[8:12], 'little')
        self.received.append((time.monotonic_ns(), sec * 1_000_000_000 + nanosec))

    def spin(self, seconds: float) -> None:
        """Take what has come in."""
        self.executor.spin_until_future_complete(Future(), timeout_sec=seconds)

    def wait_for_connection(self, limit: float) -> None:
        """Publish slowly until answers come, so that discovery is over."""
        end = time.monotonic() + limit
        while len(self.received) < 20:
            if time.monotonic() > end:
                raise SystemExit('no answer from the process under load')
            for driver in self.drivers:
                driver.publish()
            self.spin(0.02)

    def steady(self, seconds: float, rate: float) -> dict[str, float]:
        """Publish at a rate and return CPU per message, latency and losses."""
        self.drain()
        start_cpu, start = cpu_seconds(self.pid), time.monotonic()
        timer = self.node.create_timer(1.0 / rate, lambda: [d.publish() for d in self.drivers])
        while time.monotonic() - start < seconds:
            self.spin(0.1)
        used = cpu_seconds(self.pid) - start_cpu
        self.node.destroy_timer(timer)
        sent = sum(driver.take_count() for driver in self.drivers)
        self.spin(0.3)
        latencies = sorted((back - out) / 1000.0 for back, out in self.received)
        return {
            'cpu_us': used * 1e6 / max(sent, 1),
            'cpu_share': used / seconds,
            'p50_us': statistics.median(latencies) if latencies else float('nan'),
            'p99_us': latencies[int(0.99 * len(latencies))] if latencies else float('nan'),
            'sent': sent,
            'lost': sent - len(latencies),
        }

    def flood(self, seconds: float) -> dict[str, float]:
        """
        Return how many messages per second the process carries at most.

        Some are always under way: whenever answers have come, as many new messages are sent. So
        the process never waits for work, and is never made to throw work away. What does not
        come back in time is lost, and replaced.
        """
        self.drain()
        driver = self.drivers[0]
        start = heard = time.monotonic()
        sent = lost = back = 0
        while (now := time.monotonic()) - start < seconds:
            if len(self.received) > back:
                back, heard = len(self.received), now
            elif now - heard > FLOOD_PATIENCE:
                lost, heard = sent - back, now
            while sent - lost - back < FLOOD_WINDOW:
                driver.publish()
                sent += 1
            self.executor.spin_once(timeout_sec=FLOOD_PATIENCE)
        return {'rate': len(self.received) / (time.monotonic() - start), 'flood_lost': lost}

    def drain(self) -> int:
        """Take everything that is still under way, forget it, and return how much it was."""
        before = -1
        while before != len(self.received):
            before = len(self.received)
            self.spin(0.1)
        count = len(self.received)
        self.received.clear()
        for driver in self.drivers:
            driver.take_count()
        return count


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, to the nanosecond."""
    if not pid:
        return 0.0
    total = 0
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/schedstat', encoding='ascii') as file:
            total += int(file.read().split()[0])
    return total * 1e-9


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--pid', type=int, default=0)
    parser.add_argument('--driver', action='append', required=True, help='topic=name,name,...')
    parser.add_argument('--output', required=True)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--warm-up', type=float, default=1.0)
    parser.add_argument('--seconds', type=float, default=4.0)
    parser.add_argument('--flood', type=float, default=2.0)
    arguments = parser.parse_args()
    rclpy.init()
    load = Load(arguments)
    load.wait_for_connection(20.0)
    load.steady(arguments.warm_up, arguments.rate)
    figures = load.steady(arguments.seconds, arguments.rate)
    if arguments.flood:
        figures.update(load.flood(arguments.flood))
    print(json.dumps(figures))
    load.node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
