# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The snippets of docs/transmissions.md load, conform, and cover every installed type."""

from __future__ import annotations

from pathlib import Path
import re

import base_checks
import numpy as np
import pytest
from zoo.elements import of_snippet

from transmission_bridge import conformance
from transmission_bridge.description import load_description
from transmission_bridge.transmissions import (
    Registry,
    RobotTransmissions,
    Transmission,
)
from transmission_bridge.transmissions.differential import DifferentialTransmission
from transmission_bridge.transmissions.linkage.linkage_transmission import LinkageTransmission
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'transmissions.md'

#: The three classical types with other signs than those of the document.
CLASSICAL = {
    'simple': """
        <plugin>transmission_interface/SimpleTransmission</plugin>
        <joint name="s" role="joint1">
          <mechanical_reduction>-50</mechanical_reduction><offset>0.3</offset>
        </joint>
        <actuator name="m" role="actuator1"/>""",
    'differential': """
        <plugin>transmission_interface/DifferentialTransmission</plugin>
        <joint name="d1" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
        <joint name="d2" role="joint2"><offset>-0.5</offset></joint>
        <actuator name="m1" role="actuator1"><mechanical_reduction>50</mechanical_reduction>
        </actuator>
        <actuator name="m2" role="actuator2"><mechanical_reduction>-30</mechanical_reduction>
        </actuator>""",
    'four_bar': """
        <plugin>transmission_interface/FourBarLinkageTransmission</plugin>
        <joint name="f1" role="joint1"><mechanical_reduction>-2</mechanical_reduction></joint>
        <joint name="f2" role="joint2"><mechanical_reduction>4</mechanical_reduction></joint>
        <actuator name="m1" role="actuator1"><mechanical_reduction>10</mechanical_reduction>
        </actuator>
        <actuator name="m2" role="actuator2"><mechanical_reduction>-20</mechanical_reduction>
        </actuator>""",
}


def documented() -> dict[str, str]:
    """Return the XML snippets of the document by the name of their transmission."""
    snippets = re.findall(
        r'```xml[^\n]*\n(.*?)```', DOCUMENT.read_text(encoding='utf-8'), re.DOTALL
    )
    return {
        re.search(r'<transmission name="([^"]+)"', snippet).group(1): snippet
        for snippet in snippets
    }


SNIPPETS = documented() | {
    name: f'<transmission name="{name}">{content}</transmission>'
    for name, content in CLASSICAL.items()
}


def robot_with(snippet: str) -> RobotTransmissions:
    """Return a robot that has the joints of a snippet and the transmission itself."""
    if snippet.startswith('<robot'):
        return RobotTransmissions(load_description(snippet), passive_joints='none')
    return RobotTransmissions(load_description(of_snippet(snippet)))


def transmission_of(name: str) -> Transmission:
    """Return the transmission of a snippet."""
    return robot_with(SNIPPETS[name]).transmissions[name]


@pytest.mark.parametrize('name', SNIPPETS)
def test_a_snippet_loads_without_any_finding(name: str) -> None:
    """A snippet of the document is a whole transmission, and all of it is used."""
    robot = robot_with(SNIPPETS[name])
    assert list(map(str, robot.findings)) == []
    assert list(robot.transmissions) == [name]


def test_the_snippets_cover_every_built_in_type() -> None:
    """Each type that this package installs is loaded by a snippet, and so runs the suite."""
    types = {
        re.search(r'<plugin>(.*?)</plugin>', snippet).group(1) for snippet in SNIPPETS.values()
    }
    own = {
        info.type_name
        for info in Registry().describe()
        if info.target.startswith('transmission_bridge.')
    }
    assert types == own


def test_the_tables_say_what_needs_casadi() -> None:
    """The types that are compiled are marked in the document and in docs/interface.md only."""
    registry = Registry()
    expected = {
        name
        for name in registry.type_names
        if name.startswith('transmission_')
        and issubclass(registry.load(name), MechanismTransmission)
    }
    marked = re.findall(r'^\| \[`(.*?)`\].*\| varies\* \|', DOCUMENT.read_text('utf-8'), re.M)
    assert set(marked) == expected
    interface = DOCUMENT.with_name('interface.md').read_text(encoding='utf-8')
    assert set(re.findall(r'^\| `(.*?)` \|.*needs CasADi', interface, re.M)) == expected


def sections() -> dict[str, str]:
    """Return the sections of the document by their headings."""
    parts = re.split(r'^## (.*)$', DOCUMENT.read_text(encoding='utf-8'), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_type_has_equation_drawing_parameters_and_an_example() -> None:
    """Each installed type has an equation, a drawing, a table of parameters and an example."""
    for info in Registry().describe():
        if info.target.startswith('transmission_bridge.'):
            (text,) = [
                each
                for each in sections().values()
                if f'<plugin>{info.type_name}</plugin>' in each
            ]
            assert re.search(r'!\[[^]]+\]\(transmissions/', text), info.type_name
            assert re.search(r'`[^`]* = [^`]*`', text), info.type_name
            assert re.search(r'^\| (parameter|parameter of) \|', text, re.M), info.type_name


@pytest.mark.parametrize('heading', ['Simple', 'Differential', 'Four-bar linkage'])
def test_the_equations_of_the_document(heading: str) -> None:
    """Each equation of the tables gives what the library maps, with numbers of either sign."""
    text = sections()[heading]
    (name,) = [name for name, snippet in documented().items() if snippet in text]
    size = len(robot_with(SNIPPETS[name]).joint_names)
    generator = np.random.default_rng(1)
    rows = re.findall(r'^\| ([a-z, ]*)\| `(.*)` \| `(.*)` \|$', text, re.MULTILINE)
    assert len(rows) == 3 * size
    for _ in range(20):
        offsets = generator.normal(size=size)
        reductions = generator.choice([-1.0, 1.0], (2, size)) * generator.uniform(
            0.5, 5.0, (2, size)
        )
        numbers = {'n': reductions[1, 0], 'off': offsets[0]}
        for index in range(size):
            numbers[f'ar{index + 1}'], numbers[f'jr{index + 1}'] = reductions[:, index]
            numbers[f'off{index + 1}'] = offsets[index]
        kind = type(transmission_of(name))
        transmission = kind(numbers['n'], offsets[0]) if size == 1 else kind(*reductions, offsets)
        given = generator.normal(size=size)
        for letter, letters in (('a', 'j'), ('j', 'a')):
            plain = [letter] if size == 1 else [f'{letter}{i + 1}' for i in range(size)]
            values = numbers | dict(zip(plain, given, strict=True))
            direction = 'actuator_to_joint' if letter == 'a' else 'joint_to_actuator'
            interfaces = ''
            for number, row in enumerate(rows):
                interfaces = row[0].strip() or interfaces
                left, right = row[1 if letter == 'a' else 2].split(' = ')
                index = number % size
                assert left == (letters if size == 1 else f'{letters}{index + 1}')
                # As people write products: (2 jr1).
                said = eval(re.sub(r'(?<=[\w)]) (?=[\w(])', '*', right), {}, values)
                for interface in interfaces.split(', '):
                    mapped = getattr(transmission, direction)(interface, given)
                    assert mapped[index] == pytest.approx(said, rel=1e-12, abs=1e-12), right


def test_what_mends_a_differential() -> None:
    """Each row of the table does to the joints what it says."""
    rows = re.findall(r'^\| ((?:the|both|joint) .*?) \|', sections()['Differential'], re.M)
    right = DifferentialTransmission((50.0, 50.0), (1.0, 1.0))
    actuators = right.joint_to_actuator('position', [0.3, -0.2])

    def seen(actuator_reduction, joint_reduction=(1.0, 1.0), order=(0, 1)):
        wrong = DifferentialTransmission(actuator_reduction, joint_reduction)
        return wrong.actuator_to_joint('position', actuators[list(order)]).tolist()

    mistakes = {
        'the joints are swapped': (seen((50.0, -50.0)), [-0.2, 0.3]),
        'the joints are swapped, and both turn the wrong way': (
            seen((-50.0, 50.0)),
            [0.2, -0.3],
        ),
        'both joints turn the wrong way': (seen((-50.0, -50.0)), [-0.3, 0.2]),
        'joint 2 turns the wrong way': (seen((50.0, 50.0), order=(1, 0)), [0.3, 0.2]),
        'joint 1 turns the wrong way': (seen((50.0, 50.0), (-1.0, 1.0)), [-0.3, -0.2]),
    }
    assert rows == list(mistakes)
    for found, expected in mistakes.values():
        assert found == pytest.approx(expected)


@pytest.mark.parametrize('name', SNIPPETS)
def test_a_documented_transmission_conforms(name: str, campaign: int) -> None:
    """It holds what the suite demands, and almost all of its domain is checked."""
    transmission = transmission_of(name)
    count = 300 if isinstance(transmission, LinkageTransmission) else 1000 * campaign
    assert base_checks.failures(transmission, count=count) == {}
    assert len(conformance.subject_of(transmission, count=count).x) >= 0.99 * count


@pytest.mark.parametrize('name', SNIPPETS)
def test_every_number_is_a_live_parameter(name: str) -> None:
    """Each parameter can be set to what it is, and a slightly other value changes the map."""
    robot = robot_with(SNIPPETS[name])
    actuators = np.full(len(robot.actuator_names), 0.01)
    joints = np.full(len(robot.joint_names), 0.02)
    for tunable in robot.tunables[name]:
        nested: dict = {tunable.path[-1]: tunable.value + 1e-3}
        for part in reversed(tunable.path[:-1]):
            nested = {part: nested}
        other = robot.with_parameters({name: nested})
        assert (tunable.path, tunable.value + 1e-3) in [
            (changed.path, changed.value) for changed in other.tunables[name]
        ]
        if tunable.path[-1] in ('lower', 'upper'):
            assert other.transmissions[name].domain != robot.transmissions[name].domain
            continue
        if tunable.path == ('max_gain',):
            assert other.transmissions[name].max_gain == tunable.value + 1e-3
            continue
        if tunable.path[-2:] == ('motor_axis', 'y'):
            continue  # the length of a direction means nothing
        before, after = (
            np.concatenate(
                [
                    t.joint_to_actuator('position', joints),
                    t.actuator_to_joint('position', actuators),
                ]
            )
            for t in (robot, other)
        )
        assert not np.array_equal(before, after), tunable.path
