# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The conformance suite; users import it as :mod:`transmission_bridge.conformance`.

Tests of plugins rely on these names; no other module of the package uses them.
"""

from __future__ import annotations

from transmission_bridge.transmissions.conformance.suite import (
    check as check,
    CHECKS as CHECKS,
    CONDITION as CONDITION,
    COUNT as COUNT,
    failures as failures,
    make_subject as make_subject,
    Subject as Subject,
    TransmissionConformance as TransmissionConformance,
)
