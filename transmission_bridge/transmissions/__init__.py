# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The mathematics: from actuator to joint and back. Needs numpy only, and knows no XML."""

from transmission_bridge.transmissions.differential import DifferentialTransmission
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.four_bar_linkage import FourBarLinkageTransmission
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot_transmissions import RobotTransmissions
from transmission_bridge.transmissions.simple import SimpleTransmission
from transmission_bridge.transmissions.small_matrix import matrix_of, vector_of
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import API_VERSION, Transmission

__all__ = [
    'API_VERSION',
    'DifferentialTransmission',
    'Domain',
    'FourBarLinkageTransmission',
    'LinearTransmission',
    'MapReport',
    'PositionDependentTransmission',
    'Registry',
    'RobotTransmissions',
    'SimpleTransmission',
    'SpecReader',
    'Transmission',
    'matrix_of',
    'vector_of',
]
