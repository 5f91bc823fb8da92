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
HEADERS = {
    '.py': """\
# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
""",
    '.urdf': """\
<!-- Copyright 2026 The transmission_bridge authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
""",
}


@pytest.mark.parametrize(
    'path', ['my_robot/driver.py', 'launch/my_robot.launch.py', 'urdf/my_robot.urdf']
)
def test_a_file_is_that_of_the_document(path, documents):
    """Document and package have one text; only the licence is left out in the document."""
    text = (EXAMPLE / path).read_text(encoding='utf-8')
    header = HEADERS[Path(path).suffix]
    assert text.count(header) == 1
    assert documents.files('first_robot.md')[Path(path).name] == text.replace(header, '')


def test_the_document_lists_its_files(documents):
    """The tree in the document has each file of the package, and nothing else."""
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


def test_its_description_has_nothing_odd():
    """The URDF loads without a finding."""
    assert RobotTransmissions(load_description(EXAMPLE / 'urdf' / 'my_robot.urdf')).findings == ()


def test_its_test_of_the_description_runs_everywhere(tmp_path):
    """With pytest and this package alone; another ratio fails it."""
    copy = tmp_path / 'my_robot'
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    urdf = copy / 'urdf' / 'my_robot.urdf'
    for ratio, said in (('-50.0', '5 passed'), ('-60.0', '2 failed, 3 passed')):
        text = (EXAMPLE / 'urdf' / 'my_robot.urdf').read_text(encoding='utf-8')
        urdf.write_text(text.replace('-50.0', ratio), encoding='utf-8')
        result = subprocess.run(
            [sys.executable, '-m', 'pytest', 'test/test_my_robot_urdf.py'],
            cwd=copy, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert said in result.stdout


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Return the prefix into which a copy of the package is installed, as colcon lays it out."""
    folder = tmp_path_factory.mktemp('my_robot')
    source = folder / 'source'
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    # What colcon ends up calling, without its need of a network or of wheel.
    result = subprocess.run(
        [sys.executable, 'setup.py', '--quiet', 'install', '--prefix', str(folder / 'install'),
         '--single-version-externally-managed', '--record', str(folder / 'record')],
        cwd=source, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder / 'install'


def test_what_is_installed(installed):
    """Executable, description and launch file are where ros2 run and ros2 launch look."""
    assert os.access(installed / 'lib' / 'my_robot' / 'driver', os.X_OK)
    share = installed / 'share'
    assert (share / 'ament_index' / 'resource_index' / 'packages' / 'my_robot').exists()
    for name in ('package.xml', 'urdf/my_robot.urdf', 'launch/my_robot.launch.py'):
        assert (share / 'my_robot' / name).read_bytes() == (EXAMPLE / name).read_bytes()
    # The launch file looks for the description from where it is itself.
    assert "parents[1] / 'urdf' / 'my_robot.urdf'" in (
        share / 'my_robot' / 'launch' / 'my_robot.launch.py'
    ).read_text(encoding='utf-8')


@pytest.mark.ros
def test_the_joint_moves_and_comes_back(installed, harness, peer, start_bridge):
    """The installed driver and a bridge on the installed description follow two commands."""
    (site,) = installed.glob('lib/python3*/site-packages')
    paths = [str(site), os.environ.get('PYTHONPATH', '')]
    driver = subprocess.Popen(
        [installed / 'lib' / 'my_robot' / 'driver'], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN),
             'PYTHONPATH': os.pathsep.join(filter(None, paths))},
    )  # fmt: skip
    try:
        bridge = start_bridge(urdf=installed / 'share' / 'my_robot' / 'urdf' / 'my_robot.urdf')
        joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
        publisher = peer.publisher('joint_commands')
        for joint, motor in ((0.5, -25.0), (0.0, 0.0)):
            command = record(joint)

            def moved(command=command, joint=joint, motor=motor):
                if not (joints and np.allclose(joints[-1].position, joint)):
                    peer.send(publisher, command)
                    return False
                return bool(motors) and np.allclose(motors[-1].position, motor)

            peer.spin_until(moved, f'a joint at {joint} and a motor at {motor}')
        assert bridge.stop() == 0
        driver.send_signal(signal.SIGINT)
        said, _ = driver.communicate(timeout=harness.PATIENCE)
        assert driver.returncode == 0, said
    finally:
        driver.kill()
        driver.communicate()


def record(position):
    """Return a command to the hinge."""
    from transmission_bridge.messages.joint_state import JointStateRecord

    nothing = np.empty(0)
    return JointStateRecord((0, 0), '', ('hinge',), np.array([position]), nothing, nothing)


@pytest.mark.ros
def test_its_own_test(installed, tmp_path):
    """The test of the package launches it, where launch_testing is installed."""
    pytest.importorskip('launch_testing', reason='launch_testing is not installed (ROS has it)')
    (site,) = installed.glob('lib/python3*/site-packages')
    result = subprocess.run(
        [sys.executable, '-m', 'launch_testing.launch_test',
         str(EXAMPLE / 'test' / 'test_my_robot.py')],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
        env={**os.environ,
             'PYTHONPATH': os.pathsep.join([str(site), os.environ.get('PYTHONPATH', '')]),
             'AMENT_PREFIX_PATH': os.pathsep.join(
                 [str(installed), os.environ.get('AMENT_PREFIX_PATH', '')])},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
