# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Throughput of batched transforms and Jacobians against pinocchio's binding, call by call.

Run ``python benchmarks/kinematics.py`` with the wheel ``pin`` installed. Both sides compute the
end pose (4×4) and the 6×7 Jacobian of the same seven-joint arm for the same configurations, in
interleaved rounds of one run; the medians and their ratio are printed, and the largest difference
of the results.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import statistics
import time

import numpy as np

from transmission_bridge.description import load_description
from transmission_bridge.kinematics import JointDevice

#: Link lengths and twists of an arm with offsets and joint axes that are not parallel.
ORIGINS = (
    ('0 0 0.33', '0 0 0'),
    ('0 0 0', '-1.5708 0 0'),
    ('0 -0.32 0', '1.5708 0 0'),
    ('0.08 0 0', '1.5708 0 0'),
    ('-0.08 0.38 0', '-1.5708 0 0'),
    ('0 0 0', '1.5708 0 0.1'),
    ('0.09 0 0', '1.5708 0.2 0'),
)


def arm() -> str:
    """Return the URDF of a seven-joint arm with a fixed tool."""
    parts = ['<robot name="arm"><link name="link0"/>']
    for number, (xyz, rpy) in enumerate(ORIGINS, start=1):
        parts.append(
            f'<link name="link{number}"/><joint name="joint{number}" type="revolute">'
            f'<parent link="link{number - 1}"/><child link="link{number}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" velocity="2" effort="80"/></joint>'
        )
    parts.append(
        '<link name="tool"/><joint name="flange" type="fixed"><parent link="link7"/>'
        '<child link="tool"/><origin xyz="0 0 0.1" rpy="0 0 -0.7854"/></joint></robot>'
    )
    return ''.join(parts)


def batched(text: str, q: np.ndarray) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Return the computation of this package."""
    robot = load_description(text)
    device = JointDevice.from_description(robot, base='link0', end='tool')
    return lambda: (device.base_t_end(q), device.base_j_end(q))


def one_by_one(text: str, q: np.ndarray) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Return the computation of pinocchio, one configuration per call."""
    import pinocchio

    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    tool = model.getFrameId('tool')
    axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def run() -> tuple[np.ndarray, np.ndarray]:
        poses, jacobians = np.empty((len(q), 4, 4)), np.empty((len(q), 6, q.shape[1]))
        for index, configuration in enumerate(q):
            jacobians[index] = pinocchio.computeFrameJacobian(
                model, data, configuration, tool, axes
            )
            poses[index] = pinocchio.updateFramePlacement(model, data, tool).homogeneous
        return poses, jacobians

    return run


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--configurations', type=int, default=10_000)
    parser.add_argument('--rounds', type=int, default=15)
    arguments = parser.parse_args()
    text = arm()
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (arguments.configurations, len(ORIGINS)))
    ours, theirs = batched(text, q), one_by_one(text, q)
    worst = max(float(np.max(np.abs(a - b))) for a, b in zip(ours(), theirs(), strict=True))
    rounds = [(seconds(ours), seconds(theirs)) for _ in range(arguments.rounds)]
    per_call = [statistics.median(column) / len(q) * 1e6 for column in zip(*rounds, strict=True)]
    ratio = statistics.median(slow / fast for fast, slow in rounds)
    print(f'{len(q)} configurations, {arguments.rounds} interleaved rounds')
    print(f'transmission_bridge, batched:     {per_call[0]:6.3f} us per configuration')
    print(f'pinocchio, one by one:            {per_call[1]:6.3f} us per configuration')
    print(f'throughput ratio (median):        {ratio:6.2f}')
    print(f'largest difference of the results: {worst:.1e}')


if __name__ == '__main__':
    main()
