# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""All checks together: as functions, and as a class of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar
import warnings

from transmission_bridge.transmissions.conformance.checks import CHECKS
from transmission_bridge.transmissions.conformance.samples import COUNT, Subject, subject_of
from transmission_bridge.transmissions.transmission import Transmission


def check(subject: Subject, name: str) -> None:
    """
    Run one check; a warning of numpy or Python is also a failure.

    :param subject: See :func:`subject_of`.
    :param name: One of :data:`CHECKS`.
    :raises AssertionError: If the transmission does not pass.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        CHECKS[name](subject)


def failures(transmission: Transmission, *, count: int = COUNT) -> dict[str, str]:
    """
    Run every check and return the failures by name; empty if the transmission conforms.

    :param transmission: The transmission.
    :param count: Positions per check.
    :returns: The error message of each failed check.
    """
    subject = subject_of(transmission, count=count)
    messages = {}
    for name in CHECKS:
        try:
            check(subject, name)
        except Exception as error:  # an exception in a check is its failure
            messages[name] = f'{type(error).__name__}: {error}'
    return messages


class TransmissionConformance:
    """
    Every check as a test of pytest; this module does not import pytest.

    ::

        from transmission_bridge.conformance import TransmissionConformance

        class TestMyTransmission(TransmissionConformance):
            def make(self):
                return MyTransmission(length=0.2)

    The tests are ``test_<name>`` for each name of :data:`CHECKS`.
    """

    #: Positions per check.
    count: ClassVar[int] = COUNT

    def make(self) -> Transmission:
        """Return a new transmission to check."""
        raise NotImplementedError('a conformance test defines make()')


def _make_test(name: str) -> Callable[[TransmissionConformance], None]:
    def test(self: TransmissionConformance) -> None:
        check(subject_of(self.make(), count=self.count), name)

    test.__name__ = f'test_{name}'
    test.__qualname__ = f'TransmissionConformance.test_{name}'
    test.__doc__ = CHECKS[name].__doc__
    return test


for _name in CHECKS:
    setattr(TransmissionConformance, f'test_{_name}', _make_test(_name))
