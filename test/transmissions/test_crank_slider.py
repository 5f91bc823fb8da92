# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Crank-sliders against derivations that share nothing with the code."""

import math

from hypothesis import assume, example, given, strategies as st
import numpy as np
import pytest
from zoo.mechanisms import guided

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import MapReport

angles = st.floats(-9.0, 9.0)


@example(0.125, 0.125, 0.125, -1e-121)
@example(0.125, 0.125, 0.125, math.pi)
@given(st.floats(0.02, 0.2), st.floats(0.02, 0.4), st.floats(-0.2, 0.2), angles)
def test_the_domain_ends_where_the_linkage_does(crank, rod, offset, angle):
    """Whatever the dimensions, no position within the domain is unreachable, and all come back."""
    assume(abs(offset) < 0.95 * (crank + rod))
    # Where three lengths nearly make a line, the ends of the domain nearly coincide.
    critical = [crank + offset, crank - offset, -crank + offset, -crank - offset]
    assume(min(abs(rod - length) for length in critical) > 1e-3)
    height = abs(crank * np.sin(angle) - offset)
    # Rounding decides of a rod that is stretched at the crank angle itself.
    assume(height <= rod or height > rod * (1.0 + 1e-12))
    if height > rod:
        with pytest.raises(TransmissionError, match='open at its crank angle'):
            guided(crank, rod, offset, angle)
        return
    t = guided(crank, rod, offset, angle).with_max_gain(1e8)
    assert t.domain.lower[0] <= 0.0 <= t.domain.upper[0]
    report = MapReport()
    shares = np.linspace(1e-4, 1.0 - 1e-4, 200)[:, np.newaxis]
    q = np.array(t.domain.lower) + t.domain.span * shares
    s = t.joint_to_actuator('position', q, report=report)
    back = t.actuator_to_joint('position', s, report=report)
    assert report.counts == {}
    rising = np.diff(s[:, 0])
    assert (rising > 0.0).all() or (rising < 0.0).all()
    slope = np.abs(t.joint_to_actuator('velocity', np.ones_like(q), at=q))
    assert (np.abs(back - q) <= 1e-13 * (crank + rod) / slope * (1.0 + 1.0 / crank)).all()
