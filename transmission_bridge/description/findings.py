# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Collects findings while a description is read, and puts them in document order."""

from __future__ import annotations

from typing import Protocol

from transmission_bridge.description.specs import Finding, Severity
from transmission_bridge.description.xml import Element

#: Elements that a finding inside them is about.
_SUBJECTS = ('transmission', 'link', 'joint', 'sensor', 'gpio', 'ros2_control')


class Placed(Protocol):
    """An element, or a spec that was made of it."""

    @property
    def path(self) -> str:
        """Path of the element."""
        ...


class Findings:
    """
    The findings so far.

    The subject of each is the part of the robot that its element stands in, if none is given.

    :param root: The root element.
    :ivar errors: Number of errors so far, to be compared before and after an element.
    """

    def __init__(self, root: Element) -> None:
        self.root = root
        self.errors = 0
        self._found: list[tuple[int, Finding]] = []
        self._by_path: dict[str, Element] = {}

    def error(
        self, place: Placed, message: str, *, expected: str, found: str, subject: str | None = None
    ) -> None:
        """Add an error; the element (or the value) is dropped."""
        self.errors += 1
        self._add('error', place, message, expected, found, subject, fatal_if_strict=True)

    def ignored(
        self, place: Placed, message: str, *, expected: str, found: str, subject: str | None = None
    ) -> None:
        """
        Add a warning that strict mode treats as an error.

        For data that nothing uses, and for what only ros2_control or URDF parsers refuse.
        """
        self._add('warning', place, message, expected, found, subject, fatal_if_strict=True)

    def warning(self, place: Placed, message: str, *, expected: str, found: str) -> None:
        """Add a warning that strict mode accepts."""
        self._add('warning', place, message, expected, found)

    def info(self, place: Placed, message: str) -> None:
        """Add information."""
        self._add('info', place, message, '', '')

    def in_document_order(self) -> tuple[Finding, ...]:
        """Return all findings, sorted by their element."""
        return tuple(finding for _, finding in sorted(self._found, key=lambda pair: pair[0]))

    def element(self, place: Placed) -> Element:
        """Return the element that a spec was made of."""
        if isinstance(place, Element):
            return place
        if not self._by_path:
            self._by_path = {each.path: each for each in (self.root, *self.root.below())}
        return self._by_path[place.path]

    def child(self, place: Placed, tag: str) -> Element:
        """Return a child of the element, the element itself where it has none."""
        element = self.element(place)
        return element.first(tag) or element

    def _add(
        self,
        severity: Severity,
        place: Placed,
        message: str,
        expected: str,
        found: str,
        subject: str | None = None,
        fatal_if_strict: bool = False,
    ) -> None:
        element = self.element(place)
        finding = Finding(
            severity,
            message,
            line=element.line,
            path=element.path,
            expected=expected,
            found=found,
            subject=_subject(element) if subject is None else subject,
            fatal_if_strict=fatal_if_strict,
        )
        self._found.append((element.index, finding))


def _subject(element: Element | None) -> str:
    """Return the name of the joint, link, component, block or transmission around an element."""
    while element is not None:
        parent = element.parent
        of_transmission = parent is not None and parent.tag == 'transmission'
        if element.tag in _SUBJECTS and not of_transmission:
            return element.get('name') or ''
        element = parent
    return ''
