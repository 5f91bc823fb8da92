# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Collect the findings about a description and sort them in document order."""

from __future__ import annotations

from functools import partialmethod
from typing import Literal, Protocol

from transmission_bridge.description.document.xml import Element
from transmission_bridge.description.specs import Finding, Severity

#: Severity, or ``ignored``, see :meth:`Findings.add`.
Level = Literal['error', 'ignored', 'warning', 'info']

#: Elements that can be the subject of a finding.
_SUBJECTS = ('transmission', 'link', 'joint', 'sensor', 'gpio', 'ros2_control')


class HasPath(Protocol):
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

    def add(
        self,
        level: Level,
        place: HasPath,
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

    def find_element(self, place: HasPath) -> Element:
        """Return the element of a spec."""
        if isinstance(place, Element):
            return place
        if not self._by_path:
            elements = (self.root, *self.root.iterate_below())
            self._by_path = {element.path: element for element in elements}
        return self._by_path[place.path]
