# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A joint-space interface for any actuator-space driver, from the transmissions in the URDF.

::

    import transmission_bridge as tb

    robot = tb.load_description('robot.urdf')
    t = tb.RobotTransmissions(robot)
    t.actuator_to_joint('position', actuator_positions)

:mod:`tb.kinematics <transmission_bridge.kinematics>` has joints and devices of joints;
:func:`tb.apply_to_command <transmission_bridge.messages.one_joint.apply_to_command>` maps complete
messages of one joint. Nothing here needs ROS; the node is in :mod:`transmission_bridge.ros`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge import conformance as conformance, kinematics as kinematics
    from transmission_bridge.description import (
        Finding as Finding,
        load_description as load_description,
        RobotDescription as RobotDescription,
    )
    from transmission_bridge.drivers import (
        Command as Command,
        Driver as Driver,
        DriverError as DriverError,
        Hardware as Hardware,
    )
    from transmission_bridge.errors import (
        ParameterError as ParameterError,
        ShapeError as ShapeError,
        TransmissionBridgeError as TransmissionBridgeError,
        TransmissionError as TransmissionError,
        UnknownNameError as UnknownNameError,
        UnsupportedInterfaceError as UnsupportedInterfaceError,
    )
    from transmission_bridge.messages.one_joint import (
        apply_effort as apply_effort,
        apply_position as apply_position,
        apply_rate as apply_rate,
        apply_to_command as apply_to_command,
        BeginMotion as BeginMotion,
        EffortCommand as EffortCommand,
        HoldCommand as HoldCommand,
        JointWaypoint as JointWaypoint,
        PositionCommand as PositionCommand,
        simple_transmission as simple_transmission,
        StopCommand as StopCommand,
        TrajectoryCommand as TrajectoryCommand,
        unapply_effort as unapply_effort,
        unapply_position as unapply_position,
        unapply_rate as unapply_rate,
        unapply_to_feedback as unapply_to_feedback,
        VelocityCommand as VelocityCommand,
    )
    from transmission_bridge.transmissions import (
        Domain as Domain,
        EquationTransmission as EquationTransmission,
        LinearTransmission as LinearTransmission,
        MapReport as MapReport,
        Parameter as Parameter,
        RobotTransmissions as RobotTransmissions,
        SpecReader as SpecReader,
        TabulatedTransmission as TabulatedTransmission,
    )

__version__ = '0.1.0'

__all__, __getattr__ = import_lazily(__name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
