# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Print docs/description.md from the tables of the reader of descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, MISSING

from transmission_bridge.description import specs
from transmission_bridge.description.rows import Row, Value

HEAD = """<!-- Printed by test/docs/description_document.py. -->
# Elements of a robot description

A description is a URDF or an SDF; of an SDF only the `<ros2_control>` blocks are read. The tables
below list the elements and values by dialect. A value is an attribute (`name`), a child element
with a text (`<role>`), an attribute of a child element (`<parent link>`), or the element's own
text. Numbers are finite decimal numbers in SI: radians and metres, seconds, newtons and newton
metres. A boolean is `true` or `false` in any case.

A missing or invalid value is a finding with line, element, expectation and finding;
`transmission_bridge check` prints them. [Transmissions](transmissions.md) lists the further
parameters of each type.
"""

#: Title, introduction, and the elements with the element around them.
SECTIONS = (
    (
        'Links and joints',
        'In every URDF. A link or a joint with an error is dropped; the rest is used.',
        (('robot', specs.LINK), ('robot', specs.JOINT)),
    ),
    (
        'Looks of links',
        'For tools that draw the robot. They skip an element with an error.',
        (('link', specs.VISUAL), ('robot', specs.MATERIAL)),
    ),
    (
        'ROS 2: `<ros2_control>` blocks',
        'In a `<robot>`, or in the `<model>` of an SDF. A value with an error keeps its default.\n'
        'A transmission with an error is rejected. Role, reduction and offset are attributes or\n'
        'child elements, because both drafts of ros2_control are supported.',
        (('robot', specs.ROS2_CONTROL),),
    ),
    (
        'ROS 1: `<transmission>` in the robot',
        'A transmission with an error is rejected.',
        (('robot', specs.ROS1_TRANSMISSION),),
    ),
    (
        'ROS 1 before `<type>`: the style of the PR2',
        'A transmission with the attribute `type` and without a `<type>` element.',
        (('robot', specs.PR2_TRANSMISSION),),
    ),
)
UNKNOWN = {
    'ignored': '',
    'refused': ' Any other element is an error.',
    'parameters': ' Everything else is a parameter for the type of the transmission.',
}


def document() -> str:
    """Return the whole document."""
    parts = [HEAD]
    for title, introduction, elements in SECTIONS:
        parts.append(f'\n## {title}\n\n{introduction}\n\n')
        parts.append('| element or value | meaning | default |\n|---|---|---|\n')
        places: dict[Row, list[str]] = {}
        for above, row in elements:
            collect(above, row, places)
        for row, above in places.items():
            parts += (f'| {" | ".join(cells)} |\n' for cells in lines(row, above))
    return ''.join(parts)


def collect(above: str, row: Row, places: dict[Row, list[str]]) -> None:
    """Record the parents of an element and of all elements inside it."""
    if above not in places.setdefault(row, []):
        places[row].append(above)
    for child in row.children:
        collect(row.tag, child, places)


def lines(row: Row, above: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the cells of an element and of its values."""
    used = f'the {"last" if row.last_counts else "first"} one is used'
    several = '' if row.many else f' Of several, {used}.'
    if row.twice:
        level = {'error': 'an error', 'ignored': 'a warning'}[row.twice[0]]
        several = f' A repeated name is {level}, and {used}.'
    element = f'**`<{row.tag}>`** in ' + ', '.join(f'`<{tag}>`' for tag in above)
    yield element, row.meaning + several + UNKNOWN[row.unknown], ''
    for value in row.values:
        since = f' Since URDF {value.since[0]}.{value.since[1]}.' if any(value.since) else ''
        yield where(value), value.meaning + since, default(row, value)


def where(value: Value) -> str:
    """Return how an element holds a value."""
    if value.place == 'text':
        return f'text of `<{value.within}>`' if value.within else 'its text'
    attribute = f'`<{value.within} {value.name}>`' if value.within else f'`{value.name}`'
    child = f'`<{value.name}>`'
    param = f'`<param name="{value.name}">`'
    places = {'child': child, 'either': f'{attribute} or {child}', 'param': param}
    return places.get(value.place, attribute)


def default(row: Row, value: Value) -> str:
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


if __name__ == '__main__':
    print(document(), end='')
