# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A joint-space interface for any actuator-space driver, from the transmissions in its URDF.

::

    import transmission_bridge as tb

    robot = tb.load_description('robot.urdf')
    t = tb.RobotTransmissions(robot)
    t.actuator_to_joint('position', actuator_positions)

Nothing here needs ROS; the node lives in :mod:`transmission_bridge.ros`.
"""

from transmission_bridge.description import load_description, RobotDescription
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.transmissions import (
    LinearTransmission,
    MapReport,
    RobotTransmissions,
    Transmission,
)

__all__ = [
    'LinearTransmission',
    'MapReport',
    'RobotDescription',
    'RobotTransmissions',
    'Transmission',
    'TransmissionBridgeError',
    '__version__',
    'load_description',
]

__version__ = '0.1.0'
