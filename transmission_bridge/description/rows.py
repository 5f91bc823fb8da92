# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The rows of the tables of elements: one for each element, and one for each of its values.

The tables are beside their readers. The default of a value is that of its field in the spec.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, KW_ONLY, replace
from functools import cached_property
from typing import Any, Literal

from transmission_bridge.description.findings import Level

#: How an element holds a value.
Place = Literal['attribute', 'child', 'either', 'text', 'param', 'ignored']
#: Level and message of the finding about a repeated name.
Twice = tuple[Level, str]


@dataclass(frozen=True, eq=False)
class Value:
    """
    One value of an element. If the element does not have it, the field keeps its default.

    :param name: Name of the attribute, or tag of the child element whose text is the value.
    :param read: Converts the text; raises :class:`ValueFault` if the text is invalid.
    :param meaning: Meaning and unit, in one sentence, if the docs list it.
    :param place: ``either``: an attribute or a child; ``text``: the element's own text;
        ``param``: a ``<param>`` of this name; ``ignored``: an attribute that nothing reads. A
        repeated equal value is a warning; different values are an error.
    :param within: Tag of the child element that has the value; the first such child is read.
    :param field: Field of the spec, if its name differs from the value's.
    :param missing: Message if the value is missing, with ``{tag}`` and ``{name}``; empty if the
        value is optional.
    :param expected: Expectation in the finding about a missing or ignored value.
    :param foreign: Tag of the value in the other dialect.
    :param unusable: Message if the text is invalid, with ``{name}``.
    :param fault: Level of that finding.
    :param may_be_empty: Whether an empty text is a value.
    :param since: The first version of URDF that has the value; older versions ignore it.
    """

    name: str
    read: Callable[[str], Any]
    meaning: str = ''
    _: KW_ONLY
    place: Place = 'attribute'
    within: str = ''
    field: str = ''
    missing: str = ''
    expected: str = ''
    foreign: str = ''
    unusable: str = ''
    fault: Level = 'error'
    may_be_empty: bool = False
    since: tuple[int, int] = (0, 0)

    @cached_property
    def target(self) -> str:
        """The field of the spec."""
        return self.field or self.name


@dataclass(frozen=True, eq=False)
class Row:
    """
    One element.

    :param meaning: Meaning, in one sentence, if the docs list it.
    :param spec: Class of its spec; ``None``: a dictionary of its values.
    :param field: Field of the parent's spec, if its name differs from the tag.
    :param many: Whether all such elements are read; else only one.
    :param last_counts: Whether the last element (of a name) is used instead of the first.
    :param twice: Level and message of the finding about a repeated name.
    :param unknown: How attributes and elements outside the table are handled: ignored, an error,
        or parameters for the type of the transmission.
    :param ends: When an unusable element is dropped: at its first error, if its name is missing,
        at its end (all of its errors are reported), or never.
    :param finish: Makes the spec if that takes more than the table, from the :class:`Walker`, the
        element, its values, and the number of errors before it.
    """

    tag: str
    meaning: str = ''
    spec: type[Any] | None = None
    values: tuple[Value, ...] = ()
    children: tuple[Row, ...] = ()
    _: KW_ONLY
    field: str = ''
    many: bool = False
    last_counts: bool = False
    twice: Twice | None = None
    unknown: Literal['ignored', 'refused', 'parameters'] = 'ignored'
    ends: Literal['error', 'no name', 'end', 'never'] = 'no name'
    finish: Callable[..., Any] | None = None

    @property
    def target(self) -> str:
        """The field of the spec."""
        return self.field or self.tag

    @cached_property
    def by_field(self) -> dict[str, dict[str, Row]]:
        """The child elements by field and tag."""
        fields: dict[str, dict[str, Row]] = {}
        for child in self.children:
            fields.setdefault(child.target, {})[child.tag] = child
        return fields

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that are read."""
        own = (value for value in self.values if not value.within)
        return frozenset(
            value.name for value in own if value.place not in ('child', 'text', 'param')
        )

    @cached_property
    def tags(self) -> frozenset[str]:
        """The child elements that are read."""
        tags = {value.within for value in self.values}
        tags |= {value.name for value in self.values if value.place in ('child', 'either')}
        return frozenset(tags | {child.tag for child in self.children})

    def value(self, field: str) -> Value:
        """Return the row of a field."""
        return next(value for value in self.values if value.target == field)


NAME = Value('name', str, 'Its name.', missing='<{tag}> without a name')
ANY_NAME = replace(NAME, may_be_empty=True)
NOT_READ = 'Not read; a warning.'
