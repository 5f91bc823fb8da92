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
SAID = {'description': 'A sentence.'}

#: Of each method: calls, what is live after them, and calls that fail, some with what is set
#: before. A call is its arguments as they are written.
CALLS = {
    'require_members': (['joints=1, actuators=1'], [], [('', 'joints=2, actuators=1')]),
    'joint_reductions': (
        [''],
        ['joints.q.mechanical_reduction'],
        [({('joints', 'q', 'mechanical_reduction'): 0.0}, '')],
    ),
    'actuator_reductions': (
        [''],
        ['actuators.m.mechanical_reduction'],
        [({('actuators', 'm', 'mechanical_reduction'): 0.0}, '')],
    ),
    'joint_offsets': ([''], ['joints.q.offset'], [({('joints', 'q', 'offset'): NAN}, '')]),
    'actuator_offsets': (
        ['"A sentence."'],
        ['actuators.m.offset'],
        [({('actuators', 'm', 'offset'): NAN}, '"A sentence."')],
    ),
    'number': (
        ['"length", **SAID', '"inside", actuator=0, **SAID'],
        ['length', 'actuators.m.inside'],
        [
            *(('', f'"{name}", **SAID') for name in ('missing', 'word', 'twice')),
            ({}, '"length", minimum=0.2, **SAID'),
            ({}, '"length", maximum=0.0, **SAID'),
            ({('length',): 0.0}, '"length", nonzero=True, **SAID'),
        ],
    ),
    'numbers': (
        ['"vector", "xy", **SAID'],
        ['vector.x', 'vector.y'],
        [
            *(('', f'"{name}", "xy", **SAID') for name in ('missing', 'word')),
            ('', '"twice", "x", **SAID'),
            ('', '"vector", "xyz", **SAID'),
            ({('vector', 'x'): INF}, '"vector", "xy", **SAID'),
        ],
    ),
    'text': (['"word"'], [], [('', '"missing"'), ('', '"twice"')]),
    'elements': (['"twice"'], [], []),
    'parse_numbers': (['"word", "1, 2 3"'], [], [('', '"word", "1 left"')]),
    'declare': (
        ['("matrix", "q"), 1.0, "A sentence."'],
        ['matrix.q'],
        [({('matrix', 'q'): NAN}, '("matrix", "q"), 1.0, "A sentence."')],
    ),
    'error': (['"so", parameter="word", expected="a", found="b"'], [], []),
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
    for call in calls:
        eval(f'reader.{name}({call})')
    assert ['.'.join(each.path) for each in reader.tunables] == paths
    assert (live == '-') == (not paths)
    # What is set, or out of the range that is asked for, is a number that is refused.
    kinds = [TransmissionError if before == '' else ParameterError for before, _ in failures]
    raised = {kind.__name__ for kind in kinds}
    assert set(re.findall(r'`(\w+Error)`', errors)) == raised
    assert set(re.findall(r':raises (\w+):', method.__doc__)) == raised
    for kind, (before, call) in zip(kinds, failures, strict=True):
        reader = SpecReader(SPEC, before or {})
        with pytest.raises(kind) as caught:
            eval(f'reader.{name}({call})')
        assert type(caught.value) is kind
