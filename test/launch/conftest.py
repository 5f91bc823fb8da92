# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The helpers of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


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
