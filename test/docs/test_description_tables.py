# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/transmissions.md lists the elements and values that the description is read by."""

from __future__ import annotations

from dataclasses import fields, MISSING

from documents import DOCUMENTS
import pytest

from transmission_bridge.description.ros2_control import ROS2_CONTROL
from transmission_bridge.description.transmission_element import ROS1_TRANSMISSION

PAGE = DOCUMENTS['transmissions.md']

#: The elements of each section.
SECTIONS = {'ROS 2': ROS2_CONTROL, 'ROS 1': ROS1_TRANSMISSION}


def collect(above, row, places):
    """Record the parents of an element and of all elements inside it."""
    if above not in places.setdefault(row, []):
        places[row].append(above)
    for child in row.children:
        collect(row.tag, child, places)


@pytest.mark.parametrize('title', SECTIONS)
def test_a_table_has_the_rows_of_the_reader(title):
    """An element, the elements around it, its meaning, and its values with defaults."""
    found = [line for line in PAGE.section(title).splitlines() if line.startswith('|')]
    assert found == ['| element | values | meaning |', '|---|---|---|', *list_rows(title)]


def list_rows(title):
    """Return the rows of a table; elements with equal values and parents share one."""
    groups, places = {}, {}
    collect('robot', SECTIONS[title], places)
    for row, above in places.items():
        parents = ', '.join(f'`<{tag}>`' for tag in above)
        values = ', '.join(show_value(row, value) for value in row.values)
        groups.setdefault((parents, values) if values else (parents, row), []).append(row)
    return [
        f'| {", ".join(f"`<{row.tag}>`" for row in rows)} in {parents} '
        f'| {values if isinstance(values, str) else ""} '
        f'| {" / ".join(row.meaning for row in rows)} |'
        for (parents, values), rows in groups.items()
    ]


def show_value(row, value):
    """Return how an element holds a value: bold if it is required, with its default."""
    attribute = f'`<{value.within} {value.name}>`' if value.within else f'`{value.name}`'
    child, param = f'`<{value.name}>`', f'`<param name="{value.name}">`'
    text = f'text of `<{value.within}>`' if value.within else 'its text'
    places = {'child': child, 'either': f'{attribute} or {child}', 'param': param, 'text': text}
    shown = places.get(value.place, attribute)
    if value.missing and not value.within:
        return f'**{shown}**'
    if value.place == 'ignored':
        return f'{shown} (not read)'
    default = find_default(row, value)
    return f'{shown} ({default})' if default else shown


def find_default(row, value):
    """Return the default of a value, empty for none."""
    field = next((each for each in fields(row.spec or ()) if each.name == value.target), None) \
        if row.spec else None  # fmt: skip
    if field is None or field.default in (MISSING, None, ''):
        return ''
    numbers = field.default if isinstance(field.default, tuple) else (field.default,)
    texts = (f'{each:g}' if isinstance(each, float) else str(each).lower() for each in numbers)
    return ' '.join(texts)
