# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The conformance suite for transmissions: what every plugin, built in or not, has to hold.

As functions::

    from transmission_bridge import conformance

    assert conformance.failures(MyTransmission(length=0.2)) == {}

or as tests of pytest, one per check, see :class:`TransmissionConformance`.

============================== ==================================================================
check                          what holds
============================== ==================================================================
``api_version``, ``docstring`` the formalities that the registry and the tools rely on
``interfaces``                 shapes, float64, lists; what is not supported is refused
``shape_errors``               another last axis is a ``ShapeError``
``missing_position``           no effort or velocity is mapped where the position is needed
``batch_equals_loop``          to the last bit, or 1e-12 of the largest value times the condition
``state``                      position, velocity and effort together are as they are one by one
``stream``                     so they are in a live stream, which compiles what is an equation
``no_mutation``                arguments stay as they are, and no call depends on an earlier one
``nan_locality``               NaN reaches what depends on it, in its own sample, and nothing else
``outside``                    positions outside the domain are NaN and counted; no exception
``pickling``                   a copy maps the same
``round_trip``                 to 1e-12 times the condition number
``solved_everywhere``          what is reached one way is found the other way
``jacobian``                   velocities are derivatives of positions, to 1e-6
``acceleration``               accelerations are derivatives of velocities
``power``                      conserved to 1e-12 of the sum of the absolute terms
============================== ==================================================================

Types that are a matrix, an equation or a function of arrays are held to the same. Positions are
drawn uniformly over the domain of the transmission, 10,000 by default, less those with a condition
number above 1e3.
"""

from transmission_bridge.transmissions.conformance import (
    check,
    CHECKS,
    CONDITION,
    COUNT,
    failures,
    Subject,
    subject_of,
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
