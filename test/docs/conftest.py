# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The blocks of the documents, and what they tell to start."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord


@pytest.fixture(scope='session')
def documents(load):
    """Return the module ``blocks`` of this folder."""
    return load('document_blocks', Path(__file__).with_name('blocks.py'))


@pytest.fixture(scope='session')
def message():
    """Return a function that gives a JointState of positions and velocities by name."""

    def made(position=None, velocity=None, stamp=0):
        rows = [np.array([*(each or {}).values()], float) for each in (position, velocity)]
        names = tuple(position or velocity)
        return JointStateRecord((stamp, 0), '', names, *rows, np.empty(0))

    return made


@pytest.fixture
def folder(documents, tmp_path):
    """Return a folder with the files that the documents tell to save."""
    for name in ('first_robot.md', 'recordings.md', 'without_ros.md', 'several_drivers.md'):
        for file, text in documents.files(name).items():
            (tmp_path / file).write_text(text, encoding='utf-8')
    return tmp_path


@pytest.fixture
def start_script(harness, folder):
    """Return a function that starts a script of the documents; what still runs is killed."""
    processes = []

    def start(*words, program=sys.executable, **environment):
        process = subprocess.Popen(
            [program, *words], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def driver(start_script):
    """Start the driver as the first document says."""
    return start_script('driver.py')


@pytest.fixture
def start_bridge(harness, folder):
    """Return a function that starts the bridge as the document says where there is no launch."""
    processes = []

    def start(*more, urdf='my_robot.urdf'):
        line = ['--urdf', folder / urdf, '--ros-args', '-p', 'autostart:=true', *more]
        processes.append(harness.Process('transmission_bridge.ros.bridge_main', line))
        return processes[-1]

    yield start
    for process in processes:
        process.clean_up()
