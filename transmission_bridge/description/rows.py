# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the rows of the tables say; the tables themselves stand beside the specs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, KW_ONLY
from functools import cached_property
from typing import Any, Literal

#: Where a value is written.
Place = Literal['attribute', 'child', 'either', 'text', 'param', 'ignored']
#: Level of a finding, as the method of the findings is called.
Level = Literal['error', 'ignored']
#: Level and message where a name is given twice.
Twice = tuple[Level, str]


@dataclass(frozen=True, eq=False)
class Value:
    """
    One value of an element. If it is not given, the default of its field holds.

    :param name: Name of the attribute, or tag of the child element that holds it as text.
    :param read: From text to value; :class:`ValueFault` if the text is not one.
    :param says: What it is, one sentence with the unit.
    :param place: ``either``: as attribute or as child; ``text``: the element's own text;
        ``param``: a ``<param>`` of this name; ``ignored``: an attribute that nothing reads. The
        same value twice is a warning, two different ones are an error.
    :param within: Tag of the child element that has it; the first one counts.
    :param field: Field of the spec, where it has another name than the value.
    :param missing: The message where it is not given, with ``{tag}`` and ``{name}``; empty where
        it may be absent.
    :param expected: What is expected then.
    :param foreign: The tag that the other dialect has for it.
    :param unusable: The message where the text cannot be read.
    :param fault: Level of that finding.
    :param may_be_empty: Whether an empty text is not missing.
    :param only_if: It is read only if this other field is true.
    :param since: The first version of URDF that has it; older ones ignore it.
    """

    name: str
    read: Callable[[str], Any]
    says: str
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
    only_if: str = ''
    since: tuple[int, int] = (0, 0)

    @cached_property
    def target(self) -> str:
        """The field of the spec."""
        return self.field or self.name

    @cached_property
    def is_optional_attribute(self) -> bool:
        """Whether there is nothing to do where the element lacks the attribute."""
        return self.place in ('attribute', 'ignored') and not self.within and not self.missing

    @cached_property
    def is_in_children(self) -> bool:
        """Whether there is nothing to do where the element is empty."""
        return bool(self.within) or self.place == 'param'


@dataclass(frozen=True, eq=False)
class Row:
    """
    One element.

    :param says: What it is, one sentence.
    :param spec: What it becomes, made of its values; ``None``: a dictionary of them.
    :param field: Field of the spec above, where it has another name than the tag.
    :param many: Whether all such elements are read; else one of them.
    :param last_counts: Whether the last one of a name, or at all, is used instead of the first.
    :param twice: Level and message where a name is given twice.
    :param unknown: What happens to attributes and elements that are not in the table: they are
        left out, refused, or parameters for the type of the transmission.
    :param ends: Where an element that cannot be used is left: at its first error, where its name
        is missing, at its end, so that all errors are reported, or never.
    """

    tag: str
    says: str
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

    @property
    def target(self) -> str:
        """The field of the spec above."""
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
