# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Check what ``colcon build`` made: files, entry points, and a node that runs from there.

Run with the environment of the installation: ``python3 .ci/check_install.py PREFIX``.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
import signal
import subprocess
import sys

PACKAGE = 'transmission_bridge'
EXECUTABLES = ('bridge_node', 'driver_node', PACKAGE)
SOURCE = Path(__file__).resolve().parents[1]

#: Longest wait for a node [s].
PATIENCE = 60.0


def check_files(prefix: Path) -> None:
    """Executables are where ros2 run looks, and every file to share is shared."""
    for name in EXECUTABLES:
        assert os.access(prefix / 'lib' / PACKAGE / name, os.X_OK), name
    share = prefix / 'share' / PACKAGE
    shared = [
        path.relative_to(SOURCE)
        for folder, pattern in (('launch', '*.launch.*'), ('config', '*.*'), ('urdf', '*.urdf'))
        for path in SOURCE.glob(f'{folder}/**/{pattern}')
        if '__pycache__' not in path.parts
    ]
    assert len(shared) > 10
    for path in (Path('package.xml'), *shared):
        assert (share / path).read_bytes() == (SOURCE / path).read_bytes(), path
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    assert (index / PACKAGE).exists()


def check_entry_points(prefix: Path) -> None:
    """The package is imported from the prefix, and all transmission types load."""
    import transmission_bridge
    from transmission_bridge.transmissions import Registry

    assert Path(transmission_bridge.__file__).is_relative_to(prefix), transmission_bridge.__file__
    plugins = Registry().describe()
    assert [plugin.error for plugin in plugins if plugin.error] == []
    types = {plugin.type_name for plugin in plugins}
    assert 'transmission_interface/SimpleTransmission' in types
    assert 'custom_transmission/CardanTransmission' in types, types
    for name in EXECUTABLES:
        (entry_point,) = importlib.metadata.entry_points(group='console_scripts', name=name)
        entry_point.load()


def check_example(prefix: Path) -> None:
    """The driver of the robot to copy is found by its plugin, and so is what it launches with."""
    from transmission_bridge.drivers import Driver, find_driver_class

    assert issubclass(find_driver_class('my_robot/Motors'), Driver)
    for path in ('launch/my_robot.launch.py', 'urdf/my_robot.urdf', 'package.xml'):
        shared = prefix / 'share' / 'my_robot' / path
        assert shared.read_bytes() == (SOURCE / 'examples' / 'my_robot' / path).read_bytes(), path


def check_node(prefix: Path) -> None:
    """The bridge starts from its executable, becomes active, and ends on SIGINT."""
    node = subprocess.Popen(
        [
            str(prefix / 'lib' / PACKAGE / 'bridge_node'),
            '--urdf', str(prefix / 'share' / PACKAGE / 'urdf' / 'arm.urdf'),
            '--ros-args', '-p', 'autostart:=true',
        ],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        said = ''
        while "robot 'arm': 6 joints" not in said:
            line = node.stdout.readline()
            assert line, said
            said += line
        node.send_signal(signal.SIGINT)
        rest, _ = node.communicate(timeout=PATIENCE)
        assert node.returncode == 0, said + rest
        assert 'Traceback' not in said + rest
    finally:
        node.kill()


if __name__ == '__main__':
    root = Path(sys.argv[1]).resolve()
    check_files(root)
    check_entry_points(root)
    check_example(root)
    check_node(root)
    print(f'{root}: files, entry points and bridge_node are there')
