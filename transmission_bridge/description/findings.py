# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Collects findings while a description is read, and puts them in document order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from transmission_bridge.description.specs import Finding, Severity
from transmission_bridge.description.values import ValueFault
from transmission_bridge.description.xml import Element

__all__ = ['Findings']

T = TypeVar('T')


class Findings:
    """
    The findings so far.

    :ivar errors: Number of errors so far, to be compared before and after an element.
    """

    def __init__(self) -> None:
        self._found: list[tuple[int, Finding]] = []
        self.errors = 0

    def error(
        self, element: Element, message: str, *, expected: str, found: str, subject: str = ''
    ) -> None:
        """Add an error; the element (or the value) is dropped."""
        self.errors += 1
        self._add('error', element, message, expected, found, subject, fatal_if_strict=True)

    def ignored(
        self, element: Element, message: str, *, expected: str, found: str, subject: str = ''
    ) -> None:
        """
        Add a warning that strict mode treats as an error.

        For data that nothing uses, and for what only ros2_control or URDF parsers refuse.
        """
        self._add('warning', element, message, expected, found, subject, fatal_if_strict=True)

    def warning(
        self, element: Element, message: str, *, expected: str, found: str, subject: str = ''
    ) -> None:
        """Add a warning that strict mode accepts."""
        self._add('warning', element, message, expected, found, subject)

    def info(self, element: Element, message: str, *, subject: str = '') -> None:
        """Add information."""
        self._add('info', element, message, '', '', subject)

    def nameless(self, element: Element, subject: str = '') -> None:
        """Add an error: an element has no name."""
        self.error(
            element,
            f'<{element.tag}> without a name',
            expected='attribute name',
            found='none' if element.get('name') is None else 'an empty one',
            subject=subject,
        )

    def value(
        self, element: Element, text: str, read: Callable[[str], T], what: str, subject: str = ''
    ) -> T | None:
        """
        Return ``read(text)``, or ``None`` and an error finding.

        :param what: Name of the value, for the message.
        """
        try:
            return read(text)
        except ValueFault as fault:
            self.error(
                element,
                f'{what} is not usable',
                expected=fault.expected,
                found=fault.found,
                subject=subject,
            )
            return None

    def in_document_order(self) -> tuple[Finding, ...]:
        """Return all findings, sorted by their element."""
        return tuple(finding for _, finding in sorted(self._found, key=lambda pair: pair[0]))

    def _add(
        self,
        severity: Severity,
        element: Element,
        message: str,
        expected: str,
        found: str,
        subject: str,
        fatal_if_strict: bool = False,
    ) -> None:
        finding = Finding(
            severity,
            message,
            line=element.line,
            path=element.path,
            expected=expected,
            found=found,
            subject=subject,
            fatal_if_strict=fatal_if_strict,
        )
        self._found.append((element.index, finding))
