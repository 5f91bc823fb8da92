# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The files that come with the package are found, however it was installed."""

from __future__ import annotations

import os
from pathlib import Path
import pickle
import shutil
import subprocess
import sys

import pytest

import transmission_bridge
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.resources import resource

PACKAGE = Path(transmission_bridge.__file__).parent
ROBOTS = ('urdf/arm.urdf', 'urdf/arm_ros1.urdf', 'urdf/one_joint.urdf')
FIND = """
import transmission_bridge
from transmission_bridge.resources import resource
print(transmission_bridge.__file__)
print(resource('urdf', 'mark.urdf'))
"""


def put(path, text=''):
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')
    return path


def install(site):
    """Put the package there, as any installer does."""
    ignored = shutil.ignore_patterns('__pycache__')
    shutil.copytree(PACKAGE, site / 'transmission_bridge', ignore=ignored)


def share(folder):
    """Put the package's files there; return the one that is looked for."""
    put(folder / 'package.xml')
    return put(folder / 'urdf' / 'mark.urdf')


def found_from(site):
    """Return what is found by a Python that sees the package in ``site``."""
    result = subprocess.run(
        [sys.executable, '-c', FIND],
        env={**os.environ, 'PYTHONPATH': str(site)},
        cwd=site,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    package, path = result.stdout.split()
    assert Path(package).is_relative_to(site)
    return Path(path)


@pytest.mark.parametrize('name', ROBOTS)
def test_example_robots_are_found(name):
    """In this very installation each example robot is there, by parts or by its path."""
    assert resource(name).read_text(encoding='utf-8').startswith('<?xml')
    assert resource(*name.split('/')) == resource(name)


def test_checkout(tmp_path):
    """Beside the package, as in a checkout and in an editable install of it."""
    install(tmp_path)
    expected = share(tmp_path)
    assert found_from(tmp_path) == expected.resolve()


def test_colcon_prefix(tmp_path):
    """In the share of the prefix that holds the package, as colcon and pip --user lay it out."""
    site = tmp_path / 'lib' / 'python3.12' / 'site-packages'
    install(site)
    expected = share(tmp_path / 'share' / 'transmission_bridge')
    assert found_from(site) == expected.resolve()


def test_record_of_the_installer(tmp_path):
    """Where the installer wrote down that the files are, wherever that is."""
    site = tmp_path / 'here' / 'site'
    install(site)
    expected = share(tmp_path / 'elsewhere' / 'share' / 'transmission_bridge')
    info = site / 'transmission_bridge-9.9.dist-info'
    put(info / 'METADATA', 'Metadata-Version: 2.1\nName: transmission_bridge\nVersion: 9.9\n')
    put(
        info / 'RECORD',
        'transmission_bridge/package.xml,,\n'
        '../../elsewhere/share/transmission_bridge/package.xml,,\n'
        '../../elsewhere/share/transmission_bridge/urdf/mark.urdf,,\n',
    )
    assert found_from(site) == expected.resolve()


def test_folders_of_others_are_left_alone(tmp_path):
    """A folder of the right name that is not the package's is passed over."""
    site = tmp_path / 'lib' / 'site-packages'
    install(site)
    put(site / 'urdf' / 'mark.urdf', 'of another package')
    expected = share(tmp_path / 'share' / 'transmission_bridge')
    assert found_from(site) == expected.resolve()


def test_file_that_is_not_there_is_named_with_those_that_are():
    """An unknown name is an error that lists the names there are and survives pickling."""
    with pytest.raises(UnknownNameError, match='unknown resource') as caught:
        resource('urdf', 'leg.urdf')
    assert caught.value.name == 'urdf/leg.urdf'
    assert set(ROBOTS) <= set(caught.value.known)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
