# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example package installs by itself, and its own tests pass there."""

import os
import shutil

from documents import python, ROOT

EXAMPLE = ROOT / 'examples' / 'custom_transmission'


def run(*arguments, paths=(), folder=None):
    """Return what Python prints, with the package and other folders on its path."""
    path = os.pathsep.join(map(str, (*paths, ROOT)))
    result = python(*map(str, arguments), cwd=folder, PYTHONPATH=path)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_its_own_tests_pass_where_it_is_installed(tmp_path):
    """The tests of a copy, the conformance suite and the entry point among them, pass."""
    source, target = tmp_path / 'source', tmp_path / 'site'
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    # What pip and colcon end up calling, without their need of a network or of wheel.
    run(
        'setup.py', '--quiet', 'build_py', 'install_lib', '--install-dir', target,
        'install_egg_info', '--install-dir', target, folder=source,
    )  # fmt: skip
    words = ('-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', EXAMPLE)
    printed = run(*words, EXAMPLE / 'test', paths=[target])
    assert ' passed' in printed
    assert 'skipped' not in printed


def test_its_versions_and_files_agree():
    """package.xml and setup.py say the same version, and the marker for ament is there."""
    assert '<version>0.1.0</version>' in (EXAMPLE / 'package.xml').read_text(encoding='utf-8')
    assert "version='0.1.0'" in (EXAMPLE / 'setup.py').read_text(encoding='utf-8')
    assert (EXAMPLE / 'resource' / 'custom_transmission').exists()
