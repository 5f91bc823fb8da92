# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Allowed imports between rooms."""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
import inspect
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
    'lazy': set(),
    'signals': set(),
    'interfaces': {'errors'},
    'resources': {'errors'},
    'description': {'errors', 'types', 'lazy'},
    'spatial': {'types', 'description'},
    'transmissions': {'errors', 'types', 'lazy', 'interfaces', 'description'},
}
ALLOWED |= {
    'conformance': {'transmissions'},
    'kinematics': {*ALLOWED['transmissions'], 'spatial', 'transmissions'},
    'messages': {*ALLOWED['transmissions'], 'transmissions'},
}
ALLOWED['bridge'] = {*ALLOWED['messages'], 'kinematics', 'messages'}
ALLOWED['drivers'] = ALLOWED['bridge']
#: The two ends, which know nothing of each other.
ALLOWED |= {room: {'', *ALLOWED} for room in ('ros', 'tools')}
CORE = sorted(set(ALLOWED) - {'ros', 'tools'})
ROS_MODULES = {
    'rclpy', 'sensor_msgs', 'std_msgs', 'std_srvs', 'trajectory_msgs', 'diagnostic_msgs',
    'lifecycle_msgs', 'rcl_interfaces', 'builtin_interfaces', 'launch',
    'launch_ros',
}  # fmt: skip


def dotted(path):
    """Return the name of a module."""
    parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(parts).removesuffix('.__init__')


FILES = {dotted(path): path for path in sorted(PACKAGE.rglob('*.py'))}


def imported(path):
    """Return the dotted names that a file imports, as names of our submodules if possible."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f'{path}: relative import'
            inside = {f'{node.module}.{alias.name}' for alias in node.names}
            names.update(inside & set(FILES) or {node.module})
    return names


IMPORTS = {name: imported(path) for name, path in FILES.items()}


def room_of(name):
    """Return the room of one of our modules; empty: the package itself."""
    return name.removeprefix('transmission_bridge').lstrip('.').partition('.')[0]


@pytest.mark.parametrize('room', ALLOWED)
def test_rooms_import_only_what_lies_below_them(room):
    """
    A room imports itself and the rooms below it, never the rooms above.

    The core needs numpy, and lxml in one room; it never needs ROS, at no moment.
    """
    for name in FILES:
        if room_of(name) == room:
            tops = {each.partition('.')[0] for each in IMPORTS[name]}
            assert room not in CORE or not tops & ROS_MODULES, name
            assert room not in CORE or room == 'description' or 'lxml' not in tops, name
            ours = {each for each in IMPORTS[name] if each.startswith('transmission_bridge')}
            assert {room_of(each) for each in ours} <= ALLOWED[room] | {room}, name


def test_there_is_no_circle_of_imports():
    """No module imports itself by way of others, inside a room either, nor for a type."""
    graph = {name: IMPORTS[name] & FILES.keys() - {name} for name in FILES}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(' -> '.join(error.args[1]))


#: Packages of the core: rooms, and rooms inside them. What they export, other rooms may import.
FACES = [
    name for name, path in FILES.items() if path.name == '__init__.py' and room_of(name) in CORE
]


def test_rooms_import_each_other_through_their_faces():
    """
    A module is private to its room; what others need of it, a package exports.

    Nothing but an entry point imports ros and tools. The package itself, which is everybody's
    face, imports what it exports from where it is.
    """
    for name in set(FILES) - {'transmission_bridge'}:
        for each in IMPORTS[name] & FILES.keys():
            inside = room_of(each) in {room_of(name), 'ros', 'tools'} or each.count('.') < 2
            assert inside or each in FACES, f'{name} imports {each}'


def list_exports(path):
    """Return the names that a face imports for others."""
    imports = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom))
    return [alias.name for node in imports for alias in node.names if alias.asname]


@pytest.mark.parametrize('face', FACES)
def test_a_face_exports_few_names_that_explain_themselves(face):
    """Who reads a face has not lost the overview; who looks up a name finds what it is for."""
    module = import_module(face)
    assert module.__doc__.strip(' .')
    names = list_exports(FILES[face])
    assert len(names) <= 25, f'{face}: {len(names)} names, at most 25'
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f'{face}.{name} has no docstring'


def test_the_core_and_the_command_line_import_without_ros():
    """With ROS out of reach they are imported, however a module may be asked for."""
    names = [name for name in FILES if room_of(name) in CORE]
    code = f"""import importlib, sys
sys.modules.update(dict.fromkeys({ROS_MODULES!r}))
for name in {[*names, 'transmission_bridge.tools.main']!r}:
    importlib.import_module(name)"""
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
