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

SAID = {'description': 'A sentence.'}

#: Of each method: a call, what is live after it, and calls that fail, with what is set before.
CALLS = {
    'require_members': (
        lambda r: r.require_members(joints=1, actuators=1),
        [],
        [(TransmissionError, lambda r: r.require_members(joints=2, actuators=1), {})],
    ),
    'joint_reductions': (
        lambda r: r.joint_reductions(),
        ['joints.q.mechanical_reduction'],
        [
            (
                ParameterError,
                lambda r: r.joint_reductions(),
                {('joints', 'q', 'mechanical_reduction'): 0.0},
            )
        ],
    ),
    'actuator_reductions': (
        lambda r: r.actuator_reductions(),
        ['actuators.m.mechanical_reduction'],
        [
            (
                ParameterError,
                lambda r: r.actuator_reductions(),
                {('actuators', 'm', 'mechanical_reduction'): 0.0},
            )
        ],
    ),
    'joint_offsets': (
        lambda r: r.joint_offsets(),
        ['joints.q.offset'],
        [
            (
                ParameterError,
                lambda r: r.joint_offsets(),
                {('joints', 'q', 'offset'): float('nan')},
            )
        ],
    ),
    'actuator_offsets': (
        lambda r: r.actuator_offsets('A sentence.'),
        ['actuators.m.offset'],
        [
            (
                ParameterError,
                lambda r: r.actuator_offsets('A sentence.'),
                {('actuators', 'm', 'offset'): float('nan')},
            )
        ],
    ),
    'number': (
        lambda r: (r.number('length', **SAID), r.number('inside', actuator=0, **SAID)),
        ['length', 'actuators.m.inside'],
        [
            (TransmissionError, lambda r: r.number('missing', **SAID), {}),
            (TransmissionError, lambda r: r.number('word', **SAID), {}),
            (TransmissionError, lambda r: r.number('twice', **SAID), {}),
            (ParameterError, lambda r: r.number('length', minimum=0.2, **SAID), {}),
            (ParameterError, lambda r: r.number('length', maximum=0.0, **SAID), {}),
            (
                ParameterError,
                lambda r: r.number('length', nonzero=True, **SAID),
                {('length',): 0.0},
            ),
        ],
    ),
    'numbers': (
        lambda r: r.numbers('vector', 'xy', **SAID),
        ['vector.x', 'vector.y'],
        [
            (TransmissionError, lambda r: r.numbers('missing', 'xy', **SAID), {}),
            (TransmissionError, lambda r: r.numbers('word', 'xy', **SAID), {}),
            (TransmissionError, lambda r: r.numbers('twice', 'x', **SAID), {}),
            (TransmissionError, lambda r: r.numbers('vector', 'xyz', **SAID), {}),
            (
                ParameterError,
                lambda r: r.numbers('vector', 'xy', **SAID),
                {('vector', 'x'): float('inf')},
            ),
        ],
    ),
    'text': (
        lambda r: r.text('word'),
        [],
        [
            (TransmissionError, lambda r: r.text('missing'), {}),
            (TransmissionError, lambda r: r.text('twice'), {}),
        ],
    ),
    'elements': (lambda r: r.elements('twice'), [], []),
    'parse_numbers': (
        lambda r: r.parse_numbers('word', '1, 2 3'),
        [],
        [(TransmissionError, lambda r: r.parse_numbers('word', '1 left'), {})],
    ),
    'declare': (
        lambda r: r.declare(('matrix', 'joint1'), 1.0, 'A sentence.'),
        ['matrix.joint1'],
        [
            (
                ParameterError,
                lambda r: r.declare(('matrix', 'joint1'), 1.0, 'A sentence.'),
                {('matrix', 'joint1'): float('nan')},
            )
        ],
    ),
    'error': (lambda r: r.error('so', parameter='word', expected='a', found='b'), [], []),
}


def rows():
    """Return the rows of the table by the name of what is asked."""
    found = re.findall(r'^\| `(\w+)(?:\((.*?)\))?` \|(.*)\|$', SECTION, re.MULTILINE)
    return {name: (names, *map(str.strip, cells.split('|'))) for name, names, cells in found}


def test_everything_public_has_a_row():
    """The table has each method and attribute of the class, and nothing else."""
    public = {name for name in dir(SpecReader(SPEC)) if not name.startswith('_')}
    # What is for the bridge is named below the table.
    for_the_bridge = {'actuator_limits', 'actuator_units', 'passed_by_role', 'tunables', 'unused'}
    assert set(rows()) == public - for_the_bridge == {*CALLS, 'spec', 'robot', 'passive_joints'}
    assert '`actuator_limits()`, ' in SECTION
    assert '`tunables`, ' in SECTION
    assert '`unused()`, ' in SECTION


@pytest.mark.parametrize('name', CALLS)
def test_a_row(name):
    """Its arguments and errors are those of the method, and what it says to be live is."""
    arguments, _, live, errors = rows()[name]
    method = getattr(SpecReader, name)
    names = list(inspect.signature(method).parameters)[1:]
    assert [each for each in arguments.split(', ') if each] == names
    call, paths, failures = CALLS[name]
    reader = SpecReader(SPEC)
    call(reader)
    assert ['.'.join(each.path) for each in reader.tunables] == paths
    assert (live == '-') == (not paths)
    raised = {error.__name__ for error, _, _ in failures}
    assert set(re.findall(r'`(\w+Error)`', errors)) == raised
    assert set(re.findall(r':raises (\w+):', method.__doc__)) == raised
    for error, wrong, overrides in failures:
        with pytest.raises(error) as caught:
            wrong(SpecReader(SPEC, overrides))
        assert type(caught.value) is error
