# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reference vectors and differences that the tests of this room share."""

import json
import os
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[1] / 'data' / 'vectors'


@pytest.fixture(scope='session')
def vectors_folder():
    """Return the folder of the reference vectors, which TRANSMISSION_BRIDGE_VECTORS may name."""
    return Path(os.environ.get('TRANSMISSION_BRIDGE_VECTORS', SHIPPED))


@pytest.fixture(scope='session')
def load_vectors(vectors_folder):
    """Return a function that reads a file of reference vectors."""
    return lambda name: json.loads((vectors_folder / name).read_text(encoding='utf-8'))


@pytest.fixture(scope='session')
def central_difference():
    """Return a function that differentiates an array by one number, to about 1e-10."""

    def differentiate(function, step=1e-3):
        # Seven-point stencil: the error is of sixth order in the step.
        weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
        return sum(
            weight * (function(count * step) - function(-count * step)) / step
            for count, weight in weights.items()
        )

    return differentiate
