# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps of a robot by options: one way for the node and for the tools."""

from __future__ import annotations

from transmission_bridge.bridge.homing import calibration_offsets
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.description.specs import Finding, RobotDescription
from transmission_bridge.transmissions import RobotTransmissions


def robot_of(
    description: RobotDescription, options: BridgeOptions
) -> tuple[RobotTransmissions, tuple[Finding, ...]]:
    """
    Return the maps of a robot with the numbers of its description, before any tuning.

    :param options: Those of them that decide what the maps are.
    :returns: The maps, with the offsets of ``calibration_offsets``, and what is to say of these.
    :raises ParameterError: If an option cannot be used with this robot.
    :raises UnknownNameError: If an option names what this robot does not have.
    """
    robot = RobotTransmissions(
        description,
        pass_through=options.pass_through,
        passive_joints=options.passive_joints,
        aliases=pairs('plugin_aliases', options.plugin_aliases),
        actuator_units=pairs('actuator_units', options.actuator_units),
    )
    if not options.calibration_offsets:
        return robot, ()
    offsets, findings = calibration_offsets(robot)
    return robot.with_parameters(offsets), findings
