# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Differences that the tests of this room share."""

import pytest


@pytest.fixture(scope='session')
def central_difference():
    """Return a function that differentiates an array by one number, to about 1e-10."""

    def differentiate(function, step=1e-3):
        # Seven-point stencil: the error is of sixth order in the step.
        return sum(
            weight * (function(count * step) - function(-count * step)) / step
            for count, weight in {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}.items()
        )

    return differentiate
