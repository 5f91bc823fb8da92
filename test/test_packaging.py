# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is published about the package agrees with itself, and imports what it gives late."""

import importlib.metadata
import itertools
from pathlib import Path
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from lxml import etree
import pytest

import transmission_bridge
from transmission_bridge.transmissions.registry import Registry

ROOT = Path(__file__).parents[1]
MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()


def test_versions_agree():
    """Manifest, setup.py, module, metadata and changelog (or Forthcoming) state one version."""
    version = transmission_bridge.__version__
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    assert MANIFEST.findtext('version') == version
    assert re.search(r"version='([^']+)'", setup).group(1) == version
    assert importlib.metadata.version('transmission_bridge') == version
    lines = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8').splitlines()
    headings = [line for line, rule in itertools.pairwise(lines) if rule and set(rule) == {'-'}]
    assert headings[0] == 'Forthcoming' or headings[0].startswith(version)
    # colcon installs the example package, and runs its own tests (.ci/colcon).
    example = ROOT / 'examples' / 'custom_transmission'
    assert '<version>0.1.0</version>' in (example / 'package.xml').read_text(encoding='utf-8')
    assert "version='0.1.0'" in (example / 'setup.py').read_text(encoding='utf-8')
    assert (example / 'resource' / 'custom_transmission').exists()


@pytest.mark.filterwarnings('ignore:nodes.Node.traverse:DeprecationWarning')
def test_bloom_can_read_the_changelog():
    """With the version that a release writes over Forthcoming; at most 40 lines, all features."""
    changelog = pytest.importorskip('catkin_pkg.changelog', reason='catkin_pkg is not installed')
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    released = text.replace('Forthcoming\n-----------', '0.1.0 (2026-12-01)\n------------------')
    found = changelog.Changelog()
    changelog.populate_changelog_from_rst(found, released)
    ((version, _, (introduction, features)),) = found.foreach_version()
    assert version == MANIFEST.findtext('version')
    assert 'Changed' in str(introduction)
    assert str(features).count('\n* ') > 20
    assert len(text.splitlines()) <= 40


def test_the_manifest_is_of_format_3_under_apache():
    """The manifest is what REP 149 asks for."""
    assert (MANIFEST.get('format'), MANIFEST.findtext('license')) == ('3', 'Apache-2.0')
    assert MANIFEST.findtext('export/build_type') == 'ament_python'
    assert (ROOT / 'resource' / MANIFEST.findtext('name')).exists()


def test_every_entry_point_is_there(built_in_types):
    """The types of this package are transmissions, and its executables are installed."""
    assert len(built_in_types) >= 3
    registry = Registry()
    for name in built_in_types:
        assert registry.load(name).__doc__
    for name in ('transmission_bridge', 'bridge_node', 'driver_node'):
        (script,) = importlib.metadata.entry_points(group='console_scripts', name=name)
        assert script.value.startswith('transmission_bridge.')


def test_every_file_states_its_licence():
    """Each has the SPDX identifier, Python also the copyright; XML is well formed, in UTF-8."""
    folders = ('transmission_bridge', 'test', 'launch', 'benchmarks', 'examples', 'config', 'urdf')
    of_users = ('launch', 'config', 'urdf', 'examples')
    python = [ROOT / 'setup.py', *(path for f in folders for path in (ROOT / f).rglob('*.py'))]
    xml = [path for f in of_users for k in ('xml', 'urdf') for path in (ROOT / f).rglob(f'*.{k}')]
    assert len(python) > 50
    assert len(xml) > 8
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for path in (*python, *xml):
        text = path.read_text(encoding='utf-8')
        manifest = path.name == 'package.xml'
        assert manifest or 'SPDX-License-Identifier: Apache-2.0' in text[:300], path
        if path.suffix == '.py':
            assert 'Copyright' in text[:300], path
        else:
            etree.fromstring(text.encode(), parser)
            assert '\t' not in text, path


def test_everything_public_is_there():
    """Each public name can be had, is the same each time, and is listed; others are errors."""
    for name in transmission_bridge.__all__:
        assert getattr(transmission_bridge, name) is getattr(transmission_bridge, name)
    assert set(transmission_bridge.__all__) <= set(dir(transmission_bridge))
    assert transmission_bridge.description.load_description is transmission_bridge.load_description
    with pytest.raises(AttributeError, match=r"'transmission_bridge' has no attribute 'nothing'"):
        _ = transmission_bridge.nothing


SLOW = {'numpy', 'lxml', 'rclpy', 'transmission_bridge.transmissions'}
DEVICE = 'transmission_bridge.kinematics.JointDevice'


@pytest.mark.parametrize(('program', 'needed'), [
    ('import transmission_bridge', None),
    ('from transmission_bridge.ros import main', None),
    ('from transmission_bridge.tools import main', None),
    ('import transmission_bridge\ntransmission_bridge.RobotTransmissions', 'numpy'),
    (f'import transmission_bridge\n{DEVICE}', 'transmission_bridge.transmissions'),
])  # fmt: skip
def test_nothing_slow_is_imported_before_it_is_needed(program, needed):
    """Neither the package nor the programs import before main() what takes them a while."""
    code = f'import sys\n{program}\nprint(*sys.modules)'
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    loaded = SLOW & set(result.stdout.split())
    assert needed in loaded if needed else loaded == set()
