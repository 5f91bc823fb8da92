# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What docs/transmissions.md says of every installed type: examples, equations, tables."""

import re

import base_checks
from documents import DOCUMENTS, ROOT
import numpy as np
import pytest
from zoo.elements import load, of_snippet

from transmission_bridge import conformance
from transmission_bridge.transmissions.linkage.linkage_transmission import LinkageTransmission

DOCUMENT = DOCUMENTS['transmissions.md']

#: The XML snippets of the document by the name of their transmission.
SNIPPETS = {
    re.search(r'<transmission name="([^"]+)"', block.text)[1]: block.text
    for block in DOCUMENT.blocks
    if block.language == 'xml'
}


def robot_with(snippet):
    """Return a robot that has the joints of a snippet and the transmission itself."""
    if 'transmission_bridge/LinkageTransmission' in snippet:
        files = [path.read_text('utf-8') for path in ROOT.glob('examples/linkages/*.urdf')]
        (text,) = [each for each in files if snippet.splitlines()[0].strip() in each]
        return load(text, passive_joints='none')
    return load(of_snippet(snippet))


# The five-bar leg, of which corners of the domain are out of reach, is in test_conformance.py.
@pytest.mark.parametrize('name', [each for each in SNIPPETS if each != 'leg_linkage'])
def test_a_snippet_loads_and_conforms(name, campaign):
    """It is a whole transmission, all of it is used, and almost all of its domain is checked."""
    robot = robot_with(SNIPPETS[name])
    assert list(map(str, robot.findings)) == []
    assert list(robot.transmissions) == [name]
    transmission = robot.transmissions[name]
    count = 300 if isinstance(transmission, LinkageTransmission) else 1000 * campaign
    assert base_checks.failures(transmission, count=count) == {}
    assert len(conformance.make_subject(transmission, count=count).x) >= 0.99 * count


@pytest.mark.parametrize('file', ['four_bar_knee', 'five_bar'])
def test_a_linkage_of_the_page_is_that_of_its_file(file):
    """Each line of the transmission stands in the example that the page names."""
    text = (ROOT / 'examples' / 'linkages' / f'{file}.urdf').read_text('utf-8')
    assert f'examples/linkages/{file}.urdf' in DOCUMENT.text
    (snippet,) = [each for each in SNIPPETS.values() if each.splitlines()[0] in text]
    assert [line for line in snippet.splitlines() if line.strip() not in text] == []


@pytest.mark.parametrize('heading', ['Simple', 'Differential', 'Four-bar linkage'])
def test_the_equations_of_the_document(heading):
    """Each equation of the tables gives what the library maps, with numbers of either sign."""
    text = DOCUMENT.section(heading)
    (robot,) = [robot_with(snippet) for snippet in SNIPPETS.values() if snippet in text]
    (kind,) = map(type, robot.transmissions.values())
    size = len(robot.joint_names)
    generator = np.random.default_rng(1)
    rows = re.findall(r'^\| ([a-z, ]*)\| `(.*)` \| `(.*)` \|$', text, re.MULTILINE)
    assert len(rows) == 3 * size
    for _ in range(20):
        offsets, given = generator.normal(size=(2, size))
        ar, jr = generator.choice([-1.0, 1.0], (2, size)) * generator.uniform(0.5, 5.0, (2, size))
        numbers = {'n': ar[0], 'off': offsets[0]}
        for k in range(size):
            numbers |= {f'ar{k + 1}': ar[k], f'jr{k + 1}': jr[k], f'off{k + 1}': offsets[k]}
        transmission = kind(ar[0], offsets[0]) if size == 1 else kind(ar, jr, offsets)
        for column, inputs, outputs in ((1, 'a', 'j'), (2, 'j', 'a')):
            direction = 'actuator_to_joint' if column == 1 else 'joint_to_actuator'
            names = [inputs] if size == 1 else [f'{inputs}{k + 1}' for k in range(size)]
            values = numbers | dict(zip(names, given, strict=True))
            interfaces = ''
            for number, row in enumerate(rows):
                interfaces = row[0].strip() or interfaces
                left, right = row[column].split(' = ')
                index = number % size
                assert left == (outputs if size == 1 else f'{outputs}{index + 1}')
                # As people write products: (2 jr1).
                said = eval(re.sub(r'(?<=[\w)]) (?=[\w(])', '*', right), {}, values)
                for interface in interfaces.split(', '):
                    mapped = transmission.map(direction, interface, given)
                    assert mapped[index] == pytest.approx(said, rel=1e-12, abs=1e-12), right


def positions(robot):
    """Return what the robot maps some positions to, both ways."""
    q = robot.actuator_to_joint('position', np.full(len(robot.actuator_names), 0.01))
    return [*q, *robot.joint_to_actuator('position', np.full(len(robot.joint_names), 0.02))]


@pytest.mark.parametrize('name', SNIPPETS)
def test_every_number_is_a_live_parameter(name):
    """Each parameter can be set, and a slightly other value changes what it is about."""
    robot = robot_with(SNIPPETS[name])
    before = robot.transmissions[name]
    for tunable in robot.tunables[name]:
        other = robot.with_parameters({tunable.name: tunable.value + 1e-3})
        after = other.transmissions[name]
        assert other.parameters[tunable.name].value == tunable.value + 1e-3
        if tunable.path[-1] in ('lower', 'upper'):
            assert after.domain != before.domain
        elif tunable.path == ('max_gain',):
            assert after.max_gain == tunable.value + 1e-3
        elif tunable.path[-2:] != ('motor_axis', 'y'):  # the length of a direction means nothing
            assert not np.array_equal(positions(other), positions(robot)), tunable.path
