# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The conformance suite for transmissions: it finds mistakes in a type.

Authors of types import this module, so its names are fixed; the suite itself is in
``transmissions/conformance``. The names of the checks are the keys of :func:`failures`, and each
is a test ``test_<name>``.

As functions::

    from transmission_bridge import conformance

    assert conformance.failures(MyTransmission(length=0.2)) == {}

or as tests of pytest, one per check, see :class:`TransmissionConformance`.

============================== ==================================================================
check                          property
============================== ==================================================================
``api_version``, ``docstring`` the formalities that the registry and the tools need
``contract``                   the maps are not overridden; one number per joint and actuator
``jacobian``                   velocities are derivatives of positions, to 1e-6
``round_trip``                 inverse and forward agree to 1e-12 times the condition number
``solved_everywhere``          the inverse is found for every position of the forward map
``acceleration``               accelerations are derivatives of velocities
``power``                      power is conserved to 1e-12 of the sum of the absolute terms
``repeatable``                 a call does not depend on earlier calls; a copy maps alike
============================== ==================================================================

The checks are the same for types defined by a matrix, an equation or a table. The base classes
implement shapes, batches, unknown values and the ends of the domain, so these need no check.
Positions are drawn uniformly over the domain of the transmission, 10,000 by default, without
positions with a condition number above 1e3.
"""

from transmission_bridge.transmissions.conformance import (
    check as check,
    CHECKS as CHECKS,
    CONDITION as CONDITION,
    COUNT as COUNT,
    failures as failures,
    make_subject as make_subject,
    Subject as Subject,
    TransmissionConformance as TransmissionConformance,
)
