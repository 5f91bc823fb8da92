# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The blocks of the documents."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

import pytest


@pytest.fixture(scope='session')
def documents(load):
    """Return the module ``blocks`` of this folder."""
    return load('document_blocks', Path(__file__).with_name('blocks.py'))


@pytest.fixture
def folder(documents, tmp_path):
    """Return a folder with the robot of the first document, and the scripts for it."""
    for document in ('first_robot.md', 'recordings.md', 'without_ros.md'):
        for name, text in documents.files(document).items():
            (tmp_path / name).write_text(text, encoding='utf-8')
    return tmp_path


@pytest.fixture
def start_script(harness, folder):
    """Return a function that starts a script of the documents; what still runs is killed."""
    processes = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)},
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

    def start(*more, urdf=folder / 'my_robot.urdf'):
        line = ['--urdf', urdf, '--ros-args', '-p', 'autostart:=true', *more]
        processes.append(harness.Process('transmission_bridge.ros.bridge_main', line))
        return processes[-1]

    yield start
    for process in processes:
        process.clean_up()
