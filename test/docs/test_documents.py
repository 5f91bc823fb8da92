# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the documents tell to type works."""

from __future__ import annotations

from importlib.metadata import EntryPoint
import operator
from pathlib import Path
import re
import runpy
import shlex
import subprocess
import sys
from types import ModuleType
import xml.etree.ElementTree as ElementTree

import pytest
from zoo.elements import chain

import transmission_bridge as tb
from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.errors import PluginError
from transmission_bridge.kinematics import Joint, JointDevice
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP, Registry
from transmission_bridge.transmissions.transmission import API_VERSION

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (ROOT / 'docs').glob('*.md'))
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ('*.md', 'docs/*.md', 'examples/*/*.md')
    for path in ROOT.glob(pattern)
)


def section(name, heading):
    """Return what a document says under a heading."""
    text = (ROOT / 'docs' / name).read_text(encoding='utf-8')
    return text.split(f'\n## {heading}\n')[1].split('\n## ')[0]


def python_of(documents, name):
    """Return the Python of a document that is for a session."""
    blocks = documents.blocks(name)
    return [each.text for each in blocks if each.language == 'python' and not each.file]


@pytest.fixture
def run_python(documents, monkeypatch):
    """Return a function that runs a document's Python at the root of the repository."""
    monkeypatch.chdir(ROOT)

    def run(name):
        # A module, because its classes are looked up there when they are pickled.
        module = ModuleType('document')
        monkeypatch.setitem(sys.modules, module.__name__, module)
        for text in python_of(documents, name):
            exec(compile(text, name, 'exec'), vars(module))
        return module

    return run


#: Documents with Python for a session; two have tests of their own.
WITH_PYTHON = [
    name
    for name in NAMES
    if '\n```python\n' in (ROOT / 'docs' / name).read_text(encoding='utf-8')
    and name not in ('writing_a_transmission.md', 'transmissions.md')
]


@pytest.mark.parametrize('name', WITH_PYTHON)
def test_python_runs(name, run_python):
    """The Python of a document runs in one session."""
    run_python(name)


def test_the_document_of_descriptions_is_made_of_the_tables():
    """It is what test/docs/description_document.py prints."""
    made = runpy.run_path(str(Path(__file__).with_name('description_document.py')))['document']()
    assert (ROOT / 'docs' / 'description.md').read_text(encoding='utf-8') == made


def peers(name):
    """Return the two columns of the table of a peer's names."""
    found = re.findall(
        r'^\| (.*) \| (.*) \|$', section('kinematics.md', f'Coming from {name}'), re.M
    )
    return found[1:]


def test_our_names_of_kinematics_exist():
    """Every attribute of a joint or a device in the tables of iDynTree and RobWork is there."""
    joint = Joint('a', 'b', 'revolute', name='j')
    device = JointDevice.from_joints([joint], base='a', end='b')
    things = {'joint': joint, 'device': device, 'JointDevice': JointDevice}
    ours = ' '.join(each for _, each in peers('iDynTree') + peers('RobWork'))
    found = re.findall(r'\b(joint|device|JointDevice)((?:\.\w+)+)', ours)
    assert len(found) > 50
    for thing, names in found:
        operator.attrgetter(names[1:])(things[thing])


def test_every_member_of_ijoint_is_there():
    """The table has what the wheel of iDynTree has."""
    reason = 'the wheel idyntree is not installed'
    idyntree = pytest.importorskip('idyntree.bindings', reason=reason)
    theirs = {name for name in vars(idyntree.IJoint) if not name.startswith(('_', 'this'))}
    assert len(theirs) > 30
    assert theirs <= {
        name for each, _ in peers('iDynTree') for name in re.findall(r'`(\w+)`', each)
    }


FOUR_BAR = {'base': '0.1', 'crank': '0.04', 'rod': '0.1', 'rocker': '0.06'}

#: Actuators of each type of the document, what a description says of it, what is live of it.
DESCRIBED = {
    'Tendon': (2, {'radius': '0.02'}, {'radius'}),
    'ScotchYoke': (1, {'radius': '0.1'}, {'radius'}),
    'FourBar': (
        1,
        {**FOUR_BAR, 'lower': '0.4', 'upper': '2.6', 'assembly': 'crossed'},
        {*FOUR_BAR, 'lower', 'upper'},
    ),
    'RodLinkage': (1, FOUR_BAR, {*FOUR_BAR}),
    'FittedCam': (
        1,
        {'lift': '0 0.01 0.004', 'lower': '0', 'upper': '2'},
        {'lift.c0', 'lift.c1', 'lift.c2', 'lower', 'upper'},
    ),
}


def test_the_types_of_the_document_are_built_from_a_description(run_python):
    """Each reads all that it is told, what it reads is live, and its offset is the joint's."""
    module = run_python('writing_a_transmission.md')
    types = {
        name
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, tb.transmissions.Transmission)
        if each.__module__ == module.__name__
    }
    assert types == set(DESCRIBED)
    for name, (n_actuators, numbers, live) in DESCRIBED.items():
        ends = '<joint name="q" role="joint1"><offset>0.5</offset></joint>' + ''.join(
            f'<actuator name="m{k}" role="actuator{k}"/>' for k in range(1, n_actuators + 1)
        )
        said = ''.join(f'<param name="{key}">{text}</param>' for key, text in numbers.items())
        robot = tb.load_description(chain({'t': f'<plugin>me/{name}</plugin>{said}{ends}'}, q=''))
        reader = tb.SpecReader(robot.transmissions[0])
        transmission = getattr(module, name).from_spec(reader)
        assert transmission.joint_offset == (0.5,)
        assert reader.unused() == ()
        tunables = {'.'.join(each.path) for each in reader.tunables}
        assert live <= tunables, name
        assert tunables - live <= {
            *('joints.q.offset', 'joints.q.mechanical_reduction'),
            'actuators.m1.mechanical_reduction',
        }
        if 'assembly' in numbers:
            assert transmission.p.assembly == 'crossed'


def test_what_a_plugin_needs_is_in_the_package():
    """Each name of the table is importable, and no error that is public is left out."""
    rows = re.findall(r'^\| (`.*?) \|', section('writing_a_transmission.md', 'Names'), re.M)
    names = {name for row in rows for name in re.findall(r'`(\w+)`', row)}
    assert {name for name in names if not hasattr(tb, name)} == set()
    assert {name for name in tb.__all__ if name.endswith('Error')} <= names
    assert {'SpecReader', 'Domain', 'Finding', 'Parameter', 'conformance'} <= names


@pytest.mark.parametrize(
    'code',
    [
        'from transmission_bridge import PositionDependentTransmission\n\n'
        'class Old(PositionDependentTransmission):\n    api_version = 1\n'
        '    def joint_position(self, actuator_position):\n        return actuator_position\n',
        'from transmission_bridge.transmissions.position_dependent import vector_of\n',
    ],
)
def test_a_plugin_for_the_former_contract_is_told_where_to_read(code, tmp_path, monkeypatch):
    """The error names the page, which says what has changed since that contract."""
    (tmp_path / 'tb_old_plugin.py').write_text(code, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop('tb_old_plugin', None)
    entry_point = EntryPoint('me/Old', 'tb_old_plugin:Old', ENTRY_POINT_GROUP)
    with pytest.raises(PluginError, match=r'docs/writing_a_transmission\.md'):
        Registry([entry_point]).load('me/Old')
    heading = f'What changed since contract {API_VERSION - 1}'
    assert section('writing_a_transmission.md', heading).count('\n| ') > 10


def test_the_conformance_class_of_the_document_conforms(documents, tmp_path):
    """The test that a plugin author copies is collected by pytest and passes."""
    text = '\n'.join(python_of(documents, 'writing_a_transmission.md'))
    (tmp_path / 'test_plugin.py').write_text(text, encoding='utf-8')
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:launch_testing',
         '-p', 'no:launch_ros', '--rootdir', str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert re.search(r'\b9 passed', result.stdout), result.stdout


@pytest.mark.parametrize('name', PAGES)
def test_links_lead_somewhere(name):
    """Every relative link names a file or folder, and every anchor a heading."""
    page = ROOT / name
    text = page.read_text(encoding='utf-8')
    for target in re.findall(r'\]\((?!https?:)([^)]+)\)', text):
        path, _, anchor = target.partition('#')
        where = page.parent / path if path else page
        assert where.exists(), target
        if anchor:
            headings = re.findall(r'^#+ (.*)$', where.read_text(encoding='utf-8'), re.MULTILINE)
            known = {re.sub(r'[^\w -]', '', each.lower()).replace(' ', '-') for each in headings}
            assert anchor in known, target


def test_every_document_is_in_the_index_and_its_xml_is_xml(documents):
    """The first page names all others; each snippet is well formed."""
    index = (ROOT / 'docs' / 'index.md').read_text(encoding='utf-8')
    assert [name for name in NAMES if name != 'index.md' and f'({name})' not in index] == []
    for name in NAMES:
        for block in documents.blocks(name):
            if block.language == 'xml':
                ElementTree.fromstring(block.text)


def test_every_yaml_file_is_a_parameter_file(documents):
    """A parameter file of a document tunes the example robot."""
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    (text,) = [
        each.text
        for name in NAMES
        for each in documents.blocks(name)
        if each.language == 'yaml' and 'transmissions:' in each.text
    ]
    robot = RobotTransmissions(load_description(ROOT / 'urdf' / 'arm.urdf'))
    tuned = robot.with_parameters(yaml.safe_load(text)['/**']['ros__parameters']['transmissions'])
    assert tuned.transmissions['wrist_transmission'].joint_offset[1] == -0.195


def test_the_first_robot(documents, folder):
    """Bare, its joint passes through; check finds nothing wrong, and the maps print their text."""
    bare = re.sub(
        '<ros2_control.*</ros2_control>',
        '',
        documents.files('first_robot.md')['my_robot.urdf'],
        flags=re.DOTALL,
    )
    robot = RobotTransmissions(load_description(bare))
    assert (robot.actuator_names, robot.transmissions) == (('hinge',), {})
    lines = [
        line
        for block in documents.blocks('first_robot.md')
        if block.language == 'bash'
        for line in block.text.splitlines()
        if line.startswith('transmission_bridge ')
    ]
    for line, words in zip(lines, ('0 errors, 0 warnings', '0.5', '-0.2'), strict=True):
        result = subprocess.run(
            [sys.executable, '-m', *shlex.split(line)],
            capture_output=True, text=True, check=False, timeout=60, cwd=folder,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        assert words in result.stdout
    for name, most in (('driver.py', 30), ('servo_driver.py', 34)):
        text = documents.files('first_robot.md')[name]
        assert len([line for line in text.splitlines() if line.strip()]) <= most


def test_the_launch_file_of_the_first_robot(folder):
    """It describes a driver and a bridge."""
    pytest.importorskip('launch_ros', reason='launch_ros is not installed (ROS has it, no wheel)')
    described = runpy.run_path(str(folder / 'my_robot.launch.py'))
    entities = described['generate_launch_description']().entities
    assert [each.node_executable for each in entities] == ['driver', 'bridge_node']
