# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The published metadata of the package are consistent."""

from __future__ import annotations

import importlib.metadata
import itertools
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import pytest

import transmission_bridge
from transmission_bridge.transmissions.registry import Registry

ROOT = Path(__file__).parents[1]
MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()


def test_versions_agree() -> None:
    """package.xml, setup.py, the module and the installed metadata state one version."""
    version = transmission_bridge.__version__
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    assert MANIFEST.findtext('version') == version
    assert re.search(r"version='([^']+)'", setup).group(1) == version
    assert importlib.metadata.version('transmission_bridge') == version


def test_the_changelog_is_about_this_version_or_the_next() -> None:
    """The newest heading of the changelog is Forthcoming or the present version."""
    lines = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8').splitlines()
    headings = [line for line, rule in itertools.pairwise(lines) if rule and set(rule) == {'-'}]
    assert headings[0] == 'Forthcoming' or headings[0].startswith(transmission_bridge.__version__)


def test_the_manifest_is_of_format_3_under_apache() -> None:
    """The manifest is what REP 149 asks for."""
    assert MANIFEST.get('format') == '3'
    assert MANIFEST.findtext('license') == 'Apache-2.0'
    assert MANIFEST.findtext('export/build_type') == 'ament_python'
    assert (ROOT / 'resource' / MANIFEST.findtext('name')).exists()


def test_every_built_in_transmission_loads(built_in_types: set[str]) -> None:
    """The entry points of this package resolve to transmissions."""
    assert len(built_in_types) >= 3
    registry = Registry()
    for name in built_in_types:
        assert registry.load(name).__doc__


@pytest.mark.parametrize('name', ['transmission_bridge', 'bridge_node', 'simulated_driver'])
def test_the_executables_are_entry_points(name: str) -> None:
    """The three executables are installed as console scripts."""
    (entry_point,) = importlib.metadata.entry_points(group='console_scripts', name=name)
    assert entry_point.value.startswith('transmission_bridge.')


def test_every_python_file_states_its_licence() -> None:
    """Each file carries the copyright and the SPDX identifier."""
    folders = ('transmission_bridge', 'test', 'launch', 'benchmarks', 'examples')
    files = [ROOT / 'setup.py', *(path for f in folders for path in (ROOT / f).rglob('*.py'))]
    assert len(files) > 50
    for path in files:
        head = path.read_text(encoding='utf-8')[:300]
        assert 'Copyright' in head, path
        assert 'SPDX-License-Identifier: Apache-2.0' in head, path
