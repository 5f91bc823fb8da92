# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The blocks of the documents, and the harness of the node's tests."""

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
        # Dataclasses look their module up.
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope='session')
def documents():
    """Return the module ``blocks`` of this folder."""
    return load('document_blocks', FOLDER / 'blocks.py')


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
        yield load('ros_harness', FOLDER.parent / 'ros' / 'harness.py')


@pytest.fixture
def peer(harness):
    """Return a peer in the domain of the processes."""
    peer = harness.Peer()
    yield peer
    peer.destroy()
    gc.collect()
