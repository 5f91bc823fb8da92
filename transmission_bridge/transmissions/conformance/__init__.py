# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite; users import it as :mod:`transmission_bridge.conformance`."""

from __future__ import annotations

from transmission_bridge.transmissions.conformance.checks import CHECKS as CHECKS
from transmission_bridge.transmissions.conformance.samples import (
    CONDITION as CONDITION,
    COUNT as COUNT,
    Subject as Subject,
    subject_of as subject_of,
)
from transmission_bridge.transmissions.conformance.suite import (
    check as check,
    failures as failures,
    TransmissionConformance as TransmissionConformance,
)
