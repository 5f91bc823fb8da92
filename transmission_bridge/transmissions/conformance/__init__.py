# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The suite that a plugin's author runs; published as :mod:`transmission_bridge.conformance`."""

from transmission_bridge.transmissions.conformance.samples import (
    CONDITION,
    COUNT,
    Subject,
    subject_of,
)
from transmission_bridge.transmissions.conformance.suite import (
    check,
    CHECKS,
    failures,
    TransmissionConformance,
)

__all__ = [
    'CHECKS',
    'CONDITION',
    'COUNT',
    'Subject',
    'TransmissionConformance',
    'check',
    'failures',
    'subject_of',
]
