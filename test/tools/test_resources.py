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


@pytest.mark.parametrize('name', ROBOTS)
def test_example_robots_are_found(name):
    """In this very installation each example robot is there, by parts or by its path."""
    assert resource(name).read_text(encoding='utf-8').startswith('<?xml')
    assert resource(*name.split('/')) == resource(name)


def test_files_are_found_in_a_prefix(tmp_path):
    """As colcon and pip lay it out, and not those of another package beside it."""
    site, mark = tmp_path / 'lib' / 'site-packages', 'share/transmission_bridge/urdf/mark.urdf'
    files = {'lib/site-packages/urdf/mark.urdf': 'of another package'}
    ignored = shutil.ignore_patterns('__pycache__')
    shutil.copytree(PACKAGE, site / 'transmission_bridge', ignore=ignored)
    for name, text in {f'{mark}/../../package.xml': '', mark: '', **files}.items():
        path = Path(os.path.normpath(tmp_path / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    result = subprocess.run(
        [sys.executable, '-c', FIND], env={**os.environ, 'PYTHONPATH': str(site)}, cwd=site,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    package, path = result.stdout.split()
    assert Path(package).is_relative_to(site)
    assert Path(path) == (tmp_path / mark).resolve()


def test_file_that_is_not_there_is_named_with_those_that_are():
    """An unknown name is an error that lists the names there are and survives pickling."""
    with pytest.raises(UnknownNameError, match='unknown resource') as caught:
        resource('urdf', 'leg.urdf')
    assert caught.value.name == 'urdf/leg.urdf'
    assert set(ROBOTS) <= set(caught.value.known)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
