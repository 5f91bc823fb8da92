# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names of a driver that differ from the URDF's."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.driver_names import DriverNames
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import TrajectoryRecord


def test_commands_reach_the_driver_under_its_own_names():
    """Names with a driver's name are exchanged, also crosswise; the others and the rest stay."""
    to_driver = DriverNames({'a': 'b', 'b': 'a', 'axis_3': 'elbow_motor'})
    record = JointStateRecord(
        (1, 2), 'f', ('elbow_motor', 'a', 'c', 'b'), np.arange(4.0), np.empty(0), np.ones(4)
    )
    renamed = to_driver(record)
    assert renamed.names == ('axis_3', 'b', 'c', 'a')
    assert (renamed.stamp, renamed.frame_id) == ((1, 2), 'f')
    assert renamed.position is record.position
    assert to_driver(TrajectoryRecord((0, 0), '', ('a',), ())).names == ('b',)


def test_of_two_names_for_one_actuator_the_first_is_sent():
    """Two drivers may name one actuator differently; it is commanded under the first name."""
    record = JointStateRecord((1, 2), '', ('m',), np.zeros(1), np.empty(0), np.empty(0))
    assert DriverNames({'left/m': 'm', 'right/m': 'm'})(record).names == ('left/m',)
    assert DriverNames({})(record) is record
