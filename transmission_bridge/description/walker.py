# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How elements are read by the rows of tables: specs and findings.

The modules of this room have the tables. :class:`XmlRow` and :class:`XmlValue` explain every code
in them; a new code needs a branch in :class:`XmlWalker`. :class:`Findings` is written by all
readers and checks of one description, in one thread; a description has the sorted copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, KW_ONLY, replace
from functools import cached_property, partialmethod
import re
from typing import Any, Literal, Protocol, TypeVar

from transmission_bridge.description.document.values import InvalidValue
from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import Finding, ParameterSpec, Severity
from transmission_bridge.errors import closest, find_closest_names

# -- Findings ------------------------------------------------------------------------------------


#: Severity, or ``ignored``, see :meth:`Findings.add`.
Level = Literal['error', 'ignored', 'warning', 'info']

#: Elements that can be the subject of a finding.
_SUBJECTS = ('transmission', 'link', 'joint', 'sensor', 'gpio', 'ros2_control')


class LocatedElement(Protocol):
    """An element or its spec."""

    @property
    def path(self) -> str:
        """Path of the element."""


class Findings:
    """
    The findings so far.

    The default subject of a finding is the closest named part of the robot around its element.

    :param root: The root element. The place of a finding has its path, or one below it.
    :ivar errors: Number of errors so far; the readers compare it before and after an element.
    """

    def __init__(self, root: Element) -> None:
        self.root = root
        self.errors = 0
        self._found: list[tuple[int, Finding]] = []

    def add(
        self,
        level: Level,
        place: LocatedElement,
        message: str,
        expected: str = '',
        found: str = 'none',
        *,
        subject: str | None = None,
    ) -> None:
        """
        Add a finding.

        :param level: ``error``: the caller drops the element (or the value). ``ignored``: a
            warning that strict mode treats as an error, about data that nothing uses or that only
            ros2_control or URDF parsers reject. ``warning``, ``info``: strict mode accepts them.
        :param expected: Empty if the message says all.
        """
        element = self.find_element(place)
        around: Element | None = element
        while subject is None and around is not None:
            of_transmission = around.parent is not None and around.parent.tag == 'transmission'
            if around.tag in _SUBJECTS and not of_transmission:
                subject = around.get('name') or ''
            around = around.parent
        self.errors += level == 'error'
        severity: Severity = 'warning' if level == 'ignored' else level
        found, fatal = found if expected else '', level in ('error', 'ignored')
        about = element, severity, message, expected, found, subject or ''
        self._found.append((element.index, Finding.about(*about, fatal_if_strict=fatal)))

    add_error = partialmethod(add, 'error')
    add_ignored = partialmethod(add, 'ignored')
    add_warning = partialmethod(add, 'warning')
    add_info = partialmethod(add, 'info')

    def sort_findings(self) -> tuple[Finding, ...]:
        """Return all findings in document order."""
        return tuple(finding for _, finding in sorted(self._found, key=lambda pair: pair[0]))

    def find_element(self, place: LocatedElement) -> Element:
        """Return the element of a spec."""
        return self._by_path[place.path]

    @cached_property
    def _by_path(self) -> dict[str, Element]:
        return {element.path: element for element in (self.root, *self.root.iterate_below())}


# -- Tables and rows -----------------------------------------------------------------------------


#: How an element holds a value.
Place = Literal['attribute', 'child', 'either', 'text', 'param', 'ignored']
#: Level and message of the finding about a repeated name.
Twice = tuple[Level, str]


@dataclass(frozen=True, eq=False)
class XmlValue:
    """
    One value of an element. If the element does not have it, the field keeps its default.

    :param name: Name of the attribute, or tag of the child element whose text is the value.
    :param read: Converts the text; raises :class:`InvalidValue` if the text is invalid.
    :param meaning: Meaning and unit, in one sentence, if the docs list it.
    :param place: ``attribute``; ``child``: the text of a child element; ``either``: an attribute
        or a child; ``text``: the element's own text; ``param``: a ``<param>`` of this name;
        ``ignored``: an attribute that nothing reads, a finding of level ``ignored``. A repeated
        equal value is a warning; different values are an error.
    :param within: Tag of the child element that has the value; the first such child is read.
    :param field: Field of the spec, if its name differs from the value's.
    :param missing: Message if the value is missing, with ``{tag}`` and ``{name}``; empty if the
        value is optional.
    :param expected: Expectation in the finding about a missing or ignored value.
    :param foreign: Tag of the value in the other dialect.
    :param unusable: Message if the text is invalid, with ``{name}``.
    :param fault: Level of that finding, see :meth:`Findings.add`. The field keeps its default;
        after ``error`` the element may also be dropped, see :class:`XmlRow`.
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
class XmlRow:
    """
    One element.

    :param meaning: Meaning, in one sentence, if the docs list it.
    :param spec: Class of its spec; ``None``: a dictionary of its values.
    :param field: Field of the parent's spec, if its name differs from the tag.
    :param many: Whether all such elements are read; else only one.
    :param last_counts: Whether the last element (of a name) is used instead of the first.
    :param twice: Level and message of the finding about a repeated name.
    :param unknown: How attributes and elements outside the table are handled. ``ignored``;
        ``error``: each such element is an error, attributes are ignored; ``parameters``: they
        become parameters for the type of the transmission.
    :param ends: When an unusable element is dropped. ``error``: at the first error in its values;
        ``no name``: if its name cannot be used; ``end``: at its end, so that all of its errors are
        reported; ``never``: not by the table. ``finish`` may also drop it by
        :class:`UnusableElement`. A dropped child drops its parent, unless the child is one of
            ``many``.
    :param finish: Makes the spec if that takes more than the table, from the :class:`XmlWalker`,
        the element, its values (which it may change), and ``findings.errors`` before the element:
        a greater number afterwards means that the element or a part of it has an error.
    """

    tag: str
    meaning: str = ''
    spec: type[Any] | None = None
    values: tuple[XmlValue, ...] = ()
    children: tuple[XmlRow, ...] = ()
    _: KW_ONLY
    field: str = ''
    many: bool = False
    last_counts: bool = False
    twice: Twice | None = None
    unknown: Literal['ignored', 'error', 'parameters'] = 'ignored'
    ends: Literal['error', 'no name', 'end', 'never'] = 'no name'
    finish: Callable[..., Any] | None = None

    @property
    def target(self) -> str:
        """The field of the spec."""
        return self.field or self.tag

    @cached_property
    def by_field(self) -> dict[str, dict[str, XmlRow]]:
        """The child elements by field and tag."""
        fields: dict[str, dict[str, XmlRow]] = {}
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

    def value(self, field: str) -> XmlValue:
        """Return the row of a field."""
        return next(value for value in self.values if value.target == field)


NAME = XmlValue('name', str, 'Its name.', missing='<{tag}> without a name')
ANY_NAME = replace(NAME, may_be_empty=True)
NOT_READ = 'Not read; a warning.'


#: Values of an element by the fields of its spec.
Fields = dict[str, Any]

#: Texts of a value, each with its element.
Texts = list[tuple[Element, str]]

_VERSION = re.compile(r'([0-9]{1,9})\.([0-9]{1,9})')


class UnusableElement(Exception):
    """The element cannot be used; a finding has the reason."""


class XmlWalker:
    """
    Reads the elements of one description by their rows; the root has its version of URDF.

    :param findings: Receives the findings, in the order of reading.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        version = _VERSION.fullmatch(findings.root.get('version') or '1.0')
        self._version = tuple(map(int, version.groups())) if version else (0, 0)

    def read_element(self, element: Element, row: XmlRow) -> Any:
        """
        Return the spec of an element.

        :raises UnusableElement: If the element cannot be used; a finding has the reason.
        """
        errors = self.findings.errors
        values: Fields = {}
        for value in row.values:
            self._read_value(element, row, value, values)
        for field, rows in row.by_field.items() if element.children else ():
            if not (elements := element.find_all(*rows)):
                continue
            child_row = rows[elements[0].tag]
            if child_row.many:
                values[field] = self.read_elements(elements, rows)
                continue
            if child_row.last_counts and len(elements) > 1:
                self.findings.add_ignored(
                    elements[0],
                    f'several <{child_row.tag}> elements, the last one is used',
                    f'one <{child_row.tag}>',
                    str(len(elements)),
                )
            last = elements[-1 if child_row.last_counts else 0]
            values[field] = self.read_element(last, child_row)
        if row.unknown == 'parameters':
            values['parameters'] = values.get('parameters', ()) + collect_element_parameters(
                element, row
            )
        for child in element.children if row.unknown == 'error' else ():
            if child.tag not in row.tags and not child.is_xacro:
                tags = [allowed.tag for allowed in row.children]
                self.findings.add_error(
                    child,
                    f'unknown element{closest(child.tag, tags)}',
                    f'one of {", ".join(tags)}',
                    f'<{child.tag}>',
                    subject=element.get('name') or '',
                )
        if row.finish is not None:
            made = row.finish(self, element, values, errors)
        else:
            made = values if row.spec is None else make_spec(row.spec, element, values)
        if row.ends == 'end' and self.findings.errors > errors:
            raise UnusableElement
        return made

    def read_elements(
        self, elements: Sequence[Element], rows: Mapping[str, XmlRow]
    ) -> tuple[Any, ...]:
        """Return the specs of the usable elements; ``rows`` has their rows by tag."""
        specs: dict[tuple[str, str | int | None], Any] = {}
        for element in elements:
            row = rows[element.tag]
            key = element.tag, element.get('name') if row.twice else element.index
            if row.twice is not None and key in specs:
                level, message = row.twice
                message = message.format(tag=element.tag)
                self.findings.add(level, element, message, 'another name', f"'{key[1]}'")
                if not row.last_counts:
                    continue
                del specs[key]
            try:
                specs[key] = self.read_element(element, row)
            except UnusableElement:
                continue
        return tuple(specs.values())

    def _read_value(self, element: Element, row: XmlRow, value: XmlValue, values: Fields) -> None:
        holder = element.find_child(value.within) if value.within else element
        if holder is None:
            return
        texts = _collect_texts(holder, value)
        if not (texts or value.missing) or value.since > self._version:
            return
        if value.place == 'ignored':
            message, found = f'attribute {value.name} is ignored here', f"'{texts[0][1]}'"
            self.findings.add_ignored(holder, message, value.expected, found)
            return
        errors = self.findings.errors
        parsed = []
        for at, text in texts:
            try:
                parsed.append(value.read(text))
            except InvalidValue as fault:
                what = value.name + (f' of <{at.tag}>' if row.ends == 'error' else '')
                message = value.unusable.format(name=value.name) or f'{what} is not usable'
                self.findings.add(value.fault, at, message, fault.expected, fault.found)
        if len(parsed) == len(texts) > 1:  # else another error has the reason
            differ = any(content != parsed[0] for content in parsed)
            self.findings.add(
                'error' if differ else 'warning',
                texts[1][0],
                f'{value.name} is given more than once',
                'one value',
                ' and '.join(f"'{text}'" for _, text in texts) if differ else 'the same again',
            )
        is_missing = not parsed or (parsed[0] == '' and not value.may_be_empty)
        if value.missing and is_missing and self.findings.errors == errors:
            words = {'tag': holder.tag, 'name': value.name}
            self.findings.add_error(
                holder,
                value.missing.format(**words),
                (value.expected or 'attribute {name}').format(**words),
                _describe_substitute(holder, row, value, texts),
            )
        if parsed:
            values[value.target] = parsed[0]
        if self.findings.errors > errors and (
            row.ends == 'error' or (row.ends == 'no name' and value.name == 'name')
        ):
            raise UnusableElement


_Spec = TypeVar('_Spec')


def make_spec(made: type[_Spec], element: Element, values: Mapping[str, Any]) -> _Spec:
    """Make the spec of an element; it also gets line and path if its class has them."""
    has_place = 'line' in made.__dataclass_fields__  # type: ignore[attr-defined]
    place = {'line': element.line, 'path': element.path} if has_place else {}
    return made(**values, **place)


def collect_element_parameters(element: Element, row: XmlRow) -> tuple[ParameterSpec, ...]:
    """Return the attributes and child elements of an element that are not in its row."""
    return (
        *(
            ParameterSpec(name, text, element.line, f'{element.path}/@{name}')
            for name, text in element.attributes.items()
            if name not in row.attributes
        ),
        *(_make_parameter(child) for child in element.children if child.tag not in row.tags),
    )


def _make_parameter(element: Element) -> ParameterSpec:
    name = element.get('name') if element.tag == 'param' else None
    return ParameterSpec(
        name=name or element.tag,
        value=element.text,
        line=element.line,
        path=element.path,
        attributes=tuple(element.attributes.items()),
        children=tuple(map(_make_parameter, element.children)),
    )


def _collect_texts(element: Element, value: XmlValue) -> Texts:
    kind = value.place
    if kind == 'text':
        return [(element, element.text)]
    if kind == 'param':
        params = (child for child in element.find_all('param') if child.get('name') == value.name)
        return [(element, param.text) for param in params][-1:]
    texts: Texts = []
    if kind != 'child' and value.name in element.attributes:
        texts.append((element, element.attributes[value.name]))
    if kind in ('child', 'either') and element.children:
        texts += [(child, child.text) for child in element.find_all(value.name)]
    return texts


def _describe_substitute(element: Element, row: XmlRow, value: XmlValue, texts: Texts) -> str:
    """Describe what the element has instead of a missing value."""
    if value.place == 'attribute':
        return 'an empty one' if texts else 'none'
    if element.find_all(value.foreign):
        return f'<{value.foreign}>, which is for the other dialect'
    others = {parameter.name: parameter for parameter in collect_element_parameters(element, row)}
    for name in find_closest_names(value.name, others, 1):
        return f"'{others[name].value}' in {others[name].path.rpartition('/')[2]}"
    return 'none'
