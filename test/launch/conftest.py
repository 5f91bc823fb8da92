# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The helpers of this folder, and the harness and the peer of the node's tests."""

from __future__ import annotations

import gc
import importlib.util
from pathlib import Path
import sys
import warnings

import pytest

FOLDER = Path(__file__).parent


def load(name, path):
    """Return the module in a file, loaded once."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope='session')
def harness(tmp_path_factory):
    """Return the harness of the node's tests."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_LOG_DIR', str(tmp_path_factory.mktemp('log')))
        patch.setenv('RCUTILS_COLORIZED_OUTPUT', '0')
        # rclpy's parser of message definitions imports modules that Python has deprecated.
        warnings.simplefilter('ignore', DeprecationWarning)
        pytest.importorskip('rclpy', reason='rclpy is not installed')
        # One of our own: these processes are new, and a first answer is often lost.
        module = load('launch_harness', FOLDER.parent / 'ros' / 'harness.py')
        module.ANSWER = 1.0
        yield module


@pytest.fixture
def peer(harness):
    """Return a peer in the domain of the processes."""
    peer = harness.Peer()
    yield peer
    peer.destroy()
    gc.collect()


@pytest.fixture
def processes(harness, tmp_path):
    """Return a system of plain processes; what is left of it ends with the test."""
    system = load('launch_systems', FOLDER / 'systems.py').Processes(harness, tmp_path)
    yield system
    system.clean_up()
