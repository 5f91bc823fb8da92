# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Time of reading and writing JointState bytes, next to rclpy's own (de)serialisation.

Each round times every case once, in random order, so that a slow moment of the machine strikes all
alike; what is printed are medians over the rounds, and medians of the ratios within rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle
import json
import random
import statistics
import time
from typing import Any

import numpy as np

from transmission_bridge.messages import JointStateReader, JointStateWriter
from transmission_bridge.messages.cdr import parse_joint_state

Case = Callable[[], object]

# Compared with rclpy by these pairs, ours first.
RATIOS = (
    ('read', 'rclpy read'),
    ('read, garbage', 'rclpy read'),
    ('read, unknown', 'rclpy read'),
    ('write', 'rclpy write'),
    ('round', 'rclpy round'),
)


def main() -> None:
    """Print one table per number of joints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--joints', type=int, nargs='+', default=[7, 30, 100, 300])
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--calls', type=int, default=2000, help='calls per case and round')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    arguments = parser.parse_args()

    results = {}
    for joints in arguments.joints:
        cases = our_cases(joints) | rclpy_cases(joints)
        results[joints] = measure(cases, arguments.rounds, arguments.calls)
    if arguments.json:
        print(json.dumps(results))
        return
    for joints, result in results.items():
        print(f'{joints} joints, medians of {arguments.rounds} rounds')
        for name, figures in result['microseconds'].items():
            print(f'  {name:<28}{summary(figures)} us')
        for name, figures in result['ratios'].items():
            print(f'  {name:<28}{summary(figures)}')


def summary(figures: list[float]) -> str:
    """Return ``median [min..max]``."""
    return f'{statistics.median(figures):8.3f} [{min(figures):.3f}..{max(figures):.3f}]'


def our_cases(joints: int) -> dict[str, Case]:
    """
    Return what the codec does, by name.

    ``read, garbage`` has other bytes in the padding every time, as on the wire; ``read, unknown``
    never saw the layout before; ``parse`` is that without what is built for later messages.
    ``round`` is the garbage case, one operation per interface, and the message out.
    """
    writer = filled_writer(joints)
    data = writer.write_message(1, 2)
    with_garbage = cycle([scramble(data, seed) for seed in range(7)])
    reader, mixed_reader = JointStateReader(), JointStateReader()

    def message_round() -> bytes:
        view = mixed_reader.read_message(next(with_garbage))
        np.multiply(view.position, 2.0, out=writer.position)
        np.multiply(view.velocity, 2.0, out=writer.velocity)
        np.multiply(view.effort, 2.0, out=writer.effort)
        return writer.write_message(*view.stamp)

    return {
        'read': lambda: reader.read_message(data),
        'read, garbage': lambda: mixed_reader.read_message(next(with_garbage)),
        'read, unknown': lambda: JointStateReader().read_message(data),
        'parse': lambda: parse_joint_state(data),
        'write': lambda: writer.write_message(1, 2),
        'round': message_round,
    }


def rclpy_cases(joints: int) -> dict[str, Case]:
    """Return what rclpy does with the same message, by name; nothing if it is missing."""
    try:
        from rclpy.serialization import deserialize_message, serialize_message
        from sensor_msgs.msg import JointState
    except ImportError:
        return {}
    data = filled_writer(joints).write_message(1, 2)
    message = deserialize_message(data, JointState)

    def message_round() -> Any:
        received = deserialize_message(data, JointState)
        for values in (received.position, received.velocity, received.effort):
            array = np.frombuffer(values)
            np.multiply(array, 2.0, out=array)
        return serialize_message(received)

    return {
        'rclpy read': lambda: deserialize_message(data, JointState),
        'rclpy write': lambda: serialize_message(message),
        'rclpy round': message_round,
    }


def filled_writer(joints: int) -> JointStateWriter:
    """Return a writer with names as robots have them and three full arrays."""
    writer = JointStateWriter([f'arm_{n % 2}_joint_{n}' for n in range(joints)], 'base_link')
    numbers = np.random.default_rng(joints)
    for values in (writer.position, writer.velocity, writer.effort):
        values[:] = numbers.normal(size=joints)
    return writer


def scramble(data: bytes, seed: int) -> bytes:
    """Return the message with random padding."""
    noise = np.random.default_rng(seed)
    message = bytearray(data)
    for start, end in parse_joint_state(data).gaps:
        message[start:end] = noise.bytes(end - start)
    return bytes(message)


def measure(cases: dict[str, Case], rounds: int, calls: int) -> dict[str, Any]:
    """Return microseconds per call of every case, and ratios, one figure per round."""
    order = list(cases)
    shuffle = random.Random(1).shuffle
    microseconds: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        time_per_call(case, max(1, calls // 10))
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            microseconds[name].append(1e6 * time_per_call(cases[name], calls))
    ratios = {
        f'{ours} / {theirs}': [
            a / b for a, b in zip(microseconds[ours], microseconds[theirs], strict=True)
        ]
        for ours, theirs in RATIOS
        if theirs in cases
    }
    return {'microseconds': microseconds, 'ratios': ratios}


def time_per_call(case: Case, calls: int) -> float:
    """Return seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        case()
    return (time.perf_counter() - start) / calls


if __name__ == '__main__':
    main()
