# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The names of the package, and when they are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

import transmission_bridge

SLOW = {'numpy', 'lxml', 'rclpy', 'transmission_bridge.transmissions'}


def loaded(program):
    """Return the slow modules that a program has imported in the end."""
    result = subprocess.run(
        [sys.executable, '-c', f'import sys\n{program}\nprint(*sys.modules)'],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return SLOW & set(result.stdout.split())


def test_everything_public_is_there():
    """Each public name can be had, is the same each time, and is listed."""
    for name in transmission_bridge.__all__:
        assert getattr(transmission_bridge, name) is getattr(transmission_bridge, name)
    assert set(transmission_bridge.__all__) <= set(dir(transmission_bridge))
    assert transmission_bridge.description.load_description is transmission_bridge.load_description


def test_what_is_not_there():
    """A name that the package does not have is an AttributeError that names both."""
    with pytest.raises(AttributeError, match=r"'transmission_bridge' has no attribute 'nothing'"):
        _ = transmission_bridge.nothing


@pytest.mark.parametrize(
    'program',
    [
        'import transmission_bridge',
        'from transmission_bridge.ros import bridge_main',
        'from transmission_bridge.tools import main',
    ],
)
def test_nothing_slow_before_it_is_needed(program):
    """Neither the package nor the programs import before main() what takes them a while."""
    assert loaded(program) == set()


def test_asking_imports():
    """A name is imported on its first use."""
    program = 'import transmission_bridge\ntransmission_bridge.RobotTransmissions'
    assert 'numpy' in loaded(program)
    program = 'import transmission_bridge as tb\ntb.kinematics.JointDevice'
    assert 'transmission_bridge.transmissions' in loaded(program)
