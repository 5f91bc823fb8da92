# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/description.md, which is made of the tables that descriptions are read by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, MISSING

from transmission_bridge.description import specs
from transmission_bridge.description.rows import Row, Value

HEAD = """<!-- Printed by test/docs/description_document.py. -->
# What is read of a robot description

A description is a URDF, or an SDF of which the `<ros2_control>` blocks are read. These are the
elements and values that count, by dialect. A value is an attribute (`name`), a child element with
a text (`<role>`), an attribute of a child element (`<parent link>`), or the element's own text.
Numbers are finite decimal numbers in SI: radians and metres, seconds, newtons and newton metres. A
boolean is `true` or `false` in any case.

What is missing or cannot be read is a finding with its line, its element, what was expected and
what was found; `transmission_bridge check` prints them. What the types of transmissions read
besides is in [Transmissions](transmissions.md).
"""

#: Title, what is said below it, and the elements with the path of what they stand in.
SECTIONS = (
    (
        'Links and joints',
        'Of every URDF. A link or a joint with an error is not used; the rest of the robot is.',
        (('robot', specs.LINK), ('robot', specs.JOINT)),
    ),
    (
        'What links look like',
        'Read by tools that draw the robot. What cannot be read is not drawn.',
        (('link', specs.VISUAL), ('robot', specs.MATERIAL)),
    ),
    (
        'ROS 2: `<ros2_control>` blocks',
        'In a `<robot>`, or in the `<model>` of an SDF. A value with an error has its default,\n'
        'and a transmission with an error is not used. Role, reduction and offset are attributes\n'
        'or child elements: both drafts of ros2_control are read.',
        (('robot', specs.ROS2_CONTROL),),
    ),
    (
        'ROS 1: `<transmission>` in the robot',
        'A transmission with an error is not used.',
        (('robot', specs.ROS1_TRANSMISSION),),
    ),
    (
        'ROS 1 before `<type>`: the style of the PR2',
        'A transmission whose type is an attribute, and which has no `<type>` element.',
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
    for title, says, elements in SECTIONS:
        parts.append(f'\n## {title}\n\n{says}\n\n')
        parts.append('| element or value | what it is | if it is not given |\n|---|---|---|\n')
        places: dict[Row, list[str]] = {}
        for above, row in elements:
            collect(above, row, places)
        for row, above in places.items():
            parts += (f'| {" | ".join(cells)} |\n' for cells in lines(row, above))
    return ''.join(parts)


def collect(above: str, row: Row, places: dict[Row, list[str]]) -> None:
    """Remember below what an element and all that it holds may stand."""
    if above not in places.setdefault(row, []):
        places[row].append(above)
    for child in row.children:
        collect(row.tag, child, places)


def lines(row: Row, above: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the cells of an element and of its values."""
    counts = f'the {"last" if row.last_counts else "first"} one counts'
    several = '' if row.many else f' Of several {counts}.'
    if row.twice:
        level = {'error': 'an error', 'ignored': 'a warning'}[row.twice[0]]
        several = f' A name that is given twice is {level}, and {counts}.'
    element = f'**`<{row.tag}>`** in ' + ', '.join(f'`<{tag}>`' for tag in above)
    yield element, row.says + several + UNKNOWN[row.unknown], ''
    for value in row.values:
        since = f' Since URDF {value.since[0]}.{value.since[1]}.' if any(value.since) else ''
        yield where(value), value.says + since, default(row, value)


def where(value: Value) -> str:
    """Return where a value stands in its element."""
    if value.place == 'text':
        return f'text of `<{value.within}>`' if value.within else 'its text'
    attribute = f'`<{value.within} {value.name}>`' if value.within else f'`{value.name}`'
    child = f'`<{value.name}>`'
    param = f'`<param name="{value.name}">`'
    places = {'child': child, 'either': f'{attribute} or {child}', 'param': param}
    return places.get(value.place, attribute)


def default(row: Row, value: Value) -> str:
    """Return what holds if a value is not given."""
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
