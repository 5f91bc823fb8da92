# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robot as one table: its function, its program, ranges and units.

Other rooms import only these names; most use a whole robot,
:class:`~transmission_bridge.transmissions.RobotTransmissions`, which is a table with findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot.affine_map import AffineMap as AffineMap
    from transmission_bridge.transmissions.robot.program import (
        iterate_mechanisms as iterate_mechanisms,
        RobotFunction as RobotFunction,
        RobotProgram as RobotProgram,
        ROWS as ROWS,
    )
    from transmission_bridge.transmissions.robot.ranges import (
        image_box as image_box,
        sample_box as sample_box,
        sample_mapped_positions as sample_mapped_positions,
    )
    from transmission_bridge.transmissions.robot.table import RobotTable as RobotTable
    from transmission_bridge.transmissions.robot.tuning import (
        compute_jacobian_at as compute_jacobian_at,
        JacobianChange as JacobianChange,
        list_changed_jacobians as list_changed_jacobians,
        RATIOS as RATIOS,
    )
    from transmission_bridge.transmissions.robot.units import (
        ActuatorUnits as ActuatorUnits,
        CONSTANTS as CONSTANTS,
        DriverUnit as DriverUnit,
        interface_row as interface_row,
        UNITS as UNITS,
    )

__all__, __getattr__ = import_lazily(__name__)
