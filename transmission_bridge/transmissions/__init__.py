# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The mathematics: maps between actuators and joints. This room does not read XML.

It needs numpy. Equations, tables and linkages also need CasADi. Types are imported at first use.
Other rooms import these names, and those of the packages ``robot``, ``linkage`` and
``conformance``; plugins import types, ``SpecReader`` and ``Domain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily
from transmission_bridge.transmissions.builder import build_transmission as build_transmission
from transmission_bridge.transmissions.domain import Domain as Domain, MapReport as MapReport
from transmission_bridge.transmissions.linear import (
    DifferentialTransmission as DifferentialTransmission,
    FourBarLinkageTransmission as FourBarLinkageTransmission,
    LinearTransmission as LinearTransmission,
    Ratio as Ratio,
    SimpleTransmission as SimpleTransmission,
)
from transmission_bridge.transmissions.registry import (
    PluginInfo as PluginInfo,
    Registry as Registry,
)
from transmission_bridge.transmissions.robot.table import Binding as Binding
from transmission_bridge.transmissions.robot_transmissions import (
    RobotTransmissions as RobotTransmissions,
)
from transmission_bridge.transmissions.spec_reader import (
    ACTUATOR_LIMITS as ACTUATOR_LIMITS,
    SpecReader as SpecReader,
)
from transmission_bridge.transmissions.transmission import (
    as_map_values as as_map_values,
    Transmission as Transmission,
)
from transmission_bridge.transmissions.tunable import (
    list_paths as list_paths,
    ParameterPath as ParameterPath,
    Tunable as Tunable,
)

if TYPE_CHECKING:
    from transmission_bridge.transmissions.equation_transmission import (
        EquationTransmission as EquationTransmission,
        Parameter as Parameter,
    )
    from transmission_bridge.transmissions.tabulated import (
        TabulatedTransmission as TabulatedTransmission,
    )

_, __getattr__ = import_lazily(__name__)
