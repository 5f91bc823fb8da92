# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robots and reference vectors that the tests of this room share."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SHIPPED = Path(__file__).parents[1] / 'data' / 'vectors'
TYPES = ('revolute', 'continuous', 'prismatic')


def _folder() -> Path:
    return Path(os.environ.get('TRANSMISSION_BRIDGE_VECTORS', SHIPPED))


def _load(name: str) -> dict[str, Any]:
    return json.loads((_folder() / name).read_text(encoding='utf-8'))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per device, and one per robot, of the kinematics vectors."""
    for argument, key in (('device_index', 'devices'), ('robot_index', 'limits')):
        if argument in metafunc.fixturenames:
            entries = _load('kinematics_vectors.json')[key]
            ids = [entry if isinstance(entry, str) else entry['device'] for entry in entries]
            metafunc.parametrize(argument, range(len(ids)), ids=ids)


@pytest.fixture(scope='session')
def vectors_folder() -> Path:
    """Return the folder of the reference vectors, which TRANSMISSION_BRIDGE_VECTORS may name."""
    return _folder()


@pytest.fixture(scope='session')
def load_vectors() -> Callable[[str], dict[str, Any]]:
    """Return a function that reads a file of reference vectors."""
    return _load


def _numbers(values: np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)


def _joint(rng: np.random.Generator, number: int, parent: int, kind: str, mimic: str) -> str:
    axis = '' if number % 4 == 0 else f'<axis xyz="{_numbers(rng.normal(size=3))}"/>'
    limit = '<limit lower="-3" upper="3" velocity="2" effort="5"/>'
    return (
        f'<link name="link{number}"/><joint name="joint{number}" type="{kind}">'
        f'<parent link="link{parent}"/><child link="link{number}"/>'
        f'<origin xyz="{_numbers(rng.normal(scale=0.3, size=3))}" '
        f'rpy="{_numbers(rng.uniform(-3.0, 3.0, size=3))}"/>'
        f'{"" if kind == "fixed" else axis + limit + mimic}</joint>'
    )


@pytest.fixture(scope='session')
def random_urdf() -> Callable[..., str]:
    """
    Return a function that writes the URDF of a random robot.

    Links are link0 to linkN; every joint has a random origin and axis, every fourth movable one no
    axis, every fifth joint is fixed. ``branching`` hangs joints on random earlier links, otherwise
    the robot is a chain; ``mimics`` lets every third movable joint follow joint1.
    """

    def write(seed: int, n_joints: int, *, branching: bool = False, mimics: bool = False) -> str:
        rng = np.random.default_rng(seed)
        parts = [f'<robot name="random{seed}"><link name="link0"/>']
        for number in range(1, n_joints + 1):
            parent = int(rng.integers(number)) if branching else number - 1
            kind = 'fixed' if number % 5 == 0 else TYPES[int(rng.integers(3))]
            mimic = ''
            if mimics and number % 3 == 0:
                multiplier, offset = rng.uniform(-2.0, 2.0, size=2)
                mimic = f'<mimic joint="joint1" multiplier="{multiplier}" offset="{offset}"/>'
            parts.append(_joint(rng, number, parent, kind, mimic))
        return ''.join(parts) + '</robot>'

    return write


@pytest.fixture(scope='session')
def central_difference() -> Callable[..., np.ndarray]:
    """Return a function that differentiates an array by one number, to about 1e-10."""

    def differentiate(function: Callable[[float], np.ndarray], step: float = 1e-3) -> np.ndarray:
        # Seven-point stencil: the error is of sixth order in the step.
        weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
        return sum(
            weight * (function(count * step) - function(-count * step)) / step
            for count, weight in weights.items()
        )

    return differentiate
