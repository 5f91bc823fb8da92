# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Allowed imports between rooms."""

from __future__ import annotations

import ast
from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
import subprocess
import sys

import pytest

import transmission_bridge

PACKAGE = Path(transmission_bridge.__file__).parent

#: Rooms that each room may import, in addition to itself. The arrows have one direction.
ALLOWED = {
    'errors': set(),
    'types': set(),
    'resources': {'errors'},
    'description': {'errors', 'types'},
    'transmissions': {'errors', 'types', 'description'},
    'kinematics': {'errors', 'types', 'description', 'transmissions'},
    'messages': {'errors', 'types', 'description', 'transmissions'},
    'bridge': {'errors', 'types', 'description', 'transmissions', 'kinematics', 'messages'},
    'sim': {'errors', 'types', 'description', 'transmissions', 'kinematics', 'messages'},
}
#: The two ends, which know nothing of each other.
ALLOWED |= {room: {'', *ALLOWED} for room in ('ros', 'tools')}
CORE = sorted(set(ALLOWED) - {'ros', 'tools'})
ROS_MODULES = {
    'rclpy', 'sensor_msgs', 'std_msgs', 'std_srvs', 'trajectory_msgs', 'diagnostic_msgs',
    'lifecycle_msgs', 'rcl_interfaces', 'builtin_interfaces', 'launch',
    'launch_ros',
}  # fmt: skip

#: A finder that fails every import of ROS, then imports of modules.
BLOCKED = f"""
import importlib, importlib.abc, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {ROS_MODULES!r}:
            raise AssertionError(f'import of {{name}}')

sys.meta_path.insert(0, Block())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules(room: str) -> list[Path]:
    """Return the files of a room."""
    path = PACKAGE / room
    return sorted(path.rglob('*.py')) if path.is_dir() else [PACKAGE / f'{room}.py']


def imported(path: Path, submodules: Collection[str] = ()) -> set[str]:
    """Return the dotted names that a file imports, as names of submodules if possible."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f'{path}: relative import'
            dotted = {f'{node.module}.{alias.name}' for alias in node.names}
            names.update(dotted & set(submodules) or {node.module})
    return names


@pytest.mark.parametrize('room', sorted(ALLOWED))
def test_rooms_import_only_what_lies_below_them(room: str) -> None:
    """A room imports itself and the rooms below it, never the rooms above."""
    for path in modules(room):
        for name in imported(path):
            top, _, rest = name.partition('.')
            if top == 'transmission_bridge':
                assert rest.partition('.')[0] in ALLOWED[room] | {room}, f'{path}: {name}'


def test_there_is_no_circle_of_imports() -> None:
    """No module imports itself by way of others, inside a room either, nor for a type."""
    files = {dotted(path): path for path in PACKAGE.rglob('*.py')}
    graph = {name: imported(path, files) & files.keys() - {name} for name, path in files.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(' -> '.join(error.args[1]))


@pytest.mark.parametrize('room', CORE)
def test_only_description_knows_xml_and_only_ros_knows_rclpy(room: str) -> None:
    """The core needs numpy, and lxml in one room; it never needs ROS."""
    for path in modules(room):
        tops = {name.partition('.')[0] for name in imported(path)}
        assert not tops & ROS_MODULES, path
        assert room == 'description' or 'lxml' not in tops, path


def dotted(path: Path) -> str:
    """Return the name of a module."""
    parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(parts).removesuffix('.__init__')


def test_the_core_and_the_command_line_import_without_ros() -> None:
    """With ROS out of reach, every module of every room but ros, and the tools, are imported."""
    names = [dotted(path) for room in CORE for path in modules(room)]
    code = [sys.executable, '-c', BLOCKED, 'transmission_bridge', *names]
    result = subprocess.run(
        [*code, 'transmission_bridge.tools.main'],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
