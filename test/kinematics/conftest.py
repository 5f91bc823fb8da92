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
