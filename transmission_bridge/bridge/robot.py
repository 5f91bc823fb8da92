# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps of a robot by options, for the node and the tools."""

from __future__ import annotations

from transmission_bridge.bridge.options.options import BridgeOptions, split_pairs
from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions import RobotTransmissions


def load_transmissions(
    description: RobotDescription, options: BridgeOptions
) -> RobotTransmissions:
    """
    Return the maps of a robot with the numbers of its description, before any tuning.

    :raises ParameterError: If an option cannot be used with this robot.
    :raises UnknownNameError: If an option contains a name that this robot does not have.
    """
    return RobotTransmissions(
        description,
        pass_through=options.pass_through,
        passive_joints=options.passive_joints,
        actuator_units=split_pairs('actuator_units', options.actuator_units),
    )
