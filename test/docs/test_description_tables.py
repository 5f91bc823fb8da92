# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/description.md lists the elements and values of transmission_bridge.description.specs."""

from __future__ import annotations

from dataclasses import fields, MISSING
import re

from documents import DOCUMENTS
import pytest

from transmission_bridge.description import specs

#: The elements of each section, with the element around them.
SECTIONS = {
    'Links and joints': (('robot', specs.LINK), ('robot', specs.JOINT)),
    'Looks of links': (('link', specs.VISUAL), ('robot', specs.MATERIAL)),
    'ROS 2: `<ros2_control>` blocks': (('robot', specs.ROS2_CONTROL),),
    'ROS 1: `<transmission>` in the robot': (('robot', specs.ROS1_TRANSMISSION),),
    'ROS 1 before `<type>`: the style of the PR2': (('robot', specs.PR2_TRANSMISSION),),
}
UNKNOWN = {
    'ignored': '',
    'refused': ' Any other element is an error.',
    'parameters': ' Everything else is a parameter for the type of the transmission.',
}


def test_every_section_is_checked():
    """The document has these sections, and no table elsewhere."""
    document = DOCUMENTS['description.md']
    assert re.findall('^## (.*)$', document.text, re.MULTILINE) == list(SECTIONS)
    assert '\n|' not in document.text.partition('\n## ')[0]


@pytest.mark.parametrize('title', SECTIONS)
def test_a_table_has_the_rows_of_the_reader(title):
    """An element, where it stands, its meaning; then its values with meaning and default."""
    places = {}
    for above, row in SECTIONS[title]:
        collect(above, row, places)
    expected = ['| element or value | meaning | default |', '|---|---|---|']
    for row, above in places.items():
        expected.append(f'| {element(row, above)} |  |')
        for value in row.values:
            since = f' Since URDF {value.since[0]}.{value.since[1]}.' if any(value.since) else ''
            expected.append(f'| {where(value)} | {value.meaning}{since} | {default(row, value)} |')
    found = DOCUMENTS['description.md'].section(title)
    assert [line for line in found.splitlines() if line.startswith('|')] == expected


def collect(above, row, places):
    """Record the parents of an element and of all elements inside it."""
    if above not in places.setdefault(row, []):
        places[row].append(above)
    for child in row.children:
        collect(row.tag, child, places)


def element(row, above):
    """Return the cells of an element: itself with its parents, and its meaning."""
    used = f'the {"last" if row.last_counts else "first"} one is used'
    several = '' if row.many else f' Of several, {used}.'
    if row.twice:
        level = {'error': 'an error', 'ignored': 'a warning'}[row.twice[0]]
        several = f' A repeated name is {level}, and {used}.'
    parents = ', '.join(f'`<{tag}>`' for tag in above)
    return f'**`<{row.tag}>`** in {parents} | {row.meaning}{several}{UNKNOWN[row.unknown]}'


def where(value):
    """Return how an element holds a value."""
    if value.place == 'text':
        return f'text of `<{value.within}>`' if value.within else 'its text'
    attribute = f'`<{value.within} {value.name}>`' if value.within else f'`{value.name}`'
    child, param = f'`<{value.name}>`', f'`<param name="{value.name}">`'
    places = {'child': child, 'either': f'{attribute} or {child}', 'param': param}
    return places.get(value.place, attribute)


def default(row, value):
    """Return the default of a value."""
    if value.missing:
        return f'an error if there is `<{value.within}>`' if value.within else 'an error'
    if value.place == 'ignored' or row.spec is None:
        return ''
    field = next((each for each in fields(row.spec) if each.name == value.target), None)
    if field is None or field.default in (MISSING, None, ''):
        return 'none'
    numbers = field.default if isinstance(field.default, tuple) else (field.default,)
    texts = (f'{each:g}' if isinstance(each, float) else str(each).lower() for each in numbers)
    return f'`{" ".join(texts)}`'
