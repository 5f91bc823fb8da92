# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Walks from the rows of the tables through an element: to specs, and findings on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import re
from typing import Any

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.rows import Level, Row, Value
from transmission_bridge.description.specs import ParameterSpec
from transmission_bridge.description.values import field_meant, ValueFault
from transmission_bridge.description.xml import Element

#: Texts of a value, each with its element.
Texts = list[tuple[Element, str]]

_VERSION = re.compile(r'([0-9]{1,9})\.([0-9]{1,9})')


class Unusable(Exception):
    """An element that is not used; the finding that says why is there."""


#: Makes a spec of an element and its values, where the row does not say all of it. The last
#: argument is the number of errors before the element.
Finish = Callable[['Walker', Element, dict[str, Any], int], Any]


class Walker:
    """
    Reads elements as their rows say.

    :param findings: Where the findings go.
    :param finish: Of the rows that do not say all, what makes the spec.
    """

    def __init__(self, findings: Findings, finish: Mapping[Row, Finish]) -> None:
        self.findings = findings
        self._finish = finish
        version = _VERSION.fullmatch(findings.root.get('version') or '1.0')
        self._version = tuple(map(int, version.groups())) if version else (0, 0)

    def read(self, element: Element, row: Row) -> Any:
        """
        Return what an element becomes.

        :raises Unusable: If it cannot be used; there is a finding.
        """
        errors = self.findings.errors
        values: dict[str, Any] = {}
        for value in row.values:
            if value.is_optional_attribute and value.name not in element.attributes:
                continue
            if value.is_in_children and not element.children:
                continue
            self._read_value(element, row, value, values)
        for field, rows in row.by_field.items() if element.children else ():
            if elements := element.all(*rows):
                values[field] = self._children(elements, rows)
        if row.unknown == 'parameters':
            values['parameters'] = (*values.get('parameters', ()), *undefined(element, row))
        elif row.unknown == 'refused':
            self._refuse_unknown(element, row)
        if row in self._finish:
            made = self._finish[row](self, element, values, errors)
        else:
            made = values if row.spec is None else spec(row.spec, element, values)
        if row.ends == 'end' and self.findings.errors > errors:
            raise Unusable
        return made

    def read_all(self, elements: Sequence[Element], rows: Mapping[str, Row]) -> tuple[Any, ...]:
        """
        Return what elements become, without those that cannot be used.

        :param rows: Their rows, by tag.
        """
        specs: dict[tuple[str, str | int | None], Any] = {}
        for element in elements:
            row = rows[element.tag]
            key = element.tag, element.get('name') if row.twice else element.index
            if row.twice is not None and key in specs:
                level, message = row.twice
                message = message.format(tag=element.tag)
                report = self._report(level)
                report(element, message, expected='another name', found=f"'{key[1]}'")
                if not row.last_counts:
                    continue
                del specs[key]
            try:
                specs[key] = self.read(element, row)
            except Unusable:
                continue
        return tuple(specs.values())

    def _children(self, elements: Sequence[Element], rows: Mapping[str, Row]) -> Any:
        row = rows[elements[0].tag]
        if row.many:
            return self.read_all(elements, rows)
        if row.last_counts and len(elements) > 1:
            self.findings.ignored(
                elements[0],
                f'several <{row.tag}> elements, the last one is used',
                expected=f'one <{row.tag}>',
                found=str(len(elements)),
            )
        return self.read(elements[-1 if row.last_counts else 0], row)

    def _read_value(
        self, element: Element, row: Row, value: Value, values: dict[str, Any]
    ) -> None:
        place = element.first(value.within) if value.within else element
        if place is None:
            return
        texts = _texts(place, value)
        if not texts and not value.missing:
            return
        if value.since > self._version or (value.only_if and not values.get(value.only_if)):
            return
        if value.place == 'ignored':
            message, found = f'attribute {value.name} is ignored here', f"'{texts[0][1]}'"
            self.findings.ignored(place, message, expected=value.expected, found=found)
            return
        errors = self.findings.errors
        parsed = []
        for at, text in texts:
            try:
                parsed.append(value.read(text))
            except ValueFault as fault:
                what = value.name + (f' of <{at.tag}>' if row.ends == 'error' else '')
                message = value.unusable or f'{what} is not usable'
                report = self._report(value.fault)
                report(at, message, expected=fault.expected, found=fault.found)
        if len(parsed) > 1:
            self._check_once(texts, parsed, value)
        if value.missing and (not parsed or (parsed[0] == '' and not value.may_be_empty)):
            self._missing(place, row, value, texts, errors)
        if parsed:
            values[value.target] = parsed[0]
        if self.findings.errors > errors and (
            row.ends == 'error' or (row.ends == 'no name' and value.name == 'name')
        ):
            raise Unusable

    def _missing(
        self, element: Element, row: Row, value: Value, texts: Texts, errors: int
    ) -> None:
        """Report a value that must be there, unless there is an error about it already."""
        if self.findings.errors > errors:
            return
        words = {'tag': element.tag, 'name': value.name}
        self.findings.error(
            element,
            value.missing.format(**words),
            expected=(value.expected or 'attribute {name}').format(**words),
            found=_instead(element, row, value, texts),
        )

    def _check_once(self, texts: Texts, parsed: list[Any], value: Value) -> None:
        """Report a value that is given twice; after an error it is not known which was meant."""
        if len(parsed) < len(texts):
            return
        differ = any(each != parsed[0] for each in parsed)
        report = self.findings.error if differ else self.findings.warning
        report(
            texts[1][0],
            f'{value.name} is given more than once',
            expected='one value',
            found=' and '.join(f"'{text}'" for _, text in texts) if differ else 'the same again',
        )

    def _report(self, level: Level) -> Callable[..., None]:
        return self.findings.error if level == 'error' else self.findings.ignored

    def _refuse_unknown(self, element: Element, row: Row) -> None:
        for child in element.children:
            if child.tag not in row.tags and not child.is_xacro:
                self.findings.error(
                    child,
                    'unknown element',
                    expected='one of ' + ', '.join(each.tag for each in row.children),
                    found=f'<{child.tag}>',
                    subject=element.get('name') or '',
                )


def spec(made: Callable[..., Any], element: Element, values: Mapping[str, Any]) -> Any:
    """
    Return a spec of an element.

    :param made: Its class.
    """
    has_place = 'line' in made.__dataclass_fields__  # type: ignore[attr-defined]
    place = {'line': element.line, 'path': element.path} if has_place else {}
    return made(**values, **place)


def undefined(element: Element, row: Row) -> tuple[ParameterSpec, ...]:
    """Return the attributes and child elements that a row does not have."""
    return (
        *(
            ParameterSpec(name, text, element.line, f'{element.path}/@{name}')
            for name, text in element.attributes.items()
            if name not in row.attributes
        ),
        *(_parameter(child) for child in element.children if child.tag not in row.tags),
    )


def _parameter(element: Element) -> ParameterSpec:
    name = element.get('name') if element.tag == 'param' else None
    return ParameterSpec(
        name=name or element.tag,
        value=element.text,
        line=element.line,
        path=element.path,
        attributes=tuple(element.attributes.items()),
        children=tuple(map(_parameter, element.children)),
    )


def _texts(element: Element, value: Value) -> Texts:
    """Return the texts of a value, each with its element."""
    place = value.place
    if place == 'text':
        return [(element, element.text)]
    if place == 'param':
        params = (child for child in element.all('param') if child.get('name') == value.name)
        return [(element, param.text) for param in params][-1:]
    texts: Texts = []
    if place != 'child' and value.name in element.attributes:
        texts.append((element, element.attributes[value.name]))
    if place in ('child', 'either') and element.children:
        texts += [(child, child.text) for child in element.all(value.name)]
    return texts


def _instead(element: Element, row: Row, value: Value, texts: Texts) -> str:
    """Return what stands in the place of a value that is missing, in words."""
    if value.place == 'attribute':
        return 'an empty one' if texts else 'none'
    if element.all(value.foreign):
        return f'<{value.foreign}>, which is for the other dialect'
    for parameter in undefined(element, row):
        if field_meant(parameter.name) == value.target:
            return f"'{parameter.value}' in {parameter.path.rpartition('/')[2]}"
    return 'none'
