# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The conformance suite for transmissions: what a type can state wrongly.

As functions::

    from transmission_bridge import conformance

    assert conformance.failures(MyTransmission(length=0.2)) == {}

or as tests of pytest, one per check, see :class:`TransmissionConformance`.

============================== ==================================================================
check                          what holds
============================== ==================================================================
``api_version``, ``docstring`` the formalities that the registry and the tools rely on
``contract``                   the maps are not overridden; a number for each joint and actuator
``jacobian``                   velocities are derivatives of positions, to 1e-6
``round_trip``                 to 1e-12 times the condition number
``solved_everywhere``          what is reached one way is found the other way
``acceleration``               accelerations are derivatives of velocities
``power``                      conserved to 1e-12 of the sum of the absolute terms
``repeatable``                 no call depends on an earlier one, and a copy maps the same
============================== ==================================================================

Types that are a matrix, an equation or a function of arrays are held to the same. Shapes, batches,
unknown values and the ends of the domain are the base classes' and need no check. Positions are
drawn uniformly over the domain of the transmission, 10,000 by default, less those with a condition
number above 1e3.
"""

from transmission_bridge.transmissions.conformance.checks import CHECKS
from transmission_bridge.transmissions.conformance.samples import (
    CONDITION,
    COUNT,
    Subject,
    subject_of,
)
from transmission_bridge.transmissions.conformance.suite import (
    check,
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
