# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps and the state path of a robot by options: one way for the node and for the tools."""

from __future__ import annotations

from transmission_bridge.bridge.homing import calibration_offsets
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.turns import wrap_periods
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


def states_of(
    robot: RobotTransmissions,
    options: BridgeOptions,
    *,
    timeout: float = 0.0,
    stamp_hold: float = 0.0,
) -> StatePath:
    """
    Return the state path of a robot.

    :param timeout: See :class:`StatePath`; recordings have none.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """
    periods = pairs('wrap_period', options.wrap_period)
    return StatePath(
        robot,
        unknown_joints=options.unknown_joints,
        unknown_rates=options.unknown_rates,
        undeclared=options.undeclared_interfaces,
        actuator_names=pairs('actuator_names', options.actuator_names),
        wrap_period=wrap_periods(periods, robot.actuator_names, robot.lost_actuators),
        unknown_turn=options.unknown_turn,
        timeout=timeout,
        stamp_hold=stamp_hold,
    )
