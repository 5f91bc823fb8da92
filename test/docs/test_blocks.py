# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Every block of every document holds: Python, XML, YAML, commands; links lead somewhere."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import re
import shlex
import sys
from types import ModuleType
import xml.etree.ElementTree as ElementTree

from documents import DOCUMENTS, ROOT
from launch_files import list_arguments
import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.options import strip_prefixes
from transmission_bridge.tools.commands import COMMANDS

PACKAGE = 'transmission_bridge'

#: Documents with Python for a session; the plugins of one are tested in test_plugin_authors.py,
#: and the transmissions of the other in test/transmissions.
SESSIONS = [
    name
    for name, document in DOCUMENTS.items()
    if document.snippets('python')
    and name not in ('writing_a_transmission.md', 'transmissions.md')
]


@pytest.mark.parametrize('name', SESSIONS)
def test_python_runs(name, monkeypatch):
    """The Python of a document runs in one session, at the root of the repository."""
    monkeypatch.chdir(ROOT)
    # A module, because its classes are looked up there when they are pickled.
    session = ModuleType('document')
    monkeypatch.setitem(sys.modules, session.__name__, session)
    for text in DOCUMENTS[name].snippets('python'):
        exec(compile(text, name, 'exec'), vars(session))


@pytest.mark.parametrize('name', DOCUMENTS)
def test_xml_and_python_are_well_formed(name):
    """Each snippet of XML is one element, and each file of Python compiles."""
    for block in DOCUMENTS[name].blocks:
        if block.language == 'xml':
            ElementTree.fromstring(block.text)
        if block.file.endswith('.py'):
            compile(block.text, block.file, 'exec')


def test_the_parameter_file_of_tune_tunes_the_example_robot():
    """Its numbers exist there, and are used."""
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    parameters = yaml.safe_load(DOCUMENTS['tune.md'].files['tuned.yaml'])
    robot = RobotTransmissions(load_description(ROOT / 'urdf' / 'arm.urdf'))
    parameters = parameters['/transmission_bridge']['ros__parameters']
    tuned = robot.with_parameters(strip_prefixes(parameters))
    assert tuned.transmissions['wrist_transmission'].joint_offset[1] == -0.195


# -- commands ------------------------------------------------------------------------------------


def commands_of(document):
    """Return the simple commands in a document's shell blocks, as lists of words."""
    shell = '\n'.join(document.snippets('bash') + document.snippets('')).replace('\\\n', '')
    found = []
    for line in shell.splitlines():
        if re.match(r'(transmission_bridge|bridge_node|ros2|make|source) ', line):
            parts = re.split(r'[|&()]|(?<=\s)[<>] *\S+', line)
            found += filter(None, (shlex.split(part, comments=True) for part in parts))
    return found


LINES = [
    pytest.param(words, id=f'{name}: {" ".join(words)}')
    for name, document in DOCUMENTS.items()
    for words in commands_of(document)
]


@pytest.mark.parametrize('words', LINES)
def test_a_command(words):
    """It is there, and its arguments are known."""
    program, *rest = words
    if program == PACKAGE:
        check_tool(*rest)
    elif program == 'bridge_node':
        check_node(rest)
    elif program == 'make':
        makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
        assert re.search(rf'^{re.escape(rest[0])}:', makefile, re.MULTILINE)
    elif rest[:2] == ['run', PACKAGE]:
        scripts = importlib.metadata.entry_points(group='console_scripts')
        assert rest[2] in {script.name for script in scripts if PACKAGE in script.value}
        if rest[2] == 'bridge_node':
            check_node(rest[3:])
    elif rest[:2] == ['launch', PACKAGE]:
        assert (ROOT / 'launch' / rest[2]).is_file()
        assert {each.partition(':=')[0] for each in rest[3:]} <= list_arguments(rest[2])


class Strict(argparse.ArgumentParser):
    """A parser that fails the test instead of ending the process."""

    def error(self, message):
        """Refuse."""
        raise AssertionError(message)


def check_tool(name, *arguments):
    """Parse as the command does."""
    parser = Strict(prog=name, allow_abbrev=False)
    COMMANDS[name].add_arguments(parser)
    # Help is printed and ends.
    with contextlib.suppress(SystemExit):
        parser.parse_intermixed_args(list(arguments))


def check_node(arguments):
    """Only options of the node stand before those of ROS."""
    own = arguments[: arguments.index('--ros-args')] if '--ros-args' in arguments else arguments
    assert {each for each in own if each.startswith('--')} <= {'--urdf', '--driver', '--simulate'}


# -- pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'page',
    [path for pattern in ('*.md', 'docs/*.md', 'examples/*/*.md') for path in ROOT.glob(pattern)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page):
    """Every relative link names a file or folder, and every anchor a heading."""
    for target in re.findall(r'\]\((?!https?:)([^)]+)\)', page.read_text(encoding='utf-8')):
        path, _, anchor = target.partition('#')
        where = page.parent / path if path else page
        assert where.exists(), target
        if anchor:
            headings = re.findall(r'^#+ (.*)$', where.read_text(encoding='utf-8'), re.MULTILINE)
            known = {re.sub(r'[^\w -]', '', each.lower()).replace(' ', '-') for each in headings}
            assert anchor in known, target


def test_every_document_is_in_the_readme():
    """The first page links all others."""
    links = re.findall(r'\(docs/(\w+\.md)', DOCUMENTS['README.md'].text)
    assert {*links} == DOCUMENTS.keys() - {'README.md'}


def test_the_documents_are_short():
    """A newcomer reads the first page in two minutes; all pages have a bound."""
    assert len(DOCUMENTS['README.md'].text.splitlines()) <= 90
    assert sum(len(page.text.split()) for page in DOCUMENTS.values()) <= 26000
