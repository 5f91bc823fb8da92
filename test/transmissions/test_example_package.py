# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example package installs by itself, is found, conforms, and maps its robot."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.transmissions import Registry
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'custom_transmission'
TYPE = 'custom_transmission/CardanTransmission'


def run(*arguments, paths=(), folder=None):
    """Return what Python prints, with the package and other folders on its path."""
    path = os.pathsep.join(map(str, (*paths, ROOT)))
    result = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, 'PYTHONPATH': path}, cwd=folder,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Return a folder into which a copy of the example package is installed."""
    folder = tmp_path_factory.mktemp('example')
    source, target = folder / 'source', folder / 'site'
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    # What pip and colcon end up calling, without their need of a network or of wheel.
    run(
        'setup.py', '--quiet', 'build_py', 'install_lib', '--install-dir', target,
        'install_egg_info', '--install-dir', target, folder=source,
    )  # fmt: skip
    return target


def test_the_registry_finds_it_by_its_entry_point(installed):
    """Type, package, version and description are known, and nobody named it to us."""
    code = (
        'from transmission_bridge.transmissions import Registry\n'
        f'(info,) = [i for i in Registry().describe() if i.type_name == {TYPE!r}]\n'
        'print(info.package, info.version, info.error, info.description, sep="|")\n'
    )
    package, version, error, description = run('-c', code, paths=[installed]).strip().split('|')
    assert package.replace('-', '_') == 'custom_transmission'
    assert (version, error) == ('0.1.0', '')
    assert description.startswith('A motor drives a joint')


def test_it_is_short():
    """A type that is an equation takes at most 60 lines, its description included."""
    lines = (EXAMPLE / 'custom_transmission' / 'cardan.py').read_text(encoding='utf-8')
    assert len(lines.splitlines()) <= 60


def test_its_own_tests_pass(installed):
    """The package's tests, the conformance suite among them, pass where it is installed."""
    words = ('-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', EXAMPLE)
    printed = run(*words, EXAMPLE / 'test', paths=[installed])
    assert ' passed' in printed
    assert 'skipped' not in printed


def test_without_it_the_robot_loses_that_joint_only():
    """The type is a finding where the package is missing, and no ratio is invented."""
    installed = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    registry = Registry(entry for entry in installed if entry.name != TYPE)
    description = load_description(EXAMPLE / 'urdf' / 'bent_shaft.urdf')
    robot = RobotTransmissions(description, registry=registry)
    assert robot.joint_names == ()
    (finding,) = robot.findings
    assert f"transmission type '{TYPE}' is not installed" in str(finding)


def test_its_versions_and_files_agree():
    """package.xml and setup.py say the same version, and the marker for ament is there."""
    assert '<version>0.1.0</version>' in (EXAMPLE / 'package.xml').read_text(encoding='utf-8')
    assert "version='0.1.0'" in (EXAMPLE / 'setup.py').read_text(encoding='utf-8')
    assert (EXAMPLE / 'resource' / 'custom_transmission').exists()
