# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scripts of the documents, and a bridge beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from documents import DOCUMENTS, ROOT
import pytest
from state_paths import record


@pytest.fixture(scope='session')
def message():
    """Return a function that gives a JointState of positions and velocities by name."""

    def made(position=None, velocity=None, stamp=0):
        rows = ([*(each or {}).values()] for each in (position, velocity))
        return record(position or velocity, *rows, stamp=(stamp, 0))

    return made


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the files that the documents tell to save."""
    for name in ('first_robot.md', 'operation.md', 'drivers.md'):
        for file, text in DOCUMENTS[name].files.items():
            (tmp_path / file).write_text(text, encoding='utf-8')
    # The scripts that they tell to copy.
    for script in ('command.py', 'record.py'):
        shutil.copy(ROOT / 'examples' / 'servo_arm' / script, tmp_path)
    return tmp_path


class Script(subprocess.Popen):
    """A script of the documents in its folder, which inherits the domain of the harness."""

    def __init__(self, folder, patience, command, environment):
        self._patience = patience
        streams = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
        super().__init__(command, cwd=folder, env={**os.environ, **environment}, **streams)

    def ended(self, number=None):
        """Send a signal if one is given; return its exit code, and what it said where."""
        if number is not None:
            self.send_signal(number)
        said, errors = self.communicate(timeout=self._patience)
        return self.returncode, said, errors


@pytest.fixture
def start_script(harness, folder):
    """Return a function that starts a script of the documents; what still runs is killed."""
    scripts = []

    def start(*words, program=sys.executable, **environment):
        scripts.append(Script(folder, harness.PATIENCE, [program, *map(str, words)], environment))
        return scripts[-1]

    yield start
    for script in scripts:
        script.kill()
        script.communicate()


@pytest.fixture
def start_bridge(harness, folder, start_process):
    """Return a function that starts the bridge as the document says where there is no launch."""

    def start(*more, urdf='my_robot.urdf'):
        own = ['--driver', folder / 'my_robot.py'] if urdf == 'my_robot.urdf' else []
        line = ['--urdf', folder / urdf, *own, *(['--ros-args', *more] if more else [])]
        return start_process('transmission_bridge.ros.main bridge_node', *line, env=harness.KILLED)

    return start
