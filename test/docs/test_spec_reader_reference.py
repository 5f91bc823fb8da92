# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The reference of SpecReader says what the class does."""

from __future__ import annotations

import inspect
from pathlib import Path
import re

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, TransmissionError
from transmission_bridge.transmissions import SpecReader

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'writing_a_transmission.md'
SECTION = DOCUMENT.read_text(encoding='utf-8').split('\n### SpecReader\n')[1].split('\n## ')[0]

(SPEC,) = load_description("""
<robot name="r"><ros2_control name="s" type="system"><joint name="q"/><transmission name="t">
  <plugin>p</plugin>
  <param name="length">0.1</param><twice>1</twice><twice>2</twice>
  <param name="vector">1 2</param><param name="word">left</param>
  <joint name="q" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
  <actuator name="m" role="actuator1"><param name="inside">3</param></actuator>
</transmission></ros2_control></robot>""").transmissions

NAN, INF = float('nan'), float('inf')
WRONG, REFUSED = TransmissionError, ParameterError


def given(*arguments, **options):
    """Return the arguments of a call."""
    return arguments, options


def said(*arguments, **options):
    """Return the arguments of a call that describes a number."""
    return arguments, {'description': 'A sentence.', **options}


#: Of each method: calls, what is live after them, and calls that fail, with what is set before.
CALLS = {
    'require_members': (
        [given(joints=1, actuators=1)],
        [],
        [(WRONG, given(joints=2, actuators=1), {})],
    ),
    'joint_reductions': (
        [given()],
        ['joints.q.mechanical_reduction'],
        [(REFUSED, given(), {('joints', 'q', 'mechanical_reduction'): 0.0})],
    ),
    'actuator_reductions': (
        [given()],
        ['actuators.m.mechanical_reduction'],
        [(REFUSED, given(), {('actuators', 'm', 'mechanical_reduction'): 0.0})],
    ),
    'joint_offsets': (
        [given()],
        ['joints.q.offset'],
        [(REFUSED, given(), {('joints', 'q', 'offset'): NAN})],
    ),
    'actuator_offsets': (
        [given('A sentence.')],
        ['actuators.m.offset'],
        [(REFUSED, given('A sentence.'), {('actuators', 'm', 'offset'): NAN})],
    ),
    'number': (
        [said('length'), said('inside', actuator=0)],
        ['length', 'actuators.m.inside'],
        [
            *((WRONG, said(name), {}) for name in ('missing', 'word', 'twice')),
            (REFUSED, said('length', minimum=0.2), {}),
            (REFUSED, said('length', maximum=0.0), {}),
            (REFUSED, said('length', nonzero=True), {('length',): 0.0}),
        ],
    ),
    'numbers': (
        [said('vector', 'xy')],
        ['vector.x', 'vector.y'],
        [
            *((WRONG, said(name, 'xy'), {}) for name in ('missing', 'word')),
            (WRONG, said('twice', 'x'), {}),
            (WRONG, said('vector', 'xyz'), {}),
            (REFUSED, said('vector', 'xy'), {('vector', 'x'): INF}),
        ],
    ),
    'text': ([given('word')], [], [(WRONG, given(name), {}) for name in ('missing', 'twice')]),
    'elements': ([given('twice')], [], []),
    'parse_numbers': (
        [given('word', '1, 2 3')],
        [],
        [(WRONG, given('word', '1 left'), {})],
    ),
    'declare': (
        [given(('matrix', 'joint1'), 1.0, 'A sentence.')],
        ['matrix.joint1'],
        [(REFUSED, given(('matrix', 'joint1'), 1.0, 'A sentence.'), {('matrix', 'joint1'): NAN})],
    ),
    'error': ([given('so', parameter='word', expected='a', found='b')], [], []),
}
ROWS = {
    name: (names, *map(str.strip, cells.split('|')))
    for name, names, cells in re.findall(
        r'^\| `(\w+)(?:\((.*?)\))?` \|(.*)\|$', SECTION, re.MULTILINE
    )
}


def test_everything_public_has_a_row():
    """The table has each method and attribute of the class, and nothing else."""
    public = {name for name in dir(SpecReader(SPEC)) if not name.startswith('_')}
    # What is for the bridge is named below the table.
    for_the_bridge = {'actuator_limits', 'actuator_units', 'passed_by_role', 'tunables', 'unused'}
    assert set(ROWS) == public - for_the_bridge == {*CALLS, 'spec', 'robot', 'passive_joints'}
    assert all(
        name in SECTION for name in ('`actuator_limits()`, ', '`tunables`, ', '`unused()`, ')
    )


@pytest.mark.parametrize('name', CALLS)
def test_a_row(name):
    """Its arguments and errors are those of the method, and what it says to be live is."""
    arguments, _, live, errors = ROWS[name]
    method = getattr(SpecReader, name)
    names = list(inspect.signature(method).parameters)[1:]
    assert [each for each in arguments.split(', ') if each] == names
    calls, paths, failures = CALLS[name]
    reader = SpecReader(SPEC)
    for positional, options in calls:
        method(reader, *positional, **options)
    assert ['.'.join(each.path) for each in reader.tunables] == paths
    assert (live == '-') == (not paths)
    raised = {error.__name__ for error, _, _ in failures}
    assert set(re.findall(r'`(\w+Error)`', errors)) == raised
    assert set(re.findall(r':raises (\w+):', method.__doc__)) == raised
    for error, (positional, options), overrides in failures:
        with pytest.raises(error) as caught:
            method(SpecReader(SPEC, overrides), *positional, **options)
        assert type(caught.value) is error
