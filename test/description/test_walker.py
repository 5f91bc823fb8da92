# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A row of a table is all that a new element needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.rows import Row, Value
from transmission_bridge.description.values import read_number
from transmission_bridge.description.walker import Unusable, Walker
from transmission_bridge.description.xml import parse_xml


@dataclass(frozen=True)
class SpringSpec:
    """An element that no dialect has."""

    stiffness: float
    rest: float = 0.5
    line: int | None = None
    path: str = ''


STIFFNESS = Value(
    'stiffness', read_number, 'Stiffness [N/m].', place='either', missing='<{tag}> is not stiff'
)
SPRING = Row(
    'spring', 'A spring.', SpringSpec, (STIFFNESS, Value('rest', read_number, 'Rest [m].'))
)


def walked(spring: str, row: Row) -> tuple[Any, list[str]]:
    """Return what an element becomes, and the findings."""
    root = parse_xml(f'<robot>\n{spring}\n</robot>')
    findings = Findings(root)
    made = Walker(findings, {}).read_element(root.children[0], row)
    return made, [str(finding) for finding in findings.sort_findings()]


def test_a_row_is_read() -> None:
    """Values become fields, those that are not given have the field's default."""
    made, findings = walked('<spring><stiffness>2</stiffness></spring>', SPRING)
    assert made == SpringSpec(2.0, line=2, path='/robot/spring')
    assert findings == []


def test_both_spellings_with_one_value_are_a_warning() -> None:
    """A value given as an attribute and as an element is used once."""
    made, findings = walked('<spring stiffness="2"><stiffness>2</stiffness></spring>', SPRING)
    assert made.stiffness == 2.0
    assert findings == [
        'warning: line 2, /robot/spring/stiffness: stiffness is given more than once '
        '(expected one value, found the same again)'
    ]


def test_an_element_ends_at_its_first_error() -> None:
    """If its row requires it."""
    row = Row('spring', 'A spring.', SpringSpec, SPRING.values, ends='error')
    root = parse_xml('<robot><spring rest="x"/></robot>')
    findings = Findings(root)
    with pytest.raises(Unusable):
        Walker(findings, {}).read_element(root.children[0], row)
    (finding,) = findings.sort_findings()
    assert (finding.message, finding.expected) == ('<spring> is not stiff', 'attribute stiffness')


def test_a_row_with_a_field_that_the_spec_lacks_fails() -> None:
    """A mistake in a table is not taken for a value that nothing uses."""
    with pytest.raises(TypeError, match='length'):
        walked(
            '<spring stiffness="2" length="1"/>',
            Row('spring', '', SpringSpec, (STIFFNESS, Value('length', read_number, ''))),
        )
