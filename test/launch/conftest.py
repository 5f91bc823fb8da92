# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The helpers of this folder, and a harness of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.fixture(scope='session')
def harness(load_harness):
    """Return the harness of the node's tests, with little patience for an answer."""
    # One of our own: these processes are new, and a first answer is often lost.
    module = load_harness('launch_harness')
    module.ANSWER = 1.0
    return module


@pytest.fixture(scope='session')
def command_line(load):
    """Return a function for the command line of a plan without launch."""
    return load('launch_systems', FOLDER / 'systems.py').command_line


@pytest.fixture
def processes(load, harness, tmp_path):
    """Return a system of plain processes; what is left of it ends with the test."""
    system = load('launch_systems', FOLDER / 'systems.py').Processes(harness, tmp_path)
    yield system
    system.clean_up()
