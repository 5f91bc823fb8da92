# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the documents tell to type works."""

from __future__ import annotations

from pathlib import Path
import re
import shlex
import subprocess
import sys
from types import ModuleType
import xml.etree.ElementTree as ElementTree

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (ROOT / 'docs').glob('*.md'))

WITH_PYTHON = (
    'commands_and_states.md',
    'kinematics.md',
    'mathematics.md',
    'tuning.md',
    'writing_a_transmission.md',
)


@pytest.mark.parametrize('name', WITH_PYTHON)
def test_python_runs(name, documents, monkeypatch):
    """The Python of a document runs in one session at the root of the repository."""
    monkeypatch.chdir(ROOT)
    # A module, because its classes are looked up there when they are pickled.
    module = ModuleType('document')
    monkeypatch.setitem(sys.modules, module.__name__, module)
    snippets = [each for each in documents.blocks(name) if each.language == 'python']
    assert snippets
    for block in snippets:
        exec(compile(block.text, name, 'exec'), vars(module))


def test_every_document_with_python_is_run(documents):
    """No document has Python that nobody runs (transmissions.md has a test of its own)."""
    with_python = {
        name
        for name in NAMES
        if any(each.language == 'python' and not each.file for each in documents.blocks(name))
    }
    assert with_python - {'transmissions.md'} == set(WITH_PYTHON)


def test_the_conformance_class_of_the_document_conforms(documents, tmp_path):
    """The test that a plugin author copies is collected by pytest and passes."""
    text = [
        b.text for b in documents.blocks('writing_a_transmission.md') if b.language == 'python'
    ]
    (tmp_path / 'test_plugin.py').write_text('\n'.join(text), encoding='utf-8')
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:launch_testing',
         '-p', 'no:launch_ros', '--rootdir', str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert re.search(r'\b1\d passed', result.stdout), result.stdout


@pytest.mark.parametrize('name', NAMES)
def test_links_lead_somewhere(name):
    """Every relative link names a file or folder, and every anchor a heading."""
    text = (ROOT / 'docs' / name).read_text(encoding='utf-8')
    for target in re.findall(r'\]\((?!https?:)([^)]+)\)', text):
        path, _, anchor = target.partition('#')
        where = ROOT / 'docs' / (path or name)
        assert where.exists(), target
        if anchor:
            headings = re.findall(r'^#+ (.*)$', where.read_text(encoding='utf-8'), re.MULTILINE)
            known = {re.sub(r'[^\w -]', '', each.lower()).replace(' ', '-') for each in headings}
            assert anchor in known, target


def test_every_document_is_in_the_index():
    """The first page names all others."""
    index = (ROOT / 'docs' / 'index.md').read_text(encoding='utf-8')
    assert [name for name in NAMES if name != 'index.md' and f'({name})' not in index] == []


def test_every_yaml_file_is_a_parameter_file(documents):
    """A parameter file of a document tunes the example robot."""
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    (text,) = [
        each.text
        for name in NAMES
        for each in documents.blocks(name)
        if each.language == 'yaml' and name != 'several_drivers.md'  # has a test of its own
    ]
    robot = RobotTransmissions(load_description(ROOT / 'urdf' / 'arm.urdf'))
    tuned = robot.with_parameters(yaml.safe_load(text)['/**']['ros__parameters']['transmissions'])
    assert tuned.transmissions['wrist_transmission'].joint_offset[1] == -0.195


@pytest.fixture
def robot_folder(documents, tmp_path):
    """Return a folder with the files that the first document tells to save."""
    for name, text in documents.files('first_robot.md').items():
        (tmp_path / name).write_text(text, encoding='utf-8')
    return tmp_path


def test_the_bare_robot_passes_through(robot_folder):
    """As the document says, its joint passes through to an actuator of its name."""
    robot = RobotTransmissions(load_description(robot_folder / 'bare_robot.urdf'))
    assert robot.actuator_names == ('hinge',)
    assert robot.transmissions == {}


def test_the_commands_of_the_first_robot(documents, robot_folder):
    """Check finds nothing wrong, and the maps print what the text says."""
    lines = [
        line
        for block in documents.blocks('first_robot.md')
        if block.language == 'bash'
        for line in block.text.splitlines()
        if line.startswith('transmission_bridge ')
    ]
    assert len(lines) == 3
    said = []
    for line in lines:
        result = subprocess.run(
            [sys.executable, '-m', *shlex.split(line)],
            capture_output=True, text=True, check=False, timeout=60, cwd=robot_folder,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        said.append(result.stdout)
    assert '0 errors, 0 warnings' in said[0]
    assert '0.5' in said[1]
    assert '-0.2' in said[2]


def test_the_launch_file_of_the_first_robot(robot_folder):
    """It describes a driver and a bridge."""
    pytest.importorskip('launch_ros', reason='launch_ros is not installed (ROS has it, no wheel)')
    import runpy

    described = runpy.run_path(str(robot_folder / 'my_robot.launch.py'))
    entities = described['generate_launch_description']().entities
    assert [each.node_executable for each in entities] == ['driver', 'bridge_node']


def test_the_driver_is_short(robot_folder):
    """A newcomer reads it in a minute."""
    lines = (robot_folder / 'driver.py').read_text(encoding='utf-8').splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


def test_the_xml_snippets_are_xml(documents):
    """Each is well formed; what belongs into a robot description loads."""
    for name in NAMES:
        for block in documents.blocks(name):
            if block.language == 'xml':
                ElementTree.fromstring(block.text)
