# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The package to copy has the files of the first document, installs, and moves its joint."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'my_robot'
LICENCE = ('Copyright 2026 The transmission_bridge authors', 'SPDX-License-Identifier: Apache-2.0')
HEADERS = {
    '.py': '# {}\n#\n# {}\n'.format(*LICENCE),
    '.urdf': '<!-- {} -->\n<!-- {} -->\n'.format(*LICENCE),
}


def python(*words, cwd, **environment):
    """Return what a Python ended with."""
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=300, env={**os.environ, **environment},
    )  # fmt: skip


def before(path, variable):
    """Return a variable with a path before the others."""
    return {variable: os.pathsep.join(filter(None, [str(path), os.environ.get(variable, '')]))}


def test_its_files_are_those_of_the_document(documents):
    """They have one text but for the licence; the tree in the document has each, and no other."""
    for path in ('my_robot/driver.py', 'launch/my_robot.launch.py', 'urdf/my_robot.urdf'):
        text = (EXAMPLE / path).read_text(encoding='utf-8')
        header = HEADERS[Path(path).suffix]
        assert text.count(header) == 1
        assert documents.files('first_robot.md')[Path(path).name] == text.replace(header, '')
    texts = [each.text for each in documents.blocks('first_robot.md')]
    (tree,) = [text for text in texts if text.startswith('my_robot/')]
    found = {
        path.relative_to(EXAMPLE).as_posix()
        for path in EXAMPLE.rglob('*')
        if path.is_file()
        and path.name != '__init__.py'
        and not {'__pycache__', '.pytest_cache', 'my_robot.egg-info', 'build'} & set(path.parts)
    }
    assert set(tree.split()[1:]) == found


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """Return a copy of the package."""
    ignored = shutil.ignore_patterns('*.egg-info', 'build')
    return shutil.copytree(EXAMPLE, tmp_path_factory.mktemp('copy') / 'my_robot', ignore=ignored)


def test_its_test_of_the_description_runs_everywhere(source):
    """With pytest and this package alone; another ratio fails it. The URDF has no finding."""
    urdf = source / 'urdf' / 'my_robot.urdf'
    text = urdf.read_text(encoding='utf-8')
    assert RobotTransmissions(load_description(urdf)).findings == ()
    for ratio, said in (('-60.0', '2 failed, 3 passed'), ('-50.0', '5 passed')):
        urdf.write_text(text.replace('-50.0', ratio), encoding='utf-8')
        assert said in python('-m', 'pytest', 'test/test_my_robot_urdf.py', cwd=source).stdout


@pytest.fixture(scope='module')
def installed(source):
    """Return the prefix into which a copy of the package is installed, as colcon lays it out."""
    prefix = source.parent / 'install'
    # What colcon ends up calling, without its need of a network or of wheel.
    result = python(
        *('setup.py', '--quiet', 'install', '--prefix', str(prefix)),
        *('--single-version-externally-managed', '--record', str(source.parent / 'record')),
        cwd=source,
    )
    assert result.returncode == 0, result.stderr
    return prefix


@pytest.mark.ros
def test_what_is_installed(installed, harness, peer, start_script, message):
    """Files are where ros2 run and ros2 launch look, and the driver follows a command."""
    program = installed / 'lib' / 'my_robot' / 'driver'
    assert os.access(program, os.X_OK)
    share = installed / 'share'
    assert (share / 'ament_index' / 'resource_index' / 'packages' / 'my_robot').exists()
    for name in ('package.xml', 'urdf/my_robot.urdf', 'launch/my_robot.launch.py'):
        assert (share / 'my_robot' / name).read_bytes() == (EXAMPLE / name).read_bytes()
    # The launch file looks for the description from where it is itself.
    assert "parents[1] / 'urdf' / 'my_robot.urdf'" in (
        share / 'my_robot' / 'launch' / 'my_robot.launch.py'
    ).read_text(encoding='utf-8')
    (site,) = installed.glob('lib/python3*/site-packages')
    driver = start_script(program=program, **before(site, 'PYTHONPATH'))
    motors, publisher = peer.listen('actuator_states'), peer.publisher('actuator_commands')

    def moved():
        peer.send(publisher, message({'hinge_motor': -25.0}))
        return bool(motors) and np.allclose(motors[-1].position, -25.0)

    peer.spin_until(moved, 'a motor at -25')
    driver.send_signal(signal.SIGINT)
    said = driver.communicate(timeout=harness.PATIENCE)
    assert driver.returncode == 0, said


@pytest.mark.ros
def test_its_own_test(installed, tmp_path):
    """The test of the package launches it, where launch_testing is installed."""
    pytest.importorskip('launch_testing', reason='launch_testing is not installed (ROS has it)')
    (site,) = installed.glob('lib/python3*/site-packages')
    result = python(
        *('-m', 'launch_testing.launch_test', str(EXAMPLE / 'test' / 'test_my_robot.py')),
        cwd=tmp_path,
        **before(site, 'PYTHONPATH'),
        **before(installed, 'AMENT_PREFIX_PATH'),
    )
    assert result.returncode == 0, result.stdout + result.stderr
