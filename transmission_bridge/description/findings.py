# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Collect the findings about a description and sort them in document order."""

from __future__ import annotations

from typing import Protocol

from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import Finding, Severity

#: Elements that can be the subject of a finding.
_SUBJECTS = ('transmission', 'link', 'joint', 'sensor', 'gpio', 'ros2_control')


class Placed(Protocol):
    """An element or its spec."""

    @property
    def path(self) -> str:
        """Path of the element."""


class Findings:
    """
    The findings so far.

    The default subject of a finding is the closest named part of the robot around its element.

    :ivar errors: Number of errors so far; the readers compare it before and after an element.
    """

    def __init__(self, root: Element) -> None:
        self.root = root
        self.errors = 0
        self._found: list[tuple[int, Finding]] = []
        self._by_path: dict[str, Element] = {}

    def add_error(
        self, place: Placed, message: str, *, expected: str, found: str, subject: str | None = None
    ) -> None:
        """Add an error; the caller drops the element (or the value)."""
        self.errors += 1
        self._add_finding('error', place, message, expected, found, subject, is_fatal=True)

    def add_ignored(
        self, place: Placed, message: str, *, expected: str, found: str, subject: str | None = None
    ) -> None:
        """
        Add a warning that strict mode treats as an error.

        For data that nothing uses, and for data that only ros2_control or URDF parsers reject.
        """
        self._add_finding('warning', place, message, expected, found, subject, is_fatal=True)

    def add_warning(self, place: Placed, message: str, *, expected: str, found: str) -> None:
        """Add a warning that strict mode accepts."""
        self._add_finding('warning', place, message, expected, found)

    def add_info(self, place: Placed, message: str) -> None:
        """Add information."""
        self._add_finding('info', place, message, '', '')

    def sort_findings(self) -> tuple[Finding, ...]:
        """Return all findings in document order."""
        return tuple(finding for _, finding in sorted(self._found, key=lambda pair: pair[0]))

    def find_element(self, place: Placed) -> Element:
        """Return the element of a spec."""
        if isinstance(place, Element):
            return place
        if not self._by_path:
            elements = (self.root, *self.root.iterate_below())
            self._by_path = {element.path: element for element in elements}
        return self._by_path[place.path]

    def find_child_or_self(self, place: Placed, tag: str) -> Element:
        """Return a child of the element, or the element itself if it has no such child."""
        element = self.find_element(place)
        return element.find_child(tag) or element

    def _add_finding(
        self,
        severity: Severity,
        place: Placed,
        message: str,
        expected: str,
        found: str,
        subject: str | None = None,
        is_fatal: bool = False,
    ) -> None:
        element = self.find_element(place)
        finding = Finding(
            severity,
            message,
            line=element.line,
            path=element.path,
            expected=expected,
            found=found,
            subject=_find_subject(element) if subject is None else subject,
            fatal_if_strict=is_fatal,
        )
        self._found.append((element.index, finding))


def _find_subject(element: Element | None) -> str:
    while element is not None:
        parent = element.parent
        of_transmission = parent is not None and parent.tag == 'transmission'
        if element.tag in _SUBJECTS and not of_transmission:
            return element.get('name') or ''
        element = parent
    return ''
