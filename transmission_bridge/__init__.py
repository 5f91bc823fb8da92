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

from importlib import import_module
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from transmission_bridge import kinematics as kinematics
    from transmission_bridge.description import Finding, load_description, RobotDescription
    from transmission_bridge.drivers import Command, Driver, DriverError, Hardware
    from transmission_bridge.errors import (
        ParameterError,
        ShapeError,
        TransmissionBridgeError,
        TransmissionError,
        UnknownNameError,
        UnsupportedInterfaceError,
    )
    from transmission_bridge.messages.one_joint import (
        apply_effort,
        apply_position,
        apply_rate,
        apply_to_command,
        BeginMotion,
        EffortCommand,
        HoldCommand,
        JointWaypoint,
        PositionCommand,
        simple_transmission,
        StopCommand,
        TrajectoryCommand,
        unapply_effort,
        unapply_position,
        unapply_rate,
        unapply_to_feedback,
        VelocityCommand,
    )
    from transmission_bridge.transmissions import (
        Domain,
        EquationTransmission,
        LinearTransmission,
        MapReport,
        Parameter,
        RobotTransmissions,
        SpecReader,
        TabulatedTransmission,
    )

__all__ = [
    'BeginMotion',
    'Command',
    'Domain',
    'Driver',
    'DriverError',
    'EffortCommand',
    'EquationTransmission',
    'Finding',
    'Hardware',
    'HoldCommand',
    'JointWaypoint',
    'LinearTransmission',
    'MapReport',
    'Parameter',
    'ParameterError',
    'PositionCommand',
    'RobotDescription',
    'RobotTransmissions',
    'ShapeError',
    'SpecReader',
    'StopCommand',
    'TabulatedTransmission',
    'TrajectoryCommand',
    'TransmissionBridgeError',
    'TransmissionError',
    'UnknownNameError',
    'UnsupportedInterfaceError',
    'VelocityCommand',
    '__version__',
    'apply_effort',
    'apply_position',
    'apply_rate',
    'apply_to_command',
    'kinematics',
    'load_description',
    'simple_transmission',
    'unapply_effort',
    'unapply_position',
    'unapply_rate',
    'unapply_to_feedback',
]

__version__ = '0.1.0'

#: Rooms that can be imported by attribute, and the names exported from each.
_ROOMS = {
    'conformance': (),
    'description': ('Finding', 'RobotDescription', 'load_description'),
    'drivers': ('Command', 'Driver', 'DriverError', 'Hardware'),
    'errors': (
        'ParameterError',
        'ShapeError',
        'TransmissionBridgeError',
        'TransmissionError',
        'UnknownNameError',
        'UnsupportedInterfaceError',
    ),
    'kinematics': (),
    'messages.one_joint': (
        'BeginMotion',
        'EffortCommand',
        'HoldCommand',
        'JointWaypoint',
        'PositionCommand',
        'StopCommand',
        'TrajectoryCommand',
        'VelocityCommand',
        'apply_effort',
        'apply_position',
        'apply_rate',
        'apply_to_command',
        'simple_transmission',
        'unapply_effort',
        'unapply_position',
        'unapply_rate',
        'unapply_to_feedback',
    ),
    'transmissions': (
        'Domain',
        'EquationTransmission',
        'LinearTransmission',
        'MapReport',
        'Parameter',
        'RobotTransmissions',
        'SpecReader',
        'TabulatedTransmission',
    ),
}


def __getattr__(name: str) -> Any:
    """Import a name or a room on its first use, so that a plain import does not load numpy."""
    for room, names in _ROOMS.items():
        if name == room or name in names:
            module = import_module(f'{__name__}.{room}')
            value = globals()[name] = module if name == room else getattr(module, name)
            return value
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *__all__})
