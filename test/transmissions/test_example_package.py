# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example package installs by itself, is found, conforms, and maps its robot."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'custom_transmission'
TYPE = 'custom_transmission/CardanTransmission'


@pytest.fixture(scope='module')
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which a copy of the example package is installed."""
    folder = tmp_path_factory.mktemp('example')
    source = folder / 'source'
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    target = folder / 'site'
    # What pip and colcon end up calling, without their need of a network or of wheel.
    result = run(
        'setup.py', '--quiet', 'build_py', 'install_lib', '--install-dir', str(target),
        'install_egg_info', '--install-dir', str(target), folder=source,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return target


def run(
    *arguments: str, path: Path | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with the example on its path."""
    paths = [str(path)] if path else []
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([*paths, str(ROOT)])}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, text=True, check=False, timeout=300, env=environment,
        cwd=folder,
    )  # fmt: skip


def test_the_registry_finds_it_by_its_entry_point(installed: Path) -> None:
    """Type, package, version and description are known, and nobody named it to us."""
    code = (
        'from transmission_bridge.transmissions import Registry\n'
        f'(info,) = [i for i in Registry().describe() if i.type_name == {TYPE!r}]\n'
        'print(info.package, info.version, info.error, info.description, sep="|")\n'
    )
    result = run('-c', code, path=installed)
    assert result.returncode == 0, result.stderr
    package, version, error, description = result.stdout.strip().split('|')
    assert package.replace('-', '_') == 'custom_transmission'
    assert version == '0.1.0'
    assert error == ''
    assert description.startswith('A motor drives a joint')


def test_it_is_short() -> None:
    """A type that is an equation takes at most 60 lines, its description included."""
    lines = (EXAMPLE / 'custom_transmission' / 'cardan.py').read_text(encoding='utf-8')
    assert len(lines.splitlines()) <= 60


def test_its_own_tests_pass(installed: Path) -> None:
    """The package's tests, the conformance suite among them, pass where it is installed."""
    result = run(
        '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', str(EXAMPLE),
        str(EXAMPLE / 'test'), path=installed,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert ' passed' in result.stdout
    assert 'skipped' not in result.stdout


def test_without_it_the_robot_loses_that_joint_only() -> None:
    """The type is a finding where the package is missing, and no ratio is invented."""
    code = (
        'from transmission_bridge.description import load_description\n'
        'from transmission_bridge.transmissions import Registry, RobotTransmissions\n'
        'import importlib.metadata as m\n'
        "points = [p for p in m.entry_points(group='transmission_bridge.transmissions')\n"
        f'          if p.name != {TYPE!r}]\n'
        f'description = load_description({str(EXAMPLE / "urdf" / "bent_shaft.urdf")!r})\n'
        'robot = RobotTransmissions(description, registry=Registry(points))\n'
        '(finding,) = robot.findings\n'
        'print(robot.joint_names, finding)\n'
    )
    result = run('-c', code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith('()')
    assert f"transmission type '{TYPE}' is not installed" in result.stdout


def test_its_versions_and_files_agree() -> None:
    """package.xml and setup.py say the same version, and the marker for ament is there."""
    assert '<version>0.1.0</version>' in (EXAMPLE / 'package.xml').read_text(encoding='utf-8')
    assert "version='0.1.0'" in (EXAMPLE / 'setup.py').read_text(encoding='utf-8')
    assert (EXAMPLE / 'resource' / 'custom_transmission').exists()
