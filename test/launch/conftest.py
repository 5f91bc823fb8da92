# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Real launch, where launch_ros is installed (ROS has it, there are no wheels)."""

from __future__ import annotations

import os
from pathlib import Path
import sys

import pytest

RUN_LAUNCH = Path(__file__).parents[1] / 'support' / 'run_launch.py'

ENTRY_POINTS = {'bridge_node': 'run_bridge', 'driver_node': 'run_driver'}


@pytest.fixture
def install(tmp_path):
    """Return a function that installs a package with executables, for launch to find."""

    def install_package(package, **sources):
        index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
        folder = tmp_path / 'lib' / package
        for path in (index, folder):
            path.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        for name, source in sources.items():
            (folder / name).write_text(f'#!{sys.executable}\n{source}\n', encoding='utf-8')
            (folder / name).chmod(0o755)

    return install_package


@pytest.fixture
def launch(start_process, install, tmp_path):
    """Return a function that launches a file with arguments; the launch ends with the test."""
    # Not launch: in a checkout our own folder of that name would be found as an empty package.
    pytest.importorskip('launch_ros', reason='launch_ros is not installed (ROS has it, no wheel)')
    run = 'from transmission_bridge.ros.main import {0}; raise SystemExit({0}())'
    install(
        'transmission_bridge', **{name: run.format(each) for name, each in ENTRY_POINTS.items()}
    )
    prefixes = os.pathsep.join([str(tmp_path), os.environ.get('AMENT_PREFIX_PATH', '')])

    def start(file, *arguments, **env):
        env['AMENT_PREFIX_PATH'] = prefixes
        return start_process(RUN_LAUNCH, file, *arguments, env=env)

    return start
