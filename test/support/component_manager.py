# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A component that maps in a manager, cycle by cycle: ros2_control's or a small one."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
import shutil
import subprocess

import pytest
from waiting import wait

from transmission_bridge.tools.main import main

FOLDER = Path(__file__).parents[1] / 'tools' / 'component'

#: All sources of C++ are clean with these warnings, and run with these sanitizers.
WARNINGS = ['-std=c++17', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Werror']
SANITIZERS = ('-fsanitize=address,undefined', '-fno-sanitize-recover=all')


def find_tinyxml2():
    """Return the flags of the compiler and of the linker for TinyXML2, ``None`` without it."""
    if spec := importlib.util.find_spec('cmeel'):
        prefix = Path(spec.origin).parents[1] / 'cmeel.prefix'
        if (prefix / 'include' / 'tinyxml2.h').exists():
            folder = prefix / 'lib'
            return ['-isystem', prefix / 'include'], [f'-L{folder}', f'-Wl,-rpath,{folder}']
    return ([], []) if Path('/usr/include/tinyxml2.h').exists() else None


def require_compiler():
    """Skip a test if its component cannot be built."""
    if not shutil.which('g++'):
        pytest.skip('there is no g++')
    if find_tinyxml2() is None:
        pytest.skip('TinyXML2 is not installed (cmeel-tinyxml2 of the extra test-core)')


def find_missing(*packages):
    """Return the reason why something of ROS cannot be built here, empty if it can be."""
    prefixes = [Path(each) for each in os.environ.get('AMENT_PREFIX_PATH', '').split(':') if each]
    for package in packages:
        if not any((each / 'share' / package / 'cmake').is_dir() for each in prefixes):
            return f'there is no {package} in AMENT_PREFIX_PATH'
    return '' if shutil.which('cmake') and shutil.which('c++') else 'there is no cmake or no c++'


def execute(*words, cwd=None, may_warn=False, **variables):
    """Run a command that has to succeed; return its output."""
    done = subprocess.run(
        [str(each) for each in words], cwd=cwd, env=os.environ | variables, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert may_warn or 'warning' not in done.stderr, done.stderr
    return done.stdout


def install(source, root, **options):
    """Build a package of CMake and install it."""
    build, prefix = root / 'build' / source.name, root / 'install'
    paths = (f'-DCMAKE_INSTALL_PREFIX={prefix}', f'-DCMAKE_PREFIX_PATH={prefix}')
    for words in (('-S', source, '-B', build, *paths), ('--build', build), ('--install', build)):
        execute('cmake', *words, **options)


def compile_sources(sources, folder, version, *flags):
    """Compile sources of C++ against declarations of ros2_control; return the objects."""
    folder.mkdir(parents=True, exist_ok=True)
    fakes = [f'-I{FOLDER / "fakes" / each}' for each in ('common', version)]
    objects = []
    for source in sources:
        objects.append(folder / f'{source.stem}.o')
        if not objects[-1].exists():
            known = (*flags, *fakes, f'-I{FOLDER}', *find_tinyxml2()[0])
            execute('g++', *WARNINGS, *SANITIZERS, *known, '-c', source, '-o', objects[-1])
    return objects


def compile_maps(folder, name, made):
    """Compile the maps in C of a package; ``-Wall`` has nothing to say."""
    objects = [made / f'{name}.o', made / f'{name}_map.o']
    for each in objects:
        source = folder / 'src' / f'{each.stem}.c'
        flags = ('-std=c99', '-O2', '-Wall', '-Werror', '-ffp-contract=off')
        execute('gcc', *flags, f'-I{folder / "include"}', '-c', source, '-o', each)
    return objects


def build_manager(root, urdf, name, version='new', more=()):
    """
    Compile a description, and return a program with its component and the small manager.

    :param version: ``new`` or ``old``: the names of ros2_control's declarations.
    :param more: Sources of more drivers.
    """
    folder, made = root / name, root / 'objects' / f'{name}_{version}'
    program = root / f'{name}_{version}'
    path = root / f'{name}.urdf'
    path.write_text(urdf, encoding='utf-8')
    if not folder.exists():
        paths = (str(path), '--output', str(folder), '--name', name)
        assert main(['compile', *paths, '--ros2-control']) == 0
    flags = ('-O1', f'-DMAPPED_ROBOT="{name}_robot.hpp"', f'-I{folder}/src', f'-I{folder}/include')
    component = folder / 'src' / 'mapped' / 'mapped_system.cpp'
    objects = compile_sources([component], made, version, *flags)
    others = [FOLDER / 'motors.cpp', FOLDER / 'small_manager.cpp']
    objects += compile_sources(more, made / 'more', version)
    objects += compile_sources(others, root / 'objects' / version, version)
    objects += compile_maps(folder, name, made)
    libraries = (*find_tinyxml2()[1], '-ltinyxml2', '-pthread')
    execute('g++', *SANITIZERS, *objects, *libraries, '-o', program)
    return program


class Manager:
    """A manager of a description: ``manager('cycle 2', 'states')``."""

    def __init__(self, command, urdf, root, active='active', env=None):
        self.path, self.errors, self.n_seen = root / 'now.urdf', root / 'errors.txt', 0
        with self.errors.open('w') as errors:
            self.process = subprocess.Popen(
                [str(each) for each in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env or os.environ,
            )
        self.start(urdf, active)

    def start(self, urdf, active='active'):
        """Start with a description, also again."""
        self.path.write_text(urdf, encoding='utf-8')
        self.n_seen = len(self.errors.read_text())
        self(f'start {self.path} {active}')

    def __call__(self, *lines):
        """Give commands one after the other; return the answer to the last one."""
        return [self._ask(line) for line in lines][-1]

    def _ask(self, line):
        self.process.stdin.write(f'{line}\n')
        self.process.stdin.flush()
        for answer in self.process.stdout:
            if answer.startswith('> '):
                text = answer[2:].strip()
                assert not text.startswith(('exception', 'unknown')), text
                return json.loads(text) if text[0] in '[{' else text
        pytest.fail(f'ended at {line!r}\n{self.log}')

    @property
    def log(self):
        """What was logged since the start."""
        return self.errors.read_text()[self.n_seen :]

    @property
    def complaints(self):
        """Warnings and errors, but for those of a slow machine."""
        lines = [each for each in self.log.splitlines() if each.startswith(('[WARN]', '[ERROR]'))]
        return [each for each in lines if 'Overrun' not in each]

    def end(self):
        """Return the exit code."""
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code

    def script(self, name, *interfaces):
        """Add a controller that writes what a test says."""
        assert self(f'add {name} {" ".join(interfaces)}') == '0'

    def move(self, name, *values, cycles=1):
        """Write values and run cycles."""
        self(f'set {name} {" ".join(map(str, values))}', f'cycle {cycles}')

    def wait_for(self, words):
        """Wait until words are logged."""
        self.wait_until(lambda: words in self.log, repr(words))

    def wait_until(self, fact, what, *lines):
        """Give commands again and again until a fact is true."""
        wait(fact, what, lambda: self(*lines, 'wait 0.1'), lambda: self.log)
